//! Runs of the assistant, follow-ups, and what was given up.

use uuid::Uuid;

use super::{payload::Payload, time::Time, words::words};

words! {
    /// Where a run of the assistant stands.
    TurnState {
        /// Working.
        Generating = "generating",
        /// Its reply was committed.
        Completed = "completed",
        /// A person or a closing stopped it.
        Cancelled = "cancelled",
        /// A newer message made it start again.
        Superseded = "superseded",
        /// It failed.
        Failed = "failed",
    }
}

words! {
    /// What a run of the assistant is for.
    #[derive(Default)]
    Purpose {
        /// To answer the contact.
        #[default]
        Reply = "reply",
        /// To write a follow-up.
        FollowUp = "follow_up",
        /// To write a draft: nothing of it is owed to the contact.
        Draft = "draft",
    }
}

/// One run of the assistant over the messages waiting.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Ours.
    pub id: Uuid,
    /// The state of the turn.
    pub state: TurnState,
    /// What it is for.
    pub purpose: Purpose,
    /// The version of the mode it began under.
    pub mode_version: i64,
    /// Its fence.
    pub fence: i64,
    /// The newest message of the contact it has read.
    pub last_seq: i64,
    /// The last one allowed: a newer message no longer restarts it.
    pub is_final: bool,
    /// What it answers.
    pub messages: Vec<Uuid>,
    /// Which attempt at these messages it is, from 1.
    pub attempt: i32,
    /// When it began.
    pub started_at: Time,
    /// When the first word came.
    pub first_token_at: Option<Time>,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// The model.
    pub model: String,
    /// Tokens read, as the model counts.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Nothing of it was sent.
    pub wasted: bool,
    /// Why it ended so.
    pub reason: Option<String>,
}

words! {
    /// Where a follow-up stands.
    FollowUpState {
        /// Waits for its time.
        Pending = "pending",
        /// Its message is owed or gone.
        Sent = "sent",
        /// Called off.
        Cancelled = "cancelled",
        /// Held back for good.
        Withheld = "withheld",
    }
}

/// A message that our side will send if the contact stays silent.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowUp {
    /// Ours.
    pub id: Uuid,
    /// When it is due.
    pub due_at: Time,
    /// Its words, if they are known.
    pub text: Option<String>,
    /// What the assistant should write, if not.
    pub instructions: Option<String>,
    /// Who scheduled it.
    pub created_by: String,
    /// When it was scheduled.
    pub created_at: Time,
    /// The state of the follow-up.
    pub state: FollowUpState,
    /// Why it ended so.
    pub reason: Option<String>,
    /// Failed attempts at writing it.
    pub attempts: i32,
    /// The message that carried it.
    pub message: Option<Uuid>,
}

words! {
    /// What was given up.
    LetterKind {
        /// A webhook that cannot be read.
        Webhook = "webhook",
        /// A turn that failed for good.
        Turn = "turn",
        /// A message that was not sent.
        Send = "send",
        /// An outgoing webhook.
        Delivery = "delivery",
    }
}

words! {
    /// Where a dead letter stands.
    LetterState {
        /// Waits for a person.
        Open = "open",
        /// Was tried again.
        Replayed = "replayed",
        /// A person discarded it.
        Discarded = "discarded",
    }
}

/// What the machine gave up, kept for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// Ours.
    pub id: Uuid,
    /// What was given up.
    pub kind: LetterKind,
    /// The channel it belongs to.
    pub channel: String,
    /// The conversation it belongs to, if any.
    pub conversation: Option<Uuid>,
    /// Which message or turn; None for a webhook.
    pub subject: Option<Uuid>,
    /// Whether somebody has decided about it.
    pub state: LetterState,
    /// Why it was given up.
    pub reason: String,
    /// Attempts made.
    pub attempts: i32,
    /// When it was first given up.
    pub first_at: Time,
    /// When it failed last.
    pub last_at: Time,
    /// What it holds: for a turn the messages, for a send the text, for a webhook the body.
    pub payload: Payload,
}
