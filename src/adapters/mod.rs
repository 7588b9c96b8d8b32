//! Everything outside: databases, providers, models. Adapters implement the places of `flow` and know no other part.

pub(crate) mod rows;

pub(crate) mod commit;

pub(crate) mod sql;

pub(crate) mod write_health;

pub(crate) mod migrations;

mod archive;

mod registry;

mod people;

mod labels_and_replies;

mod idempotency_keys;

mod purge;

mod audit;

mod enclosures;

mod erasures;

mod expiry;

mod endpoints;

mod generation_starts;

mod cached_answers;

pub(crate) mod backup;

pub mod postgres;

pub mod sqlite;

pub mod http_client;

mod addresses;

pub mod receivers;

pub mod files;

pub mod green_api;

pub mod sandbox;

pub(crate) mod model_server;

pub mod openai;

pub mod anthropic;

pub mod http_generator;

pub mod look_ups;

pub mod scripted;

#[cfg(feature = "otlp")]
pub mod otlp;

#[cfg(test)]
pub(crate) mod test_stores;

use crate::{domain::words::UnknownWord, flow::ledger};

/// What an error of a database asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// The connection or the whole database is gone: another attempt needs another connection.
    Lost,
    /// Somebody else was in the way for too long, or has changed the database under us: another attempt may get through.
    Busy,
    /// The data: it fails each time.
    Data,
}

impl ErrorClass {
    /// Sorts an error. Whatever isn't plainly the data's fault counts as lost, so that nobody is told "refused" wrongly.
    pub(crate) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                    sqlite::class_of(&code)
                } else {
                    postgres::class_of(&code)
                }
            }
            // Of a newer version beside this one, which can read it.
            sqlx::Error::ColumnDecode { source, .. } if source.is::<UnknownWord>() => Self::Busy,
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::RowNotFound
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::InvalidArgument(_) => Self::Data,
            _ => Self::Lost,
        }
    }
}

/// What a place answers for an error of its database.
pub(crate) fn failure(error: sqlx::Error) -> ledger::Error {
    match ErrorClass::of(&error) {
        ErrorClass::Lost | ErrorClass::Busy => ledger::Error::Unavailable(error.into()),
        ErrorClass::Data => ledger::Error::Refused(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mode::Mode;

    #[test]
    fn a_word_of_a_newer_version_is_not_the_datas_fault() {
        let decode = |source: sqlx::error::BoxDynError| {
            ErrorClass::of(&sqlx::Error::ColumnDecode { index: "mode".to_owned(), source })
        };
        let unknown = "BOTH".parse::<Mode>().expect_err("there is no such mode");
        assert_eq!(decode(unknown.into()), ErrorClass::Busy);
        assert_eq!(decode("no number".into()), ErrorClass::Data);
    }
}
