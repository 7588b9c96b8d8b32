//! What is older than allowed, for both databases.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    purge,
    rows::Columns,
    sql::{Engine, Part, Statement, Store, cell},
};
use crate::{
    domain::{
        event::{EventType, actor},
        time::Time,
    },
    flow::{
        forgetting::{
            erasures::Rows,
            expiry::{Expired, Expiry, Kind, Seen},
            tombstones::Removal,
        },
        ledger::Error,
    },
};

/// Rows of a kind that have expired, of conversations: everything after `from`. The moment is the first parameter.
const fn of(kind: Kind) -> Old {
    match kind {
        Kind::Messages => {
            Old { at: "x.at", from: " from messages x where ", is_old: "x.at < $1 and not x.open" }
        }
        // One that runs has not ended.
        Kind::Turns => Old { at: "x.ended_at", from: " from turns x where ", is_old: "x.ended_at < $1" },
        Kind::Drafts => {
            Old { at: "x.created_at", from: " from drafts x where ", is_old: "x.created_at < $1" }
        }
        Kind::Letters => Old {
            at: "x.last_at",
            from: " from dead_letters x where ",
            is_old: "x.last_at < $1 and x.conversation_id is not null",
        },
        // Called off, it waits for no time to come.
        Kind::FollowUps => Old {
            at: "x.created_at",
            from: " from follow_ups x where ",
            is_old: "x.created_at < $1 and (x.state = 'cancelled' \
                or x.state in ('sent', 'withheld') and x.due_at < $1)",
        },
        Kind::Parked => Old { at: "x.at", from: " from parked x where ", is_old: "x.at < $1" },
    }
}

struct Old {
    at: &'static str,
    from: &'static str,
    is_old: &'static str,
}

/// Conversations in which nobody waits for anything. Who wants no follow-ups, and whom a person of our side answers until
/// they say otherwise, is known by this alone, and stays known: not in one that was merged, to which no chat leads. How new ones begin, and what the machine has left to people, is nobody's word. The moment is the first
/// parameter.
const IS_LEFT_ALONE: &str = "c.updated_at < $1 and c.erased_at is null and c.lease_owner is null \
    and not ((c.opted_out or c.mode = 'HUMAN' \
        and (c.assignee is not null or c.mode_actor not in ('contact', 'assistant', 'system'))) \
      and exists (select 1 from chats h where h.conversation_id = c.id)) \
    and c.turn_at is null and c.send_at is null and c.follow_up_at is null and c.tend_at is null";

/// And of which nothing is left that anybody could read.
const HAS_NOTHING: &str = " and not exists (select 1 from messages m where m.conversation_id = c.id) \
    and not exists (select 1 from turns t where t.conversation_id = c.id) \
    and not exists (select 1 from drafts d where d.conversation_id = c.id) \
    and not exists (select 1 from dead_letters l where l.conversation_id = c.id) \
    and not exists (select 1 from follow_ups f where f.conversation_id = c.id)";

#[async_trait]
impl<S: Store> Expiry for S {
    async fn claim_retention(&self, every_ms: i64) -> Result<bool, Error> {
        let mut statement = Statement::new("update installation set retained_at = ");
        statement.now(self).push(" where retained_at <= ").now(self).push(" - ").bind(every_ms);
        Ok(self.write(statement).await? > 0)
    }

    async fn aged(
        &self,
        kind: Kind,
        before: Time,
        after: Option<Seen>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Seen>), Error> {
        let Old { at, from, is_old } = of(kind);
        let mut statement =
            Statement::new("select x.conversation_id as conversation, x.id as name, ").with(before);
        statement.push(at).push(" as at").push(from).push(is_old);
        beyond(&mut statement, at, "x.id", after);
        statement.push(" order by ").push(at).push(", x.id limit ").bind(limit);
        seen(&self.rows(statement).await?, limit)
    }

    async fn expired(
        &self,
        conversation: Uuid,
        before: Time,
        limit: usize,
    ) -> Result<Option<Expired>, Error> {
        let found = Statement::new(
            "select c.channel, c.stamp from conversations c where c.id = $1 and c.erased_at is null",
        );
        let Some(row) = self.row(found.with(conversation)).await? else { return Ok(None) };
        let (channel, stamp) = (cell(&row, "channel")?, cell(&row, "stamp")?);
        let mut expired = Expired {
            conversation,
            channel,
            stamp,
            chats: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            has_more: false,
        };
        for kind in Kind::ALL {
            let Old { from, is_old, .. } = of(kind);
            let more = if kind == Kind::Messages { ", x.key, x.provider_message_id" } else { "" };
            let mut statement = Statement::new("select x.id").with(before);
            statement.push(more).push(from).push(is_old);
            statement.push(" and x.conversation_id = ").bind(conversation);
            if kind == Kind::Messages {
                // By their numbers, up to the first that is young: a long conversation is not read to its end.
                statement.push(
                    " and x.seq < coalesce((select y.seq from messages y where y.at >= $1 and y.conversation_id = ",
                );
                statement
                    .bind(conversation)
                    .push(" order by y.seq limit 1), 9223372036854775807) order by x.seq");
            }
            statement.push(" limit ").bind(limit);
            let found = self.rows(statement).await?;
            let ids: Vec<String> = found.iter().map(|row| cell(row, "id")).collect::<Result<_, _>>()?;
            if kind == Kind::Messages {
                for row in &found {
                    expired.keys.extend(cell::<Option<String>, _>(row, "key")?);
                    expired.keys.extend(cell::<Option<String>, _>(row, "provider_message_id")?);
                }
            }
            expired.has_more |= ids.len() == limit;
            if !ids.is_empty() {
                expired.rows.push((kind, ids));
            }
        }
        if expired.rows.is_empty() {
            return Ok(None);
        }
        // One that was merged has given its chats away, and is written to under its own all the same.
        let chats = Statement::new(
            "select h.chat_id from chats h where h.conversation_id = $1 \
             union select c.chat_id from conversations c where c.id = $1",
        );
        let chats = self.rows(chats.with(conversation)).await?;
        expired.chats = chats.iter().map(|row| cell(row, "chat_id")).collect::<Result<_, _>>()?;
        Ok(Some(expired))
    }

    async fn expire(&self, expired: &Expired, hashes: Vec<String>) -> Result<bool, Error> {
        // Whoever knows the conversation knows rows that are gone: another stamp, and it is read again.
        let stamp = Statement::new("update conversations set stamp = $3 where id = $1 and stamp = $2")
            .with(expired.conversation)
            .with(expired.stamp)
            .with(fastrand::i64(..));
        let mut parts = vec![Part::Must(stamp)];
        if !hashes.is_empty() {
            parts.push(Part::May(purge::tombstones(self, hashes, Removal::Expired)));
        }
        for (kind, ids) in &expired.rows {
            let text = match kind {
                Kind::Messages => "delete from messages where id",
                Kind::Turns => "delete from turns where id",
                Kind::Drafts => "delete from drafts where id",
                Kind::Letters => "delete from dead_letters where id",
                Kind::FollowUps => "delete from follow_ups where id",
                Kind::Parked => "delete from parked where id",
            };
            if *kind == Kind::Messages {
                let mut files = Statement::new("delete from enclosures where id");
                files.one_of(S::ENGINE, ids.clone());
                parts.push(Part::May(files));
            }
            let mut delete = Statement::new(text);
            delete.one_of(S::ENGINE, ids.clone());
            parts.push(Part::May(delete));
        }
        self.write_together(parts).await
    }

    async fn expire_others(&self, before: Time, limit: usize) -> Result<Rows, Error> {
        let events = match S::ENGINE {
            Engine::Postgres => {
                "delete from events where (xact, id) in (select e.xact, e.id from events e where e.at < $1 \
                 order by e.at limit $2)"
            }
            Engine::Sqlite => {
                "delete from events where id in (select e.id from events e where e.at < $1 order by e.at limit $2)"
            }
        };
        let letters = "delete from dead_letters where id in (select l.id from dead_letters l \
            where l.last_at < $1 and l.conversation_id is null order by l.last_at limit $2)";
        let mut removed = Rows::new();
        for (table, text) in [("events", events), ("dead_letters", letters)] {
            let gone = self.write(Statement::new(text).with(before).with(limit)).await?;
            if gone > 0 {
                removed.insert(table.to_owned(), i64::try_from(gone).unwrap_or(i64::MAX));
            }
        }
        Ok(removed)
    }

    async fn empty(
        &self,
        before: Time,
        after: Option<Seen>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Seen>), Error> {
        let text =
            "select c.id as conversation, c.id as name, c.updated_at as at from conversations c where ";
        let mut statement = Statement::new(text).with(before);
        statement.push(IS_LEFT_ALONE).push(HAS_NOTHING);
        beyond(&mut statement, "c.updated_at", "c.id", after);
        statement.push(" order by c.updated_at, c.id limit ").bind(limit);
        seen(&self.rows(statement).await?, limit)
    }

    async fn remove_empty(&self, conversation: Uuid, before: Time) -> Result<bool, Error> {
        let channel = Statement::new("select c.channel from conversations c where c.id = $1");
        let Some(row) = self.row(channel.with(conversation)).await? else { return Ok(false) };
        let channel: String = cell(&row, "channel")?;
        let mut delete = Statement::new(match S::ENGINE {
            Engine::Postgres => "delete from conversations c where ",
            Engine::Sqlite => "delete from conversations as c where ",
        })
        .with(before);
        delete.push(IS_LEFT_ALONE).push(HAS_NOTHING).push(" and c.id = ").bind(conversation);
        let mut record = Statement::new(
            "insert into events (channel, conversation_id, actor, kind, action, details, at) \
             values ($1, $2, $3, $4, 'expired', '{}', ",
        )
        .with(channel)
        .with(conversation)
        .with(actor::SYSTEM)
        .with(EventType::ConversationErased.as_str());
        record.now(self).push(")");
        self.write_together(vec![
            Part::Must(delete),
            Part::Must(record),
            Part::May(purge::without_failures()),
        ])
        .await
    }

    async fn end_retention(&self) {
        self.removed().await;
    }

    async fn count_expired(&self, before: Time) -> Result<Rows, Error> {
        let mut counted = Rows::new();
        for kind in Kind::ALL {
            let mut statement = Statement::new("select count(*) as found").with(before);
            let Old { from, is_old, .. } = of(kind);
            statement.push(from).push(is_old);
            count(self, &mut counted, kind.table(), statement).await?;
        }
        for (table, text) in [
            ("events", "select count(*) as found from events e where e.at < $1"),
            (
                "dead_letters",
                "select count(*) as found from dead_letters l where l.last_at < $1 and l.conversation_id is null",
            ),
        ] {
            count(self, &mut counted, table, Statement::new(text).with(before)).await?;
        }
        count(self, &mut counted, "conversations", empty_then(before)).await?;
        Ok(counted)
    }

    async fn forget_echoes(&self, before: Time) -> Result<u64, Error> {
        purge::remove(self, "tombstones", "r.until < $1", before).await
    }
}

/// Counts conversations that will be empty once what is old has gone. One that had a suggestion until then is changed by its
/// end, and stays until its own days are over.
fn empty_then(before: Time) -> Statement {
    let mut empty = Statement::new("select count(*) as found from conversations c where ").with(before);
    empty.push(IS_LEFT_ALONE);
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Parked) {
        let Old { from, is_old, .. } = of(kind);
        empty.push(" and not exists (select 1").push(from).push("x.conversation_id = c.id and (");
        empty.push(is_old).push(") is not true)");
    }
    empty.push(
        " and not exists (select 1 from drafts d where d.conversation_id = c.id and d.state = 'fresh')",
    );
    empty
}

async fn count<S: Store>(
    store: &S,
    counted: &mut BTreeMap<String, i64>,
    table: &str,
    statement: Statement,
) -> Result<(), Error> {
    let found = store.row(statement).await?.map(|row| cell::<i64, _>(&row, "found")).transpose()?;
    if let Some(found) = found.filter(|found| *found > 0) {
        *counted.entry(table.to_owned()).or_default() += found;
    }
    Ok(())
}

/// "Comes after that place."
fn beyond(statement: &mut Statement, at: &'static str, id: &'static str, after: Option<Seen>) {
    if let Some((last_at, last)) = after {
        // The first half alone lets the index begin where the look before ended.
        statement.push(" and ").push(at).push(" >= ").bind(last_at);
        statement.push(" and (").push(at).push(" > ").bind(last_at);
        statement.push(" or ").push(id).push(" > ").bind(last).push(")");
    }
}

/// The conversations of these rows, each once, and where to go on if there may be more.
fn seen<R: Columns>(found: &[R], limit: usize) -> Result<(Vec<Uuid>, Option<Seen>), Error> {
    let mut conversations: Vec<Uuid> = Vec::new();
    for row in found {
        let conversation = cell(row, "conversation")?;
        if !conversations.contains(&conversation) {
            conversations.push(conversation);
        }
    }
    let last = found.last().filter(|_| found.len() == limit);
    let last = last.map(|row| Ok::<Seen, Error>((cell(row, "at")?, cell(row, "name")?))).transpose()?;
    Ok((conversations, last))
}
