//! One account at Green API, as rules: what a call is answered, and what happens when time has passed. It neither waits nor
//! reads a clock: the moment comes in, in milliseconds since 1970.

mod answer;

mod methods;

mod fields;

mod settings;

mod state;

mod sending;

mod content;

mod queue;

mod journal;

mod lookups;

mod notices;

mod limits;

mod faults;

mod play;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) use answer::{Answer, Call};
pub(super) use faults::{Fault, Travel};
pub(super) use notices::Delivery;
pub(super) use play::Written;

use journal::Message;
use limits::Limits;
use notices::Notices;
use queue::{Entry, Step};
use serde_json::Value;
use settings::Settings;
use state::Restart;

/// Messages and files kept; with one more, the oldest goes.
const MESSAGES_MAX: usize = 10_000;
const FILES_MAX: usize = 50;

/// What is queued, messages and notifications alike, is kept so long.
const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Whose account it is, and how fast it is.
#[derive(Debug, Clone)]
pub struct Options {
    /// `idInstance`.
    pub instance: u64,
    /// `apiTokenInstance`.
    pub token: String,
    /// Where webhooks go. If it is given, every webhook is switched on; a new account has none, and all switches off.
    pub webhook_url: String,
    /// What they carry in `Authorization`.
    pub webhook_token: String,
    /// How fast it is.
    pub pace: Pace,
}

/// How fast an account is, and what it allows.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Least time between two sends, until the settings say otherwise.
    pub send_delay_ms: i64,
    /// From sent to delivered, and from there to read.
    pub tick_ms: i64,
    /// A restart takes so long, and new settings hold after it.
    pub restart_ms: i64,
    /// From a webhook that was not answered 200 to the next attempt.
    pub retry_ms: i64,
    /// Journals show a message so long after it was written.
    pub journal_lag_ms: i64,
    /// The limits of calls a second are kept.
    pub is_limited: bool,
    /// The free plan writes to so many chats.
    pub chats_max: Option<usize>,
}

impl Pace {
    /// That of the real one, but for a restart of minutes and journals that are late.
    pub const AS_USUAL: Self = Self {
        send_delay_ms: 500,
        tick_ms: 700,
        restart_ms: 3_000,
        retry_ms: 60_000,
        journal_lag_ms: 0,
        is_limited: true,
        chats_max: None,
    };
}

/// The account.
#[derive(Debug)]
pub struct Account {
    options: Options,
    settings: Settings,
    state: String,
    restart: Option<Restart>,
    queue: VecDeque<Entry>,
    last_sent_at: i64,
    steps: Vec<Step>,
    messages: VecDeque<Message>,
    names: BTreeMap<String, String>,
    archived: BTreeSet<String>,
    written_to: BTreeSet<String>,
    typing_until: BTreeMap<String, i64>,
    notices: Notices,
    limits: Limits,
    faults: Vec<Fault>,
    files: VecDeque<File>,
}

/// A file that was uploaded.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) id: String,
    pub(super) bytes: bytes::Bytes,
}

impl Account {
    pub(super) fn new(options: Options, now: i64) -> Self {
        let settings = Settings::new(&options);
        Self {
            settings,
            state: "authorized".to_owned(),
            restart: None,
            queue: VecDeque::new(),
            last_sent_at: 0,
            steps: Vec::new(),
            messages: VecDeque::new(),
            names: BTreeMap::new(),
            archived: BTreeSet::new(),
            written_to: BTreeSet::new(),
            typing_until: BTreeMap::new(),
            notices: Notices::new(now),
            limits: Limits::default(),
            faults: Vec::new(),
            files: VecDeque::new(),
            options,
        }
    }

    /// What everybody sees: how the account is, what waits, what was written. Not what opens a door.
    pub fn overview(&self) -> Value {
        let mut settings = self.settings.shown(&self.wid());
        settings["webhookUrlToken"] = Value::Null;
        serde_json::json!({
            "stateInstance": self.state(),
            "settings": settings,
            "queue": self.shown_queue(),
            "notifications": self.notices.len(),
            "typingUntil": self.typing_until,
            "faults": self.faults,
            "messages": self.written(None),
        })
    }

    /// Keeps a file. Returns where it lies.
    fn keep(&mut self, bytes: bytes::Bytes) -> String {
        let id = format!("{:016x}", fastrand::u64(..));
        if self.files.len() == FILES_MAX {
            self.files.pop_front();
        }
        self.files.push_back(File { id: id.clone(), bytes });
        id
    }

    pub(super) fn file(&self, id: &str) -> Option<&File> {
        self.files.iter().find(|file| file.id == id)
    }
}
