//! Against a mock server where it answers, and against a raw socket where it misbehaves.

mod reading;

use jiff::Timestamp;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request as Asked, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;
use crate::{
    adapters::model_server::{
        fake::{Heard, LONG, SECRET, client, kind, question},
        suite::{Speaks, answered, events, model_at, suite},
    },
    flow::generator::{FailureKind, Line, ToolCall},
};

/// That of Standard Webhooks' own example.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A code that a service may have made up.
const OF_ITS_OWN: &str = "a_word_of_its_own";

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

suite!(HttpGenerator);

impl Speaks for HttpGenerator {
    const KEY: &'static str = KEY;
    const IS_SIGNED: bool = true;
    const STATUSES: &'static [(u16, &'static str, FailureKind)] = &[
        (301, OF_ITS_OWN, FailureKind::Refused),
        (307, OF_ITS_OWN, FailureKind::Refused),
        (400, OF_ITS_OWN, FailureKind::Refused),
        (401, OF_ITS_OWN, FailureKind::Refused),
        (402, OF_ITS_OWN, FailureKind::Quota),
        (404, OF_ITS_OWN, FailureKind::Refused),
        (429, OF_ITS_OWN, FailureKind::RateLimited),
        (500, OF_ITS_OWN, FailureKind::Server),
        (503, OF_ITS_OWN, FailureKind::Server),
    ];

    fn made(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Self::new(settings, client)
    }

    fn begins() -> String {
        says("We open at ")
    }

    fn whole() -> String {
        whole()
    }

    fn error(word: &str) -> Value {
        error(word)
    }
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
        let service = model_at::<HttpGenerator>(&format!("{}{place}", server.uri()), LONG, LONG);
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

    let service = model_at::<HttpGenerator>(&server.uri(), LONG, LONG);
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
    request.asked_before = 1;
    let written = service.reply(&request, &Heard::default()).await.expect("an answer");
    assert_eq!(written.text, "We open at nine.");
    let asked = server.received_requests().await.expect("remembered");
    let turn = request.about.turn;
    assert_eq!([believed(&asked[0]), believed(&asked[1])], [turn.to_string(), format!("{turn}-2")]);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    let json = |body: &Value| answered::<HttpGenerator>(ResponseTemplate::new(200).set_body_json(body));
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
        assert_eq!(kind(answered::<HttpGenerator>(broken).await), FailureKind::Malformed, "{raw}");
    }
    let page = ResponseTemplate::new(200).set_body_raw("<html>Welcome", "text/html");
    assert_eq!(kind(answered::<HttpGenerator>(page).await), FailureKind::Malformed);
    let nothing_at_all = ResponseTemplate::new(204);
    assert_eq!(kind(answered::<HttpGenerator>(nothing_at_all).await), FailureKind::Cut);
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
    let service = model_at::<HttpGenerator>(&format!("{}/answer", server.uri()), LONG, LONG);
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
fn a_key_that_cannot_sign_is_refused_and_none_is_shown() {
    let made = |key: Option<&str>| {
        let api_key = key.map(ToOwned::to_owned);
        let settings = Settings { base_url: "http://example.com".into(), api_key, idle: LONG, total: LONG };
        HttpGenerator::new(&settings, client())
    };
    let short = "whsec_c2hvcnQ=";
    for key in [None, Some(""), Some("sk-very-secret"), Some("whsec_"), Some("whsec_?"), Some(short)] {
        assert_eq!(made(key).err(), Some(Invalid::SigningKey), "{key:?}");
    }
    let shown = format!("{:?}", made(Some(KEY)).expect("good settings"));
    assert!(!shown.contains("MfKQ9r8"), "{shown}");
}
