use std::sync::atomic::Ordering;

use base64::Engine as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{ADMIN, World, fakes, request};
use crate::http::{
    dashboard,
    routes::{Row, routes},
};

#[tokio::test]
async fn what_is_not_there_and_what_is_not_meant_so_are_problems() {
    let world = World::new();
    for (method, path, wanted) in [
        ("GET", "/nowhere", (404, "not_found")),
        ("GET", "/api/v1/conversations/42", (404, "not_found")),
        ("GET", "/api/v1/turns/not-an-id", (404, "not_found")),
        ("GET", "/api/v1/conversations?nmae=x", (400, "invalid")),
        ("GET", "/api/v1/conversations?limit=0", (400, "invalid")),
        ("GET", "/api/v1/conversations?limit=201", (400, "invalid")),
        ("GET", "/api/v1/conversations?cursor=nonsense", (400, "invalid")),
        ("GET", "/api/v1/conversations?mode=ai", (400, "invalid")),
        ("GET", "/api/v1/conversations?updated_since=yesterday", (400, "invalid")),
        ("DELETE", "/api/v1/conversations", (405, "method_not_allowed")),
        ("POST", "/healthz", (405, "method_not_allowed")),
    ] {
        let (status, code) = world.ask(method, path, None).await.problem();
        assert_eq!((status, code.as_str()), wanted, "{method} {path}");
    }
    let reply = world.ask("POST", &format!("/api/v1/conversations/{}", Uuid::now_v7()), None).await;
    assert_eq!(reply.header("allow"), "GET, HEAD, PATCH, DELETE");
}

#[tokio::test]
async fn a_wrong_body_is_told_by_pointer() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    for (method, path, body, pointer) in [
        ("POST", "messages", json!({ "text": "hi", "txet": 1 }), "/txet"),
        ("POST", "messages", json!({ "text": 7 }), "/text"),
        ("POST", "messages", json!({ "text": "  " }), "/text"),
        ("POST", "messages", json!({ "text": "a\u{0}b" }), "/text"),
        ("POST", "messages", json!({ "text": "x".repeat(20_001) }), "/text"),
        ("POST", "messages", json!({ "text": "hi", "quoted_message_id": "7" }), "/quoted_message_id"),
        ("POST", "messages", json!({}), ""),
        ("POST", "messages", json!([]), ""),
        ("POST", "messages", json!(["hi", null]), ""),
        ("POST", "messages/batch", json!({ "messages": [] }), "/messages"),
        (
            "POST",
            "messages/batch",
            json!({ "messages": [{ "text": "a" }, { "text": "" }] }),
            "/messages/1/text",
        ),
        ("PUT", "mode", json!({ "mode": "human" }), "/mode"),
        ("PUT", "mode", json!({ "mode": "AI", "until": "2030-01-01T00:00:00Z" }), "/until"),
        ("PUT", "mode", json!({ "mode": "HUMAN", "until": "2020-01-01T00:00:00Z" }), "/until"),
        ("PUT", "mode", json!({ "mode": "HUMAN", "settle_ms": 10_001 }), "/settle_ms"),
        ("PUT", "follow-up", json!({ "delay_ms": -1 }), "/delay_ms"),
        ("PATCH", "", json!({ "status": "snoozed" }), "/snoozed_until"),
        ("PATCH", "", json!({ "assignee": "me" }), "/assignee"),
        ("PATCH", "", json!({ "attention": "please" }), "/attention"),
        ("PATCH", "", json!({ "contact": { "nmae": "x" } }), "/contact/nmae"),
    ] {
        let path = format!("/api/v1/conversations/{id}/{path}");
        let reply = world.ask(method, path.trim_end_matches('/'), Some(body.clone())).await;
        assert_eq!(reply.problem(), (400, "invalid".to_owned()), "{path} {body}");
        assert_eq!(reply.pointer(), pointer, "{path} {body}");
    }
    for body in [json!({}), json!({ "delay_ms": 1, "due_at": "2030-01-01T00:00:00Z" })] {
        let reply = world.ask("PUT", &format!("/api/v1/conversations/{id}/follow-up"), Some(body)).await;
        assert_eq!(reply.problem(), (400, "invalid".to_owned()));
    }
    assert!(world.clerk.heard().is_empty(), "no step was asked");
}

#[tokio::test]
async fn a_body_must_be_json_and_must_say_so() {
    let world = World::new();
    let path = format!("/api/v1/conversations/{}/messages", Uuid::now_v7());
    let ask = || request("POST", &path, None).insert_header(("Authorization", format!("Bearer {ADMIN}")));
    let reply = world.send(ask().set_payload("{}")).await;
    assert_eq!(reply.problem(), (415, "unsupported_media_type".to_owned()));
    let json = ("Content-Type", "application/json; charset=utf-8");
    let reply = world.send(ask().insert_header(json).set_payload("{")).await;
    assert_eq!(reply.problem(), (400, "invalid".to_owned()));
    let reply = world.send(ask().insert_header(json).set_payload("x".repeat(2_097_153))).await;
    assert_eq!(reply.problem(), (413, "too_large".to_owned()));
    let reply = world
        .send(ask().insert_header(json).insert_header(("Content-Encoding", "gzip")).set_payload("x"))
        .await;
    assert_eq!(reply.problem(), (415, "unsupported_media_type".to_owned()));
    assert!(reply.body.contains("Content-Encoding"), "{}", reply.body);
}

#[tokio::test]
async fn every_response_carries_the_headers_that_keep_browsers_careful() {
    let world = World::new();
    for path in ["/api/v1/conversations", "/nowhere", "/docs", "/", "/healthz", "/openapi.json"] {
        let reply = world.get(path).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("cache-control"), "no-store", "{path}");
        assert_eq!(reply.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(reply.header("cross-origin-opener-policy"), "same-origin", "{path}");
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"),
            "{path}"
        );
        let is_of_a_page = policy.contains("script-src 'self';") && policy.contains("base-uri 'none'");
        assert_eq!(is_of_a_page, !path.starts_with("/api/"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn a_panic_behind_a_route_is_an_answer_too() {
    let world = World::new();
    world.clerk.panics.store(true, Ordering::SeqCst);
    let path = format!("/api/v1/conversations/{}/messages", Uuid::now_v7());
    let reply = world.ask("POST", &path, Some(json!({ "text": "hi" }))).await;
    assert_eq!(reply.problem(), (500, "internal".to_owned()));
}

#[tokio::test]
async fn an_outage_of_the_database_is_told_as_one() {
    let world = World::new();
    world.shelf.is_away.store(true, Ordering::SeqCst);
    assert_eq!(world.get("/api/v1/conversations").await.problem(), (503, "unavailable".to_owned()));
    assert_eq!(world.get("/metrics").await.body, "baton_up 1\n", "metrics are wanted above all then");
    assert_eq!(world.get("/readyz").await.json()["status"], "degraded", "Redis alone is away here");
    world.house.is_away.store(true, Ordering::SeqCst);
    let reply = world.get("/readyz").await;
    let down =
        json!({ "status": "unavailable", "database": "down", "migrations": "unknown", "redis": "down" });
    assert_eq!((reply.status, reply.json()), (503, down));
}

#[tokio::test]
async fn what_waits_is_told_though_there_are_too_many_conversations_to_be_counted() {
    let world = World::new();
    let modes = async || {
        let reply = world.get("/api/v1/stats").await;
        assert_eq!((reply.status, &reply.json()["now"]["inbox"]), (200, &json!(0)));
        reply.json()["now"]["conversations"].clone()
    };
    assert_eq!(modes().await, json!({ "AI": 2, "HUMAN": 1 }));
    world.shelf.is_slow.store(true, Ordering::SeqCst);
    assert_eq!(modes().await, json!({}));
}

#[tokio::test]
async fn the_pages_need_nothing_from_elsewhere_and_describe_every_route() {
    let world = World::new();
    let docs = world.get("/docs").await;
    assert_eq!(docs.header("content-type"), "text/html; charset=utf-8");
    let policy = docs.header("content-security-policy");
    assert!(policy.contains("style-src 'sha256-") && policy.contains("require-trusted-types-for 'script'"));
    let (style, _) =
        docs.body.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).unwrap();
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style));
    assert!(policy.contains(&hash), "the style of the page is the one that is allowed");
    for loads in ["<script", "src=", "=\"http", "url(", "@import"] {
        assert!(!docs.body.contains(loads), "{loads}: {}", docs.body);
    }
    let is_dashboard = |row: &Row| dashboard::PATHS.contains(&row.path) || row.path == dashboard::FILES;
    for row in routes().into_iter().filter(|row| !is_dashboard(row)) {
        assert!(docs.body.contains(&format!("<code>{}</code>", row.path)), "{}", row.path);
    }
    assert!(
        !docs.body.contains('`') && docs.body.contains("<code>Idempotency-Key</code>"),
        "words of code are code"
    );
    let tags: Vec<&str> = docs.body.split("<h2>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(tags[..3], ["Conversations", "Messages", "Mode"], "{tags:?}");
    let document = world.get("/openapi.json").await.json();
    assert_eq!(
        document,
        serde_json::from_str::<serde_json::Value>(&crate::http::openapi::openapi()).expect("json")
    );
}

#[tokio::test]
async fn pages_of_listed_origins_may_read_what_they_are_answered_and_no_others() {
    let world = World::new();
    let asked = |origin: &'static str, method: &str| {
        let asked = request(method, "/api/v1/conversations", None).insert_header(("Origin", origin));
        asked
            .insert_header(("Access-Control-Request-Method", "PATCH"))
            .insert_header(("Access-Control-Request-Headers", "authorization,idempotency-key"))
    };
    let allowed = |reply: &super::Reply| {
        let header = reply.headers.get("access-control-allow-origin");
        header.map(|origin| origin.to_str().unwrap().to_owned())
    };
    let before = world.send(asked("https://crm.example", "OPTIONS")).await;
    assert_eq!((before.status, allowed(&before).as_deref()), (200, Some("https://crm.example")));
    assert!(before.headers.get("access-control-allow-credentials").is_none(), "no cookie comes along");
    let read = world
        .send(asked("https://crm.example", "GET").insert_header(("Authorization", format!("Bearer {ADMIN}"))))
        .await;
    assert_eq!((read.status, allowed(&read).as_deref()), (200, Some("https://crm.example")));
    let other = world
        .send(
            asked("https://evil.example", "GET").insert_header(("Authorization", format!("Bearer {ADMIN}"))),
        )
        .await;
    assert_eq!(allowed(&other), None);
}

#[tokio::test]
async fn what_is_said_where_nothing_is_asked_is_refused() {
    let world = World::new();
    let id = Uuid::now_v7();
    for path in [
        format!("/api/v1/messages/{id}/retry"),
        format!("/api/v1/messages/{id}/confirm"),
        format!("/api/v1/webhook-endpoints/{id}/rotate-secret"),
        format!("/api/v1/webhook-endpoints/{id}/test"),
        format!("/api/v1/webhook-endpoints/{id}/deliveries/{id}/retry"),
        format!("/api/v1/agents/{id}/link"),
        "/api/v1/channels/none/release-brake".to_owned(),
    ] {
        let refused = world.ask("POST", &path, Some(json!({ "force": true }))).await;
        assert_eq!((refused.status, refused.pointer().as_str()), (400, "/force"), "{path}");
        for nothing in [None, Some(json!({}))] {
            assert_eq!(world.ask("POST", &path, nothing).await.status, 404, "{path}");
        }
    }
}
