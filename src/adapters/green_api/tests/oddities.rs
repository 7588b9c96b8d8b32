//! Bodies that went wrong: in part, in spelling, in every field. None may panic, none may be misread.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::{
    adapters::green_api::{fingerprint_of, wording::is_blank},
    domain::{
        chat::ChatId,
        message::{Kind, OutcomeReason},
    },
    flow::{
        provider::{Arrival, Incoming},
        reconcile::Copy,
    },
};

fn plain() -> Value {
    json!({
        "typeWebhook": "incomingMessageReceived",
        "instanceData": {"idInstance": 7_103_000_001_i64, "wid": "6590000000@c.us"},
        "timestamp": 1_767_600_011,
        "idMessage": "A1",
        "senderData": {"chatId": "6580000001@c.us", "sender": "6580000001@c.us", "senderName": "mira"},
        "messageData": {"typeMessage": "textMessage", "textMessageData": {"textMessage": "hello"}},
    })
}

/// The plain body with one value replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = plain();
    *body.pointer_mut(pointer).expect("the place is there") = value;
    body
}

/// The plain body with another message in it.
fn saying(message: Value) -> Value {
    with("/messageData", message)
}

fn message(body: &Value) -> Arrival {
    match read(body.to_string()) {
        Ok(Incoming::Message(arrival)) => arrival,
        other => panic!("{body} is {other:?}"),
    }
}

fn reason(body: impl AsRef<[u8]>) -> String {
    read(body).expect_err("it cannot be read").reason
}

#[test]
fn what_is_no_json_or_lacks_what_it_needs_cannot_be_read() {
    for body in
        ["", "this is not JSON {", "[", "{\"typeWebhook\":\"\\ud83d\"}", "\"\\udc00\"", "nul", "\u{feff}{}"]
    {
        assert!(reason(body).starts_with("not JSON"), "{body}");
    }
    assert!(reason(b"{\"a\":\"\xff\"}").starts_with("not JSON"));
    for body in ["{}", "[]", "null", "7", "\"text\"", "{\"typeWebhook\":null}", "{\"typeWebhook\":7}"] {
        assert_eq!(reason(body), "no typeWebhook", "{body}");
    }
    let table = [
        (with("/senderData", Value::Null), "incomingMessageReceived without a chat id"),
        (with("/senderData/chatId", json!("nobody")), "incomingMessageReceived without a chat id"),
        (with("/messageData", Value::Null), "incomingMessageReceived without messageData"),
        (
            with("/messageData/textMessageData", json!([])),
            "incomingMessageReceived without the content of its message",
        ),
        (
            saying(json!({"typeMessage": "imageMessage"})),
            "incomingMessageReceived without the content of its message",
        ),
        (
            saying(json!({"typeMessage": "editedMessage", "editedMessageData": {"textMessage": "hi"}})),
            "incomingMessageReceived without the id of the message it changes",
        ),
        (
            json!({"typeWebhook": "outgoingMessageStatus", "status": "sent"}),
            "outgoingMessageStatus without idMessage",
        ),
        (json!({"typeWebhook": "stateInstanceChanged"}), "stateInstanceChanged without the state"),
        (json!({"typeWebhook": "incomingCall", "status": "offer"}), "incomingCall without a caller"),
        (json!({"typeWebhook": "outgoingCall", "status": "pickUp"}), "outgoingCall without a caller"),
    ];
    for (body, expected) in table {
        assert_eq!(reason(body.to_string()), expected, "{body}");
    }
}

#[test]
fn a_reason_never_repeats_the_text() {
    for body in [
        r#"{"typeWebhook":"incomingMessageReceived","messageData":"secret words"}"#,
        r#"{"text":"secret words\ud800"}"#,
        r#"{"typeWebhook":"incomingMessageReceived","senderData":{"chatId":"secret words"}}"#,
    ] {
        assert!(!reason(body).contains("secret"), "{}", reason(body));
    }
}

#[test]
fn types_of_no_consequence_are_ignored_whatever_they_lack() {
    for name in ["deviceInfo", "incomingBlock", "statusInstanceChanged", "channelInsightReady"] {
        assert_eq!(
            read(json!({"typeWebhook": name}).to_string()).expect("readable"),
            Incoming::Ignored(name.to_owned())
        );
    }
}

#[test]
fn a_body_of_another_instance_is_told_apart() {
    let other = |id| read(with("/instanceData/idInstance", id).to_string()).expect("readable");
    assert_eq!(other(json!(7_103_000_002_i64)), Incoming::OtherInstance);
    assert_eq!(other(json!("7103000002")), Incoming::OtherInstance);
    for ours in [json!(7_103_000_001_i64), json!("7103000001"), Value::Null, json!({})] {
        assert!(matches!(other(ours), Incoming::Message(_)));
    }
}

#[test]
fn dirty_chat_ids_are_made_clean_and_two_ids_of_one_person_are_seen() {
    let chat = |id| message(&with("/senderData/chatId", json!(id))).chat.to_string();
    assert_eq!(chat("6580000001:3@c.us"), "6580000001@c.us");
    assert_eq!(chat("6580000001@s.whatsapp.net"), "6580000001@c.us");
    let alias = |chat: &str, sender: &str| {
        let mut body = with("/senderData/chatId", json!(chat));
        body["senderData"]["sender"] = json!(sender);
        message(&body).alias.map(|alias| alias.to_string())
    };
    let (lid, phone) = ("100000000000001@lid", "6580000001@c.us");
    assert_eq!(alias(lid, phone).as_deref(), Some(phone));
    assert_eq!(alias(phone, lid).as_deref(), Some(lid));
    assert_eq!(alias(phone, "6580000001:3@s.whatsapp.net"), None);
    assert_eq!(alias("120363000000000001@g.us", phone), None);
    assert_eq!(alias(phone, ""), None);
}

#[test]
fn what_our_own_phone_wrote_is_never_taken_for_a_contact() {
    let mut body = with("/senderData/sender", json!("6590000000:12@s.whatsapp.net"));
    body["senderData"]["chatId"] = json!("100000000000001@lid");
    assert!(matches!(read(body.to_string()), Ok(Incoming::Phone(arrival)) if arrival.alias.is_none()));
    body["messageData"] = json!({ "typeMessage": "editedMessage" });
    assert!(matches!(read(body.to_string()), Ok(Incoming::Ignored(what)) if what == "editedMessage"));
    body["messageData"]["editedMessageData"] = json!({ "stanzaId": "BAE5", "textMessage": "Until 8." });
    for (kind, by) in [
        ("incomingMessageReceived", Copy::Phone),
        ("outgoingMessageReceived", Copy::Phone),
        ("outgoingAPIMessageReceived", Copy::Api),
    ] {
        body["typeWebhook"] = json!(kind);
        let Ok(Incoming::OwnEdit(edit, copy)) = read(body.to_string()) else { panic!("{kind}") };
        assert_eq!((edit.of.as_str(), edit.text.as_str(), copy), ("BAE5", "Until 8.", by));
    }
    body["typeWebhook"] = json!("incomingMessageReceived");
    // While the phone is not linked there is no own number, and nobody is it.
    let unlinked = with("/instanceData/wid", json!(""));
    assert!(matches!(read(unlinked.to_string()), Ok(Incoming::Message(_))));
}

#[test]
fn an_edit_that_cannot_be_read_leaves_the_words_that_could() {
    let table = [
        (json!({ "textMessage": "Open at 8?" }), Some("Open at 8?")),
        (json!({ "caption": "Open at 8?" }), Some("Open at 8?")),
        // What stood under a picture can be taken away.
        (json!({ "caption": "" }), Some("")),
        (json!({ "textMessage": "{{SWE001}}" }), None),
        (json!({ "textMessage": "\u{200b}" }), Some("")),
        (json!({ "textMessage": null }), None),
        (json!({}), None),
    ];
    for (mut data, taken) in table {
        data["stanzaId"] = json!("BAE5");
        let words = data.clone();
        let body = saying(json!({ "typeMessage": "editedMessage", "editedMessageData": data }));
        match read(body.to_string()) {
            Ok(Incoming::Edit(edit)) => assert_eq!(Some(edit.text.as_str()), taken, "{words}"),
            Ok(Incoming::Ignored(what)) => assert!(taken.is_none() && what == "editedMessage", "{words}"),
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[test]
fn a_message_by_phone_takes_over_even_if_half_of_it_is_missing() {
    for message in [
        Value::Null,
        json!({}),
        json!({"typeMessage": "imageMessage"}),
        json!({"typeMessage": "textMessage"}),
        json!({"typeMessage": "newKind"}),
    ] {
        let mut body = saying(message.clone());
        body["typeWebhook"] = json!("outgoingMessageReceived");
        let Ok(Incoming::Phone(arrival)) = read(body.to_string()) else { panic!("{message}") };
        assert!(!arrival.text.trim().is_empty(), "{message}");
    }
}

#[test]
fn stories_and_channel_posts_are_shown_and_nothing_more() {
    for chat in ["status@broadcast", "120363000000000002@newsletter"] {
        let voice =
            saying(json!({"typeMessage": "audioMessage", "fileMessageData": {"mimeType": "audio/ogg"}}));
        for mut body in [plain(), voice] {
            body["senderData"]["chatId"] = json!(chat);
            let arrival = message(&body);
            assert_eq!((arrival.inert, arrival.is_unreadable), (Some(OutcomeReason::Story), false), "{chat}");
            assert!(arrival.sender.is_some());
            for ours in ["outgoingMessageReceived", "outgoingAPIMessageReceived"] {
                body["typeWebhook"] = json!(ours);
                assert_eq!(read(body.to_string()).expect("readable"), Incoming::Ignored(ours.to_owned()));
            }
        }
    }
}

#[test]
fn nul_is_taken_out_of_words_and_names_and_long_ones_are_cut() {
    let mut body = with("/messageData/textMessageData/textMessage", json!("a\u{0}b\u{202e}"));
    body["senderData"]["senderName"] = json!(format!("\u{0}{}", "ん".repeat(400)));
    let arrival = message(&body);
    assert_eq!(arrival.text, "ab\u{202e}");
    assert_eq!(arrival.contact_name.map(|name| name.chars().count()), Some(256));
    let long = with("/messageData/textMessageData/textMessage", json!("é".repeat(70_000)));
    assert_eq!(message(&long).text.chars().count(), 65_536);
}

#[test]
fn a_description_makes_no_text_longer_than_it_may_be() {
    let file = json!({"downloadUrl": "", "caption": "é".repeat(70_000)});
    for kind in ["audioMessage", "imageMessage", "documentMessage"] {
        let text = message(&saying(json!({"typeMessage": kind, "fileMessageData": file}))).text;
        assert_eq!(text.chars().count(), 65_536, "{kind}");
        assert!(text.starts_with('[') && text.ends_with('é'), "{kind}");
    }
}

#[test]
fn an_offer_without_words_that_can_be_seen_is_its_options_or_its_kind() {
    let text = |words: &str, buttons: Value| {
        message(&saying(json!({
            "typeMessage": "buttonsMessage",
            "buttonsMessage": {"contentText": words, "buttons": buttons},
        })))
        .text
    };
    let yes = json!([{"buttonText": "Yes"}]);
    for nothing in ["", "\u{200b}", &"\u{200b}".repeat(70_000)] {
        assert_eq!(text(nothing, json!([])), "[buttons]");
        assert_eq!(text(nothing, yes.clone()), "[options: Yes]");
    }
    assert_eq!(text("Shall we?", yes), "Shall we? [options: Yes]");
}

#[test]
fn other_spellings_and_places_are_understood() {
    let mut body = plain();
    body["messageID"] = json!("B2");
    assert_eq!(message(&body).id.as_deref(), Some("A1"));
    body["idMessage"] = Value::Null;
    assert_eq!(message(&body).id.as_deref(), Some("B2"));
    let text = |value: Value| message(&saying(value)).text;
    assert_eq!(text(json!({"textMessageData": {"textMessage": "no type"}})), "no type");
    assert_eq!(
        text(json!({"typeMessage": "textMessage", "extendedTextMessageData": {"text": "elsewhere"}})),
        "elsewhere"
    );
    assert_eq!(
        text(
            json!({"typeMessage": "interactiveButtonReply", "templateButtonReplyMessage": {"selectedDisplayText": "Yes"}})
        ),
        "Yes"
    );
    assert_eq!(
        text(
            json!({"typeMessage": "templateButtonReplyMessage", "templateButtonReplyMessage": {"selectedDisplayText": "Yes"}})
        ),
        "Yes"
    );
    assert_eq!(text(json!({"typeMessage": "holoMessage"})), "[unsupported message: holoMessage]");
    let link = json!({"typeMessage": "extendedTextMessage", "extendedTextMessageData": {"text": "https://a.example/x", "title": "Bowl"}});
    assert_eq!(text(link), "https://a.example/x [link: Bowl]");
    for (status, expected) in [
        ("hangUp", "[call ended]"),
        ("hungUp", "[call ended]"),
        ("missed", "[missed call]"),
        ("pickUp", "[call answered]"),
    ] {
        let call = json!({"typeWebhook": "incomingCall", "from": "6580000001@c.us", "status": status});
        assert_eq!(message(&call).text, expected);
    }
}

#[test]
fn a_call_of_the_business_is_answered_once_somebody_whom_it_called_picks_up() {
    let called = |status: &str, theirs: &[&str]| {
        let participants: Vec<Value> = theirs.iter().map(|status| json!({"status": status})).collect();
        let call = json!({"typeWebhook": "outgoingCall", "idMessage": "C1", "from": "6580000001@c.us",
            "status": status, "participants": participants});
        match read(call.to_string()).expect("readable") {
            Incoming::OwnSign(_, is_answered) => is_answered,
            other => panic!("{other:?}"),
        }
    };
    assert!(called("pickUp", &[]) && called("hungUp", &["missed", "pickUp"]));
    assert!(!called("hungUp", &["missed"]) && !called("invalid", &[]) && !called("", &[]));
}

#[test]
fn a_file_under_an_unknown_name_is_what_its_type_says() {
    for (mime_type, kind, text) in [
        ("video/mp4", Kind::Video, "[video] look"),
        ("image/webp", Kind::Image, "[image] look"),
        ("audio/ogg; codecs=opus", Kind::Voice, "[voice message] look"),
        ("application/pdf", Kind::Document, "[document: a.pdf] look"),
        ("", Kind::Document, "[document: a.pdf] look"),
    ] {
        let file = json!({"downloadUrl": "https://media.example.test/1", "mimeType": mime_type,
            "fileName": "a.pdf", "caption": "look"});
        let arrival = message(&saying(json!({"typeMessage": "ptvMessage", "fileMessageData": file})));
        assert_eq!((arrival.kind, arrival.text.as_str()), (kind, text), "{mime_type}");
        assert_eq!(arrival.media.expect("a file").url, "https://media.example.test/1");
    }
}

#[test]
fn sounds_without_words_are_unreadable_and_with_words_are_not() {
    let sound = |mime: &str, caption: &str| {
        let file = json!({"downloadUrl": "{{SWE002}}", "mimeType": mime, "caption": caption});
        message(&saying(json!({"typeMessage": "audioMessage", "fileMessageData": file})))
    };
    let table = [
        ("audio/ogg; codecs=opus", "", Kind::Voice, "[voice message]", true),
        ("", "", Kind::Voice, "[voice message]", true),
        ("audio/mpeg", "", Kind::Audio, "[audio]", true),
        ("audio/ogg", "listen", Kind::Voice, "[voice message] listen", false),
    ];
    for (mime, caption, kind, text, is_unreadable) in table {
        let arrival = sound(mime, caption);
        assert_eq!(
            (arrival.kind, arrival.text.as_str(), arrival.is_unreadable),
            (kind, text, is_unreadable),
            "{mime}"
        );
        let media = arrival.media.expect("a file");
        assert_eq!((media.url.as_str(), media.is_too_large), ("", true), "the gateway kept no file");
    }
}

#[test]
fn a_status_of_an_unknown_word_changes_nothing() {
    for word in [json!("pending"), json!(""), Value::Null, json!("noActiveSession"), json!(5)] {
        let body =
            json!({"typeWebhook": "outgoingMessageStatus", "idMessage": "B", "status": word, "chatId": 5});
        let Ok(Incoming::Status(status)) = read(body.to_string()) else { panic!("{body}") };
        assert_eq!((status.state, status.reason, status.chat), (None, None, None));
    }
}

/// Every place in a body, as a JSON pointer.
fn places(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, child)| (name.clone(), child)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, child)| (at.to_string(), child)).collect(),
        _ => return,
    };
    for (name, child) in children {
        let place = format!("{prefix}/{name}");
        places(child, &place, found);
        found.push(place);
    }
}

fn fixture_bodies() -> Vec<Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhooks");
    let files = std::fs::read_dir(folder).expect("the folder of the fixtures");
    files
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file"))
        .map(|body| serde_json::from_slice(&body).expect("fixtures are JSON"))
        .collect()
}

/// Takes a place out of a body.
fn remove(body: &mut Value, place: &str) {
    let (parent, name) = place.rsplit_once('/').expect("a pointer");
    match body.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(name)),
        Some(Value::Array(items)) => drop(items.remove(name.parse::<usize>().expect("an index"))),
        _ => panic!("{place} is in the body"),
    }
}

fn wrong_values() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        Just(Some(json!(true))),
        Just(Some(json!(-1))),
        Just(Some(json!(1e300))),
        Just(Some(json!([]))),
        Just(Some(json!([{"stanzaId": 1}, null]))),
        Just(Some(json!({"low": 1, "high": 0, "unsigned": true}))),
        "\\PC*".prop_map(|text| Some(json!(text))),
        "[\0\u{200b}é]{1,3}".prop_map(|text| Some(json!(text.repeat(70_000)))),
    ]
}

/// A fixture with a few places removed, or of a value that does not belong there.
fn broken_body() -> impl Strategy<Value = Value> {
    let wheres = prop::collection::vec((any::<prop::sample::Index>(), wrong_values()), 1..4);
    (any::<prop::sample::Index>(), wheres).prop_map(|(which, wheres)| {
        let mut body = which.get(&fixture_bodies()).clone();
        for (place, value) in wheres {
            let mut found = Vec::new();
            places(&body, "", &mut found);
            if found.is_empty() {
                break;
            }
            let place = place.get(&found);
            match value {
                Some(value) => *body.pointer_mut(place).expect("it is there") = value,
                None => remove(&mut body, place),
            }
        }
        body
    })
}

/// Everything in an arrival that somebody else wrote, and how many characters it may have.
fn texts(arrival: &Arrival) -> Vec<(&str, usize)> {
    let mut texts = vec![(arrival.text.as_str(), 65_536), (arrival.chat.as_str(), 129)];
    // A call's id has its status behind it.
    texts.extend(arrival.id.as_deref().map(|id| (id, 256 + 1 + 64)));
    texts.extend(arrival.contact_name.as_deref().map(|name| (name, 256)));
    texts.extend(arrival.sender.as_ref().map(|sender| (sender.name.as_str(), 256)));
    if let Some(quoted) = &arrival.quoted {
        texts.extend([(quoted.provider_message_id.as_str(), 256), (quoted.text.as_str(), 320)]);
    }
    if let Some(media) = &arrival.media {
        texts.extend([(media.url.as_str(), 2_048), (media.caption.as_str(), 65_536)]);
        texts.extend([(media.mime_type.as_str(), 128), (media.file_name.as_str(), 256)]);
    }
    texts
}

proptest! {
    #[test]
    fn no_field_removed_nulled_or_of_a_wrong_type_makes_reading_panic(body in broken_body()) {
        if let Ok(Incoming::Message(arrival)) = read(body.to_string()) {
            prop_assert!(arrival.inert.is_some() || !is_blank(&arrival.text), "the model would read nothing: {body}");
        }
    }

    #[test]
    fn whatever_is_read_can_be_kept_and_is_known_again_by_its_fingerprint(body in broken_body()) {
        let body = body.to_string();
        if let Ok(Incoming::Message(arrival) | Incoming::Phone(arrival) | Incoming::Echo(arrival)) = read(&body) {
            for (text, max) in texts(&arrival) {
                prop_assert!(text.chars().count() <= max && !text.contains('\0'), "{max}: {text:?}");
            }
            prop_assert_eq!(ChatId::parse(arrival.chat.as_str()), Some(arrival.chat), "what is clean stays so");
            prop_assert_eq!(Some(arrival.fingerprint), fingerprint_of("default", body.as_bytes()));
        }
    }

    #[test]
    fn no_bytes_make_reading_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(!matches!(read(&body), Ok(Incoming::Message(_))));
    }
}

#[test]
fn the_name_of_a_file_is_no_path_and_hides_no_ending() {
    let named = |name: &str| {
        message(&saying(json!({"typeMessage": "documentMessage", "fileMessageData": {"fileName": name}})))
    };
    for (name, shown) in [
        ("invoice\u{202e}gpj.exe", "invoicegpj.exe"),
        ("..\\offers/offer.pdf", "offer.pdf"),
        ("\u{2066}\u{200b}", ""),
        ("{{SWE001}}", ""),
    ] {
        let arrival = named(name);
        assert_eq!(arrival.media.map(|media| media.file_name).as_deref(), Some(shown));
        let text = if shown.is_empty() { "[document]".to_owned() } else { format!("[document: {shown}]") };
        assert_eq!(arrival.text, text);
    }
    let long = named(&format!("{}.exe", "a".repeat(400)));
    assert!(long.media.is_some_and(|media| media.file_name.ends_with("a.exe")), "{}", long.text);
}

#[test]
fn a_title_of_which_nothing_is_seen_hides_nothing() {
    let is_offer = |body: &Value| body.pointer("/messageData/interactiveButtons/titleText").is_some();
    let mut body = fixture_bodies().into_iter().find(is_offer).expect("a fixture with buttons");
    body["messageData"]["interactiveButtons"]["titleText"] = json!("\u{200b}".repeat(70_000));
    let Ok(Incoming::Message(arrival)) = read(body.to_string()) else { panic!("it is a message") };
    assert!(arrival.text.starts_with("Show this at the counter"), "{:.80}", arrival.text);
}

#[test]
fn each_field_of_each_body_may_be_missing_or_null() {
    for original in fixture_bodies() {
        let mut found = Vec::new();
        places(&original, "", &mut found);
        for place in found {
            let mut without = original.clone();
            remove(&mut without, &place);
            let mut nulled = original.clone();
            *nulled.pointer_mut(&place).expect("it is there") = Value::Null;
            for body in [without, nulled] {
                if let Err(unreadable) = read(body.to_string()) {
                    assert!(!unreadable.reason.is_empty(), "{place}");
                }
            }
        }
    }
}

#[test]
fn an_edit_in_a_group_says_who_edits() {
    let edit = json!({ "typeMessage": "editedMessage",
        "editedMessageData": { "stanzaId": "A1", "textMessage": "100 cakes" } });
    for (chat, by) in [("120363000000000001@g.us", Some("6580000002@c.us")), ("6580000002@c.us", None)] {
        let mut body = with("/senderData/chatId", json!(chat));
        body["senderData"]["sender"] = json!("6580000002:3@c.us");
        body["messageData"] = edit.clone();
        let Ok(Incoming::Edit(edit)) = read(body.to_string()) else { panic!("an edit") };
        assert_eq!(edit.by.as_ref().map(|by| by.as_str()), by, "{chat}");
    }
}
