//! Reads the gateway's own lists of what we sent. In: the answers of `showMessagesQueue`, `lastOutgoingMessages` and
//! `getMessagesCount`. Out: the texts in them that can be held against ours. Their shapes are not those of webhooks.

use serde_json::Value;

use super::{
    journal,
    part::{Part, strip_nul},
    read::progress,
    wording::{NAME_MAX, TEXT_MAX, cut},
};
use crate::{
    domain::{chat::ChatId, enclosure, time::Time},
    flow::provider::{Arrival, Trace},
};

/// What waits there. Each entry repeats its request in `body`; those of 2021 were flat.
pub(super) fn queue(answer: &Value) -> Vec<Trace> {
    entries(answer, |entry| {
        let request = if entry.part("body").is_there() { entry.part("body") } else { entry };
        Some(Trace {
            id: id(entry.first_text(&["messageID", "idMessage"])),
            chat: ChatId::parse(request.text("chatId"))?,
            text: words(request),
            at: None,
            state: None,
            reason: None,
        })
    })
}

/// What has left through the API: what a person typed on the phone is in the same list.
pub(super) fn journal(answer: &Value) -> Vec<Trace> {
    entries(answer, |entry| {
        if !is_by_api(entry) {
            return None;
        }
        let (state, reason) = progress(entry.text("statusMessage"));
        Some(Trace {
            id: id(entry.text("idMessage")),
            chat: ChatId::parse(entry.text("chatId"))?,
            text: words(entry),
            at: at(entry),
            state,
            reason,
        })
    })
}

/// The rest of that list, oldest first: what a person wrote on the phone to anybody, each as its webhook would have said it;
/// of stories the webhooks tell nothing either.
pub(super) fn typed(channel: &str, instance: &str, answer: &Value) -> Vec<Arrival> {
    let mut typed = entries(answer, |entry| {
        let arrival = if is_by_api(entry) { None } else { journal::typed(channel, instance, entry) };
        // Without them it cannot be told from what is known already, nor which of what they wrote it answers.
        arrival.filter(|arrival| arrival.id.is_some() && arrival.at.is_some())
    });
    typed.sort_by_key(|arrival| arrival.at);
    typed
}

fn is_by_api(entry: Part<'_>) -> bool {
    entry.flag("sendByApi") == Some(true)
}

fn at(entry: Part<'_>) -> Option<Time> {
    entry.integer("timestamp").map(|seconds| Time(seconds.saturating_mul(1_000)))
}

/// How many messages wait there. One example of the vendor has a letter of another alphabet in the key.
pub(super) fn count(answer: &Value) -> Option<i64> {
    let by_name = Part::of(answer).integer("count");
    by_name.or_else(|| answer.as_object()?.values().find_map(Value::as_i64))
}

fn entries<T>(answer: &Value, read: impl Fn(Part<'_>) -> Option<T>) -> Vec<T> {
    let mut answer = answer.clone();
    strip_nul(&mut answer);
    answer.as_array().into_iter().flatten().filter_map(|entry| read(Part::of(entry))).collect()
}

fn id(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= NAME_MAX).then(|| text.to_owned())
}

/// The words as they were posted, in any of the places where they have been seen; of a file without any, what it is.
fn words(entry: Part<'_>) -> String {
    let extended = entry.part("extendedTextMessage");
    let places = [
        entry.text("message"),
        entry.text("textMessage"),
        extended.text("text"),
        entry.part("extendedTextMessageData").text("text"),
        entry.text("caption"),
    ];
    let words = places.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
    match entry.text("fileName") {
        name if words.is_empty() && !name.is_empty() => {
            enclosure::description(enclosure::kind_of(name), name, "")
        }
        _ => cut(words, TEXT_MAX).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::message::{DeliveryReason, DeliveryState, Kind};

    fn chat() -> ChatId {
        ChatId::parse("6580000001@c.us").expect("a chat id")
    }

    fn waiting(id: Option<&str>, text: &str) -> Trace {
        Trace {
            id: id.map(str::to_owned),
            chat: chat(),
            text: text.to_owned(),
            at: None,
            state: None,
            reason: None,
        }
    }

    #[test]
    fn the_queue_is_read_in_its_new_shape_and_its_old_one() {
        let answer = json!([
            {"messageID": "BAE5A", "type": "sendMessage", "body": {"chatId": "6580000001@c.us", "message": "one"}},
            {"idMessage": "BAE5B", "typeMessage": "textMessage", "chatId": "6580000001@c.us", "message": "two"},
            {"type": "sendMessage", "body": {"chatId": "6580000001@c.us", "message": "without an id"}},
            {"messageID": "BAE5C", "type": "sendFileByUpload",
                "body": {"chatId": "6580000001@c.us", "fileName": "photo.jpg", "caption": ""}},
            {"messagesIDs": ["x"], "type": "forwardMessages", "body": {}},
            null,
        ]);
        assert_eq!(
            queue(&answer),
            [
                waiting(Some("BAE5A"), "one"),
                waiting(Some("BAE5B"), "two"),
                waiting(None, "without an id"),
                waiting(Some("BAE5C"), "[image]"),
            ]
        );
        for odd in [json!(null), json!({}), json!("queue")] {
            assert!(queue(&odd).is_empty(), "{odd}");
        }
    }

    #[test]
    fn what_was_typed_on_the_phone_is_the_rest_of_the_journal_without_what_changes_a_message() {
        let entry = |id: &str, kind: &str, more: Value| {
            let mut entry = json!({"type": "outgoing", "idMessage": id, "timestamp": 1_700_000_000, "typeMessage": kind,
                "chatId": "6580000001@c.us", "sendByApi": false});
            entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            entry
        };
        let place = json!({"location": {"nameLocation": "The shop", "latitude": 1.5, "longitude": 103.5},
            "timestamp": 1_700_000_090});
        let picture = json!({"caption": "Like this", "downloadUrl": "https://media.greenapi.example/a.jpg",
            "mimeType": "image/jpeg", "timestamp": 1_700_000_060});
        let answer = json!([
            entry("A7", "locationMessage", place),
            entry("A2", "imageMessage", picture),
            entry("A1", "textMessage", json!({"textMessage": "Yes, we do."})),
            entry("A0", "", json!({"extendedTextMessage": {"text": "Hello"}, "timestamp": 1_600_000_000})),
            entry("", "textMessage", json!({"textMessage": "without an id"})),
            entry("A8", "textMessage", json!({"textMessage": "without a moment", "timestamp": null})),
            entry("B1", "textMessage", json!({"textMessage": "by us", "sendByApi": true})),
            entry("A3", "reactionMessage", json!({})),
            entry("A4", "deletedMessage", json!({})),
            entry("A5", "textMessage", json!({"textMessage": "to nobody", "chatId": ""})),
            entry("A6", "textMessage", json!({"textMessage": "a story", "chatId": "status@broadcast"})),
            null,
        ]);
        let typed = typed("default", "7103000001", &answer);
        let told: Vec<(&str, Kind, &str, i64)> = typed
            .iter()
            .map(|it| {
                (it.id.as_deref().unwrap_or(""), it.kind, it.text.as_str(), it.at.unwrap_or_default().0)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("A0", Kind::Text, "Hello", 1_600_000_000_000),
                ("A1", Kind::Text, "Yes, we do.", 1_700_000_000_000),
                ("A2", Kind::Image, "[image] Like this", 1_700_000_060_000),
                ("A7", Kind::Location, "[location: The shop, 1.5,103.5]", 1_700_000_090_000),
            ]
        );
        let media = typed[2].media.as_ref().expect("the picture");
        assert_eq!(
            (media.url.as_str(), media.caption.as_str()),
            ("https://media.greenapi.example/a.jpg", "Like this")
        );
    }

    #[test]
    fn the_journal_has_the_words_in_one_of_several_places_and_only_those_of_the_api_count() {
        let entry = |more: Value| {
            let mut entry = json!({"type": "outgoing", "idMessage": "BAE5", "timestamp": 1_700_000_000,
                "chatId": "6580000001@c.us", "sendByApi": true, "statusMessage": "sent"});
            for (key, value) in more.as_object().expect("an object") {
                entry[key] = value.clone();
            }
            entry
        };
        let answer = json!([
            entry(json!({"textMessage": "plain"})),
            entry(
                json!({"textMessage": "", "extendedTextMessage": {"text": "long"}, "statusMessage": "read"})
            ),
            entry(json!({"caption": "under a picture", "statusMessage": "pending"})),
            entry(json!({"fileName": "offer.pdf", "typeMessage": "documentMessage", "caption": ""})),
            entry(json!({"textMessage": "to nobody", "statusMessage": "noAccount"})),
            entry(json!({"textMessage": "typed on the phone", "sendByApi": false})),
        ]);
        let found = journal(&answer);
        let seen: Vec<_> =
            found.iter().map(|trace| (trace.text.as_str(), trace.state, trace.reason)).collect();
        assert_eq!(
            seen,
            [
                ("plain", Some(DeliveryState::Sent), None),
                ("long", Some(DeliveryState::Read), None),
                ("under a picture", None, None),
                ("[document: offer.pdf]", Some(DeliveryState::Sent), None),
                ("to nobody", Some(DeliveryState::Failed), Some(DeliveryReason::NoAccount)),
            ]
        );
        assert_eq!(found[0].at, Some(Time(1_700_000_000_000)));
    }

    #[test]
    fn a_count_is_found_whatever_its_key() {
        assert_eq!(count(&json!({"count": 3})), Some(3));
        assert_eq!(count(&json!({"\u{441}ount": 2})), Some(2));
        assert_eq!(count(&json!({})), None);
    }
}
