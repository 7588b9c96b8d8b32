//! Place: the ledger over SQLite. Only what differs from PostgreSQL's; the work itself is in `commit`.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;

use super::Sqlite;
use crate::{
    adapters::{
        commit::{Dialect, GroupCommit, Guard, Sql, Statements, Transaction},
        rows::{
            ConversationRow, DraftRow, ErasedChatRow, ErasureRow, EventRow, FollowUpRow, LabelRow, LetterRow,
            MessageRow, ParkedRow, RequestRow, Table, TombstoneRow, TurnRow, columns, overwriting,
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

impl Sqlite {
    /// The place. Starts its writer on the runtime of the caller.
    pub fn ledger(&self, observer: Arc<dyn Observer>) -> Arc<dyn Ledger> {
        Arc::new(GroupCommit::start(self.clone(), observer))
    }
}

#[async_trait]
impl Dialect for Sqlite {
    type Row = SqliteRow;
    type Transaction = sqlx::Transaction<'static, sqlx::Sqlite>;
    const CHANNELS_APART: bool = false;

    fn sql() -> &'static Sql {
        &SQL
    }

    fn write_health(&self) -> &WriteHealth {
        &self.write_health
    }

    fn clock(&self) -> Option<Time> {
        Some(self.now())
    }

    type Own = ();

    /// The way to the database is short as it is.
    fn has_fast_path(&self) -> bool {
        false
    }

    async fn closing(&self) {
        std::future::pending().await
    }

    async fn save_if(
        &self,
        _: &mut Option<()>,
        _: Guard,
        _: Statements,
    ) -> Result<Option<Time>, sqlx::Error> {
        Ok(None)
    }

    async fn begin(&self) -> Result<Self::Transaction, sqlx::Error> {
        self.begin_writing().await
    }

    async fn read(&self, sql: &'static str, json: &str) -> Result<Vec<SqliteRow>, sqlx::Error> {
        sqlx::query(sql).bind(json).fetch_all(&self.ledger).await
    }
}

#[async_trait]
impl Transaction for sqlx::Transaction<'static, sqlx::Sqlite> {
    type Row = SqliteRow;

    async fn fetch(&mut self, sql: &'static str, json: &str) -> Result<Vec<SqliteRow>, sqlx::Error> {
        sqlx::query(sql).bind(json).fetch_all(&mut **self).await
    }

    async fn save(&mut self, statements: Statements) -> Result<(), sqlx::Error> {
        for (sql, json) in statements {
            sqlx::query(sql).bind(json).execute(&mut **self).await?;
        }
        Ok(())
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        self.commit().await
    }

    async fn rollback(self) -> Result<(), sqlx::Error> {
        self.rollback().await
    }
}

/// Those that are asked about.
const CHANNELS: &str = "(select value from json_each($1 -> 'channels'))";

/// `cross join` keeps the order of the tables: the few that are asked for first, then an index for each. `jsonb_each` gives each
/// row as it is kept inside; `json_each` would write it out as text, and that be read again, for each of its columns.
static SQL: LazyLock<Sql> = LazyLock::new(|| {
    Sql {
    // Never asked: the process has the clock.
    now: "select $1 -> 'now' as now".to_owned(),
    resolve: "select c.channel, c.chat_id, c.conversation_id
        from jsonb_each($1) k
        cross join chats c on c.channel = k.value ->> 0 and c.chat_id = k.value ->> 1"
        .to_owned(),
    // One writer: what was not there a statement ago is not there now.
    open: format!(
        "{} and value ->> 'channel' in (select name from channels);
        insert into chats (channel, chat_id, conversation_id)
        select value ->> 'channel', value ->> 'chat_id', value ->> 'id' from jsonb_each($1)
        where value ->> 'channel' in (select name from channels) returning conversation_id as id",
        insert::<ConversationRow>()
    ),
    // The transaction is the lock.
    lock: "select id, stamp, null as now from conversations
        where id in (select value from jsonb_each($1)) and erased_at is null"
        .to_owned(),
    // Nobody locks one alone.
    held: "select value as id from jsonb_each($1) where false".to_owned(),
    conversations: format!(
        "select {} from conversations where id in (select value from jsonb_each($1))",
        ConversationRow::COLUMNS.join(", ")
    ),
    messages: format!(
        "with wanted (id) as (
            select m.id from jsonb_each($1, '$.open') k
            cross join messages m on m.conversation_id = k.value and m.open
            union
            select m.id from jsonb_each($1, '$.keys') k
            cross join messages m on m.conversation_id = k.value ->> 0 and m.key = k.value ->> 1
            union
            select m.id from jsonb_each($1, '$.keys') k
            cross join messages m on m.conversation_id = k.value ->> 0 and m.provider_message_id = k.value ->> 1
            union
            select m.id from jsonb_each($1, '$.messages') k
            cross join messages m on m.conversation_id = k.value ->> 0 and m.id = k.value ->> 1
            union
            select m.id from jsonb_each($1, '$.newest') k
            cross join messages m on m.conversation_id = k.value ->> 0 and m.seq > k.value ->> 1)
        select {} from messages where id in (select id from wanted) order by conversation_id, seq",
        MessageRow::COLUMNS.join(", ")
    ),
    turns: format!(
        "select {} from jsonb_each($1, '$.turns') k
        cross join turns t on t.id = k.value ->> 1 and t.conversation_id = k.value ->> 0",
        columns::<TurnRow>("t")
    ),
    follow_ups: format!(
        "select {} from jsonb_each($1, '$.follow_ups') k
        cross join follow_ups f on f.conversation_id = k.value and f.state = 'pending'",
        columns::<FollowUpRow>("f")
    ),
    letters: format!(
        "with wanted (id) as (
            select l.id from jsonb_each($1, '$.open') k
            cross join dead_letters l on l.conversation_id = k.value and l.state = 'open'
                and l.kind <> 'delivery'
            union
            select l.id from jsonb_each($1, '$.letters') k
            cross join dead_letters l on l.conversation_id = k.value ->> 0 and l.id = k.value ->> 1)
        select {} from dead_letters where id in (select id from wanted) order by first_at, id",
        LetterRow::COLUMNS.join(", ")
    ),
    parked: format!(
        "select {} from jsonb_each($1, '$.open') k
        cross join parked p on p.conversation_id = k.value order by p.at, p.id",
        columns::<ParkedRow>("p")
    ),
    drafts: format!(
        "select {} from jsonb_each($1, '$.drafts') k
        cross join drafts d on d.id = k.value ->> 1 and d.conversation_id = k.value ->> 0",
        columns::<DraftRow>("d")
    ),
    requests: format!(
        "select {} from requests where key in (select value from jsonb_each($1, '$.requests'))",
        RequestRow::COLUMNS.join(", ")
    ),
    labels: format!(
        "select t.conversation_id, {} from jsonb_each($1, '$.labels') k
        cross join conversation_labels t on t.conversation_id = k.value cross join labels l on l.id = t.label_id",
        columns::<LabelRow>("l")
    ),
    channels: "select name, state, next_send_at, sends from channels
        where name in (select value from jsonb_each($1)) order by name"
        .to_owned(),
    in_flight: "select channel, count(*) as in_flight from messages
        where state = 'sending' and channel in (select value from jsonb_each($1))
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
    delete_parked: "delete from parked where id in (select value from jsonb_each($1))".to_owned(),
    save_channels: "update channels set state = k.value ->> 'state', next_send_at = k.value ->> 'next_send_at',
        sends = k.value ->> 'sends' from jsonb_each($1) k where channels.name = k.value ->> 'name'"
        .to_owned(),
    delete_requests: format!(
        "delete from requests where key in (select value ->> 'key' from jsonb_each($1))
        and at <= (select min(value ->> 'at') from jsonb_each($1)) - {REMEMBERED_MS}"
    ),
    insert_requests: insert::<RequestRow>(),
    delete_labelled: "delete from conversation_labels where (conversation_id, label_id) in (
            select value ->> 'conversation_id', value ->> 'label_id' from jsonb_each($1))"
        .to_owned(),
    insert_labelled: "insert into conversation_labels (conversation_id, label_id)
        select new.value ->> 'conversation_id', l.id from jsonb_each($1) new
        cross join labels l on l.id = new.value ->> 'label_id' where true on conflict do nothing"
        .to_owned(),
    keep_erased_chats: "insert into erased_chats (chat_id, channel, conversation_id)
        select chat_id, channel, conversation_id from chats where conversation_id in (select value from jsonb_each($1))"
        .to_owned(),
    insert_erased_chats: format!("{} on conflict do nothing", insert::<ErasedChatRow>()),
    delete_chats: "delete from chats where conversation_id in (select value from jsonb_each($1))".to_owned(),
    move_chats: "update chats set conversation_id = k.value ->> 1 from jsonb_each($1) k
        where conversation_id = k.value ->> 0"
        .to_owned(),
    having_message: "select k.value ->> 0 as number, m.conversation_id as id from jsonb_each($1) k
        cross join messages m on m.conversation_id = k.value ->> 1
        and (m.key = k.value ->> 2 or m.provider_message_id = k.value ->> 2)"
        .to_owned(),
    insert_erasures: insert::<ErasureRow>(),
    put_tombstones: format!("{} {}", insert::<TombstoneRow>(), TombstoneRow::OR_LONGER),
    tombstones: "select k.value ->> 3 as hash, k.value ->> 4 as kept_until, coalesce(t.kind, 'erased') as kind
        from jsonb_each($1) k left join tombstones t on t.hash = k.value ->> 3
            and (k.value ->> 4 is null or t.until >= k.value ->> 4)
        where t.hash is not null
        or exists (select 1 from erased_chats e cross join messages m on m.conversation_id = e.conversation_id
            where e.channel = k.value ->> 0 and e.chat_id = k.value ->> 1
            and (m.key = k.value ->> 2 or m.provider_message_id = k.value ->> 2))"
        .to_owned(),
    // What refers to them goes with them.
    take_back: "delete from conversations where id in (select value from jsonb_each($1))".to_owned(),
    insert_events: insert::<EventRow>(),
    due_turns: due("turn_at"),
    due_sends: format!(
        "select c.id, c.channel, c.turn_at, c.send_at, c.send_rank, c.follow_up_at, c.tend_at
        from conversations c left join channels h on h.name = c.channel
        where c.send_at <= $1 ->> 'now' and c.channel in {CHANNELS} and {able}
        and coalesce(h.next_send_at, 0) not between ($1 ->> 'now') + 1 and ($1 ->> 'now') + {HELD_AT_MOST_MS}
        and (h.braked_at is null or c.send_rank - c.send_at < {proactive})
        order by c.send_rank, c.id limit $1 ->> 'limit'",
        able = may_send!(),
        proactive = Lane::Proactive.rank(Time(0))
    ),
    // Those that the brake holds would fill the list, and hide the others.
    due_follow_ups: format!(
        "select c.id, c.channel, c.turn_at, c.send_at, c.send_rank, c.follow_up_at, c.tend_at
        from conversations c left join channels h on h.name = c.channel
        where c.follow_up_at <= $1 ->> 'now' and c.channel in {CHANNELS} and h.braked_at is null
        order by c.follow_up_at, c.id limit $1 ->> 'limit'"
    ),
    due_tends: due("tend_at"),
    extend: "update conversations
        set lease_until = ($1 ->> 'now') + ($1 ->> 'extend_ms'), turn_at = ($1 ->> 'now') + ($1 ->> 'extend_ms'),
        stamp = (stamp | ($1 ->> 'mark')) - (stamp & ($1 ->> 'mark'))
        from jsonb_each($1, '$.held') h
        where conversations.id = h.value ->> 0 and conversations.fence = h.value ->> 1
        and conversations.lease_until is not null
        returning conversations.id, conversations.stamp, conversations.lease_until"
        .to_owned(),
    standings: "select c.id, c.mode, c.mode_version, c.fence, c.lease_turn, c.contact_seq
        from jsonb_each($1, '$.held') h cross join conversations c on c.id = h.value ->> 0"
        .to_owned(),
}
});

fn due(clock: &str) -> String {
    format!(
        "select id, channel, turn_at, send_at, send_rank, follow_up_at, tend_at from conversations
        where {clock} <= $1 ->> 'now' and channel in {CHANNELS} order by {clock}, id limit $1 ->> 'limit'"
    )
}

/// Rows into a table, in the order given.
fn insert<T: Table>() -> String {
    let values: Vec<String> = T::COLUMNS.iter().map(|column| format!("value ->> '{column}'")).collect();
    let (table, columns) = (T::NAME, T::COLUMNS.join(", "));
    format!("insert into {table} ({columns}) select {} from jsonb_each($1) where true", values.join(", "))
}

/// Rows over those of the same id: what can have changed.
fn update<T: Table>() -> String {
    let table = T::NAME;
    let columns: Vec<String> = T::COLUMNS
        .iter()
        .filter(|column| !T::FIXED.contains(column))
        .map(|column| format!("{column} = new.value ->> '{column}'"))
        .collect();
    format!(
        "update {table} set {} from jsonb_each($1) new where {table}.id = new.value ->> 'id'",
        columns.join(", ")
    )
}
