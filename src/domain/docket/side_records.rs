//! What a docket holds besides messages and turns: the channel's standing, remembered requests, parked reports.

use serde_json::Value;
use uuid::Uuid;

use crate::domain::time::Time;

/// What the sends of a channel have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelStanding {
    /// As the provider names it: `authorized` is the one that can send.
    pub state: String,
    /// No send before this.
    pub next_send_at: Time,
    /// Messages of this channel that are `sending`.
    pub in_flight: usize,
    /// How many were ever claimed.
    pub sends: i64,
}

/// What an idempotency key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Caller, path and key.
    pub key: String,
    /// Of the request's body.
    pub body_hash: String,
    /// The message that it made.
    pub message: Uuid,
    /// The rest of the answer.
    pub answer: Value,
    /// When.
    pub at: Time,
}

/// How long the original of an edit is waited for. The provider reports one thing after the other, and holds back what comes
/// behind one that was refused: an original that is only overtaken comes within seconds.
const ORIGINAL_AWAITED_MS: i64 = 30_000;

/// A report of the provider that waits until it is known what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Ours.
    pub id: Uuid,
    /// The provider's id of the message it is about.
    pub provider_message_id: String,
    /// What is reported.
    pub report: Report,
    /// When it came.
    pub at: Time,
}

impl Parked {
    /// For how long an edit waits for its original: from then on its words are all that there is of it.
    pub fn original_awaited_until(&self) -> Option<Time> {
        match self.report {
            Report::Edit { .. } => Some(self.at.plus_ms(ORIGINAL_AWAITED_MS)),
            Report::Echo { .. } | Report::Status { .. } | Report::Deletion | Report::Ours { .. } => None,
        }
    }
}

/// What may be parked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// A message left through the API with these words.
    Echo {
        /// Its words.
        text: String,
        /// When it left, by the provider's clock, in milliseconds.
        provider_at: i64,
        /// It was reported as typed on the phone.
        phone: bool,
    },
    /// A message got this far.
    Status {
        /// `sent`, `delivered`, `read` or `failed`, ours.
        state: String,
        /// Why, as a delivery reason.
        reason: Option<String>,
    },
    /// The contact changed a message that we have not seen yet.
    Edit {
        /// Its new words.
        text: String,
        /// When, by the provider's clock, in milliseconds, if it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_at: Option<i64>,
        /// By whom, in a group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The contact deleted a message that we have not seen yet.
    Deletion,
    /// The id is of a message of ours that is called otherwise by now: one that was sent more than once has several.
    Ours {
        /// The message it is about.
        message: Uuid,
    },
}
