//! What the routes hold: each place and step behind them, given once by the wiring.

use std::sync::Arc;

use tokio::{runtime::Handle, task::JoinError};
use tokio_util::sync::CancellationToken;

use super::{
    auth::{Auth, Caller},
    count_cache::CountCache,
    feed::Feed,
    names::Directory,
    ports::{Channels, Desk, Eraser, Health, Intake, ModeSwitch, SandboxDoor, Setting},
    problem::Problem,
    site::Site,
};
use crate::{
    domain::{event::Event, price::Prices, time::Time},
    flow::{
        archive::{Archive, Statistics},
        back_office::{
            audit::{Audit, Audited, Deed},
            idempotency_keys::IdempotencyKeys,
            labels_and_replies::LabelsAndReplies,
            people::{self, Agent, People},
            registry::{Registry, Tokens},
            sign_in::SignIn,
            vault::Vault,
        },
        instance::onlookers::Onlookers,
        ledger::Ledger,
        media::Fetching,
        notify::{Notifier, endpoints::Endpoints},
    },
};

/// Everything behind the routes.
pub struct Doors {
    /// What was and is.
    pub archive: Arc<dyn Archive>,
    /// How much of it.
    pub statistics: Arc<dyn Statistics>,
    /// Channels.
    pub registry: Arc<dyn Registry>,
    /// Tokens of the API.
    pub tokens: Arc<dyn Tokens>,
    /// Agents and their sessions.
    pub people: Arc<dyn People>,
    /// Labels and canned replies.
    pub labels_and_replies: Arc<dyn LabelsAndReplies>,
    /// Webhook endpoints, and their deliveries.
    pub endpoints: Arc<dyn Endpoints>,
    /// Tells them.
    pub notifier: Arc<Notifier>,
    /// What requests were answered that may come again.
    pub idempotency_keys: Arc<dyn IdempotencyKeys>,
    /// Who has done what to the installation.
    pub audit: Arc<dyn Audit>,
    /// For events that belong to no conversation.
    pub ledger: Arc<dyn Ledger>,
    /// Takes webhooks.
    pub intake: Arc<dyn Intake>,
    /// Changes who answers.
    pub mode_switch: Arc<dyn ModeSwitch>,
    /// What people do.
    pub desk: Arc<dyn Desk>,
    /// Removes people.
    pub eraser: Arc<dyn Eraser>,
    /// The channels as they run here.
    pub channels: Arc<dyn Channels>,
    /// Encrypts secrets of channels.
    pub vault: Arc<dyn Vault>,
    /// The sandbox, if it is on.
    pub sandbox: Option<Arc<dyn SandboxDoor>>,
    /// Whether this instance can work.
    pub health: Arc<dyn Health>,
    /// Who is who.
    pub auth: Auth,
    /// What agents are called.
    pub directory: Arc<Directory>,
    /// How many conversations there are.
    pub count_cache: CountCache,
    /// Lets people in.
    pub sign_in: SignIn,
    /// Where this is for browsers.
    pub site: Site,
    /// In which language the dashboard begins for who has chosen none; None: in that of the browser.
    pub language: Option<&'static str>,
    /// Files of messages.
    pub fetching: Arc<Fetching>,
    /// The live feed.
    pub feed: Arc<Feed>,
    /// Who watches a conversation, and what they see.
    pub onlookers: Arc<Onlookers>,
    /// Other origins whose pages may read what they are answered.
    pub cors_origins: Vec<String>,
    /// What models cost.
    pub prices: Prices,
    /// By whose days statistics are counted.
    pub time_zone: String,
    /// Settings in force, secrets left out.
    pub settings: Vec<Setting>,
    /// Longest wait of a switch, `BATON_SETTLE_MS`.
    pub settle_ms: i64,
    /// The metrics as text.
    pub render_metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// The clock.
    pub now: fn() -> Time,
    /// Where all work runs. A server thread's own runtime ends before the last sends are settled, and a connection to
    /// the database that was opened on it would end with it.
    pub main: Handle,
    /// Cancelled first when the process stops.
    pub stopping: CancellationToken,
}

impl Doors {
    /// An agent is another: what is remembered of all of them is read again, and everyone who sees them, or did, is told.
    pub async fn person_changed(
        &self,
        agent: &Agent,
        before: Option<&[String]>,
        action: &'static str,
        by: &str,
    ) {
        self.auth.forget();
        self.directory.forget().await;
        self.tell(people::updated(agent, before, action, by, (self.now)())).await;
    }

    /// Notifies everyone of what was done. It is done whether or not they are notified, so the caller gets success: told that
    /// it failed, they would do it again.
    pub(super) async fn tell(&self, event: Event) {
        let (kind, action) = (event.kind.as_str(), event.action.clone());
        if let Err(error) = self.ledger.keep(vec![event], Vec::new()).await {
            tracing::error!(
                error = error.cause(),
                kind,
                action = action.as_deref(),
                "a change was made, but its event was not stored"
            );
        }
    }

    /// An action of that caller, to be completed and recorded.
    pub(super) fn deed(&self, caller: &Caller, deed: Deed) -> Audited {
        Audited::new((self.now)(), &caller.actor, deed)
    }

    /// Records an action that was done. It is done whether or not that succeeds, so the caller gets success.
    pub(super) async fn note(&self, deed: Audited) {
        if let Err(error) = self.audit.note(&deed).await {
            let (actor, what) = (deed.actor, deed.deed.as_str());
            tracing::error!(
                error = error.cause(),
                actor,
                deed = what,
                subject = deed.subject,
                "an action was not recorded in the audit"
            );
        }
    }

    /// Runs work on the main runtime, to its end even if the client goes away.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Problem> {
        self.main.spawn(work).await.map_err(|error| lost(&error))
    }
}

/// Work that panicked, or that the end of the process cut off.
pub(super) fn lost(error: &JoinError) -> Problem {
    if error.is_cancelled() {
        return Problem::unavailable("the server is stopping");
    }
    tracing::error!(%error, "a request panicked");
    Problem::internal()
}
