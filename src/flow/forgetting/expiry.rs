//! Place: what is older than allowed, found by its age and removed conversation by conversation.
//!
//! Each method is one short transaction, or a look. Rows of a conversation go only if nobody has changed it since they were
//! found: what was given new life meanwhile stays.

use async_trait::async_trait;
use uuid::Uuid;

use super::erasures::Rows;
use crate::{
    domain::{chat::ChatId, time::Time},
    flow::ledger::Error,
};

/// What is looked for by its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Messages that are no open business.
    Messages,
    /// Runs of the assistant that have ended.
    Turns,
    /// Suggestions. A fresh one is no longer that before it goes.
    Drafts,
    /// What was given up.
    Letters,
    /// Follow-ups that have ended.
    FollowUps,
    /// Reports that still wait.
    Parked,
}

impl Kind {
    /// All kinds, in the order in which they are removed.
    pub const ALL: [Self; 6] =
        [Self::Messages, Self::Turns, Self::Drafts, Self::Letters, Self::FollowUps, Self::Parked];
}

/// A place in what is looked for, in the order of its age.
pub type Seen = (Time, String);

/// What has expired of one conversation, as much of it as goes in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The conversation.
    pub conversation: Uuid,
    /// Its channel.
    pub channel: String,
    /// As it was found.
    pub stamp: i64,
    /// The ids of its chat.
    pub chats: Vec<ChatId>,
    /// By what its expired messages are known.
    pub keys: Vec<String>,
    /// Rows by their ids.
    pub rows: Vec<(Kind, Vec<String>)>,
    /// There may be more.
    pub has_more: bool,
}

/// The place.
#[async_trait]
pub trait Expiry: Send + Sync {
    /// Claims the right to remove what has expired, unless somebody has within this time.
    async fn claim_retention(&self, every_ms: i64) -> Result<bool, Error>;

    /// Conversations of which something of that kind is older than that, the oldest first; and where to continue, if there may
    /// be more.
    async fn aged(
        &self,
        kind: Kind,
        before: Time,
        after: Option<Seen>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Seen>), Error>;

    /// What has expired of one, at most `limit` of each kind; None: it is not there, or nothing of it has.
    async fn expired(&self, conversation: Uuid, before: Time, limit: usize)
    -> Result<Option<Expired>, Error>;

    /// Removes it and keeps the hashes, if the conversation is as it was found. False: it is not.
    async fn expire(&self, expired: &Expired, hashes: Vec<String>) -> Result<bool, Error>;

    /// Removes events, and letters about no conversation, that are older than that: at most `limit` of each.
    async fn expire_others(&self, before: Time, limit: usize) -> Result<Rows, Error>;

    /// Conversations that nobody has changed since then and of which nothing is left.
    async fn empty(
        &self,
        before: Time,
        after: Option<Seen>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Seen>), Error>;

    /// Removes one of these, if it still is one, and records that it is gone.
    async fn remove_empty(&self, conversation: Uuid, before: Time) -> Result<bool, Error>;

    /// Nothing that has expired is left: what went is to leave the files of the database, too, as far as that can be.
    async fn end_retention(&self);

    /// How many rows would go, by table.
    async fn count_expired(&self, before: Time) -> Result<Rows, Error>;

    /// Forgets hashes of words that nobody would send back any more. Returns how many.
    async fn forget_echoes(&self, before: Time) -> Result<u64, Error>;
}
