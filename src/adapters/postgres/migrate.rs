//! Brings a PostgreSQL database to the newest shape. Instances that start together wait for one another.

use sqlx::{
    ConnectOptions as _, Connection as _, SqlSafeStr as _,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    postgres::PgConnectOptions,
};

use super::Postgres;

/// The migrations, in order. One that was released is never changed.
fn migrations() -> Migrator {
    Migrator::with_migrations(vec![Migration::new(
        1,
        "spine".into(),
        MigrationType::Simple,
        include_str!("../../../migrations/postgres/0001_spine.sql").into_sql_str(),
        false,
    )])
}

impl Postgres {
    /// Runs what is missing, under an advisory lock, over a connection of its own: waiting for another instance's
    /// migration, or running a long one, may take longer than any statement of the work itself.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        let options: PgConnectOptions = self.pool.connect_options().as_ref().clone();
        let unlimited = options.options([("statement_timeout", "0"), ("lock_timeout", "0")]);
        let mut connection = unlimited.connect().await?;
        let outcome = migrations().run_direct(None, &mut connection, false).await;
        connection.close().await?;
        outcome
    }
}
