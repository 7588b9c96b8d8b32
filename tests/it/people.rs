//! What people do in a conversation, and what it does to the assistant.

use serde_json::json;

use crate::world::{Answer, World, on_both_stores};

on_both_stores!(
    an_agents_message_takes_over_and_the_assistant_says_nothing_more,
    a_note_is_neither_sent_nor_read_by_the_model,
    what_is_wrong_with_one_of_several_messages_is_told_of_that_one,
    of_a_text_that_was_cut_the_first_part_is_answered,
    a_message_that_waits_can_be_withdrawn_and_one_that_left_cannot,
    an_unknown_message_can_be_confirmed,
    an_unknown_message_can_be_sent_again_by_a_person,
    a_conversation_that_a_person_starts_begins_in_human,
    after_a_while_without_people_the_assistant_answers_again,
    a_contact_who_waits_too_long_for_a_person_calls_one,
);

const MEI: &str = "6580000001@c.us";

/// Scenario 4 of the race conditions: a person writes in AI mode while the contact writes too.
async fn an_agents_message_takes_over_and_the_assistant_says_nothing_more(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;

    let said = mei.agent_says("Hi Mei, this is Ana.").await;
    assert_eq!(said["takeover"]["changed"], true);
    assert_eq!(said["takeover"]["generation_cancelled"], true);
    mei.writes("M2", "In Orchard").await;

    reply.release();
    world.drain().await;
    world.after(60_000).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: Hi Mei, this is Ana. [sent]
        contact: In Orchard [left_to_human, mode_human]
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_message
        = the phone shows: Hi Mei, this is Ana.
        ",
    )
    .await;
}

async fn a_note_is_neither_sent_nor_read_by_the_model(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let note = mei.ask("POST", "notes", Some(json!({ "text": "She haggles." }))).await;
    assert_eq!(note.status, 201, "{note:?}");
    assert_eq!(note.body["origin"], "api", "it came with a token");
    world.assistant_says("Two condos.");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        note: She haggles.
        assistant: Two condos. [sent]
        = AI 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    let asked = format!("{:?}", world.assistant.requests());
    assert!(!asked.contains("haggles"), "{asked}");
}

async fn a_message_that_waits_can_be_withdrawn_and_one_that_left_cannot(world: &World) {
    let mei = world.chat(MEI);
    let first = world.gateway.holds();
    mei.agent_says("Hi Mei.").await;
    mei.agent_says("Forget it.").await;
    world.drain_until(&first).await;
    assert_eq!(mei.decide("DELETE", "Forget it.", "").await.status, 204);
    let too_late = mei.decide("DELETE", "Hi Mei.", "").await;
    assert_eq!((too_late.status, &too_late.body["code"]), (409, &json!("already_sent")));
    assert_eq!(mei.decide("DELETE", "Forget it.", "").await.status, 404, "as of whatever is gone");
    first.release();
    world.drain().await;
    mei.reads(
        "
        agent: Hi Mei. [sent]
        agent: Forget it. [cancelled, deleted_by_agent]
        * message_cancelled
        = HUMAN 1, agent_message
        = the phone shows: Hi Mei.
        ",
    )
    .await;
}

async fn an_unknown_message_can_be_confirmed(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::LostAfter);
    mei.agent_says("Hi Mei.").await;
    world.after(60_000).await;
    assert_eq!(mei.conversation().await["attention"]["reason"], "send_unknown");
    assert_eq!(mei.decide("POST", "Hi Mei.", "/confirm").await.status, 200);
    let again = mei.decide("POST", "Hi Mei.", "/retry").await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("already_sent")));
    mei.reads(
        "
        agent: Hi Mei. [sent]
        * send_uncertain: reconciling
        * send_reconciled: confirmed_sent
        = HUMAN 1, agent_message
        = the phone shows: Hi Mei.
        ",
    )
    .await;
}

async fn an_unknown_message_can_be_sent_again_by_a_person(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::LostBefore);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    mei.take_over().await;
    assert_eq!(mei.decide("POST", "Two condos.", "/retry").await.status, 202);
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * send_uncertain: reconciling
        * mode_changed
        * agent_took_over
        * send_reconciled: resent
        = HUMAN 2, agent_button
        = the phone shows: Two condos.
        ",
    )
    .await;
}

async fn a_conversation_that_a_person_starts_begins_in_human(world: &World) {
    let mei = world.chat(MEI);
    mei.agent_says("Hi Mei, your bowl is here.").await;
    world.drain().await;
    mei.writes("M1", "Great!").await;
    world.after(3_000).await;
    mei.reads(
        "
        agent: Hi Mei, your bowl is here. [sent]
        contact: Great! [left_to_human, mode_human]
        = HUMAN 1, agent_message
        = the phone shows: Hi Mei, your bowl is here.
        ",
    )
    .await;
}

async fn after_a_while_without_people_the_assistant_answers_again(world: &World) {
    world.rules(|policy| policy.human_hold_ms = 600_000);
    let mei = world.chat(MEI);
    mei.take_over().await;
    world.after(300_000).await;
    mei.agent_says("Hi Mei.").await;
    world.after(599_999).await;
    mei.writes("M1", "Thanks").await;
    world.after(1).await;
    world.assistant_says("Two condos.");
    mei.writes("M2", "Show me condos").await;
    world.after(3_000).await;
    mei.reads(
        "
        agent: Hi Mei. [sent]
        contact: Thanks [left_to_human, mode_human]
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, hold_expired
        = the phone shows: Hi Mei. | Two condos.
        ",
    )
    .await;
}

async fn a_contact_who_waits_too_long_for_a_person_calls_one(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Hello?").await;
    world.after(300_000).await;
    assert_eq!(mei.conversation().await["attention"]["reason"], "human_overdue");
    mei.agent_says("I am here.").await;
    world.drain().await;
    assert!(mei.conversation().await["attention"].is_null());
}

async fn what_is_wrong_with_one_of_several_messages_is_told_of_that_one(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let known = mei.messages().await[0]["id"].clone();
    let said = |quoted: &serde_json::Value| json!({ "text": "This one", "quoted_message_id": quoted });
    let unknown = json!("00000000-0000-7000-8000-000000000000");
    let both = json!({ "messages": [said(&known), said(&unknown)] });
    let refused = mei.ask("POST", "messages/batch", Some(both)).await;
    let pointer = &refused.body["errors"][0]["pointer"];
    assert_eq!((refused.status, pointer), (400, &json!("/messages/1/quoted_message_id")));
    let refused = mei.ask("POST", "messages", Some(said(&unknown))).await;
    assert_eq!(refused.body["errors"][0]["pointer"], "/quoted_message_id");
}

async fn of_a_text_that_was_cut_the_first_part_is_answered(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    let path = mei.path("messages/batch").await;
    let both = json!({ "messages": [{ "text": "word ".repeat(1_000) }, { "text": "Any of them?" }] });
    let request = || world.request("POST", &path, Some(both.clone())).header("Idempotency-Key", "K1");
    let first = crate::world::answered(request()).await;
    assert_eq!(first.status, 202, "{first:?}");
    let items = first.body["items"].as_array().expect("a list");
    assert_eq!((items.len(), &items[0]["delivery"]["parts"]), (2, &json!(2)), "one for each that was sent");
    assert_eq!(items[1]["text"], "Any of them?");
    let again = crate::world::answered(request()).await;
    assert_eq!(again.body["items"].as_array().map(Vec::len), Some(2), "and so again");
    world.drain().await;
    assert_eq!(world.gateway.shown_to(MEI).len(), 3);
}
