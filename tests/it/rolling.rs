//! Instances are replaced one after the other while contacts go on writing: every webhook is taken, and everybody is answered
//! once. As in Kubernetes, whoever stands in front sends nothing more to an instance before that is told to end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::RwLock, task::JoinSet};

use crate::program::{Program, Server, TOKEN};

/// Who write at the same time, each ten contacts a second.
const WRITERS: usize = 4;

/// So many write before an instance is told to end, and after it has.
const SOME: usize = 25;

fn chat(number: usize) -> String {
    format!("65{number:08}@c.us")
}

/// What stands in front of the instances.
struct Front {
    http: reqwest::Client,
    /// Where the instances are; the first is left out once it is to end, which waits for what is on its way there.
    addresses: [String; 2],
    is_first_leaving: RwLock<bool>,
    is_over: AtomicBool,
}

impl Front {
    /// Contacts write, each to the other instance than the one before, until it is over.
    async fn writes(self: Arc<Self>, number: Arc<AtomicUsize>) {
        let mut pace = tokio::time::interval(Duration::from_millis(100));
        while !self.is_over.load(Ordering::Relaxed) {
            pace.tick().await;
            let number = number.fetch_add(1, Ordering::Relaxed);
            let is_first_leaving = self.is_first_leaving.read().await;
            let to = if *is_first_leaving { 1 } else { number % 2 };
            let url = format!("{}/webhooks/sandbox", self.addresses[to]);
            let body =
                json!({ "chat_id": chat(number), "text": "Do you deliver?", "id": format!("M{number}") });
            let answer = self.http.post(url).bearer_auth(TOKEN).json(&body).send().await;
            drop(is_first_leaving);
            assert_eq!(answer.expect("it is taken").status(), 200, "{number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_are_replaced_one_by_one_and_nobody_notices() {
    let mut program = Program::on_postgres().await;
    let redis = std::env::var("TEST_REDIS_URL")
        .expect("TEST_REDIS_URL names no Redis server; `cargo xtask test` starts one and sets it");
    for (name, value) in [
        ("BATON_REDIS_URL", redis.as_str()),
        ("BATON_AI_PROVIDER", "scripted"),
        ("BATON_BURST_QUIET_MS", "100"),
        ("BATON_TYPING_MS_PER_CHAR", "0"),
        ("BATON_TYPING_JITTER_MS", "0"),
        ("BATON_SEND_INTERVAL_MS", "0"),
        // What is not given back would be waited for until the test gives up.
        ("BATON_LOCK_TTL_MS", "600000"),
    ] {
        program.set(name, value);
    }
    let (mut first, mut second) = (start(&program).await, start(&program).await);
    let number = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let next = start(&program).await;
        replace(first, &second, &number).await;
        (first, second) = (second, next);
    }
    for number in 0..number.load(Ordering::Relaxed) {
        is_answered_once(&second, number).await;
    }
    drop((first, second));
    program.end().await;
}

async fn start(program: &Program) -> Server {
    let server = program.serves(&[]);
    // Time enough to be told to end in the middle of an answer.
    server.asks("PATCH", "/api/v1/sandbox", Some(&json!({ "model_delay_ms": 400 }))).await;
    server
}

/// The first ends while everybody writes.
async fn replace(mut first: Server, second: &Server, number: &Arc<AtomicUsize>) {
    let front = Arc::new(Front {
        http: first.http.clone(),
        addresses: [first.address.clone(), second.address.clone()],
        is_first_leaving: RwLock::new(false),
        is_over: AtomicBool::new(false),
    });
    let mut writing = JoinSet::new();
    for _ in 0..WRITERS {
        writing.spawn(Arc::clone(&front).writes(Arc::clone(number)));
    }
    some_write(number).await;
    *front.is_first_leaving.write().await = true;
    let ended = tokio::task::spawn_blocking(move || first.is_told_to_end());
    ended.await.expect("within its grace, and well");
    some_write(number).await;
    front.is_over.store(true, Ordering::Relaxed);
    writing.join_all().await;
}

async fn some_write(number: &AtomicUsize) {
    let from = number.load(Ordering::Relaxed);
    while number.load(Ordering::Relaxed) < from + SOME {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn is_answered_once(server: &Server, number: usize) {
    let path = format!("/api/v1/conversations?chat_id={}", chat(number));
    let is_done = |found: &Value| {
        let conversation = &found["items"][0];
        conversation["last_message"]["author"] == "assistant" && conversation["activity"] == "idle"
    };
    server.until(&path, is_done).await;
    let messages = server.messages(&chat(number)).await;
    let parts: Vec<&Value> = messages.iter().map(|it| &it["delivery"]["part"]).collect();
    assert_eq!(parts, [&Value::Null, &json!(1), &json!(2), &json!(3)], "{number}: {messages:#?}");
    let went = |it: &Value| matches!(it["delivery"]["state"].as_str(), Some("sent" | "delivered" | "read"));
    assert!(messages[1..].iter().all(went), "{number}: {messages:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_that_is_not_answered_within_the_grace_is_of_unknown_fate_at_once() {
    let mut program = Program::on_sqlite();
    for (name, value) in [
        ("BATON_AI_PROVIDER", "scripted"),
        ("BATON_BURST_QUIET_MS", "0"),
        ("BATON_TYPING_MS_PER_CHAR", "0"),
        ("BATON_TYPING_JITTER_MS", "0"),
        ("BATON_SPLIT_CHARS", "0"),
        ("BATON_GREEN_API_TIMEOUT_MS", "60000"),
        ("BATON_GRACE_MS", "2000"),
    ] {
        program.set(name, value);
    }
    let mut server = program.serves(&[]);
    server.asks("PATCH", "/api/v1/sandbox", Some(&json!({ "provider_fault": "hang" }))).await;
    server.hears(&chat(1), "Do you deliver?").await;
    let id = server.conversation(&chat(1)).await["id"].as_str().expect("it has begun").to_owned();
    let messages = format!("/api/v1/conversations/{id}/messages");
    let is_on_its_way = |seen: &Value| seen["items"][0]["delivery"]["state"] == "sending";
    server.until(&messages, is_on_its_way).await;
    let ended = tokio::task::spawn_blocking(move || server.is_told_to_end());
    ended.await.expect("within its grace, and well");
    let next = program.serves(&[]);
    let events = next.asks("GET", &format!("/api/v1/events?conversation_id={id}"), None).await;
    let uncertain =
        events["items"].as_array().expect("a list").iter().find(|it| it["type"] == "send_uncertain");
    let detail = uncertain.expect("it is told")["details"]["detail"].clone();
    assert_eq!(detail, "Baton was stopped before there was an answer");
    drop(next);
    program.end().await;
}
