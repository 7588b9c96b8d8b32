//! The life that goes on meanwhile: contacts who write, agents who take over, say something and give back.
//!
//! In: how much of it, over how long. Out: webhooks through the courier, calls of the API; what was done, in the records.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::{
    api::Api,
    courier::{Courier, Notice},
    gateway::{Gateway, channel_name, channel_of, chat_of, whole_chat_of},
    records::{Book, Said, Takeover, Written},
};
use crate::fakes::{names::Marker, webhooks};

/// One takeover for so many messages.
const MESSAGES_A_TAKEOVER: usize = 40;
/// Webhooks that wait, for each contact: with more, contacts write no faster than Baton listens.
const BACKLOG_A_CONTACT: usize = 2;
const BUSY: Duration = Duration::from_millis(20);
const HELD_MS: (u64, u64) = (200, 4_000);
/// A switch that is not settled is asked for again so often.
const SETTLE_TRIES: usize = 10;

/// Whoever makes the load.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) book: Arc<Book>,
    pub(super) courier: Arc<Courier>,
    pub(super) gateway: Arc<Gateway>,
    pub(super) api: Api,
    pub(super) contacts: usize,
}

impl Load {
    /// Contacts write so many messages, evenly over that time or as fast as they are taken. Tells which share is written.
    pub(super) async fn write(
        self,
        messages: usize,
        length: Duration,
        mut dice: fastrand::Rng,
        progress: watch::Sender<f64>,
    ) {
        let began = Instant::now();
        let mut numbers = vec![0; self.contacts];
        let mut written = 0;
        while written < messages {
            let is_early = began.elapsed() < length.mul_f64(written as f64 / messages as f64);
            if is_early || self.courier.waiting() > self.contacts * BACKLOG_A_CONTACT {
                sleep(BUSY).await;
                continue;
            }
            let contact = dice.usize(0..self.contacts);
            for _ in 0..dice.usize(1..=3).min(messages - written) {
                self.say(Marker { contact, number: numbers[contact] });
                numbers[contact] += 1;
                written += 1;
                // Nobody may wait for it any more.
                let _ = progress.send(written as f64 / messages as f64);
                if dice.bool() {
                    sleep(Duration::from_millis(dice.u64(0..40))).await;
                }
            }
        }
    }

    fn say(&self, marker: Marker) {
        let (id, text) = (format!("IN{marker}"), format!("{marker} is what I wanted to ask"));
        {
            let mut records = self.book.open();
            records.written.insert(marker, Written { at: Instant::now(), accepted: None });
            records.open.insert(marker);
        }
        self.gateway.note_incoming(marker, &id, &text);
        let body = webhooks::incoming(&whole_chat_of(marker.contact), &id, &text);
        self.courier.hand_in(marker.contact, Notice { body, marker: Some(marker) });
    }

    /// Agents take over, evenly over what is written, mostly where somebody waits for an answer; each conversation by
    /// one at a time. Ends when all were given back.
    pub(super) async fn take_over(
        self,
        messages: usize,
        mut dice: fastrand::Rng,
        mut progress: watch::Receiver<f64>,
    ) -> Result<()> {
        let takeovers = messages / MESSAGES_A_TAKEOVER;
        let mut taken = vec![false; self.contacts];
        let mut running = JoinSet::new();
        let mut trouble = Ok(());
        for number in 0..takeovers {
            let share = number as f64 / takeovers as f64;
            // All is written when nobody tells any more.
            let _ = progress.wait_for(|written| *written >= share).await;
            while let Some(done) = running.try_join_next() {
                let (contact, outcome): (usize, Result<()>) = done?;
                taken[contact] = false;
                trouble = trouble.and(outcome);
            }
            let contact = self.choose(&mut dice);
            if !std::mem::replace(&mut taken[contact], true) {
                let (load, dice) = (self.clone(), dice.fork());
                running.spawn(async move { (contact, load.visit(contact, dice).await) });
            }
        }
        while let Some(done) = running.join_next().await {
            trouble = trouble.and(done?.1);
        }
        trouble
    }

    fn choose(&self, dice: &mut fastrand::Rng) -> usize {
        let records = self.book.open();
        let waiting = records.open.len();
        if waiting > 0 && dice.u8(0..10) < 8 {
            let chosen = records.open.iter().nth(dice.usize(0..waiting));
            return chosen.map_or(0, |marker| marker.contact);
        }
        dice.usize(0..self.contacts)
    }

    /// One takeover from its beginning to its end.
    async fn visit(&self, contact: usize, mut dice: fastrand::Rng) -> Result<()> {
        let Some((id, version)) = self.find(contact, &mut dice).await? else { return Ok(()) };
        let number = {
            let mut records = self.book.open();
            let asked = Instant::now();
            records.takeovers.push(Takeover {
                contact,
                asked,
                settled: None,
                released: None,
                returned: None,
            });
            records.takeovers.len() - 1
        };
        let (mut receipt, mut at) = self.switch(&id, "HUMAN", version, &json!({}), &mut dice).await?;
        for _ in 0..SETTLE_TRIES {
            if receipt["settled"] == true {
                self.book.open().takeovers[number].settled = Some(at);
                break;
            }
            // What changes nothing still waits until all is settled.
            (receipt, at) = self.switch(&id, "HUMAN", version_of(&receipt)?, &json!({}), &mut dice).await?;
        }
        let version = version_of(&receipt)?;
        if dice.u8(0..10) < 4 {
            self.speak(contact, &id, number, &mut dice).await?;
        }
        sleep(Duration::from_millis(dice.u64(HELD_MS.0..HELD_MS.1))).await;
        self.book.open().takeovers[number].released = Some(Instant::now());
        let answer_now = json!({ "answer_now": dice.u8(0..10) < 3 });
        self.switch(&id, "AI", version, &answer_now, &mut dice).await?;
        let mut records = self.book.open();
        records.takeovers[number].returned = Some(Instant::now());
        // What was written before it is not owed an answer any more.
        records.open.retain(|marker| marker.contact != contact);
        Ok(())
    }

    /// The conversation, if Baton has heard of it, and its mode version.
    async fn find(&self, contact: usize, dice: &mut fastrand::Rng) -> Result<Option<(String, i64)>> {
        let (channel, chat) = (channel_name(channel_of(contact)), chat_of(contact));
        let path = format!("/api/v1/conversations?channel={channel}&chat_id={chat}");
        let found = self.api.get(&path, dice).await?;
        let conversation = &found["items"][0];
        let id = conversation["id"].as_str().map(str::to_owned);
        Ok(id.zip(conversation["mode_version"].as_i64()))
    }

    /// Switches once, however often it must be asked for: only from the version known, so that no copy of the question
    /// that somebody frozen hears later switches again. Returns the receipt and when it had come; or, if an earlier copy
    /// had switched already, the conversation.
    async fn switch(
        &self,
        id: &str,
        mode: &str,
        version: i64,
        more: &Value,
        dice: &mut fastrand::Rng,
    ) -> Result<(Value, Instant)> {
        let mut body = json!({ "mode": mode, "expected_version": version });
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let path = format!("/api/v1/conversations/{id}/mode");
        let answer = self.api.ask("PUT", &path, None, Some(&body), dice).await?;
        let at = Instant::now();
        let (status, mut now) = (answer.status, answer.body);
        if status == 409 {
            now = self.api.get(&format!("/api/v1/conversations/{id}"), dice).await?;
        }
        if !matches!(status, 200 | 409) || now["mode"] != mode {
            bail!("{mode} from version {version} of {id} was answered {status}: {now}");
        }
        Ok((now, at))
    }

    async fn speak(&self, contact: usize, id: &str, number: usize, dice: &mut fastrand::Rng) -> Result<()> {
        let text = format!("An agent says h{number}");
        let at = {
            let mut records = self.book.open();
            records.said.push(Said { contact, text: text.clone(), accepted: false });
            records.said.len() - 1
        };
        let path = format!("/api/v1/conversations/{id}/messages");
        let key = format!("said-{number}");
        let answer = self.api.ask("POST", &path, Some(&key), Some(&json!({ "text": text })), dice).await?;
        if answer.status != 202 {
            bail!("an agent's message was answered {}: {}", answer.status, answer.body);
        }
        self.book.open().said[at].accepted = true;
        Ok(())
    }
}

fn version_of(receipt: &Value) -> Result<i64> {
    receipt["mode_version"].as_i64().context("a receipt without a version")
}
