//! Examples for the description of the API: what is sent to the routes that are used first, and what they answer. All of
//! them are of one conversation, so that they read as one story.
//!
//! A test sends each request to its route, and holds each answer against what the description says of its type.

use serde_json::{Value, json};

/// Mei's conversation, and those who work in it.
const CONVERSATION: &str = "019ad001-0000-7000-8000-000000000001";
const ANA: &str = "019ad001-0000-7000-8000-0000000000a1";
pub(super) const CHAT: &str = "6580000001@c.us";

/// An example of one route.
pub(super) struct Example {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// What is sent.
    pub(super) body: Option<Value>,
    /// With which status it is answered, and what.
    pub(super) answer: (&'static str, Value),
}

fn get(path: &'static str, answer: Value) -> Example {
    Example { method: "get", path, body: None, answer: ("200", answer) }
}

fn sent(
    method: &'static str,
    path: &'static str,
    body: Value,
    status: &'static str,
    answer: Value,
) -> Example {
    Example { method, path, body: Some(body), answer: (status, answer) }
}

/// An example of each route that has one.
pub(super) fn examples() -> Vec<Example> {
    [reading(), acting(), administering()].into_iter().flatten().collect()
}

fn reading() -> Vec<Example> {
    let page = |item: Value| json!({ "items": [item], "next_cursor": null });
    vec![
        get("/api/v1/conversations", page(conversation())),
        get("/api/v1/conversations/{id}", conversation()),
        get("/api/v1/conversations/{id}/messages", page(question())),
        get("/api/v1/conversations/{id}/turns", turns()),
        get("/api/v1/conversations/{id}/follow-up", follow_up()),
    ]
}

fn acting() -> Vec<Example> {
    let text = || json!({ "text": "Your order is ready." });
    let said = || {
        let mut said = answer("Your order is ready.");
        said["takeover"] = receipt();
        said["takeover"]["mode_until"] = Value::Null;
        said
    };
    let switch = || json!({ "mode": "HUMAN", "expected_version": 1, "until": "2030-01-07T18:00:00Z", "settle_ms": 5000 });
    let wish =
        json!({ "delay_ms": 86_400_000, "instructions": "Ask whether the blue bowl is still wanted." });
    let note = json!({ "text": "She ordered in March, too." });
    let change =
        json!({ "status": "open", "assignee": ANA, "add_labels": ["regular"], "contact": { "name": "Mei" } });
    vec![
        sent("post", "/api/v1/conversations/{id}/messages", text(), "202", said()),
        sent("post", "/api/v1/channels/{channel}/chats/{chat_id}/messages", text(), "202", said()),
        sent("post", "/api/v1/conversations/{id}/notes", note, "201", noted("She ordered in March, too.")),
        sent("put", "/api/v1/conversations/{id}/mode", switch(), "200", receipt()),
        sent("put", "/api/v1/channels/{channel}/chats/{chat_id}/mode", switch(), "200", receipt()),
        sent("put", "/api/v1/conversations/{id}/follow-up", wish, "201", follow_up()),
        sent("patch", "/api/v1/conversations/{id}", change, "200", conversation()),
    ]
}

fn administering() -> Vec<Example> {
    let endpoint = json!({
        "url": "https://crm.example.com/baton", "events": ["message_received", "mode_changed"], "channels": null,
        "description": "the CRM",
    });
    let token =
        json!({ "name": "website", "role": "agent", "channels": null, "expires_at": "2031-01-01T00:00:00Z" });
    vec![
        sent("post", "/api/v1/webhook-endpoints", endpoint, "201", kept_endpoint()),
        sent("post", "/api/v1/tokens", token, "201", kept_token()),
    ]
}

fn ana() -> Value {
    json!({ "id": ANA, "name": "Ana" })
}

fn conversation() -> Value {
    json!({
        "id": CONVERSATION, "channel": "default", "chat_id": CHAT, "contact": { "name": "Mei", "phone": "+6580000001" },
        "mode": "HUMAN", "mode_version": 2, "mode_reason": "agent_message", "mode_actor": format!("agent:{ANA}"),
        "mode_changed_at": "2030-01-07T09:14:05.250Z", "mode_until": null, "drafting": false, "status": "open",
        "assignee": ana(), "labels": ["regular"], "unread": 0, "waiting_since": null, "attention": null, "activity": "idle",
        "activity_since": null, "activity_owner": null, "queue": { "inbox": 0, "outbox": 0 }, "aliases": [],
        "merged_into": null, "follow_up": null, "snoozed_until": null, "opted_out": false,
        "last_message": answer("Your order is ready."), "created_at": "2030-01-07T09:13:58.000Z",
        "updated_at": "2030-01-07T09:14:06.100Z",
    })
}

/// What Mei wrote.
fn question() -> Value {
    json!({
        "id": "019ad001-0000-7000-8000-000000000011", "conversation_id": CONVERSATION, "seq": 1, "author": "contact",
        "origin": "webhook", "kind": "text", "text": "Is my order ready?", "agent": null, "sender": null, "quoted": null,
        "edited_at": null, "deleted_at": null, "reactions": [], "media": null,
        "provider_message_id": "3EB0608D6A2901063D63", "at": "2030-01-07T09:13:58.000Z",
        "provider_at": "2030-01-07T09:13:57.000Z", "outcome": "left_to_human", "outcome_reason": "mode_human",
        "turn_id": null, "delivery": null,
    })
}

/// What Ana answers, just owed.
fn answer(text: &str) -> Value {
    let at = "2030-01-07T09:14:05.250Z";
    json!({
        "id": "019ad001-0000-7000-8000-000000000012", "conversation_id": CONVERSATION, "seq": 2, "author": "agent",
        "origin": "api", "kind": "text", "text": text, "agent": ana(), "sender": null, "quoted": null, "edited_at": null,
        "deleted_at": null, "reactions": [], "media": null, "provider_message_id": null, "at": at, "provider_at": null,
        "outcome": null, "outcome_reason": null, "turn_id": null,
        "delivery": {
            "state": "queued", "attempts": 0, "reason": null, "part": 1, "parts": 1,
            "idempotency_key": "019ad001-0000-7000-8000-000000000012", "lane": "human", "queued_at": at,
            "next_attempt_at": at, "sent_at": null, "delivered_at": null, "read_at": null,
        },
    })
}

fn noted(text: &str) -> Value {
    let mut note = answer(text);
    (note["kind"], note["delivery"]) = (json!("note"), Value::Null);
    note
}

/// The assistant was writing, and one of its three messages had left.
fn receipt() -> Value {
    json!({
        "conversation_id": CONVERSATION, "mode": "HUMAN", "mode_version": 2, "changed": true,
        "generation_cancelled": true, "parts_already_sent": 1, "parts_discarded": 2, "follow_up_cancelled": true,
        "settled": true, "in_flight": [], "at_provider": [], "generation_ms": 1800, "answering": false,
        "mode_until": "2030-01-07T18:00:00.000Z", "assignee": ana(),
    })
}

fn turns() -> Value {
    let turn = json!({
        "id": "019ad001-0000-7000-8000-000000000021", "conversation_id": CONVERSATION, "state": "completed",
        "purpose": "reply", "mode_version": 1, "message_ids": ["019ad001-0000-7000-8000-000000000011"],
        "started_at": "2030-01-07T09:14:01.000Z", "first_token_at": "2030-01-07T09:14:01.640Z",
        "ended_at": "2030-01-07T09:14:03.010Z", "attempts": 1, "model": "gpt-4.1-mini", "input_tokens": 812,
        "output_tokens": 64, "cost": 0.0004, "wasted": false, "reason": null,
    });
    let total = json!({ "input_tokens": 812, "output_tokens": 64, "cost": 0.0004 });
    json!({ "items": [turn], "next_cursor": null, "total": total })
}

fn follow_up() -> Value {
    json!({
        "id": "019ad001-0000-7000-8000-000000000031", "conversation_id": CONVERSATION,
        "due_at": "2030-01-08T09:14:06.000Z", "text": null, "instructions": "Ask whether the blue bowl is still wanted.",
        "created_by": format!("agent:{ANA}"), "created_at": "2030-01-07T09:14:06.000Z", "state": "pending",
        "reason": null, "message_id": null,
    })
}

fn kept_endpoint() -> Value {
    let at = "2030-01-07T09:00:00.000Z";
    json!({
        "id": "019ad001-0000-7000-8000-000000000041", "url": "https://crm.example.com/baton",
        "events": ["message_received", "mode_changed"], "channels": null, "description": "the CRM", "state": "active",
        "disabled_reason": null, "failing_since": null, "waiting": 0, "last_delivery": null, "created_at": at,
        "updated_at": at, "secret": "whsec_YW4gZXhhbXBsZSwgYW5kIG5vIHNlY3JldA==",
    })
}

fn kept_token() -> Value {
    json!({
        "id": "019ad001-0000-7000-8000-000000000051", "name": "website", "role": "agent", "channels": null,
        "agent_id": null, "expires_at": "2031-01-01T00:00:00.000Z", "created_at": "2030-01-07T09:00:00.000Z",
        "token": "baton_an-example-of-a-token",
    })
}
