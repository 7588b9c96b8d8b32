//! Conversations whose channel does not run here.

use serde_json::json;

use crate::program::Program;

const CHAT: &str = "6580000001@c.us";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_in_a_conversation_while_its_channel_is_off_is_told_so() {
    let program = Program::on_sqlite();
    let server = program.serves(&["--ai-provider", "none"]);
    server.hears(CHAT, "Hello").await;
    let agent = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let agent = server.asks("POST", "/api/v1/agents", Some(&agent)).await["id"].clone();
    let id = server.conversation(CHAT).await["id"].as_str().expect("a conversation").to_owned();
    let conversation = format!("/api/v1/conversations/{id}");
    server.asks("PATCH", &conversation, Some(&json!({ "assignee": agent }))).await;
    drop(server);

    let server = program.serves_without_sandbox(&["--ai-provider", "none"]);
    let due = json!({ "due_at": "2100-01-01T00:00:00Z", "text": "Still there?" });
    for (method, path, body) in [
        ("PUT", "/mode", json!({ "mode": "HUMAN" })),
        ("PATCH", "", json!({ "status": "closed" })),
        ("POST", "/messages", json!({ "text": "Hello" })),
        ("PUT", "/follow-up", due),
        ("POST", "/drafts", json!({})),
    ] {
        let (status, answer) = server.answer(method, &format!("{conversation}{path}"), Some(&body)).await;
        let told = answer["detail"].as_str().unwrap_or_default();
        assert_eq!((status, &answer["code"]), (503, &json!("unavailable")), "{path}: {answer}");
        assert!(told.contains("is not set up on this instance"), "{path}: {answer}");
    }
    for (channel, expected) in [("sandbox", 503), ("shop", 404)] {
        for (method, path, body) in
            [("PUT", "mode", json!({ "mode": "HUMAN" })), ("POST", "messages", json!({ "text": "Hello" }))]
        {
            let path = format!("/api/v1/channels/{channel}/chats/{CHAT}/{path}");
            assert_eq!(server.answer(method, &path, Some(&body)).await.0, expected, "{path}");
        }
    }

    // Whoever leaves holds it no longer, all the same.
    let path = format!("/api/v1/agents/{}", agent.as_str().expect("an id"));
    let left = server.asks("PATCH", &path, Some(&json!({ "disabled": true }))).await;
    assert_eq!(left["conversations_freed"], 1, "{left}");
    assert_eq!(server.asks("GET", &conversation, None).await["assignee"], json!(null));
}
