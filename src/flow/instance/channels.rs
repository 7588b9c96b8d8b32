//! Place: the numbers of the business as they are set up now. Replaced whole when a channel changes.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest, Sha256};

use crate::{
    domain::{
        chat::ChatId,
        conversation::Opening,
        event::actor,
        mode::{Mode, Reason},
        policy::Policy,
    },
    flow::{ledger::Key, provider::Provider},
};

/// One number: its rules and the gateway behind it.
#[derive(Clone)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its rules.
    pub policy: Arc<Policy>,
    /// Its gateway.
    pub provider: Arc<dyn Provider>,
}

impl Channel {
    /// How a conversation begins in which the contact writes first.
    pub fn opening(&self, chat: &ChatId) -> Opening {
        let policy = &self.policy;
        let in_ai = policy.has_model && !policy.drafting && share(&self.name, chat) < policy.rollout_percent;
        let begins = |mode, drafting| Opening {
            mode,
            reason: Reason::Rollout,
            actor: actor::SYSTEM.to_owned(),
            drafting,
        };
        if in_ai { begins(Mode::Ai, false) } else { begins(Mode::Human, policy.has_model) }
    }

    /// How one begins in which our side writes first: a person answers, with suggestions where the channel has them.
    pub fn opening_by_a_person(&self, chat: &ChatId, reason: Reason, by: &str) -> Opening {
        let drafting = self.opening(chat).drafting;
        Opening { mode: Mode::Human, reason, actor: by.to_owned(), drafting }
    }

    /// The contact sees that somebody reads. Best effort, in nobody's way.
    pub fn show_read(&self, chat: &ChatId) {
        let (provider, chat) = (Arc::clone(&self.provider), chat.clone());
        tokio::spawn(async move { provider.mark_read(&chat).await });
    }
}

/// A number from 0 to 99 that stays with the chat: raising the share only adds.
fn share(channel: &str, chat: &ChatId) -> u8 {
    let digest = Sha256::new().chain_update(channel).chain_update([0]).chain_update(chat.as_str()).finalize();
    let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    u8::try_from(number % 100).unwrap_or(0)
}

/// The channel of a conversation does not run here: its account cannot be opened with this key, or the sandbox is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the conversation's channel is not set up on this instance: the sandbox is off, or the log says why")]
pub struct NotSetUp;

/// All channels, read by every step.
#[derive(Default)]
pub struct Channels {
    by_name: RwLock<HashMap<String, Arc<Channel>>>,
}

impl Channels {
    /// The channel of that name, if there is one.
    pub fn get(&self, name: &str) -> Option<Arc<Channel>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The channel of a conversation that is there.
    pub fn of_conversation(&self, name: &str) -> Result<Arc<Channel>, NotSetUp> {
        self.get(name).ok_or(NotSetUp)
    }

    /// A key by chat that begins a conversation, if there is none, as if the contact had written first.
    pub fn beginning(&self, key: Key) -> Key {
        match key {
            Key::Chat { channel, chat, opening: None } => {
                let opening = self.get(&channel).map(|known| known.opening(&chat));
                Key::Chat { channel, chat, opening }
            }
            key => key,
        }
    }

    /// The same as if our side had.
    pub fn begun_by_a_person(&self, key: Key, reason: Reason, by: &str) -> Key {
        match key {
            Key::Chat { channel, chat, opening: None } => {
                let opening = self.get(&channel).map(|known| known.opening_by_a_person(&chat, reason, by));
                Key::Chat { channel, chat, opening }
            }
            key => key,
        }
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Puts a channel in, or in place of the one of that name. What has begun continues by the rules it began with.
    pub fn put(&self, channel: Channel) {
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        by_name.insert(channel.name.clone(), Arc::new(channel));
    }

    /// Takes a channel away.
    pub fn remove(&self, name: &str) {
        self.by_name.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_the_share_only_adds() {
        let chats: Vec<ChatId> =
            (0..1_000).filter_map(|n| ChatId::parse(&format!("65800{n:05}@c.us"))).collect();
        let in_ai =
            |percent: u8| chats.iter().filter(|chat| share("default", chat) < percent).collect::<Vec<_>>();
        let (few, many) = (in_ai(20), in_ai(60));
        assert!(few.iter().all(|chat| many.contains(chat)));
        assert!((150..250).contains(&few.len()), "{} of 1000 at 20 %", few.len());
        assert_eq!(in_ai(100).len(), 1_000);
        assert!(in_ai(0).is_empty());
    }
}
