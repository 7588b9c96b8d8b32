//! How the scripted model misbehaves when it is told to.

use crate::domain::words::words;

words! {
    /// What happens to a reply.
    Fault {
        /// It is written.
        None = "none",
        /// The server fails.
        Error = "error",
        /// It ends in the middle.
        Cut = "cut",
        /// Nothing is written.
        Empty = "empty",
        /// Asked too often.
        RateLimited = "rate_limited",
        /// No word ever comes.
        Hang = "hang",
    }
}

/// The behaviour as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Time that a whole reply takes.
    pub delay_ms: u64,
    /// What happens to it.
    pub fault: Fault,
}

impl Default for Faults {
    fn default() -> Self {
        Self { delay_ms: 0, fault: Fault::None }
    }
}
