//! Who looks at pictures in tests: what is written behind the mark of their format is what is to be seen in them.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use baton::flow::generator::{
    Failure, FailureKind,
    describer::{Describer, Picture},
};

use super::Hold;

/// How a picture begins.
pub(crate) const PNG_MARK: &[u8] = b"\x89PNG\r\n\x1a\n";

#[derive(Default)]
pub(crate) struct Eyes {
    hold: Mutex<Option<Hold>>,
    looks: AtomicUsize,
}

impl Eyes {
    /// Looking ends, from now on, when the test lets it.
    pub(super) fn hold(&self) -> Hold {
        let hold = Hold::new();
        *self.hold.lock().expect("not poisoned") = Some(hold.clone());
        hold
    }

    /// How many pictures were shown.
    pub(super) fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Describer for Eyes {
    async fn describe(&self, picture: Picture) -> Result<String, Failure> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let hold = self.hold.lock().expect("not poisoned").clone();
        if let Some(hold) = hold {
            hold.wait().await;
        }
        assert_eq!(picture.mime_type, "image/png", "as its first bytes say, whatever it is called");
        let words =
            picture.bytes.strip_prefix(PNG_MARK).map(|words| String::from_utf8_lossy(words).into_owned());
        words
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::new(FailureKind::Empty, "nothing was told of the picture"))
    }
}
