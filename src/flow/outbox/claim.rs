//! Rules: the head of what a conversation is owed, claimed for one attempt; every reason why it may not leave is here.
//!
//! In: the docket, under the locks of conversation and channel. Out: one message that is `sending`, or when to look again.

use execution::atomic_mode_check::{self, Refusal as CheckRefusal, Snapshot};
use uuid::Uuid;

use super::{
    BEGIN_WITHIN_MS, LEASE_MARGIN_MS, Settled, begin_to_answer, cancel, first_waiting, send_limit_ms, settle,
};
use crate::{
    domain::{
        conversation::{AttentionReason, Conversation, Status},
        docket::Docket,
        event::actor,
        lane::Lane,
        message::{Attempt, Author, Delivery, DeliveryReason, DeliveryState, Gate, Message},
        mode::Mode,
        policy::Policy,
        time::Time,
    },
    flow::{agenda, conversations, inbox, provider::AUTHORIZED},
};

/// First pause of a channel's breaker between two questions; doubles.
pub const FIRST_PAUSE_MS: i64 = 1_000;
/// A hold outlasts the next question and its answer by this.
const HOLD_MARGIN_MS: i64 = 2_000;

/// Sweeps pass a channel by that is held for no longer: neither its pace nor a provider that is left alone takes longer, whatever
/// its settings.
pub const HELD_AT_MOST_MS: i64 = 7_200_000;

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
    /// The brake of the channel holds it. Nothing else of the channel waits for it, and a sweep finds it once that is released.
    Braked,
    /// Nothing is owed, or the message before has not found its end.
    Nothing,
}

/// Claims the oldest owed message. Mode, version, order, channel, pace and limit are asked here, under the locks of
/// conversation and channel; what may not leave any more is withdrawn and the next one looked at.
pub fn claim_due(docket: &mut Docket, policy: &Policy, attempt: Uuid) -> Claim {
    let is_mine = |message: &&Message| {
        let held = message.delivery.as_ref().and_then(|delivery| delivery.attempt);
        held.is_some_and(|held| held.id == attempt)
    };
    if let Some(mine) = docket.messages().iter().find(is_mine) {
        if mine.is(DeliveryState::Sending) {
            return Claim::Claimed(Box::new(mine.clone()));
        }
        // Its lease ended before anybody heard of the claim: nothing was posted under it, nor is another message.
        settle(docket, policy, attempt, &Settled::Untried, 0.0);
        return Claim::Nothing;
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
        // It keeps its place; nothing that anybody asked for comes behind it, for that would withdraw it.
        if delivery.lane == Lane::Proactive {
            if policy.brake.latched.is_some() {
                return Claim::Braked;
            }
            if let Some(at) = agenda::waits_until(policy, delivery.queued_at, docket.now) {
                put_off_to(docket, id, at);
                return Claim::NotYet(at);
            }
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

/// Due only then, or every sweep until the morning would find it, ahead of answers. How late it is counts from when it was
/// queued all the same.
fn put_off_to(docket: &mut Docket, id: Uuid, at: Time) {
    let is_put_off = |message: &Message| message.delivery.as_ref().is_some_and(|it| it.due_at == at);
    if !docket.message(id).is_some_and(is_put_off)
        && let Some(delivery) = docket.edit_delivery(id)
    {
        delivery.due_at = at;
    }
}

/// The same in the transaction in which it became owed. Besides the message, those of the contact that its claim
/// answers. None: it leaves later, if at all.
pub fn claim_at_once(
    docket: &mut Docket,
    policy: &Policy,
    attempt: Uuid,
) -> Option<(Box<Message>, Vec<Uuid>)> {
    match claim_due(docket, policy, attempt) {
        Claim::Claimed(message) => {
            let answered = answered_by(docket, &message);
            Some((message, answered))
        }
        _ => None,
    }
}

/// The messages of the contact that this one answers, of those that are loaded: where its claim is found again, they count as
/// answered already, and are no open business.
pub fn answered_by(docket: &Docket, message: &Message) -> Vec<Uuid> {
    let Some(turn) = message.turn else { return Vec::new() };
    docket.ids(|other| other.inbound.is_some() && other.turn == Some(turn))
}

/// Why a message may not leave any more; None: it may.
pub(in crate::flow) fn refusal(
    conversation: &Conversation,
    policy: &Policy,
    delivery: &Delivery,
    now: Time,
    seq: i64,
) -> Option<DeliveryReason> {
    let mode_refusal = || {
        let seen = Snapshot {
            mode: atomic_mode_check::Mode::Ai,
            version: delivery.version,
            fence: 0,
            last_seq: None,
        };
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
    let is_closed = was_closed(conversation, seq);
    match delivery.gate {
        Gate::Person => None,
        _ if is_closed => Some(DeliveryReason::Closed),
        // The words of a hand-over leave in HUMAN, while it is the HUMAN that they announced and no person has acted.
        Gate::Farewell => {
            let is_late = conversation.mode.version != delivery.version || conversation.memo.human_seq >= seq;
            is_late.then_some(DeliveryReason::ModeChanged)
        }
        Gate::Assistant => mode_refusal(),
        Gate::FollowUp => mode_refusal()
            .or_else(|| (conversation.memo.alive_seq >= seq).then_some(DeliveryReason::Superseded))
            .or_else(|| conversation.opted_out.then_some(DeliveryReason::OptedOut))
            .or_else(|| agenda::is_too_late(policy, delivery.queued_at, now).then_some(DeliveryReason::Late)),
    }
}

/// Whether the conversation is closed, or was after that message of the machine was written: opened again, it starts over.
pub(super) fn was_closed(conversation: &Conversation, seq: i64) -> bool {
    conversation.status == Status::Closed || seq <= conversation.memo.closed_seq
}

/// The mode as the check knows it.
pub const fn as_checked(mode: Mode) -> atomic_mode_check::Mode {
    match mode {
        Mode::Ai => atomic_mode_check::Mode::Ai,
        Mode::Human => atomic_mode_check::Mode::Human,
    }
}

/// A refused message never blocks the conversation's order: it is withdrawn, and what it covered is left to a person.
pub(super) fn refuse(docket: &mut Docket, policy: &Policy, id: Uuid, reason: DeliveryReason) {
    let delivery = docket.delivery(id);
    let is_follow_up = delivery.is_some_and(|delivery| delivery.gate == Gate::FollowUp);
    cancel(docket, id, reason, actor::SYSTEM);
    if is_follow_up {
        // The next one was there from an attempt before.
        agenda::cancel_automatic(docket, actor::SYSTEM);
    }
    inbox::set_ripe_at(docket, policy);
}

fn channel_allows(docket: &mut Docket, policy: &Policy) -> Option<Claim> {
    let channel = docket.channel.as_ref()?;
    if !is_able(&channel.state) {
        return Some(Claim::ChannelDown);
    }
    if channel.in_flight >= policy.send_in_flight {
        docket.found_full = true;
        return Some(Claim::ChannelFull);
    }
    is_held(policy, channel.next_send_at, docket.now).then_some(Claim::ChannelBusy(channel.next_send_at))
}

/// Whether nothing of a channel leaves before that. A hold that is longer than any was written before the clock was set back.
fn is_held(policy: &Policy, until: Time, now: Time) -> bool {
    let longest_ms = policy.send_interval_ms.max(hold_ms(policy, policy.breaker_open_ms.max(FIRST_PAUSE_MS)));
    (1..=longest_ms).contains(&until.since(now))
}

/// How long a channel is held for a pause of its breaker: until the next question and its answer, and a moment longer.
pub const fn hold_ms(policy: &Policy, pause_ms: i64) -> i64 {
    pause_ms + policy.provider_timeout_ms + HOLD_MARGIN_MS
}

/// Whether a channel in that state, as the provider names it, can send. One that was never asked counts as able.
pub fn is_able(state: &str) -> bool {
    state.is_empty() || state == AUTHORIZED
}

fn begin_sending(docket: &mut Docket, policy: &Policy, id: Uuid, attempt: Uuid) -> Claim {
    let now = docket.now;
    if let Some(channel) = &mut docket.channel {
        channel.next_send_at = now.plus_ms(policy.send_interval_ms);
        channel.in_flight += 1;
        channel.sends += 1;
    }
    let limit_ms = docket.message(id).map_or(0, |message| send_limit_ms(policy, message));
    let lease_until = now.plus_ms(BEGIN_WITHIN_MS + limit_ms + LEASE_MARGIN_MS);
    match begin_attempt(docket, policy, id, Attempt { id: attempt, at: now, lease_until }) {
        Some(claimed) => Claim::Claimed(Box::new(claimed)),
        None => Claim::Nothing,
    }
}

/// That attempt begins, or is taken to have begun: what the message answers is answered, and our side has spoken.
pub(in crate::flow) fn begin_attempt(
    docket: &mut Docket,
    policy: &Policy,
    id: Uuid,
    attempt: Attempt,
) -> Option<Message> {
    let message = docket.edit(id)?;
    let (seq, turn) = (message.seq, message.turn);
    let delivery = message.delivery.as_mut()?;
    delivery.state = DeliveryState::Sending;
    delivery.reason = None;
    delivery.attempts += 1;
    delivery.attempt = Some(attempt);
    let is_last_part = delivery.part == delivery.parts;
    let queued_at = delivery.queued_at;
    let claimed = message.clone();
    begin_to_answer(docket, policy, turn);
    if !leaves_them_waiting(docket, &claimed) {
        docket.conversation.our_seq = docket.conversation.our_seq.max(seq);
        end_the_wait(docket, policy, queued_at);
    }
    if is_last_part {
        agenda::after_our_words(docket, policy, id);
    }
    Some(claimed)
}

/// Whether these words say that somebody comes, or that the assistant cannot answer: the contact waits on.
fn leaves_them_waiting(docket: &Docket, words: &Message) -> bool {
    let our_seq = docket.conversation.our_seq;
    let is_left = |message: &Message| message.seq > our_seq && message.is_left_open();
    words.delivery.as_ref().is_some_and(|delivery| delivery.gate == Gate::Farewell)
        || words.author == Author::System && docket.messages().iter().any(is_left)
}

/// Our side has spoken. What came after these words were written still waits.
fn end_the_wait(docket: &mut Docket, policy: &Policy, queued_at: Time) {
    // With something that starts no turn, such as a voice note that nobody can read: the writer of this has not heard it.
    let waits_since_then = docket.conversation.waiting_since.is_some_and(|since| since > queued_at);
    if has_said_more(docket) || waits_since_then {
        return;
    }
    // Also where they waited for these words already, and a person was called for it.
    let unreadable = docket.conversation.attention.filter(|it| it.reason == AttentionReason::Unreadable);
    let unheard_since = unreadable.map(|it| it.since).filter(|since| *since > queued_at);
    // A message that this reply had not read still waits.
    docket.conversation.waiting_since = first_waiting(docket).or(unheard_since);
    conversations::set_overdue_at(docket, policy);
}

/// Whether the contact has said anything behind our words that stands. What was taken back is known to be nothing only where all
/// that came since then is known.
fn has_said_more(docket: &Docket) -> bool {
    let our_seq = docket.conversation.our_seq;
    let stands = |message: &Message| message.seq > our_seq && message.is_left_open();
    docket.conversation.contact_spoke_last()
        && (!docket.knows_all_after(our_seq) || docket.messages().iter().any(stands))
}
