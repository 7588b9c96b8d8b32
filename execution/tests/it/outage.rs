//! Redis goes away: work goes on without it at once, and with it again once it is back.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use execution::{
    broadcast::{self, Broadcast, Heard},
    deduplicate_webhook::{Claim, Deduplicator},
    key_store::{self, KeyStore},
    redis_lock::{Lock, Renewal},
    redis_server::Server,
};

use crate::{broadcast::hears, private_redis::PrivateRedis, rig::PATIENCE};

const TTL: Duration = Duration::from_secs(30);

fn store_of(server: &Server) -> Arc<dyn KeyStore> {
    Arc::new(key_store::Redis::new(server.clone(), "baton:"))
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begun = Instant::now();
    (work.await, begun.elapsed())
}

/// Asks until it is answered. Fails the test when that takes too long.
async fn until_up(store: &dyn KeyStore) {
    let begun = Instant::now();
    while !store.is_up().await {
        assert!(begun.elapsed() < PATIENCE, "redis did not come back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn text(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_redis_costs_one_command_its_limit_and_the_next_ones_nothing() {
    let mut redis = PrivateRedis::start();
    let server = Server::open_with_limit(&redis.url(), PATIENCE).expect("the address is valid");
    let store = store_of(&server);
    let lock = Lock::new(store.clone(), TTL);
    let deduplicator = Deduplicator::new(store.clone(), TTL, TTL);
    until_up(&*store).await;
    let lease = lock.try_lock("chat", "one").await.expect("redis is there").expect("it is free");

    redis.kill();
    let first = lease.renew().await.expect_err("redis is dead");
    assert_eq!(text(&first), "the key store is unavailable: redis failed", "it was not waited for");
    assert!(!lease.lost().is_cancelled(), "nobody has said that the lease is lost");

    let second = deduplicator.claim("fp").await.expect_err("redis is dead");
    assert_eq!(text(&second), "the key store is unavailable: redis is down");
    assert!(!server.is_up() && !store.is_up().await);
    assert_eq!(server.failures(), 1, "what was not asked did not fail");

    redis.restart();
    until_up(&*store).await;
    assert!(server.is_up());
    assert!(matches!(deduplicator.claim("fp").await.expect("redis is back"), Claim::First(_)));
    // It came back empty, and must not revive what it has forgotten.
    assert_eq!(lease.renew().await.expect("redis is back"), Renewal::Lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_costs_one_command_its_limit_and_the_next_ones_nothing() {
    let redis = PrivateRedis::start();
    let limit = Duration::from_millis(300);
    let server = Server::open_with_limit(&redis.url(), limit).expect("the address is valid");
    let store = store_of(&server);
    until_up(&*store).await;
    let failed_before = server.failures();

    redis.hang();
    let (first, took) = timed(store.get("k")).await;
    assert_eq!(
        text(&first.expect_err("redis hangs")),
        "the key store is unavailable: redis did not answer within 300 ms"
    );
    assert!(took >= limit, "{took:?}");
    let second = store.get("k").await.expect_err("redis hangs");
    assert_eq!(text(&second), "the key store is unavailable: redis is down");
    assert_eq!(server.failures(), failed_before + 1, "what was not asked did not fail");

    redis.go_on();
    until_up(&*store).await;
    assert_eq!(store.get("k").await.expect("redis is back"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_lets_us_in_and_then_refuses_is_tried_once_in_a_while() {
    let redis = PrivateRedis::start_with(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let put = async |server: &Server| {
        let store = store_of(server);
        until_up(&*store).await;
        let put = async || text(&store.put_if_absent("k", "x", TTL).await.expect_err("there is no memory"));
        [put().await, put().await]
    };
    // So long that it passes in no test.
    let once_in_a_while = Duration::from_secs(600);
    let server =
        Server::open_with_limits(&redis.url(), PATIENCE, once_in_a_while).expect("the address is valid");
    let told = put(&server).await;
    assert_eq!(
        told,
        ["the key store is unavailable: redis failed", "the key store is unavailable: redis is down"]
    );
    assert_eq!(server.failures(), 1);

    // And then it is tried again.
    let server = Server::open_with_limit(&redis.url(), PATIENCE).expect("the address is valid");
    for _ in 0..2 {
        let [tried, _] = put(&server).await;
        assert_eq!(tried, "the key store is unavailable: redis failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_down_at_the_start_is_found_when_it_comes() {
    let mut redis = PrivateRedis::start();
    redis.kill();
    let server = Server::open(&redis.url()).expect("a server that is down has a valid address all the same");
    let store = store_of(&server);
    store.get("k").await.expect_err("redis is not there yet");
    redis.restart();
    until_up(&*store).await;
    assert_eq!(store.get("k").await.expect("redis is there"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_is_told_when_it_is_deaf_and_when_it_hears_again() {
    let mut redis = PrivateRedis::start();
    let server = Server::open_with_limit(&redis.url(), PATIENCE).expect("the address is valid");
    let broadcast = broadcast::Redis::new(server.clone(), "baton:");
    let mut listener = broadcast.subscribe("modes");
    assert_eq!(hears(&mut listener).await, Heard::Connected);

    redis.kill();
    assert_eq!(hears(&mut listener).await, Heard::Lost);
    broadcast.publish("modes", "unheard").await.expect_err("redis is dead");

    redis.restart();
    assert_eq!(hears(&mut listener).await, Heard::Connected);
    until_up(&*store_of(&server)).await;
    broadcast.publish("modes", "heard").await.expect("redis is back");
    assert_eq!(hears(&mut listener).await, Heard::Message("heard".to_owned()));
}

#[tokio::test]
async fn an_address_that_cannot_be_read_is_an_error_without_its_password() {
    for address in [
        "",
        ",",
        "localhost",
        "http://127.0.0.1/",
        "redis://:secret@host:none/",
        "redis://a:1,bogus://:secret@b",
    ] {
        let error = Server::open(address).expect_err(address);
        assert!(!format!("{error:?} {}", text(&error)).contains("secret"), "{error:?}");
    }
}
