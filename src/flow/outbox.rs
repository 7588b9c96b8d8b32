//! Place: messages owed to the contacts, each conversation's in order. Its claim holds the check of the mode.
//!
//! In: replies, agents' messages, follow-ups, texts from the settings. Out: one claimed message at a time to the
//! sender, and what became of it back.

use execution::atomic_mode_check::{self, Refusal as CheckRefusal, Snapshot};
use uuid::Uuid;

use super::{agenda, conversations, inbox, reconcile};
use crate::domain::{
    conversation::{AttentionReason, Conversation, Status},
    docket::{Docket, Entry},
    event::{EventType, actor},
    lane::Lane,
    message::{
        Attempt, Author, Delivery, DeliveryReason, DeliveryState, Gate, Kind, Message, Origin, Outcome,
        OutcomeReason, Quoted,
    },
    mode::Mode,
    pacing,
    policy::Policy,
    retry,
    time::Time,
    turn::{DeadLetter, LetterKind, LetterState},
};

/// A POST begins within this time of the moment its claim was asked for, or not at all.
pub const BEGIN_WITHIN_MS: i64 = 1_000;
/// What a `sending` row's lease has beyond the beginning and the time limit of the request.
const LEASE_MARGIN_MS: i64 = 5_000;
/// Longest wait between attempts of a send.
const RETRY_CAP_MS: i64 = 60_000;

/// What is to be owed.
#[derive(Debug, Clone)]
pub struct Owed {
    /// Whose words.
    pub author: Author,
    /// How they came.
    pub origin: Origin,
    /// The gate they pass at their claim.
    pub gate: Gate,
    /// Their lane.
    pub lane: Lane,
    /// The agent who wrote them.
    pub agent: Option<Uuid>,
    /// The turn that wrote them.
    pub turn: Option<Uuid>,
    /// What they answer.
    pub quoted: Option<Quoted>,
    /// How long a person would type each.
    pub typing_ms: Vec<i64>,
}

impl Owed {
    /// Words of Baton itself, from the settings.
    const fn system(gate: Gate, turn: Option<Uuid>) -> Self {
        Self {
            author: Author::System,
            origin: Origin::Turn,
            gate,
            lane: Lane::Reply,
            agent: None,
            turn,
            quoted: None,
            typing_ms: Vec::new(),
        }
    }
}

/// Puts the parts of one reply at the end of the conversation, in order, to leave one after the other.
pub fn owe(docket: &mut Docket, parts: &[String], owed: &Owed, by: &str) -> Vec<Uuid> {
    let reply = owed.turn.unwrap_or_else(Uuid::now_v7);
    let count = i32::try_from(parts.len()).unwrap_or(i32::MAX);
    let mut ids = Vec::with_capacity(parts.len());
    for (part, text) in (1..).zip(parts) {
        let id = Uuid::now_v7();
        let typing_ms = owed.typing_ms.get(ids.len()).copied().unwrap_or(0);
        docket.push(Message {
            id,
            seq: 0,
            author: owed.author,
            origin: owed.origin,
            kind: Kind::Text,
            text: text.clone(),
            sender: None,
            agent: owed.agent,
            quoted: owed.quoted.clone().filter(|_| part == 1),
            media: None,
            provider_message_id: None,
            key: None,
            at: docket.now,
            provider_at: None,
            edited_at: None,
            deleted_at: None,
            turn: owed.turn,
            inbound: None,
            delivery: Some(Delivery {
                state: DeliveryState::Queued,
                reason: None,
                attempts: 0,
                part,
                parts: count,
                reply,
                version: docket.conversation.mode.version,
                gate: owed.gate,
                lane: owed.lane,
                due_at: docket.now.plus_ms(typing_ms),
                typing_ms,
                idempotency_key: id.simple().to_string(),
                attempt: None,
                unclear: false,
                queued_at: docket.now,
                sent_at: None,
                left_at: None,
                delivered_at: None,
                read_at: None,
            }),
        });
        docket.record(
            Entry::of(EventType::MessageQueued).by(by).message(id).with("part", part).with("parts", count),
        );
        ids.push(id);
    }
    ids
}

/// Queues a text from the settings, under the same condition as a reply.
pub fn say_as_system(docket: &mut Docket, policy: &Policy, text: &str) {
    let parts = pacing::split(text, 0, 1, policy.message_max_chars);
    owe(docket, &parts, &Owed::system(Gate::Assistant, None), actor::SYSTEM);
}

/// Queues the last words before a person takes over: they may leave while the version of that hand-over is current.
pub fn say_farewell(docket: &mut Docket, policy: &Policy, text: &str, turn: Option<Uuid>) {
    let parts = pacing::split(text, 0, 1, policy.message_max_chars);
    owe(docket, &parts, &Owed::system(Gate::Farewell, turn), actor::SYSTEM);
}

/// Withdraws queued messages that match. Returns how many.
pub fn withdraw(
    docket: &mut Docket,
    reason: DeliveryReason,
    by: &str,
    matches: impl Fn(&Delivery) -> bool,
) -> usize {
    let ids = docket.ids(|message| {
        message
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.state == DeliveryState::Queued && matches(delivery))
    });
    for id in &ids {
        cancel(docket, *id, reason, by);
    }
    ids.len()
}

/// Withdraws one queued message.
pub fn cancel(docket: &mut Docket, id: Uuid, reason: DeliveryReason, by: &str) {
    let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) else { return };
    delivery.state = DeliveryState::Cancelled;
    delivery.reason = Some(reason);
    let reply = delivery.reply;
    let is_follow_up = delivery.gate == Gate::FollowUp;
    let (kind, action) = match reason {
        _ if is_follow_up => (EventType::FollowUpWithheld, None),
        DeliveryReason::ModeChanged => (EventType::ModeChangeBeforeSend, Some("discarded_message")),
        _ => (EventType::MessageCancelled, None),
    };
    let mut entry = Entry::of(kind).by(by).message(id).with("reason", reason.as_str());
    if let Some(action) = action {
        entry = entry.action(action);
    }
    docket.record(entry);
    let_go(docket, reply, reason);
}

/// Whether a part of that reply may still leave, or is leaving.
fn is_owed(docket: &Docket, reply: Uuid) -> bool {
    docket.messages().iter().filter_map(|message| message.delivery.as_ref()).any(|delivery| {
        delivery.reply == reply && matches!(delivery.state, DeliveryState::Queued | DeliveryState::Sending)
    })
}

/// Nothing of a reply is left to leave, and nothing has: what it was to answer waits again where a newer message took
/// its place, and is left to people everywhere else.
fn let_go(docket: &mut Docket, reply: Uuid, reason: DeliveryReason) {
    if is_owed(docket, reply) {
        return;
    }
    for id in docket.ids(|message| message.is_covered() && message.turn == Some(reply)) {
        let Some(message) = docket.edit(id) else { continue };
        message.turn = None;
        let Some(inbound) = &mut message.inbound else { continue };
        (inbound.outcome, inbound.reason) = match reason {
            DeliveryReason::Superseded => continue,
            DeliveryReason::Closed => (Outcome::Ignored, Some(OutcomeReason::Closed)),
            DeliveryReason::ModeChanged => (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman)),
            // A person was called when its fate was unknown.
            DeliveryReason::Overtaken => (Outcome::HandedOver, None),
            _ => (Outcome::LeftToHuman, None),
        };
    }
}

/// How many parts of the reply that is still owed have left already: they leave in order, so the first one that waits tells.
pub fn already_left(docket: &Docket) -> usize {
    let first = docket.messages().iter().filter_map(|message| message.delivery.as_ref()).find(|delivery| {
        delivery.state == DeliveryState::Queued
            && delivery.gate != Gate::Person
            && delivery.gate != Gate::FollowUp
    });
    let Some(first) = first else { return 0 };
    let under_way =
        docket.messages().iter().filter_map(|message| message.delivery.as_ref()).filter(|delivery| {
            delivery.reply == first.reply
                && matches!(delivery.state, DeliveryState::Sending | DeliveryState::Unknown)
        });
    usize::try_from(first.part - 1).unwrap_or(0).saturating_sub(under_way.count())
}

/// Withdraws the reply to the waiting burst if it has not begun to leave: the messages it answers wait again. True if
/// there was one. The answer of a last turn allowed, and what Baton itself says, is not withdrawn so.
pub fn withdraw_unread_reply(docket: &mut Docket) -> bool {
    docket.conversation.memo.reply.take().is_some_and(|reply| withdraw_reply(docket, reply))
}

/// Withdraws that reply unless its first part has left or is leaving. True if there was one.
pub fn withdraw_reply(docket: &mut Docket, reply: Uuid) -> bool {
    let is_whole = docket.messages().iter().filter_map(|message| message.delivery.as_ref()).any(|delivery| {
        delivery.reply == reply && delivery.state == DeliveryState::Queued && delivery.part == 1
    });
    if !is_whole {
        return false;
    }
    let discarded =
        withdraw(docket, DeliveryReason::Superseded, actor::CONTACT, |delivery| delivery.reply == reply);
    docket.record(
        Entry::of(EventType::TurnSuperseded)
            .action("restarted")
            .by(actor::CONTACT)
            .turn(reply)
            .with("discarded", discarded),
    );
    true
}

/// What a claim gives to the sender.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// This message is `sending` now, under this attempt.
    Claimed(Box<Message>),
    /// The head of the conversation is due only then.
    NotYet(Time),
    /// The channel sends nothing before then.
    ChannelBusy(Time),
    /// As many sends of the channel are at the provider as may be.
    ChannelFull,
    /// The channel cannot send.
    ChannelDown,
    /// Nothing is owed, or the message before has not found its end.
    Nothing,
}

/// Claims the oldest owed message. Mode, version, order, channel, pace and limit are asked here, under the locks of
/// conversation and channel; what may not leave any more is withdrawn and the next one looked at.
pub fn claim_due(docket: &mut Docket, policy: &Policy, attempt: Uuid) -> Claim {
    let is_mine = |message: &&Message| {
        message.delivery.as_ref().is_some_and(|delivery| {
            delivery.state == DeliveryState::Sending
                && delivery.attempt.is_some_and(|held| held.id == attempt)
        })
    };
    if let Some(mine) = docket.messages().iter().find(is_mine) {
        return Claim::Claimed(Box::new(mine.clone()));
    }
    loop {
        let Some(due_at) = docket.clocks().send_at else { return Claim::Nothing };
        let head = docket.messages().iter().find(|message| message.is(DeliveryState::Queued));
        let Some((id, delivery)) = head.and_then(|message| Some((message.id, message.delivery.as_ref()?)))
        else {
            return Claim::Nothing;
        };
        if let Some(reason) =
            refusal(&docket.conversation, policy, delivery, docket.now, head.map_or(0, |m| m.seq))
        {
            refuse(docket, policy, id, reason);
            continue;
        }
        if due_at > docket.now {
            return Claim::NotYet(due_at);
        }
        return match channel_allows(docket, policy) {
            Some(blocked) => blocked,
            None => begin_sending(docket, policy, id, attempt),
        };
    }
}

/// Why a message may not leave any more; None: it may.
pub(super) fn refusal(
    conversation: &Conversation,
    policy: &Policy,
    delivery: &Delivery,
    now: Time,
    seq: i64,
) -> Option<DeliveryReason> {
    let check_mode = |mode: execution::atomic_mode_check::Mode| {
        let seen = Snapshot { mode, version: delivery.version, fence: 0, last_seq: None };
        let current = Snapshot {
            mode: as_checked(conversation.mode.mode),
            version: conversation.mode.version,
            fence: 0,
            last_seq: None,
        };
        atomic_mode_check::check(&seen, &current).err().map(|refusal| match refusal {
            CheckRefusal::NewerMessage { .. } => DeliveryReason::Superseded,
            CheckRefusal::HumanAnswers { .. }
            | CheckRefusal::VersionMoved { .. }
            | CheckRefusal::FenceMoved { .. } => DeliveryReason::ModeChanged,
        })
    };
    let is_closed = conversation.status == Status::Closed;
    match delivery.gate {
        Gate::Person => None,
        _ if is_closed => Some(DeliveryReason::Closed),
        // The words of a hand-over leave in HUMAN, while it is the HUMAN that they announced.
        Gate::Farewell => {
            (conversation.mode.version != delivery.version).then_some(DeliveryReason::ModeChanged)
        }
        Gate::Assistant => check_mode(execution::atomic_mode_check::Mode::Ai),
        Gate::FollowUp => check_mode(execution::atomic_mode_check::Mode::Ai)
            .or_else(|| (conversation.contact_seq > seq).then_some(DeliveryReason::Superseded))
            .or_else(|| conversation.opted_out.then_some(DeliveryReason::OptedOut))
            .or_else(|| agenda::is_too_late(policy, delivery.queued_at, now).then_some(DeliveryReason::Late)),
    }
}

/// The mode as the check knows it.
pub const fn as_checked(mode: Mode) -> atomic_mode_check::Mode {
    match mode {
        Mode::Ai => atomic_mode_check::Mode::Ai,
        Mode::Human => atomic_mode_check::Mode::Human,
    }
}

/// A refused message never blocks the conversation's order: it is withdrawn, and what it covered is left to a person.
fn refuse(docket: &mut Docket, policy: &Policy, id: Uuid, reason: DeliveryReason) {
    cancel(docket, id, reason, actor::SYSTEM);
    inbox::wind(docket, policy);
}

fn channel_allows(docket: &Docket, policy: &Policy) -> Option<Claim> {
    let channel = docket.channel.as_ref()?;
    if !is_able(&channel.state) {
        return Some(Claim::ChannelDown);
    }
    if channel.in_flight >= policy.send_in_flight {
        return Some(Claim::ChannelFull);
    }
    (channel.next_send_at > docket.now).then_some(Claim::ChannelBusy(channel.next_send_at))
}

/// Whether a channel in that state, as the provider names it, can send. Not known yet counts as able.
pub fn is_able(state: &str) -> bool {
    state.is_empty() || state == "authorized"
}

fn begin_sending(docket: &mut Docket, policy: &Policy, id: Uuid, attempt: Uuid) -> Claim {
    let now = docket.now;
    if let Some(channel) = &mut docket.channel {
        channel.next_send_at = now.plus_ms(policy.send_interval_ms);
        channel.in_flight += 1;
    }
    let Some(message) = docket.edit(id) else { return Claim::Nothing };
    let (seq, turn) = (message.seq, message.turn);
    let Some(delivery) = &mut message.delivery else { return Claim::Nothing };
    delivery.state = DeliveryState::Sending;
    delivery.reason = None;
    delivery.attempts += 1;
    delivery.attempt = Some(Attempt {
        id: attempt,
        at: now,
        lease_until: now.plus_ms(BEGIN_WITHIN_MS + policy.provider_timeout_ms + LEASE_MARGIN_MS),
    });
    let is_last_part = delivery.part == delivery.parts;
    let claimed = message.clone();
    if docket.conversation.our_seq < seq {
        docket.conversation.our_seq = seq;
    }
    begin_to_answer(docket, policy, turn);
    if docket.conversation.contact_seq <= docket.conversation.our_seq {
        // A message that this reply had not read still waits.
        docket.conversation.waiting_since = first_waiting(docket);
        conversations::wind_overdue(docket, policy);
    }
    if is_last_part {
        agenda::after_our_words(docket, policy, id);
    }
    Claim::Claimed(Box::new(claimed))
}

/// A reply begins to leave: from here on a newer message no longer withdraws it, but begins a burst of its own.
fn begin_to_answer(docket: &mut Docket, policy: &Policy, turn: Option<Uuid>) {
    end_covered(docket, turn, Outcome::Answered);
    if turn.is_some() && docket.conversation.memo.reply == turn {
        inbox::begin_new_burst(docket, policy);
    }
}

/// Since when a message waits that no reply covers: it may be older than a reply that had not read it.
pub fn first_waiting(docket: &Docket) -> Option<Time> {
    docket.messages().iter().find(|message| message.waits()).map(|message| message.at)
}

fn end_covered(docket: &mut Docket, turn: Option<Uuid>, outcome: Outcome) {
    for id in docket.ids(|message| message.is_covered() && message.turn == turn) {
        if let Some(inbound) = docket.edit(id).and_then(|message| message.inbound.as_mut()) {
            inbound.outcome = outcome;
            inbound.reason = None;
        }
    }
}

/// What became of a POST, in the words of the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The provider has it, under this id.
    Sent(String),
    /// Certainly not sent, and never will be.
    Refused(DeliveryReason, String),
    /// Certainly not sent; again, not before so long.
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
    match settled {
        Settled::Sent(provider_id) => {
            reconcile::take_back_id(docket, message.id, provider_id);
            // An earlier attempt of unknown fate stays so: its echo may still come, under another id.
            let was_tried_before = delivery.state == DeliveryState::Sending && delivery.unclear;
            sent(docket, policy, message.id, provider_id);
            if let Some(owner) = docket.edit(message.id) {
                owner.provider_message_id = Some(provider_id.clone());
                if let Some(delivery) = &mut owner.delivery {
                    delivery.unclear = was_tried_before;
                }
            }
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
            let wait_ms =
                retry::wait_ms(policy.retry_base_ms, delivery.attempts, RETRY_CAP_MS, jitter, *at_least_ms);
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
            if let Some(delivery) = docket.edit(message.id).and_then(|message| message.delivery.as_mut()) {
                delivery.attempts -= 1;
            }
        }
        Settled::Unclear(detail) => reconcile::lose_sight(docket, message.id, detail),
    }
    tell_settled(docket, delivery);
    reconcile::decide_parked(docket, policy);
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
    if let Some(delivery) = docket.edit(message.id).and_then(|message| message.delivery.as_mut()) {
        delivery.unclear = false;
    }
    cancel(docket, message.id, reason, actor::SYSTEM);
}

fn requeue(docket: &mut Docket, policy: &Policy, id: Uuid, wait_ms: i64) {
    let due_at = docket.now.plus_ms(wait_ms);
    let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) else { return };
    // Only an earlier attempt can still be unclear.
    delivery.unclear &= delivery.state == DeliveryState::Sending;
    delivery.state = DeliveryState::Queued;
    delivery.due_at = due_at;
    let delivery = delivery.clone();
    let (reply, seq) = (delivery.reply, docket.message(id).map_or(0, |message| message.seq));
    take_answer_back(docket, policy, id);
    // Not only at the next claim: what ended it may be over by then, as when the contact opens a closed conversation.
    if let Some(reason) = refusal(&docket.conversation, policy, &delivery, docket.now, seq) {
        refuse(docket, policy, id, reason);
        return;
    }
    let covers = docket.messages().iter().any(|message| message.is_covered() && message.turn == Some(reply));
    if covers && delivery.gate == Gate::Assistant {
        inbox::comes_back(docket, policy, reply);
    }
}

/// The first part of a reply has certainly not left: what it answers is not answered. It is covered as before, or
/// shares the fate of everything that waited when a person took over or the conversation was closed. Sees only the
/// messages that were loaded with the attempt.
fn take_answer_back(docket: &mut Docket, policy: &Policy, id: Uuid) {
    let Some(message) = docket.message(id) else { return };
    let (seq, turn) = (message.seq, message.turn);
    let Some(delivery) = message.delivery.as_ref() else { return };
    let is_answer = matches!(delivery.gate, Gate::Assistant | Gate::Farewell);
    if delivery.part != 1 || !is_answer || turn.is_none() {
        return;
    }
    let (outcome, reason) = if docket.conversation.status == Status::Closed {
        (Outcome::Ignored, Some(OutcomeReason::Closed))
    } else if delivery.version != docket.conversation.mode.version {
        (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman))
    } else {
        (Outcome::Pending, None)
    };
    let answered = docket.ids(|message| {
        message.turn == turn && message.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Answered)
    });
    for id in &answered {
        if let Some(message) = docket.edit(*id)
            && let Some(inbound) = &mut message.inbound
        {
            (inbound.outcome, inbound.reason) = (outcome, reason);
            if outcome != Outcome::Pending {
                message.turn = None;
            }
        }
    }
    let Some(first) = answered.first().and_then(|id| docket.message(*id)) else { return };
    let (first_seq, first_at) = (first.seq, first.at);
    // Unless a person has spoken since, the contact waits as long as before.
    if docket.conversation.our_seq == seq && outcome != Outcome::Ignored {
        docket.conversation.our_seq = first_seq - 1;
        let since = docket.conversation.waiting_since.map_or(first_at, |since| since.min(first_at));
        docket.conversation.waiting_since = Some(since);
        conversations::wind_overdue(docket, policy);
    }
}

/// The provider has the message under this id. The next part may be typed from now on.
pub fn sent(docket: &mut Docket, policy: &Policy, id: Uuid, provider_id: &str) {
    let now = docket.now;
    let Some(message) = docket.edit(id) else { return };
    // Sent twice by a person's retry, it has two ids: that of the answer and that of an echo are both remembered.
    message.key = Some(provider_id.to_owned());
    message.provider_message_id.get_or_insert_with(|| provider_id.to_owned());
    let Some(delivery) = &mut message.delivery else { return };
    let was_known =
        matches!(delivery.state, DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read);
    if was_known {
        return;
    }
    delivery.state = DeliveryState::Sent;
    delivery.reason = None;
    delivery.sent_at = Some(now);
    let delivery = delivery.clone();
    docket.record(
        Entry::of(EventType::MessageSent)
            .message(id)
            .with("part", delivery.part)
            .with("parts", delivery.parts)
            .with("attempts", delivery.attempts),
    );
    start_typing_next(docket, &delivery);
    conversations::clear(docket, actor::SYSTEM, |reason| reason == AttentionReason::SendUnknown);
    conversations::wind_overdue(docket, policy);
    if delivery.gate == Gate::FollowUp {
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
        if let Some(delivery) = docket.edit(id).and_then(|message| message.delivery.as_mut()) {
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
    let is_another_attempt = delivery.state == DeliveryState::Sending;
    let has_left = !is_another_attempt && delivery.state != DeliveryState::Unknown;
    delivery.state = state;
    delivery.reason = Some(reason);
    // An earlier attempt of unknown fate stays so: its echo may still come.
    delivery.unclear &= is_another_attempt;
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
        payload: serde_json::json!({ "message_id": id.to_string(), "text": text }),
    });
    docket.record(
        Entry::of(EventType::MessageFailed)
            .action("dead_lettered")
            .message(id)
            .with("reason", reason.as_str())
            .with("detail", detail),
    );
    conversations::raise(docket, AttentionReason::SendFailed);
    agenda::cancel(docket, "send_failed", actor::SYSTEM);
    withdraw(docket, DeliveryReason::Refused, actor::SYSTEM, |delivery| delivery.reply == reply);
    conversations::wind_overdue(docket, policy);
}

/// Whether nothing of the machine that is older than this version can leave any more, and what may have left.
pub fn in_flight(docket: &mut Docket, version: i64) -> Vec<Uuid> {
    // One that came back to the queue meanwhile is withdrawn here and now.
    withdraw(docket, DeliveryReason::ModeChanged, actor::SYSTEM, |delivery| {
        delivery.gate != Gate::Person && delivery.version < version
    });
    docket.ids(|message| {
        message.is_machine_made()
            && (message.is(DeliveryState::Sending) || message.is(DeliveryState::Unknown))
    })
}
