//! Webhook bodies, as Green API posts them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// One chat on one account.
pub(crate) struct Chat {
    /// The number of the account.
    pub(crate) account: usize,
    /// Its id.
    pub(crate) id: String,
}

/// Now, in seconds of the world.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A contact writes.
pub(crate) fn incoming(chat: &Chat, id: &str, text: &str) -> String {
    let message = json!({ "typeMessage": "textMessage", "textMessageData": { "textMessage": text } });
    message_of(chat, "incomingMessageReceived", id, &message)
}

/// A message that left through the API comes back.
pub(crate) fn echo(chat: &Chat, id: &str, text: &str) -> String {
    let message =
        json!({ "typeMessage": "extendedTextMessage", "extendedTextMessageData": { "text": text } });
    message_of(chat, "outgoingAPIMessageReceived", id, &message)
}

/// How far a message of ours got.
pub(crate) fn status(chat: &Chat, id: &str, word: &str) -> String {
    json!({ "typeWebhook": "outgoingMessageStatus", "instanceData": account(chat), "timestamp": seconds(),
        "idMessage": id, "chatId": chat.id, "status": word, "sendByApi": true })
    .to_string()
}

/// A message that left, as the journal has it.
pub(crate) fn journal_entry(chat_id: &str, id: &str, text: &str, at_seconds: u64) -> Value {
    json!({ "type": "outgoing", "idMessage": id, "timestamp": at_seconds, "chatId": chat_id,
        "typeMessage": "extendedTextMessage", "textMessage": text, "extendedTextMessage": { "text": text },
        "statusMessage": "sent", "sendByApi": true })
}

fn message_of(chat: &Chat, kind: &str, id: &str, message: &Value) -> String {
    json!({ "typeWebhook": kind, "instanceData": account(chat), "timestamp": seconds(), "idMessage": id,
        "senderData": { "chatId": chat.id, "sender": chat.id, "senderName": "" }, "messageData": message })
    .to_string()
}

fn account(chat: &Chat) -> Value {
    json!({ "idInstance": chat.account, "wid": "6590000000@c.us", "typeInstance": "whatsapp" })
}
