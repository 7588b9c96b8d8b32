//! Rule: which refused attempts to sign in are recorded. In: each, and the moment. Out: record it, or only count it.
//!
//! Anybody is refused as often as they like: what they fill must have an end.

use crate::domain::time::Time;

/// Recorded in a minute: anyone who mistypes is seen, and so is a flood, by its numbers.
const WRITTEN_MAX: u32 = 10;

/// Counting starts over after this.
const WINDOW_MS: i64 = 60_000;

/// Counts them.
#[derive(Debug, Default)]
pub struct Refusals {
    ends_at: Option<Time>,
    written: u32,
    left_out: u64,
}

impl Refusals {
    /// One more. It is to be written down, with how many before it were left out; None: it is left out itself.
    pub fn count(&mut self, now: Time) -> Option<u64> {
        // Further away than it ever is: the clock was set back.
        let is_counting = |end: Time| (1..=WINDOW_MS).contains(&end.since(now));
        if !self.ends_at.is_some_and(is_counting) {
            (self.ends_at, self.written) = (Some(now.plus_ms(WINDOW_MS)), 0);
        }
        if self.written >= WRITTEN_MAX {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_some_are_written_down_and_the_rest_are_counted() {
        let (mut refusals, now) = (Refusals::default(), Time(1_767_600_000_000));
        let mut of = |ms, times: u32| -> Vec<u64> {
            (0..times).filter_map(|_| refusals.count(now.plus_ms(ms))).collect()
        };
        assert_eq!(of(0, 1_000), [0; 10]);
        assert!(of(WINDOW_MS - 1, 5).is_empty());
        assert_eq!(of(WINDOW_MS, 2), [995, 0]);
        assert_eq!(of(WINDOW_MS - 3_600_000, 20), [0; 10], "the clock was set back");
    }
}
