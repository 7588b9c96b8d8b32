//! The row of a message: what both directions share, then what only one of them has.

use uuid::Uuid;

use super::{Json, Kept as _, Stored, required, table};
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
        sender: Option<Json<Sender>>,
        agent: Option<Uuid>,
        quoted: Option<Json<Quoted>>,
        media: Option<Json<Media>>,
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
            sender: message.sender.map(Json),
            agent: message.agent,
            quoted: message.quoted.map(Json),
            media: message.media.map(Json),
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
            sender: row.sender.give(),
            agent: row.agent,
            quoted: row.quoted.give(),
            media: row.media.give(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wrote_what_is_quoted_and_a_file_are_kept_in_the_words_of_every_version() {
        let sender = Sender { id: "1@c.us".to_owned(), name: "Mei".to_owned() };
        let quoted = Quoted { provider_message_id: "q".to_owned(), text: "Hi".to_owned() };
        let bare = Media { url: "https://x".to_owned(), ..Media::default() };
        let transcript = "Hello".to_owned();
        let full = Media { transcript, size: Some(7), is_kept: true, is_too_large: true, ..bare.clone() };
        let written = [
            serde_json::to_string(&sender),
            serde_json::to_string(&quoted),
            serde_json::to_string(&bare),
            serde_json::to_string(&full),
        ];
        let written = written.map(|json| json.expect("JSON"));
        let file = r#"{"url":"https://x","mime_type":"","file_name":"","caption":"""#;
        assert_eq!(written[0], r#"{"id":"1@c.us","name":"Mei"}"#);
        assert_eq!(written[1], r#"{"provider_message_id":"q","text":"Hi"}"#);
        assert_eq!(written[2], format!("{file}}}"));
        let more = r#""transcript":"Hello","size":7,"is_kept":true,"is_too_large":true"#;
        assert_eq!(written[3], format!("{file},{more}}}"));
        let read = |json: &str| serde_json::from_str::<Media>(json).expect("a file");
        assert_eq!((read(&written[2]), read(&written[3])), (bare.clone(), full));
        assert_eq!(read(r#"{"url":"https://x","later":1}"#), bare, "with less, or with more");
    }
}
