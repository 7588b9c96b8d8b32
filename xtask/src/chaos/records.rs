//! What happened, as the fakes and those who wrote saw it. The judge reads nothing else but the API.
//!
//! In: every text written, every call of the model, every message that the gateway took or did not, every takeover.
//! Out: the same, once all is over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::fakes::names::Marker;

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
