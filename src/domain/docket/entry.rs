//! An event in the making: what happened, said by the rule that decided it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::{
    event::{CHANNELS, Event, EventType, actor},
    time::Time,
};

/// An event in the making.
#[derive(Debug, Clone)]
pub struct Entry {
    kind: EventType,
    action: Option<&'static str>,
    actor: String,
    message: Option<Uuid>,
    turn: Option<Uuid>,
    details: Map<String, Value>,
}

impl Entry {
    /// Something happened, by the system itself unless said otherwise.
    pub fn of(kind: EventType) -> Self {
        Self {
            kind,
            action: None,
            actor: actor::SYSTEM.to_owned(),
            message: None,
            turn: None,
            details: Map::new(),
        }
    }

    /// What was done about it.
    pub const fn action(mut self, action: &'static str) -> Self {
        self.action = Some(action);
        self
    }

    /// Names who did it.
    pub fn by(mut self, actor: &str) -> Self {
        actor.clone_into(&mut self.actor);
        self
    }

    /// About which message.
    pub const fn message(mut self, id: Uuid) -> Self {
        self.message = Some(id);
        self
    }

    /// About which turn.
    pub const fn turn(mut self, id: Uuid) -> Self {
        self.turn = Some(id);
        self
    }

    /// With a detail.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// For those who see the channels of what it is about, those of before too if it had others. None: it is about all.
    pub fn for_channels(self, now: Option<&[String]>, before: Option<&[String]>) -> Self {
        let (Some(now), Some(before)) = (now, before) else { return self };
        let all: BTreeSet<&String> = now.iter().chain(before).collect();
        self.with(CHANNELS, all.into_iter().cloned().collect::<Vec<_>>())
    }

    /// As an event outside of any conversation.
    pub fn outside(self, channel: &str, now: Time) -> Event {
        Event {
            at: now,
            channel: channel.to_owned(),
            conversation: None,
            conv_seq: None,
            message: self.message,
            turn: self.turn,
            mode_version: None,
            actor: self.actor,
            kind: self.kind,
            action: self.action.map(Into::into),
            details: self.details,
        }
    }
}
