//! Erasing a person: asked of an admin alone, who types the number; gone at once from whatever anybody looks at.

use serde_json::{Value, json};

use super::{Browser, MEI, Server, on_sqlite, open, reading_mei, signed_in};

on_sqlite!(
    a_person_is_erased_before_everybodys_eyes_and_may_write_again,
    who_is_erased_is_gone_from_the_follow_ups_and_the_dead_letters_that_somebody_looks_at,
);

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

async fn who_is_erased_is_gone_from_the_follow_ups_and_the_dead_letters_that_somebody_looks_at(
    server: &Server,
) {
    const TOM: &str = "6580000002@c.us";
    server.behaves(json!({ "model_delay_ms": 0 })).await;
    server.writes(MEI, "Mei", &["Hi"]).await;
    let is_answered = |conversation: &Value| {
        conversation["activity"] == "idle" && conversation["last_message"]["author"] != "contact"
    };
    let mei = server.until(|| server.conversation(MEI), is_answered).await;
    let path = |conversation: &Value| {
        format!("/api/v1/conversations/{}", conversation["id"].as_str().expect("an id"))
    };
    let wish = json!({ "delay_ms": 3_600_000, "text": "Has it come?" });
    server.asks("PUT", &format!("{}/follow-up", path(&mei)), Some(wish)).await;
    server.behaves(json!({ "model_fault": "error" })).await;
    server.writes(TOM, "Tom", &["Hi"]).await;
    let given_up = || server.asks("GET", "/api/v1/dead-letters", None);
    server.until(given_up, |letters| letters["items"][0].is_object()).await;
    let tom = server.conversation(TOM).await;

    let browser = signed_in(server).await;
    browser.go(&format!("{}/follow-ups", server.address)).await;
    browser.sees(".entry", "Has it come?").await;
    server.asks("DELETE", &format!("{}?confirm={MEI}", path(&mei)), None).await;
    browser.sees(".sheet .empty", "").await;
    browser.misses(".sheet", "Has it come?").await;

    browser.go(&format!("{}/dead-letters", server.address)).await;
    browser.sees(".entry", "Tom").await;
    server.asks("DELETE", &format!("{}?confirm={TOM}", path(&tom)), None).await;
    browser.sees(".empty", "Nothing was given up").await;
    browser.close().await;
}
