use std::{
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering},
};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use tokio::time::Instant;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::*;
use crate::{
    adapters::test_stores,
    domain::{
        chat::ChatId,
        docket::{Clocks, MessageState},
        message::{Author, DeliveryState, Inbound, Outcome},
        mode::Mode,
    },
    flow::ledger::Standing,
};

/// Somebody else who hears of commits.
#[derive(Default)]
struct Ear(AtomicUsize);

impl Observer for Ear {
    fn committed(&self, commits: &[Committed]) {
        self.0.fetch_add(commits.len(), Ordering::Relaxed);
    }
}

/// Traces to that collector, and what is counted meanwhile.
struct Scene {
    traces: Traces,
    ear: Arc<Ear>,
    observer: Arc<dyn Observer>,
    counted: PrometheusHandle,
    _recorder: metrics::LocalRecorderGuard<'static>,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn of(endpoint: &str) -> Self {
        // It lives as long as the thread of the test.
        let recorder = Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
        let counted = recorder.handle();
        let guard = metrics::set_default_local_recorder(recorder);
        let (store, folder) = test_stores::sqlite().await;
        let traces = Traces::start(&to(endpoint), Arc::new(store)).expect("a client");
        let ear = Arc::new(Ear::default());
        let observer = traces.after(ear.clone());
        Self { traces, ear, observer, counted, _recorder: guard, _folder: folder }
    }

    /// What no collector has seen.
    fn dropped(&self) -> Option<String> {
        let text = self.counted.render();
        text.lines().find_map(|line| line.strip_prefix("baton_spans_dropped_total ").map(str::to_owned))
    }
}

fn to(endpoint: &str) -> Collector {
    Collector { endpoint: endpoint.to_owned(), instance: "one".to_owned(), provider: "scripted" }
}

/// A collector that answers so.
async fn collector(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

/// How many spans each request has brought.
async fn batches(server: &MockServer) -> Vec<usize> {
    let requests = server.received_requests().await.expect("they are kept");
    let spans = |body: &[u8]| {
        let of = ExportTraceServiceRequest::decode(body).expect("OTLP").resource_spans;
        of.iter().flat_map(|of| &of.scope_spans).map(|scope| scope.spans.len()).sum()
    };
    requests.iter().map(|request| spans(&request.body)).collect()
}

/// A message of the contact.
fn moved(outcome: Outcome, before: Option<MessageState>) -> MessageProgress {
    MessageProgress {
        id: Uuid::now_v7(),
        at: test_stores::NOW,
        turn: None,
        inbound: Some(Inbound { outcome, reason: None, starts_turn: true }),
        delivery: None,
        is_reply_owed: false,
        before,
    }
}

/// A message was taken in that waits now: one span.
fn taken_in() -> Committed {
    let message = moved(Outcome::Pending, None);
    Committed {
        at: test_stores::NOW,
        asked_at: Instant::now(),
        channel: "default".to_owned(),
        chat: ChatId::parse("6580000001@c.us").expect("a chat"),
        standing: Standing {
            conversation: Uuid::now_v7(),
            mode: Mode::Ai,
            version: 1,
            fence: 1,
            turn: None,
            contact_seq: 1,
        },
        clocks: Clocks::default(),
        messages: vec![message],
        turns: Vec::new(),
        typing: None,
        is_erased: false,
        events: Vec::new(),
    }
}

#[tokio::test]
async fn what_is_changed_without_coming_any_further_tells_nothing() {
    let (store, _folder) = test_stores::sqlite().await;
    let mut known = Known::new(Arc::new(store));
    let of_contact = Outcome::ALL
        .iter()
        .map(|outcome| moved(*outcome, Some(MessageState { outcome: Some(*outcome), state: None })));
    let turn = Uuid::now_v7();
    known.keep_turn(turn, &[Uuid::now_v7()]);
    let ours = DeliveryState::ALL.iter().map(|state| {
        let message = test_stores::from_us(1, Author::Assistant, "Yes.", test_stores::NOW, *state);
        MessageProgress {
            turn: Some(turn),
            inbound: None,
            delivery: message.delivery,
            ..moved(Outcome::Pending, Some(MessageState { outcome: None, state: Some(*state) }))
        }
    });
    for message in of_contact.chain(ours) {
        let commit = Committed { messages: vec![message], ..taken_in() };
        let glimpse = Glimpse::of(&commit).expect("it could tell something");
        let spans = story::tell(&mut known, "scripted", &glimpse).await;
        assert!(spans.is_empty(), "{:?} told {spans:?}", commit.messages);
    }
}

#[tokio::test]
async fn what_no_collector_takes_is_dropped_and_counted() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let refuses = collector(ResponseTemplate::new(403)).await;
    for endpoint in [format!("http://{nobody}"), refuses.uri()] {
        let scene = Scene::of(&endpoint).await;
        scene.observer.committed(&[taken_in(), taken_in(), taken_in()]);
        let Scene { traces, counted, _recorder, .. } = scene;
        traces.end().await;
        assert!(
            counted.render().contains("baton_spans_dropped_total 3\n"),
            "{endpoint}: {}",
            counted.render()
        );
    }
    assert_eq!(batches(&refuses).await, [3], "it is not asked again");
}

#[tokio::test]
async fn what_a_collector_takes_and_does_not_keep_is_counted() {
    let partly = ExportTracePartialSuccess { rejected_spans: 2, error_message: "too old".to_owned() };
    let answer = ExportTraceServiceResponse { partial_success: Some(partly) }.encode_to_vec();
    let server = collector(ResponseTemplate::new(200).set_body_bytes(answer)).await;
    let scene = Scene::of(&server.uri()).await;
    scene.observer.committed(&[taken_in(), taken_in(), taken_in()]);
    let Scene { traces, counted, _recorder, .. } = scene;
    traces.end().await;
    assert!(counted.render().contains("baton_spans_dropped_total 2\n"), "{}", counted.render());
}

#[tokio::test]
async fn whoever_commits_does_not_wait_where_there_is_no_room_left() {
    let server = collector(ResponseTemplate::new(200)).await;
    let scene = Scene::of(&server.uri()).await;
    let commits: Vec<Committed> = std::iter::repeat_with(taken_in).take(COMMITS_MAX + 7).collect();
    // Nobody else runs on this thread meanwhile.
    scene.observer.committed(&commits);
    assert_eq!(scene.dropped().as_deref(), Some("7"));
    assert_eq!(scene.ear.0.load(Ordering::Relaxed), commits.len(), "whoever hears first hears of all");
    let Scene { traces, counted, _recorder, .. } = scene;
    traces.end().await;
    assert!(counted.render().contains("baton_spans_dropped_total 7\n"), "no more are lost");
    assert_eq!(batches(&server).await.iter().sum::<usize>(), COMMITS_MAX);
}

#[tokio::test]
async fn a_collector_that_does_not_answer_costs_spans_and_holds_up_nobody() {
    let server = collector(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
    let scene = Scene::of(&server.uri()).await;
    // No limit of ours ends what is on its way: this thread is never without work below.
    tokio::time::pause();
    for _ in 0..3 {
        let commits: Vec<Committed> = std::iter::repeat_with(taken_in).take(3_000).collect();
        scene.observer.committed(&commits);
        while scene.traces.commits.capacity() < COMMITS_MAX {
            tokio::task::yield_now().await;
        }
    }
    let lost = 9_000 - SPANS_MAX - 512;
    assert_eq!(scene.dropped(), Some(lost.to_string()), "one batch is on its way, and the others wait");
}

#[tokio::test]
async fn spans_leave_in_batches_of_a_size_that_any_collector_takes() {
    let server = collector(ResponseTemplate::new(200)).await;
    let (store, _folder) = test_stores::sqlite().await;
    let mut known = Known::new(Arc::new(store));
    let (spans, to_send) = mpsc::channel(SPANS_MAX);
    for _ in 0..1_300 {
        let glimpse = Glimpse::of(&taken_in()).expect("it tells something");
        for span in story::tell(&mut known, "scripted", &glimpse).await {
            spans.try_send(span).expect("there is room");
        }
    }
    drop(spans);
    Exporter::to(&to(&server.uri())).expect("a client").run(to_send).await;
    assert_eq!(batches(&server).await, [512, 512, 276]);
}

#[tokio::test]
async fn nothing_is_told_of_a_person_who_is_being_erased_or_after_the_end() {
    let server = collector(ResponseTemplate::new(200)).await;
    let scene = Scene::of(&server.uri()).await;
    scene.observer.committed(&[Committed { is_erased: true, ..taken_in() }]);
    scene.observer.committed(&[Committed { messages: Vec::new(), ..taken_in() }]);
    let Scene { traces, counted, observer, ear, _recorder, .. } = scene;
    traces.end().await;
    assert!(!counted.render().contains("baton_spans_dropped_total"), "{}", counted.render());
    observer.committed(&[taken_in()]);
    assert!(counted.render().contains("baton_spans_dropped_total 1\n"), "{}", counted.render());
    assert_eq!(ear.0.load(Ordering::Relaxed), 3);
    assert!(batches(&server).await.is_empty());
}
