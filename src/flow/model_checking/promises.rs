//! The promises, as questions about a world and the act that led to it.

use uuid::Uuid;

use super::world::{Act, World};
use crate::domain::{
    conversation::Status,
    event::actor,
    message::{Author, Delivery, DeliveryState as S, Gate, Message, Origin, Outcome},
    mode::Mode,
    policy::BurstPolicy,
    turn::{FollowUp, FollowUpState, Purpose, Turn, TurnState},
};

type Promise = Result<(), String>;

/// Holds a world against all of them, or against those that begin as the scene says. The first one broken is told.
pub(super) fn check(before: &World, act: Act, world: &World) -> Promise {
    let of_act = match act {
        Act::SendIsClaimed => claimed_by_right(before, world),
        Act::ProviderAccepts(at) => posted_by_right(before, at),
        Act::TakeOver | Act::PersonWrites | Act::PhoneWrites | Act::Close | Act::ContactWrites => {
            no_follow_up(world).and_then(|()| no_draft_in_the_way(act, world))
        }
        Act::Release => no_draft_in_the_way(act, world),
        Act::TurnAnswers(at) => only_who_was_not_stopped_suggests(before, at, world),
        _ => Ok(()),
    };
    let all = [
        one_turn_at_a_time(world),
        one_reply_a_message(world),
        of_act,
        follow_ups(world),
        drafts_say_nothing(world),
        a_fresh_draft_has_read_everything(world),
        nothing_is_forgotten(world),
        nothing_is_stuck(world),
        a_person_is_called(world),
        nobody_else_wrote(world),
        errands_are_told_with_their_reply(before, act, world),
    ];
    let is_asked_for =
        |promise: &Promise| promise.as_ref().is_err_and(|it| it.starts_with(world.scene.promise));
    all.into_iter().find(is_asked_for).unwrap_or(Ok(()))
}

fn demand(holds: bool, promise: &str) -> Promise {
    if holds { Ok(()) } else { Err(promise.to_owned()) }
}

fn one_turn_at_a_time(world: &World) -> Promise {
    let running = world.play.turns.iter().filter(|turn| turn.state == TurnState::Generating).count();
    demand(running <= 1, "P3: two turns at a time")
}

/// Of those whose reply has left, at least in part. What was edited may be answered once more, in its new words.
fn one_reply_a_message(world: &World) -> Promise {
    let left = |turn: Uuid| {
        world.accepted.iter().any(|accepted| world.play.message(accepted.message).turn == Some(turn))
    };
    let mut answered: Vec<&(Uuid, String)> = Vec::new();
    for words in world.read.iter().filter(|read| left(read.turn)).flat_map(|read| &read.texts) {
        demand(!answered.contains(&words), "P3: a message of the contact was answered twice")?;
        answered.push(words);
    }
    Ok(())
}

/// The send just claimed: by mode and version, and with nothing unread.
fn claimed_by_right(before: &World, world: &World) -> Promise {
    if world.sends.len() == before.sends.len() {
        return Ok(());
    }
    let Some(send) = world.sends.last() else { return Ok(()) };
    // As it was before the claim: a weakened claim may have changed it.
    let claimed = before.play.message(send.message.id);
    let Some(delivery) = &claimed.delivery else { return Ok(()) };
    let conversation = &world.play.conversation;
    let is_current = delivery.version == conversation.mode.version;
    let is_ai = conversation.mode.mode == Mode::Ai;
    let may = match delivery.gate {
        Gate::Person => true,
        Gate::Farewell => is_current,
        Gate::Assistant | Gate::FollowUp => is_current && is_ai,
    };
    demand(may, "P4: claimed under an older version")?;
    let turn = world.play.turns.iter().find(|turn| Some(turn.id) == claimed.turn);
    if let (Some(turn), Gate::Assistant, 1) = (turn, delivery.gate, delivery.part) {
        let is_unread = |message: &&Message| {
            message.seq > turn.last_seq && message.inbound.is_some_and(|it| it.outcome == Outcome::Pending)
        };
        let is_told = before.play.conversation.memo.told == Some(turn.id);
        let restarts = world.scene.burst == BurstPolicy::Interrupt && !turn.is_final && !is_told;
        let is_blind = restarts && world.play.messages.iter().any(|message| is_unread(&message));
        demand(!is_blind, "P3: a reply leaves that has not read the newest message")?;
        let read = world.read.iter().find(|read| read.turn == turn.id).map_or(&[][..], |read| &read.texts);
        let is_old = |(id, text): &(Uuid, String)| {
            let message = world.play.message(*id);
            message.deleted_at.is_none() && message.text != *text
        };
        demand(!restarts || !read.iter().any(is_old), "P3: a reply leaves that has read older words")?;
        let counts = |message: &Message| message.is_covered() && message.turn == Some(turn.id);
        let is_taken = |words: &(Uuid, String)| is_old(words) && counts(before.play.message(words.0));
        demand(!read.iter().any(is_taken), "P8: a message counts as answered in words that nobody has read")?;
        let all_deleted = read.iter().all(|(id, _)| world.play.message(*id).deleted_at.is_some());
        demand(is_told || !all_deleted, "P3: a reply leaves to what was deleted")?;
    }
    Ok(())
}

/// A POST that begins now.
fn posted_by_right(before: &World, at: usize) -> Promise {
    let claimed = &before.sends[at].message;
    let Some(delivery) = &claimed.delivery else { return Ok(()) };
    let retried =
        before.retried.iter().filter(|(id, _)| *id == claimed.id).map(|(_, accepted)| *accepted).max();
    let posted = before.accepted.iter().rposition(|accepted| accepted.message == claimed.id);
    let is_retried = retried.is_some();
    demand(
        posted.is_none_or(|at| retried.is_some_and(|after| after > at)),
        "P6: sent twice without a person's retry",
    )?;
    let is_older = delivery.gate != Gate::Person && claimed.seq <= before.settled;
    demand(!is_older, "P4: posted after the receipt of the switch")?;
    let newest = before.accepted.iter().map(|accepted| before.play.message(accepted.message).seq).max();
    demand(is_retried || newest.is_none_or(|newest| claimed.seq > newest), "P3: out of order")
}

fn no_follow_up(world: &World) -> Promise {
    let owed = world.play.messages.iter().any(|message| {
        message.is(S::Queued) && message.delivery.as_ref().is_some_and(|it| it.gate == Gate::FollowUp)
    });
    demand(world.play.pending_follow_ups() == 0 && !owed, "P7: a follow-up outlives what ends it")
}

/// At most one, and none is owed that nobody wants any more.
fn follow_ups(world: &World) -> Promise {
    demand(world.play.pending_follow_ups() <= 1, "P7: two follow-ups are pending")?;
    one_follow_up_a_silence(world)?;
    for message in &world.play.messages {
        let is_owed = message
            .delivery
            .as_ref()
            .is_some_and(|it| it.gate == Gate::FollowUp && matches!(it.state, S::Queued | S::Sending));
        let is_wanted = |it: &FollowUp| it.state == FollowUpState::Sent && it.message == Some(message.id);
        let is_fine = !is_owed || world.play.follow_ups.iter().any(is_wanted);
        demand(is_fine, "P7: a follow-up is owed that was called off")?;
    }
    Ok(())
}

/// Behind one that has become a message and may not have left, none is planned but the next of its own sequence, from its claim on.
fn one_follow_up_a_silence(world: &World) -> Promise {
    let (play, conversation) = (&world.play, &world.play.conversation);
    let heard = conversation.contact_seq.max(conversation.memo.alive_seq);
    let owed: Vec<&Delivery> = play
        .messages
        .iter()
        .filter(|message| message.seq > heard)
        .filter_map(|message| message.delivery.as_ref())
        .filter(|delivery| delivery.gate == Gate::FollowUp && delivery.part == 1 && delivery.state.is_open())
        .collect();
    let is_next = |next: &&FollowUp| {
        next.created_by == actor::SYSTEM && owed.iter().all(|delivery| delivery.attempts > 0)
    };
    let mut planned = play.follow_ups.iter().filter(|it| it.state == FollowUpState::Pending);
    let is_fine = owed.len() <= 1 && (owed.is_empty() || planned.all(|it| is_next(&it)));
    demand(is_fine, "P7: a second follow-up behind one that has not left")
}

/// Nothing of a turn that writes a draft is owed, and nothing that the contact wrote is taken for answered by one. What was
/// sent of a draft is a message of the person who sent it.
fn drafts_say_nothing(world: &World) -> Promise {
    let is_drafting =
        |id: Uuid| world.play.turns.iter().any(|turn| turn.id == id && turn.purpose == Purpose::Draft);
    for message in &world.play.messages {
        let is_owed = message.delivery.as_ref().is_some_and(|it| is_drafting(it.reply));
        demand(!is_owed, "P4: what a turn wrote that may only suggest is owed to the contact")?;
        demand(!message.turn.is_some_and(is_drafting), "P8: a draft counts as an answer")?;
    }
    for draft in &world.play.drafts {
        let sent = draft.decision.as_ref().and_then(|decision| decision.sent);
        let is_persons = sent.is_none_or(|sent| !world.play.message(sent.message).is_machine_made());
        demand(is_persons, "P4: a draft was sent by nobody")?;
    }
    Ok(())
}

fn a_fresh_draft_has_read_everything(world: &World) -> Promise {
    let fresh: Vec<_> = world.play.drafts.iter().filter(|draft| draft.is_fresh()).collect();
    demand(fresh.len() <= 1, "P3: two drafts are fresh")?;
    let known = world.play.conversation.memo.draft;
    demand(known == fresh.first().map(|draft| draft.id), "P3: a draft is fresh and no store would load it")?;
    let is_said = |message: &Message| message.inbound.is_none_or(|it| it.starts_turn);
    let unread = |seq: i64| world.play.messages.iter().any(|message| message.seq > seq && is_said(message));
    demand(!fresh.iter().any(|draft| unread(draft.based_on_seq)), "P3: a fresh draft has not read everything")
}

/// A person who writes, or gives the conversation away, wants no draft any more; a contact who waits for a reply does not
/// wait for one to be written.
fn no_draft_in_the_way(act: Act, world: &World) -> Promise {
    let is_writing = |turn: &Turn| turn.state == TurnState::Generating && turn.purpose == Purpose::Draft;
    let goes_on = world.play.turns.iter().any(is_writing);
    let may = match act {
        Act::ContactWrites => world.play.conversation.mode.mode == Mode::Human,
        // In HUMAN already, it is no takeover.
        Act::TakeOver => true,
        _ => false,
    };
    demand(!goes_on || may, "P5: a draft is being written that nobody wants, or that stands in the way")
}

fn only_who_was_not_stopped_suggests(before: &World, at: usize, world: &World) -> Promise {
    let begun = &before.turns[at];
    let is_running =
        before.play.turns.iter().any(|turn| turn.id == begun.turn.id && turn.state == TurnState::Generating);
    let is_new = world.play.drafts.len() > before.play.drafts.len();
    demand(!is_new || is_running, "P5: a turn that was stopped leaves a draft")
}

/// What pends has somebody who looks after it, and what counts as answered was.
fn nothing_is_forgotten(world: &World) -> Promise {
    for message in &world.play.messages {
        let Some(inbound) = message.inbound else { continue };
        let of_reply = |states: &[S]| {
            world.play.messages.iter().any(|other| {
                message.turn.is_some()
                    && other.turn == message.turn
                    && other.delivery.as_ref().is_some_and(|it| states.contains(&it.state))
            })
        };
        match inbound.outcome {
            Outcome::Pending if message.turn.is_some() => demand(
                of_reply(&[S::Queued, S::Sending]),
                "P8: a message waits for a reply that nobody owes",
            )?,
            Outcome::Pending => {
                demand(world.play.clocks.turn_at.is_some(), "P8: a message waits and nobody will look")?;
            }
            Outcome::Answered => demand(
                of_reply(&[S::Sending, S::Sent, S::Delivered, S::Read, S::Unknown, S::Failed, S::Dead])
                    || was_resent(world, message),
                "P8: a message counts as answered, and no answer has left",
            )?,
            Outcome::LeftToHuman | Outcome::Ignored | Outcome::HandedOver | Outcome::Dead => {}
        }
    }
    Ok(())
}

/// A person has sent the reply again, so it waits or is on its way once more.
fn was_resent(world: &World, message: &Message) -> bool {
    world.retried.iter().any(|(id, _)| world.play.message(*id).turn == message.turn)
}

fn nothing_is_stuck(world: &World) -> Promise {
    let play = &world.play;
    let is_looked_for = play.conversation.memo.draft_wish.is_none() || play.clocks.turn_at.is_some();
    demand(is_looked_for, "P8: a draft is to be written and nobody will look")?;
    let Some(head) = play.messages.iter().find(|message| message.is(S::Queued)) else { return Ok(()) };
    if play.clocks.send_at.is_some() || world.sending().is_some() {
        return Ok(());
    }
    let reply_of = |message: &Message| message.delivery.as_ref().map(|it| it.reply);
    let waits = play.messages.iter().any(|other| other.is(S::Unknown) && reply_of(other) == reply_of(head));
    demand(waits, "P8: a message is owed and nobody will look")?;
    let others = play.messages.iter().any(|other| other.is(S::Queued) && reply_of(other) != reply_of(head));
    demand(!others, "P8: a reply waits for the unknown fate of another")
}

/// In HUMAN, a contact who has had no answer waits for one.
fn a_person_is_called(world: &World) -> Promise {
    let conversation = &world.play.conversation;
    if conversation.mode.mode == Mode::Ai || conversation.status == Status::Closed {
        return Ok(());
    }
    let has_left = |message: &&Message| match &message.delivery {
        None => message.author == Author::Agent,
        Some(delivery) if delivery.gate == Gate::Person => delivery.state != S::Cancelled,
        Some(delivery) => !matches!(delivery.state, S::Queued | S::Cancelled),
    };
    let ours = world.play.messages.iter().filter(has_left).map(|message| message.seq).max().unwrap_or(0);
    let waits = world.play.messages.iter().any(|message| {
        message.seq > ours
            && message.deleted_at.is_none()
            && message
                .inbound
                .is_some_and(|it| matches!(it.outcome, Outcome::LeftToHuman | Outcome::HandedOver))
    });
    let is_seen = conversation.waiting_since.is_some() || conversation.attention.is_some();
    demand(!waits || is_seen, "P8: the contact waits for a person, and no person sees it")
}

/// The business is told of an errand once, as the first words of its reply leave; of none whose reply never does; and
/// never twice for one message of the contact in the same words.
fn errands_are_told_with_their_reply(before: &World, act: Act, world: &World) -> Promise {
    for turn in &world.told[before.told.len()..] {
        let was_told = before.told.contains(turn);
        demand(!was_told, "P6: an errand is told twice")?;
        let parts = world.play.messages.iter().filter(|message| message.turn == Some(*turn));
        let mut parts = parts.filter_map(|message| message.delivery.as_ref());
        let begins = act == Act::SendIsClaimed && parts.any(|delivery| delivery.state == S::Sending);
        demand(begins, "P4: an errand is told whose reply does not leave")?;
    }
    let mut told: Vec<&(Uuid, String)> = Vec::new();
    for words in world.read.iter().filter(|it| world.told.contains(&it.turn)).flat_map(|it| &it.texts) {
        demand(!told.contains(&words), "P6: for one message the business was told twice")?;
        told.push(words);
    }
    if !world.scene.errands {
        return Ok(());
    }
    let speaks =
        |turn: &Uuid| world.play.turns.iter().any(|it| it.id == *turn && it.purpose == Purpose::Reply);
    let left = world.accepted.iter().filter_map(|accepted| world.play.message(accepted.message).turn);
    let untold = left.filter(speaks).any(|turn| !world.told.contains(&turn));
    demand(!untold, "P8: a reply has left, and nobody was told of its errand")
}

/// Nobody but us writes here: what looks like another system is an echo that was not recognised.
fn nobody_else_wrote(world: &World) -> Promise {
    let stranger = |message: &Message| message.origin == Origin::OtherSystem;
    demand(!world.play.messages.iter().any(stranger), "P5: an echo of our own was taken for another system")
}
