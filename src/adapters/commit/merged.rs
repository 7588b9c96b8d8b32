//! Conversations that were merged: a step about one of them runs in the one that stays; a step about a message that is
//! still theirs goes back to them.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Dialect, Op, Transaction, text};
use crate::{adapters::rows::Field as _, domain::conversation::Conversation, flow::ledger::Key};

/// Where a step belongs, if not in the conversation that was found for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// The conversation continues in that one.
    GoesOn(Uuid),
    /// The message is one of that one, which was merged into the conversation.
    IsKept(Uuid),
}

/// Of each step whose messages are all of a conversation that was merged into its own: that one.
pub(super) async fn keeping<'c, D: Dialect>(
    transaction: &mut D::Transaction,
    ops: &[Op],
    found: impl Fn(&Op) -> Option<&'c Conversation>,
) -> Result<HashMap<usize, Uuid>, sqlx::Error> {
    let mut asked: Vec<(usize, Uuid, &str)> = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let Some(conversation) = found(op) else { continue };
        let pairs = conversation.memo.merged.iter();
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

/// Whether that step belongs elsewhere.
pub(super) fn elsewhere(
    number: usize,
    op: &Op,
    found: &Conversation,
    kept: &HashMap<usize, Uuid>,
) -> Option<Elsewhere> {
    if op.need.itself {
        return None;
    }
    let goes_on = found.memo.merged_into.map(Elsewhere::GoesOn);
    goes_on.or_else(|| kept.get(&number).copied().map(Elsewhere::IsKept))
}

impl Op {
    /// The same step where it belongs.
    pub(super) fn go(self, elsewhere: Elsewhere) -> Self {
        match elsewhere {
            Elsewhere::GoesOn(stays) => self.follow(stays),
            Elsewhere::IsKept(merged) => self.go_back(merged),
        }
    }

    /// Continues in the conversation that stays. One that was found by its chat is looked up again first, once: it may have
    /// been found by what was remembered of that chat, and what stays may be gone as well.
    fn follow(mut self, stays: Uuid) -> Self {
        let is_by_chat = matches!(self.key, Key::Chat { .. });
        if is_by_chat && !std::mem::replace(&mut self.is_found_anew, true) {
            return self;
        }
        self.key = Key::Id(stays);
        self
    }

    /// Goes back to one that was merged.
    fn go_back(mut self, merged: Uuid) -> Self {
        self.key = Key::Id(merged);
        self.need.itself = true;
        self
    }
}
