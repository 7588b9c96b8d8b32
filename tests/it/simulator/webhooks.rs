//! How webhooks are delivered.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{Stand, stand::QUICK};

const CHAT: &str = "6580000001@c.us";

/// What was posted, in order: the text of each.
async fn posted(server: &MockServer) -> Vec<String> {
    let requests = server.received_requests().await.expect("recorded");
    let text = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        body["messageData"]["textMessageData"]["textMessage"].as_str().expect("a text").to_owned()
    };
    requests.iter().map(|request| text(&request.body)).collect()
}

#[tokio::test]
async fn a_webhook_comes_again_until_200_with_its_token_and_what_is_behind_it_waits() {
    let server = MockServer::start().await;
    for status in [503, 201] {
        Mock::given(any()).respond_with(ResponseTemplate::new(status)).up_to_n_times(1).mount(&server).await;
    }
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let stand = Stand::posting_to(format!("{}/hook", server.uri()), QUICK);
    for text in ["one", "two"] {
        stand.contact_writes(CHAT, text).await;
    }
    stand.told_everything().await;
    assert_eq!(posted(&server).await, ["one", "one", "one", "two"]);
    for request in server.received_requests().await.expect("recorded") {
        assert_eq!(request.headers["authorization"], "Bearer webhook-token-1234");
        assert_eq!(request.url.path(), "/hook");
    }
    stand.end().await;
}

#[tokio::test]
async fn a_webhook_that_is_refused_goes_to_the_new_address_as_soon_as_there_is_one() {
    let (shut, open) = (MockServer::start().await, MockServer::start().await);
    Mock::given(any()).respond_with(ResponseTemplate::new(401)).mount(&shut).await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).mount(&open).await;
    let pace = baton::simulator::Pace { retry_ms: 300_000, ..QUICK };
    let stand = Stand::posting_to(shut.uri(), pace);
    stand.contact_writes(CHAT, "hello").await;
    let set = json!({ "webhookUrl": open.uri() });
    assert_eq!(stand.call("POST", "setSettings", Some(&set)).await.0, 200);
    stand.until("told", |account| (account.overview()["notifications"] == 0).then_some(())).await;
    let told = open.received_requests().await.expect("recorded");
    assert!(!told.is_empty(), "it went there");
    stand.end().await;
}
