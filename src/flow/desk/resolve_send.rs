//! Rules: what a person decides about one of our messages: send it again, count it as sent, or withdraw it.
//!
//! In: the message. Out: queued, sent or withdrawn, or a refusal; the letter about it ends.

use uuid::Uuid;

use super::{Refusal, Who, conflict, letters, not_retryable, refuse_unaddressed};
use crate::{
    domain::{
        conversation::AttentionReason,
        docket::{Docket, Entry},
        event::EventType,
        lane::Lane,
        message::{Author, DeliveryReason, DeliveryState, Gate, Message},
        policy::Policy,
        turn::{DeadLetter, LetterState},
    },
    flow::{agenda, conversations, drafts, inbox, outbox},
};

pub(in crate::flow) fn retry(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    refuse_unaddressed(&docket.conversation.chat)?;
    let now = docket.now;
    let version = docket.conversation.mode.version;
    let state = docket.delivery(id).map(|delivery| delivery.state);
    match state {
        Some(DeliveryState::Failed | DeliveryState::Dead | DeliveryState::Unknown) => {}
        Some(DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read) => {
            return Err(conflict("already_sent", "the message was sent"));
        }
        Some(DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Cancelled) | None => {
            return Err(not_retryable("it is neither failed, dead nor unknown"));
        }
    }
    let was_unclear = docket.delivery(id).is_some_and(|delivery| delivery.unclear > 0);
    if let Some(delivery) = docket.edit_delivery(id) {
        delivery.state = DeliveryState::Queued;
        delivery.reason = None;
        delivery.gate = Gate::Person;
        delivery.lane = Lane::Human;
        delivery.version = version;
        delivery.attempts = 0;
        delivery.due_at = now;
    }
    drafts::our_side_wrote(docket, &who.actor);
    if was_unclear {
        docket.record(Entry::of(EventType::SendReconciled).action("resent").by(&who.actor).message(id));
    }
    docket.record(Entry::of(EventType::MessageQueued).by(&who.actor).message(id));
    after_message_settled(docket, policy, id, who);
    Ok(())
}

pub(in crate::flow) fn confirm(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    let now = docket.now;
    let delivery = docket.edit_delivery(id).ok_or(Refusal::NotFound)?;
    if delivery.state != DeliveryState::Unknown {
        return Err(not_retryable("its fate is not unknown"));
    }
    delivery.sent_at = Some(delivery.accepted_at(None, now));
    delivery.state = DeliveryState::Sent;
    delivery.reason = None;
    let delivery = delivery.clone();
    // Stays unclear: its echo may still come, and is then recognised.
    docket.record(
        Entry::of(EventType::SendReconciled)
            .action("confirmed_sent")
            .by(&who.actor)
            .message(id)
            .with("by", "person"),
    );
    outbox::count_follow_up(docket, id, &delivery);
    after_message_settled(docket, policy, id, who);
    Ok(())
}

/// A person has decided about a message: its letter and the call about it end with that. What else they are called for they
/// may not have seen.
fn after_message_settled(docket: &mut Docket, policy: &Policy, id: Uuid, who: &Who) {
    let is_about_it = |letter: &&DeadLetter| letter.subject == Some(id) && letter.state == LetterState::Open;
    let letter = docket.letters().iter().find(is_about_it).map(|letter| letter.id);
    if let Some(letter) = letter {
        letters::tried_again(docket, letter, who);
    }
    let is_of_a_send = |reason| matches!(reason, AttentionReason::SendUnknown | AttentionReason::SendFailed);
    conversations::clear(docket, &who.actor, is_of_a_send);
    conversations::set_overdue_at(docket, policy);
}

/// What was withdrawn was not said: the contact may wait again.
pub(super) fn take_back_words(docket: &mut Docket, policy: &Policy) {
    // Words that say that somebody comes are none that the contact waited for.
    let is_no_answer = |message: &Message| {
        matches!(message.author, Author::Contact | Author::System)
            || message.delivery.as_ref().is_some_and(|delivery| delivery.gate == Gate::Farewell)
            || !message.kind.is_said()
            || message.is(DeliveryState::Cancelled)
            || message.is_machine_made() && message.is(DeliveryState::Queued)
    };
    let said = docket.messages().iter().filter(|message| !is_no_answer(message)).map(|message| message.seq);
    let said = said.max().unwrap_or(0);
    if docket.conversation.our_seq <= said {
        return;
    }
    // Also where words before these are on their way: if they fail, the contact waits after all.
    docket.conversation.our_seq = said;
    let is_unanswered = |message: &&Message| message.seq > said && message.is_left_open();
    let since = docket.messages().iter().find(is_unanswered).map(|message| message.at);
    docket.conversation.waiting_since = docket.conversation.waiting_since.or(since);
    conversations::set_overdue_at(docket, policy);
}

pub(in crate::flow) fn withdraw(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    who: &Who,
) -> Result<(), Refusal> {
    let state = docket.delivery(id).map(|delivery| delivery.state);
    match state {
        Some(DeliveryState::Queued) => {
            outbox::cancel(docket, id, DeliveryReason::DeletedByAgent, &who.actor);
            agenda::cancel_automatic(docket, &who.actor);
            take_back_words(docket, policy);
            inbox::set_ripe_at(docket, policy);
            Ok(())
        }
        None | Some(DeliveryState::Cancelled) => Err(Refusal::NotFound),
        Some(DeliveryState::Failed | DeliveryState::Dead | DeliveryState::Unknown) => {
            Err(conflict("version_conflict", "it is no longer queued"))
        }
        Some(
            DeliveryState::Sending | DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read,
        ) => Err(conflict("already_sent", "it is leaving or has left")),
    }
}
