//! What a store lends out: a conversation as it stands in the database, as far as the steps need it.

use super::{ChannelStanding, Parked, Remembered};
use crate::domain::{
    conversation::Conversation,
    draft::Draft,
    label::Label,
    message::Message,
    turn::{DeadLetter, FollowUp, Turn},
};

/// What a store knows of a conversation when it has locked it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The facts.
    pub conversation: Conversation,
    /// The facts are not in the store yet: this conversation begins now.
    pub is_new: bool,
    /// Open messages, those that the step asked for, and perhaps more; by sequence number.
    pub messages: Vec<Message>,
    /// Every message with a higher number is among them.
    pub complete_after: i64,
    /// The pending follow-up.
    pub follow_up: Option<FollowUp>,
    /// The turn that holds the lease, and the one that the step asked for.
    pub turns: Vec<Turn>,
    /// Open dead letters of the conversation, and the one that the step asked for.
    pub letters: Vec<DeadLetter>,
    /// The fresh draft, and the one that the step asked for.
    pub drafts: Vec<Draft>,
    /// What the provider reported before we could tell what it is about.
    pub parked: Vec<Parked>,
    /// The channel's standing.
    pub channel: Option<ChannelStanding>,
    /// The labels of the conversation, if the step asked for them.
    pub labels: Vec<Label>,
    /// An earlier request with the same key.
    pub remembered: Option<Remembered>,
}

impl Loaded {
    /// A conversation of which nothing more is known.
    pub const fn of(conversation: Conversation) -> Self {
        Self {
            complete_after: conversation.seq,
            conversation,
            is_new: false,
            messages: Vec::new(),
            follow_up: None,
            turns: Vec::new(),
            letters: Vec::new(),
            drafts: Vec::new(),
            parked: Vec::new(),
            channel: None,
            labels: Vec::new(),
            remembered: None,
        }
    }
}
