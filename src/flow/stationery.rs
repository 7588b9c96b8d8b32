//! Place: what people have at hand when they answer: labels and canned replies.

use async_trait::async_trait;
use uuid::Uuid;

use super::ledger::Error;
use crate::domain::{canned_reply::CannedReply, label::Label};

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is kept.
    Kept,
    /// Another one is called so, case aside.
    Taken,
    /// There is nothing to change.
    Gone,
}

/// The place.
#[async_trait]
pub trait Stationery: Send + Sync {
    /// All labels, by name.
    async fn labels(&self) -> Result<Vec<Label>, Error>;

    /// A new label. False if its name is taken.
    async fn add_label(&self, label: &Label) -> Result<bool, Error>;

    /// Overwrites the label of that id: it is then called so on every conversation.
    async fn put_label(&self, label: &Label) -> Result<Put, Error>;

    /// Removes a label, from every conversation too. False if there is none.
    async fn remove_label(&self, id: Uuid) -> Result<bool, Error>;

    /// Canned replies, the shared ones and those of all agents, by shortcut.
    async fn canned_replies(&self) -> Result<Vec<CannedReply>, Error>;

    /// A new one. False if its owner, or those that are shared, have one with that shortcut.
    async fn add_canned_reply(&self, reply: &CannedReply) -> Result<bool, Error>;

    /// Overwrites the one of that id, but for its owner.
    async fn put_canned_reply(&self, reply: &CannedReply) -> Result<Put, Error>;

    /// Removes one. False if there is none.
    async fn remove_canned_reply(&self, id: Uuid) -> Result<bool, Error>;
}
