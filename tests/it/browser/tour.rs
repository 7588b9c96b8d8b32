//! The tour of the playground, walked to its end: what a newcomer sees in the first minutes.

use serde_json::json;

use super::{Server, accessible::show, signed_in};

#[tokio::test]
async fn the_tour_can_be_walked_to_its_end() {
    let server = &Server::on_sqlite().await;
    let browser = signed_in(server).await;
    show(&browser, server, "/playground").await;
    let at = "return document.querySelector('#play-tour')?.dataset.step === given(0) && document.querySelector('#play-tour').dataset.phase === given(1)";

    // Three messages, one answer.
    browser.until(at, json!(["1", "write"])).await;
    browser.click("#tour-do").await;
    browser.until(at, json!(["1", "done"])).await;
    browser.click("#tour-next").await;

    // A takeover in the middle of an answer, and its receipt.
    browser.until(at, json!(["2", "ask"])).await;
    browser.click("#tour-do").await;
    browser.until(at, json!(["2", "press"])).await;
    browser.press("t").await;
    browser.until(at, json!(["2", "done"])).await;
    browser.sees(".outcome", "Stopped the AI").await;
    browser.click("#tour-next").await;

    // A person answers, and gives it back.
    browser.until(at, json!(["3", "answer"])).await;
    browser.fill(".composer textarea", "Ana here: we have three of them.\u{e007}").await;
    browser.until(at, json!(["3", "give"])).await;
    browser.run("document.activeElement.blur()", json!([])).await;
    browser.press("g").await;
    browser.until(at, json!(["3", "done"])).await;
    browser.click("#tour-next").await;

    // Every webhook comes twice, and nothing is answered twice.
    browser.until(at, json!(["4", "choose"])).await;
    browser.click("#tour-twice").await;
    browser.until(at, json!(["4", "say"])).await;
    browser.click("#tour-do").await;
    browser.until(at, json!(["4", "done"])).await;
    browser
        .until("return document.querySelector('.decisions [data-type=duplicate_webhook]')", json!([]))
        .await;
    browser.close().await;
}
