//! An event, in lists and in the live feed.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{At, Conversation, EventWord, Id, Message, basic::Word};
use crate::{domain::event::CHANNELS, flow::archive::Recorded};

/// What happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Event {
    /// Opaque and resumable.
    id: String,
    at: At,
    channel: Option<String>,
    conversation_id: Option<Id>,
    /// Its place among the events of its conversation.
    conv_seq: Option<i64>,
    message_id: Option<Id>,
    turn_id: Option<Id>,
    mode_version: Option<i64>,
    /// By whom.
    actor: String,
    r#type: EventWord,
    /// What was done about it.
    action: Option<String>,
    details: Map<String, Value>,
    /// With `include=conversation`: the conversation as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<Option<Conversation>>,
    /// With `include=message`: the message as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Option<Message>>,
}

impl From<&Recorded> for Event {
    fn from(recorded: &Recorded) -> Self {
        let event = &recorded.event;
        let mut details = event.details.clone();
        if event.kind.concerns_every_channel() {
            // Whoever sees one of them is told, and may not know of the others.
            details.remove(CHANNELS);
        }
        Self {
            id: recorded.id.clone(),
            at: At(event.at),
            channel: (!event.channel.is_empty()).then(|| event.channel.clone()),
            conversation_id: event.conversation.map(Id),
            conv_seq: event.conv_seq,
            message_id: event.message.map(Id),
            turn_id: event.turn.map(Id),
            mode_version: event.mode_version,
            actor: event.actor.clone(),
            r#type: Word(event.kind),
            action: event.action.as_deref().map(str::to_owned),
            details,
            conversation: None,
            message: None,
        }
    }
}
