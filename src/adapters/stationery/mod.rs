//! Labels and canned replies over either database.
//!
//! In: what the API keeps. Out: the same, read back. Few rows, changed rarely: plain statements. What may be there once is
//! compared by its name without the case, which only this program knows how to make: SQLite's own lower() is ASCII's.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use super::sql::{Statement, Store, decode};
use crate::{
    domain::{
        canned_reply::CannedReply,
        label::{Label, fold},
    },
    flow::{
        ledger::Error,
        stationery::{Put, Stationery},
    },
};

/// Most rows that are listed.
const ROWS_MAX: i64 = 10_000;

#[async_trait]
impl<S: Store> Stationery for S {
    async fn labels(&self) -> Result<Vec<Label>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<Label>("l").push(" from labels l order by l.folded limit ").bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(decode).collect()
    }

    async fn add_label(&self, label: &Label) -> Result<bool, Error> {
        let statement = Statement::new(
            "insert into labels (id, name, folded, colour, description, created_at) \
             values ($1, $2, $3, $4, $5, $6) on conflict (folded) do nothing",
        );
        Ok(self.write(described(statement, label).with(label.created_at)).await? > 0)
    }

    async fn put_label(&self, label: &Label) -> Result<Put, Error> {
        let statement = Statement::new(
            "update labels set name = $2, folded = $3, colour = $4, description = $5 where id = $1 \
             and not exists (select 1 from labels other where other.folded = $3 and other.id <> $1)",
        );
        let written = self.write(described(statement, label)).await;
        let taken = Statement::new("select 1 from labels l where l.folded = $1 and l.id <> $2");
        put(self, written, taken.with(fold(&label.name)).with(label.id)).await
    }

    async fn remove_label(&self, id: Uuid) -> Result<bool, Error> {
        Ok(self.write(Statement::new("delete from labels where id = $1").with(id)).await? > 0)
    }

    async fn canned_replies(&self) -> Result<Vec<CannedReply>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<CannedReply>("r").push(" from canned_replies r order by r.folded, r.id limit ");
        statement.bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(decode).collect()
    }

    async fn add_canned_reply(&self, reply: &CannedReply) -> Result<bool, Error> {
        let statement = Statement::new(
            "insert into canned_replies (id, shortcut, folded, text, channels, owner, created_at) \
             values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing",
        );
        let statement = written(statement, reply).with(owner(reply)).with(reply.created_at);
        Ok(self.write(statement).await? > 0)
    }

    async fn put_canned_reply(&self, reply: &CannedReply) -> Result<Put, Error> {
        let statement = Statement::new(
            "update canned_replies set shortcut = $2, folded = $3, text = $4, channels = $5 where id = $1 \
             and not exists (select 1 from canned_replies other where coalesce(other.owner, '') = coalesce($6, '') \
                 and other.folded = $3 and other.id <> $1)",
        );
        let outcome = self.write(written(statement, reply).with(owner(reply))).await;
        let taken = Statement::new(
            "select 1 from canned_replies r where coalesce(r.owner, '') = coalesce($1, '') \
             and r.folded = $2 and r.id <> $3",
        );
        let taken = taken.with(owner(reply)).with(fold(&reply.shortcut)).with(reply.id);
        put(self, outcome, taken).await
    }

    async fn remove_canned_reply(&self, id: Uuid) -> Result<bool, Error> {
        Ok(self.write(Statement::new("delete from canned_replies where id = $1").with(id)).await? > 0)
    }
}

/// Why nothing was written. Of two that take a name at the same moment, the index refuses one.
async fn put<S: Store>(store: &S, written: Result<u64, Error>, taken: Statement) -> Result<Put, Error> {
    let refused = match written {
        Ok(1..) => return Ok(Put::Kept),
        Ok(0) => None,
        Err(error @ Error::Refused(_)) => Some(error),
        Err(error) => return Err(error),
    };
    match (store.row(taken).await?, refused) {
        (Some(_), _) => Ok(Put::Taken),
        (None, None) => Ok(Put::Gone),
        (None, Some(error)) => Err(error),
    }
}

/// What adding and overwriting have in common, in this order.
fn described(statement: Statement, label: &Label) -> Statement {
    statement
        .with(label.id)
        .with(label.name.as_str())
        .with(fold(&label.name))
        .with(label.colour.clone())
        .with(label.description.clone())
}

/// The same of a canned reply.
fn written(statement: Statement, reply: &CannedReply) -> Statement {
    statement
        .with(reply.id)
        .with(reply.shortcut.as_str())
        .with(fold(&reply.shortcut))
        .with(reply.text.as_str())
        .with(reply.channels.as_ref().map(|channels| Value::from(channels.clone()).to_string()))
}

fn owner(reply: &CannedReply) -> Option<String> {
    reply.owner.map(|agent| agent.to_string())
}
