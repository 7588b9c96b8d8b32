//! The moment at which a process ends: each touch of the outside is counted, and after the one chosen it is dead or asleep.
//!
//! In: touches, from the decorators of [`super::fused`] and from answers to requests. Out: the last of them takes effect,
//! and nobody here hears of it. After that no touch of the process takes effect, until it wakes, if it sleeps.
//!
//! Counted is what changes something outside. A read in between changes nothing, so that a crash beside it is the crash
//! after the change before it; and so is a crash before the next change.

use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton::flow::provider::boot_time;
use tokio::sync::watch;

use super::{Hold, lock};

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// For good.
    Dies,
    /// It is stopped, as by the machine under it, and goes on long after others have taken its work over.
    Sleeps,
}

/// A failure point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// After so many touches; 0: before it has touched anything.
    pub(crate) touches: usize,
    pub(crate) end: End,
}

/// Something in Baton that is made wrong on purpose, to see that it is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weakness {
    /// The provider's client sends again when it should not.
    PostsTwice,
    /// A webhook is acknowledged whose effect went nowhere.
    StoresElsewhere,
    /// A process that starts sends again what was being sent when another died.
    SendsAgain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Runs,
    Ended,
    Woke,
}

#[derive(Default)]
struct Count {
    point: Option<Point>,
    is_lit: bool,
    doing: String,
    touches: Vec<String>,
    ended_at: Option<Duration>,
}

/// A touch that is not over.
struct UnderWay<'a>(&'a watch::Sender<usize>);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The last touch: when it is over, or broken off, so is the process.
struct Last<'a>(&'a Fuse);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// One for each process.
pub(crate) struct Fuse {
    count: Mutex<Count>,
    stage: watch::Sender<Stage>,
    under_way: watch::Sender<usize>,
    loses_next: AtomicBool,
    repeats_next: AtomicBool,
    /// So many steps from now one waits there.
    held: Mutex<Option<(usize, Hold)>>,
    pub(crate) weakness: Option<Weakness>,
}

impl Fuse {
    /// One that is not lit: the process lives.
    pub(crate) fn new(weakness: Option<Weakness>) -> Self {
        Self {
            count: Mutex::default(),
            stage: watch::Sender::new(Stage::Runs),
            under_way: watch::Sender::default(),
            loses_next: AtomicBool::new(false),
            repeats_next: AtomicBool::new(false),
            held: Mutex::default(),
            weakness,
        }
    }

    /// From now on touches are counted, and at that point the process ends; None: they are only counted.
    pub(crate) fn light(&self, point: Option<Point>) {
        {
            let mut count = self.count();
            (count.point, count.is_lit) = (point, true);
        }
        if point.is_some_and(|point| point.touches == 0) {
            self.end();
        }
    }

    /// The next change of the store takes effect, and the process hears only that the store is away.
    pub(crate) fn loses_next_answer(&self) {
        self.loses_next.store(true, Ordering::SeqCst);
    }

    /// The next step takes effect, and is run again: its store has not heard of the end of the transaction.
    pub(crate) fn repeats_next_step(&self) {
        self.repeats_next.store(true, Ordering::SeqCst);
    }

    /// The next step of the store, or after so many others, has no effect before the test lets it go; those that come
    /// meanwhile do not wait.
    pub(crate) fn holds_step(&self, after: usize) -> Hold {
        let hold = Hold::new();
        *lock(&self.held) = Some((after, hold.clone()));
        hold
    }

    /// Where this step waits, if it does.
    pub(crate) fn step_held(&self) -> Option<Hold> {
        let mut held = lock(&self.held);
        if let Some((after @ 1.., _)) = &mut *held {
            *after -= 1;
            return None;
        }
        held.take().map(|(_, hold)| hold)
    }

    /// Whether this step is run again.
    pub(crate) fn repeats_step(&self) -> bool {
        self.repeats_next.swap(false, Ordering::SeqCst)
    }

    /// Whether this answer is lost.
    pub(crate) fn loses_answer(&self) -> bool {
        self.loses_next.swap(false, Ordering::SeqCst)
    }

    /// What the process does now: for the names of touches.
    pub(crate) fn begins(&self, doing: &str) {
        doing.clone_into(&mut self.count().doing);
    }

    /// The touches so far, by what was being done.
    pub(crate) fn touches(&self) -> Vec<String> {
        self.count().touches.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        *self.stage.borrow() == Stage::Ended
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&self) {
        until(&self.stage, |stage| *stage == Stage::Ended).await;
    }

    /// Waits until no touch is under way.
    pub(crate) async fn quiet(&self) {
        until(&self.under_way, |count| *count == 0).await;
    }

    /// What slept goes on.
    pub(crate) fn wake(&self) {
        self.stage.send_replace(Stage::Woke);
    }

    /// Whether what was begun at that moment, by [`boot_time`], was slept over.
    pub(super) fn slept_over(&self, begun_at: Duration) -> bool {
        *self.stage.borrow() == Stage::Woke && self.count().ended_at.is_some_and(|at| begun_at <= at)
    }

    /// A touch of the outside. Its caller hears of it only if the process lives on.
    pub(super) async fn touch<T>(&self, name: &'static str, act: impl Future<Output = T>) -> T {
        let _under_way = UnderWay::begin(&self.under_way);
        self.alive().await;
        let last = self.is_last(name).then(|| Last(self));
        let outcome = act.await;
        drop(last);
        self.alive().await;
        outcome
    }

    /// A touch that has happened already: somebody outside has heard an answer.
    pub(crate) fn answered(&self) {
        if self.is_last("the answer") {
            self.end();
        }
    }

    /// Waits for ever if the process is dead, and until it wakes if it sleeps.
    pub(super) async fn alive(&self) {
        until(&self.stage, |stage| *stage != Stage::Ended).await;
    }

    /// Counts a touch. True if the process ends after it.
    fn is_last(&self, name: &str) -> bool {
        let mut count = self.count();
        if !count.is_lit {
            return false;
        }
        let touch = format!("{name} ({})", count.doing);
        count.touches.push(touch);
        count.point.is_some_and(|point| point.touches == count.touches.len())
    }

    fn end(&self) {
        self.count().ended_at = Some(boot_time());
        self.stage.send_replace(Stage::Ended);
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        lock(&self.count)
    }
}

async fn until<T>(value: &watch::Sender<T>, holds: impl FnMut(&T) -> bool) {
    // The sender is borrowed here, so it outlives the wait.
    value.subscribe().wait_for(holds).await.expect("the sender lives");
}
