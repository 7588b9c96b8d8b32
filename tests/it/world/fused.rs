//! What a process touches, behind its fuse: the store's writes, the provider, the model, the keys that instances share.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    domain::{brake::Latched, chat::ChatId, event::Event, time::Time, turn::DeadLetter},
    flow::{
        enclosures::Enclosures,
        generator::{Failure, Generator, Progress, Request, Written},
        graves::{Erasing, Graves, Leaf, Line, Of, Traces, Turned},
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        outbox::BEGIN_WITHIN_MS,
        provider::{
            Arrival, Incoming, LinkCode, LookUp, Notification, Outgoing, Provider, Sent, Trace, Unanswered,
            Unreadable,
        },
        registry::{Channel, Linked, Registry, Token},
    },
};
use bytes::Bytes;
use execution::key_store::{self, Entry, KeyStore, Put};
use serde_json::Value;
use uuid::Uuid;

use super::fuse::{Fuse, Weakness};

/// Something that a process touches.
pub(super) struct Fused<T: ?Sized> {
    fuse: Arc<Fuse>,
    inner: Arc<T>,
}

impl<T: ?Sized> Fused<T> {
    pub(super) fn over(fuse: &Arc<Fuse>, inner: Arc<T>) -> Arc<Self> {
        Arc::new(Self { fuse: Arc::clone(fuse), inner })
    }
}

#[async_trait]
impl Ledger for Fused<dyn Ledger> {
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error> {
        let key = match key {
            Key::Chat { channel, opening: Some(opening), .. }
                if self.fuse.weakness == Some(Weakness::StoresElsewhere) && need.keys == ["M2"] =>
            {
                let chat = ChatId::parse("6589999999@c.us").expect("a chat id");
                Key::Chat { channel, chat, opening: Some(opening) }
            }
            key => key,
        };
        if self.fuse.repeats_step() {
            self.inner.run(key.clone(), need.clone(), step.clone()).await?;
        }
        let done = self.fuse.touch("Ledger::run", self.inner.run(key, need, step)).await;
        if done.is_ok() && self.fuse.loses_answer() {
            return Err(Error::Unavailable("the answer to the commit was lost".into()));
        }
        done
    }

    async fn due(&self, work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error> {
        self.fuse.alive().await;
        self.inner.due(work, channels, limit).await
    }

    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error> {
        self.fuse.touch("Ledger::standings", self.inner.standings(held, extend_ms)).await
    }

    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error> {
        self.fuse.touch("Ledger::keep", self.inner.keep(events, letters)).await
    }

    async fn keep_once(&self, event: Event, letter: DeadLetter) -> Result<bool, Error> {
        self.fuse.touch("Ledger::keep_once", self.inner.keep_once(event, letter)).await
    }

    async fn now(&self) -> Result<Time, Error> {
        self.fuse.alive().await;
        self.inner.now().await
    }

    fn forget(&self, conversation: Uuid) {
        self.inner.forget(conversation);
    }
}

#[async_trait]
impl Registry for Fused<dyn Registry> {
    async fn installation(&self) -> Result<String, Error> {
        self.inner.installation().await
    }

    async fn channels(&self) -> Result<Vec<Channel>, Error> {
        self.inner.channels().await
    }

    async fn add_channel(&self, channel: &Channel) -> Result<bool, Error> {
        self.fuse.touch("Registry::add_channel", self.inner.add_channel(channel)).await
    }

    async fn put_channel(&self, channel: &Channel, changed_at: Time) -> Result<bool, Error> {
        self.fuse.touch("Registry::put_channel", self.inner.put_channel(channel, changed_at)).await
    }

    async fn remove_channel(&self, name: &str) -> Result<bool, Error> {
        self.fuse.touch("Registry::remove_channel", self.inner.remove_channel(name)).await
    }

    async fn set_channel_state(&self, name: &str, state: &str, now: Time) -> Result<bool, Error> {
        let act = self.inner.set_channel_state(name, state, now);
        self.fuse.touch("Registry::set_channel_state", act).await
    }

    async fn hold_channel(&self, name: &str, until: Time) -> Result<(), Error> {
        self.fuse.touch("Registry::hold_channel", self.inner.hold_channel(name, until)).await
    }

    async fn release_channel(&self, name: &str, held_until: Time, now: Time) -> Result<(), Error> {
        let act = self.inner.release_channel(name, held_until, now);
        self.fuse.touch("Registry::release_channel", act).await
    }

    async fn claim_look_up(&self, name: &str, now: Time, every_ms: i64) -> Result<bool, Error> {
        let act = self.inner.claim_look_up(name, now, every_ms);
        self.fuse.touch("Registry::claim_look_up", act).await
    }

    async fn latch_brake(
        &self,
        name: &str,
        latched: Latched,
        released_at: Option<Time>,
    ) -> Result<bool, Error> {
        let act = self.inner.latch_brake(name, latched, released_at);
        self.fuse.touch("Registry::latch_brake", act).await
    }

    async fn release_brake(&self, name: &str, now: Time) -> Result<bool, Error> {
        self.fuse.touch("Registry::release_brake", self.inner.release_brake(name, now)).await
    }

    async fn add_token(&self, token: &Token, hash: &str) -> Result<(), Error> {
        self.fuse.touch("Registry::add_token", self.inner.add_token(token, hash)).await
    }

    async fn tokens(&self) -> Result<Vec<Token>, Error> {
        self.inner.tokens().await
    }

    async fn token(&self, hash: &str) -> Result<Option<Token>, Error> {
        self.inner.token(hash).await
    }

    async fn revoke_token(&self, id: Uuid) -> Result<bool, Error> {
        self.fuse.touch("Registry::revoke_token", self.inner.revoke_token(id)).await
    }

    async fn restored_at(&self) -> Result<Option<Time>, Error> {
        self.fuse.touch("Registry::restored_at", self.inner.restored_at()).await
    }

    async fn link_chats(&self, channel: &str, chat: &ChatId, alias: &ChatId) -> Result<Linked, Error> {
        self.fuse.touch("Registry::link_chats", self.inner.link_chats(channel, chat, alias)).await
    }

    async fn claim_poll(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        self.fuse.touch("Registry::claim_poll", self.inner.claim_poll(name, owner, ttl_ms)).await
    }

    async fn wind_repair(&self, name: &str, at: Time) -> Result<(), Error> {
        self.fuse.touch("Registry::wind_repair", self.inner.wind_repair(name, at)).await
    }

    async fn claim_repair(&self, name: &str, now: Time, every_ms: i64) -> Result<Option<Time>, Error> {
        let act = self.inner.claim_repair(name, now, every_ms);
        self.fuse.touch("Registry::claim_repair", act).await
    }

    async fn end_repair(&self, name: &str, to: Time) -> Result<(), Error> {
        self.fuse.touch("Registry::end_repair", self.inner.end_repair(name, to)).await
    }

    async fn forget_requests(&self, before: Time) -> Result<u64, Error> {
        self.fuse.touch("Registry::forget_requests", self.inner.forget_requests(before)).await
    }
}

#[async_trait]
impl Enclosures for Fused<dyn Enclosures> {
    async fn enclose(&self, message: Uuid, bytes: Bytes) -> Result<(), Error> {
        self.fuse.touch("Enclosures::enclose", self.inner.enclose(message, bytes)).await
    }

    async fn enclosed(&self, message: Uuid) -> Result<Option<Bytes>, Error> {
        self.fuse.touch("Enclosures::enclosed", self.inner.enclosed(message)).await
    }

    async fn let_go_of(&self, message: Uuid) -> Result<(), Error> {
        self.fuse.touch("Enclosures::let_go_of", self.inner.let_go_of(message)).await
    }

    async fn forget_loose(&self, before: Time) -> Result<u64, Error> {
        self.fuse.touch("Enclosures::forget_loose", self.inner.forget_loose(before)).await
    }
}

#[async_trait]
impl Graves for Fused<dyn Graves> {
    async fn tombstone_keys(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.inner.tombstone_keys().await
    }

    async fn keep_tombstone_key(&self, number: usize, sealed: Vec<u8>) -> Result<(), Error> {
        self.inner.keep_tombstone_key(number, sealed).await
    }

    async fn erasing(&self, conversation: Uuid) -> Result<Option<Erasing>, Error> {
        self.fuse.alive().await;
        self.inner.erasing(conversation).await
    }

    async fn left_behind(&self, idle_ms: i64, limit: usize) -> Result<Vec<Uuid>, Error> {
        self.fuse.alive().await;
        self.inner.left_behind(idle_ms, limit).await
    }

    async fn leaf(&self, conversation: Uuid, limit: usize) -> Result<Option<Leaf>, Error> {
        self.fuse.alive().await;
        self.inner.leaf(conversation, limit).await
    }

    async fn bury(&self, erasing: &Erasing, leaf: &Leaf, hashes: Vec<String>) -> Result<Turned, Error> {
        self.fuse.touch("Graves::bury", self.inner.bury(erasing, leaf, hashes)).await
    }

    async fn shared(&self, channel: &str, after: Option<Uuid>, limit: usize) -> Result<Vec<Uuid>, Error> {
        self.fuse.alive().await;
        self.inner.shared(channel, after, limit).await
    }

    async fn lines(&self, shared: Uuid, after: i64, limit: usize) -> Result<(Vec<Line>, Option<i64>), Error> {
        self.fuse.alive().await;
        self.inner.lines(shared, after, limit).await
    }

    async fn unname(&self, erasing: &Erasing, shared: Uuid, traces: Traces) -> Result<Turned, Error> {
        self.fuse.touch("Graves::unname", self.inner.unname(erasing, shared, traces)).await
    }

    async fn unname_alone(&self, shared: Uuid, traces: Traces) -> Result<(), Error> {
        self.fuse.touch("Graves::unname_alone", self.inner.unname_alone(shared, traces)).await
    }

    async fn remove(&self, erasing: &Erasing, of: Of, limit: usize) -> Result<Turned, Error> {
        self.fuse.touch("Graves::remove", self.inner.remove(erasing, of, limit)).await
    }

    async fn webhooks(
        &self,
        channel: &str,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, Value)>, Error> {
        self.fuse.alive().await;
        self.inner.webhooks(channel, after, limit).await
    }

    async fn remove_webhooks(&self, erasing: &Erasing, letters: Vec<Uuid>) -> Result<Turned, Error> {
        self.fuse.touch("Graves::remove_webhooks", self.inner.remove_webhooks(erasing, letters)).await
    }

    async fn discard_webhooks(&self, letters: Vec<Uuid>) -> Result<u64, Error> {
        self.fuse.touch("Graves::discard_webhooks", self.inner.discard_webhooks(letters)).await
    }

    async fn kept_answers(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.fuse.alive().await;
        self.inner.kept_answers(after, limit).await
    }

    async fn remove_answers(&self, erasing: &Erasing, keys: Vec<String>) -> Result<Turned, Error> {
        self.fuse.touch("Graves::remove_answers", self.inner.remove_answers(erasing, keys)).await
    }

    async fn end(&self, erasing: &Erasing) -> Result<bool, Error> {
        self.fuse.touch("Graves::end", self.inner.end(erasing)).await
    }

    async fn erased_since(&self, since: Time) -> Result<Vec<Uuid>, Error> {
        self.fuse.alive().await;
        self.inner.erased_since(since).await
    }

    async fn forget_echoes(&self, before: Time) -> Result<u64, Error> {
        self.fuse.touch("Graves::forget_echoes", self.inner.forget_echoes(before)).await
    }
}

#[async_trait]
impl Provider for Fused<dyn Provider> {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        self.inner.read(body)
    }

    /// What was claimed before a sleep begins too late, and is not written: the real client looks at the machine's
    /// clock, which a test does not move.
    async fn send(&self, message: &Outgoing) -> Sent {
        let claimed_at =
            message.begin_by.saturating_sub(Duration::from_millis(BEGIN_WITHIN_MS.unsigned_abs()));
        let act = async {
            if self.fuse.slept_over(claimed_at) {
                return Sent::TooLate;
            }
            if self.fuse.weakness == Some(Weakness::PostsTwice) {
                self.inner.send(message).await;
            }
            self.inner.send(message).await
        };
        self.fuse.touch("Provider::send", act).await
    }

    /// A courtesy that nothing depends on, shown beside everything else: not counted.
    async fn show_typing(&self, chat: &ChatId, ms: i64) {
        self.fuse.alive().await;
        self.inner.show_typing(chat, ms).await;
    }

    /// As above.
    async fn mark_read(&self, chat: &ChatId) {
        self.fuse.alive().await;
        self.inner.mark_read(chat).await;
    }

    async fn state(&self) -> Result<String, Unanswered> {
        self.fuse.alive().await;
        self.inner.state().await
    }

    async fn link_code(&self) -> Result<LinkCode, Unanswered> {
        self.fuse.alive().await;
        self.inner.link_code().await
    }

    async fn receive(&self, wait: Duration) -> Result<Option<Notification>, Unanswered> {
        self.fuse.alive().await;
        self.inner.receive(wait).await
    }

    async fn acknowledge(&self, receipt: i64) -> Result<(), Unanswered> {
        self.fuse.touch("Provider::acknowledge", self.inner.acknowledge(receipt)).await
    }

    async fn journal(&self, minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        self.fuse.alive().await;
        self.inner.journal(minutes).await
    }

    async fn typed(&self, minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        self.fuse.alive().await;
        self.inner.typed(minutes).await
    }

    async fn look_up(&self, place: LookUp) -> Result<Vec<Trace>, Unanswered> {
        self.fuse.alive().await;
        self.inner.look_up(place).await
    }

    async fn file_link(&self, chat: &ChatId, message: &str) -> Result<Option<String>, Unanswered> {
        self.fuse.alive().await;
        self.inner.file_link(chat, message).await
    }

    async fn other_id(&self, chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        self.fuse.alive().await;
        self.inner.other_id(chat).await
    }

    async fn queue_length(&self) -> Result<i64, Unanswered> {
        self.fuse.alive().await;
        self.inner.queue_length().await
    }
}

#[async_trait]
impl Generator for Fused<dyn Generator> {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        self.fuse.touch("Generator::reply", self.inner.reply(request, progress)).await
    }

    fn knows_who_asks(&self, channel: &str) -> bool {
        self.inner.knows_who_asks(channel)
    }

    async fn check(&self) -> Result<String, Failure> {
        self.inner.check().await
    }
}

#[async_trait]
impl KeyStore for Fused<dyn KeyStore> {
    async fn put_if_absent(&self, key: &str, value: &str, ttl: Duration) -> Result<Put, key_store::Error> {
        self.fuse.touch("KeyStore::put_if_absent", self.inner.put_if_absent(key, value, ttl)).await
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, key_store::Error> {
        self.fuse.alive().await;
        self.inner.get(key).await
    }

    /// A webhook's claim is confirmed on a task of its own, at any moment after its answer: not counted. That it never
    /// is confirmed is the crash after the commit before it.
    async fn replace_if_equal(
        &self,
        key: &str,
        expected: &str,
        value: &str,
        ttl: Duration,
    ) -> Result<bool, key_store::Error> {
        self.fuse.alive().await;
        self.inner.replace_if_equal(key, expected, value, ttl).await
    }

    async fn delete_if_equal(&self, key: &str, expected: &str) -> Result<bool, key_store::Error> {
        self.fuse.touch("KeyStore::delete_if_equal", self.inner.delete_if_equal(key, expected)).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Vec<(String, Entry)>, key_store::Error> {
        self.inner.list(prefix, limit).await
    }

    async fn is_up(&self) -> bool {
        self.inner.is_up().await
    }
}
