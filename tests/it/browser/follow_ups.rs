//! A follow-up that goes while somebody edits it: what they wrote is kept, and the contact gets no second one.

use serde_json::{Value, json};

use super::{MEI, Server, reading_mei};

#[tokio::test]
async fn what_is_written_for_a_follow_up_is_kept_and_is_not_another_one() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let quiet = |conversation: &Value| {
        conversation["activity"] == "idle" && conversation["last_message"]["author"] != "contact"
    };
    let mei = server.until(|| server.conversation(MEI), quiet).await;
    let path = format!("/api/v1/conversations/{}/follow-up", mei["id"].as_str().expect("an id"));
    let wish = json!({ "delay_ms": 3_600_000, "text": "Has it come?" });
    server.asks("PUT", &path, Some(wish)).await;
    let browser = reading_mei(server).await;
    let stands = "return document.querySelector('dialog textarea')?.value.includes(given(0))";

    browser.sees(".follow-up", "Has it come?").await;
    browser.click(".follow-up .buttons button").await;
    browser.fill("dialog textarea", "Tell me, please. ").await;
    browser.click("dialog input[value=told]").await;
    browser.fill("dialog textarea", "Be kind").await;
    browser.click("dialog input[value=text]").await;
    browser.until(stands, json!(["Tell me, please."])).await;

    server.asks("DELETE", &path, None).await;
    browser.sees(".follow-up", "None planned").await;
    browser.click("dialog .is-primary").await;
    browser.sees("dialog .form-problem", "nothing was saved").await;
    browser.until(stands, json!(["Tell me, please."])).await;
    assert_eq!(server.conversation(MEI).await["follow_up"], Value::Null);
    browser.close().await;
}
