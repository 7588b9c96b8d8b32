use std::sync::{Arc, atomic::Ordering};

use serde_json::{Value, json};

use super::{ADMIN, NOW, World};
use crate::{
    domain::brake::Latched,
    flow::{back_office::registry::Role, provider::LinkCode},
    http::ports::{Secrets, Setting},
};

fn shop() -> Value {
    json!({
        "name": "shop", "provider": "green_api", "instance": "7105000001", "token": "provider-secret",
        "webhook_token": "webhook-secret", "settings": { "burst_quiet_ms": 10 },
    })
}

fn secrets(world: &World) -> Secrets {
    let mut plain = world.house.channels.lock().unwrap()[0].sealed.clone().expect("sealed");
    plain.reverse();
    Secrets::from_bytes(&plain).expect("secrets")
}

#[tokio::test]
async fn secrets_of_a_channel_go_in_and_never_come_out() {
    let world = World::new();
    let reply = world.ask("POST", "/api/v1/channels", Some(shop())).await;
    assert_eq!((reply.status, reply.header("location")), (201, "/api/v1/channels/shop"));
    let event = world.house.kept.lock().unwrap()[0].clone();
    assert_eq!(
        (event.kind.as_str(), event.action.as_deref(), event.actor.as_str()),
        ("channel_updated", Some("added"), "environment")
    );
    let shown =
        [reply.body, world.get("/api/v1/channels").await.body, world.get("/api/v1/channels/shop").await.body];
    assert!(shown.iter().all(|body| body.contains("7105000001") && !body.contains("secret")), "{shown:?}");
    assert_eq!(secrets(&world).webhook_token.as_deref(), Some("webhook-secret"));
}

#[tokio::test]
async fn a_token_that_was_made_is_shown_where_a_provider_could_use_it() {
    let world = World::new();
    let add = async |name: &str, instance: &str| {
        let channel =
            json!({ "name": name, "provider": "green_api", "instance": instance, "token": "secret" });
        let reply = world.ask("POST", "/api/v1/channels", Some(channel)).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.json()["webhook_token"].clone()
    };
    assert!(add("posted", "7105000001").await.is_string());
    world.house.fetches.store(true, Ordering::Relaxed);
    assert_eq!(add("fetched", "7105000002").await, Value::Null);
}

#[tokio::test]
async fn a_change_merges_and_null_removes() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let change =
        json!({ "title": "Shop", "webhook_token": "the-next-token", "settings": { "burst_quiet_ms": null } });
    let reply = world.ask("PATCH", "/api/v1/channels/shop", Some(change)).await;
    assert_eq!((&reply.json()["title"], &reply.json()["settings"]), (&json!("Shop"), &json!({})));
    let kept = secrets(&world);
    assert_eq!(
        (kept.token.as_deref(), kept.webhook_token.as_deref()),
        (Some("provider-secret"), Some("the-next-token"))
    );
}

#[tokio::test]
async fn two_changes_at_the_same_moment_both_hold() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let mut theirs = world.house.channels.lock().unwrap()[0].clone();
    theirs.title = Some("Shop".to_owned());
    theirs.updated_at = theirs.updated_at.plus_ms(1);
    *world.house.meanwhile.lock().unwrap() = Some(theirs);
    let change = json!({ "webhook_token": "the-next-token", "settings": { "burst_quiet_ms": 20 } });
    let reply = world.ask("PATCH", "/api/v1/channels/shop", Some(change)).await.json();
    assert_eq!(reply["title"], "Shop");
    assert_eq!(reply["settings"], json!({ "burst_quiet_ms": 20 }));
    assert_eq!(secrets(&world).webhook_token.as_deref(), Some("the-next-token"));
}

#[tokio::test]
async fn the_webhook_token_before_stays_valid_unless_somebody_says_otherwise() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    for (change, now, before) in [
        (json!({ "webhook_token": "the-second-token" }), "the-second-token", Some("webhook-secret")),
        (json!({ "webhook_token": "the-second-token" }), "the-second-token", Some("webhook-secret")),
        (json!({ "title": "Shop" }), "the-second-token", Some("webhook-secret")),
        (json!({ "webhook_token": "the-third-token" }), "the-third-token", Some("the-second-token")),
        (
            json!({ "webhook_token": "the-fourth-token", "previous_webhook_token": "another-token" }),
            "the-fourth-token",
            Some("another-token"),
        ),
        (
            json!({ "webhook_token": "the-fifth-token", "previous_webhook_token": null }),
            "the-fifth-token",
            None,
        ),
        (json!({ "webhook_token": "the-sixth-token" }), "the-sixth-token", Some("the-fifth-token")),
        (json!({ "previous_webhook_token": null }), "the-sixth-token", None),
    ] {
        let reply = world.ask("PATCH", "/api/v1/channels/shop", Some(change.clone())).await;
        assert_eq!(reply.status, 200, "{change}");
        let kept = secrets(&world);
        let kept = (kept.webhook_token.as_deref(), kept.previous_webhook_token.as_deref());
        assert_eq!(kept, (Some(now), before), "{change}");
    }
}

#[tokio::test]
async fn a_stored_token_is_sent_nowhere_else_than_it_was_given_for() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let change = |body: Value| world.ask("PATCH", "/api/v1/channels/shop", Some(body));
    let elsewhere = "https://elsewhere.example";
    assert_eq!(change(json!({ "api_url": elsewhere })).await.pointer(), "/token");
    assert_eq!(change(json!({ "api_url": elsewhere, "webhook_token": "x" })).await.pointer(), "/token");
    assert_eq!(world.house.channels.lock().unwrap()[0].api_url, None);
    assert_eq!(change(json!({ "api_url": elsewhere, "token": "another" })).await.status, 200);
    assert_eq!(change(json!({ "api_url": elsewhere, "title": "Shop" })).await.status, 200, "it stays there");
    assert_eq!(change(json!({ "api_url": null })).await.pointer(), "/token");
}

#[tokio::test]
async fn a_wrong_channel_is_told_by_pointer() {
    let world = World::new();
    for (field, value) in [
        ("name", json!("Shop!")),
        ("name", json!("sandbox")),
        ("provider", json!("telegram")),
        ("instance", json!("12/../3")),
        ("api_url", json!("file:///etc/passwd")),
        ("token", json!("")),
        ("webhook_token", json!("hook-123456")),
        ("previous_webhook_token", json!("7")),
        ("settings", json!({ "quiet": 1 })),
        ("nmae", json!(1)),
    ] {
        let mut wanted = shop();
        wanted[field] = value;
        let pointer = world.ask("POST", "/api/v1/channels", Some(wanted)).await.pointer();
        assert!(pointer.starts_with(&format!("/{field}")), "{field}: {pointer}");
    }
}

#[tokio::test]
async fn a_name_is_taken_once_and_a_channel_in_use_stays() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let again = world.ask("POST", "/api/v1/channels", Some(shop())).await;
    assert_eq!(again.problem(), (409, "name_taken".to_owned()));
    assert_eq!(again.json()["current"]["name"], "shop");
    assert_eq!(world.ask("DELETE", "/api/v1/channels/shop", None).await.status, 204);
    assert_eq!(world.ask("DELETE", "/api/v1/channels/shop", None).await.status, 404);
    let mut busy = shop();
    busy["name"] = json!("busy");
    world.ask("POST", "/api/v1/channels", Some(busy)).await;
    assert_eq!(
        world.ask("DELETE", "/api/v1/channels/busy", None).await.problem(),
        (409, "in_use".to_owned())
    );
}

#[tokio::test]
async fn one_account_is_not_put_on_two_channels() {
    let world = World::new();
    world.admit("other", Role::Admin, None, Some(&["other", "twin"]));
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let twin = |instance: &str| {
        let mut wanted = shop();
        (wanted["name"], wanted["instance"]) = (json!("twin"), json!(instance));
        wanted
    };
    let refused = world.ask("POST", "/api/v1/channels", Some(twin("7105000001"))).await;
    assert_eq!(refused.problem(), (409, "in_use".to_owned()));
    assert_eq!(refused.json()["current"]["name"], "shop");
    let refused = world.ask_as("other", "POST", "/api/v1/channels", Some(twin("7105000001"))).await;
    assert_eq!(refused.problem(), (409, "in_use".to_owned()));
    assert!(!refused.body.contains("shop"), "whose it is, they do not see: {}", refused.body);

    assert_eq!(world.ask("POST", "/api/v1/channels", Some(twin("7105000002"))).await.status, 201);
    let change = |body| world.ask("PATCH", "/api/v1/channels/twin", Some(body));
    let taken = change(json!({ "instance": "7105000001" })).await;
    assert_eq!(taken.problem(), (409, "in_use".to_owned()));
    // Two from before, when nobody asked: all but their credentials may be changed, and they can be parted.
    world.house.channels.lock().unwrap()[1].instance = Some("7105000001".to_owned());
    assert_eq!(change(json!({ "token": "next" })).await.problem(), (409, "in_use".to_owned()));
    assert_eq!(change(json!({ "title": "Twin" })).await.status, 200);
    assert_eq!(change(json!({ "instance": "7105000002", "token": "next" })).await.status, 200);
}

#[tokio::test]
async fn credentials_from_the_environment_are_read_only() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    world.house.channels.lock().unwrap()[0].managed_by_environment = true;
    let reply = world.ask("PATCH", "/api/v1/channels/shop", Some(json!({ "token": "x" }))).await;
    assert_eq!(reply.pointer(), "/token");
    let reply = world.ask("PATCH", "/api/v1/channels/shop", Some(json!({ "title": "x" }))).await;
    assert_eq!((reply.status, &reply.json()["managed_by"]), (200, &json!("environment")));
    assert_eq!(world.ask("DELETE", "/api/v1/channels/shop", None).await.status, 409);
}

#[tokio::test]
async fn the_code_that_links_the_phone_is_for_admins_and_kept_nowhere() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    *world.house.codes.lock().unwrap() = [LinkCode::Shown(b"png".to_vec()), LinkCode::Linked].into();
    let path = "/api/v1/channels/shop/qr";
    for told in [
        json!({ "state": "qr_code", "image": "data:image/png;base64,cG5n", "detail": null }),
        json!({ "state": "linked", "image": null, "detail": null }),
        json!({ "state": "unavailable", "image": null, "detail": "shop is alone" }),
    ] {
        let reply = world.get(path).await;
        assert_eq!((reply.status, reply.header("cache-control"), reply.json()), (200, "no-store", told));
    }
    assert_eq!(world.get("/api/v1/channels/nowhere/qr").await.status, 404);
    let ana = world.agent("ana", "agent", Value::Null).await;
    assert_eq!(ana.get(path).await.status, 403);
}

#[tokio::test]
async fn an_admin_alone_releases_the_brake_and_whoever_looks_sees_why_it_holds() {
    let world = World::new();
    world.ask("POST", "/api/v1/channels", Some(shop())).await;
    let latched = Latched { at: NOW, sends: 61, best: 20 };
    world.house.channels.lock().unwrap()[0].brake.latched = Some(latched);
    world.admit("ben", Role::Agent, None, None);
    let seen = world.ask_as("ben", "GET", "/api/v1/channels/shop", None).await.json();
    assert_eq!(seen["brake"], json!({ "since": NOW.to_string(), "sends": 61, "best": 20 }));
    let path = "/api/v1/channels/shop/release-brake";
    assert_eq!(world.ask_as("ben", "POST", path, None).await.status, 403);
    assert!(world.house.channels.lock().unwrap()[0].brake.latched.is_some());
    let released = world.ask("POST", path, None).await.json();
    assert_eq!((&released["brake"], &released["name"]), (&Value::Null, &json!("shop")));
    assert_eq!(world.ask("POST", "/api/v1/channels/none/release-brake", None).await.status, 404);
}

#[tokio::test]
async fn an_admin_of_some_channels_sends_no_requests_into_the_network_around() {
    let mut world = World::new();
    let usual = Setting {
        name: "BATON_GREEN_API_URL".to_owned(),
        value: Some("https://gateway.example:8443".to_owned()),
        is_set: true,
        source: "environment",
        channel_key: None,
    };
    Arc::get_mut(&mut world.doors).expect("nobody else has it").settings = vec![usual];
    world.admit("some", Role::Admin, None, Some(&["shop"]));
    let mut wanted = shop();
    for (url, status) in [
        ("http://10.0.0.1:6379", 403),
        ("https://green-api.com.example", 403),
        ("https://gateway.example", 403),
        ("https://gateway.example:8443/v2", 201),
    ] {
        wanted["api_url"] = json!(url);
        let reply = world.ask_as("some", "POST", "/api/v1/channels", Some(wanted.clone())).await;
        assert_eq!(reply.status, status, "{url}: {}", reply.body);
    }
    let change = |token: &'static str, body: Value| {
        let world = &world;
        async move { world.ask_as(token, "PATCH", "/api/v1/channels/shop", Some(body)).await }
    };
    let inside = json!({ "api_url": "http://10.0.0.1:6379", "token": "next" });
    let refused = change("some", inside.clone()).await;
    assert_eq!(refused.problem(), (403, "forbidden".to_owned()));
    assert!(refused.body.contains("admin of all channels"), "{}", refused.body);
    let theirs = json!({ "api_url": "https://7103.api.greenapi.com", "token": "next" });
    assert_eq!(change("some", theirs).await.status, 200);
    assert_eq!(change(ADMIN, inside).await.status, 200, "who holds the installation may");
    let again = json!({ "api_url": "http://10.0.0.1:6379", "title": "Shop" });
    assert_eq!(change("some", again).await.status, 200, "it has that address already");
    assert_eq!(change("some", json!({ "api_url": null, "token": "next" })).await.status, 200);
}

#[tokio::test]
async fn an_admin_of_some_channels_does_not_set_what_a_day_may_cost() {
    let world = World::new();
    world.admit("some", Role::Admin, None, Some(&["shop"]));
    let mut wanted = shop();
    wanted["settings"] = json!({ "ai_spend_per_day": 100 });
    assert_eq!(world.ask_as("some", "POST", "/api/v1/channels", Some(wanted.clone())).await.status, 403);
    assert_eq!(world.ask("POST", "/api/v1/channels", Some(wanted)).await.status, 201);
    for (settings, status) in [
        (json!({ "ai_spend_per_day": 101 }), 403),
        (json!({ "ai_spend_per_day": null }), 403),
        (json!({ "ai_spend_per_day": 100, "burst_quiet_ms": 20 }), 200),
    ] {
        let change = json!({ "settings": settings });
        let reply = world.ask_as("some", "PATCH", "/api/v1/channels/shop", Some(change.clone())).await;
        assert_eq!(reply.status, status, "{change}: {}", reply.body);
    }
}
