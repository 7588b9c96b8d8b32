//! Rules: the hours in which the assistant answers, and those in which somebody is there to take over from it.
//!
//! In: the hours of a channel and the moment. Out: a conversation that is left to people until the assistant's hours begin
//! again, and comes back by itself; or an assistant who says when people are back instead of calling them.

use super::{conversations, conversations::By, inbox};
use crate::domain::{
    conversation::{AttentionReason, Status},
    docket::{Docket, Entry},
    event::{EventType, actor},
    mode::{Mode, Reason},
    policy::Policy,
    time::Time,
    turn::Turn,
};

/// The contact writes outside the assistant's hours: people answer, until these begin again.
pub fn leave_to_people(docket: &mut Docket, policy: &Policy) {
    let Some(opens_at) = opens_at(policy, docket.now) else { return };
    if docket.conversation.mode.mode == Mode::Ai {
        conversations::cause(docket, policy, By::of(Reason::Hours, actor::SYSTEM));
        leave_until(docket, opens_at);
    }
}

/// Remembered apart from the clock, which people may set: by then the hours may be others, and the contact waits all the same.
fn leave_until(docket: &mut Docket, opens_at: Time) {
    docket.conversation.mode.until = Some(opens_at);
    docket.conversation.memo.hours_at = Some(opens_at.0);
}

/// When the assistant's hours begin; None: it is within them.
fn opens_at(policy: &Policy, now: Time) -> Option<Time> {
    let hours = policy.ai_hours.as_ref().filter(|hours| !hours.contains(now))?;
    Some(hours.next_open(now))
}

/// Whether people have the conversation only because it was outside the assistant's hours, and only until these begin.
pub fn is_left_until_hours(docket: &Docket, policy: &Policy) -> bool {
    let mode = &docket.conversation.mode;
    // By the hours, where an older version has left it.
    let begins = |until: Time| {
        docket.conversation.memo.hours_at == Some(until.0)
            || opens_at(policy, until.plus_ms(-1)) == Some(until)
    };
    mode.is_by_hours() && mode.until.is_some_and(begins)
}

/// The contact wants a person: what is left to people only until the assistant's hours begin stays with them.
pub fn leave_for_good(docket: &mut Docket) {
    let mode = &mut docket.conversation.mode;
    (mode.reason, mode.until) = (Reason::ContactAsked, None);
    conversations::tell_until(docket, actor::CONTACT);
}

/// The assistant's hours have begun: what nobody has answered or put aside meanwhile, it answers. If they are over again (we
/// were down), people have it until the next.
pub fn come_back(docket: &mut Docket, policy: &Policy) {
    if let Some(opens_at) = opens_at(policy, docket.now) {
        leave_until(docket, opens_at);
        conversations::tell_until(docket, actor::SYSTEM);
        return;
    }
    conversations::cause(docket, policy, By::of(Reason::HoldExpired, actor::SYSTEM));
    if docket.conversation.status == Status::Open {
        if docket.conversation.contact_spoke_last() {
            inbox::answer_now(docket);
        }
        inbox::leave_unread(docket, policy);
    }
}

/// When people are there to take over, in words; None: they are there now.
pub fn away_until(policy: &Policy, now: Time) -> Option<String> {
    let hours = policy.handover_hours.as_ref().filter(|hours| !hours.contains(now))?;
    Some(hours.told(hours.next_open(now)))
}

/// The assistant would hand over while nobody is there: they see it when they come.
pub fn note_hand_over(docket: &mut Docket, turn: &Turn, why: String) {
    conversations::raise(docket, AttentionReason::AssistantAsked);
    docket.record(
        Entry::of(EventType::ConversationUpdated)
            .action("hand_over_noted")
            .by(actor::ASSISTANT)
            .turn(turn.id)
            .with("reason", why),
    );
}
