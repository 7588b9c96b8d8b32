//! Group commit: the ledger of both stores, over what little each database must do in its own way.
//!
//! In: steps, from many callers at once. A writer takes what has gathered while the transaction before committed, and
//! runs it all in one: on the fast path if all that it needs is known here, else on the slow path, under the locks. Out: each
//! step's own outcome, and one notice of everything that is now committed.

mod writer;

mod writer_context;

mod verdict;

mod outage_log;

mod fast_path;

mod batch;

mod steps;

mod load;

mod docket_cache;

mod clock;

mod save;

mod tombstones;

mod in_doubt;

mod merged;

#[cfg(test)]
mod suite;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::Instant,
};
use uuid::Uuid;

use docket_cache::DocketCache;

use super::{
    failure,
    rows::{Columns, Field as _, LetterRow},
    write_health::WriteHealth,
};
use crate::{
    domain::{docket::Clocks, event::Event, time::Time, turn::DeadLetter},
    flow::ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Observer, Standing, Work},
};

/// Steps that wait for one writer. Callers beyond that wait to be let in.
const WAITING_MAX: usize = 1_024;

/// A caller gets an answer within this: a webhook must hear of an outage in less than five seconds.
const ANSWER: Duration = Duration::from_millis(4_500);

/// Statements, each with its parameter.
pub(crate) type Statements = Vec<(&'static str, String)>;

/// What must still be so, each as JSON text: conversations and their stamps, `[[id, stamp]]`; keys that no message of theirs
/// has, `[[id, key]]`; what must not have been removed, `[[channel, chat, key, hash, kept until]]`; how channels stand, `[[name,
/// state, next_send_at, sends]]`.
pub(crate) type Guard = [String; 4];

/// What each database does in its own way. Every statement takes one parameter, JSON text: sets go in whole.
#[async_trait]
pub(crate) trait Dialect: Clone + Send + Sync + 'static {
    /// A row of its driver.
    type Row: Columns + Send;
    /// A transaction of it.
    type Transaction: Transaction<Row = Self::Row>;
    /// Whether steps that lock a channel have a writer of their own, so that two transactions can be on their way.
    const CHANNELS_APART: bool;

    /// Its statements.
    fn sql() -> &'static Sql;

    /// Hears of writes that fail.
    fn write_health(&self) -> &WriteHealth;

    /// The moment, unless the server knows it.
    fn clock(&self) -> Option<Time>;

    /// Begins to write. Its caller must not drop the future half-way.
    async fn begin(&self) -> Result<Self::Transaction, sqlx::Error>;

    /// A connection that one writer keeps.
    type Own: Send + 'static;

    /// Ends when kept connections must be given back.
    async fn closing(&self);

    /// Whether [`Self::save_if`] spares anything.
    fn has_fast_path(&self) -> bool;

    /// Writes in a transaction of its own, if the conversations of the guard have the stamps named, no message has one
    /// of the keys, and the channels stand so. The moment; None: it is not so, and nothing was written. Its caller must
    /// not drop the future half-way. The connection is made if there is none, and is gone after an error.
    async fn save_if(
        &self,
        own: &mut Option<Self::Own>,
        guard: Guard,
        statements: Statements,
    ) -> Result<Option<Time>, sqlx::Error>;

    /// Reads outside of any transaction.
    async fn read(&self, sql: &'static str, json: &str) -> Result<Vec<Self::Row>, sqlx::Error>;
}

/// A transaction of either database.
#[async_trait]
pub(crate) trait Transaction: Send {
    /// A row of its driver.
    type Row: Columns + Send;

    /// Runs a statement and returns its rows.
    async fn fetch(&mut self, sql: &'static str, json: &str) -> Result<Vec<Self::Row>, sqlx::Error>;

    /// Runs statements that change different tables.
    async fn save(&mut self, statements: Statements) -> Result<(), sqlx::Error>;

    /// Makes it all last.
    async fn commit(self) -> Result<(), sqlx::Error>;

    /// Undoes it all.
    async fn rollback(self) -> Result<(), sqlx::Error>;
}

/// The statements of a database. The comment on each says what its JSON holds.
pub(crate) struct Sql {
    /// The moment as `now`. Nothing.
    pub(crate) now: String,
    /// `channel`, `chat_id` and `conversation_id` of known chats. `[[channel, chat]]`
    pub(crate) resolve: String,
    /// Begins conversations whose chat is not known, on channels that are there and stay until the end of the transaction, and
    /// returns the `id` of those it began. Rows of conversations.
    pub(crate) open: String,
    /// Locks conversations in the order of their ids: `id`, `stamp`, and the moment after as `now` (may be null). Not those
    /// that are closed for good. `[id]`
    pub(crate) lock: String,
    /// `id` of those that somebody else has locked. Waits for nobody. `[id]`
    pub(crate) held: String,
    /// Conversations, whole. `[id]`
    pub(crate) conversations: String,
    /// Messages wanted, by number. [`load::LoadRequest`], as the seven after it.
    pub(crate) messages: String,
    /// Turns wanted.
    pub(crate) turns: String,
    /// Pending follow-ups.
    pub(crate) follow_ups: String,
    /// Open dead letters, and those wanted.
    pub(crate) letters: String,
    /// Parked reports, in the order in which they came.
    pub(crate) parked: String,
    /// Drafts wanted.
    pub(crate) drafts: String,
    /// Remembered requests.
    pub(crate) requests: String,
    /// Labels of conversations.
    pub(crate) labels: String,
    /// Channels, locked in the order of their names; who begins conversations there does not wait. `[name]`
    pub(crate) channels: String,
    /// `channel` and `in_flight`, where there is any. `[name]`
    pub(crate) in_flight: String,
    /// Overwrites conversations. Rows, as all that follow.
    pub(crate) save_conversations: String,
    /// New messages.
    pub(crate) insert_messages: String,
    /// Overwrites messages.
    pub(crate) save_messages: String,
    /// Overwrites turns.
    pub(crate) save_turns: String,
    /// New turns.
    pub(crate) insert_turns: String,
    /// Puts or overwrites follow-ups, in this order.
    pub(crate) put_follow_ups: String,
    /// Puts or overwrites dead letters.
    pub(crate) put_letters: String,
    /// The same where they are not open: `id` of those that it put.
    pub(crate) put_letters_once: String,
    /// Puts or overwrites drafts, in this order.
    pub(crate) put_drafts: String,
    /// New parked reports.
    pub(crate) insert_parked: String,
    /// Forgets parked reports. `[id]`
    pub(crate) delete_parked: String,
    /// Overwrites the standing of channels. `[{name, state, next_send_at, sends}]`
    pub(crate) save_channels: String,
    /// Forgets requests under keys that are used again, where they are so old that nobody goes by them. Rows, as the next.
    pub(crate) delete_requests: String,
    /// New remembered requests.
    pub(crate) insert_requests: String,
    /// Takes labels off conversations.
    pub(crate) delete_labelled: String,
    /// Puts labels on conversations, those that are still there.
    pub(crate) insert_labelled: String,
    /// Keeps the ids of chats of conversations whose rows go. `[id]`
    pub(crate) keep_erased_chats: String,
    /// Keeps other ids by which their people are known, new ones and those that are there. Rows.
    pub(crate) insert_erased_chats: String,
    /// Nobody finds conversations by these chats any more. `[id]`
    pub(crate) delete_chats: String,
    /// A look-up of a conversation by its chats finds the other one. `[[id, id]]`
    pub(crate) move_chats: String,
    /// New erasures.
    pub(crate) insert_erasures: String,
    /// Hashes, new ones and those that are there, of which the one that is kept for longer counts.
    pub(crate) put_tombstones: String,
    /// Of these, `hash`, `kept_until` and `kind` of those that are of a removed message: whose hash is kept until then, if it
    /// says when. `[[channel, chat, key, hash, kept until]]`
    pub(crate) tombstones: String,
    /// `number` and `id` of conversations that have a message with that key. `[[number, id, key]]`
    pub(crate) having_message: String,
    /// Takes back conversations that this transaction has begun. `[id]`
    pub(crate) take_back: String,
    /// New events, in this order.
    pub(crate) insert_events: String,
    /// Conversations with a turn due: `id`, `channel` and the clocks. `{now, channels, limit}`, as the three after it.
    pub(crate) due_turns: String,
    /// With a send due, on a channel that can send now.
    pub(crate) due_sends: String,
    /// With a follow-up due.
    pub(crate) due_follow_ups: String,
    /// With something else due.
    pub(crate) due_tends: String,
    /// Extends leases whose fence is still the one named, and changes the stamps by exclusive or: `id`, `stamp` and
    /// `lease_until` as they are then. `{now, extend_ms, mark, held: [[id, fence]]}`
    pub(crate) extend: String,
    /// How conversations stand. The same.
    pub(crate) standings: String,
}

/// A step that waits for its transaction.
struct Op {
    key: Key,
    need: Need,
    step: Erased,
    asked_at: Instant,
    answer: oneshot::Sender<Result<(), Error>>,
    /// What was remembered of its chat led to a conversation that was merged: it was looked up again.
    is_found_anew: bool,
}

impl Op {
    /// Whether its caller has been told that it failed: it must not take effect after that.
    fn is_given_up(&self) -> bool {
        self.asked_at.elapsed() >= ANSWER
    }
}

/// The place, for both databases.
pub(crate) struct GroupCommit<D> {
    dialect: D,
    writer: mpsc::Sender<Op>,
    /// Of the steps that lock a channel.
    channels: mpsc::Sender<Op>,
    cache: Arc<DocketCache>,
    observer: Arc<dyn Observer>,
}

impl<D: Dialect> GroupCommit<D> {
    /// Starts the writers on the runtime of the caller. They end when this is dropped and what waits is done.
    pub(crate) fn start(dialect: D, observer: Arc<dyn Observer>) -> Self {
        let cache: Arc<DocketCache> = Arc::default();
        let context = writer_context::WriterContext {
            dialect: dialect.clone(),
            cache: Arc::clone(&cache),
            clock: Arc::default(),
            observer: Arc::clone(&observer),
        };
        let start = || {
            let (sender, receiver) = mpsc::channel(WAITING_MAX);
            tokio::spawn(writer::run(context.clone(), receiver));
            sender
        };
        let writer = start();
        let channels = if D::CHANNELS_APART { start() } else { writer.clone() };
        Self { dialect, writer, channels, cache, observer }
    }

    /// Runs a few statements in a transaction. Returns the rows of the last.
    async fn write(&self, statements: Statements) -> Result<Vec<D::Row>, Error> {
        let dialect = self.dialect.clone();
        self.apart(async move {
            let (mut transaction, mut rows) = (dialect.begin().await?, Vec::new());
            for (sql, json) in statements {
                rows = transaction.fetch(sql, &json).await?;
            }
            transaction.commit().await.map(|()| rows)
        })
        .await
    }

    /// Runs these statements in a transaction, if the first returns any rows. Whether it did.
    async fn write_if(&self, first: (&'static str, String), rest: Statements) -> Result<bool, Error> {
        let dialect = self.dialect.clone();
        self.apart(async move {
            let mut transaction = dialect.begin().await?;
            if transaction.fetch(first.0, &first.1).await?.is_empty() {
                return transaction.rollback().await.map(|()| false);
            }
            transaction.save(rest).await?;
            transaction.commit().await.map(|()| true)
        })
        .await
    }

    /// Runs a transaction on a task of its own: a caller that goes away must not drop it half-way.
    async fn apart<T: Send + 'static>(
        &self,
        transaction: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static,
    ) -> Result<T, Error> {
        match tokio::time::timeout(ANSWER, tokio::spawn(transaction)).await {
            Ok(Ok(outcome)) => outcome.map_err(|error| {
                self.dialect.write_health().note_error(&error);
                failure(error)
            }),
            Ok(Err(panic)) => Err(Error::Unavailable(panic.into())),
            Err(elapsed) => Err(Error::Unavailable(elapsed.into())),
        }
    }

    async fn read(&self, sql: &'static str, value: &serde_json::Value) -> Result<Vec<D::Row>, Error> {
        self.dialect.read(sql, &value.to_string()).await.map_err(failure)
    }
}

#[async_trait]
impl<D: Dialect> Ledger for GroupCommit<D> {
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error> {
        let (answer, outcome) = oneshot::channel();
        let queue = if need.channel { &self.channels } else { &self.writer };
        let op = Op { key, need, step, asked_at: Instant::now(), answer, is_found_anew: false };
        let asked = tokio::time::timeout(ANSWER, async {
            enqueue(queue, op).await?;
            outcome.await.unwrap_or_else(|_| Err(Error::Unavailable("the writer dropped the step".into())))
        });
        asked.await.unwrap_or_else(|elapsed| Err(Error::Unavailable(elapsed.into())))
    }

    async fn due(&self, work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error> {
        let sql = D::sql();
        let sql = match work {
            Work::Turn => &sql.due_turns,
            Work::Send => &sql.due_sends,
            Work::FollowUp => &sql.due_follow_ups,
            Work::Tend => &sql.due_tends,
        };
        let now = self.dialect.clock().map(|now| now.0);
        let asked = json!({ "now": now, "channels": channels, "limit": limit });
        let rows = self.read(sql, &asked).await?;
        rows.iter().map(due).collect::<Result<_, _>>().map_err(failure)
    }

    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error> {
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let held: Vec<_> = held.iter().map(|held| (held.conversation.to_string(), held.fence)).collect();
        let mark = new_stamp();
        let asked = json!({
            "now": self.dialect.clock().map(|now| now.0),
            "extend_ms": extend_ms,
            "mark": mark,
            "held": held,
        });
        if extend_ms.is_some() {
            for row in &self.write(vec![(&D::sql().extend, asked.to_string())]).await? {
                let (stamp, until) = (i64::read(row, "stamp"), Time::read(row, "lease_until"));
                let (stamp, until) = (stamp.map_err(failure)?, until.map_err(failure)?);
                self.cache.extend(Uuid::read(row, "id").map_err(failure)?, (stamp ^ mark, stamp), until);
            }
        }
        let rows = self.read(&D::sql().standings, &asked).await?;
        rows.iter().map(standing).collect::<Result<_, _>>().map_err(failure)
    }

    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error> {
        let statements = save::outside(D::sql(), events.clone(), letters).map_err(failure)?;
        if statements.is_empty() {
            return Ok(());
        }
        self.write(statements).await?;
        self.observer.kept(&events);
        Ok(())
    }

    async fn keep_once(&self, event: Event, letter: DeadLetter) -> Result<bool, Error> {
        let put = text(&[LetterRow::of(letter)]).map_err(failure)?;
        let told = save::outside(D::sql(), vec![event.clone()], Vec::new()).map_err(failure)?;
        let is_new = self.write_if((&D::sql().put_letters_once, put), told).await?;
        if is_new {
            self.observer.kept(&[event]);
        }
        Ok(is_new)
    }

    async fn now(&self) -> Result<Time, Error> {
        if let Some(now) = self.dialect.clock() {
            return Ok(now);
        }
        let rows = self.read(&D::sql().now, &json!(null)).await?;
        let row = rows.first().ok_or_else(|| failure(sqlx::Error::RowNotFound))?;
        Time::read(row, "now").map_err(failure)
    }

    fn forget(&self, conversation: Uuid) {
        self.cache.forget(conversation);
    }
}

/// Puts a step into the queue without yielding if there is room, so that steps are queued in the order of their calls.
async fn enqueue(queue: &mpsc::Sender<Op>, op: Op) -> Result<(), Error> {
    let op = match queue.try_send(op) {
        Ok(()) => return Ok(()),
        Err(TrySendError::Full(op) | TrySendError::Closed(op)) => op,
    };
    queue.send(op).await.map_err(|_| Error::Unavailable("the writer is gone".into()))
}

fn due<R: Columns>(row: &R) -> Result<Due, sqlx::Error> {
    Ok(Due {
        conversation: Uuid::read(row, "id")?,
        channel: String::read(row, "channel")?,
        clocks: clocks(row)?,
    })
}

fn clocks<R: Columns>(row: &R) -> Result<Clocks, sqlx::Error> {
    Ok(Clocks {
        turn_at: Option::read(row, "turn_at")?,
        send_at: Option::read(row, "send_at")?,
        send_rank: i64::read(row, "send_rank")?,
        follow_up_at: Option::read(row, "follow_up_at")?,
        tend_at: Option::read(row, "tend_at")?,
    })
}

fn standing<R: Columns>(row: &R) -> Result<Standing, sqlx::Error> {
    Ok(Standing {
        conversation: Uuid::read(row, "id")?,
        mode: crate::domain::mode::Mode::read(row, "mode")?,
        version: i64::read(row, "mode_version")?,
        fence: i64::read(row, "fence")?,
        turn: Option::read(row, "lease_turn")?,
        contact_seq: i64::read(row, "contact_seq")?,
    })
}

/// One that no row carries, whatever another instance, a failover or a restore has made of it.
fn new_stamp() -> i64 {
    fastrand::i64(..)
}

/// JSON of what has no reason to fail: our own structs of words and numbers.
fn text<T: Serialize>(value: &T) -> Result<String, sqlx::Error> {
    serde_json::to_string(value).map_err(|e| sqlx::Error::Encode(e.into()))
}
