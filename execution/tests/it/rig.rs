//! A store to test with, and a way to move its time by hand.

use std::{
    env,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use execution::{
    broadcast::{self, Broadcast},
    key_store::{self, KeyStore},
    redis_server::Server,
};
use redis::{AsyncCommands, Client};
use uuid::Uuid;

use crate::private_redis::PrivateRedis;

/// A machine that is busy with other things must not fail a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Rig {
    pub(crate) store: Arc<dyn KeyStore>,
    pub(crate) broadcast: Arc<dyn Broadcast>,
    time: TimeMachine,
    _server: Option<PrivateRedis>,
}

enum TimeMachine {
    Memory(Arc<Mutex<Duration>>),
    Redis { url: String, prefix: String },
}

impl Rig {
    pub(crate) fn memory() -> Self {
        let begin = Instant::now();
        let passed = Arc::new(Mutex::new(Duration::ZERO));
        let clock = Arc::clone(&passed);
        let store = key_store::Memory::with_clock(Arc::new(move || {
            begin + *clock.lock().expect("the clock is whole")
        }));
        Self {
            store: Arc::new(store),
            broadcast: Arc::new(broadcast::Memory::new()),
            time: TimeMachine::Memory(passed),
            _server: None,
        }
    }

    /// Over the server of `TEST_REDIS_URL`, or one of its own; under a prefix of its own in any case.
    pub(crate) fn redis() -> Self {
        let (url, own) = match env::var("TEST_REDIS_URL") {
            Ok(url) => (url, None),
            Err(_) => {
                let own = PrivateRedis::start();
                (own.url(), Some(own))
            }
        };
        let server = Server::open_with_limit(&url, PATIENCE).expect("the address is valid");
        let prefix = format!("baton[test]*:{}:", Uuid::new_v4());
        Self {
            store: Arc::new(key_store::Redis::new(server.clone(), prefix.clone())),
            broadcast: Arc::new(broadcast::Redis::new(server, prefix.clone())),
            time: TimeMachine::Redis { url, prefix },
            _server: own,
        }
    }

    /// Lets so much time pass for the keys. Redis has no clock to set: there, each key is brought so much nearer to its
    /// end.
    pub(crate) async fn pass(&self, time: Duration) {
        match &self.time {
            TimeMachine::Memory(passed) => *passed.lock().expect("the clock is whole") += time,
            TimeMachine::Redis { url, prefix } => age(url, prefix, time).await.expect("redis is there"),
        }
    }
}

async fn age(url: &str, prefix: &str, time: Duration) -> redis::RedisResult<()> {
    let time_ms = i64::try_from(time.as_millis()).expect("a test's time is short");
    let mut connection = Client::open(url)?.get_multiplexed_async_connection().await?;
    let keys: Vec<String> = connection.keys("*").await?;
    for key in keys.iter().filter(|key| key.starts_with(prefix)) {
        let left_ms: i64 = connection.pttl(key).await?;
        // Time to live that is not above zero deletes the key.
        let _: i64 = connection.pexpire(key, left_ms - time_ms).await?;
    }
    Ok(())
}

/// Runs each of these over both stores.
macro_rules! over_both_stores {
    ($($test:ident,)+) => {
        mod memory {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$test(crate::rig::Rig::memory()).await;
                }
            )+
        }

        mod redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $test() {
                    super::$test(crate::rig::Rig::redis()).await;
                }
            )+
        }
    };
}

pub(crate) use over_both_stores;
