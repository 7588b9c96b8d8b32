//! Blue ticks: the contact sees that somebody reads, when somebody does.

use std::time::Duration;

use baton::domain::policy::ReadReceipts;
use serde_json::json;

use crate::world::{Chat, World, on_both_stores};

on_both_stores!(
    what_the_assistant_answers_and_what_an_agent_reads_gets_its_ticks,
    only_what_an_agent_reads_gets_its_ticks_where_that_is_wanted,
    what_a_person_answers_was_read_and_gets_its_ticks,
    nothing_gets_ticks_where_that_is_wanted,
);

const MEI: &str = "6580000001@c.us";

async fn reads(world: &World, chat: &Chat<'_>) {
    let told = world.ask("POST", &chat.path("read").await, Some(json!({}))).await;
    assert_eq!(told.status, 200, "{told:?}");
}

/// Waits until the chat was marked so many times.
async fn are_given(world: &World, times: usize) {
    let mut marked = world.gateway.marked_read.subscribe();
    let given = marked.wait_for(|chats| chats.len() >= times);
    tokio::time::timeout(Duration::from_secs(60), given).await.expect("given").expect("the gateway is there");
    assert_eq!(*marked.borrow(), vec![MEI; times]);
}

async fn what_the_assistant_answers_and_what_an_agent_reads_gets_its_ticks(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me").await;
    mei.writes("M2", "condos").await;
    world.after(3_000).await;
    are_given(world, 1).await;
    mei.take_over().await;
    mei.writes("M3", "And the price?").await;
    reads(world, &mei).await;
    are_given(world, 2).await;
    // There is nothing new in it.
    reads(world, &mei).await;
    mei.writes("M4", "Hello?").await;
    reads(world, &mei).await;
    are_given(world, 3).await;
}

async fn only_what_an_agent_reads_gets_its_ticks_where_that_is_wanted(world: &World) {
    world.rules(|policy| policy.read_receipts = ReadReceipts::Agent);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert!(world.gateway.marked_read.borrow().is_empty());
    reads(world, &mei).await;
    are_given(world, 1).await;
}

async fn what_a_person_answers_was_read_and_gets_its_ticks(world: &World) {
    world.rules(|policy| policy.read_receipts = ReadReceipts::Agent);
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    mei.agent_says("One moment.").await;
    are_given(world, 1).await;
    // There is nothing new in it.
    mei.agent_says("Two condos.").await;
    mei.writes("M2", "And the price?").await;
    world.assistant_says("A million.");
    assert_eq!(mei.ask("POST", "drafts", None).await.status, 202);
    world.after(3_000).await;
    assert_eq!(mei.decide_draft("POST", "/send", None).await.status, 202);
    are_given(world, 2).await;
}

async fn nothing_gets_ticks_where_that_is_wanted(world: &World) {
    world.rules(|policy| policy.read_receipts = ReadReceipts::Never);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    reads(world, &mei).await;
    mei.writes("M2", "And the price?").await;
    mei.agent_says("A million.").await;
    // What is given is given on a task of its own; asking for something else gives it its time.
    mei.conversation().await;
    assert!(world.gateway.marked_read.borrow().is_empty());
}
