//! Who is erased is found by nobody, whatever anybody still knows of them; and nothing of theirs that comes late begins anew.

use std::sync::Arc;

use futures_util::future::join_all;
use uuid::Uuid;

use super::{NOW, Shared, by_key, chat, from_us, look, opened, over_both_stores, push, store::soon, sweep};
use crate::{
    domain::{
        docket::{Docket, Erasure},
        message::ECHO_AWAITED_MS,
        time::Time,
        turn::TurnState,
    },
    flow::{
        forgetting::tombstones::{KEY_BYTES, Removal, Tombstone, Tombstones},
        ledger::{Error, Key, Need, Work, change},
    },
};

over_both_stores!(
    nobody_finds_a_conversation_that_is_closed_for_good,
    what_is_known_elsewhere_of_an_erased_conversation_is_never_saved,
    a_message_of_a_conversation_that_is_being_erased_begins_nothing,
    a_hash_alone_bars_a_message_and_only_of_its_chat,
    what_was_written_before_the_erasure_and_comes_after_it_begins_nothing,
    among_others_only_the_removed_one_is_turned_away,
    what_an_instance_is_told_to_forget_it_reads_again,
);

fn erase(docket: &mut Docket) {
    let echoed_until = docket.now.plus_ms(1_000);
    docket.erase(Erasure { actor: "shell".to_owned(), chats: Vec::new(), echoes: Vec::new(), echoed_until });
}

/// About a message with that key, as its hash would be.
fn barred(number: usize, key: &str) -> Need {
    let tombstone = Tombstone {
        channel: "main".to_owned(),
        chat: chat(number),
        key: Some(key.to_owned()),
        hash: format!("{number} {key}"),
        kept_until: None,
    };
    Need { tombstones: vec![tombstone], keys_are_new: true, ..by_key(key) }
}

async fn nobody_finds_a_conversation_that_is_closed_for_good(store: Shared) {
    let begun = store.conversation(1).await;
    let works = |docket: &mut Docket| {
        let turn = super::generating(docket);
        docket.conversation.lease = Some(crate::domain::conversation::Lease {
            owner: "a".to_owned(),
            turn: turn.id,
            until: docket.now,
        });
        docket.begin_turn(turn);
        docket.push(from_us("owed"));
    };
    store.change(Key::Id(begun), Need::default(), works).await.expect("at work");
    assert_eq!(sweep(&*store.ledger, Work::Send, 10).await.expect("asked").len(), 1);
    store.change(Key::Id(begun), Need::default(), erase).await.expect("closed");
    let told = store.heard.all().pop().expect("a commit");
    assert!(told.is_erased && told.turns.iter().any(|ran| ran.turn.state == TurnState::Cancelled));
    let again = store.change(Key::Id(begun), Need::default(), look).await;
    assert!(matches!(again, Err(Error::Gone)), "{again:?}");
    for work in [Work::Turn, Work::Send, Work::FollowUp, Work::Tend] {
        assert!(sweep(&*store.ledger, work, 10).await.expect("asked").is_empty(), "{work:?}");
    }
    assert_ne!(store.conversation(1).await, begun, "the chat begins another");
    assert_eq!(store.number("select count(*) from erased_chats").await, 1);
}

async fn what_is_known_elsewhere_of_an_erased_conversation_is_never_saved(store: Shared) {
    let ledgers = [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)];
    for round in 0..6_usize {
        // Both know it by then.
        let mut begun = Uuid::nil();
        for turn in 0..4_usize {
            let text = format!("{round} {turn}");
            let step = push(text.clone());
            change(&*ledgers[turn / 2], opened(1), by_key(text), step).await.expect("stored");
            let id = |docket: &mut Docket| docket.conversation.id;
            begun = change(&*ledgers[turn / 2], opened(1), Need::default(), id).await.expect("a look");
        }
        let (eraser, other) = (&ledgers[round % 2], &ledgers[(round + 1) % 2]);
        change(&**eraser, Key::Id(begun), Need::default(), erase).await.expect("closed");
        let late = |docket: &mut Docket| docket.conversation.unread += 1;
        let late = change(&**other, Key::Id(begun), Need::default(), late).await;
        assert!(matches!(late, Err(Error::Gone)), "{round}: {late:?}");
        // By its chat, which the other one knows too, it is another one.
        let text = format!("{round} new");
        change(&**other, opened(1), by_key(text.clone()), push(text)).await.expect("stored");
        let messages = format!(
            "select count(*) from messages where conversation_id = '{begun}' and text = '{round} new'"
        );
        assert_eq!(store.number(&messages).await, 0);
    }
    assert_eq!(store.number("select count(*) from conversations where erased_at is null").await, 1);
    assert_eq!(store.number("select count(*) from conversations").await, 7);
    assert_eq!(store.number("select count(*) from conversations where unread > 0").await, 0);
}

async fn a_message_of_a_conversation_that_is_being_erased_begins_nothing(store: Shared) {
    store.push(1, "m1").await.expect("stored");
    let begun = store.conversation(1).await;
    let known = store.change(opened(1), barred(1, "m2"), push("m2")).await;
    assert_eq!(known.expect("stored"), 2, "as long as nobody is erased, nothing is barred");
    store.change(Key::Id(begun), Need::default(), erase).await.expect("closed");
    for _ in 0..2 {
        let late = store.change(opened(1), barred(1, "m1"), push("m1")).await;
        assert!(matches!(late, Err(Error::Removed(Removal::Erased))), "{late:?}");
        assert_eq!(store.number("select count(*) from conversations where erased_at is null").await, 0);
        assert_eq!(store.number("select count(*) from chats").await, 0);
    }
    store.change(opened(1), barred(1, "m3"), push("m3")).await.expect("a new one is taken");
    for _ in 0..3 {
        // Where the new conversation is known, too.
        let late = store.change(opened(1), barred(1, "m2"), push("m2")).await;
        assert!(matches!(late, Err(Error::Removed(Removal::Erased))), "{late:?}");
        store
            .change(opened(1), Need::default(), |docket| docket.conversation.unread += 1)
            .await
            .expect("saved");
    }
    assert_eq!(store.number("select count(*) from messages where text = 'm2'").await, 1);
}

async fn a_hash_alone_bars_a_message_and_only_of_its_chat(store: Shared) {
    for (hash, kind) in [("1 m1", "erased"), ("1 m2", "expired")] {
        let kept = format!("insert into tombstones (hash, kind) values ('{hash}', '{kind}')");
        store.execute(&kept).await.expect("kept");
    }
    for (key, why) in [("m1", Removal::Erased), ("m2", Removal::Expired)] {
        let late = store.change(opened(1), barred(1, key), push(key)).await;
        assert!(matches!(late, Err(Error::Removed(removal)) if removal == why), "{late:?}");
        assert_eq!(store.number("select count(*) from conversations").await, 0);
        store.change(opened(2), barred(2, key), push(key)).await.expect("of another chat");
        store.execute("delete from conversations").await.expect("gone");
    }
}

/// A message with that key that was written then, and that nobody has heard of before.
fn written(key: &str, at: Time) -> Need {
    let tombstones = Tombstones::new(&[1; KEY_BYTES]);
    let tombstones = vec![tombstones.of("main", &chat(1), key), tombstones.of_chat("main", &chat(1), at)];
    Need { tombstones, keys_are_new: true, ..by_key(key) }
}

async fn what_was_written_before_the_erasure_and_comes_after_it_begins_nothing(store: Shared) {
    const MINUTE_MS: i64 = 60_000;
    let erase_person = async || {
        let known_by = |docket: &mut Docket| {
            let echoes = vec![Tombstones::new(&[1; KEY_BYTES]).of_chat("main", &chat(1), docket.now).hash];
            let echoed_until = docket.now.plus_ms(ECHO_AWAITED_MS);
            docket.erase(Erasure { actor: "shell".to_owned(), chats: Vec::new(), echoes, echoed_until });
        };
        let begun = store.conversation(1).await;
        store.change(Key::Id(begun), Need::default(), known_by).await.expect("closed");
    };
    let comes = async |key: &str, at: Time| store.change(opened(1), written(key, at), push(key)).await;
    let is_late = |outcome: Result<i64, Error>| matches!(outcome, Err(Error::Removed(Removal::Erased)));
    let before = NOW.plus_ms(-MINUTE_MS);
    comes("m0", before).await.expect("as long as nobody is erased, nothing is late");
    erase_person().await;
    assert!(is_late(comes("m1", before).await));
    assert_eq!(store.number("select count(*) from conversations where erased_at is null").await, 0);
    // Together, so that they share a transaction: what is new is taken, and what is late is not.
    let (late, new, late_too) =
        soon(async { tokio::join!(comes("m2", before), comes("m3", NOW), comes("m4", before)) }).await;
    assert!(is_late(late) && is_late(late_too));
    assert_eq!(new.expect("begins another"), 1);
    for key in ["m5", "m6", "m7"] {
        // Also where the new conversation is known.
        assert!(is_late(comes(key, before).await));
        assert!(comes(&format!("{key} new"), NOW).await.is_ok());
    }
    let later = NOW.plus_ms(10 * MINUTE_MS);
    store.clock.advance_ms(10 * MINUTE_MS);
    erase_person().await;
    assert!(is_late(comes("m8", later.plus_ms(-MINUTE_MS)).await), "erased again");
    assert!(comes("m9", later.plus_ms(MINUTE_MS)).await.is_ok());
    let late = "select count(*) from messages where text in ('m1', 'm2', 'm4', 'm5', 'm6', 'm7', 'm8')";
    assert_eq!(store.number(late).await, 0);
}

async fn among_others_only_the_removed_one_is_turned_away(store: Shared) {
    store
        .execute("insert into tombstones (hash, kind) values ('1 m1', 'erased'), ('2 m1', 'erased')")
        .await
        .expect("kept");
    // All at once, so that they share their transactions.
    let steps = [(1, "m1"), (1, "m2"), (2, "m1"), (3, "m1"), (1, "m1")].map(|(number, key)| {
        let store = Arc::clone(&store);
        async move { store.change(opened(number), barred(number, key), push(key)).await.is_ok() }
    });
    let taken = soon(join_all(steps)).await;
    assert_eq!(taken, [false, true, false, true, false]);
    assert_eq!(store.number("select count(*) from conversations").await, 2);
    assert_eq!(store.number("select count(*) from chats").await, 2);
    assert_eq!(store.texts("select text from messages order by text").await, ["m1", "m2"]);
    assert_eq!(store.number("select count(*) from events where kind = 'conversation_created'").await, 2);
}

async fn what_an_instance_is_told_to_forget_it_reads_again(store: Shared) {
    store.push(1, "m1").await.expect("stored");
    let begun = store.conversation(1).await;
    store.ledger.forget(begun);
    assert_eq!(store.push(1, "m2").await.expect("stored"), 2);
    assert_eq!(store.conversation(1).await, begun);
}
