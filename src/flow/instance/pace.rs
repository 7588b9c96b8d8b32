//! Place: how many generations begin in a minute, over all instances. A turn comes in with its lane, and continues with
//! a slot when its generation may begin; while it waits it keeps its lane.
//!
//! The count is the store's: what the model's server would notice must hold without Redis too.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::gate::{Gate, Slot};
use crate::{
    domain::{
        lane::Lane,
        time::{Time, duration},
    },
    flow::ledger::Error,
};

/// The minute.
pub const WINDOW_MS: i64 = 60_000;
/// While the store does not answer, nobody knows how many have begun.
const UNKNOWN: Duration = Duration::from_secs(1);
/// Another instance may have been faster by so little that it is worth asking again at once.
const AGAIN: Duration = Duration::from_millis(20);

/// The count of all instances.
#[async_trait]
pub trait Starts: Send + Sync {
    /// Takes one of the starts of a minute. None: it is taken; else how long (ms) until one may be free.
    async fn begin_generation(&self, per_minute: i64) -> Result<Option<i64>, Error>;
}

/// Limits how many generations begin in a minute.
pub struct Pace {
    starts: Arc<dyn Starts>,
    per_minute: i64,
    /// One at a time waits for a slot and a start, the best lane first. In the other order those who wait for a start
    /// would hold the slots, and one with a better lane would stand behind all of them.
    line: Gate,
}

impl Pace {
    /// None without a limit (0).
    pub fn of(starts: Arc<dyn Starts>, per_minute: i64) -> Option<Arc<Self>> {
        (per_minute > 0).then(|| Arc::new(Self { starts, per_minute, line: Gate::new(1) }))
    }

    /// How many wait in line; the first of them, who may wait for a start, is not counted.
    pub fn waiting(&self) -> usize {
        self.line.waiting()
    }

    /// Waits for a slot, and until one more may begin. Dropping this future leaves the line.
    pub async fn enter(&self, gate: &Gate, lane: Lane, now: Time) -> Slot {
        let _first = self.line.enter(lane, now).await;
        let slot = gate.enter(lane, now).await;
        loop {
            let (starts, per_minute) = (Arc::clone(&self.starts), self.per_minute);
            // On a task of its own: a call to the store is never dropped half-way.
            let asked = tokio::spawn(async move { starts.begin_generation(per_minute).await }).await;
            let wait = match asked {
                Ok(Ok(None)) => return slot,
                Ok(Ok(Some(wait_ms))) => duration(wait_ms).max(AGAIN),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "whether a generation may begin is not known this time");
                    UNKNOWN
                }
                Err(error) => {
                    tracing::error!(%error, "asking whether a generation may begin ended before its answer");
                    UNKNOWN
                }
            };
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        pin::pin,
        sync::{Mutex, PoisonError},
    };

    use futures_util::FutureExt as _;

    use super::*;

    const NOW: Time = Time(1_000_000);

    /// What the store will answer.
    struct Script(Mutex<VecDeque<Result<Option<i64>, Error>>>);

    #[async_trait]
    impl Starts for Script {
        async fn begin_generation(&self, _per_minute: i64) -> Result<Option<i64>, Error> {
            let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            answers.pop_front().expect("the test says what the store answers")
        }
    }

    /// A generation begins and is over at once.
    async fn begin(pace: &Pace, lane: Lane) {
        drop(pace.enter(&Gate::new(5), lane, NOW).await);
    }

    fn pace(answers: impl IntoIterator<Item = Result<Option<i64>, Error>>) -> Arc<Pace> {
        let script = Script(Mutex::new(answers.into_iter().collect()));
        Pace::of(Arc::new(script), 2).expect("a limit")
    }

    #[test]
    fn without_a_limit_there_is_no_pace() {
        assert!(Pace::of(Arc::new(Script(Mutex::default())), 0).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn one_waits_as_long_as_the_store_says_also_when_it_said_nothing() {
        let unavailable = Err(Error::Unavailable("away".into()));
        let pace = pace([Ok(None), Ok(Some(7_000)), unavailable, Ok(None)]);
        let began = tokio::time::Instant::now();
        begin(&pace, Lane::Reply).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        begin(&pace, Lane::Reply).await;
        assert_eq!(began.elapsed(), Duration::from_millis(7_000) + UNKNOWN);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_keeps_its_lane_and_who_gives_up_leaves_the_line() {
        let pace = pace([Ok(Some(1_000)), Ok(None), Ok(None)]);
        let mut first = pin!(begin(&pace, Lane::Reply));
        let mut follow_up = pin!(begin(&pace, Lane::Proactive));
        let mut present = pin!(begin(&pace, Lane::Present));
        assert_eq!(pace.waiting(), 0);
        {
            let mut gone = pin!(begin(&pace, Lane::Human));
            assert!((&mut first).now_or_never().is_none());
            assert!((&mut follow_up).now_or_never().is_none());
            assert!((&mut present).now_or_never().is_none());
            assert!((&mut gone).now_or_never().is_none());
        }
        assert_eq!(pace.waiting(), 2, "who gave up is gone");
        first.await;
        assert!((&mut follow_up).now_or_never().is_none(), "someone who is there goes first");
        present.await;
        assert!((&mut follow_up).now_or_never().is_none(), "it asks only now");
    }
}
