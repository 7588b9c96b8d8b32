//! Place: where conversations are changed. One step on one conversation, under its row lock, in one transaction.
//!
//! A step is a function over a [`Docket`]: it reads what is, decides, changes, writes events. The store locks the
//! conversation's row, loads its open business, runs the step, saves what it changed, commits. Steps of many
//! conversations may share one transaction (group commit); each has its own outcome. A step may run more than once,
//! on fresh rows, when a commit failed: it must find its own earlier effect by the ids it was given.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use uuid::Uuid;

use crate::domain::{
    chat::ChatId,
    conversation::Opening,
    docket::{Clocks, Docket},
    event::Event,
    mode::Mode,
    time::Time,
    turn::DeadLetter,
};

/// Which conversation a step is about.
#[derive(Debug, Clone)]
pub enum Key {
    /// By our id. `Gone` if there is none: it is never made again.
    Id(Uuid),
    /// By the chat at the provider, any of its aliases. Begins a conversation if there is none and an opening is given.
    Chat {
        /// The channel's name.
        channel: String,
        /// The chat.
        chat: ChatId,
        /// How to begin.
        opening: Option<Opening>,
    },
}

/// What a step needs beyond the open business.
#[derive(Debug, Clone, Default)]
pub struct Need {
    /// Messages with these keys or provider ids, whatever their state.
    pub keys: Vec<String>,
    /// Messages by our ids.
    pub messages: Vec<Uuid>,
    /// The newest messages of the conversation, so many.
    pub newest: usize,
    /// The channel's row, locked.
    pub channel: bool,
    /// A turn by its id.
    pub turn: Option<Uuid>,
    /// A dead letter by its id.
    pub letter: Option<Uuid>,
    /// What an idempotency key stands for.
    pub request: Option<String>,
}

/// Why a step did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such conversation (any more).
    #[error("no such conversation")]
    Gone,
    /// The store cannot be reached, or did not answer in time. Try again later.
    #[error("the database is unavailable")]
    Unavailable(#[source] Source),
    /// The store refuses this step alone, for its data.
    #[error("the database refused the data")]
    Refused(#[source] Source),
}

/// What an adapter met.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// A step, erased: it keeps its outcome for itself.
pub type Erased = Arc<dyn Fn(&mut Docket) + Send + Sync>;

/// A turn that runs somewhere, for looking after many at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The conversation.
    pub conversation: Uuid,
    /// The fence of the lease.
    pub fence: i64,
}

/// How a conversation stands, as far as a running turn must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The conversation.
    pub conversation: Uuid,
    /// Who answers.
    pub mode: Mode,
    /// Under which version.
    pub version: i64,
    /// The current fence.
    pub fence: i64,
    /// The newest message of the contact that may start a turn.
    pub contact_seq: i64,
}

/// What kind of work may be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// A turn may begin.
    Turn,
    /// A message may leave.
    Send,
    /// A follow-up's time has come.
    FollowUp,
    /// Something else.
    Tend,
}

/// A conversation in which something is due. A hint: the step looks again under the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The conversation.
    pub conversation: Uuid,
    /// Its channel.
    pub channel: String,
    /// Its clocks.
    pub clocks: Clocks,
}

/// What is told of each step once it is committed.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The moment of the step, by the store's clock: clocks are meant against it.
    pub at: Time,
    /// The channel.
    pub channel: String,
    /// The chat.
    pub chat: ChatId,
    /// How the conversation stands now.
    pub standing: Standing,
    /// When somebody must look again.
    pub clocks: Clocks,
    /// What happened.
    pub events: Vec<Event>,
}

/// Hears of every commit of this instance: feeds local queues, cancels running turns, writes the log, wakes the feed.
pub trait Observer: Send + Sync {
    /// A transaction was committed. Must not block.
    fn committed(&self, commits: &[Committed]);
}

/// The place.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Runs a step on one conversation and saves what it changed. Takes effect whole or not at all.
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error>;

    /// Conversations in which that work is due at `now` by the store's clock, most urgent first. Live leases are left out.
    async fn due(&self, work: Work, limit: usize) -> Result<Vec<Due>, Error>;

    /// How these conversations stand. Extends the leases that still have the fence named, if told for how long.
    /// A conversation that is gone is left out.
    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error>;

    /// Keeps events and dead letters that belong to no conversation.
    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error>;

    /// The moment by the store's clock.
    async fn now(&self) -> Result<Time, Error>;
}

/// Runs a step that has an outcome.
pub async fn change<T, F>(ledger: &dyn Ledger, key: Key, need: Need, step: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: Fn(&mut Docket) -> T + Send + Sync + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&slot);
    let erased: Erased = Arc::new(move |docket| {
        let value = step(docket);
        *lock(&outcome) = Some(value);
    });
    ledger.run(key, need, erased).await?;
    let outcome = lock(&slot).take();
    outcome.ok_or_else(|| Error::Refused("the store committed without running the step".into()))
}

/// A poisoned slot still holds the value of the last run that ended.
fn lock<T>(slot: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
