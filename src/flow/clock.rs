//! Place: the clock by which everything is judged. Usually the store's own; in tests a hand moves it.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::time::Time;

/// The place.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// The moment, if this clock overrules the store's. None: PostgreSQL asks its server, so that instances whose own
    /// clocks differ still agree on leases; SQLite, which has one process only, asks that.
    fn now(&self) -> Option<Time>;
}

/// The store's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreClock;

impl Clock for StoreClock {
    fn now(&self) -> Option<Time> {
        None
    }
}

/// Stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Set to that moment.
    pub const fn at(now: Time) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves it on.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Option<Time> {
        Some(Time(self.0.load(Ordering::SeqCst)))
    }
}
