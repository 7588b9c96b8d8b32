//! What is not kept: whoever watches a conversation sees the words as they are written, who else is there, and that they
//! stopped.

use std::{sync::Arc, time::Duration};

use baton::flow::instance::onlookers;
use execution::{
    broadcast::{self, Broadcast},
    redis_server::Server,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::world::{Database, Haste, Process, Step, World, on_both_stores};

on_both_stores!(
    a_takeover_ends_the_words_before_the_eyes_of_who_watches,
    who_comes_in_the_middle_sees_what_was_written_before,
    a_newer_message_begins_the_words_again,
    parts_are_typed_until_they_leave_or_are_withdrawn,
    two_people_see_each_other,
);

const MEI: &str = "6580000001@c.us";

/// Somebody who watches a conversation.
struct Client {
    response: reqwest::Response,
    unread: String,
}

impl Client {
    async fn watch(world: &World, path: &str) -> Self {
        let response = world.request("GET", path, None).send().await.expect("a stream");
        assert_eq!(response.status(), 200);
        Self { response, unread: String::new() }
    }

    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((frame, rest)) = self.unread.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.unread = rest;
                // A line that begins with a colon only keeps the connection open.
                if frame.starts_with(':') {
                    continue;
                }
                let line =
                    |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).expect("the line");
                let data = serde_json::from_str(line("data: ")).expect("JSON");
                return (line("event: ").to_owned(), data);
            }
            let chunk = self.response.chunk().await.expect("the stream goes on").expect("it has not ended");
            self.unread.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    /// The next event of that name; what else there is may come before.
    async fn sees(&mut self, name: &str) -> Value {
        loop {
            let (seen, data) = self.next().await;
            if seen == name {
                return data;
            }
        }
    }

    /// Reads on until this part is told to be typed; whatever ended before it is told too.
    async fn sees_part(&mut self, part: i64) -> Value {
        loop {
            let data = self.sees("typing").await;
            if data["part"] == part {
                return data;
            }
        }
    }

    /// Reads on until the words are these; the turn that writes them.
    async fn reads(&mut self, text: &str) -> Value {
        loop {
            let data = self.sees("generation").await;
            if data["text"] == text {
                return data["turn_id"].clone();
            }
        }
    }
}

async fn a_takeover_ends_the_words_before_the_eyes_of_who_watches(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    let mut client = Client::watch(world, &mei.path("live").await).await;
    assert_eq!(client.next().await, ("presence".to_owned(), json!({ "agents": [] })));
    world.pass(3_000);
    world.drain_until(&reply).await;
    let turn = client.reads("Here are two condos.").await;

    mei.take_over().await;
    assert_eq!(client.sees("generation_ended").await, json!({ "turn_id": turn, "result": "cancelled" }));
    reply.release();
    world.drain().await;
    let turns = world.get(&mei.path("turns").await).await;
    assert_eq!((&turns["items"][0]["id"], &turns["items"][0]["state"]), (&turn, &json!("cancelled")));
}

async fn who_comes_in_the_middle_sees_what_was_written_before(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    let mut client = Client::watch(world, &mei.path("live").await).await;
    assert_eq!(client.next().await.0, "presence");
    let (name, data) = client.next().await;
    assert_eq!((name.as_str(), &data["text"]), ("generation", &json!("Here are two condos.")));
    reply.release();
    world.drain().await;
    let ended = json!({ "turn_id": data["turn_id"], "result": "completed" });
    assert_eq!(client.sees("generation_ended").await, ended);
    let mut late = Client::watch(world, &mei.path("live").await).await;
    assert_eq!(late.next().await.0, "presence");
    world.assistant_says("Gladly.");
    mei.writes("M2", "Thanks").await;
    world.after(3_000).await;
    let (name, data) = late.next().await;
    assert_eq!((name.as_str(), &data["text"]), ("generation", &json!("")), "nothing of the turn before");
}

async fn a_newer_message_begins_the_words_again(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    let mut client = Client::watch(world, &mei.path("live").await).await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    let first = client.reads("Here are two condos.").await;
    world.assistant_says("Here are two in Orchard.");
    mei.writes("M2", "In Orchard").await;
    assert_eq!(client.sees("generation_ended").await, json!({ "turn_id": first, "result": "superseded" }));
    world.after(3_000).await;
    let ended = client.sees("generation_ended").await;
    assert_eq!((&ended["result"], ended["turn_id"] == first), (&json!("completed"), false));
}

async fn parts_are_typed_until_they_leave_or_are_withdrawn(world: &World) {
    world.rules(|policy| {
        policy.split_chars = 25;
        policy.typing_ms_per_char = 100;
        policy.typing_max_ms = 2_000;
    });
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("The first one is large.\n\nThe second one is small.");
    mei.writes("M1", "Show me condos").await;
    let mut client = Client::watch(world, &mei.path("live").await).await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    let until = |ms: i64| json!(world.now().plus_ms(ms).to_string());
    let first = json!({ "part": 1, "until": until(2_000) });
    reply.release();
    world.drain().await;
    assert_eq!(client.sees_part(1).await, first);
    let second = json!({ "part": 2, "until": until(4_000) });
    world.after(2_000).await;
    assert_eq!(client.sees_part(2).await, second);
    let mut late = Client::watch(world, &mei.path("live").await).await;
    assert_eq!(late.sees_part(2).await, second);
    mei.take_over().await;
    for client in [&mut client, &mut late] {
        let ended = client.sees_part(2).await;
        assert!(ended["until"].as_str() < second["until"].as_str(), "{ended}");
    }
}

async fn two_people_see_each_other(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let ana = json!({ "name": "Ana", "role": "agent" });
    let made = world.ask("POST", "/api/v1/tokens", Some(ana)).await.body;
    let (token, actor) =
        (made["token"].as_str().expect("a token"), format!("token:{}", made["id"].as_str().expect("an id")));
    let mut client = Client::watch(world, &mei.path("live").await).await;
    assert_eq!(mei.ask("PUT", "presence", Some(json!({ "state": "viewing" }))).await.status, 204);
    let says = json!({ "state": "writing" });
    let mut request =
        world.request("PUT", &mei.path("presence").await, Some(says)).build().expect("a request");
    let theirs = format!("Bearer {token}").parse().expect("a header");
    request.headers_mut().insert("Authorization", theirs);
    assert_eq!(world.execute(request).await.status, 204);
    let us = json!({ "id": "environment", "name": "API", "state": "viewing" });
    let them = json!({ "id": actor, "name": "Ana", "state": "writing" });
    while client.sees("presence").await["agents"] != json!([us, them]) {}
    assert_eq!(mei.ask("PUT", "presence", Some(json!({ "state": "away" }))).await.status, 204);
    assert_eq!(client.sees("presence").await["agents"], json!([them]));
}

/// Redis is between the two: one runs the turn, people watch and take over on the other.
#[tokio::test]
async fn words_are_seen_on_an_instance_that_does_not_write_them() {
    let server = std::env::var("TEST_REDIS_URL")
        .expect("TEST_REDIS_URL names no Redis server; `cargo xtask test` starts one and sets it");
    let server = Server::open_with_limit(&server, Duration::from_secs(20)).expect("an address");
    let prefix = format!("it:{}:", Uuid::now_v7());
    let stop = CancellationToken::new();
    let joins = |process: &Arc<Process>| {
        let others: Arc<dyn Broadcast> = Arc::new(broadcast::Redis::new(server.clone(), &prefix));
        tokio::spawn(onlookers::share(process.onlookers.clone(), others, stop.clone()));
    };
    let world = World::over(Database::postgres().await, None, None, Haste::Apart).await;
    let writes = world.process();
    joins(&writes);
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    let process = world.start_another(writes.store.clone()).await;
    joins(&process);
    world.turn_to(process.clone());
    let mut client = Client::watch(&world, &mei.path("live").await).await;
    let writing = tokio::spawn(writes.clone().drain());
    reply.reached().await;
    let turn = client.reads("Here are two condos.").await;
    let mut late = Client::watch(&world, &mei.path("live").await).await;
    assert_eq!(late.reads("Here are two condos.").await, turn);

    mei.take_over().await;
    for client in [&mut client, &mut late] {
        assert_eq!(client.sees("generation_ended").await, json!({ "turn_id": turn, "result": "cancelled" }));
    }

    // And the other way round: a turn ends where nobody watches, a person is there where nobody else is.
    world.turn_to(writes.clone());
    assert_eq!(mei.ask("PUT", "presence", Some(json!({ "state": "writing" }))).await.status, 204);
    while client.sees("presence").await["agents"].as_array().is_none_or(Vec::is_empty) {}
    reply.release();
    writing.await.expect("no step fails");
    mei.release().await;
    world.assistant.add(Step::says("Gladly."));
    mei.writes("M2", "Thanks").await;
    world.after(3_000).await;
    let ended = tokio::time::timeout(Duration::from_secs(4), client.sees("generation_ended")).await;
    let ended = ended.expect("told, not found by a look of five seconds");
    assert_eq!((&ended["result"], ended["turn_id"] == turn), (&json!("completed"), false));
    stop.cancel();
    process.stop().await;
    world.end().await;
}
