//! A store of either kind with nothing in it, and a way past the ledger to look and to meddle.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgTransaction, Row as _,
    postgres::PgConnectOptions,
};
use uuid::Uuid;

use super::{NOW, by_key, opened, push};
use crate::{
    adapters::{
        postgres::Postgres,
        sqlite::Sqlite,
        test_stores::{self, template},
    },
    domain::{
        docket::Docket,
        event::{Event, EventType},
    },
    flow::{
        back_office::registry::Registry,
        clock::{Clock, ManualClock, StoreClock},
        ledger::{Committed, Error, Key, Ledger, Need, Observer, change},
    },
};

/// One store, one ledger over it.
pub(super) struct Store {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) heard: Arc<Heard>,
    pub(super) database: Database,
}

/// The store itself.
pub(super) enum Database {
    Postgres { store: Postgres, name: String },
    Sqlite { store: Sqlite, _folder: tempfile::TempDir },
}

/// Everything the observer was told.
#[derive(Default)]
pub(super) struct Heard(Mutex<Vec<Committed>>, Mutex<Vec<EventType>>);

impl Heard {
    pub(super) fn all(&self) -> Vec<Committed> {
        self.0.lock().expect("no panic while it is held").clone()
    }

    /// Of no conversation.
    pub(super) fn kept(&self) -> Vec<EventType> {
        self.1.lock().expect("no panic while it is held").clone()
    }
}

impl Observer for Heard {
    fn committed(&self, commits: &[Committed]) {
        self.0.lock().expect("no panic while it is held").extend_from_slice(commits);
    }

    fn kept(&self, events: &[Event]) {
        self.1.lock().expect("no panic while it is held").extend(events.iter().map(|event| event.kind));
    }
}

impl Store {
    /// Runs a step on a chat that begins if it must.
    pub(super) async fn change<T, F>(&self, key: Key, need: Need, step: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Fn(&mut Docket) -> T + Send + Sync + 'static,
    {
        change(&*self.ledger, key, need, step).await
    }

    /// Stores a message of the contact.
    pub(super) async fn push(&self, chat: usize, text: impl Into<String>) -> Result<i64, Error> {
        let text = text.into();
        self.change(opened(chat), by_key(text.clone()), push(text)).await
    }

    /// The id of a chat's conversation, begun if it must.
    pub(super) async fn conversation(&self, chat: usize) -> Uuid {
        self.change(opened(chat), Need::default(), |docket| docket.conversation.id).await.expect("it begins")
    }

    /// Another ledger over the same store, as another instance has it.
    pub(super) fn another(&self, observer: Arc<dyn Observer>) -> Arc<dyn Ledger> {
        match &self.database {
            Database::Postgres { store, .. } => store.ledger(observer),
            Database::Sqlite { store, .. } => store.ledger(observer),
        }
    }

    /// One whole number, past the ledger.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        let text = AssertSqlSafe(sql.to_owned());
        let number: Result<i64, sqlx::Error> = match &self.database {
            Database::Postgres { store, .. } => {
                sqlx::query(text).fetch_one(&store.pool).await.and_then(|row| row.try_get(0))
            }
            Database::Sqlite { store, .. } => {
                sqlx::query(text).fetch_one(&store.reader).await.and_then(|row| row.try_get(0))
            }
        };
        number.unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// Runs a statement past the ledger.
    pub(super) async fn execute(&self, sql: &str) -> Result<(), sqlx::Error> {
        let text = AssertSqlSafe(sql.to_owned());
        match &self.database {
            Database::Postgres { store, .. } => store.pool.execute(text).await.map(drop),
            Database::Sqlite { store, .. } => store.writer.execute(text).await.map(drop),
        }
    }

    /// Removes the channel, as the API does. Whether it could be.
    pub(super) async fn remove_channel(&self) -> bool {
        let removed = match &self.database {
            Database::Postgres { store, .. } => Registry::remove_channel(store, "main").await,
            Database::Sqlite { store, .. } => Registry::remove_channel(store, "main").await,
        };
        removed.expect("it can be asked")
    }

    /// The channel is there again.
    pub(super) async fn add_channel(&self) {
        self.execute(CHANNEL).await.expect("a channel");
    }

    /// A list of words, past the ledger.
    pub(super) async fn texts(&self, sql: &'static str) -> Vec<String> {
        let texts: Result<Vec<String>, sqlx::Error> = match &self.database {
            Database::Postgres { store, .. } => sqlx::query_scalar(sql).fetch_all(&store.pool).await,
            Database::Sqlite { store, .. } => sqlx::query_scalar(sql).fetch_all(&store.reader).await,
        };
        texts.unwrap_or_else(|e| panic!("{sql}: {e}"))
    }
}

/// The server of the tests, as its administrator.
pub(super) fn server() -> PgConnectOptions {
    template::server().parse().expect("TEST_DATABASE_URL is a URL of PostgreSQL")
}

fn name() -> String {
    format!("ledger_{}", Uuid::now_v7().simple())
}

/// The channel that all conversations of these tests are on.
const CHANNEL: &str = "insert into channels (name, provider, state, created_at, updated_at)
    values ('main', 'sandbox', 'authorized', 0, 0)";

/// A database with nothing but a channel in its tables.
pub(super) async fn create() -> String {
    let name = name();
    template::copy(&template::server(), &name, test_stores::migrate).await;
    let mut hands = PgConnection::connect_with(&server().database(&name)).await.expect("connected");
    hands.execute(CHANNEL).await.expect("a channel");
    hands.close().await.expect("closed");
    name
}

/// One without tables.
pub(super) async fn create_bare() -> String {
    let name = name();
    template::administer(&template::server(), &format!("create database {name}")).await;
    name
}

/// Removes it, whoever is connected.
pub(super) async fn remove(name: &str) {
    template::administer(&template::server(), &format!("drop database {name} with (force)")).await;
}

/// Runs a test over PostgreSQL, and removes its database whatever comes of it.
pub(super) async fn on_postgres<F>(test: impl FnOnce(Arc<Store>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let name = create().await;
    let clock = Arc::new(ManualClock::at(NOW));
    let store = Postgres::open(server().database(&name), 8, Arc::clone(&clock) as Arc<dyn Clock>)
        .await
        .expect("the database can be opened");
    let heard = Arc::new(Heard::default());
    let ledger = store.ledger(Arc::clone(&heard) as Arc<dyn Observer>);
    let database = Database::Postgres { store, name: name.clone() };
    let outcome = tokio::spawn(test(Arc::new(Store { ledger, clock, heard, database }))).await;
    remove(&name).await;
    resume(outcome);
}

/// Runs a test over SQLite, in a folder that goes with it.
pub(super) async fn on_sqlite<F>(test: impl FnOnce(Arc<Store>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let url = format!("sqlite://{}", folder.path().join("deeper/baton.db").display());
    let store =
        Sqlite::connect(&url, Arc::clone(&clock) as Arc<dyn Clock>).await.expect("the file can be opened");
    store.migrate().await.expect("it takes the migrations");
    store.writer.execute(CHANNEL).await.expect("a channel");
    let heard = Arc::new(Heard::default());
    let ledger = store.ledger(Arc::clone(&heard) as Arc<dyn Observer>);
    let database = Database::Sqlite { store, _folder: folder };
    resume(tokio::spawn(test(Arc::new(Store { ledger, clock, heard, database }))).await);
}

fn resume(outcome: Result<(), tokio::task::JoinError>) {
    if let Err(error) = outcome {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// PostgreSQL by its own clock.
pub(super) async fn by_its_own_clock(name: &str) -> Postgres {
    Postgres::open(server().database(name), 8, Arc::new(StoreClock))
        .await
        .expect("the database can be opened")
}

/// A transaction that no limit of ours ends, as somebody at a console has it.
pub(super) async fn at_a_console(store: &Postgres) -> PgTransaction<'static> {
    let mut transaction = store.pool.begin().await.expect("begun");
    let unlimited = sqlx::query("set local idle_in_transaction_session_timeout = 0");
    unlimited.execute(&mut *transaction).await.expect("set");
    transaction
}

/// Fails a test that hangs.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("done in time")
}
