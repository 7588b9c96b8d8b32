//! The numbers of the business, as an admin sets them up.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, path_regex},
};

use super::{Server, on_both_footings, server::TOKEN, signed_in};

on_both_footings!(a_phone_is_linked_by_the_code_that_the_channels_page_shows);

/// A picture of one dot.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// From now on the gateway is in this state, and answers so when asked for a code.
async fn is_now(gateway: &MockServer, state: &str, code: Value) {
    gateway.reset().await;
    let answers = |body: Value| ResponseTemplate::new(200).set_body_json(body);
    Mock::given(path_regex("/qr/")).respond_with(answers(code)).with_priority(1).mount(gateway).await;
    Mock::given(any()).respond_with(answers(json!({ "stateInstance": state }))).mount(gateway).await;
}

async fn a_phone_is_linked_by_the_code_that_the_channels_page_shows(server: &Server) {
    let gateway = MockServer::start().await;
    is_now(&gateway, "notAuthorized", json!({ "type": "qrCode", "message": PNG })).await;
    let shop = json!({
        "name": "shop", "provider": "green_api", "instance": "7103000001", "api_url": gateway.uri(),
        "token": "secret", "webhook_token": TOKEN,
    });
    server.asks("POST", "/api/v1/channels", Some(shop)).await;
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/channels/shop", server.address)).await;
    browser.sees(".link-phone", "Point the camera at this code").await;
    browser.sees("h1 .tag.is-bad", "not linked").await;
    browser.until("return document.querySelector('.link-phone img')?.naturalWidth === 1", json!([])).await;

    is_now(&gateway, "authorized", json!({ "type": "alreadyLogged", "message": "" })).await;
    let linked = json!({
        "typeWebhook": "stateInstanceChanged", "timestamp": 1, "stateInstance": "authorized",
        "instanceData": { "idInstance": 7_103_000_001_i64, "wid": "", "typeInstance": "whatsapp" },
    });
    server.asks("POST", "/webhooks/green-api/shop", Some(linked)).await;
    browser.until("return document.querySelector('.link-phone') === null", json!([])).await;
    browser.sees("h1 .tag.is-good", "inked").await;
    browser.close().await;
}
