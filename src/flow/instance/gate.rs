//! The gate in front of the model: a limited number of generations at once; those that wait enter by lane. A turn comes in with
//! its lane and its time, and goes out with a slot that is free again when dropped.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::domain::{lane::Lane, time::Time};

/// Lets a limited number in at once. Clones share the slots.
#[derive(Clone)]
pub struct Gate {
    shared: Arc<Shared>,
}

/// The right to generate. Dropping it lets in the next.
#[must_use = "a slot that is dropped is free again at once"]
pub struct Slot {
    shared: Arc<Shared>,
}

struct Shared {
    line: Mutex<Line>,
}

/// A free slot and a waiter never exist together: a slot that is freed goes to the first in line.
struct Line {
    slots: usize,
    held: usize,
    next_ticket: u64,
    /// A tree rather than a heap, since those who give up leave from the middle: a heap would keep them, and count
    /// them, for as long as long answers hold every slot.
    waiting: BTreeMap<Place, oneshot::Sender<Slot>>,
}

/// Lower goes first; equals by arrival. Ageing is in the rank: it holds the time of arrival, so no lane starves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: i64,
    ticket: u64,
}

impl Gate {
    /// A gate with this many slots, at least one.
    pub fn new(slots: usize) -> Self {
        let line = Line { slots: slots.max(1), held: 0, next_ticket: 0, waiting: BTreeMap::new() };
        Self { shared: Arc::new(Shared { line: Mutex::new(line) }) }
    }

    /// Waits for a slot. Dropping this future leaves the line, and passes on a slot already given.
    pub async fn enter(&self, lane: Lane, now: Time) -> Slot {
        let mut waiter = match self.shared.knock(lane.rank(now)) {
            Knock::Entered(slot) => return slot,
            Knock::InLine(waiter) => waiter,
        };
        // The sender goes only by sending a slot, or when this very waiter leaves the line.
        (&mut waiter.given).await.expect("a waiter stays in line until it is let in")
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.shared.line().waiting.len()
    }

    /// How many are in.
    pub fn held(&self) -> usize {
        self.shared.line().held
    }
}

enum Knock {
    Entered(Slot),
    InLine(Waiter),
}

struct Waiter {
    shared: Arc<Shared>,
    place: Place,
    given: oneshot::Receiver<Slot>,
}

/// Leaves the line before `given` is dropped: a slot is then never offered to one who has gone, and one that was
/// already given is passed on by its own drop.
impl Drop for Waiter {
    fn drop(&mut self) {
        let sender = self.shared.line().waiting.remove(&self.place);
        drop(sender);
    }
}

impl Shared {
    fn knock(self: &Arc<Self>, rank: i64) -> Knock {
        let mut line = self.line();
        if line.held < line.slots {
            line.held += 1;
            return Knock::Entered(Slot { shared: Arc::clone(self) });
        }
        let (tell, given) = oneshot::channel();
        let place = Place { rank, ticket: line.next_ticket };
        line.next_ticket += 1;
        line.waiting.insert(place, tell);
        Knock::InLine(Waiter { shared: Arc::clone(self), place, given })
    }

    /// The first in line; if nobody is, one slot more is free.
    fn leave(&self) -> Option<oneshot::Sender<Slot>> {
        let mut line = self.line();
        let first = line.waiting.pop_first();
        if first.is_none() {
            line.held -= 1;
        }
        first.map(|(_, tell)| tell)
    }

    /// Never held while a slot may be dropped, for a slot's drop locks too.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(tell) = self.shared.leave() {
            drop(tell.send(Self { shared: Arc::clone(&self.shared) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};

    use futures_util::FutureExt;
    use tokio::task::JoinSet;

    use super::*;

    const NOW: Time = Time(1_000_000);

    /// Polls once, as a task would that is woken.
    fn try_enter<F: Future<Output = Slot>>(waiter: &mut Pin<&mut F>) -> Option<Slot> {
        waiter.now_or_never()
    }

    fn enter_now(gate: &Gate) -> Slot {
        gate.enter(Lane::Reply, NOW).now_or_never().expect("a slot is free")
    }

    #[test]
    fn the_first_enter_at_once_and_the_next_when_a_slot_is_free() {
        let gate = Gate::new(2);
        let first = enter_now(&gate);
        let _second = enter_now(&gate);
        let mut third = pin!(gate.enter(Lane::Reply, NOW));
        assert!(try_enter(&mut third).is_none());
        assert_eq!((gate.held(), gate.waiting()), (2, 1));
        drop(first);
        let third = try_enter(&mut third).expect("the slot was passed on");
        assert_eq!((gate.held(), gate.waiting()), (2, 0));
        drop(third);
        assert_eq!((gate.held(), gate.waiting()), (1, 0));
    }

    #[test]
    fn who_waits_enters_by_lane_then_by_arrival() {
        let gate = Gate::new(1);
        let mut slot = Some(enter_now(&gate));
        let mut follow_up = pin!(gate.enter(Lane::Proactive, NOW));
        let mut reply = pin!(gate.enter(Lane::Reply, NOW));
        let mut next_reply = pin!(gate.enter(Lane::Reply, NOW));
        let mut present = pin!(gate.enter(Lane::Present, NOW));
        assert!(try_enter(&mut follow_up).is_none());
        assert!(try_enter(&mut reply).is_none());
        assert!(try_enter(&mut next_reply).is_none());
        assert!(try_enter(&mut present).is_none());

        drop(slot.take());
        assert!(try_enter(&mut reply).is_none(), "someone who is there goes first");
        slot = Some(try_enter(&mut present).expect("the best lane"));
        drop(slot.take());
        assert!(try_enter(&mut next_reply).is_none(), "it came later");
        slot = Some(try_enter(&mut reply).expect("the one that came first"));
        drop(slot.take());
        slot = Some(try_enter(&mut next_reply).expect("the one after it"));
        drop(slot.take());
        assert!(try_enter(&mut follow_up).is_some(), "the last lane has its turn");
    }

    #[test]
    fn what_has_waited_long_goes_before_a_better_lane() {
        let gate = Gate::new(1);
        let slot = enter_now(&gate);
        let mut follow_up = pin!(gate.enter(Lane::Proactive, NOW));
        let mut reply = pin!(gate.enter(Lane::Reply, NOW.plus_ms(60_001)));
        assert!(try_enter(&mut follow_up).is_none());
        assert!(try_enter(&mut reply).is_none());
        drop(slot);
        assert!(try_enter(&mut reply).is_none());
        assert!(try_enter(&mut follow_up).is_some());
    }

    #[test]
    fn who_gives_up_leaves_the_line() {
        let gate = Gate::new(1);
        let slot = enter_now(&gate);
        {
            let mut gone = pin!(gate.enter(Lane::Human, NOW));
            assert!(try_enter(&mut gone).is_none());
            assert_eq!(gate.waiting(), 1);
        }
        assert_eq!(gate.waiting(), 0);
        drop(slot);
        assert_eq!(gate.held(), 0);
    }

    #[test]
    fn a_slot_given_to_one_who_gives_up_goes_to_the_next() {
        let gate = Gate::new(1);
        let slot = enter_now(&gate);
        let mut next = pin!(gate.enter(Lane::Reply, NOW));
        {
            let mut gone = pin!(gate.enter(Lane::Human, NOW));
            assert!(try_enter(&mut gone).is_none());
            assert!(try_enter(&mut next).is_none());
            drop(slot);
            assert!(try_enter(&mut next).is_none(), "the slot is on its way to the other");
        }
        assert!(try_enter(&mut next).is_some());
    }

    #[test]
    fn a_gate_without_slots_lets_one_in() {
        let gate = Gate::new(0);
        let _slot = enter_now(&gate);
        assert_eq!(gate.held(), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_slot_is_lost_in_a_storm_of_cancellations() {
        const SLOTS: usize = 5;
        let gate = Gate::new(SLOTS);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..40 {
            let mut tasks = JoinSet::new();
            let mut handles = Vec::new();
            for n in 0..100 {
                let (gate, lane) = (gate.clone(), Lane::ALL[n % Lane::ALL.len()]);
                handles.push(tasks.spawn(async move {
                    let _slot = gate.enter(lane, NOW).await;
                    for _ in 0..n % 4 {
                        tokio::task::yield_now().await;
                    }
                    assert!(gate.held() <= SLOTS);
                }));
            }
            for handle in handles {
                if random.bool() {
                    handle.abort();
                }
            }
            while let Some(ended) = tasks.join_next().await {
                assert!(ended.is_ok() || ended.is_err_and(|error| error.is_cancelled()));
            }
            assert_eq!((gate.held(), gate.waiting()), (0, 0));
        }
        let all: Vec<Slot> = (0..SLOTS).map(|_| enter_now(&gate)).collect();
        assert_eq!(gate.held(), all.len());
    }
}
