//! Step: a person or a rule changes who answers. Short, never behind the turn's lock; then waits until it is settled.

use uuid::Uuid;

use crate::domain::{conversation::Conversation, mode::Mode, time::Time};

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Its own id: a repeat after a lost commit finds its effect.
    pub id: String,
    /// Who asks.
    pub actor: String,
    /// The agent who asks, if it is one: a takeover assigns the conversation.
    pub agent: Option<Uuid>,
    /// Only if the version is this.
    pub expected_version: Option<i64>,
    /// HUMAN until then: None leaves the clock as it is, `Some(None)` stops it.
    pub until: Option<Option<Time>>,
    /// With AI: one turn over everything since our side last spoke.
    pub answer_now: bool,
    /// With AI: a colleague's words for the next turn.
    pub note: Option<String>,
    /// Wait at most so long for sends in flight.
    pub settle_ms: Option<i64>,
    /// The reason to record, in place of the usual one.
    pub reason: Option<crate::domain::mode::Reason>,
}

/// What a switch did: the answer to the person who asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The conversation as it is now.
    pub conversation: Conversation,
    /// The mode was another before.
    pub changed: bool,
    /// A generation was running.
    pub generation_cancelled: bool,
    /// For how long it had been.
    pub generation_ms: Option<i64>,
    /// Parts of the assistant's current reply that had already left.
    pub parts_already_sent: usize,
    /// Messages of the machine that were withdrawn.
    pub parts_discarded: usize,
    /// A follow-up was pending.
    pub follow_up_cancelled: bool,
    /// No message of the assistant of an older version can leave any more.
    pub settled: bool,
    /// Messages that may reach the provider, or may have reached it: sending, and of unknown fate.
    pub in_flight: Vec<Uuid>,
    /// Messages that the provider has, but has not yet reported as sent.
    pub at_provider: Vec<Uuid>,
    /// A turn will answer now.
    pub answering: bool,
}

/// Why a switch was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The version is another: the conversation as it is.
    #[error("the mode version is another")]
    VersionConflict(Box<Conversation>),
    /// There is no model that could answer.
    #[error("there is no model")]
    NoModel,
    /// The request contradicts itself.
    #[error("{0}")]
    Invalid(&'static str),
    /// The store.
    #[error(transparent)]
    Store(#[from] super::ledger::Error),
}

/// What a request leads to.
pub type Answer = Result<Receipt, Refusal>;

/// Which mode is asked for.
pub type Wanted = Mode;
