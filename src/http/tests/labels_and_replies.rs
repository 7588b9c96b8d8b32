use std::sync::{Arc, atomic::Ordering};

use serde_json::{Value, json};
use uuid::Uuid;

use super::{World, fakes};
use crate::{
    flow::{
        archive::{EventFeed as _, Tail},
        back_office::registry::Role,
        notify::Bodies as _,
    },
    http::{feed::Frame, ports::Secret, webhook_body::WebhookBodies},
};

impl World {
    pub(super) fn has_channels(&self, names: &[&str]) {
        let tokens = names.iter().map(|name| ((*name).to_owned(), Secret("x".to_owned())));
        self.house.webhook_tokens.lock().unwrap().extend(tokens);
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
async fn an_admin_of_some_channels_leaves_the_labels_of_all_as_they_are() {
    let world = World::new();
    world.admit("shop", Role::Admin, None, Some(&["shop"]));
    world.ask("POST", "/api/v1/labels", Some(json!({ "name": "VIP" }))).await;
    for (method, path, body) in [
        ("POST", "/api/v1/labels", Some(json!({ "name": "other" }))),
        ("PATCH", "/api/v1/labels/VIP", Some(json!({ "name": "other" }))),
        ("DELETE", "/api/v1/labels/VIP", None),
    ] {
        assert_eq!(world.ask_as("shop", method, path, body).await.problem(), (403, "forbidden".to_owned()));
    }
    let listed = world.ask_as("shop", "GET", "/api/v1/labels", None).await.json();
    assert_eq!(listed["items"][0]["name"], "VIP");
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
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
    for path in ["/api/v1/conversations?label=vip", "/api/v1/conversations/counts?label=VIP"] {
        assert_ne!(world.get(path).await.json()["all"], 0);
    }
    assert_eq!(world.get("/api/v1/conversations/counts?label=new").await.json()["all"], 0);
    assert_eq!(world.get("/api/v1/conversations?label=new").await.json()["items"], json!([]));
    let asked = world.shelf.asked.lock().unwrap().clone();
    assert!(asked.len() == 2 && asked.iter().all(|it| it.contains("label: Some(")), "{asked:?}");
}

/// The ids of what a list shows.
async fn listed(world: &World, token: &str) -> Vec<String> {
    let page = world.ask_as(token, "GET", "/api/v1/canned-replies", None).await.json();
    let items = page["items"].as_array().unwrap().iter();
    items.map(|reply| reply["shortcut"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn shared_replies_are_the_admins_and_each_agent_has_their_own() {
    let world = World::new();
    world.has_channels(&["shop", "other"]);
    let ana = Uuid::now_v7();
    world.admit("ana", Role::Agent, Some(ana), None);
    world.admit("ben", Role::Agent, Some(Uuid::now_v7()), Some(&["shop"]));
    world.admit("robot", Role::Agent, None, None);
    world.admit("reader", Role::Read, None, None);
    let path = "/api/v1/canned-replies";
    let reply = world.ask("POST", path, Some(json!({ "shortcut": "hours", "text": "At nine." }))).await;
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    assert_eq!((reply.status, reply.header("location")), (201, format!("{path}/{id}").as_str()));
    let shown = json!({ "id": id, "shortcut": "hours", "text": "At nine.", "channels": null, "owner": null });
    assert_eq!(reply.json(), shown);
    let elsewhere = json!({ "shortcut": "far", "text": "There.", "channels": ["other"], "owner": null });
    let elsewhere = world.ask("POST", path, Some(elsewhere)).await.json();

    let own = json!({ "shortcut": "Hours", "text": "Mine: at ten." });
    let own = world.ask_as("ana", "POST", path, Some(own)).await;
    assert_eq!((own.status, &own.json()["owner"]), (201, &json!(ana.to_string())));
    for owner in [json!("me"), json!(ana.to_string())] {
        let again = json!({ "shortcut": "hours", "text": "x", "owner": owner });
        let again = world.ask_as("ana", "POST", path, Some(again)).await;
        assert_eq!(again.problem(), (409, "name_taken".to_owned()));
        assert_eq!(again.json()["current"], own.json());
    }
    for (token, owner, wanted) in
        [("ana", json!(null), 403), ("ana", json!(Uuid::now_v7()), 400), ("robot", json!("me"), 403)]
    {
        let body = json!({ "shortcut": "x", "text": "x", "owner": owner });
        assert_eq!(world.ask_as(token, "POST", path, Some(body)).await.status, wanted, "{token} {owner}");
    }
    let body = json!({ "shortcut": "x", "text": "x" });
    assert_eq!(world.ask_as("reader", "POST", path, Some(body)).await.status, 403);

    assert_eq!(listed(&world, "ana").await, ["far", "hours", "Hours"]);
    assert_eq!(listed(&world, "ben").await, ["hours"]);
    assert_eq!(listed(&world, "reader").await, ["far", "hours"]);
    let far = format!("{path}/{}", elsewhere["id"].as_str().unwrap());
    assert_eq!(world.ask_as("ben", "GET", &far, None).await.status, 404);
    assert_eq!(world.ask_as("ana", "GET", &far, None).await.json(), elsewhere);
    assert_eq!(world.ask_as("ana", "PATCH", &far, Some(json!({ "text": "x" }))).await.status, 403);
    assert_eq!(world.ask_as("ana", "DELETE", &far, None).await.status, 403);
    let mine = format!("{path}/{}", own.json()["id"].as_str().unwrap());
    assert_eq!(world.get(&mine).await.status, 404, "not even an admin reads what is an agent's own");
    let changed = world.ask_as("ana", "PATCH", &mine, Some(json!({ "text": "Ten." }))).await;
    assert_eq!((changed.status, &changed.json()["text"]), (200, &json!("Ten.")));
    assert_eq!(world.ask_as("ana", "DELETE", &mine, None).await.status, 204);
    let told: Vec<_> = world.told().into_iter().map(|(kind, action, _)| (kind, action.unwrap())).collect();
    let wanted = ["added", "added", "added", "changed", "removed"];
    assert_eq!(told, wanted.map(|action| ("canned_reply_updated".to_owned(), action.to_owned())));
}

#[tokio::test]
async fn an_admin_of_some_channels_writes_for_those_alone() {
    let world = World::new();
    world.has_channels(&["shop", "other"]);
    world.admit("shop", Role::Admin, None, Some(&["shop"]));
    let path = "/api/v1/canned-replies";
    let reply = json!({ "shortcut": "hours", "text": "At nine." });
    let reply = world.ask_as("shop", "POST", path, Some(reply)).await;
    assert_eq!(reply.json()["channels"], json!(["shop"]));
    let both = json!({ "shortcut": "both", "text": "x", "channels": ["shop", "other"] });
    let refused = world.ask_as("shop", "POST", path, Some(both.clone())).await;
    assert_eq!(refused.pointer(), "/channels/1");
    let both = world.ask("POST", path, Some(both)).await.json();
    let both = format!("{path}/{}", both["id"].as_str().unwrap());
    assert_eq!(world.ask_as("shop", "GET", &both, None).await.json()["channels"], json!(["shop"]));
    assert_eq!(world.ask_as("shop", "DELETE", &both, None).await.status, 403);
}

#[tokio::test]
async fn who_hears_of_a_reply_is_not_told_its_other_channels() {
    let world = World::new();
    world.has_channels(&["shop", "other"]);
    world.admit("shop", Role::Agent, None, Some(&["shop"]));
    let reply = json!({ "shortcut": "both", "text": "x", "channels": ["shop", "other"] });
    let id = world.ask("POST", "/api/v1/canned-replies", Some(reply)).await.json()["id"].clone();
    let kept = std::mem::take(&mut *world.house.kept.lock().unwrap());
    assert_eq!(kept[0].details["channels"], json!(["other", "shop"]), "by which it is decided who hears");
    world.shelf.events.lock().unwrap().extend(kept);
    let listed = world.ask_as("shop", "GET", "/api/v1/events", None).await;
    assert_eq!(listed.json()["items"][0]["details"], json!({ "canned_reply_id": id }));
    let all = world.shelf.tail(Some("e0"), 1).await.expect("the feed");
    let Tail::Events(events) = all else { panic!("{all:?}") };
    let told = WebhookBodies { archive: world.shelf.clone(), directory: Arc::clone(&world.doors.directory) };
    let frame = Frame::of(events[0].clone());
    for sent in [frame.bytes, told.body(&frame.recorded).await.expect("a body")] {
        let sent = String::from_utf8_lossy(&sent);
        assert!(sent.contains("canned_reply_id") && !sent.contains("other"), "{sent}");
    }
}

#[tokio::test]
async fn a_wrong_reply_is_told_by_pointer() {
    let world = World::new();
    for (field, value) in [
        ("shortcut", json!("")),
        ("shortcut", json!("two words")),
        ("shortcut", json!("/hours")),
        ("shortcut", json!("x".repeat(41))),
        ("text", json!(" ")),
        ("text", json!("Hi {{contact.nmae}}")),
        ("text", json!("Hi {{contact.name")),
        ("channels", json!([])),
        ("owner", json!(7)),
        ("id", json!("x")),
    ] {
        let mut wanted = json!({ "shortcut": "x", "text": "Hi {{contact.name|\"there\"}}" });
        wanted[field] = value.clone();
        let reply = world.ask("POST", "/api/v1/canned-replies", Some(wanted)).await;
        assert_eq!((reply.problem().0, reply.pointer()), (400, format!("/{field}")), "{value}");
    }
    let kept = json!({ "shortcut": "x", "text": "Hi {{contact.name|\"there\"}}" });
    let kept = world.ask("POST", "/api/v1/canned-replies", Some(kept)).await.json();
    let path = format!("/api/v1/canned-replies/{}", kept["id"].as_str().unwrap());
    let reply = world.ask("PATCH", &path, Some(json!({ "text": "{{agent.phone}}" }))).await;
    assert_eq!(reply.pointer(), "/text");
    assert_eq!(world.get(&path).await.json(), kept);
}

#[tokio::test]
async fn one_more_than_an_agent_may_keep_is_refused_and_others_keep_theirs() {
    let world = World::new();
    for name in ["ana", "ben"] {
        world.admit(name, Role::Agent, Some(Uuid::now_v7()), None);
    }
    let path = "/api/v1/canned-replies";
    let keep = async |who: &str, shortcut: String| {
        world.ask_as(who, "POST", path, Some(json!({ "shortcut": shortcut, "text": "x" }))).await
    };
    for n in 0..500 {
        assert_eq!(keep("ana", format!("a{n}")).await.status, 201);
    }
    assert_eq!(keep("ana", "one-more".to_owned()).await.problem(), (409, "too_many".to_owned()));
    assert_eq!(keep("ana", "A7".to_owned()).await.problem(), (409, "name_taken".to_owned()));
    assert_eq!(keep("ben", "zebra".to_owned()).await.status, 201);
    assert_eq!(listed(&world, "ben").await, ["zebra"]);
}

#[tokio::test]
async fn a_reply_that_is_for_all_channels_meanwhile_is_not_changed_by_an_admin_of_some() {
    let world = World::new();
    world.has_channels(&["shop"]);
    world.admit("keeper", Role::Admin, None, Some(&["shop"]));
    let made = json!({ "shortcut": "hours", "text": "At nine.", "channels": ["shop"], "owner": null });
    for (method, body) in [("PATCH", Some(json!({ "text": "Never." }))), ("DELETE", None)] {
        let made = world.ask("POST", "/api/v1/canned-replies", Some(made.clone())).await.json();
        let path = format!("/api/v1/canned-replies/{}", made["id"].as_str().unwrap());
        world.drawer.is_widened.store(true, Ordering::SeqCst);
        let refused = world.ask_as("keeper", method, &path, body).await;
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{method}");
        assert_eq!(world.get(&path).await.json()["text"], "At nine.");
        assert_eq!(world.ask("DELETE", &path, None).await.status, 204);
    }
}
