//! What makes a webhook once only. In: channel and body. Out: 64 hexadecimal digits, the same for every copy.

use execution::deduplicate_webhook::Webhook;
use serde_json::Value;

use super::{
    content,
    part::{Part, strip_nul},
};
use crate::domain::chat::ChatId;

/// The fingerprint of a webhook body as it lies in a file; None if it is not JSON.
pub fn fingerprint_of(channel: &str, body: &[u8]) -> Option<String> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    strip_nul(&mut value);
    Some(fingerprint(channel, Part::of(&value)))
}

/// The same of a body that was read already.
pub(super) fn fingerprint(channel: &str, webhook: Part<'_>) -> String {
    let type_webhook = webhook.text("typeWebhook");
    let chat_id = &*chat_of(webhook);
    let message = webhook.part("messageData");
    let made_of = match message_id(webhook) {
        "" => Webhook::WithoutId {
            channel,
            type_webhook,
            chat_id,
            timestamp: webhook.integer("timestamp").unwrap_or(0),
            message_type: message.text("typeMessage"),
            text: content::words(message),
        },
        message_id => {
            Webhook::WithId { channel, type_webhook, chat_id, message_id, status: webhook.text("status") }
        }
    };
    made_of.fingerprint()
}

/// The provider's id of the message that a webhook is about, in either spelling; empty if there is none.
pub(super) fn message_id(webhook: Part<'_>) -> &str {
    webhook.first_text(&["idMessage", "messageID"]).trim()
}

/// The chat in its clean form, so that a copy that spells it otherwise is still a copy.
fn chat_of(webhook: Part<'_>) -> String {
    let raw = match webhook.part("senderData").text("chatId") {
        "" => webhook.first_text(&["chatId", "from"]),
        raw => raw,
    };
    ChatId::parse(raw).map_or_else(|| raw.to_owned(), |chat| chat.to_string())
}

#[cfg(test)]
mod tests {
    use execution::deduplicate_webhook::fingerprint as digest;
    use serde_json::json;

    use super::*;

    fn of(body: &Value) -> String {
        fingerprint_of("default", body.to_string().as_bytes()).expect("it is JSON")
    }

    fn text(id: Option<&str>, at: i64, words: &str) -> Value {
        json!({"typeWebhook": "incomingMessageReceived", "timestamp": at, "idMessage": id,
               "senderData": {"chatId": "6580000001@c.us"},
               "messageData": {"typeMessage": "textMessage", "textMessageData": {"textMessage": words}}})
    }

    #[test]
    fn with_an_id_only_the_id_counts() {
        let one = of(&text(Some("A1"), 1, "hello"));
        assert_eq!(
            one,
            digest(&["baton1", "default", "incomingMessageReceived", "6580000001@c.us", "A1", ""])
        );
        assert_eq!(one, of(&text(Some("A1"), 2, "with a better link")));
        assert_ne!(one, of(&text(Some("A2"), 1, "hello")));
    }

    #[test]
    fn without_an_id_moment_kind_and_words_count() {
        let one = of(&text(None, 1, "hello"));
        assert_eq!(one, of(&text(Some(" "), 1, "hello")));
        assert_ne!(one, of(&text(None, 2, "hello")));
        assert_ne!(one, of(&text(None, 1, "hello!")));
    }

    #[test]
    fn each_status_of_a_message_is_another_event() {
        let status = |word| json!({"typeWebhook": "outgoingMessageStatus", "chatId": "6580000001:3@c.us", "idMessage": "B", "status": word});
        assert_ne!(of(&status("sent")), of(&status("read")));
        let clean = digest(&["baton1", "default", "outgoingMessageStatus", "6580000001@c.us", "B", "read"]);
        assert_eq!(of(&status("read")), clean);
        assert_eq!(fingerprint_of("default", b"{"), None);
    }
}
