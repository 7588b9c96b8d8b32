//! Conversations that were merged: a step about one of them goes on in the one that stays; a step about a message that is
//! still theirs goes back to them.

use std::collections::HashMap;

use uuid::Uuid;

use super::{
    Dialect, Op, Transaction,
    batch::{Chats, Locked, Verdict},
    text,
};
use crate::{adapters::rows::Field as _, domain::conversation::Conversation, flow::ledger::Key};

/// Of each step whose messages are all of a conversation that was merged into its own: that one.
pub(super) async fn keeping<D: Dialect>(
    transaction: &mut D::Transaction,
    ops: &[Op],
    chats: &Chats,
    locked: &HashMap<Uuid, Locked>,
) -> Result<HashMap<usize, Uuid>, sqlx::Error> {
    let mut asked: Vec<(usize, Uuid, &str)> = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let Some(it) = chats.conversation(&op.key).and_then(|id| locked.get(&id)) else { continue };
        let pairs = it.case.known.conversation.memo.merged.iter();
        asked.extend(pairs.flat_map(|id| op.need.keys.iter().map(move |key| (number, *id, key.as_str()))));
    }
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = transaction.fetch(&D::sql().having_message, &text(&asked)?).await?;
    let found = |row| Ok((i64::read(row, "number")?, Uuid::read(row, "id")?));
    let found: Vec<(i64, Uuid)> = rows.iter().map(found).collect::<Result<_, sqlx::Error>>()?;
    let mut counts: HashMap<(usize, Uuid), usize> = HashMap::new();
    for (number, id) in found {
        *counts.entry((usize::try_from(number).unwrap_or(usize::MAX), id)).or_default() += 1;
    }
    let is_whole =
        |number: usize, count: usize| ops.get(number).is_some_and(|op| count >= op.need.keys.len());
    Ok(counts
        .into_iter()
        .filter(|((number, _), count)| is_whole(*number, *count))
        .map(|(it, _)| it)
        .collect())
}

/// Where a step belongs, if not in the conversation that was found for it.
pub(super) fn elsewhere(
    number: usize,
    op: &Op,
    found: &Conversation,
    kept: &HashMap<usize, Uuid>,
) -> Option<Verdict> {
    if op.need.itself {
        return None;
    }
    let merged = found.memo.merged_into.map(Verdict::Merged);
    merged.or_else(|| kept.get(&number).copied().map(Verdict::Kept))
}

impl Op {
    /// Goes on in the conversation that stays. One that was found by its chat is found anew first, once: it may have
    /// been found by what was remembered of that chat, and what stays may be gone as well.
    pub(super) fn follow(mut self, stays: Uuid) -> Self {
        let is_by_chat = matches!(self.key, Key::Chat { .. });
        if is_by_chat && !std::mem::replace(&mut self.is_found_anew, true) {
            return self;
        }
        self.key = Key::Id(stays);
        self
    }

    /// Goes back to one that was merged.
    pub(super) fn go_back(mut self, merged: Uuid) -> Self {
        self.key = Key::Id(merged);
        self.need.itself = true;
        self
    }
}
