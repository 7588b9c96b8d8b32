//! What somebody does to the database of PostgreSQL under a running instance: another shape of its tables, rights, a migration.

use std::sync::Arc;

use futures_util::{future::join_all, poll};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{
    by_key, opened, push,
    store::{Heard, at_a_console, by_its_own_clock, create, remove, server},
    sweep,
};
use crate::{
    adapters::{migrations::migrator, postgres::Postgres},
    flow::ledger::{Error, Ledger, Work, change},
};

/// An instance that serves, on a database of its own.
struct Instance {
    name: String,
    store: Postgres,
    ledger: Arc<dyn Ledger>,
    hands: PgConnection,
}

impl Instance {
    async fn start() -> Self {
        let name = create().await;
        let store = by_its_own_clock(&name).await;
        let ledger = store.ledger(Arc::new(Heard::default()));
        let hands = PgConnection::connect_with(&server().database(&name)).await.expect("connected");
        Self { name, store, ledger, hands }
    }

    async fn push(&self, text: &str) -> Result<i64, Error> {
        change(&*self.ledger, opened(1), by_key(text), push(text)).await
    }

    async fn is_refused(&self, text: &str) {
        let refused = self.push(text).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    }

    async fn by_hand(&mut self, statements: impl Into<String>) {
        sqlx::raw_sql(AssertSqlSafe(statements.into())).execute(&mut self.hands).await.expect("done");
    }

    async fn end(self) {
        drop(self.ledger);
        self.store.close().await;
        remove(&self.name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_changes_its_shape_under_a_running_instance_costs_nobody_a_step() {
    let mut instance = Instance::start().await;
    for text in ["a", "b", "c"] {
        instance.push(text).await.expect("stored");
    }
    assert_eq!(sweep(&*instance.ledger, Work::Turn, 10).await.expect("a list"), []);

    for collation in ["POSIX", "C"] {
        let alter = format!(
            "alter table conversations alter id type text collate \"{collation}\";
             alter table messages alter text type text collate \"{collation}\""
        );
        instance.by_hand(alter).await;
        let again = join_all((0..20).map(|_| instance.push("a"))).await;
        assert!(again.iter().all(|stored| stored.as_ref().is_ok_and(|seq| *seq == 1)), "{again:?}");
        // Who only reads may fail once, and finds no other connection that is as old.
        let mut failures = 0;
        for _ in 0..10 {
            match sweep(&*instance.ledger, Work::Turn, 10).await {
                Ok(due) => assert_eq!(due, []),
                Err(Error::Unavailable(_)) => failures += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(failures <= 1, "{failures}");
    }
    instance.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_took_no_changes_is_left_behind_when_it_does_again() {
    let mut instance = Instance::start().await;
    instance.push("a").await.expect("stored");
    let set = format!("alter database {} set default_transaction_read_only = ", instance.name);
    let others_end = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()";
    instance.by_hand(format!("{set} true; {others_end}")).await;
    for _ in 0..3 {
        instance.is_refused("b").await;
        instance.store.is_migrated().await.expect_err("nothing can be done there");
    }
    instance.by_hand(format!("{set} false")).await;
    // Connections from before stay as they were opened; who only looks at them leaves them behind as well.
    let first = instance.store.is_migrated().await;
    assert!(first.is_err() || matches!(first, Ok(true)), "{first:?}");
    assert!(instance.store.is_migrated().await.expect("another connection"));
    assert_eq!(instance.push("b").await.expect("stored"), 2);
    instance.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_somebody_took_away_are_no_fault_of_the_data() {
    let mut instance = Instance::start().await;
    instance.push("a").await.expect("stored");
    instance.by_hand("alter table messages rename to elsewhere").await;
    instance.is_refused("b").await;
    instance.by_hand("alter table elsewhere rename to messages").await;
    assert_eq!(instance.push("b").await.expect("stored"), 2);
    instance.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_index_holds_is_compared_byte_by_byte() {
    let mut instance = Instance::start().await;
    let by_language = "select i.indexrelid::regclass::text
        from pg_index i, unnest(i.indkey, i.indcollation) k (column_number, compared)
        where k.compared not in (0, '\"C\"'::regcollation) and k.column_number > 0
        and (select relnamespace from pg_class where oid = i.indrelid) = 'public'::regnamespace";
    let found = sqlx::query_scalar::<_, String>(by_language).fetch_all(&mut instance.hands).await;
    assert_eq!(found.expect("a list"), [""; 0]);
    instance.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_missing_are_told_from_a_server_that_does_not_say() {
    let mut instance = Instance::start().await;
    assert!(instance.store.is_migrated().await.expect("it is"));
    instance.by_hand("alter table _sqlx_migrations rename to elsewhere").await;
    assert!(!instance.store.is_migrated().await.expect("it was never touched"));
    instance.by_hand("create table _sqlx_migrations ()").await;
    instance.store.is_migrated().await.expect_err("nobody can tell");
    instance.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_must_wait_holds_up_nobody_who_serves() {
    let mut instance = Instance::start().await;
    instance.by_hand("delete from _sqlx_migrations").await;
    // As a backup by other tools holds all tables, for as long as it takes.
    let mut dump = at_a_console(&instance.store).await;
    sqlx::query("lock table messages in access share mode").execute(&mut *dump).await.expect("held");
    let newer = migrator([("wide", "lock table messages; alter table messages add wide text")]);
    let mut migrating = Box::pin(instance.store.apply(&newer));
    for number in 0..20 {
        assert!(poll!(&mut migrating).is_pending(), "the tables are held");
        instance.push(&number.to_string()).await.expect("stored");
        sqlx::query("select pg_sleep(0.05)").execute(&mut *dump).await.expect("a moment passes");
    }
    dump.commit().await.expect("done");
    migrating.await.expect("migrated");
    assert_eq!(instance.push("after").await.expect("stored"), 21);
    instance.end().await;
}
