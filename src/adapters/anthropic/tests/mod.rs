//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

mod looking;

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
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

fn model_at(base_url: &str, idle: Duration, total: Duration) -> Anthropic {
    let settings = Settings { base_url: base_url.into(), api_key: Some(format!("{SECRET}\n")), idle, total };
    Anthropic::new(&settings, client()).expect("good settings")
}

async fn ask(model: &Anthropic) -> Result<Written, Failure> {
    model.reply(&question(), &Heard::default()).await
}

/// Asks a server that answers so.
async fn answered(template: ResponseTemplate) -> Result<Written, Failure> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    ask(&model_at(&server.uri(), LONG, LONG)).await
}

/// Asks a socket that acts so.
async fn acted(script: Vec<Act>, idle: Duration, total: Duration) -> Result<Written, Failure> {
    let (address, _served) = serve(script).await;
    ask(&model_at(&format!("http://{address}"), idle, total)).await
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("each has its type"))
}

/// The message begins: 10 tokens read, some of them from a cache.
fn begins() -> String {
    let usage = json!({
        "input_tokens": 3, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 5, "output_tokens": 1,
    });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    event(&json!({ "type": "message_start", "message": message }))
}

fn block(index: u64, block: &Value) -> String {
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn delta(index: u64, delta: &Value) -> String {
    event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn closes(index: u64) -> String {
    event(&json!({ "type": "content_block_stop", "index": index }))
}

fn text(words: &str) -> String {
    delta(0, &json!({ "type": "text_delta", "text": words }))
}

/// A block of text from its begin to its end.
fn says(words: &[&str]) -> String {
    let words: String = words.iter().map(|words| text(words)).collect();
    [block(0, &json!({ "type": "text", "text": "" })), words, closes(0)].concat()
}

fn call(index: u64, id: &str, name: &str, pieces: &[&str]) -> String {
    let begin = block(index, &json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
    let piece = |piece: &&str| delta(index, &json!({ "type": "input_json_delta", "partial_json": piece }));
    [begin, pieces.iter().map(piece).collect(), closes(index)].concat()
}

fn stops(reason: &str) -> String {
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    event(&json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 4 } }))
}

fn over() -> String {
    event(&json!({ "type": "message_stop" }))
}

fn ping() -> String {
    event(&json!({ "type": "ping" }))
}

fn whole() -> String {
    [begins(), ping(), says(&["We open ", "at nine."]), stops("end_turn"), over()].concat()
}

fn error(kind: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": format!("no, {SECRET}") } })
}

fn events(body: impl Into<String>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.into(), "text/event-stream; charset=utf-8")
}

#[tokio::test]
async fn an_answer_is_streamed_and_counted() {
    for base in ["", "/", "/v1", "/v1/"] {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path("/v1/messages"))
            .and(header("x-api-key", SECRET))
            .and(header("anthropic-version", "2023-06-01"))
            .and(header("content-type", "application/json"))
            .and(body_partial_json(json!({ "model": "small-1", "stream": true, "max_tokens": 8192 })))
            .respond_with(events(whole()))
            .expect(1)
            .mount(&server)
            .await;
        let heard = Heard::default();
        let model = model_at(&format!("{}{base}", server.uri()), LONG, LONG);
        let written = model.reply(&question(), &heard).await.expect("an answer");
        let (text, input_tokens, output_tokens) = ("We open at nine.".into(), 10, 4);
        assert_eq!(written, Written { text, input_tokens, output_tokens, ..Written::default() });
        assert_eq!(heard.all(), ["We open "], "at most one word about it in 100 ms");
    }
}

#[tokio::test]
async fn tools_are_called_and_told_of_in_the_next_round() {
    let server = MockServer::start().await;
    let delay = json!({ "type": "tool_use", "id": "toolu_1", "name": "schedule_follow_up", "input": { "delay_hours": 2 } });
    let told = json!({ "messages": [
        { "role": "user", "content": [{ "type": "text", "text": "Are you open?" }] },
        { "role": "assistant", "content": [delay] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "scheduled" }] },
    ] });
    Mock::given(method("POST"))
        .and(body_partial_json(told))
        .respond_with(events(whole()))
        .with_priority(1)
        .mount(&server)
        .await;
    let calls = call(0, "toolu_1", "schedule_follow_up", &["", "{\"delay_hours\":", " 2}"]);
    let first = [begins(), calls, stops("tool_use"), over()].concat();
    Mock::given(method("POST")).respond_with(events(first)).mount(&server).await;

    let model = model_at(&server.uri(), LONG, LONG);
    let mut request = question();
    let written = model.reply(&request, &Heard::default()).await.expect("calls");
    let call = ToolCall {
        id: "toolu_1".into(),
        name: "schedule_follow_up".into(),
        arguments: "{\"delay_hours\": 2}".into(),
        ..ToolCall::default()
    };
    assert_eq!((written.text.as_str(), &written.calls), ("", &vec![call]));
    request.lines.push(Line::Calls(written.text, written.calls));
    request.lines.push(Line::Result { call: "toolu_1".into(), text: "scheduled".into() });
    let written = model.reply(&request, &Heard::default()).await.expect("an answer");
    assert_eq!(written.text, "We open at nine.");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let body = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "They ask for hours.", "signature": "x" },
            { "type": "text", "text": "We open at nine." },
            { "type": "tool_use", "id": "toolu_1", "name": "stay_silent", "input": { "reason": "done" } },
        ],
        "usage": { "input_tokens": 10, "output_tokens": 4 },
    });
    let written = answered(ResponseTemplate::new(200).set_body_json(&body)).await.expect("an answer");
    assert_eq!((written.text.as_str(), written.output_tokens), ("We open at nine.", 4));
    assert_eq!(written.calls[0].arguments, "{\"reason\":\"done\"}");

    let nothing =
        ResponseTemplate::new(200).set_body_json(json!({ "content": [], "stop_reason": "end_turn" }));
    assert_eq!(kind(answered(nothing).await), FailureKind::Empty);
    let refusal = json!({ "content": [{ "type": "text", "text": "No." }], "stop_reason": "refusal" });
    let refusal = ResponseTemplate::new(200).set_body_json(refusal);
    assert_eq!(kind(answered(refusal).await), FailureKind::Filtered);
    let not_json = ResponseTemplate::new(200).set_body_raw("<html>", "application/json");
    assert_eq!(kind(answered(not_json).await), FailureKind::Malformed);
    let error = ResponseTemplate::new(200).set_body_json(error("rate_limit_error"));
    assert_eq!(kind(answered(error).await), FailureKind::RateLimited);
}

/// Case K36.
#[tokio::test]
async fn a_broken_stream_is_never_an_answer() {
    let words = || piece(&[begins(), says(&["We open at "])].concat());
    let in_order = vec![head(), words(), last(), Act::Close];
    assert_eq!(kind(acted(in_order, LONG, LONG).await), FailureKind::Cut);
    let without_the_last_chunk = vec![head(), words(), Act::Close];
    assert_eq!(kind(acted(without_the_last_chunk, LONG, LONG).await), FailureKind::Cut);
    let reset = vec![head(), words(), Act::Reset];
    assert_eq!(kind(acted(reset, LONG, LONG).await), FailureKind::Cut);
    let before_the_head = vec![Act::Reset];
    assert_eq!(kind(acted(before_the_head, LONG, LONG).await), FailureKind::Cut);
    let only_pings = vec![head(), piece(&ping()), last(), Act::Close];
    assert_eq!(kind(acted(only_pings, LONG, LONG).await), FailureKind::Cut);
    let whole = vec![head(), piece(&whole()), last(), Act::Close];
    assert_eq!(acted(whole, LONG, LONG).await.expect("an answer").text, "We open at nine.");
}

#[tokio::test]
async fn silence_and_slowness_have_their_limits() {
    let silent = vec![Act::AwaitHangUp];
    let failure = acted(silent, SHORT, LONG).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "no byte for 60 ms"));
    let stalled = vec![head(), piece(&begins()), Act::AwaitHangUp];
    assert_eq!(kind(acted(stalled, SHORT, LONG).await), FailureKind::TimedOut);
    let slow = vec![head(), piece(&begins()), Act::AwaitHangUp];
    let failure = acted(slow, LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));
}

/// Case K37.
#[tokio::test]
async fn every_status_is_told_apart_and_none_tells_the_servers_words() {
    let table = [
        (400, "invalid_request_error", FailureKind::Refused),
        (401, "authentication_error", FailureKind::Refused),
        (402, "billing_error", FailureKind::Quota),
        (403, "permission_error", FailureKind::Refused),
        (404, "not_found_error", FailureKind::Refused),
        (413, "request_too_large", FailureKind::TooLong),
        (429, "rate_limit_error", FailureKind::RateLimited),
        (500, "api_error", FailureKind::Server),
        (504, "timeout_error", FailureKind::Server),
        (529, "overloaded_error", FailureKind::Server),
    ];
    for (status, word, expected) in table {
        let template =
            ResponseTemplate::new(status).insert_header("retry-after", "7").set_body_json(error(word));
        let failure = answered(template).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (expected, format!("status {status}").as_str()));
        let waits = failure.kind.is_worth_another_try().then_some(7_000);
        assert_eq!(failure.retry_after_ms, waits, "{status}");
    }
}

#[tokio::test]
async fn dropping_the_reply_hangs_up_at_once() {
    let in_the_middle = vec![head(), piece(&[begins(), text("We open at ")].concat())];
    hangs_up_when_dropped(|address| model_at(address, LONG, LONG), in_the_middle).await;
}

#[tokio::test]
async fn a_check_counts_the_models() {
    let server = MockServer::start().await;
    let list = json!({ "data": [{ "type": "model", "id": "small-1" }], "has_more": false });
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .and(header("x-api-key", SECRET))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(ResponseTemplate::new(200).set_body_json(list))
        .mount(&server)
        .await;
    assert_eq!(model_at(&server.uri(), LONG, LONG).check().await.as_deref(), Ok("answers, with one model"));
}

#[test]
fn settings_that_name_nothing_are_refused_and_none_shows_its_key() {
    let settings = |base_url: &str, api_key: &str| Settings {
        base_url: base_url.into(),
        api_key: Some(api_key.to_owned()),
        idle: LONG,
        total: LONG,
    };
    let refused = |settings| Anthropic::new(&settings, client()).err();
    assert_eq!(refused(settings("api.example.com", SECRET)), Some(Invalid::BaseUrl));
    assert_eq!(refused(settings("http://example.com", "a\nb")), Some(Invalid::ApiKey));
    let good = Anthropic::new(&settings("http://example.com", SECRET), client()).expect("good settings");
    let shown = format!("{good:?}");
    assert!(shown.contains("example.com") && !shown.contains(SECRET), "{shown}");
    let open = Anthropic::new(&settings("http://example.com", " "), client()).expect("good settings");
    assert!(format!("{open:?}").contains("has_api_key: false"), "a blank key is none");
}
