//! Step: keeps turns away from a model that fails, and lets one through on trial now and then.
//!
//! In: turns that want to ask, and how it went. Out: a permit or a failure that says when to come back; events.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use metrics::gauge;
use uuid::Uuid;

use super::breaker::{Admission, Breaker, Change, Permit, Phase};
use crate::{
    domain::{docket::Entry, event::EventType, time::Time},
    flow::{
        generator::{Failure, FailureKind, Written},
        ledger::Ledger,
    },
};

/// More conversations that fail are not told apart: the breaker has opened long before.
const FAILING_MAX: usize = 10_000;

/// The step.
pub struct ModelBreaker {
    breaker: Breaker,
    /// Conversations whose generations have failed since one went well: each counts once, or one message that the model
    /// cannot bear would shut everybody out.
    failing: Mutex<HashSet<Uuid>>,
    ledger: Arc<dyn Ledger>,
    clock: fn() -> Time,
}

impl ModelBreaker {
    /// Closed, by these limits.
    pub fn new(breaker: Breaker, ledger: Arc<dyn Ledger>, clock: fn() -> Time) -> Self {
        Self { breaker, failing: Mutex::default(), ledger, clock }
    }

    /// Whether turns are kept away, or only one is let through.
    pub fn is_open(&self) -> bool {
        self.breaker.phase() != Phase::Closed
    }

    /// Sets its gauge to what is so now: a change is reported when a call makes it, and there may be no more calls.
    pub fn measure(&self) {
        show(self.breaker.keeps_away((self.clock)()));
    }

    /// Asks to make one call.
    pub fn permit(&self, channel: &str) -> Result<Permit, Failure> {
        match self.breaker.permit((self.clock)()) {
            // Never notified that the call begins: a takeover that drops it says nothing of the server's health.
            Admission::Permit(permit) => Ok(permit),
            Admission::OpenUntil { until, change } => {
                self.tell(channel, change);
                Err(Failure {
                    retry_after_ms: Some(until.since((self.clock)()).max(0)),
                    ..Failure::new(FailureKind::Unasked, "the breaker of the model is open")
                })
            }
        }
    }

    /// How the call went.
    pub fn hear(
        &self,
        channel: &str,
        conversation: Uuid,
        permit: Permit,
        written: &Result<Written, Failure>,
    ) {
        let changed = match written {
            Ok(_) => permit.succeeded(),
            // The server answered: that the request was refused says nothing of its health.
            Err(failure) if is_answered(failure.kind) => permit.succeeded(),
            Err(_) if self.is_first_failure(conversation) => permit.failed((self.clock)()),
            Err(_) => permit.failed_again((self.clock)()),
        };
        if written.is_ok() {
            self.failing().clear();
        }
        self.tell(channel, changed);
    }

    fn is_first_failure(&self, conversation: Uuid) -> bool {
        let mut failing = self.failing();
        failing.len() >= FAILING_MAX || failing.insert(conversation)
    }

    fn failing(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records it outside the turn: what runs here may be dropped at any moment, a call to the store never.
    fn tell(&self, channel: &str, change: Option<Change>) {
        let Some(change) = change else { return };
        let kind = match change {
            Change::Opened => EventType::BreakerOpened,
            Change::Closed => EventType::BreakerClosed,
        };
        show(change == Change::Opened);
        let event = Entry::of(kind).with("of", "model").outside(channel, (self.clock)());
        let ledger = Arc::clone(&self.ledger);
        tokio::spawn(async move {
            if let Err(error) = ledger.keep(vec![event], Vec::new()).await {
                tracing::warn!(
                    error = error.cause(),
                    "a change of the breaker was not recorded in the journal"
                );
            }
        });
    }
}

fn show(is_open: bool) {
    gauge!("baton_breaker_state", "of" => "model").set(if is_open { 1.0 } else { 0.0 });
}

/// Whether the server itself answered, so that its breaker stays closed.
const fn is_answered(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Refused
        | FailureKind::TooLong
        | FailureKind::Quota
        | FailureKind::RateLimited
        | FailureKind::Empty
        | FailureKind::Filtered => true,
        FailureKind::Server
        | FailureKind::Unreachable
        | FailureKind::TimedOut
        | FailureKind::Cut
        | FailureKind::Malformed
        | FailureKind::Unasked
        | FailureKind::Store => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use crate::adapters::test_stores::{self, TestStore};

    thread_local! {
        static CLOCK: Cell<i64> = const { Cell::new(0) };
    }

    #[tokio::test]
    async fn an_instance_that_has_no_more_turns_does_not_say_for_ever_that_the_model_fails() {
        let (store, _folder) = test_stores::sqlite().await;
        let breaker =
            ModelBreaker::new(Breaker::new(1, 30_000), TestStore::ledger(&store), || Time(CLOCK.get()));
        let recorder = PrometheusBuilder::new().build_recorder();
        let _here = metrics::set_default_local_recorder(&recorder);
        let shown = |ms: i64| {
            CLOCK.set(ms);
            breaker.measure();
            let text = recorder.handle().render();
            let value = text.lines().find_map(|line| line.strip_prefix("baton_breaker_state{of=\"model\"} "));
            value.map(ToOwned::to_owned)
        };
        assert_eq!(shown(0).as_deref(), Some("0"));
        let permit = breaker.permit("shop").expect("it is closed");
        let failed = Err(Failure::new(FailureKind::Server, "status 500"));
        breaker.hear("shop", Uuid::now_v7(), permit, &failed);
        assert_eq!(shown(59_999).as_deref(), Some("1"));
        assert_eq!(shown(60_000).as_deref(), Some("0"));
    }
}
