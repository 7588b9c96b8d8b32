//! What is looked at stands in the address: it survives a reload, and one that leads nowhere says so.

use serde_json::{Value, json};

use super::{Browser, MEI, Server, open, signed_in};

const TOM: &str = "6580000002@c.us";

/// The list is that of this group, and the address says so.
async fn looks_at(browser: &Browser, group: &str, query: &str) {
    let selected = "return document.querySelector('.groups [aria-selected=true]')?.dataset.group === given(0) \
                    && location.search === given(1)";
    browser.until(selected, json!([group, query])).await;
}

async fn back(browser: &Browser) -> Value {
    browser.run("history.back()", json!([])).await
}

#[tokio::test]
async fn the_list_that_is_looked_at_survives_a_reload_and_the_way_back() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    let mode = format!("/api/v1/channels/sandbox/chats/{MEI}/mode");
    server.asks("PUT", &mode, Some(json!({ "mode": "HUMAN" }))).await;
    server.writes(MEI, "Mei", &["Is anybody there?"]).await;
    server.writes(TOM, "Tom", &["Hi"]).await;
    server.until(|| server.phone(TOM), |sent| !sent.is_empty()).await;
    let id = server.conversation(MEI).await["id"].as_str().expect("an id").to_owned();

    let browser = signed_in(server).await;
    looks_at(&browser, "all", "").await;
    browser.click(".groups [data-group=needs_you]").await;
    looks_at(&browser, "needs_you", "?group=needs_you").await;
    browser.misses(".row", "Tom").await;
    open(&browser, "Mei").await;
    looks_at(&browser, "needs_you", "?group=needs_you").await;
    browser.go(&format!("{}/inbox/{id}?group=needs_you", server.address)).await;
    browser.sees("#thread-title", "Mei").await;
    looks_at(&browser, "needs_you", "?group=needs_you").await;
    browser.misses(".row", "Tom").await;

    browser.click(".groups [data-group=all]").await;
    looks_at(&browser, "all", "").await;
    open(&browser, "Tom").await;
    back(&browser).await;
    browser.sees("#thread-title", "Mei").await;
    back(&browser).await;
    looks_at(&browser, "needs_you", "?group=needs_you").await;
    browser.misses(".row", "Tom").await;

    // Where another page leads to the inbox, it is as it was left; a search comes back with the words.
    browser.click(".search input").await;
    browser.press("Mei").await;
    looks_at(&browser, "needs_you", "?group=needs_you&q=Mei").await;
    browser.click("nav [href='/overview']").await;
    browser.sees("h1", "Overview").await;
    browser.click("nav [href^='/inbox']").await;
    looks_at(&browser, "needs_you", "?group=needs_you&q=Mei").await;
    let words = "return document.querySelector('.search input').value === given(0)";
    browser.until(words, json!(["Mei"])).await;
    browser.close().await;
}

#[tokio::test]
async fn one_comes_back_to_the_playground_and_from_a_mistyped_address_to_the_inbox() {
    let server = &Server::on_sqlite().await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = signed_in(server).await;
    let at = |path: &str| format!("{}{path}", server.address);
    browser.go(&at("/playground")).await;
    browser.until("return location.pathname.startsWith('/playground/')", json!([])).await;
    browser.run("location.reload()", json!([])).await;
    browser.sees(".play-head h1", "Playground").await;

    browser.go(&at("/follow-up")).await;
    browser.sees("main", "There is no such page.").await;
    browser.click_named("Back to the conversations").await;
    looks_at(&browser, "all", "").await;
    // Cut off in the middle of a letter, as it may be in a mail.
    browser.go(&at("/inbox/%zz")).await;
    browser.sees(".thread", "This conversation is not here").await;
    browser.close().await;
}
