//! Place: where conversations are changed. One step on one conversation, under its row lock, in one transaction.
//!
//! A step is a function over a [`Docket`]: it reads what is, decides, changes, writes events. The store locks the
//! conversation's row, loads its open business, runs the step, saves what it changed, commits. Steps of many
//! conversations may share one transaction (group commit); each has its own outcome. A step may run more than once,
//! on fresh rows, when a commit failed: it must find its own earlier effect by the ids it was given.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;
use uuid::Uuid;

use super::forgetting::tombstones::{Removal, Tombstone};
use crate::domain::{
    chat::ChatId,
    conversation::Opening,
    docket::{Clocks, Docket, MessageProgress, TurnProgress, Typing},
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
    /// By the chat at the provider, any of its aliases. Begins a conversation if there is none and an opening is given; `Gone`
    /// if the channel was removed.
    /// An erased conversation does not count: the next message begins another.
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
    /// There are probably none: the store need not look before it is about to commit.
    pub keys_are_new: bool,
    /// Messages by our ids.
    pub messages: Vec<Uuid>,
    /// How many of the conversation's newest messages.
    pub newest: usize,
    /// The channel's row, locked.
    pub channel: bool,
    /// A turn by its id.
    pub turn: Option<Uuid>,
    /// A dead letter by its id.
    pub letter: Option<Uuid>,
    /// A draft by its id.
    pub draft: Option<Uuid>,
    /// The labels of the conversation.
    pub labels: bool,
    /// What an idempotency key stands for.
    pub request: Option<String>,
    /// The very conversation of the key. Otherwise, if it was merged, the step runs in the one where it continues; and if one
    /// of the keys is that of a message of one that was merged into it, there.
    pub itself: bool,
    /// Messages that the step is about: if one of them was removed, the step does not run, and begins no conversation.
    pub tombstones: Vec<Tombstone>,
}

impl Need {
    /// Nothing but the open business of the very conversation of the key, whether it was merged or not.
    pub fn itself() -> Self {
        Self { itself: true, ..Self::default() }
    }

    /// The number after which all messages are wanted, of a conversation whose newest one is `seq`.
    pub fn oldest_of(&self, seq: i64) -> i64 {
        // Numbers have no holes: each message takes the next under the lock of its conversation.
        seq.saturating_sub(i64::try_from(self.newest).unwrap_or(i64::MAX)).max(0)
    }
}

/// Why a step did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such conversation (any more).
    #[error("no such conversation")]
    Gone,
    /// The step is about a message that was removed. Nothing has happened.
    #[error("the message was removed before")]
    Removed(Removal),
    /// The store cannot be reached, or did not answer in time. Try again later.
    #[error("the database is unavailable")]
    Unavailable(#[source] Source),
    /// A list was asked to continue from a place that it has not given.
    #[error("not a cursor of this list")]
    NotACursor,
    /// The store refuses this step alone, for its data.
    #[error("the database refused the data")]
    Refused(#[source] Source),
}

impl Error {
    /// What to write down: what the adapter met, else the error itself.
    pub fn cause(&self) -> &(dyn std::error::Error + 'static) {
        std::error::Error::source(self).unwrap_or(self)
    }
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
    /// The version of that mode.
    pub version: i64,
    /// The current fence.
    pub fence: i64,
    /// The turn that holds the lease, if one does and it is known.
    pub turn: Option<Uuid>,
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

/// What the observer learns of each step once it is committed.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The moment of the step, by the store's clock: clocks are meant against it.
    pub at: Time,
    /// When it was asked for, by the clock of this process.
    pub asked_at: Instant,
    /// The channel.
    pub channel: String,
    /// The chat.
    pub chat: ChatId,
    /// How the conversation stands now.
    pub standing: Standing,
    /// When somebody must look again.
    pub clocks: Clocks,
    /// Messages that it changed or is about.
    pub messages: Vec<MessageProgress>,
    /// Turns that it changed, then one that it began.
    pub turns: Vec<TurnProgress>,
    /// A part that our side would be typing now.
    pub typing: Option<Typing>,
    /// The conversation was closed for good.
    pub is_erased: bool,
    /// What happened.
    pub events: Vec<Event>,
}

/// Hears of every commit of this instance: feeds local queues, cancels running turns, writes the log, wakes the feed.
pub trait Observer: Send + Sync {
    /// A transaction was committed. Must not block.
    fn committed(&self, commits: &[Committed]);

    /// Events that belong to no conversation were kept. Must not block.
    fn kept(&self, _events: &[Event]) {}
}

/// The place.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Runs a step on one conversation and saves what it changed. Takes effect whole or not at all.
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error>;

    /// Conversations of these channels in which that work is due by the store's clock, most urgent first. Live leases are
    /// left out.
    async fn due(&self, work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error>;

    /// How these conversations stand. Extends the leases that still have the fence named, if `extend_ms` is given.
    /// A conversation that is gone is left out.
    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error>;

    /// Keeps events and dead letters that belong to no conversation.
    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error>;

    /// Keeps one dead letter that belongs to no conversation, and the event that tells of it, unless an open one is kept
    /// already. Returns whether it was kept now.
    async fn keep_once(&self, event: Event, letter: DeadLetter) -> Result<bool, Error>;

    /// The moment by the store's clock.
    async fn now(&self) -> Result<Time, Error>;

    /// Forgets what is remembered here of a conversation that others have erased.
    fn forget(&self, conversation: Uuid);
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

/// A conversation that is gone meanwhile has nothing left to be changed.
pub fn ignore_gone<T>(outcome: Result<T, Error>) -> Result<(), Error> {
    match outcome {
        Ok(_) | Err(Error::Gone) => Ok(()),
        Err(error) => Err(error),
    }
}

/// First pause between two attempts of a step that must not be lost; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The same for what only this instance knows (what the model wrote, what the provider answered): an outage of the store
/// does not lose it, if it ends within this time. Whether it still counts is for the step to see.
pub async fn insist<T, F>(
    ledger: &dyn Ledger,
    key: Key,
    need: Need,
    patience: Duration,
    step: F,
) -> Result<T, Error>
where
    T: Send + 'static,
    F: Fn(&mut Docket) -> T + Send + Sync + 'static,
{
    let step = Arc::new(step);
    let gives_up_at = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    loop {
        let again = Arc::clone(&step);
        match change(ledger, key.clone(), need.clone(), move |docket| again(docket)).await {
            Err(Error::Unavailable(_)) if Instant::now() + pause < gives_up_at => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// A poisoned slot still holds the value of the last run that ended.
fn lock<T>(slot: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::play::Play;

    /// A store that comes back after so many tries.
    struct Away {
        tries: Mutex<usize>,
        play: Mutex<Play>,
    }

    #[async_trait]
    impl Ledger for Away {
        async fn run(&self, _: Key, _: Need, step: Erased) -> Result<(), Error> {
            let mut tries = lock_of(&self.tries);
            if *tries > 0 {
                *tries -= 1;
                return Err(Error::Unavailable("away".into()));
            }
            lock_of(&self.play).step(|docket, _| step(docket));
            Ok(())
        }

        async fn due(&self, _: Work, _: &[String], _: usize) -> Result<Vec<Due>, Error> {
            Ok(Vec::new())
        }

        async fn standings(&self, _: &[Held], _: Option<i64>) -> Result<Vec<Standing>, Error> {
            Ok(Vec::new())
        }

        async fn keep(&self, _: Vec<Event>, _: Vec<DeadLetter>) -> Result<(), Error> {
            Ok(())
        }

        async fn keep_once(&self, _: Event, _: DeadLetter) -> Result<bool, Error> {
            Ok(true)
        }

        async fn now(&self) -> Result<Time, Error> {
            Ok(Time(0))
        }

        fn forget(&self, _: Uuid) {}
    }

    fn lock_of<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        value.lock().expect("no test panics while it holds this")
    }

    async fn seq_of(away: usize, patience: Duration) -> (Result<i64, Error>, Duration) {
        let ledger = Away { tries: Mutex::new(away), play: Mutex::new(Play::new()) };
        let began = Instant::now();
        let step = |docket: &mut Docket| docket.conversation.seq;
        let outcome = insist(&ledger, Key::Id(Uuid::now_v7()), Need::default(), patience, step).await;
        (outcome, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_must_not_be_lost_waits_for_the_store_and_not_for_ever() {
        let minute = Duration::from_secs(60);
        assert!(matches!(seq_of(0, minute).await, (Ok(0), Duration::ZERO)));
        let (outcome, waited) = seq_of(6, minute).await;
        assert_eq!(outcome.ok(), Some(0));
        assert_eq!(waited, Duration::from_millis(100 + 200 + 400 + 800 + 1_600 + 2_000));
        let (outcome, waited) = seq_of(usize::MAX, minute).await;
        assert!(matches!(outcome, Err(Error::Unavailable(_))) && waited < minute, "{waited:?}");
    }
}
