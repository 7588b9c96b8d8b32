//! The contacts' phones: the last messages of each chat, and whether someone is typing.

use std::collections::{HashMap, VecDeque};

use crate::{
    domain::{chat::ChatId, message::DeliveryState, time::Time},
    flow::provider::Trace,
};

/// Chats kept; with one more, the one silent for longest goes.
const CHATS_MAX: usize = 1_000;

/// Messages kept of each.
const MESSAGES_MAX: usize = 500;

/// A message as a phone shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMessage {
    /// The provider's id.
    pub id: String,
    /// Its words.
    pub text: String,
    /// The business wrote it, not the contact.
    pub from_us: bool,
    /// When.
    pub at: Time,
    /// Its ticks.
    pub status: DeliveryState,
}

#[derive(Debug, Default)]
struct Phone {
    messages: VecDeque<ShownMessage>,
    typing_until: Time,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Phones(HashMap<ChatId, Phone>);

impl Phones {
    /// Shows a message, unless it is there already. One of ours ends the typing.
    pub(super) fn show(&mut self, chat: &ChatId, message: ShownMessage) {
        let phone = self.phone(chat);
        if phone.messages.iter().any(|shown| shown.id == message.id) {
            return;
        }
        if message.from_us {
            phone.typing_until = Time::default();
        }
        if phone.messages.len() == MESSAGES_MAX {
            phone.messages.pop_front();
        }
        phone.messages.push_back(message);
    }

    pub(super) fn shown(&self, chat: &ChatId) -> Vec<ShownMessage> {
        self.0.get(chat).map(|phone| phone.messages.iter().cloned().collect()).unwrap_or_default()
    }

    /// What left since then under ids of that origin.
    pub(super) fn sent_since(&self, since: Time, origin: &str) -> Vec<Trace> {
        let of_phone = |(chat, phone): (&ChatId, &Phone)| {
            let is_meant =
                |shown: &&ShownMessage| shown.from_us && shown.at >= since && shown.id.starts_with(origin);
            let trace = |shown: &ShownMessage| Trace {
                id: Some(shown.id.clone()),
                chat: chat.clone(),
                text: shown.text.clone(),
                at: Some(shown.at),
                state: Some(shown.status),
                reason: None,
            };
            phone.messages.iter().filter(is_meant).map(trace).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_phone).collect()
    }

    pub(super) fn show_typing(&mut self, chat: &ChatId, until: Time) {
        self.phone(chat).typing_until = until;
    }

    pub(super) fn is_typing(&self, chat: &ChatId, now: Time) -> bool {
        self.0.get(chat).is_some_and(|phone| now < phone.typing_until)
    }

    /// Gives the contact's messages their blue ticks.
    pub(super) fn mark_read(&mut self, chat: &ChatId) {
        let Some(phone) = self.0.get_mut(chat) else { return };
        for message in phone.messages.iter_mut().filter(|message| !message.from_us) {
            message.status = DeliveryState::Read;
        }
    }

    fn phone(&mut self, chat: &ChatId) -> &mut Phone {
        if self.0.len() >= CHATS_MAX && !self.0.contains_key(chat) {
            let last_word = |phone: &Phone| phone.messages.back().map(|message| message.at);
            let silent =
                self.0.iter().min_by_key(|(_, phone)| last_word(phone)).map(|(chat, _)| chat.clone());
            if let Some(silent) = silent {
                self.0.remove(&silent);
            }
        }
        self.0.entry(chat.clone()).or_default()
    }
}
