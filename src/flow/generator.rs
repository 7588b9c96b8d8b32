//! Place: the model that writes a reply.

pub(in crate::flow) mod context;

pub mod tools;

pub mod look_ups;

pub mod cached_answers;

pub mod transcriber;

pub mod describer;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::{tool::Tool, turn::Purpose, words::words};

/// What the model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// The system prompt: the same bytes for every contact.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub lines: Vec<Line>,
    /// What the model may do besides writing.
    pub tools: Offer,
    /// The channel, for generators that differ by it.
    pub channel: String,
    /// Whom it is about, for generators that know them too.
    pub about: About,
    /// How often its turn has asked before: for more rounds, and again with less where all was too much.
    pub asked_before: usize,
}

/// What a request offers besides writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Offer {
    /// Nothing.
    #[default]
    Nothing,
    /// The tools of Baton, and these of the business's.
    Tools(Arc<[Tool]>),
    /// As many were called as may be: they are shown, for the lines name them, and no more is called.
    Over(Arc<[Tool]>),
}

impl Offer {
    /// Whether calls are wanted.
    pub const fn is_open(&self) -> bool {
        match self {
            Self::Tools(_) => true,
            Self::Nothing | Self::Over(_) => false,
        }
    }

    /// The business's tools that are shown alongside Baton's; None: no tool is shown.
    pub fn shown(&self) -> Option<&[Tool]> {
        match self {
            Self::Nothing => None,
            Self::Tools(own) | Self::Over(own) => Some(own),
        }
    }
}

/// Where a request comes from. A model needs none of it to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The conversation.
    pub conversation: Uuid,
    /// Its chat at the provider.
    pub chat: String,
    /// The number of the contact, where the chat or another id of it tells; none of a group.
    pub phone: Option<String>,
    /// In a group, the id of who wrote last.
    pub sender: Option<String>,
    /// What the contact is called, if anybody knows.
    pub contact_name: Option<String>,
    /// The turn.
    pub turn: Uuid,
    /// What it is for.
    pub purpose: Purpose,
}

/// One message of the request.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// The contact's words: only ever data.
    Contact(String),
    /// The assistant's own.
    Assistant(String),
    /// A colleague's, marked as such.
    Colleague(String),
    /// What our side wants of this turn; never a contact's words.
    Instruction(String),
    /// The assistant called tools, with words alongside the calls (perhaps none).
    Calls(String, Vec<ToolCall>),
    /// What a call gave.
    Result {
        /// The call that it answers.
        call: String,
        /// The result, as text.
        text: String,
    },
}

/// The assistant wants something done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's id of the call.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its arguments, as the model wrote them: JSON, or not.
    pub arguments: String,
    /// What came with it.
    pub beside: Beside,
}

/// What some servers want to see again with a call, unread, in the next round of the same turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// The thoughts before the answer, with its first call.
    pub thoughts: String,
    /// The same where they come in blocks, some of them signed or sealed, each for the whole answer.
    pub details: Vec<Map<String, Value>>,
    /// Whatever else it was.
    pub extra: Option<Value>,
}

/// What the model wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The words; empty only with calls.
    pub text: String,
    /// Tools called.
    pub calls: Vec<ToolCall>,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// The server has ended it at a limit of its own.
    pub is_cut: bool,
}

words! {
    /// How a generation can fail.
    FailureKind {
        /// Asked too often.
        RateLimited = "rate_limited",
        /// Nothing left to pay with.
        Quota = "quota",
        /// The server failed.
        Server = "server_error",
        /// The request was refused.
        Refused = "refused",
        /// It was longer than the model can read.
        TooLong = "too_long",
        /// Nobody answers.
        Unreachable = "unreachable",
        /// Silent for too long, or not done in time.
        TimedOut = "timed_out",
        /// The stream ended in the middle.
        Cut = "cut",
        /// The stream cannot be read.
        Malformed = "malformed",
        /// Nothing was written.
        Empty = "empty",
        /// The model's own filter.
        Filtered = "content_filter",
        /// Not asked: it has failed too often, and one that asks on trial is enough.
        Unasked = "breaker_open",
        /// Not asked: what it is to read was unavailable from the database.
        Store = "store",
    }
}

impl FailureKind {
    /// Whether another attempt may help.
    pub const fn is_worth_another_try(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Server
            | Self::Unreachable
            | Self::TimedOut
            | Self::Cut
            | Self::Malformed
            | Self::Empty
            | Self::Filtered
            | Self::Unasked
            | Self::Store => true,
            Self::Quota | Self::Refused | Self::TooLong => false,
        }
    }
}

/// Longest wait for a server that asks for one, or is not asked. Beyond it a person is better than an answer.
const WAIT_MAX_MS: i64 = 600_000;

/// A generation failed. Its words hold nothing of the server's, which may repeat secrets or a contact's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct Failure {
    /// How it failed.
    pub kind: FailureKind,
    /// Not again before this long.
    pub retry_after_ms: Option<i64>,
    /// A few words of our own: a status, a limit.
    pub detail: String,
    /// Tokens read all the same, as far as the server has reported them.
    pub input_tokens: i64,
    /// Tokens written all the same.
    pub output_tokens: i64,
}

impl Failure {
    /// One of that kind, with no wait asked for and no tokens reported.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, retry_after_ms: None, detail: detail.into(), input_tokens: 0, output_tokens: 0 }
    }

    /// The same, with what it cost.
    #[must_use]
    pub fn counting(self, input_tokens: i64, output_tokens: i64) -> Self {
        Self { input_tokens, output_tokens, ..self }
    }

    /// Whether the model was asked at all.
    pub fn is_attempt(&self) -> bool {
        !matches!(self.kind, FailureKind::Unasked | FailureKind::Store)
    }

    /// Not again before this long, for somebody who has waited for `waited_ms` already: a model that is not asked is tried less
    /// and less often.
    pub fn rest_ms(&self, waited_ms: i64) -> Option<i64> {
        if self.is_attempt() {
            return self.retry_after_ms;
        }
        let grown = (waited_ms / 2).clamp(2_000, 60_000);
        Some(self.retry_after_ms.unwrap_or(0).max(grown))
    }

    /// Whether another attempt may help, and soon enough for somebody who has waited this long: a day's quota may be hours
    /// away, and a model that is not even asked may be gone for good.
    pub fn is_worth_waiting_for(&self, waited_ms: i64) -> bool {
        let comes_soon = self.retry_after_ms.is_none_or(|ms| ms <= WAIT_MAX_MS);
        self.kind.is_worth_another_try() && comes_soon && (self.is_attempt() || waited_ms < WAIT_MAX_MS)
    }
}

/// Receives the words as they come: ten times a second at most, otherwise onlookers get more than they can read.
pub trait Progress: Send + Sync {
    /// So far it reads.
    fn wrote(&self, so_far: &str);
}

/// The place. Dropping the future hangs up on the model at once.
#[async_trait]
pub trait Generator: Send + Sync {
    /// One answer of the model. Done only with an end marker or a finish reason; anything else is a failure.
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure>;

    /// Whether it knows who asks: then what it answers to one may be about nobody else.
    fn knows_who_asks(&self, _channel: &str) -> bool {
        false
    }

    /// Whether the server answers, for `baton check`: a few words.
    async fn check(&self) -> Result<String, Failure>;
}
