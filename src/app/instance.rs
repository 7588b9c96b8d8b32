//! One instance of the server: everything started in order, and stopped in the reverse.

use std::{
    io::{ErrorKind, Write as _},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use anyhow::bail;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    CONNECT,
    chores::Chores,
    coordination::{self, Coordination},
    doors,
    generators::Models,
    invitations, notifying, now,
    parts::{self, Ground, Parts},
    receiving,
    shutdown::Shutdown,
    signals::Signals,
    stores::Store,
    traces::Traces,
};
use crate::{
    adapters::{http_client::http_client, sandbox::Sandbox, scripted::Scripted, sqlite::ServerLock},
    config::{AiProvider, Settings},
    domain::time::duration,
    flow::{
        back_office::people::{FIRST_EMAIL, People},
        instance::dispatch::Dispatch,
        mode_switch::ModeSwitch,
        turn::immediate_turn::ImmediateTurn,
    },
    http::{self, ports::SandboxDoor},
    metrics::{self, Metrics},
};

/// This long before the end of the grace, a send without an answer becomes one of unknown fate.
const TO_SETTLE: Duration = Duration::from_secs(1);
/// This long before the end of the grace period, whatever has not ended is left to the next instance.
const BEFORE_THE_END: Duration = Duration::from_millis(500);
/// A store that was down when the first agent was to be added is asked again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// Words between instances that wait to be sent; more are dropped, since everyone looks by themselves every second.
const TOLD_MAX: usize = 1_024;

/// An instance that runs.
pub(super) struct Instance {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// What it is made of.
    pub(super) parts: Arc<Parts>,
    /// The contacts' phones, if the sandbox is on.
    pub(super) sandbox: Option<Arc<dyn SandboxDoor>>,
    /// Who answers.
    pub(super) switch: Arc<ModeSwitch>,
    /// The model without a model.
    pub(super) scripted: Arc<Scripted>,
    traces: Traces,
    server: actix_web::dev::ServerHandle,
    /// Nobody listens any more.
    deaf: CancellationToken,
    shutdown: Shutdown,
    _alone: Option<ServerLock>,
}

/// The server, until it is stopped.
pub async fn serve(settings: Settings, migrate: bool) -> anyhow::Result<()> {
    let settings = Arc::new(settings);
    allow_files();
    let metrics = metrics::start()?;
    let mut signals = Signals::listen()?;
    // It may wait for long: for the database, or for another instance that migrates it.
    let instance = tokio::select! {
        instance = Instance::start(Arc::clone(&settings), migrate, metrics) => instance?,
        () = signals.told() => return Ok(()),
    };
    instance.greet(&settings);
    let base = invitations::base(&settings, instance.address);
    let Shutdown { stopping, tasks, .. } = &instance.shutdown;
    tasks.spawn(welcome(instance.parts.store.places(), base, stopping.clone()));
    let told = instance.until_told_to_stop(signals).await;
    instance.stop().await;
    told
}

/// Where the settings say; a second server on one address is what most often stands in the way.
fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => ": is Baton running already? Else name another one with --listen",
            _ => " (BATON_LISTEN)",
        };
        anyhow::Error::new(error).context(format!("cannot listen on {address}{remedy}"))
    })
}

/// As many open files as the system lets this process have: the usual limit is fewer than the connections that strangers may
/// hold, and beyond it nothing can be sent either.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Invites the first agent, as soon as the store can say whether there is one: it may be away just then.
async fn welcome(people: Arc<dyn People>, base: String, stop: CancellationToken) {
    let mut is_failing = false;
    while !stop.is_cancelled() {
        match invitations::first(&*people, &base, now()).await {
            Ok(Some(link)) => return invite(&link),
            Ok(None) => return,
            Err(error) if is_failing => tracing::debug!(?error, "the first agent could not be invited yet"),
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "the first agent could not be invited yet")
            }
        }
        is_failing = true;
        stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
    }
}

/// Past the log, which others may read: anyone who has this link is an admin.
fn invite(link: &str) {
    let words = format!(
        "\nNobody can sign in yet. This link makes you the first admin, once and within 24 hours:\n\n  {link}\n\n\
         `baton agent link {FIRST_EMAIL}` makes another.\n"
    );
    // Whoever reads no stderr has that command.
    let _ = writeln!(std::io::stderr().lock(), "{words}");
}

/// The store as a server needs it: its own alone, up to date, with nothing in hand.
async fn prepared(settings: &Settings, migrate: bool) -> anyhow::Result<(Store, Option<ServerLock>)> {
    let store = Store::connect(settings).await?;
    let alone = store.lock()?;
    store.require_whole().await?;
    if migrate {
        store.migrate().await?;
    }
    store.require_migrated().await?;
    store.recover().await?;
    Ok((store, alone))
}

/// Answers requests until it is stopped; whatever ends it, that nobody listens is known.
async fn listen(server: actix_web::dev::Server, deaf: CancellationToken) {
    let _until_it_ends = deaf.drop_guard();
    if let Err(error) = server.await {
        tracing::error!(%error, "the HTTP server ended");
    }
}

/// How long everything has to end.
fn grace(settings: &Settings) -> Duration {
    duration(settings.grace_ms)
}

impl Instance {
    /// Starts everything: stores first, doors last.
    pub(super) async fn start(
        settings: Arc<Settings>,
        migrate: bool,
        metrics: Metrics,
    ) -> anyhow::Result<Self> {
        let (store, alone) = prepared(&settings, migrate).await?;
        let coordination = Coordination::of(&settings, &*store.places()).await?;
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let (types, typed) = mpsc::channel(TOLD_MAX);
        let dispatch = Arc::new(Dispatch::telling(coordination.others.is_some().then_some(tell), types));
        let name = Uuid::now_v7().simple().to_string();
        let traces = Traces::start(&settings, &name, &store)?;
        let http = http_client(CONNECT)?;
        let (sandbox, reports) = Sandbox::new(now);
        let sandbox = settings.sandbox.then(|| Arc::new(sandbox));
        let ground = Ground {
            vault: Arc::new(store.vault_of_server(&settings).await?),
            settings: Arc::clone(&settings),
            store,
            sandbox: sandbox.clone(),
            observer: traces.after(dispatch.clone()),
            dispatch,
        };
        let parts = Arc::new(Parts::over(ground).await?);
        parts.channel_loader.register(now()).await?;
        parts.channel_loader.load().await?;
        let models = Models::of(&settings, &http)?;
        let scripted = Arc::clone(&models.generators.scripted);
        let shutdown = Shutdown::default();
        let (switch, sender) = (parts.switch(), parts.sender(&shutdown));
        let turns = parts.turns(name, &models, coordination.lock, &sender, &shutdown);
        let immediate_turn = ImmediateTurn {
            turns: Arc::clone(&turns),
            tasks: shutdown.tasks.clone(),
            runtime: Handle::current(),
            stop: shutdown.stopping.clone(),
        };
        let intake = parts.intake(coordination.deduplicator, Some(immediate_turn));
        let listener = bind(settings.listen)?;
        let address = listener.local_addr()?;
        let eraser = parts.eraser();
        let chores = Chores::new(&parts, &intake, &turns, &eraser, coordination.server.clone());
        chores.start(&shutdown).await?;
        let doors = doors::open(doors::Behind {
            parts: &parts,
            intake: Arc::clone(&intake),
            switch: Arc::clone(&switch),
            desk: parts.desk(&switch, &intake),
            eraser,
            sandbox: sandbox.clone(),
            scripted: Arc::clone(&scripted),
            redis: coordination.server,
            metrics,
            stopping: shutdown.stopping.clone(),
        })?;
        let (phones, notifier) = (doors.sandbox.clone(), Arc::clone(&doors.notifier));
        let server = http::serve(Arc::new(doors), listener, grace(&settings))?;
        // From here on nothing can fail: an instance that claims work must be there to end it.
        parts.worker(&turns, &sender, &shutdown).start();
        parts.keep(&shutdown);
        coordination::listen(&parts, coordination.others, told, &shutdown);
        parts::show_typing(&parts, typed, &shutdown);
        parts::take_reports(&parts, sandbox, &intake, reports, &shutdown);
        receiving::start(&parts, &intake, &shutdown);
        notifying::start(&notifier, &parts.dispatch, &shutdown);
        let (handle, deaf) = (server.handle(), CancellationToken::new());
        shutdown.tasks.spawn(listen(server, deaf.clone()));
        Ok(Self {
            address,
            parts,
            sandbox: phones,
            switch,
            scripted,
            traces,
            server: handle,
            deaf,
            shutdown,
            _alone: alone,
        })
    }

    /// Where the data is.
    pub(super) fn data(&self) -> String {
        self.parts.store.describe()
    }

    /// Says where everything is.
    fn greet(&self, settings: &Settings) {
        let address = self.address;
        tracing::info!(%address, database = self.parts.store.describe(), "baton is serving");
        // If one could not be set up, the reason was logged already.
        if !self.parts.channel_loader.are_there() {
            tracing::warn!(
                "there is no channel yet: set BATON_GREEN_API_INSTANCE and BATON_GREEN_API_TOKEN, or add one in the dashboard"
            );
        }
        if settings.api_token.is_none() {
            tracing::info!(
                "for programs, the API opens with a token: `baton token create NAME`, or BATON_API_TOKEN"
            );
        }
        if settings.provider() == AiProvider::None {
            tracing::warn!(
                "there is no AI (BATON_AI_PROVIDER is none): every conversation begins with people"
            );
        }
    }

    /// Waits until it is told to stop, or no request is answered any more: its supervisor restarts it then.
    pub(super) async fn until_told_to_stop(&self, mut signals: Signals) -> anyhow::Result<()> {
        tokio::select! {
            () = signals.told() => Ok(()),
            () = self.deaf.cancelled() => bail!("the HTTP server ended; see the log for why"),
        }
    }

    /// Stops: doors closed, sends in hand finished, generations given back, all within the grace.
    pub(super) async fn stop(self) {
        let Shutdown { stopping, end_turns, end_sends, tasks } = &self.shutdown;
        let grace = grace(&self.parts.settings);
        let ends_at = tokio::time::Instant::now() + grace;
        stopping.cancel();
        let closing = self.server.stop(true);
        end_turns.cancel();
        tasks.close();
        if tokio::time::timeout_at(ends_at - TO_SETTLE.min(grace / 2), tasks.wait()).await.is_err() {
            end_sends.cancel();
        }
        if tokio::time::timeout_at(ends_at - BEFORE_THE_END.min(grace / 4), tasks.wait()).await.is_err() {
            tracing::warn!(
                "some work did not finish within the grace period; the next instance will pick it up"
            );
        }
        if tokio::time::timeout_at(ends_at, closing).await.is_err() {
            tracing::warn!("some requests did not finish within the grace period");
        }
        self.traces.end(ends_at).await;
        if tokio::time::timeout_at(ends_at, self.parts.store.close()).await.is_err() {
            tracing::warn!("the database did not close within the grace period");
        }
        tracing::info!("stopped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::{sql::Statement, sql::Store as _, test_stores};

    #[test]
    fn an_address_that_is_taken_is_told_with_what_to_do() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let error = bind(taken.local_addr().expect("bound")).expect_err("it is taken").to_string();
        assert!(error.contains("is Baton running already?") && error.contains("--listen"), "{error}");
    }

    #[tokio::test]
    async fn a_store_that_is_away_after_the_start_ends_nothing_and_the_first_agent_comes_later() {
        let (store, _folder) = test_stores::sqlite().await;
        store.write(Statement::new("alter table agents rename to gone")).await.expect("renamed");
        let people: Arc<dyn People> = Arc::new(store.clone());
        let (base, stop) = ("http://127.0.0.1:8080".to_owned(), CancellationToken::new());
        let welcome = welcome(Arc::clone(&people), base, stop);
        tokio::pin!(welcome);
        let first_look = tokio::time::timeout(Duration::from_millis(50), &mut welcome);
        assert!(first_look.await.is_err(), "it does not give up");
        store.write(Statement::new("alter table gone rename to agents")).await.expect("renamed");
        welcome.await;
        assert_eq!(people.agents().await.expect("they are there")[0].email, FIRST_EMAIL);
    }
}
