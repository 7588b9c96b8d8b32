use std::{future::poll_fn, pin::Pin};

use actix_web::{
    body::{BoxBody, MessageBody},
    dev::ServiceResponse,
};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ADMIN, NOW, World, fakes, request};
use crate::{
    domain::event::EventType as E,
    flow::{
        archive::HeldBack,
        back_office::{
            people::hash_of,
            registry::{Role, Token},
        },
    },
};

/// A client of a stream.
pub(super) struct Client(BoxBody);

#[derive(Debug, PartialEq)]
pub(super) struct Frame {
    /// Empty, if the stream cannot go on from there.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) data: Value,
}

impl Client {
    pub(super) async fn open(world: &World, path: &str, after: Option<&str>, token: &str) -> Self {
        let asked = request("GET", path, None)
            .insert_header(("Authorization", format!("Bearer {token}")))
            .insert_header(("Accept", "text/event-stream"));
        let asked = match after {
            Some(id) => asked.insert_header(("Last-Event-ID", id)),
            None => asked,
        };
        Self::over(world.open(asked).await)
    }

    pub(super) fn over(response: ServiceResponse<BoxBody>) -> Self {
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers().get("content-type").expect("a type"), "text/event-stream");
        Self(response.into_body())
    }

    /// The next event; None when the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        loop {
            let bytes = poll_fn(|context| Pin::new(&mut self.0).poll_next(context)).await?.expect("a frame");
            let text = String::from_utf8(bytes.to_vec()).expect("text");
            if text.starts_with(':') {
                continue;
            }
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                line.unwrap_or_default().to_owned()
            };
            if text.starts_with("id: ") && text.lines().count() == 2 {
                // A place alone.
                return Some(Frame { id: field("id"), name: String::new(), data: Value::Null });
            }
            let fields = if text.starts_with("id: ") { 3 } else { 2 };
            assert!(text.ends_with("\n\n") && text.lines().count() == fields + 1, "{text:?}");
            let data = serde_json::from_str(&field("data")).expect("json");
            return Some(Frame { id: field("id"), name: field("event"), data });
        }
    }

    /// Ids and names of the next events.
    async fn take(&mut self, count: usize) -> Vec<(String, String)> {
        let mut taken = Vec::new();
        for _ in 0..count {
            let frame = self.next().await.expect("one more");
            taken.push((frame.id, frame.name));
        }
        taken
    }
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect()
}

fn happen(world: &World, channel: &str, kind: E) {
    world.shelf.happen(channel, kind);
    world.nudge.notify_one();
}

#[tokio::test]
async fn a_stream_says_hello_and_then_what_happens() {
    let world = World::new();
    happen(&world, "default", E::MessageReceived);
    let mut client = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    let hello = client.next().await.expect("hello");
    assert_eq!(
        (hello.id.as_str(), hello.name.as_str(), &hello.data["id"]),
        ("e1", "hello", &Value::from("e1"))
    );
    happen(&world, "default", E::TurnStarted);
    let frame = client.next().await.expect("an event");
    assert_eq!((frame.id.as_str(), frame.name.as_str()), ("e2", "turn_started"));
    assert_eq!((&frame.data["id"], &frame.data["type"]), (&Value::from("e2"), &Value::from("turn_started")));
    happen(&world, "default", E::TurnCompleted);
    assert_eq!(client.take(1).await, pairs(&[("e3", "turn_completed")]));
}

#[tokio::test]
async fn a_cut_stream_resumes_without_a_gap_and_without_doubles() {
    let world = World::new();
    let mut other = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    other.next().await;
    for _ in 0..5 {
        happen(&world, "default", E::ModeChanged);
    }
    other.take(5).await;
    let mut client = Client::open(&world, "/api/v1/events", Some("e2"), ADMIN).await;
    let hello = client.next().await.expect("hello");
    assert_eq!(
        (hello.id.as_str(), &hello.data["id"]),
        ("e2", &Value::from("e5")),
        "cut again now, it would still miss e3"
    );
    happen(&world, "default", E::AgentTookOver);
    let ids: Vec<String> = client.take(4).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["e3", "e4", "e5", "e6"]);
    assert_eq!(other.take(1).await, pairs(&[("e6", "agent_took_over")]));
}

#[tokio::test]
async fn many_events_reach_a_slow_client_in_order_and_once() {
    let world = World::new();
    let mut client = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    client.next().await;
    // More than the ring, the channel and one reading hold.
    for _ in 0..5_000 {
        world.shelf.happen("default", E::DeliveryUpdated);
    }
    world.nudge.notify_one();
    for at in 1..=5_000 {
        assert_eq!(client.next().await.expect("an event").id, format!("e{at}"));
    }
}

#[tokio::test]
async fn a_gap_that_cannot_be_filled_is_told() {
    let world = World::new();
    for _ in 0..3 {
        happen(&world, "default", E::ModeChanged);
    }
    *world.shelf.forgotten.lock().unwrap() = 3;
    for id in ["e1", "of-another-house"] {
        let mut client = Client::open(&world, "/api/v1/events", Some(id), ADMIN).await;
        assert_eq!(client.take(2).await, pairs(&[(id, "hello"), ("e3", "resync")]));
    }
    let mut client = Client::open(&world, "/api/v1/events?last_event_id=e3", None, ADMIN).await;
    client.next().await;
    happen(&world, "default", E::TurnStarted);
    assert_eq!(client.take(1).await, pairs(&[("e4", "turn_started")]));
}

#[tokio::test]
async fn a_stream_shows_only_what_its_client_asked_for_and_may_see() {
    let world = World::new();
    let id = Uuid::now_v7();
    let token = Token {
        id,
        name: "shop".to_owned(),
        role: Role::Read,
        channels: Some(vec!["shop".to_owned()]),
        agent: None,
        expires_at: None,
        created_at: NOW,
    };
    world.house.tokens.lock().unwrap().push((token, hash_of("shop")));
    let mut shop = Client::open(&world, "/api/v1/events", None, "shop").await;
    let path = "/api/v1/events?type=turn_started,turn_completed";
    let mut turns = Client::open(&world, path, None, ADMIN).await;
    shop.next().await;
    turns.next().await;
    for (channel, kind) in [
        ("other", E::TurnStarted),
        ("shop", E::ModeChanged),
        ("", E::BreakerOpened),
        ("shop", E::TurnCompleted),
        ("", E::LabelUpdated),
    ] {
        happen(&world, channel, kind);
    }
    let wanted = [("e2", "mode_changed"), ("e4", "turn_completed"), ("e5", "label_updated")];
    assert_eq!(shop.take(3).await, pairs(&wanted));
    assert_eq!(turns.take(2).await, pairs(&[("e1", "turn_started"), ("e4", "turn_completed")]));
}

#[tokio::test]
async fn what_an_event_is_about_can_be_shown_beside_it() {
    let world = World::new();
    let about = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let mut client = Client::open(&world, "/api/v1/events?include=conversation,message", None, ADMIN).await;
    client.next().await;
    let mut event = fakes::event("default", E::ModeChanged);
    event.conversation = Some(about);
    world.shelf.events.lock().unwrap().push(event);
    world.nudge.notify_one();
    let shown = client.next().await.expect("an event").data;
    assert_eq!(shown["conversation"]["id"], about.to_string());
    assert_eq!(shown.get("message"), Some(&Value::Null));
    let listed = world.get("/api/v1/events?include=conversation").await.json();
    assert_eq!(listed["items"][0]["conversation"]["id"], about.to_string());
    assert_eq!(listed["items"][0].get("message"), None);
    assert_eq!(world.get("/api/v1/events?include=turn").await.pointer(), "/include");
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_read_once_comes_though_nothing_else_happens() {
    let world = World::new();
    happen(&world, "default", E::MessageReceived);
    happen(&world, "default", E::TurnStarted);
    let mut first = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    first.next().await;
    // Once it is there, the reader has begun, behind what the second wants, and has nothing more to tell.
    happen(&world, "default", E::TurnCompleted);
    first.next().await;
    *world.shelf.unreadable_after.lock().unwrap() = Some("e0");
    let mut second = Client::open(&world, "/api/v1/events", Some("e0"), ADMIN).await;
    let wanted = pairs(&[
        ("e0", "hello"),
        ("e1", "message_received"),
        ("e2", "turn_started"),
        ("e3", "turn_completed"),
    ]);
    let taken = tokio::time::timeout(std::time::Duration::from_secs(10), second.take(4)).await;
    assert_eq!(taken.expect("within seconds"), wanted);
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let world = World::new();
    let mut client = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    client.next().await;
    world.doors.stopping.cancel();
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let world = World::new();
    let reply =
        world.ask("POST", "/api/v1/tokens", Some(serde_json::json!({ "name": "bot", "role": "read" }))).await;
    let (made, path) = (reply.json(), reply.header("location").to_owned());
    let token = made["token"].as_str().expect("a token");
    let mut client = Client::open(&world, "/api/v1/events", None, token).await;
    client.next().await;
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn a_stream_that_is_far_behind_ends_too_when_its_token_is_revoked() {
    let world = World::new();
    for _ in 0..5_000 {
        world.shelf.happen("default", E::TurnStarted);
    }
    let reply =
        world.ask("POST", "/api/v1/tokens", Some(serde_json::json!({ "name": "bot", "role": "read" }))).await;
    let (made, path) = (reply.json(), reply.header("location").to_owned());
    let token = made["token"].as_str().expect("a token");
    let mut client = Client::open(&world, "/api/v1/events", Some("e0"), token).await;
    client.take(10).await;
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    let mut after = 0;
    while client.next().await.is_some() {
        after += 1;
    }
    assert!(after < 500, "what was on its way, and no more: {after}");
}

#[tokio::test]
async fn over_many_events_that_are_not_shown_a_stream_says_where_it_is() {
    let world = World::new();
    for _ in 0..450 {
        world.shelf.happen("default", E::TurnStarted);
    }
    world.shelf.happen("default", E::ModeChanged);
    let mut client = Client::open(&world, "/api/v1/events?type=mode_changed", Some("e0"), ADMIN).await;
    let wanted = pairs(&[("e0", "hello"), ("e200", ""), ("e400", ""), ("e451", "mode_changed")]);
    assert_eq!(client.take(4).await, wanted);
}

#[tokio::test]
async fn a_list_is_not_asked_for_where_a_feed_goes_on() {
    let reply = World::new().get("/api/v1/events?last_event_id=e1").await;
    assert_eq!((reply.problem().0, reply.pointer().as_str()), (400, "/last_event_id"));
}

#[tokio::test]
async fn while_a_transaction_holds_the_feed_back_clients_load_what_there_is() {
    let world = World::new();
    happen(&world, "default", E::MessageReceived);
    let held = HeldBack { ms: 6_000, by: "pid 42 (other, psql)".to_owned() };
    *world.shelf.held_back.lock().unwrap() = Some(held);
    let mut client = Client::open(&world, "/api/v1/events", None, ADMIN).await;
    assert_eq!(client.take(2).await, pairs(&[("e1", "hello"), ("e1", "resync")]));
    happen(&world, "default", E::TurnStarted);
    assert_eq!(client.take(1).await, pairs(&[("e2", "turn_started")]), "nothing is lost by it");
}

#[tokio::test(start_paused = true)]
async fn what_holds_back_endpoints_is_measured_though_no_client_follows() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _here = metrics::set_default_local_recorder(&recorder);
    let world = World::new();
    *world.shelf.held_back.lock().unwrap() = Some(HeldBack { ms: 6_000, by: String::new() });
    let measured = async || {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let text = recorder.handle().render();
        let line = text.lines().find_map(|line| line.strip_prefix("baton_feed_held_back_seconds "));
        line.map(ToOwned::to_owned)
    };
    assert_eq!(measured().await.as_deref(), Some("0"), "nobody is kept waiting");
    let endpoint = json!({ "url": "https://crm.example/hook" });
    assert_eq!(world.ask("POST", "/api/v1/webhook-endpoints", Some(endpoint)).await.status, 201);
    assert_eq!(measured().await.as_deref(), Some("6"));
    *world.shelf.held_back.lock().unwrap() = None;
    assert_eq!(measured().await.as_deref(), Some("0"));
}

#[tokio::test]
async fn one_caller_does_not_take_the_feeds_of_all() {
    let world = World::new();
    world.admit("screen", Role::Read, None, None);
    let mut open = Vec::new();
    for _ in 0..250 {
        open.push(Client::open(&world, "/api/v1/events", None, "screen").await);
    }
    let one_more = request("GET", "/api/v1/events", None)
        .insert_header(("Authorization", "Bearer screen"))
        .insert_header(("Accept", "text/event-stream"));
    assert_eq!(world.send(one_more).await.status, 503);
    Client::open(&world, "/api/v1/events", None, ADMIN).await;
}

#[tokio::test]
async fn a_stream_begins_for_whoever_would_have_it_best() {
    let world = World::new();
    for (accept, wanted) in [
        ("text/event-stream", "text/event-stream"),
        ("TEXT/Event-Stream", "text/event-stream"),
        ("text/event-stream, application/json;q=0.5", "text/event-stream"),
        ("application/json, text/event-stream", "application/json"),
        ("application/json;q=0.4, text/event-stream;q=0.5", "text/event-stream"),
        ("text/event-stream;q=0", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
    ] {
        let asked = request("GET", "/api/v1/events", None)
            .insert_header(("Authorization", format!("Bearer {ADMIN}")))
            .insert_header(("Accept", accept));
        let response = world.open(asked).await;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        assert_eq!((response.status().as_u16(), kind), (200, Some(wanted)), "{accept}");
    }
}
