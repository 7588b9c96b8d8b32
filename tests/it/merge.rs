//! Whom the provider knows under two ids is one person: one conversation, one who answers, from the moment it shows it.

use baton::flow::generator::{FailureKind, Line};
use serde_json::{Value, json};

use crate::world::{Answer, Chat, Step, World, green_api, on_both_stores};

on_both_stores!(
    two_that_have_begun_become_one,
    what_is_under_way_in_the_later_one_ends_there,
    what_the_later_one_has_said_is_known_afterwards,
    whoever_has_the_later_one_open_works_on_the_one_that_stays,
    what_is_read_in_the_later_one_is_read_there,
    who_waits_for_a_person_is_not_lost_with_the_later_one,
    three_ids_of_one_person_are_one_conversation,
    what_was_given_up_in_the_later_one_can_be_put_away,
    those_that_have_met_are_erased_together,
    a_hidden_id_that_is_named_for_two_numbers_makes_nobody_one,
    all_of_a_person_is_erased,
    what_the_later_one_is_labelled_with_is_on_the_one_that_stays,
);

pub(crate) const PHONE: &str = "6580000001@c.us";
pub(crate) const HIDDEN: &str = "100000000000001@lid";

/// They write under the one id, and the provider shows the other as well.
pub(crate) async fn shows_both(chat: &Chat<'_>, other: &str, id: &str, text: &str) -> &'static str {
    let mut body = green_api::incoming(chat.id, id, chat.world.now().0 / 1_000, text);
    body["senderData"]["sender"] = json!(other);
    chat.world.webhook(&body).await
}

/// Both have begun, and were answered.
pub(crate) async fn both_begin(world: &World) -> (Chat<'_>, Chat<'_>) {
    let (first, second) = (world.chat(PHONE), world.chat(HIDDEN));
    for (chat, id) in [(&first, "M1"), (&second, "M2")] {
        world.assistant_says("Hello!");
        chat.writes(id, "Hi").await;
        world.after(3_000).await;
    }
    (first, second)
}

pub(crate) async fn by_id(world: &World, conversation: &Value) -> Value {
    world.get(&format!("/api/v1/conversations/{}", conversation["id"].as_str().expect("an id"))).await
}

async fn two_that_have_begun_become_one(world: &World) {
    let (first, second) = both_begin(world).await;
    let (stays, goes) = (first.conversation().await, second.conversation().await);
    assert_ne!(stays["id"], goes["id"]);
    assert_eq!((&stays["merged_into"], &goes["merged_into"]), (&Value::Null, &Value::Null));

    world.assistant_says("Here are two condos.");
    assert_eq!(shows_both(&second, PHONE, "M3", "Show me condos").await, "accepted");
    world.after(3_000).await;
    let asked = world.assistant.requests().pop().expect("it was asked");
    let contact = |text: &str| Line::Contact(text.into());
    let both = [contact("Hi"), Line::Assistant("Hello!".into())];
    let lines = [&both[..], &both[..], &[contact("Show me condos")]].concat();
    assert_eq!(asked.lines, lines, "what was said under the other id is not forgotten");
    let goes = by_id(world, &goes).await;
    assert_eq!((&goes["merged_into"], &goes["status"]), (&stays["id"], &json!("closed")));
    for chat in [&first, &second] {
        let found = chat.conversation().await;
        assert_eq!((&found["id"], &found["chat_id"]), (&stays["id"], &json!(PHONE)), "{}", chat.id);
        assert_eq!(found["aliases"], json!([HIDDEN]));
    }
    second.writes("M4", "Thanks").await;
    first
        .reads(
            "
            contact: Hi [answered]
            assistant: Hello! [sent]
            contact: Show me condos [answered]
            assistant: Here are two condos. [sent]
            contact: Thanks [pending]
            = AI 1, rollout
            = the phone shows: Hello! | Here are two condos.
            ",
        )
        .await;
    assert_eq!(world.gateway.shown_to(HIDDEN).len(), 1, "what was said before");
    world.assistant_says("You are welcome.");
    world.after(3_000).await;
    for (conversation, says) in [(&stays, "merged"), (&goes, "merged_into")] {
        let path = format!(
            "/api/v1/conversations/{}/timeline?type=conversation_updated",
            conversation["id"].as_str().expect("an id")
        );
        let told = world.get(&path).await;
        let merged: Vec<&Value> = told["items"].as_array().expect("a list").iter().collect();
        let merged = merged.into_iter().filter(|event| event["action"] == "merged").collect::<Vec<_>>();
        assert_eq!(merged.len(), 1, "{told}");
        let other = if says == "merged" { &goes["id"] } else { &stays["id"] };
        assert_eq!(&merged[0]["details"][says], other, "{told}");
    }
}

async fn what_is_under_way_in_the_later_one_ends_there(world: &World) {
    let (first, second) = both_begin(world).await;
    let reply = world.assistant_holds("Here are two condos.");
    second.writes("M3", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    let goes = second.conversation().await;
    assert_eq!((&goes["chat_id"], &goes["merged_into"]), (&json!(HIDDEN), &Value::Null), "it waits");
    world.assistant.add(Step::says("Good to know."));
    reply.release();
    world.drain().await;
    world.after(3_000).await;
    assert_eq!(second.conversation().await["id"], first.conversation().await["id"]);
    assert_eq!(by_id(world, &goes).await["merged_into"], first.conversation().await["id"]);
    let shown = |chat: &Chat<'_>| {
        let shown = world.gateway.shown_to(chat.id);
        shown.into_iter().map(|post| post.text).collect::<Vec<_>>()
    };
    assert_eq!(shown(&second), ["Hello!", "Here are two condos."]);
    assert_eq!(shown(&first), ["Hello!", "Good to know."]);
}

async fn what_the_later_one_has_said_is_known_afterwards(world: &World) {
    let (first, second) = both_begin(world).await;
    second.phone_writes("P1", "This is Ana.").await;
    second.release().await;
    let goes = second.conversation().await;
    let sent = second.message("Hello!").await["provider_message_id"].clone();
    let sent = sent.as_str().expect("it was sent").to_owned();
    world.assistant_says("Yes?");
    assert_eq!(shows_both(&second, PHONE, "M3", "It is me").await, "accepted");
    world.after(3_000).await;
    assert_eq!(by_id(world, &goes).await["status"], "closed");
    // All of it comes late, or again: as webhooks, or from the journal.
    assert_eq!(second.echoes(&sent, "Hello!").await, "accepted");
    assert_eq!(second.reports(&sent, "read").await, "accepted");
    assert_eq!(second.phone_writes("P1", "This is Ana.").await, "duplicate");
    assert_eq!(second.writes("M2", "Hi").await, "duplicate");
    assert_eq!(second.edits("M2", "Hi!").await, "accepted");
    world.after(60_000).await;
    assert_eq!(first.conversation().await["mode"], "AI", "nobody has taken over");
    let messages =
        world.get(&format!("/api/v1/conversations/{}/messages", goes["id"].as_str().expect("an id"))).await;
    let messages = messages["items"].as_array().expect("a list").clone();
    let texts: Vec<&str> = messages.iter().rev().filter_map(|message| message["text"].as_str()).collect();
    assert_eq!(texts, ["Hi!", "Hello!", "This is Ana."]);
    assert!(messages[1]["delivery"]["read_at"].is_string(), "{}", messages[1]);
}

async fn whoever_has_the_later_one_open_works_on_the_one_that_stays(world: &World) {
    let (first, second) = both_begin(world).await;
    let (stays, goes) = (first.conversation().await, second.conversation().await);
    let below = |rest: &str| format!("/api/v1/conversations/{}/{rest}", goes["id"].as_str().expect("an id"));
    world.assistant_says("Yes?");
    shows_both(&second, PHONE, "M3", "It is me").await;
    world.after(3_000).await;
    let receipt = world.ask("PUT", &below("mode"), Some(json!({ "mode": "HUMAN" }))).await;
    assert_eq!((receipt.status, &receipt.body["conversation_id"]), (200, &stays["id"]), "{receipt:?}");
    let said = world.ask("POST", &below("messages"), Some(json!({ "text": "This is Ana." }))).await;
    assert_eq!(said.status, 202, "{said:?}");
    world.drain().await;
    let last = first.messages().await.pop().expect("a message");
    assert_eq!((&last["text"], &last["delivery"]["state"]), (&json!("This is Ana."), &json!("sent")));
    assert_eq!(by_id(world, &goes).await["mode"], "AI", "nothing changes there any more");
    let stale = json!({ "mode": "AI", "expected_version": 1 });
    let stale = world.ask("PUT", &below("mode"), Some(stale)).await;
    assert_eq!((stale.status, &stale.body["current"]["id"]), (409, &stays["id"]), "{stale:?}");
    let note = world.ask("POST", &below("notes"), Some(json!({ "text": "Be quick" }))).await;
    assert_eq!((note.status, &note.body["conversation_id"]), (201, &stays["id"]), "{note:?}");
    first.release().await;
    world.drain().await;
    let due = json!({ "delay_ms": 3_600_000, "text": "Still there?" });
    let due = world.request("PUT", &below("follow-up"), Some(due)).send().await.expect("an answer");
    assert_eq!(due.status(), 201);
    let location = due.headers()["location"].to_str().expect("text").to_owned();
    assert_eq!(world.get(&location).await["conversation_id"], stays["id"], "{location}");
}

async fn what_is_read_in_the_later_one_is_read_there(world: &World) {
    let (first, second) = both_begin(world).await;
    first.take_over().await;
    let goes = second.conversation().await;
    assert_eq!(goes["unread"], 1);
    shows_both(&second, PHONE, "M3", "It is me").await;
    world.after(3_000).await;
    for n in 4..8 {
        first.writes(&format!("M{n}"), "Hello?").await;
    }
    let merged = by_id(world, &goes).await;
    assert_eq!(
        (merged["merged_into"].is_string(), &merged["unread"]),
        (true, &json!(0)),
        "it waits elsewhere"
    );
    let unread = async || first.conversation().await["unread"].clone();
    let before = unread().await;
    assert!(before.as_i64() >= Some(5), "{before}");
    let read = format!("/api/v1/conversations/{}/read", goes["id"].as_str().expect("an id"));
    for (method, body, of_its_own) in
        [("DELETE", None, 1), ("POST", Some(json!({ "seq": 2 })), 0), ("POST", None, 0)]
    {
        assert!(world.ask(method, &read, body).await.status < 300);
        assert_eq!(by_id(world, &goes).await["unread"], of_its_own, "{method}");
        assert_eq!(unread().await, before, "{method}: nobody has read what was said there");
    }
    for (method, body, left) in
        [("POST", None, 0), ("POST", Some(json!({ "seq": 1 })), 0), ("DELETE", None, 1)]
    {
        let late = body.is_some();
        assert!(first.ask(method, "read", body).await.status < 300);
        assert_eq!(unread().await, left, "{method}, late: {late}");
    }
}

async fn who_waits_for_a_person_is_not_lost_with_the_later_one(world: &World) {
    let (first, second) = both_begin(world).await;
    second.take_over().await;
    second.writes("M3", "Please call me").await;
    assert_eq!(shows_both(&first, HIDDEN, "M4", "It is me").await, "accepted");
    let stays = first.conversation().await;
    assert_eq!((&stays["mode"], &stays["attention"]["reason"]), (&json!("HUMAN"), &json!("unanswered")));
}

async fn what_was_given_up_in_the_later_one_can_be_put_away(world: &World) {
    let (first, second) = both_begin(world).await;
    world.assistant.add(Step::fails(FailureKind::Refused));
    second.writes("M3", "What does it cost?").await;
    world.after(3_000).await;
    world.assistant_says("Yes?");
    shows_both(&second, PHONE, "M4", "It is me").await;
    assert_eq!(first.conversation().await["attention"]["reason"], "ai_failure", "it is not forgotten");
    world.after(3_000).await;
    let letters = world.get("/api/v1/dead-letters").await;
    let letter = format!("/api/v1/dead-letters/{}", letters["items"][0]["id"].as_str().expect("an id"));
    let replayed = world.ask("POST", &format!("{letter}/retry"), None).await;
    assert_eq!((replayed.status, &replayed.body["code"]), (409, &json!("not_retryable")), "{replayed:?}");
    assert_eq!(world.ask("DELETE", &letter, None).await.status, 204);
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], json!([]));
}

async fn three_ids_of_one_person_are_one_conversation(world: &World) {
    let third = "300000000000003@lid";
    let (first, second) = both_begin(world).await;
    let last = world.chat(third);
    world.assistant_says("Hello!");
    last.writes("M3", "Hi").await;
    world.after(3_000).await;
    let goes = second.conversation().await;
    // The two later ones first, by way of the number that has begun last of all.
    let between = world.chat("6580000009@c.us");
    world.assistant_says("Hello!");
    between.writes("M4", "Hi").await;
    world.after(3_000).await;
    for (chat, other) in [(&last, between.id), (&second, between.id), (&second, first.id)] {
        world.assistant_says("Yes.");
        shows_both(chat, other, &format!("{} {other}", chat.id), "Still me").await;
        world.after(3_000).await;
    }
    let stays = first.conversation().await;
    for chat in [&first, &second, &last, &between] {
        assert_eq!(chat.conversation().await["id"], stays["id"], "{}", chat.id);
    }
    assert_eq!(by_id(world, &goes).await["merged_into"], stays["id"]);
    assert_eq!(last.writes("M3", "Hi").await, "duplicate", "known through two of them");
    assert_eq!(stays["aliases"].as_array().map(Vec::len), Some(3));
}

/// Both have begun and have met, and a send of unknown fate in the later one keeps them two.
pub(crate) async fn two_that_wait(world: &World) -> (Chat<'_>, Chat<'_>) {
    let (first, second) = both_begin(world).await;
    world.gateway.answers(Answer::LostBefore);
    second.agent_says("This is Ana.").await;
    world.drain().await;
    assert_eq!(shows_both(&first, HIDDEN, "M3", "It is me").await, "accepted");
    assert_ne!(first.conversation().await["id"], second.conversation().await["id"]);
    assert_eq!(first.conversation().await["mode"], "HUMAN");
    (first, second)
}

async fn those_that_have_met_are_erased_together(world: &World) {
    let (first, second) = two_that_wait(world).await;
    for chat in [&first, &second] {
        // Whichever of the two is named, and both at once.
        let conversation = chat.conversation().await;
        let Some(id) = conversation["id"].as_str() else { continue };
        let path = format!("/api/v1/conversations/{id}?confirm={}", chat.id);
        assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    }
    for words in [&PHONE[..10], &HIDDEN[..15], "This is Ana"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
    }
    assert_eq!(second.conversation().await, Value::Null);
    // What was on its way comes back, and begins nothing.
    assert_eq!(second.echoes("LATE", "This is Ana.").await, "ignored");
    assert_eq!(second.conversation().await, Value::Null);
}

async fn a_hidden_id_that_is_named_for_two_numbers_makes_nobody_one(world: &World) {
    let (mei, tom) = (world.chat(PHONE), world.chat("6580000002@c.us"));
    for chat in [&mei, &tom] {
        world.gateway.knows_as_one(chat.id, HIDDEN);
        chat.writes("M1", "Hi").await;
        chat.agent_says("This is Ana.").await;
        world.after(60_000).await;
    }
    assert_ne!(mei.conversation().await["id"], tom.conversation().await["id"]);
    assert_eq!(mei.conversation().await["aliases"], json!([HIDDEN]), "whoever was first");
    assert_eq!(tom.conversation().await["aliases"], json!([]));
    // Nor where they begin on the phone.
    let eve = world.chat("6580000003@c.us");
    world.gateway.knows_as_one(eve.id, HIDDEN);
    assert_eq!(eve.phone_writes("P1", "Hello Eve").await, "accepted");
    assert_eq!(eve.conversation().await["aliases"], json!([]));
    assert_eq!(world.gateway.shown_to(mei.id).len(), 1);
}

async fn all_of_a_person_is_erased(world: &World) {
    for (n, by_the_later) in [(1, false), (2, true)] {
        let (phone, hidden) = (format!("658000000{n}@c.us"), format!("10000000000000{n}@lid"));
        let (first, second) = (world.chat(&phone), world.chat(&hidden));
        for (chat, id) in [(&first, "M1"), (&second, "M2")] {
            world.assistant_says("Secret hello!");
            chat.writes(id, "Hi, it is my secret").await;
            world.after(3_000).await;
        }
        let goes = second.conversation().await;
        world.assistant_says("Secret yes.");
        shows_both(&second, &phone, "M3", "More secrets").await;
        world.after(3_000).await;
        let erased = if by_the_later { goes } else { first.conversation().await };
        let path = format!(
            "/api/v1/conversations/{}?confirm={}",
            erased["id"].as_str().expect("an id"),
            erased["chat_id"].as_str().expect("a chat")
        );
        assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
        for words in [&phone[..10], &hidden[..15], "secret"] {
            assert_eq!(world.finds(words).await, [""; 0], "{words}");
        }
        // Late, and under the other id.
        assert_eq!(first.writes("M2", "Hi, it is my secret").await, "ignored");
        assert_eq!(second.writes("M1", "Hi, it is my secret").await, "ignored");
        assert_eq!(first.conversation().await, Value::Null);
    }
}

async fn what_the_later_one_is_labelled_with_is_on_the_one_that_stays(world: &World) {
    let (first, second) = both_begin(world).await;
    for name in ["VIP", "angry", "late"] {
        let made = world.ask("POST", "/api/v1/labels", Some(json!({ "name": name }))).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
    for (chat, labels) in [(&first, json!(["angry", "VIP"])), (&second, json!(["late", "VIP"]))] {
        let path = chat.path("").await;
        let body = json!({ "labels": labels });
        assert_eq!(world.ask("PATCH", path.trim_end_matches('/'), Some(body)).await.status, 200);
    }
    world.assistant_says("Here are two condos.");
    shows_both(&second, PHONE, "M3", "Show me condos").await;
    world.after(3_000).await;
    assert_eq!(first.conversation().await["labels"], json!(["angry", "late", "VIP"]));
    let told = world.get(&first.path("timeline?type=conversation_updated&order=desc").await).await;
    let labelled = told["items"].as_array().expect("a list").iter().find(|it| it["action"] == "labelled");
    let labelled = labelled.expect("it is told");
    assert_eq!((&labelled["actor"], &labelled["details"]["added"]), (&json!("system"), &json!(["late"])));
}
