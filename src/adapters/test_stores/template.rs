//! Databases of tests on a PostgreSQL server: copied from one that was migrated once, which takes a fraction of the time that
//! each would take. `tests/it` has this file as well.

use std::{fs, path::Path};

use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, error::DatabaseError};

/// What PostgreSQL says of a template that is not there: no such database.
const NOT_THERE: &str = "3D000";

/// The server of the tests: a URL with a database of it.
pub(crate) fn server() -> String {
    std::env::var("TEST_DATABASE_URL")
        .expect("TEST_DATABASE_URL names no PostgreSQL server; `cargo xtask test` starts one and sets it")
}

/// Another database of that server.
pub(crate) fn url(server: &str, name: &str) -> String {
    let (server, _) = server.rsplit_once('/').expect("a URL with the name of a database");
    format!("{server}/{name}")
}

/// Makes or removes a database.
pub(crate) async fn administer(server: &str, statement: &str) {
    let mut connection = PgConnection::connect(server).await.expect("the server answers");
    run(&mut connection, statement).await.expect("databases can be made and removed");
    connection.close().await.expect("the connection closes");
}

/// A database with the newest tables and nothing in them. `migrate` brings the one at that URL to them, and leaves it.
pub(crate) async fn copy(server: &str, name: &str, migrate: impl AsyncFnOnce(&str)) {
    let mut connection = PgConnection::connect(server).await.expect("the server answers");
    let template = template();
    let copy = format!("create database {name} template {template}");
    let mut copied = run(&mut connection, &copy).await;
    if let Err(error) = &copied
        && error.as_database_error().and_then(DatabaseError::code).as_deref() == Some(NOT_THERE)
    {
        make(&mut connection, server, &template, migrate).await;
        copied = run(&mut connection, &copy).await;
    }
    copied.expect("databases can be made");
    connection.close().await.expect("the connection closes");
}

/// Made under another name: whoever finds the template finds it whole. Tests run side by side, and one makes it.
async fn make(connection: &mut PgConnection, server: &str, template: &str, migrate: impl AsyncFnOnce(&str)) {
    run(connection, "select pg_advisory_lock(7309453)").await.expect("the only one");
    let is_there = sqlx::query("select from pg_database where datname = $1").bind(template);
    if is_there.fetch_optional(&mut *connection).await.expect("the list of databases").is_some() {
        return;
    }
    let draft = format!("{template}_draft");
    for statement in
        [format!("drop database if exists {draft} with (force)"), format!("create database {draft}")]
    {
        run(connection, &statement).await.expect("databases can be made and removed");
    }
    migrate(&url(server, &draft)).await;
    let rename = format!("alter database {draft} rename to {template}");
    run(connection, &rename).await.expect("nobody is in it any more");
}

async fn run(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(statement.to_owned())).await.map(drop)
}

/// By the texts of the migrations: one that changes makes another template.
fn template() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let entries = fs::read_dir(&folder).expect("the migrations are there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut texts = Sha256::new();
    for file in files {
        texts.update(fs::read(file).expect("it can be read"));
    }
    format!("baton_template_{}", hex::encode(&texts.finalize()[..8]))
}
