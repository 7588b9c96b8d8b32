//! What Baton says of itself, read through its API when all is quiet.
//!
//! In: a contact. Out: the conversation, its messages and, for a story, its events.

use anyhow::Result;
use serde_json::Value;

use super::{
    api::Api,
    gateway::{channel_name, channel_of, chat_of},
};
use crate::fakes::names::Part;

const PAGE: usize = 200;

/// A message as the API shows it.
pub(super) struct Message {
    pub(super) seq: i64,
    pub(super) author: String,
    pub(super) text: String,
    /// Of a message of the contact.
    pub(super) outcome: String,
    pub(super) outcome_reason: String,
    /// Of one of our side.
    pub(super) state: String,
    pub(super) reason: String,
}

impl Message {
    fn read(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let delivery = &value["delivery"];
        Self {
            seq: value["seq"].as_i64().unwrap_or_default(),
            author: text(&value["author"]),
            text: text(&value["text"]),
            outcome: text(&value["outcome"]),
            outcome_reason: text(&value["outcome_reason"]),
            state: text(&delivery["state"]),
            reason: text(&delivery["reason"]),
        }
    }

    /// It is neither owed nor on its way, nor waits for an answer.
    pub(super) fn has_ended(&self) -> bool {
        self.outcome != "pending" && !matches!(self.state.as_str(), "queued" | "sending")
    }

    /// Which part of which answer it is.
    pub(super) fn part(&self) -> Option<Part> {
        Part::all_in(&self.text).first().copied()
    }
}

/// A conversation as the API shows it.
pub(super) struct Conversation {
    pub(super) id: String,
    pub(super) attention: String,
    /// Oldest first.
    pub(super) messages: Vec<Message>,
}

impl Conversation {
    /// Whether this waits, with a person, for the fate of an earlier part of its answer: sent now, it might come alone.
    pub(super) fn is_held(&self, message: &Message) -> bool {
        let Some(part) = message.part().filter(|_| message.state == "queued") else { return false };
        self.messages.iter().any(|other| {
            other.state == "unknown"
                && other.part().is_some_and(|before| before.call == part.call && before.part < part.part)
        })
    }
}

/// The conversation of a contact, if there is one.
pub(super) async fn conversation(
    api: &Api,
    contact: usize,
    dice: &mut fastrand::Rng,
) -> Result<Option<Conversation>> {
    let (channel, chat) = (channel_name(channel_of(contact)), chat_of(contact));
    let found = api.get(&format!("/api/v1/conversations?channel={channel}&chat_id={chat}"), dice).await?;
    let Some(id) = found["items"][0]["id"].as_str() else { return Ok(None) };
    let mut messages = Vec::new();
    let mut before = String::new();
    loop {
        let path = format!("/api/v1/conversations/{id}/messages?limit={PAGE}{before}");
        let page = api.get(&path, dice).await?;
        messages.extend(page["items"].as_array().into_iter().flatten().map(Message::read));
        let Some(next) = page["next_cursor"].as_str() else { break };
        before = format!("&before={next}");
    }
    messages.reverse();
    let attention = found["items"][0]["attention"]["reason"].as_str().unwrap_or_default().to_owned();
    Ok(Some(Conversation { id: id.to_owned(), attention, messages }))
}

/// The last events of a conversation, a line each, oldest first.
pub(super) async fn events(api: &Api, id: &str, dice: &mut fastrand::Rng) -> Result<Vec<String>> {
    let path = format!("/api/v1/conversations/{id}/timeline?order=desc&limit={PAGE}");
    let page = api.get(&path, dice).await?;
    let mut lines: Vec<String> = page["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|event| {
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            let short = |name: &str| {
                word(name).chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect::<String>()
            };
            format!(
                "{} {} {} message …{} turn …{} {}",
                word("at"),
                word("type"),
                word("action"),
                short("message_id"),
                short("turn_id"),
                event["details"]
            )
        })
        .collect();
    lines.reverse();
    Ok(lines)
}
