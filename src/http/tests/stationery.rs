use serde_json::{Value, json};
use uuid::Uuid;

use super::{NOW, Reply, World, fakes, request};
use crate::{
    flow::registry::{Role, Token},
    http::auth::hash_token,
};

impl World {
    /// Lets somebody in who is this, on these channels; None: on all.
    fn admit(&self, token: &str, role: Role, agent: Option<Uuid>, channels: Option<&[&str]>) {
        let channels = channels.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let id = Uuid::now_v7();
        let kept =
            Token { id, name: token.to_owned(), role, channels, agent, expires_at: None, created_at: NOW };
        self.house.tokens.lock().unwrap().push((kept, hash_token(token)));
    }

    /// As whoever has that token.
    async fn ask_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.send(request(method, path, body).insert_header(("Authorization", format!("Bearer {token}"))))
            .await
    }

    fn told(&self) -> Vec<(String, Option<String>, Value)> {
        let kept = std::mem::take(&mut *self.house.kept.lock().unwrap());
        let told = kept.into_iter().map(|event| {
            let action = event.action.map(|action| action.into_owned());
            (event.kind.as_str().to_owned(), action, Value::Object(event.details))
        });
        told.collect()
    }
}

#[tokio::test]
async fn a_label_is_written_by_an_admin_and_read_by_everybody() {
    let world = World::new();
    world.admit("ana", Role::Agent, Some(Uuid::now_v7()), None);
    let vip = json!({ "name": " VIP ", "colour": "#FF8800", "description": "Be quick" });
    assert_eq!(world.ask_as("ana", "POST", "/api/v1/labels", Some(vip.clone())).await.status, 403);
    let reply = world.ask("POST", "/api/v1/labels", Some(vip)).await;
    assert_eq!((reply.status, reply.header("location")), (201, "/api/v1/labels/VIP"));
    let shown = json!({ "name": "VIP", "colour": "#ff8800", "description": "Be quick" });
    assert_eq!(reply.json(), shown);
    let listed = world.ask_as("ana", "GET", "/api/v1/labels", None).await.json();
    assert_eq!(listed, json!({ "items": [shown], "next_cursor": null }));
    assert_eq!(world.ask_as("ana", "GET", "/api/v1/labels/vip", None).await.json(), shown);
    for (method, body) in [("PATCH", Some(json!({}))), ("DELETE", None)] {
        assert_eq!(world.ask_as("ana", method, "/api/v1/labels/VIP", body).await.status, 403);
    }
    let again = world.ask("POST", "/api/v1/labels", Some(json!({ "name": "vip" }))).await;
    assert_eq!(again.problem(), (409, "name_taken".to_owned()));
    assert_eq!(again.json()["current"], shown);
}

#[tokio::test]
async fn a_label_is_changed_renamed_and_removed_by_its_name() {
    let world = World::new();
    for name in ["a/b & c", "other"] {
        assert_eq!(world.ask("POST", "/api/v1/labels", Some(json!({ "name": name }))).await.status, 201);
    }
    let path = "/api/v1/labels/a%2Fb%20%26%20c";
    let change = json!({ "colour": "#000000", "description": "x" });
    assert_eq!(world.ask("PATCH", path, Some(change)).await.json()["colour"], "#000000");
    let renamed = world.ask("PATCH", path, Some(json!({ "name": "plain", "colour": null }))).await;
    assert_eq!(renamed.json(), json!({ "name": "plain", "colour": null, "description": "x" }));
    assert_eq!(world.get(path).await.problem(), (404, "not_found".to_owned()));
    let clash = world.ask("PATCH", "/api/v1/labels/plain", Some(json!({ "name": "OTHER" }))).await;
    assert_eq!((clash.problem().0, &clash.json()["current"]["name"]), (409, &json!("other")));
    assert_eq!(world.ask("DELETE", "/api/v1/labels/Plain", None).await.status, 204);
    assert_eq!(world.ask("DELETE", "/api/v1/labels/Plain", None).await.status, 404);
    let told: Vec<(Option<String>, Value)> =
        world.told().into_iter().skip(2).map(|(_, action, details)| (action, details)).collect();
    let wanted = [
        ("changed", json!({ "name": "a/b & c" })),
        ("changed", json!({ "name": "plain", "was": "a/b & c" })),
        ("removed", json!({ "name": "plain" })),
    ];
    assert_eq!(told, wanted.map(|(action, details)| (Some(action.to_owned()), details)));
}

#[tokio::test]
async fn a_wrong_label_is_told_by_pointer() {
    let world = World::new();
    for (field, value) in [
        ("name", json!("  ")),
        ("name", json!("two\nlines")),
        ("name", json!("x".repeat(51))),
        ("colour", json!("red")),
        ("colour", json!("#ff880")),
        ("description", json!("x".repeat(501))),
        ("color", json!("#ff8800")),
    ] {
        let mut wanted = json!({ "name": "x" });
        wanted[field] = value;
        let reply = world.ask("POST", "/api/v1/labels", Some(wanted)).await;
        assert_eq!((reply.problem().0, reply.pointer()), (400, format!("/{field}")));
    }
}

#[tokio::test]
async fn a_conversation_is_labelled_by_names_and_an_unknown_one_is_told() {
    let world = World::new();
    for name in ["VIP", "angry"] {
        world.ask("POST", "/api/v1/labels", Some(json!({ "name": name }))).await;
    }
    let mut overview = fakes::overview(fakes::conversation("default", "6580000001@c.us"));
    overview.labels = vec!["angry".to_owned()];
    let id = world.shelf.put(overview);
    let path = format!("/api/v1/conversations/{id}");
    for (body, pointer) in [
        (json!({ "labels": ["vip", "vpi"] }), "/labels/1"),
        (json!({ "add_labels": ["new"] }), "/add_labels/0"),
        (json!({ "remove_labels": ["new"] }), "/remove_labels/0"),
        (json!({ "add_labels": ["VIP"], "remove_labels": ["angry", "vip"] }), "/remove_labels/1"),
        (json!({ "labels": [], "add_labels": ["VIP"] }), "/labels"),
        (json!({ "labels": vec!["VIP"; 51] }), "/labels"),
        (json!({ "labels": "VIP" }), "/labels"),
    ] {
        let reply = world.ask("PATCH", &path, Some(body.clone())).await;
        assert_eq!((reply.problem().0, reply.pointer().as_str()), (400, pointer), "{body}");
    }
    assert!(world.clerk.heard().is_empty(), "no step was asked");
    let reply = world.ask("PATCH", &path, Some(json!({ "add_labels": ["vip"] }))).await;
    assert_eq!((reply.status, &reply.json()["labels"]), (200, &json!(["angry"])));
    let heard = world.clerk.heard().remove(0);
    assert!(heard.contains("add: [Label { id") && heard.contains("name: \"VIP\""), "{heard}");
    world.get("/api/v1/conversations?label=VIP").await;
    world.get("/api/v1/conversations/counts?label=VIP").await;
    let asked = world.shelf.asked.lock().unwrap().join("\n");
    assert_eq!(asked.matches("label: Some(\"VIP\")").count(), asked.lines().count(), "{asked}");
}
