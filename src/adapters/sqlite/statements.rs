//! Runs the statements that both databases understand.

use sqlx::{
    AssertSqlSafe,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::Sqlite;
use crate::{
    adapters::{
        failure,
        sql::{Bound, Engine, Part, Statement, Store},
    },
    domain::time::Time,
    flow::ledger::Error,
};

impl Store for Sqlite {
    type Row = SqliteRow;

    const ENGINE: Engine = Engine::Sqlite;

    fn moment(&self) -> Option<Time> {
        Some(self.now())
    }

    async fn rows(&self, statement: Statement) -> Result<Vec<SqliteRow>, Error> {
        query(statement).fetch_all(&self.reader).await.map_err(failure)
    }

    async fn write(&self, statement: Statement) -> Result<u64, Error> {
        self.require_in_place().map_err(failure)?;
        query(statement).execute(&self.writer).await.map(|done| done.rows_affected()).map_err(failure)
    }

    async fn write_together(&self, parts: Vec<Part>) -> Result<bool, Error> {
        let mut transaction = self.begin_writing().await.map_err(failure)?;
        for part in parts {
            let (statement, must) = part.into_parts();
            let done = query(statement).execute(&mut *transaction).await.map_err(failure)?;
            if must && done.rows_affected() == 0 {
                transaction.rollback().await.map_err(failure)?;
                return Ok(false);
            }
        }
        transaction.commit().await.map_err(failure)?;
        Ok(true)
    }

    async fn removed(&self) {
        if let Err(error) = self.cut_log().await {
            tracing::debug!(%error, "the log was not cut off; it will be with the next removal, or at the end");
        }
    }
}

fn query(statement: Statement) -> Query<'static, sqlx::Sqlite, SqliteArguments> {
    let (text, values) = statement.into_parts();
    // Safe: a statement's text is made of literals of this program.
    values.into_iter().fold(sqlx::query(AssertSqlSafe(text)), |query, value| match value {
        Bound::Text(text) => query.bind(text),
        Bound::Number(number) => query.bind(number),
        Bound::Flag(flag) => query.bind(flag),
        Bound::Bytes(bytes) => query.bind(bytes),
        // There are no arrays: the statement takes them apart again with `json_each`.
        Bound::Texts(texts) => query.bind(serde_json::Value::from(texts).to_string()),
    })
}
