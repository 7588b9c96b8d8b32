//! How many generations began in the last minute, for both databases: as many rows as may begin in one. A start takes
//! the row that has rested longest, if that is a minute; two that want the same one cannot both have it.

use async_trait::async_trait;

use super::sql::{Statement, Store, cell};
use crate::flow::{
    instance::pace::{Starts, WINDOW_MS},
    ledger::Error,
};

#[async_trait]
impl<S: Store> Starts for S {
    async fn begin_generation(&self, per_minute: i64) -> Result<Option<i64>, Error> {
        if self.write(start(self, per_minute)).await? > 0 {
            return Ok(None);
        }
        let mut next = Statement::new("select count(*) as rows, coalesce(min(begun_at), 0) + ");
        next.bind(WINDOW_MS).push(" - ").now(self).push(" as wait_ms from generation_starts where slot <= ");
        next.bind(per_minute);
        let Some(row) = self.row(next).await? else { return Ok(Some(0)) };
        // At first there are none, and under a higher limit than before too few.
        if cell::<i64, _>(&row, "rows")? < per_minute {
            self.write(add_rows(per_minute)).await?;
            return Ok(Some(0));
        }
        Ok(Some(cell::<i64, _>(&row, "wait_ms")?.max(0)))
    }
}

/// The row is looked at once more when it is written: one that waited for another's lock finds it taken.
fn start<S: Store>(store: &S, per_minute: i64) -> Statement {
    let mut statement = Statement::new("update generation_starts set begun_at = ");
    statement.now(store).push(" where begun_at <= ").now(store).push(" - ").bind(WINDOW_MS);
    statement.push(" and slot = (select slot from generation_starts where slot <= ").bind(per_minute);
    statement.push(" order by begun_at, slot limit 1)");
    statement
}

fn add_rows(per_minute: i64) -> Statement {
    Statement::new(
        "with recursive slots (slot) as (select 1 union all select slot + 1 from slots where slot < $1) \
         insert into generation_starts (slot, begun_at) select slot, 0 from slots where true \
         on conflict (slot) do nothing",
    )
    .with(per_minute)
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::adapters::test_stores::{TestStore, on_both_stores};

    on_both_stores!(so_many_begin_in_any_minute, of_many_at_once_only_so_many_begin);

    /// Asks until it is told to wait, as who is told to ask again at once does.
    async fn begin<S: TestStore>(store: &S, per_minute: i64) -> Option<i64> {
        loop {
            match store.begin_generation(per_minute).await.expect("the store answers") {
                Some(0) => {}
                answer => return answer,
            }
        }
    }

    async fn pass<S: TestStore>(store: &S, ms: i64) {
        let statement = Statement::new("update generation_starts set begun_at = begun_at - $1").with(ms);
        store.write(statement).await.expect("writes");
    }

    async fn so_many_begin_in_any_minute<S: TestStore>(store: &S) {
        assert_eq!(begin(store, 2).await, None);
        pass(store, 20_000).await;
        assert_eq!(begin(store, 2).await, None);
        assert_eq!(begin(store, 2).await, Some(40_000), "until the first is a minute ago");
        assert_eq!(begin(store, 3).await, None, "a higher limit counts at once");
        assert_eq!(begin(store, 1).await, Some(40_000), "and a lower one");
        pass(store, 39_999).await;
        assert_eq!(begin(store, 2).await, Some(1));
        pass(store, 1).await;
        assert_eq!(begin(store, 2).await, None);
        assert_eq!(begin(store, 2).await, Some(20_000));
    }

    async fn of_many_at_once_only_so_many_begin<S: TestStore>(store: &S) {
        let all = join_all((0..40).map(|_| begin(store, 5))).await;
        assert_eq!(all.iter().filter(|wait| wait.is_none()).count(), 5, "{all:?}");
    }
}
