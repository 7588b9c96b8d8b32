//! A suggestion for what our side says next: written by the assistant, sent by nobody but a person.

mod distance;

pub use distance::words_apart;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{conversation::is_zero, time::Time, words::words};

words! {
    /// Where a draft stands.
    DraftState {
        /// Nothing was said that it has not read.
        Fresh = "fresh",
        /// Something was.
        Stale = "stale",
        /// A person sent it as it was written.
        Sent = "sent",
        /// A person changed it and sent it.
        Edited = "edited",
        /// A person put it away.
        Discarded = "discarded",
    }
}

/// A suggestion for what our side says next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Ours.
    pub id: Uuid,
    /// What the assistant wrote. Never changes: what a person makes of it is the message.
    pub text: String,
    /// The state of the draft.
    pub state: DraftState,
    /// The number of the newest message that it has read.
    pub based_on_seq: i64,
    /// The turn that wrote it.
    pub turn: Uuid,
    /// What a person decided about it.
    pub decision: Option<Decision>,
    /// When it was written.
    pub created_at: Time,
}

/// What a person decided about a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Who decided about it.
    pub by: String,
    /// When they decided.
    pub at: Time,
    /// What was sent; None: it was discarded.
    pub sent: Option<SentDraft>,
}

/// What became of a draft that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentDraft {
    /// The message, or the first of its parts.
    pub message: Uuid,
    /// How many words were taken out, put in or replaced before.
    pub edit_distance: i64,
}

impl Draft {
    /// Whether nothing was said that it has not read, and nobody has decided about it.
    pub fn is_fresh(&self) -> bool {
        self.state == DraftState::Fresh
    }
}

/// A draft that is to be written, until it is. Part of what only the rules remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftWish {
    /// The id that the draft will have.
    pub id: Uuid,
    /// Who asked for it; None: it is for a burst of the contact, where a person answers with suggestions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it may be written.
    pub ripe_at: i64,
    /// When it was asked for, or the first message of the burst came.
    pub first_at: i64,
    /// How often a newer message has restarted its generation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: i32,
    /// Failed attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: i32,
    /// The next attempt not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
}
