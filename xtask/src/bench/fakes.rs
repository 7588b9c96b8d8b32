//! A gateway and a model that do nothing but answer well, and quickly unless told otherwise: at thousands of calls a
//! second they must not be what is measured.
//!
//! In: requests of Baton. Out: answers; what came and when, in the book.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::book::Book;
use crate::fakes::{
    already_linked,
    completions::{DONE, asked, chunk},
    lock,
    names::Part,
    webhooks::{Chat, journal_entry, seconds},
    wire::{Reply, Request, serve},
};

/// The account of all chats.
pub(super) const ACCOUNT: usize = 7_103_000_001;
/// A streamed answer comes in so many pieces, evenly over the time that it takes.
const PIECES: usize = 4;

/// Both of them.
pub(super) struct Fakes {
    book: Arc<Book>,
    /// Shortest and longest time of an answer, in milliseconds.
    latency_ms: (u64, u64),
    dice: AtomicU64,
    ids: AtomicU64,
    /// The journal, for a Baton that is too busy to hear an answer and looks there.
    sent: Mutex<Vec<Sent>>,
}

/// A message as the journal keeps it.
struct Sent {
    chat: String,
    id: String,
    text: String,
    at_seconds: u64,
}

impl Sent {
    fn entry(&self) -> Value {
        journal_entry(&self.chat, &self.id, &self.text, self.at_seconds)
    }
}

/// They answer until dropped.
pub(super) struct Open {
    pub(super) port: u16,
    serving: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A contact's chat.
pub(super) fn chat_of(contact: usize) -> Chat {
    Chat { account: ACCOUNT, id: format!("65{contact:08}@c.us") }
}

fn contact_of(chat: &str) -> Option<usize> {
    chat.strip_prefix("65")?.strip_suffix("@c.us")?.parse().ok()
}

impl Fakes {
    /// Opens them on a port of their own.
    pub(super) async fn open(book: Arc<Book>, latency_ms: (u64, u64)) -> Result<Open> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let dice = AtomicU64::new(fastrand::u64(..));
        // No gateway gives an id twice, also not to a Baton that comes again with the database it had.
        let ids = AtomicU64::new(fastrand::u64(..1 << 48));
        let fakes = Arc::new(Self { book, latency_ms, dice, ids, sent: Mutex::default() });
        let serving = tokio::spawn(serve(listener, move |request| Arc::clone(&fakes).answer(request)));
        Ok(Open { port, serving })
    }

    async fn answer(self: Arc<Self>, request: Request) -> Reply {
        let path = request.path.split('?').next().unwrap_or_default();
        if path.ends_with("/chat/completions") {
            return self.generate(&request);
        }
        match path.split('/').nth(2) {
            Some("sendMessage") => self.send(&request),
            Some("getStateInstance") => Reply::json(&json!({ "stateInstance": "authorized" })),
            Some("qr") => Reply::json(&already_linked()),
            Some("readChat") => Reply::json(&json!({ "setRead": true })),
            Some("lastOutgoingMessages") => Reply::json(&lock(&self.sent).iter().map(Sent::entry).collect()),
            Some("getMessagesCount") => Reply::json(&json!({ "count": 0 })),
            Some("showMessagesQueue" | "lastIncomingMessages") => Reply::json(&json!([])),
            _ => Reply::json(&json!({})),
        }
    }

    fn send(&self, request: &Request) -> Reply {
        let body = request.json();
        let (Some(chat), Some(text)) = (body["chatId"].as_str(), body["message"].as_str()) else {
            return Reply::Answer(400, r#"{"message":"Validation failed"}"#.to_owned());
        };
        self.book.arrival(request.arrived, contact_of(chat), text);
        let id = format!("BAE5{:012X}", self.ids.fetch_add(1, Ordering::Relaxed));
        let answer = format!(r#"{{"idMessage":"{id}"}}"#);
        let sent = Sent { chat: chat.to_owned(), id, text: text.to_owned(), at_seconds: seconds() };
        lock(&self.sent).push(sent);
        Reply::Answer(200, answer)
    }

    fn generate(&self, request: &Request) -> Reply {
        let names = asked(&request.json());
        let call = self.book.call(request.arrived, &names);
        let mut text = format!("{} answers", Part { call, part: 1, parts: 1 });
        for name in &names {
            text.push_str(&format!(" {name}"));
        }
        let book = Arc::clone(&self.book);
        let watch = Some(Box::new(move |ended| book.call_ended(call, ended)) as _);
        Reply::Stream { pieces: pieces(&text, self.draw()), is_whole: true, watch }
    }

    fn draw(&self) -> Duration {
        let (shortest, longest) = self.latency_ms;
        let mut dice =
            fastrand::Rng::with_seed(self.dice.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed));
        Duration::from_millis(dice.u64(shortest..=longest))
    }
}

fn pieces(text: &str, latency: Duration) -> Vec<(Duration, String)> {
    let pause = latency / u32::try_from(PIECES).unwrap_or(1);
    // Names and words are plain ASCII: any cut is between characters.
    let length = text.len().div_ceil(PIECES);
    let mut pieces: Vec<_> = (0..PIECES)
        .map(|n| {
            text.get((n * length).min(text.len())..((n + 1) * length).min(text.len())).unwrap_or_default()
        })
        .map(|piece| (pause, chunk(piece, None)))
        .collect();
    pieces.push((Duration::ZERO, chunk("", Some("stop")) + DONE));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_text_over_the_whole_time() {
        let pieces = pieces("a1.1/1 answers c2n3", Duration::from_secs(8));
        assert_eq!(pieces.iter().map(|(pause, _)| *pause).sum::<Duration>(), Duration::from_secs(8));
        let told = |piece: &str| {
            let line = piece.lines().next().and_then(|line| line.strip_prefix("data: ")).expect("data");
            let chunk: serde_json::Value = serde_json::from_str(line).expect("JSON");
            chunk["choices"][0]["delta"]["content"].as_str().expect("text").to_owned()
        };
        let text: String = pieces.iter().map(|(_, piece)| told(piece)).collect();
        assert_eq!(text, "a1.1/1 answers c2n3");
    }

    #[test]
    fn a_chat_is_its_contacts() {
        assert_eq!(contact_of(&chat_of(17).id), Some(17));
    }
}
