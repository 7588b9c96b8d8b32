//! Place: what the contacts wrote, each conversation's messages in the order in which they were accepted.
//!
//! In: arrivals from intake. Out: ripe bursts, claimed under a lease by the instance that will answer them.

pub mod flood;

mod amend;

mod claim;

mod unseen;

mod on_demand;

pub(super) use amend::change;
pub use amend::{AmendedElsewhere, amend, learn_of_amendment};
use amend::{amend_with, is_amendment, is_edit};
pub use claim::{
    Begun, Claim, Claimant, begin, begun_before, claim_at_once, claim_ripe, free_lease, holds_lease,
};
pub(super) use claim::{hand_over, hand_over_stale, hand_over_waiting};
pub(super) use on_demand::start_again;
pub use on_demand::{answer_now, leave_unread};
pub use unseen::{admit_edited, edits_of_unseen};

use uuid::Uuid;

use super::{
    agenda,
    conversations::{self, By},
    drafts, merge, office_hours, outbox,
    provider::Arrival,
    reply::errands,
};
use crate::domain::{
    burst,
    chat::ChatKind,
    conversation::{AttentionReason, Status},
    docket::{Docket, Entry},
    event::{EventType, actor},
    message::{Author, DeliveryReason, Gate, Inbound, Kind, Media, Message, Origin, Outcome, OutcomeReason},
    mode::{Mode, Reason},
    phrases,
    policy::{BurstPolicy, Groups, Policy},
    time::Time,
    turn::Purpose,
};

/// At least this long between two notices of the same kind in one conversation.
const NOTICE_EVERY_MS: i64 = 3_600_000;
/// How far back "how often did the contact write lately" looks, and how many moments it keeps.
const LATELY_MS: i64 = 300_000;
const LATELY_MAX: usize = 200;
/// Messages of one burst that a turn reads at most; the rest waits for the next.
pub(super) const BURST_READ_MAX: usize = 100;

/// What became of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// Stored.
    Stored(Uuid),
    /// It was here before.
    Duplicate(Uuid),
}

/// What makes an arrival once only in its conversation.
pub fn key_of(arrival: &Arrival) -> String {
    arrival.id.clone().unwrap_or_else(|| format!("fp:{}", arrival.fingerprint))
}

/// Takes a message of the contact in: its number, its place in the burst, the follow-up called off. Once.
pub fn admit(docket: &mut Docket, policy: &Policy, arrival: &Arrival) -> Admitted {
    let key = key_of(arrival);
    if let Some(known) = docket.messages().iter().find(|message| message.key.as_deref() == Some(&key)) {
        let known = known.id;
        repeat(docket, known, arrival);
        return Admitted::Duplicate(known);
    }
    if docket.is_new() && arrival.alias.is_none() && arrival.chat.phone().is_none() {
        merge::ask_once(docket);
    }
    let id = Uuid::now_v7();
    let inert = inert_reason(docket, policy, arrival);
    let is_unreadable = arrival.is_unreadable && !will_be_heard(policy, arrival);
    let starts_turn = inert.is_none() && !is_unreadable;
    name_contact(docket, arrival);
    if inert.is_none() || is_unreadable {
        office_hours::leave_to_people(docket, policy);
    }
    docket.push(Message {
        id,
        inbound: Some(fate(docket, policy, inert, starts_turn)),
        ..message_of(arrival, Author::Contact, Origin::Webhook)
    });
    docket.record(
        Entry::of(EventType::MessageReceived)
            .action("stored")
            .by(actor::CONTACT)
            .message(id)
            .with("kind", arrival.kind.as_str()),
    );
    if !matches!(arrival.kind, Kind::Reaction | Kind::PollVote) {
        docket.conversation.unread += 1;
    }
    if inert.is_some_and(is_overheard) {
        return Admitted::Stored(id);
    }
    chase_no_more(docket);
    if inert.is_none() || is_unreadable {
        wait_for_us(docket, policy);
    }
    if is_unreadable {
        not_readable(docket, policy, id);
        drafts::contact_wrote(docket, policy, false);
    } else if starts_turn {
        docket.conversation.contact_seq = docket.conversation.seq;
        for parked in docket.unpark(|parked| parked.provider_message_id == key && is_edit(parked)) {
            // Before the old words are taken for a wish.
            amend::change(docket, id, &parked.report, actor::CONTACT);
        }
        let text = docket.message(id).map_or_else(String::new, |message| message.text.clone());
        let is_answerable = wants(docket, policy, arrival.kind, &text, id);
        note_moment(docket, policy);
        drafts::contact_wrote(docket, policy, is_answerable);
        arrive(docket, policy, id);
    }
    for parked in docket.unpark(|parked| parked.provider_message_id == key && is_amendment(parked)) {
        amend_with(docket, policy, id, &parked.report);
    }
    if docket.message(id).is_some_and(|message| message.deleted_at.is_some()) {
        no_longer_waits(docket, policy);
    }
    Admitted::Stored(id)
}

/// The same for one that somebody may have answered already: the machine says nothing to it.
pub fn admit_for_people(docket: &mut Docket, policy: &Policy, arrival: &Arrival) -> Admitted {
    let silent =
        Policy { unreadable_text: None, handover_text: None, opt_out_text: None, ..Policy::clone(policy) };
    let admitted = admit(docket, &silent, arrival);
    if let Admitted::Stored(id) = admitted
        && docket.message(id).is_some_and(Message::waits)
    {
        hand_over_stale(docket, &[id]);
    }
    admitted
}

/// Whether it was said to others, and not to the business.
const fn is_overheard(reason: OutcomeReason) -> bool {
    matches!(reason, OutcomeReason::Group | OutcomeReason::Story)
}

/// Whatever the contact does is a sign of life: no follow-up from before it leaves.
pub(super) fn chase_no_more(docket: &mut Docket) {
    let (seq, now) = (docket.conversation.seq, docket.now);
    let memo = &mut docket.conversation.memo;
    (memo.alive_seq, memo.alive_at) = (seq, Some(now.0));
    // Nor from another conversation with them, as long as the two wait to become one.
    memo.is_untold |= memo.same_person.is_some() || !memo.expected.is_empty();
    agenda::cancel(docket, "contact_replied", actor::CONTACT);
    outbox::withdraw(docket, DeliveryReason::Superseded, actor::CONTACT, |delivery| {
        delivery.gate == Gate::FollowUp
    });
    docket.conversation.memo.follow_ups_sent = 0;
}

/// A repeated delivery changes nothing but a better link to the same file.
fn repeat(docket: &mut Docket, known: Uuid, arrival: &Arrival) {
    let better = arrival.media.as_ref().filter(|media| !media.url.is_empty());
    let lacks_link = |message: &Message| {
        let has_none = message.media.as_ref().is_none_or(|media| media.url.is_empty());
        has_none && message.deleted_at.is_none()
    };
    if let Some(media) = better
        && docket.message(known).is_some_and(lacks_link)
        && let Some(message) = docket.edit(known)
    {
        let transcript = message.media.take().unwrap_or_default().transcript;
        message.media = Some(Media { transcript, ..media.clone() });
    }
    let by = if arrival.id.is_some() { "provider_id" } else { "fingerprint" };
    docket.record(
        Entry::of(EventType::DuplicateWebhook)
            .action("skipped")
            .message(known)
            .with("by", by)
            .with("fingerprint", arrival.fingerprint.as_str()),
    );
}

/// Why this message starts no turn whoever answers.
fn inert_reason(docket: &Docket, policy: &Policy, arrival: &Arrival) -> Option<OutcomeReason> {
    said_to_others(docket, policy).or(arrival.inert)
}

/// Why nothing that is written here is for the business; None: it may be.
fn said_to_others(docket: &Docket, policy: &Policy) -> Option<OutcomeReason> {
    match docket.conversation.chat.kind() {
        ChatKind::Group if policy.groups == Groups::Ignore => Some(OutcomeReason::Group),
        ChatKind::Newsletter | ChatKind::Broadcast => Some(OutcomeReason::Story),
        ChatKind::Group | ChatKind::Person => None,
    }
}

/// A voice note is listened to when its turn comes: until then it is as good as words.
fn will_be_heard(policy: &Policy, arrival: &Arrival) -> bool {
    policy.transcribes && arrival.kind == Kind::Voice && arrival.media.is_some()
}

fn fate(docket: &Docket, policy: &Policy, inert: Option<OutcomeReason>, starts_turn: bool) -> Inbound {
    let mode = &docket.conversation.mode;
    let (outcome, reason) = match (inert, mode.mode) {
        (Some(reason), _) => (Outcome::Ignored, Some(reason)),
        (None, Mode::Human) => (Outcome::LeftToHuman, Some(conversations::left_because(mode, policy))),
        (None, Mode::Ai) => (Outcome::Pending, None),
    };
    Inbound { outcome, reason, starts_turn }
}

/// What the provider brought, as a message of its writer.
pub(super) fn message_of(arrival: &Arrival, author: Author, origin: Origin) -> Message {
    Message {
        sender: arrival.sender.clone(),
        quoted: arrival.quoted.clone(),
        media: arrival.media.clone(),
        provider_message_id: arrival.id.clone(),
        key: Some(key_of(arrival)),
        provider_at: arrival.at,
        ..Message::of(author, origin, arrival.kind, arrival.text.clone())
    }
}

fn name_contact(docket: &mut Docket, arrival: &Arrival) {
    let Some(name) = arrival.contact_name.as_ref().filter(|name| !name.trim().is_empty()) else { return };
    let conversation = &mut docket.conversation;
    if conversation.contact_named_by_agent || conversation.contact_name.as_ref() == Some(name) {
        return;
    }
    let had_one = conversation.contact_name.replace(name.clone()).is_some();
    if had_one {
        docket.record(Entry::of(EventType::ConversationUpdated).action("renamed").by(actor::CONTACT));
    }
}

/// The contact waits for our side from now on; a closed or snoozed conversation is open again.
fn wait_for_us(docket: &mut Docket, policy: &Policy) {
    let now = docket.now;
    docket.conversation.waiting_since.get_or_insert(now);
    conversations::set_status(docket, Status::Open, None, actor::CONTACT);
    conversations::set_overdue_at(docket, policy);
}

/// The message that has just come wants no answer: if the contact waits, it is for nothing of this.
fn no_longer_waits(docket: &mut Docket, policy: &Policy) {
    if docket.conversation.waiting_since == Some(docket.now) {
        docket.conversation.waiting_since = None;
        conversations::set_overdue_at(docket, policy);
    }
}

/// Something that nobody can read: a notice at most once an hour, or a person.
pub(super) fn not_readable(docket: &mut Docket, policy: &Policy, id: Uuid) {
    if docket.conversation.mode.mode == Mode::Human {
        return;
    }
    let answered_with_notice = match &policy.unreadable_text {
        None => false,
        Some(text) => {
            let last = docket.conversation.memo.unreadable_at.map(Time);
            if last.is_none_or(|at| docket.now.since(at) >= NOTICE_EVERY_MS) {
                docket.conversation.memo.unreadable_at = Some(docket.now.0);
                outbox::say_as_system(docket, policy, text);
            } else {
                no_longer_waits(docket, policy);
            }
            true
        }
    };
    let outcome = if answered_with_notice { Outcome::Ignored } else { Outcome::HandedOver };
    if let Some(inbound) = docket.edit_inbound(id) {
        inbound.outcome = outcome;
        inbound.reason = Some(OutcomeReason::Undecryptable);
    }
    if !answered_with_notice {
        conversations::raise(docket, AttentionReason::Unreadable);
    }
}

/// Words with a meaning of their own: the contact asks for a person, or wants no follow-ups. False: nobody answers to that.
fn wants(docket: &mut Docket, policy: &Policy, kind: Kind, text: &str, id: Uuid) -> bool {
    if kind != Kind::Text {
        return true;
    }
    if phrases::is_phrase(text, &policy.handover_words) {
        let was_ai = docket.conversation.mode.mode == Mode::Ai;
        let is_somebody_there = office_hours::away_until(policy, docket.now).is_none();
        if was_ai && !is_somebody_there {
            // Nobody would come: the assistant says so, and people see it when they do.
            conversations::raise(docket, AttentionReason::ContactAsked);
            return true;
        }
        let was_left_until_hours = office_hours::is_left_until_hours(docket, policy);
        if was_ai {
            // Asked again in HUMAN, it would only withdraw the words that say somebody comes.
            conversations::cause(docket, policy, By::of(Reason::ContactAsked, actor::CONTACT));
        } else if was_left_until_hours {
            office_hours::leave_for_good(docket);
        }
        conversations::raise(docket, AttentionReason::ContactAsked);
        let is_new = was_ai || was_left_until_hours;
        if let (true, Some(text)) = (is_new && is_somebody_there, &policy.handover_text) {
            outbox::say_farewell(docket, policy, text, None);
        }
    } else if phrases::is_phrase(text, &policy.opt_out_words) {
        let is_new = !std::mem::replace(&mut docket.conversation.opted_out, true);
        if is_new {
            docket.conversation.memo.opted_out_by = Some(id);
            let entry = Entry::of(EventType::ConversationUpdated).action("opted_out");
            docket.record(entry.by(actor::CONTACT).message(id));
        }
        if let Some(inbound) = docket.edit_inbound(id)
            && inbound.outcome == Outcome::Pending
        {
            inbound.outcome = Outcome::Ignored;
            inbound.reason = Some(OutcomeReason::OptedOut);
            no_longer_waits(docket, policy);
        }
        if let (true, Some(text)) = (is_new, &policy.opt_out_text) {
            outbox::say_as_system(docket, policy, text);
        }
        return false;
    }
    true
}

/// Remembers that the contact wrote now.
fn note_moment(docket: &mut Docket, policy: &Policy) {
    let now = docket.now;
    let memo = &mut docket.conversation.memo;
    memo.wrote.retain(|at| now.since(Time(*at)) <= LATELY_MS);
    // The newest are what is counted, and enough of them to tell a flood.
    let forgotten = (memo.wrote.len() + 1).saturating_sub(LATELY_MAX.max(policy.flood_per_minute + 1));
    memo.wrote.drain(..forgotten);
    memo.wrote.push(now.0);
}

/// Moves the burst's clock for a message that waits; a running or not yet begun reply that has not read it starts again.
fn arrive(docket: &mut Docket, policy: &Policy, id: Uuid) {
    let now = docket.now;
    if !docket.message(id).is_some_and(Message::waits) {
        return;
    }
    let first_at = Time(*docket.conversation.memo.burst_first_at.get_or_insert(now.0));
    docket.conversation.memo.burst_last_at = Some(now.0);
    flood::watch(docket, policy);
    if docket.conversation.memo.is_flood {
        flood::leave_older(docket);
    } else {
        supersede(docket, policy, first_at);
    }
    set_ripe_at(docket, policy);
}

/// A newer message restarts what has not read it, within limits: a steady writer still gets an answer. True if it may.
fn supersede(docket: &mut Docket, policy: &Policy, first_at: Time) -> bool {
    drafts::start_again(docket);
    let running = docket.running_turn();
    if running.is_some_and(|turn| turn.purpose == Purpose::FollowUp) {
        conversations::restart_turn(docket, "contact_replied", actor::CONTACT);
        return true;
    }
    let may = burst::restarts(policy, docket.conversation.memo.restarts, first_at, docket.now);
    if !may || running.is_some_and(|turn| turn.is_final) {
        return false;
    }
    let stopped = conversations::supersede_turn(docket);
    if stopped.is_some() | outbox::withdraw_unread_reply(docket) {
        docket.conversation.memo.restarts += 1;
    }
    true
}

/// A reply whose first part was claimed and certainly did not leave counts as being generated again. If it does not start again
/// although the contact has amended what it answers, the new words wait for the next turn.
pub fn comes_back(docket: &mut Docket, policy: &Policy, reply: Uuid, is_amended: bool) {
    let is_over = starts_again(docket, policy, reply, is_amended);
    if is_amended && !is_over {
        amend::read_edited_again(docket, policy, reply);
    }
}

/// If the contact has written meanwhile, or amended what it answers, it has not read everything: it starts again with what is
/// new, or never leaves, where all of that was deleted; with the replies that wait behind it, which would leave before. Not if
/// the business was notified of it. False: it leaves as it is.
fn starts_again(docket: &mut Docket, policy: &Policy, reply: Uuid, is_amended: bool) -> bool {
    if errands::are_told(docket, reply) {
        return false;
    }
    if is_amended {
        amend::withdraw_moot(docket, policy, Some(reply));
    }
    if !docket.is_owed(reply) {
        return true;
    }
    if policy.burst != BurstPolicy::Interrupt || docket.conversation.memo.is_flood {
        return false;
    }
    let behind = outbox::replies_behind(docket, reply);
    let is_newer = is_amended
        || docket.messages().iter().any(Message::waits)
        || docket.conversation.memo.reply.is_some();
    if !is_newer {
        // Withdrawn for a newer message, it would leave after those behind it.
        docket.conversation.memo.reply = behind.is_empty().then_some(reply);
        return false;
    }
    let first_at = Time(docket.conversation.memo.burst_first_at.unwrap_or(docket.now.0));
    if !supersede(docket, policy, first_at) {
        return false;
    }
    for reply in behind.into_iter().chain([reply]) {
        outbox::withdraw_reply(docket, reply);
    }
    set_ripe_at(docket, policy);
    true
}

/// When the waiting burst may be answered, from what waits now.
pub fn set_ripe_at(docket: &mut Docket, policy: &Policy) {
    let waiting = docket.messages().iter().filter(|message| message.waits()).count();
    if waiting == 0 {
        docket.conversation.memo.ripe_at = None;
        return;
    }
    let memo = &docket.conversation.memo;
    let first_at = Time(memo.burst_first_at.unwrap_or(docket.now.0));
    let last_at = Time(memo.burst_last_at.unwrap_or(docket.now.0));
    let ripe_at = if memo.restarts > 0 {
        burst::ripe_again_at(policy, first_at, last_at, waiting, memo.restarts)
    } else {
        burst::ripe_at(policy, first_at, last_at, waiting)
    };
    let not_before = Time(memo.retry_at.unwrap_or(i64::MIN)).max(flood::not_before(memo));
    let ripe_at = if memo.answer_now { docket.now } else { ripe_at.max(not_before) };
    docket.conversation.memo.ripe_at = Some(ripe_at.0);
}

/// A reply began to leave, or nothing of it will: what waits now is a burst of its own.
pub fn begin_new_burst(docket: &mut Docket, policy: &Policy) {
    // What was edited while it was answered is as new as its words.
    let written_at =
        |message: &Message| message.edited_at.map_or(message.at, |at| at.min(docket.now).max(message.at));
    let waiting = docket.messages().iter().filter(|message| message.waits());
    let moments: Vec<Time> = waiting.map(written_at).collect();
    docket.conversation.memo.end_burst();
    docket.conversation.memo.burst_first_at = moments.iter().min().map(|at| at.0);
    docket.conversation.memo.burst_last_at = moments.iter().max().map(|at| at.0);
    set_ripe_at(docket, policy);
}
