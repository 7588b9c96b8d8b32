//! What a message holds, in the shape of webhooks: `messageData`. In: a request. Out: what its receiver would see.

use serde_json::{Map, Value, json};

use super::journal::Message;

/// Endings of names, what a file of that kind is, and its media type. Any other is a document.
const KINDS: &[(&str, &str, &str)] = &[
    ("jpg", "imageMessage", "image/jpeg"),
    ("jpeg", "imageMessage", "image/jpeg"),
    ("png", "imageMessage", "image/png"),
    ("mp4", "videoMessage", "video/mp4"),
    ("mov", "videoMessage", "video/quicktime"),
    ("ogg", "audioMessage", "audio/ogg; codecs=opus"),
    ("opus", "audioMessage", "audio/ogg; codecs=opus"),
    ("mp3", "audioMessage", "audio/mpeg"),
    ("m4a", "audioMessage", "audio/mp4"),
    ("webp", "stickerMessage", "image/webp"),
    ("pdf", "documentMessage", "application/pdf"),
];

/// The data of a request to send.
pub(super) fn sent(method: &str, body: &Map<String, Value>, url: &str, quoted: Option<&Message>) -> Value {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let value = |name: &str| body.get(name).cloned().unwrap_or_default();
    match method {
        "sendFileByUrl" | "sendFileByUpload" => file(text("fileName"), url, text("caption")),
        "sendLocation" => json!({
            "typeMessage": "locationMessage",
            "locationMessageData": {
                "nameLocation": text("nameLocation"), "address": text("address"), "jpegThumbnail": "",
                "latitude": value("latitude"), "longitude": value("longitude"),
                "forwardingScore": 0, "isForwarded": false,
            },
        }),
        "sendContact" => contact(&value("contact")),
        "sendPoll" => json!({
            "typeMessage": "pollMessage",
            "pollMessageData": {
                "name": text("message"), "options": value("options"),
                "multipleAnswers": body.get("multipleAnswers").and_then(Value::as_bool).unwrap_or_default(),
            },
        }),
        "sendInteractiveButtons" | "sendInteractiveButtonsReply" => json!({
            "typeMessage": "interactiveButtons",
            "interactiveButtons": {
                "titleText": text("header"), "contentText": text("body"), "footerText": text("footer"),
                "buttons": value("buttons"),
            },
        }),
        _ => written_by_api(text("message"), quoted),
    }
}

/// Text of the API comes as that of a link would. An answer to a message that nobody knows is a message like any other.
fn written_by_api(text: &str, quoted: Option<&Message>) -> Value {
    let mut extended = json!({
        "text": text, "description": "", "title": "", "previewType": "None", "jpegThumbnail": "",
        "forwardingScore": 0, "isForwarded": false,
    });
    let Some(quoted) = quoted else {
        return json!({ "typeMessage": "extendedTextMessage", "extendedTextMessageData": extended });
    };
    let participant = quoted.writer();
    extended["stanzaId"] = json!(quoted.id);
    extended["participant"] = json!(participant);
    json!({
        "typeMessage": "quotedMessage",
        "extendedTextMessageData": extended,
        "quotedMessage": {
            "stanzaId": quoted.id, "participant": participant,
            "typeMessage": quoted.data["typeMessage"], "textMessage": words(&quoted.data),
        },
    })
}

/// Text as it is typed.
pub(super) fn typed(text: &str) -> Value {
    json!({ "typeMessage": "textMessage", "textMessageData": { "textMessage": text } })
}

/// A file. What it is, its name says.
pub(super) fn file(name: &str, url: &str, caption: &str) -> Value {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    let kind = KINDS.iter().find(|(known, _, _)| *known == ending);
    let (kind, mime_type) = kind
        .map_or(("documentMessage", "application/octet-stream"), |(_, kind, mime_type)| (*kind, *mime_type));
    json!({
        "typeMessage": kind,
        "fileMessageData": {
            "downloadUrl": url, "caption": caption, "fileName": name, "jpegThumbnail": "", "mimeType": mime_type,
            "isAnimated": false, "forwardingScore": 0, "isForwarded": false,
        },
    })
}

fn contact(contact: &Value) -> Value {
    let text = |name: &str| {
        // A line of a card ends where the line ends.
        contact[name].as_str().unwrap_or_default().replace(['\r', '\n'], " ")
    };
    let names = [text("firstName"), text("middleName"), text("lastName")];
    let name = names.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(" ");
    let phone = contact["phoneContact"].as_i64().unwrap_or_default();
    let [first, middle, last] = names;
    let card = format!(
        "BEGIN:VCARD\nVERSION:3.0\nN:{last};{first};{middle};;\nFN:{name}\nORG:{}\nTEL;TYPE=CELL;waid={phone}:+{phone}\nEND:VCARD",
        text("company")
    );
    json!({
        "typeMessage": "contactMessage",
        "contactMessageData": { "displayName": name, "vcard": card, "forwardingScore": 0, "isForwarded": false },
    })
}

/// The same, passed on.
pub(super) fn forwarded(data: &Value) -> Value {
    let mut data = data.clone();
    for part in data.as_object_mut().into_iter().flatten().filter_map(|(_, part)| part.as_object_mut()) {
        if part.contains_key("isForwarded") {
            part.insert("isForwarded".to_owned(), json!(true));
            part.insert("forwardingScore".to_owned(), json!(1));
        }
    }
    data
}

/// What a person reads of it.
pub(super) fn words(data: &Value) -> &str {
    let places = [
        &data["textMessageData"]["textMessage"],
        &data["extendedTextMessageData"]["text"],
        &data["fileMessageData"]["caption"],
        &data["pollMessageData"]["name"],
    ];
    places.into_iter().find_map(Value::as_str).unwrap_or_default()
}

/// Puts other words in their place.
pub(super) fn reword(data: &mut Value, text: &str) {
    for (part, name) in [
        ("textMessageData", "textMessage"),
        ("extendedTextMessageData", "text"),
        ("fileMessageData", "caption"),
    ] {
        if data[part].is_object() {
            data[part][name] = json!(text);
        }
    }
}
