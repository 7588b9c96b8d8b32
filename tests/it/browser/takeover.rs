//! The race made visible: who answers is one key away, and the receipt says what it stopped.

use serde_json::json;

use super::{MEI, Server, on_both_footings, open, reading_mei, reading_what_leaves_in_parts, signed_in};

on_both_footings!(
    a_takeover_between_two_parts_says_how_many_had_gone,
    a_takeover_while_the_ai_writes_stops_it_in_the_middle_of_a_word,
    what_was_taken_is_given_back_and_answered_at_once,
    a_person_who_answers_on_the_phone_takes_over_before_everybodys_eyes,
);

async fn a_takeover_between_two_parts_says_how_many_had_gone(server: &Server) {
    let browser = reading_what_leaves_in_parts(server).await;
    browser.press("t").await;
    browser.sees(".mode-pill", "You").await;
    browser.sees(".part.is-cancelled", "Withdrawn before it left").await;
    // Beside the greeting.
    let discarded = match server.phone(MEI).await.len() - 1 {
        1 => "1 of 3 messages had already gone. 2 were discarded.",
        2 => "2 of 3 messages had already gone. 1 was discarded.",
        gone => panic!("{gone} parts have left"),
    };
    browser.sees(".outcome", discarded).await;
    browser.close().await;
}

async fn a_takeover_while_the_ai_writes_stops_it_in_the_middle_of_a_word(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 600_000 })).await;
    server.writes(MEI, "Mei", &["Tell me everything about delivery, please"]).await;
    let browser = reading_mei(server).await;
    browser.sees(".is-written", "AI is writing").await;
    browser.press("t").await;
    browser.sees(".outcome", "Stopped the AI while it was writing").await;
    browser.sees(".mode-pill", "You").await;
    browser.misses(".is-written", "AI").await;
    assert_eq!(server.phone(MEI).await, Vec::<String>::new());
    let conversation = server.conversation(MEI).await;
    assert_eq!((&conversation["mode"], &conversation["activity"]), (&json!("HUMAN"), &json!("idle")));
    browser.close().await;
}

async fn what_was_taken_is_given_back_and_answered_at_once(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    let browser = signed_in(server).await;
    server
        .asks("PUT", &format!("/api/v1/channels/sandbox/chats/{MEI}/mode"), Some(json!({ "mode": "HUMAN" })))
        .await;
    server.writes(MEI, "Mei", &["Hi", "When are you open on Sunday?"]).await;
    open(&browser, "Mei").await;
    // Why nobody has answered stands beside the message, with the button that mends it.
    browser.sees(".speech-below", "person").await;
    browser.click_named("Let the AI answer now").await;
    browser.sees(".mode-pill", "AI").await;
    let sent = server.until(|| server.phone(MEI), |sent| !sent.is_empty()).await;
    browser.sees(".from-ai", &sent[0]).await;
    browser.close().await;
}

async fn a_person_who_answers_on_the_phone_takes_over_before_everybodys_eyes(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 600_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.sees(".is-written", "AI is writing").await;
    let said = json!({ "text": "Hello Mei, Ana here." });
    server.asks("POST", &format!("/api/v1/sandbox/chats/{MEI}/phone-message"), Some(said)).await;
    browser.sees(".from-agent", "Hello Mei, Ana here.").await;
    browser.misses(".is-written", "AI").await;
    browser.misses(".mode-pill", "AI").await;
    assert_eq!(server.conversation(MEI).await["mode_reason"], "agent_phone");
    browser.close().await;
}
