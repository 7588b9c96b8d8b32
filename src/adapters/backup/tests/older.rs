//! Backups of the first migrations' tables, taken in by the program of today.

use super::*;
use crate::adapters::sql::Statement;

/// The migration after which turns have a third purpose, and the type of their column is another.
const DRAFTS: i64 = 9;

/// Rows of the spine, as its first version kept them.
async fn fill_the_spine<D: Movable>(store: &D) {
    for statement in [
        Statement::new(
            "insert into channels (name, provider, sealed, created_at, updated_at) values ('shop', 'green_api', $1, 1, 1)",
        )
        .with(Some(vec![9, 9])),
        Statement::new(
            "insert into conversations (id, channel, chat_id, mode, mode_version, mode_reason, mode_actor,
                 mode_changed_at, status, seq, event_seq, fence, contact_seq, our_seq, read_seq, unread, created_at, updated_at)
             values ('c', 'shop', '1@c.us', 'AI', 1, 'rollout', 'system', 1, 'open', 0, 0, 0, 0, 0, 0, 0, 1, 1)",
        ),
        Statement::new(
            "insert into messages (id, conversation_id, channel, seq, author, origin, kind, text, at, state, mode_version,
                 gate, lane, due_at, idempotency_key, unclear, open)
             values ('m', 'c', 'shop', 1, 'assistant', 'turn', 'text', 'Hello', 1, 'unknown', 1, 'assistant', 'reply', 1,
                 'i', $1, $1)",
        )
        .with(true),
        Statement::new(
            "insert into turns (id, conversation_id, state, purpose, mode_version, fence, last_seq, is_final, messages,
                 attempt, started_at, ended_at, model, input_tokens, output_tokens, wasted)
             values ('t', 'c', 'completed', 'follow_up', 1, 1, 1, $1, '[]', 1, 1, 2, 'm', 3, 4, $1)",
        )
        .with(false),
        Statement::new("insert into events (at, channel, actor, kind, details) values (1, 'shop', 'system', 'x', '{}')"),
    ] {
        store.write(statement).await.expect("the row is sound");
    }
}

/// An older backup, into a database of this kind that has no tables.
async fn comes_up_to_date<D: Movable>(file: &[u8], to: &D) {
    loaded(to, file).await;
    let held = held(&saved(to).await);
    let row = |table: &str| serde_json::from_str::<Value>(&held[table][0]).expect("a row");
    assert_eq!(row("messages")["unclear"], 1, "it was a flag, and is a number");
    assert_eq!((&row("turns")["purpose"], &row("turns")["wasted"]), (&"follow_up".into(), &0.into()));
    assert_eq!((&row("channels")["sealed"], &row("channels")["sends"]), (&"0909".into(), &0.into()));
    assert_eq!(row("conversations")["stamp"], 0);
    let draft = Statement::new("update turns set purpose = 'draft'");
    assert_eq!(to.write(draft).await.expect("every check is that of today"), 1);
}

async fn of_the_first_version<D: Movable>(from: &D) -> Vec<u8> {
    from.migrate_to(1).await.expect("the first version");
    fill_the_spine(from).await;
    let file = saved(from).await;
    assert_eq!(verify(&*file).expect("whole").0.schema, 1);
    file
}

#[tokio::test]
async fn a_backup_of_the_first_version_comes_up_to_date_in_either_database() {
    let (lite, _folder) = bare_sqlite().await;
    let (pg, database) = bare_postgres().await;
    for file in [of_the_first_version(&lite).await, of_the_first_version(&pg).await] {
        let (to, _folder) = bare_sqlite().await;
        comes_up_to_date(&file, &to).await;
        let (to, database) = bare_postgres().await;
        comes_up_to_date(&file, &to).await;
        database.remove(to).await;
    }
    database.remove(pg).await;
}

#[tokio::test]
async fn every_version_in_between_comes_up_to_date_too() {
    let (newest, _folder) = bare_sqlite().await;
    let file = of_the_first_version(&newest).await;
    for schema in [2, DRAFTS - 1, DRAFTS] {
        let (between, _folder) = bare_sqlite().await;
        loaded_at(&between, &file, schema).await;
        let (to, database) = bare_postgres().await;
        comes_up_to_date(&saved(&between).await, &to).await;
        database.remove(to).await;
    }
}

async fn loaded_at<D: Movable>(store: &D, file: &[u8], schema: i64) {
    let (_, read) = Read::begin(file).expect("it begins");
    load(store, 1, read).await.expect("loaded");
    store.migrate_to(schema).await.expect("migrated");
    renew(store, "anew", "another").await.expect("renewed");
}
