//! Many conversations: how people mark them, change several at once, and find them again.

use serde_json::{Value, json};

use crate::world::{Chat, World, on_both_stores};

on_both_stores!(
    a_label_finds_its_conversations_by_whatever_name_it_has,
    a_label_that_is_removed_is_on_nothing_any_more,
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
