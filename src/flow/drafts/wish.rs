//! Rules: when a draft is to be written: for a burst of the contact by the rules of bursts, at once for a person who asks.
//!
//! In: messages of the contact, changes of the mode, people who ask. Out: the wish that the next turn grants, and when.

use uuid::Uuid;

use super::{retire, stop};
use crate::{
    domain::{
        burst,
        conversation::Status,
        docket::Docket,
        draft::DraftWish,
        event::actor,
        mode::Mode,
        policy::Policy,
        time::Time,
        turn::{Purpose, Turn, TurnState},
    },
    flow::{conversations, inbox::flood},
};

/// Whether a turn is writing a draft.
pub fn is_writing(docket: &Docket) -> bool {
    writing(docket).is_some()
}

fn writing(docket: &Docket) -> Option<&Turn> {
    let turn = docket.running_turn()?;
    (turn.purpose == Purpose::Draft && turn.state == TurnState::Generating).then_some(turn)
}

/// Whether the contact's bursts are drafted without anybody asking: a person answers, with suggestions.
fn drafts_by_itself(docket: &Docket, policy: &Policy) -> bool {
    let conversation = &docket.conversation;
    policy.has_model
        && conversation.drafting
        && conversation.mode.mode == Mode::Human
        && conversation.status != Status::Closed
}

fn wish(by: Option<String>, at: Time) -> DraftWish {
    let (ripe_at, first_at) = (at.0, at.0);
    DraftWish { id: Uuid::now_v7(), by, ripe_at, first_at, restarts: 0, failures: 0, retry_at: None }
}

/// The contact wrote, or changed what they wrote. `is_answerable`: it is something that an answer would be written to.
pub fn contact_wrote(docket: &mut Docket, policy: &Policy, is_answerable: bool) {
    retire(docket, "contact_wrote", actor::CONTACT);
    let now = docket.now;
    let by_itself = is_answerable && drafts_by_itself(docket, policy);
    if by_itself {
        flood::watch(docket, policy);
    }
    let Some(before) = docket.conversation.memo.draft_wish.clone() else {
        if by_itself {
            set_ripe_at(docket, policy, wish(None, now));
        }
        return;
    };
    match writing(docket) {
        // What comes after that turn is to be written already.
        Some(turn) if Time(before.first_at) > turn.started_at => set_ripe_at(docket, policy, before),
        Some(turn) if is_left_to_finish(docket, policy, &before, turn) => {
            set_ripe_at(docket, policy, wish(before.by, now));
        }
        Some(_) => {
            start_again(docket);
            let again = DraftWish { restarts: before.restarts + 1, ..before };
            set_ripe_at(docket, policy, again);
        }
        None => set_ripe_at(docket, policy, before),
    }
}

/// Whether a turn continues though it has not read the newest message: by the rules of bursts, so that a steady writer does not
/// keep a person waiting for a suggestion. In AI never: there the contact waits for a reply.
fn is_left_to_finish(docket: &Docket, policy: &Policy, wish: &DraftWish, turn: &Turn) -> bool {
    let memo = &docket.conversation.memo;
    let may_restart = burst::restarts(policy, wish.restarts, Time(wish.first_at), docket.now);
    docket.conversation.mode.mode == Mode::Human && (turn.is_final || memo.is_flood || !may_restart)
}

/// Stops the turn that writes a draft, because there is more to read, or because a reply comes first.
pub fn start_again(docket: &mut Docket) {
    if is_writing(docket) {
        conversations::supersede_turn(docket);
    }
}

/// Sets the time from what the contact wrote since the wish began.
fn set_ripe_at(docket: &mut Docket, policy: &Policy, wish: DraftWish) {
    let memo = &docket.conversation.memo;
    let first_at = Time(wish.first_at);
    let waiting = memo.wrote.iter().filter(|at| Time(**at) >= first_at).count();
    let ripe_at = if wish.restarts > 0 {
        burst::ripe_again_at(policy, first_at, docket.now, waiting, wish.restarts)
    } else {
        burst::ripe_at(policy, first_at, docket.now, waiting)
    };
    let not_before = Time(wish.retry_at.unwrap_or(i64::MIN)).max(flood::not_before(memo));
    let ripe_at = ripe_at.max(not_before).0;
    docket.conversation.memo.draft_wish = Some(DraftWish { ripe_at, ..wish });
}

/// From now on bursts are drafted: so is what the contact waits with already.
pub fn consider(docket: &mut Docket, policy: &Policy) {
    let waits = docket.conversation.is_waited_for();
    let is_there = docket.fresh_draft().is_some() || docket.conversation.memo.draft_wish.is_some();
    if waits && !is_there && drafts_by_itself(docket, policy) {
        docket.conversation.memo.draft_wish = Some(wish(None, docket.now));
    }
}

/// A person asks for one now. Gives the id that it will have; one that is to be written already is that one.
pub fn ask(docket: &mut Docket, by: &str) -> Uuid {
    let now = docket.now;
    let before = docket.conversation.memo.draft_wish.take().unwrap_or_else(|| wish(None, now));
    let asked = DraftWish {
        by: Some(by.to_owned()),
        ripe_at: before.ripe_at.min(now.0),
        failures: 0,
        retry_at: None,
        ..before
    };
    let id = asked.id;
    docket.conversation.memo.draft_wish = Some(asked);
    id
}

/// No draft is wanted any more, of those that match; the turn that writes it ends.
pub fn give_up_wish(docket: &mut Docket, reason: &str, by: &str, which: impl Fn(&DraftWish) -> bool) {
    let given_up = docket.conversation.memo.draft_wish.take_if(|wish| which(wish));
    if given_up.is_some() {
        stop(docket, reason, by);
    }
}
