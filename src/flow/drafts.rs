//! Place: suggestions for what our side says next, at most one of them fresh in a conversation. Nothing here is ever sent by
//! itself: a turn that writes a draft owes nothing, and what it was written for stays left to people.
//!
//! In: bursts of the contact where a person answers with suggestions, and people who ask for one. Out: a draft for a person
//! to send, change or discard (`desk`); it retires when anything is said that it has not read.

mod wish;

pub use wish::{ask, consider, contact_wrote, give_up_wish, is_writing, start_again};

use uuid::Uuid;

use super::{
    conversations,
    desk::TEXT_MAX,
    generator::Failure,
    inbox::{self, Begun, Claim, Claimant},
    reply::Discarded,
};
use crate::domain::{
    docket::{Docket, Entry},
    draft::{Draft, DraftState, DraftWish},
    event::{EventType, actor},
    mode::Mode,
    policy::Policy,
    time::Time,
    turn::{Purpose, TurnState},
};

/// What is begun is counted over this time.
const COUNTED_MS: i64 = 3_600_000;

/// Begins to write the draft that is to be written, if its time has come. Of drafts that nobody asked for no more are begun
/// in an hour than answers, without a person who writes: each costs as much, and perhaps a bot is on the other side.
pub fn claim(docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Claim {
    let now = docket.now;
    let memo = &mut docket.conversation.memo;
    let Some(wish) = &memo.draft_wish else { return Claim::Nothing };
    if Time(wish.ripe_at) > now {
        return Claim::NotYet(Time(wish.ripe_at));
    }
    if wish.by.is_none() && policy.reply_cap > 0 {
        memo.drafted.retain(|at| now.since(Time(*at)) < COUNTED_MS);
        if memo.drafted.len() >= policy.reply_cap {
            memo.draft_wish = None;
            return Claim::Nothing;
        }
        memo.drafted.push(now.0);
    }
    Claim::Begun(Box::new(inbox::begin(docket, policy, claimant, Purpose::Draft, Vec::new())))
}

/// Why the turn may not leave a draft; None: it may. It never speaks, so it needs no permit to speak: not to have been
/// stopped is enough.
pub(super) fn refusal(docket: &Docket, begun: &Begun) -> Option<Discarded> {
    if begun.turn.mode_version != docket.conversation.mode.version {
        return Some(Discarded::VersionMoved);
    }
    let holds = begun.turn.fence == docket.conversation.fence && inbox::holds_lease(docket, begun);
    (!holds).then_some(Discarded::FenceMoved)
}

/// Keeps what the assistant wrote. What the contact wrote meanwhile, where that did not stop the turn, has a draft of its own
/// to come: this one is stale from the beginning.
pub(super) fn keep(docket: &mut Docket, begun: &Begun, text: &str) {
    let is_current = wish_of(docket, begun).is_some();
    let mut state = DraftState::Stale;
    if is_current {
        docket.conversation.memo.draft_wish = None;
        retire(docket, "replaced", actor::ASSISTANT);
        state = DraftState::Fresh;
    }
    let draft = Draft {
        id: begun.draft.unwrap_or_else(Uuid::now_v7),
        text: text.trim().chars().take(TEXT_MAX).collect(),
        state,
        based_on_seq: begun.turn.last_seq,
        turn: begun.turn.id,
        decision: None,
        created_at: docket.now,
    };
    docket.record(
        Entry::of(EventType::DraftCreated)
            .by(actor::ASSISTANT)
            .turn(draft.turn)
            .with("draft_id", draft.id.to_string())
            .with("state", draft.state.as_str())
            .with("based_on_seq", draft.based_on_seq),
    );
    docket.keep_draft(draft);
}

/// What this turn was to write, if nothing newer is to be written instead.
fn wish_of<'d>(docket: &'d mut Docket, begun: &Begun) -> Option<&'d mut DraftWish> {
    docket.conversation.memo.draft_wish.as_mut().filter(|wish| Some(wish.id) == begun.draft)
}

/// The model failed at it. True if another attempt follows; if not, nobody is called: a person has the conversation, and can
/// ask again.
pub(super) fn fail(
    docket: &mut Docket,
    policy: &Policy,
    begun: &Begun,
    failure: &Failure,
    jitter: f64,
) -> bool {
    let now = docket.now;
    // Something newer is to be written anyway, with all its attempts.
    let Some(wish) = wish_of(docket, begun) else { return true };
    wish.failures += i32::from(failure.is_attempt());
    let waited_ms = now.since(Time(wish.first_at));
    if wish.failures >= policy.ai_attempts || !failure.is_worth_waiting_for(waited_ms) {
        docket.conversation.memo.draft_wish = None;
        return false;
    }
    let rest_ms = failure.rest_ms(waited_ms);
    let wait_ms = policy.retry_ms(wish.failures, jitter, rest_ms);
    let retry_at = now.plus_ms(wait_ms);
    wish.retry_at = Some(retry_at.0);
    wish.ripe_at = retry_at.0;
    if wish.by.is_none() && !failure.is_attempt() {
        // What was not asked has cost nothing.
        docket.conversation.memo.drafted.pop();
    }
    true
}

/// The fresh draft is of no use as it is: something was said that it has not read, or another takes its place.
pub(super) fn retire(docket: &mut Docket, reason: &str, by: &str) {
    let Some(draft) = docket.fresh_draft().cloned() else { return };
    docket.record(ended(&draft, DraftState::Stale).by(by).with("reason", reason));
    docket.keep_draft(Draft { state: DraftState::Stale, ..draft });
}

/// The event that tells of a draft's end.
pub(super) fn ended(draft: &Draft, state: DraftState) -> Entry {
    Entry::of(EventType::DraftRetired)
        .turn(draft.turn)
        .with("draft_id", draft.id.to_string())
        .with("state", state.as_str())
}

/// Words of our side are owed, or were said elsewhere, whoever said them: no draft has read them. What somebody asked for is
/// written with them; what nobody asked for is not wanted any more.
pub fn our_side_wrote(docket: &mut Docket, by: &str) {
    retire(docket, "our_side_wrote", by);
    docket.conversation.memo.draft_wish.take_if(|wish| wish.by.is_none());
    stop(docket, "our_side_wrote", by);
}

/// The same of a person, who needs no suggestion any more; drafts are counted from here on.
pub fn a_person_wrote(docket: &mut Docket, by: &str) {
    docket.conversation.memo.drafted.clear();
    docket.conversation.memo.draft_wish = None;
    our_side_wrote(docket, by);
}

/// The mode is about to become this. If it was another, what is being written is void: in HUMAN it is written again, if it
/// is still wanted, and in AI nobody wants it.
pub fn change_hands(docket: &mut Docket, to: Mode, by: &str) {
    if docket.conversation.mode.mode == to {
        return;
    }
    if to == Mode::Ai {
        docket.conversation.memo.draft_wish = None;
    }
    if !is_writing(docket) {
        return;
    }
    conversations::cancel_turn(docket, TurnState::Cancelled, "mode_changed", |turn_ms| {
        Entry::of(EventType::ModeChangeDuringGeneration)
            .action("cancelled_generation")
            .by(by)
            .with("generation_ms", turn_ms)
    });
}

/// Stops the turn that writes a draft, if one does. Whether it begins again is a question of whether one is wanted.
fn stop(docket: &mut Docket, reason: &str, by: &str) {
    if !is_writing(docket) {
        return;
    }
    let is_wanted = docket.conversation.memo.draft_wish.is_some();
    conversations::cancel_turn(docket, TurnState::Cancelled, reason, |turn_ms| {
        Entry::of(EventType::TurnSuperseded)
            .action(if is_wanted { "restarted" } else { "cancelled_generation" })
            .by(by)
            .with("reason", reason)
            .with("generation_ms", turn_ms)
    });
}
