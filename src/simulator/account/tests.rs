//! One account, its clock moved by hand.

use serde_json::{Value, json};

use super::*;

const CHAT: &str = "6580000001@c.us";
const NOW: i64 = 1_767_600_000_000;

/// One that posts nowhere, with every switch on.
fn account(pace: Pace) -> Account {
    let mut account = Account::new(
        Options {
            instance: 7_103_000_001,
            token: "t0ken".to_owned(),
            webhook_url: "http://bot.example/".to_owned(),
            webhook_token: "secret".to_owned(),
            pace,
        },
        NOW,
    );
    account.settings.set(object(json!({ "webhookUrl": "" })));
    account
}

fn quick() -> Account {
    account(Pace { send_delay_ms: 0, tick_ms: 0, is_limited: false, ..Pace::AS_USUAL })
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn call(now: i64, verb: &str, method: &str, body: Value) -> Call {
    Call {
        now,
        verb: verb.to_owned(),
        path: format!("/waInstance7103000001/{method}/t0ken"),
        instance: "7103000001".to_owned(),
        method: method.to_owned(),
        token: "t0ken".to_owned(),
        body: object(body),
        ..Call::default()
    }
}

fn asked(account: &mut Account, now: i64, verb: &str, method: &str, body: Value) -> Answer {
    account.call(&call(now, verb, method, body)).0
}

fn sends(account: &mut Account, now: i64, text: &str) -> String {
    match asked(account, now, "POST", "sendMessage", json!({ "chatId": CHAT, "message": text })) {
        Answer::Json(200, answer) => answer["idMessage"].as_str().expect("an id").to_owned(),
        refused => panic!("{refused:?}"),
    }
}

fn fault(account: &mut Account, fault: Value) {
    account.add_fault(serde_json::from_value(fault).expect("a fault"));
}

/// Everything that it has to tell, taken one after the other.
fn told(account: &mut Account) -> Vec<String> {
    let mut all = Vec::new();
    while let Value::Object(next) = account.fetched() {
        let body = &next["body"];
        let word = ["status", "stateInstance"].iter().find_map(|name| body[*name].as_str());
        let word = word.or(body["typeWebhook"].as_str()).unwrap_or_default().to_owned();
        all.push(word);
        assert!(account.settle(next["receiptId"].as_i64().expect("a receipt"), NOW));
    }
    all
}

fn texts(account: &Account) -> Vec<String> {
    account
        .written(None)
        .iter()
        .map(|message| message["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_message_is_queued_and_leaves_in_its_turn_after_the_time_that_is_set() {
    let mut account = account(Pace { tick_ms: 100, ..Pace::AS_USUAL });
    for text in ["one", "two"] {
        sends(&mut account, NOW, text);
    }
    assert_eq!(account.shown_queue().len(), 2);
    assert_eq!(account.tick(NOW), (true, Some(NOW + 100)), "the first leaves at once; its ticks follow");
    assert_eq!((texts(&account), account.shown_queue().len()), (vec!["one".to_owned()], 1));
    account.tick(NOW + 499);
    assert_eq!(account.shown_queue().len(), 1, "the second waits for its turn");
    account.tick(NOW + 500);
    assert_eq!(texts(&account), ["one", "two"]);
    let first = ["outgoingAPIMessageReceived", "sent", "delivered", "read"];
    let second = ["outgoingAPIMessageReceived", "sent"];
    assert_eq!(told(&mut account), [&first[..], &second].concat());
}

#[test]
fn typing_takes_its_turn_and_holds_up_what_is_behind_it() {
    let mut account = quick();
    asked(&mut account, NOW, "POST", "sendTyping", json!({ "chatId": CHAT, "typingTime": 2_000 }));
    sends(&mut account, NOW, "slow");
    account.tick(NOW);
    account.tick(NOW + 1_999);
    assert!(texts(&account).is_empty());
    account.tick(NOW + 2_000);
    assert_eq!(texts(&account), ["slow"]);
    assert_eq!(told(&mut account), ["outgoingAPIMessageReceived", "sent", "delivered", "read"]);
}

#[test]
fn without_a_phone_messages_stay_in_the_queue_until_it_is_linked_or_for_a_day() {
    let mut account = quick();
    account.become_state("notAuthorized", NOW);
    assert_eq!(account.fetched()["body"]["instanceData"]["wid"], "");
    sends(&mut account, NOW, "waits");
    account.tick(NOW + 1_000);
    assert!(texts(&account).is_empty());
    account.become_state("authorized", NOW + 2_000);
    account.tick(NOW + 2_000);
    assert_eq!(texts(&account), ["waits"]);
    account.become_state("yellowCard", NOW + 3_000);
    sends(&mut account, NOW + 3_000, "too late");
    account.tick(NOW + 3_000 + KEPT_MS);
    account.become_state("authorized", NOW + 3_000 + KEPT_MS);
    account.tick(NOW + 3_000 + KEPT_MS);
    assert_eq!(texts(&account), ["waits"]);
}

#[test]
fn new_settings_hold_after_a_restart_in_which_nothing_is_taken() {
    let mut account = account(Pace::AS_USUAL);
    let change = json!({ "delaySendMessagesMilliseconds": 1_000, "unheardOf": "passed over" });
    let saved = asked(&mut account, NOW, "POST", "setSettings", change);
    assert_eq!(saved, Answer::Json(200, json!({ "saveSettings": true })));
    assert_eq!((account.state(), account.settings.send_delay_ms()), ("starting", 500));
    let refused = asked(&mut account, NOW, "POST", "sendMessage", json!({ "chatId": CHAT, "message": "x" }));
    assert!(
        matches!(&refused, Answer::Json(400, body) if body["message"] == "instance in starting process try later")
    );
    // A second restart keeps what the first was to bring.
    asked(&mut account, NOW + 1_000, "GET", "reboot", json!({}));
    account.tick(NOW + 4_000);
    assert_eq!((account.state(), account.settings.send_delay_ms()), ("authorized", 1_000));
    assert_eq!(told(&mut account), ["starting", "starting", "authorized"]);
    assert!(account.settings.shown("")["unheardOf"].is_null());
    for wrong in
        [json!({}), json!({ "incomingWebhook": true }), json!({ "delaySendMessagesMilliseconds": 499 })]
    {
        let answer = asked(&mut account, NOW + 9_000, "POST", "setSettings", wrong.clone());
        assert!(
            matches!(answer, Answer::Json(400, _)) || answer == Answer::Empty(429),
            "{wrong}: {answer:?}"
        );
    }
}

#[test]
fn a_new_account_tells_nothing_but_what_failed() {
    let mut account = quick();
    account.settings = Settings::new(&Options { webhook_url: String::new(), ..account.options.clone() });
    sends(&mut account, NOW, "hi");
    fault(&mut account, json!({ "fault": "no_account" }));
    sends(&mut account, NOW, "nobody there");
    account.tick(NOW);
    assert_eq!(told(&mut account), ["noAccount"]);
    let read = asked(&mut account, NOW, "POST", "readChat", json!({ "chatId": CHAT }));
    assert_eq!(read, Answer::Json(200, json!({ "setRead": false })));
}

#[test]
fn what_is_wrong_is_refused_in_the_words_of_the_gateway_and_nothing_is_queued() {
    let mut account = quick();
    for (body, words) in [
        (json!({ "message": "x" }), "'chatId' is required"),
        (json!({ "chatId": "6580000001", "message": "x" }), "'chatId' must be one of the next formats"),
        (json!({ "chatId": CHAT, "message": "" }), "'message' is not allowed to be empty"),
        (json!({ "chatId": CHAT, "message": 5 }), "'message' must be a string"),
        (
            json!({ "chatId": CHAT, "message": "é".repeat(20_001) }),
            "'message' length must be less than or equal to 20000 characters long",
        ),
        (
            json!({ "chatId": CHAT, "message": "x", "typingTime": 999 }),
            "'typingTime' must be from 1000 to 20000",
        ),
    ] {
        match asked(&mut account, NOW, "POST", "sendMessage", body) {
            Answer::Json(400, body) => {
                assert!(body["message"].as_str().is_some_and(|said| said.contains(words)), "{words}: {body}");
                assert_eq!(body["path"], "/waInstance7103000001/sendMessage/t0ken");
                assert_eq!(body["timestamp"], "2026-01-05T08:00:00.000Z");
            }
            taken => panic!("{words}: {taken:?}"),
        }
    }
    for (method, body, words) in [
        ("sendContact", json!({ "contact": { "firstName": "Rafa" } }), "'contact.phoneContact' is required"),
        (
            "sendPoll",
            json!({ "message": "Which?", "options": [{}, {}] }),
            "'options[0].optionName' is required",
        ),
        (
            "sendPoll",
            json!({ "message": "Which?", "options": [] }),
            "'options' must contain from 2 to 12 items",
        ),
        (
            "sendInteractiveButtonsReply",
            json!({ "body": "x", "buttons": ["x"] }),
            "'buttons[0]' must be of type object",
        ),
    ] {
        let mut body = body;
        body["chatId"] = json!(CHAT);
        match asked(&mut account, NOW, "POST", method, body) {
            Answer::Json(400, body) => {
                assert_eq!(body["message"], format!("Validation failed. Details: {words}"))
            }
            taken => panic!("{words}: {taken:?}"),
        }
    }
    let longest = json!({ "chatId": CHAT, "message": "é".repeat(20_000) });
    assert!(matches!(asked(&mut account, NOW, "POST", "sendMessage", longest), Answer::Json(200, _)));
    assert_eq!(account.shown_queue().len(), 1);
}

#[test]
fn whoever_asks_too_often_waits_and_each_method_counts_for_itself() {
    let mut account = account(Pace::AS_USUAL);
    let mut ask = |at, method| asked(&mut account, NOW + at, "GET", method, json!({}));
    assert!(matches!(ask(0, "getStateInstance"), Answer::Json(200, _)));
    assert_eq!(ask(999, "getStateInstance"), Answer::Empty(429));
    assert!(matches!(ask(999, "getSettings"), Answer::Json(200, _)));
    assert!(matches!(ask(1_000, "getStateInstance"), Answer::Json(200, _)));
    let sent = |account: &mut Account| {
        asked(account, NOW, "POST", "sendMessage", json!({ "chatId": CHAT, "message": "x" }))
    };
    let limited = (0..60).filter(|_| sent(&mut account) == Answer::Empty(429)).count();
    assert_eq!(limited, 10);
}

#[test]
fn the_free_plan_ends_at_so_many_chats_and_says_so() {
    let mut account = quick();
    account.options.pace.chats_max = Some(1);
    sends(&mut account, NOW, "first");
    let other = json!({ "chatId": "6580000002@c.us", "message": "x" });
    let answer = asked(&mut account, NOW, "POST", "sendMessage", other);
    assert!(
        matches!(&answer, Answer::Json(466, body) if body["correspondentsStatus"]["used"] == 1),
        "{answer:?}"
    );
    sends(&mut account, NOW, "the first again");
    assert_eq!(told(&mut account), ["quotaExceeded"]);
}

#[test]
fn a_message_has_the_fate_that_a_fault_gives_it() {
    for (kind, shown, words) in [
        ("swallow", 0, &[][..]),
        ("no_echo", 1, &["sent", "delivered", "read"]),
        ("no_account", 1, &["noAccount"]),
        ("fail", 1, &["failed"]),
        ("fail_then_send", 1, &["failed", "outgoingAPIMessageReceived", "sent", "delivered", "read"]),
    ] {
        let mut account = quick();
        fault(&mut account, json!({ "fault": kind }));
        sends(&mut account, NOW, "x");
        account.tick(NOW);
        assert_eq!(
            (texts(&account).len(), told(&mut account)),
            (shown, words.iter().map(|word| (*word).to_owned()).collect()),
            "{kind}"
        );
        sends(&mut account, NOW, "y");
        account.tick(NOW);
        assert_eq!(told(&mut account).len(), 4, "{kind}: only once");
    }
}

#[test]
fn a_call_is_spoilt_before_or_after_it_was_taken() {
    for (kind, travel) in [("status", Travel::Well), ("hang", Travel::Never), ("drop", Travel::Breaks)] {
        for taken in [false, true] {
            let mut account = quick();
            fault(&mut account, json!({ "fault": kind, "taken": taken, "times": 2 }));
            let message = call(NOW, "POST", "sendMessage", json!({ "chatId": CHAT, "message": "x" }));
            for _ in 0..2 {
                let (answer, how) = account.call(&message);
                assert_eq!(how, travel);
                assert!(kind != "status" || answer == Answer::Page(502), "{answer:?}");
            }
            assert_eq!(account.shown_queue().len(), if taken { 2 } else { 0 }, "{kind}");
            assert!(matches!(account.call(&message), (Answer::Json(200, _), Travel::Well)), "it is over");
        }
    }
    let mut account = quick();
    fault(&mut account, json!({ "fault": "slow", "ms": 70, "method": "*" }));
    let (answer, how) = account.call(&call(NOW, "GET", "getStateInstance", json!({})));
    assert!(matches!(answer, Answer::Json(200, _)) && how == Travel::After(70));
}

#[test]
fn what_is_told_comes_twice_or_in_the_wrong_order_when_it_is_to() {
    let mut account = quick();
    fault(&mut account, json!({ "fault": "swap" }));
    fault(&mut account, json!({ "fault": "twice" }));
    sends(&mut account, NOW, "x");
    account.tick(NOW);
    assert_eq!(told(&mut account), ["sent", "sent", "outgoingAPIMessageReceived", "delivered", "read"]);
}

#[test]
fn what_is_fetched_stays_the_same_until_it_is_deleted_and_never_goes_two_ways() {
    let mut account = quick();
    sends(&mut account, NOW, "x");
    account.tick(NOW);
    let first = account.fetched();
    assert_eq!(account.fetched(), first);
    let mut delete = call(NOW, "DELETE", "deleteNotification", json!({}));
    for (receipt, is_there) in [("1", true), ("1", false), ("99", false)] {
        delete.receipt = Some(receipt.to_owned());
        let (answer, _) = account.call(&delete);
        assert!(
            matches!(&answer, Answer::Json(200, body) if body["result"] == is_there),
            "{receipt}: {answer:?}"
        );
    }
    delete.receipt = Some("one".to_owned());
    assert!(matches!(account.call(&delete).0, Answer::Json(400, _)));
    assert_ne!(account.fetched(), first);
    assert_eq!(account.delivery(), None);
    account.settings.set(object(json!({ "webhookUrl": "http://bot.example/" })));
    let delivery = account.delivery().expect("a webhook");
    assert!(!account.overview().to_string().contains("secret"), "whoever looks does not learn the token");
    assert_eq!(delivery.authorization.as_deref(), Some("Bearer secret"));
    let refused = asked(&mut account, NOW, "GET", "receiveNotification", json!({}));
    assert!(
        matches!(&refused, Answer::Json(400, body) if body["message"].as_str().is_some_and(|it| it.contains("custom webhook url")))
    );
    for (at, is_cleared) in [(0, true), (59_999, false), (60_000, true)] {
        let answer = asked(&mut account, NOW + at, "DELETE", "clearWebhooksQueue", json!({}));
        assert!(
            matches!(&answer, Answer::Json(200, body) if body["isCleared"] == is_cleared),
            "{at}: {answer:?}"
        );
    }
}

#[test]
fn journals_are_late_and_the_queue_is_not() {
    let mut account = quick();
    account.options.pace.journal_lag_ms = 120_000;
    let id = sends(&mut account, NOW, "x");
    let queue = asked(&mut account, NOW, "GET", "showMessagesQueue", json!({}));
    assert!(
        matches!(&queue, Answer::Json(200, list) if list[0]["messageID"] == id && list[0]["body"]["message"] == "x")
    );
    account.tick(NOW);
    for (at, found) in [(119_999, 0), (120_000, 1)] {
        let journal = asked(&mut account, NOW + at, "GET", "lastOutgoingMessages", json!({}));
        assert!(
            matches!(&journal, Answer::Json(200, list) if list.as_array().map(Vec::len) == Some(found)),
            "{journal:?}"
        );
        let message =
            asked(&mut account, NOW + at, "POST", "getMessage", json!({ "chatId": CHAT, "idMessage": id }));
        assert_eq!(matches!(message, Answer::Json(200, _)), found == 1);
    }
}

/// Names at every depth.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), shape(field))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Value::Null,
    }
}

#[test]
fn what_it_tells_has_the_shape_of_what_the_gateway_posts() {
    macro_rules! posted {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/webhooks/", $name, ".json"))
        };
    }
    let mut account = quick();
    account.options.pace.chats_max = Some(1);
    account.contact_writes(&written(json!({ "chatId": CHAT, "text": "Hi" })), NOW).expect("written");
    let picture = json!({ "chatId": CHAT, "fileName": "a.jpg", "caption": "broken" });
    account.contact_writes(&written(picture), NOW).expect("written");
    sends(&mut account, NOW, "Hello");
    let file =
        json!({ "chatId": CHAT, "urlFile": "https://shop.example/price.pdf", "fileName": "price.pdf" });
    asked(&mut account, NOW, "POST", "sendFileByUrl", file);
    let other = json!({ "chatId": "6580000002@c.us", "message": "x" });
    asked(&mut account, NOW, "POST", "sendMessage", other);
    account.tick(NOW);
    account.phone_writes(&written(json!({ "chatId": CHAT, "text": "I am here" })), NOW).expect("written");
    account.become_state("notAuthorized", NOW);
    let mut told = Vec::new();
    while let Value::Object(next) = account.fetched() {
        account.settle(next["receiptId"].as_i64().expect("a receipt"), NOW);
        told.push(shape(&next["body"]));
    }
    for example in [
        posted!("in_text_plain"),
        posted!("in_image_caption"),
        posted!("out_phone_text"),
        posted!("out_api_text_echo"),
        posted!("out_api_file_echo"),
        posted!("status_delivered"),
        posted!("state_not_authorized"),
        posted!("quota_exceeded"),
    ] {
        let example: Value = serde_json::from_str(example).expect("JSON");
        assert!(told.contains(&shape(&example)), "nothing told is like {example}");
    }
}

fn written(value: Value) -> Written {
    serde_json::from_value(value).expect("something written")
}

#[test]
fn a_contact_writes_edits_and_deletes_and_is_quoted() {
    let mut account = quick();
    let said = written(json!({ "chatId": CHAT, "name": "Mei", "text": "Hi {\"typeWebhook\":\"x\"} <b>" }));
    let id = account.contact_writes(&said, NOW).expect("written");
    let quoting = json!({ "chatId": CHAT, "message": "Hello", "quotedMessageId": id });
    asked(&mut account, NOW, "POST", "sendMessage", quoting);
    account.tick(NOW);
    let mut bodies = Vec::new();
    while let Value::Object(next) = account.fetched() {
        account.settle(next["receiptId"].as_i64().expect("a receipt"), NOW);
        bodies.push(next["body"].clone());
    }
    assert_eq!(bodies[0]["messageData"]["textMessageData"]["textMessage"], "Hi {\"typeWebhook\":\"x\"} <b>");
    assert_eq!(bodies[0]["senderData"]["senderName"], "Mei");
    assert_eq!(bodies[1]["messageData"]["quotedMessage"]["stanzaId"], id);
    for (kind, data) in [
        ("editedMessage", json!({ "editedMessageData": { "textMessage": "Hallo", "stanzaId": id } })),
        ("deletedMessage", json!({ "deletedMessageData": { "stanzaId": id } })),
    ] {
        let mut data = data;
        data["typeMessage"] = json!(kind);
        account
            .contact_writes(&written(json!({ "chatId": CHAT, "messageData": data })), NOW)
            .expect("written");
    }
    let shown = &account.written(Some(CHAT))[0];
    assert_eq!(
        (&shown["text"], &shown["isEdited"], &shown["isDeleted"]),
        (&json!("Hallo"), &json!(true), &json!(true))
    );
    assert_eq!(account.written(Some(CHAT)).len(), 2, "an edit is no message of its own");
    for wrong in [
        json!({ "chatId": "Mei", "text": "x" }),
        json!({ "chatId": CHAT }),
        json!({ "chatId": CHAT, "messageData": {} }),
    ] {
        assert!(account.contact_writes(&written(wrong.clone()), NOW).is_err(), "{wrong}");
    }
}
