//! Webhook endpoints: those that asked for events receive them, at least once and in order, and nobody else does.

mod guide;

mod receiver;

use std::time::{Duration, Instant};

use receiver::{Canary, Post, Receiver};
use serde_json::{Value, json};

use crate::world::{World, on_both_stores};

on_both_stores!(
    whoever_asked_is_told_in_order_and_can_tell_that_it_is_us,
    what_fails_holds_back_its_own_conversation_alone,
    what_is_refused_may_be_much_and_others_are_told_all_the_same,
    what_nobody_takes_for_a_day_is_a_dead_letter_and_the_next_goes_on,
    what_stood_a_day_behind_what_was_refused_is_given_up_with_it,
    who_answers_410_is_told_no_more_until_a_person_says_so,
    who_takes_nothing_for_a_day_is_switched_off,
    a_pause_loses_nothing,
    both_secrets_sign_for_a_day,
    who_asks_for_patience_is_given_it,
    only_what_was_asked_for_is_told,
    what_waits_is_not_told_to_an_endpoint_that_was_narrowed,
    what_lies_inside_sees_nothing,
    a_process_that_dies_before_it_hears_the_answer_tells_it_again,
    what_was_told_can_be_told_again,
    what_would_be_dropped_is_not_replayed,
);

const MEI: &str = "6580000001@c.us";
const BOB: &str = "6580000002@c.us";
const PATH: &str = "/api/v1/webhook-endpoints";
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

/// On PostgreSQL an event appears once every older transaction of the server has ended, those of other tests too.
const PATIENCE: Duration = Duration::from_secs(60);

/// An endpoint that is told of those events.
async fn endpoint(world: &World, receiver: &Receiver, events: &[&str]) -> Value {
    let body = json!({ "url": receiver.url(), "events": events });
    let made = world.ask("POST", PATH, Some(body)).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.body
}

fn path(endpoint: &Value) -> String {
    format!("{PATH}/{}", endpoint["id"].as_str().expect("an id"))
}

/// Tells until that holds of what was posted.
async fn tell_until(world: &World, receiver: &Receiver, holds: impl Fn(&[Post]) -> bool) -> Vec<Post> {
    let began = Instant::now();
    loop {
        world.process().tell().await;
        let posts = receiver.posts();
        if holds(&posts) {
            return posts;
        }
        assert!(began.elapsed() < PATIENCE, "{posts:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn texts(posts: &[Post]) -> Vec<&str> {
    posts.iter().map(Post::text).collect()
}

async fn whoever_asked_is_told_in_order_and_can_tell_that_it_is_us(world: &World) {
    let (before, receiver) = (Receiver::start().await, Receiver::start().await);
    endpoint(world, &before, &["message_received"]).await;
    let mei = world.chat(MEI);
    mei.writes("M0", "Before anybody asked").await;
    // What has not appeared yet is told to who asks meanwhile.
    tell_until(world, &before, |posts| !posts.is_empty()).await;
    let made = endpoint(world, &receiver, &["*"]).await;
    let secret = made["secret"].as_str().expect("a secret");
    mei.writes("M1", "Hello").await;
    world.assistant_says("Hello Mei.");
    world.after(MINUTE_MS).await;

    let posts =
        tell_until(world, &receiver, |posts| posts.iter().any(|post| post.kind() == "message_sent")).await;
    let events = world.get("/api/v1/events?limit=200").await["items"].clone();
    let conversation =
        posts.iter().find(|post| post.kind() == "message_sent").expect("it").data("conversation_id");
    let told: Vec<&Value> = posts.iter().map(|post| post.data("id")).collect();
    let listed: Vec<&Value> = events.as_array().expect("a list").iter().map(|event| &event["id"]).collect();
    let from = listed.iter().position(|id| *id == told[0]).expect("it is in the list");
    let wanted: Vec<&Value> = events.as_array().expect("a list")[from..]
        .iter()
        .filter(|it| it["conversation_id"] == *conversation)
        .map(|it| &it["id"])
        .collect();
    let of_mei: Vec<&Value> = posts
        .iter()
        .filter(|post| post.data("conversation_id") == conversation)
        .map(|post| post.data("id"))
        .collect();
    assert_eq!(of_mei, wanted, "each once, in the order of the feed");
    assert_eq!(texts(&posts).iter().filter(|text| **text == "Before anybody asked").count(), 0);

    let received = posts.iter().find(|post| post.kind() == "message_received").expect("it");
    assert_eq!((received.text(), &received.data("conversation")["chat_id"]), ("Hello", &json!(MEI)));
    assert_eq!(received.body["timestamp"], *received.data("at"));
    for post in &posts {
        assert_eq!(json!(post.id), *post.data("id"));
        assert_eq!(post.signatures(), [receiver::signed(secret, post)], "{}", post.kind());
    }
    guide::knows(secret, received);
    let log = world.get(&format!("{}/deliveries?limit=200", path(&made))).await;
    let log = log["items"].as_array().expect("a list");
    assert_eq!(log.len(), posts.len());
    assert!(
        log.iter().all(|it| it["state"] == "delivered" && it["status"] == 200 && it["attempts"] == 1),
        "{log:?}"
    );
    assert_eq!(world.get(&path(&made)).await["last_delivery"]["state"], "delivered");
}

async fn what_fails_holds_back_its_own_conversation_alone(world: &World) {
    let receiver = Receiver::start().await;
    endpoint(world, &receiver, &["message_received"]).await;
    receiver.answers(|post| if post.text() == "one" { 500 } else { 200 });
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    mei.writes("M1", "one").await;
    mei.writes("M2", "two").await;
    bob.writes("B1", "uno").await;
    bob.writes("B2", "dos").await;
    mei.writes("M3", "three").await;

    let posts = tell_until(world, &receiver, |posts| texts(posts).contains(&"dos")).await;
    assert_eq!(
        texts(&posts).iter().filter(|text| **text == "one").count(),
        1,
        "not before its time: {posts:#?}"
    );
    let mut told = texts(&posts);
    told.retain(|text| *text != "one");
    assert_eq!(told, ["uno", "dos"]);
    world.pass(MINUTE_MS);
    world.process().tell().await;
    assert_eq!(texts(&receiver.posts()).iter().filter(|text| **text == "one").count(), 2, "tried again");
    receiver.answers(|_| 200);
    world.pass(MINUTE_MS);
    let posts = tell_until(world, &receiver, |posts| texts(posts).contains(&"three")).await;
    let mut told = texts(&posts);
    told.retain(|text| !["uno", "dos"].contains(text));
    assert_eq!(told, ["one", "one", "one", "two", "three"]);
    let ids: Vec<&str> =
        posts.iter().filter(|post| post.text() == "one").map(|post| post.id.as_str()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "the same id at each attempt: {ids:?}");
}

async fn what_is_refused_may_be_much_and_others_are_told_all_the_same(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received", "note_added"]).await;
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    receiver.answers(|post| if post.data("conversation")["chat_id"] == MEI { 500 } else { 200 });
    mei.writes("M1", "one").await;
    tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    let notes = mei.path("notes").await;
    for _ in 0..1_200 {
        assert_eq!(world.ask("POST", &notes, Some(json!({ "text": "Again" }))).await.status, 201);
    }
    tell_until(world, &receiver, |_| true).await;
    bob.writes("B1", "uno").await;
    let posts = tell_until(world, &receiver, |posts| texts(posts).contains(&"uno")).await;
    assert_eq!(texts(&posts), ["one", "uno"]);
    assert_eq!(world.get(&path(&made)).await["waiting"], 1_201);
}

async fn what_nobody_takes_for_a_day_is_a_dead_letter_and_the_next_goes_on(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    receiver.answers(|post| if post.text() == "one" { 500 } else { 200 });
    mei.writes("M1", "one").await;
    mei.writes("M2", "two").await;
    tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    // It takes other things, so it is not switched off.
    world.pass(DAY_MS / 2);
    bob.writes("B1", "uno").await;
    tell_until(world, &receiver, |posts| texts(posts).contains(&"uno")).await;
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], json!([]));
    world.pass(DAY_MS / 2);
    let posts = tell_until(world, &receiver, |posts| texts(posts).contains(&"two")).await;
    assert!(texts(&posts).iter().filter(|text| **text == "one").count() >= 3);

    let letters = world.get("/api/v1/dead-letters?kind=delivery").await;
    let letter = &letters["items"][0];
    assert_eq!(
        (&letter["reason"], &letter["payload"]["type"]),
        (&json!("refused"), &json!("message_received"))
    );
    assert_eq!(letter["payload"]["endpoint_id"], made["id"]);
    assert_eq!(world.get(&path(&made)).await["state"], "active");
    let events = world.get("/api/v1/events?type=endpoint_updated&limit=200").await;
    assert!(
        events["items"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|event| event["action"] == "dead_lettered"
                && event["details"]["dead_letter_id"] == letter["id"]),
        "{events}"
    );

    receiver.answers(|_| 200);
    let retry = format!("/api/v1/dead-letters/{}/retry", letter["id"].as_str().expect("an id"));
    let replayed = world.ask("POST", &retry, None).await;
    assert_eq!((replayed.status, &replayed.body["id"]), (202, &letter["id"]), "{replayed:?}");
    let posts =
        tell_until(world, &receiver, |posts| posts.last().is_some_and(|post| post.text() == "one")).await;
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], json!([]));
    assert_eq!(world.ask("POST", &retry, None).await.status, 409, "once");
    let delivered = world.get(&format!("{}/deliveries?limit=200", path(&made))).await;
    assert!(
        delivered["items"].as_array().expect("a list").iter().all(|it| it["state"] == "delivered"),
        "{posts:?}"
    );
}

async fn what_stood_a_day_behind_what_was_refused_is_given_up_with_it(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    receiver.answers(|post| if post.data("conversation")["chat_id"] == MEI { 500 } else { 200 });
    mei.writes("M1", "one").await;
    mei.writes("M2", "two").await;
    // The second appears perhaps later than the first, and its day begins then.
    let began = Instant::now();
    while world.get(&path(&made)).await["waiting"] != 2 {
        assert!(began.elapsed() < PATIENCE, "the second never appears");
        tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    }
    world.pass(DAY_MS / 2);
    mei.writes("M3", "three").await;
    bob.writes("B1", "uno").await;
    tell_until(world, &receiver, |posts| texts(posts).contains(&"uno")).await;
    world.pass(DAY_MS / 2);
    let posts = tell_until(world, &receiver, |posts| texts(posts).contains(&"three")).await;

    assert_eq!(texts(&posts).iter().filter(|text| **text == "two").count(), 1);
    let letters = world.get("/api/v1/dead-letters?kind=delivery").await;
    assert_eq!(
        letters["items"].as_array().expect("a list").len(),
        2,
        "the third has half a day left: {letters}"
    );
    world.pass(DAY_MS / 2);
    world.process().tell().await;
    let letters = world.get("/api/v1/dead-letters?kind=delivery").await;
    assert_eq!(letters["items"].as_array().expect("a list").len(), 3, "{letters}");
}

async fn who_answers_410_is_told_no_more_until_a_person_says_so(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received", "endpoint_disabled"]).await;
    let other = Receiver::start().await;
    endpoint(world, &other, &["endpoint_disabled"]).await;
    receiver.answers(|_| 410);
    let mei = world.chat(MEI);
    mei.writes("M1", "one").await;
    mei.writes("M2", "two").await;
    tell_until(world, &receiver, |posts| posts.len() == 1).await;
    let shown = world.get(&path(&made)).await;
    assert_eq!((&shown["state"], &shown["disabled_reason"]), (&json!("disabled"), &json!("gone")));
    assert_eq!(shown["last_delivery"]["status"], 410);
    let told = tell_until(world, &other, |posts| !posts.is_empty()).await;
    assert_eq!((told[0].kind(), &told[0].data("details")["endpoint_id"]), ("endpoint_disabled", &made["id"]));
    assert_eq!(told[0].data("details")["reason"], "gone");
    world.pass(DAY_MS);
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), 1);

    receiver.answers(|_| 200);
    let active = world.ask("PATCH", &path(&made), Some(json!({ "state": "active" }))).await;
    assert_eq!((active.status, &active.body["disabled_reason"]), (200, &json!(null)));
    let posts = tell_until(world, &receiver, |posts| posts.len() == 3).await;
    assert_eq!(texts(&posts), ["one", "one", "two"], "what it missed, and nothing of itself");
}

async fn who_takes_nothing_for_a_day_is_switched_off(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    receiver.answers(|_| 503);
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    mei.writes("M1", "one").await;
    tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    assert!(world.get(&path(&made)).await["failing_since"].is_string());
    world.pass(DAY_MS - MINUTE_MS);
    bob.writes("B1", "uno").await;
    tell_until(world, &receiver, |posts| texts(posts).contains(&"uno")).await;
    assert_eq!(world.get(&path(&made)).await["state"], "active");
    world.pass(MINUTE_MS);
    tell_until(world, &receiver, |posts| posts.iter().filter(|post| post.text() == "uno").count() == 2).await;
    let shown = world.get(&path(&made)).await;
    assert_eq!((&shown["state"], &shown["disabled_reason"]), (&json!("disabled"), &json!("failing")));
    let events = world.get("/api/v1/events?type=endpoint_disabled").await;
    assert_eq!(events["items"].as_array().expect("a list").len(), 1);
    world.pass(DAY_MS);
    let before = receiver.posts().len();
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), before);
}

async fn a_pause_loses_nothing(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    world.ask("PATCH", &path(&made), Some(json!({ "state": "paused" }))).await;
    let mei = world.chat(MEI);
    for (id, text) in [("M1", "one"), ("M2", "two")] {
        mei.writes(id, text).await;
    }
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), 0);
    let tested = world.ask("POST", &format!("{}/test", path(&made)), None).await;
    assert_eq!(
        (tested.status, &tested.body["state"]),
        (200, &json!("delivered")),
        "a test is made all the same"
    );
    assert_eq!(receiver.posts()[0].kind(), "endpoint_tested");
    world.ask("PATCH", &path(&made), Some(json!({ "state": "active" }))).await;
    let posts = tell_until(world, &receiver, |posts| posts.len() == 3).await;
    assert_eq!(texts(&posts[1..]), ["one", "two"]);
}

async fn both_secrets_sign_for_a_day(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    let rotated = world.ask("POST", &format!("{}/rotate-secret", path(&made)), None).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    let secrets = [&rotated.body, &made].map(|it| it["secret"].as_str().expect("a secret"));
    let mei = world.chat(MEI);
    mei.writes("M1", "one").await;
    let posts = tell_until(world, &receiver, |posts| posts.len() == 1).await;
    assert_eq!(posts[0].signatures(), secrets.map(|secret| receiver::signed(secret, &posts[0])));
    world.pass(DAY_MS);
    mei.writes("M2", "two").await;
    let posts = tell_until(world, &receiver, |posts| posts.len() == 2).await;
    assert_eq!(posts[1].signatures(), [receiver::signed(secrets[0], &posts[1])]);
}

async fn who_asks_for_patience_is_given_it(world: &World) {
    let receiver = Receiver::start().await;
    endpoint(world, &receiver, &["message_received"]).await;
    receiver.asks_for_patience(600);
    world.chat(MEI).writes("M1", "one").await;
    tell_until(world, &receiver, |posts| posts.len() == 1).await;
    world.pass(9 * MINUTE_MS);
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), 1);
    world.pass(MINUTE_MS);
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), 2);
}

async fn only_what_was_asked_for_is_told(world: &World) {
    let (receiver, none) = (Receiver::start().await, Receiver::start().await);
    endpoint(world, &receiver, &["message_sent"]).await;
    let shop = json!({ "name": "shop", "provider": "green_api", "instance": "7105000009", "token": "x" });
    assert_eq!(world.ask("POST", "/api/v1/channels", Some(shop)).await.status, 201);
    let events = ["message_received", "message_sent", "label_updated"];
    let elsewhere = json!({ "url": none.url(), "channels": ["shop"], "events": events });
    assert_eq!(world.ask("POST", PATH, Some(elsewhere)).await.status, 201);
    world.chat(MEI).writes("M1", "Hello").await;
    world.assistant_says("Hello Mei.");
    world.after(MINUTE_MS).await;
    let label = world.ask("POST", "/api/v1/labels", Some(json!({ "name": "VIP" }))).await;
    assert_eq!(label.status, 201);
    let posts = tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    assert_eq!(posts.iter().map(Post::kind).collect::<Vec<_>>(), ["message_sent"]);
    assert_eq!(none.posts().len(), 0, "nothing of channels that are not its own, and nothing of none");
    let unknown =
        world.ask("POST", PATH, Some(json!({ "url": receiver.url(), "events": ["message_*"] }))).await;
    assert_eq!((unknown.status, &unknown.body["errors"][0]["pointer"]), (400, &json!("/events/0")));
}

async fn what_waits_is_not_told_to_an_endpoint_that_was_narrowed(world: &World) {
    let (before, after) = (Receiver::start().await, Receiver::start().await);
    before.answers(|_| 500);
    let made = endpoint(world, &before, &["message_received"]).await;
    world.chat(MEI).writes("M1", "one").await;
    tell_until(world, &before, |posts| !posts.is_empty()).await;
    let narrowed = json!({ "url": after.url(), "events": ["message_sent"] });
    assert_eq!(world.ask("PATCH", &path(&made), Some(narrowed)).await.status, 200);
    world.pass(MINUTE_MS);
    world.process().tell().await;

    assert_eq!(after.posts().len(), 0, "the endpoint is not told of such events any more");
    let log = world.get(&format!("{}/deliveries", path(&made))).await;
    assert_eq!((&log["items"][0]["state"], &log["items"][0]["attempts"]), (&json!("dropped"), &json!(1)));
    assert_eq!(
        world.get(&path(&made)).await["failing_since"],
        json!(null),
        "nothing that has failed is left"
    );
    let again =
        format!("{}/deliveries/{}/retry", path(&made), log["items"][0]["id"].as_str().expect("an id"));
    let refused = world.ask("POST", &again, None).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("not_retryable")));
    assert_eq!(refused.body["current"], log["items"][0]);
    // It is told of them once more, and what was dropped may be told again.
    let widened = json!({ "events": ["message_received"] });
    assert_eq!(world.ask("PATCH", &path(&made), Some(widened)).await.status, 200);
    assert_eq!(world.ask("POST", &again, None).await.status, 202);
    let posts = tell_until(world, &after, |posts| !posts.is_empty()).await;
    assert_eq!(texts(&posts), ["one"]);
}

async fn what_lies_inside_sees_nothing(world: &World) {
    let canary = Canary::start().await;
    let port = canary.port;
    for url in [
        format!("http://localhost:{port}/"),
        format!("https://[::1]:{port}/"),
        "https://10.0.0.1/".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "https://user:pass@example.com/".to_owned(),
    ] {
        let refused = world.ask("POST", PATH, Some(json!({ "url": url }))).await;
        assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (400, &json!("/url")), "{url}");
    }
    // A name says nothing of where it leads, and may lead elsewhere tomorrow: it is asked as the connection is made.
    let body = json!({ "url": format!("https://localhost:{port}/"), "events": ["message_received"] });
    let made = world.ask("POST", PATH, Some(body)).await.body;
    world.chat(MEI).writes("M1", "one").await;
    let began = Instant::now();
    loop {
        world.process().tell().await;
        let last = world.get(&path(&made)).await["last_delivery"].clone();
        if last.is_object() {
            assert_eq!((&last["reason"], &last["status"]), (&json!("not_allowed"), &json!(null)));
            break;
        }
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(canary.connections(), 0);
}

async fn a_process_that_dies_before_it_hears_the_answer_tells_it_again(world: &World) {
    let receiver = Receiver::start().await;
    endpoint(world, &receiver, &["message_received"]).await;
    receiver.never_answers();
    world.chat(MEI).writes("M1", "one").await;
    let process = world.process();
    let telling = tokio::spawn(async move {
        loop {
            process.tell().await;
        }
    });
    let began = Instant::now();
    while receiver.posts().is_empty() {
        assert!(began.elapsed() < PATIENCE, "nothing was posted");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    telling.abort();
    world.crash().await;
    receiver.answers(|_| 200);
    // Longer than the lease.
    world.pass(MINUTE_MS);
    world.process().tell().await;
    let posts = receiver.posts();
    assert_eq!(texts(&posts), ["one", "one"]);
    assert_eq!(posts[0].id, posts[1].id);
    world.pass(DAY_MS);
    world.process().tell().await;
    assert_eq!(receiver.posts().len(), 2, "and then no more");
}

async fn what_was_told_can_be_told_again(world: &World) {
    let receiver = Receiver::start().await;
    let made = endpoint(world, &receiver, &["message_received"]).await;
    let mei = world.chat(MEI);
    mei.writes("M1", "one").await;
    mei.writes("M2", "two").await;
    tell_until(world, &receiver, |posts| posts.len() == 2).await;
    let log = world.get(&format!("{}/deliveries?limit=1", path(&made))).await;
    assert_eq!(log["items"][0]["type"], "message_received");
    let older = format!("{}/deliveries?cursor={}", path(&made), log["next_cursor"].as_str().expect("more"));
    let older = world.get(&older).await;
    assert_eq!((older["items"].as_array().expect("a list").len(), &older["next_cursor"]), (1, &json!(null)));
    let id = older["items"][0]["id"].as_str().expect("an id");
    let again = world.ask("POST", &format!("{}/deliveries/{id}/retry", path(&made)), None).await;
    assert_eq!((again.status, &again.body["state"]), (202, &json!("pending")), "{again:?}");
    world.process().tell().await;
    let posts = receiver.posts();
    assert_eq!(texts(&posts), ["one", "two", "one"]);
    assert_eq!(posts[0].id, posts[2].id);
}

async fn what_would_be_dropped_is_not_replayed(world: &World) {
    let receiver = Receiver::start().await;
    receiver.answers(|post| if post.text() == "one" { 500 } else { 200 });
    let made = endpoint(world, &receiver, &["message_received"]).await;
    let (mei, bob) = (world.chat(MEI), world.chat(BOB));
    mei.writes("M1", "one").await;
    tell_until(world, &receiver, |posts| !posts.is_empty()).await;
    // It takes other things, so it is not switched off.
    world.pass(DAY_MS / 2);
    bob.writes("B1", "uno").await;
    tell_until(world, &receiver, |posts| texts(posts).contains(&"uno")).await;
    world.pass(DAY_MS / 2);
    mei.writes("M2", "two").await;
    tell_until(world, &receiver, |posts| texts(posts).contains(&"two")).await;
    let letters = world.get("/api/v1/dead-letters?kind=delivery").await["items"].clone();
    let id = letters[0]["id"].as_str().expect("one was given up");

    let narrowed = json!({ "events": ["message_sent"] });
    assert_eq!(world.ask("PATCH", &path(&made), Some(narrowed)).await.status, 200);
    let by_letter = format!("/api/v1/dead-letters/{id}/retry");
    let by_delivery = format!("{}/deliveries/{id}/retry", path(&made));
    for retry in [&by_letter, &by_delivery] {
        let refused = world.ask("POST", retry, None).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("not_retryable")), "{retry}");
    }
    assert_eq!(world.get("/api/v1/dead-letters?kind=delivery").await["items"], letters, "it is still open");
    assert_eq!(world.ask("PATCH", &path(&made), Some(json!({ "events": ["*"] }))).await.status, 200);
    assert_eq!(world.ask("POST", &by_letter, None).await.status, 202);
}
