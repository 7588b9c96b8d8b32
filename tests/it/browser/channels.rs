//! The numbers of the business, as an admin sets them up.

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, path_regex},
};

use super::{Server, key, on_sqlite, server::TOKEN, signed_in};

on_sqlite!(
    a_phone_is_linked_by_the_code_that_the_channels_page_shows,
    a_number_that_another_channel_has_is_not_taken_for_a_name_that_is_taken,
    follow_ups_that_were_stopped_leave_again_once_an_admin_lets_them,
    a_rule_that_another_admin_set_is_shown_and_not_set_back,
);

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

/// A channel with an account at that gateway.
async fn add_shop(server: &Server, gateway: &MockServer) {
    let shop = json!({
        "name": "shop", "provider": "green_api", "instance": "7103000001", "api_url": gateway.uri(),
        "token": "secret", "webhook_token": TOKEN,
    });
    server.asks("POST", "/api/v1/channels", Some(shop)).await;
}

async fn a_phone_is_linked_by_the_code_that_the_channels_page_shows(server: &Server) {
    let gateway = MockServer::start().await;
    is_now(&gateway, "notAuthorized", json!({ "type": "qrCode", "message": PNG })).await;
    add_shop(server, &gateway).await;
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

async fn a_number_that_another_channel_has_is_not_taken_for_a_name_that_is_taken(server: &Server) {
    let gateway = MockServer::start().await;
    is_now(&gateway, "authorized", json!({ "type": "alreadyLogged", "message": "" })).await;
    add_shop(server, &gateway).await;
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/connect", server.address)).await;
    browser.fill("input[name=name]", "bar").await;
    browser.fill("input[name=instance]", "7103000001").await;
    browser.fill("input[name=token]", "secret").await;
    browser.fill("input[name=api_url]", &gateway.uri()).await;
    browser.click_named("Create the channel").await;
    browser.sees(".form-problem", "this instance is on the channel shop already").await;
    browser.fill("input[name=instance]", "9").await;
    browser.run("document.querySelector('input[name=name]').select()", json!([])).await;
    browser.fill("input[name=name]", "shop").await;
    browser.click_named("Create the channel").await;
    browser.sees(".form-problem", "There is a channel of that short name already").await;
    browser.close().await;
}

async fn is_followed_up(server: &Server, chat: &str) {
    let id = server.conversation(chat).await["id"].as_str().expect("an id").to_owned();
    let wish = json!({ "delay_ms": 0, "text": "Still there?" });
    server.asks("PUT", &format!("/api/v1/conversations/{id}/follow-up"), Some(wish)).await;
}

async fn follow_ups_that_were_stopped_leave_again_once_an_admin_lets_them(server: &Server) {
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    let chats: Vec<String> = (0..51).map(|n| format!("65800010{n:02}@c.us")).collect();
    let is_told = |sent: &Vec<String>| sent.iter().any(|text| text == "Still there?");
    for chat in &chats {
        server.writes(chat, "Mei", &["Hello"]).await;
    }
    for chat in &chats {
        let quiet = |conversation: &Value| {
            conversation["activity"] == "idle" && conversation["last_message"]["author"] != "contact"
        };
        server.until(|| server.conversation(chat), quiet).await;
    }
    for chat in &chats[..50] {
        is_followed_up(server, chat).await;
    }
    for chat in &chats[..50] {
        server.until(|| server.phone(chat), is_told).await;
    }
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/channels/sandbox", server.address)).await;
    browser.sees("[aria-labelledby=channel-brake]", "50 had been sent that day, and no more than 0").await;
    is_followed_up(server, &chats[50]).await;
    browser.click_named("Let them leave").await;
    browser.sees("dialog", "Counting starts again").await;
    assert!(!is_told(&server.phone(&chats[50]).await));
    browser.click("dialog .is-danger").await;
    server.until(|| server.phone(&chats[50]), is_told).await;
    browser.until("return document.querySelector('#channel-brake') === null", json!([])).await;
    browser.close().await;
}

async fn a_rule_that_another_admin_set_is_shown_and_not_set_back(server: &Server) {
    let sandbox = "/api/v1/channels/sandbox";
    let rules = || async { server.asks("GET", sandbox, None).await["settings"].clone() };
    let field = |rule: &str| format!("[name='settings/{rule}']");
    let browser = signed_in(server).await;
    browser.go(&format!("{}/settings/channels/sandbox", server.address)).await;
    browser.fill(&field("burst_quiet_ms"), &format!("4{}", key::ENTER)).await;
    server.until(rules, |it| it["burst_quiet_ms"] == 4_000).await;
    browser.sees(".toast", "").await;

    let others = json!({ "settings": { "burst_quiet_ms": 9_000 } });
    server.asks("PATCH", sandbox, Some(others)).await;
    let shows = "return document.querySelector(given(0))?.value === given(1)";
    browser.until(shows, json!([field("burst_quiet_ms"), "9"])).await;
    browser.fill(&field("burst_max_messages"), &format!("15{}", key::ENTER)).await;
    server.until(rules, |it| it["burst_max_messages"] == 15).await;
    assert_eq!(rules().await["burst_quiet_ms"], 9_000);
    browser.close().await;
}

#[tokio::test]
async fn who_connects_a_number_to_a_server_that_fetches_reads_nothing_of_webhooks() {
    let server = Server::fetching().await;
    let gateway = MockServer::start().await;
    is_now(&gateway, "authorized", json!({ "type": "alreadyLogged", "message": "" })).await;
    add_shop(&server, &gateway).await;
    let browser = signed_in(&server).await;
    browser.go(&format!("{}/settings/connect/shop", server.address)).await;
    browser.sees(".steps", "At Green API: switch on what Baton must hear").await;
    browser.sees(".arrival", "compare the switches above").await;
    browser.go(&format!("{}/settings/channels/shop", server.address)).await;
    browser.sees("[aria-labelledby=channel-webhooks]", "leave webhookUrl and webhookUrlToken empty").await;
    let section = browser.text("[aria-labelledby=channel-webhooks]").await;
    assert!(!section.contains("Make a new webhook token"), "{section}");
    browser.close().await;
    server.end().await;
}
