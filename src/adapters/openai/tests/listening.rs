//! Voice notes: what is posted, what is understood, and how it fails.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_string_contains, header, method, path},
};

use crate::{
    adapters::{
        model_server::fake::{Act, LONG, SECRET, SHORT, client, serve},
        openai::{Settings, Transcriptions},
    },
    flow::generator::{Failure, FailureKind, transcriber::Transcriber},
};

async fn heard_at(base_url: String, idle: Duration, total: Duration) -> Result<String, Failure> {
    let settings = Settings { base_url, api_key: Some(SECRET.to_owned()), idle, total };
    let model = Transcriptions::new(&settings, client(), "whisper-1").expect("good settings");
    model.transcribe(Bytes::from_static(b"OggS and a voice")).await
}

async fn answered(template: ResponseTemplate) -> Result<String, FailureKind> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    heard_at(server.uri(), LONG, LONG).await.map_err(|failure| failure.kind)
}

#[tokio::test]
async fn a_voice_note_is_posted_as_a_form_and_its_words_come_back() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/audio/transcriptions"))
        .and(header("authorization", format!("Bearer {SECRET}").as_str()))
        .and(body_string_contains("name=\"model\"\r\n\r\nwhisper-1\r\n"))
        .and(body_string_contains("name=\"response_format\"\r\n\r\njson\r\n"))
        .and(body_string_contains("filename=\"voice.ogg\"\r\nContent-Type: audio/ogg"))
        .and(body_string_contains("OggS and a voice"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({ "text": "Are you open?" })))
        .mount(&server)
        .await;
    let words = heard_at(format!("{}/v1", server.uri()), LONG, LONG).await;
    assert_eq!(words.as_deref(), Ok("Are you open?"));
}

#[tokio::test]
async fn what_cannot_be_understood_is_a_failure() {
    let says = |text: &str| ResponseTemplate::new(200).set_body_json(json!({ "text": text }));
    assert_eq!(answered(says(" \n")).await, Err(FailureKind::Empty));
    assert_eq!(
        answered(ResponseTemplate::new(200).set_body_string("Hello")).await,
        Err(FailureKind::Malformed)
    );
    assert_eq!(answered(ResponseTemplate::new(400)).await, Err(FailureKind::Refused));
    assert_eq!(answered(ResponseTemplate::new(503)).await, Err(FailureKind::Server));
}

#[tokio::test]
async fn who_listens_may_be_silent_but_not_for_ever() {
    let (address, _served) = serve(vec![Act::AwaitHangUp]).await;
    let failure = heard_at(format!("http://{address}"), LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));

    let server = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_body_json(json!({ "text": "Hello" })).set_delay(SHORT * 3);
    Mock::given(method("POST")).respond_with(slow).mount(&server).await;
    assert_eq!(
        heard_at(server.uri(), SHORT, LONG).await.as_deref(),
        Ok("Hello"),
        "longer than a pause in words"
    );
}
