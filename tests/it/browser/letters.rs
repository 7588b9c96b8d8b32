//! What the machine gave up, in front of a person who decides.

use serde_json::json;

use super::{MEI, Server, on_sqlite, signed_in};

on_sqlite!(who_lets_the_ai_answer_all_the_same_is_told_what_that_means);

async fn who_lets_the_ai_answer_all_the_same_is_told_what_that_means(server: &Server) {
    let browser = signed_in(server).await;
    server.behaves(json!({ "model_delay_ms": 0, "model_fault": "error" })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let given_up = || server.asks("GET", "/api/v1/dead-letters", None);
    server.until(given_up, |letters| letters["items"][0].is_object()).await;
    server.behaves(json!({ "model_fault": "none" })).await;
    let mode = format!("/api/v1/channels/sandbox/chats/{MEI}/mode");
    server.asks("PUT", &mode, Some(json!({ "mode": "HUMAN" }))).await;

    browser.go(&format!("{}/dead-letters", server.address)).await;
    browser.click_named("Let the AI try again").await;
    browser.sees(".refused", "a person has taken over").await;
    browser.click_named("Try it all the same").await;
    browser.sees("dialog", "it is given back to the AI").await;
    assert_eq!(server.conversation(MEI).await["mode"], "HUMAN", "nothing is done before it is meant");
    browser.click_named("Let the AI answer").await;
    browser.sees(".empty", "Nothing was given up").await;
    server.until(|| server.phone(MEI), |sent| !sent.is_empty()).await;
    let conversation = server.conversation(MEI).await;
    assert_eq!((&conversation["mode"], &conversation["mode_reason"]), (&json!("AI"), &json!("released")));
    browser.close().await;
}
