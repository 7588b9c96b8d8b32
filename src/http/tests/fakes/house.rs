use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{NOW, away};
use crate::{
    domain::{
        brake::{Brake, Latched},
        chat::ChatId,
        event::Event,
        time::Time,
        turn::DeadLetter,
    },
    flow::{
        archive::{Page, PageOf},
        back_office::{
            registry::{Channel, Linked, Registry, Token, Tokens},
            vault::Vault,
        },
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        provider::LinkCode,
    },
    http::ports::{Channels, Health, Readiness, Secret},
};

/// Channels, tokens, secrets and health of the installation.
#[derive(Default)]
pub(in super::super) struct House {
    pub(in super::super) channels: Mutex<Vec<Channel>>,
    pub(in super::super) tokens: Mutex<Vec<(Token, String)>>,
    pub(in super::super) webhook_tokens: Mutex<Vec<(String, Secret)>>,
    pub(in super::super) kept: Mutex<Vec<Event>>,
    pub(in super::super) is_away: AtomicBool,
    /// No event can be kept.
    pub(in super::super) keeps_nothing: AtomicBool,
    /// What somebody else makes of a channel just before the next change of one.
    pub(in super::super) meanwhile: Mutex<Option<Channel>>,
    /// Notifications are fetched from the providers.
    pub(in super::super) fetches: AtomicBool,
    /// What there is to link the phone with, one after another.
    pub(in super::super) codes: Mutex<VecDeque<LinkCode>>,
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
        let is_free = |other: &Channel| other.name != channel.name && !other.shares_account_with(channel);
        let is_free = all.iter().all(is_free);
        if is_free {
            all.push(channel.clone());
        }
        Ok(is_free)
    }

    async fn put_channel(&self, channel: &Channel, changed_at: Time) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        if let Some(theirs) = self.meanwhile.lock().unwrap().take() {
            let name = theirs.name.clone();
            *all.iter_mut().find(|other| other.name == name).unwrap() = theirs;
        }
        let found = all.iter_mut().find(|other| other.name == channel.name && other.updated_at == changed_at);
        Ok(found.map(|other| *other = channel.clone()).is_some())
    }

    async fn remove_channel(&self, name: &str) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let before = all.len();
        all.retain(|channel| channel.name != name || name == "busy");
        Ok(all.len() < before)
    }

    async fn now(&self) -> Result<Time, Error> {
        Ok(Time(1))
    }

    async fn set_channel_state(&self, _: &str, _: &str, _: Time) -> Result<bool, Error> {
        Ok(false)
    }

    async fn hold_channel(&self, _: &str, _: Time) -> Result<(), Error> {
        Ok(())
    }

    async fn release_channel(&self, _: &str, _: Time, _: Time) -> Result<(), Error> {
        Ok(())
    }

    async fn claim_look_up(&self, _: &str, _: Time, _: i64) -> Result<bool, Error> {
        Ok(true)
    }

    async fn latch_brake(&self, name: &str, latched: Latched, _: Option<Time>) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let found = all.iter_mut().find(|channel| channel.name == name);
        Ok(found.map(|channel| channel.brake.latched = Some(latched)).is_some())
    }

    async fn release_brake(&self, name: &str, now: Time) -> Result<bool, Error> {
        let mut all = self.channels.lock().unwrap();
        let found = all.iter_mut().find(|channel| channel.name == name && channel.brake.latched.is_some());
        Ok(found.map(|channel| channel.brake = Brake { latched: None, released_at: Some(now) }).is_some())
    }

    async fn restored_at(&self) -> Result<Option<Time>, Error> {
        Ok(None)
    }

    async fn chat_of(&self, _: &str, _: &str) -> Result<Option<ChatId>, Error> {
        Ok(None)
    }

    async fn sent_to(&self, _: &str, _: &str, _: &ChatId) -> Result<Option<ChatId>, Error> {
        Ok(None)
    }

    async fn ids_of(&self, _: &str, _: &ChatId) -> Result<Vec<ChatId>, Error> {
        Ok(Vec::new())
    }

    async fn link_chats(&self, _: &str, _: &ChatId, _: &ChatId) -> Result<Linked, Error> {
        Ok(Linked::Not)
    }

    async fn claim_poll(&self, _: &str, _: &str, _: i64) -> Result<bool, Error> {
        Ok(true)
    }

    async fn schedule_repair(&self, _: &str, _: i64) -> Result<(), Error> {
        Ok(())
    }

    async fn begin_repair(&self, _: &str, _: i64) -> Result<(), Error> {
        Ok(())
    }

    async fn claim_repair(&self, _: &str, _: Time, _: Time) -> Result<Option<Time>, Error> {
        Ok(None)
    }

    async fn end_repair(&self, _: &str, _: Time, _: Time, _: Time) -> Result<(), Error> {
        Ok(())
    }
}

#[async_trait]
impl Tokens for House {
    async fn add_token(&self, token: &Token, hash: &str) -> Result<(), Error> {
        self.tokens.lock().unwrap().push((token.clone(), hash.to_owned()));
        Ok(())
    }

    async fn tokens(&self, within: Option<&[String]>, page: &PageOf) -> Result<Page<Token>, Error> {
        if page.cursor.is_some() {
            return Err(Error::NotACursor);
        }
        let is_within = |token: &Token| match (within, &token.channels) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(seen), Some(channels)) => {
                !channels.is_empty() && channels.iter().all(|it| seen.contains(it))
            }
        };
        let all = self.tokens.lock().unwrap();
        let mut items: Vec<Token> = all.iter().map(|(token, _)| token.clone()).filter(is_within).collect();
        items.sort_by_key(|token| std::cmp::Reverse((token.created_at, token.id)));
        Ok(Page { items, next: None })
    }

    async fn token_of(&self, id: Uuid) -> Result<Option<Token>, Error> {
        let all = self.tokens.lock().unwrap();
        Ok(all.iter().find(|(token, _)| token.id == id).map(|(token, _)| token.clone()))
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

    async fn due(&self, _: Work, _: &[String], _: usize) -> Result<Vec<Due>, Error> {
        Ok(Vec::new())
    }

    async fn standings(&self, _: &[Held], _: Option<i64>) -> Result<Vec<Standing>, Error> {
        Ok(Vec::new())
    }

    async fn keep(&self, events: Vec<Event>, _: Vec<DeadLetter>) -> Result<(), Error> {
        if self.keeps_nothing.load(Ordering::SeqCst) {
            return Err(away());
        }
        self.kept.lock().unwrap().extend(events);
        Ok(())
    }

    async fn keep_once(&self, event: Event, _: DeadLetter) -> Result<bool, Error> {
        self.kept.lock().unwrap().push(event);
        Ok(true)
    }

    async fn now(&self) -> Result<Time, Error> {
        Ok(NOW)
    }

    fn forget(&self, _: Uuid) {}
}

#[async_trait]
impl Channels for House {
    async fn knows(&self, channel: &str) -> bool {
        self.webhook_tokens(channel).is_some()
    }

    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>> {
        let all = self.webhook_tokens.lock().unwrap();
        let mine: Vec<Secret> =
            all.iter().filter(|(name, _)| name == channel).map(|(_, token)| token.clone()).collect();
        (!mine.is_empty()).then_some(mine)
    }

    fn has_doors(&self) -> bool {
        !self.fetches.load(Ordering::Relaxed)
    }

    fn check(&self, settings: &Map<String, Value>) -> Result<(), (String, String)> {
        match settings.keys().find(|key| !["burst_quiet_ms", "ai_spend_per_day"].contains(&key.as_str())) {
            Some(key) => Err((key.clone(), "no setting of a channel".to_owned())),
            None => Ok(()),
        }
    }

    fn place(&self, url: &str) -> Option<(String, u16)> {
        let url = reqwest::Url::parse(url.trim()).ok()?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
    }

    async fn changed(&self) {}

    async fn link_code(&self, channel: &str) -> LinkCode {
        self.codes
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or(LinkCode::Unavailable { detail: format!("{channel} is alone") })
    }
}

/// A vault that anyone could open.
impl Vault for House {
    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        Some(plain.iter().rev().copied().collect())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.iter().rev().copied().collect())
    }
}

#[async_trait]
impl Health for House {
    async fn look(&self) -> Readiness {
        let is_up = !self.is_away.load(Ordering::SeqCst);
        Readiness { migrated: is_up.then_some(true), redis: Some(false) }
    }
}
