//! Statements that a connection prepared before a table changed its shape: a migration of a newer version, or somebody
//! at a prompt. The server refuses each of them, for as long as the connection lives.
//!
//! In: errors. Out: whether a connection of some age may still hold such statements.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// "Cached plan must not change result type": to the server, a feature that is not supported. Nothing of ours asks for another.
pub(super) const OUTDATED: &str = "0A000";

/// When a plan was last found outdated, for all pools of one database.
#[derive(Debug, Clone, Default)]
pub(super) struct Plans(Arc<Mutex<Option<Instant>>>);

impl Plans {
    /// Passes an error on. If a plan was outdated, connections that are open now are not used again.
    pub(super) fn hear(&self, error: sqlx::Error) -> sqlx::Error {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        if code.is_some_and(|code| code == OUTDATED) {
            *self.found() = Some(Instant::now());
        }
        error
    }

    /// Whether a connection that was opened so long ago may be used.
    pub(super) fn fit(&self, age: Duration) -> bool {
        self.found().is_none_or(|found| age < found.elapsed())
    }

    fn found(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
