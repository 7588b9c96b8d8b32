//! What a column can hold, and how it is written as JSON and read from either driver.

use std::borrow::Cow;

use serde::{Serialize, Serializer, de::DeserializeOwned};
use sqlx::{Row as _, postgres::PgRow, sqlite::SqliteRow};
use uuid::Uuid;

use crate::domain::{
    chat::ChatId,
    payload::Payload,
    time::Time,
    words::{UnknownWord, Vocabulary},
};

/// A row of either driver. The spine knows three types only, and bytes for what is sealed.
pub(crate) trait Columns {
    /// Words.
    fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;
    /// A whole number.
    fn number(&self, column: &str) -> Result<Option<i64>, sqlx::Error>;
    /// True or false.
    fn flag(&self, column: &str) -> Result<Option<bool>, sqlx::Error>;
    /// Bytes.
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;
}

macro_rules! columns {
    ($($row:ty),+) => {$(
        impl Columns for $row {
            fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
                self.try_get(column)
            }
            fn number(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
                self.try_get(column)
            }
            fn flag(&self, column: &str) -> Result<Option<bool>, sqlx::Error> {
                self.try_get(column)
            }
            fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
                self.try_get(column)
            }
        }
    )+};
}

columns!(PgRow, SqliteRow);

/// What a column holds when it isn't null.
pub(crate) trait Value: Sized {
    /// Reads it; None if the column is null.
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error>;

    /// Writes it as JSON, as the column wants it.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// A column: a value, or perhaps none.
pub(crate) trait Field: Sized {
    /// Reads it.
    fn read<R: Columns>(row: &R, column: &str) -> Result<Self, sqlx::Error>;

    /// Writes it as JSON.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Whether the column is null, which needs no words.
    fn is_null(&self) -> bool {
        false
    }
}

impl<T: Value> Field for T {
    fn read<R: Columns>(row: &R, column: &str) -> Result<Self, sqlx::Error> {
        T::read_opt(row, column)?.ok_or_else(|| broken(column, sqlx::error::UnexpectedNullError))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::write(self, serializer)
    }
}

impl<T: Value> Field for Option<T> {
    fn read<R: Columns>(row: &R, column: &str) -> Result<Self, sqlx::Error> {
        T::read_opt(row, column)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => Value::write(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn is_null(&self) -> bool {
        self.is_none()
    }
}

/// A field on its way into JSON.
pub(crate) struct Written<'a, T>(pub(crate) &'a T);

impl<T: Field> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

fn broken(column: &str, source: impl Into<sqlx::error::BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: source.into() }
}

impl Value for String {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.text(column)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Value for i64 {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.number(column)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(*self)
    }
}

impl Value for i32 {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.number(column)?.map(Self::try_from).transpose().map_err(|e| broken(column, e))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(*self)
    }
}

impl Value for bool {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.flag(column)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }
}

impl Value for Uuid {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.text(column)?.map(|text| text.parse()).transpose().map_err(|e| broken(column, e))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<T: Vocabulary> Value for T {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.text(column)?.map(|text| text.parse()).transpose().map_err(|e| broken(column, e))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Value for Time {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        Ok(row.number(column)?.map(Self))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }
}

impl Value for ChatId {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        let Some(text) = row.text(column)? else { return Ok(None) };
        Self::parse(&text).map(Some).ok_or_else(|| broken(column, "is no chat id"))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Value for Payload {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        row.text(column)?.map(Self::parse).transpose().map_err(|e| broken(column, e))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.get())
    }
}

/// A small structure, kept as JSON in a text column: it goes into the JSON of the row as a string.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize + DeserializeOwned> Value for Json<T> {
    fn read_opt<R: Columns>(row: &R, column: &str) -> Result<Option<Self>, sqlx::Error> {
        let Some(text) = row.text(column)? else { return Ok(None) };
        serde_json::from_str(&text).map(|value| Some(Self(value))).map_err(|e| match unknown_word(&e) {
            Some(unknown) => broken(column, unknown),
            None => broken(column, e),
        })
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

/// The variant that this version does not know, if that is what is wrong: a newer one beside it has written it. Only the
/// words of the error tell.
fn unknown_word(error: &serde_json::Error) -> Option<UnknownWord> {
    let error = error.to_string();
    let (word, _) = error.strip_prefix("unknown variant `")?.split_once('`')?;
    Some(UnknownWord { word: word.chars().take(64).collect(), known: &["what this version knows"] })
}

/// A column of that type, and the same in a domain value.
pub(crate) trait Kept<V> {
    /// The column for it.
    fn keep(value: V) -> Self;

    /// What the column holds.
    fn give(self) -> V;
}

impl<T> Kept<T> for T {
    fn keep(value: T) -> Self {
        value
    }

    fn give(self) -> T {
        self
    }
}

impl<T> Kept<T> for Json<T> {
    fn keep(value: T) -> Self {
        Self(value)
    }

    fn give(self) -> T {
        self.0
    }
}

impl<T> Kept<Option<T>> for Option<Json<T>> {
    fn keep(value: Option<T>) -> Self {
        value.map(Json)
    }

    fn give(self) -> Option<T> {
        self.map(|Json(value)| value)
    }
}

impl Kept<Option<Cow<'static, str>>> for Option<String> {
    fn keep(value: Option<Cow<'static, str>>) -> Self {
        value.map(Cow::into_owned)
    }

    fn give(self) -> Option<Cow<'static, str>> {
        self.map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{adapters::ErrorClass, domain::docket::Report};

    /// A row with that text in every column.
    struct Holding(&'static str);

    impl Columns for Holding {
        fn text(&self, _: &str) -> Result<Option<String>, sqlx::Error> {
            Ok(Some(self.0.to_owned()))
        }
        fn number(&self, _: &str) -> Result<Option<i64>, sqlx::Error> {
            Ok(None)
        }
        fn flag(&self, _: &str) -> Result<Option<bool>, sqlx::Error> {
            Ok(None)
        }
        fn bytes(&self, _: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
            Ok(None)
        }
    }

    #[test]
    fn a_word_of_a_newer_version_inside_a_structure_is_not_the_datas_fault() {
        let class_of = |text| {
            let read = <Json<Report> as Field>::read(&Holding(text), "report");
            read.err().map(|error| ErrorClass::of(&error))
        };
        assert_eq!(class_of(r#"{"report":"deletion"}"#), None);
        assert_eq!(class_of(r#"{"report":"translation","text":"Hi"}"#), Some(ErrorClass::Busy));
        for damaged in [r#"{"report":"edit"}"#, r#"{"report":"deletion""#, "7"] {
            assert_eq!(class_of(damaged), Some(ErrorClass::Data), "{damaged}");
        }
    }
}
