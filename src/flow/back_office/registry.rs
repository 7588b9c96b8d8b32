//! Place: channels, API tokens, and what is known of the installation.

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::people::fresh_secret;
use crate::{
    domain::{
        brake::{Brake, Latched},
        chat::ChatId,
        docket::Entry,
        event::{Event, EventType},
        time::Time,
        words::words,
    },
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
    },
};

words! {
    /// What a token may do.
    Role {
        /// Everything.
        Admin = "admin",
        /// Read and answer conversations.
        Agent = "agent",
        /// Read.
        Read = "read",
        /// `/metrics` only.
        Metrics = "metrics",
    }
}

/// A number of the business.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// `[a-z0-9-]{1,40}`, never changes.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// `green_api` or `sandbox`.
    pub provider: String,
    /// The provider's id of it.
    pub instance: Option<String>,
    /// Where the provider is.
    pub api_url: Option<String>,
    /// Its secrets, encrypted: opaque here.
    pub sealed: Option<Vec<u8>>,
    /// What it overrides, by channel key.
    pub settings: Map<String, Value>,
    /// As the provider names it; empty: not known yet.
    pub state: String,
    /// How the brake on its follow-ups stands.
    pub brake: Brake,
    /// Its credentials come from the environment and are read-only in the API.
    pub managed_by_environment: bool,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed. Instances compare it to know what to load again.
    pub updated_at: Time,
}

impl Channel {
    /// One with nothing set yet.
    pub fn new(name: &str, provider: &str, now: Time) -> Self {
        Self {
            name: name.to_owned(),
            title: None,
            provider: provider.to_owned(),
            instance: None,
            api_url: None,
            sealed: None,
            settings: Map::new(),
            state: String::new(),
            brake: Brake::default(),
            managed_by_environment: false,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether both are one account of the provider. Each of them would take what comes there for its own, and answer it.
    pub fn shares_account_with(&self, other: &Self) -> bool {
        self.instance.is_some() && self.instance == other.instance && self.name != other.name
    }
}

/// A token of the API. Only its hash is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Ours.
    pub id: Uuid,
    /// For people.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// On which channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// As which agent it acts.
    pub agent: Option<Uuid>,
    /// Void after this.
    pub expires_at: Option<Time>,
    /// When it was made.
    pub created_at: Time,
}

impl Token {
    /// A secret that nobody can guess: 256 random bits, in letters for a header. Shown once, kept by its hash.
    pub fn fresh_secret() -> Result<String, getrandom::Error> {
        Ok(format!("baton_{}", fresh_secret()?))
    }
}

/// Why a token of that role on those channels, or of an agent on those, would open nothing at all.
pub const fn opens_nothing(role: Role, channels: [Option<&[String]>; 2]) -> Option<&'static str> {
    match (role, channels) {
        (Role::Metrics, [None, None]) | (Role::Admin | Role::Agent | Role::Read, _) => None,
        (Role::Metrics, _) => Some(
            "metrics count all channels: a token of this role is limited to none, nor is the agent it acts as",
        ),
    }
}

/// Tells that a token was `added` or `removed`: those who see all of its channels.
pub fn token_updated(token: &Token, action: &'static str, by: &str, now: Time) -> Event {
    Entry::of(EventType::TokenUpdated)
        .action(action)
        .by(by)
        .with("token_id", token.id.to_string())
        .for_channels(token.channels.as_deref(), token.channels.as_deref())
        .outside("", now)
}

/// How two ids of one person stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// Neither has a conversation.
    Not,
    /// They share one.
    Together,
    /// Each has its own.
    Apart {
        /// The one that began earlier.
        earlier: Uuid,
        /// The other.
        later: Uuid,
    },
}

/// The place.
#[async_trait]
pub trait Registry: Send + Sync {
    /// The installation's id, made by the first migration.
    async fn installation(&self) -> Result<String, Error>;

    /// When this installation began with a restore, where the one before it may have gone on until then.
    async fn restored_at(&self) -> Result<Option<Time>, Error>;

    /// All channels, by name.
    async fn channels(&self) -> Result<Vec<Channel>, Error>;

    /// A new channel. False if the name is taken, or the account is another channel's.
    async fn add_channel(&self, channel: &Channel) -> Result<bool, Error>;

    /// Overwrites a channel but for its state and its brake. False if there is none of that name, or it was changed since
    /// that moment, which was that of its last change when it was read; or if it is to have an account that is another
    /// channel's. Where it has another account than before, records `channel_state_changed` to null.
    async fn put_channel(&self, channel: &Channel, changed_at: Time) -> Result<bool, Error>;

    /// Removes a channel that has no conversations, with its dead letters; whatever was limited to it no longer is, and
    /// sees nothing instead. False if there is none, or it has some.
    async fn remove_channel(&self, name: &str) -> Result<bool, Error>;

    /// The moment by the store's clock, which all instances share.
    async fn now(&self) -> Result<Time, Error>;

    /// The provider reports this state. Where it differs from the one before, records `channel_state_changed`, and says so.
    async fn set_channel_state(&self, name: &str, state: &str, now: Time) -> Result<bool, Error>;

    /// No send of this channel before then.
    async fn hold_channel(&self, name: &str, until: Time) -> Result<(), Error>;

    /// Lets a channel go that was held until that moment; one that is held for longer meanwhile stays so.
    async fn release_channel(&self, name: &str, held_until: Time, now: Time) -> Result<(), Error>;

    /// Takes the turn to ask the provider about sends of unknown fate. False if another instance, or this one, took one
    /// less than `every_ms` ago. What was claimed before the store's clock was set back holds nobody up, here and below.
    async fn claim_look_up(&self, name: &str, now: Time, every_ms: i64) -> Result<bool, Error>;

    /// Latches the brake of a channel that is not latched and was last released then. False if it is, or was released since.
    async fn latch_brake(
        &self,
        name: &str,
        latched: Latched,
        released_at: Option<Time>,
    ) -> Result<bool, Error>;

    /// Releases it. False if it was not latched.
    async fn release_brake(&self, name: &str, now: Time) -> Result<bool, Error>;

    /// All ids by which the conversation of that chat is known; none, if there is none.
    async fn ids_of(&self, channel: &str, chat: &ChatId) -> Result<Vec<ChatId>, Error>;

    /// In which chat we sent what the provider knows by that id, where that leads to another conversation than this chat does.
    async fn sent_to(&self, channel: &str, id: &str, but_not: &ChatId) -> Result<Option<ChatId>, Error>;

    /// In which chat we sent what the provider knows by that id, if in one alone: within a chat it is of one message, and beyond it
    /// may be of several.
    async fn chat_of(&self, channel: &str, id: &str) -> Result<Option<ChatId>, Error>;

    /// Two ids of a chat are known to be one person: the one that has no conversation yet shares that of the other.
    async fn link_chats(&self, channel: &str, chat: &ChatId, alias: &ChatId) -> Result<Linked, Error>;

    /// Lets the owner fetch what this channel's provider has, for this long, if nobody else does. Renews what the owner
    /// has; zero gives it back.
    async fn claim_poll(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error>;

    /// The journal of this channel is to be searched in `in_ms`, by the store's clock, and not before.
    async fn schedule_repair(&self, name: &str, in_ms: i64) -> Result<(), Error>;

    /// The same, unless it is to be searched sooner anyway, and is not due yet.
    async fn begin_repair(&self, name: &str, in_ms: i64) -> Result<(), Error>;

    /// If the journal is due, the caller searches it, and it is due again at `until`, since the caller may never finish.
    /// Returns up to when it was searched before: at first, when the channel was made. Of several callers one gets it.
    async fn claim_repair(&self, name: &str, now: Time, until: Time) -> Result<Option<Time>, Error>;

    /// The journal was searched up to `to` by the instance that had claimed it until `until`, and is due again at `next_at`:
    /// unless it was scheduled again meanwhile.
    async fn end_repair(&self, name: &str, to: Time, until: Time, next_at: Time) -> Result<(), Error>;
}

/// The place of tokens.
#[async_trait]
pub trait Tokens: Send + Sync {
    /// A new token by its hash (hex of SHA-256).
    async fn add_token(&self, token: &Token, hash: &str) -> Result<(), Error>;

    /// Tokens, newest first: those that see some of these channels and no other; None: all.
    async fn tokens(&self, within: Option<&[String]>, page: &PageOf) -> Result<Page<Token>, Error>;

    /// Every token there is, newest first: for whoever stands at the machine.
    async fn all_tokens(&self) -> Result<Vec<Token>, Error> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.tokens(None, &PageOf { limit: 200, cursor }).await?;
            all.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// The one of that id.
    async fn token_of(&self, id: Uuid) -> Result<Option<Token>, Error>;

    /// The token with that hash.
    async fn token(&self, hash: &str) -> Result<Option<Token>, Error>;

    /// Removes a token. False if there is none.
    async fn revoke_token(&self, id: Uuid) -> Result<bool, Error>;
}
