//! Rules: a ripe burst, claimed under a lease by the instance that will answer it.
//!
//! In: the claimant. Out: a turn with its permit, when to look again, or a person in front of what no machine may answer.

use uuid::Uuid;

use super::{BURST_READ_MAX, NOTICE_EVERY_MS, flood};
use crate::{
    domain::{
        burst,
        chat::ChatId,
        conversation::{AttentionReason, Conversation, Lease, Status},
        docket::{Docket, Entry},
        event::{EventType, actor},
        lane::Lane,
        message::{Message, Outcome, OutcomeReason},
        mode::{Mode, Reason},
        policy::{BurstPolicy, Policy},
        time::Time,
        turn::{Purpose, Turn, TurnState},
    },
    flow::{
        conversations::{self, By},
        drafts, office_hours, outbox, spending,
    },
};

/// Who wants to answer.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// The instance.
    pub owner: String,
    /// The id that its turn will have: a repeat after a lost commit finds it.
    pub turn: Uuid,
    /// The lock in front was somebody else's.
    pub found_locked: bool,
}

/// What a claim gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// A turn has begun.
    Begun(Box<Begun>),
    /// The burst is ripe only then.
    NotYet(Time),
    /// Somebody works on it, until then unless renewed.
    Held(Time),
    /// Nothing to answer, or all of it went to a person.
    Nothing,
}

/// A turn that has begun, with the permit under which its reply may be committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// The conversation.
    pub conversation: Uuid,
    /// Its chat.
    pub chat: ChatId,
    /// What the contact is called, if anybody knows.
    pub contact_name: Option<String>,
    /// The turn as stored.
    pub turn: Turn,
    /// Other conversations with the same person, which continue in this one.
    pub merged: Vec<Uuid>,
    /// The contact wants no follow-ups.
    pub opted_out: bool,
    /// Who answered when it began.
    pub mode: Mode,
    /// The messages to answer, in order.
    pub burst: Vec<Message>,
    /// Number of messages that wait, the burst included: they are among the newest, and are not context.
    pub waiting: usize,
    /// Every message up to this number may be read as context.
    pub history_to: i64,
    /// What was said up to there, as far as a model reads it, the burst included; None: it is in the archive.
    pub said: Option<Vec<Message>>,
    /// It has had the business do something before.
    pub has_asked_the_business: bool,
    /// A colleague's words for this turn.
    pub note: Option<String>,
    /// What the follow-up should say, if it is for one.
    pub instructions: Option<String>,
    /// The id that the draft will have, if it is for one.
    pub draft: Option<Uuid>,
    /// Who goes first at the gate.
    pub lane: Lane,
    /// The moment of the claim.
    pub at: Time,
    /// How long after the burst was ripe.
    pub late_ms: i64,
}

/// Hands out the ripe burst with a lease and a permit. What is too old, or too much, goes to a person instead.
pub fn claim_ripe(docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Claim {
    if let Some(begun) = begun_before(docket, policy, claimant) {
        return Claim::Begun(Box::new(begun));
    }
    if let Some(held) = free_lease(docket, claimant) {
        if claimant.found_locked {
            let owner = docket.conversation.lease.as_ref().map(|lease| lease.owner.clone());
            docket.record(Entry::of(EventType::LockContended).action("left_to_holder").with("owner", owner));
        }
        return Claim::Held(held);
    }
    match next(&docket.conversation, policy) {
        Next::Reply => {}
        Next::Draft => return drafts::claim(docket, policy, claimant),
        Next::Nothing => {
            docket.conversation.memo.ripe_at = None;
            docket.conversation.memo.draft_wish = None;
            return Claim::Nothing;
        }
    }
    // Edits and retries move the clock; it is read again here, under the lock.
    match docket.conversation.memo.ripe_at.map(Time) {
        None => return Claim::Nothing,
        Some(at) if at > docket.now => return Claim::NotYet(at),
        Some(_) => {}
    }
    leave_stale(docket, policy);
    let memo = &docket.conversation.memo;
    let is_taken_together = policy.burst != BurstPolicy::Queue || memo.is_flood || memo.answer_now;
    flood::watch(docket, policy);
    let mut burst: Vec<Message> = {
        let waiting = docket.messages().iter().filter(|message| message.waits());
        let most = if is_taken_together { BURST_READ_MAX } else { 1 };
        waiting.take(most).cloned().collect()
    };
    // Kept for as long as the model writes, in thousands of conversations at once.
    burst.shrink_to_fit();
    if burst.is_empty() {
        docket.conversation.memo.end_burst();
        return Claim::Nothing;
    }
    if !policy.has_model {
        leave_without_model(docket);
        return Claim::Nothing;
    }
    if is_capped(docket, policy) {
        hand_over_for_cap(docket, policy);
        return Claim::Nothing;
    }
    if policy.is_spent {
        spending::leave_to_people(docket);
        return Claim::Nothing;
    }
    Claim::Begun(Box::new(begin(docket, policy, claimant, Purpose::Reply, burst)))
}

/// What a turn would be for that began now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// To answer the contact.
    Reply,
    /// To write what a person may say.
    Draft,
    /// None may begin.
    Nothing,
}

/// Whether a turn may begin, and what for: the one rule of it, for either mode. The assistant speaks in AI alone; in HUMAN it
/// suggests, if the conversation has it so. A person who asks is given a suggestion anywhere, but no reply waits for it.
fn next(conversation: &Conversation, policy: &Policy) -> Next {
    let is_open = conversation.status != Status::Closed;
    let memo = &conversation.memo;
    let wish = memo.draft_wish.as_ref().filter(|_| policy.has_model && !policy.is_spent);
    let is_asked_for = wish.is_some_and(|wish| wish.by.is_some());
    match conversation.mode.mode {
        Mode::Ai if is_open && memo.ripe_at.is_some() => Next::Reply,
        Mode::Human if is_open && wish.is_some() && conversation.drafting => Next::Draft,
        Mode::Ai | Mode::Human if is_asked_for => Next::Draft,
        Mode::Ai | Mode::Human => Next::Nothing,
    }
}

/// The same in the transaction that takes a message in, where the burst is ripe at once. None: somebody claims it later.
pub fn claim_at_once(docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Option<Box<Begun>> {
    let is_ripe = docket.clocks().turn_at.is_some_and(|at| at <= docket.now);
    // A commit whose answer was lost on the way has begun it.
    let has_begun = docket.conversation.lease.as_ref().is_some_and(|lease| lease.turn == claimant.turn);
    if !is_ripe && !has_begun {
        return None;
    }
    match claim_ripe(docket, policy, claimant) {
        Claim::Begun(begun) => Some(begun),
        Claim::NotYet(_) | Claim::Held(_) | Claim::Nothing => None,
    }
}

/// Begins a turn: lease, fence, row, event.
pub fn begin(
    docket: &mut Docket,
    policy: &Policy,
    claimant: &Claimant,
    purpose: Purpose,
    burst: Vec<Message>,
) -> Begun {
    let now = docket.now;
    let conversation = &mut docket.conversation;
    conversation.fence += 1;
    conversation.lease = Some(Lease {
        owner: claimant.owner.clone(),
        turn: claimant.turn,
        until: now.plus_ms(policy.lock_ttl_ms),
    });
    // What somebody asked for says nothing of how often the contact is read.
    let is_of_burst = match purpose {
        Purpose::Reply => true,
        Purpose::FollowUp => false,
        Purpose::Draft => conversation.mode.mode == Mode::Human,
    };
    if is_of_burst {
        conversation.memo.begun_at = Some(now.0);
    }
    let memo = &conversation.memo;
    let (first_at, restarts, failures) = match (purpose, &memo.draft_wish) {
        (Purpose::Draft, Some(wish)) => (Some(wish.first_at), wish.restarts, wish.failures),
        _ => (memo.burst_first_at, memo.restarts, memo.failures),
    };
    let first_at = Time(first_at.unwrap_or(now.0));
    let turn = Turn {
        id: claimant.turn,
        state: TurnState::Generating,
        purpose,
        mode_version: conversation.mode.version,
        fence: conversation.fence,
        last_seq: burst.last().map_or(conversation.seq, |message| message.seq),
        is_final: purpose != Purpose::FollowUp && burst::is_final(policy, restarts, first_at, now),
        messages: burst.iter().map(|message| message.id).collect(),
        attempt: failures + 1,
        started_at: now,
        first_token_at: None,
        ended_at: None,
        model: policy.ai_model.clone(),
        input_tokens: 0,
        output_tokens: 0,
        wasted: false,
        reason: None,
    };
    docket.begin_turn(turn.clone());
    let begun = as_begun(docket, policy, turn, burst);
    let mut started = Entry::of(EventType::TurnStarted)
        .by(actor::ASSISTANT)
        .turn(claimant.turn)
        .with("attempt", begun.turn.attempt)
        .with("messages", begun.burst.len())
        .with("lane", begun.lane.as_str())
        .with("owner", claimant.owner.as_str());
    if let Some(draft) = begun.draft {
        started = started.with("draft_id", draft.to_string());
    }
    docket.record(started);
    begun
}

fn as_begun(docket: &Docket, policy: &Policy, turn: Turn, burst: Vec<Message>) -> Begun {
    let conversation = &docket.conversation;
    let wrote_at = conversation.memo.wrote.last().map_or(docket.now, |at| Time(*at));
    let recent = u32::try_from(conversation.memo.wrote.len()).unwrap_or(u32::MAX);
    // Not one that came up while this turn ran: that has a turn of its own to come.
    let wish = conversation.memo.draft_wish.as_ref();
    let wish = wish.filter(|wish| turn.purpose == Purpose::Draft && Time(wish.first_at) <= turn.started_at);
    let ripe_at = wish.map_or(conversation.memo.ripe_at, |wish| Some(wish.ripe_at));
    let lane = match turn.purpose {
        Purpose::Reply => Lane::of_reply(wrote_at, recent, docket.now),
        Purpose::FollowUp => Lane::Proactive,
        // A person who has asked looks at the screen.
        Purpose::Draft if wish.is_some_and(|wish| wish.by.is_some()) => Lane::Present,
        Purpose::Draft => Lane::Reply,
    };
    let instructions = (turn.purpose == Purpose::FollowUp)
        .then(|| docket.follow_up().and_then(|follow_up| follow_up.instructions.clone()))
        .flatten();
    let waiting = docket.messages().iter().filter(|message| message.waits()).count().max(burst.len());
    Begun {
        conversation: conversation.id,
        chat: conversation.chat.clone(),
        contact_name: conversation.contact_name.clone(),
        merged: conversation.memo.merged.clone(),
        opted_out: conversation.opted_out,
        mode: conversation.mode.mode,
        history_to: conversation.seq,
        waiting,
        said: docket.words(policy.ai_history + waiting),
        // What the other ids of this contact had done is not known here.
        has_asked_the_business: conversation.memo.told.is_some() || !conversation.memo.merged.is_empty(),
        note: conversation.memo.note.clone().filter(|_| turn.purpose != Purpose::Draft),
        instructions,
        draft: wish.map(|wish| wish.id),
        lane,
        at: docket.now,
        late_ms: ripe_at.map_or(0, |ripe_at| docket.now.since(Time(ripe_at)).max(0)),
        turn,
        burst,
    }
}

/// A claim whose commit was lost on the way finds what it has begun. Its lease begins again, since the one who runs the turn
/// counts from now.
pub fn begun_before(docket: &mut Docket, policy: &Policy, claimant: &Claimant) -> Option<Begun> {
    let turn = docket.running_turn().filter(|turn| turn.id == claimant.turn)?.clone();
    let until = docket.now.plus_ms(policy.lock_ttl_ms);
    if let Some(lease) = &mut docket.conversation.lease {
        lease.until = until;
    }
    let burst =
        docket.messages().iter().filter(|message| turn.messages.contains(&message.id)).cloned().collect();
    Some(as_begun(docket, policy, turn, burst))
}

/// Whether the lease is that of this turn. A fence says so too, but for a failover that has lost the beginning of one: the
/// next then begins under the same fence.
pub fn holds_lease(docket: &Docket, begun: &Begun) -> bool {
    docket.conversation.lease.as_ref().is_some_and(|lease| lease.turn == begun.turn.id)
}

/// A live lease is respected; one that has run out is taken over, at no cost of attempts.
pub fn free_lease(docket: &mut Docket, claimant: &Claimant) -> Option<Time> {
    let lease = docket.conversation.lease.clone()?;
    if lease.is_live(docket.now) {
        return Some(lease.until);
    }
    let now = docket.now;
    docket.conversation.lease = None;
    // Nothing of its owner counts any more, also where nobody begins in its place.
    docket.conversation.fence += 1;
    if let Some(turn) = docket.edit_turn(lease.turn)
        && turn.state == TurnState::Generating
    {
        turn.state = TurnState::Failed;
        turn.ended_at = Some(now);
        turn.wasted = true;
        turn.reason = Some("lease_expired".to_owned());
    }
    docket.record(
        Entry::of(EventType::LeaseTakenOver)
            .turn(lease.turn)
            .with("from", lease.owner)
            .with("by", claimant.owner.as_str()),
    );
    None
}

/// Messages that are too old when their turn comes go to a person, however late they have come here: their age counts from
/// when they were written. Where a person wants them answered now they are as old as that wish: a person who has looked at
/// last night's messages has decided.
fn leave_stale(docket: &mut Docket, policy: &Policy) {
    if policy.stale_ms == 0 {
        return;
    }
    let now = docket.now;
    let wished_at = docket.conversation.memo.wished_at.map(Time);
    let is_stale = |message: &Message| {
        let written_at = message.provider_at.map_or(message.at, |at| at.min(message.at));
        let since = wished_at.map_or(written_at, |at| at.max(written_at));
        message.waits() && now.since(since) > policy.stale_ms
    };
    let stale = docket.ids(is_stale);
    hand_over_stale(docket, &stale);
}

/// All that waits goes to a person, for that reason, and the burst is over.
pub(in crate::flow) fn hand_over_waiting(docket: &mut Docket, reason: OutcomeReason) {
    let waiting = docket.ids(Message::waits);
    hand_over(docket, &waiting, reason);
    docket.conversation.memo.end_burst();
}

/// These go to people, for that reason.
pub(in crate::flow) fn hand_over(docket: &mut Docket, messages: &[Uuid], reason: OutcomeReason) {
    for id in messages {
        if let Some(inbound) = docket.edit_inbound(*id) {
            inbound.outcome = Outcome::HandedOver;
            inbound.reason = Some(reason);
        }
    }
}

pub(in crate::flow) fn hand_over_stale(docket: &mut Docket, stale: &[Uuid]) {
    hand_over(docket, stale, OutcomeReason::Stale);
    if !stale.is_empty() {
        conversations::raise(docket, AttentionReason::Stale);
    }
}

/// It has begun while there was a model, which is taken away since: nobody fails at it in vain.
fn leave_without_model(docket: &mut Docket) {
    hand_over_waiting(docket, OutcomeReason::NoModel);
    conversations::raise(docket, AttentionReason::Unanswered);
}

fn is_capped(docket: &mut Docket, policy: &Policy) -> bool {
    let now = docket.now;
    let answered = &mut docket.conversation.memo.answered;
    answered.retain(|at| now.since(Time(*at)) < NOTICE_EVERY_MS);
    policy.reply_cap > 0 && answered.len() >= policy.reply_cap
}

/// Too many answers without a person: probably a bot on the other side.
fn hand_over_for_cap(docket: &mut Docket, policy: &Policy) {
    hand_over_waiting(docket, OutcomeReason::ReplyCap);
    conversations::cause(docket, policy, By::of(Reason::ReplyCap, actor::SYSTEM));
    conversations::raise(docket, AttentionReason::ReplyCap);
    if let Some(text) = &policy.handover_text
        && office_hours::away_until(policy, docket.now).is_none()
    {
        outbox::say_farewell(docket, policy, text, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::draft::DraftWish, flow::play::Play};

    #[test]
    fn a_turn_begins_to_reply_in_ai_and_to_suggest_where_a_person_wants_it() {
        use Mode::{Ai, Human};
        use Next::{Draft, Nothing, Reply};
        use Status::{Closed, Open, Snoozed};
        /// The wish for a draft: none, for a burst, or of a person.
        const WISHES: [Option<Option<&str>>; 3] = [None, Some(None), Some(Some("agent:ana"))];
        #[rustfmt::skip]
        let table = [
            // mode  status   burst  drafting   no wish  of a burst  of a person
            (Ai,     Open,    true,  true,     [Reply,   Reply,      Reply]),
            (Ai,     Open,    true,  false,    [Reply,   Reply,      Reply]),
            (Ai,     Snoozed, true,  false,    [Reply,   Reply,      Reply]),
            (Ai,     Closed,  true,  true,     [Nothing, Nothing,    Draft]),
            (Ai,     Open,    false, true,     [Nothing, Nothing,    Draft]),
            (Ai,     Open,    false, false,    [Nothing, Nothing,    Draft]),
            (Ai,     Closed,  false, false,    [Nothing, Nothing,    Draft]),
            (Human,  Open,    true,  true,     [Nothing, Draft,      Draft]),
            (Human,  Open,    true,  false,    [Nothing, Nothing,    Draft]),
            (Human,  Open,    false, true,     [Nothing, Draft,      Draft]),
            (Human,  Snoozed, false, true,     [Nothing, Draft,      Draft]),
            (Human,  Open,    false, false,    [Nothing, Nothing,    Draft]),
            (Human,  Closed,  false, true,     [Nothing, Nothing,    Draft]),
            (Human,  Closed,  false, false,    [Nothing, Nothing,    Draft]),
        ];
        for (mode, status, burst_waits, drafting, expected) in table {
            for (wish, expected) in WISHES.into_iter().zip(expected) {
                let mut play = Play::new();
                let conversation = &mut play.conversation;
                conversation.mode.mode = mode;
                (conversation.status, conversation.drafting) = (status, drafting);
                conversation.memo.ripe_at = burst_waits.then_some(1);
                conversation.memo.draft_wish = wish.map(|by| DraftWish {
                    id: Uuid::now_v7(),
                    by: by.map(str::to_owned),
                    ripe_at: 1,
                    first_at: 1,
                    restarts: 0,
                    failures: 0,
                    retry_at: None,
                });
                let told = format!("{mode} {status}, a burst {burst_waits}, drafting {drafting}, {wish:?}");
                assert_eq!(next(conversation, &play.policy), expected, "{told}");
                play.policy.has_model = false;
                let speaks = if expected == Reply { Reply } else { Nothing };
                assert_eq!(next(&play.conversation, &play.policy), speaks, "no model: {told}");
            }
        }
    }
}
