//! Brings a PostgreSQL database to the newest shape. Instances that start together wait for one another.

use std::time::Duration;

use sqlx::{
    Connection as _, Executor as _,
    migrate::{MigrateError, Migrator},
};

use super::Postgres;
use crate::adapters::sql::migrator;

/// Whoever waits for the whole of a table has everybody who comes to it wait behind them: a migration gives up sooner than
/// the statements of the instances that serve meanwhile ([`super::LOCK_MS`]), and asks again.
const BRIEFLY: &str = "set lock_timeout = '500ms'; set application_name = 'baton migrate'";

/// Between two attempts. Those who wait behind the first have gone on by then.
const PAUSE: Duration = Duration::from_millis(500);

/// So long, some ten minutes, may a backup by other tools hold the tables, or another instance migrate.
const ATTEMPTS: u32 = 600;

const NO_SUCH_TABLE: &str = "42P01";
const LOCK_NOT_AVAILABLE: &str = "55P03";
const DEADLOCK: &str = "40P01";

/// The migrations, in order, numbered by it. One that was released is never changed, and a new one is added at the end.
pub(super) fn migrations() -> Migrator {
    migrator([
        ("spine", include_str!("../../../migrations/postgres/0001_spine.sql")),
        ("unclear attempts", include_str!("../../../migrations/postgres/0002_unclear_attempts.sql")),
        ("generation starts", include_str!("../../../migrations/postgres/0003_generation_starts.sql")),
        ("cached answers", include_str!("../../../migrations/postgres/0004_cached_answers.sql")),
        ("stamps", include_str!("../../../migrations/postgres/0005_stamps.sql")),
        ("words", include_str!("../../../migrations/postgres/0006_words.sql")),
        ("people", include_str!("../../../migrations/postgres/0007_people.sql")),
        (
            "labels and canned replies",
            include_str!("../../../migrations/postgres/0008_labels_and_canned_replies.sql"),
        ),
        ("drafts", include_str!("../../../migrations/postgres/0009_drafts.sql")),
        ("kept answers", include_str!("../../../migrations/postgres/0010_kept_answers.sql")),
        ("enclosures", include_str!("../../../migrations/postgres/0011_enclosures.sql")),
        ("erasures", include_str!("../../../migrations/postgres/0012_erasures.sql")),
        ("retention", include_str!("../../../migrations/postgres/0013_retention.sql")),
        ("audit", include_str!("../../../migrations/postgres/0014_audit.sql")),
        ("endpoints", include_str!("../../../migrations/postgres/0015_endpoints.sql")),
        ("brakes", include_str!("../../../migrations/postgres/0016_brakes.sql")),
        ("idempotency keys", include_str!("../../../migrations/postgres/0017_idempotency_keys.sql")),
        ("bytes", include_str!("../../../migrations/postgres/0018_bytes.sql")),
    ])
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

    /// Whether every migration of this program was applied. A database that was never touched has none; of a server that takes
    /// no changes it does not matter.
    pub async fn is_migrated(&self) -> Result<bool, sqlx::Error> {
        let newest = migrations().iter().map(|migration| migration.version).max().unwrap_or(0);
        let applied = sqlx::query_as::<_, (bool,)>(
            "select current_setting('transaction_read_only') = 'on' from _sqlx_migrations where success and version = $1",
        )
        .bind(newest)
        .fetch_optional(&self.pool)
        .await;
        match applied {
            Ok(Some((true,))) => {
                self.retired.all();
                Err(sqlx::Error::Configuration("the server takes no changes: it is read-only".into()))
            }
            Ok(applied) => Ok(applied.is_some()),
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
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| [LOCK_NOT_AVAILABLE, DEADLOCK].contains(&&*code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_the_number_under_which_it_is_listed() {
        crate::adapters::sql::hold_against_files(&migrations(), "postgres");
    }
}
