//! What is asked of a conversation that was merged, and what it leaves behind, goes on in the one that stays.

use serde_json::{Value, json};

use crate::{
    merge::{PHONE, both_begin, by_id, shows_both},
    world::{Chat, World, on_both_stores},
};

on_both_stores!(
    a_send_that_is_reported_failed_afterwards_calls_a_person_where_it_goes_on,
);

async fn become_one(world: &World, second: &Chat<'_>) {
    world.assistant_says("Yes?");
    assert_eq!(shows_both(second, PHONE, "M3", "It is me").await, "accepted");
    world.after(3_000).await;
}

fn below(conversation: &Value, rest: &str) -> String {
    format!("/api/v1/conversations/{}{rest}", conversation["id"].as_str().expect("an id"))
}

async fn a_send_that_is_reported_failed_afterwards_calls_a_person_where_it_goes_on(world: &World) {
    let (first, second) = both_begin(world).await;
    let goes = second.conversation().await;
    let sent = second.message("Hello!").await["provider_message_id"].clone();
    let sent = sent.as_str().expect("it was sent").to_owned();
    become_one(world, &second).await;
    assert_eq!(second.reports(&sent, "noAccount").await, "accepted");
    assert_eq!(by_id(world, &goes).await["attention"], Value::Null, "nobody would look for it there");
    assert_eq!(first.conversation().await["attention"]["reason"], "send_failed");
    let looked = world.ask("PATCH", &below(&goes, ""), Some(json!({ "attention": null }))).await;
    assert_eq!(looked.status, 200, "{looked:?}");
    assert_eq!(world.get("/api/v1/conversations/counts").await["needs_you"], 0);
    // Told once more, it calls for as long as nobody has put it away.
    let letters = world.get("/api/v1/dead-letters").await;
    let letter = format!("/api/v1/dead-letters/{}", letters["items"][0]["id"].as_str().expect("an id"));
    assert_eq!(world.ask("DELETE", &letter, None).await.status, 204);
    assert_eq!(second.reports(&sent, "noAccount").await, "duplicate");
    assert_eq!(first.conversation().await["attention"], Value::Null);
}
