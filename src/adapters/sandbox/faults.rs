//! How the sandbox misbehaves when it is told to.

use crate::domain::words::words;

words! {
    /// What happens to a message that is sent.
    Fault {
        /// It arrives.
        None = "none",
        /// It is refused for good.
        Refused = "refused",
        /// No answer ever comes, and it does not arrive.
        Hang = "hang",
        /// It arrives, but the answer does not.
        LostAnswer = "lost_answer",
        /// The gateway answers with an error of its own, and it does not arrive.
        ServerError = "server_error",
    }
}

/// The behaviour as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Time that the gateway takes over each message.
    pub delay_ms: u64,
    /// What happens to it.
    pub fault: Fault,
    /// Everything is reported twice.
    pub duplicate_webhooks: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self { delay_ms: 0, fault: Fault::None, duplicate_webhooks: false }
    }
}

impl Faults {
    /// How often each report is made; also for what the contact writes.
    pub const fn copies(self) -> usize {
        if self.duplicate_webhooks { 2 } else { 1 }
    }
}
