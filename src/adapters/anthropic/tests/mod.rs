//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

mod looking;

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;
use crate::{
    adapters::model_server::{
        fake::{Heard, LONG, SECRET, kind, question},
        suite::{Speaks, answered, events, model_at, suite},
    },
    flow::generator::{FailureKind, Line, ToolCall},
};

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

suite!(Anthropic);

impl Speaks for Anthropic {
    const STATUSES: &'static [(u16, &'static str, FailureKind)] = &[
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

    fn made(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Self::new(settings, client)
    }

    fn stirs() -> String {
        ping()
    }

    fn begins() -> String {
        [begins(), says(&["We open at "])].concat()
    }

    fn whole() -> String {
        whole()
    }

    fn error(word: &str) -> Value {
        error(word)
    }
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
        let model = model_at::<Anthropic>(&format!("{}{base}", server.uri()), LONG, LONG);
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

    let model = model_at::<Anthropic>(&server.uri(), LONG, LONG);
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
    let written =
        answered::<Anthropic>(ResponseTemplate::new(200).set_body_json(&body)).await.expect("an answer");
    assert_eq!((written.text.as_str(), written.output_tokens), ("We open at nine.", 4));
    assert_eq!(written.calls[0].arguments, "{\"reason\":\"done\"}");

    let nothing =
        ResponseTemplate::new(200).set_body_json(json!({ "content": [], "stop_reason": "end_turn" }));
    assert_eq!(kind(answered::<Anthropic>(nothing).await), FailureKind::Empty);
    let refusal = json!({ "content": [{ "type": "text", "text": "No." }], "stop_reason": "refusal" });
    let refusal = ResponseTemplate::new(200).set_body_json(refusal);
    assert_eq!(kind(answered::<Anthropic>(refusal).await), FailureKind::Filtered);
    let not_json = ResponseTemplate::new(200).set_body_raw("<html>", "application/json");
    assert_eq!(kind(answered::<Anthropic>(not_json).await), FailureKind::Malformed);
    let error = ResponseTemplate::new(200).set_body_json(error("rate_limit_error"));
    assert_eq!(kind(answered::<Anthropic>(error).await), FailureKind::RateLimited);
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
    assert_eq!(
        model_at::<Anthropic>(&server.uri(), LONG, LONG).check().await.as_deref(),
        Ok("answers, with one model")
    );
}
