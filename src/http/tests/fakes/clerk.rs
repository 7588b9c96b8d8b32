use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use super::{Log, NOW, away, conversation, message};
use crate::{
    domain::{
        conversation::Conversation,
        enclosure::Enclosure,
        message::Message,
        mode::{Mode, Reason},
        turn::{DeadLetter, FollowUp, FollowUpState},
    },
    flow::{
        agenda::NewFollowUp,
        desk::{Approval, Idempotency, NewMessage, Patch, Posted, Refusal, Who},
        forgetting::erasures::Rows,
        intake::Verdict,
        ledger::{Error, Key},
        mode_switch::{self, Receipt},
    },
    http::ports::{Desk, Eraser, Intake, ModeSwitch},
};

/// Intake, mode switch and desk: writes down what was asked.
#[derive(Default)]
pub(in super::super) struct Clerk {
    pub(in super::super) asked: Log,
    pub(in super::super) refusal: Mutex<Option<Refusal>>,
    pub(in super::super) is_away: AtomicBool,
    pub(in super::super) panics: AtomicBool,
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

    pub(in super::super) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Of no chat there is a conversation.
fn id(key: &Key) -> Uuid {
    match key {
        Key::Id(id) => *id,
        Key::Chat { .. } => Uuid::nil(),
    }
}

fn name(key: &Key) -> String {
    match key {
        Key::Id(id) => id.to_string(),
        Key::Chat { channel, chat, .. } => format!("{channel}/{chat}"),
    }
}

fn receipt(conversation: Conversation) -> Receipt {
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
}

#[async_trait]
impl ModeSwitch for Clerk {
    async fn switch(&self, key: Key, to: Mode, request: mode_switch::Request) -> mode_switch::Answer {
        self.asked.lock().unwrap().push(format!("{} to {to} by {}", name(&key), request.who.actor));
        let mut conversation = conversation("default", "6580000001@c.us");
        if request.expected_version.is_some_and(|version| version != 1) {
            return Err(mode_switch::Refusal::VersionConflict);
        }
        conversation.mode.apply(Reason::AgentButton, to, &request.who.actor, NOW);
        Ok(Receipt { settled: request.settle_ms != Some(0), ..receipt(conversation) })
    }

    async fn settle(&self, receipt: Receipt, limit: Duration) -> mode_switch::Answer {
        self.asked.lock().unwrap().push(format!("settle within {} s", limit.as_secs_f64().ceil()));
        Ok(Receipt { settled: true, ..receipt })
    }
}

#[async_trait]
impl Desk for Clerk {
    async fn enclose(&self, name: &str, called: &str, bytes: Bytes) -> Result<Enclosure, Refusal> {
        self.hear(format!("keeps {name:?} {called:?} of {} bytes", bytes.len()))?;
        Enclosure::of(name, called, None, bytes.len()).ok_or(Refusal::Unsendable)
    }

    async fn say(
        &self,
        key: Key,
        words: Vec<NewMessage>,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Posted, Refusal> {
        let texts: Vec<&str> = words.iter().map(|words| words.text.as_str()).collect();
        let once = once.map_or_else(String::new, |once| format!(" once {}", once.key));
        self.hear(format!("{} says {texts:?} to {}{once}", who.actor, name(&key)))?;
        let takeover = Some(receipt(conversation("default", "6580000001@c.us")));
        let messages = words.iter().map(|words| message(1, &words.text)).collect();
        Ok(Posted { conversation: Uuid::nil(), messages, takeover })
    }

    async fn note(
        &self,
        key: Key,
        text: String,
        _: &Who,
        _: Option<Idempotency>,
    ) -> Result<(Uuid, Message), Refusal> {
        self.hear(format!("note {text:?}"))?;
        Ok((id(&key), message(1, &text)))
    }

    async fn retry(&self, id: Uuid, _: &Who) -> Result<Message, Refusal> {
        self.hear(format!("retry {id}"))?;
        Ok(message(1, "again"))
    }

    async fn confirm(&self, id: Uuid, _: &Who) -> Result<Message, Refusal> {
        self.hear(format!("confirm {id}"))?;
        Ok(message(1, "sent"))
    }

    async fn withdraw(&self, id: Uuid, _: &Who) -> Result<Message, Refusal> {
        self.hear(format!("withdraw {id}"))?;
        Ok(message(1, "withdrawn"))
    }

    async fn patch(&self, key: Key, patch: Patch, _: &Who) -> Result<Uuid, Refusal> {
        self.hear(format!("{patch:?}"))?;
        id_of(key)
    }

    async fn read(&self, key: Key, up_to: Option<i64>, _: &Who) -> Result<Uuid, Refusal> {
        self.hear(format!("read {} {up_to:?}", name(&key)))?;
        id_of(key)
    }

    async fn unread(&self, key: Key, _: &Who) -> Result<Uuid, Refusal> {
        self.hear(format!("unread {}", name(&key)))?;
        id_of(key)
    }

    async fn schedule(
        &self,
        key: Key,
        new: NewFollowUp,
        who: &Who,
    ) -> Result<(Uuid, FollowUp, bool), Refusal> {
        self.hear(format!("{new:?}"))?;
        let follow_up = FollowUp {
            id: Uuid::now_v7(),
            due_at: new.due_at.unwrap_or(NOW),
            text: new.text,
            instructions: new.instructions,
            created_by: who.actor.clone(),
            created_at: NOW,
            state: FollowUpState::Pending,
            reason: None,
            attempts: 0,
            message: None,
        };
        Ok((id(&key), follow_up, true))
    }

    async fn call_off(&self, _: Key, _: &Who) -> Result<(), Refusal> {
        self.hear("call off".to_owned())
    }

    async fn free(&self, agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal> {
        self.hear(format!("free {agent} except on {except:?} by {}", who.actor))?;
        Ok(3)
    }

    async fn ask_for_draft(
        &self,
        key: Key,
        _: &Who,
        once: Option<Idempotency>,
    ) -> Result<(Uuid, Uuid), Refusal> {
        self.hear(format!("draft {} {once:?}", name(&key)))?;
        Ok((id_of(key)?, Uuid::nil()))
    }

    async fn send_draft(
        &self,
        key: Key,
        draft: Uuid,
        approval: Approval,
        who: &Who,
        once: Option<Idempotency>,
    ) -> Result<Posted, Refusal> {
        let key_is_given = once.is_some();
        self.hear(format!("send {draft} {approval:?} by {} {key_is_given}", who.actor))?;
        let takeover = Some(receipt(conversation("default", "6580000001@c.us")));
        let text = approval.text.unwrap_or_else(|| "as written".to_owned());
        Ok(Posted { conversation: id_of(key)?, messages: vec![message(1, &text)], takeover })
    }

    async fn discard_draft(&self, _: Key, draft: Uuid, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("discard draft {draft}"))
    }

    async fn replay(&self, letter: Uuid, force: bool, _: &Who) -> Result<DeadLetter, Refusal> {
        self.hear(format!("replay {letter} {force}"))?;
        Err(Refusal::NotFound)
    }

    async fn tell_again(&self, delivery: Uuid, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("tell {delivery} again"))
    }

    async fn discard(&self, letter: Uuid, _: &Who) -> Result<(), Refusal> {
        self.hear(format!("discard {letter}"))
    }
}

fn id_of(key: Key) -> Result<Uuid, Refusal> {
    match key {
        Key::Id(id) => Ok(id),
        Key::Chat { .. } => Err(Refusal::NotFound),
    }
}

#[async_trait]
impl Eraser for Clerk {
    async fn close(&self, conversation: Uuid, actor: &str) -> Result<Vec<Uuid>, Error> {
        self.asked.lock().unwrap().push(format!("erase {conversation} by {actor}"));
        Ok(vec![conversation])
    }

    async fn remove(&self, _: &[Uuid]) -> Result<Rows, Error> {
        Ok(Rows::new())
    }
}
