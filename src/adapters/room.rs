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
pub(crate) struct Room {
    is_wanting: Arc<AtomicBool>,
}

impl Room {
    /// A write has failed.
    pub(crate) fn hear(&self, error: &sqlx::Error) {
        if is_of_room(error) && !self.is_wanting.swap(true, Ordering::SeqCst) {
            tracing::error!(
                %error,
                "the database accepts no writes, and webhooks are refused until it does: free space on its disk, or grant \
                 write access"
            );
        }
    }

    /// Refuses while it is wanting.
    pub(crate) fn require(&self) -> Result<(), sqlx::Error> {
        match self.is_wanting.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(io::Error::new(io::ErrorKind::StorageFull, "the database accepts no writes").into()),
        }
    }

    /// Where it was wanting, tries again.
    pub(crate) async fn look_again<S: Store>(&self, store: &S) {
        if self.require().is_err() && touch(store).await.is_ok() {
            self.is_wanting.store(false, Ordering::SeqCst);
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

fn is_of_room(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(database) = error else { return false };
    let code = database.code().unwrap_or_default();
    if database.try_downcast_ref::<SqliteError>().is_some() {
        // Read-only, input or output, full. Extended codes hold the primary one in their low byte.
        return code.parse::<i32>().is_ok_and(|code| [8, 10, 13].contains(&(code & 0xff)));
    }
    // A server that only reads, a full disk, input or output.
    ["25006", "53100", "58030"].contains(&&*code)
}
