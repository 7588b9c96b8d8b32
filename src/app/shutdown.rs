//! How an instance ends: what is notified, and what is waited for.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The ends of an instance. Clones are of the same one.
#[derive(Clone, Default)]
pub(super) struct Shutdown {
    /// No new work is taken.
    pub(super) stopping: CancellationToken,
    /// Answers that are being written are given back.
    pub(super) end_turns: CancellationToken,
    /// No send's answer is waited for any longer.
    pub(super) end_sends: CancellationToken,
    /// Whatever has to end in order.
    pub(super) tasks: TaskTracker,
}
