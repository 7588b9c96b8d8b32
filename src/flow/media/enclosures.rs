//! Place: files that people send, until they have left, and for as long as somebody may want to look at them.
//!
//! In: bytes, under the id of the message that is to carry them. Out: the same.

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use crate::{domain::time::Time, flow::ledger::Error};

/// The place.
#[async_trait]
pub trait Enclosures: Send + Sync {
    /// Keeps a file, before the message that carries it is owed.
    async fn enclose(&self, message: Uuid, bytes: Bytes) -> Result<(), Error>;

    /// The file of that message, whole, as it leaves.
    async fn enclosed(&self, message: Uuid) -> Result<Option<Bytes>, Error>;

    /// How many bytes it has.
    async fn enclosed_size(&self, message: Uuid) -> Result<Option<u64>, Error>;

    /// A piece of it: this many bytes from there on, or those that are left.
    async fn enclosed_piece(&self, message: Uuid, from: u64, length: usize) -> Result<Option<Bytes>, Error>;

    /// No message carries it after all.
    async fn let_go_of(&self, message: Uuid) -> Result<(), Error>;

    /// Forgets what was kept before that moment for messages that never came to be. Returns how many.
    async fn forget_loose(&self, before: Time) -> Result<u64, Error>;
}
