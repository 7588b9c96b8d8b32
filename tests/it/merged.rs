//! What is asked of a conversation that was merged, and what it leaves behind, goes on in the one that stays.

use serde_json::{Value, json};

use crate::{
    merge::{HIDDEN, PHONE, both_begin, by_id, shows_both},
    world::{Chat, Reply, World, answered, on_both_stores},
};

on_both_stores!(
    what_a_person_has_set_in_the_later_one_goes_on,
    a_send_that_is_reported_failed_afterwards_calls_a_person_where_it_goes_on,
    a_draft_that_is_asked_for_by_the_later_one_is_made_shown_and_sent_where_it_goes_on,
    a_request_that_is_repeated_afterwards_answers_as_the_first_did,
    a_batch_shows_what_it_has_changed_where_it_goes_on,
    what_the_contact_edits_in_the_later_one_counts_where_it_goes_on,
);

/// Both have begun and become one; the later as it was.
async fn merged(world: &World) -> (Chat<'_>, Chat<'_>, Value) {
    let (first, second) = both_begin(world).await;
    let goes = second.conversation().await;
    become_one(world, &second).await;
    (first, second, goes)
}

async fn become_one(world: &World, second: &Chat<'_>) {
    world.assistant_says("Yes?");
    assert_eq!(shows_both(second, PHONE, "M3", "It is me").await, "accepted");
    world.after(3_000).await;
}

fn below(conversation: &Value, rest: &str) -> String {
    format!("/api/v1/conversations/{}{rest}", conversation["id"].as_str().expect("an id"))
}

async fn under_key(world: &World, path: &str, body: Option<Value>) -> Reply {
    answered(world.request("POST", path, body).header("Idempotency-Key", "K1")).await
}

async fn what_a_person_has_set_in_the_later_one_goes_on(world: &World) {
    let (first, second) = both_begin(world).await;
    let ana = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let ana = world.ask("POST", "/api/v1/agents", Some(ana)).await.body;
    first.take_over().await;
    second.switch(json!({ "mode": "HUMAN", "note": "She haggles." })).await;
    let change = json!({ "assignee": ana["id"], "drafting": true });
    let changed = world.ask("PATCH", &below(&second.conversation().await, ""), Some(change)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    let stays = first.conversation().await;
    assert_eq!((&stays["assignee"]["name"], &stays["drafting"]), (&json!("Ana"), &json!(true)));
    let told = world.get(&first.path("timeline?type=conversation_updated").await).await;
    let told: Vec<(&Value, &Value)> =
        told["items"].as_array().expect("a list").iter().map(|it| (&it["action"], &it["actor"])).collect();
    for action in ["assigned", "drafting"] {
        assert!(told.contains(&(&json!(action), &json!("system"))), "{action}: {told:?}");
    }
    world.assistant_says("Yes?");
    first.switch(json!({ "mode": "AI", "answer_now": true })).await;
    world.drain().await;
    let asked = format!("{:?}", world.assistant.requests().pop().expect("it was asked").lines);
    assert!(asked.contains("She haggles."), "{asked}");
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

async fn a_draft_that_is_asked_for_by_the_later_one_is_made_shown_and_sent_where_it_goes_on(world: &World) {
    let (first, _, goes) = merged(world).await;
    let stays = first.conversation().await;
    let asked = world.ask("POST", &below(&goes, "/drafts"), None).await;
    assert_eq!((asked.status, &asked.body["conversation_id"]), (202, &stays["id"]), "{asked:?}");
    world.assistant_says("Two condos.");
    world.after(3_000).await;
    let draft = first.drafts().await.swap_remove(0);
    assert_eq!(draft["id"], asked.body["draft_id"]);
    let path = below(&goes, &format!("/drafts/{}", draft["id"].as_str().expect("an id")));
    let (sent, again) = (
        under_key(world, &format!("{path}/send"), None).await,
        under_key(world, &format!("{path}/send"), None).await,
    );
    for reply in [&sent, &again] {
        assert_eq!((reply.status, &reply.body["conversation_id"]), (202, &stays["id"]), "{reply:?}");
        assert_eq!((&reply.body["id"], &reply.body["draft"]["id"]), (&sent.body["id"], &draft["id"]));
    }
    world.drain().await;
    let said = world.gateway.shown_to(PHONE).into_iter().filter(|post| post.text == "Two condos.").count();
    assert_eq!(said, 1);
    for (method, path) in [("POST", format!("{path}/send")), ("DELETE", path)] {
        let refused = world.ask(method, &path, None).await;
        assert_eq!((refused.status, &refused.body["code"]), (409, &json!("already_sent")), "{refused:?}");
        assert_eq!(refused.body["current"]["conversation_id"], stays["id"], "{refused:?}");
    }
}

async fn a_request_that_is_repeated_afterwards_answers_as_the_first_did(world: &World) {
    let (first, second) = both_begin(world).await;
    let goes = second.conversation().await;
    let path = below(&goes, "/messages");
    let body = || Some(json!({ "text": "This is Ana." }));
    let said = under_key(world, &path, body()).await;
    assert_eq!((said.status, &said.body["conversation_id"]), (202, &goes["id"]), "{said:?}");
    world.drain().await;
    second.release().await;
    become_one(world, &second).await;
    assert_eq!(by_id(world, &goes).await["merged_into"], first.conversation().await["id"]);
    let again = under_key(world, &path, body()).await;
    assert_eq!(again.status, 202, "{again:?}");
    for field in ["id", "conversation_id", "seq", "text"] {
        assert_eq!(again.body[field], said.body[field], "{field}");
    }
    assert_eq!(first.conversation().await["mode"], "AI", "a repeat never takes over");
}

async fn a_batch_shows_what_it_has_changed_where_it_goes_on(world: &World) {
    let (first, _, goes) = merged(world).await;
    let stays = first.conversation().await;
    let batch = async |ids: &[&Value], set: Value| {
        let body = json!({ "ids": ids, "set": set });
        let reply = world.ask("POST", "/api/v1/conversations/batch", Some(body)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body["items"].as_array().expect("a list").clone()
    };
    let items = batch(&[&goes["id"], &stays["id"]], json!({ "contact": { "name": "Mei Ling" } })).await;
    for (item, asked) in items.iter().zip([&goes, &stays]) {
        assert_eq!((&item["id"], &item["status"]), (&asked["id"], &json!(200)), "{item}");
        let shown = &item["conversation"];
        assert_eq!((&shown["id"], &shown["contact"]["name"]), (&stays["id"], &json!("Mei Ling")), "{item}");
    }
    let past = json!({ "status": "snoozed", "snoozed_until": world.now().plus_ms(-1).to_string() });
    let refused = &batch(&[&goes["id"]], past).await[0];
    let fault = &refused["problem"]["errors"][0]["pointer"];
    assert_eq!((&refused["status"], fault), (&json!(400), &json!("/set/snoozed_until")), "{refused}");
}

async fn what_the_contact_edits_in_the_later_one_counts_where_it_goes_on(world: &World) {
    let (first, second, _) = merged(world).await;
    let due = json!({ "delay_ms": 3_600_000, "text": "Still there?" });
    let scheduled = first.ask("PUT", "follow-up", Some(due)).await;
    assert_eq!(scheduled.status, 201, "{scheduled:?}");
    assert_eq!(second.edits("M2", "Hi there").await, "accepted");
    let stays = first.conversation().await;
    assert_eq!((&stays["follow_up"], &stays["opted_out"]), (&Value::Null, &json!(false)));
    assert_eq!(second.edits("M2", "stop").await, "accepted");
    assert_eq!(first.conversation().await["opted_out"], true);
}
