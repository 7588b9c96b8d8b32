//! However often something is said to Baton, it has its effect once.

use serde_json::json;

use crate::world::{Answer, World, answered, green_api, on_both_stores};

on_both_stores!(
    a_webhook_delivered_twice_is_one_message_and_one_answer,
    a_webhook_delivered_many_times_at_once_is_one_message,
    what_has_come_before_is_a_duplicate_and_what_merely_changes_nothing_is_not,
    two_ids_of_one_contact_are_one_conversation,
    a_webhook_delivered_again_after_a_restart_is_still_the_same,
    the_same_words_in_the_same_second_are_two_messages,
    a_request_repeated_with_its_key_answers_as_the_first_did,
    a_key_is_of_one_token_though_two_act_as_one_agent,
    a_step_that_its_store_runs_again_does_nothing_twice,
    a_message_tried_again_keeps_its_idempotency_key,
);

const MEI: &str = "6580000001@c.us";

const ONE_ANSWER: &str = "
    contact: Show me condos [answered]
    assistant: Two condos. [sent]
    * duplicate_webhook: skipped
    = AI 1, rollout
    = the phone shows: Two condos.
";

/// Scenario 3 of the race conditions: the same webhook twice.
async fn a_webhook_delivered_twice_is_one_message_and_one_answer(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    assert_eq!(mei.writes("M1", "Show me condos").await, "accepted");
    assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
    world.after(3_000).await;
    mei.reads(ONE_ANSWER).await;
}

async fn a_webhook_delivered_many_times_at_once_is_one_message(world: &World) {
    let mei = world.chat(MEI);
    let say = || mei.writes("M1", "Show me condos");
    let verdicts = <[&str; 5]>::from(tokio::join!(say(), say(), say(), say(), say()));
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "accepted").count(), 1, "{verdicts:?}");
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "duplicate").count(), 4, "{verdicts:?}");
    assert_eq!(mei.messages().await.len(), 1);
    assert_eq!(mei.happened("duplicate_webhook").await, 4);
}

async fn what_has_come_before_is_a_duplicate_and_what_merely_changes_nothing_is_not(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let answer = mei.message("Two condos.").await["provider_message_id"].clone();
    let answer = answer.as_str().expect("it was sent");
    assert_eq!(mei.echoes(answer, "Two condos.").await, "accepted");
    assert_eq!(mei.reports(answer, "sent").await, "accepted", "its echo has said so, and this comes once");
    assert_eq!(mei.reports(answer, "delivered").await, "accepted");
    assert_eq!(mei.happened("duplicate_webhook").await, 0);
    assert_eq!(mei.reports(answer, "delivered").await, "duplicate");
    assert_eq!(mei.happened("duplicate_webhook").await, 1);
    world.pass(1_000);
    for (time, verdict) in (1..).zip(["accepted", "duplicate", "duplicate"]) {
        let again = time - 1;
        assert_eq!(mei.reports(answer, "read").await, verdict);
        assert_eq!(mei.edits("M1", "Show me houses").await, verdict);
        assert_eq!(mei.phone_writes("P1", "This is Ana.").await, verdict);
        assert_eq!(mei.happened("duplicate_webhook").await, 1 + 3 * again, "each is told");
    }
    assert_eq!(mei.messages().await.len(), 3);
}

async fn a_webhook_delivered_again_after_a_restart_is_still_the_same(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.crash().await;
    world.after(3_000).await;
    world.crash().await;
    world.pass(24 * 3_600_000);
    assert_eq!(mei.writes("M1", "Show me condos").await, "duplicate");
    world.drain().await;
    mei.reads(ONE_ANSWER).await;
}

async fn the_same_words_in_the_same_second_are_two_messages(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("I am here.");
    assert_eq!(mei.writes("M1", "Hello?").await, "accepted");
    assert_eq!(mei.writes("M2", "Hello?").await, "accepted");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Hello? [answered]
        contact: Hello? [answered]
        assistant: I am here. [sent]
        = AI 1, rollout
        = the phone shows: I am here.
        ",
    )
    .await;
}

async fn a_request_repeated_with_its_key_answers_as_the_first_did(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    let path = mei.path("messages").await;
    let say = async |text: &str| {
        let request = world.request("POST", &path, Some(json!({ "text": text })));
        answered(request.header("Idempotency-Key", "K1")).await
    };
    let first = say("Hi Mei, this is Ana.").await;
    world.drain().await;
    mei.release().await;
    world.crash().await;

    let again = say("Hi Mei, this is Ana.").await;
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(again.body["id"], first.body["id"]);
    let other = say("Something else.").await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")));
    world.drain().await;
    assert_eq!(mei.conversation().await["mode"], "AI", "a repeat never takes over again");
    assert_eq!(world.gateway.posts().len(), 1);
}

async fn a_step_that_its_store_runs_again_does_nothing_twice(world: &World) {
    let mei = world.chat(MEI);
    world.rules(|policy| policy.drafting = true);
    mei.take_over().await;
    let asked = [
        ("POST", "messages", json!({ "text": "This is Ana." })),
        ("POST", "messages/batch", json!({ "messages": [{ "text": "One." }, { "text": "Two." }] })),
        ("POST", "notes", json!({ "text": "She haggles." })),
        ("PUT", "mode", json!({ "mode": "AI", "note": "Be kind." })),
        ("PUT", "follow-up", json!({ "delay_ms": 60_000, "text": "Still there?" })),
        ("PUT", "mode", json!({ "mode": "HUMAN" })),
    ];
    for (method, path, body) in asked {
        world.process().fuse.repeats_next_step();
        let reply = mei.ask(method, path, Some(body)).await;
        assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
        assert!(!world.process().fuse.repeats_step(), "{method} {path} was run again");
        world.drain().await;
    }
    mei.reads(
        "
        agent: This is Ana. [sent]
        agent: One. [sent]
        agent: Two. [sent]
        note: She haggles.
        note: Be kind.
        * mode_changed
        * follow_up_cancelled
        * mode_changed
        * agent_took_over
        = HUMAN 3, agent_button
        = the phone shows: This is Ana. | One. | Two.
        ",
    )
    .await;
}

async fn a_message_tried_again_keeps_its_idempotency_key(world: &World) {
    let mei = world.chat(MEI);
    world.gateway.answers(Answer::Again);
    world.gateway.answers(Answer::Again);
    mei.agent_says("Hi Mei, this is Ana.").await;
    for _ in 0..3 {
        world.after(60_000).await;
    }
    let keys: Vec<String> = world.gateway.posts().into_iter().map(|post| post.idempotency_key).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(mei.message("Hi Mei, this is Ana.").await["delivery"]["idempotency_key"], keys[0].as_str());
    assert_eq!(world.gateway.shown_to(MEI).len(), 1);
}

async fn two_ids_of_one_contact_are_one_conversation(world: &World) {
    let seconds = world.now().0 / 1_000;
    // Which of the two comes first must not matter: the provider tells both only at times.
    for (n, is_told_first) in [(1, false), (2, true)] {
        let (phone, hidden) = (format!("658000000{n}@c.us"), format!("10000000000000{n}@lid"));
        let both = |id: &str| {
            let mut body = green_api::incoming(&hidden, id, seconds, "Hi");
            body["senderData"]["sender"] = json!(phone);
            body
        };
        let one = |id: &str| green_api::incoming(&phone, id, seconds, "Hi");
        let bodies = if is_told_first { [both("M1"), one("M2")] } else { [one("M1"), both("M2")] };
        for body in &bodies {
            assert_eq!(world.webhook(body).await, "accepted");
        }
        let found = world.get("/api/v1/conversations").await;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(n), "{found}");
    }
}

async fn a_key_is_of_one_token_though_two_act_as_one_agent(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    let path = mei.path("messages").await;
    let bot = json!({ "name": "Bot", "email": "bot@example.com", "role": "agent" });
    let bot = world.ask("POST", "/api/v1/agents", Some(bot)).await.body["id"].clone();
    let mut tools = Vec::new();
    for name in ["till", "stock"] {
        let wanted = json!({ "name": name, "role": "agent", "agent_id": bot });
        let made = world.ask("POST", "/api/v1/tokens", Some(wanted)).await;
        tools.push(made.body["token"].as_str().expect("a token").to_owned());
    }
    let say = async |token: &str, text: &str| {
        let mut request =
            world.request("POST", &path, Some(json!({ "text": text }))).build().expect("a request");
        let bearer = format!("Bearer {token}").parse().expect("a header");
        request.headers_mut().insert("authorization", bearer);
        request.headers_mut().insert("idempotency-key", "order-4711".parse().expect("a header"));
        world.execute(request).await
    };
    let first = say(&tools[0], "It is paid.").await;
    let other = say(&tools[1], "It is on its way.").await;
    assert_eq!((first.status, other.status), (202, 202), "{other:?}");
    let again = say(&tools[0], "It is paid.").await;
    assert_eq!((again.status, &again.body["id"]), (202, &first.body["id"]));
    assert_eq!(say(&tools[0], "It is not paid.").await.status, 422);
    world.drain().await;
    assert_eq!(world.gateway.posts().len(), 2);
}
