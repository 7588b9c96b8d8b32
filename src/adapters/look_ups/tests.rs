//! Against a mock server where it answers, and against a raw socket where it misbehaves.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};
use uuid::Uuid;
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::*;
use crate::{
    adapters::model_server::fake::{Act, LONG, SECRET, client, head, order_status, piece, serve},
    domain::{tool::LookUp, turn::Purpose},
    flow::generator::{About, tools::Asking},
};

/// That of Standard Webhooks' own example.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn at(url: &str, timeout: Duration) -> Services {
    let timeout_ms = u64::try_from(timeout.as_millis()).expect("short");
    let tool = Tool { look_up: Some(LookUp { url: url.into(), timeout_ms }), ..order_status() };
    // Keys read from files end in a line break.
    Services::new(&[order_status(), tool], Some(&format!("{KEY}\n")), &client()).expect("good settings")
}

fn asking() -> Asking {
    let arguments = serde_json::from_value(json!({ "order": "7" })).expect("an object");
    Asking { tool: "order_status".into(), arguments }
}

async fn ask(services: &Services) -> Result<String, Failure> {
    let about = About {
        conversation: Uuid::from_u128(1),
        chat: "6580000001@c.us".into(),
        phone: Some("+6580000001".into()),
        sender: None,
        contact_name: Some("Mei".into()),
        turn: Uuid::from_u128(2),
        purpose: Purpose::Reply,
    };
    let asking = asking();
    services.ask(Question { asking: &asking, channel: "default", about: &about, number: 3 }).await
}

/// Asks a server that answers so.
async fn answered(template: ResponseTemplate) -> Result<String, Failure> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    ask(&at(&server.uri(), LONG)).await
}

fn text(text: impl Into<Vec<u8>>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text.into(), "text/plain")
}

#[tokio::test]
async fn a_service_is_told_who_asks_what_and_can_tell_that_it_is_us() {
    let server = MockServer::start().await;
    let answers = ResponseTemplate::new(200).set_body_json(json!({ "status": "on its way" }));
    Mock::given(method("POST")).respond_with(answers).mount(&server).await;
    let answer = ask(&at(&format!("{}/status/?a=b", server.uri()), LONG)).await;
    assert_eq!(answer, Ok(r#"{"status":"on its way"}"#.to_owned()));

    let asked: Vec<Request> = server.received_requests().await.expect("remembered");
    let asked = &asked[0];
    assert_eq!((asked.url.path(), asked.url.query()), ("/status/", Some("a=b")), "its very address");
    let header = |name: &str| asked.headers.get(name).expect(name).to_str().expect("text").to_owned();
    let id = "00000000-0000-0000-0000-000000000002-call-3";
    let posted: Value = serde_json::from_slice(&asked.body).expect("JSON");
    let expected = json!({
        "type": "look_up",
        "id": id,
        "tool": "order_status",
        "arguments": { "order": "7" },
        "channel": "default",
        "conversation_id": "00000000-0000-0000-0000-000000000001",
        "turn_id": "00000000-0000-0000-0000-000000000002",
        "chat_id": "6580000001@c.us",
        "phone": "+6580000001",
        "sender": null,
        "contact_name": "Mei",
    });
    assert_eq!((posted, header("webhook-id").as_str()), (expected, id));
    let at: i64 = header("webhook-timestamp").parse().expect("a number");
    assert!((jiff::Timestamp::now().as_second() - at).abs() < 60, "now");
    let key = Key::read(KEY).expect("a key");
    assert_eq!(header("webhook-signature"), key.sign(id, at, &asked.body));
}

#[tokio::test]
async fn what_is_no_answer_is_told_in_our_own_words() {
    let secret = || text(format!("no, {SECRET}"));
    let told = |answer: Result<String, Failure>| answer.expect_err("a failure").detail;
    assert_eq!(
        told(answered(secret().append_header("x", "y").set_body_bytes(vec![0xff])).await),
        "the answer is no text"
    );
    assert_eq!(told(answered(text(" \n")).await), "the answer is empty");
    for status in [301, 400, 404, 500, 503] {
        let template = ResponseTemplate::new(status).set_body_string(format!("no, {SECRET}"));
        let redirect = template.insert_header("location", "http://127.0.0.1:1/");
        assert_eq!(told(answered(redirect).await), format!("status {status}"));
    }
    let largest = "x".repeat(ANSWER_MAX_BYTES);
    assert_eq!(answered(text(largest.clone())).await.map(|answer| answer.len()), Ok(ANSWER_MAX_BYTES));
    assert_eq!(told(answered(text(largest + "x")).await), "more than 32768 bytes");
    assert_eq!(told(ask(&at("http://127.0.0.1:1/", LONG)).await), "cannot connect");
}

#[tokio::test]
async fn a_service_that_takes_too_long_is_left() {
    for script in [vec![Act::AwaitHangUp], vec![head(), piece("on its"), Act::AwaitHangUp]] {
        let (address, served) = serve(script).await;
        let failure = ask(&at(&format!("http://{address}/"), Duration::from_millis(100))).await;
        assert_eq!(failure.expect_err("a failure").kind, FailureKind::TimedOut);
        timeout(LONG, served).await.expect("the server sees it").expect("no panic");
    }
}

#[tokio::test]
async fn a_question_that_is_dropped_hangs_up_at_once() {
    let (tell, told) = oneshot::channel();
    let (address, mut served) = serve(vec![Act::Tell(tell), Act::AwaitHangUp]).await;
    // Its own limit does not end within the time that the server is given to see it.
    let services = Arc::new(at(&format!("http://{address}/"), LONG * 30));
    let asked = tokio::spawn({
        let services = Arc::clone(&services);
        async move { ask(&services).await }
    });
    told.await.expect("it is asked");
    assert!((&mut served).now_or_never().is_none(), "still connected");
    asked.abort();
    timeout(LONG, served).await.expect("the server sees it").expect("no panic");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_at_the_start_and_only_that() {
    let tool =
        |url: &str| Tool { look_up: Some(LookUp { url: url.into(), timeout_ms: 100 }), ..order_status() };
    let refused = |url: &str, secret: Option<&str>| Services::new(&[tool(url)], secret, &client()).err();
    assert_eq!(refused("http://[", Some(KEY)), Some(Invalid::Url("order_status".into())));
    for secret in [None, Some("whsec_?"), Some("sk-key")] {
        assert_eq!(refused("http://127.0.0.1:1/", secret), Some(Invalid::Key), "{secret:?}");
    }
    let errands = Services::new(&[order_status()], None, &client()).expect("nobody is asked");
    assert_eq!(ask(&errands).await.expect_err("nobody").kind, FailureKind::Refused);
    let shown = format!("{:?}", at("http://127.0.0.1:1/?key=s3cret", LONG));
    assert!(!shown.contains("s3cret") && !shown.contains("MfKQ"), "{shown}");
}

#[test]
fn the_guide_shows_what_is_asked() {
    let guide = include_str!("../../../docs/guides/models.md");
    let (_, section) = guide.split_once("it is a look-up**").expect("a section");
    let (_, rest) = section.split_once("```json\n").expect("an example");
    let shown: Value = serde_json::from_str(rest.split_once("```").expect("it ends").0).expect("JSON");
    let id = |name: &str| shown[name].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let about = About {
        conversation: id("conversation_id"),
        chat: "6580000001@c.us".into(),
        phone: Some("+6580000001".into()),
        sender: None,
        contact_name: Some("Mei".into()),
        turn: id("turn_id"),
        purpose: Purpose::Reply,
    };
    let arguments = serde_json::from_value(json!({ "order": "1007" })).expect("an object");
    let asking = Asking { tool: "order_status".into(), arguments };
    let question = Question { asking: &asking, channel: "default", about: &about, number: 1 };
    assert_eq!(serde_json::from_str::<Value>(&body(&question)).expect("JSON"), shown);
}
