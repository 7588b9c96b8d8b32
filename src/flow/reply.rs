//! Place: what a turn comes to. Its reply and all of its side effects in one transaction, or a named refusal.
//!
//! In: a turn that has begun and what the model wrote. Out: parts owed, or nothing but the turn's cost.

pub(in crate::flow) mod errands;

mod failure;

pub use failure::{fail, is_tried_again};

use execution::atomic_mode_check::{self, Refusal, Snapshot};
use uuid::Uuid;

use super::{
    agenda::{self, NewFollowUp},
    conversations::{self, By},
    drafts,
    generator::tools::Asking,
    inbox::{self, Begun},
    notes, office_hours,
    outbox::{self, Owed},
};
use crate::domain::{
    conversation::{AttentionReason, Status},
    docket::{Docket, Entry},
    event::{EventType, actor},
    message::{Author, Gate, Message, Outcome, OutcomeReason},
    mode::Reason,
    pacing,
    policy::Policy,
    time::Time,
    turn::{Purpose, TurnState},
    words::words,
};

/// How much of a reason that the model gave is recorded.
const REASON_CHARS: usize = 500;

/// What the model wrote, tools understood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// Hand over to a person, with this reason.
    pub hand_over: Option<String>,
    /// Say nothing, with this reason.
    pub stay_silent: Option<String>,
    /// Schedule a follow-up.
    pub follow_up: Option<NewFollowUp>,
    /// What the business is to do.
    pub errands: Vec<Asking>,
    /// What was asked of it on the way, by the names of the tools.
    pub looked_up: Vec<String>,
    /// The words end at the server's limit of length.
    pub is_cut: bool,
    /// The model called tools on the way.
    pub used_tools: bool,
    /// The model is unavailable: an earlier turn has answered the same question so.
    pub recalled: Option<Uuid>,
    /// What it cost.
    pub cost: Cost,
}

/// What a turn cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// When the first word came.
    pub first_token_at: Option<Time>,
}

words! {
    /// Why nothing of a turn is left but its cost.
    Discarded {
        /// The conversation was closed.
        Closed = "closed",
        /// A person has taken over.
        HumanAnswers = "human_answers",
        /// The mode has changed, and perhaps back.
        VersionMoved = "version_moved",
        /// It was stopped, or another has its lease.
        FenceMoved = "fence_moved",
        /// There is more to read.
        NewerMessage = "newer_message",
        /// Nobody can read what it was about.
        Unreadable = "unreadable",
        /// Its instance stops, or the step that withdrew its permit has said why.
        Stopped = "stopped",
        /// The conversation was erased.
        Gone = "gone",
    }
}

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// Its reply is owed.
    Owed,
    /// It has said nothing, on purpose.
    Silent,
    /// What it wrote is kept for a person, and owed to nobody.
    Drafted,
    /// It was no longer wanted: nothing of it is left but its cost.
    Discarded(Discarded),
    /// Another attempt follows.
    WillRetry,
    /// Given up, in front of a person.
    GivenUp,
}

/// Commits what the model wrote, if the permit still holds.
pub fn commit(docket: &mut Docket, policy: &Policy, begun: &Begun, answer: &Answer, jitter: f64) -> TurnEnd {
    if docket.turn(begun.turn.id).is_some_and(|turn| turn.state == TurnState::Completed) {
        // A commit whose answer was lost on the way.
        return if begun.turn.purpose == Purpose::Draft { TurnEnd::Drafted } else { TurnEnd::Owed };
    }
    if let Some(reason) = refusal(docket, begun) {
        discard(docket, begun, answer.cost, reason);
        return TurnEnd::Discarded(reason);
    }
    end_turn(docket, begun, TurnState::Completed, None, answer.cost);
    docket.record(completed(begun, answer));
    if let Some(earlier) = answer.recalled {
        let entry = Entry::of(EventType::CachedAnswerUsed).turn(begun.turn.id);
        docket.record(entry.with("from_turn_id", earlier.to_string()));
    }
    match begun.turn.purpose {
        Purpose::FollowUp => {
            if agenda::queue(docket, policy, &answer.text, Some(begun.turn.id)) {
                notes::put_away(docket, begun);
                TurnEnd::Owed
            } else {
                TurnEnd::Silent
            }
        }
        Purpose::Reply => {
            errands::keep(docket, begun.turn.id, &answer.errands);
            let committed = reply(docket, policy, begun, answer, jitter);
            if !docket.is_owed(begun.turn.id) {
                errands::tell(docket, begun.turn.id);
                notes::forget(docket, begun.turn.id);
            }
            committed
        }
        Purpose::Draft => {
            drafts::keep(docket, begun, &answer.text);
            TurnEnd::Drafted
        }
    }
}

fn completed(begun: &Begun, answer: &Answer) -> Entry {
    let entry = Entry::of(EventType::TurnCompleted)
        .by(actor::ASSISTANT)
        .turn(begun.turn.id)
        .with("input_tokens", answer.cost.input_tokens)
        .with("output_tokens", answer.cost.output_tokens);
    let entry =
        if answer.looked_up.is_empty() { entry } else { entry.with("looked_up", answer.looked_up.clone()) };
    let entry = if answer.is_cut { entry.with("cut", "length") } else { entry };
    match &answer.stay_silent {
        Some(reason) => entry.with("stayed_silent", told(reason)),
        None => entry,
    }
}

/// The reason that the model gave, as the timeline tells it.
fn told(reason: &str) -> String {
    reason.chars().take(REASON_CHARS).collect()
}

/// Why the permit no longer holds; None: it does.
///
/// Newer messages need no check of their own: the transaction that admits one raises the fence of a turn it restarts.
fn refusal(docket: &Docket, begun: &Begun) -> Option<Discarded> {
    if begun.turn.purpose == Purpose::Draft {
        return drafts::refusal(docket, begun);
    }
    let conversation = &docket.conversation;
    let seen = Snapshot {
        mode: outbox::as_checked(begun.mode),
        version: begun.turn.mode_version,
        fence: begun.turn.fence,
        last_seq: None,
    };
    let current = Snapshot {
        mode: outbox::as_checked(conversation.mode.mode),
        version: conversation.mode.version,
        fence: conversation.fence,
        last_seq: None,
    };
    if conversation.status == Status::Closed {
        return Some(Discarded::Closed);
    }
    match atomic_mode_check::check(&seen, &current) {
        Ok(_) => (!inbox::holds_lease(docket, begun)).then_some(Discarded::FenceMoved),
        Err(Refusal::HumanAnswers { .. }) => Some(Discarded::HumanAnswers),
        Err(Refusal::VersionMoved { .. }) => Some(Discarded::VersionMoved),
        Err(Refusal::FenceMoved { .. }) => Some(Discarded::FenceMoved),
        Err(Refusal::NewerMessage { .. }) => Some(Discarded::NewerMessage),
    }
}

fn reply(docket: &mut Docket, policy: &Policy, begun: &Begun, answer: &Answer, jitter: f64) -> TurnEnd {
    notes::put_away(docket, begun);
    docket.conversation.memo.answer_now = false;
    docket.conversation.memo.failures = 0;
    docket.conversation.memo.retry_at = None;
    conversations::clear(docket, actor::ASSISTANT, |reason| {
        matches!(
            reason,
            AttentionReason::AiFailure
                | AttentionReason::Stale
                | AttentionReason::Unanswered
                | AttentionReason::SpendLimit
                // Left to people meanwhile, and now it is answered.
                | AttentionReason::HumanOverdue
        )
    });
    if let Some(reason) = &answer.hand_over {
        let is_nobody_there = office_hours::away_until(policy, docket.now).is_some();
        if answer.text.trim().is_empty() || !is_nobody_there {
            return hand_over(docket, policy, begun, answer, reason);
        }
        office_hours::note_hand_over(docket, &begun.turn, told(reason));
    }
    // What is written alongside it is for nobody: why it has nothing to say, most of the time. Not where it says that nobody is
    // there to take over.
    if answer.stay_silent.is_some() && answer.hand_over.is_none() {
        end_burst_as(docket, policy, begun, Outcome::Ignored, Some(OutcomeReason::StayedSilent));
        docket.conversation.waiting_since = outbox::first_waiting(docket);
        if let Some(new) = &answer.follow_up {
            agenda::schedule(docket, policy, new, actor::ASSISTANT);
        }
        return TurnEnd::Silent;
    }
    let now = docket.now;
    docket.conversation.memo.answered.push(now.0);
    let parts = pacing::split(&answer.text, policy.split_chars, policy.split_parts, policy.message_max_chars);
    let worked_ms = now.since(begun.at);
    let typing_ms = (0..)
        .zip(&parts)
        .map(|(part, text)| pacing::typing_ms(policy, text, jitter, if part == 0 { worked_ms } else { 0 }))
        .collect();
    let owed = Owed {
        author: Author::Assistant,
        lane: begun.lane,
        typing_ms,
        ..Owed::machine(Gate::Assistant, Some(begun.turn.id))
    };
    outbox::owe(docket, &parts, &owed, actor::ASSISTANT);
    for id in read_as_they_stand(docket, begun) {
        if let Some(message) = docket.edit(id) {
            message.turn = Some(begun.turn.id);
        }
    }
    if begun.turn.is_final {
        inbox::begin_new_burst(docket, policy);
    } else {
        docket.conversation.memo.reply = Some(begun.turn.id);
        inbox::set_ripe_at(docket, policy);
    }
    if let Some(new) = &answer.follow_up {
        agenda::schedule(docket, policy, new, actor::ASSISTANT);
    }
    TurnEnd::Owed
}

/// The messages that this turn has read as they stand. What the contact has put into other words meanwhile, where that did not
/// stop the turn, is not answered by it: it waits for the next.
fn read_as_they_stand(docket: &Docket, begun: &Begun) -> Vec<Uuid> {
    let stands = |read: &&Message| docket.message(read.id).is_some_and(|now| now.text == read.text);
    begun.burst.iter().filter(stands).map(|read| read.id).collect()
}

/// The assistant hands over: its words, or those of the settings, are the last; then a person answers.
fn hand_over(docket: &mut Docket, policy: &Policy, begun: &Begun, answer: &Answer, reason: &str) -> TurnEnd {
    let own_words = Some(answer.text.trim()).filter(|text| !text.is_empty());
    // They say that somebody comes.
    let set_words =
        policy.handover_text.as_ref().filter(|_| office_hours::away_until(policy, docket.now).is_none());
    end_burst_as(docket, policy, begun, Outcome::HandedOver, None);
    conversations::cause(docket, policy, By::of(Reason::AssistantAsked, actor::ASSISTANT));
    conversations::raise(docket, AttentionReason::AssistantAsked);
    if own_words.is_some() || set_words.is_some() {
        cover(docket, begun);
    }
    docket.record(
        Entry::of(EventType::ConversationUpdated)
            .action("handed_over")
            .by(actor::ASSISTANT)
            .turn(begun.turn.id)
            .with("reason", told(reason)),
    );
    match (own_words, set_words) {
        (Some(_), _) => {
            let parts =
                pacing::split(&answer.text, policy.split_chars, policy.split_parts, policy.message_max_chars);
            let owed = Owed {
                author: Author::Assistant,
                lane: begun.lane,
                ..Owed::machine(Gate::Farewell, Some(begun.turn.id))
            };
            outbox::owe(docket, &parts, &owed, actor::ASSISTANT);
            TurnEnd::Owed
        }
        (None, Some(text)) => {
            outbox::say_farewell(docket, policy, text, Some(begun.turn.id));
            TurnEnd::Owed
        }
        (None, None) => TurnEnd::Silent,
    }
}

/// The words of the hand-over are the answer, once they leave; withdrawn before, they leave it to the person.
fn cover(docket: &mut Docket, begun: &Begun) {
    for id in &begun.turn.messages {
        if let Some(inbound) = docket.edit_inbound(*id)
            && inbound.outcome == Outcome::HandedOver
        {
            inbound.outcome = Outcome::Pending;
        }
    }
}

fn end_burst_as(
    docket: &mut Docket,
    policy: &Policy,
    begun: &Begun,
    outcome: Outcome,
    reason: Option<OutcomeReason>,
) {
    for id in read_as_they_stand(docket, begun) {
        if let Some(message) = docket.edit(id) {
            message.turn = Some(begun.turn.id);
            if let Some(inbound) = &mut message.inbound
                && inbound.outcome == Outcome::Pending
            {
                inbound.outcome = outcome;
                inbound.reason = reason;
            }
        }
    }
    inbox::begin_new_burst(docket, policy);
}

/// The generation was stopped before its words were whole. The step that withdrew the permit has recorded why; what it
/// cost is kept. Stopped for reasons of this instance, the burst waits for the next instance, without using up attempts.
pub fn abandon(docket: &mut Docket, policy: &Policy, begun: &Begun, cost: Cost) {
    if let Some(reason) = refusal(docket, begun) {
        let was_running = waste(docket, begun, cost, reason);
        if was_running {
            docket.record(
                Entry::of(EventType::LockLost)
                    .action("stopped")
                    .turn(begun.turn.id)
                    .with("reason", reason.as_str()),
            );
        }
        return;
    }
    end_turn(docket, begun, TurnState::Cancelled, Some("instance_stopped"), cost);
    let ran_ms = docket.now.since(begun.turn.started_at);
    docket.record(
        Entry::of(EventType::TurnSuperseded)
            .action("instance_stopped")
            .by(actor::SYSTEM)
            .turn(begun.turn.id)
            .with("reason", "instance_stopped")
            .with("generation_ms", ran_ms),
    );
    inbox::set_ripe_at(docket, policy);
    if begun.turn.purpose == Purpose::Reply && docket.conversation.memo.ripe_at.is_some() {
        docket.conversation.memo.ripe_at = Some(docket.now.0);
    }
}

/// What nobody can read wants no answer of the assistant. A turn that was about nothing else ends: true if this one did.
pub fn leave_unread(docket: &mut Docket, policy: &Policy, begun: &Begun, unread: &[Uuid]) -> bool {
    let unreadable = Discarded::Unreadable.as_str();
    if docket.turn(begun.turn.id).is_some_and(|turn| turn.reason.as_deref() == Some(unreadable)) {
        // A commit whose answer was lost on the way.
        return true;
    }
    if refusal(docket, begun).is_some() {
        return false;
    }
    for id in unread {
        inbox::not_readable(docket, policy, *id);
    }
    if begun.turn.messages.iter().any(|id| !unread.contains(id)) {
        return false;
    }
    end_turn(docket, begun, TurnState::Cancelled, Some(unreadable), Cost::default());
    inbox::begin_new_burst(docket, policy);
    true
}

/// Words that are whole but no longer wanted are discarded by name.
fn discard(docket: &mut Docket, begun: &Begun, cost: Cost, reason: Discarded) {
    let was_running = waste(docket, begun, cost, reason);
    let (kind, action) = match reason {
        Discarded::HumanAnswers | Discarded::VersionMoved => {
            (EventType::ModeChangeBeforeSend, "discarded_message")
        }
        Discarded::FenceMoved if was_running => (EventType::LockLost, "stopped"),
        // No mode has changed.
        Discarded::FenceMoved
        | Discarded::Closed
        | Discarded::NewerMessage
        | Discarded::Unreadable
        | Discarded::Stopped
        | Discarded::Gone => return,
    };
    docket.record(Entry::of(kind).action(action).turn(begun.turn.id).with("reason", reason.as_str()));
}

/// Keeps what a turn cost of which nothing is sent. True if nobody had ended it: its lease was taken over.
fn waste(docket: &mut Docket, begun: &Begun, cost: Cost, reason: Discarded) -> bool {
    let now = docket.now;
    let Some(turn) = docket.edit_turn(begun.turn.id) else { return false };
    let was_running = turn.state == TurnState::Generating;
    if was_running {
        turn.state = TurnState::Cancelled;
        turn.ended_at = Some(now);
        turn.reason = Some(reason.to_string());
    }
    turn.wasted = true;
    turn.input_tokens = cost.input_tokens;
    turn.output_tokens = cost.output_tokens;
    turn.first_token_at = cost.first_token_at;
    was_running
}

fn end_turn(docket: &mut Docket, begun: &Begun, state: TurnState, reason: Option<&str>, cost: Cost) {
    let now = docket.now;
    docket.conversation.lease = None;
    if let Some(turn) = docket.edit_turn(begun.turn.id) {
        turn.state = state;
        turn.ended_at = Some(now);
        turn.reason = reason.map(str::to_owned);
        turn.wasted = state != TurnState::Completed;
        turn.input_tokens = cost.input_tokens;
        turn.output_tokens = cost.output_tokens;
        turn.first_token_at = cost.first_token_at;
    }
}
