//! Connections for a backup, from the pools: SQLite gives up no statement for taking long.

use sqlx::{migrate::MigrateError, pool::PoolConnection};

use super::{Sqlite, migrate::migrations};
use crate::adapters::{
    backup::Movable,
    migrations::{newest, up_to},
};

impl Movable for Sqlite {
    type Session = PoolConnection<sqlx::Sqlite>;

    async fn reading(&self) -> Result<Self::Session, sqlx::Error> {
        self.reader.acquire().await
    }

    async fn writing(&self) -> Result<Self::Session, sqlx::Error> {
        self.require_in_place()?;
        self.writer.acquire().await
    }

    async fn migrate_to(&self, schema: i64) -> Result<(), MigrateError> {
        self.apply(&up_to(schema, &migrations())).await
    }

    fn newest() -> i64 {
        newest(&migrations())
    }
}
