//! A program of a newer version has migrated the database: one of this version that runs goes on, and one that starts serves.

use sqlx::{
    AssertSqlSafe, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

use super::{Shared, over_both_stores, row, store::Database, sweep};
use crate::{
    adapters::migrations::{migrations, newest},
    flow::ledger::Work,
};

over_both_stores!(what_a_newer_version_adds_costs_this_one_no_step,);

const TABLES_OF_POSTGRES: &str = "select table_name::text from information_schema.tables
    where table_schema = 'public' and table_name not like '\\_sqlx%'";

const TABLES_OF_SQLITE: &str = "select name from sqlite_schema
    where type = 'table' and name not like '\\_sqlx%' escape '\\' and name not like 'sqlite%'";

/// To each table, columns that this version neither reads nor fills.
async fn a_newer_version_migrates(store: &Shared) {
    let (tables, known) = match &store.database {
        Database::Postgres { .. } => (store.texts(TABLES_OF_POSTGRES).await, migrations!("postgres")),
        Database::Sqlite { .. } => (store.texts(TABLES_OF_SQLITE).await, migrations!("sqlite")),
    };
    assert!(tables.len() > 20, "{tables:?}");
    let widen = |table: &String| {
        format!(
            "alter table {table} add column newer_words text;
             alter table {table} add column newer_number integer not null default 0;"
        )
    };
    let sql: String = tables.iter().map(widen).collect();
    let sql = AssertSqlSafe(sql).into_sql_str();
    let newer = Migration::new(newest(&known) + 1, "newer".into(), MigrationType::Simple, sql, false);
    let all = Migrator::with_migrations(known.iter().cloned().chain([newer]).collect());
    let applied = match &store.database {
        Database::Postgres { store, .. } => store.apply(&all).await,
        Database::Sqlite { store, .. } => store.apply(&all).await,
    };
    applied.expect("the newer one starts");
}

async fn what_a_newer_version_adds_costs_this_one_no_step(store: Shared) {
    // Its connections have seen the tables as they were.
    assert_eq!(store.push(2, "before").await.expect("stored"), 1);
    sweep(&*store.ledger, Work::Turn, 10).await.expect("a list");
    a_newer_version_migrates(&store).await;
    for (text, seq) in [("after", 2), ("again", 3), ("before", 1)] {
        assert_eq!(store.push(2, text).await.expect("stored"), seq, "{text}");
    }
    let is_migrated = match &store.database {
        Database::Postgres { store, .. } => {
            store.migrate().await.expect("it starts");
            store.is_migrated().await
        }
        Database::Sqlite { store, .. } => {
            store.migrate().await.expect("it starts");
            store.is_migrated().await
        }
    };
    assert!(is_migrated.expect("it can be told"), "there is nothing that it lacks");
    row::everything_saved_is_loaded_again(store).await;
}
