//! Every body that Green API is known to post, in one run: each is taken for what it is, and nothing is stuck after.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::world::{Step, World, on_both_stores};

on_both_stores!(
    every_known_webhook_is_taken_for_what_it_is_and_nothing_is_stuck,
    the_same_again_changes_nothing
);

/// What a body leaves behind under its id: by whom, from where, of what kind or with which outcome; or nothing.
const CLASSES: [(&str, &str); 15] = [
    ("call_", "contact webhook call ignored"),
    ("device_info", "nothing"),
    ("in_", "contact webhook"),
    ("in_deleted", "nothing"),
    ("in_edited_text", "nothing"),
    ("in_poll_update", "contact webhook poll_vote ignored"),
    ("in_reaction", "contact webhook reaction ignored"),
    ("in_sticker", "contact webhook sticker ignored"),
    ("in_text_empty", "contact webhook text ignored"),
    ("in_text_group", "contact webhook text ignored"),
    ("out_api_", "agent other_system"),
    ("out_phone_", "agent phone"),
    ("out_phone_deleted", "nothing"),
    ("out_phone_reaction", "agent phone reaction"),
    ("outgoing_call", "agent phone call"),
];

fn class_of(name: &str) -> &'static str {
    let fitting = CLASSES.iter().filter(|(prefix, _)| name.starts_with(prefix));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map_or("nothing", |(_, class)| class)
}

fn bodies() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhooks");
    let files =
        fs::read_dir(folder).expect("the folder of the fixtures").map(|entry| entry.expect("a file").path());
    let read = |path: &Path| serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    files
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), read(&path)))
        .collect()
}

/// Every conversation and its messages.
async fn everything(world: &World) -> Vec<(Value, Vec<Value>)> {
    let mut all = Vec::new();
    for conversation in
        world.get("/api/v1/conversations?limit=200").await["items"].as_array().expect("a list")
    {
        let id = conversation["id"].as_str().expect("an id");
        let page = world.get(&format!("/api/v1/conversations/{id}/messages?limit=200")).await;
        all.push((conversation.clone(), page["items"].as_array().expect("a list").clone()));
    }
    all
}

/// Posts all of them, and lets time pass until all that can happen has happened.
async fn a_run(world: &World) -> BTreeMap<String, &'static str> {
    let mut verdicts = BTreeMap::new();
    for (name, body) in bodies() {
        verdicts.insert(name, world.webhook(&body).await);
        world.drain().await;
    }
    // The last of them said that the phone is not linked.
    world.state("authorized").await;
    for _ in 0..10 {
        world.after(60_000).await;
    }
    verdicts
}

async fn every_known_webhook_is_taken_for_what_it_is_and_nothing_is_stuck(world: &World) {
    world.assistant.add(Step::says("Thank you.").always());
    let verdicts = a_run(world).await;
    assert_eq!(verdicts.len(), 68);
    assert!(!verdicts.values().any(|verdict| *verdict == "dead_letter"), "{verdicts:?}");

    let all = everything(world).await;
    let by_id: BTreeMap<&str, &Value> = all
        .iter()
        .flat_map(|(_, messages)| messages)
        .filter_map(|message| Some((message["provider_message_id"].as_str()?, message)))
        .collect();
    for (name, body) in bodies() {
        // A report has no id of its own: it names the message it is about.
        let is_report = name.starts_with("status_");
        let id = body["idMessage"].as_str().filter(|_| !is_report).unwrap_or("none");
        // The steps of a call share an id; each is kept under its own: `id:step`.
        let found =
            by_id.iter().find(|(kept, _)| kept.split(':').next() == Some(id)).map(|(_, message)| message);
        let left_behind = found.map_or("nothing".to_owned(), |message| {
            let word = |key: &str| message[key].as_str().unwrap_or("-");
            ["author", "origin", "kind", "outcome"].map(word).join(" ")
        });
        let class = class_of(&name);
        assert!(left_behind.starts_with(class), "{name} left behind {left_behind}, not {class}");
    }

    for (conversation, messages) in &all {
        assert_eq!(conversation["queue"], serde_json::json!({ "inbox": 0, "outbox": 0 }), "{conversation}");
        assert_eq!(conversation["activity"], "idle", "{conversation}");
        for message in messages {
            assert_ne!(message["outcome"], "pending", "{message}");
            assert_ne!(message["delivery"]["state"], "unknown", "{message}");
        }
    }
    let by_the_phone = all.iter().filter(|(_, messages)| messages.iter().any(|it| it["origin"] == "phone"));
    for (conversation, _) in by_the_phone {
        assert_eq!(conversation["mode"], "HUMAN", "{conversation}");
    }
    assert_eq!(world.get("/api/v1/channels/default").await["state"], "authorized");
    assert_eq!(world.get("/api/v1/dead-letters").await["items"], serde_json::json!([]));
    assert!(!world.gateway.posts().is_empty(), "somebody was answered");
}

async fn the_same_again_changes_nothing(world: &World) {
    world.assistant.add(Step::says("Thank you.").always());
    a_run(world).await;
    let (before, posts) = (everything(world).await, world.gateway.posts().len());
    world.crash().await;
    let verdicts = a_run(world).await;
    for (name, verdict) in &verdicts {
        let is_message = class_of(name) != "nothing";
        assert!(!is_message || *verdict == "duplicate", "{name} again: {verdict}");
    }
    let after = everything(world).await;
    let messages = |all: &[(Value, Vec<Value>)]| -> Vec<Value> {
        all.iter().flat_map(|(_, messages)| messages).map(|message| message["id"].clone()).collect()
    };
    assert_eq!(messages(&before), messages(&after));
    assert_eq!(world.gateway.posts().len(), posts);
}
