//! What a backup, a restore and a new key ask of a database, whichever it is.

use std::{fs::File, io::Write};

use uuid::Uuid;

use super::stores::{Store, on};
use crate::adapters::{
    backup::{self, Error, Found, LockedKeys, Movable, Read, Resealed, Saved, Seals},
    postgres::Postgres,
    sqlite::Sqlite,
};

impl Store {
    /// Writes everything it holds, as it is at one moment.
    pub(super) async fn save(&self, keys: Option<LockedKeys>, to: impl Write + Send) -> Result<Saved, Error> {
        on!(self, store => backup::save(store, keys, to).await)
    }

    /// What it holds.
    pub(super) async fn look(&self) -> Result<Found, Error> {
        on!(self, store => backup::look(store).await)
    }

    /// Takes the rows of a backup in.
    pub(super) async fn load(&self, schema: i64, read: Read<File>) -> Result<(), Error> {
        on!(self, store => backup::load(store, schema, read).await)
    }

    /// Conversations in which something is under way.
    pub(super) async fn unfinished(&self) -> Result<Vec<Uuid>, Error> {
        on!(self, store => backup::unfinished(store).await)
    }

    /// Goes through everything that is sealed.
    pub(super) async fn reseal(
        &self,
        each: impl FnMut(&[u8]) -> Resealed + Send,
    ) -> Result<Vec<Seals>, Error> {
        on!(self, store => backup::reseal(store, each).await)
    }

    /// It is whole now, and an installation of its own.
    pub(super) async fn renew(&self, id: &str, generation: &str) -> Result<(), Error> {
        on!(self, store => backup::renew(store, id, generation).await)
    }

    /// The newest migration that this program knows for it.
    pub(super) fn newest(&self) -> i64 {
        match self {
            Self::Postgres(_) => <Postgres as Movable>::newest(),
            Self::Sqlite(_) => <Sqlite as Movable>::newest(),
        }
    }
}
