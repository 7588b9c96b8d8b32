//! The pictures that the README shows, taken of a shop on a busy morning. To renew them:
//! `BATON_PICTURES=docs/pictures cargo xtask test the_pictures -- --ignored`.

use std::path::PathBuf;

use serde_json::json;

use super::{Browser, MEI, Server, accessible::show, key, open, signed_in};

#[tokio::test]
#[ignore = "renews the pictures of the README"]
async fn the_pictures_of_the_readme_are_taken() {
    let server = Server::on_sqlite().await;
    let kept = tempfile::tempdir().expect("a folder");
    let folder = std::env::var_os("BATON_PICTURES").map_or(kept.path().to_owned(), PathBuf::from);
    let browser = signed_in(&server).await;
    let rename = "return (await fetch('/api/v1/me', { method: 'PATCH', headers: { 'content-type': 'application/json' }, \
                  body: JSON.stringify({ name: 'Ana' }) })).status";
    assert_eq!(browser.settled(rename, json!([])).await, json!(200));

    morning(&server).await;
    show(&browser, &server, "/inbox").await;
    open(&browser, "Mei").await;
    server.writes(MEI, "Mei", &["Tell me everything about delivery, please"]).await;
    server.until(|| server.phone(MEI), |sent| sent.len() == 2).await;
    browser.press("t").await;
    browser.sees(".outcome", "1 of 3 messages had already gone").await;
    browser.press("r").await;
    browser.press("Ana here. The blue bowl is back on Friday.").await;
    browser.press(key::ENTER).await;
    browser
        .until(
            "return document.querySelector('.from-agent .ticks.is-read, .from-agent .ticks.is-delivered')",
            json!([]),
        )
        .await;
    // The numbers above the list are asked for again after the takeover.
    let counted = "return /Mine\\s*1/.test(document.querySelector('[role=tablist]').innerText)";
    browser.until(counted, json!([])).await;
    take(&browser, &folder, "inbox").await;
    browser.dark(true).await;
    take(&browser, &folder, "dark").await;
    browser.dark(false).await;
    browser.size(390, 760).await;
    take(&browser, &folder, "phone").await;
    browser.size(1280, 800).await;
    browser.click_named("Larger").await;
    browser.sees("dialog[open]", "Provider").await;
    take(&browser, &folder, "timeline").await;
    browser.press(key::ESCAPE).await;
    show(&browser, &server, "/overview").await;
    take(&browser, &folder, "overview").await;
    show(&browser, &server, "/playground").await;
    browser.click("#play-three").await;
    browser.sees(".decisions", "wrote").await;
    browser.until("return document.querySelectorAll('.phone .bubble.is-own').length >= 3", json!([])).await;
    take(&browser, &folder, "playground").await;
    browser.close().await;
    server.end().await;
}

/// Somebody is answered, somebody asks for a person, and Mei, who will get a long answer, is greeted.
async fn morning(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    server.writes("4915200000002@c.us", "Jonas", &["Hallo! When are you open on Sunday?"]).await;
    server.writes("2348000000003@c.us", "Amara", &["Can I talk to a person?"]).await;
    server.until(|| server.phone("2348000000003@c.us"), |sent| !sent.is_empty()).await;
    server.until(|| server.phone("4915200000002@c.us"), |sent| !sent.is_empty()).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    server.until(|| server.phone(MEI), |sent| !sent.is_empty()).await;
}

/// Once everything is there, and stands still.
async fn take(browser: &Browser, folder: &std::path::Path, name: &str) {
    browser.misses("main", "Loading…").await;
    let still = "return document.getAnimations().every((it) => !(it instanceof CSSTransition))";
    browser.until(still, json!([])).await;
    let picture = browser.picture().await;
    assert!(picture.len() > 5_000, "{name}: a page is not so empty");
    std::fs::write(folder.join(format!("{name}.webp")), picture).expect("the picture is kept");
}
