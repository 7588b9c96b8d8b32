//! Agents, and what each may change about themselves and others.

use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ADMIN, Reply, World, fakes, request, sign_in::Browser};
use crate::{
    domain::message::Message,
    flow::{
        archive::Placed,
        back_office::{people::People as _, registry},
    },
    http::ports::Secret,
};

async fn id_of(browser: &Browser<'_>) -> String {
    browser.get("/api/v1/me").await.json()["id"].as_str().expect("an id").to_owned()
}

fn names(reply: &Reply) -> Vec<String> {
    let items = reply.json()["items"].as_array().cloned().expect("a list");
    items.iter().map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
}

/// So that agents and tokens can be made for them.
fn know(world: &World, channels: &[&str]) {
    let secret = || Secret("webhook".to_owned());
    let known = channels.iter().map(|name| ((*name).to_owned(), secret()));
    world.house.webhook_tokens.lock().unwrap().extend(known);
}

async fn with_token(world: &World, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
    let asked = request(method, path, body).insert_header(("Authorization", format!("Bearer {token}")));
    world.send(asked).await
}

async fn token_for(world: &World, body: Value) -> String {
    let reply = world.ask("POST", "/api/v1/tokens", Some(body)).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn preferences_are_kept_and_given_back_as_they_are() {
    let world = World::new();
    let ana = world.agent("ana", "agent", Value::Null).await;
    let text = r#"{"z":1.50,"a":[123456789012345678901234567890,"\u0000"]}"#;
    let set = async |preferences: &str| {
        let body = format!(r#"{{"preferences":{preferences}}}"#);
        let asked = ana.request("PATCH", "/api/v1/me", None).insert_header(("Sec-Fetch-Site", "same-origin"));
        world.send(asked.insert_header(("Content-Type", "application/json")).set_payload(body)).await
    };
    let reply = set(text).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains(text) && ana.get("/api/v1/me").await.body.contains(text), "{}", reply.body);
    let largest = format!(r#"{{"a":"{}"}}"#, "x".repeat(16 * 1_024 - 8));
    assert_eq!(set(&largest).await.status, 200);
    let too_large = format!(r#"{{"a":"{}"}}"#, "x".repeat(16 * 1_024 - 7));
    for wrong in ["null", "[]", "\"{}\"", "7", too_large.as_str()] {
        let reply = set(wrong).await;
        assert_eq!((reply.status, reply.pointer().as_str()), (400, "/preferences"), "{wrong:.20}");
    }
    assert!(ana.get("/api/v1/me").await.body.contains(&largest), "nothing wrong was kept");
    ana.ask("PATCH", "/api/v1/me", Some(json!({ "name": "Ana" }))).await;
    assert!(ana.get("/api/v1/me").await.body.contains(&largest), "what is left out stays");
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_and_ends_other_sessions() {
    let world = World::new();
    let ana = world.agent("ana", "admin", Value::Null).await;
    let show =
        async |password: &str| world.show(json!({ "email": "ana@example.com", "password": password })).await;
    assert_eq!(show("correct horse").await.status, 204);
    let change = async |body: Value| ana.ask("PATCH", "/api/v1/me", Some(body)).await;
    for (body, pointer) in [
        (json!({ "password": "another one" }), "/current_password"),
        (json!({ "password": "another one", "current_password": "wrong" }), "/current_password"),
        (json!({ "email": "new@example.com" }), "/current_password"),
        (json!({ "password": "short", "current_password": "correct horse" }), "/password"),
        (json!({ "email": "nowhere", "current_password": "correct horse" }), "/email"),
        (json!({ "name": " " }), "/name"),
        (json!({ "role": "admin" }), "/role"),
    ] {
        let reply = change(body.clone()).await;
        assert_eq!((reply.status, reply.pointer().as_str()), (400, pointer), "{body}");
    }
    assert_eq!(world.crew.hashes().len(), 2, "two sessions");
    let done = change(json!({ "password": "another one", "current_password": "correct horse" })).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(world.crew.hashes().len(), 1);
    assert_eq!(ana.get("/api/v1/me").await.status, 200, "this session goes on");
    assert_eq!((show("correct horse").await.status, show("another one").await.status), (401, 204));
    world.agent("ben", "agent", Value::Null).await;
    let taken = change(json!({ "email": "BEN@example.com", "current_password": "another one" })).await;
    assert_eq!(taken.problem(), (409, "name_taken".to_owned()));
    for _ in 0..10 {
        change(json!({ "password": "guessed it", "current_password": "guess" })).await;
    }
    let reply = change(json!({ "password": "guessed it", "current_password": "guess" })).await;
    assert_eq!(reply.problem(), (429, "rate_limited".to_owned()), "who has the cookie does not get to guess");
}

#[tokio::test]
async fn a_token_says_who_it_is_and_has_nothing_of_its_own() {
    let world = World::new();
    let me = world.get("/api/v1/me").await.json();
    let wanted = json!({ "id": null, "name": "environment", "email": null, "role": "admin", "channels": null,
        "actor": "environment", "preferences": {} });
    assert_eq!(me, wanted);
    let plain = token_for(&world, json!({ "name": "till", "role": "agent" })).await;
    let me = with_token(&world, &plain, "GET", "/api/v1/session", None).await.json();
    assert_eq!((&me["id"], &me["name"], &me["role"]), (&Value::Null, &json!("till"), &json!("agent")));
    for token in [plain.as_str(), ADMIN] {
        let reply = with_token(&world, token, "PATCH", "/api/v1/me", Some(json!({ "name": "X" }))).await;
        assert_eq!(reply.problem(), (403, "forbidden".to_owned()));
    }
}

#[tokio::test]
async fn a_token_for_metrics_that_would_open_nothing_is_not_made() {
    let world = World::new();
    know(&world, &["shop"]);
    let agents = [("ana", Value::Null), ("ben", json!(["shop"]))];
    let mut ids = Vec::new();
    for (name, channels) in agents {
        let body = json!({ "name": name, "email": format!("{name}@example.com"), "role": "agent",
            "password": "correct horse", "channels": channels });
        ids.push(world.ask("POST", "/api/v1/agents", Some(body)).await.json()["id"].clone());
    }
    let (all, shop) = (Value::Null, json!(["shop"]));
    for (role, channels, agent, made) in [
        ("metrics", &all, &Value::Null, true),
        ("metrics", &all, &ids[0], true),
        ("read", &shop, &ids[1], true),
        ("metrics", &shop, &Value::Null, false),
        ("metrics", &all, &ids[1], false),
    ] {
        let body = json!({ "name": "graphs", "role": role, "channels": channels, "agent_id": agent });
        let reply = world.ask("POST", "/api/v1/tokens", Some(body.clone())).await;
        assert_eq!(reply.status, if made { 201 } else { 400 }, "{body}: {}", reply.body);
        assert!(made || reply.pointer() == "/role", "{body}: {}", reply.body);
    }
}

#[tokio::test]
async fn admins_add_agents_and_agents_see_names() {
    let world = World::new();
    let admin = world.first().await;
    let wanted = json!({ "name": " Ben ", "email": "Ben@example.com", "role": "agent" });
    let add = admin.request("POST", "/api/v1/agents", Some(wanted.clone()));
    let add = add.insert_header(("Host", "inside:8080")).insert_header(("Origin", "http://inside:8080"));
    let reply = world.send(add).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    let made = reply.json();
    let path = format!("/api/v1/agents/{}", made["id"].as_str().expect("an id"));
    assert_eq!(reply.header("location"), path);
    let link = made["link"].as_str().expect("a link").to_owned();
    assert!(link.starts_with("http://inside:8080/sign-in#"), "{link}");
    let shown = admin.get(&path).await.json();
    let at = super::NOW.to_string();
    let id = &made["id"];
    let full = json!({ "id": id, "name": "Ben", "email": "Ben@example.com", "role": "agent", "channels": null,
        "disabled": false, "created_at": at, "updated_at": at });
    assert_eq!(shown, full, "the link is shown once");

    let again = json!({ "name": "Other", "email": "ben@EXAMPLE.com", "role": "agent" });
    let taken = admin.ask("POST", "/api/v1/agents", Some(again)).await;
    assert_eq!(taken.problem(), (409, "name_taken".to_owned()));
    assert_eq!(taken.json()["current"], full);
    for (field, value, pointer) in [
        ("name", json!(""), "/name"),
        ("email", json!("ben"), "/email"),
        ("role", json!("read"), "/role"),
        ("password", json!("short"), "/password"),
        ("channels", json!(["nowhere"]), "/channels/0"),
        ("disabled", json!(true), "/disabled"),
    ] {
        let mut wrong = json!({ "name": "Cleo", "email": "cleo@example.com", "role": "agent" });
        wrong[field] = value;
        let reply = admin.ask("POST", "/api/v1/agents", Some(wrong)).await;
        assert_eq!((reply.status, reply.pointer().as_str()), (400, pointer));
    }

    let ben = world.by_link(&link).await;
    assert_eq!(names(&ben.get("/api/v1/agents").await), ["Admin", "Ben"]);
    assert_eq!(ben.get(&path).await.json(), json!({ "id": id, "name": "Ben" }));
    for (method, path, body) in [
        ("POST", "/api/v1/agents", Some(wanted)),
        ("PATCH", path.as_str(), Some(json!({ "role": "admin" }))),
        ("GET", "/api/v1/tokens", None),
    ] {
        assert_eq!(ben.ask(method, path, body).await.status, 403, "{method} {path}");
    }
    assert_eq!(admin.ask("DELETE", &path, None).await.status, 405, "nobody is removed");
    let page = admin.get("/api/v1/agents?limit=1").await;
    assert_eq!(names(&page), ["Admin"]);
    let cursor = page.json()["next_cursor"].as_str().expect("more").to_owned();
    assert_eq!(names(&admin.get(&format!("/api/v1/agents?cursor={cursor}")).await), ["Ben"]);
}

#[tokio::test]
async fn what_an_agent_may_do_changes_at_once() {
    let world = World::new();
    know(&world, &["shop", "till"]);
    let admin = world.first().await;
    let ben = world.agent("ben", "agent", Value::Null).await;
    let path = format!("/api/v1/agents/{}", id_of(&ben).await);
    let here = world.shelf.put(fakes::overview(fakes::conversation("shop", "6580000001@c.us")));
    let conversation = format!("/api/v1/conversations/{here}");
    assert_eq!((ben.get(&conversation).await.status, ben.get("/api/v1/tokens").await.status), (200, 403));

    let change = async |body: Value| admin.ask("PATCH", &path, Some(body)).await;
    let changed = change(json!({ "channels": ["till"], "name": "Ben B." })).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(changed.json()["channels"], json!(["till"]));
    assert_eq!(ben.get(&conversation).await.status, 404);
    assert_eq!(change(json!({ "role": "admin" })).await.status, 200);
    assert_eq!(ben.get(&conversation).await.status, 401, "whoever may more signs in anew");
    let ben = world.by_password("ben@example.com").await;
    assert_eq!((ben.get(&conversation).await.status, ben.get("/api/v1/tokens").await.status), (404, 200));
    assert_eq!(
        names(&ben.get("/api/v1/agents").await),
        ["Ben B."],
        "an admin of one channel sees who sees no more"
    );
    let of_admin = format!("/api/v1/agents/{}", id_of(&admin).await);
    let takes_over = ben.ask("PATCH", &of_admin, Some(json!({ "password": "mine from now on" }))).await;
    assert_eq!(takes_over.status, 404);
    let reaches_out = ben.ask("PATCH", &path, Some(json!({ "channels": null }))).await;
    assert_eq!(reaches_out.json()["channels"], json!(["till"]), "nobody gives themselves more");

    assert_eq!(change(json!({ "disabled": true })).await.json()["disabled"], true);
    assert_eq!(ben.get("/api/v1/me").await.status, 401);
    let show = json!({ "email": "ben@example.com", "password": "correct horse" });
    assert_eq!(world.show(show.clone()).await.status, 401);
    assert_eq!(change(json!({ "disabled": false, "channels": null })).await.json()["channels"], Value::Null);
    assert_eq!(ben.get("/api/v1/me").await.status, 401, "what is over stays over");
    assert_eq!(world.show(show).await.status, 204);
    assert_eq!(change(json!({ "password": "set by an admin" })).await.status, 200);
    let show = json!({ "email": "ben@example.com", "password": "set by an admin" });
    assert_eq!(world.show(show).await.status, 204);
}

#[tokio::test]
async fn agents_are_shown_by_the_names_they_have_now() {
    let world = World::new();
    let ben = world.agent("ben", "agent", Value::Null).await;
    let id: Uuid = id_of(&ben).await.parse().expect("an id");
    let stranger = Uuid::now_v7();
    let mut chat = fakes::conversation("shop", "6580000001@c.us");
    chat.assignee = Some(id);
    let mut other = fakes::conversation("shop", "6580000002@c.us");
    other.assignee = Some(stranger);
    let (conversation, channel, of) = (chat.id, chat.channel.clone(), chat.chat.clone());
    let message = Message { agent: Some(id), ..fakes::message(1, "Hi") };
    let path = format!("/api/v1/messages/{}", message.id);
    world.shelf.messages.lock().unwrap().push(Placed { conversation, channel, chat: of, message });
    world.shelf.put(fakes::overview(chat));
    world.shelf.put(fakes::overview(other));
    for (name, stored) in [("ben", None), ("Ben B.", Some("Ben B."))] {
        if let Some(name) = stored {
            ben.ask("PATCH", "/api/v1/me", Some(json!({ "name": name }))).await;
        }
        let listed = ben.get("/api/v1/conversations").await.json();
        assert_eq!(listed["items"][0]["assignee"], json!({ "id": id, "name": name }));
        assert_eq!(listed["items"][1]["assignee"], json!({ "id": stranger, "name": "" }), "nobody's name");
        assert_eq!(ben.get(&path).await.json()["agent"], json!({ "id": id, "name": name }));
    }
}

#[tokio::test]
async fn names_are_read_once_for_all_who_look_and_nothing_fails_for_want_of_one() {
    let world = World::new();
    let id: Uuid = id_of(&world.agent("ben", "agent", Value::Null).await).await.parse().expect("an id");
    let mut chat = fakes::conversation("shop", "6580000001@c.us");
    chat.assignee = Some(id);
    world.shelf.put(fakes::overview(chat));
    let shown = async || {
        let listed = world.get("/api/v1/conversations").await;
        (listed.status, listed.json()["items"][0]["assignee"]["name"].clone())
    };
    let all = join_all((0..8).map(|_| shown())).await;
    assert!(all.iter().all(|shown| *shown == (200, json!("ben"))), "{all:?}");
    assert_eq!(world.crew.listed.load(Ordering::SeqCst), 1);
    let ben = world.crew.agent(id).await.expect("reads").expect("is there");
    world.crew.is_away.store(true, Ordering::SeqCst);
    world.doors.person_changed(&ben, None, "changed", "shell").await;
    assert_eq!((shown().await, shown().await), ((200, json!("ben")), (200, json!("ben"))));
    assert_eq!(world.crew.listed.load(Ordering::SeqCst), 2, "it is asked again, and not by everyone");
}

#[tokio::test]
async fn a_conversation_is_given_only_to_who_can_open_it() {
    let world = World::new();
    know(&world, &["shop", "till"]);
    let (ana, ben) = (
        world.agent("ana", "agent", json!(["till"])).await,
        world.agent("ben", "agent", json!(["shop"])).await,
    );
    let id = world.shelf.put(fakes::overview(fakes::conversation("shop", "6580000001@c.us")));
    let give = async |to: &str| {
        let path = format!("/api/v1/conversations/{id}");
        ben.ask("PATCH", &path, Some(json!({ "assignee": to }))).await
    };
    let (ana, of_ben) = (id_of(&ana).await, id_of(&ben).await);
    for wrong in [ana.as_str(), &Uuid::now_v7().to_string(), "ana"] {
        let reply = give(wrong).await;
        assert_eq!((reply.status, reply.pointer().as_str()), (400, "/assignee"), "{wrong}");
    }
    assert!(world.clerk.heard().is_empty(), "the step was not even asked");
    for right in [of_ben.as_str(), "me"] {
        assert_eq!(give(right).await.status, 200, "{right}");
        assert!(world.clerk.heard().join("").contains(&of_ben));
    }
    world.ask("PATCH", &format!("/api/v1/agents/{ana}"), Some(json!({ "channels": null }))).await;
    assert_eq!(give(&ana).await.status, 200, "now she sees it");
    world.ask("PATCH", &format!("/api/v1/agents/{ana}"), Some(json!({ "disabled": true }))).await;
    assert_eq!(give(&ana).await.pointer(), "/assignee");
}

#[tokio::test]
async fn an_admin_always_stays() {
    let world = World::new();
    know(&world, &["shop"]);
    let admin = world.first().await;
    let path = format!("/api/v1/agents/{}", id_of(&admin).await);
    for less in [json!({ "disabled": true }), json!({ "role": "agent" }), json!({ "channels": ["shop"] })] {
        let reply = world.ask("PATCH", &path, Some(less.clone())).await;
        assert_eq!(reply.problem(), (409, "last_admin".to_owned()), "{less}");
        assert_eq!(reply.json()["current"]["name"], "Admin");
    }
    world.agent("ben", "admin", Value::Null).await;
    assert_eq!(admin.ask("PATCH", &path, Some(json!({ "role": "agent" }))).await.status, 200);
    assert_eq!(admin.get("/api/v1/tokens").await.status, 403);
}

#[tokio::test]
async fn a_feed_ends_when_its_agent_may_see_less() {
    let world = World::new();
    know(&world, &["shop"]);
    let ben = world.agent("ben", "agent", Value::Null).await;
    let path = format!("/api/v1/agents/{}", id_of(&ben).await);
    let opened = ben.request("GET", "/api/v1/events", None).insert_header(("Accept", "text/event-stream"));
    let mut client = super::feed::Client::over(world.open(opened).await);
    client.next().await.expect("hello");
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "name": "Ben B." }))).await.status, 200);
    assert_eq!(world.ask("PATCH", &path, Some(json!({ "channels": ["shop"] }))).await.status, 200);
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn what_is_done_to_the_installation_is_told_to_who_may_see_all_of_it() {
    let world = World::new();
    know(&world, &["shop"]);
    let ana = world.agent("ana", "admin", Value::Null).await;
    let ana_id = id_of(&ana).await;
    world.show(json!({ "email": "ana@example.com", "password": "wrong" })).await;
    let token = json!({ "name": "crm", "role": "read" });
    let made = ana.ask("POST", "/api/v1/tokens", Some(token)).await.json();
    ana.ask("PATCH", "/api/v1/me", Some(json!({ "preferences": {} }))).await;
    ana.ask("PATCH", &format!("/api/v1/agents/{ana_id}"), Some(json!({ "name": "Ana B." }))).await;
    ana.get("/api/v1/export/messages.csv").await;
    ana.ask("DELETE", &format!("/api/v1/tokens/{}", made["id"].as_str().unwrap()), None).await;
    let reply = ana.get("/api/v1/audit").await;
    let told = reply.json()["items"].as_array().cloned().unwrap();
    let ana = format!("agent:{ana_id}");
    let deeds: Vec<_> =
        told.iter().map(|deed| (deed["action"].as_str().unwrap(), deed["actor"].as_str().unwrap())).collect();
    let since_her_password = [
        ("token_revoked", ana.as_str()),
        ("exported", ana.as_str()),
        ("agent_changed", ana.as_str()),
        ("token_created", ana.as_str()),
        ("sign_in_refused", "system"),
    ];
    assert!(deeds.starts_with(&since_her_password), "preferences are nobody's business: {deeds:?}");
    assert_eq!(told[2]["details"], json!({ "changed": ["name"] }));
    assert_eq!((&told[3]["subject"], &told[3]["details"]["name"]), (&made["id"], &json!("crm")));
    assert!(!reply.body.contains(made["token"].as_str().unwrap()) && !reply.body.contains("correct horse"));

    let page = with_token(&world, ADMIN, "GET", "/api/v1/audit?limit=2", None).await.json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2));
    let next = format!("/api/v1/audit?limit=2&cursor={}", page["next_cursor"].as_str().unwrap());
    assert_eq!(with_token(&world, ADMIN, "GET", &next, None).await.json()["items"][0], told[2]);
    let shop = token_for(&world, json!({ "name": "shop", "role": "admin", "channels": ["shop"] })).await;
    assert_eq!(with_token(&world, &shop, "GET", "/api/v1/audit", None).await.status, 403);
    let reader = token_for(&world, json!({ "name": "reader", "role": "read" })).await;
    assert_eq!(with_token(&world, &reader, "GET", "/api/v1/audit", None).await.status, 403);
}

#[tokio::test]
async fn nothing_is_made_that_its_maker_would_not_see() {
    let world = World::new();
    world.has_channels(&["shop"]);
    world.admit("none", registry::Role::Admin, None, Some(&[]));
    world.admit("some", registry::Role::Admin, None, Some(&["shop"]));
    let ben = json!({ "name": "Ben", "email": "ben@example.com", "role": "agent", "channels": ["shop"] });
    let made = world.ask("POST", "/api/v1/agents", Some(ben.clone())).await.json();
    let of_ben = format!("/api/v1/agents/{}", made["id"].as_str().unwrap());
    let token = json!({ "name": "till", "role": "read" });
    let eve = json!({ "name": "Eve", "email": "eve@example.com", "role": "agent" });
    for (method, path, body) in [
        ("POST", "/api/v1/tokens", token.clone()),
        ("POST", "/api/v1/agents", eve),
        ("PATCH", of_ben.as_str(), json!({})),
    ] {
        let mut body = body;
        body["channels"] = json!([]);
        let refused = world.ask_as("some", method, path, Some(body.clone())).await;
        assert_eq!((refused.status, refused.pointer().as_str()), (400, "/channels"), "{method} {path}");
        let made = world.ask(method, path, Some(body)).await;
        assert!(made.status < 300, "whoever sees all sees it: {method} {path} {}", made.status);
    }
    assert_eq!(world.ask_as("none", "POST", "/api/v1/tokens", Some(token)).await.status, 403);
}

#[tokio::test]
async fn an_agent_who_was_given_all_channels_meanwhile_is_not_changed_by_an_admin_of_some() {
    let world = World::new();
    know(&world, &["shop"]);
    world.admit("keeper", registry::Role::Admin, None, Some(&["shop"]));
    for (method, rest, body) in [
        ("POST", "/link", None),
        ("PATCH", "", Some(json!({ "role": "admin", "password": "of my choice" }))),
        ("PATCH", "", Some(json!({ "disabled": true }))),
    ] {
        let made = json!({ "name": "Ben", "email": format!("{}@example.com", Uuid::now_v7()), "role": "agent",
            "channels": ["shop"], "password": "of the owner" });
        let ben = world.ask("POST", "/api/v1/agents", Some(made)).await.json();
        let path = format!("/api/v1/agents/{}", ben["id"].as_str().expect("an id"));
        let hashes = world.crew.hashes();
        world.crew.is_widened.store(true, Ordering::SeqCst);
        let refused = world.ask_as("keeper", method, &format!("{path}{rest}"), body).await;
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{method} {rest}");
        let mut wanted = ben;
        wanted["channels"] = Value::Null;
        assert_eq!(world.get(&path).await.json(), wanted, "{method} {rest}");
        assert_eq!(world.crew.hashes(), hashes, "no link, no session");
    }
}

#[tokio::test]
async fn whoever_sees_some_channels_hears_of_the_people_tokens_and_endpoints_of_those() {
    let world = World::new();
    world.has_channels(&["shop", "other"]);
    let shop = [String::from("shop")];
    let made = async |path: &str, body: Value| {
        let reply = world.ask("POST", &format!("/api/v1/{path}"), Some(body)).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        format!("/api/v1/{path}/{}", reply.json()["id"].as_str().expect("an id"))
    };
    let [agent, token, endpoint] = ["agent_updated", "token_updated", "endpoint_updated"];
    let all = vec![agent, token, endpoint, agent, token, endpoint, endpoint];
    for (name, channels, wanted) in [
        ("a", json!(["shop"]), all),
        ("b", json!(["other"]), vec![]),
        ("c", json!(["shop", "other"]), vec![agent, agent]),
        ("d", Value::Null, vec![agent, agent]),
    ] {
        let email = format!("{name}@example.com");
        let agent = json!({ "name": name, "email": email, "role": "agent", "channels": channels });
        let agent = made("agents", agent).await;
        let token = made("tokens", json!({ "name": name, "role": "read", "channels": channels })).await;
        let endpoint = json!({ "url": "https://example.com/", "channels": channels });
        let endpoint = made("webhook-endpoints", endpoint).await;
        for (method, path, body) in [
            ("PATCH", &agent, Some(json!({ "channels": ["other"] }))),
            ("DELETE", &token, None),
            ("PATCH", &endpoint, Some(json!({ "state": "paused" }))),
            ("DELETE", &endpoint, None),
        ] {
            let done = world.ask(method, path, body).await;
            assert!((200..300).contains(&done.status), "{method} {path}: {}", done.body);
        }
        let told = std::mem::take(&mut *world.house.kept.lock().unwrap());
        let heard = told.iter().filter(|event| event.is_for(None, Some(&shop)));
        assert_eq!(heard.map(|event| event.kind.as_str()).collect::<Vec<_>>(), wanted, "{channels}");
        assert!(told.iter().all(|event| event.is_for(None, None)), "{channels}");
    }
}
