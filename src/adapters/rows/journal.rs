//! The row of an event. The journal's own columns (id, transaction) are the store's and are not listed here.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Json, Stored, table};
use crate::domain::{
    event::{Event, EventType},
    time::Time,
};

table! {
    /// One event.
    EventRow in "events" {
        at: Time,
        channel: String,
        conversation_id: Option<Uuid>,
        conv_seq: Option<i64>,
        message_id: Option<Uuid>,
        turn_id: Option<Uuid>,
        mode_version: Option<i64>,
        actor: String,
        kind: EventType,
        action: Option<String>,
        details: Json<Map<String, Value>>,
    }
}

impl EventRow {
    /// The row of an event.
    pub(crate) fn of(event: Event) -> Self {
        Self {
            at: event.at,
            channel: event.channel,
            conversation_id: event.conversation,
            conv_seq: event.conv_seq,
            message_id: event.message,
            turn_id: event.turn,
            mode_version: event.mode_version,
            actor: event.actor,
            kind: event.kind,
            action: event.action.map(Into::into),
            details: Json(event.details),
        }
    }
}

impl Stored for Event {
    type Row = EventRow;

    fn of_row(row: EventRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            at: row.at,
            channel: row.channel,
            conversation: row.conversation_id,
            conv_seq: row.conv_seq,
            message: row.message_id,
            turn: row.turn_id,
            mode_version: row.mode_version,
            actor: row.actor,
            kind: row.kind,
            action: row.action.map(Into::into),
            details: row.details.0,
        })
    }
}
