//! A gateway without WhatsApp: contacts played by hand, in memory, for demos and trials. In: what a contact types, texts to
//! send, faults wanted. Out: what the contact's phone shows, and reports on each message as a real gateway posts them.

use std::{
    ptr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use execution::deduplicate_webhook::fingerprint;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{
    domain::{
        chat::ChatId,
        faults::ProviderFault,
        message::{DeliveryReason, DeliveryState},
        time::Time,
    },
    flow::{
        instance::channels::{Channel, Channels},
        provider::{
            AUTHORIZED, Arrival, Incoming, LookUp, Notification, Outgoing, Provider, SANDBOX, Sent, Status,
            Trace, Unanswered, Unreadable, boot_time,
        },
    },
};

mod faults;

mod phone;

mod read;

#[cfg(test)]
mod tests;

pub use faults::Faults;
pub use phone::ShownMessage;

use phone::Phones;

/// Reports that wait to be taken. Whoever takes them must not be the one who sends.
const REPORTS_MAX: usize = 256;

/// Ids of messages that left through the API begin so.
const BY_API: &str = "BAE5";

/// The sandbox channel.
pub struct Sandbox {
    clock: fn() -> Time,
    phones: Mutex<Phones>,
    faults: Mutex<Faults>,
    reports: mpsc::Sender<Incoming>,
}

impl Sandbox {
    /// A sandbox in which nobody has said anything, and the reports that it would post as webhooks: echoes and statuses.
    pub fn new(clock: fn() -> Time) -> (Self, mpsc::Receiver<Incoming>) {
        let (reports, taken) = mpsc::channel(REPORTS_MAX);
        (Self { clock, phones: Mutex::default(), faults: Mutex::default(), reports }, taken)
    }

    /// Its channel; None: it was removed, or there is one of that name with an account at a provider.
    pub fn channel(&self, channels: &Channels) -> Option<Arc<Channel>> {
        channels.get(SANDBOX).filter(|channel| ptr::addr_eq(Arc::as_ptr(&channel.provider), self))
    }

    /// How it behaves.
    pub fn faults(&self) -> Faults {
        *held(&self.faults)
    }

    /// From now on it behaves so.
    pub fn set_faults(&self, faults: Faults) {
        *held(&self.faults) = faults;
    }

    /// What the contact's phone shows, oldest first.
    pub fn shown(&self, chat: &ChatId) -> Vec<ShownMessage> {
        held(&self.phones).shown(chat)
    }

    /// Whether the contact sees that someone is typing.
    pub fn typing(&self, chat: &ChatId) -> bool {
        held(&self.phones).is_typing(chat, (self.clock)())
    }

    /// The business's own phone writes to the contact: what the gateway would post, to be taken in like any webhook.
    pub fn phone_message(&self, chat: &ChatId, text: &str) -> Incoming {
        let id = fresh_id("3A");
        Incoming::Phone(self.deliver(chat, &id, text))
    }

    /// Puts a message of the business on the contact's phone.
    fn deliver(&self, chat: &ChatId, id: &str, text: &str) -> Arrival {
        let at = (self.clock)();
        let status = DeliveryState::Read;
        let message = ShownMessage { id: id.to_owned(), text: text.to_owned(), from_us: true, at, status };
        held(&self.phones).show(chat, message);
        let fingerprint = fingerprint(&[SANDBOX, chat.as_str(), id]);
        Arrival { fingerprint, ..Arrival::plain(chat, id, text.to_owned(), at) }
    }

    /// Takes a message as the gateway does: the contact sees it, and the echo and each step of its way are reported.
    async fn accept(&self, message: &Outgoing, faults: Faults) -> String {
        let id = fresh_id(BY_API);
        let mut echo = self.deliver(&message.chat, &id, &message.text);
        // As the real gateway's: of a file, only what stands under it was ever posted.
        if let Some(file) = message.file.as_ref().filter(|file| !file.caption.is_empty()) {
            echo.text.clone_from(&file.caption);
        }
        self.report(Incoming::Echo(echo), faults).await;
        for state in [DeliveryState::Sent, DeliveryState::Delivered, DeliveryState::Read] {
            let status = Status {
                chat: Some(message.chat.clone()),
                id: id.clone(),
                state: Some(state),
                reason: None,
                detail: state.to_string(),
            };
            self.report(Incoming::Status(status), faults).await;
        }
        id
    }

    async fn report(&self, incoming: Incoming, faults: Faults) {
        for _ in 0..faults.copies() {
            // Nobody takes reports any more: Baton is stopping, as a real gateway's webhooks would find.
            if self.reports.send(incoming.clone()).await.is_err() {
                tracing::debug!("a report of the sandbox was not accepted");
                return;
            }
        }
    }
}

#[async_trait]
impl Provider for Sandbox {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        let (arrival, words) = read::read(body, (self.clock)(), || fresh_id("5A"))?;
        if let Some(id) = &arrival.id {
            let (id, at) = (id.clone(), (self.clock)());
            let message =
                ShownMessage { id, text: words, from_us: false, at, status: DeliveryState::Delivered };
            held(&self.phones).show(&arrival.chat, message);
        }
        Ok(Incoming::Message(arrival))
    }

    async fn send(&self, message: &Outgoing) -> Sent {
        if boot_time() > message.begin_by {
            return Sent::TooLate;
        }
        let faults = self.faults();
        let delay = Duration::from_millis(faults.delay_ms);
        let hangs = faults.fault == ProviderFault::Hang || delay >= message.timeout;
        tokio::time::sleep(if hangs { message.timeout } else { delay }).await;
        match faults.fault {
            ProviderFault::Refused => {
                Sent::Refused { reason: DeliveryReason::Refused, detail: "the sandbox refuses".to_owned() }
            }
            ProviderFault::Hang => Sent::Unclear { detail: "timed out".to_owned() },
            ProviderFault::ServerError => Sent::Unclear { detail: "status 502".to_owned() },
            ProviderFault::LostAnswer => {
                self.accept(message, faults).await;
                Sent::Unclear { detail: "the connection broke".to_owned() }
            }
            ProviderFault::None => {
                let id = self.accept(message, faults).await;
                if hangs { Sent::Unclear { detail: "timed out".to_owned() } } else { Sent::Accepted { id } }
            }
        }
    }

    async fn show_typing(&self, chat: &ChatId, ms: i64) {
        held(&self.phones).show_typing(chat, (self.clock)().plus_ms(ms));
    }

    async fn mark_read(&self, chat: &ChatId) {
        held(&self.phones).mark_read(chat);
    }

    async fn state(&self) -> Result<String, Unanswered> {
        Ok(AUTHORIZED.to_owned())
    }

    /// Its reports come by themselves; there is never anything to fetch.
    async fn receive(&self, wait: Duration) -> Result<Option<Notification>, Unanswered> {
        tokio::time::sleep(wait).await;
        Ok(None)
    }

    async fn look_up(&self, place: LookUp) -> Result<Vec<Trace>, Unanswered> {
        Ok(match place {
            // Whatever is accepted here arrives at once.
            LookUp::Queue => Vec::new(),
            LookUp::Journal { minutes } => {
                let since = (self.clock)().plus_ms(-minutes.saturating_mul(60_000));
                held(&self.phones).sent_since(since, BY_API)
            }
        })
    }
}

/// An id of the shape that the real gateway gives to messages of that origin.
fn fresh_id(origin: &str) -> String {
    format!("{origin}{:X}", Uuid::now_v7().simple())
}

/// The lock. Each change behind it is one step, so a panic elsewhere cannot have left it half done.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
