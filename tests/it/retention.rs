//! What is older than allowed is removed, but for what somebody still waits for; and what was removed does not come back.

use baton::flow::generator::FailureKind;
use serde_json::{Value, json};

use crate::world::{Step, World, on_both_stores};

on_both_stores!(
    what_is_old_is_removed_and_what_is_young_stays,
    a_late_webhook_of_what_was_removed_is_still_a_duplicate,
    what_somebody_waits_for_stays,
    a_conversation_of_which_nothing_is_left_is_removed,
    whom_a_person_has_taken_over_is_not_given_back_by_the_years,
    whoever_knew_what_was_removed_goes_on_from_what_is_left,
    a_suggestion_that_nobody_wanted_goes,
);

const MEI: &str = "6580000001@c.us";
const TOM: &str = "6580000002@c.us";
const DAY_MS: i64 = 86_400_000;

async fn what_is_old_is_removed_and_what_is_young_stays(world: &World) {
    let mei = world.chat(MEI);
    for (id, text, answer) in
        [("M1", "Show me condos", "Two condos."), ("M2", "Show me houses", "Two houses.")]
    {
        world.assistant_says(answer);
        mei.writes(id, text).await;
        world.after(3_000).await;
        world.pass(2 * DAY_MS);
    }
    let before = world.process().would_retain(3).await;
    assert_eq!((before["messages"], before["turns"], before.get("conversations")), (2, 1, None));
    let removed = world.process().retain(3).await;
    assert_eq!(removed, before, "the count is what is then removed");
    let left: Vec<Value> = mei.messages().await.into_iter().map(|message| message["text"].clone()).collect();
    assert_eq!(left, ["Show me houses", "Two houses."]);
    for words in ["condos", "M1"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
    }
    assert!(!world.is_in_file("condos"), "not even of what rows once held");
    assert_eq!(world.process().retain(3).await, Default::default(), "there is no more");
    world.assistant_says("Two flats.");
    mei.writes("M3", "Show me flats").await;
    world.after(3_000).await;
    assert_eq!(mei.messages().await.len(), 4, "and it goes on");
}

async fn a_late_webhook_of_what_was_removed_is_still_a_duplicate(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    world.pass(4 * DAY_MS);
    mei.take_over().await;
    // The gateway is asked for another id of hers.
    world.drain().await;
    assert!(world.process().retain(3).await["messages"] == 2);
    for again in [false, true] {
        assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
        assert_eq!(mei.edits("M1", "Show me houses").await, "duplicate");
        assert_eq!(mei.echoes("OUT1", "Two condos.").await, "duplicate");
        assert_eq!(mei.reports("OUT1", "read").await, "ignored");
        assert_eq!(mei.messages().await.len(), 0);
        if !again {
            world.crash().await;
        }
    }
    assert_eq!(
        mei.conversation().await["mode_reason"],
        "agent_button",
        "an echo of our own takes nothing over"
    );
    // With its conversation gone, too.
    mei.release().await;
    world.pass(4 * DAY_MS);
    assert_eq!(world.process().retain(3).await["conversations"], 1);
    assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
    assert_eq!(mei.conversation().await, Value::Null);
}

async fn what_somebody_waits_for_stays(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    // A follow-up that is to come, a send of unknown fate, one that is owed, a message that waits.
    world.rules(|policy| policy.stale_ms = 0);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let due = json!({ "delay_ms": 30 * DAY_MS, "text": "Still there?" });
    assert_eq!(mei.ask("PUT", "follow-up", Some(due)).await.status, 201);
    world.gateway.answers(crate::world::Answer::LostAfter);
    tom.agent_says("This is Ana.").await;
    world.drain().await;
    world.state("notAuthorized").await;
    tom.agent_says("And Ben.").await;
    world.pass(9 * DAY_MS);
    world.process().retain(3).await;
    let left: Vec<(Value, Value)> = tom
        .messages()
        .await
        .into_iter()
        .map(|message| (message["text"].clone(), message["delivery"]["state"].clone()))
        .collect();
    assert_eq!(left, [(json!("This is Ana."), json!("unknown")), (json!("And Ben."), json!("queued"))]);
    assert_eq!(mei.messages().await.len(), 0);
    assert!(mei.conversation().await["follow_up"].is_object(), "and so does its conversation");
}

async fn a_conversation_of_which_nothing_is_left_is_removed(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    for (chat, text) in [(&mei, "Show me condos"), (&tom, "stop")] {
        if text != "stop" {
            world.assistant_says("Two condos.");
        }
        chat.writes("M1", text).await;
        world.after(3_000).await;
    }
    let id = mei.conversation().await["id"].clone();
    world.pass(4 * DAY_MS);
    let removed = world.process().retain(3).await;
    assert_eq!((removed["conversations"], removed["messages"]), (1, 3));
    assert_eq!(mei.conversation().await, Value::Null);
    assert_eq!(world.finds("6580000001").await, [""; 0]);
    assert_eq!(tom.conversation().await["opted_out"], true, "who wants no follow-ups is known by that");
    let page = world.get("/api/v1/events?type=conversation_erased").await;
    let [told] = page["items"].as_array().expect("a list").as_slice() else { panic!("{page}") };
    assert_eq!(
        (&told["conversation_id"], &told["action"], &told["actor"], &told["details"]),
        (&id, &json!("expired"), &json!("system"), &json!({}))
    );
    world.assistant_says("Two houses.");
    assert_eq!(mei.writes("M2", "Show me houses").await, "accepted");
    world.after(3_000).await;
    assert_ne!(mei.conversation().await["id"], id);
}

async fn whom_a_person_has_taken_over_is_not_given_back_by_the_years(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    // Before the first message, too.
    for chat in [&mei, &tom] {
        chat.take_over().await;
    }
    world.pass(400 * DAY_MS);
    let removed = world.process().retain(3).await;
    assert_eq!((removed["messages"], removed.get("conversations")), (2, None));
    for (chat, id) in [(&mei, "M2"), (&tom, "M3")] {
        chat.writes(id, "Anyone?").await;
        world.after(60_000).await;
        let conversation = chat.conversation().await;
        assert_eq!((&conversation["mode"], &conversation["mode_version"]), (&json!("HUMAN"), &json!(2)));
    }
    assert_eq!(world.gateway.posts().len(), 1, "the assistant is silent");
}

async fn whoever_knew_what_was_removed_goes_on_from_what_is_left(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    let second = world.another_beside().await;
    let first = world.turn_to(second.clone());
    mei.writes("M2", "In Orchard").await;
    world.pass(4 * DAY_MS);
    // The second one knows both messages; the first removes them.
    assert_eq!(first.retain(3).await["messages"], 2);
    assert_eq!(mei.edits("M2", "In Novena").await, "duplicate");
    assert_eq!(mei.writes("M2", "In Orchard").await, "duplicate");
    assert_eq!(mei.writes("M3", "Anyone?").await, "accepted");
    assert_eq!(mei.messages().await.len(), 1);
    assert_eq!(mei.messages().await[0]["seq"], 3);
    world.turn_to(first);
    second.stop().await;
}

async fn a_suggestion_that_nobody_wanted_goes(world: &World) {
    let mei = world.chat(MEI);
    world.rules(|policy| policy.drafting = true);
    world.assistant.add(Step::says("Two condos."));
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(mei.drafts().await[0]["state"], "fresh");
    world.assistant.add(Step::fails(FailureKind::Refused));
    world.pass(4 * DAY_MS);
    assert_eq!(world.process().retain(3).await["drafts"], 1);
    assert_eq!(mei.drafts().await, Vec::<Value>::new());
    assert_eq!(mei.ask("POST", "drafts", None).await.status, 202, "another may be asked for");
    world.after(3_000).await;
}
