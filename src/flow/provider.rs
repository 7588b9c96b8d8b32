//! Place: the WhatsApp gateway. Reads what it posts, sends what is owed.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::reconcile::Copy;
use crate::domain::{
    chat::ChatId,
    docket::Report,
    message::{DeliveryReason, DeliveryState, Kind, Media, OutcomeReason, Quoted, Sender},
    time::Time,
};

/// Green API, as the row of a channel names it. A row may hold the word of a later version, too.
pub const GREEN_API: &str = "green_api";

/// The sandbox: the name of the provider, and that of its one channel.
pub const SANDBOX: &str = "sandbox";

/// The state of an account that hears its contacts and can send.
pub const AUTHORIZED: &str = "authorized";

/// What a webhook says.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// The contact wrote, or something that is shown as a message of theirs.
    Message(Arrival),
    /// The contact edited a message.
    Edit(Amendment),
    /// The contact deleted a message.
    Deletion(Amendment),
    /// A person of the business wrote on the phone itself: a takeover.
    Phone(Arrival),
    /// A person of the business reacted on the phone, or called, which is true if the contact has answered: shown, no takeover.
    OwnSign(Arrival, bool),
    /// Our side edited a message of its own, on the phone or through another system: no takeover.
    OwnEdit(Amendment, Copy),
    /// Our side deleted one so.
    OwnDeletion(Amendment, Copy),
    /// A message that left through the API.
    Echo(Arrival),
    /// How far a message got.
    Status(Status),
    /// The state of the instance.
    State(String),
    /// The provider's quota is used up.
    Quota(String),
    /// Nothing of consequence; as the provider names it.
    Ignored(String),
    /// The body names another instance than the channel's.
    OtherInstance,
}

/// A message as it arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// The chat.
    pub chat: ChatId,
    /// Another id of the same person, if the body shows one.
    pub alias: Option<ChatId>,
    /// The provider's id, if there is one.
    pub id: Option<String>,
    /// What makes it once only if there is no id: the fingerprint.
    pub fingerprint: String,
    /// When it was written, by the provider's clock.
    pub at: Option<Time>,
    /// The contact's name, as the provider knows it.
    pub contact_name: Option<String>,
    /// Who wrote it, in a group.
    pub sender: Option<Sender>,
    /// What it is.
    pub kind: Kind,
    /// Its words, or a description for the model: `[image] caption`.
    pub text: String,
    /// What it answers.
    pub quoted: Option<Quoted>,
    /// The file that came with it.
    pub media: Option<Media>,
    /// Why it starts no turn; None: it may.
    pub inert: Option<OutcomeReason>,
    /// It cannot be read (undecryptable, a voice note without transcript): the notice, or a person.
    pub is_unreadable: bool,
}

impl Arrival {
    /// A text of which nothing else is known.
    pub fn plain(chat: &ChatId, id: &str, text: String, at: Time) -> Self {
        Self {
            chat: chat.clone(),
            alias: None,
            id: Some(id.to_owned()),
            fingerprint: String::new(),
            at: Some(at),
            contact_name: None,
            sender: None,
            kind: Kind::Text,
            text,
            quoted: None,
            media: None,
            inert: None,
            is_unreadable: false,
        }
    }
}

/// A change of an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amendment {
    /// The chat.
    pub chat: ChatId,
    /// The provider's id of the message that changes.
    pub of: String,
    /// Its new words; empty for a deletion.
    pub text: String,
    /// When, by the provider's clock.
    pub at: Option<Time>,
    /// Who changes it, in a group.
    pub by: Option<ChatId>,
}

impl Amendment {
    /// As it is kept, and carried out.
    pub fn report(&self, is_deletion: bool) -> Report {
        match is_deletion {
            true => Report::Deletion,
            false => Report::Edit {
                text: self.text.clone(),
                provider_at: self.at.map(|at| at.0),
                by: self.by.as_ref().map(ToString::to_string),
            },
        }
    }
}

/// A report on a message of our side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The chat, where the report names it.
    pub chat: Option<ChatId>,
    /// The provider's id of the message.
    pub id: String,
    /// How far it got; None: a word that says nothing new to us.
    pub state: Option<DeliveryState>,
    /// Why it failed.
    pub reason: Option<DeliveryReason>,
    /// The provider's word and description, for people.
    pub detail: String,
}

/// A body that cannot be read: kept raw as a dead letter.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Unreadable {
    /// Why it cannot be read.
    pub reason: String,
}

/// A message on its way out.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The chat to which it goes.
    pub chat: ChatId,
    /// The text; for a file, its description and caption.
    pub text: String,
    /// The file.
    pub file: Option<OutgoingFile>,
    /// The provider's id of the message it answers.
    pub quoted: Option<String>,
    /// Made once with the row.
    pub idempotency_key: String,
    /// The POST must begin by then, by [`boot_time`]; later it is not written at all.
    pub begin_by: Duration,
    /// No answer for this long: unclear.
    pub timeout: Duration,
}

/// A file on its way out.
#[derive(Debug, Clone)]
pub struct OutgoingFile {
    /// Its name, with the ending that says what it is.
    pub name: String,
    /// Its type.
    pub mime_type: String,
    /// What stands under it.
    pub caption: String,
    /// It.
    pub bytes: Bytes,
}

/// What became of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Accepted, under this id.
    Accepted {
        /// The provider's id of it.
        id: String,
    },
    /// Certainly not sent, and never will be.
    Refused {
        /// Why it was refused.
        reason: DeliveryReason,
        /// The provider's words, without secrets.
        detail: String,
    },
    /// Certainly not sent; may be tried again.
    Again {
        /// Not before this long, if the provider said so.
        after_ms: Option<i64>,
        /// What happened, without secrets.
        detail: String,
    },
    /// Certainly not sent: nobody was reached who could. May be tried again.
    Unreached {
        /// What happened, without secrets.
        detail: String,
    },
    /// Certainly not sent: the instance cannot send now.
    NotLinked {
        /// The state to assume until the provider reports another.
        state: String,
        /// What happened, without secrets.
        detail: String,
    },
    /// The moment to begin had passed; nothing was written.
    TooLate,
    /// It may have been sent.
    Unclear {
        /// What happened, without secrets.
        detail: String,
    },
}

/// A webhook body that was fetched. It comes again until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// By which it is acknowledged.
    pub receipt: i64,
    /// As it would have been posted.
    pub body: Vec<u8>,
}

/// A look at the account failed.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Unanswered {
    /// What happened, without secrets.
    pub detail: String,
    /// Whether it answered at all.
    pub no_answer: NoAnswer,
}

/// How a look failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// It is not known whether the provider is there.
    Silence,
    /// It is there, and refused the credentials.
    Refused,
    /// It is there, and was asked too much.
    TooMany,
}

/// The state assumed while the provider refuses the credentials: nothing will go or come before somebody fixes it.
pub const CREDENTIALS_REFUSED: &str = "credentials_refused";

/// What there is to link a phone with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkCode {
    /// The code that the phone is to see, as the bytes of a PNG. It is good for some seconds.
    Shown(Vec<u8>),
    /// None is needed: the phone is linked.
    Linked,
    /// There is none now.
    Unavailable {
        /// Why, in the provider's words, without secrets.
        detail: String,
    },
}

/// Where a send of unknown fate may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUp {
    /// Among what the provider has accepted and not sent on yet.
    Queue,
    /// Among what has left there.
    Journal {
        /// Of the last minutes, this many.
        minutes: i64,
    },
}

/// A text of our side, as the provider has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The provider's id, if it shows one.
    pub id: Option<String>,
    /// The chat to which it goes.
    pub chat: ChatId,
    /// The text that was sent.
    pub text: String,
    /// When something last happened to it, by the provider's clock; None while it waits there.
    pub at: Option<Time>,
    /// How far it got; None: not on its way yet, or not said.
    pub state: Option<DeliveryState>,
    /// Why it failed.
    pub reason: Option<DeliveryReason>,
}

/// The place.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Reads a webhook body of this channel.
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable>;

    /// Sends a text or a file once. Dropping the future may leave its fate unclear: it is never dropped, only timed out inside.
    async fn send(&self, message: &Outgoing) -> Sent;

    /// Shows that someone is typing, for about this long. Best effort.
    async fn show_typing(&self, _chat: &ChatId, _ms: i64) {}

    /// Marks all of the chat as read: marking one message marks no other. Best effort.
    async fn mark_read(&self, _chat: &ChatId) {}

    /// The state of the account, as the provider names it.
    async fn state(&self) -> Result<String, Unanswered>;

    /// The code with which a phone is linked to the account.
    async fn link_code(&self) -> Result<LinkCode, Unanswered> {
        Ok(LinkCode::Unavailable { detail: "this channel has no phone to link".to_owned() })
    }

    /// The oldest notification that waits, or the first to come within `wait`. The same until it is acknowledged.
    /// Dropping the future loses nothing.
    async fn receive(&self, wait: Duration) -> Result<Option<Notification>, Unanswered>;

    /// That notification had its effect and need not come again.
    async fn acknowledge(&self, _receipt: i64) -> Result<(), Unanswered> {
        Ok(())
    }

    /// What contacts wrote in these last minutes, oldest first, each as its webhook would have said it.
    async fn journal(&self, _minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(Vec::new())
    }

    /// What a person of the business has typed on the phone in these last minutes, oldest first.
    async fn typed(&self, _minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(Vec::new())
    }

    /// What texts of our side are there. What is not listed may be there all the same: an empty list proves nothing.
    async fn look_up(&self, _place: LookUp) -> Result<Vec<Trace>, Unanswered> {
        Ok(Vec::new())
    }

    /// Another address of the file of that message, where the one that came with it was missing or no longer opens it. None:
    /// there is no file, or no other address.
    async fn file_link(&self, _chat: &ChatId, _message: &str) -> Result<Option<String>, Unanswered> {
        Ok(None)
    }

    /// Under which other id WhatsApp knows the same person. None: there is none that it reveals.
    async fn other_id(&self, _chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        Ok(None)
    }

    /// How many messages wait at the provider, of all chats.
    async fn queue_length(&self) -> Result<i64, Unanswered> {
        Ok(0)
    }
}

/// Time since the machine started, suspended time included (`CLOCK_BOOTTIME`): a process that slept past its
/// moment sees it.
pub fn boot_time() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let at = rustix::time::clock_gettime(clock);
    Duration::new(u64::try_from(at.tv_sec).unwrap_or(0), u32::try_from(at.tv_nsec).unwrap_or(0))
}
