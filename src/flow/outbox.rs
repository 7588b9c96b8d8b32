//! Place: messages owed to the contacts, each conversation's in order. Its claim holds the check of the mode.
//!
//! In: replies, agents' messages, follow-ups, texts from the settings. Out: one claimed message at a time to the
//! sender, and what became of it back.

mod claim;

mod settle;

pub use claim::{
    Claim, FIRST_PAUSE_MS, HELD_AT_MOST_MS, answered_by, as_checked, claim_at_once, claim_due, hold_ms,
    is_able,
};
pub(super) use claim::{begin_attempt, refusal};
pub use settle::{Settled, count_follow_up, give_up, sent, settle, tell_settled};

use uuid::Uuid;

use super::{agenda, conversations, drafts, inbox, notes, reply::errands};
use crate::domain::{
    conversation::AttentionReason,
    docket::{Docket, Entry},
    enclosure::{self, Enclosure},
    event::{EventType, actor},
    lane::Lane,
    message::{
        Author, Delivery, DeliveryReason, DeliveryState, Gate, Kind, Message, Origin, Outcome, OutcomeReason,
        Quoted,
    },
    pacing,
    policy::Policy,
    time::Time,
};

/// A POST begins within this time of the moment its claim was asked for, or not at all.
pub const BEGIN_WITHIN_MS: i64 = 1_000;
/// What a `sending` row's lease has beyond the beginning and the time limit of the request.
const LEASE_MARGIN_MS: i64 = 5_000;
/// A file gets to the gateway at no less than this many bytes a millisecond, or not at all.
const FILE_BYTES_PER_MS: i64 = 128;

/// What is to be owed.
#[derive(Debug, Clone)]
pub struct Owed {
    /// Whose words these are.
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
    /// The file that goes with them: they are what stands under it.
    pub enclosure: Option<Enclosure>,
    /// How long a person would type each.
    pub typing_ms: Vec<i64>,
}

impl Owed {
    /// Words that no person wrote: Baton's own, from the settings, where nothing else is said.
    pub const fn machine(gate: Gate, turn: Option<Uuid>) -> Self {
        Self {
            author: Author::System,
            origin: Origin::Turn,
            gate,
            lane: Lane::Reply,
            agent: None,
            turn,
            quoted: None,
            enclosure: None,
            typing_ms: Vec::new(),
        }
    }

    /// One part: words, or a file with those words under it, which is known by the id that it is kept under.
    fn message(&self, part: i32, text: &str) -> Message {
        let message = |kind, text| Message::of(self.author, self.origin, kind, text);
        match self.enclosure.as_ref().filter(|_| part == 1) {
            None => message(Kind::Text, text.to_owned()),
            Some(file) => Message {
                id: file.id,
                media: Some(file.media(text)),
                ..message(file.kind, enclosure::description(file.kind, &file.name, text))
            },
        }
    }
}

/// Puts the parts of one reply at the end of the conversation, in order, to leave one after the other.
pub fn owe(docket: &mut Docket, parts: &[String], owed: &Owed, by: &str) -> Vec<Uuid> {
    overtake(docket, by);
    drafts::our_side_wrote(docket, by);
    let reply = owed.turn.unwrap_or_else(Uuid::now_v7);
    let count = i32::try_from(parts.len()).unwrap_or(i32::MAX);
    let mut ids = Vec::with_capacity(parts.len());
    for (part, text) in (1..).zip(parts) {
        let message = owed.message(part, text);
        let id = message.id;
        let typing_ms = owed.typing_ms.get(ids.len()).copied().unwrap_or(0);
        docket.push(Message {
            agent: owed.agent,
            quoted: owed.quoted.clone().filter(|_| part == 1),
            turn: owed.turn,
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
                unclear: 0,
                queued_at: docket.now,
                sent_at: None,
                left_at: None,
                delivered_at: None,
                read_at: None,
            }),
            ..message
        });
        docket.record(
            Entry::of(EventType::MessageQueued).by(by).message(id).with("part", part).with("parts", count),
        );
        ids.push(id);
    }
    ids
}

/// How long the gateway may take to answer: for a file, as long again as that needs to get there.
pub fn send_limit_ms(policy: &Policy, message: &Message) -> i64 {
    let size = message.media.as_ref().and_then(|media| media.size).unwrap_or(0);
    policy.provider_timeout_ms + size / FILE_BYTES_PER_MS
}

/// Queues a text from the settings, under the same condition as a reply.
pub fn say_as_system(docket: &mut Docket, policy: &Policy, text: &str) {
    let parts = pacing::split(text, 0, 1, policy.message_max_chars);
    owe(docket, &parts, &Owed::machine(Gate::Assistant, None), actor::SYSTEM);
}

/// Queues the last words before a person takes over: they may leave while the version of that hand-over is current.
pub fn say_farewell(docket: &mut Docket, policy: &Policy, text: &str, turn: Option<Uuid>) {
    let parts = pacing::split(text, 0, 1, policy.message_max_chars);
    owe(docket, &parts, &Owed::machine(Gate::Farewell, turn), actor::SYSTEM);
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

/// Our side says something else. Parts that wait behind a send of unknown fate would now arrive out of order, and hold back
/// what is said: they are called off.
pub fn overtake(docket: &mut Docket, by: &str) {
    let unknown: Vec<Uuid> = docket
        .deliveries()
        .filter(|delivery| delivery.state == DeliveryState::Unknown)
        .map(|delivery| delivery.reply)
        .collect();
    withdraw(docket, DeliveryReason::Overtaken, by, |delivery| unknown.contains(&delivery.reply));
}

/// Withdraws one queued message.
pub fn cancel(docket: &mut Docket, id: Uuid, reason: DeliveryReason, by: &str) {
    let Some(delivery) = docket.edit_delivery(id) else { return };
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

/// Nothing of a reply is left to leave, and nothing has: what it was to answer waits again where a newer message took
/// its place, and is left to people everywhere else.
fn let_go(docket: &mut Docket, reply: Uuid, reason: DeliveryReason) {
    if docket.is_owed(reply) {
        return;
    }
    errands::forget(docket, reply);
    notes::bring_back(docket, reply);
    let covered = docket.ids(|message| message.is_covered() && message.turn == Some(reply));
    for id in &covered {
        let Some(message) = docket.edit(*id) else { continue };
        message.turn = None;
        let Some(inbound) = &mut message.inbound else { continue };
        (inbound.outcome, inbound.reason) = match reason {
            DeliveryReason::Superseded => continue,
            DeliveryReason::Closed => (Outcome::Ignored, Some(OutcomeReason::Closed)),
            DeliveryReason::ModeChanged => (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman)),
            DeliveryReason::Overtaken => (Outcome::HandedOver, None),
            _ => (Outcome::LeftToHuman, None),
        };
    }
    // In AI, so nobody would look.
    if reason == DeliveryReason::Overtaken && !covered.is_empty() {
        conversations::raise(docket, AttentionReason::Unanswered);
    }
}

/// How many parts of the reply that is still owed have left already: they leave in order, so the first one that has not tells.
pub fn already_left(docket: &Docket) -> usize {
    let is_owed = |delivery: &&Delivery| {
        matches!(delivery.state, DeliveryState::Queued | DeliveryState::Sending)
            && !matches!(delivery.gate, Gate::Person | Gate::FollowUp)
    };
    let Some(reply) = docket.deliveries().find(is_owed).map(|delivery| delivery.reply) else { return 0 };
    let has_not_left = |delivery: &&Delivery| {
        delivery.reply == reply
            && matches!(
                delivery.state,
                DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Unknown
            )
    };
    docket.deliveries().find(has_not_left).map_or(0, |first| usize::try_from(first.part - 1).unwrap_or(0))
}

/// Withdraws the reply to the waiting burst if it has not begun to leave: the messages it answers wait again. True if
/// there was one. The answer of a last turn allowed, and what Baton itself says, is not withdrawn so.
pub fn withdraw_unread_reply(docket: &mut Docket) -> bool {
    docket.conversation.memo.reply.take().is_some_and(|reply| withdraw_reply(docket, reply))
}

/// Replies of the assistant that wait to leave after that one.
pub fn replies_behind(docket: &Docket, reply: Uuid) -> Vec<Uuid> {
    let waits = |other: &&Delivery| {
        other.reply != reply
            && other.part == 1
            && other.gate == Gate::Assistant
            && other.state == DeliveryState::Queued
    };
    docket.deliveries().filter(waits).map(|other| other.reply).collect()
}

/// Withdraws that reply unless its first part has left or is leaving. True if there was one.
pub fn withdraw_reply(docket: &mut Docket, reply: Uuid) -> bool {
    let is_whole = docket.deliveries().any(|delivery| {
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
    // It is not an answer, and does not count as one.
    docket.conversation.memo.answered.pop();
    // What it has scheduled goes with it: the next answer may want none.
    if docket.follow_up().is_some_and(|follow_up| follow_up.created_by == actor::ASSISTANT) {
        agenda::cancel(docket, DeliveryReason::Superseded.as_str(), actor::CONTACT);
    }
    true
}

/// A reply begins to leave: from here on a newer message no longer withdraws it, but begins a burst of its own.
fn begin_to_answer(docket: &mut Docket, policy: &Policy, turn: Option<Uuid>) {
    end_covered(docket, turn, Outcome::Answered);
    if let Some(turn) = turn {
        errands::tell(docket, turn);
    }
    if turn.is_some() && docket.conversation.memo.reply == turn {
        inbox::begin_new_burst(docket, policy);
    }
}

/// Since when a message waits, or a reply to it: it may be older than a reply that had not read it, or not in its new words.
pub fn first_waiting(docket: &Docket) -> Option<Time> {
    let is_unanswered = |message: &&Message| message.waits() || message.is_covered();
    docket.messages().iter().find(is_unanswered).map(|message| message.at)
}

fn end_covered(docket: &mut Docket, turn: Option<Uuid>, outcome: Outcome) {
    for id in docket.ids(|message| message.is_covered() && message.turn == turn) {
        if let Some(inbound) = docket.edit_inbound(id) {
            inbound.outcome = outcome;
            inbound.reason = None;
        }
    }
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
