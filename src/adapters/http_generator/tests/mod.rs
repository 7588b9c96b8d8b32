//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request as Asked, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;
use crate::{
    adapters::model_server::fake::{
        Act, Heard, LONG, SECRET, SHORT, client, hangs_up_when_dropped, head, kind, last, piece, question,
        serve,
    },
    flow::generator::{FailureKind, Line, ToolCall},
};

/// That of Standard Webhooks' own example.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn settings(base_url: &str, api_key: Option<&str>, idle: Duration, total: Duration) -> Settings {
    Settings { base_url: base_url.into(), api_key: api_key.map(ToOwned::to_owned), idle, total }
}

fn service_at(address: &str, idle: Duration, total: Duration) -> HttpGenerator {
    // Keys read from files end in a line break.
    let settings = settings(address, Some(&format!("{KEY}\n")), idle, total);
    HttpGenerator::new(&settings, client()).expect("good settings")
}

async fn ask(service: &HttpGenerator) -> Result<Written, Failure> {
    service.reply(&question(), &Heard::default()).await
}

/// Asks a server that answers so.
async fn answered(template: ResponseTemplate) -> Result<Written, Failure> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    ask(&service_at(&server.uri(), LONG, LONG)).await
}

/// Asks a socket that acts so.
async fn acted(script: Vec<Act>, idle: Duration, total: Duration) -> Result<Written, Failure> {
    let (address, _served) = serve(script).await;
    ask(&service_at(&format!("http://{address}"), idle, total)).await
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn says(words: &str) -> String {
    event(&json!({ "text": words }))
}

/// 10 tokens read, 4 written.
fn done() -> String {
    event(&json!({ "done": true, "usage": { "input_tokens": 10, "output_tokens": 4 } }))
}

fn whole() -> String {
    [says("We open "), says("at nine."), done()].concat()
}

fn error(word: &str) -> Value {
    json!({ "error": { "code": word, "message": format!("no, {SECRET}") } })
}

fn events(body: impl Into<String>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.into(), "text/event-stream; charset=utf-8")
}

/// What a service must find in order to believe a request: its id. The clock is the same machine's.
fn believed(asked: &Asked) -> String {
    let header = |name: &str| asked.headers.get(name).expect(name).to_str().expect("text").to_owned();
    let (id, at) = (header("webhook-id"), header("webhook-timestamp"));
    let at: i64 = at.parse().expect("seconds");
    assert!((Timestamp::now().as_second() - at).abs() < 60, "{at} is now");
    let key = Key::read(KEY).expect("a key");
    assert_eq!(header("webhook-signature"), key.sign(&id, at, &asked.body));
    id
}

#[tokio::test]
async fn a_service_is_asked_at_its_very_address_and_can_tell_that_it_is_us() {
    for place in ["", "/", "/answer", "/answer/", "/v1/answer?to=baton"] {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(header("content-type", "application/json"))
            .and(body_partial_json(json!({ "type": "reply", "channel": "default", "prompt": "Be kind." })))
            .respond_with(events(whole()))
            .expect(1)
            .mount(&server)
            .await;
        let heard = Heard::default();
        let service = service_at(&format!("{}{place}", server.uri()), LONG, LONG);
        let written = service.reply(&question(), &heard).await.expect("an answer");
        let (text, input_tokens, output_tokens) = ("We open at nine.".into(), 10, 4);
        assert_eq!(written, Written { text, input_tokens, output_tokens, ..Written::default() });
        assert_eq!(heard.all(), ["We open "], "at most one word about it in 100 ms");
        let asked = server.received_requests().await.expect("remembered");
        assert_eq!(believed(&asked[0]), question().about.turn.to_string());
        let (path, query) = (asked[0].url.path(), asked[0].url.query());
        let asked_at = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        assert_eq!(asked_at, if place.is_empty() { "/" } else { place });
    }
}

#[tokio::test]
async fn tools_are_called_and_told_of_in_the_next_round_under_another_id() {
    let server = MockServer::start().await;
    let delay = json!({ "id": "call_0", "name": "schedule_follow_up", "arguments": { "delay_hours": 2 } });
    let told = json!({ "messages": [
        { "role": "contact", "text": "Are you open?" },
        { "role": "assistant", "text": "", "calls": [delay] },
        { "role": "result", "call_id": "call_0", "text": "scheduled" },
    ] });
    let post = || Mock::given(method("POST"));
    let second = post().and(body_partial_json(told)).respond_with(events(whole()));
    second.with_priority(1).mount(&server).await;
    let nameless = json!({ "name": "schedule_follow_up", "arguments": { "delay_hours": 2 } });
    let first = event(&json!({ "done": true, "calls": [nameless] }));
    post().respond_with(events(first)).mount(&server).await;

    let service = service_at(&server.uri(), LONG, LONG);
    let mut request = question();
    let written = service.reply(&request, &Heard::default()).await.expect("calls");
    let call = ToolCall {
        id: "call_0".into(),
        name: "schedule_follow_up".into(),
        arguments: "{\"delay_hours\":2}".into(),
        ..ToolCall::default()
    };
    assert_eq!((written.text.as_str(), &written.calls), ("", &vec![call]));
    request.lines.push(Line::Calls(written.text, written.calls));
    request.lines.push(Line::Result { call: "call_0".into(), text: "scheduled".into() });
    let written = service.reply(&request, &Heard::default()).await.expect("an answer");
    assert_eq!(written.text, "We open at nine.");
    let asked = server.received_requests().await.expect("remembered");
    let turn = request.about.turn;
    assert_eq!([believed(&asked[0]), believed(&asked[1])], [turn.to_string(), format!("{turn}-2")]);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    let json = |body: &Value| answered(ResponseTemplate::new(200).set_body_json(body));
    let body = json!({
        "text": "A colleague comes.",
        "calls": [{ "name": "hand_over", "arguments": { "reason": "asked" } }],
        "usage": { "input_tokens": 10, "output_tokens": 4 },
    });
    let written = json(&body).await.expect("an answer");
    assert_eq!((written.text.as_str(), written.output_tokens), ("A colleague comes.", 4));
    assert_eq!(
        (written.calls[0].name.as_str(), written.calls[0].arguments.as_str()),
        ("hand_over", r#"{"reason":"asked"}"#)
    );
    assert_eq!(json(&json!({ "text": "Yes." })).await.expect("an answer").text, "Yes.");

    for nothing in [json!({}), json!({ "text": " \n", "calls": [], "done": true }), json!({ "text": null })] {
        assert_eq!(kind(json(&nothing).await), FailureKind::Empty, "{nothing}");
    }
    assert_eq!(kind(json(&error("rate_limited")).await), FailureKind::RateLimited);
    assert_eq!(kind(json(&json!({ "text": 5 })).await), FailureKind::Malformed);
    for raw in ["<html>", "{\"text\":\"We open at"] {
        let broken = ResponseTemplate::new(200).set_body_raw(raw, "application/json");
        assert_eq!(kind(answered(broken).await), FailureKind::Malformed, "{raw}");
    }
    let page = ResponseTemplate::new(200).set_body_raw("<html>Welcome", "text/html");
    assert_eq!(kind(answered(page).await), FailureKind::Cut);
    let nothing_at_all = ResponseTemplate::new(204);
    assert_eq!(kind(answered(nothing_at_all).await), FailureKind::Cut);
}

/// Case K36.
#[tokio::test]
async fn a_broken_stream_is_never_an_answer() {
    let words = || piece(&says("We open at "));
    let in_order = vec![head(), words(), last(), Act::Close];
    assert_eq!(kind(acted(in_order, LONG, LONG).await), FailureKind::Cut);
    let without_the_last_chunk = vec![head(), words(), Act::Close];
    assert_eq!(kind(acted(without_the_last_chunk, LONG, LONG).await), FailureKind::Cut);
    let reset = vec![head(), words(), Act::Reset];
    assert_eq!(kind(acted(reset, LONG, LONG).await), FailureKind::Cut);
    let before_the_head = vec![Act::Reset];
    assert_eq!(kind(acted(before_the_head, LONG, LONG).await), FailureKind::Cut);
    let only_comments = vec![head(), piece(": still thinking\n\n"), last(), Act::Close];
    assert_eq!(kind(acted(only_comments, LONG, LONG).await), FailureKind::Cut);
    let whole = vec![head(), piece(": thinking\n\n"), piece(&whole()), last(), Act::Close];
    assert_eq!(acted(whole, LONG, LONG).await.expect("an answer").text, "We open at nine.");
}

#[tokio::test]
async fn silence_and_slowness_have_their_limits() {
    let silent = vec![Act::AwaitHangUp];
    let failure = acted(silent, SHORT, LONG).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "no byte for 60 ms"));
    let stalled = vec![head(), piece(&says("We open")), Act::AwaitHangUp];
    assert_eq!(kind(acted(stalled, SHORT, LONG).await), FailureKind::TimedOut);
    let slow = vec![head(), piece(&says("We open")), Act::AwaitHangUp];
    let failure = acted(slow, LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));
}

/// Case K37.
#[tokio::test]
async fn every_status_is_told_apart_and_none_tells_the_services_words() {
    let table = [
        (301, FailureKind::Refused),
        (307, FailureKind::Refused),
        (400, FailureKind::Refused),
        (401, FailureKind::Refused),
        (402, FailureKind::Quota),
        (404, FailureKind::Refused),
        (429, FailureKind::RateLimited),
        (500, FailureKind::Server),
        (503, FailureKind::Server),
    ];
    for (status, expected) in table {
        let server = MockServer::start().await;
        let elsewhere = format!("{}/elsewhere", server.uri());
        let template = ResponseTemplate::new(status)
            .insert_header("retry-after", "7")
            .insert_header("location", elsewhere)
            .set_body_json(error("a_word_of_its_own"));
        Mock::given(method("POST")).and(path("/answer")).respond_with(template).mount(&server).await;
        let service = service_at(&format!("{}/answer", server.uri()), LONG, LONG);
        let failure = ask(&service).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (expected, format!("status {status}").as_str()));
        let waits = failure.kind.is_worth_another_try().then_some(7_000);
        assert_eq!(failure.retry_after_ms, waits, "{status}");
        let asked = server.received_requests().await.expect("remembered");
        assert_eq!(asked.len(), 1, "nobody is asked twice, or followed: {status}");
    }
}

#[tokio::test]
async fn dropping_the_reply_hangs_up_at_once() {
    let in_the_middle = vec![head(), piece(&says("We open at "))];
    hangs_up_when_dropped(|address| service_at(address, LONG, LONG), in_the_middle).await;
}

#[tokio::test]
async fn a_check_is_signed_and_asks_for_nothing() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/answer"))
        .respond_with(ResponseTemplate::new(204))
        .up_to_n_times(2)
        .mount(&server)
        .await;
    let service = service_at(&format!("{}/answer", server.uri()), LONG, LONG);
    for _ in 0..2 {
        assert_eq!(service.check().await.as_deref(), Ok("answers"));
    }
    let asked = server.received_requests().await.expect("remembered");
    assert_eq!(asked[0].body_json::<Value>().expect("JSON"), json!({ "type": "check" }));
    assert_ne!(believed(&asked[0]), believed(&asked[1]));
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(401)).mount(&server).await;
    let failure = service.check().await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Refused, "status 401"));
}

#[test]
fn settings_that_name_nothing_are_refused_and_none_shows_its_key() {
    let made =
        |address: &str, key: Option<&str>| HttpGenerator::new(&settings(address, key, LONG, LONG), client());
    assert_eq!(made("answers.example.com", Some(KEY)).err(), Some(Invalid::BaseUrl));
    assert_eq!(made("ftp://example.com", Some(KEY)).err(), Some(Invalid::BaseUrl));
    let short = "whsec_c2hvcnQ=";
    for key in [None, Some(""), Some("sk-very-secret"), Some("whsec_"), Some("whsec_?"), Some(short)] {
        assert_eq!(made("http://example.com", key).err(), Some(Invalid::SigningKey), "{key:?}");
    }
    let shown = format!("{:?}", made("http://example.com", Some(KEY)).expect("good settings"));
    assert!(shown.contains("example.com") && !shown.contains("MfKQ9r8"), "{shown}");
}
