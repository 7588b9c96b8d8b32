//! What an instance knows is never older than what is stored: it saves without looking only where nobody else has saved.

use std::sync::Arc;

use futures_util::future::join_all;
use uuid::Uuid;

use super::{NOW, Shared, claim_if, from_contact, from_us, look, opened, over_both_stores, push, settle};
use crate::{
    domain::{
        conversation::Lease,
        docket::Docket,
        draft::{Draft, DraftState},
        message::Outcome,
    },
    flow::ledger::{Held, Key, Need, change},
};

over_both_stores!(
    two_instances_take_turns_and_neither_loses_what_the_other_saved,
    a_key_that_was_taken_for_new_is_found_however_old_it_is,
    what_the_other_changed_is_not_overwritten,
    what_is_wanted_beyond_what_is_known_is_read,
    two_instances_never_send_more_than_the_channel_may,
    a_channel_that_was_full_has_room_as_soon_as_something_has_left,
    an_extended_lease_is_known_as_it_is_stored,
    a_draft_that_the_other_retired_is_not_fresh_again,
);

async fn two_instances_take_turns_and_neither_loses_what_the_other_saved(store: Shared) {
    let ledgers = [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)];
    for round in 0..10 {
        // Now one after the other, now both at once.
        let pushes = (0..6_usize).map(|number| {
            let ledger = Arc::clone(&ledgers[(number + round) % 2]);
            async move {
                let text = format!("{round} {number}");
                change(&*ledger, opened(number % 2), Need::default(), push(text)).await.expect("stored");
            }
        });
        join_all(pushes).await;
    }
    assert_eq!(store.number("select count(*) from messages").await, 60);
    assert_eq!(store.number("select max(seq) from messages").await, 30, "no number was given twice");
    for ledger in ledgers {
        let docket = change(&*ledger, opened(0), Need::default(), look).await.expect("a look");
        assert_eq!(docket.messages().len(), 30);
    }
}

async fn a_key_that_was_taken_for_new_is_found_however_old_it_is(store: Shared) {
    for number in 0..60 {
        let text = format!("m{number}");
        let closed = move |docket: &mut Docket| {
            let mut message = from_contact(&text);
            if let Some(inbound) = message.inbound.as_mut() {
                inbound.outcome = Outcome::Ignored;
            }
            message.key = Some(format!("key of {text}"));
            docket.push(message);
        };
        store.change(opened(1), Need::default(), closed).await.expect("stored");
    }
    let seen = |key: &str| {
        let (store, key) = (Arc::clone(&store), key.to_owned());
        async move {
            let need = Need { keys: vec![key.clone()], keys_are_new: true, ..Need::default() };
            let docket = store.change(opened(1), need, look).await.expect("a look");
            docket
                .messages()
                .iter()
                .any(|it| it.key.as_ref() == Some(&key) || it.provider_message_id.as_ref() == Some(&key))
        }
    };
    assert!(seen("key of m0").await, "a key from long ago");
    assert!(seen("m1").await, "an id from long ago");
    assert!(seen("key of m59").await);
    assert!(!seen("key of m60").await);
}

async fn two_instances_never_send_more_than_the_channel_may(store: Shared) {
    const MOST: usize = 3;
    let ledgers = [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)];
    let need = Need { channel: true, ..Need::default() };
    for chat in 0..24 {
        change(&*ledgers[chat % 2], opened(chat), Need::default(), |docket| docket.push(from_us("hello")))
            .await
            .expect("queued");
    }
    for sent in 0..8 {
        // By turns, then all at once.
        let mut claimed = 0;
        for chat in 0..24 {
            let claim = |docket: &mut Docket| claim_if(docket, MOST, 0);
            let one = change(&*ledgers[(chat + sent) % 2], opened(chat), need.clone(), claim);
            claimed += usize::from(one.await.expect("asked"));
        }
        assert_eq!(claimed, MOST, "all that may, and no more");
        let claims = (0..24).map(|chat| {
            change(&*ledgers[chat % 2], opened(chat), need.clone(), |docket| claim_if(docket, MOST, 0))
        });
        assert!(join_all(claims).await.into_iter().all(|claimed| !claimed.expect("asked")));
        join_all((0..24).map(|chat| change(&*ledgers[chat % 2], opened(chat), Need::default(), settle)))
            .await;
    }
    assert_eq!(store.number("select count(*) from messages where state = 'sent'").await, 24);
}

async fn a_channel_that_was_full_has_room_as_soon_as_something_has_left(store: Shared) {
    let need = Need { channel: true, ..Need::default() };
    for chat in 0..5 {
        let owe = |docket: &mut Docket| docket.push(from_us("hello"));
        store.change(opened(chat), Need::default(), owe).await.expect("queued");
    }
    for chat in 0..5 {
        for (at, may) in [(chat, true), ((chat + 1) % 5, false)] {
            let claim = |docket: &mut Docket| claim_if(docket, 1, 0);
            assert_eq!(
                store.change(opened(at), need.clone(), claim).await.expect("asked"),
                may,
                "{chat} {at}"
            );
        }
        store.change(opened(chat), Need::default(), settle).await.expect("settled");
    }
}

async fn what_the_other_changed_is_not_overwritten(store: Shared) {
    let ledgers = [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)];
    store.conversation(1).await;
    for round in 0..40_usize {
        // Twice each, so that both know it; nothing but the facts change, which no index would notice.
        let read = |docket: &mut Docket| docket.conversation.unread += 1;
        change(&*ledgers[round / 2 % 2], opened(1), Need::default(), read).await.expect("stored");
    }
    assert_eq!(store.number("select unread from conversations").await, 40);
}

async fn what_is_wanted_beyond_what_is_known_is_read(store: Shared) {
    let closed = |docket: &mut Docket| {
        for number in 0..60 {
            let mut message = from_contact(&format!("m{number}"));
            if let Some(inbound) = message.inbound.as_mut() {
                inbound.outcome = Outcome::Ignored;
            }
            docket.push(message);
        }
    };
    store.change(opened(1), Need::default(), closed).await.expect("stored");
    for newest in [10, 60, 30] {
        let need = Need { newest, ..Need::default() };
        let docket = store.change(opened(1), need, look).await.expect("a look");
        let newest_ones = docket.messages().iter().filter(|message| message.seq > 60 - newest as i64);
        assert_eq!(newest_ones.count(), newest);
    }
}

async fn an_extended_lease_is_known_as_it_is_stored(store: Shared) {
    let conversation = store.conversation(1).await;
    let lease = |docket: &mut Docket| {
        docket.conversation.fence = 1;
        let until = docket.now.plus_ms(30_000);
        docket.conversation.lease = Some(Lease { owner: "a".to_owned(), turn: Uuid::now_v7(), until });
    };
    store.change(Key::Id(conversation), Need::default(), lease).await.expect("leased");
    store.clock.advance_ms(10_000);
    let held = [Held { conversation, fence: 1 }];
    store.ledger.standings(&held, Some(30_000)).await.expect("extended");
    for ledger in [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)] {
        let docket = change(&*ledger, Key::Id(conversation), Need::default(), look).await.expect("a look");
        let until = docket.conversation.lease.map(|lease| lease.until);
        assert_eq!(until, Some(NOW.plus_ms(40_000)));
    }
}

async fn a_draft_that_the_other_retired_is_not_fresh_again(store: Shared) {
    let ledgers = [Arc::clone(&store.ledger), store.another(Arc::clone(&store.heard) as _)];
    for round in 0..12_usize {
        // Twice each, so that both know it.
        let ledger = &ledgers[round / 2 % 2];
        let next = move |docket: &mut Docket| {
            let before = docket.fresh_draft().cloned();
            if let Some(before) = before.clone() {
                docket.keep_draft(Draft { state: DraftState::Stale, ..before });
            }
            let text = round.to_string();
            docket.keep_draft(Draft { text, ..super::suggested(DraftState::Fresh) });
            before.map(|draft| draft.text)
        };
        let before = change(&**ledger, opened(1), Need::default(), next).await.expect("stored");
        assert_eq!(
            before,
            round.checked_sub(1).map(|before| before.to_string()),
            "the newest, whoever wrote it"
        );
    }
    assert_eq!(store.number("select count(*) from drafts where state = 'stale'").await, 11);
}
