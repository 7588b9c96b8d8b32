//! What is done by the clock: cron expressions wake chores, each of which runs at most once at a time.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use execution::redis_server::Server;
use futures_util::{StreamExt as _, stream};
use metrics::{counter, gauge};

use super::{
    cron::{Schedule, Scheduler},
    now,
    parts::Parts,
    shutdown::Shutdown,
    spending::Spending,
};
use crate::{
    domain::mode::Mode,
    flow::{
        agenda::brake::Brakes,
        back_office::{audit, registry::Channel},
        desk,
        forgetting::{erase::Eraser, retention::Retention},
        generator::cached_answers,
        instance::{channel_breaker, pace::Pace},
        intake::Intake,
        ledger, notify, outbox,
        provider::SANDBOX,
        reconcile::Reconciler,
        repair::{self, Repair},
        spending,
        turn::Turns,
    },
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Every second: channels that were changed by another instance.
const LOAD_CHANNELS: Schedule = Schedule::new("* * * * * *", Duration::from_secs(1));
/// Every second: sends of unknown fate whose next look has come.
const RECONCILE: Schedule = Schedule::new("* * * * * *", Duration::from_secs(1));
/// Every second: people whom others have erased are forgotten here, and abandoned erasures continue.
const ERASE: Schedule = Schedule::new("* * * * * *", Duration::from_secs(1));
/// Every five seconds: gauges.
const GAUGES: Schedule = Schedule::new("*/5 * * * * *", Duration::from_secs(5));
/// Every five seconds: what is spent where there is a ceiling.
const SPENDING: Schedule = Schedule::new("*/5 * * * * *", Duration::from_secs(5));
/// Every five seconds: how many follow-ups leave.
const BRAKES: Schedule = Schedule::new("*/5 * * * * *", Duration::from_secs(5));
/// Every minute: how many conversations there are. The longest that this may take is less than a tenth of that.
const COUNT: Schedule = Schedule::new("30 * * * * *", Duration::from_secs(60));
/// Every five seconds: whether what comes can still be kept.
const WATCH: Schedule = Schedule::new("*/5 * * * * *", Duration::from_secs(5));
/// Every ten seconds: channels that could not send are asked how they are.
const ASK_CHANNELS: Schedule = Schedule::new("*/10 * * * * *", Duration::from_secs(10));

/// Every twenty seconds: journals that are due.
const REPAIR: Schedule = Schedule::new("*/20 * * * * *", Duration::from_secs(20));

/// Every hour: what is older than allowed, if anything is.
const RETAIN: Schedule = Schedule::new("0 41 * * * *", HOUR);

/// Every hour: idempotency keys that nobody may repeat any more, answers that are no longer given again, sessions and
/// sign-in links that are void, files that no message carries, deliveries to webhook endpoints that ended days ago, sign-ins that
/// were refused months ago.
const FORGET: Schedule = Schedule::new("0 17 * * * *", HOUR);

/// Channels whose gateways are asked at once: one that hangs holds up only those behind it.
const ASKED_AT_ONCE: usize = 16;

/// What the chores are done with.
pub(super) struct Chores {
    parts: Arc<Parts>,
    redis: Option<Server>,
    eraser: Arc<Eraser>,
    /// Whose breaker is measured.
    turns: Arc<Turns>,
    brakes: Brakes,
    spending: Spending,
    reconciler: Reconciler,
    repair: Repair,
    retention: Retention,
    /// Channels whose gauges are set.
    measured: Mutex<BTreeSet<String>>,
}

impl Chores {
    pub(super) fn new(
        parts: &Arc<Parts>,
        intake: &Arc<Intake>,
        turns: &Arc<Turns>,
        eraser: &Arc<Eraser>,
        redis: Option<Server>,
    ) -> Self {
        Self {
            parts: Arc::clone(parts),
            redis,
            eraser: Arc::clone(eraser),
            turns: Arc::clone(turns),
            brakes: Brakes {
                registry: Arc::clone(&parts.registry),
                statistics: parts.store.places(),
                ledger: Arc::clone(&parts.ledger),
                zone: parts.settings.time_zone.clone(),
                times: parts.settings.proactive_brake,
                best: Mutex::default(),
            },
            spending: Spending::of(parts),
            reconciler: Reconciler::new(
                Arc::clone(&parts.ledger),
                Arc::clone(&parts.archive),
                parts.store.places(),
                Arc::clone(&parts.registry),
                Arc::clone(&parts.channel_loader.channels),
            ),
            repair: Repair {
                intake: Arc::clone(intake),
                archive: Arc::clone(&parts.archive),
                registry: Arc::clone(&parts.registry),
                channels: Arc::clone(&parts.channel_loader.channels),
            },
            retention: parts.retention(),
            measured: Mutex::default(),
        }
    }

    /// Starts the scheduler and its chores.
    pub(super) async fn start(self, shutdown: &Shutdown) -> anyhow::Result<()> {
        let (chores, scheduler) = (Arc::new(self), Scheduler::new(shutdown).await?);
        for name in chores.parts.channel_loader.accounts() {
            chores.repair.begin(&name).await?;
        }
        // Before any work is taken: a ceiling that was reached before the start is one now.
        chores.spending.count(now()).await;
        scheduler.add(LOAD_CHANNELS, &chores, |chores| async move { chores.load_channels().await }).await?;
        scheduler.add(RECONCILE, &chores, Self::reconcile).await?;
        scheduler.add(ERASE, &chores, Self::erase).await?;
        scheduler.add(WATCH, &chores, Self::watch).await?;
        scheduler.add(GAUGES, &chores, Self::measure).await?;
        scheduler.add(SPENDING, &chores, |chores| async move { chores.spending.count(now()).await }).await?;
        scheduler.add(BRAKES, &chores, Self::count_proactive).await?;
        scheduler.add(COUNT, &chores, Self::count_conversations).await?;
        scheduler.add(ASK_CHANNELS, &chores, Self::ask_channels).await?;
        scheduler.add(REPAIR, &chores, Self::look_through_journals).await?;
        scheduler.add(FORGET, &chores, Self::forget).await?;
        if chores.retention.days > 0 {
            scheduler.add(RETAIN, &chores, Self::retain).await?;
        }
        scheduler.run().await
    }

    async fn load_channels(&self) {
        if let Err(error) = self.parts.channel_loader.load().await {
            tracing::debug!(error = format!("{error:#}"), "channels were not loaded this time");
        }
    }

    async fn reconcile(self: Arc<Self>) {
        if let Err(error) = self.reconciler.look().await {
            tracing::debug!(%error, "sends of unknown fate were not looked for this time");
        }
    }

    async fn erase(self: Arc<Self>) {
        if let Err(error) = self.eraser.hear(now()).await {
            tracing::debug!(%error, "erasures by other instances could not be read this time");
        }
        if let Err(error) = self.eraser.take_up().await {
            tracing::debug!(%error, "abandoned erasures could not be continued this time");
        }
    }

    async fn watch(self: Arc<Self>) {
        self.parts.store.watch().await;
    }

    async fn measure(self: Arc<Self>) {
        self.measure_gate();
        if let Some(redis) = &self.redis {
            // Where nothing happens nobody would notice. A failure has already set the breaker and the log going.
            let _ = redis.ping().await;
        }
        self.measure_stores();
        self.measure_channels().await;
    }

    async fn forget(self: Arc<Self>) {
        if let Err(error) = self.parts.store.raise_xact_offset().await {
            tracing::warn!(error = format!("{error:#}"), "the feed may stand still");
        }
        let (parts, places) = (&self.parts, self.parts.store.places());
        let now = now();
        let before = now.plus_ms(-desk::REMEMBERED_MS);
        let all = [
            ("old requests were", places.forget_requests(before)),
            ("old answers were", parts.answers.forget_answers(now.plus_ms(-cached_answers::KEPT_MS))),
            ("files that no message carries were", parts.enclosures.forget_loose(before)),
            ("words that nobody sends back any more were", places.forget_echoes(now)),
            (
                "old deliveries to endpoints were",
                parts.endpoints.forget_deliveries(now.plus_ms(-notify::KEPT_MS)),
            ),
            (
                "what was spent on erased people was",
                places.forget_usage(now.plus_ms(-spending::ERASED_KEPT_MS)),
            ),
            ("void sessions were", places.forget_void(now)),
            ("old refused sign-ins were", places.forget_refused(now.plus_ms(-audit::REFUSED_KEPT_MS))),
        ];
        for (what, forgetting) in all {
            if let Err(error) = forgetting.await {
                tracing::warn!(error = error.cause(), "{what} not forgotten this time");
            }
        }
    }

    /// What is older than allowed goes.
    async fn retain(self: Arc<Self>) {
        match self.retention.ring().await {
            Ok(None) => {}
            Ok(Some(rows)) => {
                let rows: i64 = rows.values().sum();
                tracing::info!(rows, days = self.retention.days, "what was older than allowed was removed");
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "not everything older than allowed was removed; the rest will be within the hour"
                );
            }
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "gauges are floating point")]
    fn measure_gate(&self) {
        let (gate, pace) = (&self.parts.gate, self.parts.pace.as_deref());
        gauge!("baton_generation_slots", "state" => "held").set(gate.held() as f64);
        let waiting = gate.waiting() + pace.map_or(0, Pace::waiting);
        gauge!("baton_generation_slots", "state" => "waiting").set(waiting as f64);
        // It tells of a change at a call; an instance that has no more turns makes none.
        self.turns.breaker.measure();
    }

    fn measure_stores(&self) {
        let (size, in_use) = self.parts.store.connections();
        gauge!("baton_db_pool_size").set(f64::from(size));
        gauge!("baton_db_pool_in_use").set(f64::from(in_use));
        gauge!("baton_redis_up").set(if self.redis.as_ref().is_none_or(Server::is_up) { 1.0 } else { 0.0 });
        if let Some(redis) = &self.redis {
            counter!("baton_redis_errors_total").absolute(redis.failures());
        }
    }

    /// Which channels can send, and whether their follow-ups may, as the store knows it. One that was removed since the last look is neither way.
    async fn measure_channels(&self) {
        let rows = match self.parts.registry.channels().await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::debug!(%error, "the states of the channels are not known this time");
                return;
            }
        };
        show_channels(rows, &mut self.measured.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// It feeds no alert, and is asked apart from what does: of very many conversations it may fail at each look.
    #[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    async fn count_conversations(self: Arc<Self>) {
        let counted = self.parts.store.places().modes(None).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "how many conversations there are is not known this time");
            Vec::new()
        });
        for mode in Mode::ALL {
            let found = counted.iter().find(|(word, _)| word == mode.as_str());
            let count = found.map_or(f64::NAN, |(_, count)| *count as f64);
            gauge!("baton_conversations", "mode" => mode.as_str()).set(count);
        }
    }

    /// Channels that send far more follow-ups than ever are braked, here at once.
    async fn count_proactive(self: Arc<Self>) {
        match self.brakes.look(now()).await {
            Ok(true) => self.load_channels().await,
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "follow-ups were not counted this time"),
        }
    }

    /// Messages that never came are found where the provider wrote them down.
    async fn look_through_journals(self: Arc<Self>) {
        let look = |channel: String| self.look_through_journal(channel);
        stream::iter(self.parts.channel_loader.accounts()).for_each_concurrent(ASKED_AT_ONCE, look).await;
    }

    async fn look_through_journal(&self, channel: String) {
        match self.repair.repair(&channel).await {
            Ok(0) => {}
            Ok(missed) => tracing::warn!(channel, missed, "messages had been missed, and are here now"),
            Err(trouble) => {
                let error = &trouble as &dyn std::error::Error;
                tracing::debug!(channel, error, "the journal was not searched this time");
            }
        }
    }

    /// Channels whose account could not send, or never said, are asked how they are: the webhook that says so may have been lost.
    async fn ask_channels(self: Arc<Self>) {
        match self.parts.registry.channels().await {
            Ok(rows) => {
                let is_known = |row: &Channel| row.provider == SANDBOX || !row.state.is_empty();
                let unable = rows.into_iter().filter(|row| !is_known(row) || !outbox::is_able(&row.state));
                let ask = |row| self.ask_channel(row);
                stream::iter(unable).for_each_concurrent(ASKED_AT_ONCE, ask).await;
            }
            Err(error) => tracing::debug!(%error, "channels were not asked this time"),
        }
    }

    async fn ask_channel(&self, row: Channel) {
        let Some(channel) = self.parts.channel_loader.channels.get(&row.name) else { return };
        match channel.provider.state().await {
            Ok(state) if state != row.state => {
                if let Err(error) = self.keep_state(&row.name, &state).await {
                    tracing::debug!(%error, channel = row.name, "the channel's state was not kept");
                }
            }
            Ok(_) => {}
            Err(unanswered) => {
                tracing::debug!(channel = row.name, %unanswered, "the channel did not report its state")
            }
        }
    }

    async fn keep_state(&self, channel: &str, state: &str) -> Result<(), ledger::Error> {
        let now = self.parts.ledger.now().await?;
        repair::keep_state(&*self.parts.registry, channel, state, now).await.map(drop)
    }
}

/// Sets the gauges of each channel, and of those that were measured before and are gone.
fn show_channels(rows: Vec<Channel>, measured: &mut BTreeSet<String>) {
    let set = |channel: &str, is_linked: f64, is_braked: f64| {
        gauge!("baton_channel_linked", "channel" => channel.to_owned()).set(is_linked);
        gauge!("baton_proactive_braked", "channel" => channel.to_owned()).set(is_braked);
    };
    let one_if = |is: bool| if is { 1.0 } else { 0.0 };
    for row in &rows {
        set(&row.name, one_if(outbox::is_able(&row.state)), one_if(row.brake.latched.is_some()));
    }
    let now: BTreeSet<String> = rows.into_iter().map(|row| row.name).collect();
    for gone in measured.difference(&now) {
        set(gone, f64::NAN, f64::NAN);
        channel_breaker::show(gone, f64::NAN);
    }
    *measured = now;
}

#[cfg(test)]
pub(super) mod tests;
