//! A person answers, and the AI suggests what: nothing of it leaves by itself.

use serde_json::json;

use super::{MEI, Server, on_both_footings, reading_a_suggestion};

on_both_footings!(a_suggestion_is_used_changed_or_left_and_goes_when_it_is_old);

async fn a_suggestion_is_used_changed_or_left_and_goes_when_it_is_old(server: &Server) {
    let (browser, id) = reading_a_suggestion(server).await;
    browser.sees(".mode-pill", "AI drafts").await;
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
