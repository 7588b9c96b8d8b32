//! Statements that both databases understand, and rows of either by column name.
//! In: questions of all places but the ledger, every value bound. Out: rows, to be decoded once for both.

use serde_json::Value;
use uuid::Uuid;

use super::{
    failure,
    rows::{self, Columns, Field, Json, Stored},
};
use crate::{domain::time::Time, flow::ledger::Error};

/// A database, as all places but the ledger use it.
pub(crate) trait Store: Send + Sync {
    /// A row of its driver.
    type Row: Columns + Send;

    /// Which of the two it is.
    const ENGINE: Engine;

    /// The moment; None if the database is to be asked for it.
    fn moment(&self) -> Option<Time>;

    /// Reads. Every statement given here limits its rows.
    fn rows(&self, statement: Statement) -> impl Future<Output = Result<Vec<Self::Row>, Error>> + Send;

    /// Changes something with one statement, in a transaction of its own. Returns how many rows it touched.
    fn write(&self, statement: Statement) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Changes several things in one transaction, in this order; nothing at all, and false, where one that must touch a
    /// row touches none.
    fn write_together(&self, parts: Vec<Part>) -> impl Future<Output = Result<bool, Error>> + Send;

    /// What was to be removed is: it leaves the files, too, as far as that is the store's to do and nobody reads them now.
    fn removed(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Reads at most one row.
    fn row(&self, statement: Statement) -> impl Future<Output = Result<Option<Self::Row>, Error>> + Send {
        async { Ok(self.rows(statement).await?.into_iter().next()) }
    }
}

/// One of several statements.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// It must touch a row, or all of them are in vain.
    Must(Statement),
    /// It may find nothing to do.
    May(Statement),
}

impl Part {
    /// What is to be done, and whether all depends on it.
    pub(crate) fn into_parts(self) -> (Statement, bool) {
        match self {
            Self::Must(statement) => (statement, true),
            Self::May(statement) => (statement, false),
        }
    }
}

/// First of several statements: who begins so comes one after another, and what one asks of all rows holds until it is written.
pub(crate) fn serialize_writes() -> Part {
    Part::Must(Statement::new("update installation set one = one"))
}

/// Which database: the few places where the text of a statement differs match on it, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

impl Engine {
    /// What stands before and after the parameter in "is one of these": PostgreSQL takes an array, SQLite has none
    /// and takes JSON.
    const fn one_of(self) -> (&'static str, &'static str) {
        match self {
            Self::Postgres => (" = any(", ")"),
            Self::Sqlite => (" in (select value from json_each(", "))"),
        }
    }
}

/// A value of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    /// Text.
    Text(Option<String>),
    /// A number.
    Number(Option<i64>),
    /// Yes or no.
    Flag(bool),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
    /// Several texts, for [`Statement::one_of`].
    Texts(Vec<String>),
}

/// The text of a statement and its values. The text is put together from literals of this program alone.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    text: String,
    values: Vec<Bound>,
}

impl Statement {
    /// Begins with that text, which may name values that [`Self::with`] gives next: `$1`, `$2`.
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// The value of the next parameter that the text names itself.
    pub(crate) fn with(mut self, value: impl Into<Bound>) -> Self {
        self.values.push(value.into());
        self
    }

    /// More text.
    pub(crate) fn push(&mut self, text: &'static str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// The columns of a domain value's table, each with the alias in front.
    pub(crate) fn columns<T: Stored>(&mut self, alias: &'static str) -> &mut Self {
        self.text.push_str(&rows::columns::<T::Row>(alias));
        self
    }

    /// A value, where the text stands now.
    pub(crate) fn bind(&mut self, value: impl Into<Bound>) -> &mut Self {
        self.values.push(value.into());
        self.text.push('$');
        self.text.push_str(&self.values.len().to_string());
        self
    }

    /// More text and its value, if there is one.
    pub(crate) fn given(&mut self, text: &'static str, value: Option<impl Into<Bound>>) -> &mut Self {
        match value {
            Some(value) => self.push(text).bind(value),
            None => self,
        }
    }

    /// The moment of that store.
    pub(crate) fn now<S: Store>(&mut self, store: &S) -> &mut Self {
        match store.moment() {
            Some(now) => self.bind(now),
            // Of the two databases only PostgreSQL is ever asked: its instances may disagree about the time.
            None => self.push("(extract(epoch from clock_timestamp()) * 1000)::bigint"),
        }
    }

    /// "Is one of these", after a column.
    pub(crate) fn one_of(&mut self, engine: Engine, values: Vec<String>) -> &mut Self {
        let (before, after) = engine.one_of();
        self.push(before).bind(Bound::Texts(values)).push(after)
    }

    /// The text and the values, for the driver.
    pub(crate) fn into_parts(self) -> (String, Vec<Bound>) {
        (self.text, self.values)
    }
}

impl From<&str> for Bound {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Bound {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<String>> for Bound {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

impl From<Uuid> for Bound {
    fn from(value: Uuid) -> Self {
        Self::Text(Some(value.to_string()))
    }
}

impl From<i64> for Bound {
    fn from(value: i64) -> Self {
        Self::Number(Some(value))
    }
}

impl From<usize> for Bound {
    fn from(value: usize) -> Self {
        Self::Number(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

impl From<Time> for Bound {
    fn from(value: Time) -> Self {
        Self::Number(Some(value.0))
    }
}

impl From<Option<Time>> for Bound {
    fn from(value: Option<Time>) -> Self {
        Self::Number(value.map(|time| time.0))
    }
}

impl From<bool> for Bound {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

/// A list in a column of its own, as JSON: [`texts`] reads it.
impl<T: ToString> From<Option<&Vec<T>>> for Bound {
    fn from(list: Option<&Vec<T>>) -> Self {
        Self::Text(list.map(|list| Value::from_iter(list.iter().map(T::to_string)).to_string()))
    }
}

impl From<Option<Vec<u8>>> for Bound {
    fn from(value: Option<Vec<u8>>) -> Self {
        Self::Bytes(value)
    }
}

/// "Can send", of the channel `h` of a row, if it has one: [`outbox::is_able`](crate::flow::outbox::is_able) says the same.
macro_rules! may_send {
    () => {
        "coalesce(h.state, '') in ('', 'authorized')"
    };
}

pub(crate) use may_send;

/// The names in a list that a column holds as JSON, as rows `n` of a column `name`. Null has none.
pub(crate) fn names(statement: &mut Statement, engine: Engine, column: &'static str) {
    match engine {
        Engine::Postgres => {
            statement.push("json_array_elements_text(").push(column).push("::json) as n (name)")
        }
        Engine::Sqlite => {
            statement.push("(select value as name from json_each(").push(column).push(")) as n")
        }
    };
}

/// "Is for some of these channels, and for no other", of a column that lists channels as JSON. Null is for all channels, and
/// a list without any is for the admins of all to see to.
pub(crate) fn is_within(
    statement: &mut Statement,
    engine: Engine,
    column: &'static str,
    channels: &[String],
) {
    statement.push("(").push(column).push(" <> '[]' and not exists (select 1 from ");
    names(statement, engine, column);
    statement.push(" where not (n.name").one_of(engine, channels.to_vec()).push(")))");
}

/// Reads a domain value from a row that has all columns of its table.
pub(crate) fn decode<T: Stored, R: Columns>(row: &R) -> Result<T, Error> {
    rows::decode(row).map_err(failure)
}

/// The row of the installation, which has one.
pub(crate) fn only_row<R>(row: Option<R>) -> Result<R, Error> {
    row.ok_or_else(|| Error::Refused("the installation has no row".into()))
}

/// Reads one column.
pub(crate) fn cell<T: Field, R: Columns>(row: &R, column: &str) -> Result<T, Error> {
    T::read(row, column).map_err(failure)
}

/// Reads the bytes of a column that is never null: no bytes at all would pass for a key, or for an answer.
pub(crate) fn bytes<R: Columns>(row: &R, column: &str) -> Result<Vec<u8>, Error> {
    row.bytes(column).and_then(|bytes| rows::required(bytes, column)).map_err(failure)
}

/// Reads a list in a column of its own.
pub(crate) fn texts<R: Columns>(row: &R, column: &str) -> Result<Option<Vec<String>>, Error> {
    Ok(cell::<Option<Json<Vec<String>>>, _>(row, column)?.map(|Json(texts)| texts))
}

#[cfg(test)]
mod tests {
    use crate::flow::{outbox, provider::AUTHORIZED};

    #[test]
    fn a_channel_that_may_send_is_one_that_is_able() {
        let words: Vec<&str> = may_send!().split('\'').skip(1).step_by(2).collect();
        assert_eq!(words, ["", "", AUTHORIZED]);
        assert!(words.iter().all(|word| outbox::is_able(word)));
    }
}
