//! What a backup, a restore and a new key ask of a database, whichever it is.

use std::{fs::File, io::Write};

use uuid::Uuid;

use super::stores::Store;
use crate::adapters::{
    backup::{self, Error, Found, LockedKeys, Movable, Packed, Read, Resealed},
    postgres::Postgres,
    sqlite::Sqlite,
};

/// How many values of one table became what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seals {
    /// The table.
    pub table: &'static str,
    /// As they are.
    pub kept: usize,
    /// Sealed anew, with the key that comes first.
    pub resealed: usize,
    /// That no key opens.
    pub unopened: usize,
}

impl From<backup::Seals> for Seals {
    fn from(seals: backup::Seals) -> Self {
        let backup::Seals { table, kept, resealed, unopened } = seals;
        Self { table, kept, resealed, unopened }
    }
}

impl Store {
    /// Writes everything it holds, as it is at one moment.
    pub(super) async fn save(
        &self,
        keys: Option<LockedKeys>,
        to: impl Write + Send,
    ) -> Result<Packed, Error> {
        match self {
            Self::Postgres(postgres) => backup::save(postgres, keys, to).await,
            Self::Sqlite(sqlite) => backup::save(sqlite, keys, to).await,
        }
    }

    /// What it holds.
    pub(super) async fn look(&self) -> Result<Found, Error> {
        match self {
            Self::Postgres(postgres) => backup::look(postgres).await,
            Self::Sqlite(sqlite) => backup::look(sqlite).await,
        }
    }

    /// Takes the rows of a backup in.
    pub(super) async fn load(&self, schema: i64, read: Read<File>) -> Result<(), Error> {
        match self {
            Self::Postgres(postgres) => backup::load(postgres, schema, read).await,
            Self::Sqlite(sqlite) => backup::load(sqlite, schema, read).await,
        }
    }

    /// Conversations in which something is under way.
    pub(super) async fn unfinished(&self) -> Result<Vec<Uuid>, Error> {
        match self {
            Self::Postgres(postgres) => backup::unfinished(postgres).await,
            Self::Sqlite(sqlite) => backup::unfinished(sqlite).await,
        }
    }

    /// Goes through everything that is sealed.
    pub(super) async fn reseal(
        &self,
        each: impl FnMut(&[u8]) -> Resealed + Send,
    ) -> Result<Vec<Seals>, Error> {
        let seals = match self {
            Self::Postgres(postgres) => backup::reseal(postgres, each).await,
            Self::Sqlite(sqlite) => backup::reseal(sqlite, each).await,
        };
        Ok(seals?.into_iter().map(Into::into).collect())
    }

    /// It is whole now, and an installation of its own.
    pub(super) async fn renew(&self, id: &str, generation: &str) -> Result<(), Error> {
        match self {
            Self::Postgres(postgres) => backup::renew(postgres, id, generation).await,
            Self::Sqlite(sqlite) => backup::renew(sqlite, id, generation).await,
        }
    }

    /// The newest migration that this program knows for it.
    pub(super) fn newest(&self) -> i64 {
        match self {
            Self::Postgres(_) => <Postgres as Movable>::newest(),
            Self::Sqlite(_) => <Sqlite as Movable>::newest(),
        }
    }
}
