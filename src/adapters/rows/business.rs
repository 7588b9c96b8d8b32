//! The rows of what hangs on a conversation: turns, follow-ups, dead letters, parked reports, remembered requests.

use serde_json::Value;
use uuid::Uuid;

use super::{Json, table};
use crate::domain::{
    docket::{Parked, Remembered, Report},
    payload::Payload,
    time::Time,
    turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Purpose, Turn, TurnState},
};

table! {
    /// One run of the assistant.
    TurnRow in "turns" fixed [
        conversation_id, purpose, mode_version, fence, last_seq, is_final, messages, attempt, started_at, model,
    ] of Turn beside conversation_id: Uuid {
        id: Uuid,
        state: TurnState,
        purpose: Purpose,
        mode_version: i64,
        fence: i64,
        last_seq: i64,
        is_final: bool,
        messages: Json<Vec<Uuid>>,
        attempt: i32,
        started_at: Time,
        first_token_at: Option<Time>,
        ended_at: Option<Time>,
        model: String,
        input_tokens: i64,
        output_tokens: i64,
        wasted: bool,
        reason: Option<String>,
    }
}

table! {
    /// One follow-up.
    FollowUpRow in "follow_ups" of FollowUp beside conversation_id: Uuid {
        id: Uuid,
        due_at: Time,
        text: Option<String>,
        instructions: Option<String>,
        created_by: String,
        created_at: Time,
        state: FollowUpState,
        reason: Option<String>,
        attempts: i32,
        message_id as message: Option<Uuid>,
    }
}

table! {
    /// One dead letter.
    LetterRow in "dead_letters" of DeadLetter {
        id: Uuid,
        kind: LetterKind,
        channel: String,
        conversation_id as conversation: Option<Uuid>,
        subject: Option<Uuid>,
        state: LetterState,
        reason: String,
        attempts: i32,
        first_at: Time,
        last_at: Time,
        payload: Payload,
    }
}

table! {
    /// One parked report.
    ParkedRow in "parked" of Parked beside conversation_id: Uuid {
        id: Uuid,
        provider_message_id: String,
        report: Json<Report>,
        at: Time,
    }
}

table! {
    /// What one idempotency key stands for.
    RequestRow in "requests" of Remembered beside conversation_id: Uuid {
        key: String,
        body_hash: String,
        message_id as message: Uuid,
        answer: Json<Value>,
        at: Time,
    }
}
