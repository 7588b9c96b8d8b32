//! What an instance is made of: the steps and loops over its places.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use execution::{deduplicate_webhook::Deduplicator, redis_lock::Lock};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    generators::Generators,
    now,
    numbers::{Numbers, SANDBOX},
};
use crate::{
    config::Settings,
    flow::{
        answers::Answers,
        archive::Archive,
        breaker::Breaker,
        channel_breaker::ChannelBreaker,
        desk::Desk,
        dispatch::{Dispatch, Typing},
        gate::Gate,
        intake::Intake,
        ledger::Ledger,
        mode_switch::ModeSwitch,
        model_breaker::ModelBreaker,
        pace::Pace,
        provider::Incoming,
        registry::Registry,
        sender::Sender,
        tend::{Keeper, Tend},
        turn::Turns,
    },
    worker::Worker,
};

/// What most parts of an instance are made of.
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) gate: Gate,
    pub(super) pace: Option<Arc<Pace>>,
    pub(super) answers: Arc<dyn Answers>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) numbers: Arc<Numbers>,
}

impl Parts {
    pub(super) fn switch(&self) -> Arc<ModeSwitch> {
        Arc::new(ModeSwitch {
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.numbers.channels),
            dispatch: Arc::clone(&self.dispatch),
            settle_ms: i64::try_from(self.settings.settle_ms).unwrap_or(i64::MAX),
        })
    }

    pub(super) fn desk(&self, switch: &Arc<ModeSwitch>, intake: &Arc<Intake>) -> Arc<Desk> {
        Arc::new(Desk {
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            channels: Arc::clone(&self.numbers.channels),
            intake: Arc::clone(intake),
            switch: Arc::clone(switch),
        })
    }

    pub(super) fn intake(&self, deduplicator: Option<Arc<Deduplicator>>) -> Arc<Intake> {
        Arc::new(Intake {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.numbers.channels),
            deduplicator,
            clock: now,
        })
    }

    pub(super) fn worker(
        &self,
        generator: Arc<Generators>,
        lock: Option<Lock>,
        stopping: &CancellationToken,
        end_turns: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Worker {
        let settings = &self.settings;
        let open_ms = i64::try_from(settings.breaker_open_ms).unwrap_or(i64::MAX);
        let turns = Turns {
            instance: Uuid::now_v7().simple().to_string(),
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            channels: Arc::clone(&self.numbers.channels),
            generator,
            gate: self.gate.clone(),
            pace: self.pace.clone(),
            breaker: ModelBreaker::new(
                Breaker::new(settings.breaker_failures, open_ms),
                Arc::clone(&self.ledger),
                now,
            ),
            answers: Arc::clone(&self.answers),
            lock,
            dispatch: Arc::clone(&self.dispatch),
            tool_rounds: settings.ai_tool_rounds,
            stop: end_turns.clone(),
            clock: now,
        };
        Worker {
            turns: Arc::new(turns),
            sender: Arc::new(Sender {
                ledger: Arc::clone(&self.ledger),
                registry: Arc::clone(&self.registry),
                channels: Arc::clone(&self.numbers.channels),
                breaker: Arc::new(ChannelBreaker {
                    ledger: Arc::clone(&self.ledger),
                    registry: Arc::clone(&self.registry),
                    open_ms,
                    stop: stopping.clone(),
                    open: Mutex::default(),
                }),
                dispatch: Arc::clone(&self.dispatch),
                clock: now,
            }),
            tend: Arc::new(Tend {
                ledger: Arc::clone(&self.ledger),
                channels: Arc::clone(&self.numbers.channels),
            }),
            dispatch: Arc::clone(&self.dispatch),
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.numbers.channels),
            sweep: Duration::from_millis(settings.sweep_ms),
            clock: now,
            stop: stopping.clone(),
            tasks: tasks.clone(),
        }
    }

    /// Watches over running turns until they are ended.
    pub(super) fn keep(&self, end_turns: &CancellationToken, tasks: &TaskTracker) {
        let keeper = Keeper {
            ledger: Arc::clone(&self.ledger),
            dispatch: Arc::clone(&self.dispatch),
            lease: Duration::from_millis(self.settings.lock_ttl_ms.unsigned_abs()),
        };
        tasks.spawn(keeper.watch(end_turns.clone()));
    }
}

/// Shows contacts that someone is typing, each on a task of its own: a slow gateway holds up nobody else.
pub(super) fn show_typing(
    parts: &Parts,
    mut typed: mpsc::Receiver<Typing>,
    stopping: &CancellationToken,
    tasks: &TaskTracker,
) {
    let (channels, stop) = (Arc::clone(&parts.numbers.channels), stopping.clone());
    tasks.spawn(async move {
        loop {
            let typing = tokio::select! {
                () = stop.cancelled() => return,
                typing = typed.recv() => typing,
            };
            let Some(typing) = typing else { return };
            if let Some(channel) = channels.get(&typing.channel) {
                tokio::spawn(async move { channel.provider.show_typing(&typing.chat, typing.ms).await });
            }
        }
    });
}

/// Takes what the sandbox reports, as a gateway's webhooks would come.
pub(super) fn take_reports(
    parts: &Parts,
    intake: &Arc<Intake>,
    mut reports: mpsc::Receiver<Incoming>,
    stopping: &CancellationToken,
    tasks: &TaskTracker,
) {
    let (channels, intake, stop) =
        (Arc::clone(&parts.numbers.channels), Arc::clone(intake), stopping.clone());
    tasks.spawn(async move {
        loop {
            let report = tokio::select! {
                () = stop.cancelled() => return,
                report = reports.recv() => report,
            };
            let (Some(report), Some(channel)) = (report, channels.get(SANDBOX)) else {
                return;
            };
            if let Err(error) = intake.take_incoming(&channel, report).await {
                tracing::warn!(%error, "a report of the sandbox was not taken");
            }
        }
    });
}
