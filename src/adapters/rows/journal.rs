//! The row of an event. The journal's own columns (id, transaction) are the store's and are not listed here.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Json, table};
use crate::domain::{
    event::{Event, EventType},
    time::Time,
};

table! {
    /// One event.
    EventRow in "events" of Event {
        at: Time,
        channel: String,
        conversation_id as conversation: Option<Uuid>,
        conv_seq: Option<i64>,
        message_id as message: Option<Uuid>,
        turn_id as turn: Option<Uuid>,
        mode_version: Option<i64>,
        actor: String,
        kind: EventType,
        action: Option<String>,
        details: Json<Map<String, Value>>,
    }
}
