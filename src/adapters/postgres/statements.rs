//! Runs the statements that both databases understand.

use sqlx::{
    AssertSqlSafe,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{Postgres, connection::TimedConnection};
use crate::{
    adapters::{
        failure,
        sql::{Bound, Engine, Part, Statement, Store},
    },
    domain::time::Time,
    flow::ledger::Error,
};

impl Store for Postgres {
    type Row = PgRow;

    const ENGINE: Engine = Engine::Postgres;

    fn moment(&self) -> Option<Time> {
        self.clock.now()
    }

    async fn rows(&self, statement: Statement) -> Result<Vec<PgRow>, Error> {
        self.connection().await?.rows(query(statement)).await.map_err(failure)
    }

    async fn write(&self, statement: Statement) -> Result<u64, Error> {
        self.connection().await?.execute(query(statement)).await.map_err(failure)
    }

    async fn write_together(&self, parts: Vec<Part>) -> Result<bool, Error> {
        let mut connection = self.connection().await?;
        // Whoever goes away half-way leaves a transaction open, which ends as the connection is given back.
        connection.execute(sqlx::query("begin")).await.map_err(failure)?;
        let outcome = together(&mut connection, parts).await;
        let end = if matches!(outcome, Ok(true)) { "commit" } else { "rollback" };
        let ended = connection.execute(sqlx::query(end)).await.map_err(failure);
        outcome.and_then(|is_done| ended.map(|_| is_done))
    }
}

/// Runs them all; false: one that must change something did not.
async fn together(connection: &mut TimedConnection, parts: Vec<Part>) -> Result<bool, Error> {
    for part in parts {
        let (statement, must) = part.into_parts();
        if connection.execute(query(statement)).await.map_err(failure)? == 0 && must {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Postgres {
    async fn connection(&self) -> Result<TimedConnection, Error> {
        TimedConnection::acquire(&self.pool, &self.stale_connections).await.map_err(failure)
    }
}

fn query(statement: Statement) -> Query<'static, sqlx::Postgres, PgArguments> {
    let (text, values) = statement.into_parts();
    // Safe: a statement's text is made of literals of this program.
    values.into_iter().fold(sqlx::query(AssertSqlSafe(text)), |query, value| match value {
        Bound::Text(text) => query.bind(text),
        Bound::Number(number) => query.bind(number),
        Bound::Flag(flag) => query.bind(flag),
        Bound::Bytes(bytes) => query.bind(bytes),
        Bound::Texts(texts) => query.bind(texts),
    })
}
