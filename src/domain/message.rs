//! One message of a conversation, in either direction, and the states it can be in.

mod delivery;

#[cfg(test)]
mod tests;

pub use delivery::{Attempt, Delivery, DeliveryReason, DeliveryState, Gate};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    enclosure::{described, description},
    time::Time,
    words::words,
};

/// The provider keeps a message for 24 hours while the phone is away, and its webhooks as long again while we are.
pub const ECHO_AWAITED_MS: i64 = 2 * 86_400_000;

/// Longest piece of another message that is shown as quoted, in characters.
pub const QUOTE_MAX: usize = 300;

words! {
    /// Whose words they are.
    Author {
        /// The customer.
        Contact = "contact",
        /// The AI.
        Assistant = "assistant",
        /// A person of the business, or another program on the same number.
        Agent = "agent",
        /// Baton itself, with a text from the settings.
        System = "system",
    }
}

words! {
    /// How a message came to be.
    Origin {
        /// The provider delivered it.
        Webhook = "webhook",
        /// A turn wrote it.
        Turn = "turn",
        /// A follow-up.
        FollowUp = "follow_up",
        /// An agent in the dashboard.
        Dashboard = "dashboard",
        /// A program by the API.
        Api = "api",
        /// A person on the phone itself.
        Phone = "phone",
        /// Another program on the same instance.
        OtherSystem = "other_system",
    }
}

words! {
    /// What a message is.
    Kind {
        /// Words.
        Text = "text",
        /// A picture.
        Image = "image",
        /// A film.
        Video = "video",
        /// A sound file.
        Audio = "audio",
        /// A voice note.
        Voice = "voice",
        /// A file.
        Document = "document",
        /// A sticker.
        Sticker = "sticker",
        /// A place.
        Location = "location",
        /// One contact card or several.
        Contact = "contact",
        /// A poll.
        Poll = "poll",
        /// A vote in a poll.
        PollVote = "poll_vote",
        /// An emoji on another message.
        Reaction = "reaction",
        /// An invitation to a group.
        GroupInvite = "group_invite",
        /// Buttons, usually of another bot.
        Buttons = "buttons",
        /// A list to choose from, usually of another bot.
        List = "list",
        /// A call.
        Call = "call",
        /// A private note of an agent: never sent, never read by the model.
        Note = "note",
        /// Something Baton does not know.
        Unsupported = "unsupported",
    }
}

impl Kind {
    /// Whether it is something that was said: not a note for colleagues, nor a mere sign. The archive asks the same in its own
    /// language.
    pub const fn is_said(self) -> bool {
        !matches!(self, Self::Note | Self::Reaction | Self::Call | Self::PollVote)
    }
}

words! {
    /// What became of a message of the contact.
    Outcome {
        /// Waits for its turn.
        Pending = "pending",
        /// A reply to it began to leave.
        Answered = "answered",
        /// Came while a person answers.
        LeftToHuman = "left_to_human",
        /// Starts no turn.
        Ignored = "ignored",
        /// The machine gave up; a person was called.
        HandedOver = "handed_over",
        /// Given up and discarded by a person.
        Dead = "dead",
    }
}

words! {
    /// Why a message of the contact ended so.
    OutcomeReason {
        /// An emoji on another message.
        Reaction = "reaction",
        /// A sticker.
        Sticker = "sticker",
        /// A vote.
        PollVote = "poll_vote",
        /// Nothing in it.
        Empty = "empty",
        /// Nobody could make words of it: the provider could not decrypt it, or it is a recording that was not transcribed.
        Undecryptable = "undecryptable",
        /// From a group.
        Group = "group",
        /// A story or channel post.
        Story = "story",
        /// A call.
        Call = "call",
        /// Deleted by the contact before it was answered.
        Deleted = "deleted",
        /// The assistant chose to say nothing.
        StayedSilent = "stayed_silent",
        /// A person answers.
        ModeHuman = "mode_human",
        /// There is no model.
        NoModel = "no_model",
        /// Outside the assistant's hours.
        Hours = "hours",
        /// The contact opted out.
        OptedOut = "opted_out",
        /// The model failed for good.
        AiFailure = "ai_failure",
        /// Too old when its turn came.
        Stale = "stale",
        /// Too many answers in an hour without a person.
        ReplyCap = "reply_cap",
        /// The day's ceiling of cost was reached.
        SpendLimit = "spend_limit",
        /// Too many messages at once.
        Flood = "flood",
        /// The conversation was closed.
        Closed = "closed",
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Ours.
    pub id: Uuid,
    /// Its place in the conversation, from 1.
    pub seq: i64,
    /// Whose words these are.
    pub author: Author,
    /// How it came.
    pub origin: Origin,
    /// What it is.
    pub kind: Kind,
    /// The words; for other kinds the caption or a description.
    pub text: String,
    /// Who wrote it, where that is not the chat itself (groups, phones).
    pub sender: Option<Sender>,
    /// The agent who wrote it.
    pub agent: Option<Uuid>,
    /// What it answers.
    pub quoted: Option<Quoted>,
    /// The file that came with it.
    pub media: Option<Media>,
    /// The provider's id, once known.
    pub provider_message_id: Option<String>,
    /// What makes it once only in its conversation: the provider's id, else a fingerprint. None for our own until sent.
    pub key: Option<String>,
    /// When it was accepted here.
    pub at: Time,
    /// When it was written, by the provider's clock.
    pub provider_at: Option<Time>,
    /// When whoever wrote it edited it.
    pub edited_at: Option<Time>,
    /// When whoever wrote it deleted it.
    pub deleted_at: Option<Time>,
    /// The turn that answered it, or wrote it.
    pub turn: Option<Uuid>,
    /// What became of it, if it came from the contact.
    pub inbound: Option<Inbound>,
    /// Where it stands, if we send it.
    pub delivery: Option<Delivery>,
}

/// The fate of a message of the contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inbound {
    /// What became of it.
    pub outcome: Outcome,
    /// Why it ended that way.
    pub reason: Option<OutcomeReason>,
    /// Whether it is of a kind that may start a turn.
    pub starts_turn: bool,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The chat id.
    pub id: String,
    /// The name shown.
    pub name: String,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    /// The provider's id of the other message.
    pub provider_message_id: String,
    /// Its words, shortened.
    pub text: String,
}

/// A file, at the provider or here. Kept as JSON: what older rows lack reads as its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Media {
    /// Where the provider keeps it. Never fetched unless its host is allowed.
    pub url: String,
    /// Its type.
    pub mime_type: String,
    /// Its name.
    pub file_name: String,
    /// What was written under it.
    pub caption: String,
    /// What is said in it, or to be seen, if somebody listened or looked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transcript: String,
    /// How many bytes it has, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// We keep it ourselves, under the message's id: somebody here sends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_kept: bool,
    /// The provider has not kept it: it is larger than what it keeps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_too_large: bool,
}

impl Message {
    /// A contact's voice note of which nobody knows the words.
    pub fn is_unheard(&self) -> bool {
        let is_silent = |media: &Media| media.caption.trim().is_empty() && media.transcript.trim().is_empty();
        self.author == Author::Contact
            && self.kind == Kind::Voice
            && self.deleted_at.is_none()
            && self.media.as_ref().is_some_and(is_silent)
    }

    /// A contact's picture.
    pub fn is_picture(&self) -> bool {
        self.author == Author::Contact
            && self.kind == Kind::Image
            && self.deleted_at.is_none()
            && self.media.is_some()
    }

    /// A contact's picture of which nobody has told what is to be seen.
    pub fn is_unseen(&self) -> bool {
        self.is_picture() && self.media.as_ref().is_some_and(|media| media.transcript.is_empty())
    }

    /// Keeps what is said in it, or to be seen.
    pub fn put_into_words(&mut self, words: &str) {
        let Some(media) = &mut self.media else { return };
        words.clone_into(&mut media.transcript);
        self.text = if self.kind == Kind::Image {
            self.reading(&self.text)
        } else {
            description(self.kind, &media.file_name, words)
        };
    }

    /// Applies an edit that its writer made at that time. False if nothing changes: a newer edit is known, the words are the
    /// same, the message is deleted, or a text's new words are empty (then the provider has not shown them).
    pub fn revise(&mut self, words: &str, at: Time) -> bool {
        let is_late = self.edited_at.is_some_and(|newest| at < newest);
        let is_hollow = words.is_empty() && self.media.is_none();
        let is_news = !is_late && !is_hollow && self.deleted_at.is_none() && self.reword(words);
        if is_news {
            self.edited_at = Some(at);
        }
        is_news
    }

    /// Other words for it: of a file, for what stands under it. False if they are the same.
    fn reword(&mut self, words: &str) -> bool {
        let text = match &mut self.media {
            Some(media) if self.kind != Kind::Voice => {
                words.clone_into(&mut media.caption);
                description(self.kind, &media.file_name, words)
            }
            _ => words.to_owned(),
        };
        let text = self.reading(&text);
        let is_another = self.text != text;
        self.text = text;
        is_another
    }

    /// Its text with those words of whoever wrote it: what is to be seen in a picture stays behind them.
    pub fn reading(&self, words: &str) -> String {
        match &self.media {
            Some(media) if self.kind == Kind::Image && !media.transcript.is_empty() => {
                described(words, &media.transcript)
            }
            _ => words.to_owned(),
        }
    }

    /// Words with nothing around them. Number, time and place are given when it is put into a conversation.
    pub fn of(author: Author, origin: Origin, kind: Kind, text: String) -> Self {
        Self {
            id: Uuid::now_v7(),
            seq: 0,
            author,
            origin,
            kind,
            text,
            sender: None,
            agent: None,
            quoted: None,
            media: None,
            provider_message_id: None,
            key: None,
            at: Time::default(),
            provider_at: None,
            edited_at: None,
            deleted_at: None,
            turn: None,
            inbound: None,
            delivery: None,
        }
    }

    /// Whether it belongs to the open business of its conversation: waits for an answer, is owed, or has an unclear fate.
    pub fn is_open(&self) -> bool {
        self.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending)
            || self.delivery.as_ref().is_some_and(|delivery| delivery.state.is_open() || delivery.unclear > 0)
    }

    /// A message whose fate is decided, but for attempts that nothing has accounted for: how long their echoes are waited
    /// for. While it is owed or unknown, it is open business anyway.
    pub fn echo_awaited_until(&self) -> Option<Time> {
        let delivery = self.delivery.as_ref().filter(|it| it.unclear > 0 && !it.state.is_open())?;
        Some(delivery.attempt?.at.plus_ms(ECHO_AWAITED_MS))
    }

    /// Whether a model reads it as something that was said, or will be. Notes are for colleagues; what was withdrawn or
    /// never arrived was not said. The archive asks the same in its own language.
    pub fn is_words(&self) -> bool {
        let was_not_said = self.delivery.as_ref().is_some_and(|delivery| {
            matches!(delivery.state, DeliveryState::Failed | DeliveryState::Cancelled | DeliveryState::Dead)
        });
        self.kind.is_said()
            && !was_not_said
            && self.deleted_at.is_none()
            && !self.text.trim_matches(' ').is_empty()
    }

    /// The words as the provider gets them: of a file only what stands under it, unless there is nothing.
    pub fn posted_words(&self) -> &str {
        match &self.media {
            Some(media) if self.delivery.is_some() && !media.caption.trim().is_empty() => &media.caption,
            _ => &self.text,
        }
    }

    /// What is shown of it where another message answers it.
    pub fn as_quoted(&self) -> String {
        self.text.chars().take(QUOTE_MAX).collect()
    }

    /// Whether it waits for a turn and may start one.
    pub fn waits(&self) -> bool {
        self.turn.is_none()
            && self.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending && inbound.starts_turn)
    }

    /// Whether a reply to it is owed whose first part has not begun to leave: until then it is pending all the same.
    pub fn is_covered(&self) -> bool {
        self.turn.is_some() && self.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending)
    }

    /// Whether the contact waits with it for whoever answers, read or not. What was put aside on purpose is not waited with.
    pub fn is_left_open(&self) -> bool {
        let is_open = |inbound: Inbound| {
            matches!(inbound.outcome, Outcome::Pending | Outcome::LeftToHuman | Outcome::HandedOver)
        };
        self.deleted_at.is_none() && self.inbound.is_some_and(is_open)
    }

    /// Whether the machine wrote it: such messages are withdrawn when a person acts.
    pub fn is_machine_made(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.gate != Gate::Person)
    }

    /// Whether it stands in that state of delivery.
    pub fn is(&self, state: DeliveryState) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.state == state)
    }
}

/// Whether there is nothing to see in it: white space, and marks that have no width.
pub fn is_blank(text: &str) -> bool {
    let is_invisible = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}
