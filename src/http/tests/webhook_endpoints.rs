//! Webhook endpoints, as an admin keeps them.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::*;
use crate::{
    domain::turn::{DeadLetter, LetterKind, LetterState},
    flow::notify::endpoints::Delivery,
};

const PATH: &str = "/api/v1/webhook-endpoints";

async fn add(world: &World, body: Value) -> Value {
    let reply = world.ask("POST", PATH, Some(body)).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    let made = reply.json();
    let location = reply.headers.get("location").unwrap().to_str().unwrap();
    assert_eq!(location, format!("{PATH}/{}", made["id"].as_str().unwrap()));
    made
}

#[tokio::test]
async fn an_endpoint_shows_its_secret_once() {
    let world = World::new();
    let made = add(&world, json!({ "url": "https://example.com/hook?key=1" })).await;
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{secret}");
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    let shown = world.ask("GET", &path, None).await.json();
    let mut kept = made.clone();
    kept.as_object_mut().unwrap().remove("secret");
    assert_eq!(shown, kept);
    assert_eq!(shown["events"], json!(["*"]));
    assert_eq!(
        (&shown["channels"], &shown["state"], &shown["disabled_reason"]),
        (&json!(null), &json!("active"), &json!(null))
    );
    assert_eq!(world.ask("GET", PATH, None).await.json()["items"], json!([shown]));
    let sealed = world.postbox.endpoints.lock().unwrap()[0].1[0].clone();
    assert_ne!(sealed, secret.as_bytes(), "it is sealed");

    let rotated = world.ask("POST", &format!("{path}/rotate-secret"), None).await.json();
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!(world.postbox.endpoints.lock().unwrap()[0].1.len(), 2);
    let told: Vec<String> =
        world.house.kept.lock().unwrap().iter().map(|event| format!("{:?}", event)).collect();
    assert!(told.iter().all(|event| !event.contains("example.com")), "where it is may be a secret: {told:?}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name() {
    let world = World::new();
    for (body, pointer) in [
        (json!({}), ""),
        (json!({ "url": "http://example.com" }), "/url"),
        (json!({ "url": "https://example.com/\u{0}" }), "/url"),
        (json!({ "url": "https://example.com", "events": [] }), "/events"),
        (json!({ "url": "https://example.com", "events": ["message_sent", "no_such"] }), "/events/1"),
        (json!({ "url": "https://example.com", "channels": ["no-such"] }), "/channels/0"),
        (json!({ "url": "https://example.com", "description": "a".repeat(201) }), "/description"),
        (json!({ "url": "https://example.com", "state": "paused" }), "/state"),
    ] {
        let reply = world.ask("POST", PATH, Some(body.clone())).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["errors"][0]["pointer"], pointer, "{body}: {}", reply.body);
    }
    let made = add(&world, json!({ "url": "https://example.com" })).await;
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    let disabled = world.ask("PATCH", &path, Some(json!({ "state": "disabled" }))).await;
    assert_eq!((disabled.status, &disabled.json()["errors"][0]["pointer"]), (400, &json!("/state")));
    assert_eq!(world.ask("GET", &format!("{PATH}/{}", Uuid::now_v7()), None).await.status, 404);
}

#[tokio::test]
async fn an_endpoint_is_changed_tested_and_removed() {
    let world = World::new();
    let made = add(&world, json!({ "url": "https://example.com", "events": ["message_sent"] })).await;
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    let change = json!({ "state": "paused", "events": ["*"], "description": "the CRM" });
    let changed = world.ask("PATCH", &path, Some(change)).await.json();
    assert_eq!(
        (&changed["state"], &changed["events"], &changed["description"], &changed["url"]),
        (&json!("paused"), &json!(["*"]), &json!("the CRM"), &made["url"])
    );
    let tested = world.ask("POST", &format!("{path}/test"), None).await;
    assert_eq!(tested.status, 200, "{}", tested.body);
    let test = tested.json();
    assert_eq!(
        (&test["type"], &test["state"], &test["status"], &test["reason"], &test["answer"], &test["event_id"]),
        (
            &json!("endpoint_tested"),
            &json!("failed"),
            &json!(500),
            &json!("refused"),
            &json!("no"),
            &json!(null)
        )
    );
    let posted = world.postbox.posted.lock().unwrap().clone();
    assert!(posted[0].id.starts_with("test_") && posted[0].signature.starts_with("v1,"), "{posted:?}");
    let log = world.ask("GET", &format!("{path}/deliveries"), None).await.json();
    assert_eq!(log["items"], json!([test]));
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    assert_eq!(world.ask("DELETE", &path, None).await.status, 404);
    let actions: Vec<_> =
        world.house.kept.lock().unwrap().iter().map(|event| event.action.clone().unwrap()).collect();
    assert_eq!(actions, ["added", "changed", "removed"]);
}

/// An endpoint that is told of all channels and was tried once, where there is also an admin of one channel: `shop`.
async fn tried(world: &World) -> (String, Delivery) {
    world.has_channels(&["shop", "other"]);
    world.admit("shop", Role::Admin, None, Some(&["shop"]));
    let made = add(world, json!({ "url": "https://example.com" })).await;
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    world.ask("POST", &format!("{path}/test"), None).await;
    let test = world.postbox.deliveries.lock().unwrap()[0].clone();
    (path, test)
}

#[tokio::test]
async fn what_an_endpoint_was_told_of_other_channels_is_not_shown_with_it() {
    let world = World::new();
    let (path, test) = tried(&world).await;
    let told = |channel: &str| Delivery {
        id: Uuid::now_v7(),
        event: Some(format!("an event of {channel}")),
        channel: channel.to_owned(),
        ..test.clone()
    };
    let (shop, other) = (told("shop"), told("other"));
    world.postbox.deliveries.lock().unwrap().extend([shop.clone(), other.clone()]);
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "channels": ["shop"] }))).await.status, 200);

    let log = format!("{path}/deliveries");
    let ids = |log: Value| -> Vec<String> {
        log["items"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = [&other, &shop, &test].map(|it| it.id.to_string());
    assert_eq!(ids(world.get(&log).await.json()), all);
    assert_eq!(ids(world.ask_as("shop", "GET", &log, None).await.json()), all[1..]);
    let retry = format!("{log}/{}/retry", other.id);
    assert_eq!(world.ask_as("shop", "POST", &retry, None).await.status, 404);
    for (path, last) in [(PATH, "/items/0/last_delivery"), (path.as_str(), "/last_delivery")] {
        let seen = world.ask_as("shop", "GET", path, None).await.json();
        assert_eq!(seen.pointer(last), Some(&json!(null)), "it was told of another channel last");
        assert!(world.get(path).await.json().pointer(last).unwrap().is_object());
    }
}

#[tokio::test]
async fn what_an_endpoint_refused_is_decided_by_who_sees_all_that_it_is_told() {
    let world = World::new();
    let (path, test) = tried(&world).await;
    let id = Uuid::now_v7();
    let told = Delivery { id, event: Some("an event".to_owned()), channel: "shop".to_owned(), ..test };
    world.postbox.deliveries.lock().unwrap().push(told);
    world.shelf.letters.lock().unwrap().push(DeadLetter {
        id,
        kind: LetterKind::Delivery,
        channel: "shop".to_owned(),
        conversation: None,
        subject: None,
        state: LetterState::Open,
        reason: "status_500".to_owned(),
        attempts: 9,
        first_at: NOW,
        last_at: NOW,
        payload: json!({}).into(),
    });
    let letter = format!("/api/v1/dead-letters/{id}");
    assert_eq!(world.ask_as("shop", "DELETE", &letter, None).await.status, 403);
    assert_eq!(world.ask_as("shop", "POST", &format!("{letter}/retry"), None).await.status, 403);
    assert_eq!(world.ask("DELETE", &letter, None).await.status, 204);
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "channels": ["shop"] }))).await.status, 200);
    assert_eq!(world.ask_as("shop", "DELETE", &letter, None).await.status, 204);
    let shown = async || world.get("/api/v1/dead-letters").await.json()["items"][0]["channel"].clone();
    assert_eq!(shown().await, "shop");
    world.shelf.letters.lock().unwrap()[0].channel = String::new();
    assert_eq!(shown().await, json!(null), "as of an event that is of none");
}

#[tokio::test]
async fn an_endpoint_that_has_no_channel_left_is_no_other_channels() {
    let world = World::new();
    world.admit("shop", Role::Admin, None, Some(&["shop"]));
    let made = add(&world, json!({ "url": "https://example.com/hook?key=1" })).await;
    // As it is once its channel was removed.
    world.postbox.endpoints.lock().unwrap()[0].0.channels = Some(Vec::new());
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    assert_eq!(world.ask_as("shop", "GET", PATH, None).await.json()["items"], json!([]));
    let taken = json!({ "channels": ["shop"] });
    assert_eq!(world.ask_as("shop", "PATCH", &path, Some(taken)).await.status, 404);
    assert_eq!(world.get(&path).await.status, 200);
}

/// With the key `k1`.
async fn rotates(world: &World, token: &str, path: &str) -> Reply {
    let asked =
        request("POST", &format!("{path}/rotate-secret"), None).insert_header(("Idempotency-Key", "k1"));
    world.send(asked.insert_header(("Authorization", format!("Bearer {token}")))).await
}

#[tokio::test]
async fn a_secret_is_shown_again_to_the_token_alone_that_was_shown_it_and_while_it_sees_the_endpoint() {
    let world = World::new();
    world.has_channels(&["shop", "other"]);
    let ana = Uuid::now_v7();
    world.admit("all", Role::Admin, Some(ana), None);
    world.admit("twin", Role::Admin, Some(ana), None);
    world.admit("shop", Role::Admin, Some(ana), Some(&["shop"]));
    world.crew.promote(ana);
    let made = add(&world, json!({ "url": "https://example.com" })).await;
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    let first = rotates(&world, "all", &path).await;
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(rotates(&world, "all", &path).await.json(), first.json(), "a repeat");
    assert_eq!(rotates(&world, "shop", &path).await.status, 404, "it is not there for them");
    let other = rotates(&world, "twin", &path).await.json();
    assert_ne!(other["secret"], first.json()["secret"], "another program with another key");

    assert_eq!(world.ask("PATCH", &path, Some(json!({ "channels": ["shop"] }))).await.status, 200);
    assert_eq!(rotates(&world, "shop", &path).await.status, 200);
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "channels": null }))).await.status, 200);
    assert_eq!(rotates(&world, "shop", &path).await.status, 404, "not any more");
}

#[tokio::test]
async fn null_means_all_events_to_add_and_to_change() {
    let world = World::new();
    let made = add(&world, json!({ "url": "https://example.com", "events": null })).await;
    assert_eq!(made["events"], json!(["*"]));
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
    for (events, wanted) in [(json!(["message_sent"]), json!(["message_sent"])), (Value::Null, json!(["*"]))]
    {
        let changed = world.ask("PATCH", &path, Some(json!({ "events": events }))).await;
        assert_eq!(changed.json()["events"], wanted);
    }
}

#[tokio::test]
async fn an_admin_of_some_channels_has_some_endpoints_and_none_inside_the_network() {
    let world = World::new();
    world.admit("some", Role::Admin, None, Some(&["shop"]));
    world
        .house
        .webhook_tokens
        .lock()
        .unwrap()
        .push(("shop".to_owned(), crate::http::ports::Secret("hook".to_owned())));
    let add = async |token: &'static str, url: &str| {
        let body = json!({ "url": url, "channels": ["shop"] });
        world.ask_as(token, "POST", PATH, Some(body)).await
    };
    let (inside, outside) = ("http://inside.example/", "https://example.com/");
    assert_eq!(add("some", inside).await.problem(), (403, "forbidden".to_owned()));
    let made = add("some", outside).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!("{PATH}/{}", made.json()["id"].as_str().expect("an id"));
    let change = json!({ "url": inside });
    assert_eq!(world.ask_as("some", "PATCH", &path, Some(change)).await.status, 403);
    assert_eq!(add(ADMIN, inside).await.status, 201, "who holds the installation may");
    for _ in 2..10 {
        assert_eq!(add("some", outside).await.status, 201);
    }
    assert_eq!(add("some", outside).await.problem(), (409, "too_many".to_owned()));
    assert_eq!(add(ADMIN, outside).await.status, 201, "there is room for others");
}

#[tokio::test]
async fn an_endpoint_that_is_for_all_channels_meanwhile_is_not_changed_by_an_admin_of_some() {
    let world = World::new();
    world.has_channels(&["shop"]);
    world.admit("keeper", Role::Admin, None, Some(&["shop"]));
    for (method, rest, body) in [
        ("PATCH", "", Some(json!({ "url": "https://attacker.example/" }))),
        ("POST", "/rotate-secret", None),
        ("DELETE", "", None),
    ] {
        let made = add(&world, json!({ "url": "https://example.com/", "channels": ["shop"] })).await;
        let path = format!("{PATH}/{}", made["id"].as_str().unwrap());
        world.postbox.is_widened.store(true, Ordering::SeqCst);
        let refused = world.ask_as("keeper", method, &format!("{path}{rest}"), body).await;
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{method} {rest}");
        let now = world.get(&path).await.json();
        assert_eq!((&now["url"], &now["channels"]), (&json!("https://example.com/"), &Value::Null));
        assert!(world.postbox.endpoints.lock().unwrap().iter().all(|(_, secrets)| secrets.len() == 1));
    }
}
