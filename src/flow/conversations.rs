//! Place: who answers in each conversation, and whether a person is needed. Rules over a docket.
//!
//! In: what a person, the contact or a clock does. Out: the next mode with everything that goes with it, in the
//! transaction of the caller: running generation cancelled, queued words withdrawn, follow-up called off, events.

use uuid::Uuid;

use super::{agenda, drafts, office_hours, outbox};
use crate::domain::{
    conversation::{Attention, AttentionReason, Memo, Status},
    docket::{Docket, Entry},
    event::{EventType, actor},
    message::{Delivery, DeliveryReason, DeliveryState, Gate, Message, Outcome, OutcomeReason},
    mode::{self, Mode, ModeState, Reason},
    policy::Policy,
    time::Time,
    turn::TurnState,
};

/// A person whose message cannot leave when the clock runs out keeps the conversation for at least this long.
const HELD_AT_LEAST_MS: i64 = 60_000;

/// What a switch stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switched {
    /// The mode was another before.
    pub changed: bool,
    /// How long a generation had been running.
    pub generation_ms: Option<i64>,
    /// Parts of the reply withdrawn that had left before.
    pub parts_already_sent: usize,
    /// Messages withdrawn.
    pub parts_discarded: usize,
    /// A follow-up was pending.
    pub follow_up_cancelled: bool,
}

/// Who switches, and why.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    /// The reason recorded. People may give any: whether this is an act of theirs is told by who acts alone.
    pub reason: Reason,
    /// Who acts.
    pub actor: &'a str,
    /// As which agent: the conversation is assigned unless another holds it.
    pub agent: Option<Uuid>,
    /// They have chosen until when, and the switch puts that in place of what is usual.
    pub chose_until: bool,
}

impl<'a> By<'a> {
    /// Not an agent of the business.
    pub const fn of(reason: Reason, actor: &'a str) -> Self {
        Self { reason, actor, agent: None, chose_until: false }
    }
}

/// A cause arises by itself: switches if the state machine says so.
pub fn cause(docket: &mut Docket, policy: &Policy, by: By<'_>) -> Option<Switched> {
    let to = mode::next(docket.conversation.mode.mode, by.reason)?;
    Some(switch(docket, policy, to, by))
}

/// Switches, or acts again in the mode that is: HUMAN again still withdraws what the machine has queued.
pub fn switch(docket: &mut Docket, policy: &Policy, to: Mode, by: By<'_>) -> Switched {
    let mut switched = match to {
        Mode::Human => stop_the_machine(docket, DeliveryReason::ModeChanged, by),
        Mode::Ai => {
            drafts::change_hands(docket, to, by.actor);
            Switched::default()
        }
    };
    let from = docket.conversation.mode.mode;
    let is_our_side = actor::is_our_side(by.actor);
    switched.changed = docket.conversation.mode.apply(by.reason, to, by.actor, docket.now);
    if switched.changed {
        let memo = &mut docket.conversation.memo;
        (memo.is_clock_stopped, memo.clock_at) = (false, None);
    }
    if to == Mode::Human && is_our_side {
        docket.conversation.memo.answered.clear();
        let until = docket.conversation.mode.until;
        hold(docket, policy);
        // Of a mode that has changed it is told below; of an hour that is chosen too, by whoever takes it.
        if !switched.changed && !by.chose_until && docket.conversation.mode.until != until {
            tell_until(docket, by.actor);
        }
        if let (None, Some(agent)) = (docket.conversation.assignee, by.agent) {
            docket.conversation.assignee = Some(agent);
            docket.record(
                Entry::of(EventType::ConversationUpdated)
                    .action("assigned")
                    .by(by.actor)
                    .with("assignee", agent.to_string()),
            );
        }
    }
    if switched.changed {
        if to == Mode::Ai {
            // What was promised in HUMAN was promised under an older version.
            outbox::withdraw(docket, DeliveryReason::ModeChanged, by.actor, |delivery| {
                delivery.gate != Gate::Person
            });
        }
        docket.record(
            Entry::of(EventType::ModeChanged)
                .by(by.actor)
                .with("from", from.as_str())
                .with("to", to.as_str())
                .with("reason", by.reason.as_str()),
        );
        if to == Mode::Ai && is_our_side {
            // The person who gives it back has seen how often it answered.
            docket.conversation.memo.answered.clear();
            clear(docket, by.actor, asks_who_answers);
        }
        let memo = &mut docket.conversation.memo;
        memo.is_untold |= to == Mode::Human && memo.others().next().is_some();
        if to == Mode::Human && is_our_side {
            docket
                .record(Entry::of(EventType::AgentTookOver).by(by.actor).with("reason", by.reason.as_str()));
            drafts::consider(docket, policy);
        }
    }
    set_overdue_at(docket, policy);
    switched
}

/// The mode is as it was, and its clock is another.
pub fn tell_until(docket: &mut Docket, by: &str) {
    let until = docket.conversation.mode.until.map(|until| until.to_string());
    docket.record(Entry::of(EventType::ModeUntilChanged).by(by).with("until", until));
}

/// Stops everything the machine does in this conversation: the running turn, queued words, the follow-up. What the
/// contact wrote is left to people.
fn stop_the_machine(docket: &mut Docket, reason: DeliveryReason, by: By<'_>) -> Switched {
    let actor = by.actor;
    let left = if by.reason == Reason::Hours && !actor::is_our_side(by.actor) {
        OutcomeReason::Hours
    } else {
        OutcomeReason::ModeHuman
    };
    // A draft is nothing that the machine could answer with.
    drafts::change_hands(docket, Mode::Human, actor);
    let generation_ms = if drafts::is_writing(docket) {
        None
    } else {
        cancel_turn(docket, TurnState::Cancelled, reason.as_str(), |turn_ms| {
            Entry::of(EventType::ModeChangeDuringGeneration)
                .action("cancelled_generation")
                .by(actor)
                .with("generation_ms", turn_ms)
        })
    };
    let parts_already_sent = outbox::already_left(docket);
    let is_machines = |delivery: &Delivery| delivery.gate != Gate::Person;
    // One that waits to leave is still the follow-up, and no part of a reply.
    let is_withdrawn = agenda::owed::withdraw(docket, reason, actor, is_machines);
    let parts_discarded = outbox::withdraw(docket, reason, actor, is_machines);
    let follow_up_cancelled = agenda::cancel(docket, reason.as_str(), actor) || is_withdrawn;
    leave_waiting(docket, Outcome::LeftToHuman, left);
    Switched { changed: false, generation_ms, parts_already_sent, parts_discarded, follow_up_cancelled }
}

/// Withdraws the lease from the turn that works on the conversation. The fence rises, so that nothing of that turn can be
/// committed. Returns for how long it had been running.
pub fn cancel_turn(
    docket: &mut Docket,
    state: TurnState,
    reason: &str,
    entry: impl FnOnce(i64) -> Entry,
) -> Option<i64> {
    let lease = docket.conversation.lease.take()?;
    docket.conversation.fence += 1;
    let now = docket.now;
    let turn = docket.edit_turn(lease.turn)?;
    if turn.state != TurnState::Generating {
        return None;
    }
    turn.state = state;
    turn.ended_at = Some(now);
    turn.wasted = true;
    turn.reason = Some(reason.to_owned());
    let ran_ms = now.since(turn.started_at);
    docket.record(entry(ran_ms).turn(lease.turn));
    Some(ran_ms)
}

/// The same where the contact has written more than the running turn has read: another begins in its place.
pub fn supersede_turn(docket: &mut Docket) -> Option<i64> {
    cancel_turn(docket, TurnState::Superseded, "newer_message", |turn_ms| restarted(actor::CONTACT, turn_ms))
}

/// The same where what the running turn is about has ended, for that reason: what is left has another.
pub fn restart_turn(docket: &mut Docket, reason: &str, by: &str) -> Option<i64> {
    cancel_turn(docket, TurnState::Cancelled, reason, |turn_ms| restarted(by, turn_ms).with("reason", reason))
}

fn restarted(by: &str, turn_ms: i64) -> Entry {
    Entry::of(EventType::TurnSuperseded).action("restarted").by(by).with("generation_ms", turn_ms)
}

/// Everything that waits for the assistant ends so; the burst is over.
fn leave_waiting(docket: &mut Docket, outcome: Outcome, reason: OutcomeReason) {
    for id in docket.ids(|message| message.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending))
    {
        if let Some(message) = docket.edit(id)
            && let Some(inbound) = &mut message.inbound
        {
            inbound.outcome = outcome;
            inbound.reason = Some(reason);
            message.turn = None;
        }
    }
    docket.conversation.memo.end_burst();
}

/// Why what the contact writes in HUMAN is left to people.
pub fn left_because(mode: &ModeState, policy: &Policy) -> OutcomeReason {
    if !policy.has_model {
        // Whoever has the conversation: nobody can have this answered by the assistant.
        return OutcomeReason::NoModel;
    }
    // With a clock, it is only for as long as that; without, a person has taken it.
    if mode.is_by_hours() && mode.until.is_some() { OutcomeReason::Hours } else { OutcomeReason::ModeHuman }
}

/// A person of our side acted: the clock back to AI restarts, if the channel has one and nobody has stopped it. A later
/// hour that somebody chose stays.
pub fn hold(docket: &mut Docket, policy: &Policy) {
    docket.conversation.memo.human_seq = docket.conversation.seq;
    let before = docket.conversation.mode.until;
    if office_hours::is_left_until_hours(docket, policy) {
        docket.conversation.mode.until = None;
    }
    let is_stopped = docket.conversation.memo.is_clock_stopped;
    if policy.human_hold_ms > 0 && !is_stopped && docket.conversation.mode.mode == Mode::Human {
        let until = docket.now.plus_ms(policy.human_hold_ms);
        docket.conversation.mode.until = docket.conversation.mode.until.max(Some(until));
    }
    if docket.conversation.mode.until != before {
        clock_changed(docket);
    }
}

/// Our side has changed the clock: it is another in the other conversations with the same person as well.
pub fn clock_changed(docket: &mut Docket) {
    let memo = &mut docket.conversation.memo;
    memo.clock_at = Some(docket.now.0);
    if memo.others().next().is_some() {
        memo.is_untold = true;
    }
}

/// When the contact will have waited too long for a person.
pub fn set_overdue_at(docket: &mut Docket, policy: &Policy) {
    let conversation = &mut docket.conversation;
    let waits = conversation.mode.mode == Mode::Human
        && conversation.status == Status::Open
        && policy.human_overdue_ms > 0;
    let theirs_since = conversation.mode.changed_at.max(Time(conversation.memo.woken_at.unwrap_or(0)));
    let since = conversation.waiting_since.map(|since| since.max(theirs_since));
    let already_called = conversation.attention.is_some();
    conversation.memo.overdue_at =
        since.filter(|_| waits && !already_called).map(|since| since.plus_ms(policy.human_overdue_ms).0);
}

/// Calls a person. An earlier call stays as it is, but a send of unknown fate comes before everything. What a person is
/// called for besides a call that may end by itself waits behind it.
pub fn raise(docket: &mut Docket, reason: AttentionReason) {
    let memo = &mut docket.conversation.memo;
    match docket.conversation.attention.map(|attention| attention.reason) {
        Some(current) if current == reason => return,
        Some(current) if reason == AttentionReason::SendUnknown => wait_behind(memo, current),
        Some(current) => {
            if may_end_by_itself(current) {
                wait_behind(memo, reason);
            }
            return;
        }
        None => {}
    }
    memo.overdue_at = None;
    docket.conversation.attention = Some(Attention { reason, since: docket.now });
    docket.record(Entry::of(EventType::AttentionRaised).with("reason", reason.as_str()));
}

/// One waits: rather one that only a person ends.
fn wait_behind(memo: &mut Memo, reason: AttentionReason) {
    if waits_behind(memo).is_none_or(may_end_by_itself) {
        memo.called_for = Some(reason.to_string());
    }
}

fn waits_behind(memo: &Memo) -> Option<AttentionReason> {
    memo.called_for.as_deref().and_then(|word| word.parse().ok())
}

/// Whether the contact waits, and no answer to them is owed; or a person is called for what nothing has answered. Baton's own
/// words, such as those for a model that fails, end the first and not the second.
pub fn is_left_waiting(docket: &Docket) -> bool {
    let conversation = &docket.conversation;
    let is_being_answered = docket.messages().iter().any(Message::is_covered);
    let called_for = conversation.attention.map(|attention| attention.reason);
    let mut called_for = called_for.into_iter().chain(waits_behind(&conversation.memo));
    (conversation.waiting_since.is_some() && !is_being_answered) || called_for.any(is_for_want_of_an_answer)
}

/// Whether an answer, an echo or a report ends such a call, without a person.
const fn may_end_by_itself(reason: AttentionReason) -> bool {
    matches!(
        reason,
        AttentionReason::SendUnknown
            | AttentionReason::SendFailed
            | AttentionReason::AiFailure
            | AttentionReason::Stale
            | AttentionReason::Unanswered
            | AttentionReason::SpendLimit
            | AttentionReason::HumanOverdue
    )
}

/// Whether such a call says that the contact has had no answer.
const fn is_for_want_of_an_answer(reason: AttentionReason) -> bool {
    matches!(
        reason,
        AttentionReason::AiFailure
            | AttentionReason::Stale
            | AttentionReason::Unreadable
            | AttentionReason::Unanswered
            | AttentionReason::SpendLimit
    )
}

/// Whether such a call asks for a person to answer: giving the conversation back decides who does.
const fn asks_who_answers(reason: AttentionReason) -> bool {
    matches!(
        reason,
        AttentionReason::ContactAsked | AttentionReason::AssistantAsked | AttentionReason::HumanOverdue
    )
}

/// A person has looked, or the cause is gone. A call for a send of unknown fate ends only when no such send is left, and
/// what has waited behind it follows, unless this ends it too.
pub fn clear(docket: &mut Docket, actor: &str, which: impl Fn(AttentionReason) -> bool) {
    let behind = waits_behind(&docket.conversation.memo).filter(|reason| !which(*reason));
    docket.conversation.memo.called_for = None;
    let Some(attention) = docket.conversation.attention else { return };
    let is_unsettled = attention.reason == AttentionReason::SendUnknown
        && docket.messages().iter().any(|message| message.is(DeliveryState::Unknown));
    if is_unsettled || !which(attention.reason) {
        docket.conversation.memo.called_for = behind.map(|reason| reason.to_string());
        return;
    }
    docket.conversation.attention = None;
    docket.record(Entry::of(EventType::AttentionCleared).by(actor).with("reason", attention.reason.as_str()));
    if let Some(reason) = behind {
        raise(docket, reason);
    }
}

/// Closes the conversation: the running turn, queued words and the follow-up end with it.
pub fn close(docket: &mut Docket, policy: &Policy, actor: &str) {
    cancel_turn(docket, TurnState::Cancelled, DeliveryReason::Closed.as_str(), |turn_ms| {
        Entry::of(EventType::ModeChangeDuringGeneration)
            .action("cancelled_generation")
            .by(actor)
            .with("generation_ms", turn_ms)
            .with("reason", DeliveryReason::Closed.as_str())
    });
    docket.conversation.memo.draft_wish = None;
    outbox::withdraw(docket, DeliveryReason::Closed, actor, |delivery| delivery.gate != Gate::Person);
    agenda::cancel(docket, DeliveryReason::Closed.as_str(), actor);
    leave_waiting(docket, Outcome::Ignored, OutcomeReason::Closed);
    clear(docket, actor, |_| true);
    docket.conversation.waiting_since = None;
    docket.conversation.memo.closed_seq = docket.conversation.seq;
    set_status(docket, Status::Closed, None, actor);
    set_overdue_at(docket, policy);
}

/// Opens, snoozes or closes on paper; returns whether anything changed.
pub fn set_status(docket: &mut Docket, status: Status, snoozed_until: Option<Time>, actor: &str) -> bool {
    let conversation = &mut docket.conversation;
    if conversation.status == status && conversation.snoozed_until == snoozed_until {
        return false;
    }
    let is_woken = conversation.status == Status::Snoozed && status == Status::Open;
    conversation.memo.woken_at = is_woken.then_some(docket.now.0);
    conversation.status = status;
    conversation.snoozed_until = snoozed_until;
    let action = match status {
        Status::Open => "opened",
        Status::Snoozed => "snoozed",
        Status::Closed => "closed",
    };
    docket.record(Entry::of(EventType::ConversationUpdated).action(action).by(actor));
    true
}

/// What time alone brings about: the way back to AI, the end of a snooze, a contact who waits too long.
pub fn pass_time(docket: &mut Docket, policy: &Policy) {
    let now = docket.now;
    let is_past = |at: Option<Time>| at.is_some_and(|at| at <= now);
    let a_person_writes = docket.deliveries().any(|delivery| {
        delivery.gate == Gate::Person
            && matches!(delivery.state, DeliveryState::Queued | DeliveryState::Sending)
    });
    let is_clock_over =
        is_past(docket.conversation.mode.until) && docket.conversation.mode.mode == Mode::Human;
    if is_clock_over {
        if a_person_writes {
            // Their message is on its way, if not for hours: they have the conversation for as long again.
            let until = now.plus_ms(policy.human_hold_ms.max(HELD_AT_LEAST_MS));
            docket.conversation.mode.until = Some(until);
            tell_until(docket, actor::SYSTEM);
        } else if office_hours::is_left_until_hours(docket, policy) {
            office_hours::come_back(docket, policy);
        } else {
            cause(docket, policy, By::of(Reason::HoldExpired, actor::SYSTEM));
        }
    }
    let is_back = is_past(docket.conversation.snoozed_until);
    if is_back {
        set_status(docket, Status::Open, None, actor::SYSTEM);
        set_overdue_at(docket, policy);
    }
    if is_clock_over || is_back {
        call_for_who_is_left(docket);
    }
    if is_past(docket.conversation.memo.overdue_at.map(Time)) {
        docket.conversation.memo.overdue_at = None;
        raise(docket, AttentionReason::HumanOverdue);
    }
}

/// Calls a person if the assistant has the conversation, the contact waits, and nobody has in hand what they wait with: a clock
/// has given it back, or an answer has failed that a takeover had found on its way.
pub(super) fn call_for_who_is_left(docket: &mut Docket) {
    let conversation = &docket.conversation;
    let is_left = conversation.mode.mode == Mode::Ai
        && conversation.status == Status::Open
        && conversation.waiting_since.is_some();
    let is_in_hand = docket.messages().iter().any(|message| {
        message.inbound.is_some_and(|inbound| inbound.outcome == Outcome::Pending)
            || message.is(DeliveryState::Queued)
            || message.is(DeliveryState::Sending)
    });
    if is_left && !is_in_hand {
        raise(docket, AttentionReason::Unanswered);
    }
}
