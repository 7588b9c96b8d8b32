//! The fast path: steps about conversations that are known here run without a look into the database, and one statement
//! saves what they changed, if nobody else has changed any of it meanwhile.
//!
//! In: steps. Out: their verdicts; or nothing was done, and they must take the slow path, under the locks.

use std::collections::{BTreeMap, HashMap, btree_map::Entry};

use uuid::Uuid;

use super::{
    Dialect, Guard, Op,
    docket_cache::DocketCache,
    in_doubt::InDoubt,
    steps::{self, ConversationBatch, StepsResult},
    text,
    tombstones::TombstoneKey,
    verdict::Verdict,
    writer_context::WriterContext,
};
use crate::{
    adapters::ErrorClass,
    domain::docket::{ChannelStanding, Loaded},
    flow::{
        ledger::{Key, Need},
        provider::boot_time,
    },
};

/// Runs the steps, if all that they need is known. None: nothing has happened. After an error that is in doubt.
pub(super) async fn commit<D: Dialect>(
    context: &WriterContext<D>,
    own: &mut Option<D::Own>,
    ops: &[Op],
    in_doubt: &mut Option<InDoubt>,
) -> Result<Option<Vec<Verdict>>, sqlx::Error> {
    let now = context.dialect.clock().or_else(|| context.clock.now());
    let (Some(now), true) = (now, context.dialect.has_fast_path() && context.cache.is_trusted()) else {
        return Ok(None);
    };
    let Some(known) = Known::of(&context.cache, ops) else { return Ok(None) };
    let guard = known.guard(ops)?;
    let (batches, mut channels) = (known.batches.into_values().collect(), known.channels);
    // A step that panics is found again on the slow path, and one that must be certain that the channel is full as well.
    let result = steps::run_steps(batches, &mut channels, ops, now).ok().filter(|result| !result.found_full);
    let Some(result) = result else { return Ok(None) };
    let asked_at = boot_time();
    let saved = context.dialect.save_if(own, guard, result.save.statements(D::sql())?).await;
    let verdicts = vec![Verdict::Done; ops.len()];
    let now = match saved {
        Ok(now) => now,
        // Its data: the slow path finds out whose.
        Err(error) if ErrorClass::of(&error) == ErrorClass::Data => None,
        Err(error) => {
            context.cache.forget_channels();
            let StepsResult { stamp, commits, .. } = result;
            *in_doubt = Some(InDoubt { stamp, commits, verdicts });
            return Err(error);
        }
    };
    let Some(now) = now else {
        context.cache.distrust();
        context.cache.forget_channels();
        return Ok(None);
    };
    context.cache.trust();
    context.clock.hear(asked_at, now);
    context.committed(&result.commits, result.known, &channels);
    Ok(Some(verdicts))
}

/// What steps need, as far as it was found.
#[derive(Default)]
struct Known {
    batches: BTreeMap<Uuid, ConversationBatch>,
    keys: Vec<(Uuid, String)>,
    channels: HashMap<String, ChannelStanding>,
}

impl Known {
    /// Everything the steps need, taken out of what is known. None: something must be read, and all is put back.
    fn of(cache: &DocketCache, ops: &[Op]) -> Option<Self> {
        let mut known = Self::default();
        if ops.iter().enumerate().all(|(number, op)| known.add(cache, number, op).is_some()) {
            return Some(known);
        }
        for batch in known.batches.into_values() {
            cache.keep(batch.stamp, batch.known);
        }
        None
    }

    fn add(&mut self, cache: &DocketCache, number: usize, op: &Op) -> Option<()> {
        let id = match &op.key {
            Key::Id(id) => *id,
            Key::Chat { channel, chat, .. } => cache.conversation_of(channel, chat.as_str())?,
        };
        let batch = match self.batches.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (stamp, known) = cache.take_any(id)?;
                entry.insert(ConversationBatch { known, stamp, needs_channel: false, ops: Vec::new() })
            }
        };
        let memo = &batch.known.conversation.memo;
        let absent = absent_keys(&batch.known, &op.need)?;
        let may_be_elsewhere = memo.merged_into.is_some() || !(memo.merged.is_empty() || absent.is_empty());
        if may_be_elsewhere && !op.need.itself {
            return None;
        }
        self.keys.extend(absent.into_iter().map(|key| (id, key)));
        if op.need.channel {
            let name = &batch.known.conversation.channel;
            if !self.channels.contains_key(name) {
                self.channels.insert(name.clone(), cache.channel(name)?);
            }
            batch.needs_channel = true;
        }
        batch.ops.push(number);
        Some(())
    }

    /// What must still be so when the changes are saved.
    fn guard(&self, ops: &[Op]) -> Result<Guard, sqlx::Error> {
        let stamps: Vec<_> = self.batches.iter().map(|(id, batch)| (*id, batch.stamp)).collect();
        let tombstones: Vec<_> =
            ops.iter().flat_map(|op| &op.need.tombstones).map(TombstoneKey::of).collect();
        let standings: Vec<_> = self
            .channels
            .iter()
            .map(|(name, it)| (name.as_str(), it.state.as_str(), it.next_send_at.0, it.sends))
            .collect();
        Ok([text(&stamps)?, text(&self.keys)?, text(&tombstones)?, text(&standings)?])
    }
}

/// Keys that the step takes for new, if everything else that it needs is known.
fn absent_keys(known: &Loaded, need: &Need) -> Option<Vec<String>> {
    let has_message = |id: &Uuid| known.messages.iter().any(|message| message.id == *id);
    let is_known = need.request.is_none()
        && !need.labels
        && need.letter.is_none()
        && need.turn.is_none_or(|id| known.turns.iter().any(|turn| turn.id == id))
        && need.draft.is_none_or(|id| known.drafts.iter().any(|draft| draft.id == id))
        && need.messages.iter().all(has_message)
        && known.complete_after <= need.oldest_of(known.conversation.seq);
    let is_called = |key: &&String| {
        let key = Some(key.as_str());
        known.messages.iter().any(|it| it.key.as_deref() == key || it.provider_message_id.as_deref() == key)
    };
    let absent: Vec<String> = need.keys.iter().filter(|key| !is_called(key)).cloned().collect();
    let may_be_absent = absent.is_empty() || need.keys_are_new || known.complete_after == 0;
    (is_known && may_be_absent).then_some(absent)
}
