//! The lock in front of a turn: saves other instances a round trip to the database, and decides nothing.

use std::sync::Arc;

use execution::redis_lock::Lease;
use metrics::counter;
use uuid::Uuid;

use super::Turns;
use crate::domain::words::words;

words! {
    /// What a try to lock a conversation came to.
    Tried {
        /// It is ours.
        Acquired = "acquired",
        /// Somebody else has it.
        Contended = "contended",
        /// Nobody knows.
        Unavailable = "unavailable",
    }
}

/// Attempts are counted from 0 on.
pub fn count_locks_from_zero() {
    Tried::ALL.iter().for_each(|tried| count(*tried, 0));
}

fn count(tried: Tried, times: u64) {
    counter!("baton_lock_acquire_total", "result" => tried.as_str()).increment(times);
}

/// What is locked for a conversation.
pub(super) fn lock_key(conversation: Uuid) -> String {
    format!("conversation:{conversation}")
}

/// A task that renews it at this very moment holds it too: then it is left to expire.
pub(super) async fn release(lock: Option<Arc<Lease>>) {
    if let Some(lease) = lock.and_then(Arc::into_inner)
        && let Err(error) = lease.release().await
    {
        tracing::debug!(%error, "a lock was left to expire");
    }
}

/// What trying to take it came to.
pub(super) enum Held {
    /// There is none, or it cannot be reached.
    Free,
    /// Taken.
    Mine(Lease),
    /// Somebody else has it.
    Other,
}

impl Turns {
    /// Takes it, if nobody has it.
    pub(super) async fn try_lock(&self, key: &str) -> Held {
        let Some(lock) = &self.lock else { return Held::Free };
        match lock.try_lock(key, &self.instance).await {
            Ok(Some(lease)) => {
                count(Tried::Acquired, 1);
                Held::Mine(lease)
            }
            Ok(None) => {
                count(Tried::Contended, 1);
                Held::Other
            }
            Err(error) => {
                count(Tried::Unavailable, 1);
                tracing::debug!(%error, "going on without the lock");
                Held::Free
            }
        }
    }
}
