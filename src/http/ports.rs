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
        faults::{ModelFault, ProviderFault},
        message::{DeliveryState, Message},
        mode::Mode,
        time::Time,
        turn::{DeadLetter, FollowUp},
        words::words,
    },
    flow::{
        agenda::NewFollowUp,
        desk::{self, Approval, Idempotency, NewMessage, Patch, Posted, Refusal, Who},
        forgetting::{erase, erasures::Rows},
        intake::{self, Verdict},
        ledger::{Error, Key},
        mode_switch::{self, Receipt},
        provider::LinkCode,
    },
};

/// A step as routes ask it: the trait, and the step itself behind it.
macro_rules! port {
    ($(#[$what:meta])* $name:ident for $step:ty {
        $($(#[$does:meta])* fn $act:ident($($given:ident: $of:ty),* $(,)?) -> $out:ty;)+
    }) => {
        $(#[$what])*
        #[async_trait]
        pub trait $name: Send + Sync {
            $($(#[$does])*
            async fn $act(&self, $($given: $of),*) -> $out;)+
        }

        #[async_trait]
        impl $name for $step {
            $(async fn $act(&self, $($given: $of),*) -> $out {
                self.$act($($given),*).await
            })+
        }
    };
}

port! {
    /// Takes webhooks.
    Intake for intake::Intake {
        /// Takes a body that the provider posted for this channel. Ok only when its effect is committed.
        fn take(channel: &str, body: &[u8]) -> Result<Verdict, Error>;
    }
}

port! {
    /// Changes who answers.
    ModeSwitch for mode_switch::ModeSwitch {
        /// Switches, and waits until it is settled.
        fn switch(key: Key, to: Mode, request: mode_switch::Request) -> mode_switch::Answer;

        /// Waits until a switch is settled, for at most this long.
        fn settle(receipt: Receipt, limit: Duration) -> mode_switch::Answer;
    }
}

port! {
    /// Removes people.
    Eraser for erase::Eraser {
        /// Closes all conversations with the person of that one for good. Returns them.
        fn close(conversation: Uuid, actor: &str) -> Result<Vec<Uuid>, Error>;

        /// Removes all that is kept of what was closed.
        fn remove(closed: &[Uuid]) -> Result<Rows, Error>;
    }
}

port! {
    /// What a person does with conversations.
    Desk for desk::Desk {
        /// Keeps a file that goes with what is said next.
        fn enclose(name: &str, called: &str, bytes: Bytes) -> Result<Enclosure, Refusal>;

        /// Sends texts, all or none, in order; takes over. A repeat of the same request answers as the first did.
        fn say(
            key: Key,
            words: Vec<NewMessage>,
            who: &Who,
            once: Option<Idempotency>,
        ) -> Result<Posted, Refusal>;

        /// Keeps a private note, and says in which conversation. A repeat of the same request answers as the first did.
        fn note(
            key: Key,
            text: String,
            who: &Who,
            once: Option<Idempotency>,
        ) -> Result<(Uuid, Message), Refusal>;

        /// Sends a failed, dead or unknown message again, as this person's.
        fn retry(message: Uuid, who: &Who) -> Result<Message, Refusal>;

        /// Treats an unknown message as sent.
        fn confirm(message: Uuid, who: &Who) -> Result<Message, Refusal>;

        /// Withdraws a message that is still queued.
        fn withdraw(message: Uuid, who: &Who) -> Result<Message, Refusal>;

        /// Changes a conversation.
        fn patch(key: Key, patch: Patch, who: &Who) -> Result<Uuid, Refusal>;

        /// Marks it read up to this number, or to its newest message.
        fn read(key: Key, up_to: Option<i64>, who: &Who) -> Result<Uuid, Refusal>;

        /// Marks it unread again.
        fn unread(key: Key, who: &Who) -> Result<Uuid, Refusal>;

        /// Schedules the one pending follow-up, and says in which conversation; true if there was none before.
        fn schedule(key: Key, new: NewFollowUp, who: &Who) -> Result<(Uuid, FollowUp, bool), Refusal>;

        /// Calls the pending follow-up off.
        fn call_off(key: Key, who: &Who) -> Result<(), Refusal>;

        /// Frees what an agent holds of what is not closed, except on these channels; how many conversations that were.
        fn free(agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal>;

        /// Asks for a draft now; in which conversation, and the id that it will have. A repeat of the same request asks for
        /// nothing more.
        fn ask_for_draft(key: Key, who: &Who, once: Option<Idempotency>) -> Result<(Uuid, Uuid), Refusal>;

        /// Sends a draft, as it is or changed; takes over. A repeat of the same request answers as the first did.
        fn send_draft(
            key: Key,
            draft: Uuid,
            approval: Approval,
            who: &Who,
            once: Option<Idempotency>,
        ) -> Result<Posted, Refusal>;

        /// Puts a draft away.
        fn discard_draft(key: Key, draft: Uuid, who: &Who) -> Result<(), Refusal>;

        /// Retries a dead letter; with `force` also one that is no longer wanted.
        fn replay(letter: Uuid, force: bool, who: &Who) -> Result<DeadLetter, Refusal>;

        /// Puts a dead letter away.
        fn discard(letter: Uuid, who: &Who) -> Result<(), Refusal>;

        /// Redelivers something to a webhook endpoint.
        fn tell_again(delivery: Uuid, who: &Who) -> Result<(), Refusal>;
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

    /// Whether providers post to us. Where notifications are fetched instead, no channel has a door.
    fn has_doors(&self) -> bool;

    /// Whether these overrides are ones that a channel may have: else which key is wrong, and why.
    fn check(&self, settings: &Map<String, Value>) -> Result<(), (String, String)>;

    /// Host and port of an address, read as the client that asks there reads them. None: nobody can be asked there.
    fn place(&self, url: &str) -> Option<(String, u16)>;

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

/// How the sandbox behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// How long the model thinks.
    pub model_delay_ms: i64,
    /// How it fails.
    pub model_fault: ModelFault,
    /// How long the provider takes.
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
    /// Whether its channel is there: it may have been removed, or be one that had this name before it was kept for the sandbox.
    fn is_there(&self) -> bool;

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
