//! Who listens to voice notes in tests: what is written behind the mark of their format is what is said in them.

use std::sync::Mutex;

use async_trait::async_trait;
use baton::flow::generator::{Failure, FailureKind, transcriber::Transcriber};
use bytes::Bytes;

use super::Hold;

/// How a voice note begins.
pub(crate) const MARK: &[u8] = b"OggS";

#[derive(Default)]
pub(crate) struct Ears {
    hold: Mutex<Option<Hold>>,
}

impl Ears {
    /// Listening ends, from now on, when the test lets it.
    pub(super) fn hold(&self) -> Hold {
        let hold = Hold::new();
        *self.hold.lock().expect("not poisoned") = Some(hold.clone());
        hold
    }
}

#[async_trait]
impl Transcriber for Ears {
    async fn transcribe(&self, sound: Bytes) -> Result<String, Failure> {
        let hold = self.hold.lock().expect("not poisoned").clone();
        if let Some(hold) = hold {
            hold.wait().await;
        }
        let words = sound.strip_prefix(MARK).map(|words| String::from_utf8_lossy(words).into_owned());
        words
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::new(FailureKind::Empty, "nothing was said"))
    }
}
