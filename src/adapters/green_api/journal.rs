//! The gateway's journals, whose items are flat where webhooks nest. In: an item. Out: the arrival that its webhook would
//! have been: it is laid out as that webhook and then read as one, so that the two cannot come to differ. What was edited or deleted
//! meanwhile is read as it stands.

use serde_json::{Map, Value, json};

use super::{part::Part, read::read_value, wording};
use crate::flow::provider::{Arrival, Incoming, Unreadable};

/// The items as they stand by now: without those that a contact has deleted, and in the words of the newest edit. Nobody has
/// read the old ones.
pub(super) fn as_they_stand(mut items: Vec<Value>) -> Vec<Value> {
    let amendments: Vec<Value> = items.iter().filter(|item| is_amendment(Part::of(item))).cloned().collect();
    let mut amendments: Vec<Part<'_>> = amendments.iter().map(Part::of).collect();
    amendments.sort_by_key(|amendment| amendment.integer("timestamp"));
    for amendment in amendments {
        let is_about = |item: &Value| is_about(amendment, Part::of(item));
        if amendment.text("typeMessage") == "deletedMessage" {
            items.retain(|item| !is_about(item));
            continue;
        }
        let words = new_words(amendment);
        if !wording::is_blank(words) && !wording::is_mark(words) {
            items.iter_mut().filter(|item| is_about(item)).for_each(|item| reword(item, words));
        }
    }
    items
}

fn is_amendment(item: Part<'_>) -> bool {
    matches!(item.text("typeMessage"), "editedMessage" | "deletedMessage")
}

/// Whether that amendment is one of this item. In a group an admin may delete what others wrote, but not edit it.
fn is_about(amendment: Part<'_>, item: Part<'_>) -> bool {
    let is_deletion = amendment.text("typeMessage") == "deletedMessage";
    let (name, data) = match is_deletion {
        true => ("deletedMessageId", "deletedMessageData"),
        false => ("editedMessageId", "editedMessageData"),
    };
    let of = match amendment.text(name).trim() {
        "" => amendment.part(data).text("stanzaId").trim(),
        of => of,
    };
    let is_same = |name| amendment.text(name) == item.text(name);
    let may_amend = is_deletion || !item.text("chatId").ends_with("@g.us") || is_same("senderId");
    !of.is_empty() && item.text("idMessage").trim() == of && is_same("chatId") && may_amend
}

fn new_words(edit: Part<'_>) -> &str {
    let data = edit.part("editedMessageData");
    let places = [
        data.first_text(&["textMessage", "caption"]),
        edit.first_text(&["textMessage", "caption"]),
        edit.part("extendedTextMessage").text("text"),
    ];
    places.into_iter().find(|words| !words.trim().is_empty()).unwrap_or_default()
}

/// Wherever the item has its words.
fn reword(item: &mut Value, words: &str) {
    let places = [
        ("", "textMessage"),
        ("", "message"),
        ("", "caption"),
        ("/extendedTextMessage", "text"),
        ("/extendedTextMessageData", "text"),
        ("/textMessageData", "textMessage"),
        ("/fileMessageData", "caption"),
    ];
    for (place, name) in places {
        let fields = item.pointer_mut(place).and_then(Value::as_object_mut);
        if let Some(said) = fields.and_then(|fields| fields.get_mut(name)) {
            *said = Value::from(words);
        }
    }
}

/// Reads an item; None if it is no message that may have been missed. One without an id cannot be told from those that
/// were taken already; edits and deletions speak of another message.
pub(super) fn arrival(channel: &str, instance: &str, item: Part<'_>) -> Result<Option<Arrival>, Unreadable> {
    let is_incoming = matches!(item.text("type"), "incoming" | "");
    let is_deleted = item.flag("isDeleted") == Some(true);
    if !is_incoming || is_amendment(item) || is_deleted || item.text("idMessage").trim().is_empty() {
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
    fn what_was_amended_meanwhile_is_read_as_it_stands() {
        let item = |id: &str, at: i64, kind: &str, more: Value| {
            let mut item = json!({"type": "incoming", "idMessage": id, "chatId": "6580000001@c.us", "timestamp": at,
                "typeMessage": kind, "senderId": "6580000001@c.us"});
            item.as_object_mut().expect("an object").extend(Part::of(&more).fields());
            item
        };
        let group = |sender: &str| json!({"chatId": "120363000000000001@g.us", "senderId": sender});
        let (ana, ben) = (group("6580000001@c.us"), group("6580000002@c.us"));
        let and = |more: &Value, other: Value| {
            let mut both = Part::of(more).fields();
            both.extend(Part::of(&other).fields());
            Value::Object(both)
        };
        let items = vec![
            item("E3", 30, "editedMessage", json!({"editedMessageId": "A1", "textMessage": "three cakes"})),
            item("E2", 20, "editedMessage", json!({"editedMessageId": "A1", "textMessage": "two cakes"})),
            item("A1", 10, "textMessage", json!({"textMessage": "one cake"})),
            item("D1", 20, "deletedMessage", json!({"deletedMessageId": "A2"})),
            item("A2", 10, "textMessage", json!({"textMessage": "never mind"})),
            item("A3", 10, "imageMessage", json!({"downloadUrl": "https://media/a.jpg", "caption": "old"})),
            item(
                "E4",
                20,
                "editedMessage",
                json!({"editedMessageData": {"stanzaId": "A3", "caption": "new"}}),
            ),
            item("A4", 10, "extendedTextMessage", json!({"extendedTextMessage": {"text": "old link"}})),
            item(
                "E5",
                20,
                "editedMessage",
                json!({"editedMessageId": "A4", "extendedTextMessage": {"text": "new link"}}),
            ),
            item("A5", 10, "textMessage", json!({"textMessage": "legible"})),
            item("E6", 20, "editedMessage", json!({"editedMessageId": "A5", "textMessage": "{{SWE001}}"})),
            item("A6", 10, "textMessage", and(&ana, json!({"textMessage": "by Ana"}))),
            item(
                "E7",
                20,
                "editedMessage",
                and(&ben, json!({"editedMessageId": "A6", "textMessage": "by Ben"})),
            ),
            item("A7", 10, "textMessage", and(&ana, json!({"textMessage": "rude"}))),
            item("D2", 20, "deletedMessage", and(&ben, json!({"deletedMessageId": "A7"}))),
            item("D3", 20, "deletedMessage", and(&ben, json!({"deletedMessageId": "A1"}))),
        ];
        let read = |item: &Value| arrival("default", INSTANCE, Part::of(item)).expect("readable");
        let found: Vec<Arrival> = as_they_stand(items).iter().filter_map(read).collect();
        let said: Vec<_> =
            found.iter().map(|it| (it.id.as_deref().unwrap_or(""), it.text.as_str())).collect();
        let wanted = [
            ("A1", "three cakes"),
            ("A3", "[image] new"),
            ("A4", "new link"),
            ("A5", "legible"),
            ("A6", "by Ana"),
        ];
        assert_eq!(said, wanted);
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
