//! One instance of the server: everything started in order, and stopped in the reverse.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use execution::{
    broadcast::{self, Broadcast, Heard},
    deduplicate_webhook::Deduplicator,
    key_store::{self, KeyStore},
    redis_lock::Lock,
    redis_server::Server,
};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    CONNECT, chores, doors, generators::Generators, now, numbers::Numbers, prefix, receiving, redis,
    stores::Store,
};
use crate::{
    adapters::{
        http_client::http_client,
        sandbox::Sandbox,
        scripted::{self, Scripted},
        sqlite::ServerLock,
    },
    config::Settings,
    domain::mode::Mode,
    flow::{
        archive::Archive,
        breaker::Breaker,
        channel_breaker::ChannelBreaker,
        desk::Desk,
        dispatch::{Dispatch, Typing},
        gate::Gate,
        intake::Intake,
        ledger::{Ledger, Standing},
        mode_switch::ModeSwitch,
        provider::Incoming,
        registry::Registry,
        sender::Sender,
        tend::{Keeper, Tend},
        turn::Turns,
    },
    http,
    metrics::{self, Metrics},
    worker::Worker,
};

/// Before the end of the grace, whatever has no answer yet is left to whoever comes next.
const BEFORE_THE_END: Duration = Duration::from_millis(500);
/// A webhook's claim in the quick memory lasts this long if nobody confirms it.
const CLAIM: Duration = Duration::from_secs(10);
/// Words between instances that wait to be sent; more are dropped, since everyone looks by themselves every second.
const TOLD_MAX: usize = 1_024;
/// Where instances tell each other of withdrawn permits.
const STANDINGS: &str = "standings";

/// An instance that runs.
pub(super) struct Instance {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Where conversations are read.
    pub(super) archive: Arc<dyn Archive>,
    /// Takes what contacts write.
    pub(super) intake: Arc<Intake>,
    /// Who answers.
    pub(super) switch: Arc<ModeSwitch>,
    /// The channels.
    pub(super) numbers: Arc<Numbers>,
    /// The model without a model.
    pub(super) scripted: Arc<Scripted>,
    store: Store,
    server: actix_web::dev::ServerHandle,
    grace: Duration,
    stopping: CancellationToken,
    end_turns: CancellationToken,
    tasks: TaskTracker,
    _alone: Option<ServerLock>,
}

/// The server, until it is told to stop.
pub async fn serve(settings: Settings, migrate: bool) -> anyhow::Result<()> {
    let settings = Arc::new(settings);
    let metrics = metrics::start()?;
    let instance = Instance::start(Arc::clone(&settings), migrate, metrics).await?;
    instance.greet(&settings);
    until_told_to_stop().await?;
    instance.stop().await;
    Ok(())
}

/// What Redis is to an instance, if there is one.
struct Coordination {
    server: Option<Server>,
    lock: Option<Lock>,
    deduplicator: Option<Arc<Deduplicator>>,
    others: Option<Arc<dyn Broadcast>>,
}

impl Coordination {
    async fn of(settings: &Settings, registry: &dyn Registry) -> anyhow::Result<Self> {
        let Some(server) = redis(settings)? else {
            return Ok(Self { server: None, lock: None, deduplicator: None, others: None });
        };
        let prefix = prefix(settings, registry).await?;
        let keys: Arc<dyn KeyStore> = Arc::new(key_store::Redis::new(server.clone(), &prefix));
        let lease = Duration::from_millis(settings.lock_ttl_ms.unsigned_abs());
        let confirmed = Duration::from_millis(settings.dedup_ttl_ms);
        Ok(Self {
            lock: Some(Lock::new(Arc::clone(&keys), lease)),
            deduplicator: Some(Arc::new(Deduplicator::new(keys, CLAIM, confirmed))),
            others: Some(Arc::new(broadcast::Redis::new(server.clone(), &prefix))),
            server: Some(server),
        })
    }
}

impl Instance {
    /// Starts everything: stores first, doors last.
    pub(super) async fn start(
        settings: Arc<Settings>,
        migrate: bool,
        metrics: Metrics,
    ) -> anyhow::Result<Self> {
        let store = Store::connect(&settings).await?;
        let alone = store.lock()?;
        if migrate {
            store.migrate().await?;
        }
        store.require_migrated().await?;
        store.recover().await?;
        let registry = store.registry();
        let coordination = Coordination::of(&settings, &*registry).await?;
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let (types, typed) = mpsc::channel(TOLD_MAX);
        let dispatch = Arc::new(Dispatch::telling(coordination.others.is_some().then_some(tell), types));
        let (ledger, archive) = (store.ledger(dispatch.clone()), store.archive());
        let vault = Arc::new(store.vault(&settings)?);
        let http = http_client(CONNECT)?;
        let (sandbox, reports) = Sandbox::new(now);
        let sandbox = settings.sandbox.then(|| Arc::new(sandbox));
        let numbers = Arc::new(Numbers::new(
            Arc::clone(&registry),
            Arc::clone(&settings),
            Arc::clone(&vault),
            http.clone(),
            sandbox.clone(),
        ));
        numbers.register(now()).await?;
        numbers.load().await?;
        let idle = Duration::from_millis(settings.ai_idle_ms);
        let scripted = Arc::new(Scripted::new(scripted::Faults::default(), idle));
        let generator = Arc::new(Generators::new(&settings, http, Arc::clone(&scripted))?);
        let (stopping, end_turns, tasks) =
            (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let parts = Parts {
            settings: Arc::clone(&settings),
            ledger,
            archive,
            registry,
            dispatch,
            numbers: Arc::clone(&numbers),
        };
        let switch = parts.switch();
        let intake = parts.intake(coordination.deduplicator.clone());
        let worker = parts.worker(generator, coordination.lock.clone(), &stopping, &end_turns, &tasks);
        worker.start();
        parts.keep(&end_turns, &tasks);
        listen_to_others(&parts, coordination.others.clone(), told, &stopping, &tasks);
        show_typing(&parts, typed, &stopping, &tasks);
        take_reports(&parts, &intake, reports, &stopping, &tasks);
        receiving::start(&parts, &intake, &stopping, &tasks);
        chores::start(&parts, &store, &intake, coordination.server.clone(), &stopping, &tasks).await?;
        let listener = TcpListener::bind(settings.listen)
            .with_context(|| format!("cannot listen on {} (BATON_LISTEN)", settings.listen))?;
        let address = listener.local_addr()?;
        let grace = Duration::from_millis(settings.grace_ms);
        let desk = parts.desk(&switch, &intake);
        let doors = doors::open(doors::Behind {
            parts: &parts,
            store: &store,
            intake: Arc::clone(&intake),
            switch: Arc::clone(&switch),
            desk,
            vault,
            sandbox,
            scripted: Arc::clone(&scripted),
            redis: coordination.server,
            metrics,
            stopping: stopping.clone(),
        });
        let server = http::serve(Arc::new(doors), listener, grace)?;
        let handle = server.handle();
        tasks.spawn(async move {
            if let Err(error) = server.await {
                tracing::error!(%error, "the HTTP server ended");
            }
        });
        Ok(Self {
            address,
            archive: Arc::clone(&parts.archive),
            intake,
            switch,
            numbers,
            scripted,
            store,
            server: handle,
            grace,
            stopping,
            end_turns,
            tasks,
            _alone: alone,
        })
    }

    /// Where the data is.
    pub(super) fn data(&self) -> String {
        self.store.describe()
    }

    /// Says where everything is.
    fn greet(&self, settings: &Settings) {
        let address = self.address;
        tracing::info!(%address, database = self.store.describe(), "baton serves");
        if self.numbers.channels.names().is_empty() {
            tracing::warn!(
                "there is no channel yet: set BATON_GREEN_API_INSTANCE and BATON_GREEN_API_TOKEN, or add one by the API"
            );
        }
        if settings.green_api_instance.is_some() && settings.green_api_webhook_token.is_none() {
            tracing::warn!(
                "BATON_GREEN_API_WEBHOOK_TOKEN is not set: one was made, and every webhook without it is refused; set one \
                 that you know, here and in Green API's console"
            );
        }
        if settings.api_token.is_none() {
            tracing::info!("the API opens with a token: `baton token create NAME`, or BATON_API_TOKEN");
        }
        if settings.provider() == crate::config::AiProvider::None {
            tracing::warn!(
                "there is no AI (BATON_AI_PROVIDER is none): every conversation begins with people"
            );
        }
    }

    /// Stops: doors closed, sends in hand finished, generations given back, all within the grace.
    pub(super) async fn stop(self) {
        let ends_at = tokio::time::Instant::now() + self.grace;
        self.stopping.cancel();
        let closing = self.server.stop(true);
        self.end_turns.cancel();
        self.tasks.close();
        let limit = ends_at - BEFORE_THE_END.min(self.grace / 2);
        if tokio::time::timeout_at(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!("some work did not end within the grace; whoever comes next takes it up");
        }
        if tokio::time::timeout_at(ends_at, closing).await.is_err() {
            tracing::warn!("some requests did not end within the grace");
        }
        if tokio::time::timeout_at(ends_at, self.store.close()).await.is_err() {
            tracing::warn!("the database did not close within the grace");
        }
        tracing::info!("stopped");
    }
}

/// What most parts of an instance are made of.
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) dispatch: Arc<Dispatch>,
    pub(super) numbers: Arc<Numbers>,
}

impl Parts {
    fn switch(&self) -> Arc<ModeSwitch> {
        Arc::new(ModeSwitch {
            ledger: Arc::clone(&self.ledger),
            channels: Arc::clone(&self.numbers.channels),
            dispatch: Arc::clone(&self.dispatch),
            settle_ms: i64::try_from(self.settings.settle_ms).unwrap_or(i64::MAX),
        })
    }

    fn desk(&self, switch: &Arc<ModeSwitch>, intake: &Arc<Intake>) -> Arc<Desk> {
        Arc::new(Desk {
            ledger: Arc::clone(&self.ledger),
            archive: Arc::clone(&self.archive),
            channels: Arc::clone(&self.numbers.channels),
            intake: Arc::clone(intake),
            switch: Arc::clone(switch),
        })
    }

    fn intake(&self, deduplicator: Option<Arc<Deduplicator>>) -> Arc<Intake> {
        Arc::new(Intake {
            ledger: Arc::clone(&self.ledger),
            registry: Arc::clone(&self.registry),
            channels: Arc::clone(&self.numbers.channels),
            deduplicator,
            clock: now,
        })
    }

    fn worker(
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
            gate: Gate::new(settings.ai_concurrency),
            breaker: Breaker::new(settings.breaker_failures, open_ms),
            failing: Mutex::default(),
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
    fn keep(&self, end_turns: &CancellationToken, tasks: &TaskTracker) {
        let keeper = Keeper {
            ledger: Arc::clone(&self.ledger),
            dispatch: Arc::clone(&self.dispatch),
            lease: Duration::from_millis(self.settings.lock_ttl_ms.unsigned_abs()),
        };
        tasks.spawn(keeper.watch(end_turns.clone()));
    }
}

/// Tells other instances of withdrawn permits, and hears of theirs.
fn listen_to_others(
    parts: &Parts,
    others: Option<Arc<dyn Broadcast>>,
    mut told: mpsc::Receiver<Standing>,
    stopping: &CancellationToken,
    tasks: &TaskTracker,
) {
    let Some(others) = others else { return };
    let dispatch = Arc::clone(&parts.dispatch);
    let (hears, stop) = (Arc::clone(&others), stopping.clone());
    tasks.spawn(async move {
        let mut heard = hears.subscribe(STANDINGS);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                said = heard.recv() => match said {
                    Some(Heard::Message(text)) => {
                        if let Some(standing) = standing_of(&text) {
                            dispatch.running.judge(&standing);
                        }
                    }
                    // What was missed meanwhile is found by the look of every second.
                    Some(Heard::Connected | Heard::Lost) => {}
                    None => return,
                },
            }
        }
    });
    let stop = stopping.clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                standing = told.recv() => {
                    let Some(standing) = standing else { return };
                    if let Err(error) = others.publish(STANDINGS, &text_of(&standing)).await {
                        tracing::debug!(%error, "other instances were not told");
                    }
                }
            }
        }
    });
}

/// A standing as instances tell it: conversation, version, fence.
fn text_of(standing: &Standing) -> String {
    format!("{} {} {} {}", standing.conversation, standing.mode, standing.version, standing.fence)
}

fn standing_of(text: &str) -> Option<Standing> {
    let mut words = text.split(' ');
    Some(Standing {
        conversation: words.next()?.parse().ok()?,
        mode: words.next()?.parse::<Mode>().ok()?,
        version: words.next()?.parse().ok()?,
        fence: words.next()?.parse().ok()?,
        contact_seq: 0,
    })
}

/// Shows contacts that someone is typing, each on a task of its own: a slow gateway holds up nobody else.
fn show_typing(
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
fn take_reports(
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
            let (Some(report), Some(channel)) = (report, channels.get(super::numbers::SANDBOX)) else {
                return;
            };
            if let Err(error) = intake.take_incoming(&channel, report).await {
                tracing::warn!(%error, "a report of the sandbox was not taken");
            }
        }
    });
}

pub(super) async fn until_told_to_stop() -> anyhow::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    tracing::info!("stopping");
    Ok(())
}
