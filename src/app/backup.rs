//! `baton backup`: everything that a database holds, in one file.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use super::{
    key_file::{KeyFile, text_of},
    output::Output,
    stores::Store,
    vault::{Key, Vault, random},
};
use crate::{
    adapters::{
        backup::{self, LockedKeys, PartFile, Resealed, Saved, Seals},
        sqlite::{Sqlite, folder_of},
    },
    config::{Passphrase, Settings},
    flow::back_office::vault::Vault as _,
};

/// The table whose seals nobody can enter again.
const TOMBSTONES: &str = "tombstone_keys";
/// The same of answers that are kept for requests that come again.
const KEPT_ANSWERS: &str = "kept_answers";

/// Where a backup goes.
#[derive(Debug)]
pub enum Destination {
    /// Into a file, in place of one that is there if that is wanted.
    File {
        /// Which.
        path: PathBuf,
        /// One that is there may be written over.
        replaces: bool,
    },
    /// To the reader of our output.
    Output,
}

/// Writes a backup, while the server is running. With a passphrase, the keys of what is encrypted go with it.
pub async fn backup(
    settings: &Settings,
    to: Destination,
    passphrase: Option<&Passphrase>,
) -> anyhow::Result<Saved> {
    // Before the database is opened: to open and close its file again would free what SQLite has locked of it.
    if let Destination::File { path, .. } = &to {
        refuse_another_file(settings, path)?;
    }
    let store = Store::connect_existing(settings).await?;
    store.require_whole().await?;
    store.require_migrated().await.context("before an upgrade, make the backup with the earlier program")?;
    let keys = match passphrase {
        Some(words) => Some(locked(&proven_keys(&store, settings).await?, words)?),
        None => None,
    };
    let saved = match to {
        Destination::File { path, replaces } => {
            let file = PartFile::begin(&path, replaces)?;
            let saved = store.save(keys, &file).await;
            let saved = saved.with_context(|| format!("{} was not made", path.display()))?;
            file.end().with_context(|| format!("{} cannot be written", path.display()))?;
            saved
        }
        Destination::Output => store.save(keys, Output::of_this_process()?).await?,
    };
    store.close().await;
    Ok(saved)
}

/// Refuses a place that is the server's own, and one where another file lies than an earlier backup: that is all that
/// `--force` is for. An empty file holds nothing.
fn refuse_another_file(settings: &Settings, place: &Path) -> anyhow::Result<()> {
    let told = place.display();
    ensure!(
        !own_files(settings).contains(&settled(place)),
        "{told} is a file of the server's own: name another one"
    );
    if fs::metadata(place).is_ok_and(|found| found.len() > 0) {
        let is_backup = File::open(place).is_ok_and(|file| {
            let begun = backup::Read::begin(file);
            !matches!(begun, Err(backup::Error::NoBackup | backup::Error::Io(_)))
        });
        ensure!(
            is_backup,
            "{told} is there already, and is not a backup of Baton that can be read: name another place"
        );
    }
    Ok(())
}

/// The files of a server on SQLite, whether they are there or not.
fn own_files(settings: &Settings) -> Vec<PathBuf> {
    let Some(path) = Sqlite::path_of(settings.database_url.expose()) else { return Vec::new() };
    let database = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
    let beside = ["", "-wal", "-shm", "-journal", ".lock"].map(|ending| {
        let mut name = database.clone().into_os_string();
        name.push(ending);
        name.into()
    });
    beside.into_iter().chain([&database, &path].map(|path| settled(&path.with_extension("key")))).collect()
}

/// Where a file is or would be, past all links.
fn settled(place: &Path) -> PathBuf {
    let would_be = || Some(fs::canonicalize(folder_of(place)).ok()?.join(place.file_name()?));
    fs::canonicalize(place).ok().or_else(would_be).unwrap_or_else(|| place.to_owned())
}

/// The current keys, if they open everything: after a restore there are no others. A shell may have other ones than the server.
async fn proven_keys(store: &Store, settings: &Settings) -> anyhow::Result<Vec<Key>> {
    if !store.has_key(settings) {
        bail!(
            "there is no key for what is encrypted: set BATON_SECRET_KEY as the server has it, or put the key file next to \
             the database"
        );
    }
    let keys = keys_of(store, settings)?;
    let vault = Vault::new(&keys).context("BATON_SECRET_KEY cannot be used")?;
    let opens = |sealed: &[u8]| vault.open(sealed).is_some();
    let seals =
        store.reseal(|sealed| if opens(sealed) { Resealed::Kept } else { Resealed::Unopened }).await?;
    // Of a key that was lost before, those of tombstones stay for good, and one that opens is enough; answers to requests go
    // within a day.
    let is_missed = |seals: &&Seals| match seals.table {
        TOMBSTONES => seals.kept == 0,
        KEPT_ANSWERS => false,
        _ => true,
    };
    let unopened: usize = seals.iter().filter(is_missed).map(|seals| seals.unopened).sum();
    ensure!(
        unopened == 0,
        "{unopened} secrets cannot be opened with any key that is set here: set BATON_SECRET_KEY as the server has it; if \
         their key is lost, enter them again first"
    );
    Ok(keys)
}

/// The current keys: of the settings, else next to the file, where the first is made if there is none.
pub(super) fn keys_of(store: &Store, settings: &Settings) -> anyhow::Result<Vec<Key>> {
    if let Some(keys) = &settings.secret_key {
        return Ok(keys.expose().to_vec());
    }
    let file = store.key_file().context("BATON_SECRET_KEY is required with PostgreSQL")?;
    KeyFile::keys(&file)
}

fn locked(keys: &[Key], passphrase: &Passphrase) -> anyhow::Result<LockedKeys> {
    let salt = random::<16>()?;
    let vault = Vault::of_passphrase(passphrase, &salt, Vault::by());
    let sealed = vault.and_then(|vault| vault.seal(text_of(keys).as_bytes()));
    let sealed = sealed.context("the machine cannot make a key of the passphrase")?;
    Ok(LockedKeys { by: Vault::by().to_owned(), salt: hex::encode(salt), sealed: hex::encode(sealed) })
}

/// The keys in a backup; None if these are not the words that locked them.
pub(super) fn unlocked(keys: &LockedKeys, passphrase: &Passphrase) -> Option<Vec<Key>> {
    let (salt, sealed) = (hex::decode(&keys.salt).ok()?, hex::decode(&keys.sealed).ok()?);
    let plain = Vault::of_passphrase(passphrase, &salt, &keys.by)?.open(&sealed)?;
    let keys: crate::config::SecretKeys = std::str::from_utf8(&plain).ok()?.parse().ok()?;
    Some(keys.expose().to_vec())
}
