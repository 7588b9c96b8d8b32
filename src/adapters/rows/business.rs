//! The rows of what hangs on a conversation: turns, follow-ups, dead letters, parked reports, remembered requests.

use serde_json::Value;
use uuid::Uuid;

use super::{Json, Stored, table};
use crate::domain::{
    docket::{Parked, Remembered, Report},
    time::Time,
    turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Purpose, Turn, TurnState},
};

table! {
    /// One run of the assistant.
    TurnRow in "turns" fixed [
        conversation_id, purpose, mode_version, fence, last_seq, is_final, messages, attempt, started_at, model,
    ] {
        id: Uuid,
        conversation_id: Uuid,
        state: TurnState,
        purpose: Purpose,
        mode_version: i64,
        fence: i64,
        last_seq: i64,
        is_final: bool,
        messages: Ids,
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

/// Ids, kept as a JSON list of text.
type Ids = Json<Vec<String>>;

impl TurnRow {
    /// The row of a turn of that conversation.
    pub(crate) fn of(conversation: Uuid, turn: Turn) -> Self {
        Self {
            id: turn.id,
            conversation_id: conversation,
            state: turn.state,
            purpose: turn.purpose,
            mode_version: turn.mode_version,
            fence: turn.fence,
            last_seq: turn.last_seq,
            is_final: turn.is_final,
            messages: Json(turn.messages.iter().map(Uuid::to_string).collect()),
            attempt: turn.attempt,
            started_at: turn.started_at,
            first_token_at: turn.first_token_at,
            ended_at: turn.ended_at,
            model: turn.model,
            input_tokens: turn.input_tokens,
            output_tokens: turn.output_tokens,
            wasted: turn.wasted,
            reason: turn.reason,
        }
    }
}

impl Stored for Turn {
    type Row = TurnRow;

    fn of_row(row: TurnRow) -> Result<Self, sqlx::Error> {
        let messages: Result<Vec<Uuid>, uuid::Error> = row.messages.0.iter().map(|id| id.parse()).collect();
        Ok(Self {
            id: row.id,
            state: row.state,
            purpose: row.purpose,
            mode_version: row.mode_version,
            fence: row.fence,
            last_seq: row.last_seq,
            is_final: row.is_final,
            messages: messages
                .map_err(|e| sqlx::Error::ColumnDecode { index: "messages".to_owned(), source: e.into() })?,
            attempt: row.attempt,
            started_at: row.started_at,
            first_token_at: row.first_token_at,
            ended_at: row.ended_at,
            model: row.model,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            wasted: row.wasted,
            reason: row.reason,
        })
    }
}

table! {
    /// One follow-up.
    FollowUpRow in "follow_ups" {
        id: Uuid,
        conversation_id: Uuid,
        due_at: Time,
        text: Option<String>,
        instructions: Option<String>,
        created_by: String,
        created_at: Time,
        state: FollowUpState,
        reason: Option<String>,
        attempts: i32,
        message_id: Option<Uuid>,
    }
}

impl FollowUpRow {
    /// The row of a follow-up of that conversation.
    pub(crate) fn of(conversation: Uuid, follow_up: FollowUp) -> Self {
        Self {
            id: follow_up.id,
            conversation_id: conversation,
            due_at: follow_up.due_at,
            text: follow_up.text,
            instructions: follow_up.instructions,
            created_by: follow_up.created_by,
            created_at: follow_up.created_at,
            state: follow_up.state,
            reason: follow_up.reason,
            attempts: follow_up.attempts,
            message_id: follow_up.message,
        }
    }
}

impl Stored for FollowUp {
    type Row = FollowUpRow;

    fn of_row(row: FollowUpRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            due_at: row.due_at,
            text: row.text,
            instructions: row.instructions,
            created_by: row.created_by,
            created_at: row.created_at,
            state: row.state,
            reason: row.reason,
            attempts: row.attempts,
            message: row.message_id,
        })
    }
}

table! {
    /// One dead letter.
    LetterRow in "dead_letters" {
        id: Uuid,
        kind: LetterKind,
        channel: String,
        conversation_id: Option<Uuid>,
        subject: Option<Uuid>,
        state: LetterState,
        reason: String,
        attempts: i32,
        first_at: Time,
        last_at: Time,
        payload: Json<Value>,
    }
}

impl LetterRow {
    /// The row of a dead letter.
    pub(crate) fn of(letter: DeadLetter) -> Self {
        Self {
            id: letter.id,
            kind: letter.kind,
            channel: letter.channel,
            conversation_id: letter.conversation,
            subject: letter.subject,
            state: letter.state,
            reason: letter.reason,
            attempts: letter.attempts,
            first_at: letter.first_at,
            last_at: letter.last_at,
            payload: Json(letter.payload),
        }
    }
}

impl Stored for DeadLetter {
    type Row = LetterRow;

    fn of_row(row: LetterRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            kind: row.kind,
            channel: row.channel,
            conversation: row.conversation_id,
            subject: row.subject,
            state: row.state,
            reason: row.reason,
            attempts: row.attempts,
            first_at: row.first_at,
            last_at: row.last_at,
            payload: row.payload.0,
        })
    }
}

table! {
    /// One parked report.
    ParkedRow in "parked" {
        id: Uuid,
        conversation_id: Uuid,
        provider_message_id: String,
        report: Json<Report>,
        at: Time,
    }
}

impl ParkedRow {
    /// The row of a report about that conversation.
    pub(crate) fn of(conversation: Uuid, parked: Parked) -> Self {
        Self {
            id: parked.id,
            conversation_id: conversation,
            provider_message_id: parked.provider_message_id,
            report: Json(parked.report),
            at: parked.at,
        }
    }
}

impl Stored for Parked {
    type Row = ParkedRow;

    fn of_row(row: ParkedRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.id,
            provider_message_id: row.provider_message_id,
            report: row.report.0,
            at: row.at,
        })
    }
}

table! {
    /// What one idempotency key stands for.
    RequestRow in "requests" {
        key: String,
        conversation_id: Uuid,
        body_hash: String,
        message_id: Uuid,
        answer: Json<Value>,
        at: Time,
    }
}

impl RequestRow {
    /// The row of a request about that conversation.
    pub(crate) fn of(conversation: Uuid, remembered: Remembered) -> Self {
        Self {
            key: remembered.key,
            conversation_id: conversation,
            body_hash: remembered.body_hash,
            message_id: remembered.message,
            answer: Json(remembered.answer),
            at: remembered.at,
        }
    }
}

impl Stored for Remembered {
    type Row = RequestRow;

    fn of_row(row: RequestRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            key: row.key,
            body_hash: row.body_hash,
            message: row.message_id,
            answer: row.answer.0,
            at: row.at,
        })
    }
}
