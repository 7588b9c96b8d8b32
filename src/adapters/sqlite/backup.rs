//! Connections for a backup, from the pools: SQLite gives up no statement for taking long.

use sqlx::{
    migrate::{MigrateError, Migrator},
    pool::PoolConnection,
};

use super::{Sqlite, migrate::migrations};
use crate::adapters::backup::Movable;

impl Movable for Sqlite {
    type Session = PoolConnection<sqlx::Sqlite>;

    async fn reading(&self) -> Result<Self::Session, sqlx::Error> {
        self.reader.acquire().await
    }

    async fn writing(&self) -> Result<Self::Session, sqlx::Error> {
        self.writer.acquire().await
    }

    async fn migrate_to(&self, schema: i64) -> Result<(), MigrateError> {
        let older = migrations().iter().filter(|migration| migration.version <= schema).cloned().collect();
        self.apply(&Migrator::with_migrations(older)).await
    }

    fn newest() -> i64 {
        migrations().iter().map(|migration| migration.version).max().unwrap_or(0)
    }
}
