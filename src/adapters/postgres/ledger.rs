//! Place: the ledger over PostgreSQL. Only what differs from SQLite's; the work itself is in `commit`.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgRow};

use super::{
    Postgres,
    combined_statement::{CLOCK, IF, combine},
    connection::TimedConnection,
};
use crate::{
    adapters::{
        commit::{Dialect, GroupCommit, Guard, Sql, Statements, Transaction},
        rows::{
            ConversationRow, DraftRow, ErasedChatRow, ErasureRow, EventRow, Field as _, FollowUpRow,
            LabelRow, LetterRow, MessageRow, ParkedRow, RequestRow, Table, TombstoneRow, TurnRow, columns,
            overwriting,
        },
        sql::may_send,
        write_health::WriteHealth,
    },
    domain::{lane::Lane, time::Time},
    flow::{
        desk::REMEMBERED_MS,
        ledger::{Ledger, Observer},
        outbox::HELD_AT_MOST_MS,
    },
};

impl Postgres {
    /// The place. Starts its writers on the runtime of the caller.
    pub fn ledger(&self, observer: Arc<dyn Observer>) -> Arc<dyn Ledger> {
        Arc::new(GroupCommit::start(self.clone(), observer))
    }
}

#[async_trait]
impl Dialect for Postgres {
    type Row = PgRow;
    type Transaction = Begun;
    /// While one waits for the disk, the other works. More would only take the steps from each other: the larger a batch,
    /// the less each of its rows costs.
    const CHANNELS_APART: bool = true;

    fn sql() -> &'static Sql {
        &SQL
    }

    fn write_health(&self) -> &WriteHealth {
        &self.write_health
    }

    fn clock(&self) -> Option<Time> {
        self.clock.now()
    }

    type Own = TimedConnection;

    fn has_fast_path(&self) -> bool {
        self.kept.is_some()
    }

    async fn closing(&self) {
        match &self.kept {
            Some(kept) => kept.close_event().await,
            None => std::future::pending().await,
        }
    }

    async fn begin(&self) -> Result<Self::Transaction, sqlx::Error> {
        let mut connection = TimedConnection::acquire(&self.ledger, &self.stale_connections).await?;
        connection.execute(sqlx::query("begin")).await?;
        Ok(Begun { connection, is_ended: false })
    }

    async fn save_if(
        &self,
        own: &mut Option<Self::Own>,
        guard: Guard,
        statements: Statements,
    ) -> Result<Option<Time>, sqlx::Error> {
        let mut connection = match (own.take(), &self.kept) {
            (Some(connection), _) => connection,
            (None, Some(kept)) if has_room(kept) => {
                TimedConnection::acquire(kept, &self.stale_connections).await?
            }
            // The slow path needs none.
            (None, _) => return Ok(None),
        };
        let (parts, parameters): (Vec<_>, Vec<_>) = statements.into_iter().unzip();
        let mut query = sqlx::query(AssertSqlSafe(combine(&parts, true)));
        for parameter in guard.into_iter().chain(parameters) {
            query = query.bind(parameter);
        }
        match connection.rows(query).await {
            Ok(rows) => {
                *own = Some(connection);
                let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
                Option::read(row, "now")
            }
            Err(error) => {
                connection.end();
                Err(error)
            }
        }
    }

    async fn read(&self, sql: &'static str, json: &str) -> Result<Vec<PgRow>, sqlx::Error> {
        TimedConnection::acquire(&self.ledger, &self.stale_connections)
            .await?
            .rows(sqlx::query(sql).bind(json))
            .await
    }
}

/// A transaction that was begun.
pub(crate) struct Begun {
    connection: TimedConnection,
    is_ended: bool,
}

impl Begun {
    async fn end(mut self, how: &'static str) -> Result<(), sqlx::Error> {
        self.connection.execute(sqlx::query(how)).await?;
        self.is_ended = true;
        Ok(())
    }
}

/// One that was not ended goes with its connection: the next to borrow it would be in the middle of it.
impl Drop for Begun {
    fn drop(&mut self) {
        if !self.is_ended {
            self.connection.end();
        }
    }
}

#[async_trait]
impl Transaction for Begun {
    type Row = PgRow;

    async fn fetch(&mut self, sql: &'static str, json: &str) -> Result<Vec<PgRow>, sqlx::Error> {
        self.connection.rows(sqlx::query(sql).bind(json)).await
    }

    async fn save(&mut self, statements: Statements) -> Result<(), sqlx::Error> {
        if statements.is_empty() {
            return Ok(());
        }
        let (parts, parameters): (Vec<_>, Vec<_>) = statements.into_iter().unzip();
        let mut query = sqlx::query(AssertSqlSafe(combine(&parts, false)));
        for parameter in parameters {
            query = query.bind(parameter);
        }
        self.connection.execute(query).await.map(drop)
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        self.end("commit").await
    }

    async fn rollback(self) -> Result<(), sqlx::Error> {
        self.end("rollback").await
    }
}

/// Whether another connection can be had without waiting for one that somebody keeps.
fn has_room(pool: &PgPool) -> bool {
    pool.num_idle() > 0 || pool.size() < pool.options().get_max_connections()
}

/// The moment given, or that of the statement: unlike the clock itself, an index can be searched by it.
const NOW: &str =
    "coalesce(($1::json ->> 'now')::bigint, floor(extract(epoch from statement_timestamp()) * 1000)::bigint)";

/// One of those that are asked about.
const CHANNELS: &str = "any (array(select json_array_elements_text($1::json -> 'channels')))";

static SQL: LazyLock<Sql> = LazyLock::new(|| {
    Sql {
    now: format!("select {CLOCK} as now where $1::json is not null"),
    resolve: "select c.channel, c.chat_id, c.conversation_id
        from json_array_elements($1::json) k
        join chats c on c.channel = k ->> 0 and c.chat_id = k ->> 1"
        .to_owned(),
    // One statement, so that the chat decides: a conversation whose chat another instance has begun is never made.
    // Chats in one order, so that two instances that begin the same ones never wait in a circle. Nobody removes a channel
    // that is locked so; sends go on.
    open: format!(
        "with begun as (select * from json_populate_recordset(null::conversations, $1::json)),
        kept as materialized (
            select name from channels where name in (select channel from begun) order by name for key share),
        opened as (
            insert into chats (channel, chat_id, conversation_id)
            select channel, chat_id, id from begun where channel in (select name from kept) order by channel, chat_id
            on conflict do nothing returning conversation_id)
        insert into conversations ({0}) select {0} from begun where id in (select conversation_id from opened)
        returning id",
        ConversationRow::COLUMNS.join(", ")
    ),
    // The clock is read outside of the locking part: inside, it would be read before the wait for the lock.
    lock: format!(
        "with locked as materialized (
            select id, stamp from conversations
            where id = any (array(select json_array_elements_text($1::json))) and erased_at is null
            order by id for update)
        select id, stamp, {CLOCK} as now from locked"
    ),
    // Those that it locks are free again as it ends.
    held: "with free as materialized (
            select id from conversations
            where id = any (array(select json_array_elements_text($1::json))) for update skip locked)
        select id from conversations
        where id = any (array(select json_array_elements_text($1::json))) and id not in (select id from free)"
        .to_owned(),
    conversations: format!(
        "select {} from conversations where id = any (array(select json_array_elements_text($1::json)))",
        ConversationRow::COLUMNS.join(", ")
    ),
    // `offset 0` keeps each look-up a look-up: joined freely, the newest of a conversation cost a scan of the table.
    messages: format!(
        "with wanted as (
            select m.id from messages m
            where m.conversation_id = any (array(select json_array_elements_text($1::json -> 'open'))) and m.open
            union
            select m.id from json_array_elements($1::json -> 'keys') k, lateral (
                select id from messages where conversation_id = k ->> 0 and key = k ->> 1 offset 0) m
            union
            select m.id from json_array_elements($1::json -> 'keys') k, lateral (
                select id from messages where conversation_id = k ->> 0 and provider_message_id = k ->> 1 offset 0) m
            union
            select m.id from json_array_elements($1::json -> 'messages') k, lateral (
                select id from messages where conversation_id = k ->> 0 and id = k ->> 1 offset 0) m
            union
            select m.id from json_array_elements($1::json -> 'newest') k, lateral (
                select id from messages where conversation_id = k ->> 0 and seq > (k ->> 1)::bigint offset 0) m)
        select {} from messages where id = any (array(select id from wanted)) order by conversation_id, seq",
        MessageRow::COLUMNS.join(", ")
    ),
    turns: format!(
        "select {} from json_array_elements($1::json -> 'turns') k
        join turns t on t.id = k ->> 1 and t.conversation_id = k ->> 0",
        columns::<TurnRow>("t")
    ),
    follow_ups: format!(
        "select {} from follow_ups
        where conversation_id = any (array(select json_array_elements_text($1::json -> 'follow_ups')))
        and state = 'pending'",
        FollowUpRow::COLUMNS.join(", ")
    ),
    letters: format!(
        "with wanted as (
            select l.id from dead_letters l
            where l.conversation_id = any (array(select json_array_elements_text($1::json -> 'open')))
            and l.state = 'open' and l.kind <> 'delivery'
            union
            select l.id from json_array_elements($1::json -> 'letters') k
            join dead_letters l on l.conversation_id = k ->> 0 and l.id = k ->> 1)
        select {} from dead_letters where id = any (array(select id from wanted)) order by first_at, id",
        LetterRow::COLUMNS.join(", ")
    ),
    parked: format!(
        "select {} from parked
        where conversation_id = any (array(select json_array_elements_text($1::json -> 'open'))) order by at, id",
        ParkedRow::COLUMNS.join(", ")
    ),
    drafts: format!(
        "select {} from json_array_elements($1::json -> 'drafts') k
        join drafts d on d.id = k ->> 1 and d.conversation_id = k ->> 0",
        columns::<DraftRow>("d")
    ),
    requests: format!(
        "select {} from requests where key = any (array(select json_array_elements_text($1::json -> 'requests')))",
        RequestRow::COLUMNS.join(", ")
    ),
    labels: format!(
        "select t.conversation_id, {} from conversation_labels t join labels l on l.id = t.label_id
        where t.conversation_id = any (array(select json_array_elements_text($1::json -> 'labels')))",
        columns::<LabelRow>("l")
    ),
    channels: "select name, state, next_send_at, sends from channels
        where name = any (array(select json_array_elements_text($1::json))) order by name for no key update"
        .to_owned(),
    in_flight: "select channel, count(*) as in_flight from messages
        where state = 'sending' and channel = any (array(select json_array_elements_text($1::json)))
        group by channel"
        .to_owned(),
    save_conversations: update::<ConversationRow>(),
    insert_messages: insert::<MessageRow>(),
    save_messages: update::<MessageRow>(),
    save_turns: update::<TurnRow>(),
    insert_turns: insert::<TurnRow>(),
    put_follow_ups: overwriting::<FollowUpRow>(&insert::<FollowUpRow>()),
    put_letters: overwriting::<LetterRow>(&insert::<LetterRow>()),
    put_letters_once: format!(
        "{} where dead_letters.state <> 'open' returning id",
        overwriting::<LetterRow>(&insert::<LetterRow>())
    ),
    put_drafts: overwriting::<DraftRow>(&insert::<DraftRow>()),
    insert_parked: insert::<ParkedRow>(),
    delete_parked: format!(
        "delete from parked where id = any (array(select json_array_elements_text($1::json))) and {IF}"
    ),
    save_channels: format!(
        "update channels set state = new.state, next_send_at = new.next_send_at, sends = new.sends
        from json_populate_recordset(null::channels, $1::json) new where channels.name = new.name and {IF}"
    ),
    delete_requests: format!(
        "delete from requests old using json_populate_recordset(null::requests, $1::json) new
        where old.key = new.key and old.at <= new.at - {REMEMBERED_MS} and {IF}"
    ),
    insert_requests: insert::<RequestRow>(),
    delete_labelled: format!(
        "delete from conversation_labels t
        using json_populate_recordset(null::conversation_labels, $1::json) gone
        where t.conversation_id = gone.conversation_id and t.label_id = gone.label_id and {IF}"
    ),
    insert_labelled: format!(
        "insert into conversation_labels (conversation_id, label_id) select new.conversation_id, new.label_id
        from json_populate_recordset(null::conversation_labels, $1::json) new
        join labels l on l.id = new.label_id where {IF} on conflict do nothing"
    ),
    keep_erased_chats: format!(
        "insert into erased_chats (chat_id, channel, conversation_id) select chat_id, channel, conversation_id from chats
        where conversation_id = any (array(select json_array_elements_text($1::json))) and {IF}"
    ),
    insert_erased_chats: format!("{} on conflict do nothing", insert::<ErasedChatRow>()),
    delete_chats: format!(
        "delete from chats where conversation_id = any (array(select json_array_elements_text($1::json))) and {IF}"
    ),
    move_chats: format!(
        "update chats set conversation_id = k ->> 1 from json_array_elements($1::json) k
        where conversation_id = k ->> 0 and {IF}"
    ),
    having_message: "select (k ->> 0)::bigint as number, m.conversation_id as id from json_array_elements($1::json) k
        join messages m on m.conversation_id = k ->> 1 and (m.key = k ->> 2 or m.provider_message_id = k ->> 2)"
        .to_owned(),
    insert_erasures: insert::<ErasureRow>(),
    put_tombstones: format!("{} {}", insert::<TombstoneRow>(), TombstoneRow::OR_LONGER),
    tombstones: "select k ->> 3 as hash, (k ->> 4)::bigint as kept_until, coalesce(t.kind, 'erased') as kind
        from json_array_elements($1::json) k left join tombstones t on t.hash = k ->> 3
            and (k ->> 4 is null or t.until >= (k ->> 4)::bigint)
        where t.hash is not null
        or exists (select from erased_chats e join messages m on m.conversation_id = e.conversation_id
            where e.channel = k ->> 0 and e.chat_id = k ->> 1
            and (m.key = k ->> 2 or m.provider_message_id = k ->> 2))"
        .to_owned(),
    // What refers to them goes with them.
    take_back: "delete from conversations where id = any (array(select json_array_elements_text($1::json)))".to_owned(),
    insert_events: insert::<EventRow>(),
    due_turns: due("turn_at"),
    due_sends: format!(
        "select c.id, c.channel, c.turn_at, c.send_at, c.send_rank, c.follow_up_at, c.tend_at
        from conversations c left join channels h on h.name = c.channel
        where c.send_at <= {NOW} and c.channel = {CHANNELS} and {able}
        and coalesce(h.next_send_at, 0) not between {NOW} + 1 and {NOW} + {HELD_AT_MOST_MS}
        and (h.braked_at is null or c.send_rank - c.send_at < {proactive})
        order by c.send_rank, c.id limit ($1::json ->> 'limit')::bigint",
        able = may_send!(),
        proactive = Lane::Proactive.rank(Time(0))
    ),
    // Those that the brake holds would fill the list, and hide the others.
    due_follow_ups: format!(
        "select c.id, c.channel, c.turn_at, c.send_at, c.send_rank, c.follow_up_at, c.tend_at
        from conversations c left join channels h on h.name = c.channel
        where c.follow_up_at <= {NOW} and c.channel = {CHANNELS} and h.braked_at is null
        order by c.follow_up_at, c.id limit ($1::json ->> 'limit')::bigint"
    ),
    due_tends: due("tend_at"),
    // Locked in the order of the ids, as the batches do: an update alone would lock as it finds them.
    extend: format!(
        "with mine as materialized (
            select c.id from json_array_elements($1::json -> 'held') h
            join conversations c on c.id = h ->> 0 and c.fence = (h ->> 1)::bigint
            where c.lease_until is not null order by c.id for update of c),
        timed as materialized (
            select id, coalesce(($1::json ->> 'now')::bigint, {CLOCK}) + ($1::json ->> 'extend_ms')::bigint as until
            from mine)
        update conversations c
        set lease_until = t.until, turn_at = t.until, stamp = c.stamp # ($1::json ->> 'mark')::bigint
        from timed t where c.id = t.id returning c.id, c.stamp, c.lease_until"
    ),
    standings: "select c.id, c.mode, c.mode_version, c.fence, c.lease_turn, c.contact_seq
        from json_array_elements($1::json -> 'held') h join conversations c on c.id = h ->> 0"
        .to_owned(),
}
});

fn due(clock: &str) -> String {
    format!(
        "select id, channel, turn_at, send_at, send_rank, follow_up_at, tend_at from conversations
        where {clock} <= {NOW} and channel = {CHANNELS} order by {clock}, id limit ($1::json ->> 'limit')::bigint"
    )
}

/// Rows into a table, in the order given.
fn insert<T: Table>() -> String {
    let (table, columns) = (T::NAME, T::COLUMNS.join(", "));
    format!(
        "insert into {table} ({columns}) select {columns} from json_populate_recordset(null::{table}, $1::json) where {IF}"
    )
}

/// Rows over those of the same id: what can have changed.
fn update<T: Table>() -> String {
    let table = T::NAME;
    let columns: Vec<String> = T::COLUMNS
        .iter()
        .filter(|column| !T::FIXED.contains(column))
        .map(|column| format!("{column} = new.{column}"))
        .collect();
    format!(
        "update {table} old set {} from json_populate_recordset(null::{table}, $1::json) new
        where old.id = new.id and {IF}",
        columns.join(", ")
    )
}
