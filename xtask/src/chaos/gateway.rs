//! The fake gateway, as Green API is known: no idempotency, an answer that means *queued*, echoes and statuses as
//! webhooks, a queue and journals that tell the truth, late.
//!
//! In: its methods, from each instance under a path of its own. Out: answers or what goes wrong on command; what it took
//! and what it did not, in the records; webhooks, through the courier.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    courier::{Courier, Notice},
    model::is_before,
    plan,
    records::{Book, Post},
};
use crate::fakes::{
    already_linked, lock,
    names::Marker,
    webhooks::{self, Chat, seconds},
    wire::{Reply, Request},
};

/// So many accounts, each a channel.
pub(super) const CHANNELS: usize = 8;
/// The first account; the others follow.
const INSTANCE: usize = 7_103_000_001;
/// A journal shows what has left after so long.
const JOURNAL_LATE: Duration = Duration::from_secs(5);
/// What stays in the queue for a while leaves after so long.
const IN_QUEUE: Duration = Duration::from_secs(12);

/// How a message whose answer was lost shows up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    /// Its echo comes.
    Echo,
    /// It is in the queue for a while, then its echo comes.
    Queue,
    /// Only the journal has it.
    Journal,
}

/// What a journal keeps of a message.
struct Kept {
    channel: usize,
    left: Instant,
    left_seconds: u64,
    entry: Value,
    is_incoming: bool,
}

/// The gateway.
pub(super) struct Gateway {
    book: Arc<Book>,
    courier: Arc<Courier>,
    dice: Mutex<fastrand::Rng>,
    troubles: Mutex<VecDeque<plan::Gateway>>,
    refuses_until: Mutex<Option<Instant>>,
    kept: Mutex<Vec<Kept>>,
    ids: AtomicUsize,
    /// Whether there is time to wait for what only the journal has: Baton looks there after two minutes.
    may_use_journal: bool,
}

/// A contact's chat.
pub(super) fn chat_of(contact: usize) -> String {
    format!("65{contact:08}@c.us")
}

fn contact_of(chat: &str) -> Option<usize> {
    chat.strip_prefix("65")?.strip_suffix("@c.us")?.parse().ok()
}

/// The channel of a contact.
pub(super) const fn channel_of(contact: usize) -> usize {
    contact % CHANNELS
}

/// What a channel is called in Baton.
pub(super) fn channel_name(channel: usize) -> String {
    format!("shop-{channel}")
}

/// The account of a channel.
pub(super) const fn instance_of(channel: usize) -> usize {
    INSTANCE + channel
}

/// As webhooks name a contact's chat.
pub(super) fn whole_chat_of(contact: usize) -> Chat {
    Chat { account: instance_of(channel_of(contact)), id: chat_of(contact) }
}

impl Gateway {
    /// One that is well.
    pub(super) fn new(book: Arc<Book>, courier: Arc<Courier>, seed: u64, may_use_journal: bool) -> Self {
        Self {
            book,
            courier,
            dice: Mutex::new(fastrand::Rng::with_seed(seed)),
            troubles: Mutex::default(),
            refuses_until: Mutex::default(),
            kept: Mutex::default(),
            ids: AtomicUsize::new(0),
            may_use_journal,
        }
    }

    /// The next sends go so.
    pub(super) fn trouble(&self, trouble: plan::Gateway, times: usize) {
        lock(&self.troubles).extend(std::iter::repeat_n(trouble, times));
    }

    /// What was to go wrong and has not yet, does not any more.
    pub(super) fn behave(&self) {
        lock(&self.troubles).clear();
    }

    /// Answers 429 for so long.
    pub(super) fn refuse_for(&self, time: Duration) {
        *lock(&self.refuses_until) = Some(Instant::now() + time);
    }

    /// A contact wrote: the journal has it, also should no webhook arrive.
    pub(super) fn note_incoming(&self, marker: Marker, id: &str, text: &str) {
        let chat = chat_of(marker.contact);
        let entry = json!({ "type": "incoming", "idMessage": id, "chatId": chat, "timestamp": seconds(),
            "typeMessage": "textMessage", "textMessage": text, "senderId": chat, "senderName": "" });
        self.keep(channel_of(marker.contact), entry, true);
    }

    /// Answers one request: `/{instance of Baton}/waInstance{account}/{method}/{token}`.
    pub(super) async fn answer(self: Arc<Self>, request: Request) -> Reply {
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let [from, account, method, ..] = words[..] else { return Reply::Answer(404, String::new()) };
        let account = account.strip_prefix("waInstance").and_then(|number| number.parse::<usize>().ok());
        let channel =
            account.and_then(|number| number.checked_sub(INSTANCE)).filter(|channel| *channel < CHANNELS);
        let Some(channel) = channel else { return Reply::Answer(403, String::new()) };
        match method {
            "sendMessage" => self.send(from, request).await,
            "getStateInstance" => Reply::json(&json!({ "stateInstance": "authorized" })),
            "qr" => Reply::json(&already_linked()),
            "showMessagesQueue" => Reply::json(&self.queue(channel)),
            "lastOutgoingMessages" => Reply::json(&self.journal(channel, &request.path, false)),
            "lastIncomingMessages" => Reply::json(&self.journal(channel, &request.path, true)),
            "getMessagesCount" => {
                Reply::json(&json!({ "count": self.queue(channel).as_array().map_or(0, Vec::len) }))
            }
            "readChat" => Reply::json(&json!({ "setRead": true })),
            _ => Reply::json(&json!({})),
        }
    }

    async fn send(&self, from: &str, request: Request) -> Reply {
        let body = request.json();
        let (Some(contact), Some(text)) =
            (body["chatId"].as_str().and_then(contact_of), body["message"].as_str())
        else {
            return Reply::Answer(400, r#"{"message":"Validation failed"}"#.to_owned());
        };
        if is_before(&self.refuses_until) {
            self.write_down(&request, from, contact, text, false, true);
            self.book.open().refused += 1;
            return Reply::Answer(429, String::new());
        }
        let trouble = lock(&self.troubles).pop_front();
        let (is_taken, pause_ms, trace) = {
            let mut dice = lock(&self.dice);
            let is_taken = match trouble {
                None | Some(plan::Gateway::LosesAnswers | plan::Gateway::Nonsense) => true,
                Some(plan::Gateway::Fails | plan::Gateway::Hangs) => dice.bool(),
                Some(plan::Gateway::Refuses | plan::Gateway::LosesMessages) => false,
            };
            let trace = match dice.u8(0..10) {
                0..6 => Trace::Echo,
                9 if self.may_use_journal => Trace::Journal,
                _ => Trace::Queue,
            };
            (is_taken, dice.u64(0..30), trace)
        };
        self.write_down(&request, from, contact, text, is_taken, trouble.is_none());
        let id = format!("BAE5{:08}", self.ids.fetch_add(1, Ordering::Relaxed));
        if is_taken {
            self.take(contact, &id, text, trouble.map(|_| trace));
        }
        sleep(Duration::from_millis(pause_ms)).await;
        match trouble {
            None => Reply::json(&json!({ "idMessage": id })),
            Some(plan::Gateway::Refuses) => Reply::Answer(429, String::new()),
            Some(plan::Gateway::Fails) => Reply::Answer(500, "<html>an error</html>".to_owned()),
            Some(plan::Gateway::Hangs) => Reply::Hang,
            Some(plan::Gateway::LosesAnswers | plan::Gateway::LosesMessages) => Reply::Cut,
            Some(plan::Gateway::Nonsense) => Reply::Answer(200, "{\"idMess".to_owned()),
        }
    }

    fn write_down(
        &self,
        request: &Request,
        from: &str,
        contact: usize,
        text: &str,
        taken: bool,
        answered: bool,
    ) {
        let mut records = self.book.open();
        if taken {
            for marker in Marker::all_in(text) {
                records.open.remove(&marker);
            }
        }
        records.posts.push(Post {
            at: request.arrived,
            contact,
            text: text.to_owned(),
            from: from.to_owned(),
            taken,
            answered,
        });
    }

    /// It will leave, and what follows from that comes back: at once, or as the trace of a lost answer.
    fn take(&self, contact: usize, id: &str, text: &str, trace: Option<Trace>) {
        let entry = webhooks::journal_entry(&chat_of(contact), id, text, seconds());
        let wait = match trace {
            None => Duration::from_millis(lock(&self.dice).u64(0..300)),
            Some(Trace::Echo) => Duration::from_millis(lock(&self.dice).u64(0..6_000)),
            Some(Trace::Queue) => IN_QUEUE,
            Some(Trace::Journal) => Duration::ZERO,
        };
        self.keep_from(Instant::now() + wait, channel_of(contact), entry, false);
        if trace == Some(Trace::Journal) {
            return;
        }
        let chat = whole_chat_of(contact);
        let echo = webhooks::echo(&chat, id, text);
        let sent = webhooks::status(&chat, id, "sent");
        let delivered = lock(&self.dice).bool().then(|| webhooks::status(&chat, id, "delivered"));
        let courier = Arc::clone(&self.courier);
        tokio::spawn(async move {
            sleep(wait).await;
            for body in [Some(echo), Some(sent), delivered].into_iter().flatten() {
                courier.hand_in(contact, Notice { body, marker: None });
            }
        });
    }

    fn keep(&self, channel: usize, entry: Value, is_incoming: bool) {
        self.keep_from(Instant::now(), channel, entry, is_incoming);
    }

    fn keep_from(&self, left: Instant, channel: usize, entry: Value, is_incoming: bool) {
        let left_seconds = seconds() + left.saturating_duration_since(Instant::now()).as_secs();
        lock(&self.kept).push(Kept { channel, left, left_seconds, entry, is_incoming });
    }

    /// What has not left. Its shape is not that of the journal.
    fn queue(&self, channel: usize) -> Value {
        let now = Instant::now();
        let kept = lock(&self.kept);
        let waits =
            kept.iter().filter(|kept| kept.channel == channel && !kept.is_incoming && kept.left > now);
        waits
            .map(|kept| {
                json!({ "messageID": kept.entry["idMessage"], "type": "sendMessage",
                    "body": { "chatId": kept.entry["chatId"], "message": kept.entry["textMessage"] } })
            })
            .collect()
    }

    fn journal(&self, channel: usize, path: &str, is_incoming: bool) -> Value {
        let minutes = path.split_once("minutes=").and_then(|(_, number)| number.parse::<u64>().ok());
        let since = seconds().saturating_sub(minutes.unwrap_or(1_440) * 60);
        let kept = lock(&self.kept);
        let shown = kept.iter().filter(|kept| {
            kept.channel == channel
                && kept.is_incoming == is_incoming
                && kept.left.elapsed() >= JOURNAL_LATE
                && kept.left_seconds >= since
        });
        shown.map(|kept| kept.entry.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_its_contacts() {
        assert_eq!(chat_of(17), "6500000017@c.us");
        assert_eq!(contact_of(&chat_of(17)), Some(17));
        assert_eq!(contact_of("6500000017@g.us"), None);
    }
}
