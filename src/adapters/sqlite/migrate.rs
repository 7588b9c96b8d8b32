//! Brings a SQLite database to the newest shape.

use sqlx::migrate::{MigrateError, Migrator};

use super::Sqlite;
use crate::adapters::migrations::{migrations, newest};

pub(super) fn migrations() -> Migrator {
    migrations!("sqlite")
}

impl Sqlite {
    /// Runs what is missing, all in one transaction: SQLite has no advisory lock, and a command of the shell may
    /// open the same new file at the same moment.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        self.apply(&migrations()).await
    }

    /// The same with these migrations alone.
    pub(crate) async fn apply(&self, migrations: &Migrator) -> Result<(), MigrateError> {
        let mut transaction = self.begin_writing().await?;
        migrations.run_direct(None, &mut *transaction, false).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Whether every migration of this program was applied. A database that was never touched has none.
    pub async fn is_migrated(&self) -> Result<bool, sqlx::Error> {
        let applied = sqlx::query_scalar::<_, i64>(
            "select version from _sqlx_migrations where success and version = $1",
        )
        .bind(newest(&migrations()))
        .fetch_optional(&self.ledger)
        .await;
        match applied {
            Ok(applied) => Ok(applied.is_some()),
            Err(sqlx::Error::Database(error)) if error.message().starts_with("no such table") => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sqlx::Executor as _;

    use super::*;
    use crate::flow::clock::StoreClock;

    /// The version before turns had another purpose.
    const BEFORE_DRAFTS: &str = "drafts";

    #[tokio::test]
    async fn a_column_that_is_made_anew_keeps_what_it_held_and_what_refers_to_its_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("baton.db").display());
        let store = Sqlite::connect(&url, Arc::new(StoreClock)).await.expect("the file can be opened");
        let older = migrations().iter().take_while(|it| it.description != BEFORE_DRAFTS).cloned().collect();
        let mut connection = store.writer.acquire().await.expect("the one connection");
        Migrator::with_migrations(older).run_direct(None, &mut *connection, false).await.expect("migrated");
        connection
            .execute(
                "insert into conversations (id, channel, chat_id, mode, mode_version, mode_reason, mode_actor,
                     mode_changed_at, status, seq, event_seq, fence, contact_seq, our_seq, read_seq, unread, created_at, updated_at)
                 values ('c', 'shop', '1@c.us', 'AI', 1, 'rollout', 'system', 1, 'open', 0, 0, 0, 0, 0, 0, 0, 1, 1);
                 insert into turns (id, conversation_id, state, purpose, mode_version, fence, last_seq, is_final, messages,
                     attempt, started_at, ended_at, model, input_tokens, output_tokens, wasted)
                 values ('a', 'c', 'completed', 'reply', 1, 1, 1, 0, '[]', 1, 1, 2, 'm', 3, 4, 0),
                     ('b', 'c', 'completed', 'follow_up', 1, 2, 1, 0, '[]', 1, 1, 2, 'm', 3, 4, 0);
                 insert into cached_answers (turn_id, channel, question, prompt, conversation_id, alone, at)
                 values ('a', 'shop', 'q', 'p', 'c', 1, 2)",
            )
            .await
            .expect("rows of before");
        drop(connection);

        store.migrate().await.expect("the newest shape");
        let kept: Vec<(String, String)> = sqlx::query_as("select id, purpose from turns order by id")
            .fetch_all(&store.reader)
            .await
            .expect("the turns");
        assert_eq!(kept, [("a".into(), "reply".into()), ("b".into(), "follow_up".into())]);
        let answers: i64 = sqlx::query_scalar("select count(*) from cached_answers")
            .fetch_one(&store.reader)
            .await
            .expect("the answers");
        assert_eq!(answers, 1);
        store.close().await;
    }
}
