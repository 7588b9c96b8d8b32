//! Webhook bodies, as Green API posts them.

use serde_json::{Value, json};

use super::gateway::{channel_of, chat_of, instance_of, seconds};

/// A contact writes.
pub(super) fn incoming(contact: usize, id: &str, text: &str) -> String {
    let message = json!({ "typeMessage": "textMessage", "textMessageData": { "textMessage": text } });
    message_of(contact, "incomingMessageReceived", id, &message)
}

/// A message that left through the API comes back.
pub(super) fn echo(contact: usize, id: &str, text: &str) -> String {
    let message =
        json!({ "typeMessage": "extendedTextMessage", "extendedTextMessageData": { "text": text } });
    message_of(contact, "outgoingAPIMessageReceived", id, &message)
}

/// How far a message of ours got.
pub(super) fn status(contact: usize, id: &str, word: &str) -> String {
    json!({ "typeWebhook": "outgoingMessageStatus", "instanceData": account(contact), "timestamp": seconds(),
        "idMessage": id, "chatId": chat_of(contact), "status": word, "sendByApi": true })
    .to_string()
}

fn message_of(contact: usize, kind: &str, id: &str, message: &Value) -> String {
    let chat = chat_of(contact);
    json!({ "typeWebhook": kind, "instanceData": account(contact), "timestamp": seconds(), "idMessage": id,
        "senderData": { "chatId": chat, "sender": chat, "senderName": "" }, "messageData": message })
    .to_string()
}

fn account(contact: usize) -> Value {
    json!({ "idInstance": instance_of(channel_of(contact)), "wid": "6590000000@c.us", "typeInstance": "whatsapp" })
}
