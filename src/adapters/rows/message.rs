//! The row of a message: what both directions share, then what only one of them has.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Json, Stored, required, table};
use crate::domain::{
    lane::Lane,
    message::{
        Attempt, Author, Delivery, DeliveryReason, DeliveryState, Gate, Inbound, Kind, Media, Message,
        Origin, Outcome, OutcomeReason, Quoted, Sender,
    },
    time::Time,
};

table! {
    /// One message.
    MessageRow in "messages" fixed [
        conversation_id, channel, seq, author, origin, sender, quoted, at, part, parts, reply_id, typing_ms, idempotency_key, queued_at,
    ] {
        id: Uuid,
        conversation_id: Uuid,
        channel: String,
        seq: i64,
        author: Author,
        origin: Origin,
        kind: Kind,
        text: String,
        sender: Option<Json<SenderJson>>,
        agent: Option<Uuid>,
        quoted: Option<Json<QuotedJson>>,
        media: Option<Json<MediaJson>>,
        provider_message_id: Option<String>,
        key: Option<String>,
        at: Time,
        provider_at: Option<Time>,
        edited_at: Option<Time>,
        deleted_at: Option<Time>,
        turn_id: Option<Uuid>,
        outcome: Option<Outcome>,
        outcome_reason: Option<OutcomeReason>,
        starts_turn: Option<bool>,
        state: Option<DeliveryState>,
        reason: Option<DeliveryReason>,
        attempts: Option<i32>,
        part: Option<i32>,
        parts: Option<i32>,
        reply_id: Option<Uuid>,
        mode_version: Option<i64>,
        gate: Option<Gate>,
        lane: Option<Lane>,
        due_at: Option<Time>,
        typing_ms: Option<i64>,
        idempotency_key: Option<String>,
        attempt_id: Option<Uuid>,
        attempt_at: Option<Time>,
        lease_until: Option<Time>,
        unclear: Option<i32>,
        queued_at: Option<Time>,
        sent_at: Option<Time>,
        left_at: Option<Time>,
        delivered_at: Option<Time>,
        read_at: Option<Time>,
        open: bool,
    }
}

/// Who wrote it, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SenderJson {
    id: String,
    name: String,
}

/// What it answers, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuotedJson {
    provider_message_id: String,
    text: String,
}

/// The file, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct MediaJson {
    url: String,
    mime_type: String,
    file_name: String,
    caption: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    transcript: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_kept: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_too_large: bool,
}

impl MessageRow {
    /// The row of a message of that conversation on that channel.
    pub(crate) fn of(conversation: Uuid, channel: &str, message: Message) -> Self {
        let open = message.is_open();
        let inbound = message.inbound;
        let delivery = message.delivery.as_ref();
        let attempt = delivery.and_then(|delivery| delivery.attempt);
        Self {
            id: message.id,
            conversation_id: conversation,
            channel: channel.to_owned(),
            seq: message.seq,
            author: message.author,
            origin: message.origin,
            kind: message.kind,
            text: message.text,
            sender: message.sender.map(|Sender { id, name }| Json(SenderJson { id, name })),
            agent: message.agent,
            quoted: message
                .quoted
                .map(|Quoted { provider_message_id, text }| Json(QuotedJson { provider_message_id, text })),
            media: message.media.map(
                |Media { url, mime_type, file_name, caption, transcript, size, is_kept, is_too_large }| {
                    Json(MediaJson {
                        url,
                        mime_type,
                        file_name,
                        caption,
                        transcript,
                        size,
                        is_kept,
                        is_too_large,
                    })
                },
            ),
            provider_message_id: message.provider_message_id,
            key: message.key,
            at: message.at,
            provider_at: message.provider_at,
            edited_at: message.edited_at,
            deleted_at: message.deleted_at,
            turn_id: message.turn,
            outcome: inbound.map(|inbound| inbound.outcome),
            outcome_reason: inbound.and_then(|inbound| inbound.reason),
            starts_turn: inbound.map(|inbound| inbound.starts_turn),
            state: delivery.map(|delivery| delivery.state),
            reason: delivery.and_then(|delivery| delivery.reason),
            attempts: delivery.map(|delivery| delivery.attempts),
            part: delivery.map(|delivery| delivery.part),
            parts: delivery.map(|delivery| delivery.parts),
            reply_id: delivery.map(|delivery| delivery.reply),
            mode_version: delivery.map(|delivery| delivery.version),
            gate: delivery.map(|delivery| delivery.gate),
            lane: delivery.map(|delivery| delivery.lane),
            due_at: delivery.map(|delivery| delivery.due_at),
            typing_ms: delivery.map(|delivery| delivery.typing_ms),
            idempotency_key: delivery.map(|delivery| delivery.idempotency_key.clone()),
            attempt_id: attempt.map(|attempt| attempt.id),
            attempt_at: attempt.map(|attempt| attempt.at),
            lease_until: attempt.map(|attempt| attempt.lease_until),
            unclear: delivery.map(|delivery| delivery.unclear),
            queued_at: delivery.map(|delivery| delivery.queued_at),
            sent_at: delivery.and_then(|delivery| delivery.sent_at),
            left_at: delivery.and_then(|delivery| delivery.left_at),
            delivered_at: delivery.and_then(|delivery| delivery.delivered_at),
            read_at: delivery.and_then(|delivery| delivery.read_at),
            open,
        }
    }

    fn inbound(&self) -> Result<Option<Inbound>, sqlx::Error> {
        let Some(outcome) = self.outcome else { return Ok(None) };
        let starts_turn = required(self.starts_turn, "starts_turn")?;
        Ok(Some(Inbound { outcome, reason: self.outcome_reason, starts_turn }))
    }

    fn attempt(&self) -> Result<Option<Attempt>, sqlx::Error> {
        let Some(id) = self.attempt_id else { return Ok(None) };
        let at = required(self.attempt_at, "attempt_at")?;
        Ok(Some(Attempt { id, at, lease_until: required(self.lease_until, "lease_until")? }))
    }

    fn delivery(&mut self) -> Result<Option<Delivery>, sqlx::Error> {
        let Some(state) = self.state else { return Ok(None) };
        Ok(Some(Delivery {
            state,
            reason: self.reason,
            attempts: required(self.attempts, "attempts")?,
            part: required(self.part, "part")?,
            parts: required(self.parts, "parts")?,
            reply: required(self.reply_id, "reply_id")?,
            version: required(self.mode_version, "mode_version")?,
            gate: required(self.gate, "gate")?,
            lane: required(self.lane, "lane")?,
            due_at: required(self.due_at, "due_at")?,
            typing_ms: required(self.typing_ms, "typing_ms")?,
            idempotency_key: required(self.idempotency_key.take(), "idempotency_key")?,
            attempt: self.attempt()?,
            unclear: required(self.unclear, "unclear")?,
            queued_at: required(self.queued_at, "queued_at")?,
            sent_at: self.sent_at,
            left_at: self.left_at,
            delivered_at: self.delivered_at,
            read_at: self.read_at,
        }))
    }
}

impl Stored for Message {
    type Row = MessageRow;

    fn of_row(mut row: MessageRow) -> Result<Self, sqlx::Error> {
        let inbound = row.inbound()?;
        let delivery = row.delivery()?;
        Ok(Self {
            id: row.id,
            seq: row.seq,
            author: row.author,
            origin: row.origin,
            kind: row.kind,
            text: row.text,
            sender: row.sender.map(|Json(SenderJson { id, name })| Sender { id, name }),
            agent: row.agent,
            quoted: row
                .quoted
                .map(|Json(QuotedJson { provider_message_id, text })| Quoted { provider_message_id, text }),
            media: row.media.map(
                |Json(MediaJson {
                     url,
                     mime_type,
                     file_name,
                     caption,
                     transcript,
                     size,
                     is_kept,
                     is_too_large,
                 })| Media {
                    url,
                    mime_type,
                    file_name,
                    caption,
                    transcript,
                    size,
                    is_kept,
                    is_too_large,
                },
            ),
            provider_message_id: row.provider_message_id,
            key: row.key,
            at: row.at,
            provider_at: row.provider_at,
            edited_at: row.edited_at,
            deleted_at: row.deleted_at,
            turn: row.turn_id,
            inbound,
            delivery,
        })
    }
}
