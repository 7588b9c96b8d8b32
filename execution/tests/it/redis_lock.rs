//! At most one holds a lock, and only that one holds on to it or lets it go.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use execution::{
    key_store::Memory,
    redis_lock::{Holder, Lease, Lock, Release, Renewal},
};
use tokio::task::JoinSet;

use crate::rig::{PATIENCE, Rig, over_both_stores};

over_both_stores![
    a_hundred_at_once_get_one_holder,
    a_lock_is_free_again_once_released,
    a_lock_is_held_against_its_own_owner_too,
    locks_on_two_names_do_not_meet,
    an_expired_lease_lets_another_in,
    an_expired_lease_cannot_touch_the_one_that_came_after,
    a_renewed_lease_outlives_its_first_time,
    an_extended_lease_ends_so_much_later,
    the_lost_signal_fires_when_another_has_the_lock,
    the_lost_signal_fires_when_the_store_has_forgotten,
    a_lease_that_is_released_is_not_lost,
    a_dropped_lease_ends_by_itself,
    who_waits_gets_the_lock_once_it_is_free,
    who_waits_too_long_gets_nothing,
    a_peek_tells_who_since_when_and_for_how_long_and_takes_nothing,
    the_list_names_every_lock_that_is_held,
    a_lock_is_released_by_name_and_its_holder_learns_of_it,
    a_key_of_somebody_else_counts_as_held,
];

const SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(30);

fn lock_of(rig: &Rig) -> Lock {
    Lock::new(rig.store.clone(), TTL)
}

async fn take(lock: &Lock, owner: &str) -> Option<Lease> {
    lock.try_lock("chat", owner).await.expect("the store is there")
}

async fn seen(lock: &Lock) -> Option<Holder> {
    lock.peek("chat").await.expect("the store is there")
}

async fn owner(lock: &Lock) -> Option<String> {
    seen(lock).await.map(|holder| holder.owner)
}

async fn a_hundred_at_once_get_one_holder(rig: Rig) {
    let lock = lock_of(&rig);
    let mut tries = JoinSet::new();
    for number in 0..100 {
        let lock = lock.clone();
        tries.spawn(
            async move { take(&lock, &format!("instance {number}")).await.map(|lease| (number, lease)) },
        );
    }
    let holders: Vec<_> = tries.join_all().await.into_iter().flatten().collect();
    let [(number, lease)] = &holders[..] else { panic!("{} holders", holders.len()) };
    assert_eq!(owner(&lock).await, Some(format!("instance {number}")));
    assert_eq!(lease.renew().await.expect("the store is there"), Renewal::Renewed);
}

async fn a_lock_is_free_again_once_released(rig: Rig) {
    let lock = lock_of(&rig);
    let lease = take(&lock, "one").await.expect("it is free");
    assert!(take(&lock, "two").await.is_none());
    assert_eq!(lease.release().await.expect("the store is there"), Release::Released);
    assert!(take(&lock, "two").await.is_some());
}

async fn a_lock_is_held_against_its_own_owner_too(rig: Rig) {
    let lock = lock_of(&rig);
    let _lease = take(&lock, "one").await.expect("it is free");
    assert!(take(&lock, "one").await.is_none());
}

async fn locks_on_two_names_do_not_meet(rig: Rig) {
    let lock = lock_of(&rig);
    let _lease = take(&lock, "one").await.expect("it is free");
    let other = lock.try_lock("another chat", "two").await.expect("the store is there");
    assert_eq!(other.expect("it is free").key(), "another chat");
}

async fn an_expired_lease_lets_another_in(rig: Rig) {
    let lock = lock_of(&rig);
    let _first = take(&lock, "one").await.expect("it is free");
    rig.pass(TTL / 2).await;
    assert!(take(&lock, "two").await.is_none());
    rig.pass(TTL / 2 + SECOND).await;
    assert!(take(&lock, "two").await.is_some());
}

async fn an_expired_lease_cannot_touch_the_one_that_came_after(rig: Rig) {
    let lock = lock_of(&rig);
    let first = take(&lock, "one").await.expect("it is free");
    rig.pass(TTL + SECOND).await;
    let second = take(&lock, "two").await.expect("the first has expired");
    assert_eq!(first.renew().await.expect("the store is there"), Renewal::Lost);
    assert_eq!(first.extend(TTL).await.expect("the store is there"), Renewal::Lost);
    assert_eq!(first.release().await.expect("the store is there"), Release::Lost);
    let holder = seen(&lock).await.expect("it is held");
    assert_eq!(holder.owner, "two");
    assert!(holder.remaining <= TTL, "{holder:?}");
    assert_eq!(second.release().await.expect("the store is there"), Release::Released);
}

async fn a_renewed_lease_outlives_its_first_time(rig: Rig) {
    let lock = lock_of(&rig);
    let lease = take(&lock, "one").await.expect("it is free");
    for _ in 0..5 {
        rig.pass(TTL / 2).await;
        assert_eq!(lease.renew().await.expect("the store is there"), Renewal::Renewed);
    }
    assert!(take(&lock, "two").await.is_none());
    assert!(!lease.lost().is_cancelled());
}

async fn an_extended_lease_ends_so_much_later(rig: Rig) {
    let lock = lock_of(&rig);
    let lease = take(&lock, "one").await.expect("it is free");
    rig.pass(10 * SECOND).await;
    assert_eq!(lease.extend(60 * SECOND).await.expect("the store is there"), Renewal::Renewed);
    // 30 - 10 + 60 seconds are left.
    rig.pass(70 * SECOND).await;
    assert_eq!(owner(&lock).await.as_deref(), Some("one"));
    rig.pass(11 * SECOND).await;
    assert_eq!(owner(&lock).await, None);
}

async fn the_lost_signal_fires_when_another_has_the_lock(rig: Rig) {
    let lock = lock_of(&rig);
    let first = take(&lock, "one").await.expect("it is free");
    let lost = first.lost();
    let stopped = tokio::spawn(lost.clone().cancelled_owned());
    rig.pass(TTL + SECOND).await;
    let _second = take(&lock, "two").await.expect("the first has expired");
    assert!(!lost.is_cancelled(), "nobody has found out yet");
    assert_eq!(first.renew().await.expect("the store is there"), Renewal::Lost);
    stopped.await.expect("the listener was told");
}

async fn the_lost_signal_fires_when_the_store_has_forgotten(rig: Rig) {
    let lock = lock_of(&rig);
    let lease = take(&lock, "one").await.expect("it is free");
    rig.pass(TTL + SECOND).await;
    assert_eq!(lease.extend(SECOND).await.expect("the store is there"), Renewal::Lost);
    assert!(lease.lost().is_cancelled());
    assert_eq!(owner(&lock).await, None, "a lease that ended does not come back");
}

async fn a_lease_that_is_released_is_not_lost(rig: Rig) {
    let lease = take(&lock_of(&rig), "one").await.expect("it is free");
    let lost = lease.lost();
    assert_eq!(lease.release().await.expect("the store is there"), Release::Released);
    assert!(!lost.is_cancelled());
}

async fn a_dropped_lease_ends_by_itself(rig: Rig) {
    let lock = lock_of(&rig);
    drop(take(&lock, "one").await.expect("it is free"));
    assert!(take(&lock, "two").await.is_none());
    rig.pass(TTL + SECOND).await;
    assert!(take(&lock, "two").await.is_some());
}

async fn who_waits_gets_the_lock_once_it_is_free(rig: Rig) {
    let lock = lock_of(&rig);
    let first = take(&lock, "one").await.expect("it is free");
    let waits = lock.clone();
    let waiting = tokio::spawn(async move { waits.lock("chat", "two", PATIENCE).await });
    assert_eq!(first.release().await.expect("the store is there"), Release::Released);
    let second = waiting.await.expect("no panic").expect("the store is there");
    assert!(second.is_some());
    assert_eq!(owner(&lock).await.as_deref(), Some("two"));
}

async fn who_waits_too_long_gets_nothing(rig: Rig) {
    let lock = lock_of(&rig);
    let _first = take(&lock, "one").await.expect("it is free");
    for limit_ms in [0, 30] {
        let limit = Duration::from_millis(limit_ms);
        assert!(lock.lock("chat", "two", limit).await.expect("the store is there").is_none());
    }
    assert_eq!(owner(&lock).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn who_waits_asks_ever_less_often() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // The store looks at its clock once for each question.
    let clock = move || {
        count.fetch_add(1, Ordering::Relaxed);
        Instant::now()
    };
    let lock = Lock::new(Arc::new(Memory::with_clock(Arc::new(clock))), TTL);
    let _first = take(&lock, "one").await.expect("it is free");
    let limit = Duration::from_millis(100);
    assert!(lock.lock("chat", "two", limit).await.expect("the store is there").is_none());
    // To take it, and then after 0, 5, 15, 35, 75 and 100 ms; a slow machine asks less.
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked <= 7, "{asked} questions");
}

async fn a_peek_tells_who_since_when_and_for_how_long_and_takes_nothing(rig: Rig) {
    let lock = lock_of(&rig);
    assert_eq!(seen(&lock).await, None);
    let before = SystemTime::now() - Duration::from_millis(1);
    let _lease = take(&lock, "instance 7, turn 42").await.expect("a peek takes nothing");
    let after = SystemTime::now();
    rig.pass(10 * SECOND).await;
    let holder = seen(&lock).await.expect("it is held");
    assert_eq!((holder.key.as_str(), holder.owner.as_str()), ("chat", "instance 7, turn 42"));
    let since = holder.since.expect("a lock wrote it");
    assert!(before <= since && since <= after, "{before:?} {since:?} {after:?}");
    assert!(holder.remaining > Duration::ZERO && holder.remaining <= 20 * SECOND, "{holder:?}");
}

async fn the_list_names_every_lock_that_is_held(rig: Rig) {
    let lock = lock_of(&rig);
    assert_eq!(lock.list().await.expect("the store is there"), []);
    for key in ["b", "a", "c{1}"] {
        lock.try_lock(key, &format!("owner of {key}"))
            .await
            .expect("the store is there")
            .expect("it is free");
    }
    rig.store.put_if_absent("seen:{x}", "no lock", TTL).await.expect("the store is there");
    let held = lock.list().await.expect("the store is there");
    let held: Vec<_> = held.iter().map(|holder| (holder.key.as_str(), holder.owner.as_str())).collect();
    assert_eq!(held, [("a", "owner of a"), ("b", "owner of b"), ("c{1}", "owner of c{1}")]);
}

async fn a_lock_is_released_by_name_and_its_holder_learns_of_it(rig: Rig) {
    let lock = lock_of(&rig);
    assert_eq!(lock.force_release("chat").await.expect("the store is there"), None);
    let lease = take(&lock, "one").await.expect("it is free");
    let holder = lock.force_release("chat").await.expect("the store is there").expect("it was held");
    assert_eq!(holder.owner, "one");
    let _second = take(&lock, "two").await.expect("it is free");
    assert_eq!(lease.renew().await.expect("the store is there"), Renewal::Lost);
    assert!(lease.lost().is_cancelled());
}

async fn a_key_of_somebody_else_counts_as_held(rig: Rig) {
    let lock = lock_of(&rig);
    rig.store.put_if_absent("lock:{chat}", "scribble", TTL).await.expect("the store is there");
    assert!(take(&lock, "one").await.is_none());
    let holder = lock.force_release("chat").await.expect("the store is there").expect("it was held");
    assert_eq!((holder.owner.as_str(), holder.since), ("scribble", None));
    assert!(take(&lock, "one").await.is_some());
}
