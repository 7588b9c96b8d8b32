//! Place: the words of one running turn, where somebody who comes in the middle finds them.
//!
//! In: all that was written so far, again and again. Out: a copy, if anybody watches. If nobody does, it is one copy into
//! memory that the turn has already, under a lock that only it takes.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use uuid::Uuid;

use super::{Generation, Onlookers};

/// What is shown of one generation. A message is shorter by far; more is a model gone astray.
const TEXT_MAX_BYTES: usize = 64 << 10;

/// The words of a turn.
pub(super) struct LiveText {
    turn: Uuid,
    text: Mutex<String>,
    /// Changed only under the lock of the place.
    is_watched: AtomicBool,
}

impl LiveText {
    pub(super) fn new(turn: Uuid) -> Self {
        Self { turn, text: Mutex::default(), is_watched: AtomicBool::new(false) }
    }

    /// From now on each word is passed on. What was written before is this: the lock decides which is which.
    pub(super) fn begin_telling(&self) -> Generation {
        self.is_watched.store(true, Ordering::SeqCst);
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        Generation { turn: self.turn, text: Arc::from(text.as_str()) }
    }

    /// Whether words are passed on.
    pub(super) fn is_told(&self) -> bool {
        self.is_watched.load(Ordering::SeqCst)
    }

    /// Nobody is left who would hear it.
    pub(super) fn end_telling(&self) {
        self.is_watched.store(false, Ordering::SeqCst);
    }
}

/// A turn that writes, until it is dropped.
pub struct Writing<'a> {
    pub(super) onlookers: &'a Onlookers,
    pub(super) conversation: Uuid,
    pub(super) live_text: Arc<LiveText>,
}

impl Writing<'_> {
    /// So far it reads.
    pub fn wrote(&self, so_far: &str) {
        let shown = &so_far[..so_far.floor_char_boundary(TEXT_MAX_BYTES)];
        {
            let mut text = self.live_text.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.clear();
            text.push_str(shown);
        }
        if self.live_text.is_told() {
            let generation = Generation { turn: self.live_text.turn, text: Arc::from(shown) };
            self.onlookers.tell_words(self.conversation, &self.live_text, generation);
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.onlookers.put_away(self.conversation, &self.live_text);
    }
}
