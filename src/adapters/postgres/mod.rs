//! PostgreSQL: the store for many instances.
//!
//! In: a URL. Out: [`Postgres`], a pool over which each place is one more `impl`.

mod ledger;

mod combined_statement;

mod migrate;

mod backup;

mod xact_offset;

mod statements;

mod stale_connections;

mod connection;

mod tls;

pub(crate) use tls::unverified_host;

use std::{sync::Arc, time::Duration};

use sqlx::{
    Connection as _, Executor as _, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use stale_connections::StaleConnections;

use super::{ErrorClass, write_health::WriteHealth};
use crate::flow::{clock::Clock, places::Places};

/// A statement that runs longer is given up: nothing here has reason to.
const STATEMENT_MS: u32 = 5_000;

/// Waiting longer for a row's lock means that its holder hangs. A batch waits once, then its step alone again.
const LOCK_MS: u32 = 1_000;

/// A transaction left open without a word for this long has lost its owner; its locks are freed.
const IDLE_IN_TRANSACTION_MS: u32 = 2_000;

/// A webhook must be answered with 503 within five seconds when the database is down: two for a connection leave time.
const ACQUIRE: Duration = Duration::from_secs(2);

/// The ledger's part of the connections, besides those that its writers have for themselves.
const LEDGER_CONNECTIONS: u32 = 4;

/// Its writers.
const LEDGER_WRITERS: u32 = 2;

/// With fewer connections each is needed by everyone.
const ENOUGH: u32 = 8;

/// What outlives a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// The crash of the server.
    pub reaches_disk: bool,
    /// Its loss, too.
    pub reaches_standby: bool,
}

/// The database, connected.
#[derive(Debug, Clone)]
pub struct Postgres {
    /// For every place but the ledger.
    pub(crate) pool: PgPool,
    /// For the ledger, where its writers take the slow path, for its own looks, and for the check whether this instance can
    /// work: people who read much take none of these.
    pub(crate) ledger: PgPool,
    /// One for each writer of the ledger to keep; None if there are too few connections for that.
    pub(crate) kept: Option<PgPool>,
    /// Overrules the server's clock, in tests.
    pub(crate) clock: Arc<dyn Clock>,
    /// Whether what is written finds any.
    pub(crate) write_health: WriteHealth,
    /// Of all its connections.
    stale_connections: StaleConnections,
}

impl Places for Postgres {}

impl Postgres {
    /// Opens a pool of at most this many connections. Changes nothing in the database.
    pub async fn connect(
        url: &str,
        connections_max: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, sqlx::Error> {
        Self::open(url.parse()?, connections_max, clock).await
    }

    /// The same, from options.
    pub(crate) async fn open(
        options: PgConnectOptions,
        connections_max: u32,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, sqlx::Error> {
        let for_writers = if connections_max >= ENOUGH { LEDGER_WRITERS } else { 0 };
        let for_ledger = (connections_max / 4).clamp(1, LEDGER_CONNECTIONS);
        let for_others = connections_max.saturating_sub(for_writers + for_ledger).max(1);
        let by_index = by_index_alone(limited(options.clone()));
        let stale_connections = StaleConnections::default();
        let of_writers = |most| {
            of_ledger(pool_options(most), stale_connections.clone()).connect_lazy_with(by_index.clone())
        };
        let pool = of_callers(pool_options(for_others), stale_connections.clone())
            .connect_with(limited(options.clone()));
        Ok(Self {
            pool: match pool.await {
                Err(sqlx::Error::PoolTimedOut) => return Err(why_none(&options).await),
                outcome => outcome?,
            },
            // Without looking for a connection: the other pool has just found one.
            ledger: of_writers(for_ledger),
            kept: (for_writers > 0).then(|| of_writers(for_writers)),
            clock,
            write_health: WriteHealth::default(),
            stale_connections,
        })
    }

    /// All pools.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &PgPool> {
        [&self.pool, &self.ledger].into_iter().chain(&self.kept)
    }

    /// Whether a commit reaches the disk, and whether it reaches a second server before it is acknowledged.
    pub async fn durability(&self) -> Result<Durability, sqlx::Error> {
        let shown = sqlx::query_as::<_, (String, String, String)>(
            "select current_setting('fsync'), current_setting('synchronous_commit'), \
             current_setting('synchronous_standby_names')",
        );
        let (fsync, commit, standbys) = shown.fetch_one(&self.pool).await?;
        Ok(Durability {
            reaches_disk: fsync == "on" && commit != "off",
            reaches_standby: !standbys.trim().is_empty() && commit != "off" && commit != "local",
        })
    }

    /// Closes every connection, when those in use are given back.
    pub async fn close(&self) {
        for pool in self.pools() {
            pool.close().await;
        }
    }
}

/// Why no connection was available: a pool tries for as long as it may and says no more.
async fn why_none(options: &PgConnectOptions) -> sqlx::Error {
    let alone = tokio::time::timeout(ACQUIRE, PgConnection::connect_with(options)).await;
    alone.ok().and_then(Result::err).unwrap_or(sqlx::Error::PoolTimedOut)
}

fn limited(options: PgConnectOptions) -> PgConnectOptions {
    options.application_name("baton").options([
        ("statement_timeout", STATEMENT_MS.to_string()),
        ("lock_timeout", LOCK_MS.to_string()),
        ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS.to_string()),
        // Estimates of statements over JSON are far too high, and compiling one takes longer than any of them runs.
        ("jit", "off".to_owned()),
        // The `begin` of `pool_options` warns where a transaction had been left open.
        ("client_min_messages", "error".to_owned()),
    ])
}

/// Rows of the ledger are found by their ids, one by one. What the server believes of a table that was empty a minute ago
/// must not talk it into reading the whole of it.
fn by_index_alone(options: PgConnectOptions) -> PgConnectOptions {
    options.options([("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off")])
}

fn pool_options(connections_max: u32) -> PgPoolOptions {
    PgPoolOptions::new().max_connections(connections_max).acquire_timeout(ACQUIRE)
}

/// Of places that anybody may call, and leave half-way.
fn of_callers(options: PgPoolOptions, stale_connections: StaleConnections) -> PgPoolOptions {
    let options = options.before_acquire(move |_, meta| {
        Box::pin(std::future::ready(Ok(stale_connections.is_usable(meta.age))))
    });
    options.after_release(|connection, _| {
        // sqlx 0.9.0: a `begin` that is dropped half-way leaves its transaction open, and whoever borrows the
        // connection next would write into it, unseen and uncommitted. Goes when a release has the fix.
        // A rollback alone would, each time that there is nothing to roll back, warn in the server's log.
        Box::pin(connection::within(ACQUIRE, async move {
            connection.execute("begin; rollback").await.map(|_| true)
        }))
    })
}

/// Of the ledger: its transactions run on tasks of their own, which nobody leaves half-way.
fn of_ledger(options: PgPoolOptions, stale_connections: StaleConnections) -> PgPoolOptions {
    // A connection that was in use a moment ago shows by itself whether it lives, and a batch that loses it runs again;
    // asking first would double the way.
    options.test_before_acquire(false).before_acquire(move |connection, meta| {
        let fits = stale_connections.is_usable(meta.age);
        let is_doubtful = stale_connections.needs_ping(meta.idle_for);
        Box::pin(async move {
            if fits && is_doubtful {
                connection.ping().await?;
            }
            Ok(fits)
        })
    })
}

/// What a SQLSTATE asks for.
pub(crate) fn class_of(code: &str) -> ErrorClass {
    let is_of = |classes: &[&str]| classes.iter().any(|class| code.starts_with(class));
    match code {
        // Lock and statement timeouts.
        "55P03" | "57014" => ErrorClass::Busy,
        // What this connection has prepared no longer fits, is not there or stands in the way: something between us and
        // the server lends its connections to others.
        stale_connections::OUTDATED | "26000" | "42P05" => ErrorClass::Lost,
        // A damaged row or index: whoever else is in the batch must not wait for somebody to mend it.
        "XX001" | "XX002" => ErrorClass::Busy,
        // Values, constraints, sizes.
        _ if is_of(&["21", "22", "23", "54"]) => ErrorClass::Data,
        // Connection, transaction (a server that turned into a standby refuses writes), who we are, which database,
        // insufficient resources, operator intervention, system error, internal error.
        _ if is_of(&["08", "25", "28", "3D", "53", "57", "58", "XX"]) => ErrorClass::Lost,
        // Deadlocks, serialization failures; rights and tables that somebody has changed, and may mend.
        _ => ErrorClass::Busy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_each_time_is_the_datas_fault() {
        for code in [
            "08006", "0A000", "25006", "25P02", "26000", "28P01", "3D000", "42P05", "53300", "57P01",
            "58030", "XX000",
        ] {
            assert_eq!(class_of(code), ErrorClass::Lost, "{code}");
        }
        for code in ["40001", "40003", "40P01", "42501", "42703", "42P01", "55P03", "57014", "XX001"] {
            assert_eq!(class_of(code), ErrorClass::Busy, "{code}");
        }
        for code in ["22021", "22P05", "23505", "54000"] {
            assert_eq!(class_of(code), ErrorClass::Data, "{code}");
        }
    }
}
