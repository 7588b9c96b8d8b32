//! Whether a database accepts writes: one that is full, or may only be read, answers every question as usual.
//!
//! In: errors of the ledger's writes. Out: whether one of them was for want of space or of permission, until a write succeeds.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::sqlite::SqliteError;

use super::sql::{Engine, Statement, Store};
use crate::flow::ledger::Error;

/// Of one database.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteHealth {
    is_failing: Arc<AtomicBool>,
}

impl WriteHealth {
    /// A write has failed.
    pub(crate) fn note_error(&self, error: &sqlx::Error) {
        if is_write_refusal(error) && !self.is_failing.swap(true, Ordering::SeqCst) {
            tracing::error!(
                %error,
                "the database accepts no writes, and webhooks are refused until it does: free space on its disk, or grant \
                 write access"
            );
        }
    }

    /// Refuses while writes fail.
    pub(crate) fn require_writable(&self) -> Result<(), sqlx::Error> {
        match self.is_failing.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(io::Error::new(io::ErrorKind::StorageFull, "the database accepts no writes").into()),
        }
    }

    /// Where writes failed, tries again.
    pub(crate) async fn recheck<S: Store>(&self, store: &S) {
        if self.require_writable().is_err() && touch(store).await.is_ok() {
            self.is_failing.store(false, Ordering::SeqCst);
            tracing::info!("the database accepts writes again");
        }
    }
}

/// Writes what is there already.
pub(crate) async fn touch<S: Store>(store: &S) -> Result<(), Error> {
    let same = match S::ENGINE {
        Engine::Postgres => "update installation set generation = generation",
        // A row that is overwritten with itself is not written at all; this, which nobody reads, is.
        Engine::Sqlite => "pragma user_version = 0",
    };
    store.write(Statement::new(same)).await.map(drop)
}

fn is_write_refusal(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    let code = database.code().unwrap_or_default();
    if database.try_downcast_ref::<SqliteError>().is_some() {
        // Read-only, input or output, full. Extended codes hold the primary one in their low byte.
        return code.parse::<i32>().is_ok_and(|code| [8, 10, 13].contains(&(code & 0xff)));
    }
    // A server that only reads, a full disk, input or output.
    ["25006", "53100", "58030"].contains(&&*code)
}
