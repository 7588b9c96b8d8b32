//! `baton restore`: a backup, taken into a database that holds nothing. The file is looked through whole before the database
//! is touched; until the last step is done, the database is marked, and no server starts on it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail, ensure};

use super::{
    backup::{keys_of, unlocked},
    stores::Store,
    vault::{Vault, random},
};
use crate::{
    adapters::backup::{self, Found, Head, Resealed, Seals},
    config::{Passphrase, Settings},
    domain::time::Time,
    flow::{
        back_office::{registry::Token, vault::Vault as _},
        instance::dispatch::Dispatch,
        restored::{self, Policies, Settled},
    },
};

/// A backup that was looked through, and is as it was written.
#[derive(Debug)]
pub struct Examined {
    path: PathBuf,
    head: Head,
    rows: BTreeMap<String, u64>,
}

/// What is to be done with it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions {
    /// In a database that an earlier attempt has left, start over.
    pub again: bool,
    /// The server that it was made of has not run since: what is owed has not left.
    pub moved: bool,
    /// The key in it may stay locked though there is none here: somebody was asked, and has chosen that.
    pub leaves_locked: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// What the backup held unfinished; None if it continues as it was.
    pub settled: Option<Settled>,
    /// What is encrypted.
    pub seals: Vec<Seals>,
    /// Where the key of a SQLite file is to be, if none is there.
    pub missing_key: Option<PathBuf>,
    /// Who is let in again, though the installation before may have shut them out since; nobody if it has not gone on.
    pub let_in: LetIn,
}

/// Whom a database lets in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetIn {
    /// Addresses of agents.
    pub agents: Vec<String>,
    /// Names of tokens of the API.
    pub tokens: Vec<String>,
}

/// Looks a backup through. Nothing is written, and no database is asked.
pub fn examine(path: &Path) -> anyhow::Result<Examined> {
    let told = || path.display().to_string();
    // What comes by a pipe is gone when it has been looked through.
    let is_file = fs::metadata(path).map_or(path != Path::new("-"), |found| found.is_file());
    ensure!(
        is_file,
        "{} is not a file, and a restore reads its backup twice: write it to a file first",
        told()
    );
    let (head, trailer) = backup::verify(File::open(path).with_context(told)?).with_context(told)?;
    Ok(Examined { path: path.to_owned(), head, rows: trailer.rows })
}

impl Examined {
    /// When it was begun.
    pub fn made_at(&self) -> Time {
        Time(self.head.made_at)
    }

    /// The program that made it.
    pub fn version(&self) -> &str {
        &self.head.version
    }

    /// Whether the keys of what is encrypted are in it.
    pub fn has_keys(&self) -> bool {
        self.head.keys.is_some()
    }

    /// Loads it. With the passphrase, what is encrypted is re-encrypted with the current key here.
    pub async fn restore(
        self,
        settings: &Settings,
        options: RestoreOptions,
        passphrase: Option<&Passphrase>,
    ) -> anyhow::Result<Restored> {
        let brought = match (&self.head.keys, passphrase) {
            (Some(keys), Some(words)) => {
                Some(unlocked(keys, words).context("this passphrase does not open the keys in the backup")?)
            }
            _ => None,
        };
        let store = Store::connect(settings).await?;
        let _alone = store.lock()?;
        let (schema, newest) = (self.head.schema, store.newest());
        ensure!(
            schema <= newest,
            "this backup was made by Baton {}, whose tables are newer: take that one, or a later one",
            self.head.version
        );
        require_empty(&store.look().await?, schema, options.again)?;
        let missing_key = store.key_file().filter(|file| settings.secret_key.is_none() && !file.exists());
        let missing_key = missing_key.filter(|_| brought.is_none()).map(|file| file.path().to_owned());
        ensure!(
            missing_key.is_none() || !self.has_keys() || options.leaves_locked,
            "the key of what is encrypted is in this backup, locked, and there is no other here: set BATON_BACKUP_PASSPHRASE to \
             the words with which it was made. If they are lost, set BATON_SECRET_KEY to the old installation's key, or to a \
             new one (openssl rand -hex 32), with which what is encrypted stays shut. Nothing was written"
        );
        let (_, read) = backup::Read::begin(File::open(&self.path)?)?;
        store.load(schema, read).await?;
        store.migrate().await?;
        let seals =
            store.reseal(sealing(&store, settings, brought.as_deref(), missing_key.is_some())?).await?;
        let settled = match options.moved {
            true => None,
            false => Some(settle(&store, settings, self.made_at()).await?),
        };
        let let_in = if options.moved { LetIn::default() } else { let_in(&store).await? };
        let id = hex::encode(random::<16>()?);
        // Where nothing has gone on, what was missed was answered by nobody.
        let generation = match options.moved {
            true => hex::encode(random::<4>()?),
            false => restored::generation_at(super::now()),
        };
        store.renew(&id, &generation).await?;
        store.close().await;
        Ok(Restored { rows: self.rows, settled, seals, missing_key, let_in })
    }
}

/// Only into a database that holds nothing, or what an earlier attempt has left.
fn require_empty(found: &Found, schema: i64, again: bool) -> anyhow::Result<()> {
    if found.is_half_done && !again {
        bail!(
            "a restore into this database did not finish, or still runs: `--again` empties it and begins anew"
        );
    }
    if !found.is_half_done && !found.rows.is_empty() {
        let told: Vec<String> =
            found.rows.iter().map(|(table, rows)| format!("{} ({rows})", table.replace('_', " "))).collect();
        bail!(
            "this database is not empty, and a backup goes only into an empty one: it holds {}",
            told.join(", ")
        );
    }
    ensure!(
        found.schema <= schema,
        "the tables of this database are newer than the backup: take a database that has none yet"
    );
    Ok(())
}

/// What becomes of each sealed value: for the key that holds here, if the keys that it was sealed with are at hand.
fn sealing(
    store: &Store,
    settings: &Settings,
    brought: Option<&[super::vault::Key]>,
    has_no_key: bool,
) -> anyhow::Result<impl FnMut(&[u8]) -> Resealed + Send + use<>> {
    // Without a key, none is made either: the old one may be put there yet.
    let vault = if has_no_key {
        None
    } else {
        let mut keys = keys_of(store, settings)?;
        keys.extend(brought.unwrap_or_default());
        Some(Vault::new(&keys).context("BATON_SECRET_KEY cannot be used")?)
    };
    let is_brought = brought.is_some();
    Ok(move |sealed: &[u8]| match &vault {
        Some(vault) if is_brought => vault.reseal(sealed),
        Some(vault) if vault.open(sealed).is_some() => Resealed::Kept,
        _ => Resealed::Unopened,
    })
}

async fn settle(store: &Store, settings: &Settings, made_at: Time) -> anyhow::Result<Settled> {
    let common = settings.policy()?;
    let mut by_channel = BTreeMap::new();
    for row in store.places().channels().await? {
        by_channel.insert(row.name, settings.overlay(&common, &row.settings)?);
    }
    let conversations = store.unfinished().await?;
    let ledger = store.ledger(Arc::new(Dispatch::default()));
    let policies = Policies { by_channel, common };
    Ok(restored::settle_all(&*ledger, &conversations, policies, made_at).await?)
}

async fn let_in(store: &Store) -> anyhow::Result<LetIn> {
    let agents = store.places().agents().await?;
    let agents: Vec<_> = agents.into_iter().filter(|agent| !agent.is_disabled).collect();
    let now = super::now();
    let opens = |token: &Token| {
        let is_somebodys = token.agent.is_none_or(|id| agents.iter().any(|agent| agent.id == id));
        is_somebodys && token.expires_at.is_none_or(|end| end > now)
    };
    let tokens = store.places().all_tokens().await?.into_iter().filter(opens);
    let tokens = tokens.map(|token| token.name).collect();
    Ok(LetIn { agents: agents.into_iter().map(|agent| agent.email).collect(), tokens })
}
