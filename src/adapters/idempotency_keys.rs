//! Requests that may come again, and what they were answered, for both databases.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    failure, purge,
    rows::Columns as _,
    sql::{Engine, Statement, Store, cell},
};
use crate::{
    domain::time::Time,
    flow::{
        back_office::idempotency_keys::{IdempotencyKeys, KeyClaim},
        desk::{Idempotency, REMEMBERED_MS},
        ledger::Error,
    },
};

#[async_trait]
impl<S: Store> IdempotencyKeys for S {
    async fn begin(&self, request: &Idempotency, owner: Uuid, ttl_ms: i64) -> Result<KeyClaim, Error> {
        let mut statement =
            Statement::new("insert into kept_answers (key, body_hash, owner, until, at) values (");
        statement.bind(request.key.as_str()).push(", ").bind(request.body_hash.as_str()).push(", ");
        statement.bind(owner).push(", ").now(self).push(" + ").bind(ttl_ms).push(", ").now(self).push(
            ") on conflict (key) do update set body_hash = excluded.body_hash, owner = excluded.owner, \
             until = excluded.until, sealed = null, at = excluded.at \
             where (kept_answers.sealed is null and kept_answers.until <= excluded.at \
                 and kept_answers.body_hash = excluded.body_hash) or kept_answers.at <= excluded.at - ",
        );
        statement.bind(REMEMBERED_MS);
        if self.write(statement).await? > 0 {
            return Ok(KeyClaim::Yours);
        }
        let kept = Statement::new("select k.body_hash, k.sealed from kept_answers k where k.key = $1");
        // Let go at this very moment: a caller that looks again may begin.
        let Some(row) = self.row(kept.with(request.key.as_str())).await? else {
            return Ok(KeyClaim::InProgress);
        };
        if cell::<String, _>(&row, "body_hash")? != request.body_hash {
            return Ok(KeyClaim::KeyReused);
        }
        Ok(row.bytes("sealed").map_err(failure)?.map_or(KeyClaim::InProgress, KeyClaim::Answered))
    }

    async fn answer(&self, key: &str, owner: Uuid, plain: &str, sealed: Vec<u8>) -> Result<(), Error> {
        let shows = match S::ENGINE {
            Engine::Postgres => "strpos($4, ",
            Engine::Sqlite => "instr($4, ",
        };
        let mut statement = Statement::new(
            "update kept_answers set sealed = $3 where key = $1 and owner = $2 and sealed is null \
             and not exists (select 1 from erasures x where ",
        );
        statement.push(shows).push(
            "x.conversation_id) > 0) and not exists (select 1 from events e \
             where e.kind = 'conversation_erased' and e.at >= kept_answers.at and ",
        );
        statement.push(shows).push("e.conversation_id) > 0)");
        match self.write(statement.with(key).with(owner).with(Some(sealed)).with(plain)).await? {
            0 => self.let_go(key, owner).await,
            _ => Ok(()),
        }
    }

    async fn let_go(&self, key: &str, owner: Uuid) -> Result<(), Error> {
        let statement =
            Statement::new("delete from kept_answers where key = $1 and owner = $2 and sealed is null");
        self.write(statement.with(key).with(owner)).await.map(drop)
    }

    async fn forget_requests(&self, before: Time) -> Result<u64, Error> {
        let with_conversations = purge::remove(self, "requests", "r.at < $1", before).await?;
        Ok(with_conversations + purge::remove(self, "kept_answers", "r.at < $1", before).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::test_stores::{self, NOW, TestStore, on_both_stores},
        domain::event::{Event, EventType},
    };

    on_both_stores!(
        a_request_is_begun_once_and_answered_again,
        what_was_let_go_begins_anew,
        what_nobody_ended_in_time_is_taken_up,
        two_at_once_are_one,
        what_is_old_is_forgotten,
        an_answer_that_shows_whom_an_erasure_removed_meanwhile_is_not_kept,
    );

    fn request(body: &str) -> Idempotency {
        Idempotency { key: "agent:ana /labels k1".to_owned(), body_hash: body.to_owned() }
    }

    async fn begin<S: TestStore>(store: &S, body: &str, ttl_ms: i64) -> (Uuid, KeyClaim) {
        let owner = Uuid::now_v7();
        (owner, store.begin(&request(body), owner, ttl_ms).await.expect("it can be asked"))
    }

    async fn a_request_is_begun_once_and_answered_again<S: TestStore>(store: &S) {
        let (owner, begun) = begin(store, "a", 1_000).await;
        assert_eq!(begun, KeyClaim::Yours);
        let key = request("a").key;
        store.answer(&key, Uuid::now_v7(), "", vec![9]).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::InProgress, "nobody else answers it");
        assert_eq!(begin(store, "b", 1_000).await.1, KeyClaim::KeyReused);
        store.answer(&key, owner, "", vec![1, 2]).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::Answered(vec![1, 2]));
        assert_eq!(begin(store, "b", 1_000).await.1, KeyClaim::KeyReused);
        store.let_go(&key, owner).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::Answered(vec![1, 2]), "an answer stays");
    }

    async fn what_was_let_go_begins_anew<S: TestStore>(store: &S) {
        let (owner, _) = begin(store, "a", 1_000).await;
        store.let_go(&request("a").key, owner).await.expect("written");
        assert_eq!(begin(store, "b", 1_000).await.1, KeyClaim::Yours);
    }

    async fn what_nobody_ended_in_time_is_taken_up<S: TestStore>(store: &S) {
        let (late, _) = begin(store, "a", 0).await;
        assert_eq!(begin(store, "b", 1_000).await.1, KeyClaim::KeyReused);
        let (owner, begun) = begin(store, "a", 1_000).await;
        assert_eq!(begun, KeyClaim::Yours);
        let key = request("a").key;
        store.answer(&key, late, "", vec![1]).await.expect("written");
        store.let_go(&key, late).await.expect("written");
        store.answer(&key, owner, "", vec![2]).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::Answered(vec![2]));
    }

    async fn two_at_once_are_one<S: TestStore>(store: &S) {
        let (one, other) = tokio::join!(begin(store, "a", 1_000), begin(store, "a", 1_000));
        let mut both = [one.1, other.1];
        both.sort_by_key(|begun| *begun == KeyClaim::InProgress);
        assert_eq!(both, [KeyClaim::Yours, KeyClaim::InProgress]);
    }

    async fn an_answer_that_shows_whom_an_erasure_removed_meanwhile_is_not_kept<S: TestStore>(store: &S) {
        let erased = Uuid::now_v7();
        let ended = |ms| {
            let event = test_stores::event(None, None, EventType::ConversationErased, NOW.plus_ms(ms));
            Event { conversation: Some(erased), ..event }
        };
        let (plain, key) = (format!(r#"{{"id":"{erased}"}}"#), request("a").key);
        store.keep_events(vec![ended(-1)]).await;
        let (owner, _) = begin(store, "a", 1_000).await;
        store.answer(&key, owner, &plain, vec![1]).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::Answered(vec![1]), "it was another life");
        store.forget_requests(NOW.plus_ms(1)).await.expect("written");
        let (owner, _) = begin(store, "a", 1_000).await;
        store.keep_events(vec![ended(0)]).await;
        store.answer(&key, owner, &plain, vec![1]).await.expect("written");
        let (owner, begun) = begin(store, "a", 1_000).await;
        assert_eq!(begun, KeyClaim::Yours, "the next one does it anew");
        store.answer(&key, owner, "{}", vec![2]).await.expect("written");
        assert_eq!(begin(store, "a", 1_000).await.1, KeyClaim::Answered(vec![2]), "it shows nobody");
    }

    async fn what_is_old_is_forgotten<S: TestStore>(store: &S) {
        let (owner, _) = begin(store, "a", 1_000).await;
        store.answer(&request("a").key, owner, "", vec![1]).await.expect("written");
        assert_eq!(store.forget_requests(NOW).await.expect("written"), 0);
        assert_eq!(store.forget_requests(NOW.plus_ms(1)).await.expect("written"), 1);
        assert_eq!(begin(store, "b", 1_000).await.1, KeyClaim::Yours);
    }
}
