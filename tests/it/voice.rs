//! Voice notes: listened to once, before the model reads them, where that is wanted; and when nobody can tell what is said.

use baton::flow::generator::FailureKind;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use crate::world::{MARK, Step, World, green_api, on_both_stores};

on_both_stores!(
    a_voice_note_is_listened_to_once_and_answered,
    a_voice_note_that_is_not_to_be_had_now_is_heard_later,
    a_voice_note_that_is_never_to_be_had_cannot_be_read,
    a_voice_note_that_nobody_understands_cannot_be_read,
    a_voice_note_that_nobody_understands_is_told_so,
    what_is_written_beside_a_voice_note_that_nobody_understands_is_answered,
    a_voice_note_from_where_nothing_may_be_fetched_is_not_listened_to,
    a_draft_is_written_of_what_was_said_in_a_voice_note,
    what_was_heard_stays_when_a_link_comes_late,
    a_takeover_ends_the_listening,
    where_nobody_listens_a_voice_note_cannot_be_read,
);

const MEI: &str = "6580000001@c.us";

/// A provider that keeps that voice note, and gives it so many times.
async fn keeps(words: &str, times: u64) -> (MockServer, String) {
    let store = MockServer::start().await;
    let sound = ResponseTemplate::new(200).set_body_bytes([MARK, words.as_bytes()].concat());
    Mock::given(method("GET")).and(path("/note.ogg")).respond_with(sound).expect(times).mount(&store).await;
    let url = format!("{}/note.ogg", store.uri());
    (store, url)
}

async fn sends(world: &World, id: &str, url: &str) {
    let body = green_api::voice_note(MEI, id, world.now().0 / 1_000, url);
    assert_eq!(world.webhook(&body).await, "accepted");
}

async fn newest(world: &World) -> Value {
    world.chat(MEI).conversation().await["last_message"].clone()
}

async fn of_the_contact(world: &World, id: &str) -> Value {
    let messages = world.chat(MEI).messages().await;
    messages.into_iter().find(|message| message["provider_message_id"] == id).expect("it was taken in")
}

async fn a_voice_note_is_listened_to_once_and_answered(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = keeps("Are you open today?", 1).await;
    // The first attempt hears it, and the second one knows.
    world.assistant.add(Step::fails(FailureKind::Server));
    world.assistant_answers("[voice message] Are you open today?", "Until six.");
    sends(world, "M1", &url).await;
    world.after(3_000).await;
    world.after(5_000).await;
    assert_eq!(newest(world).await["text"], "Until six.");
    let note = of_the_contact(world, "M1").await;
    assert_eq!(note["media"]["transcript"], "Are you open today?");
    assert_eq!(note["text"], "[voice message] Are you open today?");
    assert_eq!(world.chat(MEI).conversation().await["attention"], Value::Null);

    world.pass(7_000);
    world.assistant_answers("Thanks", "You are welcome.");
    world.chat(MEI).writes("M2", "Thanks").await;
    world.after(3_000).await;
    assert_eq!(newest(world).await["text"], "You are welcome.");
}

/// A provider that fails so many times before it gives anything.
async fn fails_first(times: u64) -> (MockServer, String) {
    let (store, url) = keeps("Are you open today?", u64::from(times < 3)).await;
    let failure = Mock::given(method("GET")).and(path("/note.ogg")).respond_with(ResponseTemplate::new(503));
    failure.up_to_n_times(times).with_priority(1).mount(&store).await;
    (store, url)
}

async fn a_voice_note_that_is_not_to_be_had_now_is_heard_later(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = fails_first(2).await;
    world.assistant_answers("[voice message] Are you open today?", "Until six.");
    sends(world, "M1", &url).await;
    for _ in 0..3 {
        world.after(5_000).await;
    }
    assert_eq!(newest(world).await["text"], "Until six.");
    assert_eq!(world.chat(MEI).conversation().await["attention"], Value::Null);
}

async fn a_voice_note_that_is_never_to_be_had_cannot_be_read(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = fails_first(3).await;
    sends(world, "M1", &url).await;
    for _ in 0..4 {
        world.after(5_000).await;
    }
    let note = of_the_contact(world, "M1").await;
    assert_eq!((&note["outcome"], &note["outcome_reason"]), (&json!("handed_over"), &json!("undecryptable")));
    assert_eq!(world.chat(MEI).conversation().await["attention"]["reason"], "unreadable");
}

async fn a_voice_note_that_nobody_understands_cannot_be_read(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = keeps("", 1).await;
    sends(world, "M1", &url).await;
    world.after(3_000).await;
    let note = of_the_contact(world, "M1").await;
    assert_eq!(note, newest(world).await, "the assistant is not asked, and says nothing");
    assert_eq!((&note["text"], &note["media"]["transcript"]), (&json!("[voice message]"), &Value::Null));
    assert_eq!((&note["outcome"], &note["outcome_reason"]), (&json!("handed_over"), &json!("undecryptable")));
    assert_eq!(world.chat(MEI).conversation().await["attention"]["reason"], "unreadable");

    world.assistant_answers("Do you hear me?", "I read you.");
    world.chat(MEI).writes("M2", "Do you hear me?").await;
    world.after(3_000).await;
    assert_eq!(newest(world).await["text"], "I read you.");
}

async fn a_voice_note_that_nobody_understands_is_told_so(world: &World) {
    world.rules(|policy| {
        policy.transcribes = true;
        policy.unreadable_text = Some("Please write.".to_owned());
    });
    let (_store, url) = keeps("", 2).await;
    for id in ["M1", "M2"] {
        sends(world, id, &url).await;
        world.after(3_000).await;
    }
    let shown: Vec<String> = world.gateway.shown_to(MEI).into_iter().map(|post| post.text).collect();
    assert_eq!(shown, ["Please write."], "once an hour");
    assert_eq!(of_the_contact(world, "M2").await["outcome"], "ignored");
    assert_eq!(world.chat(MEI).conversation().await["attention"], Value::Null);
}

async fn what_is_written_beside_a_voice_note_that_nobody_understands_is_answered(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = keeps("", 1).await;
    sends(world, "M1", &url).await;
    world.chat(MEI).writes("M2", "Are you open today?").await;
    world.assistant_answers("Are you open today?", "Until six.");
    world.after(3_000).await;
    assert_eq!(newest(world).await["text"], "Until six.");
    assert_eq!(of_the_contact(world, "M1").await["outcome"], "handed_over");
    assert_eq!(of_the_contact(world, "M2").await["outcome"], "answered");
}

async fn a_voice_note_from_where_nothing_may_be_fetched_is_not_listened_to(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (store, url) = keeps("Let me in", 0).await;
    sends(world, "M1", &url.replace("127.0.0.1", "localhost")).await;
    world.after(3_000).await;
    assert_eq!(newest(world).await["outcome"], "handed_over");
    assert!(store.received_requests().await.expect("they are recorded").is_empty());
}

async fn a_draft_is_written_of_what_was_said_in_a_voice_note(world: &World) {
    world.rules(|policy| (policy.transcribes, policy.drafting) = (true, true));
    world.chat(MEI).agent_says("Good day!").await;
    let (_store, url) = keeps("Are you open today?", 1).await;
    world.assistant_answers("[voice message] Are you open today?", "Until six.");
    sends(world, "M1", &url).await;
    world.after(3_000).await;
    assert_eq!(world.chat(MEI).drafts().await[0]["text"], "Until six.");
    assert_eq!(of_the_contact(world, "M1").await["media"]["transcript"], "Are you open today?");
}

async fn what_was_heard_stays_when_a_link_comes_late(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = keeps("Are you open today?", 1).await;
    world.gateway.gives_link("M1", &url);
    world.assistant_answers("[voice message] Are you open today?", "Until six.");
    sends(world, "M1", "").await;
    world.after(3_000).await;
    let again = green_api::voice_note(MEI, "M1", world.now().0 / 1_000, &url);
    assert_eq!(world.webhook(&again).await, "duplicate");
    assert_eq!(of_the_contact(world, "M1").await["media"]["transcript"], "Are you open today?");
}

async fn a_takeover_ends_the_listening(world: &World) {
    world.rules(|policy| policy.transcribes = true);
    let (_store, url) = keeps("Are you open today?", 1).await;
    let listening = world.listening_holds();
    sends(world, "M1", &url).await;
    world.pass(3_000);
    world.drain_until(&listening).await;
    let receipt = world.chat(MEI).take_over().await;
    assert_eq!((&receipt["generation_cancelled"], &receipt["settled"]), (&json!(true), &json!(true)));
    listening.release();
    world.drain().await;
    let note = newest(world).await;
    assert_eq!((&note["text"], &note["outcome"]), (&json!("[voice message]"), &json!("left_to_human")));
    assert_eq!(note["media"]["transcript"], Value::Null);
}

async fn where_nobody_listens_a_voice_note_cannot_be_read(world: &World) {
    let (_store, url) = keeps("Are you open today?", 0).await;
    sends(world, "M1", &url).await;
    world.after(3_000).await;
    let note = of_the_contact(world, "M1").await;
    assert_eq!((&note["text"], &note["outcome"]), (&json!("[voice message]"), &json!("handed_over")));
    assert_eq!(world.chat(MEI).conversation().await["attention"]["reason"], "unreadable");
}
