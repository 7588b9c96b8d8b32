//! A transaction in doubt: its connection was lost at its very end. Whether it was committed can be asked, and must be:
//! a step that has had its effect must not run again over what others have done since.

use std::collections::{BTreeSet, HashMap};

use super::{Dialect, Transaction, text, verdict::Verdict, writer_context::WriterContext};
use crate::{
    adapters::{ErrorClass, rows::Field as _},
    flow::ledger::Committed,
};

/// How often it is asked, for a second each.
const TRIES: usize = 3;

/// Such a transaction.
pub(super) struct InDoubt {
    /// What all conversations that it has changed are stamped with.
    pub(super) stamp: i64,
    /// What the observer learns if it was committed.
    pub(super) commits: Vec<Committed>,
    /// What has become of its steps then.
    pub(super) verdicts: Vec<Verdict>,
}

impl InDoubt {
    /// The verdicts, if it was committed: then one of the conversations carries its stamp, unless others have changed them all
    /// since. Waits until it has ended.
    pub(super) async fn find<D: Dialect>(
        self,
        context: &WriterContext<D>,
    ) -> Result<Option<Vec<Verdict>>, sqlx::Error> {
        let ids: BTreeSet<String> =
            self.commits.iter().map(|commit| commit.standing.conversation.to_string()).collect();
        let mut locked = lock(context, &text(&ids)?).await;
        // It has not ended: a server that waits for another holds what is locked for longer than anybody here may wait.
        for _ in 1..TRIES {
            if locked.as_ref().is_err_and(|error| ErrorClass::of(error) == ErrorClass::Busy) {
                locked = lock(context, &text(&ids)?).await;
            }
        }
        for row in &locked? {
            if i64::read(row, "stamp")? == self.stamp {
                context.cache.forget_channels();
                context.committed(&self.commits, Vec::new(), &HashMap::new());
                return Ok(Some(self.verdicts));
            }
        }
        Ok(None)
    }
}

async fn lock<D: Dialect>(context: &WriterContext<D>, ids: &str) -> Result<Vec<D::Row>, sqlx::Error> {
    let mut transaction = context.dialect.begin().await?;
    let locked = transaction.fetch(&D::sql().lock, ids).await;
    transaction.rollback().await?;
    locked
}
