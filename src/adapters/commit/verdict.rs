//! What becomes of a step.

use super::merged::Elsewhere;
use crate::flow::forgetting::tombstones::Removal;

/// What became of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ran, and what it changed is committed.
    Done,
    /// There is no such conversation.
    Gone,
    /// Did not run: it is about a message that was removed.
    Removed(Removal),
    /// Panicked; nothing of it was saved.
    Panicked,
    /// Must run in a later transaction.
    Postponed,
    /// Did not run: it belongs there.
    Elsewhere(Elsewhere),
}
