//! Files that people send: through the same outbox as their words, once, and seen by colleagues as they were given.

use baton::flow::sender;
use serde_json::{Value, json};

use crate::world::{Answer, CHANNEL, File, PNG, Reply, World, on_both_stores};

on_both_stores!(
    a_file_takes_over_leaves_once_and_is_seen_by_colleagues,
    a_file_without_words_is_known_by_its_echo,
    a_file_sent_again_with_its_key_is_the_same_one,
    what_cannot_be_sent_is_said_before_anything_happens,
    a_person_can_begin_with_a_file,
    a_file_that_takes_too_long_to_read_is_read_once,
);

const MEI: &str = "6580000001@c.us";

const PLAN: File<'static> =
    File { name: "plan.png", mime_type: "image/png", bytes: PNG, caption: Some("The floor plan.") };

async fn sends(world: &World, key: &str, file: &File<'_>) -> Reply {
    world.send_file(&world.chat(MEI).path("messages").await, key, file).await
}

async fn a_file_takes_over_leaves_once_and_is_seen_by_colleagues(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Two condos.");
    mei.writes("M1", "Show me condos").await;
    world.after(3_000).await;
    let sent = sends(world, "K1", &PLAN).await;
    assert_eq!((sent.status, &sent.body["takeover"]["mode"]), (202, &json!("HUMAN")), "{sent:?}");
    world.drain().await;
    mei.reads(
        "
        contact: Show me condos [answered]
        assistant: Two condos. [sent]
        agent: [image] The floor plan. [sent]
        * mode_changed
        * agent_took_over
        = HUMAN 2, agent_message
        = the phone shows: Two condos. | The floor plan.
        ",
    )
    .await;
    let posts = world.gateway.shown_to(MEI);
    assert_eq!(posts[1].file, Some(("plan.png".to_owned(), PNG.to_vec())));
    let media = mei.message("[image] The floor plan.").await["media"].clone();
    let facts =
        [&media["mime_type"], &media["file_name"], &media["size"], &media["caption"], &media["state"]];
    let expected = [
        "image/png".into(),
        "plan.png".into(),
        json!(PNG.len()),
        "The floor plan.".into(),
        "available".into(),
    ];
    assert_eq!(facts.map(Clone::clone), expected);
    let url = media["url"].as_str().expect("where it is");
    let shown = world.request("GET", url, None).send().await.expect("an answer");
    assert_eq!(shown.status().as_u16(), 200);
    assert_eq!(shown.headers()["content-type"], "image/png");
    assert_eq!(shown.bytes().await.expect("a body"), PNG);
    let part = world.request("GET", url, None).header("Range", "bytes=1-3").send().await.expect("an answer");
    assert_eq!((part.status().as_u16(), part.bytes().await.expect("a body").as_ref()), (206, &b"PNG"[..]));
}

async fn a_file_without_words_is_known_by_its_echo(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    world.gateway.answers(Answer::LostAfter);
    let sent = sends(world, "K1", &File { caption: None, ..PLAN }).await;
    assert_eq!(sent.body["text"], "[image]");
    world.drain().await;
    assert_eq!(mei.message("[image]").await["delivery"]["state"], "unknown");
    let echo = world.gateway.report().expect("the gateway reports it");
    assert_eq!(world.webhook(&echo).await, "accepted");
    assert_eq!(mei.message("[image]").await["delivery"]["state"], "sent");
    assert_eq!((world.gateway.posts().len(), mei.messages().await.len()), (1, 1));
}

async fn a_file_sent_again_with_its_key_is_the_same_one(world: &World) {
    let mei = world.chat(MEI);
    mei.take_over().await;
    let first = sends(world, "K1", &PLAN).await;
    let again = sends(world, "K1", &PLAN).await;
    assert_eq!((first.status, again.status, &first.body["id"]), (202, 202, &again.body["id"]));
    let other = sends(world, "K1", &File { bytes: b"\x89PNG\r\n\x1a\nanother", ..PLAN }).await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")));
    world.drain().await;
    assert_eq!(world.gateway.posts().len(), 1);
    let url = first.body["media"]["url"].as_str().expect("where it is");
    let shown = world.request("GET", url, None).send().await.expect("an answer");
    assert_eq!(shown.bytes().await.expect("a body"), PNG, "the file of the first is the one that stays");
}

async fn what_cannot_be_sent_is_said_before_anything_happens(world: &World) {
    let mei = world.chat(MEI);
    world.assistant_says("Hello Mei.");
    mei.writes("M1", "Hello").await;
    world.after(3_000).await;
    let large = vec![0; 16 * 1024 * 1024 + 1];
    let long = "a".repeat(1_025);
    let named = File { name: "large.pdf", mime_type: "application/pdf", bytes: &large, caption: None };
    let kindless =
        File { name: "mystery", mime_type: "application/octet-stream", bytes: b"??", caption: None };
    let table = [
        (named, 413, "too_large"),
        (kindless, 415, "unsupported_media_type"),
        (File { bytes: b"", ..PLAN }, 400, "invalid"),
        (File { caption: Some(&long), ..PLAN }, 400, "invalid"),
    ];
    for (file, status, code) in table {
        let told = sends(world, "K1", &file).await;
        assert_eq!((told.status, &told.body["code"]), (status, &json!(code)), "{}: {told:?}", file.name);
    }
    let path = mei.path("messages").await;
    for field in ["caption", "text"] {
        let form = reqwest::multipart::Form::new().text(field, "no file at all");
        let told = crate::world::answered(world.request("POST", &path, None).multipart(form)).await;
        assert_eq!(told.status, 400, "{told:?}");
    }
    let conversation: Value = mei.conversation().await;
    assert_eq!((&conversation["mode"], mei.messages().await.len()), (&json!("AI"), 2), "nothing happened");
}

async fn a_file_that_takes_too_long_to_read_is_read_once(world: &World) {
    let path = format!("/api/v1/channels/{CHANNEL}/chats/{MEI}/messages");
    let sent = world.send_file(&path, "K1", &PLAN).await;
    assert_eq!(sent.status, 202, "{sent:?}");
    let id = sent.body["conversation_id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let process = world.process();
    process.send_too_late(id).await.expect("settled");
    assert_eq!((world.gateway.posts().len(), process.late_files()), (0, 1));
    assert!(matches!(process.send(id).await, Ok(sender::Outcome::Worked)));
    assert_eq!(world.gateway.posts()[0].file, Some(("plan.png".to_owned(), PNG.to_vec())));
    assert_eq!(process.late_files(), 0);
}

async fn a_person_can_begin_with_a_file(world: &World) {
    let path = format!("/api/v1/channels/{CHANNEL}/chats/{MEI}/messages");
    let nameless = File { name: "", mime_type: "image/png", ..PLAN };
    let sent = world.send_file(&path, "K1", &nameless).await;
    assert_eq!((sent.status, &sent.body["media"]["file_name"]), (202, &json!("file.png")), "{sent:?}");
    world.drain().await;
    assert_eq!(world.gateway.shown_to(MEI).len(), 1);
    assert_eq!(world.chat(MEI).conversation().await["mode"], "HUMAN");
}
