//! Signing in and out, and what a session may do.

use actix_web::test::TestRequest;
use serde_json::{Value, json};

use super::{ADMIN, Reply, World, fakes, pass, request};
use crate::{
    domain::event::EventType,
    flow::back_office::{
        people::FIRST_EMAIL,
        sign_in::{IDLE_MS, LINK_MS, RENEWED_MS, begin},
    },
};

const PASSWORD: &str = "correct horse";

impl World {
    /// The first agent comes in by their link.
    pub(super) async fn first(&self) -> Browser<'_> {
        let link = begin(&*self.crew, super::clock()).await.expect("writes").expect("the first");
        self.by_link(&link).await
    }

    pub(super) async fn by_link(&self, link: &str) -> Browser<'_> {
        let reply = self.show(json!({ "link": link })).await;
        assert_eq!(reply.status, 204, "{}", reply.body);
        Browser { world: self, cookie: cookie_of(&reply) }
    }

    /// Somebody comes with the password that all here have.
    pub(super) async fn by_password(&self, email: &str) -> Browser<'_> {
        let reply = self.show(json!({ "email": email, "password": PASSWORD })).await;
        assert_eq!(reply.status, 204, "{}", reply.body);
        Browser { world: self, cookie: cookie_of(&reply) }
    }

    /// An agent with a password, who is signed in.
    pub(super) async fn agent(&self, name: &str, role: &str, channels: Value) -> Browser<'_> {
        let email = format!("{name}@example.com");
        let wanted =
            json!({ "name": name, "email": email, "role": role, "channels": channels, "password": PASSWORD });
        let reply = self.ask("POST", "/api/v1/agents", Some(wanted)).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        self.by_password(&email).await
    }

    /// Somebody wants to sign in.
    pub(super) async fn show(&self, body: Value) -> Reply {
        self.send(request("POST", "/api/v1/session", Some(body))).await
    }
}

/// `baton_session=…`, as a browser sends it back.
fn cookie_of(reply: &Reply) -> String {
    let (cookie, _) = reply.header("set-cookie").split_once(';').expect("a cookie");
    cookie.to_owned()
}

/// The browser of somebody who is signed in, on one of our own pages.
pub(super) struct Browser<'w> {
    world: &'w World,
    pub(super) cookie: String,
}

impl Browser<'_> {
    pub(super) fn request(&self, method: &str, path: &str, body: Option<Value>) -> TestRequest {
        request(method, path, body).insert_header(("Cookie", format!("other=1; {}", self.cookie)))
    }

    pub(super) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let request = self.request(method, path, body).insert_header(("Sec-Fetch-Site", "same-origin"));
        self.world.send(request).await
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, None).await
    }
}

#[tokio::test]
async fn the_first_link_signs_in_once_and_the_agent_gives_themselves_a_name_and_a_password() {
    let world = World::new();
    let link = begin(&*world.crew, super::clock()).await.expect("writes").expect("the first");
    assert_eq!(begin(&*world.crew, super::clock()).await.expect("reads"), None, "there is an agent now");
    let reply = world.show(json!({ "link": link })).await;
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    let cookie = reply.header("set-cookie").to_owned();
    assert!(
        cookie.starts_with("baton_session=") && cookie.contains("; HttpOnly; SameSite=Lax; Path=/"),
        "{cookie}"
    );
    assert!(!cookie.contains("Secure"), "there is no TLS");
    let again = world.show(json!({ "link": link })).await;
    assert_eq!(again.problem(), (401, "unauthorized".to_owned()), "once");

    let admin = Browser { world: &world, cookie: cookie_of(&reply) };
    let me = admin.get("/api/v1/session").await;
    assert_eq!((me.status, me.header("cache-control")), (200, "no-store"));
    let me = me.json();
    assert_eq!(me, admin.get("/api/v1/me").await.json());
    let id = me["id"].as_str().expect("an id");
    let wanted = json!({ "id": id, "name": "Admin", "email": FIRST_EMAIL, "role": "admin", "channels": null,
        "actor": format!("agent:{id}"), "preferences": {} });
    assert_eq!(me, wanted);

    let change = json!({ "name": "Ana", "email": "ana@example.com", "password": PASSWORD });
    let changed = admin.ask("PATCH", "/api/v1/me", Some(change)).await;
    assert_eq!((changed.status, &changed.json()["name"]), (200, &json!("Ana")), "{}", changed.body);
    let reply = world.show(json!({ "email": "ANA@example.com ", "password": PASSWORD })).await;
    assert_eq!(reply.status, 204, "{}", reply.body);
    let kept = format!("{:?}", world.crew.hashes());
    let secret = cookie_of(&reply).replace("baton_session=", "");
    assert!(!kept.contains(&secret) && !kept.contains(&link), "only hashes are kept");
}

#[tokio::test]
async fn where_there_is_tls_the_cookie_is_for_tls() {
    let world = World::at(Some("https://baton.example.com"), None);
    let link = begin(&*world.crew, super::clock()).await.expect("writes").expect("the first");
    let reply = world.show(json!({ "link": format!("https://baton.example.com/sign-in#{link}") })).await;
    assert!(reply.header("set-cookie").contains("; Secure"), "{}", reply.header("set-cookie"));
}

#[tokio::test]
async fn nobody_comes_in_with_less_than_the_right_thing() {
    let world = World::new();
    world.agent("ana", "admin", Value::Null).await;
    let ana = |password: &str| json!({ "email": "ana@example.com", "password": password });
    for wrong in [
        ana("correct  horse"),
        json!({ "email": "nobody@example.com", "password": PASSWORD }),
        json!({ "link": "not-a-link" }),
        json!({ "link": "http://127.0.0.1/sign-in#" }),
    ] {
        let reply = world.show(wrong.clone()).await;
        assert_eq!(reply.status, 401, "{wrong}: {}", reply.body);
        assert_eq!(reply.header("set-cookie"), "");
    }
    for (wrong, pointer) in [
        (json!({ "email": "", "password": PASSWORD }), "/email"),
        (json!({ "email": "ana@example.com\u{0}", "password": PASSWORD }), "/email"),
        (json!({ "email": "ana@example.com", "password": "a".repeat(1_000) }), "/password"),
        (json!({ "link": " " }), "/link"),
        (json!({ "token": "x" }), "/token"),
    ] {
        let reply = world.show(wrong).await;
        assert_eq!((reply.status, reply.pointer().as_str()), (400, pointer));
    }
    for half in
        [json!({}), json!({ "email": "a@b.c" }), json!({ "email": "a@b.c", "password": "x", "link": "x" })]
    {
        assert_eq!(world.show(half).await.problem(), (400, "invalid".to_owned()));
    }
    let form = TestRequest::post().uri("/api/v1/session").set_payload("email=ana@example.com&password=x");
    assert_eq!(world.send(form).await.status, 415, "no form of another page can sign anybody in");
}

#[tokio::test]
async fn who_tries_too_often_is_told_when_to_come_again() {
    let world = World::new();
    world.agent("ana", "admin", Value::Null).await;
    let wrong = json!({ "email": "Ana@example.com", "password": "not this one" });
    for _ in 0..10 {
        assert_eq!(world.show(wrong.clone()).await.status, 401);
    }
    let right = json!({ "email": "ana@example.com", "password": PASSWORD });
    let reply = world.show(right.clone()).await;
    assert_eq!(reply.problem(), (429, "rate_limited".to_owned()), "also with the right one");
    let seconds: i64 = reply.header("retry-after").parse().expect("seconds");
    assert!((1..=901).contains(&seconds), "{seconds}");
    let other = json!({ "email": "ben@example.com", "password": "not this one" });
    assert_eq!(world.show(other).await.status, 401, "others are not held up");
    pass(&world, seconds * 1_000);
    assert_eq!(world.show(right).await.status, 204);
}

#[tokio::test]
async fn from_one_place_only_so_many_tries_are_made() {
    let world = World::new();
    let link = begin(&*world.crew, super::clock()).await.expect("writes").expect("the first");
    let show = |place: &str, body| {
        request("POST", "/api/v1/session", Some(body))
            .peer_addr(format!("{place}:9").parse().expect("an address"))
    };
    let from = |n: u32, place: &str| {
        show(place, json!({ "email": format!("{n}@example.com"), "password": "not this one" }))
    };
    for n in 0..60 {
        assert_eq!(world.send(from(n, "10.0.0.5")).await.status, 401);
    }
    assert_eq!(world.send(from(60, "10.0.0.5")).await.status, 429);
    assert_eq!(world.send(from(61, "10.0.0.6")).await.status, 401);
    let forwarded = |place: &str| from(62, place).insert_header(("X-Forwarded-For", "10.0.0.5"));
    assert_eq!(
        world.send(forwarded("10.0.0.1")).await.status,
        429,
        "a proxy of ours says where it came from"
    );
    assert_eq!(world.send(forwarded("10.0.0.6")).await.status, 401, "anybody can say that");
    let by_link = show("10.0.0.5", json!({ "link": link }));
    assert_eq!(world.send(by_link).await.status, 204, "a link lets them in");
}

#[tokio::test]
async fn of_a_flood_of_refused_tries_some_are_in_the_audit_and_the_rest_are_counted() {
    let world = World::new();
    for n in 0..12 {
        assert_eq!(world.show(json!({ "link": format!("guess-{n}") })).await.status, 401);
    }
    let told = async || {
        let audit = world.get("/api/v1/audit").await.json();
        let details = audit["items"].as_array().expect("a list").iter().map(|deed| deed["details"].clone());
        details.map(|details| details["left_out"].as_i64()).collect::<Vec<_>>()
    };
    assert_eq!(told().await, [None; 10]);
    pass(&world, 60_000);
    assert_eq!(world.show(json!({ "link": "guess-13" })).await.status, 401);
    assert_eq!(told().await[..2], [Some(2), None]);
}

#[tokio::test]
async fn of_strangers_no_long_body_is_read() {
    let world = World::new();
    let link = |length| json!({ "link": "x".repeat(length) });
    assert_eq!(world.show(link(2_048)).await.status, 401);
    assert_eq!(world.show(link(16 * 1_024)).await.problem(), (413, "too_large".to_owned()));
    // The longest that both may be, each character escaped as two.
    let escaped = |length| "\\ud83d\\ude00".repeat(length);
    let longest = format!(r#"{{"email":"{}","password":"{}"}}"#, escaped(254), escaped(200));
    let sent = request("POST", "/api/v1/session", None).insert_header(("Content-Type", "application/json"));
    assert_eq!(world.send(sent.set_payload(longest)).await.status, 401);
}

#[tokio::test]
async fn a_session_changes_things_only_from_our_own_pages() {
    let world = World::at(Some("https://baton.example.com"), None);
    let ana = world.agent("ana", "admin", Value::Null).await;
    let path = "/api/v1/me";
    let change =
        || ana.request("PATCH", path, Some(json!({ "name": "Ana" }))).insert_header(("Host", "inside:8080"));
    for (name, value, wanted) in [
        ("Sec-Fetch-Site", "same-origin", 200),
        ("Sec-Fetch-Site", "same-site", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "none", 403),
        ("Origin", "https://baton.example.com", 200),
        ("Origin", "http://inside:8080", 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("X-Nothing", "x", 403),
    ] {
        let reply = world.send(change().insert_header((name, value))).await;
        assert_eq!(reply.status, wanted, "{name}: {value}: {}", reply.body);
    }
    let read = ana.request("GET", path, None).insert_header(("Sec-Fetch-Site", "cross-site"));
    assert_eq!(world.send(read).await.status, 200, "reading changes nothing");
    let bearer = change().insert_header(("Authorization", format!("Bearer {ADMIN}")));
    assert_eq!(world.send(bearer).await.problem().0, 403, "the token comes first, and it is no agent");
    let wrong = ana.request("GET", path, None).insert_header(("Authorization", "Bearer wrong"));
    assert_eq!(world.send(wrong).await.status, 401, "a wrong token is not made good by a cookie");
}

#[tokio::test]
async fn whoever_signs_out_is_gone_and_nobody_else() {
    let world = World::new();
    let ana = world.agent("ana", "admin", Value::Null).await;
    let body = json!({ "email": "ana@example.com", "password": PASSWORD });
    let elsewhere = Browser { world: &world, cookie: cookie_of(&world.show(body).await) };
    assert_eq!(
        world.send(ana.request("DELETE", "/api/v1/session", None)).await.status,
        403,
        "not from anywhere"
    );
    let reply = ana.ask("DELETE", "/api/v1/session", None).await;
    assert_eq!(reply.status, 204);
    assert!(
        reply.header("set-cookie").starts_with("baton_session=; ")
            && reply.header("set-cookie").contains("Max-Age=0")
    );
    assert_eq!(ana.get("/api/v1/session").await.problem(), (401, "unauthorized".to_owned()));
    assert_eq!(ana.ask("DELETE", "/api/v1/session", None).await.status, 401);
    assert_eq!(elsewhere.get("/api/v1/session").await.status, 200);
    assert_eq!(world.ask("DELETE", "/api/v1/session", None).await.status, 404, "a token has no session");
    let forged = request("GET", "/api/v1/session", None).insert_header(("Cookie", "baton_session=x"));
    assert_eq!(world.send(forged).await.status, 401);
}

#[tokio::test]
async fn a_session_lasts_while_it_is_used_and_writes_once_an_hour() {
    let world = World::new();
    let ana = world.agent("ana", "admin", Value::Null).await;
    let use_it = async || ana.get("/api/v1/session").await.status;
    pass(&world, RENEWED_MS - 1);
    assert_eq!((use_it().await, world.crew.renewals()), (200, 0));
    pass(&world, 1);
    for _ in 0..3 {
        assert_eq!((use_it().await, world.crew.renewals()), (200, 1));
        world.doors.auth.forget();
    }
    for n in 2..5 {
        pass(&world, IDLE_MS - 1);
        assert_eq!((use_it().await, world.crew.renewals()), (200, n));
    }
    pass(&world, IDLE_MS);
    assert_eq!(use_it().await, 401, "nobody was there for a month");
}

#[tokio::test]
async fn a_link_is_good_for_a_day() {
    let world = World::new();
    for (name, after, wanted) in [("ana", LINK_MS - 1, 204), ("ben", LINK_MS, 401)] {
        let wanted_agent = json!({ "name": name, "email": format!("{name}@example.com"), "role": "agent" });
        let made = world.ask("POST", "/api/v1/agents", Some(wanted_agent)).await.json();
        let link = made["link"].as_str().expect("a link").to_owned();
        pass(&world, after);
        assert_eq!(world.show(json!({ "link": link })).await.status, wanted, "{name}");
    }
}

#[tokio::test]
async fn what_an_agent_writes_in_the_dashboard_is_theirs() {
    let world = World::new();
    let ana = world.agent("ana", "agent", Value::Null).await;
    let id = ana.get("/api/v1/me").await.json()["id"].as_str().expect("an id").to_owned();
    let chat = world.shelf.put(fakes::overview(fakes::conversation("shop", "6580000001@c.us")));
    ana.ask("POST", &format!("/api/v1/conversations/{chat}/messages"), Some(json!({ "text": "Hi" }))).await;
    let heard = world.clerk.heard().join("\n");
    assert!(heard.contains(&format!("agent:{id}")), "{heard}");
    assert_eq!(ana.get("/api/v1/tokens").await.status, 403, "an agent is no admin");
}

#[tokio::test]
async fn an_open_feed_ends_with_the_session_it_was_opened_in() {
    let world = World::new();
    let ana = world.agent("ana", "admin", Value::Null).await;
    let opened = ana.request("GET", "/api/v1/events", None).insert_header(("Accept", "text/event-stream"));
    let mut client = super::feed::Client::over(world.open(opened).await);
    client.next().await.expect("hello");
    world.shelf.happen("default", EventType::TurnStarted);
    world.nudge.notify_one();
    assert_eq!(client.next().await.expect("an event").name, "turn_started");
    assert_eq!(ana.ask("DELETE", "/api/v1/session", None).await.status, 204);
    assert_eq!(client.next().await, None);
}
