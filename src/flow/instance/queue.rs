//! Local queues of conversations in which something is due: hints that spare a look into the store.
//!
//! In: every commit of this instance, and sweeps over the store. Out: one conversation after the other to the workers.
//! What a queue loses, a sweep finds again.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};
use uuid::Uuid;

use crate::domain::time::duration;

/// What is looked at within this need not be looked at now.
const SOON: Duration = Duration::from_secs(2);

/// Conversations by the moment at which to look at them.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    earlier: Notify,
}

#[derive(Default)]
struct Waiting {
    by_time: BTreeSet<(Instant, Uuid)>,
    at: HashMap<Uuid, Instant>,
}

impl Queue {
    /// Looks at this conversation in `in_ms` milliseconds (0: at once), whatever was planned before; None: not at all.
    pub fn set(&self, conversation: Uuid, in_ms: Option<i64>) {
        let at = in_ms.map(|ms| Instant::now() + duration(ms));
        let mut waiting = self.lock();
        if let Some(before) = waiting.at.remove(&conversation) {
            waiting.by_time.remove(&(before, conversation));
        }
        let Some(at) = at else { return };
        let is_first = waiting.by_time.first().is_none_or(|(first, _)| at < *first);
        waiting.at.insert(conversation, at);
        waiting.by_time.insert((at, conversation));
        drop(waiting);
        if is_first {
            self.earlier.notify_one();
        }
    }

    /// Looks at it at once, unless that is planned already: what a sweep has found. A later plan is of before somebody else
    /// has made it earlier.
    pub fn remind(&self, conversation: Uuid) {
        let soon = Instant::now() + SOON;
        let is_planned = self.lock().at.get(&conversation).is_some_and(|at| *at <= soon);
        if !is_planned {
            self.set(conversation, Some(0));
        }
    }

    /// The next conversation, when its moment has come. Cancel-safe: one that is not handed out stays.
    pub async fn next(&self) -> Uuid {
        loop {
            // Registered before looking, or a nudge between the look and the wait would be lost.
            let earlier = self.earlier.notified();
            let first = {
                let mut waiting = self.lock();
                match waiting.by_time.first().copied() {
                    Some((at, conversation)) if at <= Instant::now() => {
                        waiting.by_time.pop_first();
                        waiting.at.remove(&conversation);
                        return conversation;
                    }
                    first => first,
                }
            };
            match first {
                None => earlier.await,
                Some((at, _)) => tokio::select! {
                    () = earlier => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.lock().at.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_due_is_not_put_off_by_a_later_plan() {
        let queue = Queue::default();
        let (soon, later) = (Uuid::from_u128(1), Uuid::from_u128(2));
        queue.set(soon, Some(1_500));
        queue.set(later, Some(60_000));
        queue.remind(soon);
        queue.remind(later);
        assert_eq!(queue.next().await, later);
        assert_eq!(queue.len(), 1);
    }

    #[tokio::test]
    async fn conversations_come_out_by_their_moment_and_each_once() {
        let queue = Queue::default();
        let (first, second, third) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        queue.set(first, Some(60_000));
        queue.set(second, Some(2));
        queue.set(third, Some(1));
        queue.set(third, None);
        queue.set(first, Some(0));
        queue.remind(second);
        assert_eq!(queue.next().await, first);
        assert_eq!(queue.next().await, second);
        assert!(queue.is_empty());
    }

    #[tokio::test]
    async fn an_earlier_moment_wakes_who_waits_for_a_later_one() {
        let queue = std::sync::Arc::new(Queue::default());
        queue.set(Uuid::from_u128(1), Some(60_000));
        let waiter = tokio::spawn({
            let queue = std::sync::Arc::clone(&queue);
            async move { queue.next().await }
        });
        tokio::task::yield_now().await;
        queue.set(Uuid::from_u128(2), Some(0));
        assert_eq!(waiter.await.expect("the waiter ends"), Uuid::from_u128(2));
        assert_eq!(queue.len(), 1);
    }
}
