//! Rules: the contact edits or deletes what they wrote.
//!
//! In: an amendment. Out: the changed message; a turn that read the old words starts again, or the new ones wait for the next.

use uuid::Uuid;

use super::{
    arrive, begin_new_burst, chase_no_more, fate, is_overheard, set_ripe_at, supersede, unseen, wait_for_us,
    wants,
};
use crate::{
    domain::{
        chat::ChatId,
        conversation::{AttentionReason, Conversation},
        docket::{Docket, Entry, Parked, Report},
        event::{EventType, actor},
        message::{Author, DeliveryState, Gate, Kind, Message, Outcome, OutcomeReason},
        mode::Mode,
        phrases,
        policy::{BurstPolicy, Policy},
        time::Time,
    },
    flow::{agenda, conversations, drafts, office_hours, outbox, provider::Amendment, reply::errands},
};

/// What a change of a message means for the conversation in which its own continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmendedElsewhere {
    /// That conversation.
    pub stays: Uuid,
    message: Uuid,
    kind: Kind,
    text: String,
    at: Time,
    is_unanswered: bool,
}

/// The contact edited or deleted a message that may still wait. Kept until its original comes, if it has not yet. Returns what
/// is to be known of it where the conversation continues, if that is another.
pub fn amend(
    docket: &mut Docket,
    policy: &Policy,
    amendment: &Amendment,
    is_deletion: bool,
) -> Option<AmendedElsewhere> {
    let report = amendment.report(is_deletion);
    let original = docket.messages().iter().find(|message| {
        message.author == Author::Contact && message.provider_message_id.as_deref() == Some(&amendment.of)
    });
    match original.map(|message| message.id) {
        Some(id) => {
            let changed = amend_with(docket, policy, id, &report);
            if changed == Some(EventType::MessageDeleted) {
                waits_for_nothing(docket, policy);
            }
            // Also where it is reported again: the other conversation may not have learned of it the first time.
            amended_elsewhere(docket, id, changed.is_some())
        }
        None => {
            unseen::keep(docket, policy, &amendment.of, report);
            None
        }
    }
}

fn amended_elsewhere(docket: &Docket, id: Uuid, is_new: bool) -> Option<AmendedElsewhere> {
    let stays = docket.conversation.memo.merged_into?;
    let message = docket.message(id)?;
    let inbound = message.inbound.filter(|inbound| !inbound.reason.is_some_and(is_overheard))?;
    let is_for_somebody = message.deleted_at.is_none() && inbound.starts_turn;
    Some(AmendedElsewhere {
        stays,
        message: id,
        kind: message.kind,
        text: if is_for_somebody { message.text.clone() } else { String::new() },
        at: if is_new { docket.now } else { message.deleted_at.or(message.edited_at)? },
        is_unanswered: is_for_somebody && inbound.outcome != Outcome::Answered,
    })
}

/// The contact changed a message that stays in a conversation which continues here: a sign of life, and perhaps a wish. A person
/// is called for what was never answered there.
pub fn learn_of_amendment(docket: &mut Docket, policy: &Policy, amended: &AmendedElsewhere) {
    agenda::heard_elsewhere(docket, amended.at);
    if phrases::is_phrase(&amended.text, &policy.opt_out_words) {
        wants(docket, policy, amended.kind, &amended.text, amended.message);
    } else if amended.is_unanswered {
        conversations::raise(docket, AttentionReason::Unanswered);
    }
}

pub(super) const fn is_edit(parked: &Parked) -> bool {
    matches!(parked.report, Report::Edit { .. })
}

pub(super) const fn is_amendment(parked: &Parked) -> bool {
    matches!(parked.report, Report::Edit { .. } | Report::Deletion)
}

/// The writer of that message has other words for it, or has deleted it. None: nothing is changed by that, or nothing is known
/// of the message, and no trace is left.
pub(in crate::flow) fn change(docket: &mut Docket, id: Uuid, report: &Report, by: &str) -> Option<EventType> {
    let now = docket.now;
    // A copy: what changes nothing is not written.
    let mut message = docket.message(id)?.clone();
    let kind = match report {
        Report::Edit { by: Some(by), .. } if is_by_another(&message, by) => return None,
        Report::Edit { text, provider_at, .. } if message.revise(text, provider_at.map_or(now, Time)) => {
            EventType::MessageEdited
        }
        Report::Deletion if message.deleted_at.is_none() => {
            message.deleted_at = Some(now);
            EventType::MessageDeleted
        }
        Report::Edit { .. }
        | Report::Deletion
        | Report::Echo { .. }
        | Report::Status { .. }
        | Report::Ours { .. } => return None,
    };
    *docket.edit(id)? = message;
    docket.record(Entry::of(kind).by(by).message(id));
    Some(kind)
}

/// Whether somebody else in the group has other words for what a contact wrote: those are not the writer's. Anyone is known by
/// two ids; and an admin of the group may delete what others wrote, but not edit it.
fn is_by_another(message: &Message, by: &str) -> bool {
    let writer = message.sender.as_ref().filter(|_| message.author == Author::Contact);
    let ids = ChatId::parse(by).zip(writer.and_then(|writer| ChatId::parse(&writer.id)));
    ids.is_some_and(|(by, writer)| by != writer && !by.may_be_same_person_as(&writer))
}

/// What has changed; None: nothing.
pub(super) fn amend_with(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    report: &Report,
) -> Option<EventType> {
    let was = |is: fn(&Message) -> bool| docket.message(id).is_some_and(is);
    let (waited, is_covered) = (was(Message::waits), was(Message::is_covered));
    let kind = change(docket, id, report, actor::CONTACT)?;
    if docket.conversation.memo.merged_into.is_some() {
        // Nothing is answered from here any more.
        return Some(kind);
    }
    let inbound = docket.message(id).and_then(|message| message.inbound);
    if !inbound.and_then(|inbound| inbound.reason).is_some_and(is_overheard) {
        chase_no_more(docket);
    }
    let is_unanswered = is_unanswered(docket, id);
    if is_unanswered {
        drafts::contact_wrote(docket, policy, true);
    }
    if kind == EventType::MessageEdited && reads_anew(docket, policy, id, is_unanswered) {
        return Some(kind);
    }
    if !waited && !is_covered {
        // Its answer is leaving, or may have left, without having read this: it is rewritten, if it comes back.
        let turn = docket.message(id).and_then(|message| message.turn);
        if let Some(turn) = turn.filter(|turn| may_come_back(docket, *turn)) {
            docket.conversation.memo.amended = Some(turn);
        }
        return Some(kind);
    }
    // A change of what is being answered counts as newer text.
    if policy.burst == BurstPolicy::Interrupt {
        let first_at = docket.conversation.memo.burst_first_at.map_or(docket.now, Time);
        supersede(docket, policy, first_at);
    }
    if kind == EventType::MessageDeleted {
        withdraw(docket, policy, id, OutcomeReason::Deleted);
    } else {
        read_again(docket, &[id]);
    }
    set_ripe_at(docket, policy);
    Some(kind)
}

/// A reply to these that is owed all the same has read the words of before: the new ones wait for the next turn, like a newer
/// message. Not in HUMAN, where it only says that somebody comes.
fn read_again(docket: &mut Docket, edited: &[Uuid]) {
    if docket.conversation.mode.mode == Mode::Human {
        return;
    }
    let now = docket.now.0;
    for id in edited {
        if docket.message(*id).is_some_and(Message::is_covered)
            && let Some(message) = docket.edit(*id)
        {
            message.turn = None;
            let memo = &mut docket.conversation.memo;
            memo.burst_first_at.get_or_insert(now);
            memo.burst_last_at = Some(now);
        }
    }
}

/// The same where that reply has come back, and the contact has amended some of what it answers.
pub(super) fn read_edited_again(docket: &mut Docket, policy: &Policy, reply: Uuid) {
    let edited = docket.ids(|message| message.turn == Some(reply) && message.edited_at.is_some());
    read_again(docket, &edited);
    set_ripe_at(docket, policy);
}

fn may_come_back(docket: &Docket, reply: Uuid) -> bool {
    let is_unknown = |message: &Message| message.turn == Some(reply) && message.is(DeliveryState::Unknown);
    docket.is_owed(reply) || docket.messages().iter().any(is_unknown)
}

/// The new words may have a meaning of their own, as the old ones may have had. True if they have changed who answers, or
/// that anybody does.
fn reads_anew(docket: &mut Docket, policy: &Policy, id: Uuid, is_unanswered: bool) -> bool {
    let Some(message) = docket.message(id) else { return false };
    let (kind, text) = (message.kind, message.text.clone());
    let is_put_aside = message.inbound.is_some_and(|it| it.reason == Some(OutcomeReason::OptedOut));
    let starts_turn = message.inbound.is_some_and(|it| it.starts_turn);
    let has_opted_out = is_put_aside || docket.conversation.memo.opted_out_by == Some(id);
    let is_wish = phrases::is_phrase(&text, &policy.opt_out_words);
    if has_opted_out && !is_wish {
        // The wish may be that of another message.
        if docket.conversation.memo.opted_out_by.take_if(|by| *by == id).is_some() {
            docket.conversation.opted_out = false;
            let entry = Entry::of(EventType::ConversationUpdated).action("opted_in");
            docket.record(entry.by(actor::CONTACT).message(id));
        }
        if is_put_aside {
            office_hours::leave_to_people(docket, policy);
            let fate = fate(docket, policy, None, true);
            if let Some(message) = docket.edit(id) {
                message.inbound = Some(fate);
            }
            wait_for_us(docket, policy);
            wants(docket, policy, kind, &text, id);
            arrive(docket, policy, id);
            return true;
        }
    }
    if !is_unanswered {
        // Its answer stands, or has left; what is wished for now counts all the same.
        if is_wish && !has_opted_out && starts_turn {
            wants(docket, policy, kind, &text, id);
        }
        return false;
    }
    let mode = docket.conversation.mode.mode;
    let is_for_somebody = (has_opted_out && is_wish) || wants(docket, policy, kind, &text, id);
    if !is_for_somebody && mode == Mode::Ai {
        withdraw(docket, policy, id, OutcomeReason::OptedOut);
    }
    !is_for_somebody || docket.conversation.mode.mode != mode
}

/// With that message deleted, nobody may wait for anything any more. Needs the newest messages.
fn waits_for_nothing(docket: &mut Docket, policy: &Policy) {
    let is_left =
        |message: &Message| may_be_waited_with(&docket.conversation, message) && message.is_left_open();
    if !docket.messages().iter().any(is_left) {
        docket.conversation.waiting_since = None;
        conversations::set_overdue_at(docket, policy);
    }
}

/// Whether our side has said nothing since: what came while an answer to others was written has a lower number than that.
fn may_be_waited_with(conversation: &Conversation, message: &Message) -> bool {
    message.seq > conversation.our_seq || conversation.waiting_since.is_some_and(|since| message.at >= since)
}

/// Whether it is something to answer, and our side has said nothing since.
fn is_unanswered(docket: &Docket, id: Uuid) -> bool {
    docket.message(id).is_some_and(|message| {
        may_be_waited_with(&docket.conversation, message)
            && message.inbound.is_some_and(|inbound| inbound.starts_turn)
    })
}

/// That message is answered by nobody. If nothing else is left of what a turn or a reply is about, that ends too.
fn withdraw(docket: &mut Docket, policy: &Policy, id: Uuid, why: OutcomeReason) {
    let reply = docket.message(id).and_then(|message| message.turn);
    if let Some(message) = docket.edit(id)
        && let Some(inbound) = &mut message.inbound
    {
        inbound.outcome = Outcome::Ignored;
        inbound.reason = Some(why);
        message.turn = None;
    }
    let is_moot = docket.running_turn().is_some_and(|turn| {
        turn.messages.contains(&id)
            && !docket.messages().iter().any(|message| turn.messages.contains(&message.id) && message.waits())
    });
    if is_moot {
        conversations::restart_turn(docket, why.as_str(), actor::CONTACT);
    }
    withdraw_what_read_it_before(docket);
    withdraw_moot(docket, policy, reply);
}

/// It may have got other words before it was withdrawn: a reply to the old ones alone does not leave either, or not again if it
/// comes back.
fn withdraw_what_read_it_before(docket: &mut Docket) {
    let answers = |turn: Uuid| {
        let is_answered_by = |it: &Message| it.inbound.is_some() && it.turn == Some(turn);
        docket.messages().iter().any(is_answered_by)
    };
    let is_by_a_turn = |message: &&Message| {
        message.delivery.as_ref().is_some_and(|it| it.gate == Gate::Assistant && it.state.is_open())
    };
    let mut moot: Vec<Uuid> =
        docket.messages().iter().filter(is_by_a_turn).filter_map(|message| message.turn).collect();
    moot.retain(|turn| !answers(*turn) && !errands::are_told(docket, *turn));
    moot.dedup();
    for reply in moot {
        if !outbox::withdraw_reply(docket, reply) {
            docket.conversation.memo.amended = Some(reply);
        }
    }
}

/// If nothing is left of what that reply answers, it does not leave; if nothing is left at all, nobody waits.
pub(super) fn withdraw_moot(docket: &mut Docket, policy: &Policy, reply: Option<Uuid>) {
    if let Some(reply) = reply
        && !docket.messages().iter().any(|message| message.is_covered() && message.turn == Some(reply))
    {
        outbox::withdraw_reply(docket, reply);
    }
    let is_anything_left = docket.messages().iter().any(|message| message.waits() || message.is_covered());
    if !is_anything_left {
        begin_new_burst(docket, policy);
        docket.conversation.waiting_since = None;
        conversations::set_overdue_at(docket, policy);
    }
}
