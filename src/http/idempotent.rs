//! A request under an `Idempotency-Key`, where it is about no one conversation: done once, and answered again as it was.
//!
//! In: the key, and the work. Out: its answer, or the one that was kept. A refusal is not kept: the next one tries again. So
//! does the next one after a crash, once the time is over: what it then finds done is reported as a conflict.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{answer::Answer, doors::Doors, problem::Problem};
use crate::flow::{back_office::idempotency_keys::KeyClaim, desk::Idempotency};

/// A request that has not ended by then has died. Nothing behind a route takes this long.
const TTL_MS: i64 = 60_000;

/// How long a repeat waits for the first.
const PATIENCE: Duration = Duration::from_secs(20);

/// And how often it looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Does the work, unless it was done under the same key.
pub(crate) async fn once(
    doors: &Doors,
    request: Option<Idempotency>,
    work: impl Future<Output = Result<Answer, Problem>>,
) -> Result<Answer, Problem> {
    let Some(request) = request else { return work.await };
    let owner = Uuid::now_v7();
    if let Some(kept) = begin(doors, &request, owner).await? {
        let opened = doors.vault.open(&kept).as_deref().and_then(Answer::from_kept);
        return opened.ok_or_else(|| {
            tracing::error!("a kept answer cannot be opened: was its key removed?");
            Problem::internal()
        });
    }
    let outcome = work.await;
    let plain = outcome.as_ref().ok().and_then(Answer::to_kept);
    let sealed = plain.as_ref().and_then(|plain| Some((plain, doors.vault.seal(plain)?)));
    let ended = match sealed {
        Some((plain, sealed)) => {
            let plain = String::from_utf8_lossy(plain);
            doors.idempotency_keys.answer(&request.key, owner, &plain, sealed).await
        }
        None => doors.idempotency_keys.let_go(&request.key, owner).await,
    };
    if let Err(error) = ended {
        // What was done is done. A repeat waits until the time is over.
        tracing::warn!(error = error.cause(), "the answer to an idempotency key was not kept");
    }
    outcome
}

/// Takes the request up, or waits for the one who has. Returns what they answered.
async fn begin(doors: &Doors, request: &Idempotency, owner: Uuid) -> Result<Option<Vec<u8>>, Problem> {
    let until = Instant::now() + PATIENCE;
    loop {
        match doors.idempotency_keys.begin(request, owner, TTL_MS).await? {
            KeyClaim::Yours => return Ok(None),
            KeyClaim::Answered(kept) => return Ok(Some(kept)),
            KeyClaim::KeyReused => return Err(Problem::idempotency_key_reused()),
            KeyClaim::InProgress if Instant::now() < until => sleep(LOOK_AGAIN).await,
            KeyClaim::InProgress => {
                return Err(Problem::unavailable("the first request under this key is still in progress"));
            }
        }
    }
}
