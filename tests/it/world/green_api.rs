//! Webhook bodies as Green API posts them.

use serde_json::{Value, json};

use super::gateway::INSTANCE;

fn body(kind: &str, chat: &str, id: &str, at_seconds: i64, message: &Value) -> Value {
    json!({
        "typeWebhook": kind,
        "instanceData": { "idInstance": INSTANCE, "wid": "6590000000@c.us", "typeInstance": "whatsapp" },
        "timestamp": at_seconds,
        "idMessage": id,
        "senderData": { "chatId": chat, "sender": chat, "senderName": "" },
        "messageData": message,
    })
}

fn text_message(text: &str) -> Value {
    json!({ "typeMessage": "textMessage", "textMessageData": { "textMessage": text } })
}

/// The contact writes.
pub(crate) fn incoming(chat: &str, id: &str, at_seconds: i64, text: &str) -> Value {
    body("incomingMessageReceived", chat, id, at_seconds, &text_message(text))
}

/// The contact sends a picture, which the provider keeps there.
pub(crate) fn picture(chat: &str, id: &str, at_seconds: i64, url: &str) -> Value {
    picture_saying(chat, id, at_seconds, url, "")
}

/// The same with words under it.
pub(crate) fn picture_saying(chat: &str, id: &str, at_seconds: i64, url: &str, caption: &str) -> Value {
    let file =
        json!({ "downloadUrl": url, "caption": caption, "fileName": "condo.jpg", "mimeType": "image/jpeg" });
    let message = json!({ "typeMessage": "imageMessage", "fileMessageData": file });
    body("incomingMessageReceived", chat, id, at_seconds, &message)
}

/// The contact sends a voice note, which the provider keeps there.
pub(crate) fn voice_note(chat: &str, id: &str, at_seconds: i64, url: &str) -> Value {
    let file =
        json!({ "downloadUrl": url, "caption": "", "fileName": "", "mimeType": "audio/ogg; codecs=opus" });
    let message = json!({ "typeMessage": "audioMessage", "fileMessageData": file });
    body("incomingMessageReceived", chat, id, at_seconds, &message)
}

/// The contact edits a message.
pub(crate) fn edited(chat: &str, of: &str, at_seconds: i64, text: &str) -> Value {
    let edit = json!({ "typeMessage": "editedMessage", "editedMessageData": { "textMessage": text, "stanzaId": of } });
    body("incomingMessageReceived", chat, &format!("EDIT-{of}"), at_seconds, &edit)
}

/// The contact deletes a message.
pub(crate) fn deleted(chat: &str, of: &str, at_seconds: i64) -> Value {
    let deletion = json!({ "typeMessage": "deletedMessage", "deletedMessageData": { "stanzaId": of } });
    body("incomingMessageReceived", chat, &format!("DELETE-{of}"), at_seconds, &deletion)
}

/// A person of the business writes on the phone itself.
pub(crate) fn by_phone(chat: &str, id: &str, at_seconds: i64, text: &str) -> Value {
    body("outgoingMessageReceived", chat, id, at_seconds, &text_message(text))
}

/// A person of the business reacts to a message on the phone itself.
pub(crate) fn phone_reacts(chat: &str, id: &str, at_seconds: i64, to: &str, emoji: &str) -> Value {
    let message = json!({
        "typeMessage": "reactionMessage", "extendedTextMessageData": { "text": emoji },
        "quotedMessage": { "stanzaId": to, "participant": chat },
    });
    body("outgoingMessageReceived", chat, id, at_seconds, &message)
}

/// A person of the business calls the contact on the phone itself.
pub(crate) fn phone_calls(chat: &str, id: &str, at_seconds: i64, status: &str) -> Value {
    json!({
        "typeWebhook": "outgoingCall",
        "instanceData": { "idInstance": INSTANCE, "wid": "6590000000@c.us", "typeInstance": "whatsapp" },
        "timestamp": at_seconds,
        "idMessage": id,
        "from": chat,
        "status": status,
    })
}

/// A message that left through the API comes back.
pub(crate) fn echo(chat: &str, id: &str, at_seconds: i64, text: &str) -> Value {
    let message =
        json!({ "typeMessage": "extendedTextMessage", "extendedTextMessageData": { "text": text } });
    body("outgoingAPIMessageReceived", chat, id, at_seconds, &message)
}

/// A picture that left through the API comes back.
pub(crate) fn file_echo(chat: &str, id: &str, at_seconds: i64, name: &str, caption: &str) -> Value {
    let file = json!({
        "downloadUrl": "https://media.example.test/1", "caption": caption, "fileName": name, "mimeType": "image/png",
    });
    let message = json!({ "typeMessage": "imageMessage", "fileMessageData": file });
    body("outgoingAPIMessageReceived", chat, id, at_seconds, &message)
}

/// How far a message of ours got.
pub(crate) fn status(chat: &str, id: &str, at_seconds: i64, word: &str) -> Value {
    json!({
        "typeWebhook": "outgoingMessageStatus",
        "instanceData": { "idInstance": INSTANCE, "wid": "6590000000@c.us", "typeInstance": "whatsapp" },
        "timestamp": at_seconds,
        "idMessage": id,
        "chatId": chat,
        "status": word,
        "sendByApi": true,
    })
}

/// The phone of the business is linked, or not.
pub(crate) fn state(at_seconds: i64, word: &str) -> Value {
    json!({
        "typeWebhook": "stateInstanceChanged",
        "instanceData": { "idInstance": INSTANCE, "wid": "6590000000@c.us", "typeInstance": "whatsapp" },
        "timestamp": at_seconds,
        "stateInstance": word,
    })
}
