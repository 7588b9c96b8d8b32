use uuid::Uuid;

use crate::{
    adapters::{
        rows::ParkedRow,
        sql::{Statement, cell},
        test_stores::{
            NOW, TestStore, answered, begun, event, from_contact, from_us, letter, on_both_stores, scheduled,
            suggested, turn,
        },
    },
    domain::{
        conversation::Conversation,
        docket::{Parked, Report},
        draft::DraftState,
        event::{EventType, actor},
        message::{Author, DeliveryState, Message, Outcome},
        mode::Mode,
        time::Time,
        turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, Turn, TurnState},
    },
    flow::forgetting::{
        erasures::Rows,
        expiry::{Expired, Expiry, Kind},
    },
};

on_both_stores!(
    what_is_old_goes_and_what_is_young_or_open_stays,
    a_conversation_that_was_changed_meanwhile_keeps_what_it_has,
    it_is_found_page_by_page_each_conversation_once,
    only_a_conversation_of_which_nothing_is_left_is_removed,
    what_is_empty_only_then_is_counted_with_what_goes,
    whom_a_person_answers_stays_with_people,
    a_follow_up_that_was_called_off_waits_for_no_time_to_come,
    what_hangs_on_no_conversation_goes_by_its_age_alone,
    one_run_is_enough_for_all_instances,
);

/// What is older than this goes.
const BEFORE: Time = NOW;
const OLD: Time = NOW.plus_ms(-1);

fn rows(rows: &[(&str, i64)]) -> Rows {
    rows.iter().map(|(table, count)| ((*table).to_owned(), *count)).collect()
}

async fn count<S: TestStore>(store: &S, table: &'static str) -> i64 {
    let text = format!("select count(*) as found from {table}");
    // Of the words of this test alone, which live as long as it does.
    let statement = Statement::new(Box::leak(text.into_boxed_str()));
    cell(&store.row(statement).await.expect("reads").expect("a count"), "found").expect("a number")
}

/// Of every kind one that is old, one that is young, and one that somebody waits for.
async fn lived<S: TestStore>(store: &S) -> Conversation {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_chat("shop", "100@lid", mei.id).await;
    let said = |seq, at| answered(from_contact(seq, "Hello", at), Outcome::Answered, None);
    let sent = Message {
        provider_message_id: Some("P3".to_owned()),
        ..from_us(3, Author::Assistant, "Hi", OLD, DeliveryState::Sent)
    };
    let messages = vec![
        said(1, OLD),
        from_contact(2, "Anyone?", OLD),
        sent,
        from_us(4, Author::Assistant, "Hm", OLD, DeliveryState::Unknown),
        said(5, BEFORE),
    ];
    store.keep_messages(&mei, messages).await;
    let mut young = turn(BEFORE);
    young.ended_at = Some(BEFORE);
    let mut old = turn(OLD);
    old.ended_at = Some(OLD);
    store.keep_turns(&mei, vec![old, young]).await;
    let states = [FollowUpState::Sent, FollowUpState::Pending];
    let of_old = |state| FollowUp { created_at: OLD, ..scheduled(OLD, state) };
    store.keep_follow_ups(&mei, states.map(of_old).to_vec()).await;
    let drafts = [(OLD, DraftState::Stale), (BEFORE, DraftState::Stale)];
    store.keep_drafts(&mei, drafts.map(|(at, state)| suggested(at, state, 0)).to_vec()).await;
    let letters = [OLD, BEFORE].map(|at| letter("shop", LetterKind::Turn, at));
    let of_mei = |letter| DeadLetter { conversation: Some(mei.id), ..letter };
    store.keep_letters(letters.map(of_mei).to_vec()).await;
    let parked = [OLD, BEFORE].map(|at| Parked {
        id: Uuid::now_v7(),
        provider_message_id: "P9".to_owned(),
        report: Report::Deletion,
        at,
    });
    store.keep(parked.map(|parked| ParkedRow::of(mei.id, parked)).to_vec()).await;
    mei
}

async fn expired<S: TestStore>(store: &S, conversation: Uuid, limit: usize) -> Option<Expired> {
    store.expired(conversation, BEFORE, limit).await.expect("reads")
}

async fn what_is_old_goes_and_what_is_young_or_open_stays<S: TestStore>(store: &S) {
    let mei = lived(store).await;
    let all =
        [("dead_letters", 1), ("drafts", 1), ("follow_ups", 1), ("messages", 2), ("parked", 1), ("turns", 1)];
    assert_eq!(store.count_expired(BEFORE).await.expect("counts"), rows(&all));
    let old = expired(store, mei.id, 10).await.expect("some is old");
    let mut chats: Vec<&str> = old.chats.iter().map(|chat| chat.as_str()).collect();
    chats.sort_unstable();
    assert_eq!((chats, old.has_more), (vec!["100@lid", "6580000001@c.us"], false));
    let mut keys = old.keys.clone();
    keys.sort_unstable();
    assert_eq!(keys, ["P3", "key-1"], "of what goes, and of nothing else");
    let hashes = vec!["a".to_owned(), "b".to_owned()];
    assert!(store.expire(&old, hashes).await.expect("writes"));
    assert_eq!(expired(store, mei.id, 10).await, None);
    assert_eq!(store.count_expired(BEFORE).await.expect("counts"), Rows::new());
    for (table, left) in
        [("messages", 3), ("turns", 1), ("drafts", 1), ("dead_letters", 1), ("follow_ups", 1)]
    {
        assert_eq!(count(store, table).await, left, "{table}");
    }
    let year = 365 * 86_400_000;
    let known =
        Statement::new("select count(*) as found from tombstones where kind = 'expired' and until >= $1");
    let row = store.row(known.with(NOW.plus_ms(year))).await.expect("reads").expect("a count");
    assert_eq!(cell::<i64, _>(&row, "found").expect("a number"), 2);
    assert_eq!(store.forget_echoes(NOW.plus_ms(year)).await.expect("forgets"), 0);
    assert_eq!(store.forget_echoes(NOW.plus_ms(9 * year)).await.expect("forgets"), 2, "not for good");
}

async fn a_conversation_that_was_changed_meanwhile_keeps_what_it_has<S: TestStore>(store: &S) {
    let mei = lived(store).await;
    let old = expired(store, mei.id, 10).await.expect("some is old");
    store.write(Statement::new("update conversations set stamp = stamp + 1")).await.expect("changed");
    assert!(!store.expire(&old, vec!["a".to_owned()]).await.expect("writes"));
    assert_eq!((count(store, "messages").await, count(store, "tombstones").await), (5, 0));
    let again = expired(store, mei.id, 10).await.expect("some is old");
    assert!(store.expire(&again, Vec::new()).await.expect("writes"));
    assert!(!store.expire(&again, Vec::new()).await.expect("writes"), "its stamp is another now");
}

async fn it_is_found_page_by_page_each_conversation_once<S: TestStore>(store: &S) {
    let mut all = Vec::new();
    for number in 0..5 {
        let one = begun("shop", &format!("658000000{number}@c.us"));
        store.keep_conversation(&one).await;
        let said = (1..=3).map(|seq| answered(from_contact(seq, "Hello", OLD), Outcome::Answered, None));
        store.keep_messages(&one, said.collect()).await;
        all.push(one.id);
    }
    let (mut found, mut after, mut looks) = (Vec::new(), None, 0);
    loop {
        let (page, next) = store.aged(Kind::Messages, BEFORE, after, 4).await.expect("reads");
        found.extend(page);
        looks += 1;
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(looks, 4, "fifteen, four at a time");
    found.sort_unstable();
    found.dedup();
    all.sort_unstable();
    assert_eq!(found, all);
    let old = expired(store, all[0], 2).await.expect("some is old");
    assert!(
        old.has_more && old.rows == [(Kind::Messages, old.rows[0].1.clone())] && old.rows[0].1.len() == 2
    );
    for kind in Kind::ALL.into_iter().skip(1) {
        assert_eq!(store.aged(kind, BEFORE, None, 4).await.expect("reads"), (Vec::new(), None), "{kind:?}");
    }
}

async fn only_a_conversation_of_which_nothing_is_left_is_removed<S: TestStore>(store: &S) {
    let mut all = Vec::new();
    for number in 0..6 {
        let mut one = begun("shop", &format!("658000000{number}@c.us"));
        one.updated_at = if number == 1 { BEFORE } else { OLD };
        one.opted_out = number == 2;
        store.keep_conversation(&one).await;
        all.push(one);
    }
    store.keep_messages(&all[3], vec![from_contact(1, "Anyone?", OLD)]).await;
    store.keep_follow_ups(&all[4], vec![scheduled(OLD, FollowUpState::Pending)]).await;
    let clock = Statement::new("update conversations set tend_at = 1 where id = $1").with(all[5].id);
    store.write(clock).await.expect("set");
    let (empty, next) = store.empty(BEFORE, None, 10).await.expect("reads");
    assert_eq!((empty, next), (vec![all[0].id], None));
    for (number, one) in all.iter().enumerate() {
        let is_gone = store.remove_empty(one.id, BEFORE).await.expect("writes");
        assert_eq!(is_gone, number == 0, "{number}");
    }
    assert!(!store.remove_empty(all[0].id, BEFORE).await.expect("writes"), "once");
    assert_eq!((count(store, "conversations").await, count(store, "chats").await), (5, 5));
    assert_eq!(count(store, "events").await, 1);
}

async fn what_is_empty_only_then_is_counted_with_what_goes<S: TestStore>(store: &S) {
    let mut all = Vec::new();
    for number in 0..7 {
        let mut one = begun("shop", &format!("658000000{number}@c.us"));
        one.updated_at = OLD;
        store.keep_conversation(&one).await;
        let said = answered(from_contact(1, "Hello", OLD), Outcome::Answered, None);
        store.keep_messages(&one, vec![said]).await;
        store.keep_turns(&one, vec![Turn { ended_at: Some(OLD), ..turn(OLD) }]).await;
        store.keep_drafts(&one, vec![suggested(OLD, DraftState::Stale, 0)]).await;
        let called_off = FollowUp { created_at: OLD, ..scheduled(NOW, FollowUpState::Cancelled) };
        store.keep_follow_ups(&one, vec![called_off]).await;
        let of_it = DeadLetter { conversation: Some(one.id), ..letter("shop", LetterKind::Turn, OLD) };
        store.keep_letters(vec![of_it]).await;
        all.push(one);
    }
    store.keep_messages(&all[1], vec![from_contact(2, "Anyone?", OLD)]).await;
    let runs = Turn { state: TurnState::Generating, ended_at: None, ..turn(OLD) };
    store.keep_turns(&all[2], vec![runs]).await;
    store.keep_drafts(&all[3], vec![suggested(OLD, DraftState::Fresh, 0)]).await;
    store.keep_drafts(&all[4], vec![suggested(BEFORE, DraftState::Stale, 0)]).await;
    store.keep_follow_ups(&all[5], vec![scheduled(OLD, FollowUpState::Pending)]).await;
    let young = DeadLetter { conversation: Some(all[6].id), ..letter("shop", LetterKind::Send, BEFORE) };
    store.keep_letters(vec![young]).await;
    let counted = store.count_expired(BEFORE).await.expect("counts");
    assert_eq!((counted.get("conversations"), counted.get("messages")), (Some(&1), Some(&7)));
    let old = expired(store, all[0].id, 10).await.expect("some is old");
    assert!(store.expire(&old, Vec::new()).await.expect("writes"));
    let (empty, _) = store.empty(BEFORE, None, 10).await.expect("reads");
    assert_eq!(empty, [all[0].id]);
}

async fn whom_a_person_answers_stays_with_people<S: TestStore>(store: &S) {
    let ana = Some(Uuid::now_v7());
    #[rustfmt::skip]
    let table = [
        // mode       actor               assignee  stays
        (Mode::Ai,    "agent:ana",        ana,      false),
        (Mode::Human, "agent:ana",        None,     true),
        (Mode::Human, "token:7",          None,     true),
        (Mode::Human, actor::ENVIRONMENT, None,     true),
        (Mode::Human, actor::SHELL,       None,     true),
        (Mode::Human, actor::PHONE,       None,     true),
        (Mode::Human, actor::OTHER_SYSTEM, None,    true),
        (Mode::Human, actor::SYSTEM,      None,     false),
        (Mode::Human, actor::ASSISTANT,   None,     false),
        (Mode::Human, actor::CONTACT,     None,     false),
        (Mode::Human, actor::CONTACT,     ana,      true),
    ];
    for (number, (mode, by, assignee, stays)) in table.into_iter().enumerate() {
        let mut one = begun("shop", &format!("65800000{number:02}@c.us"));
        one.updated_at = OLD;
        (one.mode.mode, one.mode.actor, one.assignee) = (mode, by.to_owned(), assignee);
        store.keep_conversation(&one).await;
        let is_gone = store.remove_empty(one.id, BEFORE).await.expect("writes");
        assert_eq!(is_gone, !stays, "{mode} {by} {assignee:?}");
        if stays {
            // It was merged: what it knew is known in the one where it goes on.
            let chats = Statement::new("delete from chats where conversation_id = $1");
            store.write(chats.with(one.id)).await.expect("moved");
            assert!(store.remove_empty(one.id, BEFORE).await.expect("writes"), "{mode} {by}");
        }
    }
}

async fn a_follow_up_that_was_called_off_waits_for_no_time_to_come<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let of = |created_at, due_at, state| FollowUp { created_at, ..scheduled(due_at, state) };
    let later = BEFORE.plus_ms(90 * 86_400_000);
    let follow_ups = vec![
        of(OLD, later, FollowUpState::Cancelled),
        of(OLD, later, FollowUpState::Pending),
        // It was due long after it was scheduled.
        of(OLD, BEFORE, FollowUpState::Sent),
        of(BEFORE, later, FollowUpState::Cancelled),
    ];
    let goes = follow_ups[0].id.to_string();
    store.keep_follow_ups(&mei, follow_ups).await;
    assert_eq!(store.count_expired(BEFORE).await.expect("counts"), rows(&[("follow_ups", 1)]));
    let (found, _) = store.aged(Kind::FollowUps, BEFORE, None, 10).await.expect("reads");
    assert_eq!(found, [mei.id]);
    let old = expired(store, mei.id, 10).await.expect("some is old");
    assert_eq!(old.rows, [(Kind::FollowUps, vec![goes])]);
    assert!(store.expire(&old, Vec::new()).await.expect("writes"));
    assert_eq!(count(store, "follow_ups").await, 3);
}

async fn what_hangs_on_no_conversation_goes_by_its_age_alone<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let events = |at| (1..=3).map(move |number| (number, at));
    let kept = events(OLD).chain(events(BEFORE)).map(|(number, at)| {
        let of = (number > 1).then_some(&mei);
        event(of, of.map(|_| number), EventType::MessageReceived, at)
    });
    store.keep_events(kept.collect()).await;
    store.keep_letters([OLD, BEFORE].map(|at| letter("shop", LetterKind::Webhook, at)).to_vec()).await;
    assert_eq!(
        store.count_expired(BEFORE).await.expect("counts"),
        rows(&[("dead_letters", 1), ("events", 3)])
    );
    let mut gone = Vec::new();
    for _ in 0..3 {
        gone.push(store.expire_others(BEFORE, 2).await.expect("writes"));
    }
    assert_eq!(gone, [rows(&[("dead_letters", 1), ("events", 2)]), rows(&[("events", 1)]), Rows::new()]);
    assert_eq!((count(store, "events").await, count(store, "dead_letters").await), (3, 1));
}

async fn one_run_is_enough_for_all_instances<S: TestStore>(store: &S) {
    let (one, other) = tokio::join!(store.claim_retention(60_000), store.claim_retention(60_000));
    let mut both = [one.expect("asked"), other.expect("asked")];
    both.sort_unstable();
    assert_eq!(both, [false, true]);
    assert!(!store.claim_retention(1).await.expect("asked"));
    assert!(store.claim_retention(0).await.expect("asked"), "the time is over");
}
