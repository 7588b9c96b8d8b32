//! A conversation as a text that a person can read, from what the API shows and what the contact's phone shows:
//!
//! ```text
//! contact: Show me condos [left_to_human, mode_human]
//! assistant: Here are two. [cancelled, mode_changed]
//! * mode_change_during_generation: cancelled_generation
//! = HUMAN 2, agent_button
//! = the phone shows nothing
//! ```
//!
//! Messages first; then each decision of a race, in order; then how it stands.

use baton::domain::event::EventType;
use serde_json::Value;

use super::chat::Chat;

/// The text of that chat.
pub(crate) async fn of(chat: &Chat<'_>) -> String {
    let mut lines: Vec<String> = chat.messages().await.iter().map(message).collect();
    let events = chat.world.get(&chat.path("timeline?limit=200").await).await;
    lines.extend(events["items"].as_array().expect("a list").iter().filter_map(decision));
    lines.extend(standing(&chat.conversation().await));
    lines.push(match chat.world.gateway.shown_to(chat.id).as_slice() {
        [] => "= the phone shows nothing".to_owned(),
        shown => {
            let shown: Vec<&str> = shown.iter().map(|post| post.text.as_str()).collect();
            format!("= the phone shows: {}", shown.join(" | "))
        }
    });
    lines.join("\n")
}

/// A text of a test without the indentation that it has there.
pub(crate) fn unindented(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn message(message: &Value) -> String {
    let author = if message["kind"] == "note" { "note" } else { word(&message["author"]) };
    let delivery = &message["delivery"];
    let (state, reason) = if delivery.is_null() {
        (&message["outcome"], &message["outcome_reason"])
    } else {
        (&delivery["state"], &delivery["reason"])
    };
    let text = word(&message["text"]);
    match (state.as_str(), reason.as_str()) {
        (None, _) => format!("{author}: {text}"),
        (Some(state), None) => format!("{author}: {text} [{state}]"),
        (Some(state), Some(reason)) => format!("{author}: {text} [{state}, {reason}]"),
    }
}

fn decision(event: &Value) -> Option<String> {
    let kind = word(&event["type"]);
    let is_decision = kind.parse::<EventType>().is_ok_and(EventType::is_decision);
    let action = event["action"].as_str().map(|action| format!(": {action}")).unwrap_or_default();
    is_decision.then(|| format!("* {kind}{action}"))
}

fn standing(conversation: &Value) -> Vec<String> {
    let mut lines = vec![format!(
        "= {} {}, {}",
        word(&conversation["mode"]),
        conversation["mode_version"],
        word(&conversation["mode_reason"])
    )];
    if let Some(reason) = conversation["attention"]["reason"].as_str() {
        lines.push(format!("= a person is called: {reason}"));
    }
    if !conversation["follow_up"].is_null() {
        lines.push("= a follow-up is pending".to_owned());
    }
    lines
}
