//! Rules: a person or a clock wants an answer now, to everything since our side last spoke.
//!
//! In: what was left to people, or given up. Out: messages that wait again, and a burst that is ripe; a notice or a person
//! for what nobody can read.

use uuid::Uuid;

use super::not_readable;
use crate::{
    domain::{
        conversation::Status,
        docket::Docket,
        event::actor,
        message::{Author, Delivery, DeliveryState, Gate, Kind, Message, Outcome},
        policy::Policy,
    },
    flow::{conversations, outbox, reply::errands},
};

/// What our side had heard when it last spoke: a reply answers what its turn had read, and a message that came while it
/// was written has a lower number than the reply itself.
///
/// Baton's own words, from the settings, answer nothing.
fn heard_up_to(docket: &Docket) -> i64 {
    let our_seq = docket.conversation.our_seq;
    let last = docket.messages().iter().find(|message| message.seq == our_seq);
    let is_by_itself = |message: &Message| message.author == Author::System;
    let last = match last {
        Some(message) if is_by_itself(message) => {
            docket.messages().iter().rev().find(|message| is_said(message))
        }
        last => last,
    };
    let (our_seq, reply) = last.map_or((0, None), |message| (message.seq, message.turn));
    let is_heard = |message: &&Message| {
        reply.is_some()
            && message.turn == reply
            && message.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Answered)
    };
    docket.messages().iter().filter(is_heard).map(|message| message.seq).max().unwrap_or(our_seq)
}

/// Whether the assistant or a person has said it to the contact.
fn is_said(message: &Message) -> bool {
    let has_left = message.delivery.as_ref().is_none_or(|delivery| {
        !matches!(
            delivery.state,
            DeliveryState::Queued | DeliveryState::Cancelled | DeliveryState::Failed | DeliveryState::Dead
        )
    });
    matches!(message.author, Author::Assistant | Author::Agent) && message.kind != Kind::Note && has_left
}

/// A person wants an answer now: everything since our side last spoke waits again. True if there is anything.
pub fn answer_now(docket: &mut Docket) -> bool {
    let since = heard_up_to(docket);
    let is_ours = |message: &Message| {
        message.seq > since
            && message.inbound.is_some_and(|inbound| inbound.starts_turn)
            && message.is_left_open()
    };
    let ids = docket.ids(is_ours);
    let mut is_given_up = false;
    for id in &ids {
        if let Some(message) = docket.edit(*id)
            && let Some(inbound) = &mut message.inbound
            && inbound.outcome != Outcome::Pending
        {
            inbound.outcome = Outcome::Pending;
            inbound.reason = None;
            // The turn that gave it up has no say any more.
            message.turn = None;
            is_given_up = true;
        }
    }
    if ids.is_empty() {
        return false;
    }
    if is_given_up {
        start_again(docket);
    }
    conversations::set_status(docket, Status::Open, None, actor::SYSTEM);
    if !docket.messages().iter().any(Message::waits) {
        // Its answer is owed already.
        return true;
    }
    let now = docket.now;
    let memo = &mut docket.conversation.memo;
    memo.burst_first_at.get_or_insert(now.0);
    memo.burst_last_at.get_or_insert(now.0);
    memo.failures = 0;
    memo.retry_at = None;
    memo.wish(now);
    true
}

/// An answer to what came since, that is being written or has not begun to leave, has read the rest as what was said before: it
/// gives way to one to all of it, or the contact would be answered twice.
pub(in crate::flow) fn start_again(docket: &mut Docket) {
    conversations::restart_turn(docket, "answer_now", actor::SYSTEM);
    docket.conversation.memo.reply = None;
    let is_whole = |delivery: &&Delivery| {
        delivery.gate == Gate::Assistant && delivery.state == DeliveryState::Queued && delivery.part == 1
    };
    let owed: Vec<Uuid> = docket.deliveries().filter(is_whole).map(|delivery| delivery.reply).collect();
    for reply in owed {
        if !errands::are_told(docket, reply) {
            outbox::withdraw_reply(docket, reply);
        }
    }
}

/// The assistant comes back by itself to what was left to people, who have said nothing since: what it cannot read ends as
/// if it came now.
pub fn leave_unread(docket: &mut Docket, policy: &Policy) {
    let since = heard_up_to(docket);
    let is_unread = |message: &Message| {
        message.seq > since
            && message.deleted_at.is_none()
            && message
                .inbound
                .is_some_and(|inbound| !inbound.starts_turn && inbound.outcome == Outcome::LeftToHuman)
    };
    for id in docket.ids(is_unread) {
        not_readable(docket, policy, id);
    }
}
