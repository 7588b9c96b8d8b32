use std::time::Duration;

use actix_web::body::MessageBody as _;
use serde_json::{Value, json};
use tokio::time::{advance, sleep};
use uuid::Uuid;

use super::{
    ADMIN, NOW, World, fakes,
    feed::{Client, Frame},
    request,
};
use crate::{
    domain::{
        conversation::Lease,
        lane::Lane,
        message::{Author, Delivery, DeliveryState, Gate, Kind, Message, Origin},
        turn::{Purpose, Turn, TurnState},
    },
    flow::{
        archive::{Overview, Placed},
        back_office::{
            people::hash_of,
            registry::{Role, Token},
        },
        instance::onlookers::Writing,
    },
};

impl World {
    fn conversation(&self, change: impl FnOnce(&mut Overview)) -> Uuid {
        let mut overview = fakes::overview(fakes::conversation("default", "6580000001@c.us"));
        change(&mut overview);
        self.shelf.put(overview)
    }

    fn token(&self, name: &str, role: Role, channels: Option<&str>) -> Uuid {
        let id = Uuid::now_v7();
        let token = Token {
            id,
            name: name.to_owned(),
            role,
            channels: channels.map(|name| vec![name.to_owned()]),
            agent: None,
            expires_at: None,
            created_at: NOW,
        };
        self.house.tokens.lock().unwrap().push((token, hash_of(name)));
        id
    }

    async fn watch(&self, id: Uuid) -> Client {
        Client::open(self, &live(id), None, ADMIN).await
    }

    /// Somebody does this there; the status.
    async fn is(&self, token: &str, id: Uuid, state: &str) -> u16 {
        let path = format!("/api/v1/conversations/{id}/presence");
        let asked = request("PUT", &path, Some(json!({ "state": state })));
        self.send(asked.insert_header(("Authorization", format!("Bearer {token}")))).await.status
    }

    fn writes(&self, id: Uuid) -> Writing<'_> {
        self.onlookers.writes(id, Uuid::now_v7())
    }
}

fn live(id: Uuid) -> String {
    format!("/api/v1/conversations/{id}/live")
}

fn turn(state: TurnState) -> Turn {
    Turn {
        id: Uuid::now_v7(),
        state,
        purpose: Purpose::Reply,
        mode_version: 1,
        fence: 1,
        last_seq: 1,
        is_final: false,
        messages: Vec::new(),
        attempt: 1,
        started_at: NOW,
        first_token_at: None,
        ended_at: None,
        model: String::new(),
        input_tokens: 0,
        output_tokens: 0,
        wasted: false,
        reason: None,
    }
}

impl Client {
    /// Name and data of the next event.
    async fn sees(&mut self) -> (String, Value) {
        let Frame { id, name, data } = self.next().await.expect("one more");
        assert_eq!(id, "", "there is nothing to go on from");
        (name, data)
    }

    async fn sees_text(&mut self) -> String {
        let (name, data) = self.sees().await;
        assert_eq!(name, "generation", "{data}");
        data["text"].as_str().expect("a text").to_owned()
    }

    /// Who is there, and what they do.
    async fn sees_people(&mut self) -> Vec<String> {
        let (name, data) = self.sees().await;
        assert_eq!(name, "presence", "{data}");
        let people = data["agents"].as_array().expect("a list").iter();
        people.map(|it| format!("{} {} {}", it["id"], it["name"], it["state"]).replace('"', "")).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn people_are_shown_to_each_other_for_as_long_as_they_say_that_they_are_there() {
    let world = World::new();
    let id = world.conversation(|_| {});
    let ana = world.token("Ana", Role::Agent, None);
    assert_eq!(world.is("Ana", id, "viewing").await, 204);
    let mut client = world.watch(id).await;
    assert_eq!(client.sees_people().await, [format!("token:{ana} Ana viewing")]);
    assert_eq!(world.is(ADMIN, id, "writing").await, 204);
    assert_eq!(
        client.sees_people().await,
        ["environment API writing".to_owned(), format!("token:{ana} Ana viewing")]
    );
    advance(Duration::from_secs(20)).await;
    assert_eq!(world.is(ADMIN, id, "writing").await, 204, "still");
    assert_eq!(
        client.sees_people().await,
        ["environment API writing"],
        "Ana was last heard of 30 seconds ago"
    );
    assert_eq!(world.is(ADMIN, id, "away").await, 204);
    assert!(client.sees_people().await.is_empty());
}

#[tokio::test]
async fn only_who_may_see_a_conversation_watches_it_and_only_who_may_answer_is_there() {
    let world = World::new();
    let id = world.conversation(|_| {});
    world.token("reader", Role::Read, None);
    world.token("shop", Role::Agent, Some("shop"));
    let nowhere = Uuid::now_v7();
    for (token, id, status) in [("reader", id, 403), ("shop", id, 404), (ADMIN, nowhere, 404)] {
        assert_eq!(world.is(token, id, "viewing").await, status, "{token}");
    }
    for (token, id, status) in [("reader", id, 200), ("shop", id, 404), (ADMIN, nowhere, 404), ("x", id, 401)]
    {
        let asked = request("GET", &live(id), None);
        let answer = world.open(asked.insert_header(("Authorization", format!("Bearer {token}")))).await;
        assert_eq!(answer.status().as_u16(), status, "{token}");
    }
    let reply = world
        .ask("PUT", &format!("/api/v1/conversations/{id}/presence"), Some(json!({ "state": "asleep" })))
        .await;
    assert_eq!((reply.status, reply.pointer()), (400, "/state".to_owned()));
    let head = world.ask("HEAD", &live(id), None).await;
    assert_eq!((head.status, head.header("content-type")), (200, "text/event-stream"));
    assert_eq!(world.onlookers.watching(), 0, "whoever was let in has hung up");
}

#[tokio::test(start_paused = true)]
async fn words_come_ten_times_a_second_and_whoever_is_slow_gets_the_newest() {
    let world = World::new();
    let id = world.conversation(|_| {});
    let mut client = world.watch(id).await;
    client.sees_people().await;
    let writing = world.writes(id);
    let began = tokio::time::Instant::now();
    for words in 0..=100 {
        writing.wrote(&format!("{words} words"));
        sleep(Duration::from_millis(10)).await;
    }
    let mut seen = vec![client.sees_text().await];
    while seen.last().is_none_or(|text| text != "100 words") {
        seen.push(client.sees_text().await);
    }
    assert_eq!(seen[..2], ["0 words", "10 words"], "what a second holds, but for the first few on their way");
    assert!(seen.len() <= 7, "{seen:?}");
    assert!(began.elapsed() < Duration::from_millis(1_200));

    writing.wrote("101 words");
    writing.wrote("102 words");
    assert_eq!(client.sees_text().await, "102 words");
    writing.wrote("103 words");
    let before = tokio::time::Instant::now();
    assert_eq!(client.sees_text().await, "103 words");
    assert_eq!(before.elapsed().as_millis(), 100, "what was held back comes by itself");
}

#[tokio::test(start_paused = true)]
async fn what_this_instance_was_not_told_is_found_in_the_store() {
    let world = World::new();
    let running = turn(TurnState::Generating);
    let lease = Lease { owner: "another".to_owned(), turn: running.id, until: NOW.plus_ms(30_000) };
    let id = world.conversation(|overview| overview.conversation.lease = Some(lease));
    world.shelf.turns.lock().unwrap().push((id, running.clone()));
    let mut client = world.watch(id).await;
    client.sees_people().await;
    assert_eq!(client.sees().await, ("generation".to_owned(), json!({ "turn_id": running.id, "text": "" })));

    world.shelf.overviews.lock().unwrap()[0].conversation.lease = None;
    sleep(Duration::from_secs(6)).await;
    world.shelf.turns.lock().unwrap()[0].1.state = TurnState::Superseded;
    let ended = json!({ "turn_id": running.id, "result": "superseded" });
    assert_eq!(
        client.sees().await,
        ("generation_ended".to_owned(), ended),
        "only its own row says that it is over"
    );
}

#[tokio::test]
async fn the_delay_before_a_part_is_shown_to_who_comes_in_the_middle_of_it() {
    let world = World::new();
    let id = world.conversation(|overview| overview.queued = 1);
    let delivery = Delivery {
        state: DeliveryState::Queued,
        reason: None,
        attempts: 0,
        part: 2,
        parts: 3,
        reply: Uuid::now_v7(),
        version: 1,
        gate: Gate::Assistant,
        lane: Lane::Reply,
        due_at: NOW.plus_ms(4_000),
        typing_ms: 5_000,
        idempotency_key: String::new(),
        attempt: None,
        unclear: 0,
        queued_at: NOW,
        sent_at: None,
        left_at: None,
        delivered_at: None,
        read_at: None,
    };
    let message = Message {
        delivery: Some(delivery),
        ..Message::of(Author::Assistant, Origin::Turn, Kind::Text, "Yes.".to_owned())
    };
    let conversation = world.shelf.overviews.lock().unwrap()[0].conversation.clone();
    world.shelf.messages.lock().unwrap().push(Placed {
        conversation: id,
        channel: conversation.channel,
        chat: conversation.chat,
        message,
    });
    let mut client = world.watch(id).await;
    client.sees_people().await;
    let typing = json!({ "part": 2, "until": NOW.plus_ms(4_000).to_string() });
    assert_eq!(client.sees().await, ("typing".to_owned(), typing));
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_server_its_token_or_the_conversation() {
    let world = World::new();
    let id = world.conversation(|_| {});
    world.token("Ana", Role::Read, None);
    let mut revoked = Client::open(&world, &live(id), None, "Ana").await;
    revoked.sees_people().await;
    world.house.tokens.lock().unwrap().clear();
    world.doors.auth.forget();
    assert_eq!(revoked.next().await, None);

    let mut erased = world.watch(id).await;
    erased.sees_people().await;
    let gone = world.shelf.overviews.lock().unwrap().pop().expect("it was there");
    assert_eq!(erased.next().await, None);

    world.shelf.put(gone);
    let mut stopped = world.watch(id).await;
    stopped.sees_people().await;
    world.doors.stopping.cancel();
    assert_eq!(stopped.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_silent_says_now_and_then_that_it_is_there() {
    let world = World::new();
    let id = world.conversation(|_| {});
    let asked = request("GET", &live(id), None).insert_header(("Authorization", format!("Bearer {ADMIN}")));
    let mut body = Box::pin(world.open(asked).await.into_body());
    let mut frames = Vec::new();
    while frames.len() < 3 {
        let frame = std::future::poll_fn(|context| body.as_mut().poll_next(context)).await;
        frames.push(String::from_utf8(frame.expect("a frame").expect("whole").to_vec()).expect("text"));
    }
    assert!(
        frames[0].starts_with("event: presence\n") && frames[1..] == [": still here\n\n", ": still here\n\n"]
    );
}
