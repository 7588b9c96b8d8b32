//! Places and steps that say what they were told to, and remember what they were asked.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Log, NOW};
use crate::{
    domain::{
        chat::ChatId,
        conversation::{Conversation, Lease, Opening},
        event::{Event, EventType},
        message::{Author, Inbound, Kind, Message, Origin, Outcome},
        mode::{Mode, Reason},
        time::Time,
        turn::{DeadLetter, FollowUp, FollowUpState, Turn},
    },
    flow::{
        archive::{
            Archive, Bucket, ConversationFilter, Depths, EventFilter, FollowUpFilter, LetterFilter, Overview,
            Page, PageOf, Placed, Recorded, Tail, Window,
        },
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        mode_switch::{self, Receipt},
        registry::{Channel, Registry, Token},
    },
    http::ports::{
        Channels, Desk, FollowUpWish, Health, Idempotency, Intake, ModeSwitch, Patch, Readiness, Refusal,
        Said, Secret, Vault, Verdict, Who,
    },
};

fn away() -> Error {
    Error::Unavailable("it is away".into())
}

pub(super) fn conversation(channel: &str, chat: &str) -> Conversation {
    let opening =
        Opening { mode: Mode::Ai, reason: Reason::Rollout, actor: "system".to_owned(), drafting: false };
    Conversation::begin(channel, ChatId::parse(chat).expect("a chat"), &opening, NOW)
}

pub(super) fn overview(conversation: Conversation) -> Overview {
    Overview {
        conversation,
        aliases: Vec::new(),
        follow_up: None,
        last_message: None,
        inbox: 0,
        queued: 0,
        sending: 0,
        read_at: NOW,
    }
}

pub(super) fn message(seq: i64, text: &str) -> Message {
    Message {
        id: Uuid::now_v7(),
        seq,
        author: Author::Contact,
        origin: Origin::Webhook,
        kind: Kind::Text,
        text: text.to_owned(),
        sender: None,
        agent: None,
        quoted: None,
        media: None,
        provider_message_id: Some(format!("P{seq}")),
        key: Some(format!("P{seq}")),
        at: NOW,
        provider_at: None,
        edited_at: None,
        deleted_at: None,
        turn: None,
        inbound: Some(Inbound { outcome: Outcome::Pending, reason: None, starts_turn: true }),
        delivery: None,
    }
}

pub(super) fn event(channel: &str, kind: EventType) -> Event {
    Event {
        at: NOW,
        channel: channel.to_owned(),
        conversation: None,
        conv_seq: None,
        message: None,
        turn: None,
        mode_version: None,
        actor: "system".to_owned(),
        kind,
        action: None,
        details: Map::new(),
    }
}

/// The archive: what a test has put on the shelf. Events are named `e1`, `e2`, ….
#[derive(Default)]
pub(super) struct Shelf {
    pub(super) overviews: Mutex<Vec<Overview>>,
    pub(super) messages: Mutex<Vec<Placed>>,
    pub(super) events: Mutex<Vec<Event>>,
    pub(super) asked: Log,
    pub(super) is_away: AtomicBool,
    /// Ids up to this number cannot be resumed from.
    pub(super) forgotten: Mutex<usize>,
}

impl Shelf {
    pub(super) fn put(&self, overview: Overview) -> Uuid {
        let id = overview.conversation.id;
        self.overviews.lock().unwrap().push(overview);
        id
    }

    pub(super) fn happen(&self, channel: &str, kind: EventType) {
        self.events.lock().unwrap().push(event(channel, kind));
    }

    fn look(&self) -> Result<(), Error> {
        if self.is_away.load(Ordering::SeqCst) { Err(away()) } else { Ok(()) }
    }

    fn recorded(&self, from: usize) -> Vec<Recorded> {
        let events = self.events.lock().unwrap();
        let after = events.iter().cloned().enumerate().skip(from);
        after.map(|(at, event)| Recorded { id: format!("e{}", at + 1), event }).collect()
    }
}

#[async_trait]
impl Archive for Shelf {
    async fn conversation(&self, id: Uuid) -> Result<Option<Overview>, Error> {
        self.look()?;
        Ok(self.overviews.lock().unwrap().iter().find(|it| it.conversation.id == id).cloned())
    }

    async fn conversation_of(&self, channel: &str, chat: &ChatId) -> Result<Option<Overview>, Error> {
        self.look()?;
        let all = self.overviews.lock().unwrap();
        Ok(all.iter().find(|it| it.conversation.channel == channel && it.conversation.chat == *chat).cloned())
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageOf,
    ) -> Result<Page<Overview>, Error> {
        self.look()?;
        self.asked.lock().unwrap().push(format!("{filter:?} {page:?}"));
        if page.cursor.as_deref() == Some("nonsense") {
            return Err(Error::Refused("no cursor of ours".into()));
        }
        let mut items = self.overviews.lock().unwrap().clone();
        items.retain(|it| {
            filter.channels.as_ref().is_none_or(|names| names.contains(&it.conversation.channel))
        });
        Ok(Page { items, next: None })
    }

    async fn count(&self, filter: &ConversationFilter) -> Result<i64, Error> {
        self.asked.lock().unwrap().push(format!("{filter:?}"));
        Ok(7)
    }

    async fn messages(&self, conversation: Uuid, _: Window, limit: usize) -> Result<Vec<Message>, Error> {
        let all = self.messages.lock().unwrap();
        let mine = all.iter().filter(|placed| placed.conversation == conversation).rev();
        Ok(mine.take(limit).map(|placed| placed.message.clone()).collect())
    }

    async fn message(&self, id: Uuid) -> Result<Option<Placed>, Error> {
        Ok(self.messages.lock().unwrap().iter().find(|placed| placed.message.id == id).cloned())
    }

    async fn has_message(&self, _: &str, _: &ChatId, _: &str) -> Result<bool, Error> {
        Ok(false)
    }

    async fn history(&self, _: Uuid, _: i64, _: usize) -> Result<Vec<Message>, Error> {
        Ok(Vec::new())
    }

    async fn turns(&self, _: Uuid, _: &PageOf) -> Result<Page<Turn>, Error> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn turn(&self, _: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error> {
        Ok(None)
    }

    async fn follow_ups(&self, _: &FollowUpFilter, _: &PageOf) -> Result<Page<(Uuid, FollowUp)>, Error> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn letters(&self, _: &LetterFilter, _: &PageOf) -> Result<Page<DeadLetter>, Error> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn letter(&self, _: Uuid) -> Result<Option<DeadLetter>, Error> {
        Ok(None)
    }

    async fn events(&self, filter: &EventFilter, _: &PageOf) -> Result<Page<Recorded>, Error> {
        self.asked.lock().unwrap().push(format!("{filter:?}"));
        Ok(Page { items: self.recorded(0), next: None })
    }

    async fn tail(&self, after: Option<&str>, limit: usize) -> Result<Tail, Error> {
        self.look()?;
        let number = |id: &str| id.strip_prefix('e').and_then(|digits| digits.parse::<usize>().ok());
        let from = match after {
            None => self.events.lock().unwrap().len(),
            Some(id) => number(id).ok_or_else(|| Error::Refused("no id of ours".into()))?,
        };
        if from < *self.forgotten.lock().unwrap() {
            return Ok(Tail::Resync(self.newest_event().await?));
        }
        let mut events = self.recorded(from);
        events.truncate(limit);
        Ok(Tail::Events(events))
    }

    async fn newest_event(&self) -> Result<String, Error> {
        self.look()?;
        Ok(format!("e{}", self.events.lock().unwrap().len()))
    }

    async fn buckets(&self, _: Time, _: Time, _: i64, _: Option<&[String]>) -> Result<Vec<Bucket>, Error> {
        Ok(Vec::new())
    }

    async fn depths(&self, _: Option<&[String]>) -> Result<Depths, Error> {
        self.look()?;
        Ok(Depths::default())
    }

    async fn leases(&self) -> Result<Vec<(Uuid, Lease)>, Error> {
        Ok(Vec::new())
    }
}

/// Channels, tokens, secrets and health of the installation.
#[derive(Default)]
pub(super) struct House {
    pub(super) channels: Mutex<Vec<Channel>>,
    pub(super) tokens: Mutex<Vec<(Token, String)>>,
    pub(super) webhook_tokens: Mutex<Vec<(String, Secret)>>,
    pub(super) kept: Mutex<Vec<Event>>,
    pub(super) is_away: AtomicBool,
}

impl House {
    fn look(&self) -> Result<(), Error> {
        if self.is_away.load(Ordering::SeqCst) { Err(away()) } else { Ok(()) }
    }
}

#[async_trait]
impl Registry for House {
    async fn installation(&self) -> Result<String, Error> {
        Ok("house".to_owned())
    }

    async fn channels(&self) -> Result<Vec<Channel>, Error> {
        Ok(self.channels.lock().unwrap().clone())
    }

    async fn add_channel(&self, channel: &Channel) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let is_free = all.iter().all(|other| other.name != channel.name);
        if is_free {
            all.push(channel.clone());
        }
        Ok(is_free)
    }

    async fn put_channel(&self, channel: &Channel) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let found = all.iter_mut().find(|other| other.name == channel.name);
        Ok(found.map(|other| *other = channel.clone()).is_some())
    }

    async fn remove_channel(&self, name: &str) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let before = all.len();
        all.retain(|channel| channel.name != name || name == "busy");
        Ok(all.len() < before)
    }

    async fn set_channel_state(&self, _: &str, _: &str, _: Time) -> Result<Option<String>, Error> {
        Ok(None)
    }

    async fn hold_channel(&self, _: &str, _: Time) -> Result<(), Error> {
        Ok(())
    }

    async fn add_token(&self, token: &Token, hash: &str) -> Result<(), Error> {
        self.tokens.lock().unwrap().push((token.clone(), hash.to_owned()));
        Ok(())
    }

    async fn tokens(&self) -> Result<Vec<Token>, Error> {
        Ok(self.tokens.lock().unwrap().iter().map(|(token, _)| token.clone()).collect())
    }

    async fn token(&self, hash: &str) -> Result<Option<Token>, Error> {
        self.look()?;
        let all = self.tokens.lock().unwrap();
        Ok(all.iter().find(|(_, kept)| kept == hash).map(|(token, _)| token.clone()))
    }

    async fn revoke_token(&self, id: Uuid) -> Result<bool, Error> {
        let mut all = self.tokens.lock().unwrap();
        let before = all.len();
        all.retain(|(token, _)| token.id != id);
        Ok(all.len() < before)
    }
}

#[async_trait]
impl Ledger for House {
    async fn run(&self, _: Key, _: Need, _: Erased) -> Result<(), Error> {
        Err(Error::Gone)
    }

    async fn due(&self, _: Work, _: usize) -> Result<Vec<Due>, Error> {
        Ok(Vec::new())
    }

    async fn standings(&self, _: &[Held], _: Option<i64>) -> Result<Vec<Standing>, Error> {
        Ok(Vec::new())
    }

    async fn keep(&self, events: Vec<Event>, _: Vec<DeadLetter>) -> Result<(), Error> {
        self.kept.lock().unwrap().extend(events);
        Ok(())
    }

    async fn now(&self) -> Result<Time, Error> {
        Ok(NOW)
    }
}

impl Channels for House {
    fn knows(&self, channel: &str) -> bool {
        self.webhook_tokens(channel).is_some()
    }

    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>> {
        let all = self.webhook_tokens.lock().unwrap();
        let mine: Vec<Secret> =
            all.iter().filter(|(name, _)| name == channel).map(|(_, token)| token.clone()).collect();
        (!mine.is_empty()).then_some(mine)
    }

    fn check(&self, settings: &Map<String, Value>) -> Result<(), (String, String)> {
        match settings.keys().find(|key| *key != "burst_quiet_ms") {
            Some(key) => Err((key.clone(), "no setting of a channel".to_owned())),
            None => Ok(()),
        }
    }

    fn changed(&self) {}
}

/// A vault that anyone could open.
impl Vault for House {
    fn seal(&self, plain: &[u8]) -> Vec<u8> {
        plain.iter().rev().copied().collect()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.iter().rev().copied().collect())
    }
}

#[async_trait]
impl Health for House {
    async fn look(&self) -> Readiness {
        let is_up = !self.is_away.load(Ordering::SeqCst);
        Readiness { database: is_up, migrated: is_up, redis: Some(false) }
    }
}

/// Intake, mode switch and desk: writes down what was asked.
#[derive(Default)]
pub(super) struct Clerk {
    pub(super) asked: Log,
    pub(super) refusal: Mutex<Option<Refusal>>,
    pub(super) is_away: AtomicBool,
    pub(super) panics: AtomicBool,
}

impl Clerk {
    fn hear(&self, what: String) -> Result<(), Refusal> {
        self.asked.lock().unwrap().push(what);
        assert!(!self.panics.load(Ordering::SeqCst), "told to");
        match self.refusal.lock().unwrap().take() {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    pub(super) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn name(key: &Key) -> String {
    match key {
        Key::Id(id) => id.to_string(),
        Key::Chat { channel, chat, .. } => format!("{channel}/{chat}"),
    }
}

pub(super) fn receipt(conversation: Conversation) -> Receipt {
    Receipt {
        conversation,
        changed: true,
        generation_cancelled: true,
        generation_ms: Some(1_800),
        parts_already_sent: 1,
        parts_discarded: 2,
        follow_up_cancelled: true,
        settled: true,
        in_flight: Vec::new(),
        at_provider: Vec::new(),
        answering: false,
    }
}

#[async_trait]
impl Intake for Clerk {
    async fn take(&self, channel: &str, body: &[u8]) -> Result<Verdict, Error> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(away());
        }
        let body = String::from_utf8_lossy(body);
        self.asked.lock().unwrap().push(format!("{channel} {body}"));
        Ok(match body.as_ref() {
            "again" => Verdict::Duplicate(None),
            "nothing" => Verdict::Ignored,
            "{" => Verdict::DeadLetter,
            _ => Verdict::Accepted(None),
        })
    }

    async fn take_sandbox(&self, bodies: Vec<Value>) -> Result<Vec<Verdict>, Error> {
        Ok(bodies.iter().map(|_| Verdict::Accepted(Some(Uuid::nil()))).collect())
    }
}

#[async_trait]
impl ModeSwitch for Clerk {
    async fn switch(&self, key: Key, to: Mode, request: mode_switch::Request) -> mode_switch::Answer {
        self.asked.lock().unwrap().push(format!("{} to {to} by {}", name(&key), request.actor));
        let mut conversation = conversation("default", "6580000001@c.us");
        if request.expected_version.is_some_and(|version| version != 1) {
            return Err(mode_switch::Refusal::VersionConflict(Box::new(conversation)));
        }
        conversation.mode.apply(Reason::AgentButton, to, &request.actor, NOW);
        Ok(receipt(conversation))
    }
}

#[async_trait]
impl Desk for Clerk {
    async fn say(
        &self,
        key: Key,
        text: String,
        _: Option<Uuid>,
        who: &Who,
        idempotency: Option<Idempotency>,
    ) -> Result<Said, Refusal> {
        let once = idempotency.map_or_else(String::new, |once| format!(" once {}", once.key));
        self.hear(format!("{} says {text:?} to {}{once}", who.actor, name(&key)))?;
        let takeover = Some(receipt(conversation("default", "6580000001@c.us")));
        Ok(Said { conversation: Uuid::nil(), message: message(1, &text), takeover })
    }

    async fn say_all(
        &self,
        key: Key,
        texts: Vec<(String, Option<Uuid>)>,
        who: &Who,
        _: Option<Idempotency>,
    ) -> Result<Vec<Said>, Refusal> {
        self.hear(format!("{} says {} texts to {}", who.actor, texts.len(), name(&key)))?;
        let said = |(text, _): (String, _)| Said {
            conversation: Uuid::nil(),
            message: message(1, &text),
            takeover: None,
        };
        Ok(texts.into_iter().map(said).collect())
    }

    async fn note(&self, _: Key, text: String, _: &Who, _: Option<Idempotency>) -> Result<Message, Refusal> {
        self.hear(format!("note {text:?}"))?;
        Ok(message(1, &text))
    }

    async fn retry(&self, id: Uuid, _: &Who) -> Result<Placed, Refusal> {
        self.hear(format!("retry {id}"))?;
        Err(Refusal::NotFound)
    }

    async fn confirm(&self, id: Uuid, _: &Who) -> Result<Placed, Refusal> {
        self.hear(format!("confirm {id}"))?;
        Err(Refusal::NotFound)
    }

    async fn withdraw(&self, id: Uuid, _: &Who) -> Result<Placed, Refusal> {
        self.hear(format!("withdraw {id}"))?;
        Err(Refusal::NotFound)
    }

    async fn patch(&self, key: Key, patch: Patch, _: &Who) -> Result<Uuid, Refusal> {
        self.hear(format!("{patch:?}"))?;
        match key {
            Key::Id(id) => Ok(id),
            Key::Chat { .. } => Err(Refusal::NotFound),
        }
    }

    async fn read(&self, key: Key, up_to: Option<i64>, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("read {} {up_to:?}", name(&key)))
    }

    async fn unread(&self, key: Key, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("unread {}", name(&key)))
    }

    async fn schedule(&self, _: Key, wish: FollowUpWish, who: &Who) -> Result<(FollowUp, bool), Refusal> {
        self.hear(format!("{wish:?}"))?;
        let follow_up = FollowUp {
            id: Uuid::now_v7(),
            due_at: wish.due_at.unwrap_or(NOW),
            text: wish.text,
            instructions: wish.instructions,
            created_by: who.actor.clone(),
            created_at: NOW,
            state: FollowUpState::Pending,
            reason: None,
            attempts: 0,
            message: None,
        };
        Ok((follow_up, true))
    }

    async fn call_off(&self, _: Key, _: &Who) -> Result<(), Refusal> {
        self.hear("call off".to_owned())
    }

    async fn replay(&self, letter: Uuid, force: bool, _: &Who) -> Result<DeadLetter, Refusal> {
        self.hear(format!("replay {letter} {force}"))?;
        Err(Refusal::NotFound)
    }

    async fn discard(&self, letter: Uuid, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("discard {letter}"))
    }
}
