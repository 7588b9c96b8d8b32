//! A connection on loan, over which nobody waits longer than the server itself would let a statement run.
//!
//! The server's own limits end what runs there. They end nothing where the machine under it is gone without a word, or
//! somebody between us drops what we send: the line stays open, nothing comes, and a caller would wait for ever.

use std::{io, time::Duration};

use sqlx::{
    PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{STATEMENT_MS, stale_connections::StaleConnections};

/// The server has ended a statement before that.
const SILENCE: Duration = Duration::from_millis(STATEMENT_MS as u64 + 1_000);

/// One of a pool, each call over which has a limit of time.
pub(crate) struct TimedConnection {
    connection: PoolConnection<Postgres>,
    stale_connections: StaleConnections,
    is_broken: bool,
}

impl TimedConnection {
    /// Borrows one, as soon as there is one.
    pub(super) async fn acquire(
        pool: &PgPool,
        stale_connections: &StaleConnections,
    ) -> Result<Self, sqlx::Error> {
        Ok(Self {
            connection: pool.acquire().await?,
            stale_connections: stale_connections.clone(),
            is_broken: false,
        })
    }

    /// The rows of a query.
    pub(super) async fn rows(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        self.require_usable()?;
        let rows = within(SILENCE, query.fetch_all(&mut *self.connection)).await;
        self.note(rows)
    }

    /// Runs a statement. How many rows it has changed.
    pub(super) async fn execute(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, sqlx::Error> {
        self.require_usable()?;
        let done = within(SILENCE, query.execute(&mut *self.connection)).await;
        self.note(done.map(|done| done.rows_affected()))
    }

    /// Nobody uses it again.
    pub(super) fn end(&mut self) {
        self.connection.close_on_drop();
        self.is_broken = true;
    }

    /// Over a broken line nothing is asked again, not even to undo what was begun: its end undoes it.
    fn require_usable(&self) -> Result<(), sqlx::Error> {
        let broken = || sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, "the line is broken"));
        if self.is_broken { Err(broken()) } else { Ok(()) }
    }

    fn note<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        outcome.map_err(|error| {
            if matches!(error, sqlx::Error::Io(_)) {
                self.end();
            }
            self.stale_connections.note_error(error)
        })
    }
}

impl Drop for TimedConnection {
    fn drop(&mut self) {
        if !self.is_broken {
            // sqlx 0.9.0 asks each that is given back whether it lives, and waits for the answer for ever: its place in the
            // pool would be gone with it. Goes when a release has a limit there.
            tokio::spawn(tokio::time::timeout(SILENCE, self.connection.return_to_pool()));
        }
    }
}

/// What it comes to, unless the server is silent for this long.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let silence = || io::Error::new(io::ErrorKind::TimedOut, "the server has stopped answering");
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(sqlx::Error::Io(silence())))
}
