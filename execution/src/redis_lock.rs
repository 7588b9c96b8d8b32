//! An expiring lock on a name, held by at most one owner, seen by everybody.
//!
//! In come names (conversations) and notes on who asks; out go leases. A lease ends by itself unless its owner renews
//! it; only its owner can renew, extend or release it; one that is found lost says so to whoever listens. It saves
//! work that two would do at once. What must never happen twice is fenced in the database.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::key_store::{Entry, Error, KeyStore, Put};

/// Between two looks at a lock that is held: the first wait, doubled up to the longest.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(200);

/// More locks than this nobody reads.
const LIST_MAX: usize = 10_000;

/// Hands out leases. Cheap to clone.
#[derive(Clone)]
pub struct Lock {
    store: Arc<dyn KeyStore>,
    ttl: Duration,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// What is locked.
    pub key: String,
    /// By whom, in the holder's own words.
    pub owner: String,
    /// Since when, by the holder's clock. None if the key was not written by a [`Lock`].
    pub since: Option<SystemTime>,
    /// Until the lease ends by itself.
    pub remaining: Duration,
}

/// What became of a wish to hold on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The lease goes on.
    Renewed,
    /// It has ended, or somebody else has the lock. Stop.
    Lost,
}

/// What became of giving up a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It is free.
    Released,
    /// It was not ours any more, and is left as it is.
    Lost,
}

impl Lock {
    /// Leases in this store that last so long unless they are renewed (at a third of it, say).
    pub fn new(store: Arc<dyn KeyStore>, ttl: Duration) -> Self {
        Self { store, ttl }
    }

    /// Takes the lock if it is free; None if it is held, be it by the same owner.
    ///
    /// After an error the lock may have been taken for nobody, until its time is over.
    pub async fn try_lock(&self, key: &str, owner: &str) -> Result<Option<Lease>, Error> {
        let stored = stored_key(key);
        let value = stored_value(owner);
        let put = self.store.put_if_absent(&stored, &value, self.ttl).await?;
        Ok(match put {
            Put::Taken(_) => None,
            Put::Written => Some(Lease {
                store: Arc::clone(&self.store),
                key: stored,
                value,
                ttl: self.ttl,
                lost: CancellationToken::new(),
            }),
        })
    }

    /// Takes the lock once it is free, if that is within the limit; None if not. Those who wait have no order.
    pub async fn lock(&self, key: &str, owner: &str, wait_limit: Duration) -> Result<Option<Lease>, Error> {
        let begun = Instant::now();
        let mut pause = LOOK_AGAIN;
        loop {
            if let Some(lease) = self.try_lock(key, owner).await? {
                return Ok(Some(lease));
            }
            let left = wait_limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(LOOK_AGAIN_MAX);
        }
    }

    /// Who holds the lock; None if it is free. Takes nothing.
    pub async fn peek(&self, key: &str) -> Result<Option<Holder>, Error> {
        let entry = self.store.get(&stored_key(key)).await?;
        Ok(entry.map(|entry| holder(key, entry)))
    }

    /// The locks that are held, by key.
    pub async fn list(&self) -> Result<Vec<Holder>, Error> {
        let entries = self.store.list(KEY_BEGINS, LIST_MAX).await?;
        Ok(entries.into_iter().map(|(stored, entry)| holder(key_of(&stored), entry)).collect())
    }

    /// Takes the lock from whoever holds it now, for a person who knows better. None if nobody does.
    ///
    /// The holder learns of it when it renews. Raise the fence in the database with it, or it goes on writing until
    /// then.
    pub async fn force_release(&self, key: &str) -> Result<Option<Holder>, Error> {
        let stored = stored_key(key);
        let Some(entry) = self.store.get(&stored).await? else {
            return Ok(None);
        };
        // Only the holder that was seen: one who came after was not meant.
        let released = self.store.delete_if_equal(&stored, &entry.value).await?;
        Ok(released.then(|| holder(key, entry)))
    }
}

/// A lock that we hold. Dropped, it ends by itself when its time is over; nothing is sent behind your back.
pub struct Lease {
    store: Arc<dyn KeyStore>,
    key: String,
    value: String,
    ttl: Duration,
    lost: CancellationToken,
}

impl Lease {
    /// What is locked.
    pub fn key(&self) -> &str {
        key_of(&self.key)
    }

    /// Holds on for another whole time to live from now.
    ///
    /// An error says nothing about the lease: it may have been renewed, or lost without our hearing of it.
    pub async fn renew(&self) -> Result<Renewal, Error> {
        self.hold_for(self.ttl).await
    }

    /// Moves the end of the lease so much further away.
    pub async fn extend(&self, by: Duration) -> Result<Renewal, Error> {
        // Two steps suffice: only we move this lease's end, and the second does nothing once the lease is not ours.
        match self.store.get(&self.key).await? {
            Some(entry) => self.hold_for(entry.remaining.saturating_add(by)).await,
            None => Ok(self.lose()),
        }
    }

    /// Gives the lock up. On an error it is free at the latest when its time is over.
    pub async fn release(self) -> Result<Release, Error> {
        Ok(if self.store.delete_if_equal(&self.key, &self.value).await? {
            Release::Released
        } else {
            self.lose();
            Release::Lost
        })
    }

    /// Cancelled as soon as [`renew`](Self::renew), [`extend`](Self::extend) or [`release`](Self::release) finds the
    /// lease lost.
    ///
    /// It isn't while the store cannot be reached: without it, work goes on under the database's fence alone.
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    async fn hold_for(&self, ttl: Duration) -> Result<Renewal, Error> {
        let ours = self.store.replace_if_equal(&self.key, &self.value, &self.value, ttl).await?;
        Ok(if ours { Renewal::Renewed } else { self.lose() })
    }

    fn lose(&self) -> Renewal {
        self.lost.cancel();
        Renewal::Lost
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("key", &self.key()).field("value", &self.value).finish_non_exhaustive()
    }
}

/// Braces are a hash tag: in a cluster, all that is kept about one conversation lies on one node.
const KEY_BEGINS: &str = "lock:{";
const KEY_ENDS: &str = "}";

fn stored_key(key: &str) -> String {
    format!("{KEY_BEGINS}{key}{KEY_ENDS}")
}

fn key_of(stored: &str) -> &str {
    stored.strip_prefix(KEY_BEGINS).and_then(|rest| rest.strip_suffix(KEY_ENDS)).unwrap_or(stored)
}

/// A random token, so that no two leases are ever equal; since when; by whom.
fn stored_value(owner: &str) -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{} {} {owner}", Uuid::new_v4(), since.as_millis())
}

fn holder(key: &str, entry: Entry) -> Holder {
    let (owner, since) = match read_value(&entry.value) {
        Some((owner, since)) => (owner.to_owned(), Some(since)),
        None => (entry.value, None),
    };
    Holder { key: key.to_owned(), owner, since, remaining: entry.remaining }
}

fn read_value(value: &str) -> Option<(&str, SystemTime)> {
    let mut parts = value.splitn(3, ' ');
    let _token: Uuid = parts.next()?.parse().ok()?;
    let since_ms = parts.next()?.parse().ok()?;
    let owner = parts.next()?;
    let since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(since_ms))?;
    Some((owner, since))
}
