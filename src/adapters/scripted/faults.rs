//! How the scripted model misbehaves on demand.

use crate::domain::faults::ModelFault;

/// The behaviour as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Time that a whole reply takes.
    pub delay_ms: u64,
    /// What happens to it.
    pub fault: ModelFault,
}

impl Default for Faults {
    fn default() -> Self {
        Self { delay_ms: 0, fault: ModelFault::None }
    }
}
