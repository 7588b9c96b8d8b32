//! Keeps calls away from a model or channel that fails, and lets one trial through now and then. A step asks for a
//! permit before a call and reports how it went; out comes the permit, or how long to wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{time::Time, words::words};

/// While a trial runs, nobody knows for how long: who else comes should look again after this long.
const TRIAL_MS: i64 = 2_000;

words! {
    /// What a breaker lets through.
    Phase {
        /// All calls.
        Closed = "closed",
        /// None.
        Open = "open",
        /// One, on trial.
        HalfOpen = "half_open",
    }
}

/// The phase changed in a way that people should hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Too many failures in a row: event `breaker_opened`.
    Opened,
    /// A trial succeeded: event `breaker_closed`.
    Closed,
}

/// The answer to a request for a permit.
#[must_use]
#[derive(Debug)]
pub enum Admission {
    /// Call.
    Permit(Permit),
    /// Do not call before then.
    OpenUntil {
        /// When to ask again.
        until: Time,
        /// [`Change::Opened`] if calls that ended without a word are what opens it now.
        change: Option<Change>,
    },
}

/// Counts failures in a row. Clones share the count.
#[derive(Debug, Clone)]
pub struct Breaker {
    shared: Arc<Shared>,
}

/// The right to make one call. Dropped without a word it counts as failed if the call had begun and nothing was heard:
/// a server that hangs is known only by the callers who gave up on it.
#[must_use]
#[derive(Debug)]
pub struct Permit {
    shared: Arc<Shared>,
    /// Of which state it is: a report on an older one says nothing about now.
    epoch: u64,
    call: Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    NotBegun,
    Begun,
    Heard,
    Reported,
}

#[derive(Debug)]
struct Shared {
    failures_max: u32,
    open_ms: i64,
    state: Mutex<State>,
}

/// The state, and a number that rises with every change of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    epoch: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Closed {
        failures: u32,
    },
    Open {
        until: Time,
    },
    Trial,
    /// The trial ended without a word, so without a time: it opens again when next looked at.
    Hung,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Succeeded,
    Failed(Time),
    /// The same, for a reason that has been counted.
    FailedAgain(Time),
    /// Dropped; the call had begun.
    Hung,
    /// Dropped; the call had not begun, or the server was answering.
    Nothing,
}

impl Breaker {
    /// Opens after `failures_max` failures in a row, for `open_ms`. With 0 it never opens.
    pub fn new(failures_max: u32, open_ms: i64) -> Self {
        let state = State { epoch: 0, stage: Stage::Closed { failures: 0 } };
        Self { shared: Arc::new(Shared { failures_max, open_ms, state: Mutex::new(state) }) }
    }

    /// Asks to make one call.
    pub fn permit(&self, now: Time) -> Admission {
        let shared = &self.shared;
        let mut state = shared.state();
        match shared.ask(*state, now) {
            Ask::Go(next) => {
                *state = next;
                Admission::Permit(Permit {
                    shared: Arc::clone(shared),
                    epoch: next.epoch,
                    call: Call::NotBegun,
                })
            }
            Ask::Wait(next, until, change) => {
                *state = next;
                Admission::OpenUntil { until, change }
            }
        }
    }

    /// What it lets through.
    pub fn phase(&self) -> Phase {
        match self.shared.state().stage {
            Stage::Closed { .. } => Phase::Closed,
            Stage::Open { .. } | Stage::Hung => Phase::Open,
            Stage::Trial => Phase::HalfOpen,
        }
    }

    /// Whether it keeps calls away. Not any more when its time is over and for as long again nobody has come to try: the next
    /// caller is let through then. Before that one who waits is about to, and what is wrong has not ended.
    pub fn keeps_away(&self, now: Time) -> bool {
        let shared = &self.shared;
        let mut state = shared.state();
        if state.stage == Stage::Hung {
            *state = shared.open(*state, now);
        }
        match state.stage {
            Stage::Closed { .. } => false,
            // A moment that is further away than any opening comes from a clock that was set back.
            Stage::Open { until } => now < until.plus_ms(shared.open_ms) && shared.believes(until, now),
            Stage::Trial | Stage::Hung => true,
        }
    }
}

enum Ask {
    Go(State),
    Wait(State, Time, Option<Change>),
}

impl State {
    const fn to(self, stage: Stage) -> Self {
        Self { epoch: self.epoch + 1, stage }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    const fn is_too_many(&self, failures: u32) -> bool {
        self.failures_max > 0 && failures >= self.failures_max
    }

    /// A clock that was set back must not keep everybody away for as long as it was set back by. More than it is open for: who
    /// asks may have read the clock a moment before the failure did.
    const fn believes(&self, until: Time, now: Time) -> bool {
        until.since(now) <= self.open_ms.saturating_mul(2)
    }

    const fn open(&self, state: State, now: Time) -> State {
        state.to(Stage::Open { until: now.plus_ms(self.open_ms) })
    }

    /// The rule for who comes.
    fn ask(&self, state: State, now: Time) -> Ask {
        let until = now.plus_ms(self.open_ms);
        match state.stage {
            Stage::Closed { failures } if self.is_too_many(failures) => {
                Ask::Wait(self.open(state, now), until, Some(Change::Opened))
            }
            Stage::Closed { .. } => Ask::Go(state),
            Stage::Open { until: end } if now < end && self.believes(end, now) => {
                Ask::Wait(state, end.min(until), None)
            }
            Stage::Open { .. } => Ask::Go(state.to(Stage::Trial)),
            Stage::Trial => Ask::Wait(state, now.plus_ms(TRIAL_MS.min(self.open_ms)), None),
            Stage::Hung => Ask::Wait(self.open(state, now), until, None),
        }
    }

    /// The rule for how a call went.
    fn hear(&self, state: State, report: Report) -> (State, Option<Change>) {
        match (state.stage, report) {
            (Stage::Closed { .. }, Report::Succeeded) => {
                (State { stage: Stage::Closed { failures: 0 }, ..state }, None)
            }
            (Stage::Closed { failures }, Report::Failed(now))
                if self.is_too_many(failures.saturating_add(1)) =>
            {
                (self.open(state, now), Some(Change::Opened))
            }
            (Stage::Closed { failures }, Report::Failed(_) | Report::Hung) => {
                (State { stage: Stage::Closed { failures: failures.saturating_add(1) }, ..state }, None)
            }
            (Stage::Trial, Report::Succeeded) => {
                (state.to(Stage::Closed { failures: 0 }), Some(Change::Closed))
            }
            (Stage::Trial, Report::Failed(now) | Report::FailedAgain(now)) => (self.open(state, now), None),
            (Stage::Trial, Report::Hung) => (state.to(Stage::Hung), None),
            // Its time has come already: the next who asks is the trial.
            (Stage::Trial, Report::Nothing) => (state.to(Stage::Open { until: Time(i64::MIN) }), None),
            (Stage::Closed { .. }, Report::Nothing | Report::FailedAgain(_))
            | (Stage::Open { .. } | Stage::Hung, _) => (state, None),
        }
    }
}

impl Permit {
    /// The call begins: from here on, silence is a failure.
    pub fn begin(&mut self) {
        self.call = Call::Begun;
    }

    /// The server answers: a caller that gives up now does so for reasons of our own.
    pub fn heard(&mut self) {
        self.call = Call::Heard;
    }

    /// The call went well, or was refused in a way that shows a server at work.
    pub fn succeeded(mut self) -> Option<Change> {
        self.report(Report::Succeeded)
    }

    /// The call failed.
    pub fn failed(mut self, now: Time) -> Option<Change> {
        self.report(Report::Failed(now))
    }

    /// The call failed, for a reason that has been counted: alone it opens nothing, but it is not a sign of health.
    pub fn failed_again(mut self, now: Time) -> Option<Change> {
        self.report(Report::FailedAgain(now))
    }

    fn report(&mut self, report: Report) -> Option<Change> {
        self.call = Call::Reported;
        let mut state = self.shared.state();
        if state.epoch != self.epoch {
            return None;
        }
        let (next, change) = self.shared.hear(*state, report);
        *state = next;
        change
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match self.call {
            Call::NotBegun | Call::Heard => self.report(Report::Nothing),
            Call::Begun => self.report(Report::Hung),
            Call::Reported => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000);
    const OPEN_MS: i64 = 30_000;

    fn permit(breaker: &Breaker, now: Time) -> Permit {
        match breaker.permit(now) {
            Admission::Permit(permit) => permit,
            Admission::OpenUntil { until, .. } => panic!("open until {until}"),
        }
    }

    fn refusal(breaker: &Breaker, now: Time) -> (Time, Option<Change>) {
        match breaker.permit(now) {
            Admission::Permit(_) => panic!("it lets calls through"),
            Admission::OpenUntil { until, change } => (until, change),
        }
    }

    fn hang_up(breaker: &Breaker) {
        permit(breaker, NOW).begin();
    }

    fn opened(failures: u32) -> Breaker {
        let breaker = Breaker::new(failures, OPEN_MS);
        for left in (0..failures).rev() {
            let change = permit(&breaker, NOW).failed(NOW);
            assert_eq!(change, (left == 0).then_some(Change::Opened));
        }
        breaker
    }

    #[test]
    fn every_stage_hears_every_report() {
        let breaker = Breaker::new(2, OPEN_MS);
        let (until, old) = (NOW.plus_ms(OPEN_MS), NOW.plus_ms(-1));
        let one = Stage::Closed { failures: 1 };
        let none = Stage::Closed { failures: 0 };
        let open = Stage::Open { until: old };
        let ripe = Stage::Open { until: Time(i64::MIN) };
        let (failed, again) = (Report::Failed(NOW), Report::FailedAgain(NOW));
        let deaf = [open, Stage::Hung].into_iter().flat_map(|stage| {
            [Report::Succeeded, failed, again, Report::Hung, Report::Nothing]
                .map(|report| (stage, report, stage, None))
        });
        let table = [
            (none, Report::Succeeded, none, None),
            (one, Report::Succeeded, none, None),
            (none, failed, one, None),
            (one, failed, Stage::Open { until }, Some(Change::Opened)),
            (none, Report::Hung, one, None),
            (one, Report::Hung, Stage::Closed { failures: 2 }, None),
            (one, Report::Nothing, one, None),
            (one, again, one, None),
            (Stage::Trial, Report::Succeeded, none, Some(Change::Closed)),
            (Stage::Trial, failed, Stage::Open { until }, None),
            (Stage::Trial, again, Stage::Open { until }, None),
            (Stage::Trial, Report::Hung, Stage::Hung, None),
            (Stage::Trial, Report::Nothing, ripe, None),
        ];
        for (stage, report, expected, change) in table.into_iter().chain(deaf) {
            let (next, heard) = breaker.shared.hear(State { epoch: 0, stage }, report);
            assert_eq!((next.stage, heard), (expected, change), "{stage:?} hears {report:?}");
        }
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_between_does_not() {
        let breaker = Breaker::new(2, OPEN_MS);
        assert_eq!(permit(&breaker, NOW).failed(NOW), None);
        assert_eq!(permit(&breaker, NOW).succeeded(), None);
        assert_eq!(permit(&breaker, NOW).failed(NOW), None);
        assert_eq!(permit(&breaker, NOW).failed(NOW), Some(Change::Opened));
        assert_eq!(breaker.phase(), Phase::Open);
        assert_eq!(refusal(&breaker, NOW.plus_ms(1)), (NOW.plus_ms(OPEN_MS), None));
    }

    #[test]
    fn after_its_time_one_trial_goes_and_closes_it() {
        let breaker = opened(3);
        let later = NOW.plus_ms(OPEN_MS);
        let trial = permit(&breaker, later);
        assert_eq!(breaker.phase(), Phase::HalfOpen);
        assert_eq!(refusal(&breaker, later), (later.plus_ms(TRIAL_MS), None), "one at a time");
        assert_eq!(trial.succeeded(), Some(Change::Closed));
        assert_eq!(breaker.phase(), Phase::Closed);
        assert_eq!(permit(&breaker, later).failed(later), None, "the count begins anew");
    }

    #[test]
    fn a_trial_that_fails_opens_it_again_without_another_event() {
        let breaker = opened(1);
        let later = NOW.plus_ms(OPEN_MS);
        assert_eq!(permit(&breaker, later).failed(later.plus_ms(5)), None);
        assert_eq!(refusal(&breaker, later.plus_ms(6)), (later.plus_ms(OPEN_MS + 5), None));
    }

    #[test]
    fn calls_that_hang_until_their_callers_give_up_open_it() {
        let breaker = Breaker::new(2, OPEN_MS);
        hang_up(&breaker);
        hang_up(&breaker);
        assert_eq!(refusal(&breaker, NOW), (NOW.plus_ms(OPEN_MS), Some(Change::Opened)));
        assert_eq!(refusal(&breaker, NOW), (NOW.plus_ms(OPEN_MS), None), "said once");
    }

    #[test]
    fn a_trial_that_hangs_opens_it_again() {
        let breaker = opened(1);
        let later = NOW.plus_ms(OPEN_MS);
        permit(&breaker, later).begin();
        assert_eq!(refusal(&breaker, later.plus_ms(9)), (later.plus_ms(OPEN_MS + 9), None));
    }

    #[test]
    fn giving_up_before_the_call_or_on_a_server_at_work_says_nothing() {
        let breaker = Breaker::new(1, OPEN_MS);
        drop(permit(&breaker, NOW));
        let mut answering = permit(&breaker, NOW);
        answering.begin();
        answering.heard();
        drop(answering);
        assert_eq!(permit(&breaker, NOW).failed(NOW), Some(Change::Opened));

        let later = NOW.plus_ms(OPEN_MS);
        drop(permit(&breaker, later));
        let _trial = permit(&breaker, later);
        assert_eq!(breaker.phase(), Phase::HalfOpen, "the trial went to the next");
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nobody_away_for_as_long() {
        let breaker = opened(1);
        let (a_little, an_hour) = (NOW.plus_ms(-OPEN_MS), NOW.plus_ms(-3_600_000));
        assert_eq!(refusal(&breaker, a_little), (NOW, None), "never longer than it opens for");
        assert!(
            breaker.keeps_away(a_little) && !breaker.keeps_away(an_hour),
            "what is measured is what is done"
        );
        let trial = permit(&breaker, an_hour);
        assert_eq!(breaker.phase(), Phase::HalfOpen, "as after its time");
        assert_eq!(trial.failed(an_hour), None);
        assert_eq!(refusal(&breaker, an_hour), (an_hour.plus_ms(OPEN_MS), None));
    }

    #[test]
    fn a_late_report_on_an_older_state_says_nothing() {
        let breaker = Breaker::new(1, OPEN_MS);
        let (slow, slower) = (permit(&breaker, NOW), permit(&breaker, NOW));
        assert_eq!(permit(&breaker, NOW).failed(NOW), Some(Change::Opened));
        let trial = permit(&breaker, NOW.plus_ms(OPEN_MS));
        assert_eq!(slow.succeeded(), None);
        assert_eq!(slower.failed(NOW.plus_ms(OPEN_MS)), None);
        assert_eq!(breaker.phase(), Phase::HalfOpen);
        assert_eq!(trial.succeeded(), Some(Change::Closed));
    }

    #[test]
    fn with_no_number_it_never_opens() {
        let breaker = Breaker::new(0, OPEN_MS);
        for _ in 0..100 {
            assert_eq!(permit(&breaker, NOW).failed(NOW), None);
        }
    }

    #[test]
    fn it_keeps_nobody_away_once_nobody_has_come_for_as_long_as_it_was_open() {
        let breaker = opened(1);
        let until = NOW.plus_ms(OPEN_MS);
        let looks = |now: Time| breaker.keeps_away(now);
        assert!(looks(NOW) && looks(until), "who waits is about to try");
        assert!(looks(until.plus_ms(OPEN_MS - 1)));
        assert!(!looks(until.plus_ms(OPEN_MS)));
        // A look changes nothing: the next call is the trial, and keeps others away while it runs.
        let late = until.plus_ms(OPEN_MS);
        let mut trial = permit(&breaker, late);
        assert!(breaker.keeps_away(late));
        trial.begin();
        drop(trial);
        // That one hung; nobody knows since when, so it is open from the look on.
        assert!(breaker.keeps_away(late));
        assert_eq!(refusal(&breaker, late.plus_ms(1)).0, late.plus_ms(OPEN_MS));
        assert!(!breaker.keeps_away(late.plus_ms(2 * OPEN_MS)));
        assert_eq!(permit(&breaker, late.plus_ms(2 * OPEN_MS)).succeeded(), Some(Change::Closed));
        assert!(!breaker.keeps_away(late.plus_ms(2 * OPEN_MS)));
    }
}
