//! The brake on what nobody asked for. When a channel sends far more follow-ups in a day than it ever has, something is wrong
//! with who schedules them, and the number is what WhatsApp takes away for it.
//!
//! In: how many were sent. Out: whether that is too much; and how the brake of a channel stands, which a person alone releases.

use super::time::Time;

/// Below this many sends in a day it never latches: a shop that begins with follow-ups has no best day yet.
const LEAST: i64 = 50;

/// Number of days before this one among which the best is looked for.
pub const DAYS: usize = 30;

/// How the brake of a channel stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Brake {
    /// It is latched; None: it is not.
    pub latched: Option<Latched>,
    /// When a person last released it.
    pub released_at: Option<Time>,
}

/// Why the brake of a channel is latched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latched {
    /// When it was latched.
    pub at: Time,
    /// How many had been sent that day.
    pub sends: i64,
    /// On the best day of those before.
    pub best: i64,
}

impl Brake {
    /// From when the time counts for which something due at that moment could have left.
    pub fn free_from(&self, due_at: Time) -> Time {
        self.released_at.map_or(due_at, |released_at| due_at.max(released_at))
    }
}

/// Whether this many sends in a day are worth looking for the best day.
pub const fn is_many(sends: i64) -> bool {
    sends >= LEAST
}

/// Whether this many sends are too many, given those of the best day. 0 times: never.
pub const fn is_too_many(times: i64, sends: i64, best: i64) -> bool {
    times > 0 && is_many(sends) && sends > best.saturating_mul(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_are_more_than_so_many_times_the_best_day_and_no_fewer_than_fifty() {
        for (times, sends, best, is) in [
            (3, 49, 0, false),
            (3, 50, 0, true),
            (3, 50, 16, true),
            (3, 51, 17, false),
            (3, 300, 100, false),
            (3, 301, 100, true),
            (1, 101, 100, true),
            (0, 1_000_000, 0, false),
            (1_000, i64::MAX, i64::MAX, false),
        ] {
            assert_eq!(is_too_many(times, sends, best), is, "{times} times {best}, {sends} sent");
        }
    }

    #[test]
    fn what_was_due_before_the_release_is_late_from_the_release_on() {
        let released = Brake { latched: None, released_at: Some(Time(20)) };
        assert_eq!((released.free_from(Time(19)), released.free_from(Time(21))), (Time(20), Time(21)));
        assert_eq!(Brake::default().free_from(Time(19)), Time(19));
    }
}
