//! For tests of the stores: a fresh database of each kind for each test, and rows to put into it.

mod rows;

mod schema;

pub(crate) mod template;

use std::sync::Arc;

pub(crate) use rows::{answered, begun, event, from_contact, from_us, letter, scheduled, suggested, turn};

use super::{
    postgres::Postgres,
    rows::{ConversationRow, DraftRow, EventRow, FollowUpRow, LetterRow, MessageRow, Table, TurnRow},
    sql::{Engine, Store},
    sqlite::Sqlite,
};
use crate::{
    domain::{
        conversation::Conversation,
        docket::Clocks,
        draft::Draft,
        event::Event,
        message::Message,
        time::Time,
        turn::{DeadLetter, FollowUp, Turn},
    },
    flow::{
        clock::ManualClock,
        ledger::{Committed, Ledger, Observer},
    },
};

/// When every test takes place: 2026-01-05 08:00 UTC.
pub(crate) const NOW: Time = Time(1_767_600_000_000);

/// Runs each test, written once for any store, on both.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let (store, database) = $crate::adapters::test_stores::postgres().await;
                super::$name(&store).await;
                database.remove(store).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let (store, _folder) = $crate::adapters::test_stores::sqlite().await;
                super::$name(&store).await;
            })+
        }
    };
}

pub(crate) use on_both_stores;

/// A database on the server of the tests.
pub(crate) struct Database {
    server: String,
    name: String,
}

impl Database {
    fn new() -> Self {
        Self { server: template::server(), name: format!("t_{}", uuid::Uuid::now_v7().simple()) }
    }

    async fn open(&self) -> Postgres {
        let url = template::url(&self.server, &self.name);
        Postgres::connect(&url, 8, Arc::new(ManualClock::at(NOW))).await.expect("the database can be opened")
    }

    /// Removes it. A test that fails leaves it behind, to be looked at.
    pub(crate) async fn remove(self, store: Postgres) {
        store.close().await;
        template::administer(&self.server, &format!("drop database {}", self.name)).await;
    }
}

/// A PostgreSQL database with nothing in it.
pub(crate) async fn postgres() -> (Postgres, Database) {
    let database = Database::new();
    template::copy(&database.server, &database.name, migrate).await;
    (database.open().await, database)
}

/// One without tables.
pub(crate) async fn bare_postgres() -> (Postgres, Database) {
    let database = Database::new();
    template::administer(&database.server, &format!("create database {}", database.name)).await;
    (database.open().await, database)
}

/// Brings the database at that URL to the newest tables.
pub(crate) async fn migrate(url: &str) {
    let clock = Arc::new(ManualClock::at(NOW));
    let store = Postgres::connect(url, 2, clock).await.expect("the database can be opened");
    store.migrate().await.expect("it takes the migrations");
    store.close().await;
}

/// A SQLite file with nothing in it, in a folder that goes with the test.
pub(crate) async fn sqlite() -> (Sqlite, tempfile::TempDir) {
    let (store, folder) = bare_sqlite().await;
    store.migrate().await.expect("it takes the migrations");
    (store, folder)
}

/// One without tables.
pub(crate) async fn bare_sqlite() -> (Sqlite, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", folder.path().join("baton.db").display());
    let store = Sqlite::connect(&url, Arc::new(ManualClock::at(NOW))).await.expect("the file can be opened");
    (store, folder)
}

/// A store that a test can put rows into, past all rules.
pub(crate) trait TestStore: Store {
    /// Runs a statement with one text.
    fn put(&self, text: String, json: String) -> impl Future<Output = ()> + Send;

    /// The ledger over the same database.
    fn ledger(&self) -> Arc<dyn Ledger>;

    /// Prepares a statement without running it.
    fn prepare(&self, text: String) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Keeps rows of a table.
    fn keep<T: Table + Send>(&self, rows: Vec<T>) -> impl Future<Output = ()> + Send {
        let columns = T::COLUMNS.join(", ");
        let text = match Self::ENGINE {
            Engine::Postgres => format!(
                "insert into {0} ({columns}) select {columns} from jsonb_populate_recordset(null::{0}, $1::jsonb)",
                T::NAME
            ),
            Engine::Sqlite => {
                let values: Vec<String> =
                    T::COLUMNS.iter().map(|column| format!("value ->> '{column}'")).collect();
                format!("insert into {} ({columns}) select {} from json_each($1)", T::NAME, values.join(", "))
            }
        };
        let json = serde_json::to_string(&rows).expect("rows are JSON");
        self.put(text, json)
    }

    /// Keeps a conversation under its own chat.
    fn keep_conversation(&self, conversation: &Conversation) -> impl Future<Output = ()> + Send {
        let row = ConversationRow::of(conversation.clone(), Clocks::default(), 0);
        let (channel, chat, id) =
            (conversation.channel.clone(), conversation.chat.to_string(), conversation.id);
        async move {
            self.keep(vec![row]).await;
            self.keep_chat(&channel, &chat, id).await;
        }
    }

    /// Keeps another id of a conversation's chat.
    fn keep_chat(
        &self,
        channel: &str,
        chat: &str,
        conversation: uuid::Uuid,
    ) -> impl Future<Output = ()> + Send {
        let statement = super::sql::Statement::new(
            "insert into chats (channel, chat_id, conversation_id) values ($1, $2, $3)",
        )
        .with(channel)
        .with(chat)
        .with(conversation);
        async move {
            self.write(statement).await.expect("a new chat");
        }
    }

    /// Keeps messages of a conversation.
    fn keep_messages(&self, of: &Conversation, messages: Vec<Message>) -> impl Future<Output = ()> + Send {
        self.keep(messages.into_iter().map(|message| MessageRow::of(of.id, &of.channel, message)).collect())
    }

    /// Keeps turns of a conversation.
    fn keep_turns(&self, of: &Conversation, turns: Vec<Turn>) -> impl Future<Output = ()> + Send {
        self.keep(turns.into_iter().map(|turn| TurnRow::of(of.id, turn)).collect())
    }

    /// Keeps follow-ups of a conversation.
    fn keep_follow_ups(&self, of: &Conversation, all: Vec<FollowUp>) -> impl Future<Output = ()> + Send {
        self.keep(all.into_iter().map(|follow_up| FollowUpRow::of(of.id, follow_up)).collect())
    }

    /// Keeps drafts of a conversation.
    fn keep_drafts(&self, of: &Conversation, all: Vec<Draft>) -> impl Future<Output = ()> + Send {
        self.keep(all.into_iter().map(|draft| DraftRow::of(of.id, draft)).collect())
    }

    /// Keeps dead letters.
    fn keep_letters(&self, letters: Vec<DeadLetter>) -> impl Future<Output = ()> + Send {
        self.keep(letters.into_iter().map(LetterRow::of).collect())
    }

    /// Keeps events, in their order.
    fn keep_events(&self, events: Vec<Event>) -> impl Future<Output = ()> + Send {
        self.keep(events.into_iter().map(EventRow::of).collect())
    }
}

/// Hears of commits and makes nothing of them.
struct Deaf;

impl Observer for Deaf {
    fn committed(&self, _: &[Committed]) {}
}

macro_rules! test_store {
    ($($store:ty: $writer:ident),+) => {$(
        impl TestStore for $store {
            async fn put(&self, text: String, json: String) {
                let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(json);
                query.execute(&self.$writer).await.expect("the rows are sound");
            }

            fn ledger(&self) -> Arc<dyn Ledger> {
                Self::ledger(self, Arc::new(Deaf))
            }

            async fn prepare(&self, text: String) -> Result<(), sqlx::Error> {
                use sqlx::{Executor as _, SqlSafeStr as _};
                self.$writer.prepare(sqlx::AssertSqlSafe(text).into_sql_str()).await.map(drop)
            }
        }
    )+};
}

test_store!(Postgres: pool, Sqlite: writer);
