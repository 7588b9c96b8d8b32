//! What a step may rely on: whole or not at all, in order, alone, and told of.

use std::{
    collections::BTreeSet,
    sync::{Arc, Barrier, Mutex},
};

use futures_util::future::join_all;

use super::{Shared, by_key, from_contact, look, opened, over_both_stores, push, store::Database};
use crate::{
    domain::{
        docket::{Docket, Remembered},
        event::EventType,
    },
    flow::{
        desk::REMEMBERED_MS,
        ledger::{Committed, Error, Key, Need, Observer},
    },
};

over_both_stores!(
    a_step_takes_effect_whole_or_not_at_all,
    two_hundred_at_once_are_numbered_as_they_came,
    two_hundred_at_once_over_many_conversations_are_numbered_in_each,
    a_message_stored_twice_is_refused_and_harms_nobody_else,
    a_step_that_panics_harms_nobody_else,
    a_conversation_that_is_gone_is_never_made_again,
    a_step_that_changes_nothing_writes_nothing,
    the_observer_is_told_after_the_commit_and_before_the_answer,
    a_caller_that_goes_away_does_not_undo_its_step,
    steps_of_one_conversation_in_one_transaction_see_each_other,
);

async fn a_step_takes_effect_whole_or_not_at_all(store: Shared) {
    let id = store.conversation(1).await;
    let step = |docket: &mut Docket| {
        docket.conversation.contact_name = Some("Half".to_owned());
        docket.push(from_contact("first"));
        docket.push(from_contact("twin"));
        docket.push(from_contact("twin"));
    };
    let refused = store.change(Key::Id(id), Need::default(), step).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let after = store.change(Key::Id(id), Need::default(), look).await.expect("a look");
    assert_eq!(
        (after.conversation.seq, after.conversation.contact_name.clone(), after.messages().len()),
        (0, None, 0)
    );
    assert_eq!(store.number("select count(*) from messages").await, 0);
    assert_eq!(store.number("select count(*) from events").await, 1, "only that it began");
}

async fn two_hundred_at_once_are_numbered_as_they_came(store: Shared) {
    let pushes = (0..200).map(|number| store.push(1, format!("m{number}")));
    let numbers: Vec<i64> = join_all(pushes).await.into_iter().map(|seq| seq.expect("stored")).collect();
    assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
    assert_eq!(store.number("select count(*) from messages where text = 'm' || (seq - 1)").await, 200);
    assert_eq!(store.number("select count(*) from conversations").await, 1);
}

async fn two_hundred_at_once_over_many_conversations_are_numbered_in_each(store: Shared) {
    let pushes = (0..200).map(|number| store.push(number % 20, format!("m{}", number / 20)));
    for seq in join_all(pushes).await {
        seq.expect("stored");
    }
    assert_eq!(store.number("select count(*) from messages where text = 'm' || (seq - 1)").await, 200);
    assert_eq!(store.number("select count(*) from conversations where seq = 10").await, 20);
}

async fn a_message_stored_twice_is_refused_and_harms_nobody_else(store: Shared) {
    store.push(1, "known").await.expect("stored");
    // Blind to what is there: it does not ask for the key.
    let blind = |docket: &mut Docket| docket.push(from_contact("known"));
    let id = store.change(opened(1), by_key("known"), |docket| docket.conversation.id).await.expect("a look");
    store.execute("update messages set outcome = 'answered', open = false").await.expect("answered");
    let (before, bad, after, elsewhere) = tokio::join!(
        store.push(1, "before"),
        store.change(Key::Id(id), Need::default(), blind),
        store.push(1, "after"),
        store.push(2, "elsewhere"),
    );
    assert!(matches!(bad, Err(Error::Refused(_))), "{bad:?}");
    before.expect("stored");
    after.expect("stored");
    elsewhere.expect("stored");
    assert_eq!(store.number("select count(*) from messages").await, 4);
}

async fn a_step_that_panics_harms_nobody_else(store: Shared) {
    let poisoned = |docket: &mut Docket| {
        docket.push(from_contact("half"));
        panic!("on purpose");
    };
    let (before, bad, same, elsewhere, fresh) = tokio::join!(
        store.push(1, "before"),
        store.change::<(), _>(opened(1), Need::default(), poisoned),
        store.push(1, "same"),
        store.push(2, "elsewhere"),
        store.change::<(), _>(opened(3), Need::default(), poisoned),
    );
    assert!(matches!(bad, Err(Error::Refused(_))), "{bad:?}");
    assert!(matches!(fresh, Err(Error::Refused(_))), "{fresh:?}");
    assert_eq!((before.expect("stored"), same.expect("stored")), (1, 2));
    elsewhere.expect("stored");
    assert_eq!(store.number("select count(*) from messages").await, 3);
    assert_eq!(
        store.number("select count(*) from conversations").await,
        2,
        "nothing begins by a step that panics"
    );
}

async fn a_conversation_that_is_gone_is_never_made_again(store: Shared) {
    let Key::Chat { channel, chat, .. } = opened(1) else { unreachable!("opened is by chat") };
    let closed = Key::Chat { channel, chat, opening: None };
    let none = store.change(closed.clone(), Need::default(), push("a")).await;
    assert!(matches!(none, Err(Error::Gone)), "{none:?}");
    let id = store.conversation(1).await;
    store.change(closed, Need::default(), push("a")).await.expect("it is there now");
    store.execute("delete from conversations").await.expect("erased");
    let gone = store.change(Key::Id(id), Need::default(), push("b")).await;
    assert!(matches!(gone, Err(Error::Gone)), "{gone:?}");
    assert_eq!(store.number("select count(*) from messages").await, 0);
    assert_ne!(store.conversation(1).await, id, "who writes again begins anew");
}

async fn a_step_that_changes_nothing_writes_nothing(store: Shared) {
    store.push(1, "a").await.expect("stored");
    let told = store.heard.all().len();
    store.clock.advance_ms(1_000);
    store.push(1, "a").await.expect("found again");
    assert_eq!(store.heard.all().len(), told);
    assert_eq!(store.number("select count(*) from conversations where updated_at > created_at").await, 0);
}

/// Looks into the database while it is told.
struct Looking {
    store: Shared,
    seen: Mutex<Vec<(usize, i64)>>,
}

impl Observer for Looking {
    fn committed(&self, commits: &[Committed]) {
        let events = commits.iter().map(|commit| commit.events.len()).sum();
        let count = self.store.number("select count(*) from messages");
        let stored = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(count));
        self.seen.lock().expect("no panic while it is held").push((events, stored));
    }
}

async fn the_observer_is_told_after_the_commit_and_before_the_answer(store: Shared) {
    let looking = Arc::new(Looking { store: Arc::clone(&store), seen: Mutex::default() });
    let ledger = store.another(Arc::clone(&looking) as Arc<dyn Observer>);
    crate::flow::ledger::change(&*ledger, opened(1), Need::default(), push("a")).await.expect("stored");
    let seen = std::mem::take(&mut *looking.seen.lock().expect("no panic while it is held"));
    assert_eq!(seen, [(1, 1)], "one notice, with the event, when the message was there to see");
    assert!(store.heard.all().is_empty(), "each ledger tells its own observer");

    store.push(1, "b").await.expect("stored");
    let told = store.heard.all();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].channel, "main");
    assert_eq!(told[0].standing.version, 1);
    store.conversation(2).await;
    assert_eq!(store.heard.all()[1].events[0].kind, EventType::ConversationCreated);
}

async fn a_caller_that_goes_away_does_not_undo_its_step(store: Shared) {
    let held = Arc::new(Barrier::new(2));
    let gate = Arc::clone(&held);
    let step = move |docket: &mut Docket| {
        // The step is under way now, and its caller is dropped.
        gate.wait();
        docket.push(from_contact("orphan"));
    };
    let caller = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.change(opened(1), Need::default(), step).await })
    };
    let abort = caller.abort_handle();
    tokio::task::spawn_blocking(move || {
        abort.abort();
        held.wait();
    })
    .await
    .expect("the step began");
    assert_eq!(store.push(1, "after").await.expect("stored"), 2);
}

async fn steps_of_one_conversation_in_one_transaction_see_each_other(store: Shared) {
    store.conversation(1).await;
    let request = || Need { request: Some("caller /path key".to_owned()), ..Need::default() };
    let once = |docket: &mut Docket| {
        if let Some(remembered) = &docket.remembered
            && docket.now.since(remembered.at) < REMEMBERED_MS
        {
            return remembered.message;
        }
        let message = docket.push(from_contact(&format!("by request at {}", docket.now.0)));
        docket.remember(Remembered {
            key: "caller /path key".to_owned(),
            body_hash: "hash".to_owned(),
            message,
            answer: serde_json::json!({ "ok": true }),
            at: docket.now,
        });
        message
    };
    let calls = (0..20).map(|_| store.change(opened(1), request(), once));
    let answers: BTreeSet<_> = join_all(calls).await.into_iter().map(|id| id.expect("answered")).collect();
    assert_eq!(answers.len(), 1, "one message, told to each");
    assert_eq!(store.number("select count(*) from messages").await, 1);
    // A day later the key stands for nothing any more, also while its row is still there.
    store.clock.advance_ms(REMEMBERED_MS);
    let calls = (0..20).map(|_| store.change(opened(1), request(), once));
    let later: BTreeSet<_> = join_all(calls).await.into_iter().map(|id| id.expect("answered")).collect();
    assert_eq!((later.len(), later.is_disjoint(&answers)), (1, true));
    assert_eq!(store.number("select count(*) from requests").await, 1);
    if let Database::Postgres { store, .. } = &store.database {
        assert!(store.pool.size() <= 8);
    }
}
