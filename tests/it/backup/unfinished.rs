//! What the backup was made in the middle of, when its server has gone on afterwards: nothing leaves twice.

use serde_json::json;

use super::{Program, Server, into_the_other_store, path_of};

into_the_other_store!(
    what_was_owed_when_the_backup_was_made_does_not_leave_a_second_time,
    what_was_owed_leaves_once_where_the_server_has_not_run_since,
);

const MEI: &str = "6580000001@c.us";
const TOM: &str = "6580000002@c.us";
const ANA: &str = "6580000003@c.us";

/// A person would type for so long: a reply that is written stays owed until then.
fn typing(max_ms: &'static str) -> Vec<&'static str> {
    [COMMON, &["--typing-max-ms", max_ms]].concat()
}

const COMMON: &[&str] = &[
    "--ai-provider",
    "scripted",
    "--burst-quiet-ms",
    "50",
    "--send-interval-ms",
    "0",
    "--typing-jitter-ms",
    "0",
    "--typing-ms-per-char",
    "1000",
    "--split-chars",
    "0",
];

/// Where the reply to that chat stands, once there is one.
async fn reply(server: &Server, chat: &str) -> serde_json::Value {
    let messages = server.messages(chat).await;
    messages.iter().find(|message| message["author"] == "assistant").cloned().unwrap_or_default()
}

/// Waits until the reply to that chat stands so.
async fn until_reply(server: &Server, chat: &str, state: &str) {
    let id = server.conversation(chat).await["id"].as_str().expect("a conversation").to_owned();
    let path = format!("/api/v1/conversations/{id}/messages");
    let stands = |page: &serde_json::Value| {
        let messages = page["items"].as_array().expect("a list");
        messages.iter().any(|it| it["author"] == "assistant" && it["delivery"]["state"] == state)
    };
    server.until(&path, stands).await;
}

async fn until_sent(server: &Server, chat: &str) -> Vec<String> {
    server
        .until(&format!("/api/v1/sandbox/chats/{chat}"), |screen| {
            screen["messages"].as_array().expect("a list").iter().any(|bubble| bubble["author"] != "contact")
        })
        .await;
    server.phone(chat).await
}

async fn what_was_owed_when_the_backup_was_made_does_not_leave_a_second_time(from: Program, to: Program) {
    // The backup is made before it is over.
    let server = from.serves(&typing("20000"));
    server.hears(MEI, "Hello").await;
    until_reply(&server, MEI, "queued").await;
    // Tom's answer is being written all the while.
    server.asks("PATCH", "/api/v1/sandbox", Some(&json!({ "model_delay_ms": 600_000 }))).await;
    server.hears(TOM, "Hello").await;
    let tom = server.conversation(TOM).await["id"].as_str().expect("an id").to_owned();
    server
        .until(&format!("/api/v1/conversations/{tom}/turns"), |page| {
            page["items"][0]["state"] == "generating"
        })
        .await;
    let file = from.backs_up("baton.backup", &[]);
    // The server goes on, and sends what was owed.
    let sent = until_sent(&server, MEI).await;
    assert_eq!(sent.len(), 1);
    drop(server);

    let told = to.does(&["restore", path_of(&file)]);
    assert!(
        told.contains("Held as unknown: 1 message owed in the backup, which may have left since"),
        "{told}"
    );
    assert!(told.contains("Handed over to people: 1 message of contacts"), "{told}");
    let server = to.serves(&typing("50"));
    let held = reply(&server, MEI).await;
    assert_eq!(
        (&held["text"], &held["delivery"]["state"], &held["delivery"]["reason"]),
        (&json!(sent[0]), &json!("unknown"), &json!("restored"))
    );
    assert_eq!(server.conversation(MEI).await["attention"]["reason"], "send_unknown");
    let waited = &server.messages(TOM).await[0];
    assert_eq!((&waited["outcome"], &waited["outcome_reason"]), (&json!("handed_over"), &json!("stale")));
    assert_eq!(server.conversation(TOM).await["attention"]["reason"], "stale");

    // What is new is answered as ever, and nothing old comes before it.
    server.hears(ANA, "Hello").await;
    until_sent(&server, ANA).await;
    server.hears(TOM, "Are you there?").await;
    assert_eq!(until_sent(&server, TOM).await.len(), 1, "the old and the new are answered together");
    assert_eq!(server.phone(MEI).await, [""; 0]);
    // A person decides what has become of it.
    let confirm = format!("/api/v1/messages/{}/confirm", held["id"].as_str().expect("an id"));
    server.asks("POST", &confirm, None).await;
    assert_eq!(reply(&server, MEI).await["delivery"]["state"], "sent");
    assert_eq!(server.phone(MEI).await, [""; 0]);
    drop(server);
    from.end().await;
    to.end().await;
}

async fn what_was_owed_leaves_once_where_the_server_has_not_run_since(from: Program, to: Program) {
    let server = from.serves(&typing("4000"));
    server.hears(MEI, "Hello").await;
    until_reply(&server, MEI, "queued").await;
    drop(server);
    let file = from.backs_up("baton.backup", &[]);

    let told = to.does(&["restore", path_of(&file), "--moved"]);
    assert!(told.contains("What was owed leaves as if nothing had happened."), "{told}");
    let server = to.serves(&typing("4000"));
    let owed = reply(&server, MEI).await["text"].clone();
    assert_eq!(until_sent(&server, MEI).await, [owed.as_str().expect("text")]);
    drop(server);
    from.end().await;
    to.end().await;
}
