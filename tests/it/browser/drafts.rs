//! A person answers, and the AI suggests what: nothing of it leaves by itself.

use serde_json::json;

use super::{MEI, Server, on_both_footings, open, signed_in};

on_both_footings!(a_suggestion_is_used_changed_or_left_and_goes_when_it_is_old);

async fn a_suggestion_is_used_changed_or_left_and_goes_when_it_is_old(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    let browser = signed_in(server).await;
    let mode = format!("/api/v1/channels/sandbox/chats/{MEI}/mode");
    server.asks("PUT", &mode, Some(json!({ "mode": "HUMAN" }))).await;
    let id = server.conversation(MEI).await["id"].as_str().expect("an id").to_owned();
    server.asks("PATCH", &format!("/api/v1/conversations/{id}"), Some(json!({ "drafting": true }))).await;
    server.writes(MEI, "Mei", &["When are you open on Sunday?"]).await;
    open(&browser, "Mei").await;
    browser.sees(".mode-pill", "AI drafts").await;
    browser.sees(".draft", "Monday to Saturday").await;
    assert_eq!(server.phone(MEI).await, Vec::<String>::new(), "a suggestion is only that");

    // The contact writes on: what was suggested is no longer an answer to all of it, and another comes.
    server.writes(MEI, "Mei", &["And how much is delivery?"]).await;
    browser.misses(".draft", "Monday to Saturday").await;
    browser.sees(".draft", "deliver").await;

    browser.press("u").await;
    browser
        .until("return document.querySelector('.composer textarea').value.includes('deliver')", json!([]))
        .await;
    browser.press(" See you soon!\u{e007}").await;
    browser.sees(".from-agent", "See you soon!").await;
    browser.misses(".draft", "deliver").await;
    server.until(|| server.phone(MEI), |sent| sent.iter().any(|text| text.ends_with("See you soon!"))).await;
    let drafts = server.asks("GET", &format!("/api/v1/conversations/{id}/drafts"), None).await;
    let states: Vec<&str> = drafts["items"]
        .as_array()
        .expect("drafts")
        .iter()
        .filter_map(|draft| draft["state"].as_str())
        .collect();
    assert_eq!(states, ["edited", "stale"]);
    browser.close().await;
}
