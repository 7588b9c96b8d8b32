//! What every protocol of a server of models must stand: against a mock server where it answers, and against a raw socket
//! where it misbehaves. A protocol says how its server speaks; `suite!` runs all of this for it.

use std::{fmt::Debug, time::Duration};

use futures_util::FutureExt as _;
use reqwest::Client;
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot, time::timeout};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use super::{
    Invalid, Settings,
    fake::{Act, Heard, LONG, SECRET, SHORT, client, head, kind, last, piece, question, serve},
};
use crate::flow::generator::{Failure, FailureKind, Generator, Written};

/// A protocol, as its server speaks it.
pub(crate) trait Speaks: Generator + Debug + Sized {
    /// A key.
    const KEY: &'static str = SECRET;
    /// Whether requests are signed with the key. Then there must be one.
    const IS_SIGNED: bool = false;
    /// What each status means, with an error under that word.
    const STATUSES: &'static [(u16, &'static str, FailureKind)];

    /// Who asks.
    fn made(settings: &Settings, client: Client) -> Result<Self, Invalid>;

    /// A sign of life that tells nothing.
    fn stirs() -> String {
        ": still thinking\n\n".to_owned()
    }

    /// The first words of an answer.
    fn begins() -> String;

    /// An answer: "We open at nine."
    fn whole() -> String;

    /// An error under that word. It repeats our secret.
    fn error(word: &str) -> Value;
}

/// Runs each test of a suite, written once for every protocol, for one of them.
macro_rules! each {
    ($suite:ident, $protocol:ty: $($test:ident),+ $(,)?) => {$(
        #[tokio::test]
        async fn $test() {
            $crate::adapters::model_server::$suite::$test::<$protocol>().await;
        }
    )+};
}

pub(crate) use each;

macro_rules! suite {
    ($protocol:ty) => {
        $crate::adapters::model_server::suite::each! {
            suite, $protocol:
            a_broken_stream_is_never_an_answer,
            silence_and_slowness_have_their_limits,
            every_status_is_told_apart_and_none_tells_the_servers_words,
            where_nobody_listens_the_model_is_unreachable,
            dropping_the_reply_hangs_up_at_once,
        }

        #[test]
        fn settings_that_name_nothing_are_refused_and_none_shows_its_key() {
            $crate::adapters::model_server::suite::settings_that_name_nothing_are_refused_and_none_shows_its_key::<
                $protocol,
            >();
        }
    };
}

pub(crate) use suite;

pub(crate) fn model_at<S: Speaks>(base_url: &str, idle: Duration, total: Duration) -> S {
    // Keys read from files end in a line break.
    let api_key = Some(format!("{}\n", S::KEY));
    let settings = Settings { base_url: base_url.into(), api_key, idle, total };
    S::made(&settings, client()).expect("good settings")
}

async fn ask<S: Speaks>(model: &S) -> Result<Written, Failure> {
    model.reply(&question(), &Heard::default()).await
}

/// Asks a server that answers so.
pub(crate) async fn answered<S: Speaks>(template: ResponseTemplate) -> Result<Written, Failure> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    ask::<S>(&model_at(&server.uri(), LONG, LONG)).await
}

/// Asks a socket that acts so.
pub(crate) async fn acted<S: Speaks>(
    script: Vec<Act>,
    idle: Duration,
    total: Duration,
) -> Result<Written, Failure> {
    let (address, _served) = serve(script).await;
    ask::<S>(&model_at(&format!("http://{address}"), idle, total)).await
}

/// These events, and the end.
pub(crate) fn events(body: impl Into<String>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.into(), "text/event-stream; charset=utf-8")
}

/// Case K36.
pub(crate) async fn a_broken_stream_is_never_an_answer<S: Speaks>() {
    let words = || piece(&S::begins());
    let broken = [
        ("closed in order", vec![head(), words(), last(), Act::Close]),
        ("without the last chunk", vec![head(), words(), Act::Close]),
        ("reset", vec![head(), words(), Act::Reset]),
        ("before the head", vec![Act::Reset]),
        ("only signs of life", vec![head(), piece(&S::stirs()), last(), Act::Close]),
    ];
    for (how, script) in broken {
        assert_eq!(kind(acted::<S>(script, LONG, LONG).await), FailureKind::Cut, "{how}");
    }
    let whole = vec![head(), piece(&S::stirs()), piece(&S::whole()), last(), Act::Close];
    assert_eq!(acted::<S>(whole, LONG, LONG).await.expect("an answer").text, "We open at nine.");
}

pub(crate) async fn silence_and_slowness_have_their_limits<S: Speaks>() {
    let silent = vec![Act::AwaitHangUp];
    let failure = acted::<S>(silent, SHORT, LONG).await.expect_err("a failure");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "no byte for 60 ms"));
    for said in [S::stirs(), S::begins()] {
        let stalled = || vec![head(), piece(&said), Act::AwaitHangUp];
        assert_eq!(kind(acted::<S>(stalled(), SHORT, LONG).await), FailureKind::TimedOut, "{said}");
        let failure = acted::<S>(stalled(), LONG, SHORT).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::TimedOut, "not done in 60 ms"));
    }
}

/// Case K37.
pub(crate) async fn every_status_is_told_apart_and_none_tells_the_servers_words<S: Speaks>() {
    for (status, word, expected) in S::STATUSES {
        let server = MockServer::start().await;
        let template = ResponseTemplate::new(*status)
            .insert_header("retry-after", "7")
            .insert_header("location", format!("{}/elsewhere", server.uri()))
            .set_body_json(S::error(word));
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let failure = ask::<S>(&model_at(&server.uri(), LONG, LONG)).await.expect_err("a failure");
        assert_eq!((failure.kind, failure.detail), (*expected, format!("status {status}")), "{word}");
        let waits = failure.kind.is_worth_another_try().then_some(7_000);
        assert_eq!(failure.retry_after_ms, waits, "{status}");
        let asked = server.received_requests().await.expect("remembered");
        assert_eq!(asked.len(), 1, "nobody is asked twice, or followed: {status}");
    }
}

pub(crate) async fn where_nobody_listens_the_model_is_unreachable<S: Speaks>() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let model = model_at::<S>(&format!("http://{address}"), LONG, LONG);
    let failure = ask(&model).await.expect_err("a failure");
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(!failure.to_string().contains(&address.port().to_string()), "{failure}");
}

/// Before the first byte, and in the middle of an answer.
pub(crate) async fn dropping_the_reply_hangs_up_at_once<S: Speaks>() {
    for mut script in [Vec::new(), vec![head(), piece(&S::begins())]] {
        let (tell, told) = oneshot::channel();
        script.extend([Act::Tell(tell), Act::AwaitHangUp]);
        let (address, mut served) = serve(script).await;
        // No limit of its own ends within the time that the server is given to see it.
        let never = LONG * 30;
        let model = model_at::<S>(&format!("http://{address}"), never, never);
        let (request, heard) = (question(), Heard::default());
        let mut reply = model.reply(&request, &heard);
        tokio::select! {
            _ = &mut reply => panic!("the server never ends"),
            told = told => told.expect("the server plays its part"),
        }
        assert!((&mut served).now_or_never().is_none(), "still connected");
        drop(reply);
        timeout(LONG, served).await.expect("the server sees it").expect("no panic");
    }
}

pub(crate) fn settings_that_name_nothing_are_refused_and_none_shows_its_key<S: Speaks>() {
    let settings = |base_url: &str, key: &str| Settings {
        base_url: base_url.into(),
        api_key: Some(key.to_owned()),
        idle: LONG,
        total: LONG,
    };
    let made = |base_url: &str, key: &str| S::made(&settings(base_url, key), client());
    for base_url in ["", "api.example.com/v1", "ftp://example.com", "mailto:a@example.com"] {
        assert_eq!(made(base_url, S::KEY).err(), Some(Invalid::BaseUrl), "{base_url}");
    }
    let bad_key = if S::IS_SIGNED { Invalid::SigningKey } else { Invalid::ApiKey };
    assert_eq!(made("http://example.com", "a\nb").err(), Some(bad_key));
    let good = settings(&format!("http://user:{}@example.com/v1", S::KEY), S::KEY);
    let model = S::made(&good, client()).expect("good settings");
    assert!(!format!("{good:?} {model:?}").contains(S::KEY));
    assert!(format!("{model:?}").contains("example.com"));
    match made("http://127.0.0.1:1/v1", "  ") {
        Err(wrong) => assert_eq!((S::IS_SIGNED, wrong), (true, Invalid::SigningKey)),
        Ok(open) => assert!(format!("{open:?}").contains("has_api_key: false"), "a blank key is none"),
    }
}
