//! What this instance saved last: conversations that need not be read again while nobody else has saved them since.
//!
//! In: dockets as they were committed, each with its stamp, and channels. Out: the same, once, to a batch that makes sure
//! of that stamp. Bounded; what falls out is read again.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::Hash,
    mem::take,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use uuid::Uuid;

use crate::domain::{
    docket::{ChannelStanding, Loaded},
    time::Time,
};

/// Conversations and messages of one generation, taken together; two are kept.
const ROWS: usize = 40_000;
/// Chats of one generation.
const CHATS: usize = 50_000;
/// Never more than two to this power of batches take the slow path unasked.
const DOUBTS_MAX: u32 = 8;

/// A channel and a chat on it: owned where they are kept, borrowed where they are looked up.
pub(super) type Chat<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What is remembered, for all writers of one ledger.
#[derive(Default)]
pub(super) struct DocketCache {
    // In boxes: a map has room for twice as many as it holds, at worst.
    conversations: Mutex<Generations<Uuid, (i64, Box<Loaded>)>>,
    chats: Mutex<Generations<Chat<'static>, Uuid>>,
    channels: Mutex<HashMap<String, ChannelStanding>>,
    doubts: AtomicU32,
    waits: AtomicU32,
}

impl DocketCache {
    /// Whether it pays to go by what is known. Where others keep changing the same conversations it mostly does not,
    /// and is tried again only now and then.
    pub(super) fn is_trusted(&self) -> bool {
        let one_less = |waits: u32| waits.checked_sub(1);
        self.waits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
    }

    /// What was known was true.
    pub(super) fn trust(&self) {
        self.doubts.store(0, Ordering::Relaxed);
    }

    /// What was known was not true: so many batches take the slow path, each time more.
    pub(super) fn distrust(&self) {
        let doubts = self.doubts.fetch_add(1, Ordering::Relaxed).min(DOUBTS_MAX);
        self.waits.store((1 << doubts) - 1, Ordering::Relaxed);
    }

    /// How a channel stands. Fewer of its messages may be in flight: only claims are counted here, and a step that must
    /// be certain counts again in the database.
    pub(super) fn channel(&self, name: &str) -> Option<ChannelStanding> {
        lock(&self.channels).get(name).cloned()
    }

    /// Remembers how a channel stands.
    pub(super) fn keep_channel(&self, name: &str, standing: &ChannelStanding) {
        lock(&self.channels).insert(name.to_owned(), standing.clone());
    }

    /// Channels must be read again.
    pub(super) fn forget_channels(&self) {
        lock(&self.channels).clear();
    }

    /// Takes out a conversation with its stamp.
    pub(super) fn take_any(&self, id: Uuid) -> Option<(i64, Loaded)> {
        let (stamp, loaded) = lock(&self.conversations).remove(&id)?;
        Some((stamp, *loaded))
    }

    /// Takes out a conversation, if what is remembered carries that stamp.
    pub(super) fn take(&self, id: Uuid, stamp: i64) -> Option<Loaded> {
        let (stamped, loaded) = lock(&self.conversations).remove(&id)?;
        (stamped == stamp).then_some(*loaded)
    }

    /// Remembers a conversation as it was committed under that stamp.
    pub(super) fn keep(&self, stamp: i64, loaded: Loaded) {
        let rows = 1 + loaded.messages.len();
        lock(&self.conversations).insert(loaded.conversation.id, (stamp, Box::new(loaded)), rows, ROWS);
    }

    /// A lease was extended, which changed the stamp from one to the other.
    pub(super) fn extend(&self, id: Uuid, (before, after): (i64, i64), until: Time) {
        let mut conversations = lock(&self.conversations);
        if let Some((stamp, loaded)) = conversations.get_mut(&id).filter(|(stamp, _)| *stamp == before)
            && let Some(lease) = loaded.conversation.lease.as_mut()
        {
            (*stamp, lease.until) = (after, until);
        }
    }

    /// The conversation of a chat. It keeps it until that one is erased or merged away.
    pub(super) fn conversation_of(&self, channel: &str, chat: &str) -> Option<Uuid> {
        lock(&self.chats).get(&(channel.into(), chat.into())).copied()
    }

    /// Remembers the conversation of a chat.
    pub(super) fn keep_chat(&self, channel: &str, chat: &str, conversation: Uuid) {
        let key = (channel.to_owned().into(), chat.to_owned().into());
        lock(&self.chats).insert(key, conversation, 1, CHATS);
    }

    /// Nothing of that conversation is remembered any more, nor whose it was.
    pub(super) fn forget(&self, id: Uuid) {
        lock(&self.conversations).remove(&id);
        lock(&self.chats).retain(|conversation| *conversation != id);
    }

    /// The conversation of that chat is gone.
    pub(super) fn forget_chat(&self, channel: &str, chat: &str) {
        lock(&self.chats).remove(&(channel.to_owned().into(), chat.to_owned().into()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A map that forgets the older half of what it holds when the younger one is full.
struct Generations<K, V> {
    young: HashMap<K, (usize, V)>,
    /// What the young ones weigh.
    weight: usize,
    old: HashMap<K, (usize, V)>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), weight: 0, old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Generations<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key)).map(|(_, value)| value)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.young.get_mut(key).or_else(|| self.old.get_mut(key)).map(|(_, value)| value)
    }

    fn insert(&mut self, key: K, value: V, weight: usize, most: usize) {
        self.remove(&key);
        if self.weight + weight > most {
            self.old = take(&mut self.young);
            self.weight = 0;
        }
        self.weight += weight;
        self.young.insert(key, (weight, value));
    }

    fn retain(&mut self, wanted: impl Fn(&V) -> bool) {
        let before = self.young.values().map(|(weight, _)| weight).sum::<usize>();
        self.young.retain(|_, (_, value)| wanted(value));
        self.weight -= before - self.young.values().map(|(weight, _)| weight).sum::<usize>();
        self.old.retain(|_, (_, value)| wanted(value));
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        if let Some((weight, value)) = self.young.remove(key) {
            self.weight -= weight;
            return Some(value);
        }
        self.old.remove(key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_half_is_forgotten_and_the_newest_value_counts() {
        let mut map = Generations::default();
        for (key, value) in [(1, 'a'), (2, 'b'), (1, 'c'), (3, 'd')] {
            map.insert(key, value, 1, 2);
        }
        assert_eq!((map.get(&1), map.get(&2), map.get(&3)), (Some(&'c'), Some(&'b'), Some(&'d')));
        map.insert(4, 'e', 2, 2);
        assert_eq!((map.get(&1), map.get(&3), map.get(&4)), (None, Some(&'d'), Some(&'e')));
        map.insert(3, 'f', 1, 2);
        assert_eq!((map.remove(&3), map.get(&3)), (Some('f'), None), "no older one comes to light");
    }
}
