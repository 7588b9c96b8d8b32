//! SQLite: the store for one server on one machine.
//!
//! In: a path. Out: [`Sqlite`], one connection that writes and a few that read, over which each place is one more `impl`.

mod ledger;

mod migrate;

mod recover;

mod backup;

mod statements;

mod open_file;

mod owner;

mod server_lock;

pub(crate) use owner::{cure, folder_of, leave_to_owner};
pub use server_lock::{AlreadyServing, ServerLock};

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use sqlx::{
    Connection as _, Executor as _, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use self::open_file::OpenFile;
use super::{ErrorClass, write_health::WriteHealth};
use crate::{
    domain::time::Time,
    flow::{clock::Clock, places::Places},
};

/// How long short writers of other processes (commands of the shell) are waited for.
const BUSY: Duration = Duration::from_secs(5);

/// Longest wait for a connection: the writer is handed from batch to batch in milliseconds.
const ACQUIRE: Duration = Duration::from_secs(5);

/// How long cutting the log off waits for readers; writers wait meanwhile.
const CUT: Duration = Duration::from_millis(100);

/// The write-ahead log is cut to this many bytes once all of it is in the file: it grows for as long as somebody reads, a backup
/// say, and would keep that size for good.
const LOG_MAX_BYTES: u32 = 64 * 1024 * 1024;

/// Connections that read.
const READERS: u32 = 4;

/// Others that look for work, and whether there can be any.
const LEDGER_READERS: u32 = 2;

/// The database, open.
#[derive(Debug, Clone)]
pub struct Sqlite {
    /// The one connection that writes. Transactions begin with `begin immediate`: a deferred one that reads first
    /// fails at once when another process wrote meanwhile, whatever the busy timeout.
    pub(crate) writer: SqlitePool,
    /// Connections that only read; they never wait for the writer.
    pub(crate) reader: SqlitePool,
    /// The same for the ledger's own looks, and for whoever asks whether this instance can work: people who read much take
    /// none of these.
    pub(crate) ledger: SqlitePool,
    file: Arc<OpenFile>,
    /// Whether what is written finds any.
    pub(crate) write_health: WriteHealth,
    clock: Arc<dyn Clock>,
}

impl Places for Sqlite {}

impl Sqlite {
    /// The file that such an address names; None if it is not the address of a file.
    pub fn path_of(url: &str) -> Option<PathBuf> {
        let options = url.strip_prefix("sqlite:").map(|_| url.parse::<SqliteConnectOptions>())?;
        options.ok().map(|options| options.get_filename().to_owned())
    }

    /// Opens `sqlite://path` or `sqlite:path`, and creates the file and its folder if there are none.
    pub async fn connect(url: &str, clock: Arc<dyn Clock>) -> Result<Self, sqlx::Error> {
        if url.contains(":memory:") || url.contains("mode=memory") {
            return Err(sqlx::Error::Configuration("a database in memory keeps nothing; name a file".into()));
        }
        let options: SqliteConnectOptions = url.parse()?;
        let path = options.get_filename().to_owned();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        require_its_log(&path)?;
        make_private(&path)?;
        let file = Arc::new(OpenFile::at(&path)?);
        let written = Arc::clone(&file);
        let options = options
            .filename(file.path())
            // It is there. A later connection finds this file, or none.
            .create_if_missing(false)
            .journal_mode(SqliteJournalMode::Wal)
            // In WAL, FULL reaches the disk at each commit: what was acknowledged survives a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            // sqlx 0.9.0: after an error at which SQLite rolls back by itself (a full disk), its connection takes itself for
            // being in a transaction for ever.
            .before_acquire(|connection, _| Box::pin(std::future::ready(Ok(!connection.is_in_transaction()))))
            .after_connect(move |_, _| Box::pin(std::future::ready(written.require())))
            // Never closed for its age: of a file that was removed, this may be all that is left.
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(ACQUIRE)
            .connect_with(
                options
                    .clone()
                    // What is removed is overwritten: the pages of the file keep none of it.
                    .pragma("secure_delete", "on")
                    .pragma("journal_size_limit", LOG_MAX_BYTES.to_string()),
            )
            .await?;
        let options = options.read_only(true);
        let reader = readers(READERS, &file).connect_with(options.clone()).await?;
        let ledger = readers(LEDGER_READERS, &file).connect_lazy_with(options);
        Ok(Self { writer, reader, ledger, file, write_health: WriteHealth::default(), clock })
    }

    /// The moment: SQLite has no server whose clock could differ from ours.
    pub(crate) fn now(&self) -> Time {
        self.clock.now().unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Where its key is.
    pub(crate) fn key_path(&self) -> PathBuf {
        self.file.key()
    }

    /// Refuses to continue if that file is not in its place any more.
    pub(crate) fn require_in_place(&self) -> Result<(), sqlx::Error> {
        self.file.require()
    }

    /// Begins to write, if the file is in its place.
    async fn begin_writing(&self) -> Result<Transaction<'static, sqlx::Sqlite>, sqlx::Error> {
        self.require_in_place()?;
        self.writer.begin_with("begin immediate").await
    }

    /// Folds the log into the file and cuts it off: it still holds what has been removed since. On a connection of its own, that
    /// waits for no reader for long.
    async fn cut_log(&self) -> Result<(), sqlx::Error> {
        self.require_in_place()?;
        let options = SqliteConnectOptions::new().filename(self.path()).busy_timeout(CUT);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection.execute("pragma wal_checkpoint(truncate)").await?;
        connection.close().await
    }

    /// Closes every connection, when those in use are given back.
    pub async fn close(&self) {
        self.reader.close().await;
        self.ledger.close().await;
        // Last, so that the one who leaves the write-ahead log behind folds it into the file.
        self.writer.close().await;
    }
}

fn readers(connections_max: u32, file: &Arc<OpenFile>) -> SqlitePoolOptions {
    let file = Arc::clone(file);
    SqlitePoolOptions::new()
        .max_connections(connections_max)
        .test_before_acquire(false)
        .after_connect(move |_, _| Box::pin(std::future::ready(file.require())))
        .acquire_timeout(ACQUIRE)
}

/// A log without its database holds what was written last, and a new database there would have it overwritten.
fn require_its_log(path: &Path) -> Result<(), sqlx::Error> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let is_left = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    if path.exists() || !is_left {
        return Ok(());
    }
    let told = format!(
        "it is not there, but {} is, with what was written to it last: put the database back next to it, or move that away too",
        log.display()
    );
    Err(sqlx::Error::Configuration(told.into()))
}

/// Customers' words are for the owner of the file alone. SQLite gives the files next to it the same mode.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(file) => {
            leave_to_owner(&file, path);
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a result code asks for. Extended codes hold the primary one in their low byte.
pub(crate) fn class_of(code: &str) -> ErrorClass {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    // Memory, read-only, input or output, corrupt, full, cannot open, protocol, not a database.
    const LOST: [i32; 8] = [7, 8, 10, 11, 13, 14, 15, 26];
    match code.parse::<i32>().map(|code| code & 0xff) {
        Ok(BUSY | LOCKED) => ErrorClass::Busy,
        Ok(code) if LOST.contains(&code) => ErrorClass::Lost,
        Ok(_) => ErrorClass::Data,
        Err(_) => ErrorClass::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::test_stores;

    #[tokio::test]
    async fn a_log_that_grew_while_somebody_read_is_cut_once_they_have_read() {
        let (store, _folder) = test_stores::sqlite().await;
        let mut log = store.path().as_os_str().to_owned();
        log.push("-wal");
        let log_bytes = || std::fs::metadata(&log).expect("the log is there").len();
        let write = async |sql: &'static str| store.writer.execute(sql).await.map(drop).expect("written");
        write("create table much (bytes blob)").await;
        let mut reading = store.reader.begin().await.expect("a picture");
        reading.execute("select count(*) from much").await.expect("taken");
        write("insert into much values (zeroblob(80 * 1024 * 1024))").await;
        assert!(log_bytes() > u64::from(LOG_MAX_BYTES), "the reader holds it");
        reading.rollback().await.expect("ended");
        // The first folds it into the file, the second begins it again.
        write("insert into much values (null)").await;
        write("insert into much values (null)").await;
        assert_eq!(log_bytes(), u64::from(LOG_MAX_BYTES));
    }
}
