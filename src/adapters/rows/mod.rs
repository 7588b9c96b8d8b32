//! Rows as both databases keep them: one flat struct a table, written as JSON and read by column name.
//!
//! In: domain values, to be saved as sets of rows in one JSON parameter; and rows of either driver. Out: that JSON,
//! and domain values. The field names of a row struct are the columns, so no statement lists them again.

mod value;

mod conversation;

mod message;

mod business;

mod draft;

mod journal;

mod label;

mod canned_reply;

mod erasure;

pub(crate) use business::{FollowUpRow, LetterRow, ParkedRow, RequestRow, TurnRow};
pub(crate) use conversation::ConversationRow;
pub(crate) use draft::DraftRow;
pub(crate) use erasure::{ErasedChatRow, ErasureRow, TombstoneRow};
pub(crate) use journal::EventRow;
pub(crate) use label::{LabelRow, LabelledRow};
pub(crate) use message::MessageRow;
pub(crate) use value::{Columns, Field, Json, Kept, Written};

/// A table of the spine.
pub(crate) trait Table: Sized + serde::Serialize {
    /// Its name.
    const NAME: &'static str;
    /// Its columns, in the order of the struct.
    const COLUMNS: &'static [&'static str];
    /// Those that never change once a row is there; its id is one.
    const FIXED: &'static [&'static str];

    /// Reads a row that has all of its columns.
    fn read<R: Columns>(row: &R) -> Result<Self, sqlx::Error>;
}

/// A row that overwrites one: its id, and what can have changed.
pub(crate) struct Changed<'a, T>(pub(crate) &'a T);

/// Whether a name is on a list, when the program is built.
pub(crate) const fn is_one_of(name: &str, list: &[&str]) -> bool {
    let mut at = 0;
    while at < list.len() {
        if is_same(name.as_bytes(), list[at].as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A domain value that is kept as one row.
pub(crate) trait Stored: Sized {
    /// Its table.
    type Row: Table;

    /// What the row says. An error if the row contradicts itself, or holds a word that this version doesn't know.
    fn of_row(row: Self::Row) -> Result<Self, sqlx::Error>;
}

/// Reads a domain value from a row with all columns of its table.
pub(crate) fn decode<T: Stored, R: Columns>(row: &R) -> Result<T, sqlx::Error> {
    T::of_row(<T::Row as Table>::read(row)?)
}

/// The columns of a table, for a `select`; with an alias in front of each if it is not empty.
pub(crate) fn columns<T: Table>(alias: &str) -> String {
    let dot = if alias.is_empty() { "" } else { "." };
    T::COLUMNS.iter().map(|column| format!("{alias}{dot}{column}")).collect::<Vec<_>>().join(", ")
}

/// An `insert` whose rows go over those of the same id.
pub(crate) fn overwriting<T: Table>(insert: &str) -> String {
    let columns = T::COLUMNS.iter().map(|column| format!("{column} = excluded.{column}")).collect::<Vec<_>>();
    format!("{insert} on conflict (id) do update set {}", columns.join(", "))
}

/// Declares the row of a table: a struct whose fields are the columns. Both databases read what is left out as null.
/// A row that is `of` a domain value is made from it and read as it, column by column; one is `as` a field if that has
/// another name. What the value itself doesn't know is given `beside` it.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident in $table:literal $(fixed $fixed:tt)? of $domain:ident
        $(beside $given:ident: $given_type:ty)? { $($column:ident $(as $field:ident)?: $type:ty,)+ }
    ) => {
        table! { $(#[$meta])* $name in $table $(fixed $fixed)? { $($given: $given_type,)? $($column: $type,)+ } }

        impl $name {
            /// The row of it.
            #[allow(dead_code, reason = "some are written by statements of their own")]
            pub(crate) fn of($($given: $given_type,)? it: $domain) -> Self {
                let $domain { $($($field:)? $column,)+ } = it;
                Self { $($given,)? $($column: $crate::adapters::rows::Kept::keep($column),)+ }
            }
        }

        impl $crate::adapters::rows::Stored for $domain {
            type Row = $name;

            fn of_row(row: $name) -> Result<Self, sqlx::Error> {
                $(let $column = $crate::adapters::rows::Kept::give(row.$column);)+
                Ok(Self { $($($field:)? $column,)+ })
            }
        }
    };
    ($(#[$meta:meta])* $name:ident in $table:literal $(fixed [$($fixed:ident),+ $(,)?])? {
        $($column:ident: $type:ty,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $name { $(pub(crate) $column: $type,)+ }

        impl $crate::adapters::rows::Table for $name {
            const NAME: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column),)+];
            const FIXED: &'static [&'static str] = &["id", $($(stringify!($fixed),)+)?];

            fn read<R: $crate::adapters::rows::Columns>(row: &R) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: $crate::adapters::rows::Field::read(row, stringify!($column))?,)+ })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let mut row = serializer.serialize_struct($table, <Self as $crate::adapters::rows::Table>::COLUMNS.len())?;
                $(if !$crate::adapters::rows::Field::is_null(&self.$column) {
                    row.serialize_field(stringify!($column), &$crate::adapters::rows::Written(&self.$column))?;
                })+
                row.end()
            }
        }

        impl serde::Serialize for $crate::adapters::rows::Changed<'_, $name> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                use $crate::adapters::rows::{Field, Table, Written, is_one_of};
                let mut row = serializer.serialize_struct($table, <$name as Table>::COLUMNS.len())?;
                $(if const { is_one_of(stringify!($column), &["id"]) || !is_one_of(stringify!($column), <$name as Table>::FIXED) }
                    && !Field::is_null(&self.0.$column) {
                    row.serialize_field(stringify!($column), &Written(&self.0.$column))?;
                })+
                row.end()
            }
        }
    };
}

use table;

/// A column that must hold something because of what another one says.
pub(super) fn required<T>(value: Option<T>, column: &str) -> Result<T, sqlx::Error> {
    value.ok_or_else(|| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: "is empty, though the rest of the row says it can't be".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_overwrites_says_its_id_and_what_can_have_changed() {
        let turn = crate::flow::play::Play::new();
        let row = ConversationRow::of(turn.conversation, crate::domain::docket::Clocks::default(), 7);
        let whole = serde_json::to_value(&row).expect("JSON");
        let changed = serde_json::to_value(Changed(&row)).expect("JSON");
        let names = |value: &serde_json::Value| value.as_object().expect("a row").len();
        assert_eq!(names(&whole) - names(&changed), 2, "channel and chat");
        assert_eq!((&changed["id"], &changed["stamp"]), (&whole["id"], &serde_json::json!(7)));
        assert!(!is_one_of("at", &["a", "ate", "id"]) && is_one_of("at", &["id", "at"]));
    }
}
