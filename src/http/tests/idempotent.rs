use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{ADMIN, Reply, World, request};
use crate::{
    flow::desk::Idempotency,
    http::{answer::Answer, idempotent::once},
};

pub(super) async fn under_key(world: &World, path: &str, key: &str, body: Value) -> Reply {
    let asked = request("POST", path, Some(body)).insert_header(("Idempotency-Key", key));
    world.send(asked.insert_header(("Authorization", format!("Bearer {ADMIN}")))).await
}

#[tokio::test]
async fn what_is_made_under_a_key_is_made_once() {
    let world = World::new();
    for (path, body) in [
        ("/api/v1/labels", json!({ "name": "VIP" })),
        ("/api/v1/canned-replies", json!({ "shortcut": "hours", "text": "At nine." })),
        ("/api/v1/tokens", json!({ "name": "till", "role": "read" })),
        ("/api/v1/agents", json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" })),
        (
            "/api/v1/channels",
            json!({ "name": "shop", "provider": "green_api", "instance": "7105000001", "token": "x" }),
        ),
    ] {
        let first = under_key(&world, path, "k1", body.clone()).await;
        assert_eq!(first.status, 201, "{}", first.body);
        let again = under_key(&world, path, "k1", body).await;
        assert_eq!((again.status, again.json()), (201, first.json()), "secrets too");
        assert_eq!(again.header("location"), first.header("location"));
        let listed = world.get(path).await.json();
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    }
}

#[tokio::test]
async fn what_is_done_is_told_as_done_though_nobody_else_can_be_told() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let paper = log.reopen().unwrap();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(paper).finish();
    let _heard = tracing::subscriber::set_default(lines);
    let world = World::new();
    world.house.keeps_nothing.store(true, Ordering::SeqCst);
    for (path, change, body) in [
        ("/api/v1/labels", "/VIP", json!({ "name": "VIP" })),
        ("/api/v1/canned-replies", "", json!({ "shortcut": "hours", "text": "At nine." })),
        ("/api/v1/agents", "", json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" })),
        ("/api/v1/webhook-endpoints", "", json!({ "url": "https://hooks.example/baton" })),
        (
            "/api/v1/channels",
            "/shop",
            json!({ "name": "shop", "provider": "green_api", "instance": "7105000001", "token": "x" }),
        ),
    ] {
        let first = under_key(&world, path, "k1", body.clone()).await;
        assert_eq!(first.status, 201, "{}", first.body);
        let again = under_key(&world, path, "k1", body).await;
        assert_eq!((again.status, again.json()), (201, first.json()), "{path}");
        let listed = world.get(path).await.json();
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
        let id = first.json()["id"].as_str().map(|id| format!("/{id}"));
        let one = format!("{path}{}", id.unwrap_or_else(|| change.to_owned()));
        assert_eq!(world.ask("PATCH", &one, Some(json!({}))).await.status, 200, "{one}");
        let removed = world.ask("DELETE", &one, None).await.status;
        assert_eq!(removed, if path.ends_with("agents") { 405 } else { 204 }, "{one}");
    }
    let told = std::fs::read_to_string(log.path()).unwrap();
    let mut failures = told.lines().filter(|line| line.contains("its event was not stored")).peekable();
    assert!(failures.peek().is_some() && failures.all(|line| line.contains("it is away")), "{told}");
}

#[tokio::test]
async fn what_was_refused_under_a_key_can_be_tried_again() {
    let world = World::new();
    let wrong = json!({ "name": "VIP", "colour": "red" });
    assert_eq!(under_key(&world, "/api/v1/labels", "k1", wrong).await.status, 400);
    let right = under_key(&world, "/api/v1/labels", "k1", json!({ "name": "VIP" })).await;
    assert_eq!(right.status, 201, "{}", right.body);
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_and_answers_as_it_does() {
    let world = World::new();
    let request = || Some(Idempotency { key: "k1".to_owned(), body_hash: "a".to_owned() });
    let (done, begun, goes_on) = (AtomicUsize::new(0), Notify::new(), Notify::new());
    let work = async || {
        done.fetch_add(1, Ordering::SeqCst);
        begun.notify_one();
        goes_on.notified().await;
        Ok(Answer::created("/here".to_owned(), &json!({ "n": 1 })))
    };
    let second = async {
        begun.notified().await;
        let (answer, ()) = tokio::join!(once(&world.doors, request(), work()), async {
            tokio::task::yield_now().await;
            goes_on.notify_one();
        });
        answer
    };
    let (first, second) = tokio::join!(once(&world.doors, request(), work()), second);
    assert_eq!(done.load(Ordering::SeqCst), 1);
    let (first, second) = (first.expect("an answer"), second.expect("an answer"));
    assert_eq!(first.to_kept(), second.to_kept());
}
