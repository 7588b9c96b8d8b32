//! What the one server finds when it starts: work of its own earlier life that nobody holds any more.

use super::Sqlite;

impl Sqlite {
    /// Ends every lease now. A message found `sending` was being sent by a process that is dead, so its fate is
    /// unknown; a turn that was running is nobody's. Only for the holder of the server's lock, before any work begins.
    pub async fn recover(&self) -> Result<(), sqlx::Error> {
        let now = self.now().0;
        let mut transaction = self.begin_writing().await?;
        for sql in [
            "update conversations set tend_at = min(coalesce(tend_at, $1), $1), stamp = random()
             where id in (select conversation_id from messages where state = 'sending')",
            "update messages set lease_until = min(lease_until, $1) where state = 'sending'",
            "update conversations set lease_until = min(lease_until, $1), turn_at = min(lease_until, $1),
             stamp = random() where lease_until is not null",
            "update endpoints set owned_until = min(owned_until, $1)",
            // Held before the clock was set back, or for a gateway that has perhaps come back: the next send asks.
            "update channels set poll_until = min(poll_until, $1), next_send_at = min(next_send_at, $1)",
        ] {
            sqlx::query(sql).bind(now).execute(&mut *transaction).await?;
        }
        transaction.commit().await
    }
}
