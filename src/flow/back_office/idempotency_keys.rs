//! Place: requests that may come again, and what they were answered. Those about one conversation are remembered with it;
//! here are the others.

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    domain::time::Time,
    flow::{desk::Idempotency, ledger::Error},
};

/// Whose a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyClaim {
    /// The caller's: nobody has done it, or the one who began has not ended in time.
    Yours,
    /// Somebody works on it.
    InProgress,
    /// It was answered so.
    Answered(Vec<u8>),
    /// The key stands for a request with another body.
    KeyReused,
}

/// The place.
#[async_trait]
pub trait IdempotencyKeys: Send + Sync {
    /// Takes a request up for this long, unless somebody has.
    async fn begin(&self, request: &Idempotency, owner: Uuid, ttl_ms: i64) -> Result<KeyClaim, Error>;

    /// Keeps what it was answered, sealed. Nothing happens if it is no longer the owner's; and it is let go if it shows a
    /// conversation that was erased since it was begun.
    async fn answer(&self, key: &str, owner: Uuid, plain: &str, sealed: Vec<u8>) -> Result<(), Error>;

    /// Lets it go unanswered: the next one starts over.
    async fn let_go(&self, key: &str, owner: Uuid) -> Result<(), Error>;

    /// Forgets what was begun before that moment, also what is remembered with conversations. Returns how many.
    async fn forget_requests(&self, before: Time) -> Result<u64, Error>;
}
