//! Why a person's request is refused, in terms that let the caller continue from there.

use crate::{
    domain::chat::ChatId,
    flow::{instance::channels::NotSetUp, ledger},
};

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such thing.
    #[error("not found")]
    NotFound,
    /// The request cannot be meant so.
    #[error("{pointer}: {detail}")]
    Invalid {
        /// Where in the body, as a JSON pointer.
        pointer: String,
        /// What is wrong.
        detail: String,
    },
    /// Things stand otherwise.
    #[error("{code}: {detail}")]
    Conflict {
        /// The problem's code.
        code: &'static str,
        /// In words.
        detail: String,
    },
    /// A dead letter that is no longer wanted, unless by force.
    #[error("{0}")]
    Overtaken(&'static str),
    /// A file of no kind that the gateway knows.
    #[error("the gateway goes by the ending of a file's name, as in offer.pdf: this one has none")]
    Unsendable,
    /// The key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// Nothing can be done in the conversation here.
    #[error(transparent)]
    NotSetUp(#[from] NotSetUp),
    /// The store.
    #[error(transparent)]
    Store(#[from] ledger::Error),
}

pub(super) fn or_not_found<T>(outcome: Result<T, ledger::Error>) -> Result<T, Refusal> {
    outcome.map_err(|error| match error {
        ledger::Error::Gone => Refusal::NotFound,
        error => Refusal::Store(error),
    })
}

pub(super) fn invalid(pointer: impl Into<String>, detail: String) -> Refusal {
    Refusal::Invalid { pointer: pointer.into(), detail }
}

pub(super) fn conflict(code: &'static str, detail: &str) -> Refusal {
    Refusal::Conflict { code, detail: detail.to_owned() }
}

/// A story or the post of a channel has nobody to answer to: the provider takes no message there, and before it says so, people
/// would have taken over a chat that is none. Every way to owe a message asks this.
pub(super) fn refuse_unaddressed(chat: &ChatId) -> Result<(), Refusal> {
    if chat.kind().takes_messages() {
        return Ok(());
    }
    Err(invalid("/chat_id", "a story, or the post of a channel: nobody can be written to there".to_owned()))
}

/// Why a letter is wanted no longer, in the words of all that ask.
pub(super) const TAKEN_OVER: Refusal = Refusal::Overtaken("a person has taken over");
pub(super) const ANSWERED: Refusal = Refusal::Overtaken("the contact has had a newer answer");
pub(super) const BEING_ANSWERED: Refusal =
    Refusal::Overtaken("a newer answer to the contact is being written, or waits to leave");

pub(super) fn not_retryable(detail: &str) -> Refusal {
    conflict("not_retryable", detail)
}
