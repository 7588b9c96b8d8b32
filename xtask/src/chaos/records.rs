//! What happened, as the fakes and those who wrote saw it. The judge reads nothing else but the API.
//!
//! In: every text written, every call of the model, every message that the gateway took or did not, every takeover.
//! Out: the same, once all is over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Names one message of one contact, in a form that survives in any text: `c17n42`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Marker {
    pub(super) contact: usize,
    pub(super) number: usize,
}

impl Marker {
    /// Every marker in a text, in order.
    pub(super) fn all_in(text: &str) -> Vec<Self> {
        text.split_whitespace().filter_map(Self::read).collect()
    }

    fn read(word: &str) -> Option<Self> {
        let (contact, number) = word.strip_prefix('c')?.split_once('n')?;
        Some(Self { contact: contact.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{}n{}", self.contact, self.number)
    }
}

/// Names one part of one answer of the model: `a12.1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part {
    pub(super) call: usize,
    pub(super) part: usize,
    pub(super) parts: usize,
}

impl Part {
    /// Every name of a part in a text, in order.
    pub(super) fn all_in(text: &str) -> Vec<Self> {
        text.split_whitespace().filter_map(Self::read).collect()
    }

    fn read(word: &str) -> Option<Self> {
        let (call, rest) = word.strip_prefix('a')?.split_once('.')?;
        let (part, parts) = rest.split_once('/')?;
        Some(Self { call: call.parse().ok()?, part: part.parse().ok()?, parts: parts.parse().ok()? })
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a{}.{}/{}", self.call, self.part, self.parts)
    }
}

/// A call of the model.
pub(super) struct Call {
    pub(super) at: Instant,
    pub(super) contact: Option<usize>,
    /// What its answer answers.
    pub(super) names: Vec<Marker>,
    pub(super) parts: usize,
    /// It did not get a good answer.
    pub(super) failed: bool,
}

/// A message that the gateway took, or of which only it knows that it did not.
pub(super) struct Post {
    /// When the request began to arrive.
    pub(super) at: Instant,
    pub(super) contact: usize,
    pub(super) text: String,
    /// Through which instance it came.
    pub(super) from: String,
    pub(super) taken: bool,
    /// Whether a clear answer left for Baton.
    pub(super) answered: bool,
}

/// A person takes a conversation over and gives it back.
#[derive(Clone)]
pub(super) struct Takeover {
    pub(super) contact: usize,
    pub(super) asked: Instant,
    /// When the answer with `settled: true` had been read.
    pub(super) settled: Option<Instant>,
    /// When it was first asked to be given back.
    pub(super) released: Option<Instant>,
    /// When that had been answered.
    pub(super) returned: Option<Instant>,
}

/// What an agent said through the API.
pub(super) struct Said {
    pub(super) contact: usize,
    pub(super) text: String,
    pub(super) accepted: bool,
}

/// An instance stood still.
pub(super) struct Freeze {
    pub(super) name: &'static str,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

/// When a contact wrote something, and when Baton had answered 200 for it.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) at: Instant,
    pub(super) accepted: Option<Instant>,
}

/// All of it.
#[derive(Default)]
pub(super) struct Records {
    pub(super) written: BTreeMap<Marker, Written>,
    pub(super) calls: Vec<Call>,
    pub(super) posts: Vec<Post>,
    pub(super) takeovers: Vec<Takeover>,
    pub(super) said: Vec<Said>,
    pub(super) freezes: Vec<Freeze>,
    /// Refused for certain, by the text: as when asked too often.
    pub(super) refused: usize,
    /// Webhooks that were delivered once more after they had been taken.
    pub(super) repeated: usize,
    /// Attempts to deliver a webhook that failed.
    pub(super) undelivered: usize,
    /// What contacts wrote and has no answer yet, as far as the gateway can tell.
    pub(super) open: BTreeSet<Marker>,
}

/// Where everybody writes.
#[derive(Default)]
pub(super) struct Book(Mutex<Records>);

impl Book {
    /// The records, for a moment.
    pub(super) fn open(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_text() {
        let text = "a12.1/2 answers c17n42 c17n43 cancan and so on";
        let marker = |number| Marker { contact: 17, number };
        assert_eq!(Marker::all_in(text), [marker(42), marker(43)]);
        assert_eq!(Part::all_in(text), [Part { call: 12, part: 1, parts: 2 }]);
        assert_eq!(marker(42).to_string(), "c17n42");
        assert_eq!(Part::all_in(text)[0].to_string(), "a12.1/2");
    }
}
