//! The writer's loop, and what becomes of a batch that fails.
//!
//! A batch that lost its connection is run again, unless its commit did happen; where others have written since, so that
//! this cannot be told, its steps find their own earlier effect.
//! One that waited too long for someone else's lock is run without the conversations that somebody holds, and they after it;
//! these, and one that fails for its data, are run step by step. So one locked conversation or one bad row harms nobody else.
//! What still fails is answered as such, and a step whose caller was told that it failed is not run any more.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    Dialect, Op, batch, fast_path, outage_log, text, verdict::Verdict, writer_context::WriterContext,
};
use crate::{
    adapters::{ErrorClass, failure, rows::Field as _},
    flow::ledger::{Error, Key},
};

/// Steps of one transaction. More only makes everyone in it wait longer.
const BATCH_MAX: usize = 128;

/// A batch that takes longer hangs on a connection that nobody answers on. It is left to itself, with its connection
/// and its callers; the writer continues with another one.
const BATCH: Duration = Duration::from_secs(8);

/// Takes steps until nobody can send any more.
pub(super) async fn run<D: Dialect>(context: WriterContext<D>, mut queue: mpsc::Receiver<Op>) {
    let (mut ops, mut own) = (Vec::new(), None);
    loop {
        // Postponed steps are there already, and go first.
        if ops.is_empty() {
            tokio::select! {
                biased;
                taken = queue.recv_many(&mut ops, BATCH_MAX) => if taken == 0 { return },
                () = context.dialect.closing(), if own.is_some() => own = None,
            }
            if ops.is_empty() {
                continue;
            }
        }
        while ops.len() < BATCH_MAX
            && let Ok(op) = queue.try_recv()
        {
            ops.push(op);
        }
        // On a task of its own: dropping the future of a transaction that begins would spoil its connection.
        let batch = tokio::spawn(batch(context.clone(), own.take(), std::mem::take(&mut ops)));
        match tokio::time::timeout(BATCH, batch).await {
            Ok(Ok((connection, rest))) => {
                (own, ops) = (connection, rest.postponed);
                if let Some(outage) = rest.outage {
                    refuse_waiting(&mut queue, &outage);
                }
            }
            Ok(Err(error)) => tracing::error!(%error, "a batch of the ledger panicked"),
            Err(_) => tracing::warn!("a batch of the ledger hangs; continuing without it"),
        }
    }
}

/// Those who wait meanwhile would each wait for a connection as long as this batch did, one batch after the other.
fn refuse_waiting(queue: &mut mpsc::Receiver<Op>, outage: &Outage) {
    while let Ok(op) = queue.try_recv() {
        answer(op, Err(outage.error()));
    }
}

async fn batch<D: Dialect>(
    context: WriterContext<D>,
    mut own: Option<D::Own>,
    mut ops: Vec<Op>,
) -> (Option<D::Own>, Rest) {
    let (mut rest, mut held) = (Rest::default(), Vec::new());
    let mut outcome = twice(&context, &mut own, &mut ops).await;
    if ops.len() > 1 && outcome.as_ref().is_err_and(|error| ErrorClass::of(error) == ErrorClass::Busy) {
        held = set_aside(&context, &mut ops).await;
        if !held.is_empty() && !ops.is_empty() {
            outcome = twice(&context, &mut own, &mut ops).await;
        }
    }
    match outcome {
        Ok(verdicts) => {
            ops.into_iter().zip(verdicts).for_each(|(op, verdict)| rest.settle(op, verdict));
            one_by_one(&context, &mut own, held, &mut rest).await;
        }
        Err(error) if ErrorClass::of(&error) == ErrorClass::Lost => {
            outage_log::tell(&error, ops.len());
            let outage = rest.outage.insert(Outage::of(&context, error));
            ops.into_iter().chain(held).for_each(|op| answer(op, Err(outage.error())));
        }
        Err(error) => {
            ops.extend(held);
            tracing::debug!(%error, steps = ops.len(), "a batch of the ledger failed; running its steps one by one");
            one_by_one(&context, &mut own, ops, &mut rest).await;
        }
    }
    (own, rest)
}

/// Takes out the steps about conversations that somebody else holds, all of each: the others need not wait as long, nor run
/// one by one on a database that may be slow. None are where this cannot be told.
async fn set_aside<D: Dialect>(context: &WriterContext<D>, ops: &mut Vec<Op>) -> Vec<Op> {
    let conversation = |op: &Op| match &op.key {
        Key::Id(id) => Some(*id),
        // The batch has looked them up. One that is not known has no row that somebody could hold.
        Key::Chat { channel, chat, .. } => context.cache.conversation_of(channel, chat.as_str()),
    };
    let ids: BTreeSet<Uuid> = ops.iter().filter_map(conversation).collect();
    let held = held(context, &ids).await.unwrap_or_default();
    let is_held = |op: &Op| conversation(op).is_some_and(|id| held.contains(&id));
    let (held, free) = std::mem::take(ops).into_iter().partition(is_held);
    *ops = free;
    held
}

async fn held<D: Dialect>(
    context: &WriterContext<D>,
    ids: &BTreeSet<Uuid>,
) -> Result<BTreeSet<Uuid>, sqlx::Error> {
    let rows = context.dialect.read(&D::sql().held, &text(ids)?).await?;
    rows.iter().map(|row| Uuid::read(row, "id")).collect()
}

async fn one_by_one<D: Dialect>(
    context: &WriterContext<D>,
    own: &mut Option<D::Own>,
    ops: Vec<Op>,
    rest: &mut Rest,
) {
    let (mut stuck, mut postponed): (Vec<Key>, Vec<Key>) = (Vec::new(), Vec::new());
    for op in ops {
        // What came after a step that must wait waits behind it.
        if postponed.iter().any(|key| is_same(key, &op.key)) {
            rest.postponed.push(op);
            continue;
        }
        if let Some(outage) = &rest.outage {
            answer(op, Err(outage.error()));
            continue;
        }
        // Someone holds this conversation: each of its steps would wait as long as the first did.
        if stuck.iter().any(|key| is_same(key, &op.key)) {
            answer(op, Err(Error::Unavailable("the conversation is locked elsewhere".into())));
            continue;
        }
        let (key, waiting) = (op.key.clone(), rest.postponed.len());
        let mut alone = vec![op];
        let outcome = twice(context, own, &mut alone).await;
        let Some(op) = alone.pop() else { continue };
        match outcome {
            Ok(verdicts) => {
                verdicts.into_iter().zip([op]).for_each(|(verdict, op)| rest.settle(op, verdict));
                if rest.postponed.len() > waiting {
                    postponed.push(key);
                }
            }
            Err(error) => match ErrorClass::of(&error) {
                ErrorClass::Lost => {
                    let outage = rest.outage.insert(Outage::of(context, error));
                    answer(op, Err(outage.error()));
                }
                ErrorClass::Busy => {
                    stuck.push(op.key.clone());
                    answer(op, Err(failure(error)));
                }
                ErrorClass::Data => {
                    tracing::warn!(%error, "the database refused a step");
                    answer(op, Err(failure(error)));
                }
            },
        }
    }
}

/// Runs a batch, and again over another connection if it lost its own, unless that was at the very end and all has
/// happened. Steps that were given up by then are let go of: a takeover that takes effect minutes later is nobody's.
async fn twice<D: Dialect>(
    context: &WriterContext<D>,
    own: &mut Option<D::Own>,
    ops: &mut Vec<Op>,
) -> Result<Vec<Verdict>, sqlx::Error> {
    ops.retain(|op| !op.is_given_up());
    let mut in_doubt = None;
    let outcome = match fast_path::commit(context, own, ops, &mut in_doubt).await {
        Ok(Some(verdicts)) => return Ok(verdicts),
        Ok(None) => batch::commit(context, ops, &mut in_doubt).await,
        Err(error) => Err(error),
    };
    match outcome {
        Err(error) if deserves_another(&error) => {
            if let Some(in_doubt) = in_doubt {
                match in_doubt.find(context).await {
                    Ok(Some(verdicts)) => return Ok(verdicts),
                    Ok(None) => {}
                    // It may still happen: nothing of it is run once more.
                    Err(_) => return Err(error),
                }
            }
            ops.retain(|op| !op.is_given_up());
            batch::commit(context, ops, &mut None).await
        }
        outcome => outcome,
    }
}

/// Not if no connection was to be had: the pool has tried for as long as anyone may wait.
fn deserves_another(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => false,
        _ => ErrorClass::of(error) == ErrorClass::Lost,
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
            Verdict::Removed(why) => answer(op, Err(Error::Removed(why))),
            Verdict::Panicked => answer(op, Err(Error::Refused("the step panicked".into()))),
            Verdict::Postponed => self.postponed.push(op),
            Verdict::Elsewhere(elsewhere) => self.postponed.push(op.go(elsewhere)),
        }
    }
}

/// One error for many callers.
struct Outage(Arc<sqlx::Error>);

impl Outage {
    fn of<D: Dialect>(context: &WriterContext<D>, error: sqlx::Error) -> Self {
        context.dialect.write_health().note_error(&error);
        Self(Arc::new(error))
    }

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
