//! What is saved is what is loaded again, to the last field.

use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::{
    Shared, from_contact, from_us, look, opened, over_both_stores,
    store::{on_postgres, on_sqlite},
};
use crate::{
    domain::{
        conversation::{Attention, AttentionReason, Lease, Memo, Status},
        docket::{Docket, Remembered, Report},
        draft::{Decision, Draft, DraftState, DraftWish, SentDraft},
        message::{Attempt, DeliveryState, Media, Message, Outcome, OutcomeReason, Quoted, Sender},
        mode::{Mode, ModeState, Reason},
        time::Time,
        turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Purpose, Turn, TurnState},
    },
    flow::ledger::{Key, Need, change},
};

over_both_stores!(everything_saved_is_loaded_again, a_step_gets_what_it_needs_and_no_more,);

/// Words that break what is quoted carelessly.
const ODD: &str = "it's \"odd\" \\ \n\t ünïcødé 🙈 {\"a\":null} $1 ?";

fn fill(docket: &mut Docket) {
    let now = docket.now;
    let turn = Uuid::now_v7();
    let facts = &mut docket.conversation;
    facts.contact_name = Some(ODD.to_owned());
    facts.contact_named_by_agent = true;
    facts.mode = ModeState {
        mode: Mode::Human,
        version: 7,
        reason: Reason::AgentPhone,
        actor: "phone".to_owned(),
        changed_at: now,
        until: Some(now.plus_ms(5)),
    };
    facts.drafting = true;
    facts.status = Status::Snoozed;
    facts.snoozed_until = Some(now.plus_ms(6));
    facts.assignee = Some(Uuid::now_v7());
    facts.opted_out = true;
    facts.attention = Some(Attention { reason: AttentionReason::Stale, since: now });
    facts.fence = 9;
    facts.lease = Some(Lease { owner: "a".to_owned(), turn, until: now.plus_ms(7) });
    facts.contact_seq = 1;
    facts.our_seq = 2;
    facts.waiting_since = Some(now);
    facts.read_seq = 1;
    facts.unread = 3;
    facts.memo = Memo { wrote: vec![1, 2], note: Some(ODD.to_owned()), restarts: 2, ..Memo::default() };
    docket.begin_turn(Turn {
        id: turn,
        state: TurnState::Generating,
        purpose: Purpose::FollowUp,
        mode_version: 7,
        fence: 9,
        last_seq: 1,
        is_final: true,
        messages: vec![Uuid::now_v7(), Uuid::now_v7()],
        attempt: 2,
        started_at: now,
        first_token_at: Some(now),
        ended_at: None,
        model: "m".to_owned(),
        input_tokens: 10,
        output_tokens: 20,
        wasted: true,
        reason: Some(ODD.to_owned()),
    });
    docket.push(Message {
        sender: Some(Sender { id: "1@c.us".to_owned(), name: ODD.to_owned() }),
        agent: Some(Uuid::now_v7()),
        quoted: Some(Quoted { provider_message_id: "q".to_owned(), text: ODD.to_owned() }),
        media: Some(Media {
            url: "https://x".to_owned(),
            mime_type: "a/b".to_owned(),
            file_name: "f".to_owned(),
            caption: ODD.to_owned(),
            transcript: ODD.to_owned(),
            size: Some(7),
            is_kept: true,
            is_too_large: true,
        }),
        edited_at: Some(now),
        deleted_at: Some(now),
        turn: Some(turn),
        ..from_contact(ODD)
    });
    let mut owed = from_us("owed");
    if let Some(delivery) = owed.delivery.as_mut() {
        delivery.state = DeliveryState::Sending;
        delivery.attempts = 3;
        delivery.attempt = Some(Attempt { id: Uuid::now_v7(), at: now, lease_until: now.plus_ms(8) });
        delivery.unclear = 2;
        delivery.sent_at = Some(now);
        delivery.delivered_at = Some(now);
        delivery.read_at = Some(now);
    }
    docket.push(owed);
    docket.keep_follow_up(FollowUp {
        id: Uuid::now_v7(),
        due_at: now.plus_ms(9),
        text: None,
        instructions: Some(ODD.to_owned()),
        created_by: "agent".to_owned(),
        created_at: now,
        state: FollowUpState::Pending,
        reason: Some("r".to_owned()),
        attempts: 1,
        message: Some(Uuid::now_v7()),
    });
    docket.keep_letter(DeadLetter {
        id: Uuid::now_v7(),
        kind: LetterKind::Turn,
        channel: "main".to_owned(),
        conversation: Some(docket.conversation.id),
        subject: Some(turn),
        state: LetterState::Open,
        reason: ODD.to_owned(),
        attempts: 3,
        first_at: now,
        last_at: now,
        payload: json!({ "text": ODD, "deep": [1, null, true] }).into(),
    });
    docket.keep_draft(Draft { text: ODD.to_owned(), ..super::suggested(DraftState::Fresh) });
    docket.conversation.memo.draft_wish = Some(DraftWish {
        id: Uuid::now_v7(),
        by: Some(ODD.to_owned()),
        ripe_at: 5,
        first_at: 4,
        restarts: 3,
        failures: 2,
        retry_at: Some(6),
    });
    docket.park("p1", Report::Echo { text: ODD.to_owned(), provider_at: 5, phone: true });
    docket.park("p2", Report::Deletion);
    docket.remember(Remembered {
        key: "k".to_owned(),
        body_hash: "h".to_owned(),
        message: Uuid::now_v7(),
        answer: json!({ "odd": ODD }),
        at: now,
    });
}

pub(super) async fn everything_saved_is_loaded_again(store: Shared) {
    let filled = |docket: &mut Docket| {
        fill(docket);
        docket.clone()
    };
    let saved = store.change(opened(1), Need::default(), filled).await.expect("saved");
    let request = Need { request: Some("k".to_owned()), ..Need::default() };
    let turn = saved.conversation.lease.as_ref().map(|lease| lease.turn).expect("leased");
    // By the instance that saved it and by one that must read it.
    for ledger in [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)] {
        let key = Key::Id(saved.conversation.id);
        let loaded = change(&*ledger, key, request.clone(), look).await.expect("loaded");
        assert_eq!(loaded.conversation, saved.conversation);
        assert_eq!(loaded.messages(), saved.messages());
        assert_eq!(loaded.follow_up(), saved.follow_up());
        assert_eq!(loaded.letters(), saved.letters());
        assert!(loaded.fresh_draft().is_some());
        assert_eq!(loaded.fresh_draft(), saved.fresh_draft());
        assert_eq!(loaded.parked(), saved.parked());
        assert_eq!(loaded.remembered, saved.remembered);
        assert_eq!(loaded.turn(turn), saved.turn(turn));
        assert_eq!(loaded.clocks(), saved.clocks());
    }

    // And overwritten.
    let draft = saved.fresh_draft().map(|draft| draft.id).expect("a fresh one");
    let changed = move |docket: &mut Docket| {
        let messages = docket.ids(|_| true);
        for id in messages {
            if let Some(message) = docket.edit(id) {
                message.text = "new".to_owned();
                message.edited_at = None;
            }
        }
        let turn = docket.conversation.lease.take().map(|lease| lease.turn).expect("leased");
        if let Some(turn) = docket.edit_turn(turn) {
            (turn.state, turn.ended_at) = (TurnState::Failed, Some(Time(5)));
        }
        docket.change_follow_up(|pending| pending.attempts += 1);
        docket.unpark(|parked| parked.provider_message_id == "p1");
        let letter = docket.letters()[0].clone();
        docket.keep_letter(DeadLetter { attempts: 4, ..letter });
        let draft = docket.draft(draft).cloned().expect("the fresh one");
        let sent = Some(SentDraft { message: Uuid::now_v7(), edit_distance: 3 });
        let decision = Some(Decision { by: ODD.to_owned(), at: docket.now, sent });
        docket.keep_draft(Draft { state: DraftState::Edited, decision, ..draft });
        docket.clone()
    };
    let saved = store.change(opened(1), Need::default(), changed).await.expect("saved");
    let need = Need { turn: Some(turn), draft: Some(draft), ..Need::default() };
    for ledger in [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)] {
        let loaded = change(&*ledger, opened(1), need.clone(), look).await.expect("loaded");
        assert_eq!(loaded.conversation, saved.conversation);
        assert_eq!(loaded.messages(), saved.messages());
        assert_eq!((loaded.follow_up(), loaded.letters()), (saved.follow_up(), saved.letters()));
        assert_eq!((loaded.parked(), loaded.parked().len()), (saved.parked(), 1));
        assert_eq!(loaded.turn(turn), saved.turn(turn));
        assert_eq!((loaded.draft(draft), loaded.fresh_draft()), (saved.draft(draft), None));
    }
    assert_eq!(store.number("select count(*) from turns").await, 1);
}

async fn a_step_gets_what_it_needs_and_no_more(store: Shared) {
    let closed = |docket: &mut Docket| {
        for number in 0..10 {
            let mut message = from_contact(&format!("m{number}"));
            if let Some(inbound) = message.inbound.as_mut().filter(|_| number != 4) {
                (inbound.outcome, inbound.reason) = (Outcome::Ignored, Some(OutcomeReason::Empty));
            }
            message.key = Some(format!("k{number}"));
            docket.push(message);
        }
        docket.keep_letter(DeadLetter {
            id: Uuid::now_v7(),
            kind: LetterKind::Send,
            channel: "main".to_owned(),
            conversation: Some(docket.conversation.id),
            subject: None,
            state: LetterState::Replayed,
            reason: "r".to_owned(),
            attempts: 1,
            first_at: docket.now,
            last_at: docket.now,
            payload: json!(null).into(),
        });
        // What an endpoint was not told of may be thousands: no rule looks at it.
        let told = docket.letters()[0].clone();
        docket.keep_letter(DeadLetter {
            id: Uuid::now_v7(),
            kind: LetterKind::Delivery,
            state: LetterState::Open,
            ..told
        });
        docket.clone()
    };
    let all = store.change(opened(1), Need::default(), closed).await.expect("stored");
    let other = store.change(opened(2), Need::default(), closed).await.expect("stored");
    let seen = |need: Need| {
        let store = Arc::clone(&store);
        async move {
            let docket = change(&*store.another(Arc::clone(&store.heard) as _), opened(1), need, look)
                .await
                .expect("a look");
            docket.messages().iter().map(|message| message.seq).collect::<Vec<_>>()
        }
    };
    assert_eq!(seen(Need::default()).await, [5], "the open one");
    assert_eq!(
        seen(Need { keys: vec!["k0".into(), "m8".into(), "m99".into()], ..Need::default() }).await,
        [1, 5, 9]
    );
    let ids = vec![all.messages()[2].id, all.messages()[4].id, other.messages()[6].id];
    assert_eq!(seen(Need { messages: ids, ..Need::default() }).await, [3, 5], "none of another conversation");
    assert_eq!(seen(Need { newest: 2, ..Need::default() }).await, [5, 9, 10]);
    assert_eq!(seen(Need { newest: 100, ..Need::default() }).await.len(), 10);

    let draft = super::suggested(DraftState::Stale);
    let keep = |draft: Draft| move |docket: &mut Docket| docket.keep_draft(draft.clone());
    store.change(opened(1), Need::default(), keep(draft.clone())).await.expect("stored");
    let drafts = |chat, need: Need| {
        let (store, id) = (Arc::clone(&store), draft.id);
        async move { store.change(opened(chat), need, look).await.expect("a look").draft(id).cloned() }
    };
    let need = Need { draft: Some(draft.id), ..Need::default() };
    assert_eq!(drafts(1, Need::default()).await, None, "it is no open business");
    assert_eq!(drafts(1, need.clone()).await, Some(draft.clone()));
    assert_eq!(drafts(2, need).await, None, "none of another conversation");

    let letter = all.letters()[0].id;
    let anew = store.another(Arc::clone(&store.heard) as _);
    let docket = change(&*anew, opened(1), Need::default(), look).await.expect("a look");
    assert!(docket.letters().is_empty() && docket.channel.is_none() && docket.remembered.is_none());
    let need = Need { letter: Some(letter), ..Need::default() };
    let docket = change(&*anew, opened(1), need.clone(), look).await.expect("a look");
    assert_eq!(docket.letters(), &all.letters()[..1]);
    assert!(change(&*anew, opened(2), need, look).await.expect("a look").letters().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_stores_have_the_same_columns() {
    on_postgres(|store| async move {
        // The transaction of an event is PostgreSQL's own: SQLite has one writer.
        let columns = store
            .texts(
                "select table_name || '.' || column_name from information_schema.columns
                 where table_schema = 'public' and table_name <> '_sqlx_migrations'
                 and (table_name, column_name) <> ('events', 'xact') order by 1",
            )
            .await;
        on_sqlite(|store| async move {
            let same = store
                .texts(
                    "select m.name || '.' || c.name from sqlite_master m, pragma_table_info(m.name) c
                     where m.type = 'table' and m.name not like 'sqlite%' and m.name <> '_sqlx_migrations' order by 1",
                )
                .await;
            assert_eq!(same, columns);
        })
        .await;
    })
    .await;
}
