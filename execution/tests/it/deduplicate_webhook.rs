//! A copy of a webhook is known as one, and a crash loses nothing.

use std::time::Duration;

use execution::deduplicate_webhook::{Claim, Deduplicator, Seen, Settlement, Token};
use tokio::task::JoinSet;

use crate::rig::{Rig, over_both_stores};

over_both_stores![
    of_a_hundred_copies_at_once_one_is_first,
    a_copy_is_in_progress_until_the_first_is_confirmed,
    a_webhook_whose_taker_died_is_first_again_within_seconds,
    a_webhook_given_back_is_first_again,
    a_confirmed_webhook_is_remembered_for_long_and_then_forgotten,
    a_claim_whose_time_is_over_settles_nothing,
    two_webhooks_do_not_meet,
    a_peek_takes_nothing,
];

const SECOND: Duration = Duration::from_secs(1);
const CLAIM: Duration = Duration::from_secs(10);
const CONFIRM: Duration = Duration::from_secs(300);

fn deduplicator_of(rig: &Rig) -> Deduplicator {
    Deduplicator::new(rig.store.clone(), CLAIM, CONFIRM)
}

async fn claim(deduplicator: &Deduplicator) -> Claim {
    deduplicator.claim("fp").await.expect("the store is there")
}

async fn first(deduplicator: &Deduplicator) -> Token {
    match claim(deduplicator).await {
        Claim::First(token) => token,
        other => panic!("{other:?}"),
    }
}

async fn seen(deduplicator: &Deduplicator) -> Seen {
    deduplicator.peek("fp").await.expect("the store is there")
}

async fn of_a_hundred_copies_at_once_one_is_first(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let mut copies = JoinSet::new();
    for _ in 0..100 {
        let deduplicator = deduplicator.clone();
        copies.spawn(async move { claim(&deduplicator).await });
    }
    let mut firsts = 0;
    for claim in copies.join_all().await {
        match claim {
            Claim::First(_) => firsts += 1,
            Claim::InProgress => {}
            Claim::Confirmed => panic!("nobody has confirmed"),
        }
    }
    assert_eq!(firsts, 1);
}

async fn a_copy_is_in_progress_until_the_first_is_confirmed(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let token = first(&deduplicator).await;
    assert!(matches!(claim(&deduplicator).await, Claim::InProgress));
    assert_eq!(deduplicator.confirm(token).await.expect("the store is there"), Settlement::Done);
    assert!(matches!(claim(&deduplicator).await, Claim::Confirmed));
}

async fn a_webhook_whose_taker_died_is_first_again_within_seconds(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    drop(first(&deduplicator).await);
    assert!(matches!(claim(&deduplicator).await, Claim::InProgress));
    rig.pass(CLAIM + SECOND).await;
    let _token = first(&deduplicator).await;
}

async fn a_webhook_given_back_is_first_again(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let token = first(&deduplicator).await;
    assert_eq!(deduplicator.give_back(token).await.expect("the store is there"), Settlement::Done);
    let _token = first(&deduplicator).await;
}

async fn a_confirmed_webhook_is_remembered_for_long_and_then_forgotten(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let token = first(&deduplicator).await;
    deduplicator.confirm(token).await.expect("the store is there");
    // What is left is more than the test takes.
    rig.pass(CONFIRM - 60 * SECOND).await;
    assert!(matches!(claim(&deduplicator).await, Claim::Confirmed));
    rig.pass(61 * SECOND).await;
    let _token = first(&deduplicator).await;
}

async fn a_claim_whose_time_is_over_settles_nothing(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let late = first(&deduplicator).await;
    rig.pass(CLAIM + SECOND).await;
    let later = first(&deduplicator).await;
    assert_eq!(deduplicator.give_back(late).await.expect("the store is there"), Settlement::Expired);
    assert_eq!(seen(&deduplicator).await, Seen::InProgress, "the newer claim stands");
    rig.pass(CLAIM + SECOND).await;
    let _newest = first(&deduplicator).await;
    assert_eq!(deduplicator.confirm(later).await.expect("the store is there"), Settlement::Expired);
    assert_eq!(seen(&deduplicator).await, Seen::InProgress);
}

async fn two_webhooks_do_not_meet(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    let _token = first(&deduplicator).await;
    let other = deduplicator.claim("another").await.expect("the store is there");
    assert!(matches!(other, Claim::First(_)));
}

async fn a_peek_takes_nothing(rig: Rig) {
    let deduplicator = deduplicator_of(&rig);
    assert_eq!(seen(&deduplicator).await, Seen::Never);
    let token = first(&deduplicator).await;
    assert_eq!(seen(&deduplicator).await, Seen::InProgress);
    deduplicator.confirm(token).await.expect("the store is there");
    assert_eq!(seen(&deduplicator).await, Seen::Confirmed);
}
