//! What an agent sends is never shown as more than it is.

use serde_json::json;

use super::{Browser, MEI, Server, key, on_sqlite, open, reading_mei};

on_sqlite!(
    what_is_sent_takes_over_and_gets_its_ticks,
    what_nobody_knows_is_said_and_decided_by_a_person,
    what_was_taken_although_its_answer_was_lost_stands_there_once,
    a_pasted_picture_is_seen_before_it_goes_and_when_it_has_gone
);

async fn what_is_sent_takes_over_and_gets_its_ticks(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 600_000 })).await;
    server.writes(MEI, "Mei", &["Is the blue bowl still there?"]).await;
    let browser = reading_mei(server).await;
    browser.fill(".composer textarea", "Yes, and I have put it aside for you.").await;
    browser.sees(".composer", "takes over").await;
    browser.press(key::ENTER).await;
    browser.sees(".from-agent", "Yes, and I have put it aside for you.").await;
    browser.sees(".outcome", "Stopped the AI while it was writing").await;
    browser.until("return document.querySelector('.from-agent .ticks.is-read, .from-agent .ticks.is-delivered, .from-agent .ticks.is-sent')", json!([])).await;
    assert_eq!(server.phone(MEI).await, ["Yes, and I have put it aside for you."]);
    assert_eq!(
        browser.run("return document.querySelector('.composer textarea').value", json!([])).await,
        json!("")
    );
    browser.close().await;
}

/// Over plain HTTP a browser has no `crypto.randomUUID` and no clipboard, but on the machine itself.
#[tokio::test]
async fn from_another_machine_over_plain_http_it_is_sent_and_copied_too() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Is the blue bowl still there?"]).await;
    let elsewhere = |address: &str| address.replace("127.0.0.1", "baton.lan");
    let browser = Browser::open().await;
    browser.go(&elsewhere(&server.link)).await;
    browser.sees("nav", "Live").await;
    browser.go(&elsewhere(&format!("{}/inbox", server.address))).await;
    open(&browser, "Mei").await;
    assert_eq!(browser.run("return isSecureContext", json!([])).await, json!(false));
    browser.fill(".composer textarea", "Yes, it is.").await;
    browser.press(key::ENTER).await;
    browser.sees(".from-agent", "Yes, it is.").await;
    browser.until("return document.querySelector('.from-agent .ticks.is-read, .from-agent .ticks.is-delivered, .from-agent .ticks.is-sent')", json!([])).await;
    browser.run("document.querySelector('.from-agent .speech-more button').click()", json!([])).await;
    browser.click_named("Copy").await;
    browser.sees("body", "Copied").await;
    browser.close().await;
}

async fn what_nobody_knows_is_said_and_decided_by_a_person(server: &Server) {
    server.behaves(json!({ "provider_fault": "hang", "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hello?"]).await;
    let browser = reading_mei(server).await;
    browser.press("t").await;
    browser.sees(".mode-pill", "You").await;
    browser.press("r").await;
    browser.press("Hello Mei.").await;
    browser.press(key::ENTER).await;
    browser.sees(".from-agent", "Hello Mei.").await;
    // The provider never answers: in the end it is said that nobody knows, and never that it went.
    browser.until("return document.querySelector('.from-agent .ticks.is-unknown')", json!([])).await;
    browser.sees(".from-agent .mends", "Send again").await;
    browser.click_named("It arrived").await;
    browser.click("dialog[open] .is-danger").await;
    browser.until("return document.querySelector('.from-agent .ticks.is-sent')", json!([])).await;
    browser.close().await;
}

/// The next message that is sent arrives, and its answer does not.
const LOSES_AN_ANSWER: &str = "
    const real = window.fetch;
    window.fetch = async (to, how) => {
        const answer = await real(to, how);
        if (how?.method !== 'POST' || !String(to).endsWith('/messages')) return answer;
        window.fetch = real;
        throw new TypeError('the line broke');
    };";

async fn what_was_taken_although_its_answer_was_lost_stands_there_once(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["Hello?"]).await;
    let browser = reading_mei(server).await;
    browser.run(LOSES_AN_ANSWER, json!([])).await;
    browser.fill(".composer textarea", "Hello Mei.").await;
    browser.press(key::ENTER).await;
    browser.until("return document.querySelector('.from-agent .ticks.is-read')", json!([])).await;
    browser.until("return !document.querySelector('.is-unsent')", json!([])).await;
    assert_eq!(server.phone(MEI).await, ["Hello Mei."]);
    browser.close().await;
}

/// Puts a picture of so many pixels on the clipboard and pastes it, as a browser would.
const PASTES: &str = "
    const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 30 });
    canvas.getContext('2d').fillRect(0, 0, 40, 30);
    return new Promise((done) => canvas.toBlob((blob) => {
        const given = new DataTransfer();
        given.items.add(new File([blob], 'plan.png', { type: 'image/png' }));
        const paste = new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true });
        document.querySelector('.composer textarea').dispatchEvent(paste);
        done(true);
    }));";

async fn a_pasted_picture_is_seen_before_it_goes_and_when_it_has_gone(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 600_000 })).await;
    server.writes(MEI, "Mei", &["What does it look like?"]).await;
    let browser = reading_mei(server).await;
    browser.click_named("Note").await;
    browser.settled(PASTES, json!([])).await;
    browser.sees(".composer-said", "A note has no file").await;
    browser.click_named("Note").await;
    browser.settled(PASTES, json!([])).await;
    browser.sees(".attached", "plan.png").await;
    browser.sees(".composer", "takes over").await;
    browser.until("return document.querySelector('.attached img').naturalWidth === 40", json!([])).await;
    browser.fill(".composer textarea", "Like this.").await;
    browser.press(key::ENTER).await;
    browser.sees(".from-agent .says", "Like this.").await;
    browser.sees(".outcome", "Stopped the AI").await;
    // Through the server and back, as it was given.
    let is_drawn = "return document.querySelector('.from-agent .picture img')?.naturalWidth === 40";
    browser.until(is_drawn, json!([])).await;
    browser.misses(".composer", "plan.png").await;
    browser.until("return document.querySelector('.from-agent .ticks.is-read')", json!([])).await;
    assert_eq!(server.phone(MEI).await, ["[image] Like this."]);
    assert_eq!(browser.faults().await, json!([]));
    browser.close().await;
}

/// Drags a file over the first that the selector means and lets it go there; whether the browser is kept from opening it.
const DROPS: &str = "
    const given = new DataTransfer();
    given.items.add(new File(['12 bowls'], 'order.txt', { type: 'text/plain' }));
    const happens = (type) => new DragEvent(type, { dataTransfer: given, bubbles: true, cancelable: true });
    return ['dragover', 'drop'].every((type) => !document.querySelector(arguments[0]).dispatchEvent(happens(type)));";

#[tokio::test]
async fn a_file_that_is_dropped_on_the_thread_is_taken_and_opened_nowhere() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    server.writes(MEI, "Mei", &["What did I order?"]).await;
    let browser = reading_mei(server).await;
    assert_eq!(browser.run(DROPS, json!([".list"])).await, json!(true));
    browser.misses(".composer", "order.txt").await;
    assert_eq!(browser.run(DROPS, json!([".thread-scroll"])).await, json!(true));
    browser.sees(".attached", "order.txt").await;
    browser.close().await;
}
