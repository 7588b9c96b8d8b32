//! On PostgreSQL the order of transactions is not that of what happened in a conversation.

use uuid::Uuid;

use super::{added, delivered, endpoint, gathered};
use crate::{
    adapters::test_stores::{self, NOW, TestStore},
    domain::{endpoint::Endpoint, event::EventType},
    flow::notify::endpoints::Endpoints,
};

/// A transaction that has its number, as one has that waits for a conversation's row.
async fn numbered(pool: &sqlx::PgPool) -> sqlx::PgTransaction<'static> {
    let mut transaction = pool.begin().await.expect("a transaction");
    for first in ["set local idle_in_transaction_session_timeout = 0", "select pg_current_xact_id()"] {
        sqlx::query(first).execute(&mut *transaction).await.expect("it is numbered");
    }
    transaction
}

/// Writes the next event of that conversation.
async fn writes(transaction: &mut sqlx::PgTransaction<'_>, of: Uuid, number: i64, kind: EventType) {
    let insert = "insert into events (at, channel, conversation_id, conv_seq, actor, kind, details) \
        values ($1, 'shop', $2, $3, 'system', $4, '{}')";
    let insert = sqlx::query(insert).bind(NOW.0).bind(of.to_string()).bind(number).bind(kind.as_str());
    insert.execute(&mut **transaction).await.expect("an event");
}

/// Delivers what is due, until nothing is. The numbers of the events.
async fn told<S: TestStore>(store: &S, id: Uuid) -> Vec<i64> {
    let mut told = Vec::new();
    loop {
        let due = store.due(id, 9).await.expect("read");
        if due.is_empty() {
            return told;
        }
        for due in due {
            told.extend(due.event.as_ref().and_then(|recorded| recorded.event.conv_seq));
            store.settle(&due, &delivered()).await.expect("written");
        }
    }
}

#[tokio::test]
async fn what_happened_first_in_a_conversation_is_told_first_whichever_transaction_is_older() {
    let (store, database) = test_stores::postgres().await;
    let id = added(&store, Endpoint { events: Some(vec![EventType::MessageSent]), ..endpoint() }).await;
    let mei = Uuid::now_v7();
    let mut early = numbered(&store.pool).await;
    let running = numbered(&store.pool).await;
    let mut late = numbered(&store.pool).await;
    writes(&mut late, mei, 1, EventType::MessageSent).await;
    writes(&mut late, mei, 2, EventType::MessageSent).await;
    late.commit().await.expect("commits");
    writes(&mut early, mei, 3, EventType::TurnStarted).await;
    writes(&mut early, mei, 4, EventType::MessageSent).await;
    early.commit().await.expect("commits");

    // The feed ends before the one that still runs, and so before what happened first.
    gathered(&store, id, 1).await;
    assert_eq!(told(&store, id).await, [1, 2, 4]);

    running.rollback().await.expect("ends");
    let mut last = numbered(&store.pool).await;
    writes(&mut last, mei, 5, EventType::MessageSent).await;
    last.commit().await.expect("commits");
    gathered(&store, id, 4).await;
    assert_eq!(told(&store, id).await, [5], "nothing is told twice");
    database.remove(store).await;
}
