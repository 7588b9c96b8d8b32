//! Rules: how far a message of ours got, as the provider reports it.
//!
//! In: delivery statuses. Out: the message moved forward, or failed in front of a person; or a report that waits for the
//! answer which will tell what it is about.

use uuid::Uuid;

use super::{Matched, by_provider_id, is_sending, outbox};
use crate::{
    domain::{
        conversation::AttentionReason,
        docket::{Docket, Entry, Report},
        event::{EventType, actor},
        message::{DeliveryReason, DeliveryState, Message},
        policy::Policy,
        turn::{LetterKind, LetterState},
    },
    flow::{conversations, journal::REPORTED},
};

/// A delivery status: moves the message forward, or waits for the answer that will tell its id.
pub fn take_status(
    docket: &mut Docket,
    policy: &Policy,
    provider_id: &str,
    state: DeliveryState,
    reason: Option<DeliveryReason>,
) -> Matched {
    let known = by_provider_id(docket, provider_id);
    if let Some(id) = known.filter(|id| !is_sending(docket, *id)) {
        report(docket, policy, id, provider_id, state, reason);
        return Matched::Ours(id);
    }
    let is_under_way =
        docket.deliveries().any(|delivery| delivery.state == DeliveryState::Sending || delivery.unclear > 0);
    if !is_under_way {
        return Matched::Nothing;
    }
    let report = Report::Status {
        state: state.as_str().to_owned(),
        reason: reason.map(|reason| reason.as_str().to_owned()),
    };
    if !docket
        .parked()
        .iter()
        .any(|parked| parked.provider_message_id == provider_id && parked.report == report)
    {
        docket.park(provider_id, report);
    }
    Matched::Parked
}

/// Whether a status that has changed nothing of that message was reported before. That it has left is not remembered by who has
/// said so, the status or the echo; and whoever has read it has it, whether that was reported or not.
pub fn was_reported(docket: &Docket, id: Uuid, state: DeliveryState) -> bool {
    let Some(delivery) = docket.delivery(id) else {
        return false;
    };
    match state {
        DeliveryState::Delivered => {
            delivery.delivered_at.is_some() && delivery.delivered_at != delivery.read_at
        }
        DeliveryState::Read => delivery.read_at.is_some(),
        DeliveryState::Failed => delivery.state == DeliveryState::Failed,
        DeliveryState::Sent
        | DeliveryState::Queued
        | DeliveryState::Sending
        | DeliveryState::Unknown
        | DeliveryState::Cancelled
        | DeliveryState::Dead => false,
    }
}

/// A status under one of a message's ids. That one attempt failed says nothing of a later one, which has another.
pub(super) fn report(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    provider_id: &str,
    state: DeliveryState,
    reason: Option<DeliveryReason>,
) {
    let is_current = |message: &Message| message.provider_message_id.as_deref() == Some(provider_id);
    if state != DeliveryState::Failed || docket.message(id).is_some_and(is_current) {
        advance(docket, policy, id, state, reason);
    }
}

pub(super) fn advance(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    report: DeliveryState,
    reason: Option<DeliveryReason>,
) {
    let now = docket.now;
    let Some(delivery) = docket.delivery(id).cloned() else { return };
    if report.is_accepted()
        && delivery.left_at.is_none()
        && let Some(delivery) = docket.edit_delivery(id)
    {
        delivery.left_at = Some(now);
    }
    let Some(next) = delivery.state.reported(report) else { return };
    if next == DeliveryState::Failed {
        let reason = reason.unwrap_or(DeliveryReason::Refused);
        outbox::give_up(docket, policy, id, DeliveryState::Failed, reason, REPORTED);
        return;
    }
    if !delivery.state.is_accepted()
        && let Some(provider_id) = docket.message(id).and_then(|message| message.provider_message_id.clone())
    {
        outbox::sent(docket, policy, id, &provider_id, None);
    }
    let Some(delivery) = docket.edit_delivery(id) else { return };
    delivery.state = next;
    delivery.reason = None;
    match next {
        DeliveryState::Delivered => delivery.delivered_at = Some(now),
        DeliveryState::Read => {
            delivery.delivered_at.get_or_insert(now);
            delivery.read_at = Some(now);
        }
        _ => {}
    }
    docket.record(Entry::of(EventType::DeliveryUpdated).message(id).with("state", next.as_str()));
    put_letter_away(docket, policy, id);
}

/// A message that was given up and arrived after all is not a dead letter.
pub(super) fn put_letter_away(docket: &mut Docket, policy: &Policy, message: Uuid) {
    let letter = docket.letters().iter().find(|letter| {
        letter.kind == LetterKind::Send
            && letter.subject == Some(message)
            && letter.state == LetterState::Open
    });
    if let Some(mut letter) = letter.cloned() {
        letter.state = LetterState::Discarded;
        letter.last_at = docket.now;
        docket.keep_letter(letter);
        docket.record(
            Entry::of(EventType::DeadLetterDiscarded).message(message).with("reason", "delivered_after_all"),
        );
        conversations::clear(docket, actor::SYSTEM, |reason| reason == AttentionReason::SendFailed);
        conversations::set_overdue_at(docket, policy);
    }
}
