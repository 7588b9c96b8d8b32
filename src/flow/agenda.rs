//! Place: follow-ups by due time, at most one pending for a conversation.
//!
//! In: the assistant's tool, the API, or our own message left unanswered. Out: a message owed, or a named reason why not.

pub mod brake;

pub mod owed;

use uuid::Uuid;

use super::{
    conversations,
    generator::Failure,
    inbox::{self, Begun, Claimant},
    outbox::{self, Owed},
};
use crate::domain::{
    cadence::{self, Verdict},
    conversation::Status,
    docket::{Docket, Entry},
    event::{EventType, actor},
    lane::Lane,
    message::{Author, DeliveryReason, DeliveryState, Gate, Message, Origin},
    mode::Mode,
    pacing,
    policy::Policy,
    time::Time,
    turn::{FollowUp, FollowUpState, Purpose},
};

/// Longest time until a follow-up: a year.
pub const DELAY_MAX_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// A follow-up that is due while our words are still on their way is looked at again after as long as that has lasted, within
/// these bounds: behind a phone that is off many may wait for hours.
const AFTER_WORDS_MS: i64 = 1_000;
const AFTER_WORDS_MAX_MS: i64 = 60_000;

/// One that the assistant would write is looked at again after this, while the channel's ceiling of cost is reached.
const SPENT_MS: i64 = 600_000;

/// What a follow-up should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewFollowUp {
    /// When it is to be due.
    pub due_at: Option<Time>,
    /// Or how long from now.
    pub delay_ms: Option<i64>,
    /// Its words.
    pub text: Option<String>,
    /// Or what the assistant should write.
    pub instructions: Option<String>,
}

/// Schedules one in place of what is pending: cancel and insert are one. None if it is not allowed now, or if the one before may
/// be leaving: the contact would get both. One that waits to leave gives way, unless a person has decided to send it again and
/// it is not a person who schedules.
pub fn schedule(
    docket: &mut Docket,
    policy: &Policy,
    new: &NewFollowUp,
    by: &str,
) -> Option<(FollowUp, bool)> {
    if !is_allowed(docket) || owed::may_be_leaving_now(docket) {
        return None;
    }
    let is_persons = actor::is_our_side(by);
    let gave_way = owed::withdraw(docket, DeliveryReason::Overtaken, by, |delivery| {
        is_persons || delivery.gate == Gate::FollowUp
    });
    Some(put_in_place(docket, policy, new, by, gave_way))
}

fn put_in_place(
    docket: &mut Docket,
    policy: &Policy,
    new: &NewFollowUp,
    by: &str,
    gave_way: bool,
) -> (FollowUp, bool) {
    let wanted = new.due_at.unwrap_or_else(|| docket.now.plus_ms(new.delay_ms.unwrap_or(0)));
    let replaced = end_pending(docket, "replaced") || gave_way;
    stop_writing(docket, "replaced", by);
    let follow_up = FollowUp {
        id: Uuid::now_v7(),
        due_at: cadence::allowed_at(policy, wanted),
        text: new.text.clone(),
        instructions: new.instructions.clone(),
        created_by: by.to_owned(),
        created_at: docket.now,
        state: FollowUpState::Pending,
        reason: None,
        attempts: 0,
        message: None,
    };
    docket.keep_follow_up(follow_up.clone());
    docket.conversation.memo.follow_up_retry_at = None;
    docket.record(
        Entry::of(EventType::FollowUpScheduled)
            .action(if replaced { "replaced" } else { "created" })
            .by(by)
            .with("follow_up_id", follow_up.id.to_string())
            .with("due_at", follow_up.due_at.to_string()),
    );
    (follow_up, !replaced)
}

/// Whether a follow-up may exist: only in AI, open, not opted out, and while the contact waits for nothing.
pub fn is_allowed(docket: &Docket) -> bool {
    let conversation = &docket.conversation;
    let something_waits = docket.messages().iter().any(|message| message.waits());
    conversation.mode.mode == Mode::Ai
        && conversation.status != Status::Closed
        && !conversation.opted_out
        && !something_waits
}

/// Calls off the pending one. True if there was one.
pub fn cancel(docket: &mut Docket, reason: &str, by: &str) -> bool {
    let was_pending = end_pending(docket, reason);
    if was_pending {
        docket.record(Entry::of(EventType::FollowUpCancelled).by(by).with("reason", reason));
        stop_writing(docket, reason, by);
    }
    was_pending
}

/// The contact did something at that moment in another conversation with them: of what would chase them here, nothing from
/// before it leaves.
pub fn heard_elsewhere(docket: &mut Docket, at: Time) {
    if docket.conversation.memo.alive_at.is_some_and(|known| known >= at.0) {
        return;
    }
    let before = docket.messages().iter().filter(|message| message.at <= at).map(|message| message.seq);
    let seen = before.max().unwrap_or(0);
    let conversation = &mut docket.conversation;
    conversation.memo.alive_at = Some(at.0);
    conversation.memo.alive_seq = conversation.memo.alive_seq.max(seen);
    if conversation.last_message_at.is_none_or(|last| last <= at) {
        conversation.memo.follow_ups_sent = 0;
    }
    if docket.follow_up().is_some_and(|follow_up| follow_up.created_at <= at) {
        cancel(docket, "contact_replied", actor::CONTACT);
    }
    outbox::withdraw(docket, DeliveryReason::Superseded, actor::CONTACT, |delivery| {
        delivery.gate == Gate::FollowUp && delivery.queued_at <= at
    });
}

/// Calls off what was scheduled by itself when words left that now do not.
pub fn cancel_automatic(docket: &mut Docket, by: &str) {
    if docket.follow_up().is_some_and(|follow_up| follow_up.created_by == actor::SYSTEM) {
        cancel(docket, "withdrawn", by);
    }
}

fn end_pending(docket: &mut Docket, reason: &str) -> bool {
    docket
        .change_follow_up(|follow_up| {
            follow_up.state = FollowUpState::Cancelled;
            follow_up.reason = Some(reason.to_owned());
        })
        .is_some()
}

/// The turn that writes the words of a follow-up ends with it: nobody wants them any more.
fn stop_writing(docket: &mut Docket, reason: &str, by: &str) {
    if docket.running_turn().is_some_and(|turn| turn.purpose == Purpose::FollowUp) {
        conversations::restart_turn(docket, reason, by);
    }
}

/// The last words of a reply leave, or a follow-up of our own accord: the next one, unless the contact has spoken since or one was
/// scheduled.
/// It exists from the claim on, so that nobody ever sees a reply without it; a send that fails takes it away again.
pub fn after_our_words(docket: &mut Docket, policy: &Policy, id: Uuid) {
    let Some(message) = docket.message(id) else { return };
    let Some(delivery) = &message.delivery else { return };
    let memo = &docket.conversation.memo;
    // How many will have left in this silence; None: these words are not followed up.
    let already = match delivery.gate {
        Gate::Assistant if message.author == Author::Assistant => Some(memo.follow_ups_sent),
        Gate::FollowUp if memo.is_sequence => Some(memo.follow_ups_sent + 1),
        Gate::Assistant | Gate::FollowUp | Gate::Farewell | Gate::Person => None,
    };
    let is_ours = |follow_up: &FollowUp| follow_up.created_by == actor::SYSTEM;
    let still_holds = delivery.version == docket.conversation.mode.version
        // Also with what starts no turn, such as a voice note that nobody can read, or by an edit.
        && docket.conversation.contact_seq.max(memo.alive_seq) < message.seq
        && docket.follow_up().is_none_or(is_ours)
        && !owed::is_another_owed(docket, id)
        && is_allowed(docket);
    let next = already.and_then(|already| cadence::automatic(policy, docket.now, already));
    if let (true, Some((due_at, text))) = (still_holds, next) {
        let new = NewFollowUp { due_at: Some(due_at), text, ..NewFollowUp::default() };
        put_in_place(docket, policy, &new, actor::SYSTEM, false);
    }
}

/// Whether an owed follow-up has become too late to leave.
pub fn is_too_late(policy: &Policy, queued_at: Time, now: Time) -> bool {
    matches!(cadence::judge(policy, queued_at, now), Verdict::Withhold(_))
}

/// Until when an owed follow-up waits for the end of quiet hours, which it has met on its way, or because the brake held it.
pub fn waits_until(policy: &Policy, queued_at: Time, now: Time) -> Option<Time> {
    match cadence::judge(policy, queued_at, now) {
        Verdict::Wait(at) => Some(at),
        Verdict::Fire | Verdict::Withhold(_) => None,
    }
}

/// What a due follow-up leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Fired {
    /// Its message is owed.
    Owed,
    /// The assistant writes it now.
    Begun(Box<Begun>),
    /// Not before then.
    NotYet(Time),
    /// Not before a person releases the brake: a sweep finds it then, and none before.
    Braked,
    /// It was held back for good, or there is none.
    Nothing,
}

/// The time of the pending follow-up has come: everything is asked again, under the lock.
pub fn fire(docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Fired {
    let Some(follow_up) = docket.follow_up().cloned() else { return Fired::Nothing };
    if let Some(begun) = inbox::begun_before(docket, policy, claimant) {
        return Fired::Begun(Box::new(begun));
    }
    if let Some(held) = inbox::free_lease(docket, claimant) {
        return Fired::NotYet(held);
    }
    if policy.brake.latched.is_some() {
        return Fired::Braked;
    }
    match cadence::judge(policy, follow_up.due_at, docket.now) {
        Verdict::Wait(at) => {
            put_off_to(docket, at);
            return Fired::NotYet(at);
        }
        Verdict::Withhold(reason) => {
            withhold(docket, reason);
            return Fired::Nothing;
        }
        Verdict::Fire => {}
    }
    let retry_at = docket.conversation.memo.follow_up_retry_at.map(Time);
    if let Some(at) = retry_at.filter(|at| *at > docket.now) {
        return Fired::NotYet(at);
    }
    let stands = |state| docket.messages().iter().any(|message| message.is(state));
    if stands(DeliveryState::Queued) || stands(DeliveryState::Sending) {
        let waited_ms = docket.now.since(follow_up.due_at);
        let at = docket.now.plus_ms(waited_ms.clamp(AFTER_WORDS_MS, AFTER_WORDS_MAX_MS));
        // Kept: of those who wait behind a phone that is off there may be more than one look has room for.
        docket.conversation.memo.follow_up_retry_at = Some(at.0);
        return Fired::NotYet(at);
    }
    if !is_allowed(docket) || conversations::is_left_waiting(docket) || stands(DeliveryState::Unknown) {
        withhold(docket, "not_allowed");
        return Fired::Nothing;
    }
    if follow_up.text.is_none() && policy.is_spent {
        // Until it is too late, or another day.
        let at = docket.now.plus_ms(SPENT_MS);
        docket.conversation.memo.follow_up_retry_at = Some(at.0);
        return Fired::NotYet(at);
    }
    docket.record(Entry::of(EventType::FollowUpDue).with("follow_up_id", follow_up.id.to_string()));
    match &follow_up.text {
        Some(text) => {
            let text = text.clone();
            if queue(docket, policy, &text, None) { Fired::Owed } else { Fired::Nothing }
        }
        None => Fired::Begun(Box::new(inbox::begin(docket, policy, claimant, Purpose::FollowUp, Vec::new()))),
    }
}

/// It is quiet then, as it was not when it was scheduled.
fn put_off_to(docket: &mut Docket, at: Time) {
    let Some(follow_up) = docket.follow_up().filter(|follow_up| follow_up.due_at != at) else { return };
    let entry = Entry::of(EventType::FollowUpScheduled)
        .action("moved")
        .by(actor::SYSTEM)
        .with("follow_up_id", follow_up.id.to_string())
        .with("due_at", at.to_string());
    docket.record(entry);
    docket.change_follow_up(|follow_up| follow_up.due_at = at);
}

/// Queues the words of the pending follow-up, which ends with it. Said before shortly: held back.
pub fn queue(docket: &mut Docket, policy: &Policy, text: &str, turn: Option<Uuid>) -> bool {
    if was_said(docket, policy, text) {
        withhold(docket, "repeated");
        return false;
    }
    let parts = pacing::split(text, 0, 1, policy.message_max_chars);
    if parts.is_empty() {
        withhold(docket, "empty");
        return false;
    }
    let owed = Owed {
        author: Author::Assistant,
        origin: Origin::FollowUp,
        lane: Lane::Proactive,
        ..Owed::machine(Gate::FollowUp, turn)
    };
    let ids = outbox::owe(docket, &parts, &owed, actor::SYSTEM);
    let ended = docket.change_follow_up(|follow_up| {
        follow_up.state = FollowUpState::Sent;
        follow_up.message = ids.first().copied();
    });
    docket.conversation.memo.is_sequence = ended.is_some_and(|it| it.created_by == actor::SYSTEM);
    true
}

/// Whether our side said the same words within the time that the channel sets. Needs the newest messages.
fn was_said(docket: &Docket, policy: &Policy, text: &str) -> bool {
    let said = |message: &Message| {
        let delivery = message.delivery.as_ref();
        message.author != Author::Contact
            && message.text.trim() == text.trim()
            && docket.now.since(message.at) < policy.repeat_ms
            && delivery.is_none_or(|delivery| delivery.state != DeliveryState::Cancelled)
    };
    policy.repeat_ms > 0 && docket.messages().iter().any(said)
}

/// Holds the pending follow-up back for good.
pub fn withhold(docket: &mut Docket, reason: &str) {
    let held = docket.change_follow_up(|follow_up| {
        follow_up.state = FollowUpState::Withheld;
        follow_up.reason = Some(reason.to_owned());
    });
    if let Some(follow_up) = held {
        docket.record(
            Entry::of(EventType::FollowUpWithheld)
                .with("follow_up_id", follow_up.id.to_string())
                .with("reason", reason),
        );
    }
}

/// The model failed at its words: later again, or held back after all attempts. Its due time stays, so that it becomes too late
/// for a model that is not even asked.
pub fn put_off(docket: &mut Docket, policy: &Policy, failure: &Failure, jitter: f64) {
    let Some(follow_up) = docket.follow_up() else { return };
    let attempts = follow_up.attempts + i32::from(failure.is_attempt());
    if !failure.kind.is_worth_another_try() || attempts >= policy.ai_attempts {
        withhold(docket, "ai_failure");
        return;
    }
    let rest_ms = failure.rest_ms(docket.now.since(follow_up.due_at));
    let wait_ms = policy.retry_ms(attempts, jitter, rest_ms);
    docket.conversation.memo.follow_up_retry_at = Some(docket.now.plus_ms(wait_ms).0);
    docket.change_follow_up(|follow_up| follow_up.attempts = attempts);
}
