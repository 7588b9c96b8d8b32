//! Place: transcribes a voice note.

use async_trait::async_trait;
use bytes::Bytes;

use super::Failure;

/// Largest voice note that is listened to: services take no more, and an hour of speech is less.
pub const SOUND_MAX_BYTES: usize = 25 << 20;

/// The place. Dropping the future hangs up at once.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// What is said in it. Nothing said is a failure.
    async fn transcribe(&self, sound: Bytes) -> Result<String, Failure>;
}
