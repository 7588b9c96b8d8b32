//! Step: what the provider reports about our messages, matched to them; sends of unknown fate find their end here.
//!
//! In: echoes, delivery statuses, copies of what was typed on the phone, leases of sends that ran out. Out: rows that
//! are sent, moved forward, unknown and in front of a person, or a message of somebody else: a takeover.

mod evidence;

mod search;

mod status;

pub use search::Reconciler;
pub use status::{take_status, was_reported};

use uuid::Uuid;

use self::status::{put_letter_away, report};
use super::{
    conversations,
    conversations::By,
    drafts, inbox, merge, outbox,
    provider::{Amendment, Arrival},
};
use crate::domain::{
    conversation::AttentionReason,
    docket::{Docket, Entry, Parked, Report},
    event::{EventType, actor},
    message::{Author, DeliveryReason, DeliveryState, ECHO_AWAITED_MS, Message, Origin},
    mode::{Mode, Reason},
    policy::Policy,
    time::Time,
};

/// How much the clocks of the provider and ours may differ when an echo is compared with a message.
const SKEW_MS: i64 = 5_000;

/// What a report turned out to be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matched {
    /// A message of ours.
    Ours(Uuid),
    /// Kept until the send under way is answered.
    Parked,
    /// A message of somebody else, stored as such.
    Foreign(Uuid),
    /// Nothing that is known.
    Nothing,
}

/// Which side of the phone a copy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// Left through the API: ours, or another system's.
    Api,
    /// Typed on the phone: a person's, unless it is a mislabelled echo.
    Phone,
}

impl Copy {
    /// Who takes over with it, unless it is ours, and why.
    pub const fn by(self) -> By<'static> {
        match self {
            Self::Phone => By::of(Reason::AgentPhone, actor::PHONE),
            Self::Api => By::of(Reason::OtherSystem, actor::OTHER_SYSTEM),
        }
    }
}

/// A copy of a message of our side: ours by id; else by text among rows of unclear fate; else somebody took over.
pub fn take_copy(docket: &mut Docket, policy: &Policy, arrival: &Arrival, copy: Copy) -> Matched {
    let key = inbox::key_of(arrival);
    let known = by_provider_id(docket, &key);
    let is_of_earlier_attempt = known.is_some_and(|id| is_sending(docket, id));
    if let Some(known) = known.filter(|_| !is_of_earlier_attempt) {
        let is_news = docket
            .message(known)
            .and_then(|message| message.delivery.as_ref())
            .is_some_and(|delivery| delivery.left_at.is_none());
        if is_news {
            confirm(docket, policy, known, &key, arrival.at, "echo");
        }
        return Matched::Ours(known);
    }
    if is_of_earlier_attempt || is_under_way(docket, &arrival.text) {
        let provider_at = arrival.at.map_or(docket.now.0, |at| at.0);
        let is_echo = |parked: &Parked| matches!(parked.report, Report::Echo { .. });
        if !docket.parked().iter().any(|parked| parked.provider_message_id == key && is_echo(parked)) {
            let report = Report::Echo { text: arrival.text.clone(), provider_at, phone: copy == Copy::Phone };
            docket.park(&key, report);
        }
        return Matched::Parked;
    }
    if let Some(ours) = by_words(docket, &arrival.text, arrival.at) {
        confirm(docket, policy, ours, &key, arrival.at, "echo");
        if copy == Copy::Phone {
            typed_once_more(docket, policy, arrival.at);
        }
        return Matched::Ours(ours);
    }
    Matched::Foreign(somebody_else(docket, policy, arrival, copy))
}

/// A person of our side has reacted on the phone, or called: it is shown, and takes nothing over. Whoever answers a call is alive, and
/// where a person has the conversation, that was the answer to what the contact had written before.
pub fn take_sign(docket: &mut Docket, policy: &Policy, sign: &Arrival, is_answered: bool) -> Matched {
    if let Some(known) = by_provider_id(docket, &inbox::key_of(sign)) {
        return Matched::Ours(known);
    }
    let unanswered = written_after(docket, sign.at);
    let id = keep_theirs(docket, sign, Copy::Phone);
    if is_answered {
        inbox::chase_no_more(docket);
        if docket.conversation.mode.mode == Mode::Human {
            a_person_wrote(docket, policy, actor::PHONE);
            leave_waiting(docket, policy, unanswered);
        }
    }
    Matched::Foreign(id)
}

/// Our side has other words for a message of its own, or has deleted it, there: it stays in its place, and nobody takes over.
pub fn take_amendment(docket: &mut Docket, amendment: &Amendment, is_deletion: bool, copy: Copy) -> Matched {
    let is_ours = |id: &Uuid| docket.message(*id).is_some_and(|message| message.author != Author::Contact);
    let Some(ours) = by_provider_id(docket, &amendment.of).filter(is_ours) else { return Matched::Nothing };
    inbox::change(docket, ours, &amendment.report(is_deletion), copy.by().actor);
    Matched::Ours(ours)
}

/// The message with that id, or the one that had it before: that one need not be loaded.
pub(super) fn by_provider_id(docket: &Docket, id: &str) -> Option<Uuid> {
    let now = docket.messages().iter().find(|message| is_called(message, id)).map(|message| message.id);
    now.or_else(|| {
        docket.parked().iter().find_map(|parked| match parked.report {
            Report::Ours { message } if parked.provider_message_id == id => Some(message),
            _ => None,
        })
    })
}

pub(super) fn is_called(message: &Message, id: &str) -> bool {
    message.provider_message_id.as_deref() == Some(id) || message.key.as_deref() == Some(id)
}

/// A message has this id, too. The id in the provider's answer is the one by which it is known from now on; of all
/// others it is remembered that they are ours, for as long as anything may still be reported under them.
pub(super) fn call(docket: &mut Docket, message: Uuid, id: &str, is_answer: bool) {
    if by_provider_id(docket, id) == Some(message) && !is_answer {
        return;
    }
    let Some(called) = docket.edit(message) else { return };
    let before = [called.key.replace(id.to_owned()), called.provider_message_id.clone()];
    if is_answer || called.provider_message_id.is_none() {
        called.provider_message_id = Some(id.to_owned());
    }
    for other in before.into_iter().flatten() {
        if by_provider_id(docket, &other).is_none() {
            docket.park(&other, Report::Ours { message });
        }
    }
}

/// The oldest message of unclear fate with these words that was owed before the copy was made.
fn by_words(docket: &Docket, text: &str, provider_at: Option<Time>) -> Option<Uuid> {
    let fits = |message: &&Message| {
        message.delivery.as_ref().is_some_and(|delivery| {
            // Not held against the attempt: a person's retry may have taken the place of the one that is unclear.
            let tried_before = provider_at.is_none_or(|at| at.since(delivery.queued_at) >= -SKEW_MS);
            delivery.unclear > 0 && tried_before
        }) && same_words(message.posted_words(), text)
    };
    docket.messages().iter().find(fits).map(|message| message.id)
}

/// Whether one with these words is being sent: its answer will tell its id.
fn is_under_way(docket: &Docket, text: &str) -> bool {
    docket
        .messages()
        .iter()
        .any(|message| message.is(DeliveryState::Sending) && same_words(message.posted_words(), text))
}

/// Whether an attempt of it is under way: until that has its end, nothing reported of an earlier one decides.
fn is_sending(docket: &Docket, message: Uuid) -> bool {
    docket.message(message).is_some_and(|message| message.is(DeliveryState::Sending))
}

fn same_words(left: &str, right: &str) -> bool {
    left.split_whitespace().eq(right.split_whitespace())
}

/// It went: whatever state it is in now, it is sent, and not sent a second time.
fn confirm(docket: &mut Docket, policy: &Policy, id: Uuid, provider_id: &str, at: Option<Time>, by: &str) {
    let now = docket.now;
    if let Some(delivery) = docket.edit_delivery(id) {
        delivery.left_at.get_or_insert(now);
    }
    accept(docket, policy, id, provider_id, at, by);
}

/// The provider has it, under this id, since then, where that is known; whether it has left there is another question.
fn accept(docket: &mut Docket, policy: &Policy, id: Uuid, provider_id: &str, at: Option<Time>, by: &str) {
    // Under an id that is known already it says nothing of an earlier attempt.
    let is_evidence = by_provider_id(docket, provider_id).is_none();
    outbox::sent(docket, policy, id, provider_id, at);
    if let Some(delivery) = docket.edit_delivery(id)
        && is_evidence
        && delivery.unclear > 0
    {
        delivery.unclear -= 1;
        docket.record(evidence::confirmed(id, by));
    }
    put_letter_away(docket, policy, id);
    apply_parked(docket, policy, id, provider_id);
}

/// An attempt has no clear answer. Later parts of the reply wait for it; a person sees it.
pub fn lose_sight(docket: &mut Docket, id: Uuid, detail: &str) {
    let Some(delivery) = docket.edit_delivery(id) else { return };
    delivery.state = DeliveryState::Unknown;
    delivery.reason = Some(DeliveryReason::FateUnknown);
    delivery.unclear += 1;
    let reply = delivery.reply;
    docket
        .record(Entry::of(EventType::SendUncertain).action("reconciling").message(id).with("detail", detail));
    // A later answer is owed already: it does not wait for this one's fate, so the rest of this one is called off.
    let is_overtaken = docket
        .deliveries()
        .any(|delivery| delivery.reply != reply && delivery.state == DeliveryState::Queued);
    if is_overtaken {
        outbox::withdraw(docket, DeliveryReason::Overtaken, actor::SYSTEM, |delivery| {
            delivery.reply == reply
        });
    }
    conversations::raise(docket, AttentionReason::SendUnknown);
}

/// The id in the provider's answer always wins: a row that had taken it by its words goes back to unknown.
pub fn take_back_id(docket: &mut Docket, owner: Uuid, provider_id: &str) {
    docket.unpark(|parked| parked.provider_message_id == provider_id && is_of_another(&parked.report, owner));
    for id in docket.ids(|message| message.id != owner && is_called(message, provider_id)) {
        if let Some(message) = docket.edit(id) {
            message.provider_message_id.take_if(|known| known == provider_id);
            message.key.take_if(|known| known == provider_id);
        }
        lose_sight(docket, id, "its echo belonged to a later message of the same words");
    }
}

fn is_of_another(report: &Report, owner: Uuid) -> bool {
    matches!(report, Report::Ours { message } if *message != owner)
}

/// Sends whose lease ran out have an unknown fate; reports that waited for them are decided; echoes are no longer
/// waited for once no provider would still bring them.
pub fn expire_leases(docket: &mut Docket, policy: &Policy) {
    let now = docket.now;
    for id in docket.ids(|message| message.echo_awaited_until().is_some_and(|until| until <= now)) {
        if let Some(delivery) = docket.edit_delivery(id) {
            delivery.unclear = 0;
        }
    }
    let expired = docket.ids(|message| {
        message.delivery.as_ref().is_some_and(|delivery| {
            delivery.state == DeliveryState::Sending
                && delivery.attempt.is_none_or(|attempt| attempt.is_over(now))
        })
    });
    for id in expired {
        lose_sight(docket, id, "nobody settled it within its lease");
        if let Some(delivery) = docket.delivery(id).cloned() {
            outbox::tell_settled(docket, &delivery);
        }
    }
    decide_parked(docket, policy);
}

/// No send is under way any more: what was parked meanwhile is decided.
pub fn decide_parked(docket: &mut Docket, policy: &Policy) {
    if docket.messages().iter().any(|message| message.is(DeliveryState::Sending)) {
        return;
    }
    for parked in docket.unpark(|parked| matches!(parked.report, Report::Echo { .. })) {
        let Report::Echo { text, provider_at, phone } = parked.report else { continue };
        let at = Some(Time(provider_at));
        if let Some(id) = by_provider_id(docket, &parked.provider_message_id) {
            confirm(docket, policy, id, &parked.provider_message_id, at, "parked_echo");
        } else if let Some(id) = by_words(docket, &text, at) {
            confirm(docket, policy, id, &parked.provider_message_id, at, "parked_echo");
            if phone {
                typed_once_more(docket, policy, at);
            }
        } else {
            let copy = if phone { Copy::Phone } else { Copy::Api };
            let arrival = Arrival::plain(
                &docket.conversation.chat,
                &parked.provider_message_id,
                text,
                Time(provider_at),
            );
            somebody_else(docket, policy, &arrival, copy);
        }
    }
    let is_known = |parked: &&Parked| {
        matches!(parked.report, Report::Status { .. })
            && by_provider_id(docket, &parked.provider_message_id).is_some()
    };
    let known: Vec<Uuid> = docket.parked().iter().filter(is_known).map(|parked| parked.id).collect();
    for parked in docket.unpark(|parked| known.contains(&parked.id)) {
        if let Some(id) = by_provider_id(docket, &parked.provider_message_id) {
            apply(docket, policy, id, parked);
        }
    }
    let now = docket.now;
    // Edits have a time of their own: what they say is not dropped.
    let is_edit = |parked: &Parked| parked.original_awaited_until().is_some();
    docket.unpark(|parked| now.since(parked.at) > ECHO_AWAITED_MS && !is_edit(parked));
}

/// The phone names a message of ours as its own: an echo under the wrong label, or a person who has typed once more what
/// seemed lost. Stopped once too often is the safe side.
fn typed_once_more(docket: &mut Docket, policy: &Policy, at: Option<Time>) {
    let by = Copy::Phone.by();
    let unanswered = written_after(docket, at);
    conversations::cause(docket, policy, by);
    a_person_wrote(docket, policy, by.actor);
    leave_waiting(docket, policy, unanswered);
}

/// A message of our side that is not ours: a person at the phone, or another program. Either takes over.
fn somebody_else(docket: &mut Docket, policy: &Policy, arrival: &Arrival, copy: Copy) -> Uuid {
    let by = copy.by();
    let unanswered = written_after(docket, arrival.at);
    conversations::cause(docket, policy, by);
    // As the phone names it, until the contact does.
    let name = &mut docket.conversation.contact_name;
    *name = name.take().or_else(|| arrival.contact_name.clone());
    let id = keep_theirs(docket, arrival, copy);
    a_person_wrote(docket, policy, by.actor);
    leave_waiting(docket, policy, unanswered);
    id
}

/// Puts what our side did elsewhere into the conversation.
fn keep_theirs(docket: &mut Docket, arrival: &Arrival, copy: Copy) -> Uuid {
    let origin = match copy {
        Copy::Phone => Origin::Phone,
        Copy::Api => Origin::OtherSystem,
    };
    let id = docket.push(inbox::message_of(arrival, Author::Agent, origin));
    let sent = Entry::of(EventType::MessageSent).by(copy.by().actor).message(id);
    let sent = sent.with("origin", origin.as_str());
    docket.record(match arrival.kind.is_said() {
        true => sent,
        false => sent.with("kind", arrival.kind.as_str()),
    });
    id
}

/// What the contact has written since a person wrote that is no answer to it.
fn leave_waiting(docket: &mut Docket, policy: &Policy, unanswered: Option<(i64, Time)>) {
    let Some((seq, at)) = unanswered else { return };
    docket.conversation.our_seq = seq - 1;
    docket.conversation.waiting_since = Some(at);
    conversations::set_overdue_at(docket, policy);
}

/// The first that the contact has written since then and our side has not answered: a copy that comes late is not an answer to
/// it. By the provider's clock, which has stamped both. Sees what was loaded.
fn written_after(docket: &Docket, at: Option<Time>) -> Option<(i64, Time)> {
    let at = at?;
    let is_after = |message: &&Message| {
        let is_later = message.provider_at.is_some_and(|written_at| written_at > at);
        is_later && message.seq > docket.conversation.our_seq && message.is_left_open()
    };
    docket.messages().iter().find(is_after).map(|message| (message.seq, message.at))
}

/// A person of our side has written: they have read everything before, and nobody waits any more.
pub fn a_person_wrote(docket: &mut Docket, policy: &Policy, by: &str) {
    outbox::overtake(docket, by);
    merge::ask_once(docket);
    let conversation = &mut docket.conversation;
    conversation.our_seq = conversation.seq;
    conversation.read_seq = conversation.seq;
    conversation.unread = 0;
    conversation.waiting_since = None;
    drafts::a_person_wrote(docket, by);
    conversations::hold(docket, policy);
    conversations::clear(docket, by, |_| true);
    conversations::set_overdue_at(docket, policy);
}

/// The message of that id is known now: what was reported of it before is about it, and about no other of equal words.
pub fn apply_parked(docket: &mut Docket, policy: &Policy, id: Uuid, provider_id: &str) {
    let is_about_it = |parked: &Parked| {
        parked.provider_message_id == provider_id && !matches!(parked.report, Report::Ours { .. })
    };
    for parked in docket.unpark(is_about_it) {
        apply(docket, policy, id, parked);
    }
}

fn apply(docket: &mut Docket, policy: &Policy, id: Uuid, parked: Parked) {
    let now = docket.now;
    match parked.report {
        Report::Echo { .. } => {
            if let Some(delivery) = docket.edit_delivery(id) {
                delivery.left_at.get_or_insert(now);
            }
        }
        Report::Status { state, reason } => {
            if let Ok(state) = state.parse() {
                let reason = reason.and_then(|reason| reason.parse().ok());
                report(docket, policy, id, &parked.provider_message_id, state, reason);
            }
        }
        // The contact's own messages have ids of their own.
        Report::Edit { .. } | Report::Deletion | Report::Ours { .. } => {}
    }
}
