//! Pictures: what is posted, what is understood, and how it fails.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_json, header, method, path},
};

use crate::{
    adapters::{
        model_server::fake::{Act, LONG, SECRET, SHORT, client, serve},
        openai::{Descriptions, Settings},
    },
    flow::{
        describer::{Describer, Picture},
        generator::{Failure, FailureKind},
    },
};

const PICTURE: Picture = Picture { mime_type: "image/png", bytes: Bytes::from_static(b"\x89PNG and a bowl") };

fn eyes_at(base_url: String, idle: Duration, total: Duration) -> Descriptions {
    let settings = Settings { base_url, api_key: Some(SECRET.to_owned()), idle, total };
    Descriptions::new(&settings, client(), "small-eyes", "What is it?".to_owned()).expect("good settings")
}

async fn seen_at(base_url: String, idle: Duration, total: Duration) -> Result<String, Failure> {
    eyes_at(base_url, idle, total).describe(PICTURE).await
}

async fn answered(template: ResponseTemplate) -> Result<String, FailureKind> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    seen_at(server.uri(), LONG, LONG).await.map_err(|failure| failure.kind)
}

fn posted() -> Value {
    let url = "data:image/png;base64,iVBORyBhbmQgYSBib3ds";
    let content = json!([
        { "type": "text", "text": "What is it?" },
        { "type": "image_url", "image_url": { "url": url } },
    ]);
    json!({ "model": "small-eyes", "messages": [{ "role": "user", "content": content }] })
}

fn says(words: &str) -> Value {
    json!({ "choices": [{ "message": { "role": "assistant", "content": words }, "finish_reason": "stop" }] })
}

fn filtered() -> Value {
    json!({ "choices": [{ "message": { "content": "A" }, "finish_reason": "content_filter" }] })
}

fn answer(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[tokio::test]
async fn a_picture_is_posted_whole_and_what_is_seen_in_it_comes_back() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {SECRET}").as_str()))
        .and(body_json(posted()))
        .respond_with(answer(&says("A cracked bowl.")))
        .mount(&server)
        .await;
    let words = seen_at(format!("{}/v1", server.uri()), LONG, LONG).await;
    assert_eq!(words.as_deref(), Ok("A cracked bowl."));
}

#[tokio::test]
async fn what_tells_nothing_of_a_picture_is_a_failure() {
    assert_eq!(answered(answer(&says(" \n"))).await, Err(FailureKind::Empty));
    assert_eq!(answered(answer(&filtered())).await, Err(FailureKind::Filtered));
    let text = ResponseTemplate::new(200).set_body_string("A bowl.");
    assert_eq!(answered(text).await, Err(FailureKind::Malformed));
    assert_eq!(answered(ResponseTemplate::new(400)).await, Err(FailureKind::Refused));
    assert_eq!(answered(ResponseTemplate::new(503)).await, Err(FailureKind::Server));
}

#[tokio::test]
async fn who_looks_may_be_silent_but_not_for_ever() {
    let (address, _served) = serve(vec![Act::AwaitHangUp]).await;
    let failure = seen_at(format!("http://{address}"), LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));

    let server = MockServer::start().await;
    let slow = answer(&says("A bowl.")).set_delay(SHORT * 3);
    Mock::given(method("POST")).respond_with(slow).mount(&server).await;
    let seen = seen_at(server.uri(), SHORT, LONG).await;
    assert_eq!(seen.as_deref(), Ok("A bowl."), "longer than a pause in words");
}

#[tokio::test]
async fn who_is_no_longer_to_look_is_hung_up_on() {
    let (tell, told) = oneshot::channel();
    let (address, mut served) = serve(vec![Act::Tell(tell), Act::AwaitHangUp]).await;
    let eyes = eyes_at(format!("http://{address}"), LONG, LONG);
    let mut looking = eyes.describe(PICTURE);
    tokio::select! {
        _ = &mut looking => panic!("the server never answers"),
        told = told => told.expect("the server plays its part"),
    }
    assert!((&mut served).now_or_never().is_none(), "still connected");
    drop(looking);
    timeout(LONG, served).await.expect("the server sees it").expect("no panic");
}
