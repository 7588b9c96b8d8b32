//! Step: a contact who writes more than anybody reads.
//!
//! In: the moments of their messages, from the inbox. Out: fewer turns, and fewer messages that wait. Each step loads
//! all that is open, so thousands of waiting messages would weigh on every step of the conversation.

use uuid::Uuid;

use super::BURST_READ_MAX;
use crate::{
    domain::{
        conversation::{AttentionReason, Memo},
        docket::{Docket, Entry},
        event::{EventType, actor},
        message::{Message, OutcomeReason},
        policy::Policy,
        time::Time,
    },
    flow::{conversations, inbox},
};

/// What a flood is counted over, and at least this long between two turns of one.
const FLOOD_MS: i64 = 60_000;

/// More messages in a minute than allowed are a flood, until it is quiet: no more than half as many. Recorded once per flood.
pub fn watch(docket: &mut Docket, policy: &Policy) {
    let (now, limit) = (docket.now, policy.flood_per_minute);
    let memo = &mut docket.conversation.memo;
    let lately = memo.wrote.iter().filter(|at| now.since(Time(**at)) < FLOOD_MS).count();
    let bound = if memo.is_flood { limit / 2 } else { limit };
    let is_flood = limit > 0 && lately > bound;
    let began = !std::mem::replace(&mut memo.is_flood, is_flood) && is_flood;
    if began {
        docket.record(
            Entry::of(EventType::Flood)
                .action("collected")
                .by(actor::CONTACT)
                .with("messages", lately)
                .with("per_minute", limit),
        );
    }
}

/// In a flood only as many messages wait as a turn reads. Older ones stay where they are, are context for that turn,
/// and are left to people.
pub fn leave_older(docket: &mut Docket) {
    let read: Vec<Uuid> = docket.running_turn().map(|turn| turn.messages.clone()).unwrap_or_default();
    let mut older = docket.ids(|message: &Message| message.waits() && !read.contains(&message.id));
    older.truncate(older.len().saturating_sub(BURST_READ_MAX));
    inbox::hand_over(docket, &older, OutcomeReason::Flood);
    if !older.is_empty() {
        conversations::raise(docket, AttentionReason::Unanswered);
    }
}

/// No turn begins before.
pub fn not_before(memo: &Memo) -> Time {
    let begun_at = memo.begun_at.filter(|_| memo.is_flood);
    begun_at.map_or(Time(i64::MIN), |at| Time(at).plus_ms(FLOOD_MS))
}
