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

    #[tokio::test]
    async fn keys_whose_time_is_over_take_no_room_for_long() {
        let begin = Instant::now();
        let passed = Arc::new(Mutex::new(Duration::ZERO));
        let clock = {
            let passed = Arc::clone(&passed);
            Arc::new(move || begin + *passed.lock().expect("no test panicked"))
        };
        let store = Memory::with_clock(clock);
        for round in 0..20_u64 {
            *passed.lock().expect("no test panicked") = Duration::from_secs(round);
            for key in 0..500 {
                let key = format!("{round}:{key}");
                let put = store.put_if_absent(&key, "x", Duration::from_millis(900)).await;
                assert_eq!(put.expect("memory is always there"), Put::Written);
            }
        }
        let held = store.keys().0.held.len();
        assert!(held <= SWEEP_MIN, "{held} of 10000 keys are still held, 500 of them are alive");
    }
}
