//! Many conversations: how people mark them, change several at once, and find them again.

use serde_json::{Value, json};

use crate::world::{Chat, Reply, World, answered, on_both_stores};

on_both_stores!(
    a_label_finds_its_conversations_by_whatever_name_it_has,
    a_label_that_is_removed_is_on_nothing_any_more,
    several_are_changed_at_once_and_each_has_its_answer,
    the_assistant_stops_everywhere_before_a_send_anywhere_is_waited_for,
    a_batch_that_comes_again_takes_over_nothing,
    a_conversation_is_found_by_name_by_number_and_by_what_was_said,
    whoever_has_opted_out_is_followed_up_again_once_a_person_says_so,
);

const MEI: &str = "6580000001@c.us";
const TOM: &str = "6580000002@c.us";

/// Makes labels of these names.
async fn labels(world: &World, names: &[&str]) {
    for name in names {
        let reply = world.ask("POST", "/api/v1/labels", Some(json!({ "name": name }))).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }
}

/// Changes a conversation.
async fn patch(chat: &Chat<'_>, body: Value) -> Value {
    let path = chat.path("").await;
    let reply = chat.world.ask("PATCH", path.trim_end_matches('/'), Some(body)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

/// The chats that a list shows, in its order.
async fn listed(world: &World, query: &str) -> Vec<String> {
    let page = world.get(&format!("/api/v1/conversations?{query}")).await;
    let items = page["items"].as_array().expect("a list").iter();
    items.map(|it| it["chat_id"].as_str().expect("a chat").to_owned()).collect()
}

async fn a_label_finds_its_conversations_by_whatever_name_it_has(world: &World) {
    labels(world, &["VIP", "angry"]).await;
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    for chat in [&mei, &tom] {
        chat.take_over().await;
    }
    assert_eq!(patch(&mei, json!({ "labels": ["vip", "angry"] })).await["labels"], json!(["angry", "VIP"]));
    assert_eq!(patch(&tom, json!({ "add_labels": ["VIP"] })).await["labels"], json!(["VIP"]));
    assert_eq!(listed(world, "label=angry").await, [MEI]);
    assert_eq!(world.get("/api/v1/conversations/counts?label=VIP").await["all"], 2);

    let renamed = world.ask("PATCH", "/api/v1/labels/VIP", Some(json!({ "name": "regular" }))).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!(tom.conversation().await["labels"], json!(["regular"]));
    assert_eq!(listed(world, "label=VIP").await, [""; 0]);
    let change = json!({ "add_labels": ["angry"], "remove_labels": ["regular"] });
    assert_eq!(patch(&tom, change).await["labels"], json!(["angry"]));
    assert_eq!(listed(world, "label=regular").await, [MEI]);

    patch(&tom, json!({ "add_labels": ["angry"] })).await;
    let page = world.get(&tom.path("timeline?type=conversation_updated").await).await;
    let told: Vec<(&Value, &Value)> =
        page["items"].as_array().expect("a list").iter().map(|it| (&it["action"], &it["details"])).collect();
    let first = json!({ "labels": ["VIP"], "added": ["VIP"], "removed": [] });
    let second = json!({ "labels": ["angry"], "added": ["angry"], "removed": ["regular"] });
    assert_eq!(told, [(&json!("labelled"), &first), (&json!("labelled"), &second)]);
}

async fn a_label_that_is_removed_is_on_nothing_any_more(world: &World) {
    labels(world, &["VIP", "angry"]).await;
    let mei = world.chat(MEI);
    mei.take_over().await;
    patch(&mei, json!({ "labels": ["VIP", "angry"] })).await;
    assert_eq!(world.ask("DELETE", "/api/v1/labels/VIP", None).await.status, 204);
    assert_eq!(mei.conversation().await["labels"], json!(["angry"]));
    labels(world, &["VIP"]).await;
    assert_eq!(listed(world, "label=VIP").await, [""; 0], "one of the same name is another");
    let page = world.get("/api/v1/events?type=label_updated").await;
    let told: Vec<&Value> =
        page["items"].as_array().expect("a list").iter().map(|it| &it["action"]).collect();
    assert_eq!(told, ["added", "added", "removed", "added"]);
}

/// Asks for something of these conversations.
async fn batch(world: &World, chats: &[&Chat<'_>], what: Value, key: &str) -> Reply {
    let mut ids = Vec::new();
    for chat in chats {
        ids.push(chat.conversation().await["id"].clone());
    }
    let mut body = what;
    body["ids"] = json!(ids);
    let request = world.request("POST", "/api/v1/conversations/batch", Some(body));
    answered(request.header("Idempotency-Key", key)).await
}

async fn several_are_changed_at_once_and_each_has_its_answer(world: &World) {
    labels(world, &["VIP"]).await;
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    for chat in [&mei, &tom] {
        chat.take_over().await;
    }
    let ana = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let ana = world.ask("POST", "/api/v1/agents", Some(ana)).await.body;
    patch(&tom, json!({ "assignee": ana["id"] })).await;
    let set = json!({ "status": "closed", "add_labels": ["VIP"], "expected_assignee": null });
    let reply = batch(world, &[&mei, &tom], json!({ "set": set }), "K1").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let [first, second] = reply.body["items"].as_array().expect("a list").as_slice() else {
        panic!("two: {reply:?}")
    };
    assert_eq!((&first["status"], &first["problem"]), (&json!(200), &Value::Null));
    assert_eq!(first["conversation"], mei.conversation().await);
    assert_eq!(
        (&first["conversation"]["status"], &first["conversation"]["labels"]),
        (&json!("closed"), &json!(["VIP"]))
    );
    assert_eq!((&second["status"], &second["problem"]["code"]), (&json!(409), &json!("version_conflict")));
    assert_eq!(second["problem"]["current"], tom.conversation().await);
    assert_eq!(
        (&tom.conversation().await["status"], &tom.conversation().await["labels"]),
        (&json!("open"), &json!([]))
    );
}

async fn the_assistant_stops_everywhere_before_a_send_anywhere_is_waited_for(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    let send = world.gateway.holds();
    world.assistant_says("Here are two condos.");
    mei.writes("M1", "Show me condos").await;
    world.pass(3_000);
    world.drain_until(&send).await;
    let reply = world.assistant_holds("Here are two houses.");
    tom.writes("M2", "Show me houses").await;
    world.pass(3_000);
    world.drain_until(&reply).await;

    // Mei first: her send hangs, and Tom's reply is being written all the while.
    let (both, takeover) = ([&mei, &tom], json!({ "mode": { "mode": "HUMAN" } }));
    let (switched, ()) = tokio::join!(batch(world, &both, takeover, "K1"), async {
        tom.until_in("HUMAN").await;
        reply.release();
        send.release();
        world.drain().await;
    });
    let receipts: Vec<_> = switched.body["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["receipt"]["settled"], &it["receipt"]["generation_cancelled"]))
        .collect();
    assert_eq!(receipts, [(&json!(true), &json!(false)), (&json!(true), &json!(true))]);
    world.after(60_000).await;
    tom.reads(
        "
        contact: Show me houses [left_to_human, mode_human]
        * mode_change_during_generation: cancelled_generation
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows nothing
        ",
    )
    .await;
}

async fn a_batch_that_comes_again_takes_over_nothing(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "Hello").await;
    let takeover = json!({ "mode": { "mode": "HUMAN" } });
    let first = batch(world, &[&mei], takeover.clone(), "K1").await;
    assert_eq!((first.status, &first.body["items"][0]["receipt"]["changed"]), (200, &json!(true)));
    mei.release().await;
    // Also not of a process that was not there.
    world.crash().await;
    let again = batch(world, &[&mei], takeover.clone(), "K1").await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(mei.conversation().await["mode"], "AI");
    let other = batch(world, &[&mei], json!({ "mode": { "mode": "AI" } }), "K1").await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")));
    let anew = batch(world, &[&mei], takeover, "K2").await;
    assert_eq!(anew.body["items"][0]["receipt"]["mode_version"], 4);
}

async fn a_conversation_is_found_by_name_by_number_and_by_what_was_said(world: &World) {
    let (mei, tom) = (world.chat(MEI), world.chat(TOM));
    mei.writes("M1", "Haben Sie Wohnungen in der ÄRGER-Straße?").await;
    world.assistant_says("One, by the garden.");
    world.after(3_000).await;
    tom.take_over().await;
    patch(&tom, json!({ "contact": { "name": "Jürgen Öztürk" } })).await;
    for (query, chats) in [
        ("q=%C3%96ZT%C3%9CRK", vec![TOM]),
        ("q=0001", vec![MEI]),
        ("q=%C3%A4rger-strasse", vec![]),
        ("q=%C3%A4rger-stra%C3%9Fe", vec![MEI]),
        ("q=j%C3%9CRGEN&status=closed", vec![]),
        ("q=GARDEN&status=open", vec![MEI]),
    ] {
        assert_eq!(listed(world, query).await, chats, "{query}");
    }
    let page = world.get("/api/v1/conversations?q=garden").await;
    let said = mei.message("One, by the garden.").await;
    let wanted = json!({ "message_id": said["id"], "seq": 2, "snippet": "One, by the garden." });
    assert_eq!(page["items"][0]["match"], wanted);
    assert_eq!(world.get("/api/v1/conversations?q=%C3%96zt%C3%BCrk").await["items"][0]["match"], Value::Null);
    assert_eq!(world.get("/api/v1/conversations/counts?q=garden").await["all"], 1);
}

async fn whoever_has_opted_out_is_followed_up_again_once_a_person_says_so(world: &World) {
    let mei = world.chat(MEI);
    mei.writes("M1", "stop").await;
    world.after(3_000).await;
    let later = || Some(json!({ "delay_ms": 60_000, "text": "Still there?" }));
    assert_eq!(mei.ask("PUT", "follow-up", later()).await.status, 409);
    for again in [false, true] {
        assert_eq!(patch(&mei, json!({ "opted_out": false })).await["opted_out"], false);
        let page = world.get(&mei.path("timeline?type=conversation_updated").await).await;
        let told = page["items"].as_array().expect("a list").iter();
        let told: Vec<&Value> = told.filter(|it| it["action"] == "opted_in").collect();
        assert_eq!((told.len(), &told[0]["actor"]), (1, &json!("environment")), "{again}: {page}");
    }
    assert_eq!(mei.ask("PUT", "follow-up", later()).await.status, 201);
    // The wish has an end: an edit of it is none of another.
    mei.writes("M2", "stop").await;
    world.after(3_000).await;
    mei.edits("M1", "Stop what?").await;
    assert_eq!(mei.conversation().await["opted_out"], true);
}
