//! The rows of labels, and of what they are on. The name without its case is the statements' own business.

use uuid::Uuid;

use super::table;
use crate::domain::{label::Label, time::Time};

table! {
    /// One label.
    LabelRow in "labels" of Label {
        id: Uuid,
        name: String,
        colour: Option<String>,
        description: Option<String>,
        created_at: Time,
    }
}

table! {
    /// One label on one conversation.
    LabelledRow in "conversation_labels" {
        conversation_id: Uuid,
        label_id: Uuid,
    }
}
