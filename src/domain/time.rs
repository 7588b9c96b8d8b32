//! Moments as milliseconds since the epoch: what both databases keep, and what rules are given as `now`.

use std::{fmt, time::Duration};

/// A moment, in milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time(pub i64);

impl Time {
    /// This many milliseconds later (or earlier), never wrapping.
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to here; negative if it is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// From whole seconds, as the provider gives them.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Reads RFC 3339 with any offset.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }
}

/// This many milliseconds, as a duration to wait; below zero, as where two clocks disagree, it is over.
pub fn duration(ms: i64) -> Duration {
    Duration::from_millis(ms.max(0).unsigned_abs())
}

/// RFC 3339 in UTC with milliseconds: `2026-01-05T08:00:00.000Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_milliseconds_and_read_back() {
        let at = Time(1_767_600_011_007);
        assert_eq!(at.to_string(), "2026-01-05T08:00:11.007Z");
        assert_eq!(Time::parse(&at.to_string()), Some(at));
        assert_eq!(Time::parse("2026-01-05T16:00:11.007+08:00"), Some(at));
        assert_eq!(Time::parse("yesterday"), None);
    }

    #[test]
    fn a_time_below_zero_is_over_and_not_turned_round() {
        assert_eq!([5, 0, -5, i64::MIN].map(|ms| duration(ms).as_millis()), [5, 0, 0, 0]);
    }
}
