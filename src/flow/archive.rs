//! Place: what was and is, for reading. Nothing is decided by what is read here.

use std::collections::HashMap;

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ledger::Error;
use crate::domain::{
    chat::ChatId,
    conversation::{Conversation, Status},
    draft::Draft,
    event::{Event, EventType},
    message::Message,
    mode::Mode,
    time::Time,
    turn::{DeadLetter, FollowUp, LetterKind, LetterState, Turn},
};

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where the next page begins; None at the end. Opaque.
    pub next: Option<String>,
}

/// Which page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf {
    /// At most this many rows, 1 to 200.
    pub limit: usize,
    /// `next` of the page before. One that was not made here is [`Error::NotACursor`].
    pub cursor: Option<String>,
}

/// A conversation as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The facts.
    pub conversation: Conversation,
    /// Other ids of the same chat.
    pub aliases: Vec<ChatId>,
    /// The names of its labels, in their order.
    pub labels: Vec<String>,
    /// The pending follow-up.
    pub follow_up: Option<FollowUp>,
    /// The newest message that is not a note.
    pub last_message: Option<Message>,
    /// Messages of the contact that wait.
    pub inbox: i64,
    /// Messages queued.
    pub queued: i64,
    /// Messages being sent.
    pub sending: i64,
    /// In a search: the newest message in which the words were found. None: they are in the name or the phone.
    pub said: Option<Said>,
    /// The moment of reading, by the store's clock: leases are judged by it.
    pub read_at: Time,
}

/// What a search found in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The message.
    pub message: Uuid,
    /// Its number.
    pub seq: i64,
    /// A piece of its text, around the words.
    pub snippet: String,
}

/// How many conversations there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// A person is needed, or the mode is HUMAN and the contact spoke last.
    pub needs_you: i64,
    /// Held by each agent who holds any.
    pub held: HashMap<Uuid, i64>,
    /// In AI.
    pub ai: i64,
    /// All conversations.
    pub all: i64,
    /// With unread messages.
    pub unread: i64,
}

/// Which group of conversations, as the inbox knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A person is needed, or the mode is HUMAN and the contact spoke last.
    NeedsYou,
    /// Those of one agent.
    Mine(Uuid),
    /// Those in AI.
    Ai,
}

/// How a list of conversations is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Newest message first.
    #[default]
    LastMessage,
    /// Longest waiting first; those who do not wait are left out.
    WaitingSince,
    /// Newest change first.
    Updated,
}

/// Which conversations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// On one of these channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// Of this chat, by any alias.
    pub chat: Option<ChatId>,
    /// In this mode.
    pub mode: Option<Mode>,
    /// With this status.
    pub status: Option<Status>,
    /// Held by this agent (`Some(Some)`), or by nobody (`Some(None)`).
    pub assignee: Option<Option<Uuid>>,
    /// With this label.
    pub label: Option<Uuid>,
    /// A person is needed, or not.
    pub attention: Option<bool>,
    /// Of this group.
    pub group: Option<Group>,
    /// With unread messages.
    pub unread: Option<bool>,
    /// Changed since.
    pub updated_since: Option<Time>,
    /// With these words in the contact's name, the digits of the phone, or one of its newest messages. A page may then have
    /// fewer rows than were asked for, or none, and there is more: what was looked through in a short time.
    pub words: Option<String>,
    /// The order of the list.
    pub sort: Sort,
}

/// Which messages of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The newest.
    Newest,
    /// Before this number, newest first.
    Before(i64),
    /// After this number, newest first.
    After(i64),
    /// Half of them before and half after this number.
    Around(i64),
}

/// A message and the conversation it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The conversation.
    pub conversation: Uuid,
    /// Its channel.
    pub channel: String,
    /// Its chat.
    pub chat: ChatId,
    /// The message.
    pub message: Message,
}

/// Which messages of all conversations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// On one of these channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// Of this conversation.
    pub conversation: Option<Uuid>,
    /// At this time or later.
    pub since: Option<Time>,
    /// Before this time.
    pub until: Option<Time>,
}

/// A message, where it is, and whom it was exchanged with.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchanged {
    /// The message and its conversation.
    pub placed: Placed,
    /// The contact's name.
    pub contact_name: Option<String>,
}

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this conversation.
    pub conversation: Option<Uuid>,
    /// On one of these channels, or about what all of them share; None: on all.
    pub channels: Option<Vec<String>>,
    /// On this one alone.
    pub channel: Option<String>,
    /// The agent who looks: what an agent keeps for themselves is shown to nobody else.
    pub viewer: Option<Uuid>,
    /// Of these types; empty: of all.
    pub kinds: Vec<EventType>,
    /// About this message.
    pub message: Option<Uuid>,
    /// About this turn.
    pub turn: Option<Uuid>,
    /// At this time or later.
    pub since: Option<Time>,
    /// Before this time.
    pub until: Option<Time>,
    /// Newest first.
    pub descending: bool,
}

/// An event with its place in the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Opaque and resumable.
    pub id: String,
    /// The event.
    pub event: Event,
}

/// What the feed gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Tail {
    /// Events after the id asked for, in the order of the feed; complete: none will ever be inserted between them.
    Events(Vec<Recorded>),
    /// The gap cannot be filled: load everything again, then continue after this id.
    Resync(String),
}

/// Events that are committed, and that the feed may not give yet: a transaction that began before them still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// For how long the oldest of them has waited.
    pub ms: i64,
    /// Whose transaction it is, in the words of the database; empty if it does not say.
    pub by: String,
}

/// Which follow-ups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowUpFilter {
    /// In this state; None: pending.
    pub state: Option<crate::domain::turn::FollowUpState>,
    /// On one of these channels.
    pub channels: Option<Vec<String>>,
    /// Of this conversation.
    pub conversation: Option<Uuid>,
    /// Due before this time.
    pub due_before: Option<Time>,
}

/// Which dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Of this kind.
    pub kind: Option<LetterKind>,
    /// On one of these channels.
    pub channels: Option<Vec<String>>,
    /// Of this conversation.
    pub conversation: Option<Uuid>,
    /// In this state; None: open.
    pub state: Option<LetterState>,
}

/// Numbers of one hour or day.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// Its beginning.
    pub from: Time,
    /// Conversations with a message of the contact.
    pub conversations: i64,
    /// Messages of the contact by outcome.
    pub outcomes: Map<String, Value>,
    /// Turns by state.
    pub turns: Map<String, Value>,
    /// Follow-ups by state.
    pub follow_ups: Map<String, Value>,
    /// Drafts, by how they stand now.
    pub drafts: Map<String, Value>,
    /// By how many words those were changed that were not sent as written: median and ninetieth percentile.
    pub draft_edit_distance: Option<(i64, i64)>,
    /// From a contact's message to the first answer, in milliseconds: median and ninetieth percentile.
    pub first_answer_ms: Option<(i64, i64)>,
    /// The same, of answers by people.
    pub human_answer_ms: Option<(i64, i64)>,
    /// Tokens, by model.
    pub usage: Vec<Usage>,
}

/// Tokens of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Which, as the turns have it.
    pub model: String,
    /// Of turns of which nothing was sent.
    pub wasted: bool,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
}

/// How much waits, now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depths {
    /// Messages of contacts that wait for a turn, and the age in milliseconds of the oldest on a channel that can send.
    pub inbox: (i64, i64),
    /// Messages owed, by lane.
    pub outbox: Vec<(String, i64)>,
    /// The age in milliseconds of the oldest of them on a channel that can send.
    pub outbox_oldest_ms: i64,
    /// Open dead letters by kind.
    pub letters: Vec<(String, i64)>,
    /// Conversations that need a person, by reason.
    pub attention: Vec<(String, i64)>,
    /// How long the first of them has needed one, in milliseconds.
    pub attention_oldest_ms: i64,
    /// Pending follow-ups.
    pub follow_ups: i64,
    /// Webhook endpoints, by how they are doing; 0 where only some channels may be seen.
    pub endpoints: Vec<(String, i64)>,
}

/// The place.
#[async_trait]
pub trait Archive: Send + Sync {
    /// One conversation.
    async fn conversation(&self, id: Uuid) -> Result<Option<Overview>, Error>;

    /// One conversation by its chat or an alias of it.
    async fn conversation_of(&self, channel: &str, chat: &ChatId) -> Result<Option<Overview>, Error>;

    /// Those of these ids that there are, in whatever order.
    async fn overviews(&self, ids: &[Uuid]) -> Result<Vec<Overview>, Error>;

    /// A list of them.
    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageOf,
    ) -> Result<Page<Overview>, Error>;

    /// How many there are, whatever group the filter names. For a search of words this is a lower bound: they are
    /// looked for as far as a short time allows.
    async fn counts(&self, filter: &ConversationFilter) -> Result<Counts, Error>;

    /// Messages of a conversation, newest first.
    async fn messages(&self, conversation: Uuid, window: Window, limit: usize)
    -> Result<Vec<Message>, Error>;

    /// Messages of all conversations in the order of their acceptance, notes among them.
    async fn exchanged(&self, filter: &MessageFilter, page: &PageOf) -> Result<Page<Exchanged>, Error>;

    /// One message.
    async fn message(&self, id: Uuid) -> Result<Option<Placed>, Error>;

    /// Those of these ids that there are, in whatever order.
    async fn placed(&self, ids: &[Uuid]) -> Result<Vec<Placed>, Error>;

    /// What is shown with these messages, newest first, each with its conversation: those that they quote, and reactions
    /// among the thousand messages of a conversation after the first of its messages here.
    async fn beside(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Message)>, Error>;

    /// Whether a message with that key was stored.
    async fn has_message(&self, channel: &str, chat: &ChatId, key: &str) -> Result<bool, Error>;

    /// What the model reads: the newest messages up to this number, oldest first, without notes, withdrawn and deleted ones.
    async fn history(&self, conversation: Uuid, up_to_seq: i64, limit: usize) -> Result<Vec<Message>, Error>;

    /// Runs of the assistant, newest first.
    async fn turns(&self, conversation: Uuid, page: &PageOf) -> Result<Page<Turn>, Error>;

    /// One of them, with its conversation.
    async fn turn(&self, id: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error>;

    /// Follow-ups by due time, each with its conversation: pending ones from the next on, others from the last one back.
    async fn follow_ups(
        &self,
        filter: &FollowUpFilter,
        page: &PageOf,
    ) -> Result<Page<(Uuid, FollowUp)>, Error>;

    /// Drafts of a conversation, newest first.
    async fn drafts(&self, conversation: Uuid, page: &PageOf) -> Result<Page<Draft>, Error>;

    /// One of them, with its conversation.
    async fn draft(&self, id: Uuid) -> Result<Option<(Uuid, Draft)>, Error>;

    /// Dead letters, newest first. A page of large ones may be shorter than was asked for; the next begins behind it.
    async fn letters(&self, filter: &LetterFilter, page: &PageOf) -> Result<Page<DeadLetter>, Error>;

    /// One dead letter.
    async fn letter(&self, id: Uuid) -> Result<Option<DeadLetter>, Error>;

    /// Events. Of one conversation by `conv_seq`, else in the order of the feed.
    async fn events(&self, filter: &EventFilter, page: &PageOf) -> Result<Page<Recorded>, Error>;

    /// Leases of conversations held now: conversation, owner, the turn, and until when.
    async fn leases(&self) -> Result<Vec<(Uuid, crate::domain::conversation::Lease)>, Error>;
}

/// Place: every event once, in an order in which nothing is ever inserted behind a reader.
#[async_trait]
pub trait EventFeed: Send + Sync {
    /// The feed after that id; from the newest on if None (then an empty list).
    async fn tail(&self, after: Option<&str>, limit: usize) -> Result<Tail, Error>;

    /// The newest id of the feed.
    async fn newest_event(&self) -> Result<String, Error>;

    /// What holds the feed back, if anything does.
    async fn held_back(&self) -> Result<Option<HeldBack>, Error>;
}

/// Place: what is counted of all that.
#[async_trait]
pub trait Statistics: Send + Sync {
    /// Numbers by hour or day, between two moments.
    async fn buckets(
        &self,
        from: Time,
        to: Time,
        step_ms: i64,
        channels: Option<&[String]>,
    ) -> Result<Vec<Bucket>, Error>;

    /// How much waits, now.
    async fn depths(&self, channels: Option<&[String]>) -> Result<Depths, Error>;

    /// How many conversations there are, by mode. It takes the longer the more there are: nothing that is wanted at once may
    /// wait for it.
    async fn modes(&self, channels: Option<&[String]>) -> Result<Vec<(String, i64)>, Error>;

    /// Tokens in all turns of a conversation, by model.
    async fn used(&self, conversation: Uuid) -> Result<Vec<Usage>, Error>;

    /// How many follow-ups left a channel from then until before then, or may have.
    async fn proactive(&self, channel: &str, from: Time, to: Time) -> Result<i64, Error>;
}

/// Place: sends of which nobody knows whether they left.
#[async_trait]
pub trait UnknownSends: Send + Sync {
    /// Sends of unknown fate that were tried then or later, the latest attempt first, each with its conversation: after one
    /// of that attempt and id, if any.
    async fn unknown_sends(
        &self,
        since: Time,
        after: Option<(Time, Uuid)>,
        limit: usize,
    ) -> Result<Vec<Placed>, Error>;

    /// Sends of unknown fate that were tried before then, and of which it is not written down since that they are no longer
    /// looked for.
    async fn abandoned_sends(&self, before: Time, limit: usize) -> Result<Vec<Placed>, Error>;
}
