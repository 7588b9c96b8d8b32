//! What one message costs the processor where nothing is waited for: `cargo bench`. The whole way is measured by
//! `cargo xtask bench`.
//!
//! In: real bodies, replies and conversations. Out: the time of each step, smallest and median.

use std::{sync::Arc, time::Duration};

use baton::{
    adapters::{
        green_api::{Account, GreenApi, fingerprint_of},
        http_client::http_client,
        openai::{OpenAi, Settings},
    },
    domain::pacing,
    flow::{
        generator::{About, Generator, Line, Offer, Progress, Request, Written},
        instance::onlookers::Onlookers,
        provider::Provider,
    },
};
use divan::{Bencher, black_box};
use execution::deduplicate_webhook::Webhook;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    runtime::Runtime,
};
use uuid::Uuid;

const CHANNEL: &str = "default";
const INSTANCE: &str = "7103000001";
/// As the gateway posts them: a short text, one that quotes another, a status, a text as long as WhatsApp takes.
const BODIES: [(&str, &[u8]); 4] = [
    ("text", include_bytes!("../tests/fixtures/webhooks/in_text_plain.json")),
    ("quoted", include_bytes!("../tests/fixtures/webhooks/in_quoted_text.json")),
    ("status", include_bytes!("../tests/fixtures/webhooks/status_delivered.json")),
    ("long", include_bytes!("../tests/fixtures/webhooks/in_text_very_long.json")),
];

fn main() {
    divan::main();
}

#[divan::bench]
fn fingerprint() -> String {
    black_box(Webhook::WithId {
        channel: CHANNEL,
        type_webhook: "incomingMessageReceived",
        chat_id: "6580000001@c.us",
        message_id: "3EB0C767D097B7C7C4A1",
        status: "",
    })
    .fingerprint()
}

#[divan::bench(args = BODIES.map(|(name, _)| name))]
fn fingerprint_of_body(bencher: Bencher<'_, '_>, name: &str) {
    let body = body(name);
    bencher.bench(|| fingerprint_of(CHANNEL, black_box(body)).expect("it has one"));
}

#[divan::bench(args = BODIES.map(|(name, _)| name))]
fn read_webhook(bencher: Bencher<'_, '_>, name: &str) {
    let body = body(name);
    let account = Account {
        channel: CHANNEL.to_owned(),
        instance: INSTANCE.to_owned(),
        api_url: "https://gateway.invalid".to_owned(),
        token: "token".to_owned(),
        timeout: Duration::from_secs(1),
    };
    let gateway = GreenApi::new(&account, client()).expect("an address");
    bencher.bench(|| gateway.read(black_box(body)).expect("it can be read"));
}

/// Replies of so many sentences, by the default settings.
#[divan::bench(args = [1, 10, 60])]
fn split(bencher: Bencher<'_, '_>, sentences: usize) {
    let reply =
        "We are open until eight, and the table by the window is yours if you like. ".repeat(sentences);
    bencher.bench(|| pacing::split(black_box(&reply), 600, 4, 4_096));
}

/// A whole call of a model that answers at once, over the loopback, with so many messages of context. What is asked is
/// built inside: the difference between few and many is what building and carrying them costs.
#[divan::bench(args = [1, 30])]
fn call_of_the_model(bencher: Bencher<'_, '_>, lines: usize) {
    let runtime = Runtime::new().expect("a runtime");
    let model = runtime.block_on(model_at_once());
    let request = request(lines);
    bencher.bench(|| runtime.block_on(model.reply(black_box(&request), &Nobody)).expect("it answers"));
}

/// What a generation tells of its words, at most ten times a second: while so many others run, and nobody watches any.
#[divan::bench(args = [1, 10_000], threads = [1, 2])]
fn words_that_nobody_watches(bencher: Bencher<'_, '_>, turns: usize) {
    let onlookers = Onlookers::default();
    let _others: Vec<_> = (1..turns).map(|_| onlookers.writes(Uuid::now_v7(), Uuid::now_v7())).collect();
    let words = "We are open until eight, and the table by the window is yours if you like. ".repeat(10);
    bencher.with_inputs(|| onlookers.writes(Uuid::now_v7(), Uuid::now_v7())).bench_refs(|writing| {
        for _ in 0..100 {
            writing.wrote(black_box(&words));
        }
    });
}

fn body(name: &str) -> &'static [u8] {
    BODIES.iter().find(|(other, _)| *other == name).expect("one of them").1
}

fn client() -> reqwest::Client {
    http_client(Duration::from_secs(1)).expect("a client")
}

fn request(lines: usize) -> Request {
    let text = "Do you still have a table for two on Friday, by the window if that can be?".to_owned();
    let line = |at: usize| {
        if at.is_multiple_of(2) { Line::Contact(text.clone()) } else { Line::Assistant(text.clone()) }
    };
    Request {
        model: "model".to_owned(),
        system: Arc::from("You answer the guests of a small restaurant. ".repeat(20)),
        lines: (0..lines).map(line).collect(),
        tools: Offer::Tools(Arc::default()),
        channel: CHANNEL.to_owned(),
        about: About::default(),
        asked_before: 0,
    }
}

/// Nobody watches the words come.
struct Nobody;

impl Progress for Nobody {
    fn wrote(&self, _: &str) {}
}

async fn model_at_once() -> impl Generator {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(serve(listener));
    let settings =
        Settings { base_url, api_key: None, idle: Duration::from_secs(5), total: Duration::from_secs(5) };
    let model = OpenAi::new(&settings, client()).expect("an address");
    let written: Written = model.reply(&request(1), &Nobody).await.expect("it answers");
    assert_eq!(written.text, "Yes.");
    model
}

/// Knows only where a request ends, and one answer.
async fn serve(listener: TcpListener) {
    const EVENTS: &str = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n"
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length:";
    let answer: Arc<str> = format!("{head} {}\r\n\r\n{EVENTS}", EVENTS.len()).into();
    while let Ok((mut stream, _)) = listener.accept().await {
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            let mut bytes = Vec::new();
            while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
                if is_whole(&bytes) {
                    bytes.clear();
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
}

/// Nothing comes behind a request before it is answered.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.to_ascii_lowercase();
    let length = length.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
