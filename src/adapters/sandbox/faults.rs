//! How the sandbox misbehaves on demand.

use crate::domain::faults::ProviderFault;

/// The behaviour as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Time that the gateway takes over each message.
    pub delay_ms: u64,
    /// What happens to it.
    pub fault: ProviderFault,
    /// Everything is reported twice.
    pub duplicate_webhooks: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self { delay_ms: 0, fault: ProviderFault::None, duplicate_webhooks: false }
    }
}

impl Faults {
    /// How often each report is made; also for what the contact writes.
    pub const fn copies(self) -> usize {
        if self.duplicate_webhooks { 2 } else { 1 }
    }
}
