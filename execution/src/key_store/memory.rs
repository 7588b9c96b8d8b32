//! A key store for one instance alone: a map under a mutex, and a clock that tests move by hand.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;

use super::{Entry, Error, KeyStore, Put, whole_ms};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Keys in this process.
pub struct Memory {
    clock: Clock,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    held: HashMap<String, Held>,
    /// Sweep once there are so many: twice of what was alive at the last time, so that a sweep costs each key once.
    sweep_at: usize,
}

struct Held {
    value: String,
    until: Instant,
}

/// Fewer keys than this are not worth a sweep.
const SWEEP_MIN: usize = 1024;

impl Memory {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(Instant::now))
    }

    /// An empty store on this clock.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, keys: Mutex::default() }
    }

    /// The keys, without those whose time is over, and the moment.
    fn keys(&self) -> (MutexGuard<'_, Keys>, Instant) {
        // No operation panics half way, so a poisoned map is still whole.
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the mutex: of two callers, the later one also sees the later time.
        let now = (self.clock)();
        (keys, now)
    }
}

impl Keys {
    fn get(&self, key: &str, now: Instant) -> Option<&Held> {
        self.held.get(key).filter(|held| held.until > now)
    }

    fn put(&mut self, key: &str, value: &str, ttl: Duration, now: Instant) {
        if self.held.len() >= self.sweep_at.max(SWEEP_MIN) {
            self.held.retain(|_, held| held.until > now);
            self.sweep_at = self.held.len() * 2;
        }
        let until = now + Duration::from_millis(whole_ms(ttl));
        self.held.insert(key.to_owned(), Held { value: value.to_owned(), until });
    }
}

impl Held {
    fn entry(&self, now: Instant) -> Entry {
        Entry { value: self.value.clone(), remaining: self.until - now }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

#[async_trait]
impl KeyStore for Memory {
    async fn put_if_absent(&self, key: &str, value: &str, ttl: Duration) -> Result<Put, Error> {
        let (mut keys, now) = self.keys();
        if let Some(held) = keys.get(key, now) {
            return Ok(Put::Taken(held.value.clone()));
        }
        keys.put(key, value, ttl, now);
        Ok(Put::Written)
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        let (keys, now) = self.keys();
        Ok(keys.get(key, now).map(|held| held.entry(now)))
    }

    async fn replace_if_equal(
        &self,
        key: &str,
        expected: &str,
        value: &str,
        ttl: Duration,
    ) -> Result<bool, Error> {
        let (mut keys, now) = self.keys();
        let equal = keys.get(key, now).is_some_and(|held| held.value == expected);
        if equal {
            keys.put(key, value, ttl, now);
        }
        Ok(equal)
    }

    async fn delete_if_equal(&self, key: &str, expected: &str) -> Result<bool, Error> {
        let (mut keys, now) = self.keys();
        let equal = keys.get(key, now).is_some_and(|held| held.value == expected);
        if equal {
            keys.held.remove(key);
        }
        Ok(equal)
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Vec<(String, Entry)>, Error> {
        let (keys, now) = self.keys();
        let mut found: Vec<_> = keys
            .held
            .iter()
            .filter(|(key, held)| key.starts_with(prefix) && held.until > now)
            .map(|(key, held)| (key.clone(), held.entry(now)))
            .collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found.truncate(limit);
        Ok(found)
    }

    async fn is_up(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// An empty store, and how far its time has come.
    fn store() -> (Memory, Arc<Mutex<Duration>>) {
        let begin = Instant::now();
        let passed = Arc::new(Mutex::new(Duration::ZERO));
        let clock = Arc::clone(&passed);
        (Memory::with_clock(Arc::new(move || begin + *clock.lock().expect("no test panicked"))), passed)
    }

    async fn put(store: &Memory, key: &str, ttl: Duration) -> Put {
        store.put_if_absent(key, "x", ttl).await.expect("memory is always there")
    }

    #[tokio::test]
    async fn a_key_is_gone_from_its_last_moment_on() {
        let (store, passed) = store();
        put(&store, "a", SECOND).await;
        *passed.lock().expect("no test panicked") = SECOND;
        assert_eq!(store.get("a").await.expect("memory is always there"), None);
        assert_eq!(store.list("", 9).await.expect("memory is always there"), []);
        assert_eq!(put(&store, "a", SECOND).await, Put::Written);
    }

    #[tokio::test]
    async fn a_sweep_waits_until_there_are_twice_as_many_as_the_last_one_left() {
        let (store, passed) = store();
        let held = || store.keys().0.held.len();
        // The last of these sweeps, and finds all alive.
        for key in 0..=SWEEP_MIN {
            put(&store, &key.to_string(), SECOND).await;
        }
        *passed.lock().expect("no test panicked") = SECOND;
        for key in SWEEP_MIN + 1..2 * SWEEP_MIN {
            put(&store, &key.to_string(), SECOND).await;
        }
        assert_eq!(held(), 2 * SWEEP_MIN, "nothing was swept yet");
        put(&store, "one more", SECOND).await;
        assert_eq!(held(), SWEEP_MIN);
    }

    #[tokio::test]
    async fn keys_whose_time_is_over_take_no_room_for_long() {
        let (store, passed) = store();
        for round in 0..20_u64 {
            *passed.lock().expect("no test panicked") = Duration::from_secs(round);
            for key in 0..500 {
                let key = format!("{round}:{key}");
                assert_eq!(put(&store, &key, Duration::from_millis(900)).await, Put::Written);
            }
        }
        let held = store.keys().0.held.len();
        assert!(held <= SWEEP_MIN, "{held} of 10000 keys are still held, 500 of them are alive");
    }
}
