//! A collector of traces: takes what is sent to it, and tells each trace as a text that a person can read.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value},
    trace::v1::{Span, status::StatusCode},
};
use prost::Message as _;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use crate::world::BEGINNING;

/// What was sent.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Vec<Request>>>);

impl Respond for Desk {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.0.lock().expect("nobody panics here").push(request.clone());
        ResponseTemplate::new(200).insert_header("content-type", "application/x-protobuf")
    }
}

pub(super) struct Collector {
    server: MockServer,
    desk: Desk,
}

/// A span, and who has sent it.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) span: Span,
    pub(super) resource: BTreeMap<String, String>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let (server, desk) = (MockServer::start().await, Desk::default());
        Mock::given(any()).respond_with(desk.clone()).mount(&server).await;
        Self { server, desk }
    }

    /// Its base address.
    pub(super) fn url(&self) -> String {
        self.server.uri()
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.desk.0.lock().expect("nobody panics here").clone()
    }

    pub(super) fn spans(&self) -> Vec<Sent> {
        let mut spans = Vec::new();
        for request in self.requests() {
            assert_eq!(request.url.path(), "/v1/traces");
            assert_eq!(request.headers["content-type"], "application/x-protobuf");
            let body = ExportTraceServiceRequest::decode(&*request.body).expect("OTLP");
            for of in body.resource_spans {
                let resource = attributes(&of.resource.expect("a resource").attributes);
                let sent = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(sent.map(|span| Sent { span, resource: resource.clone() }));
            }
        }
        spans
    }

    /// Nothing that was sent holds any of these.
    pub(super) fn knows_nothing_of(&self, words: &[&str]) {
        for request in self.requests() {
            for word in words {
                let is_there = request.body.windows(word.len()).any(|bytes| bytes == word.as_bytes());
                assert!(!is_there, "{word:?} is in a trace");
            }
        }
    }

    /// Each trace, the one that began first first. Times are milliseconds since the test began.
    pub(super) fn told(&self) -> String {
        let mut traces = BTreeMap::<Vec<u8>, Vec<Sent>>::new();
        for sent in self.spans() {
            traces.entry(sent.span.trace_id.clone()).or_default().push(sent);
        }
        // Ids of messages rise with time.
        let names: Vec<Vec<u8>> = traces.keys().cloned().collect();
        let mut text = String::new();
        for (number, (_, mut spans)) in (1..).zip(traces) {
            writeln!(text, "trace {number}").expect("a String takes everything");
            spans.sort_by_key(|sent| {
                let span = &sent.span;
                let kind = ORDER.iter().position(|name| *name == span.name);
                let is_below = !span.parent_span_id.is_empty();
                (is_below, span.start_time_unix_nano, span.end_time_unix_nano, kind)
            });
            let root = spans.iter().find(|sent| sent.span.parent_span_id.is_empty());
            let root = root.map(|sent| sent.span.span_id.clone());
            for sent in &spans {
                line(&mut text, sent, root.as_deref(), &names);
            }
        }
        text
    }

    /// What was sent tells this story, and no other.
    pub(super) fn reads(&self, story: &str) {
        let told = self.told();
        let lines = story.lines().map(str::trim).filter(|line| !line.is_empty());
        let told_lines = told.lines().map(str::trim);
        assert!(
            lines.eq(told_lines),
            "the traces tell another story\n--- told:\n{told}\n--- expected:\n{story}\n---"
        );
    }
}

/// Of spans that begin and end together, in which order they are read.
const ORDER: [&str; 8] =
    ["message", "webhook", "wait", "generation", "send", "reconcile", "delivered", "read"];

/// What is read of a span, besides its name and its times.
const READ: [&str; 8] = [
    "baton.outcome",
    "baton.outcome_reason",
    "baton.turn.state",
    "baton.turn.reason",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "baton.delivery.state",
    "baton.delivery.reason",
];

/// Names and times; what it says of itself; that it failed; with which traces it is linked; who has sent it.
fn line(text: &mut String, sent: &Sent, root: Option<&[u8]>, names: &[Vec<u8>]) {
    let span = &sent.span;
    let is_root = span.parent_span_id.is_empty();
    assert!(is_root || root.is_none_or(|root| root == span.parent_span_id), "{} hangs elsewhere", span.name);
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{} ends before it begins", span.name);
    let ms = |nanos: u64| i64::try_from(nanos / 1_000_000).expect("a time") - BEGINNING.0;
    let (from, to) = (ms(span.start_time_unix_nano), ms(span.end_time_unix_nano));
    let indent = if is_root { "" } else { "  " };
    write!(text, "{indent}{} {from}", span.name).expect("a String takes everything");
    // That one lasts as long as the machine takes.
    if span.name != "webhook" {
        write!(text, "..{to}").expect("a String takes everything");
    }
    let told = attributes(&span.attributes);
    if let (Some(part), Some(parts)) = (told.get("baton.delivery.part"), told.get("baton.delivery.parts")) {
        write!(text, " {part}/{parts}").expect("a String takes everything");
    }
    for value in READ.iter().filter_map(|name| told.get(*name)) {
        write!(text, ", {value}").expect("a String takes everything");
    }
    if span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error) {
        text.push_str(" failed");
    }
    for link in &span.links {
        let number = names.iter().position(|name| *name == link.trace_id).expect("it was sent too") + 1;
        write!(text, " -> {number}").expect("a String takes everything");
    }
    writeln!(text, " by {}", sent.resource["service.instance.id"]).expect("a String takes everything");
}

pub(super) fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let value = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|it| it.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => panic!("{}: {other:?}", attribute.key),
    };
    list.iter().map(|attribute| (attribute.key.clone(), value(attribute))).collect()
}
