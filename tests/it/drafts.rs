//! Where a person answers with suggestions, the assistant writes what they could say, and says nothing itself.

use baton::flow::generator::{FailureKind, Line};
use serde_json::{Value, json};

use crate::world::{Chat, Step, World, answered, on_both_stores};

on_both_stores!(
    a_contact_is_drafted_and_hears_nothing_until_a_person_sends_it,
    a_person_who_writes_before_stops_the_draft,
    a_newer_message_retires_the_draft_and_has_one_of_its_own,
    a_draft_that_was_changed_is_sent_once_under_its_key,
    a_stale_draft_is_sent_only_by_force,
    a_draft_asked_for_in_ai_takes_over_when_it_is_sent,
    a_reply_does_not_wait_for_a_draft,
    a_draft_that_is_discarded_is_gone,
    suggestions_can_be_switched_on_and_off,
    whoever_is_not_rolled_out_begins_with_drafts,
    a_draft_survives_the_process_that_was_writing_it,
    a_model_that_fails_leaves_the_contact_to_the_person,
    what_a_draft_tells_is_who_and_never_what,
    people_see_how_many_drafts_they_accept,
    the_model_is_offered_nothing_to_do_but_write,
);

const MEI: &str = "6580000001@c.us";

/// New conversations begin in HUMAN, with suggestions.
fn suggest(world: &World) {
    world.rules(|policy| policy.drafting = true);
}

async fn a_contact_is_drafted_and_hears_nothing_until_a_person_sends_it(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(1_000);
    mei.writes("M2", "In Orchard").await;
    world.after(60_000).await;
    let draft = mei.drafts().await.swap_remove(0);
    assert_eq!(
        (&draft["text"], &draft["state"], &draft["based_on_seq"]),
        (&json!("Two condos."), &json!("fresh"), &json!(2))
    );
    let turn = mei.ask("GET", "turns", None).await.body["items"][0].clone();
    assert_eq!(
        (&turn["purpose"], &turn["id"], &turn["state"]),
        (&json!("draft"), &draft["turn_id"], &json!("completed"))
    );
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        contact: In Orchard [left_to_human, mode_human]
        = HUMAN 1, rollout
        = the phone shows nothing
        ",
    )
    .await;

    let sent = mei.decide_draft("POST", "/send", None).await;
    assert_eq!(sent.status, 202, "{sent:?}");
    assert_eq!((&sent.body["text"], &sent.body["takeover"]), (&json!("Two condos."), &Value::Null));
    let shown = &sent.body["draft"];
    assert_eq!((&shown["state"], &shown["edit_distance"]), (&json!("sent"), &json!(0)));
    assert_eq!((&shown["message_id"], &shown["decided_by"]), (&sent.body["id"], &json!("environment")));
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        contact: In Orchard [left_to_human, mode_human]
        agent: Two condos. [sent]
        * draft_retired
        = HUMAN 1, rollout
        = the phone shows: Two condos.
        ",
    )
    .await;
    let again = mei.decide_draft("POST", "/send", None).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("already_sent")));
}

async fn a_person_who_writes_before_stops_the_draft(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    let draft = world.assistant_holds("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&draft).await;
    let said = mei.agent_says("Hi Mei, this is Ana.").await;
    assert_eq!(said["takeover"], Value::Null, "nothing was going to be said");
    draft.release();
    world.drain().await;
    world.after(60_000).await;
    assert_eq!((mei.drafts().await.len(), world.assistant.hang_ups()), (0, 1));
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: Hi Mei, this is Ana. [sent]
        * turn_superseded: cancelled_generation
        = HUMAN 1, rollout
        = the phone shows: Hi Mei, this is Ana.
        ",
    )
    .await;
}

async fn a_newer_message_retires_the_draft_and_has_one_of_its_own(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    mei.writes("M2", "In Orchard").await;
    assert_eq!(mei.drafts().await[0]["state"], "stale", "with the message that it has not read");
    world.assistant_says("Two in Orchard.");
    world.after(3_000).await;
    let drafts = mei.drafts().await;
    let told: Vec<_> =
        drafts.iter().map(|draft| (&draft["text"], &draft["state"], &draft["based_on_seq"])).collect();
    assert_eq!(told[0], (&json!("Two in Orchard."), &json!("fresh"), &json!(2)));
    assert_eq!(told[1], (&json!("Two condos."), &json!("stale"), &json!(1)));
}

async fn a_draft_that_was_changed_is_sent_once_under_its_key(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let draft = mei.drafts().await.swap_remove(0);
    let path = mei.path(&format!("drafts/{}/send", draft["id"].as_str().expect("an id"))).await;
    let send = async |text: &str| {
        let body = Some(json!({ "text": text }));
        answered(world.request("POST", &path, body).header("Idempotency-Key", "k1")).await
    };
    let (first, again) = tokio::join!(send("Three condos."), send("Three condos."));
    assert_eq!((first.status, again.status), (202, 202), "{first:?} {again:?}");
    assert_eq!(first.body["id"], again.body["id"]);
    assert_eq!(
        (&first.body["draft"]["state"], &first.body["draft"]["edit_distance"]),
        (&json!("edited"), &json!(1))
    );
    assert_eq!(first.body["draft"]["text"], "Two condos.", "what the assistant wrote stays as it was");
    assert_eq!(send("Four condos.").await.status, 422);
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: Three condos. [sent]
        * draft_retired
        = HUMAN 1, rollout
        = the phone shows: Three condos.
        ",
    )
    .await;
}

async fn a_stale_draft_is_sent_only_by_force(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    mei.agent_says("One moment.").await;
    let refused = mei.decide_draft("POST", "/send", None).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("stale")));
    assert_eq!(
        (&refused.body["current"]["state"], &refused.body["current"]["text"]),
        (&json!("stale"), &json!("Two condos."))
    );
    assert_eq!(mei.decide_draft("POST", "/send", Some(json!({ "force": true }))).await.status, 202);
    world.after(500).await;
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        agent: One moment. [sent]
        agent: Two condos. [sent]
        * draft_retired
        * draft_retired
        = HUMAN 1, rollout
        = the phone shows: One moment. | Two condos.
        ",
    )
    .await;
}

async fn a_draft_asked_for_in_ai_takes_over_when_it_is_sent(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let asked = mei.ask("POST", "drafts", None).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    world.assistant_says("Shall I book a visit?");
    world.drain().await;
    let draft = mei.drafts().await.swap_remove(0);
    assert_eq!((&draft["id"], &draft["state"]), (&asked.body["draft_id"], &json!("fresh")));
    assert_eq!(mei.conversation().await["mode"], "AI", "to ask is no takeover");
    let sent = mei.decide_draft("POST", "/send", None).await;
    assert_eq!(
        (&sent.body["takeover"]["changed"], &sent.body["takeover"]["mode"]),
        (&json!(true), &json!("HUMAN"))
    );
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        agent: Shall I book a visit? [sent]
        * mode_changed
        * agent_took_over
        * draft_retired
        = HUMAN 2, draft_sent
        = the phone shows: Two condos. | Shall I book a visit?
        ",
    )
    .await;
}

async fn a_reply_does_not_wait_for_a_draft(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    mei.ask("POST", "drafts", None).await;
    let draft = world.assistant_holds("Shall I book a visit?");
    world.drain_until(&draft).await;
    mei.writes("M2", "In Orchard").await;
    world.assistant_says("Two in Orchard.");
    world.assistant_says("Shall I book both?");
    draft.release();
    world.drain().await;
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        contact: In Orchard [answered]
        assistant: Two in Orchard. [sent]
        * turn_superseded: restarted
        = AI 1, rollout
        = the phone shows: Two condos. | Two in Orchard.
        ",
    )
    .await;
    let drafts = mei.drafts().await;
    assert_eq!(
        (drafts.len(), &drafts[0]["text"], &drafts[0]["state"]),
        (1, &json!("Shall I book both?"), &json!("fresh"))
    );
}

async fn a_draft_that_is_discarded_is_gone(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(mei.decide_draft("DELETE", "", None).await.status, 204);
    assert_eq!(mei.decide_draft("DELETE", "", None).await.status, 404);
    let draft = mei.drafts().await.swap_remove(0);
    assert_eq!((&draft["state"], &draft["decided_by"]), (&json!("discarded"), &json!("environment")));
    assert!(
        draft["decided_at"].is_string() && draft["message_id"].is_null() && draft["edit_distance"].is_null()
    );
    let elsewhere = world.chat("6580000002@c.us");
    elsewhere.take_over().await;
    let path = format!("drafts/{}", draft["id"].as_str().expect("an id"));
    assert_eq!(elsewhere.ask("DELETE", &path, None).await.status, 404, "it is another conversation's");
    assert_eq!(elsewhere.ask("POST", &format!("{path}/send"), None).await.status, 404);
}

async fn suggestions_can_be_switched_on_and_off(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    world.after(60_000).await;
    assert!(mei.drafts().await.is_empty());
    world.assistant_says("Two condos.");
    sets_drafting(&mei, true).await;
    world.drain().await;
    assert_eq!(mei.drafts().await[0]["state"], "fresh", "what the contact waits with already");
    mei.release().await;
    assert_eq!(mei.conversation().await["drafting"], true, "it outlives a switch");
    mei.take_over().await;
    sets_drafting(&mei, false).await;
    mei.writes("M2", "In Orchard").await;
    world.after(60_000).await;
    assert_eq!(mei.drafts().await.len(), 1);
}

async fn sets_drafting(chat: &Chat<'_>, drafting: bool) {
    let path = chat.path("").await;
    let body = json!({ "drafting": drafting });
    let patched = chat.world.ask("PATCH", path.trim_end_matches('/'), Some(body)).await;
    assert_eq!((patched.status, &patched.body["drafting"]), (200, &json!(drafting)));
}

async fn whoever_is_not_rolled_out_begins_with_drafts(world: &World) {
    world.rules(|policy| policy.rollout_percent = 0);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let conversation = mei.conversation().await;
    assert_eq!((&conversation["mode"], &conversation["drafting"]), (&json!("HUMAN"), &json!(true)));
    assert_eq!(mei.drafts().await.len(), 1);
    // Also where our side says the first word.
    let tom = world.chat("6580000002@c.us");
    tom.agent_says("Hi Tom, your bowl is here.").await;
    world.drain().await;
    world.assistant_says("You are welcome.");
    tom.writes("M2", "Great, thanks!").await;
    world.after(3_000).await;
    assert_eq!(tom.drafts().await[0]["text"], "You are welcome.");
    tom.reads(
        "
        agent: Hi Tom, your bowl is here. [sent]
        contact: Great, thanks! [left_to_human, mode_human]
        = HUMAN 1, agent_message
        = the phone shows: Hi Tom, your bowl is here.
        ",
    )
    .await;
    // Those that are let in, and who comes to a channel without a model, get none.
    world.rules(|policy| policy.rollout_percent = 100);
    let ina = world.chat("6580000003@c.us");
    ina.agent_says("Hello.").await;
    assert_eq!(ina.conversation().await["drafting"], false);
    world.rules(|policy| policy.has_model = false);
    let leo = world.chat("6580000004@c.us");
    leo.writes("M3", "Hello").await;
    world.after(60_000).await;
    assert_eq!((&leo.conversation().await["drafting"], leo.drafts().await.len()), (&json!(false), 0));
    assert_eq!(leo.message("Hello").await["outcome_reason"], "no_model");
    let refused = leo.ask("POST", "drafts", None).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("no_model")));
}

async fn a_draft_survives_the_process_that_was_writing_it(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    let lost = world.assistant_holds("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&lost).await;
    world.crash().await;
    world.assistant_says("Two condos, again.");
    world.after(60_000).await;
    let drafts = mei.drafts().await;
    assert_eq!((drafts.len(), &drafts[0]["text"]), (1, &json!("Two condos, again.")));
    world.crash().await;
    assert_eq!(mei.decide_draft("POST", "/send", None).await.status, 202);
    world.drain().await;
    assert_eq!(world.gateway.shown_to(MEI).len(), 1);
}

async fn a_model_that_fails_leaves_the_contact_to_the_person(world: &World) {
    suggest(world);
    world.rules(|policy| policy.fallback_text = Some("A moment, please.".to_owned()));
    let mei = world.chat(MEI);
    for _ in 0..3 {
        world.assistant.add(Step::fails(FailureKind::Server));
    }
    mei.writes("M1", "Show me condos").await;
    for _ in 0..4 {
        world.after(60_000).await;
    }
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        * turn_failed: retried
        * turn_failed: retried
        * turn_failed: handed_over
        = HUMAN 1, rollout
        = the phone shows nothing
        ",
    )
    .await;
    let letters = world.get("/api/v1/dead-letters").await;
    assert_eq!(letters["items"], json!([]));
    world.assistant_says("Two condos.");
    mei.ask("POST", "drafts", None).await;
    world.drain().await;
    assert_eq!(mei.drafts().await[0]["state"], "fresh");
}

async fn what_a_draft_tells_is_who_and_never_what(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let draft = mei.drafts().await.swap_remove(0);
    mei.writes("M2", "In Orchard").await;
    world.assistant_says("Two in Orchard.");
    world.after(3_000).await;
    let page = world.get(&mei.path("timeline?type=draft_created&type=draft_retired").await).await;
    let told: Vec<_> = page["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| {
            (event["type"].as_str().expect("a type"), event["turn_id"].clone(), event["details"].clone())
        })
        .collect();
    let (id, turn) = (&draft["id"], &draft["turn_id"]);
    assert_eq!(
        told[0],
        ("draft_created", turn.clone(), json!({ "draft_id": id, "state": "fresh", "based_on_seq": 1 }))
    );
    assert_eq!(
        told[1],
        (
            "draft_retired",
            turn.clone(),
            json!({ "draft_id": id, "state": "stale", "reason": "contact_wrote" })
        )
    );
    assert_eq!((told[2].0, told.len()), ("draft_created", 3));
    mei.decide_draft("POST", "/send", None).await;
    let page = world.get(&mei.path("timeline?type=draft_retired").await).await;
    let details = &page["items"][1]["details"];
    assert_eq!((&details["state"], &details["edit_distance"]), (&json!("sent"), &json!(0)));
    assert!(!page.to_string().contains("Orchard."), "{page}");
}

async fn people_see_how_many_drafts_they_accept(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    let ways: [(&str, Option<Value>); 3] =
        [("/send", None), ("/send", Some(json!({ "text": "Three large condos." }))), ("", None)];
    for (number, (rest, body)) in ways.into_iter().enumerate() {
        world.assistant_says("Two condos.");
        mei.writes(&format!("M{number}"), "Show me condos").await;
        world.after(3_000).await;
        mei.decide_draft(if rest.is_empty() { "DELETE" } else { "POST" }, rest, body).await;
        world.drain().await;
    }
    let stats = world.get(&format!("/api/v1/stats?step=hour&to={}", world.now().plus_ms(1_000))).await;
    let item = stats["items"].as_array().and_then(|items| items.last()).expect("an hour");
    assert_eq!(item["drafts"], json!({ "sent": 1, "edited": 1, "discarded": 1 }), "{stats}");
    assert_eq!(item["draft_edit_distance"], json!({ "p50": 2, "p90": 2 }), "{stats}");
}

async fn the_model_is_offered_nothing_to_do_but_write(world: &World) {
    suggest(world);
    let mei = world.chat(MEI);
    let made_up = Step::says("A colleague comes.").and_calls("hand_over", &json!({ "reason": "made up" }));
    world.assistant.add(made_up);
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let asked = world.assistant.requests().swap_remove(0);
    assert_eq!((asked.tools.is_open(), asked.about.purpose.as_str()), (false, "draft"));
    assert!(
        matches!(asked.lines.as_slice(), [Line::Instruction(_), Line::Contact(text)] if text == "Show me condos"),
        "{:?}",
        asked.lines
    );
    assert_eq!(mei.drafts().await[0]["text"], "A colleague comes.");
    // Nothing but a call is no draft.
    world.assistant.add(Step::calls("hand_over", &json!({ "reason": "made up" })));
    world.assistant_says("Two condos.");
    mei.writes("M2", "In Orchard").await;
    world.after(3_000).await;
    world.after(60_000).await;
    assert_eq!(mei.drafts().await[0]["text"], "Two condos.");
    mei.reads(
        "
        contact: Show me condos [left_to_human, mode_human]
        contact: In Orchard [left_to_human, mode_human]
        * draft_retired
        * turn_failed: retried
        = HUMAN 1, rollout
        = the phone shows nothing
        ",
    )
    .await;
}
