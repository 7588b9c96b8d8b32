//! What the routes ask of the flow and the wiring, as traits: the steps and their likes in tests. A route translates,
//! the step behind it decides.
//!
//! A key by chat carries no opening: each step begins a conversation in its own way.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    domain::{
        chat::ChatId,
        enclosure::Enclosure,
        message::{DeliveryState, Message},
        mode::Mode,
        time::Time,
        turn::{DeadLetter, FollowUp},
        words::words,
    },
    flow::{
        agenda::Wish,
        desk::{self, Approval, Idempotency, Patch, Refusal, Said, Who, Words},
        erase,
        graves::Rows,
        intake::{self, Verdict},
        ledger::{Error, Key},
        mode_switch::{self, Receipt},
        provider::LinkCode,
    },
};

/// Takes webhooks.
#[async_trait]
pub trait Intake: Send + Sync {
    /// Takes a body that the provider posted for this channel. Ok only when its effect is committed.
    async fn take(&self, channel: &str, body: &[u8]) -> Result<Verdict, Error>;
}

#[async_trait]
impl Intake for intake::Intake {
    async fn take(&self, channel: &str, body: &[u8]) -> Result<Verdict, Error> {
        self.take(channel, body).await
    }
}

/// Changes who answers.
#[async_trait]
pub trait ModeSwitch: Send + Sync {
    /// Switches, and waits until it is settled.
    async fn switch(&self, key: Key, to: Mode, request: mode_switch::Request) -> mode_switch::Answer;

    /// Waits until a switch is settled, for at most so long.
    async fn settle(&self, receipt: Receipt, limit: Duration) -> mode_switch::Answer;
}

#[async_trait]
impl ModeSwitch for mode_switch::ModeSwitch {
    async fn switch(&self, key: Key, to: Mode, request: mode_switch::Request) -> mode_switch::Answer {
        self.switch(key, to, request).await
    }

    async fn settle(&self, receipt: Receipt, limit: Duration) -> mode_switch::Answer {
        self.settle(receipt, limit).await
    }
}

/// Removes people.
#[async_trait]
pub trait Eraser: Send + Sync {
    /// Closes all conversations with the person of that one for good. Returns them.
    async fn close(&self, conversation: Uuid, actor: &str) -> Result<Vec<Uuid>, Error>;

    /// Removes all that is kept of what was closed.
    async fn remove(&self, closed: &[Uuid]) -> Result<Rows, Error>;
}

#[async_trait]
impl Eraser for erase::Eraser {
    async fn close(&self, conversation: Uuid, actor: &str) -> Result<Vec<Uuid>, Error> {
        self.close(conversation, actor).await
    }

    async fn remove(&self, closed: &[Uuid]) -> Result<Rows, Error> {
        self.remove(closed).await
    }
}

/// What a person does with conversations.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Keeps a file that goes with what is said next.
    async fn enclose(&self, name: &str, called: &str, bytes: Bytes) -> Result<Enclosure, Refusal>;

    /// Sends texts, all or none, in order; takes over. A repeat of the same request answers as the first did.
    async fn say(
        &self,
        key: Key,
        words: Vec<Words>,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Said, Refusal>;

    /// Keeps a private note, and says in which conversation. A repeat of the same request answers as the first did.
    async fn note(
        &self,
        key: Key,
        text: String,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<(Uuid, Message), Refusal>;

    /// Sends a failed, dead or unknown message again, as this person's.
    async fn retry(&self, message: Uuid, who: &Who) -> Result<Message, Refusal>;

    /// Treats an unknown message as sent.
    async fn confirm(&self, message: Uuid, who: &Who) -> Result<Message, Refusal>;

    /// Withdraws a message that is still queued.
    async fn withdraw(&self, message: Uuid, who: &Who) -> Result<Message, Refusal>;

    /// Changes a conversation.
    async fn patch(&self, key: Key, patch: Patch, who: &Who) -> Result<Uuid, Refusal>;

    /// Marks it read up to this number, or to its newest message.
    async fn read(&self, key: Key, up_to: Option<i64>, who: &Who) -> Result<Uuid, Refusal>;

    /// Marks it unread again.
    async fn unread(&self, key: Key, who: &Who) -> Result<Uuid, Refusal>;

    /// Schedules the one pending follow-up, and says in which conversation; true if there was none before.
    async fn schedule(&self, key: Key, wish: Wish, who: &Who) -> Result<(Uuid, FollowUp, bool), Refusal>;

    /// Calls the pending follow-up off.
    async fn call_off(&self, key: Key, who: &Who) -> Result<(), Refusal>;

    /// Frees what an agent holds of what is not closed, except on these channels; how many conversations that were.
    async fn free(&self, agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal>;

    /// Asks for a draft now; the id that it will have. A repeat of the same request asks for nothing more.
    async fn ask_for_draft(&self, key: Key, who: &Who, once: Option<Idempotency>) -> Result<Uuid, Refusal>;

    /// Sends a draft, as it is or changed; takes over. A repeat of the same request answers as the first did.
    async fn send_draft(
        &self,
        key: Key,
        draft: Uuid,
        approval: Approval,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Said, Refusal>;

    /// Puts a draft away.
    async fn discard_draft(&self, key: Key, draft: Uuid, who: &Who) -> Result<(), Refusal>;

    /// Tries a dead letter again; with `force` also one that is no longer wanted.
    async fn replay(&self, letter: Uuid, force: bool, who: &Who) -> Result<DeadLetter, Refusal>;

    /// Puts a dead letter away.
    async fn discard(&self, letter: Uuid, who: &Who) -> Result<(), Refusal>;

    /// Tells an endpoint of webhooks something again.
    async fn tell_again(&self, delivery: Uuid, who: &Who) -> Result<(), Refusal>;
}

#[async_trait]
impl Desk for desk::Desk {
    async fn enclose(&self, name: &str, called: &str, bytes: Bytes) -> Result<Enclosure, Refusal> {
        self.enclose(name, called, bytes).await
    }

    async fn say(
        &self,
        key: Key,
        words: Vec<Words>,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Said, Refusal> {
        self.say(key, words, who, once).await
    }

    async fn note(
        &self,
        key: Key,
        text: String,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<(Uuid, Message), Refusal> {
        self.note(key, text, who, once).await
    }

    async fn retry(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.retry(message, who).await
    }

    async fn confirm(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.confirm(message, who).await
    }

    async fn withdraw(&self, message: Uuid, who: &Who) -> Result<Message, Refusal> {
        self.withdraw(message, who).await
    }

    async fn patch(&self, key: Key, patch: Patch, who: &Who) -> Result<Uuid, Refusal> {
        self.patch(key, patch, who).await
    }

    async fn read(&self, key: Key, up_to: Option<i64>, who: &Who) -> Result<Uuid, Refusal> {
        self.read(key, up_to, who).await
    }

    async fn unread(&self, key: Key, who: &Who) -> Result<Uuid, Refusal> {
        self.unread(key, who).await
    }

    async fn schedule(&self, key: Key, wish: Wish, who: &Who) -> Result<(Uuid, FollowUp, bool), Refusal> {
        self.schedule(key, wish, who).await
    }

    async fn call_off(&self, key: Key, who: &Who) -> Result<(), Refusal> {
        self.call_off(key, who).await
    }

    async fn free(&self, agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal> {
        self.free(agent, except, who).await
    }

    async fn ask_for_draft(&self, key: Key, who: &Who, once: Option<Idempotency>) -> Result<Uuid, Refusal> {
        self.ask_for_draft(key, who, once).await
    }

    async fn send_draft(
        &self,
        key: Key,
        draft: Uuid,
        approval: Approval,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Said, Refusal> {
        self.send_draft(key, draft, approval, who, once).await
    }

    async fn discard_draft(&self, key: Key, draft: Uuid, who: &Who) -> Result<(), Refusal> {
        self.discard_draft(key, draft, who).await
    }

    async fn replay(&self, letter: Uuid, force: bool, who: &Who) -> Result<DeadLetter, Refusal> {
        self.replay(letter, force, who).await
    }

    async fn discard(&self, letter: Uuid, who: &Who) -> Result<(), Refusal> {
        self.discard(letter, who).await
    }

    async fn tell_again(&self, delivery: Uuid, who: &Who) -> Result<(), Refusal> {
        self.tell_again(delivery, who).await
    }
}

/// A secret: never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// The channels as they run on this instance.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Whether there is a channel of that name, also one that another instance has just added.
    async fn knows(&self, channel: &str) -> bool;

    /// The tokens with which its provider may post; None if it has no door.
    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>>;

    /// Whether these overrides are ones that a channel may have: else which key is wrong, and why.
    fn check(&self, settings: &Map<String, Value>) -> Result<(), (String, String)>;

    /// A channel was added, changed or removed: it holds here when this returns.
    async fn changed(&self);

    /// What there is to link this channel's phone with, asked for now, within a bounded time.
    async fn link_code(&self, channel: &str) -> LinkCode;
}

words! {
    /// Whether a phone can be linked now.
    LinkState {
        /// With the code that is shown.
        QrCode = "qr_code",
        /// It is linked.
        Linked = "linked",
        /// There is no code now.
        Unavailable = "unavailable",
    }
}

/// The secrets of a channel, as they are sealed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Secrets {
    /// With which we call the provider.
    pub token: Option<String>,
    /// With which the provider calls us.
    pub webhook_token: Option<String>,
    /// The one before, valid too.
    pub previous_webhook_token: Option<String>,
}

impl Secrets {
    /// As the vault seals them.
    pub fn to_bytes(&self) -> Vec<u8> {
        super::answer::to_json(self)
    }

    /// As the vault gives them back; None if they are nothing of ours.
    pub fn from_bytes(plain: &[u8]) -> Option<Self> {
        serde_json::from_slice(plain).ok()
    }
}

words! {
    /// How the sandbox's model fails.
    ModelFault {
        /// Not at all.
        None = "none",
        /// An error of the server.
        Error = "error",
        /// A stream that breaks off.
        Cut = "cut",
        /// No words.
        Empty = "empty",
        /// Too many requests.
        RateLimited = "rate_limited",
        /// No answer.
        Hang = "hang",
    }
}

words! {
    /// How the sandbox's provider fails.
    ProviderFault {
        /// Not at all.
        None = "none",
        /// The message is refused.
        Refused = "refused",
        /// No answer.
        Hang = "hang",
        /// It is sent, but the answer is lost.
        LostAnswer = "lost_answer",
        /// An error of the server.
        ServerError = "server_error",
    }
}

/// How the sandbox behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// The model thinks for so long.
    pub model_delay_ms: i64,
    /// How it fails.
    pub model_fault: ModelFault,
    /// The provider takes so long.
    pub provider_delay_ms: i64,
    /// How it fails.
    pub provider_fault: ProviderFault,
    /// It delivers each webhook twice.
    pub duplicate_webhooks: bool,
}

/// What the contact's phone shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    /// The business is typing.
    pub typing: bool,
    /// Oldest first.
    pub messages: Vec<Bubble>,
}

/// A message on the contact's phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bubble {
    /// The provider's id of it.
    pub id: String,
    /// The contact wrote it.
    pub from_contact: bool,
    /// Its words.
    pub text: String,
    /// When.
    pub at: Time,
    /// Its ticks.
    pub status: DeliveryState,
}

/// The sandbox channel: a contact played by hand.
#[async_trait]
pub trait SandboxDoor: Send + Sync {
    /// How it behaves.
    fn behaviour(&self) -> Behaviour;

    /// From now on it behaves so.
    fn behave(&self, behaviour: Behaviour);

    /// What the contact's phone shows.
    fn screen(&self, chat: &ChatId) -> Screen;

    /// Takes what a contact writes, checked by the door: all in one transaction.
    async fn take(&self, bodies: Vec<Value>) -> Result<Vec<Verdict>, Error>;

    /// The business's own phone writes.
    async fn phone_message(&self, chat: &ChatId, text: String) -> Result<Verdict, Error>;
}

/// One setting as it is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The variable.
    pub name: String,
    /// Its value; None for a secret or if unset.
    pub value: Option<String>,
    /// It has a value.
    pub is_set: bool,
    /// `flag`, `environment`, `file` or `default`.
    pub source: &'static str,
    /// By which key a channel overrides it.
    pub channel_key: Option<String>,
}

/// Whether this instance can work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// Whether the database has every migration of this program; None: it does not answer.
    pub migrated: Option<bool>,
    /// Redis answers; None: there is none.
    pub redis: Option<bool>,
}

/// Knows whether this instance can work.
#[async_trait]
pub trait Health: Send + Sync {
    /// Looks, within a second.
    async fn look(&self) -> Readiness;
}
