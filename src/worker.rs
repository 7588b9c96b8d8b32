//! The loops: take the next conversation in which something is due, do one step on it, look again when it says.
//!
//! In: the local queues, which commits and sweeps fill. Out: steps on tasks of their own; when stopped, the loops take
//! nothing more, and the steps in hand are waited for.

use std::{
    collections::{BTreeSet, HashMap},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    domain::time::duration,
    flow::{
        instance::{channels::Channels, dispatch::Dispatch},
        ledger::{self, Ledger, Work},
        sender::{self, Sender},
        tend::Tend,
        turn::{self, Turns},
    },
};

/// Rows of one sweep.
const SWEEP_ROWS: usize = 500;
/// After the store was away, a conversation is looked at again after this.
const STORE_AWAY_MS: i64 = 500;

/// All loops of one instance.
#[derive(Clone)]
pub struct Worker {
    /// Turns and follow-ups.
    pub turns: Arc<Turns>,
    /// Sends.
    pub sender: Arc<Sender>,
    /// Everything that time alone brings.
    pub tend: Arc<Tend>,
    /// The queues.
    pub dispatch: Arc<Dispatch>,
    /// Where sweeps look.
    pub ledger: Arc<dyn Ledger>,
    /// The rules, for limits of channels.
    pub channels: Arc<Channels>,
    /// How often a sweep looks for what a lost nudge left.
    pub sweep: Duration,
    /// Stops the loops.
    pub stop: CancellationToken,
    /// Steps in hand.
    pub tasks: TaskTracker,
}

impl Worker {
    /// Starts every loop.
    pub fn start(&self) {
        self.tasks.spawn(self.clone().run_turns());
        self.tasks.spawn(self.clone().run_follow_ups());
        self.tasks.spawn(self.clone().run_tends());
        self.tasks.spawn(self.clone().run_sends());
        for work in [Work::Turn, Work::Send, Work::FollowUp, Work::Tend] {
            self.tasks.spawn(self.clone().run_sweep(work));
        }
    }

    async fn next(&self, work: Work) -> Option<Uuid> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            conversation = self.dispatch.queue(work).next() => Some(conversation),
        }
    }

    async fn run_turns(self) {
        let mut second_looks = BTreeSet::new();
        let (seen_twice, mut contended) = mpsc::unbounded_channel::<Uuid>();
        while let Some(conversation) = self.next(Work::Turn).await {
            while let Ok(conversation) = contended.try_recv() {
                second_looks.insert(conversation);
            }
            let is_second_look = second_looks.remove(&conversation);
            let (worker, seen_twice) = (self.clone(), seen_twice.clone());
            self.tasks.spawn(async move {
                let outcome = worker.turns.answer(conversation, is_second_look).await;
                if let Ok(turn::Outcome::LeftToHolder) = outcome {
                    // The loop may have ended: then nobody looks a second time.
                    let _ = seen_twice.send(conversation);
                }
                let again = look_again(outcome.map(|outcome| outcome.look_again_ms()), "turn");
                worker.plan(Work::Turn, conversation, again);
            });
        }
    }

    async fn run_follow_ups(self) {
        while let Some(conversation) = self.next(Work::FollowUp).await {
            let worker = self.clone();
            self.tasks.spawn(async move {
                let outcome = worker.turns.follow_up(conversation).await;
                let again = look_again(outcome.map(|outcome| outcome.look_again_ms()), "follow_up");
                worker.plan(Work::FollowUp, conversation, again);
            });
        }
    }

    async fn run_tends(self) {
        while let Some(conversation) = self.next(Work::Tend).await {
            let worker = self.clone();
            self.tasks.spawn(async move {
                let again = look_again(worker.tend.tend(conversation).await.map(|_| None), "tend");
                worker.plan(Work::Tend, conversation, again);
            });
        }
    }

    fn plan(&self, work: Work, conversation: Uuid, again_ms: Option<i64>) {
        if again_ms.is_some() {
            self.dispatch.queue(work).set(conversation, again_ms);
        }
    }

    /// Sends go by channel and rank: a channel that is busy keeps its conversations in order until it opens.
    async fn run_sends(self) {
        let mut lanes: HashMap<String, Lane> = HashMap::new();
        let (done, mut ended) = mpsc::unbounded_channel::<Ended>();
        loop {
            let opens_at =
                lanes.iter().filter_map(|(channel, lane)| lane.opens_at(self.at_once(channel))).min();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                Some(end) = ended.recv() => self.end_send(&mut lanes, end),
                conversation = self.dispatch.sends.next() => {
                    if let Some(head) = self.dispatch.head(conversation) {
                        lanes.entry(head.channel).or_default().waiting.insert((head.rank, conversation));
                    }
                }
                () = until(opens_at) => {}
            }
            for (channel, lane) in &mut lanes {
                self.start_sends(channel, lane, &done);
                self.dispatch.set_crowded(channel, !lane.waiting.is_empty());
            }
            // Every wake-up looks at all lanes: those of channels that are still would be most of them.
            lanes.retain(|_, lane| !lane.is_idle());
        }
    }

    fn start_sends(&self, channel: &str, lane: &mut Lane, done: &mpsc::UnboundedSender<Ended>) {
        let at_once = self.at_once(channel);
        while lane.opens_at <= Instant::now() && lane.running < at_once {
            let Some((rank, conversation)) = lane.waiting.pop_first() else { return };
            lane.running += 1;
            let (worker, channel, done) = (self.clone(), channel.to_owned(), done.clone());
            self.tasks.spawn(async move {
                // A send that never ends here would count as running for ever, and its channel stand still.
                let send = AssertUnwindSafe(worker.sender.send(conversation)).catch_unwind();
                let outcome = send.await.unwrap_or_else(|_| {
                    tracing::error!(%conversation, "a send panicked");
                    Err(ledger::Error::Unavailable("the send panicked".into()))
                });
                // The loop may have ended: then nothing more is started.
                let _ = done.send(Ended { channel, rank, conversation, outcome });
            });
        }
    }

    /// Sends of a channel that may run at once; none of one that is not known.
    fn at_once(&self, channel: &str) -> usize {
        self.channels.get(channel).map_or(0, |channel| channel.policy.send_in_flight)
    }

    fn end_send(&self, lanes: &mut HashMap<String, Lane>, end: Ended) {
        let lane = lanes.entry(end.channel).or_default();
        lane.running = lane.running.saturating_sub(1);
        match end.outcome {
            Ok(sender::Outcome::Worked) => {}
            Ok(sender::Outcome::Idle) => self.dispatch.forget_head(end.conversation, end.rank),
            Ok(sender::Outcome::NotYet(ms)) => self.dispatch.sends.set(end.conversation, Some(ms)),
            Ok(sender::Outcome::Blocked(ms)) => {
                lane.waiting.insert((end.rank, end.conversation));
                lane.opens_at = Instant::now() + duration(ms);
            }
            Err(error) => {
                tracing::debug!(%error, "a send waits for the store");
                self.dispatch.sends.set(end.conversation, Some(STORE_AWAY_MS));
            }
        }
    }

    /// Finds what a lost nudge left: after a start, from an instance that died, on channels that can send again.
    async fn run_sweep(self, work: Work) {
        let mut every = tokio::time::interval(self.sweep);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                _ = every.tick() => {}
            }
            match self.ledger.due(work, &self.channels.names(), SWEEP_ROWS).await {
                Ok(due) => due.iter().for_each(|due| self.dispatch.remind(work, due)),
                Err(error) => tracing::debug!(%error, ?work, "a sweep found the store away"),
            }
        }
    }
}

/// The sends of one channel.
struct Lane {
    waiting: BTreeSet<(i64, Uuid)>,
    running: usize,
    opens_at: Instant,
}

impl Lane {
    /// When the next send may start, as far as the clock decides. A full lane waits for one of its sends to end: a moment
    /// that has passed would wake the loop again and again, and take the processor from those very sends.
    fn opens_at(&self, at_once: usize) -> Option<Instant> {
        (!self.waiting.is_empty() && self.running < at_once).then_some(self.opens_at)
    }

    /// Nothing is lost with it: one that must not open yet has a conversation that waits.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self { waiting: BTreeSet::new(), running: 0, opens_at: Instant::now() }
    }
}

struct Ended {
    channel: String,
    rank: i64,
    conversation: Uuid,
    outcome: Result<sender::Outcome, crate::flow::ledger::Error>,
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// What a step says about the next look; a store that is away is asked again soon.
fn look_again(outcome: Result<Option<i64>, crate::flow::ledger::Error>, step: &str) -> Option<i64> {
    match outcome {
        Ok(again) => again,
        Err(error) => {
            tracing::debug!(%error, step, "a step waits for the store");
            Some(STORE_AWAY_MS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_lane_waits_for_a_send_to_end_and_not_for_the_clock() {
        let mut lane = Lane::default();
        assert_eq!(lane.opens_at(1), None, "nothing waits");
        lane.waiting.insert((0, Uuid::nil()));
        assert_eq!(lane.opens_at(1), Some(lane.opens_at));
        lane.running = 1;
        assert_eq!(lane.opens_at(1), None);
        assert_eq!(lane.opens_at(2), Some(lane.opens_at));
        assert_eq!(lane.opens_at(0), None, "a channel that is not known");
    }

    #[test]
    fn a_lane_is_kept_for_as_long_as_a_send_waits_or_runs() {
        let mut lane = Lane::default();
        assert!(lane.is_idle());
        lane.running = 1;
        assert!(!lane.is_idle());
        lane.waiting.insert((0, Uuid::nil()));
        lane.running = 0;
        assert!(!lane.is_idle());
    }
}
