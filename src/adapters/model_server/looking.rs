//! Pictures, whatever protocol shows them: what is posted, what is understood, and how it fails. `looking!` runs all of
//! this for one.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use reqwest::Client;
use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_json, header, method, path},
};

use super::{
    Invalid, Settings,
    fake::{Act, LONG, SECRET, SHORT, client, serve},
};
use crate::flow::generator::{
    Failure, FailureKind,
    describer::{Describer, Picture},
};

/// A protocol that shows pictures to a server.
pub(crate) trait Shows: Describer + Sized {
    /// Who asks.
    fn made(settings: &Settings, client: Client, model: &str, question: String) -> Result<Self, Invalid>;

    /// Where, below `/v1`, and with which headers.
    fn asks() -> (&'static str, Vec<(&'static str, String)>);

    /// What is posted of [`PICTURE`], with "What is it?" for "small-eyes".
    fn posted() -> Value;

    /// An answer.
    fn says(words: &str) -> Value;

    /// An answer that its filter ended.
    fn filtered() -> Value;
}

macro_rules! looking {
    ($eyes:ty) => {
        $crate::adapters::model_server::suite::each! {
            looking, $eyes:
            a_picture_is_posted_whole_and_what_is_seen_in_it_comes_back,
            what_tells_nothing_of_a_picture_is_a_failure,
            who_looks_may_be_silent_but_not_for_ever,
            who_is_no_longer_to_look_is_hung_up_on,
        }
    };
}

pub(crate) use looking;

const PICTURE: Picture = Picture { mime_type: "image/png", bytes: Bytes::from_static(b"\x89PNG and a bowl") };

fn eyes_at<S: Shows>(base_url: String, idle: Duration, total: Duration) -> S {
    let settings = Settings { base_url, api_key: Some(SECRET.to_owned()), idle, total };
    S::made(&settings, client(), "small-eyes", "What is it?".to_owned()).expect("good settings")
}

async fn seen_at<S: Shows>(base_url: String, idle: Duration, total: Duration) -> Result<String, Failure> {
    eyes_at::<S>(base_url, idle, total).describe(PICTURE).await
}

async fn answered<S: Shows>(template: ResponseTemplate) -> Result<String, FailureKind> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    seen_at::<S>(server.uri(), LONG, LONG).await.map_err(|failure| failure.kind)
}

fn answer(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

pub(crate) async fn a_picture_is_posted_whole_and_what_is_seen_in_it_comes_back<S: Shows>() {
    let server = MockServer::start().await;
    let (place, headers) = S::asks();
    let mut post = Mock::given(method("POST")).and(path(format!("/v1/{place}"))).and(body_json(S::posted()));
    for (name, value) in &headers {
        post = post.and(header(*name, value.as_str()));
    }
    post.respond_with(answer(&S::says("A cracked bowl."))).mount(&server).await;
    let words = seen_at::<S>(format!("{}/v1", server.uri()), LONG, LONG).await;
    assert_eq!(words.as_deref(), Ok("A cracked bowl."));
}

pub(crate) async fn what_tells_nothing_of_a_picture_is_a_failure<S: Shows>() {
    assert_eq!(answered::<S>(answer(&S::says(" \n"))).await, Err(FailureKind::Empty));
    assert_eq!(answered::<S>(answer(&S::filtered())).await, Err(FailureKind::Filtered));
    let text = ResponseTemplate::new(200).set_body_string("A bowl.");
    assert_eq!(answered::<S>(text).await, Err(FailureKind::Malformed));
    assert_eq!(answered::<S>(ResponseTemplate::new(400)).await, Err(FailureKind::Refused));
    assert_eq!(answered::<S>(ResponseTemplate::new(503)).await, Err(FailureKind::Server));
}

pub(crate) async fn who_looks_may_be_silent_but_not_for_ever<S: Shows>() {
    let (address, _served) = serve(vec![Act::AwaitHangUp]).await;
    let failure = seen_at::<S>(format!("http://{address}"), LONG, SHORT).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));

    let server = MockServer::start().await;
    let slow = answer(&S::says("A bowl.")).set_delay(SHORT * 3);
    Mock::given(method("POST")).respond_with(slow).mount(&server).await;
    let seen = seen_at::<S>(server.uri(), SHORT, LONG).await;
    assert_eq!(seen.as_deref(), Ok("A bowl."), "longer than a pause in words");
}

pub(crate) async fn who_is_no_longer_to_look_is_hung_up_on<S: Shows>() {
    let (tell, told) = oneshot::channel();
    let (address, mut served) = serve(vec![Act::Tell(tell), Act::AwaitHangUp]).await;
    let eyes = eyes_at::<S>(format!("http://{address}"), LONG, LONG);
    let mut looking = eyes.describe(PICTURE);
    tokio::select! {
        _ = &mut looking => panic!("the server never answers"),
        told = told => told.expect("the server plays its part"),
    }
    assert!((&mut served).now_or_never().is_none(), "still connected");
    drop(looking);
    timeout(LONG, served).await.expect("the server sees it").expect("no panic");
}
