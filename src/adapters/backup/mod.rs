//! A backup: everything that one database holds, in one file that either database can load.
//!
//! In: a database, read as it was at one moment while others keep writing; or such a file. Out: the file; or a database
//! with those rows. The file is gzip of lines of JSON, and is read and written a row at a time:
//!
//! ```text
//! {"baton":"backup","format":1,"version":"0.1.0","schema":10,"made_at":…,"store":"sqlite","installation":"…"}
//! {"table":"channels","columns":["name","title",…]}
//! ["shop",null,…]                               a row: texts and numbers; a flag is 0 or 1, bytes are hexadecimal
//! {"table":"conversations","columns":[…]}       in an order that what refers to something comes after it
//! …
//! {"rows":{"channels":1,…},"sha256":"…"}        of every byte before this line
//! ```
//!
//! `schema` counts the migrations. An older file goes into tables as they were then, which are migrated afterwards: so each
//! migration sees the rows that it was written for.

mod tables;

mod file;

mod head;

mod save;

mod load;

mod seals;

mod whole;

mod unfinished;

mod part;

#[cfg(test)]
mod tests;

use std::{io, num::ParseIntError};

use sqlx::{AssertSqlSafe, PgConnection, SqliteConnection, migrate::MigrateError};

pub use file::Saved;
pub(crate) use file::{Read, verify};
pub(crate) use head::{Head, LockedKeys};
pub(crate) use load::{Found, load, look};
pub(crate) use part::PartFile;
pub(crate) use save::save;
pub use seals::Seals;
pub(crate) use seals::{Resealed, reseal};
pub(crate) use unfinished::unfinished;
pub(crate) use whole::{is_half_done, renew};

use super::sql::{Engine, Store};
use crate::domain::time::Time;

/// What kept a backup from being made, or from being taken in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Another kind of file.
    #[error("this is not a backup of Baton")]
    NoBackup,
    /// Made by a program that knows more.
    #[error("this backup was made by Baton {version}, which is newer: take that one, or a later one")]
    Newer {
        /// Of that program.
        version: String,
    },
    /// Cut off, or not as it was written.
    #[error("this backup is not whole, and nothing of it is used: {0}")]
    Damaged(String),
    /// The file or the disk.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The database.
    #[error("the database does not take part: {0}")]
    Database(#[from] sqlx::Error),
    /// Its tables.
    #[error("the database cannot be migrated")]
    Migrate(#[from] MigrateError),
}

/// One connection to a database, for as long as a backup takes: no limit of time holds for it.
pub(crate) trait Session: Send {
    /// Which database.
    const ENGINE: Engine;

    /// Reads the one text of each row, as they come: never more than a few are held.
    fn texts(&mut self, sql: String, take: &mut Take<'_>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Changes something, perhaps by a JSON text as its one parameter. Returns how many rows it touched.
    fn run(&mut self, sql: String, json: Option<String>) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// What is done with each text.
pub(crate) type Take<'a> = dyn FnMut(String) -> Result<(), Error> + Send + 'a;

/// A database that can be saved and loaded.
pub(crate) trait Movable: Store {
    /// A connection of it.
    type Session: Session;

    /// One that only reads.
    fn reading(&self) -> impl Future<Output = Result<Self::Session, sqlx::Error>> + Send;

    /// One that writes.
    fn writing(&self) -> impl Future<Output = Result<Self::Session, sqlx::Error>> + Send;

    /// Runs the migrations up to that one.
    fn migrate_to(&self, schema: i64) -> impl Future<Output = Result<(), MigrateError>> + Send;

    /// The newest migration that this program knows.
    fn newest() -> i64;
}

macro_rules! session {
    ($($connection:ty: $engine:ident),+) => {$(
        impl Session for $connection {
            const ENGINE: Engine = Engine::$engine;

            async fn texts(&mut self, sql: String, take: &mut Take<'_>) -> Result<(), Error> {
                use futures_util::StreamExt as _;
                // Safe: the text is made of literals, and of names that are ours or that the database itself has.
                let mut rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql)).fetch(&mut *self);
                while let Some(text) = rows.next().await {
                    take(text?)?;
                }
                Ok(())
            }

            async fn run(&mut self, sql: String, json: Option<String>) -> Result<u64, Error> {
                let query = sqlx::query(AssertSqlSafe(sql));
                let query = match json {
                    Some(json) => query.bind(json),
                    None => query,
                };
                Ok(query.execute(&mut *self).await?.rows_affected())
            }
        }
    )+};
}

session!(PgConnection: Postgres, SqliteConnection: Sqlite);

/// A connection that goes back to its pool afterwards.
impl Session for sqlx::pool::PoolConnection<sqlx::Sqlite> {
    const ENGINE: Engine = Engine::Sqlite;

    async fn texts(&mut self, sql: String, take: &mut Take<'_>) -> Result<(), Error> {
        SqliteConnection::texts(self, sql, take).await
    }

    async fn run(&mut self, sql: String, json: Option<String>) -> Result<u64, Error> {
        SqliteConnection::run(self, sql, json).await
    }
}

/// The texts of a statement that answers with few rows.
async fn all<S: Session>(session: &mut S, sql: String) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    let mut take = |text| {
        texts.push(text);
        Ok(())
    };
    session.texts(sql, &mut take).await?;
    Ok(texts)
}

/// The number that a statement answers with, as text.
async fn number<S: Session>(session: &mut S, sql: String) -> Result<i64, Error> {
    let told = all(session, sql).await?;
    let number = told.first().ok_or(sqlx::Error::RowNotFound)?.parse();
    number.map_err(|error: ParseIntError| sqlx::Error::Decode(error.into()).into())
}

/// The moment by the clock of the database.
async fn moment<S: Session>(session: &mut S, store: &impl Store) -> Result<Time, Error> {
    if let Some(now) = store.moment() {
        return Ok(now);
    }
    // Of the two databases only PostgreSQL is ever asked.
    let asked = "select ((extract(epoch from clock_timestamp()) * 1000)::bigint)::text";
    number(session, asked.to_owned()).await.map(Time)
}
