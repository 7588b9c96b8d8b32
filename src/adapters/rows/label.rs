//! The rows of labels, and of what they are on. The name without its case is the statements' own business.

use uuid::Uuid;

use super::{Stored, table};
use crate::domain::{label::Label, time::Time};

table! {
    /// One label.
    LabelRow in "labels" {
        id: Uuid,
        name: String,
        colour: Option<String>,
        description: Option<String>,
        created_at: Time,
    }
}

impl Stored for Label {
    type Row = LabelRow;

    fn of_row(row: LabelRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            name: row.name,
            colour: row.colour,
            description: row.description,
            created_at: row.created_at,
        })
    }
}

table! {
    /// One label on one conversation.
    LabelledRow in "conversation_labels" {
        conversation_id: Uuid,
        label_id: Uuid,
    }
}
