//! Erasing a person: asked of an admin alone, who types the number; gone at once from whatever anybody looks at.

use serde_json::json;

use super::{Browser, MEI, Server, on_sqlite, open, reading_mei};

on_sqlite!(a_person_is_erased_before_everybodys_eyes_and_may_write_again);

async fn a_person_is_erased_before_everybodys_eyes_and_may_write_again(server: &Server) {
    server.writes(MEI, "Mei", &["Hi"]).await;
    let admin = reading_mei(server).await;
    let wish = json!({ "name": "Ana", "email": "ana@example.com", "role": "agent" });
    let ana = server.asks("POST", "/api/v1/agents", Some(wish)).await;
    let agent = Browser::open().await;
    agent.go(ana["link"].as_str().expect("a link")).await;
    agent.sees("nav", "Live").await;
    agent.go(&format!("{}/inbox", server.address)).await;
    open(&agent, "Mei").await;
    agent.sees(".context", "First seen").await;
    agent.misses(".context", "Erase").await;

    admin.click_named("Erase this contact…").await;
    admin.sees("dialog", "Type +6580000001 to go on").await;
    admin.fill("dialog input", "+6580000002").await;
    admin.click_named("Erase for good").await;
    admin.sees("dialog", "That is not this contact's number.").await;
    admin.run("document.querySelector('dialog input').select()", json!([])).await;
    admin.press("+65 8000 0001").await;
    admin.click_named("Erase for good").await;
    for browser in [&admin, &agent] {
        browser.sees(".thread", "This contact was erased. Nothing of the conversation is kept.").await;
        browser.misses(".row", "Mei").await;
    }
    agent.click_named("Back to the conversations").await;
    agent.sees(".thread", "Choose a conversation").await;

    server.writes(MEI, "Mei", &["It is me again"]).await;
    open(&agent, "Mei").await;
    agent.sees(".thread-body", "It is me again").await;
    agent.misses(".thread-body", "Hi").await;
    admin.close().await;
    agent.close().await;
}
