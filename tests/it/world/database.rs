//! One database for one test, of either kind. A process may open it, die, and another open it again.

#[path = "../../../src/adapters/test_stores/template.rs"]
mod template;

use std::sync::Arc;

use baton::{
    adapters::{postgres::Postgres, sqlite::Sqlite},
    domain::time::Time,
    flow::{
        clock::{Clock, ManualClock},
        ledger::{Ledger, Observer},
        places::Places,
    },
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) enum Database {
    /// A file in a folder that goes with the test.
    Sqlite(TempDir),
    /// A database on the server of the tests.
    Postgres { server: String, name: String },
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("a folder"))
    }

    /// The file is in memory, where the system has a folder there: what writes for most of its time, and dies only
    /// within this process, need not wait for a disk.
    pub(crate) fn sqlite_in_memory() -> Self {
        let memory = std::path::Path::new("/dev/shm");
        if memory.is_dir() {
            Self::Sqlite(tempfile::tempdir_in(memory).expect("a folder"))
        } else {
            Self::sqlite()
        }
    }

    pub(crate) async fn postgres() -> Self {
        let server = template::server();
        let name = format!("it_{}", Uuid::now_v7().simple());
        template::copy(&server, &name, migrate).await;
        Self::Postgres { server, name }
    }

    /// Where it is, as a setting says it.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite://{}", folder.path().join("baton.db").display()),
            Self::Postgres { server, name } => template::url(server, name),
        }
    }

    /// Opens it as a process does when it starts.
    pub(crate) async fn open(&self, clock: Arc<dyn Clock>) -> Store {
        let url = self.url();
        match self {
            Self::Sqlite(_) => {
                let store = Sqlite::connect(&url, clock).await.expect("the file can be opened");
                store.migrate().await.expect("it takes the migrations");
                Store::Sqlite(store)
            }
            Self::Postgres { .. } => {
                let store = Postgres::connect(&url, 8, clock).await.expect("the database can be opened");
                store.migrate().await.expect("it takes the migrations");
                Store::Postgres(store)
            }
        }
    }

    /// Takes what was being sent when a process died for what was never tried, as a careless start would.
    pub(crate) async fn queue_again(&self) {
        assert!(matches!(self, Self::Sqlite(_)), "only ever done to SQLite");
        let mut connection = SqliteConnection::connect(&self.url()).await.expect("the file can be opened");
        for statement in [
            "update conversations set send_at = 0
             where id in (select conversation_id from messages where state = 'sending')",
            "update messages set state = 'queued' where state = 'sending'",
        ] {
            connection.execute(statement).await.expect("the row can be changed");
        }
        connection.close().await.expect("the connection closes");
    }

    /// Every column, by table, that holds these words anywhere.
    pub(crate) async fn finds(&self, words: &str) -> Vec<String> {
        let url = self.url();
        let mut found = Vec::new();
        match self {
            Self::Sqlite(_) => {
                let mut connection = SqliteConnection::connect(&url).await.expect("the file can be opened");
                let columns: Vec<(String, String)> = sqlx::query_as(
                    "select t.name, c.name from sqlite_schema t join pragma_table_info(t.name) c
                     where t.type = 'table' and t.name not like '\\_sqlx%' escape '\\'",
                )
                .fetch_all(&mut connection)
                .await
                .expect("its columns");
                for (table, column) in columns {
                    let count =
                        format!("select count(*) from {table} where instr(cast({column} as text), $1) > 0");
                    let count = sqlx::query_scalar::<_, i64>(AssertSqlSafe(count)).bind(words);
                    if count.fetch_one(&mut connection).await.expect("a count") > 0 {
                        found.push(format!("{table}.{column}"));
                    }
                }
                connection.close().await.expect("the connection closes");
            }
            Self::Postgres { .. } => {
                let mut connection = PgConnection::connect(&url).await.expect("the server answers");
                let columns: Vec<(String, String, String)> = sqlx::query_as(
                    "select table_name::text, column_name::text, data_type::text from information_schema.columns
                     where table_schema = 'public' and table_name not like '\\_sqlx%'",
                )
                .fetch_all(&mut connection)
                .await
                .expect("its columns");
                for (table, column, kind) in columns {
                    let text = match kind.as_str() {
                        "bytea" => format!("encode({column}, 'escape')"),
                        _ => format!("{column}::text"),
                    };
                    let count = format!("select count(*) from {table} where position($1 in {text}) > 0");
                    let count = sqlx::query_scalar::<_, i64>(AssertSqlSafe(count)).bind(words);
                    if count.fetch_one(&mut connection).await.expect("a count") > 0 {
                        found.push(format!("{table}.{column}"));
                    }
                }
                connection.close().await.expect("the connection closes");
            }
        }
        found
    }

    /// Whether these words stand in a file of it, where that is one of ours to keep: also where no row holds them any more.
    pub(crate) fn is_in_file(&self, words: &str) -> bool {
        let Self::Sqlite(folder) = self else { return false };
        ["baton.db", "baton.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(folder.path().join(name)).expect("the files of an open database");
            bytes.windows(words.len()).any(|piece| piece == words.as_bytes())
        })
    }

    /// Removes it. A test that fails leaves it behind, to be looked at.
    pub(crate) async fn remove(self) {
        if let Self::Postgres { server, name } = self {
            // A process that was killed has not said goodbye.
            template::administer(&server, &format!("drop database {name} with (force)")).await;
        }
    }
}

/// Brings the database at that URL to the newest tables.
async fn migrate(url: &str) {
    let clock = Arc::new(ManualClock::at(Time(0)));
    let store = Postgres::connect(url, 2, clock).await.expect("the database can be opened");
    store.migrate().await.expect("it takes the migrations");
    store.close().await;
}

/// A database, open.
#[derive(Clone)]
pub(crate) enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    pub(crate) fn ledger(&self, observer: Arc<dyn Observer>) -> Arc<dyn Ledger> {
        match self {
            Self::Sqlite(store) => store.ledger(observer),
            Self::Postgres(store) => store.ledger(observer),
        }
    }

    pub(crate) fn places(&self) -> Arc<dyn Places> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(store.clone()),
        }
    }

    /// What a start finds of the process before.
    pub(crate) async fn recover(&self) {
        match self {
            Self::Sqlite(store) => store.recover().await.expect("what the last run left is taken up"),
            Self::Postgres(_) => {}
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}
