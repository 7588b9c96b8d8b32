//! What the steps measure themselves with: durations as a histogram wants them, and counts.

use metrics::{gauge, histogram};
use tokio::time::Instant;

use crate::domain::time::duration;

/// A duration in the unit of the metrics; below zero, where two clocks disagree, is zero.
pub(in crate::flow) fn seconds(ms: i64) -> f64 {
    duration(ms).as_secs_f64()
}

/// Measures how long something takes, however it ends.
pub(in crate::flow) struct Stopwatch(&'static str, Instant);

impl Stopwatch {
    pub(in crate::flow) fn start(name: &'static str) -> Self {
        Self(name, Instant::now())
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        histogram!(self.0).record(self.1.elapsed().as_secs_f64());
    }
}

/// Counts what is under way, however it ends.
pub(crate) struct Gauge(&'static str);

impl Gauge {
    pub(crate) fn new(name: &'static str) -> Self {
        gauge!(name).increment(1.0);
        Self(name)
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        gauge!(self.0).decrement(1.0);
    }
}
