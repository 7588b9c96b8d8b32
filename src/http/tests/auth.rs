use std::sync::{Arc, atomic::Ordering};

use uuid::Uuid;

use super::{ADMIN, NOW, World, fakes, request};
use crate::{
    domain::{event::EventType, time::Time},
    flow::back_office::{
        people::hash_of,
        registry::{Role, Token},
    },
    http::{
        auth::{COUNTING, REMEMBERED},
        ports::Setting,
    },
};

pub(super) fn token(world: &World, text: &str, role: Role, channels: Option<&[&str]>) -> Uuid {
    let token = Token {
        id: Uuid::now_v7(),
        name: text.to_owned(),
        role,
        channels: channels.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        agent: None,
        expires_at: None,
        created_at: NOW,
    };
    world.house.tokens.lock().unwrap().push((token.clone(), hash_of(text)));
    token.id
}

async fn status(world: &World, method: &str, path: &str, token: &str) -> u16 {
    let asked = request(method, path, None).insert_header(("Authorization", format!("Bearer {token}")));
    world.send(asked).await.status
}

#[tokio::test]
async fn every_role_may_do_what_the_contract_says_and_no_more() {
    let world = World::new();
    for (name, role) in
        [("admin", Role::Admin), ("agent", Role::Agent), ("read", Role::Read), ("metrics", Role::Metrics)]
    {
        token(&world, name, role, None);
    }
    let nobody = format!("/api/v1/conversations/{}", Uuid::now_v7());
    #[rustfmt::skip]
    let table = [
        // what                                      admin agent read metrics
        ("GET",    "/api/v1/conversations".to_owned(), [200, 200, 200, 403]),
        ("GET",    "/api/v1/stats".to_owned(),         [200, 200, 200, 403]),
        ("DELETE", format!("{nobody}/read"),           [204, 204, 403, 403]),
        ("GET",    "/api/v1/tokens".to_owned(),        [200, 403, 403, 403]),
        ("GET",    "/api/v1/settings".to_owned(),      [200, 403, 403, 403]),
        ("GET",    "/api/v1/export/messages.csv".to_owned(), [200, 403, 403, 403]),
        ("GET",    "/api/v1/export/messages.jsonl".to_owned(), [200, 403, 403, 403]),
        ("GET",    "/metrics".to_owned(),              [200, 200, 200, 200]),
    ];
    for (method, path, wanted) in table {
        for (name, wanted) in ["admin", "agent", "read", "metrics"].into_iter().zip(wanted) {
            assert_eq!(status(&world, method, &path, name).await, wanted, "{method} {path} as {name}");
        }
    }
}

#[tokio::test]
async fn who_may_not_do_something_is_told_which_role_may() {
    let world = World::new();
    token(&world, "read", Role::Read, None);
    for (method, path, wanted) in [
        ("GET", "/api/v1/tokens".to_owned(), "this takes the role admin"),
        (
            "DELETE",
            format!("/api/v1/conversations/{}/read", Uuid::now_v7()),
            "this takes the role agent or admin",
        ),
    ] {
        let asked = request(method, &path, None).insert_header(("Authorization", "Bearer read"));
        assert_eq!(world.send(asked).await.json()["detail"], wanted, "{path}");
    }
}

#[tokio::test]
async fn metrics_count_all_channels_and_are_for_those_who_see_all() {
    let world = World::new();
    for role in [Role::Admin, Role::Agent, Role::Read, Role::Metrics] {
        let (all, one) = (format!("{role:?} of all"), format!("{role:?} of one"));
        token(&world, &all, role, None);
        token(&world, &one, role, Some(&["shop"]));
        assert_eq!(status(&world, "GET", "/metrics", &all).await, 200, "{all}");
        assert_eq!(status(&world, "GET", "/metrics", &one).await, 403, "{one}");
    }
}

#[tokio::test]
async fn without_a_valid_token_only_the_open_routes_answer() {
    let world = World::new();
    for (path, wanted) in [
        ("/", 200),
        ("/docs", 200),
        ("/openapi.json", 200),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 401),
        ("/api/v1/conversations", 401),
        ("/api/v1/events", 401),
    ] {
        assert_eq!(world.send(request("GET", path, None)).await.status, wanted, "{path}");
    }
    for wrong in
        ["", "Bearer", "Bearer ", "Basic environment-token-1234", ADMIN, "Bearer environment-token-123"]
    {
        let asked = request("GET", "/api/v1/conversations", None).insert_header(("Authorization", wrong));
        let reply = world.send(asked).await;
        assert_eq!(reply.problem(), (401, "unauthorized".to_owned()), "{wrong:?}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn a_token_is_void_after_its_time_and_after_it_was_revoked() {
    let world = World::new();
    token(&world, "late", Role::Read, None);
    world.house.tokens.lock().unwrap()[0].0.expires_at = Some(NOW);
    assert_eq!(status(&world, "GET", "/api/v1/conversations", "late").await, 401);

    let id = token(&world, "soon", Role::Read, None);
    world.house.tokens.lock().unwrap()[1].0.expires_at = Some(Time(NOW.0 + 1));
    assert_eq!(status(&world, "GET", "/api/v1/conversations", "soon").await, 200);
    assert_eq!(world.ask("DELETE", &format!("/api/v1/tokens/{id}"), None).await.status, 204);
    assert_eq!(status(&world, "GET", "/api/v1/conversations", "soon").await, 401);
    assert_eq!(world.ask("DELETE", &format!("/api/v1/tokens/{id}"), None).await.status, 404);
}

#[tokio::test]
async fn what_lies_on_other_channels_is_not_there() {
    let world = World::new();
    token(&world, "shop", Role::Agent, Some(&["shop"]));
    let here = world.shelf.put(fakes::overview(fakes::conversation("shop", "6580000001@c.us")));
    let elsewhere = world.shelf.put(fakes::overview(fakes::conversation("other", "6580000002@c.us")));
    for (path, wanted) in [
        (format!("/api/v1/conversations/{here}"), 200),
        (format!("/api/v1/conversations/{elsewhere}"), 404),
        (format!("/api/v1/conversations/{elsewhere}/messages"), 404),
        (format!("/api/v1/conversations/{elsewhere}/timeline"), 404),
        ("/metrics".to_owned(), 403),
    ] {
        assert_eq!(status(&world, "GET", &path, "shop").await, wanted, "{path}");
    }
    assert_eq!(
        status(&world, "DELETE", &format!("/api/v1/conversations/{elsewhere}/read"), "shop").await,
        404
    );
    assert!(world.clerk.heard().is_empty(), "the step was not even asked");

    let asked = request("GET", "/api/v1/conversations?channel=other", None);
    let reply = world.send(asked.insert_header(("Authorization", "Bearer shop"))).await;
    assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(0));
    let asked = request("GET", "/api/v1/conversations", None);
    let reply = world.send(asked.insert_header(("Authorization", "Bearer shop"))).await;
    assert_eq!(reply.json()["items"][0]["id"], here.to_string());
    assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(1));

    for channel in ["shop", "other"] {
        let secret = crate::http::ports::Secret("webhook".to_owned());
        world.house.webhook_tokens.lock().unwrap().push((channel.to_owned(), secret));
    }
    let of =
        async |name: &str, channels: &[&str]| world.agent(name, "agent", serde_json::json!(channels)).await;
    let (ana, ben) = (of("ana", &["shop"]).await, of("ben", &["other", "shop"]).await);
    let eve = of("eve", &["other"]).await;
    for (who, is_there) in [(&ana, true), (&ben, true), (&eve, false)] {
        let id = who.get("/api/v1/me").await.json()["id"].as_str().expect("an id").to_owned();
        let path = format!("/api/v1/agents/{id}");
        assert_eq!(status(&world, "GET", &path, "shop").await == 200, is_there, "{path}");
        let listed = ana.get("/api/v1/agents").await.json()["items"].to_string();
        assert_eq!(listed.contains(&id), is_there, "{listed}");
        assert_eq!(who.get(&path).await.status, 200, "oneself is there");
    }

    token(&world, "keeper", Role::Admin, Some(&["shop"]));
    let export = "/api/v1/export/messages.csv";
    assert_eq!(status(&world, "GET", &format!("{export}?conversation_id={elsewhere}"), "keeper").await, 404);
    assert_eq!(status(&world, "GET", export, "keeper").await, 200);
    let asked = world.shelf.asked.lock().unwrap().last().cloned();
    assert!(asked.is_some_and(|asked| asked.contains("channels: Some([\"shop\"])")));
}

#[tokio::test]
async fn a_new_token_is_shown_once_and_kept_as_a_hash() {
    let world = World::new();
    let wanted = serde_json::json!({ "name": "bot", "role": "read" });
    let reply = world.ask("POST", "/api/v1/tokens", Some(wanted)).await;
    assert_eq!(reply.status, 201);
    let made = reply.json();
    let text = made["token"].as_str().expect("a token").to_owned();
    assert_eq!(reply.header("location"), format!("/api/v1/tokens/{}", made["id"].as_str().expect("an id")));
    assert_eq!(world.house.tokens.lock().unwrap()[0].1, hash_of(&text));
    assert_eq!(status(&world, "GET", "/api/v1/conversations", &text).await, 200);
    assert!(!world.get("/api/v1/tokens").await.body.contains(&text));
    assert!(!world.get(reply.header("location")).await.body.contains(&text));
    assert_eq!(world.ask("DELETE", reply.header("location"), None).await.status, 204);
    let told: Vec<_> = world.house.kept.lock().unwrap().iter().cloned().collect();
    let [added, removed] = &told[..] else { panic!("{told:?}") };
    assert_eq!((added.kind, added.action.as_deref()), (EventType::TokenUpdated, Some("added")));
    assert_eq!((removed.kind, removed.action.as_deref()), (EventType::TokenUpdated, Some("removed")));
    assert_eq!(added.details.get("token_id"), Some(&made["id"]));
}

#[tokio::test]
async fn a_token_may_act_as_an_agent_and_do_what_both_may() {
    let world = World::new();
    for channel in ["shop", "till", "desk"] {
        let secret = crate::http::ports::Secret("webhook".to_owned());
        world.house.webhook_tokens.lock().unwrap().push((channel.to_owned(), secret));
    }
    let ben = world.agent("ben", "agent", serde_json::json!(["shop", "till"])).await;
    let id = ben.get("/api/v1/me").await.json()["id"].as_str().expect("an id").to_owned();
    let make = async |agent: &str| {
        let channels = ["till", "desk"];
        let wanted =
            serde_json::json!({ "name": "bot", "role": "admin", "agent_id": agent, "channels": channels });
        world.ask("POST", "/api/v1/tokens", Some(wanted)).await
    };
    assert_eq!(make(&Uuid::now_v7().to_string()).await.pointer(), "/agent_id");
    let made = make(&id).await;
    assert_eq!((made.status, &made.json()["agent_id"]), (201, &serde_json::json!(id)), "{}", made.body);
    assert_eq!(world.get(made.header("location")).await.json()["agent_id"], id);
    let token = made.json()["token"].as_str().expect("a token").to_owned();
    let ask = async |method: &str, path: &str, body: Option<serde_json::Value>| {
        let asked = request(method, path, body).insert_header(("Authorization", format!("Bearer {token}")));
        world.send(asked).await
    };
    let me = ask("GET", "/api/v1/me", None).await.json();
    let wanted = serde_json::json!({ "id": id, "name": "ben", "email": "ben@example.com", "role": "agent",
        "channels": ["till"], "actor": format!("agent:{id}"), "preferences": {} });
    assert_eq!(me, wanted);
    assert_eq!(ask("GET", "/api/v1/tokens", None).await.status, 403);
    let name = serde_json::json!({ "name": "Ben" });
    assert_eq!(ask("PATCH", "/api/v1/me", Some(name)).await.json()["name"], "Ben");
    let sign_in = serde_json::json!({ "password": "a new one", "current_password": "correct horse" });
    assert_eq!(ask("PATCH", "/api/v1/me", Some(sign_in)).await.problem(), (403, "forbidden".to_owned()));

    let path = format!("/api/v1/agents/{id}");
    let off = serde_json::json!({ "disabled": true });
    assert_eq!(world.ask("PATCH", &path, Some(off)).await.status, 200);
    assert_eq!(ask("GET", "/api/v1/me", None).await.status, 401, "it goes with its agent");
    assert_eq!(make(&id).await.pointer(), "/agent_id");
}

#[tokio::test]
async fn nobody_makes_a_token_that_sees_more_than_their_own() {
    let world = World::new();
    token(&world, "shop-admin", Role::Admin, Some(&["shop"]));
    token(&world, "all", Role::Read, None);
    let make = async |channels: serde_json::Value| {
        let wanted = serde_json::json!({ "name": "bot", "role": "admin", "channels": channels });
        let asked = request("POST", "/api/v1/tokens", Some(wanted));
        world.send(asked.insert_header(("Authorization", "Bearer shop-admin"))).await
    };
    assert_eq!(make(serde_json::json!(["other"])).await.pointer(), "/channels/0");
    assert_eq!(make(serde_json::Value::Null).await.json()["channels"], serde_json::json!(["shop"]));
    let asked = request("GET", "/api/v1/tokens", None).insert_header(("Authorization", "Bearer shop-admin"));
    assert!(!world.send(asked).await.body.contains("\"all\""), "a token that sees more is not shown");
}

#[tokio::test]
async fn while_the_store_is_away_the_environment_is_still_known_and_others_are_told_to_wait() {
    let world = World::new();
    world.house.is_away.store(true, Ordering::SeqCst);
    assert_eq!(world.get("/api/v1/conversations").await.status, 200);
    let asked =
        request("GET", "/api/v1/conversations", None).insert_header(("Authorization", "Bearer someone"));
    let reply = world.send(asked).await;
    assert_eq!(reply.problem(), (503, "unavailable".to_owned()));
    assert_ne!(reply.header("retry-after"), "");
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_metrics_are_shown_to_who_may_see_nothing_else_and_was_known() {
    let world = World::new();
    for (name, role) in [("read", Role::Read), ("metrics", Role::Metrics)] {
        token(&world, name, role, None);
        assert_eq!(status(&world, "GET", "/metrics", name).await, 200);
    }
    world.house.is_away.store(true, Ordering::SeqCst);
    tokio::time::advance(REMEMBERED).await;
    assert_eq!(status(&world, "GET", "/metrics", "metrics").await, 200);
    assert_eq!(status(&world, "GET", "/metrics", "read").await, 503);
    assert_eq!(status(&world, "GET", "/metrics", "nobody").await, 503);
    tokio::time::advance(COUNTING).await;
    assert_eq!(status(&world, "GET", "/metrics", "metrics").await, 503);
}

#[tokio::test]
async fn an_admin_of_some_channels_sees_the_settings_that_a_channel_may_override() {
    let mut world = World::new();
    let setting = |name: &str, channel_key: Option<&str>| Setting {
        name: name.to_owned(),
        value: Some("1".to_owned()),
        is_set: true,
        source: "environment",
        channel_key: channel_key.map(str::to_owned),
    };
    Arc::get_mut(&mut world.doors).expect("nobody else has it").settings = vec![
        setting("BATON_LISTEN", None),
        setting("BATON_PUBLIC_URL", None),
        setting("BATON_REPLY_CAP", Some("reply_cap")),
    ];
    token(&world, "all", Role::Admin, None);
    token(&world, "some", Role::Admin, Some(&["shop"]));
    for (name, wanted) in [
        ("all", &["BATON_LISTEN", "BATON_PUBLIC_URL", "BATON_REPLY_CAP"][..]),
        ("some", &["BATON_PUBLIC_URL", "BATON_REPLY_CAP"]),
    ] {
        let shown = world.ask_as(name, "GET", "/api/v1/settings", None).await.json();
        let names: Vec<&str> = shown["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, wanted, "{name}");
    }
    let first = world.ask_as("all", "GET", "/api/v1/settings?limit=2", None).await.json();
    let next = format!("/api/v1/settings?cursor={}", first["next_cursor"].as_str().expect("more"));
    let next = world.ask_as("all", "GET", &next, None).await.json();
    assert_eq!(next["items"][0]["name"], "BATON_REPLY_CAP");
    assert!(next["next_cursor"].is_null());
    let refused = world.ask_as("all", "GET", "/api/v1/settings?nmae=x", None).await;
    assert_eq!((refused.status, refused.pointer().as_str()), (400, "/nmae"));
}

#[tokio::test]
async fn a_token_has_a_name_that_every_list_shows() {
    let world = World::new();
    let make = async |name: &str| {
        let wanted = serde_json::json!({ "name": name, "role": "read" });
        world.ask("POST", "/api/v1/tokens", Some(wanted)).await
    };
    for wrong in ["", " ", "\r\u{1b}[2K\u{1b}[A", "two\nlines", "\u{9b}2J", "\u{0}", &"a".repeat(101)] {
        assert_eq!(make(wrong).await.pointer(), "/name", "{wrong:?}");
    }
    assert!(world.house.tokens.lock().unwrap().is_empty());
    assert_eq!(make(" the till ").await.json()["name"], "the till");
}
