//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

mod listening;

mod looking;

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_json, body_partial_json, header, method, path},
};

use super::*;
use crate::{
    adapters::model_server::{
        fake::{Act, Heard, LONG, SECRET, head, kind, piece, question},
        suite::{Speaks, acted, answered, events, model_at, suite},
    },
    flow::generator::{FailureKind, Line},
};

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

suite!(OpenAi);

impl Speaks for OpenAi {
    const STATUSES: &'static [(u16, &'static str, FailureKind)] = &[
        (400, "", FailureKind::Refused),
        (401, "", FailureKind::Refused),
        (404, "", FailureKind::Refused),
        (422, "", FailureKind::Refused),
        (302, "", FailureKind::Refused),
        (408, "", FailureKind::Server),
        (500, "", FailureKind::Server),
        (529, "", FailureKind::Server),
        (429, "", FailureKind::RateLimited),
        (402, "", FailureKind::Quota),
    ];

    fn made(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Self::new(settings, client)
    }

    fn begins() -> String {
        chunk("We open at ", None)
    }

    fn whole() -> String {
        let words = chunk("We open ", None) + &chunk("at nine.", None);
        words + &chunk("", Some("stop")) + &usage() + DONE
    }

    /// Without a code, if there is no word.
    fn error(word: &str) -> Value {
        let mut error = json!({ "message": format!("bad key {SECRET}") });
        if !word.is_empty() {
            error["code"] = word.into();
        }
        json!({ "error": error })
    }
}

#[tokio::test]
async fn an_answer_is_streamed_and_counted() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {SECRET}").as_str()))
        .and(header("content-type", "application/json"))
        .and(body_partial_json(json!({ "model": "small-1", "stream": true })))
        .respond_with(events(OpenAi::whole()))
        .expect(1)
        .mount(&server)
        .await;
    let heard = Heard::default();
    let model = model_at::<OpenAi>(&format!("{}/v1/", server.uri()), LONG, LONG);
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
    let written =
        answered::<OpenAi>(ResponseTemplate::new(200).set_body_json(&body)).await.expect("an answer");
    assert_eq!(
        (written.text.as_str(), written.calls.len(), written.output_tokens),
        ("We open at nine.", 1, 4)
    );

    let nothing = ResponseTemplate::new(200).set_body_json(json!({ "choices": [] }));
    assert_eq!(kind(answered::<OpenAi>(nothing).await), FailureKind::Empty);
    let not_json = ResponseTemplate::new(200).set_body_raw("<html>", "application/json");
    assert_eq!(kind(answered::<OpenAi>(not_json).await), FailureKind::Malformed);
    let error =
        ResponseTemplate::new(200).set_body_json(json!({ "error": { "code": "insufficient_quota" } }));
    assert_eq!(kind(answered::<OpenAi>(error).await), FailureKind::Quota);
}

#[tokio::test]
async fn what_a_server_says_of_its_type_is_not_believed() {
    let stream = ResponseTemplate::new(200).set_body_raw(OpenAi::whole(), "application/json");
    assert_eq!(answered::<OpenAi>(stream).await.expect("an answer").text, "We open at nine.");
    let message = json!({ "choices": [{ "message": { "content": "We open at nine." } }] }).to_string();
    for kind in ["text/event-stream", "text/plain"] {
        let whole = ResponseTemplate::new(200).set_body_raw(message.clone(), kind);
        assert_eq!(answered::<OpenAi>(whole).await.expect("an answer").text, "We open at nine.");
    }
}

#[tokio::test]
async fn a_call_without_an_id_gets_one_that_no_earlier_round_has() {
    let server = MockServer::start().await;
    let called =
        json!({ "choices": [{ "message": { "tool_calls": [{ "function": { "name": "stay_silent" } }] } }] });
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(called))
        .mount(&server)
        .await;
    let model = model_at::<OpenAi>(&server.uri(), LONG, LONG);
    let mut request = question();
    for id in ["call_0", "call_1", "call_2"] {
        let written = model.reply(&request, &Heard::default()).await.expect("a call");
        assert_eq!(written.calls[0].id, id);
        request.lines.push(Line::Calls(written.text, written.calls));
        request.lines.push(Line::Result { call: id.into(), text: "not done".into() });
    }
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
    let model = model_at::<OpenAi>(&server.uri(), LONG, LONG);
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
    let failure = answered::<OpenAi>(events(stream)).await.expect_err("a failure");
    let counts = (failure.kind, failure.input_tokens, failure.output_tokens);
    assert_eq!(counts, (FailureKind::Malformed, 10, 4));
}

/// Case K37.
#[tokio::test]
async fn a_rate_limit_names_its_wait_and_an_empty_purse_is_another_thing() {
    let limited = |code: &str| {
        let error = json!({ "error": { "message": "Slow down.", "type": "requests", "code": code } });
        ResponseTemplate::new(429).insert_header("retry-after", "7").set_body_json(error)
    };
    let failure = answered::<OpenAi>(limited("rate_limit_exceeded")).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, Some(7_000)));
    let failure = answered::<OpenAi>(limited("insufficient_quota")).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::Quota, None));
    assert!(!failure.kind.is_worth_another_try());
}

#[tokio::test]
async fn a_finished_answer_does_not_wait_for_its_marker_for_ever() {
    let stalled = vec![head(), piece(&chunk("We open at nine.", Some("stop"))), Act::AwaitHangUp];
    assert_eq!(acted::<OpenAi>(stalled, LONG, LONG).await.expect("an answer").text, "We open at nine.");
}

#[tokio::test]
async fn what_a_status_means_may_stand_in_its_error() {
    let filter = ResponseTemplate::new(400).set_body_json(json!({ "error": { "code": "content_filter" } }));
    assert_eq!(kind(answered::<OpenAi>(filter).await), FailureKind::Filtered);
    for (code, expected) in
        [("tool_use_failed", FailureKind::Malformed), ("context_length_exceeded", FailureKind::TooLong)]
    {
        let error = json!({ "error": { "type": "invalid_request_error", "code": code, "message": SECRET } });
        let failure =
            answered::<OpenAi>(ResponseTemplate::new(400).set_body_json(error)).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (expected, "status 400"));
    }
    let page = ResponseTemplate::new(502).set_body_raw("<html>Bad gateway</html>", "text/html");
    assert_eq!(kind(answered::<OpenAi>(page).await), FailureKind::Server);
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
    let model = model_at::<OpenAi>(&format!("{}/v1", server.uri()), LONG, LONG);
    assert_eq!(model.check().await.as_deref(), Ok("answers, with 2 models"));
    let elsewhere = model_at::<OpenAi>(&server.uri(), LONG, LONG);
    let failure = elsewhere.check().await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Refused, "status 404"));
}

#[tokio::test]
async fn a_server_without_a_list_of_models_is_asked_whether_it_answers() {
    for unlisted in [404, 405, 501] {
        let server = MockServer::start().await;
        Mock::given(method("GET")).respond_with(ResponseTemplate::new(unlisted)).mount(&server).await;
        let asked =
            || Mock::given(method("POST")).and(path("/v1/chat/completions")).and(body_json(json!({})));
        let model = model_at::<OpenAi>(&format!("{}/v1", server.uri()), LONG, LONG);
        asked().respond_with(ResponseTemplate::new(400)).up_to_n_times(1).mount(&server).await;
        assert_eq!(model.check().await.as_deref(), Ok("answers, and lists no models"), "{unlisted}");
        asked().respond_with(ResponseTemplate::new(401)).mount(&server).await;
        let failure = model.check().await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Refused, "status 401"));
    }
}
