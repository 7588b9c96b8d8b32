//! One message of a conversation, in either direction, and the states it can be in.

#[cfg(test)]
mod tests;

use uuid::Uuid;

use super::{lane::Lane, time::Time, words::words};

/// The provider keeps a message for 24 hours while the phone is away, and its webhooks as long again while we are.
pub const ECHO_AWAITED_MS: i64 = 2 * 86_400_000;

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
        /// The provider could not decrypt it.
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

words! {
    /// Where an outbound message stands.
    DeliveryState {
        /// Owed.
        Queued = "queued",
        /// Claimed; the POST may be under way.
        Sending = "sending",
        /// Accepted by the provider.
        Sent = "sent",
        /// Arrived at the contact's phone.
        Delivered = "delivered",
        /// Read by the contact.
        Read = "read",
        /// Refused for good by the provider, or reported as failed.
        Failed = "failed",
        /// May or may not have been accepted.
        Unknown = "unknown",
        /// Withdrawn before it left.
        Cancelled = "cancelled",
        /// Given up after all attempts.
        Dead = "dead",
    }
}

impl DeliveryState {
    /// A status report of the provider in this state: the state that follows, or None if it says nothing new.
    /// Only forward: `sent`, `delivered`, `read`; a good report overrules `failed` and `unknown`, never the reverse.
    pub const fn reported(self, report: Self) -> Option<Self> {
        use DeliveryState as S;
        match (self, report) {
            (S::Sending | S::Unknown | S::Failed | S::Dead | S::Queued, S::Sent) => Some(S::Sent),
            (S::Sent, S::Sent) => None,
            (S::Sent | S::Sending | S::Unknown | S::Failed | S::Dead | S::Queued, S::Delivered) => {
                Some(S::Delivered)
            }
            (S::Sent | S::Delivered | S::Sending | S::Unknown | S::Failed | S::Dead | S::Queued, S::Read) => {
                Some(S::Read)
            }
            (S::Sent, S::Failed) => Some(S::Failed),
            // A withdrawn message that is reported all the same did leave: what the contact sees is what counts.
            (S::Cancelled, S::Sent | S::Delivered | S::Read) => Some(report),
            (S::Delivered | S::Read, S::Sent | S::Delivered | S::Failed)
            | (S::Read, S::Read)
            // What is known of an attempt under way is not known under an id yet: the report is of an earlier one.
            | (S::Failed | S::Dead | S::Cancelled | S::Queued | S::Sending | S::Unknown, S::Failed) => None,
            (_, S::Queued | S::Sending | S::Unknown | S::Cancelled | S::Dead) => None,
        }
    }

    /// Whether it may still change by our own doing, and so belongs to the open business of its conversation.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Queued | Self::Sending | Self::Unknown => true,
            Self::Sent | Self::Delivered | Self::Read | Self::Failed | Self::Cancelled | Self::Dead => false,
        }
    }
}

words! {
    /// Why a delivery is where it is.
    DeliveryReason {
        /// The mode changed.
        ModeChanged = "mode_changed",
        /// A newer message of the contact.
        Superseded = "superseded",
        /// A later answer or a person's message went out instead.
        Overtaken = "overtaken",
        /// The conversation was closed.
        Closed = "closed",
        /// An agent withdrew it.
        DeletedByAgent = "deleted_by_agent",
        /// The contact opted out.
        OptedOut = "opted_out",
        /// The same words were sent shortly before.
        Repeated = "repeated",
        /// Too late to be of use.
        Late = "late",
        /// The provider's quota is used up.
        Quota = "quota",
        /// The number has no WhatsApp.
        NoAccount = "no_account",
        /// The instance is not linked.
        NotAuthorized = "not_authorized",
        /// The provider refused it.
        Refused = "refused",
        /// All attempts are used up.
        AttemptsUsed = "attempts_used",
        /// Nobody knows whether it went.
        FateUnknown = "fate_unknown",
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Ours.
    pub id: Uuid,
    /// Its place in the conversation, from 1.
    pub seq: i64,
    /// Whose words.
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
    /// When the contact edited it.
    pub edited_at: Option<Time>,
    /// When the contact deleted it.
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
    /// Why.
    pub reason: Option<OutcomeReason>,
    /// Whether it is of a kind that may start a turn.
    pub starts_turn: bool,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The chat id.
    pub id: String,
    /// The name shown.
    pub name: String,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted {
    /// The provider's id of the other message.
    pub provider_message_id: String,
    /// Its words, shortened.
    pub text: String,
}

/// A file at the provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Media {
    /// Where the provider keeps it. Never fetched unless its host is allowed.
    pub url: String,
    /// Its type.
    pub mime_type: String,
    /// Its name.
    pub file_name: String,
    /// What was written under it.
    pub caption: String,
}

/// The life of an outbound message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where it stands.
    pub state: DeliveryState,
    /// Why.
    pub reason: Option<DeliveryReason>,
    /// Claims so far.
    pub attempts: i32,
    /// Which part of its reply, from 1.
    pub part: i32,
    /// Of how many.
    pub parts: i32,
    /// What its parts have in common.
    pub reply: Uuid,
    /// The version of the mode under which it may leave.
    pub version: i64,
    /// Which gate it passes at its claim.
    pub gate: Gate,
    /// Its lane.
    pub lane: Lane,
    /// Not before.
    pub due_at: Time,
    /// How long a person would type it.
    pub typing_ms: i64,
    /// Made once with the row, sent with each POST.
    pub idempotency_key: String,
    /// The claim that holds it, or held it last.
    pub attempt: Option<Attempt>,
    /// Attempts that ended without a clear answer and that nothing has accounted for since. Each may have an echo of its own.
    pub unclear: i32,
    /// When it was owed.
    pub queued_at: Time,
    /// When the provider accepted it.
    pub sent_at: Option<Time>,
    /// When the provider reported that it has left there.
    pub left_at: Option<Time>,
    /// When it arrived.
    pub delivered_at: Option<Time>,
    /// When it was read.
    pub read_at: Option<Time>,
}

words! {
    /// Under which condition a message may leave.
    Gate {
        /// The assistant's: only in AI, and under its version.
        Assistant = "assistant",
        /// The words of a hand-over: in HUMAN too, while the version that the hand-over made is current.
        Farewell = "farewell",
        /// A person's: in either mode.
        Person = "person",
        /// A follow-up: as the assistant's, and only while our side spoke last.
        FollowUp = "follow_up",
    }
}

/// One claim of a message for sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Its id; settling names it.
    pub id: Uuid,
    /// When it was claimed.
    pub at: Time,
    /// After this the fate is unknown.
    pub lease_until: Time,
}

impl Message {
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

    /// Whether it waits for a turn and may start one.
    pub fn waits(&self) -> bool {
        self.turn.is_none()
            && self.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending && inbound.starts_turn)
    }

    /// Whether a reply to it is owed whose first part has not begun to leave: until then it is pending all the same.
    pub fn is_covered(&self) -> bool {
        self.turn.is_some() && self.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending)
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
