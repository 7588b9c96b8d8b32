//! Who listens to voice notes in tests: what is written behind the mark of their format is what is said in them.

use async_trait::async_trait;
use baton::flow::{
    generator::{Failure, FailureKind},
    transcriber::Transcriber,
};
use bytes::Bytes;

/// How a voice note begins.
pub(crate) const MARK: &[u8] = b"OggS";

pub(super) struct Ears;

#[async_trait]
impl Transcriber for Ears {
    async fn transcribe(&self, sound: Bytes) -> Result<String, Failure> {
        let words = sound.strip_prefix(MARK).map(|words| String::from_utf8_lossy(words).into_owned());
        words.filter(|words| !words.is_empty()).ok_or_else(|| Failure {
            kind: FailureKind::Empty,
            retry_after_ms: None,
            detail: "nothing was said".to_owned(),
        })
    }
}
