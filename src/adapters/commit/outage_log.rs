//! What is said of a database that is down. Each batch finds that out for itself, dozens in a second; one line a second says it.

use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

/// Between two lines.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// When it was said last, and how many batches have failed unsaid since.
static TOLD: Mutex<Option<(Instant, u64)>> = Mutex::new(None);

/// A batch of so many steps has failed.
pub(super) fn tell(error: &sqlx::Error, steps: usize) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *told {
        Some((at, untold)) if at.elapsed() < TELL_EVERY => *untold += 1,
        told => {
            let before = told.map_or(0, |(_, untold)| untold);
            *told = Some((Instant::now(), 0));
            tracing::warn!(
                %error, steps, before,
                "the database of the ledger is unavailable; more batches in the next second are counted"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::paper;

    #[tokio::test(start_paused = true)]
    async fn a_database_that_is_down_is_one_line_a_second_however_many_ask() {
        let (paper, _writing) = paper::at("info");
        for batch in 0..300 {
            tell(&sqlx::Error::PoolTimedOut, batch);
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        let lines = paper.lines();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("before=0") && lines[1].contains("before=99"), "{lines:?}");
    }
}
