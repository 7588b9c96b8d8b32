//! Place: the turns that this instance runs now, each with the token that stops it.
//!
//! In: turns that begin and end, and how conversations stand, from commits here, from other instances, and from a
//! look into the store every second. Out: a turn whose permit is withdrawn is cancelled at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use execution::redis_lock;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    inbox::Begun,
    ledger::{Held, Standing},
};
/// The turns that run here.
#[derive(Default)]
pub struct Running {
    turns: Mutex<HashMap<Uuid, Entry>>,
}

struct Entry {
    turn: Uuid,
    fence: i64,
    version: i64,
    lock: Option<Arc<redis_lock::Lease>>,
    token: CancellationToken,
}

/// A turn that runs here, until it is dropped.
pub struct Guard<'a> {
    running: &'a Running,
    conversation: Uuid,
    turn: Uuid,
    /// Cancelled when the turn is no longer wanted.
    pub token: CancellationToken,
}

impl Running {
    /// A turn begins, perhaps behind a lock. `stop` ends it too, with the instance.
    pub fn begin(
        &self,
        begun: &Begun,
        lock: Option<Arc<redis_lock::Lease>>,
        stop: &CancellationToken,
    ) -> Guard<'_> {
        let token = stop.child_token();
        let entry = Entry {
            turn: begun.turn.id,
            fence: begun.turn.fence,
            version: begun.turn.mode_version,
            lock,
            token: token.clone(),
        };
        self.lock().insert(begun.conversation, entry);
        Guard { running: self, conversation: begun.conversation, turn: begun.turn.id, token }
    }

    /// A conversation stands so: the turn over it is cancelled if its permit no longer holds.
    pub fn judge(&self, standing: &Standing) {
        if let Some(entry) = self.lock().get(&standing.conversation) {
            // A newer message that restarts a turn raises the fence, in the transaction that admits it.
            let holds = entry.fence == standing.fence && entry.version == standing.version;
            // A fence of before this turn is old news, from a look that was overtaken.
            if !holds && standing.fence >= entry.fence {
                entry.token.cancel();
            }
        }
    }

    /// The store was asked how all these stand and knows nothing of those left out: they are gone.
    pub fn judge_all(&self, asked: &[Held], standings: &[Standing]) {
        for standing in standings {
            self.judge(standing);
        }
        let turns = self.lock();
        for held in asked {
            let is_gone = !standings.iter().any(|standing| standing.conversation == held.conversation);
            if let (true, Some(entry)) = (is_gone, turns.get(&held.conversation)) {
                entry.token.cancel();
            }
        }
    }

    /// Stops everything that runs here: its leases can no longer be trusted.
    pub fn cancel_all(&self) {
        for entry in self.lock().values() {
            entry.token.cancel();
        }
    }

    /// The locks in front of what runs here: to be renewed once the leases in the database were.
    pub fn locks(&self) -> Vec<Arc<redis_lock::Lease>> {
        self.lock().values().filter_map(|entry| entry.lock.clone()).collect()
    }

    /// What runs here.
    pub fn held(&self) -> Vec<Held> {
        let turns = self.lock();
        turns
            .iter()
            .map(|(conversation, entry)| Held { conversation: *conversation, fence: entry.fence })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Entry>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let mut turns = self.running.lock();
        // A newer turn of the same conversation may have taken the place.
        if turns.get(&self.conversation).is_some_and(|entry| entry.turn == self.turn) {
            turns.remove(&self.conversation);
        }
    }
}
