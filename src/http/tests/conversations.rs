use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{ADMIN, NOW, World, fakes, idempotent::under_key, request};
use crate::{
    domain::{
        chat::ChatId,
        conversation::Lease,
        event::EventType,
        message::{Kind, Quoted, Sender},
    },
    flow::{
        archive::{Overview, Placed, Said},
        back_office::registry::Role,
        desk::Refusal,
    },
    http::ports::Secret,
};

#[tokio::test]
async fn a_conversation_is_shown_as_the_contract_has_it() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let wanted = json!({
        "id": id.to_string(), "channel": "default", "chat_id": "6580000001@c.us",
        "contact": { "name": null, "phone": "+6580000001" },
        "mode": "AI", "mode_version": 1, "mode_reason": "rollout", "mode_actor": "system",
        "mode_changed_at": NOW.to_string(), "mode_until": null, "drafting": false, "status": "open",
        "assignee": null, "labels": [], "unread": 0, "waiting_since": null, "attention": null,
        "activity": "idle", "activity_since": null, "activity_owner": null, "queue": { "inbox": 0, "outbox": 0 },
        "aliases": [], "merged_into": null, "follow_up": null, "snoozed_until": null, "opted_out": false, "last_message": null,
        "created_at": NOW.to_string(), "updated_at": NOW.to_string(),
    });
    assert_eq!(world.get(&format!("/api/v1/conversations/{id}")).await.json(), wanted);
    assert_eq!(
        world.get("/api/v1/conversations?attention=true&limit=200&chat_id=6580000001%40c.us").await.json(),
        json!({ "items": [wanted], "next_cursor": null })
    );
}

#[tokio::test]
async fn what_goes_on_is_told_from_the_lease_and_the_queues() {
    let world = World::new();
    let activity = async |change: fn(&mut Overview)| {
        let mut overview = fakes::overview(fakes::conversation("default", "6580000001@c.us"));
        change(&mut overview);
        let id = world.shelf.put(overview);
        let shown = world.get(&format!("/api/v1/conversations/{id}")).await.json();
        (shown["activity"].clone(), shown["activity_owner"].clone())
    };
    let lease = |it: &mut Overview, ms| {
        let (owner, turn) = ("host-1".to_owned(), Uuid::now_v7());
        it.conversation.lease = Some(Lease { owner, turn, until: NOW.plus_ms(ms) });
    };
    let none = Value::Null;
    assert_eq!(activity(|it| it.inbox = 1).await, (json!("waiting"), none.clone()));
    assert_eq!(activity(|it| (it.inbox, it.queued) = (1, 1)).await, (json!("sending"), none.clone()));
    assert_eq!(activity(|it| it.sending = 1).await, (json!("sending"), none.clone()));
    let mut held = fakes::overview(fakes::conversation("default", "6580000002@c.us"));
    lease(&mut held, 1);
    let id = world.shelf.put(held);
    let shown = world.get(&format!("/api/v1/conversations/{id}")).await.json();
    assert_eq!((&shown["activity"], &shown["activity_owner"]), (&json!("generating"), &json!("host-1")));
    assert!(shown["activity_since"].is_string());
    let mut left = fakes::overview(fakes::conversation("default", "6580000003@c.us"));
    lease(&mut left, 0);
    let id = world.shelf.put(left);
    assert_eq!(world.get(&format!("/api/v1/conversations/{id}")).await.json()["activity"], "idle");
}

#[tokio::test]
async fn messages_are_paged_and_quotes_among_them_are_named() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let first = fakes::message(1, "one");
    let mut third = fakes::message(3, "three");
    third.quoted = Some(Quoted { provider_message_id: "P1".to_owned(), text: "forged".to_owned() });
    for message in [first.clone(), fakes::message(2, "two"), third] {
        let chat = crate::domain::chat::ChatId::parse("6580000001@c.us").expect("a chat");
        let placed = Placed { conversation: id, channel: "default".to_owned(), chat, message };
        world.shelf.messages.lock().unwrap().push(placed);
    }
    let path = format!("/api/v1/conversations/{id}/messages");
    let all = world.get(&path).await.json();
    assert_eq!(all["next_cursor"], Value::Null);
    let quoted = json!({ "message_id": first.id.to_string(), "author": "contact", "text": "one" });
    assert_eq!(all["items"][0]["quoted"], quoted);
    assert_eq!(
        (&all["items"][2]["outcome"], &all["items"][2]["delivery"]),
        (&json!("pending"), &Value::Null)
    );
    assert_eq!(world.get(&format!("{path}?limit=2")).await.json()["next_cursor"], "2");
    assert_eq!(world.get(&format!("{path}?before=2&after=1")).await.status, 400);
    assert_eq!(world.get(&format!("{path}?cursor=x")).await.pointer(), "/cursor");
}

#[tokio::test]
async fn a_message_shows_what_stands_of_the_reactions_to_it() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let said = fakes::message(1, "one");
    let reacted = |seq: i64, who: &str, text: &str| {
        let mut reaction = fakes::message(seq, text);
        reaction.kind = Kind::Reaction;
        reaction.sender = Some(Sender { id: who.to_owned(), name: String::new() });
        reaction.quoted = Some(Quoted { provider_message_id: "P1".to_owned(), text: String::new() });
        reaction
    };
    let reactions = [
        reacted(2, "mei", "[reacted 😀]"),
        reacted(3, "tom", "[reacted 👍 to \"one\"]"),
        reacted(4, "mei", "[reacted 🙏]"),
        reacted(5, "ann", "[reacted 👍]"),
        reacted(6, "ann", "[reaction removed]"),
    ];
    for message in std::iter::once(said.clone()).chain(reactions) {
        let chat = ChatId::parse("6580000001@c.us").expect("a chat");
        let placed = Placed { conversation: id, channel: "default".to_owned(), chat, message };
        world.shelf.messages.lock().unwrap().push(placed);
    }
    let wanted = json!([
        { "emoji": "👍", "author": "contact", "at": NOW.to_string() },
        { "emoji": "🙏", "author": "contact", "at": NOW.to_string() },
    ]);
    let list = world.get(&format!("/api/v1/conversations/{id}/messages")).await.json();
    assert_eq!(list["items"][5]["reactions"], wanted);
    assert_eq!(list["items"][0]["quoted"]["message_id"], said.id.to_string());
    let one = world.get(&format!("/api/v1/messages/{}", said.id)).await.json();
    assert_eq!(one["reactions"], wanted);

    let mut event = fakes::event("default", EventType::MessageReceived);
    event.message = Some(said.id);
    world.shelf.events.lock().unwrap().push(event);
    let told = world.get("/api/v1/events?include=message").await.json();
    assert_eq!(told["items"][0]["message"]["reactions"], wanted);
}

#[tokio::test]
async fn a_switch_answers_with_its_receipt() {
    let world = World::new();
    world.house.webhook_tokens.lock().unwrap().push(("default".to_owned(), Secret("x".to_owned())));
    let path = "/api/v1/channels/default/chats/6580000001@c.us/mode";
    let reply = world.ask("PUT", path, Some(json!({ "mode": "HUMAN" }))).await;
    assert_eq!(world.clerk.heard(), ["default/6580000001@c.us to HUMAN by environment"]);
    let mut receipt = reply.json();
    assert_ne!(receipt["conversation_id"].take(), Value::Null);
    let wanted = json!({
        "conversation_id": null, "mode": "HUMAN", "mode_version": 2, "changed": true,
        "generation_cancelled": true, "parts_already_sent": 1, "parts_discarded": 2, "follow_up_cancelled": true,
        "settled": true, "in_flight": [], "at_provider": [], "generation_ms": 1800, "answering": false,
        "mode_until": null, "assignee": null,
    });
    assert_eq!(receipt, wanted);
    assert_eq!(
        world
            .ask("PUT", "/api/v1/channels/other/chats/1@c.us/mode", Some(json!({ "mode": "AI" })))
            .await
            .status,
        404
    );
    let nonsense =
        world.ask("PUT", "/api/v1/channels/default/chats/1/mode", Some(json!({ "mode": "AI" }))).await;
    assert_eq!(nonsense.pointer(), "/chat_id");
}

#[tokio::test]
async fn a_conflict_shows_the_conversation_as_it_is() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let stale = json!({ "mode": "HUMAN", "expected_version": 4 });
    let reply = world.ask("PUT", &format!("/api/v1/conversations/{id}/mode"), Some(stale)).await;
    assert_eq!(reply.problem(), (409, "version_conflict".to_owned()));
    assert_eq!(reply.json()["current"]["id"], id.to_string());

    let refusal = Refusal::Conflict { code: "follow_up_not_allowed", detail: "a person answers".to_owned() };
    *world.clerk.refusal.lock().unwrap() = Some(refusal);
    let path = format!("/api/v1/conversations/{id}/follow-up");
    let reply = world.ask("PUT", &path, Some(json!({ "delay_ms": 1000 }))).await;
    assert_eq!(reply.problem(), (409, "follow_up_not_allowed".to_owned()));
    assert_eq!(reply.json()["current"]["mode"], "AI");
}

#[tokio::test]
async fn a_conflict_that_cannot_be_shown_is_asked_about_again() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    world.shelf.is_away.store(true, Ordering::SeqCst);
    let stale = json!({ "mode": "HUMAN", "expected_version": 4 });
    let reply = world.ask("PUT", &format!("/api/v1/conversations/{id}/mode"), Some(stale)).await;
    assert_eq!(reply.problem(), (503, "unavailable".to_owned()));
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_its_caller_and_path() {
    let world = World::new();
    let id = Uuid::now_v7();
    let path = format!("/api/v1/conversations/{id}/messages");
    let say = |key: String| {
        let asked = request("POST", &path, Some(json!({ "text": "hello" })));
        asked
            .insert_header(("Authorization", format!("Bearer {ADMIN}")))
            .insert_header(("Idempotency-Key", key))
    };
    let reply = world.send(say("k1".to_owned())).await;
    assert_eq!(reply.status, 202);
    assert_eq!(
        (&reply.json()["text"], &reply.json()["takeover"]["settled"]),
        (&json!("hello"), &json!(true))
    );
    let heard = format!("environment says [\"hello\"] to {id} once environment {path} k1");
    assert_eq!(world.clerk.heard(), [heard]);
    assert_eq!(world.send(say(String::new())).await.status, 400);
    assert_eq!(world.send(say("k".repeat(256))).await.status, 400);
    *world.clerk.refusal.lock().unwrap() = Some(Refusal::KeyReused);
    assert_eq!(world.send(say("k1".to_owned())).await.problem(), (422, "idempotency_key_reused".to_owned()));
}

#[tokio::test]
async fn a_path_is_the_same_to_an_idempotency_key_however_it_is_written() {
    let world = World::new();
    world.house.webhook_tokens.lock().unwrap().push(("default".to_owned(), Secret("x".to_owned())));
    for chat in ["6580000001@c.us", "6580000001%40c.us", "%36580000001%40c%2eus"] {
        let path = format!("/api/v1/channels/default/chats/{chat}/messages");
        assert_eq!(under_key(&world, &path, "k1", json!({ "text": "hello" })).await.status, 202, "{chat}");
    }
    let mut heard = world.clerk.heard();
    heard.dedup();
    assert_eq!(heard.len(), 1, "{heard:?}");

    let id = Uuid::now_v7();
    for id in [id.to_string(), id.to_string().to_uppercase(), id.simple().to_string()] {
        let path = format!("/api/v1/conversations/{id}/messages");
        assert_eq!(under_key(&world, &path, "k2", json!({ "text": "hello" })).await.status, 202, "{id}");
    }
    let mut heard = world.clerk.heard();
    heard.dedup();
    assert_eq!(heard.len(), 1, "{heard:?}");
}

#[tokio::test]
async fn null_clears_and_what_is_left_out_stays() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let path = format!("/api/v1/conversations/{id}");
    let reply = world.ask("PATCH", &path, Some(json!({ "assignee": null, "attention": null }))).await;
    assert_eq!((reply.status, &reply.json()["id"]), (200, &json!(id.to_string())));
    let heard = world.clerk.heard().remove(0);
    assert!(heard.contains("assignee: Some(None)") && heard.contains("clear_attention: true"), "{heard}");
    assert!(heard.contains("status: None") && heard.contains("expected_assignee: None"), "{heard}");

    assert_eq!(world.ask("POST", &format!("{path}/read"), None).await.status, 200);
    assert_eq!(world.ask("POST", &format!("{path}/read"), Some(json!({ "seq": 3 }))).await.status, 200);
    assert_eq!(world.clerk.heard(), [format!("read {id} None"), format!("read {id} Some(3)")]);
}

#[tokio::test]
async fn whoever_has_opted_out_may_be_let_in_again_and_nobody_else_may_put_them_out() {
    let world = World::new();
    let id = world.shelf.put(fakes::overview(fakes::conversation("default", "6580000001@c.us")));
    let path = format!("/api/v1/conversations/{id}");
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "opted_out": false }))).await.status, 200);
    let heard = world.clerk.heard().remove(0);
    assert!(heard.contains("lets_follow_up: true"), "{heard}");
    let reply = world.ask("PATCH", &path, Some(json!({ "opted_out": true }))).await;
    assert_eq!(reply.problem(), (400, "invalid".to_owned()));
    assert_eq!(reply.json()["errors"][0]["pointer"], "/opted_out");
}

#[tokio::test]
async fn a_decision_about_a_message_that_came_too_late_shows_the_message_as_it_is() {
    let world = World::new();
    let chat = crate::domain::chat::ChatId::parse("6580000001@c.us").expect("a chat");
    let message = fakes::message(1, "hello");
    let id = message.id;
    let placed = Placed { conversation: Uuid::nil(), channel: "default".to_owned(), chat, message };
    world.shelf.messages.lock().unwrap().push(placed);
    let path = format!("/api/v1/messages/{id}");
    assert_eq!(world.ask("POST", &format!("{path}/retry"), None).await.status, 202);
    assert_eq!(world.ask("POST", &format!("{path}/confirm"), None).await.status, 200);
    assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    let refusal = Refusal::Conflict { code: "already_sent", detail: "it is gone".to_owned() };
    *world.clerk.refusal.lock().unwrap() = Some(refusal);
    let reply = world.ask("DELETE", &path, None).await;
    assert_eq!(reply.problem(), (409, "already_sent".to_owned()));
    assert_eq!(reply.json()["current"]["id"], id.to_string());
    let other = format!("/api/v1/messages/{}", Uuid::now_v7());
    assert_eq!(world.ask("POST", &format!("{other}/retry"), None).await.status, 404);
}

#[tokio::test]
async fn a_search_says_what_it_found_and_a_list_does_not() {
    let world = World::new();
    let said = Said { message: Uuid::now_v7(), seq: 7, snippet: "…a condo, please".to_owned() };
    let mut found = fakes::overview(fakes::conversation("default", "6580000001@c.us"));
    found.said = Some(said.clone());
    world.shelf.put(found);
    world.shelf.put(fakes::overview(fakes::conversation("default", "6580000002@c.us")));
    let items = world.get("/api/v1/conversations?q=condo").await.json()["items"].clone();
    let wanted = json!({ "message_id": said.message.to_string(), "seq": 7, "snippet": "…a condo, please" });
    assert_eq!(items[0]["match"], wanted);
    assert!(items[1]["match"].is_null() && items[1].as_object().unwrap().contains_key("match"));
    for path in ["/api/v1/conversations", "/api/v1/conversations?q=%20"] {
        let items = world.get(path).await.json()["items"].clone();
        assert!(!items[0].as_object().unwrap().contains_key("match"), "{path}");
    }
    let path = "/api/v1/conversations/counts?q=condo";
    world.admit("holder", Role::Agent, Some(fakes::HOLDER), None);
    for (token, mine) in [("holder", 2), (ADMIN, 0)] {
        for group in ["", "&group=mine", "&group=ai"] {
            let counts = world.ask_as(token, "GET", &format!("{path}{group}"), None).await.json();
            let wanted = json!({ "needs_you": 1, "mine": mine, "ai": 3, "all": 7, "unread": 4 });
            assert_eq!(counts, wanted, "{group}: each is counted");
        }
    }
}

#[tokio::test]
async fn a_person_is_erased_by_an_admin_who_names_them() {
    let world = World::new();
    let mut overview = fakes::overview(fakes::conversation("default", "6580000001@c.us"));
    overview.aliases = vec![ChatId::parse("100@lid").unwrap()];
    let id = world.shelf.put(overview);
    let path = format!("/api/v1/conversations/{id}");
    for query in ["", "?confirm=", "?confirm=6580000002@c.us", "?confirm=6580000001"] {
        let reply = world.ask("DELETE", &format!("{path}{query}"), None).await;
        assert_eq!(reply.problem(), (400, "invalid".to_owned()), "{query}");
        assert_eq!(reply.pointer(), "/confirm");
        assert!(reply.body.contains("confirm=6580000001@c.us"), "it says what is expected: {}", reply.body);
    }
    assert!(world.clerk.heard().is_empty());
    world.admit("agent-token", Role::Agent, Some(Uuid::now_v7()), None);
    world.admit("elsewhere-token", Role::Admin, None, Some(&["home"]));
    for (token, status) in [("agent-token", 403), ("elsewhere-token", 404)] {
        let asked = format!("{path}?confirm=6580000001@c.us");
        assert_eq!(world.ask_as(token, "DELETE", &asked, None).await.status, status);
    }
    for chat in ["6580000001@c.us", "100@lid"] {
        let reply = world.ask("DELETE", &format!("{path}?confirm={chat}"), None).await;
        assert_eq!((reply.status, reply.body.as_str()), (204, ""));
        assert_eq!(world.clerk.heard(), [format!("erase {id} by environment")]);
    }
    let gone = format!("/api/v1/conversations/{}?confirm=1@c.us", Uuid::now_v7());
    assert_eq!(world.ask("DELETE", &gone, None).await.status, 404);
}
