//! What a process touches, behind its fuse: the store's writes, the provider, the model, the keys that instances share.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    domain::{brake::Latched, chat::ChatId, event::Event, payload::Payload, time::Time, turn::DeadLetter},
    flow::{
        back_office::registry::{Channel, Linked, Registry},
        forgetting::erasures::{Erasing, Erasures, MessagePage, OwnedRows, SharedMessage, Traces, Turned},
        generator::{Failure, Generator, Progress, Request, Written},
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        media::enclosures::Enclosures,
        outbox::BEGIN_WITHIN_MS,
        provider::{
            Arrival, Incoming, LinkCode, LookUp, Notification, Outgoing, Provider, Sent, Trace, Unanswered,
            Unreadable,
        },
    },
};
use bytes::Bytes;
use execution::key_store::{self, Entry, KeyStore, Put};
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

/// A place, whose acts each do one of three things: they touch what the fuse counts, they look, which the dead do not, or they
/// pass.
macro_rules! fused {
    (@touch $self:ident, $place:ident, $act:ident, $($given:ident),*) => {
        $self.fuse.touch(concat!(stringify!($place), "::", stringify!($act)), $self.inner.$act($($given),*)).await
    };
    (@look $self:ident, $place:ident, $act:ident, $($given:ident),*) => {{
        $self.fuse.alive().await;
        $self.inner.$act($($given),*).await
    }};
    (@pass $self:ident, $place:ident, $act:ident, $($given:ident),*) => {
        $self.inner.$act($($given),*).await
    };
    (
        $place:ident { $($(#[$why:meta])* $how:ident $act:ident($($given:ident: $of:ty),*) -> $out:ty;)+ }
        $(also { $($also:tt)+ })?
    ) => {
        #[async_trait]
        impl $place for Fused<dyn $place> {
            $($(#[$why])*
            async fn $act(&self, $($given: $of),*) -> $out {
                fused!(@$how self, $place, $act, $($given),*)
            })+

            $($($also)+)?
        }
    };
}

fused! {
    Ledger {
        look due(work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error>;
        touch standings(held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error>;
        touch keep(events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error>;
        touch keep_once(event: Event, letter: DeadLetter) -> Result<bool, Error>;
        look now() -> Result<Time, Error>;
    } also {
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
            if let Some(hold) = self.fuse.step_held() {
                hold.wait().await;
            }
            if self.fuse.repeats_step() {
                self.inner.run(key.clone(), need.clone(), step.clone()).await?;
                if let Key::Id(id) = &key {
                    // It has forgotten what it saved.
                    self.inner.forget(*id);
                }
            }
            let done = self.fuse.touch("Ledger::run", self.inner.run(key, need, step)).await;
            if done.is_ok() && self.fuse.loses_answer() {
                return Err(Error::Unavailable("the answer to the commit was lost".into()));
            }
            done
        }

        fn forget(&self, conversation: Uuid) {
            self.inner.forget(conversation);
        }
    }
}

fused! {
    Registry {
        pass installation() -> Result<String, Error>;
        pass channels() -> Result<Vec<Channel>, Error>;
        touch add_channel(channel: &Channel) -> Result<bool, Error>;
        touch put_channel(channel: &Channel, changed_at: Time) -> Result<bool, Error>;
        touch remove_channel(name: &str) -> Result<bool, Error>;
        look now() -> Result<Time, Error>;
        touch set_channel_state(name: &str, state: &str, now: Time) -> Result<bool, Error>;
        touch hold_channel(name: &str, until: Time) -> Result<(), Error>;
        touch release_channel(name: &str, held_until: Time, now: Time) -> Result<(), Error>;
        touch claim_look_up(name: &str, now: Time, every_ms: i64) -> Result<bool, Error>;
        touch latch_brake(name: &str, latched: Latched, released_at: Option<Time>) -> Result<bool, Error>;
        touch release_brake(name: &str, now: Time) -> Result<bool, Error>;
        touch restored_at() -> Result<Option<Time>, Error>;
        look ids_of(channel: &str, chat: &ChatId) -> Result<Vec<ChatId>, Error>;
        look sent_to(channel: &str, id: &str, but_not: &ChatId) -> Result<Option<ChatId>, Error>;
        look chat_of(channel: &str, id: &str) -> Result<Option<ChatId>, Error>;
        touch link_chats(channel: &str, chat: &ChatId, alias: &ChatId) -> Result<Linked, Error>;
        touch claim_poll(name: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error>;
        touch schedule_repair(name: &str, in_ms: i64) -> Result<(), Error>;
        touch begin_repair(name: &str, in_ms: i64) -> Result<(), Error>;
        touch claim_repair(name: &str, now: Time, until: Time) -> Result<Option<Time>, Error>;
        touch end_repair(name: &str, to: Time, until: Time, next_at: Time) -> Result<(), Error>;
    }
}

fused! {
    Enclosures {
        touch enclose(message: Uuid, bytes: Bytes) -> Result<(), Error>;
        touch enclosed(message: Uuid) -> Result<Option<Bytes>, Error>;
        look enclosed_size(message: Uuid) -> Result<Option<u64>, Error>;
        look enclosed_piece(message: Uuid, from: u64, length: usize) -> Result<Option<Bytes>, Error>;
        touch let_go_of(message: Uuid) -> Result<(), Error>;
        touch forget_loose(before: Time) -> Result<u64, Error>;
    }
}

fused! {
    Erasures {
        look erasing(conversation: Uuid) -> Result<Option<Erasing>, Error>;
        look left_behind(idle_ms: i64, limit: usize) -> Result<Vec<Uuid>, Error>;
        look next_messages(conversation: Uuid, limit: usize) -> Result<Option<MessagePage>, Error>;
        touch bury(erasing: &Erasing, page: &MessagePage, hashes: Vec<String>) -> Result<Turned, Error>;
        look shared(channel: &str, after: Option<Uuid>, limit: usize) -> Result<Vec<Uuid>, Error>;
        look shared_messages(shared: Uuid, after: i64, limit: usize) -> Result<(Vec<SharedMessage>, Option<i64>), Error>;
        touch unname(erasing: &Erasing, shared: Uuid, traces: Traces) -> Result<Turned, Error>;
        touch unname_alone(shared: Uuid, traces: Traces) -> Result<(), Error>;
        touch remove(erasing: &Erasing, kind: OwnedRows, limit: usize) -> Result<Turned, Error>;
        look webhooks(channel: &str, after: Option<Uuid>, limit: usize) -> Result<Vec<(Uuid, Payload)>, Error>;
        touch remove_webhooks(erasing: &Erasing, letters: Vec<Uuid>) -> Result<Turned, Error>;
        touch discard_webhooks(letters: Vec<Uuid>) -> Result<u64, Error>;
        look kept_answers(after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, Error>;
        touch remove_answers(erasing: &Erasing, keys: Vec<String>) -> Result<Turned, Error>;
        touch end(erasing: &Erasing) -> Result<bool, Error>;
        look erased_since(since: Time) -> Result<Vec<Uuid>, Error>;
    }
}

fused! {
    Provider {
        /// A courtesy that nothing depends on, shown beside everything else: not counted.
        look show_typing(chat: &ChatId, ms: i64) -> ();
        /// As above.
        look mark_read(chat: &ChatId) -> ();
        look state() -> Result<String, Unanswered>;
        look link_code() -> Result<LinkCode, Unanswered>;
        look receive(wait: Duration) -> Result<Option<Notification>, Unanswered>;
        touch acknowledge(receipt: i64) -> Result<(), Unanswered>;
        look journal(minutes: i64) -> Result<Vec<Arrival>, Unanswered>;
        look typed(minutes: i64) -> Result<Vec<Arrival>, Unanswered>;
        look look_up(place: LookUp) -> Result<Vec<Trace>, Unanswered>;
        look file_link(chat: &ChatId, message: &str) -> Result<Option<String>, Unanswered>;
        look other_id(chat: &ChatId) -> Result<Option<ChatId>, Unanswered>;
        look queue_length() -> Result<i64, Unanswered>;
    } also {
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
    }
}

fused! {
    Generator {
        touch reply(request: &Request, progress: &dyn Progress) -> Result<Written, Failure>;
        pass check() -> Result<String, Failure>;
    } also {
        fn knows_who_asks(&self, channel: &str) -> bool {
            self.inner.knows_who_asks(channel)
        }
    }
}

fused! {
    KeyStore {
        touch put_if_absent(key: &str, value: &str, ttl: Duration) -> Result<Put, key_store::Error>;
        look get(key: &str) -> Result<Option<Entry>, key_store::Error>;
        /// A webhook's claim is confirmed on a task of its own, at any moment after its answer: not counted. That it never
        /// is confirmed is the crash after the commit before it.
        look replace_if_equal(
            key: &str, expected: &str, value: &str, ttl: Duration
        ) -> Result<bool, key_store::Error>;
        touch delete_if_equal(key: &str, expected: &str) -> Result<bool, key_store::Error>;
        pass list(prefix: &str, limit: usize) -> Result<Vec<(String, Entry)>, key_store::Error>;
        pass is_up() -> bool;
    }
}
