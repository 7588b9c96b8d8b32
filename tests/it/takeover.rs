//! A person can take over at any moment, and nothing that the assistant wrote before leaves after.

use serde_json::json;

use crate::world::{Answer, Step, World, green_api, on_both_stores};

on_both_stores!(
    a_takeover_beats_a_reply_in_flight,
    a_takeover_between_parts_stops_the_rest_and_says_so,
    a_takeover_waits_for_what_is_being_sent,
    a_receipt_counts_what_left_while_it_waited,
    a_takeover_beats_a_send_that_is_to_be_tried_again,
    a_message_on_the_phone_takes_over,
    a_reaction_on_the_phone_is_shown_and_takes_nothing_over,
    back_to_ai_revives_nothing,
    the_words_of_a_hand_over_leave_and_nothing_after_them,
    a_contact_who_asks_for_a_person_gets_one,
    a_switch_on_old_knowledge_changes_nothing,
    what_was_left_to_people_is_answered_when_they_say_so,
    whoever_gives_back_has_seen_how_often_it_answered_whatever_reason_they_name,
    a_note_left_with_a_takeover_is_read_by_the_assistant_once_it_answers_again,
);

const MEI: &str = "6580000001@c.us";

/// Scenario 1 of the race conditions: takeover during generation.
async fn a_takeover_beats_a_reply_in_flight(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;

    world.pass(1_000);
    let receipt = mei.take_over().await;
    assert_eq!((&receipt["generation_cancelled"], &receipt["generation_ms"]), (&json!(true), &json!(1_000)));
    assert_eq!(receipt["settled"], true);

    reply.release();
    world.drain().await;
    world.after(2_000).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows nothing
        ",
    )
    .await;
    assert_eq!(world.assistant.hang_ups(), 1, "the model was hung up on at once");
}

async fn a_takeover_between_parts_stops_the_rest_and_says_so(world: &World) {
    world.rules(|policy| {
        policy.split_chars = 25;
        policy.typing_ms_per_char = 100;
        policy.typing_max_ms = 2_000;
    });
    let mei = world.chat(MEI);
    world.assistant_says("The first one is large.\n\nThe second one is small.\n\nThe third is far away.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    world.after(2_000).await;

    let receipt = mei.take_over().await;
    assert_eq!((&receipt["parts_already_sent"], &receipt["parts_discarded"]), (&json!(1), &json!(2)));
    assert_eq!((&receipt["settled"], &receipt["generation_cancelled"]), (&json!(true), &json!(false)));

    world.after(60_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: The first one is large. [sent]
        assistant: The second one is small. [cancelled, mode_changed]
        assistant: The third is far away. [cancelled, mode_changed]
        * mode_change_before_send: discarded_message
        * mode_change_before_send: discarded_message
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows: The first one is large.
        ",
    )
    .await;
}

async fn a_takeover_waits_for_what_is_being_sent(world: &World) {
    let mei = world.chat(MEI);
    let send = world.gateway.holds();
    world.assistant_says("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&send).await;

    let impatient = mei.switch(json!({ "mode": "HUMAN", "settle_ms": 0 })).await;
    assert_eq!(impatient["settled"], false);
    assert_eq!(impatient["in_flight"].as_array().map(Vec::len), Some(1));
    mei.release().await;
    let (receipt, ()) = tokio::join!(mei.take_over(), async {
        mei.until_in("HUMAN").await;
        send.release();
        world.drain().await;
    });
    assert_eq!((&receipt["settled"], &receipt["in_flight"]), (&json!(true), &json!([])));
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Here are two condos. [sent]
        * mode_changed
        * agent_took_over
        * mode_changed
        * mode_changed
        * agent_took_over
        = HUMAN 4, agent_button
        = the phone shows: Here are two condos.
        ",
    )
    .await;
}

async fn a_receipt_counts_what_left_while_it_waited(world: &World) {
    world.rules(|policy| policy.split_chars = 25);
    let mei = world.chat(MEI);
    let send = world.gateway.holds();
    world.assistant_says("The first one is large.\n\nThe second one is small.\n\nThe third is far away.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&send).await;
    let (receipt, ()) = tokio::join!(mei.take_over(), async {
        mei.until_in("HUMAN").await;
        send.release();
        world.drain().await;
    });
    assert_eq!((&receipt["settled"], &receipt["in_flight"]), (&json!(true), &json!([])));
    assert_eq!((&receipt["parts_already_sent"], &receipt["parts_discarded"]), (&json!(1), &json!(2)));
    // It has not been reported as sent yet.
    let first = mei.message("The first one is large.").await;
    assert_eq!(receipt["at_provider"], json!([first["id"]]));
}

async fn a_takeover_beats_a_send_that_is_to_be_tried_again(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::Again);
    world.assistant_says("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let receipt = mei.take_over().await;
    assert_eq!((&receipt["parts_discarded"], &receipt["parts_already_sent"]), (&json!(1), &json!(0)));
    world.after(300_000).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        assistant: Here are two condos. [cancelled, mode_changed]
        * message_failed: retried
        * mode_change_before_send: discarded_message
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = a person is called: human_overdue
        = the phone shows nothing
        ",
    )
    .await;
}

async fn a_reaction_on_the_phone_is_shown_and_takes_nothing_over(world: &World) {
    let mei = world.chat(MEI);
    let reacts = async |id: &str, emoji: &str| {
        world.webhook(&green_api::phone_reacts(MEI, id, world.now().0 / 1_000, "M1", emoji)).await
    };
    assert_eq!(reacts("R0", "👍").await, "ignored", "it begins no conversation");
    mei.writes("M1", "Hello").await;
    for (id, emoji, shown) in
        [("R1", "👍", json!(["👍"])), ("R2", "❤️", json!(["❤️"])), ("R3", "", json!([]))]
    {
        assert_eq!(reacts(id, emoji).await, "accepted");
        let reactions = mei.message("Hello").await["reactions"].clone();
        let emojis: Vec<_> =
            reactions.as_array().expect("a list").iter().map(|it| it["emoji"].clone()).collect();
        assert_eq!(json!(emojis), shown, "{id}");
    }
    let conversation = mei.conversation().await;
    assert_eq!((&conversation["mode"], &conversation["unread"]), (&json!("AI"), &json!(1)));
    world.assistant_says("Hello!");
    world.after(3_000).await;
    assert_eq!(world.gateway.posts().len(), 1);
}

async fn a_message_on_the_phone_takes_over(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    assert_eq!(mei.phone_writes("P1", "Hi Mei, this is Ana.").await, "accepted");
    reply.release();
    world.drain().await;
    assert_eq!(mei.phone_writes("P1", "Hi Mei, this is Ana.").await, "duplicate");
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: Hi Mei, this is Ana.
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        * duplicate_webhook: skipped
        = HUMAN 2, agent_phone
        = the phone shows nothing
        ",
    )
    .await;
}

async fn back_to_ai_revives_nothing(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    mei.take_over().await;
    world.drain().await;
    mei.release().await;
    reply.release();
    world.drain().await;
    world.after(60_000).await;
    world.assistant_says("Hello again.");
    mei.writes("M2", "Hello?").await;
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        contact: Hello? [answered]
        assistant: Hello again. [sent]
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Hello again.
        ",
    )
    .await;
}

async fn the_words_of_a_hand_over_leave_and_nothing_after_them(world: &World) {
    world.rules(|policy| policy.follow_up_after_ms = vec![60_000]);
    let mei = world.chat(MEI);
    let words = Step::says("I will get a colleague.");
    world.assistant.add(words.and_calls("hand_over", &json!({ "reason": "wants to complain" })));
    mei.writes("M1", "This is a scandal").await;
    world.after(3_000).await;
    mei.writes("M2", "Hello?").await;
    world.after(120_000).await;
    mei.reads(
        "
        contact: This is a scandal [answered]
        assistant: I will get a colleague. [sent]
        contact: Hello? [left_to_human, mode_human]
        * mode_changed
        = HUMAN 2, assistant_asked
        = a person is called: assistant_asked
        = the phone shows: I will get a colleague.
        ",
    )
    .await;
}

async fn a_contact_who_asks_for_a_person_gets_one(world: &World) {
    world.rules(|policy| {
        policy.handover_words = vec!["agent".to_owned()];
        policy.handover_text = Some("A colleague comes.".to_owned());
    });
    let mei = world.chat(MEI);
    mei.writes("M1", "Agent!").await;
    world.after(3_000).await;
    mei.reads(
        "
        contact: Agent! [left_to_human, mode_human]
        system: A colleague comes. [sent]
        * mode_changed
        = HUMAN 2, contact_asked
        = a person is called: contact_asked
        = the phone shows: A colleague comes.
        ",
    )
    .await;
}

async fn a_switch_on_old_knowledge_changes_nothing(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.release().await;
    let old = json!({ "mode": "HUMAN", "expected_version": 1 });
    let reply = mei.ask("PUT", "mode", Some(old)).await;
    assert_eq!((reply.status, &reply.body["code"]), (409, &json!("version_conflict")));
    assert_eq!(reply.body["current"]["mode"], "AI");
    let version = reply.body["current"]["mode_version"].clone();
    let receipt = mei.switch(json!({ "mode": "HUMAN", "expected_version": version })).await;
    assert_eq!(receipt["changed"], true);
    let again = mei.take_over().await;
    assert_eq!((&again["changed"], &again["mode_version"]), (&json!(false), &receipt["mode_version"]));
}

async fn what_was_left_to_people_is_answered_when_they_say_so(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    mei.writes("M2", "In Orchard").await;
    world.after(60_000).await;
    world.assistant_says("Here are two condos.");
    let receipt =
        mei.switch(json!({ "mode": "AI", "answer_now": true, "note": "She likes it quiet." })).await;
    assert_eq!(receipt["answering"], true);
    world.drain().await;
    let asked = format!("{:?}", world.assistant.requests()[0].lines);
    assert!(asked.contains("She likes it quiet."), "{asked}");
    mei.reads(
        "
        contact: Show me condos [answered]
        contact: In Orchard [answered]
        note: She likes it quiet.
        assistant: Here are two condos. [sent]
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Here are two condos.
        ",
    )
    .await;
}

async fn whoever_gives_back_has_seen_how_often_it_answered_whatever_reason_they_name(world: &World) {
    world.rules(|policy| {
        policy.reply_cap = 1;
        policy.handover_words = vec!["agent".to_owned()];
    });
    let mei = world.chat(MEI);
    for (n, reason) in ["agent_button", "rollout", "hold_expired"].into_iter().enumerate() {
        world.assistant_says("Two condos.");
        mei.writes(&format!("A{n}"), "Show me condos").await;
        world.after(3_000).await;
        assert_eq!(mei.conversation().await["mode"], "AI", "{reason}: it was given back, and answers");
        mei.writes(&format!("B{n}"), "And houses").await;
        world.after(3_000).await;
        let capped = mei.conversation().await;
        assert_eq!((&capped["mode"], &capped["mode_reason"]), (&json!("HUMAN"), &json!("reply_cap")));
        mei.switch(json!({ "mode": "AI", "reason": reason })).await;
    }
    let tom = world.chat("6580000002@c.us");
    tom.writes("M1", "Agent!").await;
    assert_eq!(tom.conversation().await["attention"]["reason"], "contact_asked");
    tom.switch(json!({ "mode": "AI", "reason": "agent_button" })).await;
    assert_eq!(tom.conversation().await["attention"], json!(null), "somebody has decided who answers");
}

async fn a_note_left_with_a_takeover_is_read_by_the_assistant_once_it_answers_again(world: &World) {
    let mei = world.chat(MEI);
    mei.switch(json!({ "mode": "HUMAN", "note": "She haggles." })).await;
    mei.release().await;
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let asked = format!("{:?}", world.assistant.requests()[0].lines);
    assert!(asked.contains("She haggles."), "{asked}");
    mei.reads(
        "
        note: She haggles.
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        * mode_changed
        * agent_took_over
        * mode_changed
        = AI 3, released
        = the phone shows: Two condos.
        ",
    )
    .await;
}
