//! What is encrypted at rest, re-encrypted: for another key, or to find out what no key opens.
//!
//! What a column named `sealed` holds was sealed by the vault, in whichever table: one that comes later is found by its name.

use serde_json::json;

use super::{Error, Movable, Session, all, tables::tables};
use crate::adapters::sql::Engine;

/// What becomes of one sealed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resealed {
    /// It is as it should be.
    Kept,
    /// This is to take its place.
    Anew(Vec<u8>),
    /// No key opens it.
    Unopened,
}

/// How many values of one table became what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seals {
    /// The table.
    pub table: &'static str,
    /// Sealed as they should be.
    pub kept: usize,
    /// Re-encrypted, with the key that comes first.
    pub resealed: usize,
    /// That no key opens.
    pub unopened: usize,
}

/// Goes through everything that is sealed, in one transaction. A value that somebody else changes meanwhile stays theirs.
pub(crate) async fn reseal<D: Movable>(
    store: &D,
    mut each: impl FnMut(&[u8]) -> Resealed + Send,
) -> Result<Vec<Seals>, Error> {
    let mut session = store.writing().await?;
    let begin = match D::ENGINE {
        Engine::Postgres => "begin",
        Engine::Sqlite => "begin immediate",
    };
    session.run(begin.to_owned(), None).await?;
    let done = go_through(&mut session, &mut each).await;
    let end = if done.is_ok() { "commit" } else { "rollback" };
    let ended = session.run(end.to_owned(), None).await;
    let told = done?;
    ended?;
    Ok(told)
}

async fn go_through<S: Session>(
    session: &mut S,
    each: &mut (impl FnMut(&[u8]) -> Resealed + Send),
) -> Result<Vec<Seals>, Error> {
    let mut told = Vec::new();
    for table in tables(session).await? {
        if !table.names().contains(&"sealed") {
            continue;
        }
        let mut seals = Seals { table: table.name, kept: 0, resealed: 0, unopened: 0 };
        let mut changed = Vec::new();
        // Few: the channels', those of endpoints, and a day's answers to requests that may come again.
        for before in all(session, reading(table.name, S::ENGINE)).await? {
            let bytes = hex::decode(&before).map_err(|_| sqlx::Error::RowNotFound)?;
            match each(&bytes) {
                Resealed::Kept => seals.kept += 1,
                Resealed::Unopened => seals.unopened += 1,
                Resealed::Anew(after) => {
                    seals.resealed += 1;
                    changed.push(json!([before, hex::encode(after)]));
                }
            }
        }
        if !changed.is_empty() {
            let changes = serde_json::Value::from(changed).to_string();
            session.run(writing(table.name, S::ENGINE), Some(changes)).await?;
        }
        told.push(seals);
    }
    Ok(told)
}

fn reading(table: &str, engine: Engine) -> String {
    let hex = match engine {
        Engine::Postgres => "encode(sealed, 'hex')",
        Engine::Sqlite => "lower(hex(sealed))",
    };
    format!("select {hex} from {table} where sealed is not null")
}

/// Each seal has a nonce of its own, so that a value is found by itself.
pub(super) fn writing(table: &str, engine: Engine) -> String {
    match engine {
        Engine::Postgres => format!(
            "update {table} t set sealed = decode(c.change ->> 1, 'hex') \
             from jsonb_array_elements($1::jsonb) as c (change) where t.sealed = decode(c.change ->> 0, 'hex')"
        ),
        Engine::Sqlite => format!(
            "update {table} set sealed = unhex(c.value ->> 1) from json_each($1) c \
             where sealed = unhex(c.value ->> 0)"
        ),
    }
}
