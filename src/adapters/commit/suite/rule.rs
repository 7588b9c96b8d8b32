//! What the database itself refuses, whatever the code above it believes.

use serde_json::json;
use uuid::Uuid;

use super::{Shared, from_us, opened, over_both_stores, sweep};
use crate::{
    domain::{
        conversation::Lease,
        docket::{Docket, Entry},
        draft::{Draft, DraftState},
        event::EventType,
        message::Message,
        time::Time,
        turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, TurnState},
    },
    flow::ledger::{Need, Work},
};

over_both_stores!(
    one_follow_up_is_pending_at_most,
    one_draft_is_fresh_at_most,
    what_ends_is_saved_before_what_begins_in_its_place,
    what_cannot_be_is_refused,
    work_is_due_in_order_and_not_before_its_time,
    events_and_letters_of_no_conversation_are_kept,
    a_letter_is_kept_once_while_it_is_open,
);

fn follow_up(due_at: Time) -> FollowUp {
    FollowUp {
        id: Uuid::now_v7(),
        due_at,
        text: Some("Still there?".to_owned()),
        instructions: None,
        created_by: "assistant".to_owned(),
        created_at: super::NOW,
        state: FollowUpState::Pending,
        reason: None,
        attempts: 0,
        message: None,
    }
}

async fn one_follow_up_is_pending_at_most(store: Shared) {
    let schedule = |docket: &mut Docket| {
        docket.change_follow_up(|pending| pending.state = FollowUpState::Cancelled);
        docket.keep_follow_up(follow_up(docket.now.plus_ms(60_000)));
    };
    for _ in 0..3 {
        // Cancelled and put in by the same statement: the index sees the one end before the other begins.
        store.change(opened(1), Need::default(), schedule).await.expect("scheduled");
    }
    assert_eq!(store.number("select count(*) from follow_ups where state = 'pending'").await, 1);
    assert_eq!(store.number("select count(*) from follow_ups where state = 'cancelled'").await, 2);
    let second = store
        .execute(
            "insert into follow_ups (id, conversation_id, due_at, created_by, created_at, state)
             select 'second', conversation_id, 1, 'test', 1, 'pending' from follow_ups where state = 'pending'",
        )
        .await;
    assert!(second.is_err(), "the database says it too");
}

async fn one_draft_is_fresh_at_most(store: Shared) {
    let replace = |docket: &mut Docket| {
        if let Some(before) = docket.fresh_draft().cloned() {
            docket.keep_draft(Draft { state: DraftState::Stale, ..before });
        }
        docket.keep_draft(super::suggested(DraftState::Fresh));
    };
    for round in 0..4_i64 {
        // Slow and fast path by turns, on PostgreSQL.
        let need = Need { newest: if round % 2 == 0 { 0 } else { 200 }, ..Need::default() };
        store.change(opened(1), need, replace).await.expect("replaced");
    }
    assert_eq!(store.number("select count(*) from drafts where state = 'fresh'").await, 1);
    assert_eq!(store.number("select count(*) from drafts where state = 'stale'").await, 3);
    let second = store
        .execute(
            "insert into drafts (id, conversation_id, text, state, based_on_seq, turn_id, created_at)
             select 'second', conversation_id, 'Hm.', 'fresh', 1, 'turn', 1 from drafts where state = 'fresh'",
        )
        .await;
    assert!(second.is_err(), "the database says it too");
    store.execute("delete from conversations").await.expect("erased");
    assert_eq!(store.number("select count(*) from drafts").await, 0, "they go with their conversation");
}

/// What one row gives up another takes, in one transaction: the index must see them in that order.
async fn what_ends_is_saved_before_what_begins_in_its_place(store: Shared) {
    let mut before = None;
    for round in 0..4_i64 {
        // Slow and fast path by turns, on PostgreSQL.
        let need = Need { newest: if round % 2 == 0 { 0 } else { 200 }, ..Need::default() };
        let replace = move |docket: &mut Docket| {
            if let Some((turn, message)) = before {
                let turn = docket.edit_turn(turn).expect("the turn that runs");
                (turn.state, turn.ended_at) = (TurnState::Failed, Some(super::NOW));
                docket.edit(message).expect("the message").key = None;
            }
            let turn = super::generating(docket);
            docket.begin_turn(turn.clone());
            docket.conversation.lease =
                Some(Lease { owner: "a".to_owned(), turn: turn.id, until: docket.now.plus_ms(60_000) });
            let message =
                docket.push(Message { key: Some("the key".to_owned()), ..super::from_contact("m") });
            (turn.id, message)
        };
        before = Some(store.change(opened(1), need, replace).await.expect("saved"));
    }
    assert_eq!(store.number("select count(*) from turns where state = 'generating'").await, 1);
    assert_eq!(store.number("select count(*) from messages where key = 'the key'").await, 1);
}

async fn what_cannot_be_is_refused(store: Shared) {
    let both = |docket: &mut Docket| {
        docket.push(super::from_contact("in"));
        docket.push(from_us("out"));
    };
    store.change(opened(1), Need::default(), both).await.expect("stored");
    let draft = |docket: &mut Docket| docket.keep_draft(super::suggested(DraftState::Fresh));
    store.change(opened(1), Need::default(), draft).await.expect("stored");
    for refused in [
        "update conversations set mode = 'BOTH'",
        "update conversations set status = 'gone'",
        "update messages set author = 'nobody'",
        "update messages set outcome = 'perhaps' where text = 'in'",
        "update messages set state = 'lost' where text = 'out'",
        "update messages set gate = 'back' where text = 'out'",
        "update messages set lane = 'fast' where text = 'out'",
        "update conversations set mode_until = 1 where mode = 'AI'",
        "update conversations set mode_version = 0",
        "update conversations set lease_owner = 'somebody'",
        "update conversations set attention = 'stale'",
        "update conversations set snoozed_until = 1",
        "update messages set state = 'sending', attempt_id = null where text = 'out'",
        "update messages set open = false where text = 'out'",
        "update messages set open = false where text = 'in'",
        "update messages set outcome = 'pending', starts_turn = true where text = 'out'",
        "update messages set idempotency_key = null where text = 'out'",
        "update messages set seq = 1",
        "update drafts set state = 'ripe'",
        "update drafts set state = 'discarded'",
        "update drafts set decided_by = 'a', decided_at = 1",
        "update drafts set state = 'discarded', decided_at = 1",
        "update drafts set state = 'sent', decided_by = 'a', decided_at = 1",
        "update drafts set state = 'edited', decided_by = 'a', decided_at = 1, message_id = 'm'",
        "update drafts set state = 'discarded', decided_by = 'a', decided_at = 1, edit_distance = 1",
        &turn("a", "generating", "reply", "1"),
        &turn("a", "generating", "chat", "null"),
        &turn("a", "completed", "draft", "null"),
    ] {
        assert!(store.execute(refused).await.is_err(), "{refused}");
    }
    store.execute(&turn("a", "generating", "draft", "null")).await.expect("one turn");
    assert!(store.execute(&turn("b", "generating", "reply", "null")).await.is_err(), "one turn at a time");
}

/// Puts a turn into every conversation.
fn turn(id: &str, state: &str, purpose: &str, ended_at: &str) -> String {
    format!(
        "insert into turns (id, conversation_id, state, purpose, mode_version, fence, last_seq, is_final, messages, attempt,
             started_at, ended_at, model, input_tokens, output_tokens, wasted)
         select '{id}', id, '{state}', '{purpose}', 1, 1, 1, false, '[]', 1, 1, {ended_at}, 'm', 0, 0, false
         from conversations"
    )
}

async fn work_is_due_in_order_and_not_before_its_time(store: Shared) {
    for (chat, after_ms) in [(1, 3_000), (2, 1_000), (3, 2_000), (4, 9_000)] {
        store
            .change(opened(chat), Need::default(), move |docket| {
                let at = docket.now.plus_ms(after_ms);
                docket.conversation.memo.ripe_at = Some(at.0);
                docket.conversation.memo.overdue_at = Some(at.0);
                docket.keep_follow_up(follow_up(at));
                let mut owed = from_us("hello");
                if let Some(delivery) = owed.delivery.as_mut() {
                    delivery.due_at = at;
                }
                docket.push(owed);
            })
            .await
            .expect("stored");
    }
    store.clock.advance_ms(3_000);
    for work in [Work::Turn, Work::Send, Work::FollowUp, Work::Tend] {
        let due = sweep(&*store.ledger, work, 10).await.expect("a list");
        let mut order = Vec::new();
        for due in &due {
            let clocks = due.clocks;
            order.push(clocks.turn_at.expect("set").since(super::NOW));
            assert_eq!(
                (clocks.send_at, clocks.follow_up_at, clocks.tend_at),
                (clocks.turn_at, clocks.turn_at, clocks.turn_at)
            );
            assert_eq!(due.channel, "main");
        }
        assert_eq!(order, [1_000, 2_000, 3_000], "{work:?}");
        assert_eq!(sweep(&*store.ledger, work, 2).await.expect("a list"), due[..2]);
        // What is due elsewhere does not hide it.
        let elsewhere = ["other".to_owned()];
        assert_eq!(store.ledger.due(work, &elsewhere, 2).await.expect("a list"), []);
        assert_eq!(store.ledger.due(work, &[], 2).await.expect("a list"), []);
    }
    // The channel sends in a second; and in a week, as a clock that was set back had it.
    for (ahead_ms, found) in [(1_000, 0), (604_800_000, 3)] {
        let next = super::NOW.plus_ms(3_000 + ahead_ms).0;
        let held = format!("update channels set next_send_at = {next} where name = 'main'");
        store.execute(&held).await.expect("held");
        assert_eq!(sweep(&*store.ledger, Work::Send, 10).await.expect("a list").len(), found, "{ahead_ms}");
    }
}

fn unreadable(now: Time) -> DeadLetter {
    DeadLetter {
        id: Uuid::now_v7(),
        kind: LetterKind::Webhook,
        channel: "main".to_owned(),
        conversation: None,
        subject: None,
        state: LetterState::Open,
        reason: "unreadable".to_owned(),
        attempts: 1,
        first_at: now,
        last_at: now,
        payload: json!({ "body": "?" }).into(),
    }
}

async fn events_and_letters_of_no_conversation_are_kept(store: Shared) {
    let now = store.ledger.now().await.expect("a clock");
    let event = Entry::of(EventType::WebhookDeadLettered).with("why", "no type").outside("main", now);
    let letter = unreadable(now);
    store.ledger.keep(vec![event], vec![letter.clone()]).await.expect("kept");
    let again = DeadLetter { attempts: 2, state: LetterState::Discarded, ..letter };
    store.ledger.keep(Vec::new(), vec![again]).await.expect("kept");
    store.ledger.keep(Vec::new(), Vec::new()).await.expect("nothing to keep");
    assert_eq!(store.number("select count(*) from events where conversation_id is null").await, 1);
    assert_eq!(store.heard.kept(), [EventType::WebhookDeadLettered], "the log hears of it too");
    assert_eq!(
        store.number("select count(*) from dead_letters where attempts = 2 and state = 'discarded'").await,
        1
    );
}

async fn a_letter_is_kept_once_while_it_is_open(store: Shared) {
    let now = store.ledger.now().await.expect("a clock");
    let event = Entry::of(EventType::WebhookDeadLettered).with("why", "no type").outside("main", now);
    let letter = unreadable(now);
    let keep = || store.ledger.keep_once(event.clone(), letter.clone());
    let both = tokio::join!(keep(), keep());
    let both = [both.0.expect("kept"), both.1.expect("kept")];
    assert_eq!(both.iter().filter(|is_new| **is_new).count(), 1, "{both:?}");
    assert!(!keep().await.expect("known"));
    assert_eq!(store.number("select count(*) from dead_letters").await, 1);
    assert_eq!(store.number("select count(*) from events where conversation_id is null").await, 1);
    assert_eq!(store.heard.kept(), [EventType::WebhookDeadLettered]);
    let discarded = DeadLetter { state: LetterState::Discarded, ..letter.clone() };
    store.ledger.keep(Vec::new(), vec![discarded]).await.expect("kept");
    assert!(keep().await.expect("kept"), "it has come again after somebody has decided about it");
    assert_eq!(store.number("select count(*) from dead_letters where state = 'open'").await, 1);
    assert_eq!(store.number("select count(*) from events where conversation_id is null").await, 2);
}
