//! Both dialects of the migrations make the same tables, columns and indexes.

use std::collections::BTreeMap;

use super::{postgres, sqlite};

/// Of each column, by table and name: what it holds, and whether it may be null.
type Tables = BTreeMap<(String, String), (String, bool)>;

const OF_POSTGRES: &str = "select table_name, column_name, data_type, is_nullable = 'YES' \
    from information_schema.columns where table_schema = 'public' and table_name not like '\\_sqlx%'";

/// A primary key of text is not null in PostgreSQL; SQLite says so only of the key itself.
const OF_SQLITE: &str = "select t.name, c.name, c.type, c.\"notnull\" = 0 and c.pk = 0 \
    from sqlite_schema t join pragma_table_info(t.name) c \
    where t.type = 'table' and t.name not like '\\_sqlx%' escape '\\' and t.name not like 'sqlite%'";

const INDEXES_OF_POSTGRES: &str = "select indexname from pg_indexes where schemaname = 'public' \
    and indexname not like '%\\_pkey' and indexname not like '%\\_key' or indexname = 'messages_key' order by 1";

const INDEXES_OF_SQLITE: &str =
    "select name from sqlite_schema where type = 'index' and name not like 'sqlite%' order by 1";

/// The name that both types have here.
fn kind(of: &str) -> String {
    match of.to_ascii_lowercase().as_str() {
        // SQLite has no booleans; a column that holds one is a number.
        "bigint" | "boolean" | "integer" => "number",
        "bytea" | "blob" => "bytes",
        "text" => "text",
        other => panic!("a column of type {other}"),
    }
    .to_owned()
}

fn tables(rows: Vec<(String, String, String, bool)>) -> Tables {
    rows.into_iter().map(|(table, column, of, null)| ((table, column), (kind(&of), null))).collect()
}

#[tokio::test]
async fn both_dialects_have_the_same_tables_columns_and_indexes() {
    let (pg, database) = postgres().await;
    let (lite, _folder) = sqlite().await;
    let mut of_postgres =
        tables(sqlx::query_as(OF_POSTGRES).fetch_all(&pg.pool).await.expect("the columns of PostgreSQL"));
    let of_sqlite = tables(sqlx::query_as(OF_SQLITE).fetch_all(&lite.reader).await.expect("those of SQLite"));
    let transaction = of_postgres.remove(&("events".to_owned(), "xact".to_owned()));
    assert!(transaction.is_some(), "PostgreSQL orders the feed by transaction; nothing else may differ");
    assert!(of_postgres.len() > 100, "only {} columns were found", of_postgres.len());
    assert_eq!(of_postgres, of_sqlite);

    let of_postgres: Vec<String> =
        sqlx::query_scalar(INDEXES_OF_POSTGRES).fetch_all(&pg.pool).await.expect("the indexes of PostgreSQL");
    let of_sqlite: Vec<String> =
        sqlx::query_scalar(INDEXES_OF_SQLITE).fetch_all(&lite.reader).await.expect("those of SQLite");
    assert!(of_postgres.len() > 20, "only {} indexes were found", of_postgres.len());
    assert_eq!(of_postgres, of_sqlite);
    lite.close().await;
    database.remove(pg).await;
}
