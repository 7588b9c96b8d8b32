//! Calls a second: each method has a limit of its own.

use std::collections::{HashMap, VecDeque};

const SECOND_MS: i64 = 1_000;

#[derive(Debug, Default)]
pub(super) struct Limits(HashMap<&'static str, VecDeque<i64>>);

impl Limits {
    /// Whether this call is one too many. If not, it counts.
    pub(super) fn is_passed(&mut self, method: &'static str, per_second: Option<usize>, now: i64) -> bool {
        let Some(most) = per_second else { return false };
        let calls = self.0.entry(method).or_default();
        while calls.front().is_some_and(|at| at + SECOND_MS <= now) {
            calls.pop_front();
        }
        if calls.len() >= most {
            return true;
        }
        calls.push_back(now);
        false
    }
}
