//! Labels and canned replies for both databases.
//!
//! In: what the API keeps. Out: the same, read back. Few rows, changed rarely: plain statements. What may be there once is
//! compared by its name without the case, which only this program knows how to make: SQLite's own lower() is ASCII's.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    purge,
    sql::{Statement, Store, decode},
};
use crate::{
    domain::{
        canned_reply::CannedReply,
        label::{Label, fold},
    },
    flow::{
        back_office::labels_and_replies::{ChangeOutcome, LabelChange, LabelsAndReplies, ReplyChange},
        ledger::Error,
    },
};

/// Most rows that are listed.
const ROWS_MAX: i64 = 10_000;

#[async_trait]
impl<S: Store> LabelsAndReplies for S {
    async fn labels(&self) -> Result<Vec<Label>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<Label>("l").push(" from labels l order by l.folded limit ").bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(decode).collect()
    }

    async fn add_label(&self, label: &Label) -> Result<bool, Error> {
        let statement = Statement::new(
            "insert into labels (id, name, folded, colour, description, created_at) \
             values ($1, $2, $3, $4, $5, $6) on conflict (folded) do nothing",
        )
        .with(label.id)
        .with(label.name.as_str())
        .with(fold(&label.name))
        .with(label.colour.clone())
        .with(label.description.clone())
        .with(label.created_at);
        Ok(self.write(statement).await? > 0)
    }

    async fn change_label(&self, id: Uuid, change: &LabelChange) -> Result<ChangeOutcome, Error> {
        let folded = change.name.as_deref().map(fold);
        let statement = Statement::new(
            "update labels set name = coalesce($2, name), folded = coalesce($3, folded), \
             colour = case when $4 then $5 else colour end, \
             description = case when $6 then $7 else description end where id = $1 \
             and not exists (select 1 from labels other where other.folded = $3 and other.id <> $1)",
        )
        .with(id)
        .with(change.name.clone())
        .with(folded.clone())
        .with(change.colour.is_some())
        .with(change.colour.clone().flatten())
        .with(change.description.is_some())
        .with(change.description.clone().flatten());
        let written = self.write(statement).await;
        let taken = Statement::new("select 1 from labels l where l.folded = $1 and l.id <> $2");
        put(self, written, taken.with(folded).with(id)).await
    }

    async fn remove_label(&self, id: Uuid) -> Result<bool, Error> {
        // First, page by page, where it stands: one statement over a million conversations is more than anybody waits for.
        purge::remove(self, "conversation_labels", "r.label_id = $1", id).await?;
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
        let statement = statement
            .with(reply.id)
            .with(reply.shortcut.as_str())
            .with(fold(&reply.shortcut))
            .with(reply.text.as_str())
            .with(reply.channels.as_ref())
            .with(reply.owner.map(|agent| agent.to_string()))
            .with(reply.created_at);
        Ok(self.write(statement).await? > 0)
    }

    async fn change_canned_reply(&self, id: Uuid, change: &ReplyChange) -> Result<ChangeOutcome, Error> {
        let folded = change.shortcut.as_deref().map(fold);
        let statement = Statement::new(
            "update canned_replies set shortcut = coalesce($2, shortcut), folded = coalesce($3, folded), \
             text = coalesce($4, text), channels = case when $5 then $6 else channels end where id = $1 \
             and not exists (select 1 from canned_replies other where other.folded = $3 and other.id <> $1 \
                 and coalesce(other.owner, '') = coalesce(canned_replies.owner, ''))",
        )
        .with(id)
        .with(change.shortcut.clone())
        .with(folded.clone())
        .with(change.text.clone())
        .with(change.channels.is_some())
        .with(change.channels.as_ref().and_then(Option::as_ref));
        let written = self.write(statement).await;
        let taken = Statement::new(
            "select 1 from canned_replies r join canned_replies mine on mine.id = $2 \
             where r.folded = $1 and r.id <> $2 and coalesce(r.owner, '') = coalesce(mine.owner, '')",
        );
        put(self, written, taken.with(folded).with(id)).await
    }

    async fn remove_canned_reply(&self, id: Uuid) -> Result<bool, Error> {
        Ok(self.write(Statement::new("delete from canned_replies where id = $1").with(id)).await? > 0)
    }
}

/// Why nothing was written. Of two that take a name at the same moment, the index refuses one.
async fn put<S: Store>(
    store: &S,
    written: Result<u64, Error>,
    taken: Statement,
) -> Result<ChangeOutcome, Error> {
    let refused = match written {
        Ok(1..) => return Ok(ChangeOutcome::Kept),
        Ok(0) => None,
        Err(error @ Error::Refused(_)) => Some(error),
        Err(error) => return Err(error),
    };
    match (store.row(taken).await?, refused) {
        (Some(_), _) => Ok(ChangeOutcome::Taken),
        (None, None) => Ok(ChangeOutcome::Gone),
        (None, Some(error)) => Err(error),
    }
}
