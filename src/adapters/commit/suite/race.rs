//! Two at once: first messages of one chat, sends of one channel, leases that somebody else has taken.

use std::sync::Arc;

use futures_util::future::join_all;
use uuid::Uuid;

use super::{Shared, by_key, claim_if, from_us, opened, over_both_stores, push, sweep};
use crate::{
    domain::{conversation::Lease, docket::Docket, mode::Mode},
    flow::ledger::{Error, Held, Key, Ledger, Need, Standing, Work, change},
};

over_both_stores!(
    fifty_first_messages_of_one_chat_begin_one_conversation,
    on_a_channel_that_was_removed_none_begins,
    a_channel_is_not_removed_under_a_conversation_that_begins,
    sends_of_one_channel_see_each_other,
    a_lease_is_extended_only_under_its_fence,
    instances_that_meet_on_the_same_conversations_do_not_lock_each_other_out,
);

async fn fifty_first_messages_of_one_chat_begin_one_conversation(store: Shared) {
    let other = store.another(Arc::clone(&store.heard) as _);
    let ledgers: [&dyn Ledger; 2] = [&*store.ledger, &*other];
    let firsts = (0..50).map(|number| {
        let text = format!("m{number}");
        change(ledgers[number % 2], opened(1), by_key(text.clone()), push(text))
    });
    let mut numbers: Vec<i64> = join_all(firsts).await.into_iter().map(|seq| seq.expect("stored")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
    assert_eq!(store.number("select count(*) from conversations").await, 1);
    assert_eq!(store.number("select count(*) from chats").await, 1);
    assert_eq!(store.number("select count(*) from events where kind = 'conversation_created'").await, 1);
    assert_eq!(store.number("select created_at from conversations").await, super::NOW.0);
}

async fn on_a_channel_that_was_removed_none_begins(store: Shared) {
    assert!(store.remove_channel().await);
    let late = store.push(1, "late").await;
    assert!(matches!(late, Err(Error::Gone)), "{late:?}");
    for table in ["conversations", "chats", "messages", "events"] {
        assert_eq!(store.number(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
    store.add_channel().await;
    store.push(1, "again").await.expect("stored");
    assert!(!store.remove_channel().await, "it has a conversation");
    store.push(1, "and again").await.expect("stored");
}

async fn a_channel_is_not_removed_under_a_conversation_that_begins(store: Shared) {
    for round in 0..40 {
        let (begins, removes) = (store.push(round, "first"), store.remove_channel());
        let (begun, is_removed) = if round % 2 == 0 {
            tokio::join!(begins, removes)
        } else {
            let (is_removed, begun) = tokio::join!(removes, begins);
            (begun, is_removed)
        };
        assert!(is_removed == matches!(begun, Err(Error::Gone)), "{round}: {begun:?}, {is_removed}");
        let begun = store.number("select count(*) from conversations").await;
        assert_eq!(begun, i64::from(!is_removed), "{round}");
        store.execute("delete from conversations").await.expect("erased");
        if is_removed {
            store.add_channel().await;
        }
    }
}

/// Claims the owed message if nothing of the channel is being sent and its pace allows.
fn claim(docket: &mut Docket) -> bool {
    claim_if(docket, 1, 500)
}

async fn sends_of_one_channel_see_each_other(store: Shared) {
    for chat in 0..20 {
        store
            .change(opened(chat), Need::default(), move |docket| docket.push(from_us("hello")))
            .await
            .expect("queued");
    }
    assert_eq!(sweep(&*store.ledger, Work::Send, 100).await.expect("a list").len(), 20);
    let need = Need { channel: true, ..Need::default() };
    let claims = join_all((0..20).map(|chat| store.change(opened(chat), need.clone(), claim))).await;
    assert_eq!(claims.into_iter().filter(|claimed| *claimed.as_ref().expect("asked")).count(), 1);
    assert_eq!(store.number("select count(*) from messages where state = 'sending'").await, 1);
    assert_eq!(store.number("select next_send_at from channels").await, super::NOW.plus_ms(500).0);
    assert_eq!(
        sweep(&*store.ledger, Work::Send, 100).await.expect("a list"),
        [],
        "the channel's pace holds them"
    );

    // The pace allows it now, but one is still in flight.
    store.clock.advance_ms(500);
    assert_eq!(sweep(&*store.ledger, Work::Send, 100).await.expect("a list").len(), 19);
    let claims = join_all((0..20).map(|chat| store.change(opened(chat), need.clone(), claim))).await;
    assert_eq!(claims.into_iter().filter(|claimed| *claimed.as_ref().expect("asked")).count(), 0);

    store.execute("update channels set state = 'notAuthorized'").await.expect("unlinked");
    assert_eq!(sweep(&*store.ledger, Work::Send, 100).await.expect("a list"), []);
    assert_eq!(
        sweep(&*store.ledger, Work::Tend, 100).await.expect("a list"),
        [],
        "the lease of the send still runs"
    );
    store.clock.advance_ms(16_000);
    assert_eq!(sweep(&*store.ledger, Work::Tend, 100).await.expect("a list").len(), 1);
}

async fn a_lease_is_extended_only_under_its_fence(store: Shared) {
    let lease = |owner: &'static str| {
        move |docket: &mut Docket| {
            docket.conversation.fence += 1;
            let (until, turn) = (docket.now.plus_ms(30_000), Uuid::now_v7());
            docket.conversation.lease = Some(Lease { owner: owner.to_owned(), turn, until });
            turn
        }
    };
    let mine = store.conversation(1).await;
    let lost = store.conversation(2).await;
    let free = store.conversation(3).await;
    let one = store.change(Key::Id(mine), Need::default(), lease("a")).await.expect("leased");
    store.change(Key::Id(lost), Need::default(), lease("a")).await.expect("leased");
    let other = store.change(Key::Id(lost), Need::default(), lease("b")).await.expect("taken over");
    assert_eq!(sweep(&*store.ledger, Work::Turn, 10).await.expect("a list"), [], "live leases are left out");

    store.clock.advance_ms(10_000);
    let gone = Uuid::now_v7();
    let held = [(mine, 1), (lost, 1), (free, 0), (gone, 1)]
        .map(|(conversation, fence)| Held { conversation, fence });
    let mut standings = store.ledger.standings(&held, Some(30_000)).await.expect("looked after");
    standings.sort_by_key(|standing| standing.conversation);
    let standing = |conversation, fence, turn| Standing {
        conversation,
        mode: Mode::Ai,
        version: 1,
        fence,
        turn,
        contact_seq: 0,
    };
    let expected = [standing(mine, 1, Some(one)), standing(lost, 2, Some(other)), standing(free, 0, None)];
    assert_eq!(standings, expected);
    let until = |id: Uuid| {
        let store = Arc::clone(&store);
        async move {
            store
                .number(&format!(
                    "select coalesce(lease_until, 0) from conversations
                     where id = '{id}' and turn_at is not distinct from lease_until"
                ))
                .await
                - super::NOW.0
        }
    };
    assert_eq!((until(mine).await, until(lost).await), (40_000, 30_000));
    assert_eq!(until(free).await, -super::NOW.0, "nobody holds it");

    store.ledger.standings(&held, None).await.expect("looked at");
    assert_eq!(until(mine).await, 40_000, "a look extends nothing");
    store.clock.advance_ms(25_000);
    let due = sweep(&*store.ledger, Work::Turn, 10).await.expect("a list");
    assert_eq!(due.iter().map(|due| due.conversation).collect::<Vec<_>>(), [lost], "its holder is gone");
}

async fn instances_that_meet_on_the_same_conversations_do_not_lock_each_other_out(store: Shared) {
    let ids: Vec<Uuid> = join_all((0..30).map(|chat| store.conversation(chat))).await;
    let other = store.another(Arc::clone(&store.heard) as _);
    let ledgers: [&dyn Ledger; 2] = [&*store.ledger, &*other];
    let held: Vec<Held> = ids.iter().rev().map(|id| Held { conversation: *id, fence: 0 }).collect();
    let step = |number: usize| {
        let text = format!("m{number}");
        // Forwards for one instance, backwards for the other.
        let chat = if number.is_multiple_of(2) { number % 30 } else { 29 - number % 30 };
        let key = if number.is_multiple_of(3) { Key::Id(ids[chat]) } else { opened(chat) };
        change(ledgers[number % 2], key, by_key(text.clone()), push(text))
    };
    // In waves: a caller is told after a while that nothing has come of it, however many were before it.
    for wave in (0..600).step_by(60) {
        let renewals = join_all((0..2).map(|_| store.ledger.standings(&held, Some(30_000))));
        let (stored, renewed) = tokio::join!(join_all((wave..wave + 60).map(step)), renewals);
        for seq in stored {
            seq.expect("stored");
        }
        for standings in renewed {
            standings.expect("looked after");
        }
    }
    assert_eq!(store.number("select count(*) from messages").await, 600);
    assert_eq!(store.number("select cast(sum(seq) as bigint) from conversations").await, 600);
}
