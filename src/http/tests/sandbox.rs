use std::sync::{Arc, atomic::Ordering};

use serde_json::json;
use uuid::Uuid;

use super::{NOW, World, fakes::Toy};

#[tokio::test]
async fn what_contacts_of_the_sandbox_write_is_taken_singly_and_together() {
    let world = World::with(Some(Arc::new(Toy::default())));
    let message = json!({ "chat_id": "6580000001@c.us", "text": "hello", "name": "Mei" });
    let taken = json!({ "status": "accepted", "message_id": Uuid::nil().to_string() });
    assert_eq!(world.ask("POST", "/webhooks/sandbox", Some(message.clone())).await.json(), taken);
    let both = world.ask("POST", "/webhooks/sandbox", Some(json!([message, message]))).await;
    assert_eq!(both.json(), json!([taken, taken]));
    for (body, pointer) in [
        (json!({ "chat_id": "6580000001@c.us" }), ""),
        (json!({ "chat_id": "6580000001", "text": "x" }), "/chat_id"),
        (json!([message, { "chat_id": "6580000001@c.us", "text": "x", "kind": "song" }]), "/1/kind"),
        (json!([{ "chat_id": "6580000001@c.us", "text": "x", "txet": 1 }]), "/0/txet"),
        (json!({ "chat_id": "6580000001@c.us", "text": "x", "kind": "note" }), "/kind"),
        (json!([message, message, { "chat_id": "6580000002@c.us", "text": "x" }]), "/2/chat_id"),
        (json!("hello"), ""),
    ] {
        assert_eq!(
            world.ask("POST", "/webhooks/sandbox", Some(body.clone())).await.pointer(),
            pointer,
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_sandbox_shows_its_phone_and_behaves_as_told() {
    let world = World::with(Some(Arc::new(Toy::default())));
    let phone = world.get("/api/v1/sandbox/chats/6580000001@c.us").await.json();
    let bubble = json!({
        "id": "5A1", "author": "contact", "text": "hello", "at": NOW.to_string(), "status": "read",
    });
    assert_eq!(phone, json!({ "typing": true, "messages": [bubble] }));
    let change = json!({ "model_fault": "rate_limited", "model_delay_ms": 100 });
    let wanted = json!({
        "model_delay_ms": 100, "model_fault": "rate_limited", "provider_delay_ms": 5, "provider_fault": "none",
        "duplicate_webhooks": false,
    });
    assert_eq!(world.ask("PATCH", "/api/v1/sandbox", Some(change)).await.json(), wanted);
    assert_eq!(world.get("/api/v1/sandbox").await.json(), wanted);
    let told = world.house.kept.lock().unwrap().last().cloned().expect("who looks at it is told");
    assert_eq!((told.kind.as_str(), told.channel.as_str()), ("sandbox_updated", "sandbox"));
    let wrong = json!({ "provider_delay_ms": 600_001 });
    assert_eq!(world.ask("PATCH", "/api/v1/sandbox", Some(wrong)).await.pointer(), "/provider_delay_ms");
    let path = "/api/v1/sandbox/chats/6580000001@c.us/phone-message";
    let reply = world.ask("POST", path, Some(json!({ "text": "it is me" }))).await;
    assert_eq!(reply.json(), json!({ "status": "accepted", "message_id": null }));
}

#[tokio::test]
async fn without_its_channel_the_sandbox_is_not_there() {
    let toy = Arc::new(Toy::default());
    let world = World::with(Some(toy.clone()));
    let message = json!({ "chat_id": "6580000001@c.us", "text": "hello" });
    let screen = "/api/v1/sandbox/chats/6580000001@c.us";
    for (is_removed, status) in [(true, 404), (false, 200)] {
        toy.is_removed.store(is_removed, Ordering::SeqCst);
        assert_eq!(world.ask("POST", "/webhooks/sandbox", Some(message.clone())).await.status, status);
        assert_eq!(world.get("/api/v1/sandbox").await.status, status);
        assert_eq!(world.get(screen).await.status, status);
    }
}
