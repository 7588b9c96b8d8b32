//! Few at once: what goes through much of a table shall not keep messages waiting.
//!
//! In: a reader that is about to begin. Out: its turn, or that it does not come.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::flow::ledger::Error;

/// How many of a kind may run in this process.
const AT_ONCE: usize = 2;

/// How long others wait their turn.
const TURN: Duration = Duration::from_secs(5);

/// Turns of one kind of reading.
pub(super) struct ReadLimit(Semaphore);

impl ReadLimit {
    /// With nobody reading.
    pub(super) const fn new() -> Self {
        Self(Semaphore::const_new(AT_ONCE))
    }

    /// Waits for a turn, which lasts as long as the permit.
    pub(super) async fn turn(&self) -> Result<SemaphorePermit<'_>, Error> {
        match tokio::time::timeout(TURN, self.0.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(closed)) => Err(Error::Unavailable(closed.into())),
            Err(elapsed) => Err(Error::Unavailable(elapsed.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn two_read_at_once_and_a_third_is_refused_if_neither_is_done_in_time() {
        let limit = ReadLimit::new();
        let (first, _second) = (limit.turn().await, limit.turn().await);
        assert!(matches!(limit.turn().await, Err(Error::Unavailable(_))));
        drop(first);
        assert!(limit.turn().await.is_ok());
    }
}
