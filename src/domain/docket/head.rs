//! Rules: what leaves next of all that is owed, and whether our side would be typing it now.
//!
//! In: messages by their numbers. Out: the delivery at the head; the part that waits out the time a person would take.

use crate::domain::{
    message::{Delivery, DeliveryState, Message},
    pacing,
    time::Time,
};

/// The first owed message. None while another is being sent, or while an earlier part of the same reply has an unknown fate.
pub(super) fn head(messages: &[Message]) -> Option<&Delivery> {
    let head = messages.iter().find(|message| message.is(DeliveryState::Queued))?;
    let delivery = head.delivery.as_ref()?;
    let is_held = messages.iter().filter_map(|message| message.delivery.as_ref()).any(|other| {
        other.state == DeliveryState::Sending
            || (other.state == DeliveryState::Unknown && other.reply == delivery.reply)
    });
    (!is_held).then_some(delivery)
}

/// The delay before a part leaves, where it is long enough to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typing {
    /// Which part of its reply, from 1.
    pub part: i32,
    /// When it may leave, by the store's clock.
    pub until: Time,
}

impl Typing {
    /// Of these messages, by their numbers, at that moment. A part that waits to be tried again is not being typed.
    pub fn of(messages: &[Message], now: Time) -> Option<Self> {
        let delivery = head(messages)?;
        let waits =
            delivery.attempts == 0 && pacing::shows_typing(delivery.typing_ms) && delivery.due_at > now;
        waits.then_some(Self { part: delivery.part, until: delivery.due_at })
    }
}
