//! What somebody does to the database of PostgreSQL under a running instance: another shape of its tables, rights, a migration.

use std::{pin::pin, sync::Arc};

use futures_util::{future::join_all, poll};
use sqlx::Connection as _;

use super::{
    by_key, opened, push,
    store::{Heard, by_its_own_clock, create, remove, server},
};
use crate::{
    adapters::sql::migrator,
    flow::ledger::{Error, Work, change},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_changes_its_shape_under_a_running_instance_costs_nobody_a_step() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    store.migrate().await.expect("it takes the migrations");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let push = |text: &'static str| change(&*ledger, opened(1), by_key(text), push(text));
    for text in ["a", "b", "c"] {
        push(text).await.expect("stored");
    }
    assert_eq!(ledger.due(Work::Turn, 10).await.expect("a list"), []);

    for collation in ["POSIX", "C"] {
        let alter = format!(
            "alter table conversations alter id type text collate \"{collation}\";
             alter table messages alter text type text collate \"{collation}\""
        );
        let mut other = sqlx::PgConnection::connect_with(&server().database(&name)).await.expect("connected");
        sqlx::raw_sql(sqlx::AssertSqlSafe(alter)).execute(&mut other).await.expect("altered");
        let again = join_all((0..20).map(|_| push("a"))).await;
        assert!(again.iter().all(|stored| stored.as_ref().is_ok_and(|seq| *seq == 1)), "{again:?}");
        // Who only reads may fail once, and finds no other connection that is as old.
        let mut failures = 0;
        for _ in 0..10 {
            match ledger.due(Work::Turn, 10).await {
                Ok(due) => assert_eq!(due, []),
                Err(Error::Unavailable(_)) => failures += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(failures <= 1, "{failures}");
    }
    drop(ledger);
    store.close().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_took_no_changes_is_left_behind_when_it_does_again() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    store.migrate().await.expect("it takes the migrations");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let push = |text: &'static str| change(&*ledger, opened(1), by_key(text), push(text));
    push("a").await.expect("stored");
    let mut other = sqlx::PgConnection::connect_with(&server().database(&name)).await.expect("connected");
    let mut sets = async |setting: &str| {
        let alter = format!(
            "alter database {name} set default_transaction_read_only = {setting};
             select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() and {setting}"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(alter)).execute(&mut other).await.expect("altered");
    };
    sets("true").await;
    for _ in 0..3 {
        let refused = push("b").await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        store.is_migrated().await.expect_err("nothing can be done there");
    }
    sets("false").await;
    // Connections from before stay as they were opened; who only looks at them leaves them behind as well.
    let first = store.is_migrated().await;
    assert!(first.is_err() || matches!(first, Ok(true)), "{first:?}");
    assert!(store.is_migrated().await.expect("another connection"));
    assert_eq!(push("b").await.expect("stored"), 2);
    drop(ledger);
    store.close().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_somebody_took_away_are_no_fault_of_the_data() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    store.migrate().await.expect("it takes the migrations");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let push = |text: &'static str| change(&*ledger, opened(1), by_key(text), push(text));
    push("a").await.expect("stored");
    let alter = async |statement: &'static str| {
        sqlx::query(statement).execute(&store.pool).await.expect("altered");
    };
    alter("alter table messages rename to elsewhere").await;
    let refused = push("b").await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    alter("alter table elsewhere rename to messages").await;
    assert_eq!(push("b").await.expect("stored"), 2);
    drop(ledger);
    store.close().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_index_holds_is_compared_byte_by_byte() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    store.migrate().await.expect("it takes the migrations");
    let by_language = "select i.indexrelid::regclass::text from pg_index i, unnest(i.indkey, i.indcollation) k (column_number, compared)
        where k.compared not in (0, '\"C\"'::regcollation) and k.column_number > 0
        and (select relnamespace from pg_class where oid = i.indrelid) = 'public'::regnamespace";
    let found = sqlx::query_scalar::<_, String>(by_language).fetch_all(&store.pool).await.expect("a list");
    assert_eq!(found, [""; 0]);
    store.close().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_missing_are_told_from_a_server_that_does_not_say() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    assert!(!store.is_migrated().await.expect("it was never touched"));
    sqlx::query("create table _sqlx_migrations ()").execute(&store.pool).await.expect("made");
    store.is_migrated().await.expect_err("nobody can tell");
    sqlx::query("drop table _sqlx_migrations").execute(&store.pool).await.expect("gone");
    store.migrate().await.expect("it takes the migrations");
    assert!(store.is_migrated().await.expect("it was asked before"));
    store.close().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_must_wait_holds_up_nobody_who_serves() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    store.migrate().await.expect("it takes the migrations");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let push = |text: String| change(&*ledger, opened(1), by_key(text.clone()), push(text));
    // As a backup by other tools holds all tables, for as long as it takes.
    let mut dump = store.pool.begin().await.expect("begun");
    sqlx::query("lock table messages in access share mode").execute(&mut *dump).await.expect("held");
    let newer = migrator([("wide", "lock table messages; alter table messages add wide text")]);
    sqlx::query("delete from _sqlx_migrations").execute(&store.pool).await.expect("known by this one alone");
    let mut migrating = pin!(store.apply(&newer));
    for number in 0..20 {
        assert!(poll!(&mut migrating).is_pending(), "the tables are held");
        push(number.to_string()).await.expect("stored");
        sqlx::query("select pg_sleep(0.05)").execute(&mut *dump).await.expect("a moment passes");
    }
    dump.commit().await.expect("done");
    migrating.await.expect("migrated");
    assert_eq!(push("after".to_owned()).await.expect("stored"), 21);
    drop(ledger);
    store.close().await;
    remove(&name).await;
}
