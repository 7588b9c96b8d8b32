//! What goes over the wire, against a gateway that answers.

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{any, body_json, header, method, path, query_param},
};

use super::{TOKEN, gateway_at, mira, outgoing};
use crate::adapters::green_api::{Door, LINKS_APART};
use crate::domain::chat::ChatId;
use crate::flow::outbox;
use crate::flow::provider::{LinkCode, LookUp, NoAnswer, Notification, Outgoing, Provider, Sent};

fn path_of(name: &str) -> String {
    format!("/waInstance7103000001/{name}/{TOKEN}")
}

async fn answering(status: u16, body: impl Into<Vec<u8>>) -> MockServer {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(status).set_body_raw(body, "application/json");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

async fn requests(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.expect("requests are recorded")
}

#[tokio::test]
async fn a_text_is_posted_once_with_its_key_its_length_and_its_quote() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path(path_of("sendMessage")))
        .and(header("content-type", "application/json"))
        .and(header("idempotency-key", "0199f0c2-key"))
        .and(header("content-length", "77"))
        .and(body_json(
            json!({"chatId": "6580000001@c.us", "message": "Two left 😊", "quotedMessageId": "A1"}),
        ))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"idMessage": "BAE5"})))
        .expect(1)
        .mount(&server)
        .await;
    let message = Outgoing { quoted: Some("A1".to_owned()), ..outgoing("Two left 😊") };
    let sent = gateway_at(&server.uri()).send(&message).await;
    assert_eq!(sent, Sent::Accepted { id: "BAE5".to_owned() }, "{:?}", requests(&server).await);
}

#[tokio::test]
async fn an_address_may_end_in_a_slash_or_have_a_path() {
    let server = answering(200, r#"{"idMessage":"BAE5"}"#).await;
    for ending in ["/", "/gateway", "/gateway/"] {
        gateway_at(&format!("{}{ending}", server.uri())).send(&outgoing("hi")).await;
    }
    let paths: Vec<String> =
        requests(&server).await.iter().map(|request| request.url.path().to_owned()).collect();
    let below = format!("/gateway{}", path_of("sendMessage"));
    assert_eq!(paths, [path_of("sendMessage"), below.clone(), below]);
}

#[tokio::test]
async fn nothing_is_repeated_and_no_redirect_is_followed() {
    for status in [302, 307, 308, 429, 500, 502, 503] {
        let server = MockServer::start().await;
        let answer =
            ResponseTemplate::new(status).insert_header("location", format!("{}/elsewhere", server.uri()));
        Mock::given(any()).respond_with(answer).mount(&server).await;
        gateway_at(&server.uri()).send(&outgoing("hi")).await;
        assert_eq!(requests(&server).await.len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_gateway_that_says_when_to_come_back_is_heard() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(429).insert_header("retry-after", "12");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let sent = gateway_at(&server.uri()).send(&outgoing("hi")).await;
    assert!(matches!(sent, Sent::Again { after_ms: Some(12_000..), .. }), "{sent:?}");
}

#[tokio::test]
async fn an_answer_that_comes_too_late_leaves_the_fate_unclear() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    // Within this the connection must be up.
    let message = Outgoing { timeout: Duration::from_secs(2), ..outgoing("hi") };
    let sent = gateway_at(&server.uri()).send(&message).await;
    assert_eq!(sent, Sent::Unclear { detail: "timed out".to_owned() });
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let server = answering(200, vec![b' '; 4 * 1024 * 1024]).await;
    let sent = gateway_at(&server.uri()).send(&outgoing("hi")).await;
    assert!(matches!(sent, Sent::Unclear { .. }), "{sent:?}");
}

#[tokio::test]
async fn the_state_is_the_gateways_own_word_and_one_that_cannot_send_while_there_is_none() {
    for (body, wanted) in [
        (r#"{"stateInstance":"yellowCard"}"#, "yellowCard"),
        (r#"{"stateInstance":null}"#, "unknown"),
        (r#"{"stateInstance":""}"#, "unknown"),
        ("null", "unknown"),
        ("{}", "unknown"),
    ] {
        let server = answering(200, body).await;
        let state = gateway_at(&server.uri()).state().await.expect("an answer");
        assert_eq!(state, wanted, "{body}");
        assert!(!outbox::is_able(&state), "{body}");
        assert_eq!(requests(&server).await[0].url.path(), path_of("getStateInstance"));
    }
    for (status, wanted) in [
        (401, NoAnswer::Refused),
        (403, NoAnswer::Refused),
        (404, NoAnswer::Silence),
        (429, NoAnswer::TooMany),
        (502, NoAnswer::Silence),
    ] {
        let server = answering(status, "").await;
        let unanswered = gateway_at(&server.uri()).state().await.expect_err("no answer");
        assert_eq!((unanswered.no_answer, unanswered.detail), (wanted, format!("status {status}")));
    }
    let server = answering(200, "<html>").await;
    let unanswered = gateway_at(&server.uri()).state().await.expect_err("no answer");
    assert_eq!(unanswered.no_answer, NoAnswer::Silence);
}

#[tokio::test]
async fn who_asks_in_the_same_second_as_another_asks_again() {
    let server = MockServer::start().await;
    let busy = Mock::given(any()).respond_with(ResponseTemplate::new(429));
    busy.up_to_n_times(2).mount(&server).await;
    let state = ResponseTemplate::new(200).set_body_string(r#"{"stateInstance":"authorized"}"#);
    Mock::given(any()).respond_with(state).mount(&server).await;
    assert_eq!(gateway_at(&server.uri()).state().await.expect("an answer"), "authorized");
    assert_eq!(requests(&server).await.len(), 3);
}

#[tokio::test]
async fn a_code_to_link_the_phone_is_a_picture_or_there_is_none() {
    const PNG: &str = "iVBORw0KGgo=";
    let shown = || LinkCode::Shown(b"\x89PNG\r\n\x1a\n".to_vec());
    let none = |detail: &str| LinkCode::Unavailable { detail: detail.to_owned() };
    for (body, code) in [
        (json!({ "type": "qrCode", "message": PNG }), shown()),
        (json!({ "type": "qrCode", "message": format!("data:image/png;base64,{PNG}") }), shown()),
        (json!({ "type": "qrCode", "message": "PHN2Zz4=" }), none("what came is no picture")),
        (json!({ "type": "qrCode" }), none("what came is no picture")),
        (
            json!({ "type": "alreadyLogged", "message": "instance account already authorized" }),
            LinkCode::Linked,
        ),
        (json!({ "type": "error", "message": format!("no code for {TOKEN}") }), none("no code for ***")),
        (json!({ "type": "timeoutExpired" }), none("timeoutExpired")),
        (json!(null), none("")),
    ] {
        let server = answering(200, body.to_string()).await;
        assert_eq!(gateway_at(&server.uri()).link_code().await.expect("an answer"), code, "{body}");
        assert_eq!(requests(&server).await[0].url.path(), path_of("qr"));
    }
    let server = answering(429, "").await;
    assert_eq!(gateway_at(&server.uri()).link_code().await.expect_err("no answer").detail, "status 429");
}

#[tokio::test]
async fn settings_are_read_and_changed() {
    let server = answering(200, r#"{"webhookUrl":"https://b.example/w","incomingWebhook":"yes"}"#).await;
    let gateway = gateway_at(&server.uri());
    let settings = gateway.settings(None).await.expect("an answer");
    assert_eq!(settings.webhook_url, "https://b.example/w");
    assert!(!settings.switches_off.contains(&"incomingWebhook"));
    let door = Door { url: "https://b.example/w".to_owned(), token: "s3cret".to_owned() };
    let mut differences = settings.differences(&door);
    differences.retain(|it| it.setting == "stateWebhook");
    gateway.change_settings(&differences, &door).await.expect("an answer");
    let changed = &requests(&server).await[1];
    assert_eq!(changed.url.path(), path_of("setSettings"));
    assert_eq!(changed.body_json::<Value>().expect("JSON"), json!({"stateWebhook": "yes"}));
}

#[tokio::test]
async fn typing_is_shown_once_at_a_time_on_an_account_and_within_bounds() {
    let server = answering(200, "").await;
    let other = crate::domain::chat::ChatId::parse("6580000002@c.us").expect("a chat id");
    let gateway = gateway_at(&server.uri());
    gateway.show_typing(&mira(), 60_000).await;
    gateway.show_typing(&mira(), 3_000).await;
    gateway.show_typing(&other, 3_000).await;
    gateway_at(&server.uri()).show_typing(&other, 10).await;
    let bodies: Vec<Value> =
        requests(&server).await.iter().map(|request| request.body_json().expect("JSON")).collect();
    let expected = [
        json!({"chatId": "6580000001@c.us", "typingTime": 20_000}),
        json!({"chatId": "6580000002@c.us", "typingTime": 1_000}),
    ];
    assert_eq!(bodies, expected);
}

#[tokio::test]
async fn a_chat_is_marked_as_read_whole() {
    let server = answering(200, r#"{"setRead":true}"#).await;
    let gateway = gateway_at(&server.uri());
    gateway.mark_read(&mira()).await;
    let asked = &requests(&server).await[0];
    assert_eq!(asked.url.path(), path_of("readChat"));
    assert_eq!(asked.body_json::<Value>().expect("JSON"), json!({"chatId": "6580000001@c.us"}));
}

#[tokio::test]
async fn a_notification_is_fetched_as_it_would_have_been_posted_and_taken_off_by_its_receipt() {
    let server = MockServer::start().await;
    // The second body holds half a character, and the third is no JSON: they cannot be read, but be taken off the queue.
    let bodies = [
        r#"{"receiptId":7,"body":{"typeWebhook":"x"}}"#,
        r#"{"receiptId":8,"body":{"text":"\ud83d"}}"#,
        r#"{"receiptId": 9, "body": {"text": "\"receiptId\":1", "broken" "here"}}"#,
        "null",
        "",
    ];
    for body in bodies {
        Mock::given(method("GET"))
            .and(path(path_of("receiveNotification")))
            .and(query_param("receiveTimeout", "10"))
            .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/json"))
            .up_to_n_times(1)
            .mount(&server)
            .await;
    }
    Mock::given(method("DELETE"))
        .and(path(format!("{}/7", path_of("deleteNotification"))))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"result": true, "reason": ""})))
        .expect(1)
        .mount(&server)
        .await;
    let gateway = gateway_at(&server.uri());
    let mut fetched = Vec::new();
    for _ in bodies {
        fetched.push(gateway.receive(Duration::from_secs(10)).await.expect("an answer"));
    }
    let notification = |receipt, body: &str| Some(Notification { receipt, body: body.as_bytes().to_vec() });
    let first = notification(7, r#"{"typeWebhook":"x"}"#);
    let second = notification(8, r#"{"text":"\ud83d"}"#);
    let third = notification(9, bodies[2]);
    assert_eq!(fetched, [first, second, third, None, None]);
    gateway.acknowledge(7).await.expect("it is taken off");
    gateway.acknowledge(9).await.expect_err("404 is no answer");
}

#[tokio::test]
async fn a_gateway_that_posts_elsewhere_is_told_from_one_that_is_down() {
    let refusal =
        "Message cannot be received because custom webhook url is set. Go to cabinet, clear webhook url";
    let server = answering(400, json!({"message": refusal}).to_string()).await;
    let unanswered = gateway_at(&server.uri()).receive(Duration::from_secs(5)).await.expect_err("refused");
    assert!(unanswered.detail.contains("BATON_GREEN_API_RECEIVE=webhook"), "{unanswered}");
    let server = answering(401, "").await;
    let unanswered = gateway_at(&server.uri()).receive(Duration::from_secs(5)).await.expect_err("refused");
    assert!(
        unanswered.no_answer == NoAnswer::Refused && !unanswered.detail.contains("webhook"),
        "{unanswered}"
    );
}

#[tokio::test]
async fn the_journal_comes_oldest_first_without_what_cannot_be_read() {
    let item = |id: &str, at: i64, chat: &str| {
        json!({"type": "incoming", "idMessage": id, "timestamp": at, "typeMessage": "textMessage", "chatId": chat,
            "textMessage": id, "senderId": chat, "senderName": "mira"})
    };
    let items = json!([
        item("A2", 1_767_600_012, "6580000001@c.us"),
        item("B", 1_767_600_013, "nobody"),
        item("A1", 1_767_600_011, "6580000001@c.us")
    ]);
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path(path_of("lastIncomingMessages")))
        .and(query_param("minutes", "90"))
        .respond_with(ResponseTemplate::new(200).set_body_json(items))
        .mount(&server)
        .await;
    let arrivals = gateway_at(&server.uri()).journal(90).await.expect("an answer");
    let texts: Vec<&str> = arrivals.iter().map(|arrival| arrival.text.as_str()).collect();
    assert_eq!(texts, ["A1", "A2"]);
}

#[tokio::test]
async fn the_lists_of_what_was_sent_are_asked_for_whole_or_not_believed() {
    let queued =
        r#"[{"messageID":"BAE5","type":"sendMessage","body":{"chatId":"6580000001@c.us","message":"hi"}}]"#;
    let server = answering(200, queued).await;
    let found = gateway_at(&server.uri()).look_up(LookUp::Queue).await.expect("an answer");
    assert_eq!(found.iter().map(|trace| trace.text.as_str()).collect::<Vec<_>>(), ["hi"]);
    gateway_at(&server.uri()).look_up(LookUp::Journal { minutes: 7 }).await.expect("an answer");
    let asked = requests(&server).await;
    assert_eq!(asked[0].url.path(), path_of("showMessagesQueue"));
    assert_eq!(asked[1].url.path(), path_of("lastOutgoingMessages"));
    assert_eq!(asked[1].url.query(), Some("minutes=7"));

    let many = format!("[{}]", vec![r#"{"sendByApi":true}"#; 10_000].join(","));
    let server = answering(200, many).await;
    gateway_at(&server.uri())
        .look_up(LookUp::Journal { minutes: 7 })
        .await
        .expect("longer than other answers");
    let endless = format!("[{}]", vec![r#"{"sendByApi":true}"#; 300_000].join(","));
    let server = answering(200, endless).await;
    gateway_at(&server.uri()).look_up(LookUp::Queue).await.expect_err("cut off, it proves nothing");
    for (status, body) in [(429, "[]"), (502, "[]"), (200, "<html>")] {
        let server = answering(status, body).await;
        gateway_at(&server.uri()).look_up(LookUp::Queue).await.expect_err("no answer");
    }
}

#[tokio::test]
async fn the_length_of_the_queue_is_a_number_or_not_known() {
    let server = answering(200, r#"{"count":2}"#).await;
    assert_eq!(gateway_at(&server.uri()).queue_length().await.expect("an answer"), 2);
    assert_eq!(requests(&server).await[0].url.path(), path_of("getMessagesCount"));
    let server = answering(200, "{}").await;
    gateway_at(&server.uri()).queue_length().await.expect_err("no count");
}

#[tokio::test]
async fn the_other_id_of_a_person_is_asked_for_by_number_and_by_hidden_id() {
    let hidden = ChatId::parse("100000000000001@lid").expect("a chat");
    for (of, method, asked_for, answer, wanted) in [
        (
            mira(),
            "checkWhatsapp",
            json!({ "phoneNumber": 6_580_000_001_i64 }),
            hidden.as_str(),
            Some(&hidden),
        ),
        (mira(), "checkWhatsapp", json!({ "phoneNumber": 6_580_000_001_i64 }), "6580000001@c.us", None),
        (
            hidden.clone(),
            "getContactInfo",
            json!({ "chatId": hidden.as_str() }),
            "6580000001@c.us",
            Some(&mira()),
        ),
        (hidden.clone(), "getContactInfo", json!({ "chatId": hidden.as_str() }), "", None),
    ] {
        let server = answering(200, &*json!({ "existsWhatsapp": true, "chatId": answer }).to_string()).await;
        let other = gateway_at(&server.uri()).other_id(&of).await.expect("an answer");
        assert_eq!(other.as_ref(), wanted, "{of}");
        let asked = requests(&server).await.remove(0);
        assert_eq!((asked.method.as_str(), asked.url.path()), ("POST", path_of(method).as_str()));
        assert_eq!(asked.body_json::<Value>().expect("JSON"), asked_for);
    }
    let away = answering(429, "").await;
    let gateway = gateway_at(&away.uri());
    gateway.other_id(&mira()).await.expect_err("no answer");
    gateway.other_id(&mira()).await.expect_err("not asked");
    assert_eq!(requests(&away).await.len(), 1, "one webhook waits, not all");
}

#[tokio::test]
async fn a_link_to_a_file_is_asked_for_by_chat_and_message() {
    let server = answering(200, r#"{"downloadUrl":"https://7103.media.greenapi.com/a.jpg"}"#).await;
    let link = gateway_at(&server.uri()).file_link(&mira(), "A1").await.expect("an answer");
    assert_eq!(link.as_deref(), Some("https://7103.media.greenapi.com/a.jpg"));
    let asked = requests(&server).await.remove(0);
    assert_eq!((asked.method.as_str(), asked.url.path()), ("POST", path_of("downloadFile").as_str()));
    let body: Value = asked.body_json().expect("JSON");
    assert_eq!(body, json!({"chatId": "6580000001@c.us", "idMessage": "A1"}));

    for (status, body) in [(400, "no such file"), (200, r#"{"downloadUrl":"{{SWE002}}"}"#), (200, "{}")] {
        let server = answering(status, body).await;
        let link = gateway_at(&server.uri()).file_link(&mira(), "A1").await.expect("an answer");
        assert_eq!(link, None, "{status} {body}");
    }
    for (status, body) in [
        (429, ""),
        (500, "Internal error when downloading file"),
        (200, "<html>"),
        (400, r#"{"message":"instance in starting process try later"}"#),
        (400, "instance account not authorized"),
        (400, r#"{"message":"Instance account is expired. Renew it"}"#),
    ] {
        let server = answering(status, body).await;
        gateway_at(&server.uri()).file_link(&mira(), "A1").await.expect_err("no answer");
    }
}

#[tokio::test]
async fn links_to_files_are_asked_for_at_the_pace_of_the_gateway_and_once_more_if_it_was_too_fast() {
    let server = answering(200, r#"{"downloadUrl":"https://7103.media.greenapi.com/a.jpg"}"#).await;
    let too_often = ResponseTemplate::new(429);
    Mock::given(any()).respond_with(too_often).up_to_n_times(1).with_priority(1).mount(&server).await;
    let gateway = gateway_at(&server.uri());
    let began = std::time::Instant::now();
    let chat = mira();
    let asked = ["A1", "A2", "A3", "A4", "A5"].map(|message| gateway.file_link(&chat, message));
    for link in futures_util::future::join_all(asked).await {
        assert!(link.expect("an answer").is_some());
    }
    assert!(began.elapsed() >= 5 * LINKS_APART, "{:?}", began.elapsed());
    assert_eq!(requests(&server).await.len(), 6);
}
