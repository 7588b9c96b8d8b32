//! Whatever is thrown at the doors, they answer as the contract says, and go on.

use baton::flow::generator::Line;
use serde_json::{Value, json};

use crate::world::{CHANNEL, Step, WEBHOOK_TOKEN, World, answered, green_api, on_both_stores};

on_both_stores!(
    a_webhook_without_the_right_token_is_turned_away,
    a_webhook_that_cannot_be_read_is_kept_and_acknowledged,
    a_webhook_of_another_instance_is_ignored,
    a_body_that_is_too_large_is_refused,
    the_api_is_closed_to_strangers,
    a_request_that_makes_no_sense_says_what_is_wrong_with_it,
    what_does_not_exist_is_not_found,
    nobody_is_written_to_where_others_post_to_everybody,
    what_somebody_says_was_said_is_shown_and_read_as_it_was,
);

const MEI: &str = "6580000001@c.us";
const NOBODY: &str = "01990000-0000-7000-8000-000000000000";

async fn a_webhook_without_the_right_token_is_turned_away(world: &World) {
    for token in [None, Some(""), Some("wrong"), Some("webhook-token-123"), Some("webhook-token-12345")] {
        let reply = world.knock(CHANNEL, token, "{}").await;
        assert_eq!((reply.status, &reply.body), (401, &Value::Null), "{token:?}");
    }
    assert_eq!(world.knock("nowhere", Some(WEBHOOK_TOKEN), "{}").await.status, 404);
    for authorization in [format!("Basic {WEBHOOK_TOKEN}"), WEBHOOK_TOKEN.to_owned()] {
        let request = world.request("POST", "/webhooks/green-api/default", Some(json!({})));
        let mut request = request.build().expect("a request");
        let value = authorization.parse().expect("a header");
        request.headers_mut().insert("Authorization", value);
        assert_eq!(world.execute(request).await.status, 200, "{authorization}");
    }
}

async fn a_webhook_that_cannot_be_read_is_kept_and_acknowledged(world: &World) {
    let lone_surrogate = r#"{"typeWebhook":"incomingMessageReceived","instanceData":{"idInstance":7103000001},
        "idMessage":"M1","senderData":{"chatId":"6580000001@c.us"},"messageData":{"typeMessage":"textMessage",
        "textMessageData":{"textMessage":"\ud800"}}}"#;
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 8] = [
        b"",
        b"not JSON",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        lone_surrogate.as_bytes(),
        deep.as_bytes(),
        br#"{"typeWebhook":"incomingMessageReceived","instanceData":{"idInstance":7103000001}}"#,
    ];
    for body in bodies {
        let reply = world.knock(CHANNEL, Some(WEBHOOK_TOKEN), body.to_vec()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
        assert_eq!((reply.status, &reply.body), (200, &json!({ "status": "dead_letter" })), "{shown}");
    }
    let letters = world.get("/api/v1/dead-letters?kind=webhook").await;
    let letters = letters["items"].as_array().expect("a list");
    assert_eq!(letters.len(), bodies.len());
    let payloads: Vec<&Value> = letters.iter().map(|letter| &letter["payload"]).collect();
    assert!(payloads.contains(&&json!("not JSON")), "kept as it came");
    assert!(
        payloads.contains(&&json!({ "encoding": "base64", "data": "//4A" })),
        "bytes that are no text too"
    );
    assert_eq!(world.get("/api/v1/conversations").await["items"], json!([]), "nobody has written");
    world.drain().await;
}

async fn a_webhook_of_another_instance_is_ignored(world: &World) {
    let body = json!({ "typeWebhook": "incomingMessageReceived", "instanceData": { "idInstance": 1 },
        "idMessage": "M1", "senderData": { "chatId": MEI },
        "messageData": { "typeMessage": "textMessage", "textMessageData": { "textMessage": "Hi" } } });
    assert_eq!(world.webhook(&body).await, "ignored");
    let unknown =
        json!({ "typeWebhook": "somethingNew", "instanceData": { "idInstance": 7_103_000_001_i64 } });
    assert_eq!(world.webhook(&unknown).await, "ignored");
    assert_eq!(world.get("/api/v1/conversations").await["items"], json!([]));
}

async fn a_body_that_is_too_large_is_refused(world: &World) {
    let large = "x".repeat(2 * 1024 * 1024 + 1);
    assert_eq!(world.knock(CHANNEL, Some(WEBHOOK_TOKEN), large.clone()).await.status, 413);
    let path = format!("/api/v1/channels/default/chats/{MEI}/messages");
    let reply = world.ask("POST", &path, Some(json!({ "text": large }))).await;
    assert_eq!((reply.status, &reply.body["code"]), (413, &json!("too_large")));
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], json!([]), "nothing of it was kept");
}

async fn the_api_is_closed_to_strangers(world: &World) {
    world.chat(MEI).writes("M1", "Show me condos").await;
    for (method, path) in [
        ("GET", "/api/v1/conversations"),
        ("GET", "/api/v1/events"),
        ("PUT", "/api/v1/channels/default/chats/6580000001@c.us/mode"),
        ("POST", "/api/v1/channels"),
        ("GET", "/metrics"),
    ] {
        for token in ["", "Bearer", "Bearer wrong", "Basic ZW52aXJvbm1lbnQ="] {
            let mut request = world.request(method, path, None).build().expect("a request");
            request.headers_mut().insert("Authorization", token.parse().expect("a header"));
            let reply = world.execute(request).await;
            assert_eq!(
                (reply.status, &reply.body["code"]),
                (401, &json!("unauthorized")),
                "{path} with {token:?}"
            );
        }
    }
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let mut request = world.request("GET", path, None).build().expect("a request");
        request.headers_mut().remove("Authorization");
        assert_eq!(world.execute(request).await.status, 200, "{path} is open");
    }
}

async fn a_request_that_makes_no_sense_says_what_is_wrong_with_it(world: &World) {
    let mei = world.chat(MEI);
    let before = mei.take_over().await;
    let mode = mei.path("mode").await;
    let messages = mei.path("messages").await;
    let follow_up = mei.path("follow-up").await;
    for (method, path, body, pointer) in [
        ("PUT", &mode, json!({ "mode": "ROBOT" }), "/mode"),
        ("PUT", &mode, json!({ "mode": "HUMAN", "moode": 1 }), "/moode"),
        ("PUT", &mode, json!({ "mode": "HUMAN", "until": "2020-01-01T00:00:00Z" }), "/until"),
        ("PUT", &mode, json!({ "mode": "HUMAN", "settle_ms": -1 }), "/settle_ms"),
        ("POST", &messages, json!({ "text": "" }), "/text"),
        ("POST", &messages, json!({ "text": 7 }), "/text"),
        ("PUT", &follow_up, json!({ "delay_ms": -1 }), "/delay_ms"),
    ] {
        let reply = world.ask(method, path, Some(body.clone())).await;
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid")), "{body}");
        assert_eq!(reply.body["errors"][0]["pointer"], pointer, "{body}: {reply:?}");
    }
    for path in
        ["/api/v1/conversations?limit=0", "/api/v1/conversations?cursor=%00", "/api/v1/events?type=party"]
    {
        assert_eq!(world.ask("GET", path, None).await.status, 400, "{path}");
    }
    let not_json =
        world.request("POST", &messages, None).header("Content-Type", "application/json").body("{");
    assert_eq!(answered(not_json).await.status, 400);
    let plain = world.request("POST", &messages, None).header("Content-Type", "text/plain").body("Hi");
    assert_eq!(answered(plain).await.status, 415);
    assert_eq!(mei.messages().await.len(), 0);
    assert_eq!(mei.conversation().await["mode_version"], before["mode_version"]);
}

async fn what_does_not_exist_is_not_found(world: &World) {
    for (method, path, body) in [
        ("GET", format!("/api/v1/conversations/{NOBODY}"), None),
        ("GET", "/api/v1/conversations/1".to_owned(), None),
        ("PUT", format!("/api/v1/conversations/{NOBODY}/mode"), Some(json!({ "mode": "HUMAN" }))),
        ("POST", format!("/api/v1/conversations/{NOBODY}/messages"), Some(json!({ "text": "Hi" }))),
        ("POST", format!("/api/v1/messages/{NOBODY}/retry"), None),
        ("POST", format!("/api/v1/dead-letters/{NOBODY}/retry"), None),
        ("DELETE", format!("/api/v1/conversations/{NOBODY}/follow-up"), None),
        ("PUT", format!("/api/v1/channels/nowhere/chats/{MEI}/mode"), Some(json!({ "mode": "HUMAN" }))),
        ("GET", "/api/v1/nothing".to_owned(), None),
    ] {
        let reply = world.ask(method, &path, body).await;
        assert_eq!((reply.status, &reply.body["code"]), (404, &json!("not_found")), "{method} {path}");
    }
    let reply = world.ask("DELETE", "/api/v1/conversations", None).await;
    assert_eq!((reply.status, &reply.body["code"]), (405, &json!("method_not_allowed")));
}

async fn what_somebody_says_was_said_is_shown_and_read_as_it_was(world: &World) {
    // What was said first is no longer read when the second quote comes.
    world.rules(|policy| policy.ai_history = 2);
    let mei = world.chat(MEI);
    world.assistant.add(Step::says("It costs 100.").to("How much"));
    mei.writes("M1", "How much is it?").await;
    world.after(3_000).await;
    let ours = mei.message("It costs 100.").await["provider_message_id"].clone();
    for (n, words) in ["As you said", "As you said again"].into_iter().enumerate() {
        let mut body = green_api::incoming(MEI, &format!("Q{n}"), world.now().0 / 1_000, words);
        let quoted = json!({ "stanzaId": ours, "participant": MEI, "typeMessage": "textMessage",
            "textMessage": "It is free." });
        body["messageData"] = json!({ "typeMessage": "quotedMessage", "quotedMessage": quoted,
            "extendedTextMessageData": { "text": words, "stanzaId": ours } });
        world.assistant.add(Step::says("Yes."));
        assert_eq!(world.webhook(&body).await, "accepted");
        world.after(3_000).await;
        let read = world.assistant.requests().pop().expect("it was asked");
        let wanted = format!("{words} (in reply to: \"It costs 100.\")");
        assert_eq!(read.lines.last(), Some(&Line::Contact(wanted)), "{:?}", read.lines);
        let shown = mei.message(words).await["quoted"].clone();
        assert_eq!((&shown["author"], &shown["text"]), (&json!("assistant"), &json!("It costs 100.")));
    }
}

async fn nobody_is_written_to_where_others_post_to_everybody(world: &World) {
    for chat in ["status@broadcast", "120363000000000002@newsletter"] {
        let words = json!({ "text": "Nice!" });
        let by_chat = format!("/api/v1/channels/{CHANNEL}/chats/{chat}/messages");
        let refused = world.ask("POST", &by_chat, Some(words.clone())).await;
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!("invalid")), "{chat}");
        let story = world.chat(chat);
        assert_eq!(story.conversation().await, Value::Null, "a refusal begins nothing");

        let mut post = green_api::incoming(chat, &format!("S {chat}"), world.now().0 / 1_000, "My holiday");
        post["senderData"]["sender"] = json!(MEI);
        assert_eq!(world.webhook(&post).await, "accepted");
        let before = story.conversation().await;
        for (method, rest, body) in [
            ("POST", "messages", Some(words.clone())),
            ("POST", "messages/batch", Some(json!({ "messages": [words] }))),
            ("PUT", "follow-up", Some(json!({ "delay_ms": 1_000, "text": "Still away?" }))),
            ("POST", "drafts", None),
        ] {
            let refused = story.ask(method, rest, body).await;
            assert_eq!((refused.status, &refused.body["code"]), (400, &json!("invalid")), "{chat} {rest}");
        }
        assert_eq!(story.conversation().await, before, "nobody has taken over");
    }
    world.drain().await;
    assert!(world.gateway.posts().is_empty());
}
