//! Connections for a backup: of their own, without the limits under which the work is done.

use sqlx::{ConnectOptions as _, Executor as _, PgConnection, migrate::MigrateError};

use super::{Postgres, migrate::migrations};
use crate::adapters::{
    backup::Movable,
    migrations::{newest, up_to},
};

/// By a statement: a pooler in between may ignore what a connection asks for as it begins, and those limits are the role's then.
const UNLIMITED: &str =
    "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0";

impl Postgres {
    /// A connection on which nothing is given up for taking long. From its first moment it has another name than those that
    /// serve: a migration ends these, and not the connection of an instance that waits to migrate as well.
    pub(super) async fn unlimited(&self) -> Result<PgConnection, sqlx::Error> {
        let options = (*self.pool.connect_options()).clone().application_name("baton maintenance");
        let mut connection = options.connect().await?;
        connection.execute(UNLIMITED).await?;
        Ok(connection)
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

#[cfg(test)]
mod tests {
    use sqlx::Connection as _;

    use crate::adapters::test_stores;

    #[tokio::test]
    async fn limits_are_lifted_by_a_statement_whoever_set_them() {
        let (store, database) = test_stores::bare_postgres().await;
        let mut connection = store.unlimited().await.expect("connected");
        let limits = sqlx::query_as::<_, (String, String)>(
            "select name, setting || ' ' || source from pg_settings where name in \
             ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name",
        );
        let limits = limits.fetch_all(&mut connection).await.expect("they are shown");
        let lifted = ["idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"]
            .map(|limit| (limit.to_owned(), "0 session".to_owned()));
        assert_eq!(limits, lifted, "not by what the connection asked for as it began");
        connection.close().await.expect("closed");
        database.remove(store).await;
    }

    #[tokio::test]
    async fn a_migration_that_ends_what_serves_ends_nobody_who_waits_to_migrate() {
        let (store, database) = test_stores::bare_postgres().await;
        let mut connection = store.unlimited().await.expect("connected");
        // As it was when the connection began, whatever it was called later.
        let name = sqlx::query_scalar::<_, String>(
            "select reset_val from pg_settings where name = 'application_name'",
        );
        let name = name.fetch_one(&mut connection).await.expect("it is shown");
        assert_ne!(name, "baton", "migrations/postgres/0018_bytes.sql ends whatever is called so");
        connection.close().await.expect("closed");
        database.remove(store).await;
    }
}
