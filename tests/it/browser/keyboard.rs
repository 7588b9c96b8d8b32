//! The keyboard alone suffices.

use serde_json::json;

use super::{MEI, Server, key, open, reading_a_suggestion, reading_mei, signed_in};

#[tokio::test]
async fn a_day_at_the_inbox_needs_no_mouse() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes("6580000002@c.us", "Jonas", &["Hallo!"]).await;
    server.until(|| server.conversation("6580000002@c.us"), |it| it["unread"] == 1).await;
    server.writes(MEI, "Mei", &["Is the blue bowl still there?"]).await;
    let browser = signed_in(server).await;
    browser.sees(".row", "Mei").await;
    browser.sees(".row", "Jonas").await;

    // The keys of a conversation are named before one is open.
    browser.press("?").await;
    browser.sees("dialog[open]", "Give back to the AI").await;
    browser.press(key::ESCAPE).await;
    // Down, and up again: Mei wrote last and stands first.
    browser.press("jjk").await;
    browser.press(key::ENTER).await;
    browser.sees("#thread-title", "Mei").await;
    browser.press("t").await;
    browser.sees(".mode-pill", "You").await;
    browser.press("r").await;
    browser.press("Yes, it is.").await;
    browser.press(key::ENTER).await;
    browser.sees(".from-agent", "Yes, it is.").await;
    browser.press(key::ESCAPE).await;
    browser.press("n").await;
    browser.press("She haggles.").await;
    browser.press(key::ENTER).await;
    browser.sees(".line .is-note", "She haggles.").await;
    // The next is a note, too, until one leaves that; and then the field.
    browser.press("And pays.").await;
    browser.press(key::ENTER).await;
    browser.sees(".line .is-note", "And pays.").await;
    browser.press(key::ESCAPE).await;
    browser.press(key::ESCAPE).await;
    browser.press("g").await;
    browser.sees(".mode-pill", "AI").await;
    browser.press("e").await;
    browser.misses(".list .row", "Mei").await;

    browser.press("/").await;
    browser.press("Jonas").await;
    browser.sees(".row", "Jonas").await;
    // Once for the words, once for the field.
    browser.press(key::ESCAPE).await;
    browser.press(key::ESCAPE).await;
    browser.press("?").await;
    browser.sees("dialog[open]", "Take over").await;
    browser.press(key::ESCAPE).await;
    browser.chord(key::CONTROL, "k").await;
    browser.until("return document.querySelector('dialog[open] input')", json!([])).await;
    browser.press("overview").await;
    browser.press(key::ENTER).await;
    browser.sees("h1", "Overview").await;
    browser.close().await;
}

#[tokio::test]
async fn no_key_fires_while_somebody_types() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = signed_in(server).await;
    open(&browser, "Mei").await;
    browser.sees(".mode-pill", "AI").await;
    browser.click(".composer textarea").await;
    browser.press("getting the jug, then?").await;
    let typed = browser.run("return document.querySelector('.composer textarea').value", json!([])).await;
    assert_eq!(typed, json!("getting the jug, then?"));
    // What sending does beside sending is told to whoever listens, too: at once, and with the field.
    browser.sees("#composer-told[role=status]", "Sending takes over from the AI.").await;
    let described = "return document.querySelector('.composer textarea').getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id)?.innerText)";
    assert_eq!(browser.run(described, json!([])).await, json!(["Sending takes over from the AI.", ""]));
    assert_eq!(
        server.conversation(MEI).await["mode"],
        "AI",
        "the letter t takes over only where nobody types"
    );
    browser.close().await;
}

#[tokio::test]
async fn what_is_typed_after_a_click_on_send_is_the_next_message() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.fill(".composer textarea", "Hello Mei.").await;
    browser.click(".composer .is-primary").await;
    browser.press("great").await;
    let typed = browser.run("return document.querySelector('.composer textarea').value", json!([])).await;
    assert_eq!(typed, json!("great"));
    browser.sees(".from-agent", "Hello Mei.").await;
    browser.sees(".mode-pill", "You").await;
    server.until(|| server.phone(MEI), |sent| *sent == ["Hello Mei."]).await;
    assert_eq!(
        server.conversation(MEI).await["mode"],
        "HUMAN",
        "the letter g gives back only where nobody types"
    );
    browser.close().await;
}

#[tokio::test]
async fn a_key_means_what_is_shown_from_its_first_moment() {
    let server = &Server::on_sqlite().await;
    let (browser, _) = reading_a_suggestion(server).await;

    // Faster than any hand: pressed as soon as the page holds the words.
    let presses = "const watch = new MutationObserver(() => { \
           if (!document.querySelector('.draft .says')?.textContent.includes('deliver')) return; \
           watch.disconnect(); \
           document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'u', code: 'KeyU', bubbles: true })); \
         }); \
         watch.observe(document.body, { subtree: true, childList: true, characterData: true });";
    browser.run(presses, json!([])).await;
    server.writes(MEI, "Mei", &["And how much is delivery?"]).await;
    browser
        .until("return document.querySelector('.composer textarea').value.includes('deliver')", json!([]))
        .await;
    browser.close().await;
}

#[tokio::test]
async fn a_shortcut_that_nothing_goes_by_is_no_word_for_the_contact() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.click(".composer textarea").await;
    browser.press("/hours").await;
    browser.sees(".canned", "No canned reply of that name").await;
    browser.press(key::ENTER).await;
    browser.misses(".canned", "No canned reply of that name").await;
    let typed = browser.run("return document.querySelector('.composer textarea').value", json!([])).await;
    assert_eq!(typed, json!("/hours"));
    // Whoever means it so sends it all the same.
    browser.press(key::ENTER).await;
    browser.sees(".from-agent", "/hours").await;
    browser.close().await;
}

#[tokio::test]
async fn a_menu_is_gone_through_to_its_end_and_left_by_the_key_that_leaves_it() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let browser = reading_mei(server).await;
    browser.click(".status-button").await;
    browser.until("return document.activeElement.matches('[role=menu] > [role^=menuitem]')", json!([])).await;
    browser.press(key::END).await;
    let last = "return document.activeElement === [...document.querySelectorAll(':popover-open [role^=menuitem]')].at(-1)";
    browser.until(last, json!([])).await;
    browser.press(key::TAB).await;
    browser.until("return document.querySelector(':popover-open') === null", json!([])).await;
    let next = "const all = [...document.querySelectorAll('button:not([tabindex]), a[href], textarea')].filter((it) => it.checkVisibility({ visibilityProperty: true })); \
        return document.activeElement === all[all.indexOf([...document.querySelectorAll('.status-button')].find((it) => it.checkVisibility())) + 1]";
    browser.until(next, json!([])).await;
    browser.close().await;
}
