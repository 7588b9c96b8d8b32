//! Steps at work: each conversation's one after the other on its docket, and what all of them change, in one set.

use std::{collections::HashMap, panic::AssertUnwindSafe};

use tokio::time::Instant;

use super::{Op, new_stamp, save::Save};
use crate::{
    domain::{
        docket::{Changes, ChannelStanding, Docket, Loaded},
        message::{DeliveryState, Message},
        time::Time,
    },
    flow::ledger::{Committed, Standing},
};

/// A conversation, what is known of it, and the steps about it.
pub(super) struct ConversationBatch {
    /// All that its steps may ask for.
    pub(super) known: Loaded,
    /// The stamp that it has in the database.
    pub(super) stamp: i64,
    /// One of its steps needs the channel.
    pub(super) needs_channel: bool,
    /// The numbers of its steps.
    pub(super) ops: Vec<usize>,
}

/// What steps have come to.
pub(super) struct StepsResult {
    /// What they stamp all that they changed with.
    pub(super) stamp: i64,
    /// What they changed.
    pub(super) save: Save,
    /// What the observer learns once it is committed.
    pub(super) commits: Vec<Committed>,
    /// What is known then, each under its stamp.
    pub(super) known: Vec<(i64, Loaded)>,
    /// A step found its channel full.
    pub(super) found_full: bool,
}

/// Runs all steps, the conversations in the order in which their first steps came: they may share a channel. Gives the
/// number of a step that panics.
pub(super) fn run_steps(
    mut batches: Vec<ConversationBatch>,
    channels: &mut HashMap<String, ChannelStanding>,
    ops: &[Op],
    now: Time,
) -> Result<StepsResult, usize> {
    batches.sort_by_key(|batch| batch.ops[0]);
    let stamp = new_stamp();
    let mut result = StepsResult {
        stamp,
        save: Save::stamping(stamp),
        commits: Vec::new(),
        known: Vec::new(),
        found_full: false,
    };
    for batch in batches {
        let channel = batch.known.conversation.channel.clone();
        let mut loaded = batch.known;
        loaded.channel = channels.get(&channel).filter(|_| batch.needs_channel).cloned();
        let sending_before = sending(&loaded.messages);
        let mut docket = Docket::open(loaded, now);
        for number in &batch.ops {
            let step = AssertUnwindSafe(|| (ops[*number].step)(&mut docket));
            std::panic::catch_unwind(step).map_err(|_| *number)?;
        }
        let sending = (sending_before, sending(docket.messages()));
        result.found_full |= docket.found_full;
        let mut changes = docket.close();
        if !changes.is_changed {
            result.known.push((batch.stamp, changes.open));
            continue;
        }
        if let Some(standing) = channels.get_mut(&channel) {
            if let Some(changed) = changes.channel.as_ref().filter(|changed| !is_same(changed, standing)) {
                result.save.add_channel(&channel, changed);
            }
            carry(standing, changes.channel.as_ref(), sending);
        }
        result.commits.push(committed(&mut changes, ops[batch.ops[0]].asked_at));
        result.known.push((stamp, result.save.add(changes)));
    }
    Ok(result)
}

fn sending(messages: &[Message]) -> usize {
    messages.iter().filter(|message| message.is(DeliveryState::Sending)).count()
}

/// As far as the database keeps it: what is in flight is counted from the messages.
fn is_same(one: &ChannelStanding, other: &ChannelStanding) -> bool {
    (&one.state, one.next_send_at, one.sends) == (&other.state, other.next_send_at, other.sends)
}

/// What the next conversation of the channel must see: the same locked row, and what is in flight now, counted from the
/// messages themselves.
fn carry(standing: &mut ChannelStanding, changed: Option<&ChannelStanding>, (before, after): (usize, usize)) {
    let in_flight = (standing.in_flight + after).saturating_sub(before);
    if let Some(changed) = changed {
        *standing = changed.clone();
    }
    standing.in_flight = in_flight;
}

fn committed(changes: &mut Changes, asked_at: Instant) -> Committed {
    let conversation = &changes.conversation;
    Committed {
        at: changes.now,
        asked_at,
        channel: conversation.channel.clone(),
        chat: conversation.chat.clone(),
        standing: Standing {
            conversation: conversation.id,
            mode: conversation.mode.mode,
            version: conversation.mode.version,
            fence: conversation.fence,
            turn: conversation.lease.as_ref().map(|lease| lease.turn),
            contact_seq: conversation.contact_seq,
        },
        clocks: changes.clocks,
        messages: std::mem::take(&mut changes.messages_progress),
        turns: std::mem::take(&mut changes.turns_progress),
        typing: changes.typing,
        is_erased: changes.erasure.is_some(),
        events: changes.events.clone(),
    }
}
