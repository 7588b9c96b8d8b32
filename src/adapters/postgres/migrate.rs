//! Brings a PostgreSQL database to the newest shape. Instances that start together wait for one another.

use std::time::Duration;

use sqlx::{
    Connection as _, Executor as _, Row as _,
    migrate::{Migrate as _, MigrateError, Migrator},
};

use super::{Postgres, connection::TimedConnection};
use crate::adapters::migrations::{migrations, newest};

/// Whoever waits for the whole of a table has everybody who comes to it wait behind them: a migration gives up sooner than
/// the statements of the instances that serve meanwhile ([`super::LOCK_MS`]), and asks again.
const BRIEFLY: &str = "set lock_timeout = '500ms'";

/// Between two attempts. Those who wait behind the first have gone on by then.
const PAUSE: Duration = Duration::from_millis(500);

/// How long, some ten minutes, a backup by other tools may hold the tables, or another instance migrate.
const ATTEMPTS: u32 = 600;

const NO_SUCH_TABLE: &str = "42P01";
const LOCK_NOT_AVAILABLE: &str = "55P03";
const DEADLOCK: &str = "40P01";

pub(super) fn migrations() -> Migrator {
    migrations!("postgres")
}

impl Postgres {
    /// Runs what is missing, under an advisory lock, over a connection of its own: running a long one may take longer than
    /// any statement of the work itself.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        self.apply(&migrations()).await
    }

    /// The same with these migrations alone.
    pub(crate) async fn apply(&self, migrations: &Migrator) -> Result<(), MigrateError> {
        let mut attempts = 0;
        loop {
            let mut connection = self.unlimited().await?;
            connection.execute(BRIEFLY).await?;
            let outcome = migrations.run_direct(None, &mut connection, false).await;
            connection.close().await?;
            attempts += 1;
            match outcome {
                Err(error) if attempts < ATTEMPTS && is_in_the_way(&error) => {
                    if attempts % 20 == 1 {
                        tracing::warn!(%error, "the migration waits for others to be done with the tables");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Looks when nobody migrates: a migration may hold every table for minutes, and end whoever waits for one.
    pub async fn while_nobody_migrates<T>(&self, look: impl Future<Output = T>) -> Result<T, MigrateError> {
        let mut connection = self.unlimited().await?;
        connection.lock().await?;
        let found = look.await;
        connection.unlock().await?;
        connection.close().await?;
        Ok(found)
    }

    /// Whether every migration of this program was applied. A database that was never touched has none; of a server that takes
    /// no changes it does not matter.
    pub async fn is_migrated(&self) -> Result<bool, sqlx::Error> {
        let asked = sqlx::query(
            "select current_setting('transaction_read_only') = 'on' from _sqlx_migrations where success and version = $1",
        );
        // Not for as long as the kernel would wait for a server that has vanished: with few connections, this is the ledger's own.
        let mut connection = TimedConnection::acquire(&self.ledger, &self.stale_connections).await?;
        match connection.rows(asked.bind(newest(&migrations()))).await {
            Ok(applied) => match applied.first().map(|row| row.try_get(0)).transpose()? {
                Some(true) => {
                    self.stale_connections.retire_all();
                    Err(sqlx::Error::Configuration("the server takes no changes: it is read-only".into()))
                }
                Some(false) => Ok(true),
                None => Ok(false),
            },
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(NO_SUCH_TABLE) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether somebody else holds what it needs. Not whether somebody cancelled it: they want it to end.
fn is_in_the_way(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    is_taken(error)
}

/// Whether somebody else had the table.
pub(super) fn is_taken(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| [LOCK_NOT_AVAILABLE, DEADLOCK].contains(&&*code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::{backup, test_stores};

    #[tokio::test]
    async fn whoever_starts_waits_for_a_migration_before_they_look() {
        let (store, database) = test_stores::postgres().await;
        let mut migrating = store.unlimited().await.expect("connects");
        migrating.lock().await.expect("nobody else migrates");
        migrating.execute("begin; lock table installation").await.expect("locked");
        let look = async {
            let found = store.while_nobody_migrates(backup::is_half_done(&store)).await;
            assert!(!found.expect("nobody migrates any more").expect("the table is free"));
        };
        let ends = async {
            let waits = "select 1 from pg_locks l join pg_database d on d.oid = l.database \
                where d.datname = current_database() and not l.granted and l.locktype = 'advisory'";
            while migrating.fetch_optional(waits).await.expect("reads").is_none() {}
            migrating.execute("commit").await.expect("done");
            migrating.unlock().await.expect("done");
        };
        let both = async { tokio::join!(look, ends) };
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("one after the other");
        migrating.close().await.expect("done");
        database.remove(store).await;
    }
}
