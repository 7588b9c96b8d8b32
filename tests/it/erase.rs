//! Whoever is erased is gone everywhere, does not come back by what was on its way, and may write again.

use baton::{
    domain::{chat::ChatId, policy::Groups, tool::Tool},
    flow::{forgetting::erasures::Rows, generator::FailureKind},
};
use serde_json::{Value, json};

use crate::world::{
    Answer, CHANNEL, Chat, End, Point, Step, WEBHOOK_TOKEN, World, answered, green_api, on_both_stores,
};

on_both_stores!(
    nothing_of_a_person_is_left_anywhere,
    what_is_late_of_an_erased_person_has_no_effect,
    a_new_message_of_theirs_begins_another_conversation,
    what_is_said_while_they_are_erased_is_stopped,
    a_message_that_was_on_its_way_does_not_bring_them_back,
    the_others_stay_as_they_were,
    what_they_wrote_in_a_group_is_emptied_and_the_group_goes_on,
    what_was_told_of_what_they_wrote_in_a_group_goes_too,
    their_stories_go_and_what_others_quote_of_them,
    who_wrote_among_others_alone_is_erased_by_their_number,
    whoever_knew_them_on_another_instance_does_not_revive_them,
    what_was_left_half_way_is_taken_up,
    whoever_is_cut_off_has_closed_all_of_them_or_finds_the_rest,
    of_who_erased_whom_only_the_first_is_told,
);

const MEI: &str = "6580000001@c.us";
const NUMBER: &str = "6580000001";
const TOM: &str = "6580000002@c.us";

/// Erases; the status.
async fn erase(chat: &Chat<'_>) -> u16 {
    let path = chat.path("").await;
    let path = format!("{}?confirm={}", path.trim_end_matches('/'), chat.id);
    chat.world.ask("DELETE", &path, None).await.status
}

async fn events(world: &World, query: &str) -> Vec<Value> {
    let page = world.get(&format!("/api/v1/events?limit=200&{query}")).await;
    page["items"].as_array().expect("a list").clone()
}

/// A conversation of which there is something in every table.
async fn lives(world: &World, chat: &Chat<'_>) {
    world.rules(|policy| policy.drafting = false);
    world.assistant.add(Step::says("Two condos for Mei Ling."));
    let mut named = green_api::incoming(chat.id, "M1", world.now().0 / 1_000, "Show me secret condos");
    named["senderData"]["senderName"] = json!("Mei Ling");
    assert_eq!(world.webhook(&named).await, "accepted");
    world.after(3_000).await;
    // An alias, a note, a label, a follow-up, a draft, a request under a key, a batch under a key.
    let mut hidden =
        green_api::incoming("100000000000001@lid", "M2", world.now().0 / 1_000, "More secret condos");
    hidden["senderData"]["sender"] = json!(chat.id);
    world.assistant.add(Step::fails(FailureKind::Refused));
    assert_eq!(world.webhook(&hidden).await, "accepted");
    world.after(3_000).await;
    let label = world.ask("POST", "/api/v1/labels", Some(json!({ "name": "VIP" }))).await;
    assert_eq!(label.status, 201);
    let id = chat.conversation().await["id"].clone();
    let batch = json!({ "ids": [id], "set": { "add_labels": ["VIP"] } });
    let batch =
        world.request("POST", "/api/v1/conversations/batch", Some(batch)).header("Idempotency-Key", "B1");
    assert_eq!(answered(batch).await.status, 200);
    let due = json!({ "delay_ms": 3_600_000, "text": "Still looking for secret condos?" });
    assert_eq!(chat.ask("POST", "notes", Some(json!({ "text": "A secret note" }))).await.status, 201);
    let says =
        world.request("POST", &chat.path("messages").await, Some(json!({ "text": "This is secret Ana" })));
    assert_eq!(answered(says.header("Idempotency-Key", "K1")).await.status, 202);
    world.drain().await;
    chat.release().await;
    let scheduled = chat.ask("PUT", "follow-up", Some(due)).await;
    assert_eq!(scheduled.status, 201, "{scheduled:?}");
    // A body that cannot be read.
    let torn = format!(
        r#"{{"typeWebhook":"incomingMessageReceived","senderData":{{"chatId":"{}"}},"torn":""#,
        chat.id
    );
    let reply = world.knock(CHANNEL, Some(WEBHOOK_TOKEN), torn).await;
    assert_eq!(reply.body["status"], "dead_letter");
    // Reports of what nobody knows.
    assert_eq!(chat.reports("UNKNOWN", "read").await, "ignored");
}

async fn nothing_of_a_person_is_left_anywhere(world: &World) {
    let mei = world.chat(MEI);
    lives(world, &mei).await;
    for words in [NUMBER, "100000000000001", "Mei Ling", "secret", "M1"] {
        assert!(!world.finds(words).await.is_empty(), "{words} is nowhere: this test looks for nothing");
    }
    let conversation = mei.conversation().await;
    let id = conversation["id"].as_str().expect("an id").to_owned();
    assert_eq!(erase(&mei).await, 204);
    for words in [NUMBER, "100000000000001", "Mei Ling", "secret condos"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
        assert!(!world.is_in_file(words), "{words}");
    }
    let told = ["audit.subject", "events.conversation_id"];
    let mut found = world.finds(&id).await;
    found.sort();
    assert_eq!(found, told, "but for the event, and the deed, that say so");
    for path in ["", "/messages", "/timeline", "/turns", "/drafts"] {
        let reply = world.ask("GET", &format!("/api/v1/conversations/{id}{path}"), None).await;
        assert_eq!(reply.status, 404, "{path}");
    }
    assert_eq!(mei.conversation().await, Value::Null);
    let export = world.request("GET", "/api/v1/export/messages.jsonl", None);
    assert_eq!(export.send().await.expect("an answer").text().await.expect("a body"), "");
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], json!([]));
    world.after(7_200_000).await;
    assert_eq!(world.gateway.shown_to(MEI).len(), 2, "no follow-up comes");
    let again = world.ask("DELETE", &format!("/api/v1/conversations/{id}?confirm={MEI}"), None).await;
    assert_eq!(again.status, 404);
}

async fn what_is_late_of_an_erased_person_has_no_effect(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let erased_at = world.now().0;
    assert_eq!(erase(&mei).await, 204);
    for again in [false, true] {
        assert_eq!(mei.writes("M1", "Show me condos").await, "ignored");
        assert_eq!(mei.edits("M1", "Show me houses").await, "ignored");
        assert_eq!(mei.echoes("OUT1", "Two condos.").await, "ignored");
        assert_eq!(mei.reports("OUT1", "read").await, "ignored");
        assert_eq!(mei.reports("NEVER", "read").await, "ignored");
        let unheard = green_api::incoming(MEI, "M0", erased_at / 1_000 - 60, "Anybody?");
        assert_eq!(world.webhook(&unheard).await, "ignored", "written before, and heard of only now");
        world.after(10_000).await;
        assert_eq!(mei.conversation().await, Value::Null);
        assert_eq!(world.finds(NUMBER).await, [""; 0]);
        if !again {
            world.crash().await;
        }
    }
    let ignored = events(world, "type=webhook_ignored").await;
    let erased = ignored.iter().filter(|event| event["details"]["what"] == "erased").count();
    assert_eq!((erased, ignored.len()), (10, 12), "each is counted");
}

async fn a_new_message_of_theirs_begins_another_conversation(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    let before = mei.conversation().await;
    assert_eq!(erase(&mei).await, 204);
    world.assistant_says("Two houses.");
    assert_eq!(mei.writes("M2", "Show me houses").await, "accepted");
    assert_eq!(mei.writes("M1", "Show me condos").await, "ignored", "late, and in the way of nobody");
    assert_eq!(mei.writes("M2", "Show me houses").await, "duplicate");
    world.after(3_000).await;
    mei.reads(
        "
        contact: Show me houses [answered]
        assistant: Two houses. [sent]
        * duplicate_webhook: skipped
        = AI 1, rollout
        = the phone shows: Two houses.
        ",
    )
    .await;
    assert_ne!(mei.conversation().await["id"], before["id"]);
    assert_eq!(erase(&mei).await, 204, "and is erased as the first was");
    for id in ["M1", "M2"] {
        assert_eq!(mei.writes(id, "Again").await, "ignored");
    }
    assert_eq!(mei.conversation().await, Value::Null);
}

async fn what_is_said_while_they_are_erased_is_stopped(world: &World) {
    let mei = world.chat(MEI);
    let reply = world.assistant_holds("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&reply).await;
    assert_eq!(erase(&mei).await, 204);
    reply.release();
    world.after(60_000).await;
    assert!(world.gateway.posts().is_empty());
    assert_eq!(mei.conversation().await, Value::Null);
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
}

async fn a_message_that_was_on_its_way_does_not_bring_them_back(world: &World) {
    let mei = world.chat(MEI);
    let send = world.gateway.holds();
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&send).await;
    assert_eq!(erase(&mei).await, 204, "nobody waits for the provider");
    // Its echo comes before its answer, under an id that nobody has heard of; and its answer is of no interest any more.
    assert_eq!(mei.echoes("OUT1", "Two  condos.").await, "ignored");
    send.release();
    world.drain().await;
    assert_eq!(mei.reports("OUT1", "delivered").await, "ignored");
    assert_eq!(mei.conversation().await, Value::Null);
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
    // Of unknown fate, it is the same.
    world.gateway.answers(Answer::LostAfter);
    mei.agent_says("This is Ana.").await;
    world.drain().await;
    assert_eq!(mei.message("This is Ana.").await["delivery"]["state"], "unknown");
    assert_eq!(erase(&mei).await, 204);
    assert_eq!(mei.echoes("OUT2", "This is Ana.").await, "ignored");
    assert_eq!(mei.conversation().await, Value::Null);
    // Somebody who writes something else on another system is somebody.
    assert_eq!(mei.echoes("OUT3", "From the shop's other program").await, "accepted");
    assert_eq!(mei.conversation().await["mode"], "HUMAN");
}

async fn the_others_stay_as_they_were(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    for (chat, answer) in [(&mei, "Two condos."), (&tom, "Two houses.")] {
        world.assistant_says(answer);
        // The same ids: they are of another chat.
        chat.writes("M1", "What is there?").await;
        world.after(3_000).await;
    }
    let torn = |chat: &str| format!(r#"{{"senderData":{{"chatId":"{chat}"}},"torn":""#);
    for chat in [MEI, TOM] {
        world.knock(CHANNEL, Some(WEBHOOK_TOKEN), torn(chat)).await;
    }
    let told = tom.told().await;
    assert_eq!(erase(&mei).await, 204);
    assert_eq!(tom.told().await, told);
    assert_eq!(tom.writes("M1", "What is there?").await, "duplicate");
    let letters = world.get("/api/v1/dead-letters").await["items"].clone();
    assert_eq!(letters.as_array().map(Vec::len), Some(1), "{letters}");
    assert!(letters.to_string().contains(TOM));
}

async fn what_they_wrote_in_a_group_is_emptied_and_the_group_goes_on(world: &World) {
    const GROUP: &str = "120363000000000001@g.us";
    let (mei, group) = (world.chat(MEI), world.chat(GROUP));
    mei.take_over().await;
    mei.writes("M1", "Hello").await;
    for (id, from, text) in [("G1", MEI, "I am Mei Ling"), ("G2", TOM, "I am Tom"), ("G3", MEI, "Bye")] {
        let mut body = green_api::incoming(GROUP, id, world.now().0 / 1_000, text);
        body["senderData"]["sender"] = json!(from);
        body["senderData"]["senderName"] = json!(if from == MEI { "Mei Ling" } else { "Tom" });
        assert_eq!(world.webhook(&body).await, "accepted");
    }
    assert_eq!(erase(&mei).await, 204);
    for words in [NUMBER, "Mei Ling", "Bye"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
    }
    let left: Vec<(Value, bool, bool)> = group
        .messages()
        .await
        .into_iter()
        .map(|it| (it["text"].clone(), it["sender"].is_null(), it["deleted_at"].is_null()))
        .collect();
    assert_eq!(left, [(json!(""), true, false), (json!("I am Tom"), false, true), (json!(""), true, false)]);
    // Whoever knew them here goes on from what is left; late webhooks are still known, and bring nothing back.
    assert_eq!(group.writes("G1", "I am Mei Ling").await, "duplicate");
    let picture =
        green_api::picture_saying(GROUP, "G3", world.now().0 / 1_000, "https://example.test/1", "Mei Ling");
    assert_eq!(world.webhook(&picture).await, "duplicate");
    group.edits("G1", "I am still Mei Ling").await;
    assert_eq!(group.writes("G4", "Who was that?").await, "accepted");
    assert_eq!(world.finds("Mei Ling").await, [""; 0]);
    let [erased] = events(world, "type=conversation_erased").await.try_into().expect("one event");
    assert_eq!(erased["details"]["rows"]["messages_in_groups"], 2);
}

/// Somebody writes among others, and perhaps quotes a message.
async fn among_others(world: &World, chat: &str, id: &str, from: &str, text: &str, quotes: Option<&str>) {
    let mut body = green_api::incoming(chat, id, world.now().0 / 1_000, text);
    body["senderData"]["sender"] = json!(from);
    if let Some(quoted) = quotes {
        body["messageData"]["typeMessage"] = json!("quotedMessage");
        body["messageData"]["quotedMessage"] =
            json!({ "stanzaId": quoted, "participant": MEI, "textMessage": "My secret" });
        body["messageData"]["extendedTextMessageData"] = json!({ "text": text, "stanzaId": quoted });
    }
    assert_eq!(world.webhook(&body).await, "accepted", "{id}");
}

async fn what_was_told_of_what_they_wrote_in_a_group_goes_too(world: &World) {
    const GROUP: &str = "120363000000000001@g.us";
    let book = Tool {
        name: "book".into(),
        description: "Books a table.".into(),
        parameters: serde_json::Map::new(),
        look_up: None,
    };
    world.rules(|policy| (policy.groups, policy.tools) = (Groups::Answer, [book.clone()].into()));
    let group = world.chat(GROUP);
    for (id, from, day) in [("G1", TOM, "Mondaaay"), ("G2", MEI, "Fridaaay")] {
        world.assistant.add(Step::says("It is booked.").and_calls("book", &json!({ "day": day })));
        among_others(world, GROUP, id, from, "A table, please", None).await;
        world.after(10_000).await;
    }
    world.assistant.add(Step::calls("stay_silent", &json!({ "reason": "only says Thursdaaay" })));
    among_others(world, GROUP, "G5", MEI, "I said so", None).await;
    world.after(10_000).await;
    world.assistant.add(Step::calls("hand_over", &json!({ "reason": "wants it on Saturdaaay" })));
    among_others(world, GROUP, "G3", MEI, "I want to complain", None).await;
    world.after(10_000).await;
    // Its message has not come yet.
    group.edits("G4", "On Sundaaay").await;
    for (words, column) in [
        ("Mondaaay", "events.details"),
        ("Fridaaay", "events.details"),
        ("Thursdaaay", "events.details"),
        ("Saturdaaay", "events.details"),
        ("Sundaaay", "parked.report"),
    ] {
        assert_eq!(world.finds(words).await, [column], "{words}");
    }
    let chat = ChatId::parse(MEI).expect("a chat");
    world.process().eraser().erase_traces(CHANNEL, &chat).await.expect("erased");
    for words in ["Fridaaay", "Thursdaaay", "Saturdaaay", "Sundaaay"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
    }
    let told = events(world, "type=tool_called").await;
    let told: Vec<&Value> = told.iter().map(|event| &event["details"]).collect();
    let [toms, meis] = [json!({ "day": "Mondaaay" }), Value::Null];
    assert_eq!(
        told,
        [&json!({ "tool": "book", "arguments": toms }), &json!({ "tool": "book", "arguments": meis })]
    );
    let handed = events(world, "type=conversation_updated").await;
    let handed = handed.iter().find(|event| event["action"] == "handed_over").expect("told");
    assert_eq!(handed["details"], json!({ "reason": "not said" }));
}

async fn their_stories_go_and_what_others_quote_of_them(world: &World) {
    const GROUP: &str = "120363000000000001@g.us";
    world.chat(MEI).take_over().await;
    world.chat(MEI).writes("M1", "Hello").await;
    among_others(world, "status@broadcast", "S1", MEI, "My secret story", None).await;
    among_others(world, "status@broadcast", "S2", TOM, "Tom's story", None).await;
    among_others(world, GROUP, "G1", MEI, "My secret", None).await;
    among_others(world, GROUP, "G2", TOM, "Tell nobody", Some("G1")).await;
    among_others(world, GROUP, "G3", TOM, "I said so", Some("G2")).await;
    assert_eq!(world.chat(GROUP).message("Tell nobody").await["quoted"]["text"], "My secret");
    assert_eq!(erase(&world.chat(MEI)).await, 204);
    for words in [NUMBER, "secret story"] {
        assert_eq!(world.finds(words).await, [""; 0], "{words}");
    }
    let group = world.chat(GROUP);
    assert_eq!(group.message("Tell nobody").await["quoted"], Value::Null);
    assert!(group.message("I said so").await["quoted"].is_object(), "what Tom said is Tom's");
    world.chat("status@broadcast").message("Tom's story").await;
}

async fn who_wrote_among_others_alone_is_erased_by_their_number(world: &World) {
    const GROUP: &str = "120363000000000001@g.us";
    for (id, from) in [("G1", MEI), ("G2", TOM), ("G3", MEI)] {
        among_others(world, GROUP, id, from, "My secret", None).await;
    }
    let chat = ChatId::parse(MEI).expect("a chat");
    let removed = world.process().eraser().erase_traces(CHANNEL, &chat).await.expect("erased");
    assert_eq!(removed, Rows::from([("messages_in_groups".to_owned(), 2)]));
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
    let said: Vec<Value> = world.chat(GROUP).messages().await.iter().map(|it| it["text"].clone()).collect();
    assert_eq!(said, ["", "My secret", ""]);
    let again = world.process().eraser().erase_traces(CHANNEL, &chat).await.expect("looked");
    assert_eq!(again, Rows::new(), "there is nothing of them");
}

async fn whoever_knew_them_on_another_instance_does_not_revive_them(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    let first = world.process();
    let second = world.another_beside().await;
    // Both know the conversation as it is.
    world.turn_to(second.clone());
    mei.writes("M2", "In Orchard").await;
    let before = mei.conversation().await["id"].clone();
    assert_eq!(erase(&mei).await, 204);
    world.turn_to(first.clone());
    assert_eq!(mei.writes("M2", "In Orchard").await, "ignored", "late, where it was never heard of");
    let path = format!("/api/v1/conversations/{}", before.as_str().expect("an id"));
    for (method, rest, body) in [
        ("PATCH", "", json!({ "status": "open" })),
        ("PUT", "/mode", json!({ "mode": "AI" })),
        ("POST", "/messages", json!({ "text": "This is Ana" })),
        ("POST", "/notes", json!({ "text": "A note" })),
    ] {
        assert_eq!(
            world.ask(method, &format!("{path}{rest}"), Some(body)).await.status,
            404,
            "{method} {rest}"
        );
    }
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
    assert_eq!(mei.writes("M3", "Show me houses").await, "accepted");
    assert_ne!(mei.conversation().await["id"], before);
    assert_eq!(mei.messages().await.len(), 1);
    assert_eq!(first.sweep().await, 0, "nothing is left to be done");
    world.turn_to(first);
    second.stop().await;
}

async fn what_was_left_half_way_is_taken_up(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    mei.writes("M1", "Show me condos").await;
    let id = mei.conversation().await["id"].clone();
    // The process dies as soon as it has closed the conversation.
    world.process().fuse.light(Some(Point { touches: 1, end: End::Dies }));
    let path = format!("/api/v1/conversations/{}?confirm={MEI}", id.as_str().expect("an id"));
    let request = world.request("DELETE", &path, None);
    let asked = tokio::spawn(async move { request.send().await.map(|reply| reply.status()) });
    world.process().fuse.ended().await;
    world.crash().await;
    asked.abort();
    assert_eq!(mei.conversation().await, Value::Null, "nobody finds it meanwhile");
    assert_eq!(world.get("/api/v1/conversations/counts").await["all"], 0);
    assert!(!world.finds(NUMBER).await.is_empty(), "half-way");
    assert_eq!(
        mei.writes("M1", "Show me condos").await,
        "ignored",
        "its messages are still their own tombstones"
    );
    assert_eq!(world.process().sweep().await, 0, "whoever began it may still be at it");
    world.pass(10_000);
    assert_eq!(world.process().sweep().await, 1);
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
    assert_eq!(mei.writes("M1", "Show me condos").await, "ignored");
    assert_eq!(events(world, "type=conversation_erased").await.len(), 1);
}

async fn whoever_is_cut_off_has_closed_all_of_them_or_finds_the_rest(world: &World) {
    let (mei, hidden) = (world.chat(MEI), world.chat("100000000000001@lid"));
    for (chat, id) in [(&mei, "M1"), (&hidden, "M2")] {
        world.assistant_says("Two condos.");
        chat.writes(id, "Show me condos").await;
        world.after(3_000).await;
    }
    let goes = hidden.conversation().await["id"].as_str().expect("an id").to_owned();
    mei.take_over().await;
    let mut both = green_api::incoming(MEI, "M3", world.now().0 / 1_000, "It is me");
    both["senderData"]["sender"] = json!("100000000000001@lid");
    assert_eq!(world.webhook(&both).await, "accepted");
    world.after(3_000).await;
    assert_eq!(hidden.conversation().await["id"], mei.conversation().await["id"]);
    // Asked for by the one that was merged, which leads to the other. The process dies between the two.
    let path = format!("/api/v1/conversations/{goes}?confirm=100000000000001@lid");
    world.process().fuse.light(Some(Point { touches: 2, end: End::Dies }));
    let request = world.request("DELETE", &path, None);
    let asked = tokio::spawn(async move { request.send().await.map(|reply| reply.status()) });
    world.process().fuse.ended().await;
    world.crash().await;
    asked.abort();
    let again = world.ask("DELETE", &path, None).await.status;
    assert_eq!((again, mei.conversation().await), (204, Value::Null));
    world.pass(10_000);
    world.process().sweep().await;
    assert_eq!(world.finds(NUMBER).await, [""; 0]);
    let deeds = world.get("/api/v1/audit?action=erased").await["items"].clone();
    assert_eq!((deeds.as_array().map(Vec::len), &deeds[0]["subject"]), (Some(1), &json!(goes)));
}

async fn of_who_erased_whom_only_the_first_is_told(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let id = mei.conversation().await["id"].clone();
    erase(&mei).await;
    let [erased] = events(world, "type=conversation_erased").await.try_into().expect("one event");
    assert_eq!(
        (&erased["conversation_id"], &erased["actor"], &erased["channel"]),
        (&id, &json!("environment"), &json!(CHANNEL))
    );
    let rows = &erased["details"]["rows"];
    assert_eq!((&rows["messages"], &rows["turns"]), (&json!(2), &json!(1)));
    assert!(rows["events"].as_i64().is_some_and(|rows| rows > 3), "{rows}");
    assert_eq!(erased["details"].as_object().map(serde_json::Map::len), Some(1), "and nothing else");
    assert!(!erased.to_string().contains(NUMBER));
    assert_eq!(events(world, &format!("conversation_id={}", id.as_str().expect("an id"))).await, [erased]);
}
