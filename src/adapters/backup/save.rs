//! Writes a backup of a database, as it is at one moment.

use std::io::Write;

use super::{Error, Head, LockedKeys, Movable, Saved, Session, all, file::Writer, moment, tables, whole};
use crate::adapters::sql::Engine;

/// Writes everything that is carried, and nothing that comes meanwhile. Writers to the database are not held up;
/// PostgreSQL keeps old versions of rows, and SQLite its log, until this is done.
pub(crate) async fn save<D: Movable>(
    store: &D,
    keys: Option<LockedKeys>,
    to: impl Write + Send,
) -> Result<Saved, Error> {
    let mut session = store.reading().await?;
    let (begin, name) = match D::ENGINE {
        Engine::Postgres => ("begin isolation level repeatable read read only", "postgres"),
        // Its picture of the file is taken by the first statement.
        Engine::Sqlite => ("begin", "sqlite"),
    };
    // Before the picture is taken: whatever is sent later was not being sent in it.
    let made_at = moment(&mut session, store).await?;
    session.run(begin.to_owned(), None).await?;
    let saved = write(&mut session, keys, made_at.0, name, to).await;
    let ended = session.run("rollback".to_owned(), None).await;
    let saved = saved?;
    ended?;
    Ok(saved)
}

async fn write<S: Session>(
    session: &mut S,
    keys: Option<LockedKeys>,
    made_at: i64,
    store: &str,
    to: impl Write + Send,
) -> Result<Saved, Error> {
    let schema = whole::schema(session).await?;
    let installation =
        all(session, "select id from installation".to_owned()).await?.pop().unwrap_or_default();
    let mut writer = Writer::begin(to, &Head::new(schema, made_at, store, installation, keys))?;
    for table in tables::tables(session).await? {
        writer.table(table.name, &table.names())?;
        let mut take = |row: String| writer.row(&row);
        session.texts(table.reading(S::ENGINE), &mut take).await?;
    }
    writer.end()
}
