//! What an instance is made of: the steps and loops over its places.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use execution::{deduplicate_webhook::Deduplicator, redis_lock::Lock};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    generators::Generators,
    now,
    numbers::{Numbers, SANDBOX},
    vault::Vault,
};
use crate::{
    config::Settings,
    flow::{
        answers::Answers,
        archive::Archive,
        breaker::Breaker,
        channel_breaker::ChannelBreaker,
        describer::Describer,
        desk::Desk,
        dispatch::{Dispatch, Typing},
        enclosures::Enclosures,
        endpoints::Endpoints,
        erase::Eraser,
        expiry::Expiry,
        gate::Gate,
        graves::Graves,
        intake::Intake,
        ledger::Ledger,
        look_ups::LookUps,
        media::Fetching,
        mode_switch::ModeSwitch,
        model_breaker::ModelBreaker,
        pace::Pace,
        provider::Incoming,
        registry::Registry,
        retention::Retention,
        sender::Sender,
        start::Start,
        tend::{Keeper, Tend},
        tombstones::Tombstones,
        transcriber::Transcriber,
        turn::{Perceiving, Turns},
    },
    worker::Worker,
};

/// What most parts of an instance are made of.
pub(super) struct Parts {
    /// What this instance is called among the others.
    pub(super) name: String,
    pub(super) settings: Arc<Settings>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) gate: Gate,
    pub(super) pace: Option<Arc<Pace>>,
    pub(super) answers: Arc<dyn Answers>,
    pub(super) enclosures: Arc<dyn Enclosures>,
    pub(super) fetching: Arc<Fetching>,
    pub(super) endpoints: Arc<dyn Endpoints>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) numbers: Arc<Numbers>,
    pub(super) tombstones: Tombstones,
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
            enclosures: Arc::clone(&self.enclosures),
            endpoints: Arc::clone(&self.endpoints),
            channels: Arc::clone(&self.numbers.channels),
            intake: Arc::clone(intake),
            switch: Arc::clone(switch),
        })
    }

    pub(super) fn intake(&self, deduplicator: Option<Arc<Deduplicator>>, start: Start) -> Arc<Intake> {
        Arc::new(Intake {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.numbers.channels),
            deduplicator,
            tombstones: self.tombstones.clone(),
            start: Some(start),
            clock: now,
        })
    }

    pub(super) fn eraser(&self, graves: Arc<dyn Graves>, vault: Arc<Vault>) -> Arc<Eraser> {
        Arc::new(Eraser {
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            graves,
            tombstones: self.tombstones.clone(),
            vault,
            dispatch: Arc::clone(&self.dispatch),
            heard: Mutex::default(),
        })
    }

    pub(super) fn retention(&self, expiry: Arc<dyn Expiry>) -> Retention {
        Retention {
            ledger: Arc::clone(&self.ledger),
            expiry,
            tombstones: self.tombstones.clone(),
            days: self.settings.retention_days,
        }
    }

    pub(super) fn sender(&self, stopping: &CancellationToken) -> Arc<Sender> {
        Arc::new(Sender {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.numbers.channels),
            enclosures: Arc::clone(&self.enclosures),
            breaker: Arc::new(ChannelBreaker {
                ledger: Arc::clone(&self.ledger),
                registry: Arc::clone(&self.registry),
                failures: self.settings.breaker_failures,
                open_ms: self.open_ms(),
                stop: stopping.clone(),
                missed: Mutex::default(),
                open: Mutex::default(),
            }),
            late_files: Mutex::default(),
            dispatch: Arc::clone(&self.dispatch),
            clock: now,
        })
    }

    pub(super) fn perceiving(
        &self,
        transcriber: Option<Arc<dyn Transcriber>>,
        describer: Option<Arc<dyn Describer>>,
    ) -> Perceiving {
        let limit = Duration::from_millis(self.settings.ai_total_ms);
        Perceiving::new(Arc::clone(&self.fetching), transcriber, describer, limit)
    }

    pub(super) fn turns(
        &self,
        generator: Arc<Generators>,
        look_ups: Arc<dyn LookUps>,
        perceiving: Perceiving,
        lock: Option<Lock>,
        sender: &Arc<Sender>,
        end_turns: &CancellationToken,
    ) -> Arc<Turns> {
        Arc::new(Turns {
            instance: self.name.clone(),
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            channels: Arc::clone(&self.numbers.channels),
            generator,
            look_ups,
            perceiving,
            gate: self.gate.clone(),
            pace: self.pace.clone(),
            breaker: ModelBreaker::new(
                Breaker::new(self.settings.breaker_failures, self.open_ms()),
                Arc::clone(&self.ledger),
                now,
            ),
            answers: Arc::clone(&self.answers),
            lock,
            dispatch: Arc::clone(&self.dispatch),
            sender: Arc::clone(sender),
            tool_rounds: self.settings.ai_tool_rounds,
            stop: end_turns.clone(),
            clock: now,
        })
    }

    fn open_ms(&self) -> i64 {
        i64::try_from(self.settings.breaker_open_ms).unwrap_or(i64::MAX)
    }

    pub(super) fn worker(
        &self,
        turns: &Arc<Turns>,
        sender: &Arc<Sender>,
        stopping: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Worker {
        Worker {
            turns: Arc::clone(turns),
            sender: Arc::clone(sender),
            tend: Arc::new(Tend {
                ledger: Arc::clone(&self.ledger),
                registry: Arc::clone(&self.registry),
                channels: Arc::clone(&self.numbers.channels),
            }),
            dispatch: Arc::clone(&self.dispatch),
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.numbers.channels),
            sweep: Duration::from_millis(self.settings.sweep_ms),
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
                tracing::warn!(error = error.cause(), "a report of the sandbox was not taken");
            }
        }
    });
}
