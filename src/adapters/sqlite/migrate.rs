//! Brings a SQLite database to the newest shape.

use sqlx::{
    SqlSafeStr as _,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::Sqlite;

/// The migrations, in order. One that was released is never changed.
fn migrations() -> Migrator {
    Migrator::with_migrations(vec![Migration::new(
        1,
        "spine".into(),
        MigrationType::Simple,
        include_str!("../../../migrations/sqlite/0001_spine.sql").into_sql_str(),
        false,
    )])
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
}
