//! Place: the turns that this instance runs now, each with the token that stops it.
//!
//! In: turns that begin and end, and how conversations stand, from commits here, from other instances, and from a
//! look into the store every second. Out: a turn whose permit is withdrawn is cancelled at once.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use execution::redis_lock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    domain::time::duration,
    flow::{
        inbox::Begun,
        ledger::{Held, Standing},
    },
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
    /// When its lease was last known to have its full length.
    leased_at: Instant,
}

/// A turn that runs here, until it is dropped.
pub struct Guard<'a> {
    running: &'a Running,
    conversation: Uuid,
    turn: Uuid,
    /// Cancelled when the turn is no longer wanted.
    pub token: CancellationToken,
}

impl Guard<'_> {
    /// Whether the turn may still do something outside: it is wanted, and its lease was extended within that time. A process
    /// that was held up may have lost it, and know nothing of that yet.
    pub fn holds(&self, lease_ms: i64) -> bool {
        let lease = duration(lease_ms);
        let is_leased = |entry: &Entry| entry.turn == self.turn && entry.leased_at.elapsed() < lease;
        !self.token.is_cancelled() && self.running.lock().get(&self.conversation).is_some_and(is_leased)
    }
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
            leased_at: Instant::now(),
        };
        self.lock().insert(begun.conversation, entry);
        Guard { running: self, conversation: begun.conversation, turn: begun.turn.id, token }
    }

    /// The lock in front of a turn that runs already.
    pub fn hold(&self, conversation: Uuid, fence: i64, lock: &Arc<redis_lock::Lease>) {
        if let Some(entry) = self.lock().get_mut(&conversation).filter(|entry| entry.fence == fence) {
            entry.lock = Some(Arc::clone(lock));
        }
    }

    /// A conversation stands so: the turn over it is cancelled if its permit no longer holds.
    pub fn judge(&self, standing: &Standing) {
        if let Some(entry) = self.lock().get(&standing.conversation) {
            // A newer message that restarts a turn raises the fence, in the transaction that admits it. After a failover that
            // has lost the beginning of this one, another may have begun under the same fence.
            let holds = entry.fence == standing.fence
                && entry.version == standing.version
                && standing.turn.is_none_or(|turn| turn == entry.turn);
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
        let known: HashSet<Uuid> = standings.iter().map(|standing| standing.conversation).collect();
        let turns = self.lock();
        for held in asked.iter().filter(|held| !known.contains(&held.conversation)) {
            if let Some(entry) = turns.get(&held.conversation) {
                entry.token.cancel();
            }
        }
    }

    /// The leases of the turns that run here were extended at that moment, where the store has them. Gives the locks in front
    /// of them, to be renewed too.
    pub fn extended(&self, standings: &[Standing], at: Instant) -> Vec<Arc<redis_lock::Lease>> {
        let mut turns = self.lock();
        let mut locks = Vec::new();
        for standing in standings {
            let is_leased =
                |entry: &&mut Entry| entry.fence == standing.fence && standing.turn == Some(entry.turn);
            if let Some(entry) = turns.get_mut(&standing.conversation).filter(is_leased) {
                entry.leased_at = at;
                locks.extend(entry.lock.clone());
            }
        }
        locks
    }

    /// Stops every turn whose lease was not extended for this long: it can no longer be trusted. Returns how many.
    pub fn cancel_older(&self, lease: Duration) -> usize {
        let turns = self.lock();
        let old =
            turns.values().filter(|entry| entry.leased_at.elapsed() >= lease && !entry.token.is_cancelled());
        old.map(|entry| entry.token.cancel()).count()
    }

    /// What runs here: first what holds a lease that was extended longer ago than that, then the rest.
    pub fn held(&self, ago: Duration) -> (Vec<Held>, Vec<Held>) {
        let turns = self.lock();
        let (old, young): (Vec<_>, Vec<_>) =
            turns.iter().partition(|(_, entry)| entry.leased_at.elapsed() >= ago);
        let held =
            |(conversation, entry): (&Uuid, &Entry)| Held { conversation: *conversation, fence: entry.fence };
        (old.into_iter().map(held).collect(), young.into_iter().map(held).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::play::Play;

    fn begun() -> Begun {
        let mut play = Play::new();
        play.says("Hello");
        play.begins()
    }

    /// How the conversation stands while the store has the lease of that turn.
    fn leased(begun: &Begun) -> Standing {
        Standing {
            conversation: begun.conversation,
            mode: begun.mode,
            version: begun.turn.mode_version,
            fence: begun.turn.fence,
            turn: Some(begun.turn.id),
            contact_seq: begun.turn.last_seq,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_holds_until_it_is_stopped_overtaken_or_its_lease_is_over() {
        let (running, stop) = (Running::default(), CancellationToken::new());
        let begun = begun();
        let guard = running.begin(&begun, None, &stop);
        tokio::time::advance(Duration::from_millis(29_999)).await;
        assert!(guard.holds(30_000));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!guard.holds(30_000), "its lease is over, though nobody has said so");
        running.extended(&[leased(&begun)], Instant::now());
        assert!(guard.holds(30_000));
        let mut newer = begun.clone();
        newer.turn.id = Uuid::now_v7();
        let other = running.begin(&newer, None, &stop);
        assert!(!guard.holds(30_000) && other.holds(30_000), "a newer turn has taken its place");
        stop.cancel();
        assert!(!other.holds(30_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_due_when_its_third_is_over_and_distrusted_when_all_of_it_is() {
        let (running, stop) = (Running::default(), CancellationToken::new());
        let (first, third, whole) = (begun(), Duration::from_secs(10), Duration::from_secs(30));
        let one = running.begin(&first, None, &stop);
        tokio::time::advance(third).await;
        let second = begun();
        let two = running.begin(&second, None, &stop);
        let (due, rest) = running.held(third);
        let stands = [&first, &second].map(leased);
        let ids = |held: &[Held]| held.iter().map(|held| held.conversation).collect::<Vec<_>>();
        assert_eq!((ids(&due), ids(&rest)), (vec![first.conversation], vec![second.conversation]));

        assert!(running.extended(&stands[..1], Instant::now()).is_empty(), "there is no lock in front");
        assert!(running.held(third).0.is_empty());
        tokio::time::advance(whole).await;
        running.extended(&stands[1..], Instant::now());
        assert_eq!(running.cancel_older(whole), 1);
        assert!(one.token.is_cancelled() && !two.token.is_cancelled());
        assert_eq!(running.cancel_older(whole), 0, "each is told once");
        let [_, stands] = stands;
        tokio::time::advance(third).await;
        for other in [
            Standing { fence: stands.fence + 1, ..stands },
            Standing { fence: stands.fence - 1, turn: None, ..stands },
            Standing { turn: Some(first.turn.id), ..stands },
        ] {
            running.extended(&[other], Instant::now());
            assert_eq!(running.held(third).0.len(), 2, "no lease of this turn: {other:?}");
        }
    }

    #[test]
    fn a_turn_is_stopped_where_another_holds_the_lease_under_its_fence() {
        let (running, stop, begun) = (Running::default(), CancellationToken::new(), begun());
        let guard = running.begin(&begun, None, &stop);
        let stands = leased(&begun);
        for known in [stands, Standing { turn: None, ..stands }] {
            running.judge(&known);
            assert!(!guard.token.is_cancelled(), "{known:?}");
        }
        running.judge(&Standing { turn: Some(Uuid::now_v7()), ..stands });
        assert!(guard.token.is_cancelled());
    }
}
