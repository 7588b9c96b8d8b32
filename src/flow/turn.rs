//! Step: a ripe burst becomes a reply. Lease, generate, commit; stopped the moment its permit is withdrawn.
//!
//! In: conversations whose burst is ripe, or whose follow-up is to be written. Out: parts owed, or the turn's end
//! under its name. No connection and no transaction stays open while the model works.

pub mod immediate_turn;

mod lock;

mod perceiving;

mod writing;

mod end;

use std::sync::Arc;

#[cfg(test)]
pub(super) use end::need_of;
use end::{END, Ended};
use execution::redis_lock::Lock;
use futures_util::future::join;
use lock::{Held, lock_key};
pub use lock::{Tried, count_locks_from_zero};
use metrics::histogram;
pub use perceiving::Perceiving;
use perceiving::Perception;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use writing::{Unwritten, Words};

use super::{
    agenda,
    archive::Archive,
    generator::{
        Failure, FailureKind, Generator, Request,
        cached_answers::{self, Answered, Answers},
        context,
        look_ups::LookUps,
    },
    inbox::{self, Begun, Claim, Claimant},
    instance::{
        channels::{Channel, Channels},
        dispatch::Dispatch,
        gate::Gate,
        measure::{Stopwatch, seconds},
        model_breaker::ModelBreaker,
        pace::Pace,
    },
    ledger::{self, Key, Ledger, Need, change, insist},
    reply::{Answer, Cost, Discarded, TurnEnd},
    sender::Sender,
};
use crate::domain::{
    chat::{ChatId, ChatKind},
    docket::Docket,
    policy::ReadReceipts,
    time::Time,
    turn::Purpose,
};

/// A contended lock is looked at again after this; the second time the database decides alone.
const CONTENDED_MS: i64 = 1_000;

/// What a look at one conversation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A turn ran and ended so.
    Worked(TurnEnd),
    /// Nothing is ripe.
    Idle,
    /// Not for this many milliseconds.
    NotYet(i64),
    /// Another instance has it.
    LeftToHolder,
}

/// What comes before the model.
enum Prepared {
    /// It is asked this.
    Request(Box<Request>),
    /// It is not asked: it would not understand anything.
    Ended(TurnEnd),
    /// Not now.
    Failed(Failure),
}

/// The step.
pub struct Turns {
    /// This instance's name.
    pub instance: String,
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// What the model reads.
    pub archive: Arc<dyn Archive>,
    /// The rules and gateways.
    pub channels: Arc<Channels>,
    /// The model.
    pub generator: Arc<dyn Generator>,
    /// What the business knows.
    pub look_ups: Arc<dyn LookUps>,
    /// What makes words of voice notes and pictures, as far as anything does.
    pub perceiving: Perceiving,
    /// Who goes first to it.
    pub gate: Gate,
    /// How many begin in a minute, if that is limited.
    pub pace: Option<Arc<Pace>>,
    /// Whether it is worth asking.
    pub breaker: ModelBreaker,
    /// What was answered before, for as long as it is not.
    pub answers: Arc<dyn Answers>,
    /// The lock in front: saves work between instances, decides nothing.
    pub lock: Option<Lock>,
    /// What runs here.
    pub dispatch: Arc<Dispatch>,
    /// Takes what may leave the moment it is owed.
    pub sender: Arc<Sender>,
    /// Tool calls of one turn, one after another.
    pub tool_rounds: usize,
    /// Ends every generation when the instance stops.
    pub stop: CancellationToken,
    /// The moment by this machine's clock.
    pub clock: fn() -> Time,
}

impl Turns {
    /// Answers the ripe burst of one conversation.
    pub async fn answer(&self, conversation: Uuid, is_second_look: bool) -> Result<Outcome, ledger::Error> {
        let (lock, found_locked) = match self.try_lock(&lock_key(conversation)).await {
            Held::Free => (None, false),
            Held::Mine(lease) => (Some(Arc::new(lease)), false),
            Held::Other if !is_second_look => return Ok(Outcome::LeftToHolder),
            Held::Other => (None, true),
        };
        let ended = match self.claim(conversation, found_locked).await {
            Ok(Some((channel, Claim::Begun(begun), _))) => {
                self.run(&channel, begun, lock.clone()).await.map(Ok)
            }
            Ok(Some((_, Claim::NotYet(at) | Claim::Held(at), now))) => Ok(Err(Outcome::not_before(at, now))),
            Ok(Some((_, Claim::Nothing, _)) | None) | Err(ledger::Error::Gone) => Ok(Err(Outcome::Idle)),
            Err(error) => Err(error),
        };
        self.release(lock).await;
        match ended? {
            Ok(ended) => self.deliver(ended).await,
            Err(outcome) => Ok(outcome),
        }
    }

    /// Runs a turn that began in the transaction in which its message was stored. The lock in front, which is for
    /// others to see, is taken meanwhile.
    pub async fn answer_begun(
        &self,
        channel: &Arc<Channel>,
        begun: Box<Begun>,
    ) -> Result<Outcome, ledger::Error> {
        let (conversation, fence) = (begun.conversation, begun.turn.fence);
        let lock = async {
            let Held::Mine(lease) = self.try_lock(&lock_key(conversation)).await else { return None };
            let lease = Arc::new(lease);
            self.dispatch.running.hold(conversation, fence, &lease);
            Some(lease)
        };
        let (ended, lock) = join(self.run(channel, begun, None), lock).await;
        self.release(lock).await;
        self.deliver(ended?).await
    }

    /// What could leave the moment it was owed does, after the turn itself has ended.
    async fn deliver(&self, ended: Ended) -> Result<Outcome, ledger::Error> {
        if let Some(claimed) = ended.claimed {
            Box::pin(self.sender.deliver(claimed)).await?;
        }
        Ok(Outcome::Worked(ended.committed))
    }

    /// Fires the due follow-up of one conversation: its words are queued, or the assistant writes them.
    pub async fn follow_up(&self, conversation: Uuid) -> Result<Outcome, ledger::Error> {
        let (channels, claimant) = (Arc::clone(&self.channels), self.claimant(false));
        let again = claimant.clone();
        let need = Need { newest: 20, ..Need::default() };
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel)?;
            let fired = agenda::fire(docket, &channel.policy, &claimant);
            Some((channel, fired, docket.now))
        };
        let fired = match change(&*self.ledger, Key::Id(conversation), need, step).await {
            Err(error @ ledger::Error::Unavailable(_)) => {
                let found = self.begun_unheard(Key::Id(conversation), again).await?;
                let begun = found.map(|(channel, begun)| (channel, begun.at, agenda::Fired::Begun(begun)));
                begun.map(|(channel, at, fired)| Some((channel, fired, at))).ok_or(error)
            }
            fired => fired,
        };
        match fired {
            Ok(Some((channel, agenda::Fired::Begun(begun), _))) => {
                let ended = self.run(&channel, begun, None).await?;
                self.deliver(ended).await
            }
            Ok(Some((_, agenda::Fired::Owed, _))) => Ok(Outcome::Worked(TurnEnd::Owed)),
            Ok(Some((_, agenda::Fired::NotYet(at), now))) => Ok(Outcome::not_before(at, now)),
            Ok(Some((_, agenda::Fired::Braked | agenda::Fired::Nothing, _)) | None)
            | Err(ledger::Error::Gone) => Ok(Outcome::Idle),
            Err(error) => Err(error),
        }
    }

    /// This instance, with a turn that may begin.
    pub fn claimant(&self, found_locked: bool) -> Claimant {
        Claimant { owner: self.instance.clone(), turn: Uuid::now_v7(), found_locked }
    }

    async fn claim(
        &self,
        conversation: Uuid,
        found_locked: bool,
    ) -> Result<Option<(Arc<Channel>, Claim, Time)>, ledger::Error> {
        let (channels, claimant) = (Arc::clone(&self.channels), self.claimant(found_locked));
        let (again, need) = (claimant.clone(), Need::default());
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel)?;
            let claim = inbox::claim_ripe(docket, &channel.policy, &claimant);
            Some((channel, claim, docket.now))
        };
        match change(&*self.ledger, Key::Id(conversation), need, step).await {
            Err(error @ ledger::Error::Unavailable(_)) => {
                let found = self.begun_unheard(Key::Id(conversation), again).await?;
                let begun = found.map(|(channel, begun)| (channel, begun.at, Claim::Begun(begun)));
                begun.map(|(channel, at, claim)| Some((channel, claim, at))).ok_or(error)
            }
            claimed => claimed,
        }
    }

    /// The turn that this claimant has begun in a transaction of whose end nobody has heard, if it was committed. Only this
    /// instance would run it, and nobody else may begin another before the end of its lease.
    pub async fn begun_unheard(
        &self,
        key: Key,
        claimant: Claimant,
    ) -> Result<Option<(Arc<Channel>, Box<Begun>)>, ledger::Error> {
        let channels = Arc::clone(&self.channels);
        // It waits behind the claim, should that still wait.
        let step = move |docket: &mut Docket| {
            let channel = channels.get(&docket.conversation.channel)?;
            let begun = inbox::begun_before(docket, &channel.policy, &claimant)?;
            Some((channel, Box::new(begun)))
        };
        insist(&*self.ledger, key, Need::default(), END, step).await
    }

    /// Runs a turn that has begun to its end.
    async fn run(
        &self,
        channel: &Arc<Channel>,
        mut begun: Box<Begun>,
        lock: Option<Arc<execution::redis_lock::Lease>>,
    ) -> Result<Ended, ledger::Error> {
        let _held = Stopwatch::start("baton_lock_hold_seconds");
        let guard = self.dispatch.running.begin(&begun, lock, &self.stop);
        let writing = self.dispatch.onlookers.writes(begun.conversation, begun.turn.id);
        let progress = Words::new(self.clock, writing);
        let claimed_at = (self.clock)();
        histogram!("baton_turn_wait_seconds").record(seconds(begun.at.since(waited_since(&begun))));
        self.show_read(channel, &begun);
        // Read before the race below: a call to the store is never dropped half-way.
        let request = match Box::pin(self.prepare(channel, &mut begun, &guard.token)).await {
            Ok(Prepared::Request(request)) => *request,
            Ok(Prepared::Ended(committed)) => return Ok(Ended::from(committed)),
            Ok(Prepared::Failed(failure)) => {
                return self.fail(channel, begun, failure, Cost::default()).await.map(Ended::from);
            }
            // No attempt of the model; and nobody waits for the end of its lease.
            Err(ledger::Error::Gone) => return Ok(Ended::from(TurnEnd::Discarded(Discarded::Gone))),
            Err(error) => {
                tracing::warn!(error = error.cause(), turn = %begun.turn.id, "the context for the model could not be loaded");
                let failure = Failure::new(FailureKind::Store, error.to_string());
                return self.fail(channel, begun, failure, Cost::default()).await.map(Ended::from);
            }
        };
        let asked_at = (self.clock)();
        let is_alone = request.lines.len() == 1 && !self.generator.knows_who_asks(&request.channel);
        let stands_alone = cached_answers::stands_alone(&request.lines);
        let mut cost = Cost::default();
        let written = tokio::select! {
            biased;
            () = guard.token.cancelled() => Err(Unwritten::Stopped),
            written = self.write(channel, request, &begun, &progress, &guard, &mut cost) => written,
        };
        cost.first_token_at = progress.first_at();
        // What follows ends the turn: nobody who comes now shall be shown its words as being written.
        drop(progress);
        match written {
            Err(Unwritten::Stopped) => self.abandon(channel, begun, cost).await.map(Ended::from),
            Ok(answer) => {
                let answer = Answer { cost, ..answer };
                let (turn, written_at, before_ms) =
                    (begun.turn.id, (self.clock)(), begun.late_ms + asked_at.since(claimed_at));
                let by_words_alone = stands_alone && !answer.used_tools;
                let answered = by_words_alone.then(|| Answered::of(channel, &begun, is_alone)).flatten();
                let is_drafted = begun.turn.purpose == Purpose::Draft;
                // In a box, as all that comes after the model: a task is as large as its largest step, and many wait here.
                let ended = Box::pin(self.commit(channel, begun, answer)).await;
                if let (Ok(Ended { committed: TurnEnd::Owed, .. }), Some(answered)) = (&ended, answered) {
                    cached_answers::remember(&*self.answers, &answered).await;
                }
                if !is_drafted {
                    // What the model took is not ours; what comes before and after it is.
                    self.dispatch.overhead.begin(turn, before_ms + (self.clock)().since(written_at));
                }
                ended
            }
            Err(Unwritten::Failed(failure)) => {
                if stands_alone
                    && self.breaker.is_open()
                    && let Some(answer) =
                        cached_answers::recall(&*self.answers, channel, &begun, (self.clock)()).await
                {
                    return Box::pin(self.commit(channel, begun, Answer { cost, ..answer })).await;
                }
                self.fail(channel, begun, failure, cost).await.map(Ended::from)
            }
        }
    }

    /// What the model is asked, with everything put into words that can be.
    async fn prepare(
        &self,
        channel: &Channel,
        begun: &mut Begun,
        stopped: &CancellationToken,
    ) -> Result<Prepared, ledger::Error> {
        match self.perceive(channel, begun, stopped).await? {
            Perception::Whole => {}
            Perception::Nothing => return Ok(Prepared::Ended(TurnEnd::Discarded(Discarded::Unreadable))),
            Perception::Failed(failure) => return Ok(Prepared::Failed(failure)),
        }
        let mut request = context::request(&*self.archive, channel, begun, self.tool_rounds).await?;
        let is_hidden = request.about.phone.is_none() && begun.chat.kind() == ChatKind::Person;
        let asks_others = !channel.policy.tools.is_empty() || self.generator.knows_who_asks(&channel.name);
        if is_hidden && asks_others {
            let known = self.archive.conversation(begun.conversation).await?;
            request.about.phone = known.and_then(|known| known.aliases.iter().find_map(ChatId::phone));
        }
        Ok(Prepared::Request(Box::new(request)))
    }

    /// The contact sees that the assistant reads.
    fn show_read(&self, channel: &Channel, begun: &Begun) {
        if channel.policy.read_receipts == ReadReceipts::Answer && begun.turn.purpose == Purpose::Reply {
            channel.show_read(&begun.chat);
        }
    }
}

fn waited_since(begun: &Begun) -> Time {
    begun.burst.last().map_or(begun.at, |message| message.at)
}

impl Outcome {
    /// Both by the clock of the store, which need not be that of this machine.
    fn not_before(at: Time, now: Time) -> Self {
        Self::NotYet(at.since(now).max(1))
    }

    /// In how many milliseconds to look again; None: when something changes.
    pub fn look_again_ms(&self) -> Option<i64> {
        match self {
            Self::NotYet(ms) => Some(*ms),
            Self::LeftToHolder => Some(CONTENDED_MS),
            Self::Worked(_) | Self::Idle => None,
        }
    }
}
