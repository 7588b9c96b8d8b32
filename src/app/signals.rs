//! The signals by which somebody stops the program. In: SIGTERM and SIGINT. Out: one of them came.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// From when it is made, those signals end nothing by themselves, and none is lost: as the first process of a container, it
/// would not even notice them before.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::info!("stopping");
    }
}
