//! What all code that removes rows shares. Rows that are too old go page by page: what comes together in an hour may be more than
//! one statement has time for, and on SQLite nobody else writes while one runs.

use super::sql::{Bound, Engine, Statement, Store};
use crate::flow::{forgetting::tombstones::Removal, ledger::Error};

/// Rows removed at once.
const PAGE: i64 = 5_000;

/// How long what was older than allowed stays known: a year. No provider repeats a message after that.
const EXPIRED_KNOWN_MS: i64 = 365 * 86_400_000;

/// Removes the rows `r` of that table of which this holds, `$1` being that value. Returns how many.
pub(super) async fn remove<S: Store>(
    store: &S,
    table: &'static str,
    is_old: &'static str,
    value: impl Into<Bound>,
) -> Result<u64, Error> {
    remove_by(store, PAGE, table, is_old, value.into()).await
}

async fn remove_by<S: Store>(
    store: &S,
    page: i64,
    table: &'static str,
    is_old: &'static str,
    value: Bound,
) -> Result<u64, Error> {
    let (row, open, close) = match S::ENGINE {
        Engine::Postgres => ("ctid", " = any(array(", "))"),
        Engine::Sqlite => ("rowid", " in (", ")"),
    };
    let mut removed = 0;
    loop {
        let mut statement = Statement::new("delete from ").with(value.clone());
        statement.push(table).push(" as r where r.").push(row).push(open).push("select r.").push(row);
        statement.push(" from ").push(table).push(" r where ").push(is_old).push(" limit ");
        statement.bind(page).push(close);
        // Again, of the row as it is when its turn comes.
        statement.push(" and (").push(is_old).push(")");
        let gone = store.write(statement).await?;
        removed += gone;
        // Others who do the same at this moment do the rest.
        if gone < page.unsigned_abs() {
            return Ok(removed);
        }
    }
}

/// Keeps hashes: of who was erased for good, of what was older than allowed until nobody repeats it any more. They go in in one
/// order: two who keep the same ones wait for each other, never in a circle.
pub(super) fn tombstones<S: Store>(store: &S, mut hashes: Vec<String>, kind: Removal) -> Statement {
    hashes.sort_unstable();
    let mut statement = Statement::new("insert into tombstones (hash, kind, until) select h.value, $2, ")
        .with(Bound::Texts(hashes))
        .with(kind.as_str());
    match kind {
        Removal::Erased => statement.push("null"),
        Removal::Expired => statement.now(store).push(" + ").bind(EXPIRED_KNOWN_MS),
    };
    statement.push(match S::ENGINE {
        Engine::Postgres => " from unnest($1::text[]) as h (value) on conflict do nothing",
        Engine::Sqlite => " from json_each($1) as h where true on conflict do nothing",
    });
    statement
}

/// Of what has failed at an endpoint nothing is left to be told: there it has not failed, and the next failure is the first.
pub(super) fn without_failures() -> Statement {
    Statement::new(
        "update endpoints set failing_since = null where failing_since is not null and not exists \
         (select 1 from deliveries w where w.endpoint_id = endpoints.id and w.state = 'pending' and w.attempts > 0)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::test_stores::{NOW, TestStore, on_both_stores},
        flow::back_office::people::{Agent, People, Role, Session},
    };

    on_both_stores!(what_is_old_goes_page_by_page_and_the_rest_stays);

    async fn what_is_old_goes_page_by_page_and_the_rest_stays<S: TestStore>(store: &S) {
        let ana = Agent {
            id: uuid::Uuid::now_v7(),
            name: "Ana".to_owned(),
            email: "ana@example.com".to_owned(),
            role: Role::Admin,
            channels: None,
            is_disabled: false,
            created_at: NOW,
            updated_at: NOW,
        };
        assert!(store.add_agent(&ana, Some("hash"), None).await.expect("writes"));
        for (n, expires_at) in (0..7).map(|n| (n, NOW.plus_ms(n))) {
            let hash = format!("s{n}");
            let session = Session { hash, agent: ana.id, created_at: NOW, used_at: NOW, expires_at };
            assert!(store.begin_session(&session, "hash").await.expect("writes"));
        }
        let before = |ms| Bound::from(NOW.plus_ms(ms));
        let is_old = "r.expires_at < $1";
        for (ms, gone) in [(0, 0), (5, 5), (6, 1), (6, 0)] {
            let removed = remove_by(store, 2, "sessions", is_old, before(ms)).await.expect("removes");
            assert_eq!(removed, gone, "before {ms}");
        }
        assert!(store.session("s6").await.expect("reads").is_some());
    }
}
