//! Whether a database is whole, and whose it is. While rows are loaded, the installation's generation is a word in place of
//! a number: no migration is needed for the mark, and every version of the tables has room for it.

use super::{Error, Movable, Session, all, number};
use crate::{
    adapters::sql::{Engine, Statement, Store, cell},
    flow::ledger,
};

/// In place of the generation, until the last row is there.
const UNDER_WAY: &str = "restoring";

/// Whether a restore into this database has begun and not ended. One without tables is whole.
pub(crate) async fn is_half_done<S: Store>(store: &S) -> Result<bool, ledger::Error> {
    let has_tables = match S::ENGINE {
        Engine::Postgres => {
            "select 1 from pg_tables where schemaname = current_schema() and tablename = 'installation'"
        }
        Engine::Sqlite => "select 1 from sqlite_schema where type = 'table' and name = 'installation'",
    };
    if store.row(Statement::new(has_tables)).await?.is_none() {
        return Ok(false);
    }
    let row = store.row(Statement::new("select i.generation from installation i")).await?;
    row.map_or(Ok(false), |row| Ok(cell::<String, _>(&row, "generation")? == UNDER_WAY))
}

/// The same over a connection, of a database that has tables.
pub(super) async fn is_marked<S: Session>(session: &mut S) -> Result<bool, Error> {
    let told = all(session, "select generation from installation".to_owned()).await?;
    Ok(told.first().is_some_and(|generation| generation == UNDER_WAY))
}

/// Marks it as not whole.
pub(super) async fn under_way<S: Session>(session: &mut S) -> Result<(), Error> {
    session.run(format!("update installation set generation = '{UNDER_WAY}'"), None).await.map(drop)
}

/// It is whole, and an installation of its own: no place of a feed and no key in Redis from before means anything here.
pub(crate) async fn renew<D: Movable>(store: &D, id: &str, generation: &str) -> Result<(), Error> {
    let mut session = store.writing().await?;
    let given = match D::ENGINE {
        Engine::Postgres => ("$1::jsonb ->> 0", "$1::jsonb ->> 1"),
        Engine::Sqlite => ("$1 ->> 0", "$1 ->> 1"),
    };
    let sql = format!(
        "update installation set id = {}, generation = {}, forgotten_xact = 0, forgotten_id = 0",
        given.0, given.1
    );
    session.run(sql, Some(serde_json::json!([id, generation]).to_string())).await.map(drop)
}

/// How many migrations its tables have seen; 0 if there are none.
pub(super) async fn schema<S: Session>(session: &mut S) -> Result<i64, Error> {
    if is_new(session).await? {
        return Ok(0);
    }
    let asked = "select cast(coalesce(max(version), 0) as text) from _sqlx_migrations where success";
    number(session, asked.to_owned()).await
}

/// Whether it has no tables of ours.
async fn is_new<S: Session>(session: &mut S) -> Result<bool, Error> {
    let asked = match S::ENGINE {
        Engine::Postgres => {
            "select tablename::text from pg_tables where schemaname = current_schema() and tablename = '_sqlx_migrations'"
        }
        Engine::Sqlite => "select name from sqlite_schema where type = 'table' and name = '_sqlx_migrations'",
    };
    Ok(all(session, asked.to_owned()).await?.is_empty())
}
