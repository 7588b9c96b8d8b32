//! Places and steps that say what they were told to, and remember what they were asked.

mod shelf;

mod house;

mod clerk;

mod crew;

mod drawer;

mod album;

mod postbox;

mod toy;

pub(super) use album::{Album, BROKEN, ENDLESS};
pub(super) use clerk::Clerk;
pub(super) use crew::Crew;
pub(super) use drawer::Drawer;
pub(super) use house::House;
pub(super) use postbox::Postbox;
pub(super) use shelf::{HOLDER, Shelf};
pub(super) use toy::Toy;

use serde_json::Map;

use super::{Log, NOW};
use crate::{
    domain::{
        chat::ChatId,
        conversation::{Conversation, Opening},
        event::{Event, EventType},
        message::{Author, Inbound, Kind, Message, Origin, Outcome},
        mode::{Mode, Reason},
    },
    flow::{archive::Overview, ledger::Error},
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
        labels: Vec::new(),
        follow_up: None,
        last_message: None,
        inbox: 0,
        queued: 0,
        sending: 0,
        said: None,
        read_at: NOW,
    }
}

pub(super) fn message(seq: i64, text: &str) -> Message {
    Message {
        seq,
        provider_message_id: Some(format!("P{seq}")),
        key: Some(format!("P{seq}")),
        at: NOW,
        inbound: Some(Inbound { outcome: Outcome::Pending, reason: None, starts_turn: true }),
        ..Message::of(Author::Contact, Origin::Webhook, Kind::Text, text.to_owned())
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
