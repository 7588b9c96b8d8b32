//! Conversations whose rows go, for both databases: each page in one transaction with the count of what went.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use super::{
    archive::letters::PAYLOADS_MAX,
    purge,
    rows::{Columns, Json},
    sql::{Engine, Part, Statement, Store, bytes, cell},
};
use crate::{
    domain::{event::EventType, payload::Payload, time::Time, turn::LetterKind},
    flow::{
        forgetting::{
            erasures::{
                Erasing, Erasures, MessagePage, OwnedRows, Rows, SharedMessage, TombstoneKeys, Traces, Turned,
            },
            tombstones::Removal,
        },
        ledger::Error,
    },
};

/// In every time zone a day begins with one.
const QUARTER_MS: i64 = 15 * 60 * 1_000;

/// Where rows of a kind are, and by what a page of them is named.
struct Place {
    table: &'static str,
    /// Of one conversation, so many.
    find: &'static str,
    /// Of that conversation, those named.
    delete: &'static str,
}

macro_rules! place {
    ($table:literal, $name:literal) => {
        Place {
            table: $table,
            find: concat!("select ", $name, " as name from ", $table, " where conversation_id = $1 limit $2"),
            delete: concat!("delete from ", $table, " where conversation_id = $1 and ", $name),
        }
    };
}

/// None: there are too many of them to name them, and they have numbers.
const fn place(kind: OwnedRows) -> Option<Place> {
    Some(match kind {
        OwnedRows::Events => return None,
        OwnedRows::Drafts => place!("drafts", "id"),
        OwnedRows::CachedAnswers => place!("cached_answers", "turn_id"),
        OwnedRows::Turns => place!("turns", "id"),
        OwnedRows::FollowUps => place!("follow_ups", "id"),
        OwnedRows::Parked => place!("parked", "id"),
        OwnedRows::Requests => place!("requests", "key"),
        OwnedRows::Letters => place!("dead_letters", "id"),
        OwnedRows::Labels => place!("conversation_labels", "label_id"),
    })
}

#[async_trait]
impl<S: Store> Erasures for S {
    async fn erasing(&self, conversation: Uuid) -> Result<Option<Erasing>, Error> {
        let statement = Statement::new(
            "select c.channel, x.actor, x.removed from erasures x join conversations c on c.id = x.conversation_id \
             where x.conversation_id = $1",
        );
        let Some(row) = self.row(statement.with(conversation)).await? else { return Ok(None) };
        let chats = Statement::new("select h.chat_id from erased_chats h where h.conversation_id = $1");
        let chats = self.rows(chats.with(conversation)).await?;
        let Json(removed) = cell::<Json<Rows>, _>(&row, "removed")?;
        Ok(Some(Erasing {
            conversation,
            channel: cell(&row, "channel")?,
            chats: chats.iter().map(|row| cell(row, "chat_id")).collect::<Result<_, _>>()?,
            actor: cell(&row, "actor")?,
            removed,
        }))
    }

    async fn left_behind(&self, idle_ms: i64, limit: usize) -> Result<Vec<Uuid>, Error> {
        let mut statement = Statement::new("select x.conversation_id from erasures x where x.worked_at <= ");
        statement.now(self).push(" - ").bind(idle_ms).push(" order by x.worked_at limit ").bind(limit);
        self.rows(statement).await?.iter().map(|row| cell(row, "conversation_id")).collect()
    }

    async fn next_messages(&self, conversation: Uuid, limit: usize) -> Result<Option<MessagePage>, Error> {
        let statement = Statement::new(
            "select m.seq, m.key, m.provider_message_id from messages m where m.conversation_id = $1 \
             order by m.seq limit $2",
        );
        let found = self.rows(statement.with(conversation).with(limit)).await?;
        let mut page = MessagePage { up_to: 0, count: rows(found.len()), keys: Vec::new() };
        for row in &found {
            page.up_to = cell(row, "seq")?;
            for column in ["key", "provider_message_id"] {
                page.keys.extend(cell::<Option<String>, _>(row, column)?);
            }
        }
        page.keys.sort_unstable();
        page.keys.dedup();
        Ok((!found.is_empty()).then_some(page))
    }

    async fn bury(
        &self,
        erasing: &Erasing,
        page: &MessagePage,
        hashes: Vec<String>,
    ) -> Result<Turned, Error> {
        let files = Statement::new(
            "delete from enclosures where id in (select m.id from messages m \
             where m.conversation_id = $1 and m.seq <= $2)",
        );
        let messages = Statement::new("delete from messages where conversation_id = $1 and seq <= $2");
        let these = |statement: Statement| Part::May(statement.with(erasing.conversation).with(page.up_to));
        let parts =
            vec![Part::May(purge::tombstones(self, hashes, Removal::Erased)), these(files), these(messages)];
        turn(self, erasing, "messages", page.count, parts).await
    }

    async fn shared(&self, channel: &str, after: Option<Uuid>, limit: usize) -> Result<Vec<Uuid>, Error> {
        let mut statement = Statement::new(
            "select h.conversation_id from chats h \
             where h.chat_id not like '%@c.us' and h.chat_id not like '%@lid' and h.channel = ",
        );
        statement.bind(channel);
        statement.given(" and h.conversation_id > ", after);
        statement.push(" order by h.conversation_id limit ").bind(limit);
        self.rows(statement).await?.iter().map(|row| cell(row, "conversation_id")).collect()
    }

    async fn shared_messages(
        &self,
        shared: Uuid,
        after: i64,
        limit: usize,
    ) -> Result<(Vec<SharedMessage>, Option<i64>), Error> {
        let statement = Statement::new(
            "select m.id, m.seq, m.sender, m.provider_message_id, m.quoted, m.text, m.deleted_at \
             from messages m where m.conversation_id = $1 and m.seq > $2 order by m.seq limit $3",
        );
        let found = self.rows(statement.with(shared).with(after).with(limit)).await?;
        let messages = found.iter().map(shared_message).collect::<Result<_, _>>()?;
        let last = found.last().filter(|_| found.len() == limit);
        Ok((messages, last.map(|row| cell(row, "seq")).transpose()?))
    }

    async fn unname(&self, erasing: &Erasing, shared: Uuid, traces: Traces) -> Result<Turned, Error> {
        let count = rows(traces.written.len());
        turn(self, erasing, "messages_in_groups", count, without_traces(self, shared, traces)).await
    }

    async fn unname_alone(&self, shared: Uuid, traces: Traces) -> Result<(), Error> {
        self.write_together(without_traces(self, shared, traces)).await?;
        self.removed().await;
        Ok(())
    }

    async fn remove(&self, erasing: &Erasing, kind: OwnedRows, limit: usize) -> Result<Turned, Error> {
        let Some(Place { table, find, delete }) = place(kind) else {
            return remove_events(self, erasing, limit).await;
        };
        let find = Statement::new(find).with(erasing.conversation).with(limit);
        let names: Vec<String> =
            self.rows(find).await?.iter().map(|row| cell(row, "name")).collect::<Result<_, _>>()?;
        if names.is_empty() {
            return Ok(Turned::Nothing);
        }
        let count = rows(names.len());
        let mut parts = Vec::new();
        if kind == OwnedRows::Turns {
            parts.push(Part::May(keep_usage::<S>(erasing, names.clone())));
        }
        let mut delete = Statement::new(delete).with(erasing.conversation);
        delete.one_of(S::ENGINE, names);
        parts.push(Part::May(delete));
        turn(self, erasing, table, count, parts).await
    }

    async fn webhooks(
        &self,
        channel: &str,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, Payload)>, Error> {
        let mut statement = Statement::new(
            "select l.id, l.payload from dead_letters l join (select w.id, w.bytes, \
             sum(w.bytes) over (order by w.id) as upto from (select o.id, octet_length(o.payload) as bytes \
             from dead_letters o where o.conversation_id is null and o.kind = ",
        );
        statement.bind(LetterKind::Webhook.as_str()).push(" and o.channel = ").bind(channel);
        statement.given(" and o.id > ", after);
        statement.push(" order by o.id limit ").bind(limit);
        statement.push(") w) p on p.id = l.id where p.upto - p.bytes < ").bind(PAYLOADS_MAX);
        statement.push(" order by l.id");
        let found = self.rows(statement).await?;
        found.iter().map(|row| Ok((cell(row, "id")?, cell(row, "payload")?))).collect()
    }

    async fn remove_webhooks(&self, erasing: &Erasing, letters: Vec<Uuid>) -> Result<Turned, Error> {
        let count = rows(letters.len());
        let parts = vec![Part::May(without_conversation::<S>(&letters))];
        turn(self, erasing, "dead_letters", count, parts).await
    }

    async fn discard_webhooks(&self, letters: Vec<Uuid>) -> Result<u64, Error> {
        let count = self.write(without_conversation::<S>(&letters)).await?;
        self.removed().await;
        Ok(count)
    }

    async fn kept_answers(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let statement = Statement::new(
            "select k.key, k.sealed from kept_answers k where k.key > $1 and k.sealed is not null \
             order by k.key limit $2",
        );
        let found = self.rows(statement.with(after).with(limit)).await?;
        found.iter().map(|row| Ok((cell(row, "key")?, bytes(row, "sealed")?))).collect()
    }

    async fn remove_answers(&self, erasing: &Erasing, keys: Vec<String>) -> Result<Turned, Error> {
        let count = rows(keys.len());
        let mut delete = Statement::new("delete from kept_answers where key");
        delete.one_of(S::ENGINE, keys);
        turn(self, erasing, "kept_answers", count, vec![Part::May(delete)]).await
    }

    async fn end(&self, erasing: &Erasing) -> Result<bool, Error> {
        let delete = Statement::new("delete from conversations where id = $1 and erased_at is not null");
        let details = serde_json::json!({ "rows": erasing.removed }).to_string();
        let mut record = Statement::new(
            "insert into events (channel, conversation_id, actor, kind, details, at) values ($1, $2, $3, $4, $5, ",
        )
        .with(erasing.channel.as_str())
        .with(erasing.conversation)
        .with(erasing.actor.as_str())
        .with(EventType::ConversationErased.as_str())
        .with(details);
        record.now(self).push(")");
        let delete = Part::Must(delete.with(erasing.conversation));
        let parts = vec![delete, Part::Must(record), Part::May(purge::without_failures())];
        let is_ended = self.write_together(parts).await?;
        self.removed().await;
        Ok(is_ended)
    }

    async fn erased_since(&self, since: Time) -> Result<Vec<Uuid>, Error> {
        let statement = Statement::new(
            "select e.conversation_id from events e where e.kind = 'conversation_erased' \
             and e.conversation_id is not null and e.at >= $1",
        );
        self.rows(statement.with(since)).await?.iter().map(|row| cell(row, "conversation_id")).collect()
    }
}

#[async_trait]
impl<S: Store> TombstoneKeys for S {
    async fn tombstone_keys(&self) -> Result<Vec<Vec<u8>>, Error> {
        let statement = Statement::new("select k.sealed from tombstone_keys k order by k.at desc, k.id desc");
        let kept = self.rows(statement).await?;
        kept.iter().map(|row| bytes(row, "sealed")).collect()
    }

    async fn keep_tombstone_key(&self, number: usize, sealed: Vec<u8>) -> Result<(), Error> {
        // By its number: two who begin at once keep one.
        let mut statement = Statement::new("insert into tombstone_keys (id, sealed, at) values ($1, $2, ")
            .with(format!("{number:08}"))
            .with(Some(sealed));
        statement.now(self).push(") on conflict (id) do nothing");
        self.write(statement).await.map(drop)
    }
}

/// One page: what it removes, and the count of it, if nobody else has gone on meanwhile.
async fn turn<S: Store>(
    store: &S,
    erasing: &Erasing,
    table: &str,
    count: i64,
    parts: Vec<Part>,
) -> Result<Turned, Error> {
    let mut now = erasing.clone();
    *now.removed.entry(table.to_owned()).or_default() += count;
    let [before, after] = [&erasing.removed, &now.removed].map(|rows| serde_json::json!(rows).to_string());
    let mut progress = Statement::new("update erasures set removed = $3, worked_at = ")
        .with(erasing.conversation)
        .with(before)
        .with(after);
    progress.now(store).push(" where conversation_id = $1 and removed = $2");
    let all = std::iter::once(Part::Must(progress)).chain(parts).collect();
    Ok(if store.write_together(all).await? { Turned::Removed(now) } else { Turned::Overtaken })
}

/// Adds up what these turns used, by the quarter of an hour: it was spent, whoever it was spent on. In one order: two who add to the
/// same rows wait for each other, never in a circle.
fn keep_usage<S: Store>(erasing: &Erasing, turns: Vec<String>) -> Statement {
    let mut statement = Statement::new(
        "insert into erased_usage (channel, at, model, input_tokens, output_tokens) \
         select $1, t.ended_at - t.ended_at % $2, t.model, sum(t.input_tokens), sum(t.output_tokens) \
         from turns t where t.ended_at is not null and t.id",
    )
    .with(erasing.channel.as_str())
    .with(QUARTER_MS);
    statement.one_of(S::ENGINE, turns).push(
        " group by 2, 3 order by 2, 3 on conflict (channel, at, model) do update set \
         input_tokens = erased_usage.input_tokens + excluded.input_tokens, \
         output_tokens = erased_usage.output_tokens + excluded.output_tokens",
    );
    statement
}

/// What a row of a message tells of whose words are in it.
fn shared_message<R: Columns>(row: &R) -> Result<SharedMessage, Error> {
    let word = |column, name: &str| -> Result<Option<String>, Error> {
        let json = cell::<Option<Json<Value>>, _>(row, column)?;
        Ok(json.and_then(|json| json.0[name].as_str().map(str::to_owned)))
    };
    let writer = word("sender", "id")?;
    let is_deleted = cell::<Option<Time>, _>(row, "deleted_at")?.is_some();
    let is_emptied = writer.is_none() && is_deleted && cell::<String, _>(row, "text")?.is_empty();
    Ok(SharedMessage {
        id: cell(row, "id")?,
        writer,
        provider_id: cell(row, "provider_message_id")?,
        quotes: word("quoted", "provider_message_id")?,
        is_emptied,
    })
}

/// The conversation first: whoever works on it has saved before, or reads it again.
fn without_traces<S: Store>(store: &S, shared: Uuid, traces: Traces) -> Vec<Part> {
    let ids = |messages: Vec<Uuid>| messages.iter().map(Uuid::to_string).collect();
    let told =
        (!traces.written.is_empty()).then(|| without_what_was_told::<S>(shared, ids(traces.written.clone())));
    let stamp = Statement::new("update conversations set stamp = $2 where id = $1")
        .with(shared)
        .with(fastrand::i64(..));
    let mut empty = Statement::new(
        "update messages set sender = null, text = '', quoted = null, media = null, \
         deleted_at = coalesce(deleted_at, ",
    );
    empty.now(store).push(") where id").one_of(S::ENGINE, ids(traces.written));
    let mut unquote = Statement::new("update messages set quoted = null where id");
    unquote.one_of(S::ENGINE, ids(traces.quoting));
    let parts = [stamp, empty, unquote].into_iter().chain(told.into_iter().flatten());
    parts.map(Part::May).collect()
}

/// Of turns that answered these messages the events go on to tell what was done, and not with which words: those may repeat
/// what was written. Edits that came before their messages go, whose they are nobody knows.
fn without_what_was_told<S: Store>(shared: Uuid, written: Vec<String>) -> [Statement; 2] {
    let (update, messages) = match S::ENGINE {
        Engine::Postgres => (
            "update events set details = case kind when 'tool_called' \
             then json_build_object('tool', details::json -> 'tool', 'arguments', null)::text \
             when 'turn_completed' then (details::jsonb - 'stayed_silent')::text ",
            "json_array_elements_text(t.messages::json) as m (value)",
        ),
        Engine::Sqlite => (
            "update events set details = case kind when 'tool_called' \
             then json_object('tool', details ->> '$.tool', 'arguments', null) \
             when 'turn_completed' then json_remove(details, '$.stayed_silent') ",
            "json_each(t.messages) as m",
        ),
    };
    let mut told = Statement::new(update).with(shared);
    told.push(
        "else '{\"reason\":\"not said\"}' end where conversation_id = $1 and (kind in ('tool_called', 'turn_completed') \
         or kind = 'conversation_updated' and action in ('handed_over', 'hand_over_noted')) and turn_id in \
         (select t.id from turns t where t.conversation_id = $1 and exists (select 1 from ",
    );
    told.push(messages).push(" where m.value").one_of(S::ENGINE, written).push("))");
    let parked = "delete from parked where conversation_id = $1 and report like '{\"report\":\"edit\"%'";
    [told, Statement::new(parked).with(shared)]
}

/// The next events, by their numbers, and those that have none.
async fn remove_events<S: Store>(store: &S, erasing: &Erasing, limit: usize) -> Result<Turned, Error> {
    let find = Statement::new(
        "select e.conv_seq as number from events e where e.conversation_id = $1 order by e.conv_seq limit $2",
    );
    let found = store.rows(find.with(erasing.conversation).with(limit)).await?;
    let numbers: Vec<Option<i64>> = found.iter().map(|row| cell(row, "number")).collect::<Result<_, _>>()?;
    if numbers.is_empty() {
        return Ok(Turned::Nothing);
    }
    let up_to = numbers.iter().flatten().max().copied().unwrap_or_default();
    let numbered = Statement::new("delete from events where conversation_id = $1 and conv_seq <= $2")
        .with(erasing.conversation)
        .with(up_to);
    let others = Statement::new("delete from events where conversation_id = $1 and conv_seq is null")
        .with(erasing.conversation);
    turn(store, erasing, "events", rows(numbers.len()), vec![Part::May(numbered), Part::May(others)]).await
}

fn without_conversation<S: Store>(letters: &[Uuid]) -> Statement {
    let mut delete = Statement::new("delete from dead_letters where conversation_id is null and id");
    delete.one_of(S::ENGINE, letters.iter().map(Uuid::to_string).collect());
    delete
}

fn rows(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
