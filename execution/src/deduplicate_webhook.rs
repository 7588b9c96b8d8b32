//! Says of a webhook whether it was seen, so that a copy costs no work.
//!
//! In comes a fingerprint; out goes `First` with a claim, `InProgress` or `Confirmed`. A claim lasts seconds and is
//! confirmed for long once the webhook's effect is committed, so that a crash in between loses nothing. It is the
//! fast path only: the unique index of the database decides.

use std::{sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::key_store::{Error, KeyStore, Put};

/// What makes a webhook the one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Webhook<'a> {
    /// One with the provider's message id.
    WithId {
        /// The channel's name.
        channel: &'a str,
        /// Its type, in the provider's word.
        type_webhook: &'a str,
        /// The chat.
        chat_id: &'a str,
        /// The provider's message id.
        message_id: &'a str,
        /// The value of a status; of anything else empty. One message has several, each with its own effect.
        status: &'a str,
    },
    /// One without. Two equal texts of one second are one message then.
    WithoutId {
        /// The channel's name.
        channel: &'a str,
        /// Its type, in the provider's word.
        type_webhook: &'a str,
        /// The chat.
        chat_id: &'a str,
        /// When, in seconds since 1970, as the provider says.
        timestamp: i64,
        /// What kind of message, in the provider's word.
        message_type: &'a str,
        /// Its text; empty if it has none.
        text: &'a str,
    },
}

/// The first part of every fingerprint: another way to build them gets another word.
const SCHEME: &str = "baton1";

impl Webhook<'_> {
    /// The fingerprint of its parts.
    pub fn fingerprint(&self) -> String {
        match *self {
            Self::WithId { channel, type_webhook, chat_id, message_id, status } => {
                fingerprint(&[SCHEME, channel, type_webhook, chat_id, message_id, status])
            }
            Self::WithoutId { channel, type_webhook, chat_id, timestamp, message_type, text } => {
                let timestamp = timestamp.to_string();
                fingerprint(&[SCHEME, channel, type_webhook, chat_id, &timestamp, message_type, text])
            }
        }
    }
}

/// Lower-case hexadecimal SHA-256 over the parts, joined by a zero byte.
pub fn fingerprint(parts: &[&str]) -> String {
    hex::encode(Sha256::digest(parts.join("\0")))
}

/// Remembers fingerprints. Cheap to clone.
#[derive(Clone)]
pub struct Deduplicator {
    store: Arc<dyn KeyStore>,
    claim_ttl: Duration,
    confirm_ttl: Duration,
}

/// Whether a webhook may be taken.
#[derive(Debug)]
pub enum Claim {
    /// It was never seen, and is ours to take.
    First(Token),
    /// Somebody took it and has not confirmed it. It may have died: ask the database.
    InProgress,
    /// Its effect was committed.
    Confirmed,
}

/// What is known of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing, or nothing any more.
    Never,
    /// Somebody took it.
    InProgress,
    /// Its effect was committed.
    Confirmed,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It is settled as told.
    Done,
    /// Its time was over, and what is there now is left as it is. Nothing is lost: the next copy asks the database.
    Expired,
}

/// A claim of ours: to be confirmed or given back, once. Dropped, it ends by itself within seconds.
#[derive(Debug)]
#[must_use = "a claim is confirmed or given back"]
pub struct Token {
    key: String,
    value: String,
}

const CONFIRMED: &str = "confirmed";

impl Deduplicator {
    /// Claims last for `claim_ttl` (longer than it takes to store a webhook), what is confirmed for `confirm_ttl`.
    pub fn new(store: Arc<dyn KeyStore>, claim_ttl: Duration, confirm_ttl: Duration) -> Self {
        Self { store, claim_ttl, confirm_ttl }
    }

    /// Takes a webhook if nobody did. On an error go on without: the database knows.
    pub async fn claim(&self, fingerprint: &str) -> Result<Claim, Error> {
        let token = Token { key: stored_key(fingerprint), value: Uuid::new_v4().to_string() };
        let put = self.store.put_if_absent(&token.key, &token.value, self.claim_ttl).await?;
        Ok(match put {
            Put::Written => Claim::First(token),
            Put::Taken(value) if value == CONFIRMED => Claim::Confirmed,
            Put::Taken(_) => Claim::InProgress,
        })
    }

    /// What is known of a webhook. Takes nothing.
    pub async fn peek(&self, fingerprint: &str) -> Result<Seen, Error> {
        let entry = self.store.get(&stored_key(fingerprint)).await?;
        Ok(match entry {
            None => Seen::Never,
            Some(entry) if entry.value == CONFIRMED => Seen::Confirmed,
            Some(_) => Seen::InProgress,
        })
    }

    /// The webhook's effect is committed. To be called after the commit, never before.
    pub async fn confirm(&self, token: Token) -> Result<Settlement, Error> {
        let ours = self.store.replace_if_equal(&token.key, &token.value, CONFIRMED, self.confirm_ttl).await?;
        Ok(settlement(ours))
    }

    /// The webhook could not be stored: the next copy is the first again.
    pub async fn give_back(&self, token: Token) -> Result<Settlement, Error> {
        let ours = self.store.delete_if_equal(&token.key, &token.value).await?;
        Ok(settlement(ours))
    }
}

impl std::fmt::Debug for Deduplicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deduplicator")
            .field("claim_ttl", &self.claim_ttl)
            .field("confirm_ttl", &self.confirm_ttl)
            .finish_non_exhaustive()
    }
}

fn stored_key(fingerprint: &str) -> String {
    format!("seen:{{{fingerprint}}}")
}

const fn settlement(ours: bool) -> Settlement {
    if ours { Settlement::Done } else { Settlement::Expired }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn status(status: &'static str) -> Webhook<'static> {
        Webhook::WithId {
            channel: "default",
            type_webhook: if status.is_empty() { "incomingMessageReceived" } else { "outgoingMessageStatus" },
            chat_id: "79001234567@c.us",
            message_id: "3EB0C767D097B7C7C030",
            status,
        }
    }

    const fn without_id(
        chat_id: &'static str,
        timestamp: i64,
        message_type: &'static str,
        text: &'static str,
    ) -> Webhook<'static> {
        let (channel, type_webhook) = ("shop", "incomingMessageReceived");
        Webhook::WithoutId { channel, type_webhook, chat_id, timestamp, message_type, text }
    }

    #[test]
    fn fingerprints_are_those_of_the_readme() {
        let group = "120363043968066561@g.us";
        let person = "79001234567@c.us";
        #[rustfmt::skip]
        let vectors = [
            (status(""), "f6cb265343065ca9e789fa92840327ad170a3fc1877a7408cc04f09997ab224d"),
            (status("delivered"), "dc9d6af77f1c0cd5665996ccc6ab72891d56bacfecf59ad313957e3f1f53a4a6"),
            (status("read"), "52c6c92015fd64aa5395fd81d2e2bed5f1dd757e519e06ebaa6e302cb471ec40"),
            (without_id(group, 1_700_000_000, "textMessage", "Hello"), "0e568853df619520999b545aa837b7154fae9ee86b73ce749197987913103428"),
            (without_id(group, 1_700_000_001, "textMessage", "Hello"), "2c45eba1b493575dc337da6f7ba19fedead6c0e88f33d4c5a934aec5965d926a"),
            (without_id(person, 1_700_000_000, "textMessage", "Добрый день 🙂"), "ab7dfd5aeef8922ec3b2c102af56cd1e54d6482d422d4db8880d6415495433a1"),
            (without_id(person, 1_700_000_000, "imageMessage", ""), "774fb53a95c16dcb56c293aa1b18c61133ce0ce234a3603cf22304626ce38323"),
        ];
        let readme = include_str!("../README.md");
        for (webhook, expected) in vectors {
            assert_eq!(webhook.fingerprint(), expected, "{webhook:?}");
            assert!(readme.contains(expected), "the readme lacks {webhook:?}");
        }
    }

    #[test]
    fn parts_are_joined_by_a_zero_byte() {
        // The digest of "a", a zero byte, "b", as `printf 'a\0b' | sha256sum` gives it.
        let expected = "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138";
        assert_eq!(fingerprint(&["a", "b"]), expected);
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["ab"]));
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["a", "b", ""]));
    }
}
