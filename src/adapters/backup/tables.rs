//! Which tables a backup carries, and what they hold, by the database's own catalogue.

use std::collections::HashMap;

use super::{Error, Session, all};
use crate::adapters::sql::Engine;

/// Every table that is carried: what refers to something comes after it. A database of an older version has fewer.
pub(super) const TABLES: &[&str] = &[
    "channels",
    "agents",
    "tokens",
    "labels",
    "canned_replies",
    "conversations",
    "chats",
    "messages",
    "enclosures",
    "turns",
    "follow_ups",
    "drafts",
    "dead_letters",
    "parked",
    "requests",
    "kept_answers",
    "conversation_labels",
    "cached_answers",
    "endpoints",
    "endpoint_secrets",
    "events",
    "tombstone_keys",
    "tombstones",
    "erasures",
    "erased_chats",
    "erased_usage",
    "audit",
];

/// What every start makes, if it is not there: a database that holds nothing else is empty.
pub(super) const MADE_BY_STARTS: &str = "tombstone_keys";

/// Tables that stay behind, each for a reason: a new installation has its own row; what was signed out or used up since must
/// not come back to life; the pace of the last minute is of no use in another one; what was owed to endpoints has been
/// delivered since, and names places of the feed. A test holds both lists against the catalogue.
#[cfg(test)]
pub(super) const LEFT_OUT: &[&str] =
    &["installation", "sessions", "sign_in_links", "generation_starts", "deliveries"];

/// Columns that the database into which the rows go fills by itself, in the order of the file: the places of the feed mean
/// nothing in another installation, and PostgreSQL's are numbers of its own transactions. A webhook endpoint receives what
/// happens from then on, from the instance that serves it there.
pub(super) const GIVEN_ANEW: &[(&str, &str)] = &[
    ("events", "id"),
    ("events", "xact"),
    ("endpoints", "cursor_xact"),
    ("endpoints", "cursor_id"),
    ("endpoints", "failing_since"),
    ("endpoints", "owner"),
    ("endpoints", "owned_until"),
];

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words.
    Text,
    /// A whole number.
    Number,
    /// Yes or no, where the database has a type for that.
    Flag,
    /// Bytes.
    Bytes,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A table as the database has it, without the columns that it fills by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column>,
}

const COLUMNS_OF_POSTGRES: &str = "select json_build_array(table_name, column_name, data_type)::text \
    from information_schema.columns where table_schema = current_schema() order by table_name, ordinal_position";

const COLUMNS_OF_SQLITE: &str = "select json_array(t.name, c.name, lower(c.type)) \
    from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.cid";

/// The tables that are carried, as they are in this database, in their order.
pub(super) async fn tables<S: Session>(session: &mut S) -> Result<Vec<Table>, Error> {
    let asked = match S::ENGINE {
        Engine::Postgres => COLUMNS_OF_POSTGRES,
        Engine::Sqlite => COLUMNS_OF_SQLITE,
    };
    let mut found: HashMap<String, Vec<Column>> = HashMap::new();
    for told in all(session, asked.to_owned()).await? {
        let (table, name, kind): (String, String, String) =
            serde_json::from_str(&told).map_err(std::io::Error::from)?;
        let is_given = GIVEN_ANEW.contains(&(table.as_str(), name.as_str()));
        if !is_given && TABLES.contains(&table.as_str()) {
            found.entry(table).or_default().push(Column { name, kind: kind_of(&kind)? });
        }
    }
    let table = |name: &&'static str| Some(Table { name, columns: found.remove(*name)? });
    Ok(TABLES.iter().filter_map(table).collect())
}

fn kind_of(word: &str) -> Result<Kind, Error> {
    match word {
        "text" => Ok(Kind::Text),
        "bigint" | "integer" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Flag),
        "bytea" | "blob" => Ok(Kind::Bytes),
        other => Err(Error::Database(sqlx::Error::Configuration(
            format!("a column of type {other} cannot be carried").into(),
        ))),
    }
}

impl Table {
    /// Its columns by name.
    pub(super) fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Reads each row as a JSON array.
    pub(super) fn reading(&self, engine: Engine) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| written(column, engine)).collect();
        let (array, text) = match engine {
            Engine::Postgres => ("json_build_array", "::text"),
            Engine::Sqlite => ("json_array", ""),
        };
        // The feed is read in the order in which it was written; of everything else the order means nothing.
        let order = match (self.name, engine) {
            ("events", Engine::Postgres) => " order by xact, id",
            ("events", Engine::Sqlite) => " order by id",
            _ => "",
        };
        format!("select {array}({}){text} from {}{order}", columns.join(", "), self.name)
    }

    /// Writes rows from one JSON array of such arrays, of which each has these columns, in this order.
    pub(super) fn writing(&self, columns: &[&Column], engine: Engine) -> String {
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        let values: Vec<String> =
            columns.iter().enumerate().map(|(at, column)| value(at, column.kind, engine)).collect();
        let rows = match engine {
            Engine::Postgres => "jsonb_array_elements($1::jsonb) with ordinality as r (row, n) order by n",
            Engine::Sqlite => "json_each($1) order by key",
        };
        format!("insert into {} ({}) select {} from {rows}", self.name, names.join(", "), values.join(", "))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column on its way into the file.
fn written(column: &Column, engine: Engine) -> String {
    let name = quoted(&column.name);
    match (column.kind, engine) {
        (Kind::Text | Kind::Number, _) | (Kind::Flag, Engine::Sqlite) => name,
        (Kind::Flag, Engine::Postgres) => format!("{name}::int"),
        (Kind::Bytes, Engine::Postgres) => format!("encode({name}, 'hex')"),
        (Kind::Bytes, Engine::Sqlite) => format!("iif({name} is null, null, lower(hex({name})))"),
    }
}

/// A column on its way back.
fn value(at: usize, kind: Kind, engine: Engine) -> String {
    match (kind, engine) {
        (Kind::Text, Engine::Postgres) => format!("row ->> {at}"),
        (Kind::Number, Engine::Postgres) => format!("(row ->> {at})::bigint"),
        (Kind::Flag, Engine::Postgres) => format!("(row ->> {at})::boolean"),
        (Kind::Bytes, Engine::Postgres) => format!("decode(row ->> {at}, 'hex')"),
        (Kind::Text | Kind::Number | Kind::Flag, Engine::Sqlite) => format!("value ->> {at}"),
        (Kind::Bytes, Engine::Sqlite) => format!("unhex(value ->> {at})"),
    }
}
