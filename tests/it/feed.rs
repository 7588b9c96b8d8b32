//! The live feed: whoever comes back with the last id they saw misses nothing and gets nothing twice.

mod example;

use serde_json::Value;

use crate::world::{World, on_both_stores};

on_both_stores!(
    a_client_that_was_cut_off_resumes_without_a_gap,
    an_id_that_nobody_gave_is_answered_with_resync,
    the_feed_opens_with_an_id_after_which_nothing_is_missed,
);

const MEI: &str = "6580000001@c.us";

/// One client of the feed.
struct Client {
    response: reqwest::Response,
    unread: String,
}

/// One event of it.
struct Frame {
    id: String,
    name: String,
    data: Value,
}

impl Client {
    async fn follow(world: &World, last: Option<&str>) -> Self {
        let request = world.request("GET", "/api/v1/events", None).header("Accept", "text/event-stream");
        let request = match last {
            Some(id) => request.header("Last-Event-ID", id),
            None => request,
        };
        let response = request.send().await.expect("a stream");
        assert_eq!(response.status(), 200);
        Self { response, unread: String::new() }
    }

    async fn next(&mut self) -> Frame {
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
                return Frame { id: line("id: ").to_owned(), name: line("event: ").to_owned(), data };
            }
            let chunk = self.response.chunk().await.expect("the stream goes on").expect("it has not ended");
            self.unread.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    /// Reads on to the last of these. Where it begins is the store's business: PostgreSQL shows the feed nothing that
    /// is newer than its oldest running transaction, be it of another test.
    async fn until(&mut self, ids: &[String]) -> Frame {
        loop {
            let frame = self.next().await;
            if Some(&frame.id) == ids.last() {
                return frame;
            }
        }
    }

    async fn ids(&mut self, count: usize) -> Vec<String> {
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            ids.push(self.next().await.id);
        }
        ids
    }
}

/// Ids of all events after that one, as the list has them.
async fn listed(world: &World) -> Vec<String> {
    let page = world.get("/api/v1/events?order=asc&limit=200").await;
    page["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| event["id"].as_str().expect("an id").to_owned())
        .collect()
}

async fn a_client_that_was_cut_off_resumes_without_a_gap(world: &World) {
    let mei = world.chat(MEI);
    let mut client = Client::follow(world, None).await;
    assert_eq!(client.next().await.name, "hello");
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    let mut seen = client.ids(1).await;
    drop(client);

    world.after(3_000).await;
    mei.take_over().await;
    mei.agent_says("Hi Mei.").await;

    let mut client = Client::follow(world, seen.last().map(String::as_str)).await;
    assert_eq!(client.next().await.name, "hello");
    let (caught_up, ()) = tokio::join!(client.ids(5), world.drain());
    seen.extend(caught_up);
    // The whole process is replaced.
    drop(client);
    world.crash().await;
    mei.writes("M2", "In Orchard").await;
    let expected = listed(world).await;
    let mut client = Client::follow(world, seen.last().map(String::as_str)).await;
    assert_eq!(client.next().await.name, "hello");
    seen.extend(client.ids(expected.len() - seen.len()).await);
    assert_eq!(seen, expected);
}

async fn an_id_that_nobody_gave_is_answered_with_resync(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let mut client = Client::follow(world, Some("not-an-id-of-ours")).await;
    assert_eq!(client.next().await.name, "hello");
    let frame = client.next().await;
    assert_eq!((frame.name.as_str(), &frame.data["id"]), ("resync", &Value::from(frame.id.as_str())));
    mei.writes("M2", "In Orchard").await;
    client.until(&listed(world).await).await;
}

async fn the_feed_opens_with_an_id_after_which_nothing_is_missed(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let mut client = Client::follow(world, None).await;
    let hello = client.next().await;
    assert_eq!((hello.name.as_str(), &hello.data["id"]), ("hello", &Value::from(hello.id.as_str())));
    mei.writes("M2", "In Orchard").await;
    let frame = client.until(&listed(world).await).await;
    assert_eq!((frame.name.as_str(), &frame.data["type"]), ("message_received", &frame.name.as_str().into()));
    assert_eq!(frame.data["conversation_id"], mei.conversation().await["id"]);
}
