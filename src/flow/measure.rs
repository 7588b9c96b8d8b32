//! What the steps measure themselves with: a duration as a histogram wants it, and a count of what is under way.

use std::time::Duration;

use metrics::gauge;

/// A duration in the unit of the metrics; below zero, where two clocks disagree, is zero.
pub(super) fn seconds(ms: i64) -> f64 {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).as_secs_f64()
}

/// Counts what is under way, however it ends.
pub(super) struct Gauge(&'static str);

impl Gauge {
    pub(super) fn new(name: &'static str) -> Self {
        gauge!(name).increment(1.0);
        Self(name)
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        gauge!(self.0).decrement(1.0);
    }
}
