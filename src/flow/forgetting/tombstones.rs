//! What is still known of a message that was removed: a keyed hash, by which its late or repeated webhook is found out.
//!
//! In: channel, chat, and the key of a message, or words whose send was unclear, or when it was written; a body that cannot be
//! read. Out: hashes that say nothing to anybody without the key: who was erased cannot be found out by trying all phone numbers.

use ring::{digest::SHA256_OUTPUT_LEN, hmac};
use uuid::{Builder, Uuid};

use crate::domain::{chat::ChatId, message::ECHO_AWAITED_MS, time::Time, words::words};

words! {
    /// Why a message is no longer there.
    Removal {
        /// Its person was erased.
        Erased = "erased",
        /// It was older than allowed.
        Expired = "expired",
    }
}

/// Makes them. Cheap to clone.
#[derive(Clone)]
pub struct Tombstones(hmac::Key);

/// What a step is about, as it would be known if it had been removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The channel's name.
    pub channel: String,
    /// The chat, by the id under which it is named now.
    pub chat: ChatId,
    /// The message's key; None: only its words are known.
    pub key: Option<String>,
    /// The hash.
    pub hash: String,
    /// It counts only if it is kept until then or longer; None: if it is there.
    pub kept_until: Option<Time>,
}

/// The provider's times are whole seconds: something was written at some moment of its own.
const SECOND_MS: i64 = 1_000;

/// The length of a key in bytes.
pub const KEY_BYTES: usize = SHA256_OUTPUT_LEN;

impl Tombstones {
    /// Under that key.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Of the message with that key, in that chat.
    pub fn of(&self, channel: &str, chat: &ChatId, key: &str) -> Tombstone {
        let hash = self.hash(&["message", channel, chat.as_str(), key]);
        Tombstone {
            channel: channel.to_owned(),
            chat: chat.clone(),
            key: Some(key.to_owned()),
            hash,
            kept_until: None,
        }
    }

    /// Of a message with these words, whatever its key.
    pub fn of_words(&self, channel: &str, chat: &ChatId, text: &str) -> Tombstone {
        let words: Vec<&str> = text.split_whitespace().collect();
        let hash = self.hash(&["words", channel, chat.as_str(), &words.join(" ")]);
        Tombstone { channel: channel.to_owned(), chat: chat.clone(), key: None, hash, kept_until: None }
    }

    /// Of whatever was written in that chat then, if it was erased later. The tombstone of an erasure is kept for a fixed
    /// time after it, longer than anything is on its way, so that time tells when it was.
    pub fn of_chat(&self, channel: &str, chat: &ChatId, written_at: Time) -> Tombstone {
        let hash = self.hash(&["chat", channel, chat.as_str()]);
        let kept_until = Some(written_at.plus_ms(SECOND_MS + ECHO_AWAITED_MS));
        Tombstone { channel: channel.to_owned(), chat: chat.clone(), key: None, hash, kept_until }
    }

    /// The id under which a webhook that cannot be read is kept: the same for every copy of it. Events name it for longer than
    /// it is kept.
    pub fn id_of(&self, channel: &str, body: &[u8]) -> Uuid {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(["webhook", channel, ""].join("\0").as_bytes());
        context.update(body);
        let mut id = [0; 16];
        id.iter_mut().zip(context.sign().as_ref()).for_each(|(byte, hashed)| *byte = *hashed);
        Builder::from_custom_bytes(id).into_uuid()
    }

    fn hash(&self, parts: &[&str]) -> String {
        hex::encode(hmac::sign(&self.0, parts.join("\0").as_bytes()))
    }
}

impl std::fmt::Debug for Tombstones {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tombstones")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_message_of_one_chat_or_of_one_body_under_one_key() {
        let chat = |id: &str| ChatId::parse(id).expect("a chat");
        let (mei, tom) = (chat("6580000001@c.us"), chat("6580000002@c.us"));
        let (ours, theirs) = (Tombstones::new(&[1; KEY_BYTES]), Tombstones::new(&[2; KEY_BYTES]));
        let all = [
            ours.of("shop", &mei, "M1"),
            ours.of("shop", &mei, "M2"),
            ours.of("shop", &tom, "M1"),
            ours.of("home", &mei, "M1"),
            theirs.of("shop", &mei, "M1"),
            ours.of_words("shop", &mei, "M1"),
            ours.of_chat("shop", &mei, Time(1)),
        ];
        let hashes: std::collections::BTreeSet<&str> = all.iter().map(|it| it.hash.as_str()).collect();
        assert_eq!(hashes.len(), all.len());
        assert_eq!(ours.of("shop", &mei, "M1"), all[0]);
        assert_eq!(ours.of_chat("shop", &mei, Time(2)).hash, all[6].hash, "whenever it was written");
        let ids = [
            ours.id_of("shop", b"{"),
            ours.id_of("shop", b"\xff"),
            ours.id_of("home", b"{"),
            theirs.id_of("shop", b"{"),
        ];
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
        assert_eq!(ours.id_of("shop", b"{"), ids[0]);
        assert_eq!(ours.of_words("shop", &mei, " two\n words "), ours.of_words("shop", &mei, "two words"));
    }
}
