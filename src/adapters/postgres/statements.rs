//! Runs the statements that both databases understand.

use sqlx::{
    AssertSqlSafe,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::Postgres;
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
        query(statement).fetch_all(&self.pool).await.map_err(|error| self.failure(error))
    }

    async fn write(&self, statement: Statement) -> Result<u64, Error> {
        let done = query(statement).execute(&self.pool).await;
        done.map(|done| done.rows_affected()).map_err(|error| self.failure(error))
    }

    async fn write_together(&self, parts: Vec<Part>) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await.map_err(failure)?;
        for part in parts {
            let (statement, must) = part.into_parts();
            let done =
                query(statement).execute(&mut *transaction).await.map_err(|error| self.failure(error))?;
            if must && done.rows_affected() == 0 {
                transaction.rollback().await.map_err(failure)?;
                return Ok(false);
            }
        }
        transaction.commit().await.map_err(failure)?;
        Ok(true)
    }
}

impl Postgres {
    fn failure(&self, error: sqlx::Error) -> Error {
        failure(self.retired.hear(error))
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
