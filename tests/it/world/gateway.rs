//! WhatsApp as a test plays it: real Green API bodies are read by the real reader, what Baton sends is written down and
//! answered as the test wants.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use baton::{
    adapters::{
        green_api::{Account, GreenApi},
        http_client::http_client,
        scripted::Hold,
    },
    domain::{chat::ChatId, message::DeliveryReason},
    flow::provider::{
        Arrival, Incoming, LookUp, Notification, Outgoing, Provider, Sent, Trace, Unanswered, Unreadable,
    },
};
use tokio::sync::watch;

/// The account of every webhook in these tests, the fixtures included.
pub(crate) const INSTANCE: i64 = 7_103_000_001;

/// What becomes of one send.
#[derive(Clone)]
pub(crate) enum Answer {
    /// It is refused for good: the number has no WhatsApp.
    Refused,
    /// It certainly did not go, and may be tried again.
    Again,
    /// The phone of the business is not linked.
    NotLinked,
    /// It goes, but nobody hears of it.
    LostAfter,
    /// It does not go, and nobody hears of that either.
    LostBefore,
    /// It goes, as soon as the test lets it.
    Held(Hold),
}

/// One POST, as the gateway saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) chat: String,
    pub(crate) text: String,
    pub(crate) idempotency_key: String,
    /// Its id, if it went: then the contact's phone shows it.
    pub(crate) id: Option<String>,
}

pub(crate) struct Gateway {
    reader: GreenApi,
    answers: Mutex<VecDeque<Answer>>,
    posts: watch::Sender<Vec<Post>>,
}

impl Gateway {
    pub(crate) fn new() -> Self {
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
        Self { reader, answers: Mutex::default(), posts: watch::Sender::default() }
    }

    /// The next send that has no answer yet gets this one; all others are accepted.
    pub(crate) fn answers(&self, answer: Answer) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
    }

    /// The next send waits, until the test lets it go.
    pub(crate) fn holds(&self) -> Hold {
        let hold = Hold::new();
        self.answers(Answer::Held(hold.clone()));
        hold
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
        self.posts.send_modify(|posts| {
            id = format!("OUT{}", posts.len() + 1);
            posts.push(Post {
                chat: message.chat.to_string(),
                text: message.text.clone(),
                idempotency_key: message.idempotency_key.clone(),
                id: goes.then(|| id.clone()),
            });
        });
        id
    }
}

#[async_trait]
impl Provider for Gateway {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        self.reader.read(body)
    }

    async fn send_text(&self, message: &Outgoing) -> Sent {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        if let Some(Answer::Held(hold)) = &answer {
            hold.wait().await;
        }
        let goes = matches!(answer, None | Some(Answer::Held(_) | Answer::LostAfter));
        let id = self.write_down(message, goes);
        let detail = "as the test wants".to_owned();
        match answer {
            None | Some(Answer::Held(_)) => Sent::Accepted { id },
            Some(Answer::Refused) => Sent::Refused { reason: DeliveryReason::NoAccount, detail },
            Some(Answer::Again) => Sent::Again { after_ms: None, detail },
            Some(Answer::NotLinked) => Sent::NotLinked { state: "notAuthorized".to_owned(), detail },
            Some(Answer::LostAfter | Answer::LostBefore) => Sent::Unclear { detail },
        }
    }

    async fn show_typing(&self, _: &ChatId, _: i64) {}

    async fn mark_read(&self, _: &ChatId, _: Option<&str>) {}

    async fn state(&self) -> Result<String, Unanswered> {
        Ok("authorized".to_owned())
    }

    /// These tests post.
    async fn receive(&self, _: Duration) -> Result<Option<Notification>, Unanswered> {
        Ok(None)
    }

    async fn acknowledge(&self, _: i64) -> Result<(), Unanswered> {
        Ok(())
    }

    async fn journal(&self, _: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(Vec::new())
    }

    async fn look_up(&self, _: LookUp) -> Result<Vec<Trace>, Unanswered> {
        Ok(Vec::new())
    }

    async fn queue_length(&self) -> Result<i64, Unanswered> {
        Ok(0)
    }
}
