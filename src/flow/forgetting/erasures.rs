//! Place: erased conversations, whose rows are removed page by page, and the tombstones that are kept of them.
//!
//! Each method is one short transaction. What was removed is counted in the same one, so that two instances that continue the
//! same erasure, or one that died between two pages, count nothing twice.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    domain::{chat::ChatId, payload::Payload, time::Time},
    flow::ledger::Error,
};

/// Rows by table.
pub type Rows = BTreeMap<String, i64>;

/// Adds up, table by table.
pub(super) fn add(all: &mut Rows, more: Rows) {
    more.into_iter().for_each(|(table, rows)| *all.entry(table).or_default() += rows);
}

/// A conversation whose rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasing {
    /// The conversation.
    pub conversation: Uuid,
    /// Its channel.
    pub channel: String,
    /// The ids that its chat had.
    pub chats: Vec<ChatId>,
    /// Who erases.
    pub actor: String,
    /// Rows removed so far.
    pub removed: Rows,
}

/// What belongs to a conversation, besides its messages. In this order it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnedRows {
    /// Suggestions.
    Drafts,
    /// Answers that may be given again.
    CachedAnswers,
    /// Runs of the assistant.
    Turns,
    /// Follow-ups.
    FollowUps,
    /// Reports that wait.
    Parked,
    /// What idempotency keys stand for.
    Requests,
    /// What was given up.
    Letters,
    /// Labels it carries.
    Labels,
    /// Its timeline.
    Events,
}

impl OwnedRows {
    /// All kinds, in the order in which they are removed.
    pub const ALL: [Self; 9] = [
        Self::Drafts,
        Self::CachedAnswers,
        Self::Turns,
        Self::FollowUps,
        Self::Parked,
        Self::Requests,
        Self::Letters,
        Self::Labels,
        Self::Events,
    ];
}

/// The next messages of a conversation, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePage {
    /// The number of the last of them.
    pub up_to: i64,
    /// How many messages they are.
    pub count: i64,
    /// By what they are known: their keys, and what the provider calls them.
    pub keys: Vec<String>,
}

/// A message that several people read, as far as it tells whose words are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedMessage {
    /// The message.
    pub id: Uuid,
    /// The chat of its writer.
    pub writer: Option<String>,
    /// As the provider knows it.
    pub provider_id: Option<String>,
    /// The message that it quotes.
    pub quotes: Option<String>,
    /// It was emptied before.
    pub is_emptied: bool,
}

/// Somebody's words among those of others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traces {
    /// Messages of theirs. They keep their places, otherwise what others wrote would lose its order, and say no more than
    /// that something was deleted. What turns that answered them recorded of their words goes with them, and so do edits that
    /// wait for their messages.
    pub written: Vec<Uuid>,
    /// Messages of others that quote them: what is quoted goes.
    pub quoting: Vec<Uuid>,
}

impl Traces {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.written.is_empty() && self.quoting.is_empty()
    }
}

/// What came of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turned {
    /// Rows are gone: this is how it stands.
    Removed(Erasing),
    /// There were none.
    Nothing,
    /// Somebody else has taken it over: nothing was done.
    Overtaken,
}

/// The place.
#[async_trait]
pub trait Erasures: Send + Sync {
    /// One that is being erased; None: it never was, or is gone.
    async fn erasing(&self, conversation: Uuid) -> Result<Option<Erasing>, Error>;

    /// Conversations that are being erased, without progress for this long.
    async fn left_behind(&self, idle_ms: i64, limit: usize) -> Result<Vec<Uuid>, Error>;

    /// The next messages; None: there are no more.
    async fn next_messages(&self, conversation: Uuid, limit: usize) -> Result<Option<MessagePage>, Error>;

    /// Removes these messages, and keeps the hashes.
    async fn bury(&self, erasing: &Erasing, page: &MessagePage, hashes: Vec<String>)
    -> Result<Turned, Error>;

    /// Conversations on a channel in which several people write, groups and stories, by their ids.
    async fn shared(&self, channel: &str, after: Option<Uuid>, limit: usize) -> Result<Vec<Uuid>, Error>;

    /// The next messages of one of them; and where to continue, if there are more.
    async fn shared_messages(
        &self,
        shared: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<(Vec<SharedMessage>, Option<i64>), Error>;

    /// Takes somebody's words out of one of them.
    async fn unname(&self, erasing: &Erasing, shared: Uuid, traces: Traces) -> Result<Turned, Error>;

    /// The same, where no conversation is erased.
    async fn unname_alone(&self, shared: Uuid, traces: Traces) -> Result<(), Error>;

    /// Removes the next rows of that kind.
    async fn remove(&self, erasing: &Erasing, kind: OwnedRows, limit: usize) -> Result<Turned, Error>;

    /// Webhooks of a channel that could not be read, by their ids. No more than fit
    /// into memory at once, but at least one if there is any.
    async fn webhooks(
        &self,
        channel: &str,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, Payload)>, Error>;

    /// Removes some of these.
    async fn remove_webhooks(&self, erasing: &Erasing, letters: Vec<Uuid>) -> Result<Turned, Error>;

    /// The same, where no conversation is erased. Returns how many.
    async fn discard_webhooks(&self, letters: Vec<Uuid>) -> Result<u64, Error>;

    /// Sealed answers to requests about no one conversation, by their keys.
    async fn kept_answers(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, Error>;

    /// Removes some of these.
    async fn remove_answers(&self, erasing: &Erasing, keys: Vec<String>) -> Result<Turned, Error>;

    /// Removes the conversation, of which nothing is left, and records that it was erased. False: somebody else has.
    async fn end(&self, erasing: &Erasing) -> Result<bool, Error>;

    /// Conversations that were erased since that moment.
    async fn erased_since(&self, since: Time) -> Result<Vec<Uuid>, Error>;
}

/// The place of the keys by which tombstones are known.
#[async_trait]
pub trait TombstoneKeys: Send + Sync {
    /// The sealed keys of tombstones, the newest first.
    async fn tombstone_keys(&self) -> Result<Vec<Vec<u8>>, Error>;

    /// Keeps another one, unless somebody has just kept one as the same.
    async fn keep_tombstone_key(&self, number: usize, sealed: Vec<u8>) -> Result<(), Error>;
}
