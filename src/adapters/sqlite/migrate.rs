//! Brings a SQLite database to the newest shape.

use sqlx::migrate::{MigrateError, Migrator};

use super::Sqlite;
use crate::adapters::sql::migrator;

/// The migrations, in order. One that was released is never changed.
fn migrations() -> Migrator {
    migrator([
        ("spine", include_str!("../../../migrations/sqlite/0001_spine.sql")),
        ("unclear attempts", include_str!("../../../migrations/sqlite/0002_unclear_attempts.sql")),
        ("generation starts", include_str!("../../../migrations/sqlite/0003_generation_starts.sql")),
        ("cached answers", include_str!("../../../migrations/sqlite/0004_cached_answers.sql")),
        ("stamps", include_str!("../../../migrations/sqlite/0005_stamps.sql")),
        ("words", include_str!("../../../migrations/sqlite/0006_words.sql")),
        ("people", include_str!("../../../migrations/sqlite/0007_people.sql")),
        (
            "labels and canned replies",
            include_str!("../../../migrations/sqlite/0008_labels_and_canned_replies.sql"),
        ),
        ("kept answers", include_str!("../../../migrations/sqlite/0011_kept_answers.sql")),
    ])
}

impl Sqlite {
    /// Runs what is missing, all in one transaction: SQLite has no advisory lock, and a command of the shell may
    /// open the same new file at the same moment.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        let mut transaction = self.writer.begin_with("begin immediate").await?;
        migrations().run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Whether every migration of this program was applied. A database that was never touched has none.
    pub async fn is_migrated(&self) -> Result<bool, sqlx::Error> {
        let newest = migrations().iter().map(|migration| migration.version).max().unwrap_or(0);
        let applied = sqlx::query_scalar::<_, i64>(
            "select version from _sqlx_migrations where success and version = $1",
        )
        .bind(newest)
        .fetch_optional(&self.reader)
        .await;
        match applied {
            Ok(applied) => Ok(applied.is_some()),
            // There is no such table yet.
            Err(sqlx::Error::Database(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
