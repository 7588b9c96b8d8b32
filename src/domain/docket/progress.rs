//! How far a step has brought messages and turns, for an observer that follows one message from outside: the
//! state before next to the state now, and no words.

use uuid::Uuid;

use super::{Dirty, Docket};
use crate::domain::{
    message::{Delivery, DeliveryState, Inbound, Message, Outcome},
    time::Time,
    turn::{Turn, TurnState},
};

/// How a message stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageState {
    /// Its outcome, if the contact wrote it.
    pub outcome: Option<Outcome>,
    /// The state of its delivery, if we send it.
    pub state: Option<DeliveryState>,
}

impl MessageState {
    /// As it stands now.
    pub fn of(message: &Message) -> Self {
        Self {
            outcome: message.inbound.map(|inbound| inbound.outcome),
            state: message.delivery.as_ref().map(|delivery| delivery.state),
        }
    }
}

/// How far a message has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageProgress {
    /// Ours.
    pub id: Uuid,
    /// When it was accepted here.
    pub at: Time,
    /// The turn that answered it, or wrote it.
    pub turn: Option<Uuid>,
    /// Its fate, if the contact wrote it.
    pub inbound: Option<Inbound>,
    /// Its way, if we send it.
    pub delivery: Option<Delivery>,
    /// A part of the same reply waits to leave, or is leaving.
    pub is_reply_owed: bool,
    /// How it stood before; None: it is new.
    pub before: Option<MessageState>,
}

/// How far a turn has come.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnProgress {
    /// As it stands now.
    pub turn: Turn,
    /// How it stood before; None: it has begun.
    pub before: Option<TurnState>,
}

pub(super) fn of_turns(turns: &[Turn], dirty: &Dirty) -> Vec<TurnProgress> {
    let is_new = |turn: &Turn| dirty.new_turns.contains(&turn.id);
    let changed = turns.iter().filter(|turn| !is_new(turn)).filter_map(|turn| {
        let before = dirty.turns.get(&turn.id).copied();
        before.map(|before| TurnProgress { turn: turn.clone(), before: Some(before) })
    });
    let begun = turns
        .iter()
        .filter(|turn| is_new(turn))
        .map(|turn| TurnProgress { turn: turn.clone(), before: None });
    changed.chain(begun).collect()
}

pub(super) fn of_messages(docket: &Docket, turns: &[TurnProgress]) -> Vec<MessageProgress> {
    let dirty = &docket.dirty;
    let is_new = |message: &Message| dirty.new_messages.contains(&message.id);
    let is_asked = |message: &Message| turns.iter().any(|it| it.turn.messages.contains(&message.id));
    let told = docket
        .messages
        .iter()
        .filter(|message| is_new(message) || dirty.messages.contains_key(&message.id) || is_asked(message));
    let of = |message: &Message| MessageProgress {
        id: message.id,
        at: message.at,
        turn: message.turn,
        inbound: message.inbound,
        delivery: message.delivery.clone(),
        is_reply_owed: message.delivery.as_ref().is_some_and(|delivery| docket.is_owed(delivery.reply)),
        before: (!is_new(message))
            .then(|| dirty.messages.get(&message.id).copied().unwrap_or_else(|| MessageState::of(message))),
    };
    told.map(of).collect()
}
