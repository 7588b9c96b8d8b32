//! Labels and canned replies for both databases.
//!
//! In: what the API keeps. Out: the same, read back. Few rows, changed rarely: plain statements. What may be there once is
//! compared by its name without the case, which only this program knows how to make: SQLite's own lower() is ASCII's.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    archive::cursor,
    purge,
    sql::{Part, Statement, Store, decode, is_within, names, serialize_writes},
};
use crate::{
    domain::{
        canned_reply::CannedReply,
        label::{Label, fold},
    },
    flow::{
        archive::{Page, PageOf},
        back_office::labels_and_replies::{
            AddOutcome, ChangeOutcome, LABELS_KEPT_MAX, LabelChange, LabelsAndReplies, REPLIES_MAX,
            ReplyChange, ReplyFilter,
        },
        ledger::Error,
    },
};

/// Most labels that are listed. There were no limits to them once.
const ROWS_MAX: i64 = 10_000;

const REPLIES: &str = "canned-replies";

#[async_trait]
impl<S: Store> LabelsAndReplies for S {
    async fn labels(&self) -> Result<Vec<Label>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<Label>("l").push(" from labels l order by l.folded limit ").bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(decode).collect()
    }

    async fn add_label(&self, label: &Label) -> Result<AddOutcome, Error> {
        let statement = Statement::new(
            "insert into labels (id, name, folded, colour, description, created_at) \
             select $1, $2, $3, $4, $5, $6 where (select count(*) from labels) < $7 \
             on conflict (folded) do nothing",
        )
        .with(label.id)
        .with(label.name.as_str())
        .with(fold(&label.name))
        .with(label.colour.clone())
        .with(label.description.clone())
        .with(label.created_at)
        .with(LABELS_KEPT_MAX);
        if self.write_together(vec![serialize_writes(), Part::Must(statement)]).await? {
            return Ok(AddOutcome::Kept);
        }
        let other = Statement::new("select 1 from labels l where l.folded = $1").with(fold(&label.name));
        Ok(if self.row(other).await?.is_some() { AddOutcome::Taken } else { AddOutcome::TooMany })
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

    async fn canned_replies(&self, filter: &ReplyFilter, page: &PageOf) -> Result<Page<CannedReply>, Error> {
        let after = cursor::read_words::<Uuid>(REPLIES, page)?;
        let mut statement = Statement::new("select ");
        statement.columns::<CannedReply>("r").push(" from canned_replies r where (r.owner = ");
        statement.bind(filter.owner.map(|agent| agent.to_string())).push(" or (r.owner is null");
        if let Some(channels) = &filter.channels {
            // One that has no channel left is there for those who see them all.
            statement.push(" and (r.channels is null or exists (select 1 from ");
            names(&mut statement, S::ENGINE, "r.channels");
            statement.push(" where n.name").one_of(S::ENGINE, channels.clone()).push("))");
        }
        statement.push("))");
        if let Some((folded, id)) = after {
            statement.push(" and (r.folded > ").bind(folded.as_str());
            statement.push(" or (r.folded = ").bind(folded).push(" and r.id > ").bind(id).push("))");
        }
        statement.push(" order by r.folded, r.id limit ").bind(cursor::rows_asked(page));
        let replies: Result<Vec<CannedReply>, Error> =
            self.rows(statement).await?.iter().map(decode).collect();
        Ok(cursor::cut(replies?, page, |reply| cursor::write(REPLIES, fold(&reply.shortcut), reply.id)))
    }

    async fn canned_reply(&self, id: Uuid) -> Result<Option<CannedReply>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<CannedReply>("r").push(" from canned_replies r where r.id = ").bind(id);
        self.row(statement).await?.as_ref().map(decode).transpose()
    }

    async fn canned_reply_called(
        &self,
        owner: Option<Uuid>,
        shortcut: &str,
    ) -> Result<Option<CannedReply>, Error> {
        let mut statement = Statement::new("select ");
        statement.columns::<CannedReply>("r").push(" from canned_replies r where coalesce(r.owner, '') = ");
        statement.bind(owner.map(|agent| agent.to_string()).unwrap_or_default());
        statement.push(" and r.folded = ").bind(fold(shortcut));
        self.row(statement).await?.as_ref().map(decode).transpose()
    }

    async fn add_canned_reply(&self, reply: &CannedReply) -> Result<AddOutcome, Error> {
        let statement = Statement::new(
            "insert into canned_replies (id, shortcut, folded, text, channels, owner, created_at) \
             select $1, $2, $3, $4, $5, $6, $7 where \
             (select count(*) from canned_replies o where coalesce(o.owner, '') = coalesce($6, '')) < $8 \
             on conflict do nothing",
        );
        let statement = statement
            .with(reply.id)
            .with(reply.shortcut.as_str())
            .with(fold(&reply.shortcut))
            .with(reply.text.as_str())
            .with(reply.channels.as_ref())
            .with(reply.owner.map(|agent| agent.to_string()))
            .with(reply.created_at)
            .with(REPLIES_MAX);
        if self.write_together(vec![serialize_writes(), Part::Must(statement)]).await? {
            return Ok(AddOutcome::Kept);
        }
        let other = self.canned_reply_called(reply.owner, &reply.shortcut).await?;
        Ok(if other.is_some() { AddOutcome::Taken } else { AddOutcome::TooMany })
    }

    async fn change_canned_reply(&self, id: Uuid, change: &ReplyChange) -> Result<ChangeOutcome, Error> {
        let folded = change.shortcut.as_deref().map(fold);
        let mut statement = Statement::new(
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
        if let Some(channels) = &change.within {
            is_within(statement.push(" and "), S::ENGINE, "canned_replies.channels", channels);
        }
        let written = self.write(statement).await;
        let taken = Statement::new(
            "select 1 from canned_replies r join canned_replies mine on mine.id = $2 \
             where r.folded = $1 and r.id <> $2 and coalesce(r.owner, '') = coalesce(mine.owner, '')",
        );
        put(self, written, taken.with(folded).with(id)).await
    }

    async fn remove_canned_reply(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error> {
        let mut statement = Statement::new("delete from canned_replies where id = ");
        statement.bind(id);
        if let Some(channels) = within {
            is_within(statement.push(" and "), S::ENGINE, "canned_replies.channels", channels);
        }
        Ok(self.write(statement).await? > 0)
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
