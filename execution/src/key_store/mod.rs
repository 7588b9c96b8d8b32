//! The few atomic operations on expiring keys that the lock and the deduplicator stand on.
//!
//! In come keys and values of theirs; out goes what the store held at that one moment. Two stores pass one suite:
//! Redis, which instances share, and memory, for one instance alone.

use std::time::Duration;

use async_trait::async_trait;

mod memory;

mod redis;

pub use memory::{Clock, Memory};
pub use redis::Redis;

/// What a key holds, and for how long still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What was put.
    pub value: String,
    /// Until it is gone by itself.
    pub remaining: Duration,
}

/// What became of a value that was to be put where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Written,
    /// The key held this value, and still does.
    Taken(String),
}

/// Why the store did not do it, or may have done it without our hearing of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be reached, or did not answer in time. Go on without it: the database decides.
    #[error("the key store is unavailable")]
    Unavailable(#[source] Source),
}

/// What an implementation met.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// A store of expiring keys. Each method is atomic by itself.
///
/// After an error it is not known whether the operation took effect. What it wrote then expires by itself.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Writes the value if the key holds none.
    async fn put_if_absent(&self, key: &str, value: &str, ttl: Duration) -> Result<Put, Error>;

    /// What the key holds.
    async fn get(&self, key: &str) -> Result<Option<Entry>, Error>;

    /// Writes value and time to live if the key holds what is expected; false, and nothing, if not.
    async fn replace_if_equal(
        &self,
        key: &str,
        expected: &str,
        value: &str,
        ttl: Duration,
    ) -> Result<bool, Error>;

    /// Deletes the key if it holds what is expected; false, and nothing, if not.
    async fn delete_if_equal(&self, key: &str, expected: &str) -> Result<bool, Error>;

    /// What the keys that begin so hold, at most `limit` of them, by key. Not of one moment: keys that come or go
    /// meanwhile may be missing.
    async fn list(&self, prefix: &str, limit: usize) -> Result<Vec<(String, Entry)>, Error>;

    /// Asks the store whether it is there.
    async fn is_up(&self) -> bool;
}

/// A time to live in whole milliseconds. Redis knows no shorter one than 1, and adds it to its clock in 64 bits: a
/// hundred years are for ever.
fn whole_ms(ttl: Duration) -> u64 {
    const HUNDRED_YEARS_MS: u128 = 100 * 365 * 24 * 3_600_000;
    u64::try_from(ttl.as_millis().clamp(1, HUNDRED_YEARS_MS)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_a_millisecond_at_least_and_a_hundred_years_at_most() {
        let hundred_years_ms = 3_153_600_000_000;
        for (ttl, ms) in [
            (Duration::ZERO, 1),
            (Duration::from_micros(999), 1),
            (Duration::from_millis(1_500), 1_500),
            (Duration::from_millis(hundred_years_ms), hundred_years_ms),
            (Duration::MAX, hundred_years_ms),
        ] {
            assert_eq!(whole_ms(ttl), ms, "{ttl:?}");
        }
    }
}
