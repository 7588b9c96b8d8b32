//! The writer's loop, and what becomes of a batch that fails.
//!
//! A batch that lost its connection is run once more; its steps find their own earlier effect if the commit did happen.
//! One that fails for its data, or waited too long for someone else's lock, is run step by step, so that one bad row or
//! one locked conversation harms nobody else. What still fails is answered as such.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;

use super::{
    Dialect, Op,
    batch::{self, Verdict},
};
use crate::{
    adapters::{Trouble, failure},
    flow::ledger::{Error, Key, Observer},
};

/// Steps of one transaction. More only makes everyone in it wait longer.
const BATCH_MAX: usize = 128;

/// A batch that takes longer hangs on a connection that nobody answers on. It is left to itself, with its connection
/// and its callers; the writer goes on with another one.
const BATCH: Duration = Duration::from_secs(8);

/// Takes steps until nobody can send any more.
pub(super) async fn run<D: Dialect>(dialect: D, mut queue: mpsc::Receiver<Op>, observer: Arc<dyn Observer>) {
    let mut ops = Vec::new();
    loop {
        // Postponed steps are there already, and go first.
        if ops.is_empty() && queue.recv_many(&mut ops, BATCH_MAX).await == 0 {
            return;
        }
        while ops.len() < BATCH_MAX
            && let Ok(op) = queue.try_recv()
        {
            ops.push(op);
        }
        // On a task of its own: dropping the future of a transaction that begins would spoil its connection.
        let batch = tokio::spawn(batch(dialect.clone(), std::mem::take(&mut ops), Arc::clone(&observer)));
        match tokio::time::timeout(BATCH, batch).await {
            Ok(Ok(rest)) => {
                ops = rest.postponed;
                if let Some(outage) = rest.outage {
                    refuse_waiting(&mut queue, &outage);
                }
            }
            Ok(Err(error)) => tracing::error!(%error, "a batch of the ledger panicked"),
            Err(_) => tracing::warn!("a batch of the ledger hangs; going on without it"),
        }
    }
}

/// Those who wait meanwhile would each wait for a connection as long as this batch did, one batch after the other.
fn refuse_waiting(queue: &mut mpsc::Receiver<Op>, outage: &Outage) {
    while let Ok(op) = queue.try_recv() {
        answer(op, Err(outage.error()));
    }
}

async fn batch<D: Dialect>(dialect: D, ops: Vec<Op>, observer: Arc<dyn Observer>) -> Rest {
    let mut rest = Rest::default();
    match twice(&dialect, &ops, &*observer).await {
        Ok(verdicts) => ops.into_iter().zip(verdicts).for_each(|(op, verdict)| rest.settle(op, verdict)),
        Err(error) if Trouble::of(&error) == Trouble::Lost => {
            tracing::warn!(%error, steps = ops.len(), "the database of the ledger is unavailable");
            let outage = rest.outage.insert(Outage(Arc::new(error)));
            ops.into_iter().for_each(|op| answer(op, Err(outage.error())));
        }
        Err(error) => {
            tracing::debug!(%error, steps = ops.len(), "a batch of the ledger failed; running its steps one by one");
            one_by_one(&dialect, ops, &*observer, &mut rest).await;
        }
    }
    rest
}

async fn one_by_one<D: Dialect>(dialect: &D, ops: Vec<Op>, observer: &dyn Observer, rest: &mut Rest) {
    let mut stuck: Vec<Key> = Vec::new();
    for op in ops {
        if let Some(outage) = &rest.outage {
            answer(op, Err(outage.error()));
            continue;
        }
        // Someone holds this conversation: each of its steps would wait as long as the first did.
        if stuck.iter().any(|key| is_same(key, &op.key)) {
            answer(op, Err(Error::Unavailable("the conversation is locked elsewhere".into())));
            continue;
        }
        match twice(dialect, std::slice::from_ref(&op), observer).await {
            Ok(verdicts) => verdicts.into_iter().zip([op]).for_each(|(verdict, op)| rest.settle(op, verdict)),
            Err(error) => match Trouble::of(&error) {
                Trouble::Lost => {
                    let outage = rest.outage.insert(Outage(Arc::new(error)));
                    answer(op, Err(outage.error()));
                }
                Trouble::Busy => {
                    stuck.push(op.key.clone());
                    answer(op, Err(failure(error)));
                }
                Trouble::Data => {
                    tracing::warn!(%error, "the database refused a step");
                    answer(op, Err(failure(error)));
                }
            },
        }
    }
}

/// Runs a batch, and once more over another connection if it lost its own, perhaps at the very end.
async fn twice<D: Dialect>(
    dialect: &D,
    ops: &[Op],
    observer: &dyn Observer,
) -> Result<Vec<Verdict>, sqlx::Error> {
    match batch::commit(dialect, ops, observer).await {
        Err(error) if deserves_another(&error) => batch::commit(dialect, ops, observer).await,
        outcome => outcome,
    }
}

/// Not if no connection was to be had: the pool has tried for as long as anyone may wait.
fn deserves_another(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => false,
        _ => Trouble::of(error) == Trouble::Lost,
    }
}

/// What a batch leaves to its writer.
#[derive(Default)]
struct Rest {
    postponed: Vec<Op>,
    outage: Option<Outage>,
}

impl Rest {
    fn settle(&mut self, op: Op, verdict: Verdict) {
        match verdict {
            Verdict::Done => answer(op, Ok(())),
            Verdict::Gone => answer(op, Err(Error::Gone)),
            Verdict::Panicked => answer(op, Err(Error::Refused("the step panicked".into()))),
            Verdict::Postponed => self.postponed.push(op),
        }
    }
}

/// One error for many callers.
struct Outage(Arc<sqlx::Error>);

impl Outage {
    fn error(&self) -> Error {
        Error::Unavailable(Box::new(Arc::clone(&self.0)))
    }
}

/// A caller that went away meanwhile hears nothing; its step is done all the same.
fn answer(op: Op, outcome: Result<(), Error>) {
    drop(op.answer.send(outcome));
}

fn is_same(one: &Key, other: &Key) -> bool {
    match (one, other) {
        (Key::Id(one), Key::Id(other)) => one == other,
        (Key::Chat { channel, chat, .. }, Key::Chat { channel: channel_too, chat: chat_too, .. }) => {
            (channel, chat) == (channel_too, chat_too)
        }
        (Key::Id(_), Key::Chat { .. }) | (Key::Chat { .. }, Key::Id(_)) => false,
    }
}
