//! Steps about messages that were removed do not run.
//!
//! In: what steps say they are about. Out: which of it was removed, and why. Asked once the conversations are locked: what
//! was removed before that is seen.

use std::collections::{BTreeSet, HashMap};

use serde::{Serialize, Serializer};

use super::{Dialect, Op, Transaction, text};
use crate::{
    adapters::rows::Field as _,
    domain::time::Time,
    flow::forgetting::tombstones::{Removal, Tombstone},
};

/// One of them, as statements take it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TombstoneKey<'a>(&'a str, &'a str, Option<&'a str>, &'a str, Option<i64>);

impl<'a> TombstoneKey<'a> {
    pub(super) fn of(tombstone: &'a Tombstone) -> Self {
        let Tombstone { channel, chat, key, hash, kept_until } = tombstone;
        Self(channel, chat.as_str(), key.as_deref(), hash, kept_until.map(|until| until.0))
    }
}

impl Serialize for TombstoneKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.0, self.1, self.2, self.3, self.4).serialize(serializer)
    }
}

/// What was removed of all that these steps are about.
#[derive(Default)]
pub(super) struct Removed(HashMap<(String, Option<Time>), Removal>);

impl Removed {
    /// Looks.
    pub(super) async fn find<D: Dialect>(
        transaction: &mut D::Transaction,
        ops: &[Op],
    ) -> Result<Self, sqlx::Error> {
        let asked: BTreeSet<TombstoneKey<'_>> =
            ops.iter().flat_map(|op| &op.need.tombstones).map(TombstoneKey::of).collect();
        let mut removed = HashMap::new();
        if !asked.is_empty() {
            for row in &transaction.fetch(&D::sql().tombstones, &text(&asked)?).await? {
                let asked = (String::read(row, "hash")?, Option::read(row, "kept_until")?);
                removed.insert(asked, Removal::read(row, "kind")?);
            }
        }
        Ok(Self(removed))
    }

    /// Why the step does not run, if it does not.
    pub(super) fn bars(&self, op: &Op) -> Option<Removal> {
        let why = |it: &Tombstone| self.0.get(&(it.hash.clone(), it.kept_until)).copied();
        op.need.tombstones.iter().find_map(why)
    }
}
