//! Labels and canned replies.

use serde::Serialize;
use utoipa::ToSchema;

use super::Id;
use crate::domain::{canned_reply, label};

/// A word that people put on conversations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Label {
    name: String,
    /// `#rrggbb`.
    colour: Option<String>,
    /// What it is for.
    description: Option<String>,
}

impl From<label::Label> for Label {
    fn from(label: label::Label) -> Self {
        Self { name: label.name, colour: label.colour, description: label.description }
    }
}

/// A reply kept at hand. The client that shows it fills in its variables.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CannedReply {
    id: Id,
    /// By which it is called.
    shortcut: String,
    /// With variables, such as `{{contact.name|"there"}}`.
    text: String,
    /// On which channels; null: on all.
    channels: Option<Vec<String>>,
    /// The agent whose own it is; null: it is shared.
    owner: Option<Id>,
}

impl From<canned_reply::CannedReply> for CannedReply {
    fn from(reply: canned_reply::CannedReply) -> Self {
        Self {
            id: Id(reply.id),
            shortcut: reply.shortcut,
            text: reply.text,
            channels: reply.channels,
            owner: reply.owner.map(Id),
        }
    }
}
