//! The life of a message that we send: where it stands, under which condition it may leave, and its attempts.

use uuid::Uuid;

use crate::domain::{lane::Lane, time::Time, words::words};

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

    /// Whether the provider has taken it, however far it has got from there.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Sent | Self::Delivered | Self::Read)
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
        /// It was owed in a backup that was restored since: it may have left meanwhile.
        Restored = "restored",
    }
}

/// The life of an outbound message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The state of the delivery.
    pub state: DeliveryState,
    /// Why it is in that state.
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

impl Delivery {
    /// When the provider accepted it, of which somebody learns only now; `left` is what they say of the moment. Its answer
    /// says so at once; of an attempt that nobody answered it is its beginning, and not the moment at which that is settled.
    pub fn accepted_at(&self, left: Option<Time>, now: Time) -> Time {
        let Some(attempt) = self.attempt.filter(|_| self.state != DeliveryState::Sending) else { return now };
        // Of several attempts that nothing accounts for, any may have been accepted.
        let is_of_last =
            self.unclear == 1 && matches!(self.state, DeliveryState::Unknown | DeliveryState::Queued);
        let earliest = if is_of_last { attempt.at } else { self.queued_at };
        // It was accepted, and reported as failed afterwards.
        let known = self.sent_at.filter(|_| self.state == DeliveryState::Failed);
        left.or(known).unwrap_or(attempt.at).max(earliest).min(now)
    }
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

/// Of two who ask for the time at once, one may have looked at the clock this much before the other.
const APART_MS: i64 = 60_000;

impl Attempt {
    /// Whether nobody settles it any more at that moment. One that was claimed later than then was claimed before the clock was
    /// set back.
    pub const fn is_over(&self, now: Time) -> bool {
        self.lease_until.since(now) <= 0 || self.at.since(now) > APART_MS
    }
}
