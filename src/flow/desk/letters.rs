//! Rules: a dead letter is tried again, unless that would answer what has been answered.
//!
//! In: the letter. Out: messages that wait again or are owed again, or a refusal.

use serde_json::Value;
use uuid::Uuid;

use super::{
    Refusal, Who, conflict, messages, not_retryable,
    refusal::{ANSWERED, BEING_ANSWERED, TAKEN_OVER},
    resolve_send,
};
use crate::{
    domain::{
        conversation::Status,
        docket::{Docket, Entry},
        event::{EventType, actor},
        message::{Author, DeliveryState, Gate, Kind, Message, Outcome},
        mode::{Mode, Reason},
        policy::Policy,
        turn::{DeadLetter, LetterKind, LetterState, Purpose, Turn},
    },
    flow::{
        conversations::{self, By},
        inbox,
    },
};

pub(super) fn subjects_of(letter: &DeadLetter) -> Vec<Uuid> {
    match letter.kind {
        LetterKind::Turn => {
            messages::ids_of(&letter.payload.read::<Value>().unwrap_or_default()["message_ids"])
        }
        LetterKind::Send => letter.subject.into_iter().collect(),
        LetterKind::Webhook | LetterKind::Delivery => Vec::new(),
    }
}

/// What it keeps is under way again.
pub(super) fn tried_again(docket: &mut Docket, id: Uuid, who: &Who) {
    end(docket, id, LetterState::Replayed);
    docket.record(
        Entry::of(EventType::DeadLetterReplayed).by(&who.actor).with("dead_letter_id", id.to_string()),
    );
}

fn end(docket: &mut Docket, id: Uuid, state: LetterState) {
    let letter = docket.letters().iter().find(|letter| letter.id == id).cloned();
    if let Some(mut letter) = letter {
        letter.state = state;
        letter.last_at = docket.now;
        docket.keep_letter(letter);
    }
}

pub(in crate::flow) fn replay(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    force: bool,
    who: &Who,
) -> Result<DeadLetter, Refusal> {
    let letter = docket.letters().iter().find(|letter| letter.id == id).cloned().ok_or(Refusal::NotFound)?;
    if letter.state != LetterState::Open {
        return Err(not_retryable("it was replayed or discarded before"));
    }
    match letter.kind {
        LetterKind::Turn => {
            replay_turn(docket, policy, &letter, force, who)?;
            tried_again(docket, id, who);
        }
        LetterKind::Send => {
            let message = letter.subject.ok_or(Refusal::NotFound)?;
            if force {
                make_way(docket, policy, message);
            } else {
                refuse_unwanted_send(docket, message)?;
            }
            // The letter ends with it.
            resolve_send::retry(docket, policy, message, who)?;
        }
        LetterKind::Webhook | LetterKind::Delivery => {
            return Err(not_retryable("letters of this kind are not replayed so"));
        }
    }
    docket.letters().iter().find(|letter| letter.id == id).cloned().ok_or(Refusal::NotFound)
}

/// Puts a letter away, unless somebody has decided about it meanwhile.
pub(in crate::flow) fn discard(docket: &mut Docket, id: Uuid, who: &Who) -> Result<(), Refusal> {
    let is_open = |letter: &&DeadLetter| letter.id == id && letter.state == LetterState::Open;
    let letter = docket.letters().iter().find(is_open).cloned().ok_or(Refusal::NotFound)?;
    for subject in subjects_of(&letter) {
        if let Some(inbound) = docket.edit_inbound(subject)
            && inbound.outcome == Outcome::HandedOver
        {
            inbound.outcome = Outcome::Dead;
        }
    }
    end(docket, id, LetterState::Discarded);
    docket.record(
        Entry::of(EventType::DeadLetterDiscarded).by(&who.actor).with("dead_letter_id", id.to_string()),
    );
    Ok(())
}

/// The messages of a failed turn wait again, with a full new set of attempts. By force the AI answers at once, no
/// matter who has the conversation: it is given back first.
fn replay_turn(
    docket: &mut Docket,
    policy: &Policy,
    letter: &DeadLetter,
    force: bool,
    who: &Who,
) -> Result<(), Refusal> {
    let ids = subjects_of(letter);
    if !policy.has_model {
        return Err(conflict("no_model", "there is no model that could answer"));
    }
    let newest =
        docket.messages().iter().filter(|message| ids.contains(&message.id)).map(|message| message.seq).max();
    let Some(newest) = newest else { return Err(not_retryable("its messages are gone")) };
    if force {
        give_back(docket, policy, who);
        inbox::start_again(docket);
    } else {
        refuse_unwanted_answer(docket, newest)?;
    }
    for id in ids {
        if let Some(message) = docket.edit(id) {
            message.turn = None;
            if let Some(inbound) = &mut message.inbound
                && message.deleted_at.is_none()
            {
                inbound.outcome = Outcome::Pending;
                inbound.reason = None;
                inbound.starts_turn = true;
            }
        }
    }
    conversations::set_status(docket, Status::Open, None, actor::SYSTEM);
    // Of another burst: as long as it has not begun to leave, a newer message withdraws it as before.
    let unread = docket.conversation.memo.reply.filter(|reply| docket.is_owed(*reply));
    inbox::begin_new_burst(docket, policy);
    docket.conversation.memo.reply = unread;
    if force {
        // What the contact has written since is answered with it.
        inbox::answer_now(docket);
    }
    let now = docket.now;
    docket.conversation.memo.wish(now);
    Ok(())
}

/// Forcing an answer of the AI is choosing that it answers, and the mode's history says so.
fn give_back(docket: &mut Docket, policy: &Policy, who: &Who) {
    if docket.conversation.mode.mode == Mode::Human {
        let by = By { agent: who.agent, ..By::of(Reason::Released, &who.actor) };
        conversations::switch(docket, policy, Mode::Ai, by);
    }
}

fn refuse_unwanted_answer(docket: &Docket, newest: i64) -> Result<(), Refusal> {
    if docket.conversation.mode.mode == Mode::Human {
        return Err(TAKEN_OVER);
    }
    let is_answer = |message: &Message| {
        message.seq > newest
            && matches!(message.author, Author::Assistant | Author::Agent)
            && message.kind != Kind::Note
    };
    if docket.conversation.our_seq > newest && docket.messages().iter().any(is_answer) {
        return Err(ANSWERED);
    }
    let is_written = answering_turn(docket).is_some_and(|turn| turn.last_seq >= newest);
    let is_covered = |message: &Message| message.seq >= newest && message.is_covered();
    // A person has sent it again: what it answers is not covered by it any more.
    let is_retried = |message: &Message| is_answer(message) && is_owed(message) && !message.is_machine_made();
    if is_written || docket.messages().iter().any(|it| is_covered(it) || is_retried(it)) {
        return Err(BEING_ANSWERED);
    }
    Ok(())
}

fn refuse_unwanted_send(docket: &Docket, id: Uuid) -> Result<(), Refusal> {
    let Some(message) = docket.message(id) else { return Err(Refusal::NotFound) };
    if !message.is_machine_made() {
        return Ok(());
    }
    if docket.conversation.mode.mode == Mode::Human {
        return Err(TAKEN_OVER);
    }
    let is_newer = |other: &&Message| other.seq > message.seq;
    let mut newer = docket.messages().iter().filter(is_newer);
    if newer.any(|other| other.delivery.as_ref().is_some_and(|delivery| delivery.sent_at.is_some())) {
        return Err(ANSWERED);
    }
    let is_answer_owed = |other: &Message| {
        matches!(other.author, Author::Assistant | Author::Agent)
            && is_owed(other)
            && other.delivery.as_ref().is_some_and(|delivery| delivery.gate != Gate::FollowUp)
    };
    let is_owed = docket.messages().iter().filter(is_newer).any(is_answer_owed);
    if is_owed || answering_turn(docket).is_some() {
        return Err(BEING_ANSWERED);
    }
    Ok(())
}

/// The turn that writes an answer to the contact now, if one does.
fn answering_turn(docket: &Docket) -> Option<&Turn> {
    docket.running_turn().filter(|turn| turn.purpose == Purpose::Reply)
}

fn is_owed(message: &Message) -> bool {
    message.is(DeliveryState::Queued) || message.is(DeliveryState::Sending)
}

/// By force the contact gets these words of the assistant: an answer that has not begun to leave, or is being written, gives
/// way, and what came since is answered by one that has read them. What they answer themselves waits for nothing else, as
/// before that answer was begun.
fn make_way(docket: &mut Docket, policy: &Policy, id: Uuid) {
    let Some(message) = docket.message(id).filter(|message| message.is_machine_made()) else { return };
    let (seq, turn) = (message.seq, message.turn);
    if docket.conversation.mode.mode == Mode::Human {
        return;
    }
    inbox::start_again(docket);
    let answers = turn.and_then(|turn| docket.turn(turn)).map(|turn| turn.messages.clone());
    let is_theirs = |message: &Message| match &answers {
        Some(answers) => answers.contains(&message.id),
        None => turn.is_some() && message.seq < seq,
    };
    for waiting in docket.ids(|message| message.waits() && is_theirs(message)) {
        if let Some(message) = docket.edit(waiting) {
            message.turn = turn;
            if let Some(inbound) = &mut message.inbound {
                inbound.outcome = Outcome::HandedOver;
            }
        }
    }
    inbox::begin_new_burst(docket, policy);
}
