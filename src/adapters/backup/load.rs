//! Takes the rows of a backup into a database that has none.

use std::io;

use super::{
    Error, Movable, Session,
    file::{Read, Said},
    head::Opening,
    number,
    tables::{self, Column, Table},
    whole,
};
use crate::adapters::sql::Engine;

/// Rows of one transaction, which is one statement.
const ROWS_MAX: usize = 1_000;

/// And bytes of it; one row may be larger.
const BYTES_MAX: usize = 1024 * 1024;

/// What a database holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// How many migrations its tables have seen; 0 if it has none.
    pub(crate) schema: i64,
    /// A restore has begun here and not ended.
    pub(crate) is_half_done: bool,
    /// Rows of each table that has any.
    pub(crate) rows: Vec<(&'static str, i64)>,
}

/// Looks at what a database holds. Changes nothing.
pub(crate) async fn look<D: Movable>(store: &D) -> Result<Found, Error> {
    let mut session = store.writing().await?;
    let schema = whole::schema(&mut session).await?;
    let mut rows = Vec::new();
    for table in tables::tables(&mut session).await? {
        let count =
            number(&mut session, format!("select cast(count(*) as text) from {}", table.name)).await?;
        if count > 0 && table.name != tables::MADE_BY_STARTS {
            rows.push((table.name, count));
        }
    }
    let is_half_done = schema > 0 && whole::is_marked(&mut session).await?;
    Ok(Found { schema, is_half_done, rows })
}

/// Brings the tables to the version of the file and fills them, a thousand rows a transaction. From the first moment on the
/// database is marked as not whole; the caller removes the mark when everything else is done.
pub(crate) async fn load<D: Movable, R: io::Read>(
    store: &D,
    schema: i64,
    mut read: Read<R>,
) -> Result<(), Error> {
    store.migrate_to(schema).await?;
    let mut session = store.writing().await?;
    whole::under_way(&mut session).await?;
    let tables = tables::tables(&mut session).await?;
    empty(&mut session, &tables).await?;
    let mut filling: Option<Filling> = None;
    loop {
        match read.next()? {
            Said::Table(opening) => {
                if let Some(before) = filling.take() {
                    before.end(&mut session).await?;
                }
                filling = Some(Filling::begin::<D::Session>(&tables, &opening)?);
            }
            Said::Row(row) => {
                let Some(filling) = &mut filling else { continue };
                filling.take(&mut session, row).await?;
            }
            Said::End(_) => break,
        }
    }
    if let Some(last) = filling {
        last.end(&mut session).await?;
    }
    Ok(())
}

/// What an earlier try has left.
async fn empty<S: Session>(session: &mut S, tables: &[Table]) -> Result<(), Error> {
    match S::ENGINE {
        Engine::Postgres => {
            let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
            session.run(format!("truncate {} cascade", names.join(", ")), None).await?;
        }
        Engine::Sqlite => {
            for table in tables.iter().rev() {
                session.run(format!("delete from {}", table.name), None).await?;
            }
        }
    }
    Ok(())
}

/// One table that is being filled.
struct Filling {
    sql: String,
    rows: Vec<String>,
    bytes: usize,
}

impl Filling {
    fn begin<S: Session>(tables: &[Table], opening: &Opening) -> Result<Self, Error> {
        let strange = |what: &str| Error::Damaged(format!("tables of its version have no {what}"));
        let table = tables.iter().find(|table| table.name == opening.table);
        let table = table.ok_or_else(|| strange(&opening.table))?;
        let find = |name: &String| {
            let column = table.columns.iter().find(|column| column.name == *name);
            column.ok_or_else(|| strange(&format!("{}.{name}", table.name)))
        };
        let columns = opening.columns.iter().map(find).collect::<Result<Vec<&Column>, _>>()?;
        Ok(Self { sql: table.writing(&columns, S::ENGINE), rows: Vec::new(), bytes: 0 })
    }

    async fn take<S: Session>(&mut self, session: &mut S, row: String) -> Result<(), Error> {
        if self.rows.len() >= ROWS_MAX || self.bytes + row.len() > BYTES_MAX {
            self.write(session).await?;
        }
        self.bytes += row.len();
        self.rows.push(row);
        Ok(())
    }

    async fn end<S: Session>(mut self, session: &mut S) -> Result<(), Error> {
        self.write(session).await
    }

    async fn write<S: Session>(&mut self, session: &mut S) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let json = format!("[{}]", self.rows.join(","));
        self.rows.clear();
        self.bytes = 0;
        session.run(self.sql.clone(), Some(json)).await.map(drop)
    }
}
