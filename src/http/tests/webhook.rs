use std::sync::atomic::Ordering;

use serde_json::json;

use super::{World, request};
use crate::http::{ports::Secret, read::BODY_MAX_BYTES};

const DOOR: &str = "/webhooks/green-api/shop";

fn world() -> World {
    let world = World::new();
    for token in ["new-token", "old-token"] {
        world.house.webhook_tokens.lock().unwrap().push(("shop".to_owned(), Secret(token.to_owned())));
    }
    world
}

#[tokio::test]
async fn what_became_of_it_is_told() {
    let world = world();
    for (body, wanted) in [
        ("{}", "accepted"),
        ("again", "duplicate"),
        ("nothing", "ignored"),
        ("{", "dead_letter"),
        ("", "accepted"),
    ] {
        let asked = request("POST", DOOR, None).insert_header(("Authorization", "Bearer old-token"));
        let reply = world.send(asked.set_payload(body)).await;
        assert_eq!((reply.status, reply.json()), (200, json!({ "status": wanted })), "{body:?}");
        assert_eq!(world.clerk.heard(), [format!("shop {body}")]);
    }
}

#[tokio::test]
async fn every_wrong_credential_gets_the_same_empty_answer_and_nothing_is_taken() {
    let world = world();
    let mut answers = Vec::new();
    for wrong in
        ["", "Bearer", "Bearer ", "Bearer nonsense", "Basic nonsense", "nonsense", "Bearer new-token2"]
    {
        let asked = request("POST", DOOR, None).insert_header(("Authorization", wrong)).set_payload("{}");
        answers.push(world.send(asked).await);
    }
    answers.push(world.send(request("POST", DOOR, None).set_payload("{}")).await);
    for answer in &answers {
        assert_eq!((answer.status, answer.body.as_str()), (401, ""));
        assert_eq!(answer.headers.len(), answers[0].headers.len());
    }
    assert!(world.clerk.heard().is_empty());
}

#[tokio::test]
async fn an_unknown_channel_has_no_door() {
    let world = world();
    let asked = request("POST", "/webhooks/green-api/other", None);
    let reply = world.send(asked.insert_header(("Authorization", "Bearer new-token"))).await;
    assert_eq!(reply.problem(), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn too_large_a_body_is_refused_and_the_largest_is_taken() {
    let world = world();
    for (length, wanted) in [(BODY_MAX_BYTES, 200), (BODY_MAX_BYTES + 1, 413)] {
        let asked = request("POST", DOOR, None).insert_header(("Authorization", "new-token"));
        let reply = world.send(asked.set_payload("x".repeat(length))).await;
        assert_eq!(reply.status, wanted, "{length}");
    }
    assert_eq!(world.clerk.heard().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_stored_is_to_be_sent_again() {
    let world = world();
    world.clerk.is_away.store(true, Ordering::SeqCst);
    let asked =
        request("POST", DOOR, None).insert_header(("Authorization", "Bearer new-token")).set_payload("{}");
    let reply = world.send(asked).await;
    assert_eq!(reply.problem(), (503, "unavailable".to_owned()));
    assert_ne!(reply.header("retry-after"), "");
}

#[tokio::test]
async fn a_stopping_server_takes_nothing_more() {
    let world = world();
    world.doors.stopping.cancel();
    let asked =
        request("POST", DOOR, None).insert_header(("Authorization", "Bearer new-token")).set_payload("{}");
    assert_eq!(world.send(asked).await.status, 503);
    assert_eq!(world.get("/api/v1/conversations").await.status, 503);
    assert_eq!(world.get("/readyz").await.json()["status"], "stopping");
    assert_eq!(world.get("/healthz").await.status, 200);
    assert!(world.clerk.heard().is_empty());
}

#[tokio::test]
async fn there_is_no_sandbox_unless_it_is_on() {
    let world = world();
    let message = json!({ "chat_id": "6580000001@c.us", "text": "hello" });
    assert_eq!(world.ask("POST", "/webhooks/sandbox", Some(message)).await.status, 404);
    assert_eq!(world.get("/api/v1/sandbox").await.status, 404);
}
