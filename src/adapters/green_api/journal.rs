//! The gateway's journals, whose items are flat where webhooks nest. In: an item. Out: the arrival that its webhook would
//! have been: it is laid out as that webhook and then read as one, so that the two cannot come to differ.

use serde_json::{Map, Value, json};

use super::{part::Part, read::read_value};
use crate::flow::provider::{Arrival, Incoming, Unreadable};

/// Reads an item; None if it is no message that may have been missed. One without an id cannot be told from those that
/// were taken already; edits and deletions speak of another message.
pub(super) fn arrival(channel: &str, instance: &str, item: Part<'_>) -> Result<Option<Arrival>, Unreadable> {
    let is_incoming = matches!(item.text("type"), "incoming" | "");
    let is_amendment = matches!(item.text("typeMessage"), "editedMessage" | "deletedMessage");
    let is_deleted = item.flag("isDeleted") == Some(true);
    if !is_incoming || is_amendment || is_deleted || item.text("idMessage").trim().is_empty() {
        return Ok(None);
    }
    match read_value(channel, instance, &mut webhook("incomingMessageReceived", item))? {
        Incoming::Message(arrival) => Ok(Some(arrival)),
        _ => Ok(None),
    }
}

/// Reads an item that a person of the business wrote on the phone; None if it is no message to anybody.
pub(super) fn typed(channel: &str, instance: &str, item: Part<'_>) -> Option<Arrival> {
    match read_value(channel, instance, &mut webhook("outgoingMessageReceived", item)) {
        Ok(Incoming::Phone(arrival)) => Some(arrival),
        _ => None,
    }
}

/// The item as its webhook, of that type.
fn webhook(kind: &str, item: Part<'_>) -> Value {
    json!({
        "typeWebhook": kind,
        "timestamp": item.integer("timestamp"),
        "idMessage": item.text("idMessage"),
        "senderData": {
            "chatId": item.text("chatId"),
            "sender": item.text("senderId"),
            "senderName": item.text("senderName"),
            "senderContactName": item.text("senderContactName"),
        },
        "messageData": message(item),
    })
}

/// What nests in both stays as it is (polls, buttons, quotes); what lies flat goes where webhooks have it.
fn message(item: Part<'_>) -> Value {
    let mut message: Map<String, Value> = item.fields();
    let kind = item.text("typeMessage");
    match kind {
        "textMessage" | "" => {
            let words = match item.first_text(&["textMessage", "message"]) {
                "" => item.part("extendedTextMessage").text("text"),
                words => words,
            };
            put(&mut message, "textMessageData", json!({"textMessage": words}));
        }
        "extendedTextMessage" | "quotedMessage" | "reactionMessage" => {
            let mut extended = item.part("extendedTextMessage").fields();
            if item.part("extendedTextMessage").text("text").is_empty() {
                extended.insert("text".to_owned(), Value::from(item.text("textMessage")));
            }
            put(&mut message, "extendedTextMessageData", Value::Object(extended));
        }
        "imageMessage" | "videoMessage" | "documentMessage" | "audioMessage" | "stickerMessage" => {
            let file = ["downloadUrl", "caption", "fileName", "mimeType"]
                .map(|name| (name.to_owned(), Value::from(item.text(name))));
            put(&mut message, "fileMessageData", Value::Object(file.into_iter().collect()));
        }
        "locationMessage" => put(&mut message, "locationMessageData", item.part("location").fields().into()),
        "contactMessage" => put(&mut message, "contactMessageData", item.part("contact").fields().into()),
        "contactsArrayMessage" => {
            let contacts: Vec<Value> = item.list("contacts").map(|contact| contact.fields().into()).collect();
            put(&mut message, "messageData", json!({"contacts": contacts}));
        }
        _ => {}
    }
    Value::Object(message)
}

/// Unless the item has it there already, as newer versions of the gateway may.
fn put(message: &mut Map<String, Value>, name: &str, value: Value) {
    message.entry(name).or_insert(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::green_api::read::read;

    const INSTANCE: &str = "7103000001";

    /// The item that the gateway keeps of a webhook, in the layout of its journal.
    fn item_of(webhook: &Value) -> Value {
        let (sender, message) = (&webhook["senderData"], &webhook["messageData"]);
        let mut item = json!({"idMessage": webhook["idMessage"], "chatId": sender["chatId"],
            "timestamp": webhook["timestamp"], "typeMessage": message["typeMessage"]});
        if webhook["typeWebhook"] == "incomingMessageReceived" {
            item["type"] = json!("incoming");
            item["senderId"] = sender["sender"].clone();
            item["senderName"] = sender["senderName"].clone();
            item["senderContactName"] = sender["senderContactName"].clone();
        } else {
            item["type"] = json!("outgoing");
            item["statusMessage"] = json!("read");
            item["sendByApi"] = json!(false);
        }
        for (name, value) in message.as_object().expect("an object") {
            match name.as_str() {
                "textMessageData" => item["textMessage"] = value["textMessage"].clone(),
                "extendedTextMessageData" => {
                    item["textMessage"] = value["text"].clone();
                    item["extendedTextMessage"] = value.clone();
                }
                "fileMessageData" => {
                    for (name, value) in value.as_object().expect("an object") {
                        item[name] = value.clone();
                    }
                }
                "locationMessageData" => item["location"] = value.clone(),
                "contactMessageData" => item["contact"] = value.clone(),
                "messageData" => item["contacts"] = value["contacts"].clone(),
                name => item[name] = value.clone(),
            }
        }
        item
    }

    /// Each known webhook, by the path of its file.
    fn webhooks() -> impl Iterator<Item = (std::path::PathBuf, Vec<u8>)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhooks");
        let files = std::fs::read_dir(folder).expect("the folder of the fixtures");
        files.map(|entry| {
            let path = entry.expect("an entry").path();
            let body = std::fs::read(&path).expect("a file");
            (path, body)
        })
    }

    #[test]
    fn what_was_typed_on_the_phone_says_the_same_as_its_webhook() {
        let mut compared = 0;
        for (path, body) in webhooks() {
            let webhook: Value = serde_json::from_slice(&body).expect("JSON");
            let Ok(incoming) = read("default", INSTANCE, &body) else { continue };
            if webhook["typeWebhook"] != "outgoingMessageReceived" {
                continue;
            }
            let found = typed("default", INSTANCE, Part::of(&item_of(&webhook)));
            // Whose chat it is, and by whom it was written, is in the webhook only.
            let wanted = match incoming {
                Incoming::Phone(arrival) => Some(Arrival { contact_name: None, sender: None, ..arrival }),
                _ => None,
            };
            assert_eq!(found, wanted, "{}", path.display());
            compared += 1;
        }
        assert_eq!(compared, 6);
    }

    #[test]
    fn an_item_says_the_same_as_its_webhook() {
        let mut compared = 0;
        for (path, body) in webhooks() {
            let webhook: Value = serde_json::from_slice(&body).expect("JSON");
            let Ok(Incoming::Message(wanted)) = read("default", INSTANCE, &body) else { continue };
            // The name of a group is in the webhook only.
            let is_group = webhook["senderData"]["chatId"].as_str().is_some_and(|id| id.ends_with("@g.us"));
            if webhook["typeWebhook"] != "incomingMessageReceived" {
                continue;
            }
            let item = item_of(&webhook);
            let mut found =
                arrival("default", INSTANCE, Part::of(&item)).expect("readable").expect("a message");
            if is_group {
                found.contact_name.clone_from(&wanted.contact_name);
            }
            assert_eq!(found, wanted, "{}", path.display());
            compared += 1;
        }
        assert!(compared > 25, "{compared}");
    }

    #[test]
    fn what_cannot_have_been_missed_is_left_out() {
        let item = json!({"type": "incoming", "idMessage": "A1", "chatId": "6580000001@c.us", "timestamp": 1_767_600_011,
            "typeMessage": "textMessage", "textMessage": "hi", "senderId": "6580000001@c.us"});
        assert!(arrival("default", INSTANCE, Part::of(&item)).expect("readable").is_some());
        for (name, value) in [
            ("type", json!("outgoing")),
            ("typeMessage", json!("editedMessage")),
            ("typeMessage", json!("deletedMessage")),
            ("isDeleted", json!(true)),
            ("idMessage", json!(" ")),
        ] {
            let mut item = item.clone();
            item[name] = value;
            assert_eq!(arrival("default", INSTANCE, Part::of(&item)).expect("readable"), None, "{item}");
        }
        let mut hollow = item;
        hollow["chatId"] = json!("nobody");
        assert!(arrival("default", INSTANCE, Part::of(&hollow)).is_err());
    }
}
