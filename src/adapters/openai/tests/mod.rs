//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

mod listening;

mod looking;

use serde_json::json;
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
    flow::generator::{FailureKind, Line},
};

fn model_at(base_url: &str, idle: Duration, total: Duration) -> OpenAi {
    let settings = Settings { base_url: base_url.into(), api_key: Some(format!("{SECRET}\n")), idle, total };
    OpenAi::new(&settings, client()).expect("good settings")
}

async fn ask(model: &OpenAi) -> Result<Written, Failure> {
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
    ask(&model_at(&format!("http://{address}/v1"), idle, total)).await
}

fn chunk(content: &str, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": { "content": content }, "finish_reason": finish_reason });
    format!("data: {}\n\n", json!({ "choices": [choice], "usage": null }))
}

fn usage() -> String {
    format!(
        "data: {}\n\n",
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 4 } })
    )
}

const DONE: &str = "data: [DONE]\n\n";

fn whole() -> String {
    [chunk("We open ", None), chunk("at nine.", None), chunk("", Some("stop")), usage(), DONE.into()].concat()
}

fn events(body: impl Into<String>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.into(), "text/event-stream; charset=utf-8")
}

#[tokio::test]
async fn an_answer_is_streamed_and_counted() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {SECRET}").as_str()))
        .and(header("content-type", "application/json"))
        .and(body_partial_json(json!({ "model": "small-1", "stream": true })))
        .respond_with(events(whole()))
        .expect(1)
        .mount(&server)
        .await;
    let heard = Heard::default();
    let model = model_at(&format!("{}/v1/", server.uri()), LONG, LONG);
    let written = model.reply(&question(), &heard).await.expect("an answer");
    let (text, input_tokens, output_tokens) = ("We open at nine.".into(), 10, 4);
    let expected = Written { text, input_tokens, output_tokens, ..Written::default() };
    assert_eq!(written, expected);
    assert_eq!(heard.all(), ["We open "], "at most one word about it in 100 ms");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let message = json!({ "role": "assistant", "content": "We open at nine.", "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "stay_silent", "arguments": "{}" } },
    ] });
    let body = json!({
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 4 },
    });
    let written = answered(ResponseTemplate::new(200).set_body_json(&body)).await.expect("an answer");
    assert_eq!(
        (written.text.as_str(), written.calls.len(), written.output_tokens),
        ("We open at nine.", 1, 4)
    );

    let nothing = ResponseTemplate::new(200).set_body_json(json!({ "choices": [] }));
    assert_eq!(kind(answered(nothing).await), FailureKind::Empty);
    let not_json = ResponseTemplate::new(200).set_body_raw("<html>", "application/json");
    assert_eq!(kind(answered(not_json).await), FailureKind::Malformed);
    let error =
        ResponseTemplate::new(200).set_body_json(json!({ "error": { "code": "insufficient_quota" } }));
    assert_eq!(kind(answered(error).await), FailureKind::Quota);
}

#[tokio::test]
async fn what_came_beside_a_call_goes_back_with_it() {
    let signature = json!({ "google": { "thought_signature": "c2lnbmVk" } });
    let thought = |text: &str| json!({ "reasoning_content": text });
    let called = json!({ "tool_calls": [{
        "index": 0, "id": "c1", "extra_content": signature, "function": { "name": "hand_over", "arguments": "{}" },
    }] });
    let sealed = json!([{ "type": "reasoning.encrypted", "index": 0, "data": "c2VhbGVk", "id": "c1" }]);
    let block = json!({ "reasoning_details": sealed });
    let deltas = [thought("They ask "), thought("for a person."), block, called];
    let chunks = deltas.map(|delta| format!("data: {}\n\n", json!({ "choices": [{ "delta": delta }] })));
    let server = MockServer::start().await;
    let first = chunks.concat() + DONE;
    Mock::given(method("POST")).respond_with(events(first)).mount(&server).await;
    let model = model_at(&server.uri(), LONG, LONG);
    let mut request = question();
    let written = model.reply(&request, &Heard::default()).await.expect("a call");
    request.lines.push(Line::Calls(written.text, written.calls));
    request.lines.push(Line::Result { call: "c1".into(), text: "nobody is there".into() });
    model.reply(&request, &Heard::default()).await.expect("an answer");
    let asked = server.received_requests().await.expect("remembered");
    let posted: serde_json::Value = serde_json::from_slice(&asked[1].body).expect("JSON");
    let told = &posted["messages"][2];
    assert_eq!(told["reasoning_content"], "They ask for a person.");
    assert_eq!(told["reasoning_details"], sealed);
    assert_eq!(told["tool_calls"][0]["extra_content"], signature);
    assert!(!String::from_utf8_lossy(&asked[0].body).contains("reasoning_"), "only where it came");
}

#[tokio::test]
async fn a_call_written_as_json_is_no_answer() {
    let content = r#"{"name": "hand_over", "parameters": {"reason": "asked"}}"#;
    let stream = [chunk(content, Some("stop")), usage(), DONE.into()].concat();
    let failure = answered(events(stream)).await.expect_err("a failure");
    let counts = (failure.kind, failure.input_tokens, failure.output_tokens);
    assert_eq!(counts, (FailureKind::Malformed, 10, 4));
}

/// Case K36.
#[tokio::test]
async fn a_broken_stream_is_never_an_answer() {
    let words = || piece(&chunk("We open at ", None));
    let in_order = vec![head(), words(), last(), Act::Close];
    assert_eq!(kind(acted(in_order, LONG, LONG).await), FailureKind::Cut);
    let without_the_last_chunk = vec![head(), words(), Act::Close];
    assert_eq!(kind(acted(without_the_last_chunk, LONG, LONG).await), FailureKind::Cut);
    let reset = vec![head(), words(), Act::Reset];
    assert_eq!(kind(acted(reset, LONG, LONG).await), FailureKind::Cut);
    let before_the_head = vec![Act::Reset];
    assert_eq!(kind(acted(before_the_head, LONG, LONG).await), FailureKind::Cut);
    let third = vec![head(), piece(&whole()), last(), Act::Close];
    assert_eq!(acted(third, LONG, LONG).await.expect("an answer").text, "We open at nine.");
}

/// Case K37.
#[tokio::test]
async fn a_rate_limit_names_its_wait_and_an_empty_purse_is_another_thing() {
    let limited = |code: &str| {
        let error = json!({ "error": { "message": "Slow down.", "type": "requests", "code": code } });
        ResponseTemplate::new(429).insert_header("retry-after", "7").set_body_json(error)
    };
    let failure = answered(limited("rate_limit_exceeded")).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, Some(7_000)));
    let failure = answered(limited("insufficient_quota")).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Quota, None));
    assert!(!failure.kind.is_worth_another_try());
}

#[tokio::test]
async fn silence_and_slowness_have_their_limits() {
    let silent = vec![Act::AwaitHangUp];
    let failure = acted(silent, SHORT, LONG).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "no byte for 60 ms"));
    let stalled = vec![head(), piece(&chunk("We open", None)), Act::AwaitHangUp];
    assert_eq!(kind(acted(stalled, SHORT, LONG).await), FailureKind::TimedOut);
    let slow = vec![head(), piece(&chunk("We open", None)), Act::AwaitHangUp];
    let failure = acted(slow, LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));
}

#[tokio::test]
async fn a_finished_answer_does_not_wait_for_its_marker_for_ever() {
    let stalled = vec![head(), piece(&chunk("We open at nine.", Some("stop"))), Act::AwaitHangUp];
    assert_eq!(acted(stalled, SHORT, LONG).await.expect("an answer").text, "We open at nine.");
}

#[tokio::test]
async fn every_status_is_told_apart_and_none_tells_the_servers_words() {
    let table = [
        (400, FailureKind::Refused),
        (401, FailureKind::Refused),
        (404, FailureKind::Refused),
        (422, FailureKind::Refused),
        (302, FailureKind::Refused),
        (408, FailureKind::Server),
        (500, FailureKind::Server),
        (529, FailureKind::Server),
        (429, FailureKind::RateLimited),
        (402, FailureKind::Quota),
    ];
    for (status, expected) in table {
        let error = json!({ "error": { "message": format!("bad key {SECRET}") } });
        let template = ResponseTemplate::new(status).insert_header("retry-after", "2").set_body_json(error);
        let failure = answered(template).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (expected, format!("status {status}").as_str()));
        let waits = failure.kind.is_worth_another_try().then_some(2_000);
        assert_eq!(failure.retry_after_ms, waits, "{status}");
    }
    let filter = ResponseTemplate::new(400).set_body_json(json!({ "error": { "code": "content_filter" } }));
    assert_eq!(kind(answered(filter).await), FailureKind::Filtered);
    for (code, expected) in
        [("tool_use_failed", FailureKind::Malformed), ("context_length_exceeded", FailureKind::TooLong)]
    {
        let error = json!({ "error": { "type": "invalid_request_error", "code": code, "message": SECRET } });
        let failure = answered(ResponseTemplate::new(400).set_body_json(error)).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (expected, "status 400"));
    }
    let page = ResponseTemplate::new(502).set_body_raw("<html>Bad gateway</html>", "text/html");
    assert_eq!(kind(answered(page).await), FailureKind::Server);
}

#[tokio::test]
async fn where_nobody_listens_the_model_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let failure = ask(&model_at(&format!("http://{address}"), LONG, LONG)).await.expect_err("a failure");
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(!failure.to_string().contains(&address.port().to_string()), "{failure}");
}

#[tokio::test]
async fn dropping_the_reply_hangs_up_at_once() {
    let in_the_middle = vec![head(), piece(&chunk("We open at ", None))];
    hangs_up_when_dropped(|address| model_at(address, LONG, LONG), in_the_middle).await;
}

#[tokio::test]
async fn a_check_counts_the_models() {
    let server = MockServer::start().await;
    let list = json!({ "object": "list", "data": [{ "id": "small-1" }, { "id": "small-2" }] });
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(list))
        .mount(&server)
        .await;
    let model = model_at(&format!("{}/v1", server.uri()), LONG, LONG);
    assert_eq!(model.check().await.as_deref(), Ok("answers, with 2 models"));
    let elsewhere = model_at(&server.uri(), LONG, LONG);
    let failure = elsewhere.check().await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Refused, "status 404"));
}

#[test]
fn settings_that_name_nothing_are_refused_and_none_shows_its_key() {
    let settings = |base_url: &str, api_key: Option<&str>| Settings {
        base_url: base_url.into(),
        api_key: api_key.map(str::to_owned),
        idle: LONG,
        total: LONG,
    };
    for base_url in ["", "api.example.com/v1", "ftp://example.com", "mailto:a@example.com"] {
        assert_eq!(
            OpenAi::new(&settings(base_url, None), client()).err(),
            Some(Invalid::BaseUrl),
            "{base_url}"
        );
    }
    let unsendable = settings("http://example.com", Some("a\nb"));
    assert_eq!(OpenAi::new(&unsendable, client()).err(), Some(Invalid::ApiKey));
    let good = settings(&format!("http://user:{SECRET}@example.com/v1"), Some(SECRET));
    let model = OpenAi::new(&good, client()).expect("good settings");
    assert!(!format!("{good:?} {model:?}").contains(SECRET));
    assert!(format!("{model:?}").contains("example.com"));
    let open = OpenAi::new(&settings("http://127.0.0.1:1/v1", Some("  ")), client()).expect("good settings");
    assert!(format!("{open:?}").contains("has_api_key: false"), "a blank key is none");
}
