//! WhatsApp as a test plays it: real Green API bodies are read by the real reader, what Baton sends is written down and
//! answered as the test wants.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use baton::{
    adapters::{
        green_api::{Account, GreenApi},
        http_client::http_client,
    },
    domain::{
        chat::ChatId,
        message::{DeliveryReason, DeliveryState},
        time::Time,
    },
    flow::{
        clock::{Clock as _, ManualClock},
        provider::{
            Arrival, CREDENTIALS_REFUSED, Incoming, LinkCode, LookUp, NoAnswer, Notification, Outgoing,
            Provider, Sent, Trace, Unanswered, Unreadable,
        },
    },
};
use serde_json::Value;
use tokio::sync::watch;

use super::{BEGINNING, Hold, green_api, lock};

/// The account of every webhook in these tests, the fixtures included.
pub(crate) const INSTANCE: i64 = 7_103_000_001;

/// What becomes of one send.
#[derive(Clone)]
pub(crate) enum Answer {
    /// It is refused for good: the number has no WhatsApp.
    Refused,
    /// It certainly did not go, and may be tried again.
    Again,
    /// The gateway is not reached.
    Unreached,
    /// The phone of the business is not linked.
    NotLinked,
    /// This one is turned away as if the token were wrong.
    Forbidden,
    /// It goes, but nobody hears of it.
    LostAfter,
    /// It does not go, and nobody hears of that either.
    LostBefore,
    /// It goes, as soon as the test lets it.
    Held(Hold),
    /// Nobody hears of it, as soon as the test lets it end.
    LostHeld(Hold),
}

/// Where it can be seen that a message has gone, besides the answer to its POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// In what the gateway reports: its echo and its statuses.
    Reports,
    /// In the list of what waits to leave.
    Queue,
    /// In the list of what has left.
    Journal,
}

/// One POST, as the gateway saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) chat: String,
    /// What was posted: of a file what stands under it, or what it is.
    pub(crate) text: String,
    /// Name and bytes of the file.
    pub(crate) file: Option<(String, Vec<u8>)>,
    pub(crate) idempotency_key: String,
    /// Its id, if it went: then the contact's phone shows it.
    pub(crate) id: Option<String>,
    /// When.
    at: Time,
    /// Where else it is seen that it went.
    evidence: Evidence,
}

pub(crate) struct Gateway {
    reader: GreenApi,
    clock: Arc<ManualClock>,
    answers: Mutex<VecDeque<Answer>>,
    posts: watch::Sender<Vec<Post>>,
    evidence: Mutex<Evidence>,
    reports: Mutex<VecDeque<Value>>,
    notifications: Mutex<VecDeque<Notification>>,
    written: Mutex<Vec<Arrival>>,
    silence: Mutex<Option<Hold>>,
    /// Then it does not say.
    no_state: Mutex<Option<NoAnswer>>,
    links: Mutex<HashMap<String, String>>,
    other_ids: Mutex<HashMap<ChatId, ChatId>>,
    keeps_other_ids: AtomicBool,
    shows_nothing: AtomicBool,
    links_given: AtomicUsize,
    /// Chats whose messages got their blue ticks, each as often as it was asked for.
    pub(crate) marked_read: watch::Sender<Vec<String>>,
}

impl Gateway {
    pub(crate) fn new(clock: Arc<ManualClock>) -> Self {
        let account = Account {
            channel: "default".to_owned(),
            instance: INSTANCE.to_string(),
            // The reader asks nobody.
            api_url: "http://127.0.0.1:9".to_owned(),
            token: "token".to_owned(),
            timeout: Duration::from_secs(1),
        };
        let http = http_client(Duration::from_secs(1)).expect("a client");
        let reader = GreenApi::new(&account, http).expect("an account");
        Self {
            reader,
            clock,
            answers: Mutex::default(),
            posts: watch::Sender::default(),
            evidence: Mutex::new(Evidence::Reports),
            reports: Mutex::default(),
            notifications: Mutex::default(),
            written: Mutex::default(),
            silence: Mutex::default(),
            no_state: Mutex::default(),
            links: Mutex::default(),
            other_ids: Mutex::default(),
            keeps_other_ids: AtomicBool::new(false),
            shows_nothing: AtomicBool::new(false),
            links_given: AtomicUsize::new(0),
            marked_read: watch::Sender::default(),
        }
    }

    /// The next send that has no answer yet gets this one; all others are accepted.
    pub(crate) fn answers(&self, answer: Answer) {
        lock(&self.answers).push_back(answer);
    }

    /// It says how it is only when the test lets it.
    pub(crate) fn is_silent(&self) -> Hold {
        let hold = Hold::new();
        *lock(&self.silence) = Some(hold.clone());
        hold
    }

    /// Asked how it is, it does not say.
    pub(crate) fn keeps_its_state(&self, no_answer: NoAnswer) {
        *lock(&self.no_state) = Some(no_answer);
    }

    /// From now on it is seen there what has gone.
    pub(crate) fn shows_in(&self, evidence: Evidence) {
        *lock(&self.evidence) = evidence;
    }

    /// Whether it can show nobody what waits and what has left.
    pub(crate) fn shows_nothing(&self, is_so: bool) {
        self.shows_nothing.store(is_so, Ordering::Relaxed);
    }

    /// What it has to report, oldest first. It is reported again and again until it is taken.
    pub(crate) fn report(&self) -> Option<Value> {
        lock(&self.reports).front().cloned()
    }

    /// The oldest report was taken.
    pub(crate) fn reported(&self) {
        lock(&self.reports).pop_front();
    }

    /// Something to be fetched instead of being posted.
    pub(crate) fn keeps_for_fetching(&self, body: &Value) {
        let mut notifications = lock(&self.notifications);
        let receipt = notifications.back().map_or(1, |last| last.receipt + 1);
        notifications.push_back(Notification { receipt, body: body.to_string().into_bytes() });
    }

    /// A contact's message is in the journal, whether or not anybody heard of it.
    pub(crate) fn writes_into_journal(&self, body: &Value) {
        match self.reader.read(body.to_string().as_bytes()) {
            Ok(Incoming::Message(arrival)) => lock(&self.written).push(arrival),
            other => panic!("this is no message: {other:?}"),
        }
    }

    /// The next send waits, until the test lets it go.
    pub(crate) fn holds(&self) -> Hold {
        let hold = Hold::new();
        self.answers(Answer::Held(hold.clone()));
        hold
    }

    /// The same, and nobody hears whether it went. It did not.
    pub(crate) fn loses(&self) -> Hold {
        let hold = Hold::new();
        self.answers(Answer::LostHeld(hold.clone()));
        hold
    }

    /// From now on the gateway has this link to the file of that message.
    pub(crate) fn gives_link(&self, message: &str, url: &str) {
        lock(&self.links).insert(message.to_owned(), url.to_owned());
    }

    /// WhatsApp knows these two as one person, and says so to whoever asks.
    pub(crate) fn knows_as_one(&self, one: &str, other: &str) {
        let [one, other] = [one, other].map(|id| ChatId::parse(id).expect("a chat"));
        lock(&self.other_ids).extend([(one.clone(), other.clone()), (other, one)]);
    }

    /// Whether it refuses to say that.
    pub(crate) fn keeps_other_ids(&self, keeps: bool) {
        self.keeps_other_ids.store(keeps, Ordering::Relaxed);
    }

    /// How often it gave one.
    pub(crate) fn links_given(&self) -> usize {
        self.links_given.load(Ordering::Relaxed)
    }

    /// Every POST, in order.
    pub(crate) fn posts(&self) -> Vec<Post> {
        self.posts.borrow().clone()
    }

    /// What the phone of that contact shows of ours, in order.
    pub(crate) fn shown_to(&self, chat: &str) -> Vec<Post> {
        self.posts().into_iter().filter(|post| post.chat == chat && post.id.is_some()).collect()
    }

    fn write_down(&self, message: &Outgoing, goes: bool) -> String {
        let mut id = String::new();
        let file = message.file.as_ref();
        let text = file.map_or(&message.text, |file| match file.caption.as_str() {
            "" => &message.text,
            _ => &file.caption,
        });
        let (at, evidence) = (self.clock.now().unwrap_or(BEGINNING), *lock(&self.evidence));
        self.posts.send_modify(|posts| {
            id = format!("OUT{}", posts.len() + 1);
            posts.push(Post {
                chat: message.chat.to_string(),
                text: text.clone(),
                file: file.map(|file| (file.name.clone(), file.bytes.to_vec())),
                idempotency_key: message.idempotency_key.clone(),
                id: goes.then(|| id.clone()),
                at,
                evidence,
            });
        });
        if goes && evidence == Evidence::Reports {
            let (chat, seconds) = (message.chat.as_str(), at.0 / 1_000);
            let mut reports = lock(&self.reports);
            reports.push_back(match file {
                Some(file) => green_api::file_echo(chat, &id, seconds, &file.name, &file.caption),
                None => green_api::echo(chat, &id, seconds, text),
            });
            reports.push_back(green_api::status(chat, &id, seconds, "delivered"));
        }
        id
    }

    fn traces(&self, evidence: Evidence) -> Vec<Trace> {
        let is_there = evidence == Evidence::Journal;
        let trace = |post: &Post| Trace {
            id: post.id.clone(),
            chat: ChatId::parse(&post.chat).expect("it was a chat id"),
            text: post.text.clone(),
            at: is_there.then_some(post.at),
            state: is_there.then_some(DeliveryState::Sent),
            reason: None,
        };
        let is_meant = |post: &&Post| post.evidence == evidence && post.id.is_some();
        self.posts.borrow().iter().filter(is_meant).map(trace).collect()
    }
}

#[async_trait]
impl Provider for Gateway {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        self.reader.read(body)
    }

    async fn send(&self, message: &Outgoing) -> Sent {
        let answer = lock(&self.answers).pop_front();
        if let Some(Answer::Held(hold) | Answer::LostHeld(hold)) = &answer {
            hold.wait().await;
        }
        let goes = matches!(answer, None | Some(Answer::Held(_) | Answer::LostAfter));
        let id = self.write_down(message, goes);
        let detail = "as the test wants".to_owned();
        match answer {
            None | Some(Answer::Held(_)) => Sent::Accepted { id },
            Some(Answer::Refused) => Sent::Refused { reason: DeliveryReason::NoAccount, detail },
            Some(Answer::Again) => Sent::Again { after_ms: None, detail },
            Some(Answer::Unreached) => Sent::Unreached { detail },
            Some(Answer::Forbidden) => Sent::NotLinked { state: CREDENTIALS_REFUSED.to_owned(), detail },
            Some(Answer::NotLinked) => {
                // By the time anybody hears of it, somebody has linked it.
                let seconds = self.clock.now().unwrap_or(BEGINNING).0 / 1_000;
                lock(&self.reports).push_back(green_api::state(seconds, "authorized"));
                Sent::NotLinked { state: "notAuthorized".to_owned(), detail }
            }
            Some(Answer::LostAfter | Answer::LostBefore | Answer::LostHeld(_)) => Sent::Unclear { detail },
        }
    }

    async fn mark_read(&self, chat: &ChatId) {
        self.marked_read.send_modify(|chats| chats.push(chat.to_string()));
    }

    async fn state(&self) -> Result<String, Unanswered> {
        let silence = lock(&self.silence).clone();
        if let Some(hold) = silence {
            hold.wait().await;
        }
        match *lock(&self.no_state) {
            Some(no_answer) => Err(Unanswered { detail: format!("{no_answer:?}"), no_answer }),
            None => Ok("authorized".to_owned()),
        }
    }

    async fn link_code(&self) -> Result<LinkCode, Unanswered> {
        Ok(LinkCode::Linked)
    }

    /// There is nothing to wait for: what comes, a test has put there before.
    async fn receive(&self, _: Duration) -> Result<Option<Notification>, Unanswered> {
        Ok(lock(&self.notifications).front().cloned())
    }

    async fn acknowledge(&self, receipt: i64) -> Result<(), Unanswered> {
        lock(&self.notifications).retain(|notification| notification.receipt != receipt);
        Ok(())
    }

    async fn journal(&self, _: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(lock(&self.written).clone())
    }

    async fn look_up(&self, place: LookUp) -> Result<Vec<Trace>, Unanswered> {
        if self.shows_nothing.load(Ordering::Relaxed) {
            return Err(Unanswered { detail: "status 502".to_owned(), no_answer: NoAnswer::Silence });
        }
        Ok(match place {
            LookUp::Queue => self.traces(Evidence::Queue),
            LookUp::Journal { .. } => self.traces(Evidence::Journal),
        })
    }

    async fn file_link(&self, _: &ChatId, message: &str) -> Result<Option<String>, Unanswered> {
        let link = lock(&self.links).get(message).cloned();
        self.links_given.fetch_add(usize::from(link.is_some()), Ordering::Relaxed);
        Ok(link)
    }

    async fn other_id(&self, chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        if self.keeps_other_ids.load(Ordering::Relaxed) {
            return Err(Unanswered { detail: "status 429".to_owned(), no_answer: NoAnswer::TooMany });
        }
        Ok(lock(&self.other_ids).get(chat).cloned())
    }
}
