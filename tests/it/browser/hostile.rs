//! What a contact calls themselves and what they write is text, whatever it looks like.

use serde_json::json;

use super::{Server, signed_in};

const HOSTILE: [&str; 6] = [
    "<img src=x onerror=\"window.struck = 1\">",
    "<script>window.struck = 1</script>",
    "javascript:window.struck=1//\"'><svg onload=window.struck=1>",
    "{{constructor.constructor('window.struck = 1')()}}",
    "\u{202e}gnihtemos \u{200b}\u{0} and 0\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "https://example.com/\"onmouseover=\"window.struck=1",
];

#[tokio::test]
async fn what_a_contact_writes_is_only_ever_text() {
    let server = &Server::on_sqlite().await;
    server.behaves(json!({ "model_delay_ms": 60_000 })).await;
    let browser = signed_in(server).await;
    for (at, text) in HOSTILE.iter().enumerate() {
        let clean = text.replace('\0', "");
        let chat = format!("658000010{at}@c.us");
        server.writes(&chat, &clean, &[clean.as_str(), "ü".repeat(4_000).as_str()]).await;
        let conversation = server.conversation(&chat).await;
        let id = conversation["id"].as_str().expect("an id");
        browser.go(&format!("{}/inbox/{id}", server.address)).await;
        browser
            .until("return document.querySelectorAll('.from-contact .says').length === 2", json!([]))
            .await;
        let shown =
            browser.run("return document.querySelector('.from-contact .says').textContent", json!([])).await;
        assert_eq!(shown, json!(clean), "as it was written");
        let label = json!({ "contact": { "name": clean } });
        server.asks("PATCH", &format!("/api/v1/conversations/{id}"), Some(label)).await;
        server
            .asks("POST", &format!("/api/v1/conversations/{id}/notes"), Some(json!({ "text": clean })))
            .await;
        browser.until("return document.querySelectorAll('.is-note .says').length === 1", json!([])).await;
        // Nothing is wider than the window for it.
        let overflows =
            browser.run("return document.documentElement.scrollWidth > innerWidth", json!([])).await;
        assert_eq!(overflows, json!(false), "{clean}");
    }
    for page in ["/playground", "/overview", "/dead-letters", "/follow-ups"] {
        browser.go(&format!("{}{page}", server.address)).await;
        browser.sees("nav", "Live").await;
    }
    assert_eq!(browser.run("return window.struck ?? null", json!([])).await, json!(null));
    browser.close().await;
}
