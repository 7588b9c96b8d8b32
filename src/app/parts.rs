//! What Baton is made of: places, and the steps and loops over them. The server and the other commands have the same.

use std::sync::{Arc, Mutex};

use execution::{deduplicate_webhook::Deduplicator, redis_lock::Lock};
use tokio::sync::mpsc;

use super::{
    CONNECT, channel_loader::ChannelLoader, generators::Models, now, shutdown::Shutdown, stores::Store,
    vault::Vault,
};
use crate::{
    adapters::{
        files::{self, Storage},
        http_client::http_client_within,
        sandbox::Sandbox,
    },
    config::Settings,
    domain::time::duration,
    flow::{
        archive::Archive,
        back_office::{registry::Registry, vault},
        desk::Desk,
        forgetting::{erase::Eraser, retention::Retention, tombstones::Tombstones},
        generator::cached_answers::Answers,
        instance::{
            breaker::Breaker,
            channel_breaker::ChannelBreaker,
            dispatch::{Dispatch, ShowTyping},
            gate::Gate,
            model_breaker::ModelBreaker,
            pace::Pace,
        },
        intake::Intake,
        ledger::{Ledger, Observer},
        media::{Fetching, enclosures::Enclosures},
        mode_switch::ModeSwitch,
        notify::endpoints::Endpoints,
        provider::Incoming,
        sender::Sender,
        tend::{Keeper, Tend},
        turn::{Perceiving, Turns, immediate_turn::ImmediateTurn},
    },
    worker::Worker,
};

/// What all parts stand on.
pub(super) struct Ground {
    pub(super) settings: Arc<Settings>,
    pub(super) store: Store,
    pub(super) vault: Arc<Vault>,
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) dispatch: Arc<Dispatch>,
    /// Observes every commit: the dispatch, and any other observer.
    pub(super) observer: Arc<dyn Observer>,
}

/// What most parts are made of.
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) store: Store,
    pub(super) vault: Arc<Vault>,
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
    pub(super) channel_loader: Arc<ChannelLoader>,
    pub(super) tombstones: Tombstones,
}

impl Parts {
    /// Over a store that is up to date. Its channels are not loaded yet.
    pub(super) async fn over(ground: Ground) -> anyhow::Result<Self> {
        let Ground { settings, store, vault, sandbox, dispatch, observer } = ground;
        let registry: Arc<dyn Registry> = store.places();
        let channel_loader = Arc::new(ChannelLoader::new(
            Arc::clone(&registry),
            Arc::clone(&settings),
            Arc::clone(&vault),
            http_client_within(duration(settings.green_api_timeout_ms), CONNECT)?,
            sandbox,
        ));
        let storage = Arc::new(Storage::new(settings.media_hosts.clone(), files::Limits::default())?);
        Ok(Self {
            tombstones: store.tombstones(&vault).await?,
            ledger: store.ledger(observer),
            archive: store.places(),
            registry,
            gate: Gate::new(settings.ai_concurrency),
            pace: Pace::of(store.places(), settings.ai_per_minute),
            answers: store.places(),
            enclosures: store.places(),
            fetching: Arc::new(Fetching::new(storage, store.places(), Arc::clone(&channel_loader.channels))),
            endpoints: store.places(),
            dispatch,
            channel_loader,
            vault,
            store,
            settings,
        })
    }

    pub(super) fn switch(&self) -> Arc<ModeSwitch> {
        Arc::new(ModeSwitch {
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.channel_loader.channels),
            dispatch: Arc::clone(&self.dispatch),
            settle_ms: self.settings.settle_ms,
        })
    }

    pub(super) fn desk(&self, switch: &Arc<ModeSwitch>, intake: &Arc<Intake>) -> Arc<Desk> {
        Arc::new(Desk {
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            enclosures: Arc::clone(&self.enclosures),
            endpoints: Arc::clone(&self.endpoints),
            channels: Arc::clone(&self.channel_loader.channels),
            intake: Arc::clone(intake),
            switch: Arc::clone(switch),
        })
    }

    /// A command has nobody who would answer at once: a server finds what it took in.
    pub(super) fn intake(
        &self,
        deduplicator: Option<Arc<Deduplicator>>,
        immediate_turn: Option<ImmediateTurn>,
    ) -> Arc<Intake> {
        Arc::new(Intake {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.channel_loader.channels),
            deduplicator,
            tombstones: self.tombstones.clone(),
            immediate_turn,
            clock: now,
        })
    }

    pub(super) fn eraser(&self) -> Arc<Eraser> {
        Arc::new(Eraser {
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            erasures: self.store.places(),
            tombstones: self.tombstones.clone(),
            vault: Arc::clone(&self.vault) as Arc<dyn vault::Vault>,
            dispatch: Arc::clone(&self.dispatch),
            heard: Mutex::default(),
        })
    }

    pub(super) fn retention(&self) -> Retention {
        Retention {
            ledger: Arc::clone(&self.ledger),
            expiry: self.store.places(),
            tombstones: self.tombstones.clone(),
            days: self.settings.retention_days,
        }
    }

    pub(super) fn sender(&self, shutdown: &Shutdown) -> Arc<Sender> {
        Arc::new(Sender {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.channel_loader.channels),
            enclosures: Arc::clone(&self.enclosures),
            breaker: Arc::new(ChannelBreaker {
                ledger: Arc::clone(&self.ledger),
                registry: Arc::clone(&self.registry),
                channels: Arc::clone(&self.channel_loader.channels),
                failures: self.settings.breaker_failures,
                stop: shutdown.stopping.clone(),
                missed: Mutex::default(),
                open: Mutex::default(),
            }),
            late_files: Mutex::default(),
            dispatch: Arc::clone(&self.dispatch),
            stop: shutdown.end_sends.clone(),
            clock: now,
        })
    }

    pub(super) fn turns(
        &self,
        instance: String,
        models: &Models,
        lock: Option<Lock>,
        sender: &Arc<Sender>,
        shutdown: &Shutdown,
    ) -> Arc<Turns> {
        let limit = duration(self.settings.ai_total_ms);
        let (transcriber, describer) = (models.transcriber.clone(), models.describer.clone());
        Arc::new(Turns {
            instance,
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            channels: Arc::clone(&self.channel_loader.channels),
            generator: models.generators.clone(),
            look_ups: Arc::clone(&models.look_ups),
            perceiving: Perceiving::new(Arc::clone(&self.fetching), transcriber, describer, limit),
            gate: self.gate.clone(),
            pace: self.pace.clone(),
            breaker: ModelBreaker::new(
                Breaker::new(self.settings.breaker_failures, self.settings.breaker_open_ms),
                Arc::clone(&self.ledger),
                now,
            ),
            answers: Arc::clone(&self.answers),
            lock,
            dispatch: Arc::clone(&self.dispatch),
            sender: Arc::clone(sender),
            tool_rounds: self.settings.ai_tool_rounds,
            stop: shutdown.end_turns.clone(),
            clock: now,
        })
    }

    pub(super) fn worker(&self, turns: &Arc<Turns>, sender: &Arc<Sender>, shutdown: &Shutdown) -> Worker {
        Worker {
            turns: Arc::clone(turns),
            sender: Arc::clone(sender),
            tend: Arc::new(Tend {
                ledger: Arc::clone(&self.ledger),
                registry: Arc::clone(&self.registry),
                channels: Arc::clone(&self.channel_loader.channels),
            }),
            dispatch: Arc::clone(&self.dispatch),
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.channel_loader.channels),
            sweep: duration(self.settings.sweep_ms),
            stop: shutdown.stopping.clone(),
            tasks: shutdown.tasks.clone(),
        }
    }

    /// Watches over running turns until they are ended.
    pub(super) fn keep(&self, shutdown: &Shutdown) {
        let keeper = Keeper {
            ledger: Arc::clone(&self.ledger),
            dispatch: Arc::clone(&self.dispatch),
            lease: duration(self.settings.lock_ttl_ms),
        };
        shutdown.tasks.spawn(keeper.watch(shutdown.end_turns.clone()));
    }
}

/// Shows contacts that someone is typing, each on a task of its own: a slow gateway holds up nobody else.
pub(super) fn show_typing(parts: &Parts, mut typed: mpsc::Receiver<ShowTyping>, shutdown: &Shutdown) {
    let (channels, stop) = (Arc::clone(&parts.channel_loader.channels), shutdown.stopping.clone());
    shutdown.tasks.spawn(async move {
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
    sandbox: Option<Arc<Sandbox>>,
    intake: &Arc<Intake>,
    mut reports: mpsc::Receiver<Incoming>,
    shutdown: &Shutdown,
) {
    let (channels, intake, stop) =
        (Arc::clone(&parts.channel_loader.channels), Arc::clone(intake), shutdown.stopping.clone());
    let Some(sandbox) = sandbox else { return };
    shutdown.tasks.spawn(async move {
        loop {
            let report = tokio::select! {
                () = stop.cancelled() => return,
                report = reports.recv() => report,
            };
            let Some(report) = report else { return };
            // Without a channel there is nobody to report to, until it is there again.
            let Some(channel) = sandbox.channel(&channels) else { continue };
            if let Err(error) = intake.take_incoming(&channel, report).await {
                tracing::warn!(error = error.cause(), "a report of the sandbox was not accepted");
            }
        }
    });
}
