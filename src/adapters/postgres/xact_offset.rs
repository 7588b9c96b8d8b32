//! A database that PostgreSQL's own tools brought to another server. There the numbers of transactions start over: what
//! happens now would have its place before what happened long ago, and those who follow the feed would never learn of it.
//!
//! In: the places that are kept. Out: a number that is added to each transaction's from now on, so that they continue above.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::{Postgres, migrate::is_taken};

/// The newest place there is, what is added now, and the place that the next transaction would have.
const LOOK: &str = "select greatest(0, i.forgotten_xact, (select max(p.cursor_xact) from endpoints p), \
        (select e.xact from events e order by e.xact desc, e.id desc limit 1)) as top, \
    i.xact_offset, pg_snapshot_xmax(pg_current_snapshot())::text::bigint + i.xact_offset from installation i";

/// Takes the feed from everybody. An autovacuum, which is at work wherever a dump was just read in, gives way after a second.
const ALONE: &str = "set local lock_timeout = '2s'; lock table events in access exclusive mode";

/// How often it is tried while somebody else has it.
const ATTEMPTS: u32 = 10;

/// What happened since the move has its place below; ids have gone on.
const RAISE: &str = "update events set xact = xact + $1 where xact < $2 and id > greatest( \
    (select max(o.id) from events o where o.xact >= $2), (select max(p.cursor_id) from endpoints p), \
    (select i.forgotten_id from installation i))";

impl Postgres {
    /// Continues above the newest place, if the database was moved. Returns whether it was.
    pub async fn raise_xact_offset(&self) -> Result<bool, sqlx::Error> {
        let (top, _, next) = look(&mut *self.pool.acquire().await?).await?;
        if top < next {
            return Ok(false);
        }
        let mut attempts = 1;
        loop {
            match self.raise().await {
                Err(error) if attempts < ATTEMPTS && is_taken(&error) => attempts += 1,
                outcome => return outcome,
            }
        }
    }

    async fn raise(&self) -> Result<bool, sqlx::Error> {
        let mut connection = self.unlimited().await?;
        let mut transaction = connection.begin().await?;
        transaction.execute(ALONE).await?;
        let (top, added, next) = look(&mut transaction).await?;
        // Another instance may have found it at the same moment.
        let is_moved = top >= next;
        if is_moved {
            sqlx::query(RAISE).bind(top).bind(next).execute(&mut *transaction).await?;
            let add = format!(
                "alter table events alter column xact set default (pg_current_xact_id()::text::bigint + {0}); \
                 update installation set xact_offset = {0}",
                added + top
            );
            transaction.execute(AssertSqlSafe(add)).await?;
        }
        transaction.commit().await?;
        Ok(is_moved)
    }
}

async fn look(connection: &mut PgConnection) -> Result<(i64, i64, i64), sqlx::Error> {
    sqlx::query_as(LOOK).fetch_one(connection).await
}
