//! Rules: what became of an attempt: sent, again, unknown, or given up in front of a person.
//!
//! In: the id of the attempt and its end. Out: the message's state, and what follows for the parts after it.

use uuid::Uuid;

use super::{
    cancel,
    claim::{refusal, refuse, was_closed},
    end_covered, withdraw,
};
use crate::{
    domain::{
        conversation::AttentionReason,
        docket::{Docket, Entry},
        event::{EventType, actor},
        message::{Delivery, DeliveryReason, DeliveryState, Gate, Message, Outcome, OutcomeReason},
        mode::Mode,
        policy::Policy,
        time::Time,
        turn::{DeadLetter, LetterKind, LetterState},
    },
    flow::{agenda, conversations, inbox, notes, reconcile},
};

/// What became of a POST, in the words of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The provider has it, under this id.
    Sent(String),
    /// Certainly not sent, and never will be.
    Refused(DeliveryReason, String),
    /// Certainly not sent; again, not before this long.
    Again(Option<i64>, String),
    /// Nothing was tried: back in the queue, at no cost.
    Untried,
    /// It may have been sent.
    Unclear(String),
}

/// Settles the attempt named: a later one is never touched. The id in the provider's answer always wins.
pub fn settle(docket: &mut Docket, policy: &Policy, attempt: Uuid, settled: &Settled, jitter: f64) {
    let of_attempt = |message: &&Message| {
        message
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.attempt.is_some_and(|held| held.id == attempt))
    };
    let Some(message) = docket.messages().iter().find(of_attempt).cloned() else { return };
    let Some(delivery) = &message.delivery else { return };
    let is_undecided = matches!(delivery.state, DeliveryState::Sending | DeliveryState::Unknown);
    if is_clear_after_all(&message, delivery.state, settled)
        && let Some(delivery) = docket.edit_delivery(message.id)
    {
        delivery.unclear = (delivery.unclear - 1).max(0);
    }
    match settled {
        Settled::Sent(provider_id) => {
            reconcile::take_back_id(docket, message.id, provider_id);
            reconcile::call(docket, message.id, provider_id, true);
            sent(docket, policy, message.id, provider_id, None);
            reconcile::apply_parked(docket, policy, message.id, provider_id);
        }
        _ if !is_undecided => {}
        Settled::Again(..) | Settled::Untried if is_overtaken(docket, &message) => {
            never_left(docket, policy, &message);
        }
        Settled::Refused(reason, detail) => {
            give_up(docket, policy, message.id, DeliveryState::Failed, *reason, detail)
        }
        Settled::Again(_, detail) if delivery.attempts >= policy.send_attempts => {
            give_up(docket, policy, message.id, DeliveryState::Dead, DeliveryReason::AttemptsUsed, detail);
        }
        Settled::Again(at_least_ms, detail) => {
            let wait_ms = policy.retry_ms(delivery.attempts, jitter, *at_least_ms);
            requeue(docket, policy, message.id, wait_ms);
            docket.record(
                Entry::of(EventType::MessageFailed)
                    .action("retried")
                    .message(message.id)
                    .with("attempt", delivery.attempts)
                    .with("detail", detail.as_str()),
            );
        }
        Settled::Untried => {
            requeue(docket, policy, message.id, 0);
            if let Some(delivery) = docket.edit_delivery(message.id) {
                delivery.attempts -= 1;
            }
        }
        // Its lease ended before: that it is unclear is known.
        Settled::Unclear(_) if delivery.state == DeliveryState::Unknown => {}
        Settled::Unclear(detail) => reconcile::lose_sight(docket, message.id, detail),
    }
    // Unless others are unknown still.
    conversations::clear(docket, actor::SYSTEM, |reason| reason == AttentionReason::SendUnknown);
    tell_settled(docket, delivery);
    reconcile::decide_parked(docket, policy);
    if !matches!(settled, Settled::Sent(_) | Settled::Unclear(_)) {
        // What it was to answer may have been taken over, and given back, since.
        conversations::call_for_who_is_left(docket);
    }
}

/// The last message of the machine that a takeover found on its way has found its end.
pub fn tell_settled(docket: &mut Docket, ended: &Delivery) {
    let was_overtaken = ended.gate != Gate::Person && ended.version < docket.conversation.mode.version;
    let is_last = !docket.messages().iter().any(|message| message.is(DeliveryState::Sending));
    if was_overtaken && is_last && docket.conversation.mode.mode == Mode::Human {
        docket.record(Entry::of(EventType::TakeoverSettled));
    }
}

/// Whether an attempt that was held for lost has been overtaken: something later has left, or is leaving.
fn is_overtaken(docket: &Docket, message: &Message) -> bool {
    let is_later = |other: &Message| other.seq > message.seq && other.is(DeliveryState::Sending);
    message.is(DeliveryState::Unknown)
        && (docket.conversation.our_seq > message.seq || docket.messages().iter().any(is_later))
}

/// It turns out that it never left, and sent now it would come out of order: a person's goes back to the person, the
/// machine's is called off.
fn never_left(docket: &mut Docket, policy: &Policy, message: &Message) {
    let Some(delivery) = &message.delivery else { return };
    let reason = DeliveryReason::Overtaken;
    if delivery.gate == Gate::Person {
        let detail = "it never left, and later words have";
        give_up(docket, policy, message.id, DeliveryState::Failed, reason, detail);
        return;
    }
    take_answer_back(docket, policy, message.id);
    withdraw(docket, reason, actor::SYSTEM, |other| other.reply == delivery.reply);
    cancel(docket, message.id, reason, actor::SYSTEM);
}

/// Whether the attempt was held for lost and is clear after all. Earlier ones stay unclear: their echoes may still come,
/// each under an id of its own.
fn is_clear_after_all(message: &Message, state: DeliveryState, settled: &Settled) -> bool {
    match settled {
        // Under an id that is known, its echo was here before.
        Settled::Sent(id) => state != DeliveryState::Sending && !reconcile::is_called(message, id),
        Settled::Refused(..) | Settled::Again(..) | Settled::Untried => state == DeliveryState::Unknown,
        Settled::Unclear(_) => false,
    }
}

fn requeue(docket: &mut Docket, policy: &Policy, id: Uuid, wait_ms: i64) {
    let due_at = docket.now.plus_ms(wait_ms);
    let Some(delivery) = docket.edit_delivery(id) else { return };
    delivery.state = DeliveryState::Queued;
    delivery.reason = None;
    delivery.due_at = due_at;
    let delivery = delivery.clone();
    let (reply, seq) = (delivery.reply, docket.message(id).map_or(0, |message| message.seq));
    let is_amended = take_answer_back(docket, policy, id);
    // Not only at the next claim: what ended it may be over by then, as when the contact opens a closed conversation.
    if let Some(reason) = refusal(&docket.conversation, policy, &delivery, docket.now, seq) {
        refuse(docket, policy, id, reason);
        return;
    }
    let covers = docket.messages().iter().any(|message| message.is_covered() && message.turn == Some(reply));
    if delivery.gate == Gate::Assistant && (covers || is_amended) {
        inbox::comes_back(docket, policy, reply, is_amended);
    }
}

/// Whether an earlier part of the reply has left or may have: a person may have withdrawn the first.
fn has_begun_before(docket: &Docket, delivery: &Delivery) -> bool {
    docket.deliveries().any(|other| {
        other.reply == delivery.reply
            && other.part < delivery.part
            && !matches!(other.state, DeliveryState::Queued | DeliveryState::Cancelled)
    })
}

/// The part with which a reply began to leave has certainly not left: what it answers is not answered. It is covered as
/// before, or shares the fate of everything that waited when a person took over or the conversation was closed. Sees
/// only the messages that were loaded with the attempt: those that were covered when it began. True if the contact has
/// changed any of them since it began to leave.
fn take_answer_back(docket: &mut Docket, policy: &Policy, id: Uuid) -> bool {
    let Some(message) = docket.message(id) else { return false };
    let (seq, turn) = (message.seq, message.turn);
    let Some(delivery) = message.delivery.as_ref() else { return false };
    let is_answer = matches!(delivery.gate, Gate::Assistant | Gate::Farewell);
    if !is_answer || turn.is_none() || has_begun_before(docket, delivery) {
        return false;
    }
    let (outcome, reason) = if was_closed(&docket.conversation, seq) {
        (Outcome::Ignored, Some(OutcomeReason::Closed))
    } else if delivery.version != docket.conversation.mode.version {
        (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman))
    } else {
        (Outcome::Pending, None)
    };
    let answered = docket.ids(|message| {
        message.turn == turn && message.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Answered)
    });
    let mut is_amended = docket.conversation.memo.amended.take_if(|amended| Some(*amended) == turn).is_some();
    for id in &answered {
        let Some(message) = docket.edit(*id) else { continue };
        let is_deleted = message.deleted_at.is_some();
        is_amended |= is_deleted;
        let Some(inbound) = &mut message.inbound else { continue };
        (inbound.outcome, inbound.reason) =
            if is_deleted { (Outcome::Ignored, Some(OutcomeReason::Deleted)) } else { (outcome, reason) };
        if inbound.outcome != Outcome::Pending {
            message.turn = None;
        }
    }
    let mut left = answered.iter().filter_map(|id| docket.message(*id));
    let Some(first) = left.find(|message| message.deleted_at.is_none()) else { return is_amended };
    let (first_seq, first_at) = (first.seq, first.at);
    // Unless a person has spoken since, the contact waits as long as before.
    if docket.conversation.our_seq == seq && outcome != Outcome::Ignored {
        docket.conversation.our_seq = first_seq - 1;
        let since = docket.conversation.waiting_since.map_or(first_at, |since| since.min(first_at));
        docket.conversation.waiting_since = Some(since);
        conversations::set_overdue_at(docket, policy);
    }
    is_amended
}

/// The provider has the message under this id, and, where that names the moment, has had it since then. The next part may be
/// typed from now on.
pub fn sent(docket: &mut Docket, policy: &Policy, id: Uuid, provider_id: &str, at: Option<Time>) {
    let now = docket.now;
    reconcile::call(docket, id, provider_id, false);
    let turn = docket.message(id).and_then(|message| message.turn);
    let Some(delivery) = docket.edit_delivery(id) else { return };
    if delivery.state.is_accepted() {
        return;
    }
    delivery.sent_at = Some(delivery.accepted_at(at, now));
    delivery.state = DeliveryState::Sent;
    delivery.reason = None;
    let delivery = delivery.clone();
    docket.record(
        Entry::of(EventType::MessageSent)
            .message(id)
            .with("part", delivery.part)
            .with("parts", delivery.parts)
            .with("attempts", delivery.attempts),
    );
    start_typing_next(docket, &delivery);
    if let Some(turn) = turn {
        notes::forget(docket, turn);
        docket.conversation.memo.amended.take_if(|amended| *amended == turn);
    }
    conversations::clear(docket, actor::SYSTEM, |reason| reason == AttentionReason::SendUnknown);
    conversations::set_overdue_at(docket, policy);
    count_follow_up(docket, id, &delivery);
}

/// One more has left in this silence, if that is one, and the last part of it.
pub fn count_follow_up(docket: &mut Docket, id: Uuid, delivery: &Delivery) {
    if delivery.gate == Gate::FollowUp && delivery.part == delivery.parts {
        docket.conversation.memo.follow_ups_sent += 1;
        docket.record(Entry::of(EventType::FollowUpSent).message(id));
    }
}

fn start_typing_next(docket: &mut Docket, before: &Delivery) {
    let now = docket.now;
    let next = docket.ids(|message| {
        message.delivery.as_ref().is_some_and(|delivery| {
            delivery.reply == before.reply
                && delivery.part == before.part + 1
                && delivery.state == DeliveryState::Queued
        })
    });
    for id in next {
        if let Some(delivery) = docket.edit_delivery(id) {
            delivery.due_at = now.plus_ms(delivery.typing_ms);
        }
    }
}

/// The machine gives a message up: dead letter, attention; the parts after it make no sense without it.
pub fn give_up(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    state: DeliveryState,
    reason: DeliveryReason,
    detail: &str,
) {
    let now = docket.now;
    let Some(message) = docket.edit(id) else { return };
    let (text, turn) = (message.text.clone(), message.turn);
    let Some(delivery) = &mut message.delivery else { return };
    let has_left = !matches!(delivery.state, DeliveryState::Sending | DeliveryState::Unknown);
    delivery.state = state;
    delivery.reason = Some(reason);
    let (reply, attempts) = (delivery.reply, delivery.attempts);
    if !has_left {
        take_answer_back(docket, policy, id);
        end_covered(docket, turn, Outcome::HandedOver);
    }
    docket.keep_letter(DeadLetter {
        id: Uuid::now_v7(),
        kind: LetterKind::Send,
        channel: docket.conversation.channel.clone(),
        conversation: Some(docket.conversation.id),
        subject: Some(id),
        state: LetterState::Open,
        reason: reason.as_str().to_owned(),
        attempts,
        first_at: now,
        last_at: now,
        payload: serde_json::json!({ "message_id": id.to_string(), "text": text }).into(),
    });
    docket.record(
        Entry::of(EventType::MessageFailed)
            .action("dead_lettered")
            .message(id)
            .with("reason", reason.as_str())
            .with("detail", detail),
    );
    if docket.conversation.memo.merged_into.is_none() {
        // In one that continues elsewhere nobody would look for it, and nothing could end the call.
        conversations::raise(docket, AttentionReason::SendFailed);
    }
    agenda::cancel(docket, "send_failed", actor::SYSTEM);
    withdraw(docket, DeliveryReason::Refused, actor::SYSTEM, |delivery| delivery.reply == reply);
    notes::bring_back(docket, reply);
    conversations::set_overdue_at(docket, policy);
}
