//! `baton secret-key rotate`: another key for what is encrypted, while servers are running.
//!
//! A key of the settings is changed in steps, since only the person who sets it reaches every instance: first both are known
//! everywhere, then the new one seals, then everything is sealed with it. A key in a file is read again by the server itself.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use super::{
    key_file::{KeyFile, text_of},
    stores::Store,
    vault::{Key, Vault, random},
};
use crate::{adapters::backup::Seals, config::Settings};

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotated {
    /// Nothing yet: these are to be set everywhere, one after the other.
    ToSet {
        /// By which the new one is known, where other instances would meet what it seals: before any of them seals with it.
        first: Option<String>,
        /// By which it seals.
        then: String,
    },
    /// Everything is sealed with the first key of the settings.
    Sealed(Vec<Seals>),
    /// Everything is sealed with a new key, which is in that file before the old one.
    Replaced {
        /// What is encrypted.
        seals: Vec<Seals>,
        /// The file.
        path: PathBuf,
        /// The key that stood behind the old one, and is in the file no more: backups from its time are opened by no other.
        dropped: Option<String>,
    },
}

/// Makes a new key, or seals everything with the new one of two that are set.
pub async fn rotate(settings: &Settings) -> anyhow::Result<Rotated> {
    let store = Store::connect_existing(settings).await?;
    store.require_whole().await?;
    store.require_migrated().await?;
    store.require_key_file(settings).await?;
    let rotated = match (&settings.secret_key, store.key_file()) {
        (Some(keys), _) => match keys.expose() {
            [old] => {
                let new = random()?;
                let first = settings.is_postgres().then(|| text_of(&[*old, new]));
                Rotated::ToSet { first, then: text_of(&[new, *old]) }
            }
            both => Rotated::Sealed(seal_with(&store, both).await?),
        },
        (None, Some(file)) => replace(&store, &file).await?,
        (None, None) => anyhow::bail!("BATON_SECRET_KEY is required with PostgreSQL"),
    };
    store.close().await;
    Ok(rotated)
}

/// The old key stays behind the new one. One that stood behind the old has nothing left to open but backups, and is told.
async fn replace(store: &Store, file: &KeyFile) -> anyhow::Result<Rotated> {
    let keys = file.keys()?;
    let old = *keys.first().context("there is no key")?;
    let unopened = |seals: &[Seals]| seals.iter().map(|seals| seals.unopened).sum::<usize>();
    let before = seal_with(store, &keys).await?;
    ensure!(
        keys.len() == 1 || unopened(&before) == 0,
        "{} secrets cannot be opened with any key in {}: enter them again first",
        unopened(&before),
        file.path().display()
    );
    let new = random()?;
    // The file first: a reader of what is sealed with the new key finds it there.
    file.replace(&[new, old])?;
    let seals = seal_with(store, &[new, old]).await?;
    let dropped = keys.get(1).map(|key| text_of(&[*key]));
    Ok(Rotated::Replaced { seals, path: file.path().to_owned(), dropped })
}

async fn seal_with(store: &Store, keys: &[Key]) -> anyhow::Result<Vec<Seals>> {
    let vault = Vault::new(keys).context("BATON_SECRET_KEY cannot be used")?;
    Ok(store.reseal(|sealed| vault.reseal(sealed)).await?)
}
