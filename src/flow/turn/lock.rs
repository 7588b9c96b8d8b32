//! The lock in front of a turn: saves other instances a round trip to the database, and decides nothing.

use std::sync::Arc;

use execution::redis_lock::{Lease, Lock, Release};
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
async fn give_back(lock: Option<Arc<Lease>>, owner: &str) {
    let Some(lease) = lock.and_then(Arc::into_inner) else { return };
    let key = tracing::enabled!(tracing::Level::DEBUG).then(|| lease.key().to_owned());
    match lease.release().await {
        Ok(Release::Released) => tracing::debug!(key, owner, "a lock was released"),
        Ok(Release::Lost) => tracing::debug!(key, owner, "a lock was not ours any more"),
        Err(error) => tracing::debug!(%error, key, owner, "a lock was left to expire"),
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
        match &self.lock {
            Some(lock) => take(lock, key, &self.instance).await,
            None => Held::Free,
        }
    }

    /// Gives it back, if there is one.
    pub(super) async fn release(&self, lock: Option<Arc<Lease>>) {
        give_back(lock, &self.instance).await;
    }
}

async fn take(lock: &Lock, key: &str, owner: &str) -> Held {
    match lock.try_lock(key, owner).await {
        Ok(Some(lease)) => {
            count(Tried::Acquired, 1);
            tracing::debug!(key, owner, "a lock was acquired");
            Held::Mine(lease)
        }
        Ok(None) => {
            count(Tried::Contended, 1);
            tracing::debug!(key, owner, "a lock is held by somebody else");
            Held::Other
        }
        Err(error) => {
            count(Tried::Unavailable, 1);
            tracing::debug!(%error, key, owner, "going on without the lock");
            Held::Free
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use execution::key_store::Memory;

    use super::*;
    use crate::telemetry::paper;

    async fn lines_of_a_lock(levels: &str) -> Vec<String> {
        let lock = Lock::new(Arc::new(Memory::new()), Duration::from_secs(30));
        let (paper, _writing) = paper::at(levels);
        let Held::Mine(lease) = take(&lock, "conversation:1", "one").await else { panic!("it is free") };
        assert!(matches!(take(&lock, "conversation:1", "two").await, Held::Other));
        give_back(Some(Arc::new(lease)), "one").await;
        paper.lines()
    }

    #[tokio::test]
    async fn a_lock_that_is_taken_met_and_given_back_is_a_line_each_for_who_looks_closer() {
        let lines = lines_of_a_lock("info,baton::flow=debug").await;
        let told = [("acquired", "one"), ("held by somebody else", "two"), ("released", "one")];
        assert_eq!(lines.len(), told.len(), "{lines:?}");
        for (line, (what, owner)) in lines.iter().zip(told) {
            assert!(line.contains(what), "{line}");
            assert!(line.contains(&format!(r#"key="conversation:1" owner="{owner}""#)), "{line}");
        }
        assert_eq!(lines_of_a_lock("info").await, Vec::<String>::new());
    }
}
