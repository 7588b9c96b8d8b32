//! Files: what a contact sends is seen through Baton, fetched from nowhere but where the provider keeps it.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use crate::world::{World, green_api, on_both_stores};

on_both_stores!(
    a_picture_is_seen_through_baton,
    nothing_is_fetched_from_where_a_contact_would_like_it,
    a_link_that_has_expired_is_asked_for_again,
    what_the_provider_has_not_kept_is_said_to_be_too_large,
);

const MEI: &str = "6580000001@c.us";

const JPEG: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF and a condo";

async fn keeps(store: &MockServer, name: &str, template: ResponseTemplate) -> String {
    Mock::given(method("GET")).and(path(name)).respond_with(template).mount(store).await;
    format!("{}{name}", store.uri())
}

/// The contact sends a picture that is kept there; the message.
async fn sends(world: &World, id: &str, url: &str) -> Value {
    let mei = world.chat(MEI);
    world.rules(|policy| policy.burst_quiet_ms = 60_000);
    let body = green_api::picture(MEI, id, world.now().0 / 1_000, url);
    assert_eq!(world.webhook(&body).await, "accepted");
    let messages = mei.messages().await;
    let sent = messages.into_iter().rfind(|message| message["provider_message_id"] == id);
    sent.expect("it was taken in")
}

/// Status, type and bytes of the file of that message.
async fn fetched(world: &World, message: &Value) -> (u16, String, Vec<u8>) {
    let url = message["media"]["url"].as_str().expect("where it is");
    let answer = world.request("GET", url, None).send().await.expect("an answer");
    let status = answer.status().as_u16();
    let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
    (status, kind, answer.bytes().await.expect("a body").to_vec())
}

async fn a_picture_is_seen_through_baton(world: &World) {
    let store = MockServer::start().await;
    let url = keeps(&store, "/condo.jpg", ResponseTemplate::new(200).set_body_bytes(JPEG)).await;
    let message = sends(world, "M1", &url).await;
    assert_eq!((&message["kind"], &message["media"]["state"]), (&json!("image"), &json!("available")));
    assert_eq!(fetched(world, &message).await, (200, "image/jpeg".to_owned(), JPEG.to_vec()));
    let shown = world.chat(MEI).conversation().await;
    assert_eq!(shown["last_message"]["media"], message["media"]);
    take_over(world).await;
}

async fn nothing_is_fetched_from_where_a_contact_would_like_it(world: &World) {
    let canary = MockServer::start().await;
    let by_name = canary.uri().replace("127.0.0.1", "localhost");
    for (id, url) in
        [("M1", by_name.as_str()), ("M2", "http://169.254.169.254/latest"), ("M3", "file:///etc/passwd")]
    {
        let message = sends(world, id, url).await;
        assert_eq!(message["media"]["state"], "host_not_allowed", "{url}");
        let (status, kind, body) = fetched(world, &message).await;
        assert_eq!((status, kind.as_str()), (409, "application/problem+json"), "{url}");
        let problem: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(problem["code"], "host_not_allowed");
    }
    assert!(canary.received_requests().await.expect("they are recorded").is_empty());
    take_over(world).await;
}

async fn a_link_that_has_expired_is_asked_for_again(world: &World) {
    let store = MockServer::start().await;
    let old = keeps(&store, "/old.jpg", ResponseTemplate::new(403)).await;
    let new = keeps(&store, "/new.jpg", ResponseTemplate::new(200).set_body_bytes(JPEG)).await;
    let message = sends(world, "M1", &old).await;
    assert_eq!(fetched(world, &message).await.0, 410, "the provider knows no other");
    world.gateway.gives_link("M1", &new);
    for _ in 0..2 {
        assert_eq!(fetched(world, &message).await, (200, "image/jpeg".to_owned(), JPEG.to_vec()));
    }
    assert_eq!(world.gateway.links_given(), 1, "and it is remembered");
    let without = sends(world, "M2", "").await;
    assert_eq!((&without["media"]["state"], fetched(world, &without).await.0), (&json!("available"), 410));
    world.gateway.gives_link("M2", &new);
    assert_eq!(fetched(world, &without).await.0, 200);
    let elsewhere = sends(world, "M3", "").await;
    world.gateway.gives_link("M3", "http://169.254.169.254/latest");
    assert_eq!(fetched(world, &elsewhere).await.0, 409, "nor is the provider believed");
    take_over(world).await;
}

async fn what_the_provider_has_not_kept_is_said_to_be_too_large(world: &World) {
    let message = sends(world, "M1", "{{SWE002}}").await;
    assert_eq!((&message["media"]["state"], fetched(world, &message).await.0), (&json!("too_large"), 413));
    take_over(world).await;
}

/// So that nothing waits for the assistant at the end.
async fn take_over(world: &World) {
    world.chat(MEI).take_over().await;
}
