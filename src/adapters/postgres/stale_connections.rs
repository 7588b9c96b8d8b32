//! Connections that are open and of no use: the server refuses each statement that they prepared before a table changed its
//! shape (a migration of a newer version, or somebody at a prompt); or they lead to one that takes no changes, a standby to
//! which a name led for a moment. Both answer when they are asked whether they live. And where one was lost, others may have
//! been with it: a server that restarts ends them all.
//!
//! In: errors. Out: whether a connection of some age may still be used, and whether it is asked first.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::adapters::ErrorClass;

/// "Cached plan must not change result type": to the server, a feature that is not supported. Nothing of ours asks for another.
pub(super) const OUTDATED: &str = "0A000";

/// "Cannot execute this in a read-only transaction".
const READ_ONLY: &str = "25006";

/// A connection that has rested longer is asked whether it lives before it is used.
const REST: Duration = Duration::from_secs(1);

/// What was last found, for all pools of one database.
#[derive(Debug, Clone, Default)]
pub(super) struct StaleConnections(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    useless: Option<Instant>,
    lost: Option<Instant>,
}

impl StaleConnections {
    /// Passes an error on. If it is one of these, connections that are open now are not used again; if one was lost, those
    /// that rest are asked.
    pub(super) fn note_error(&self, error: sqlx::Error) -> sqlx::Error {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        if code.is_some_and(|code| [OUTDATED, READ_ONLY].contains(&&*code)) {
            self.retire_all();
        } else if ErrorClass::of(&error) == ErrorClass::Lost {
            self.found().lost = Some(Instant::now());
        }
        error
    }

    /// No connection that is open now is used again.
    pub(super) fn retire_all(&self) {
        self.found().useless = Some(Instant::now());
    }

    /// Whether a connection of this age may be used.
    pub(super) fn is_usable(&self, age: Duration) -> bool {
        self.found().useless.is_none_or(|found| age < found.elapsed())
    }

    /// Whether one that has rested for this long is asked first: longer than a moment, or since another was lost.
    pub(super) fn needs_ping(&self, rest: Duration) -> bool {
        rest > REST || self.found().lost.is_some_and(|lost| rest >= lost.elapsed())
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
