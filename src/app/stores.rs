//! Which database: the places over it, from its address.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail};

use super::{
    key_file::{KeyFile, with_cure},
    vault::{Vault, random},
};
use crate::{
    adapters::{
        backup,
        postgres::Postgres,
        sqlite::{AlreadyServing, ServerLock, Sqlite},
        write_health,
    },
    config::Settings,
    flow::{
        back_office::vault::Vault as _,
        clock::StoreClock,
        forgetting::tombstones::{KEY_BYTES, Tombstones},
        ledger::{Error, Ledger, Observer},
        places::Places,
    },
};

/// After a full disk, less room than this is none yet: the next message may be longer than what has gone.
const SPARE: u64 = 1 << 20;

/// The same of either database.
macro_rules! on {
    ($self:expr, $store:ident => $same:expr) => {
        match $self {
            Store::Postgres($store) => $same,
            Store::Sqlite($store) => $same,
        }
    };
}
pub(super) use on;

/// A database, connected.
#[derive(Clone)]
pub(super) enum Store {
    /// For many instances.
    Postgres(Postgres),
    /// For one.
    Sqlite(Sqlite),
}

impl Store {
    /// Connects to the database of the settings.
    pub(super) async fn connect(settings: &Settings) -> anyhow::Result<Self> {
        let url = settings.database_url.expose();
        let clock = Arc::new(StoreClock);
        if settings.is_postgres() {
            let postgres = Postgres::connect(url, settings.database_pool, clock)
                .await
                .context("PostgreSQL cannot be reached (BATON_DATABASE_URL)")?;
            return Ok(Self::Postgres(postgres));
        }
        let sqlite = Sqlite::connect(url, clock).await.with_context(|| {
            let told = format!("the database file of {url} cannot be opened (BATON_DATABASE_URL)");
            Sqlite::path_of(url).map_or(told.clone(), |path| with_cure(told, &path))
        })?;
        Ok(Self::Sqlite(sqlite))
    }

    /// Connects to a database that is there: a command in the wrong folder makes no new one.
    pub(super) async fn connect_existing(settings: &Settings) -> anyhow::Result<Self> {
        if let Some(path) = Sqlite::path_of(settings.database_url.expose())
            && !path.exists()
        {
            let path = std::path::absolute(&path).unwrap_or(path);
            bail!(
                "there is no database at {} (BATON_DATABASE_URL): is this the server's folder?",
                path.display()
            );
        }
        Self::connect(settings).await
    }

    /// Brings the tables up to date.
    pub(super) async fn migrate(&self) -> anyhow::Result<()> {
        let outcome = on!(self, store => store.migrate().await);
        outcome.with_context(|| self.with_cure("the database cannot be migrated"))
    }

    /// Whether every migration of this program was applied.
    pub(super) async fn is_migrated(&self) -> anyhow::Result<bool> {
        let outcome = on!(self, store => store.is_migrated().await);
        outcome.context("the database does not answer")
    }

    /// Refuses to continue with a part of a backup: with a customer who is missing, it would start over.
    pub(super) async fn require_whole(&self) -> anyhow::Result<()> {
        let looking = self.is_half_restored();
        let found = match self {
            Self::Postgres(postgres) => postgres.while_nobody_migrates(looking).await,
            Self::Sqlite(_) => Ok(looking.await),
        };
        if found.context("the database does not answer")?.context("the database does not answer")? {
            bail!(
                "a restore into this database did not finish, so it holds only a part: `baton restore FILE --again` \
                 empties it and begins anew"
            );
        }
        Ok(())
    }

    /// Whether a restore has begun here and not ended.
    pub(super) async fn is_half_restored(&self) -> Result<bool, Error> {
        on!(self, store => backup::is_half_done(store).await)
    }

    /// Refuses to continue with tables of another version.
    pub(super) async fn require_migrated(&self) -> anyhow::Result<()> {
        if !self.is_migrated().await? {
            bail!(
                "the database is not up to date: run `baton migrate`, or `baton serve` without --no-migrate"
            );
        }
        Ok(())
    }

    /// Keeps a second server away from a SQLite file, until it is dropped; nothing to keep away on PostgreSQL.
    pub(super) fn lock(&self) -> anyhow::Result<Option<ServerLock>> {
        match self {
            Self::Postgres(_) => Ok(None),
            Self::Sqlite(sqlite) => {
                let taken = ServerLock::take(sqlite.path());
                taken.map(Some).map_err(|error| match error {
                    AlreadyServing::Unusable(path, error) => anyhow::Error::new(error)
                        .context(with_cure(format!("cannot lock {}", path.display()), &path)),
                    held @ AlreadyServing::Held(_) => held.into(),
                })
            }
        }
    }

    /// After a start on SQLite, whatever the process before had in hand is nobody's. A PostgreSQL database may have been moved.
    pub(super) async fn recover(&self) -> anyhow::Result<()> {
        match self {
            Self::Postgres(_) => self.raise_xact_offset().await,
            Self::Sqlite(sqlite) => {
                let outcome = sqlite.recover().await;
                outcome.with_context(|| self.with_cure("what the last run left cannot be resumed"))
            }
        }
    }

    /// Lets the feed continue above what was there before the database was moved.
    pub(super) async fn raise_xact_offset(&self) -> anyhow::Result<()> {
        if let Self::Postgres(postgres) = self
            && postgres
                .raise_xact_offset()
                .await
                .context("whether the database was moved could not be determined")?
        {
            tracing::warn!("the database was moved to another server; its feed continues where it was");
        }
        Ok(())
    }

    /// Where conversations are changed. Starts the writers on this runtime.
    pub(super) fn ledger(&self, observer: Arc<dyn Observer>) -> Arc<dyn Ledger> {
        on!(self, store => store.ledger(observer))
    }

    /// All other places.
    pub(super) fn places(&self) -> Arc<dyn Places> {
        on!(self, store => Arc::new(store.clone()))
    }

    /// How removed messages are known. The key is random and kept sealed, so that what was removed stays known whatever
    /// becomes of the key that seals it. Where none opens, that one was lost: what was removed before is not known any more.
    pub(super) async fn tombstones(&self, vault: &Vault) -> anyhow::Result<Tombstones> {
        let erasures = self.places();
        for _ in 0..2 {
            let kept = erasures.tombstone_keys().await?;
            let opened = kept.iter().find_map(|sealed| vault.open(sealed)?.try_into().ok());
            if let Some(key) = opened {
                return Ok(Tombstones::new(&key));
            }
            if !kept.is_empty() {
                tracing::warn!(
                    "{} does not open the key that recognises late webhooks of erased messages: they would be taken for new",
                    vault.source()
                );
            }
            let sealed =
                vault.seal(&random::<KEY_BYTES>()?).context("the key of tombstones cannot be encrypted")?;
            erasures.keep_tombstone_key(kept.len(), sealed).await?;
        }
        bail!("another instance works on this database with another BATON_SECRET_KEY")
    }

    /// Connections that there may be for readers, and those in use: the writers keep theirs, and would hide that no other is
    /// available. How many are open says nothing: they are opened as they are needed.
    pub(super) fn connections(&self) -> (u32, u32) {
        match self {
            Self::Postgres(postgres) => places(&postgres.pool),
            Self::Sqlite(sqlite) => places(&sqlite.reader),
        }
    }

    /// Tries whether anything can be written.
    pub(super) async fn try_to_write(&self) -> anyhow::Result<()> {
        let outcome = on!(self, store => write_health::touch(store).await);
        outcome.with_context(|| self.with_cure("nothing can be written"))
    }

    /// What went wrong, and what to do if the files are somebody else's.
    fn with_cure(&self, told: &str) -> String {
        match self {
            Self::Postgres(_) => told.to_owned(),
            Self::Sqlite(sqlite) => with_cure(told.to_owned(), sqlite.path()),
        }
    }

    /// Refuses if what comes could not be kept, though all that is there can be read.
    pub(super) fn require_writable(&self) -> Result<(), sqlx::Error> {
        match self {
            Self::Postgres(postgres) => postgres.write_health.require_writable(),
            Self::Sqlite(sqlite) => {
                sqlite.require_in_place().and_then(|()| sqlite.write_health.require_writable())
            }
        }
    }

    /// Looks whether what comes can still be kept, and whether it can be again. What is wrong says so itself, once.
    pub(super) async fn watch(&self) {
        match self {
            Self::Postgres(postgres) => postgres.write_health.recheck(postgres).await,
            Self::Sqlite(sqlite) => {
                // The log may have a little room left where nothing else has.
                if sqlite.require_in_place().is_ok()
                    && free_bytes(sqlite.path()).is_none_or(|free| free >= SPARE)
                {
                    sqlite.write_health.recheck(sqlite).await;
                }
            }
        }
    }

    /// Closes every connection, when those in use are given back.
    pub(super) async fn close(&self) {
        on!(self, store => store.close().await)
    }

    /// Where the data is, for people.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Postgres(_) => "PostgreSQL".to_owned(),
            Self::Sqlite(sqlite) => std::path::absolute(sqlite.path())
                .unwrap_or_else(|_| sqlite.path().to_owned())
                .display()
                .to_string(),
        }
    }

    /// The vault under the key of the settings; next to a SQLite file a key is made before the first start.
    pub(super) async fn vault(&self, settings: &Settings) -> anyhow::Result<Vault> {
        self.require_key_file(settings).await?;
        self.vault_anew(settings)
    }

    /// The same for a server, which starts in any case: what comes is stored and answered without what it cannot open.
    pub(super) async fn vault_of_server(&self, settings: &Settings) -> anyhow::Result<Vault> {
        if let Some(path) = self.missed_key_file(settings).await? {
            tracing::error!(
                "there was no key file at {}, nor is BATON_SECRET_KEY set: a new key was made there, which opens nothing that \
                 was encrypted before. Stop, put the old one there, and restart; if it is lost, enter the tokens of channels \
                 again",
                path.display()
            );
        }
        self.vault_anew(settings)
    }

    fn vault_anew(&self, settings: &Settings) -> anyhow::Result<Vault> {
        let vault = match (&settings.secret_key, self.key_file()) {
            (Some(keys), _) => Vault::new(keys.expose()),
            (None, Some(file)) => {
                let keys = file.keys()?;
                Vault::of_file(file, &keys)
            }
            (None, None) => bail!("BATON_SECRET_KEY is required with PostgreSQL"),
        };
        vault.context("BATON_SECRET_KEY cannot be used")
    }

    /// Whether there is a key. Next to a SQLite file one would be made.
    pub(super) fn has_key(&self, settings: &Settings) -> bool {
        settings.secret_key.is_some() || self.key_file().is_some_and(|file| file.exists())
    }

    /// Where no key file is though something here is encrypted: one that is made now would open none of it.
    async fn missed_key_file(&self, settings: &Settings) -> anyhow::Result<Option<PathBuf>> {
        let missing = self.key_file().filter(|file| settings.secret_key.is_none() && !file.exists());
        let Some(file) = missing else { return Ok(None) };
        let is_missed = !self.places().tombstone_keys().await?.is_empty();
        Ok(is_missed.then(|| file.path().to_owned()))
    }

    /// Refuses to make a key where there was another: it would look as if the right one were there.
    pub(super) async fn require_key_file(&self, settings: &Settings) -> anyhow::Result<()> {
        if let Some(path) = self.missed_key_file(settings).await? {
            bail!(
                "there is no key file at {}, nor is BATON_SECRET_KEY set, and something here is encrypted: put the file back, \
                 or set the key as the server has it; if it is lost, start `baton serve`, which makes another",
                path.display()
            );
        }
        Ok(())
    }

    /// Refuses to continue, while a server is running, with another key than its own: nobody would recognise what a command
    /// removed, and what it cannot open it would leave. Before the first start there is none yet, whichever it will be.
    pub(super) async fn require_key(&self, settings: &Settings) -> anyhow::Result<()> {
        let kept = self.places().tombstone_keys().await?;
        if kept.is_empty() {
            return Ok(());
        }
        let vault = self.vault(settings).await?;
        if !kept.iter().any(|sealed| vault.open(sealed).is_some()) {
            bail!(
                "what is encrypted here cannot be opened with any key that is set here ({}): set it as the server has it; if \
                 its key is lost, start `baton serve` with another one first",
                vault.source()
            );
        }
        Ok(())
    }

    /// Where the key is that belongs to a SQLite file.
    pub(super) fn key_file(&self) -> Option<KeyFile> {
        match self {
            Self::Postgres(_) => None,
            Self::Sqlite(sqlite) => Some(KeyFile::at(sqlite.key_path())),
        }
    }
}

/// What is free on the disk of that file, if its system says so.
fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Connections that a pool may have, and those of it in use.
fn places<D: sqlx::Database>(pool: &sqlx::Pool<D>) -> (u32, u32) {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    (pool.options().get_max_connections(), pool.size().saturating_sub(idle))
}
