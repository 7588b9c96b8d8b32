//! What a Baton of the tests is made of: places behind its fuse, and the steps over them. The order is that of
//! `src/app/parts.rs`.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use baton::{
    adapters::files::{self, Storage},
    flow::{
        archive::Archive,
        back_office::registry::Registry,
        forgetting::{
            erase::Eraser,
            erasures::Erasures,
            tombstones::{KEY_BYTES, Tombstones},
        },
        instance::{
            breaker::Breaker, channel_breaker::ChannelBreaker, channels::Channels, dispatch::Dispatch,
            gate::Gate, model_breaker::ModelBreaker,
        },
        intake::Intake,
        ledger::{Ledger, Observer},
        media::{Fetching, enclosures::Enclosures},
        mode_switch::ModeSwitch,
        sender::Sender,
        tend::Tend,
        turn::{Perceiving, Turns, immediate_turn::ImmediateTurn},
    },
};
use execution::{deduplicate_webhook::Deduplicator, key_store::KeyStore, redis_lock::Lock};
use tokio::{runtime::Handle, sync::Notify};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    BEGINNING, Haste, database::Store, doors::House, fuse::Fuse, fused::Fused, outside::Outside, steps::Steps,
};

/// Longest wait of a switch for a send in flight. Tests let sends go; this only ends a test that forgot to.
pub(super) const SETTLE_MS: i64 = 10_000;

/// Longer than any test lasts: what somebody who died has put there stays.
const LOCK_TTL: Duration = Duration::from_secs(600);

/// What most parts are made of.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) store: Store,
    fuse: Arc<Fuse>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) enclosures: Arc<dyn Enclosures>,
    pub(super) fetching: Arc<Fetching>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) channels: Arc<Channels>,
    pub(super) tombstones: Tombstones,
    pub(super) house: Arc<House>,
    pub(super) stopping: CancellationToken,
}

impl Parts {
    pub(super) fn over(
        name: &str,
        store: Store,
        fuse: &Arc<Fuse>,
        dispatch: Arc<Dispatch>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let channels = Arc::new(Channels::default());
        let registry: Arc<dyn Registry> = Fused::over(fuse, store.places() as Arc<dyn Registry>);
        let enclosures: Arc<dyn Enclosures> = Fused::over(fuse, store.places() as Arc<dyn Enclosures>);
        // Only this machine, as if it were the provider's: and not by its name, which leads inside.
        let hosts = "127.0.0.1".parse().expect("a list");
        let storage = Storage::new(hosts, files::Limits::default()).expect("a client");
        Self {
            name: name.to_owned(),
            fuse: fuse.clone(),
            ledger: Fused::over(fuse, store.ledger(observer)),
            archive: store.places(),
            fetching: Arc::new(Fetching::new(Arc::new(storage), enclosures.clone(), channels.clone())),
            house: Arc::new(House {
                channels: channels.clone(),
                registry: registry.clone(),
                main: Handle::current(),
            }),
            registry,
            enclosures,
            dispatch,
            channels,
            // The same in every process, as if it had been kept.
            tombstones: Tombstones::new(&[7; KEY_BYTES]),
            stopping: CancellationToken::new(),
            store,
        }
    }

    pub(super) fn switch(&self) -> Arc<ModeSwitch> {
        Arc::new(ModeSwitch {
            ledger: self.ledger.clone(),
            channels: self.channels.clone(),
            dispatch: self.dispatch.clone(),
            settle_ms: SETTLE_MS,
        })
    }

    pub(super) fn intake(
        &self,
        keys: Option<Arc<dyn KeyStore>>,
        immediate_turn: ImmediateTurn,
    ) -> Arc<Intake> {
        Arc::new(Intake {
            ledger: self.ledger.clone(),
            registry: self.registry.clone(),
            channels: self.channels.clone(),
            tombstones: self.tombstones.clone(),
            deduplicator: keys.map(|keys| Arc::new(Deduplicator::new(keys, LOCK_TTL, LOCK_TTL))),
            immediate_turn: Some(immediate_turn),
            clock: || BEGINNING,
        })
    }

    pub(super) fn eraser(&self) -> Arc<Eraser> {
        Arc::new(Eraser {
            ledger: self.ledger.clone(),
            archive: self.archive.clone(),
            erasures: Fused::over(&self.fuse, self.store.places() as Arc<dyn Erasures>),
            tombstones: self.tombstones.clone(),
            vault: self.house.clone(),
            dispatch: self.dispatch.clone(),
            heard: Mutex::default(),
        })
    }

    pub(super) fn sender(&self) -> Arc<Sender> {
        Arc::new(Sender {
            ledger: self.ledger.clone(),
            registry: self.registry.clone(),
            channels: self.channels.clone(),
            enclosures: self.enclosures.clone(),
            breaker: Arc::new(ChannelBreaker {
                ledger: self.ledger.clone(),
                registry: self.registry.clone(),
                channels: self.channels.clone(),
                failures: 5,
                stop: CancellationToken::new(),
                missed: Mutex::default(),
                open: Mutex::default(),
            }),
            late_files: Mutex::default(),
            dispatch: self.dispatch.clone(),
            stop: CancellationToken::new(),
            clock: || BEGINNING,
        })
    }

    pub(super) fn turns(&self, outside: &Outside, sender: &Arc<Sender>) -> Arc<Turns> {
        let limit = Duration::from_secs(5);
        let (transcriber, describer) = (outside.transcriber.clone(), outside.describer.clone());
        Arc::new(Turns {
            instance: self.name.clone(),
            ledger: self.ledger.clone(),
            archive: self.archive.clone(),
            channels: self.channels.clone(),
            generator: outside.generator.clone(),
            look_ups: outside.look_ups.clone(),
            perceiving: Perceiving::new(self.fetching.clone(), Some(transcriber), Some(describer), limit),
            gate: Gate::new(100),
            pace: None,
            breaker: ModelBreaker::new(Breaker::new(5, 30_000), self.ledger.clone(), || BEGINNING),
            answers: self.store.places(),
            lock: outside.keys.clone().map(|keys| Lock::new(keys, LOCK_TTL)),
            dispatch: self.dispatch.clone(),
            sender: sender.clone(),
            tool_rounds: 4,
            stop: self.stopping.clone(),
            clock: || BEGINNING,
        })
    }

    /// By which turns begin with their messages, if that is the haste of the test.
    pub(super) fn immediate_turn(
        &self,
        turns: &Arc<Turns>,
        tasks: &TaskTracker,
        haste: Haste,
    ) -> ImmediateTurn {
        let stop = if haste == Haste::Begins { self.stopping.clone() } else { CancellationToken::new() };
        if haste != Haste::Begins {
            stop.cancel();
        }
        ImmediateTurn { turns: turns.clone(), tasks: tasks.clone(), runtime: Handle::current(), stop }
    }

    pub(super) fn steps(&self, turns: Arc<Turns>, sender: Arc<Sender>) -> Steps {
        Steps {
            turns,
            sender,
            tend: Tend {
                ledger: self.ledger.clone(),
                registry: self.registry.clone(),
                channels: self.channels.clone(),
            },
            ledger: self.ledger.clone(),
            dispatch: self.dispatch.clone(),
            channels: self.channels.clone(),
            nudge: Notify::new(),
        }
    }
}
