//! Webhook endpoints: added, looked at and paused by an admin; and notified by the program as it is shipped.

use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{MEI, Server, on_sqlite, signed_in};

on_sqlite!(an_endpoint_is_added_told_looked_at_and_paused);

async fn an_endpoint_is_added_told_looked_at_and_paused(server: &Server) {
    let receiver = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(200).set_body_string("thank you"))
        .mount(&receiver)
        .await;
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/webhooks", server.address)).await;
    browser.click_named("Add an endpoint").await;
    browser.fill("dialog input[name=url]", "http://10.0.0.1/").await;
    browser.click("dialog footer button.is-primary").await;
    browser.sees("dialog .problem", "must be https").await;
    browser.click("dialog header button").await;
    browser.click_named("Add an endpoint").await;
    browser.fill("dialog input[name=url]", &format!("{}/hook?key=s3cret", receiver.uri())).await;
    // Who selects words and lets go beside the dialog still has it, and what was typed.
    browser.drag("dialog input[name=url]", 5, 400).await;
    browser.fill("dialog textarea[name=events]", "message_received, message_sent").await;
    browser.click("dialog footer button.is-primary").await;
    browser
        .until(
            "return document.querySelector('dialog input[readonly]')?.value.startsWith('whsec_')",
            json!([]),
        )
        .await;
    // It is shown this once, and a click beside it is easily made.
    let beside = "const dialog = document.querySelector('dialog'); \
        dialog.dispatchEvent(new PointerEvent('pointerdown')); dialog.click()";
    browser.run(beside, json!([])).await;
    browser.click_named("Done").await;
    browser.sees("table", "Active").await;
    browser.misses("table", "s3cret").await;

    server.writes(MEI, "Mei", &["Hi"]).await;
    browser.sees("table", "received (200)").await;
    browser.click_named("Log").await;
    browser.sees("dialog table", "message_received").await;
    browser.click_named("What it said").await;
    browser.sees("dialog table", "thank you").await;
    browser.click_named("Send again").await;
    browser.sees("dialog [role=status]", "It is sent again").await;
    browser.click("dialog header button").await;
    browser.click_named("Pause").await;
    browser.sees("table", "Paused").await;
    let posts = receiver.received_requests().await.expect("they are recorded");
    assert!(posts.iter().all(|post| post.headers.contains_key("webhook-signature")) && !posts.is_empty());
    browser.close().await;
}
