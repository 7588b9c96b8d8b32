//! Connections for a backup: of their own, without the limits under which the work is done.

use sqlx::{ConnectOptions as _, PgConnection, migrate::MigrateError, postgres::PgConnectOptions};

use super::{Postgres, migrate::migrations};
use crate::adapters::{
    backup::Movable,
    migrations::{newest, up_to},
};

impl Postgres {
    /// A connection on which nothing is given up for taking long.
    pub(super) async fn unlimited(&self) -> Result<PgConnection, sqlx::Error> {
        let options: PgConnectOptions = self.pool.connect_options().as_ref().clone();
        let limits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
        options.options(limits.map(|limit| (limit, "0"))).connect().await
    }
}

impl Movable for Postgres {
    type Session = PgConnection;

    async fn reading(&self) -> Result<PgConnection, sqlx::Error> {
        self.unlimited().await
    }

    async fn writing(&self) -> Result<PgConnection, sqlx::Error> {
        self.unlimited().await
    }

    async fn migrate_to(&self, schema: i64) -> Result<(), MigrateError> {
        self.apply(&up_to(schema, &migrations())).await
    }

    fn newest() -> i64 {
        newest(&migrations())
    }
}
