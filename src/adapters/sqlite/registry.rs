//! The state of a channel, and the event of its change.

use super::Sqlite;
use crate::{
    adapters::{failure, registry::ChannelStates},
    domain::{
        event::{EventType, actor},
        time::Time,
    },
    flow::ledger::Error,
};

impl ChannelStates for Sqlite {
    /// SQLite changes nothing inside a `with`: three statements, in a transaction of the one writer.
    async fn change_state(&self, name: &str, state: &str, now: Time) -> Result<Option<String>, Error> {
        let mut transaction = self.writer.begin_with("begin immediate").await.map_err(failure)?;
        let was: Option<String> =
            sqlx::query_scalar("select state from channels where name = $1 and state <> $2")
                .bind(name)
                .bind(state)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failure)?;
        if was.is_some() {
            sqlx::query("update channels set state = $2, updated_at = $3 where name = $1")
                .bind(name)
                .bind(state)
                .bind(now.0)
                .execute(&mut *transaction)
                .await
                .map_err(failure)?;
            sqlx::query(
                "insert into events (at, channel, actor, kind, details) \
                 values ($3, $1, $4, $5, json_object('from', $6, 'to', $2))",
            )
            .bind(name)
            .bind(state)
            .bind(now.0)
            .bind(actor::SYSTEM)
            .bind(EventType::ChannelStateChanged.as_str())
            .bind(was.as_deref())
            .execute(&mut *transaction)
            .await
            .map_err(failure)?;
        }
        transaction.commit().await.map_err(failure)?;
        Ok(was)
    }
}
