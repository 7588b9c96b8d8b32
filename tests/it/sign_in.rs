//! People who are signed in, over real stores: from the first link to what a contact's conversation shows of them.

use baton::flow::back_office::sign_in::begin;
use serde_json::{Value, json};

use crate::world::{Reply, World, answered, on_both_stores};

on_both_stores!(
    an_agent_signs_in_takes_over_and_is_known_by_name,
    whoever_takes_over_holds_it_whatever_reason_they_name,
    whoever_writes_where_nobody_holds_is_given_the_conversation,
    whoever_is_disabled_is_out_within_seconds_and_so_is_their_token,
    what_somebody_held_who_is_disabled_is_held_by_nobody,
    what_somebody_held_who_sees_it_no_more_is_held_by_nobody,
    a_link_that_two_browsers_open_lets_one_in,
    who_has_lost_their_password_is_given_a_link,
    whoever_looks_at_people_or_replies_hears_of_each_change,
);

const MEI: &str = "6580000001@c.us";

/// A browser on one of Baton's own pages.
struct Browser<'w> {
    world: &'w World,
    cookie: String,
}

impl Browser<'_> {
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let mut request = self.world.request(method, path, body).build().expect("a request");
        request.headers_mut().remove("authorization");
        request.headers_mut().insert("cookie", self.cookie.parse().expect("a cookie"));
        request.headers_mut().insert("sec-fetch-site", "same-origin".parse().expect("a word"));
        self.world.execute(request).await
    }

    async fn me(&self) -> Value {
        self.ask("GET", "/api/v1/me", None).await.body
    }
}

/// Signs in; None if that is refused.
async fn sign_in(world: &World, body: Value) -> Option<Browser<'_>> {
    let mut request = world.request("POST", "/api/v1/session", Some(body)).build().expect("a request");
    request.headers_mut().remove("authorization");
    let (status, cookie) = world.cookie(request).await;
    (status == 204).then(|| Browser { world, cookie: cookie.expect("a cookie") })
}

async fn first(world: &World) -> Browser<'_> {
    let people = world.process().store.places();
    let link = begin(&*people, world.now()).await.expect("writes").expect("the first");
    sign_in(world, json!({ "link": link })).await.expect("let in")
}

async fn an_agent_signs_in_takes_over_and_is_known_by_name(world: &World) {
    let admin = first(world).await;
    let wanted = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let made = admin.ask("POST", "/api/v1/agents", Some(wanted)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let ana = sign_in(world, json!({ "link": made.body["link"] })).await.expect("let in");
    let id = ana.me().await["id"].clone();
    assert_eq!(id, made.body["id"]);
    let set = ana.ask("PATCH", "/api/v1/me", Some(json!({ "password": "correct horse" }))).await;
    assert_eq!(set.status, 200, "{set:?}");
    let body = json!({ "email": "Ana@example.com", "password": "correct horse" });
    assert!(sign_in(world, body).await.is_some());

    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let conversation = mei.conversation().await["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/conversations/{conversation}");
    let receipt = ana.ask("PUT", &format!("{path}/mode"), Some(json!({ "mode": "HUMAN" }))).await;
    let person = json!({ "id": id, "name": "Ana" });
    assert_eq!((receipt.status, &receipt.body["assignee"]), (200, &person), "{receipt:?}");
    let said = ana.ask("POST", &format!("{path}/messages"), Some(json!({ "text": "Hi Mei." }))).await;
    assert_eq!((said.status, &said.body["agent"], &said.body["origin"]), (202, &person, &json!("dashboard")));
    world.drain().await;

    admin
        .ask(
            "PATCH",
            &format!("/api/v1/agents/{}", id.as_str().expect("an id")),
            Some(json!({ "name": "Ana B." })),
        )
        .await;
    let shown = ana.ask("GET", &path, None).await.body;
    assert_eq!(shown["assignee"]["name"], "Ana B.");
    assert_eq!(shown["last_message"]["agent"]["name"], "Ana B.");
    assert_eq!(shown["mode_actor"], format!("agent:{}", id.as_str().expect("an id")));
    let mine = ana.ask("GET", "/api/v1/conversations?group=mine", None).await.body;
    assert_eq!(mine["items"].as_array().map(Vec::len), Some(1));
    let given = admin.ask("PATCH", &path, Some(json!({ "assignee": "me" }))).await;
    assert_eq!(given.body["assignee"]["name"], "Admin");
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        agent: Hi Mei. [sent]
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_button
        = the phone shows: Two condos. | Hi Mei.
        ",
    )
    .await;
}

/// An agent who answers, signed in.
async fn agent<'w>(admin: &Browser<'w>, name: &str) -> Browser<'w> {
    let wanted = json!({ "name": name, "email": format!("{name}@example.com"), "role": "agent" });
    let made = admin.ask("POST", "/api/v1/agents", Some(wanted)).await;
    sign_in(admin.world, json!({ "link": made.body["link"] })).await.expect("let in")
}

async fn whoever_takes_over_holds_it_whatever_reason_they_name(world: &World) {
    world.rules(|policy| policy.human_hold_ms = 600_000);
    let admin = first(world).await;
    let ana = agent(&admin, "Ana").await;
    for (n, reason) in ["contact_asked", "reply_cap", "hold_expired", "api"].into_iter().enumerate() {
        let chat = format!("658000001{n}@c.us");
        let mei = world.chat(&chat);
        mei.writes("M1", "Show me condos").await;
        let path = mei.path("").await;
        let drafting = Some(json!({ "drafting": true }));
        assert_eq!(ana.ask("PATCH", path.trim_end_matches('/'), drafting).await.status, 200);
        let takes_over = Some(json!({ "mode": "HUMAN", "reason": reason }));
        let receipt = ana.ask("PUT", &mei.path("mode").await, takes_over).await.body;
        assert_eq!((&receipt["changed"], &receipt["assignee"]["name"]), (&json!(true), &json!("Ana")));
        assert_eq!(receipt["mode_until"], json!(world.now().plus_ms(600_000).to_string()), "{reason}");
        world.assistant_says("Two condos.");
        world.after(3_000).await;
        assert_eq!(mei.drafts().await[0]["text"], "Two condos.", "{reason}: a suggestion for Ana");
        assert_eq!(mei.happened("agent_took_over").await, 1, "{reason}");
        assert_eq!(mei.conversation().await["mode_reason"], reason);
    }
}

async fn whoever_writes_where_nobody_holds_is_given_the_conversation(world: &World) {
    let admin = first(world).await;
    let (ana, ben) = (agent(&admin, "Ana").await, agent(&admin, "Ben").await);
    let mei = world.chat(MEI);
    mei.writes("M1", "Show me condos").await;
    mei.take_over().await;
    assert_eq!(mei.conversation().await["assignee"], Value::Null, "the environment is nobody");
    let path = mei.path("messages").await;
    for browser in [&ana, &ben] {
        let said = browser.ask("POST", &path, Some(json!({ "text": "Hi Mei." }))).await;
        assert_eq!(said.status, 202, "{said:?}");
        assert_eq!(mei.conversation().await["assignee"]["name"], "Ana", "what Ana holds stays hers");
    }
    let told = world.get(&format!("{}?type=conversation_updated", mei.path("timeline").await)).await;
    let told: Vec<_> = told["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["action"] == "assigned")
        .map(|event| (event["actor"].clone(), event["details"]["assignee"].clone()))
        .collect();
    let id = ana.me().await["id"].as_str().expect("an id").to_owned();
    assert_eq!(told, [(json!(format!("agent:{id}")), json!(id))]);
}

async fn whoever_is_disabled_is_out_within_seconds_and_so_is_their_token(world: &World) {
    let admin = first(world).await;
    let wanted =
        json!({ "name": "Ben", "email": "ben@example.com", "role": "agent", "password": "correct horse" });
    let id = admin.ask("POST", "/api/v1/agents", Some(wanted)).await.body["id"].clone();
    let ben = sign_in(world, json!({ "email": "ben@example.com", "password": "correct horse" })).await;
    let ben = ben.expect("let in");
    let wanted = json!({ "name": "bot", "role": "admin", "agent_id": id });
    let token = admin.ask("POST", "/api/v1/tokens", Some(wanted)).await.body["token"].clone();
    let with_token = async || {
        let mut request = world.request("GET", "/api/v1/me", None).build().expect("a request");
        let bearer = format!("Bearer {}", token.as_str().expect("a token"));
        request.headers_mut().insert("authorization", bearer.parse().expect("a header"));
        world.execute(request).await
    };
    let acting = with_token().await;
    assert_eq!((acting.status, &acting.body["id"], &acting.body["role"]), (200, &id, &json!("agent")));
    assert_eq!(ben.me().await["id"], id);

    let path = format!("/api/v1/agents/{}", id.as_str().expect("an id"));
    let off = admin.ask("PATCH", &path, Some(json!({ "disabled": true }))).await;
    assert_eq!((off.status, &off.body["disabled"]), (200, &json!(true)));
    assert_eq!(ben.ask("GET", "/api/v1/me", None).await.status, 401);
    assert_eq!(with_token().await.status, 401);
    let last = admin.me().await["id"].as_str().expect("an id").to_owned();
    let refused =
        admin.ask("PATCH", &format!("/api/v1/agents/{last}"), Some(json!({ "role": "agent" }))).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("last_admin")));
    let forged = answered(world.request("GET", "/api/v1/me", None).header("cookie", &ben.cookie)).await;
    assert_eq!(forged.body["actor"], "environment", "a token comes before a cookie");
}

async fn what_somebody_held_who_is_disabled_is_held_by_nobody(world: &World) {
    let admin = first(world).await;
    let (ana, ben) = (agent(&admin, "Ana").await, agent(&admin, "Ben").await);
    let take = async |browser: &Browser<'_>, chat: &str| {
        let path = format!("/api/v1/channels/default/chats/{chat}/mode");
        let taken = browser.ask("PUT", &path, Some(json!({ "mode": "HUMAN" }))).await;
        assert_eq!(taken.status, 200, "{taken:?}");
    };
    // More than are freed at once.
    let chats: Vec<String> = (100..210).map(|n| format!("6580000{n}@c.us")).collect();
    for chat in &chats {
        take(&ben, chat).await;
    }
    take(&ana, MEI).await;
    for (chat, wish) in [
        (&chats[0], json!({ "status": "closed" })),
        (&chats[1], json!({ "status": "snoozed", "snoozed_until": "2999-01-01T00:00:00Z" })),
    ] {
        let path = format!(
            "/api/v1/conversations/{}",
            world.chat(chat).conversation().await["id"].as_str().expect("an id")
        );
        assert_eq!(admin.ask("PATCH", &path, Some(wish)).await.status, 200);
    }

    let (id, by) = (ben.me().await["id"].clone(), admin.me().await["actor"].clone());
    let path = format!("/api/v1/agents/{}", id.as_str().expect("an id"));
    let off = admin.ask("PATCH", &path, Some(json!({ "disabled": true }))).await;
    assert_eq!((off.status, &off.body["conversations_freed"]), (200, &json!(109)), "{off:?}");
    for (chat, holder) in
        [(MEI, json!("Ana")), (chats[0].as_str(), json!("Ben")), (chats[1].as_str(), Value::Null)]
    {
        assert_eq!(world.chat(chat).conversation().await["assignee"]["name"], holder, "{chat}");
    }
    let told = world.get("/api/v1/events?type=conversation_updated&order=desc&limit=1").await;
    let told = &told["items"][0];
    assert_eq!((&told["action"], &told["actor"]), (&json!("assigned"), &by));
    assert_eq!(told["details"]["assignee"], Value::Null);
    let again = admin.ask("PATCH", &path, Some(json!({ "disabled": true }))).await;
    assert_eq!(again.body["conversations_freed"], 0, "what is free stays free");
    let back = admin.ask("PATCH", &path, Some(json!({ "disabled": false }))).await;
    assert_eq!(back.body["conversations_freed"], Value::Null, "nothing was to be freed");
}

async fn what_somebody_held_who_sees_it_no_more_is_held_by_nobody(world: &World) {
    let admin = first(world).await;
    let ben = agent(&admin, "Ben").await;
    let path = "/api/v1/channels/default/chats/6580000001@c.us/mode";
    assert_eq!(ben.ask("PUT", path, Some(json!({ "mode": "HUMAN" }))).await.status, 200);
    let path = format!("/api/v1/agents/{}", ben.me().await["id"].as_str().expect("an id"));
    for (channels, freed, holder) in [
        (json!(["default"]), json!(0), json!("Ben")),
        (json!([]), json!(1), Value::Null),
        (json!([]), json!(0), Value::Null),
        (Value::Null, Value::Null, Value::Null),
    ] {
        let change = admin.ask("PATCH", &path, Some(json!({ "channels": channels }))).await;
        assert_eq!((change.status, &change.body["conversations_freed"]), (200, &freed), "{channels}");
        assert_eq!(world.chat(MEI).conversation().await["assignee"]["name"], holder, "{channels}");
    }
}

async fn a_link_that_two_browsers_open_lets_one_in(world: &World) {
    let people = world.process().store.places();
    let link = begin(&*people, world.now()).await.expect("writes").expect("the first");
    let open = || sign_in(world, json!({ "link": link }));
    let (one, other) = tokio::join!(open(), open());
    assert!(one.is_some() != other.is_some());
}

async fn whoever_looks_at_people_or_replies_hears_of_each_change(world: &World) {
    let admin = first(world).await;
    let (ana, ben) = (agent(&admin, "Ana").await, agent(&admin, "Ben").await);
    let id = ana.me().await["id"].as_str().expect("an id").to_owned();
    ana.ask("PATCH", "/api/v1/me", Some(json!({ "name": "Ana B." }))).await;
    ana.ask("PATCH", "/api/v1/me", Some(json!({ "preferences": { "theme": "dark" } }))).await;
    admin.ask("PATCH", &format!("/api/v1/agents/{id}"), Some(json!({ "name": "Ana C." }))).await;
    let own = json!({ "shortcut": "mine", "text": "Hi", "owner": "me" });
    assert_eq!(ana.ask("POST", "/api/v1/canned-replies", Some(own)).await.status, 201);
    let shared = json!({ "shortcut": "ours", "text": "Hi", "owner": null });
    assert_eq!(admin.ask("POST", "/api/v1/canned-replies", Some(shared)).await.status, 201);

    let told = async |browser: &Browser<'_>, kind: &str| {
        let page = browser.ask("GET", &format!("/api/v1/events?type={kind}"), None).await.body;
        let events = page["items"].as_array().cloned().expect("a list");
        let of = |event: &Value| event["details"]["agent_id"].as_str().is_none_or(|agent| agent == id);
        let events = events.iter().filter(|event| of(event));
        events.map(|event| event["action"].as_str().expect("a word").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&ben, "agent_updated").await, ["added", "changed", "preferences", "changed"]);
    assert_eq!(told(&ana, "canned_reply_updated").await, ["added", "added"]);
    assert_eq!(told(&ben, "canned_reply_updated").await, ["added"], "what Ana keeps for herself is hers");
}

async fn who_has_lost_their_password_is_given_a_link(world: &World) {
    let admin = first(world).await;
    let ana = agent(&admin, "Ana").await;
    let id = ana.me().await["id"].clone();
    let set = async |browser: &Browser<'_>, password: &str, current: Option<&str>| {
        let body = match current {
            Some(current) => json!({ "password": password, "current_password": current }),
            None => json!({ "password": password }),
        };
        browser.ask("PATCH", "/api/v1/me", Some(body)).await.status
    };
    assert_eq!(set(&ana, "correct horse", None).await, 200, "she has none yet");
    let path = format!("/api/v1/agents/{}/link", id.as_str().expect("an id"));
    let made = admin.ask("POST", &path, None).await;
    assert_eq!((made.status, &made.body["id"]), (201, &id), "{made:?}");
    let link = made.body["link"].clone();
    assert!(link.as_str().is_some_and(|link| link.contains("/sign-in#")), "{link}");
    let back = sign_in(world, json!({ "link": link })).await.expect("let in");
    assert_eq!(back.me().await["id"], id);
    assert!(sign_in(world, json!({ "link": link })).await.is_none(), "once");
    assert_eq!(set(&ana, "battery staple", None).await, 400, "who has come by a password shows it");
    assert_eq!(set(&back, "battery staple", None).await, 200, "it was lost");
    assert_eq!(set(&back, "another one", None).await, 400, "now it is known");
    assert_eq!(set(&back, "another one", Some("battery staple")).await, 200);
    let ana = sign_in(world, json!({ "email": "Ana@example.com", "password": "another one" }))
        .await
        .expect("let in");

    assert_eq!(ana.ask("POST", &path, None).await.status, 403, "admins make links");
    let nobody = "/api/v1/agents/0199d9a0-0000-7000-8000-000000000000/link";
    assert_eq!(admin.ask("POST", nobody, None).await.status, 404);
    let agent = format!("/api/v1/agents/{}", id.as_str().expect("an id"));
    admin.ask("PATCH", &agent, Some(json!({ "disabled": true }))).await;
    let refused = admin.ask("POST", &path, None).await;
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("disabled")));
}
