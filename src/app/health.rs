//! Whether this instance can do its work: what `/readyz` says.

use std::time::Duration;

use async_trait::async_trait;
use execution::redis_server::Server;
use tokio::{sync::Mutex, time::Instant};

use super::stores::Store;
use crate::http::ports::{self, Readiness};

/// Looking at the database for `/readyz` takes at most this long.
const LOOK: Duration = Duration::from_secs(1);

/// How long the last result is answered: strangers ask as often as they like, and the ledger's own connections are few.
const SEEN: Duration = Duration::from_secs(1);

/// What it goes by.
pub(super) struct Health {
    store: Store,
    redis: Option<Server>,
    /// When the database was looked at last, and whether it was migrated. Held by the one who looks.
    seen: Mutex<Option<(Instant, Option<bool>)>>,
}

impl Health {
    pub(super) fn of(store: Store, redis: Option<Server>) -> Self {
        Self { store, redis, seen: Mutex::default() }
    }

    /// Whether the database is migrated; None: it does not answer. Those who ask while somebody looks are told the same.
    async fn migrated(&self) -> Option<bool> {
        let mut seen = self.seen.lock().await;
        if let Some((_, migrated)) = seen.filter(|(at, _)| at.elapsed() < SEEN) {
            return migrated;
        }
        let store = self.store.clone();
        // On a task of its own: a call to the store is never dropped half-way.
        let looking = tokio::spawn(async move { store.is_migrated().await });
        let migrated = match tokio::time::timeout(LOOK, looking).await {
            Ok(Ok(Ok(is_migrated))) => Some(is_migrated),
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => None,
        };
        *seen = Some((Instant::now(), migrated));
        migrated
    }
}

#[async_trait]
impl ports::Health for Health {
    async fn look(&self) -> Readiness {
        let migrated = match self.store.require_writable() {
            Ok(()) => self.migrated().await,
            Err(_) => None,
        };
        Readiness { migrated, redis: self.redis.as_ref().map(Server::is_up) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;
    use sqlx::Executor as _;
    use uuid::Uuid;

    use super::*;
    use crate::{
        adapters::test_stores::{self, NOW},
        domain::turn::{DeadLetter, LetterKind},
        flow::ledger::{Held, Work},
        http::ports::Health as _,
    };

    #[tokio::test]
    async fn an_instance_whose_database_is_full_is_not_ready_until_there_is_room() {
        let (sqlite, _folder) = test_stores::sqlite().await;
        let health = Health::of(Store::Sqlite(sqlite.clone()), None);
        let ledger = sqlite.ledger(Arc::new(crate::flow::instance::dispatch::Dispatch::default()));
        let keep = async || {
            let payload = Value::from("a long letter. ".repeat(10_000)).into();
            let letter = DeadLetter { payload, ..test_stores::letter("shop", LetterKind::Webhook, NOW) };
            ledger.keep(Vec::new(), vec![letter]).await
        };
        let is_ready = async || health.look().await.migrated == Some(true);
        assert!(keep().await.is_ok() && is_ready().await);
        // As on a full disk: what is there may be changed, and nothing added.
        sqlite.writer.execute("pragma max_page_count = 1").await.expect("as large as it is");
        assert!(keep().await.is_err() && !is_ready().await);
        sqlite.writer.execute("pragma max_page_count = 1000000").await.expect("larger");
        assert!(!is_ready().await, "nobody has tried yet");
        health.store.watch().await;
        assert!(is_ready().await && keep().await.is_ok());
    }

    #[tokio::test]
    async fn whoever_asks_for_readiness_again_and_again_has_the_database_looked_at_once_a_second() {
        let (sqlite, _folder) = test_stores::sqlite().await;
        let health = Health::of(Store::Sqlite(sqlite.clone()), None);
        let is_ready = async || health.look().await.migrated == Some(true);
        assert!(is_ready().await);
        sqlite.close().await;
        tokio::time::pause();
        assert!(is_ready().await, "nobody has looked since");
        tokio::time::advance(SEEN).await;
        assert!(!is_ready().await);
    }

    /// Ready, and told what is due, while every connection of those who read is in use.
    async fn works_on<D: sqlx::Database>(readers: &sqlx::Pool<D>, store: Store) {
        let mut taken = Vec::new();
        for _ in 0..readers.options().get_max_connections() {
            taken.push(readers.acquire().await.expect("a connection"));
        }
        let ledger = store.ledger(Arc::new(crate::flow::instance::dispatch::Dispatch::default()));
        let due = ledger.due(Work::Turn, &["shop".to_owned()], 10).await.expect("looked");
        assert!(due.is_empty());
        let standings = ledger.standings(&[Held { conversation: Uuid::now_v7(), fence: 1 }], None).await;
        assert!(standings.is_ok_and(|none| none.is_empty()));
        let health = Health::of(store, None);
        assert_eq!(health.look().await.migrated, Some(true));
    }

    #[tokio::test]
    async fn whoever_reads_much_keeps_neither_readiness_nor_work_from_being_looked_at() {
        let (sqlite, _folder) = test_stores::sqlite().await;
        works_on(&sqlite.reader, Store::Sqlite(sqlite.clone())).await;
        let (postgres, database) = test_stores::postgres().await;
        works_on(&postgres.pool, Store::Postgres(postgres.clone())).await;
        database.remove(postgres).await;
    }
}
