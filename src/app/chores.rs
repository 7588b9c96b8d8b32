//! What is done by the clock: cron expressions wake chores, each of which runs at most once at a time.

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use execution::redis_server::Server;
use futures_util::FutureExt as _;
use metrics::{counter, gauge};
use tokio::sync::Notify;
use tokio_cron_scheduler::{Job, JobScheduler};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{now, numbers::Numbers, parts::Parts, stores::Store};
use crate::{
    config::Settings,
    domain::hours::day_began,
    flow::{
        answers,
        archive::Archive,
        brake::Brakes,
        desk,
        erase::Eraser,
        gate::Gate,
        intake::Intake,
        notify, outbox,
        pace::Pace,
        reconcile::Reconciler,
        registry::Registry,
        repair::{self, Repair},
        retention::Retention,
        spending,
    },
};

/// Every second: channels that were changed by another instance.
const LOAD_CHANNELS: &str = "* * * * * *";
/// Every second: sends of unknown fate whose next look has come.
const RECONCILE: &str = "* * * * * *";
/// Every second: people whom others have erased are forgotten here, and erasures left half-way go on.
const ERASE: &str = "* * * * * *";
/// Every five seconds: gauges, what is spent where there is a ceiling, and how many follow-ups leave.
const GAUGES: &str = "*/5 * * * * *";
/// Every ten seconds: channels that could not send are asked how they are.
const ASK_CHANNELS: &str = "*/10 * * * * *";

/// Every twenty seconds: journals that are due.
const REPAIR: &str = "*/20 * * * * *";

/// Every hour: what is older than allowed, if anything is.
const RETAIN: &str = "0 41 * * * *";

/// Every hour: idempotency keys that nobody may repeat any more, answers that are no longer given again, sessions and
/// sign-in links that are void, files that no message carries, what endpoints of webhooks were told days ago.
const FORGET: &str = "0 17 * * * *";

/// Starts the scheduler and its chores. A tick that comes while its chore still runs is one more ring of the same bell.
pub(super) async fn start(
    parts: &Parts,
    store: &Store,
    intake: &Arc<Intake>,
    eraser: &Arc<Eraser>,
    redis: Option<Server>,
    stopping: &CancellationToken,
    tasks: &TaskTracker,
) -> anyhow::Result<()> {
    let mut scheduler = JobScheduler::new().await.context("the scheduler does not start")?;
    let forget = bell(&scheduler, FORGET).await?;
    let due = bell(&scheduler, REPAIR).await?;
    let reconcile = bell(&scheduler, RECONCILE).await?;
    let erase = bell(&scheduler, ERASE).await?;
    let retain = bell(&scheduler, RETAIN).await?;
    let (load, gauges, ask) = (
        bell(&scheduler, LOAD_CHANNELS).await?,
        bell(&scheduler, GAUGES).await?,
        bell(&scheduler, ASK_CHANNELS).await?,
    );
    scheduler.start().await.context("the scheduler does not start")?;
    let numbers = Arc::clone(&parts.numbers);
    let stop = stopping.clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = load.notified() => {}
            }
            if let Err(error) = numbers.load().await {
                tracing::debug!(error = format!("{error:#}"), "channels were not loaded this time");
            }
        }
        if let Err(error) = scheduler.shutdown().await {
            tracing::debug!(%error, "the scheduler did not stop cleanly");
        }
    });
    let (archive, registry, numbers) =
        (Arc::clone(&parts.archive), Arc::clone(&parts.registry), Arc::clone(&parts.numbers));
    let (people, repeats, expiry, store) = (store.people(), store.repeats(), store.expiry(), store.clone());
    let (gate, pace) = (parts.gate.clone(), parts.pace.clone());
    let (rows, measured) = (Arc::clone(&registry), Arc::<Mutex<BTreeSet<String>>>::default());
    let (settings, spending) = (Arc::clone(&parts.settings), Arc::clone(&numbers));
    let brakes = Arc::new(Brakes {
        registry: Arc::clone(&parts.registry),
        archive: Arc::clone(&parts.archive),
        ledger: Arc::clone(&parts.ledger),
        zone: settings.time_zone.clone(),
        times: settings.proactive_brake,
        best: Mutex::default(),
    });
    every(gauges, stopping, tasks, move || {
        let (archive, store, redis) = (Arc::clone(&archive), store.clone(), redis.clone());
        let (rows, measured) = (Arc::clone(&rows), Arc::clone(&measured));
        let (settings, spending) = (Arc::clone(&settings), Arc::clone(&spending));
        let brakes = Arc::clone(&brakes);
        measure_gate(&gate, pace.as_deref());
        async move {
            measure(&*archive, &store, redis.as_ref()).await;
            measure_channels(&*rows, &measured).await;
            count_spending(&*archive, &settings, &spending).await;
            count_proactive(&brakes, &spending).await;
        }
    });
    let reconciler = Arc::new(Reconciler::new(
        Arc::clone(&parts.ledger),
        Arc::clone(&parts.archive),
        Arc::clone(&parts.registry),
        Arc::clone(&parts.numbers.channels),
    ));
    every(reconcile, stopping, tasks, move || {
        let reconciler = Arc::clone(&reconciler);
        async move {
            if let Err(error) = reconciler.look().await {
                tracing::debug!(%error, "sends of unknown fate were not looked for this time");
            }
        }
    });
    let (erased, echoes) = (Arc::clone(eraser), Arc::clone(&eraser.graves));
    every(erase, stopping, tasks, move || {
        let eraser = Arc::clone(&erased);
        async move {
            if let Err(error) = eraser.hear(now()).await {
                tracing::debug!(%error, "what others have erased was not heard this time");
            }
            if let Err(error) = eraser.take_up().await {
                tracing::debug!(%error, "erasures left half-way did not go on this time");
            }
        }
    });
    if parts.settings.retention_days > 0 {
        let retention = Arc::new(parts.retention(expiry));
        every(retain, stopping, tasks, move || {
            let retention = Arc::clone(&retention);
            async move { retain_no_more(&retention).await }
        });
    }
    let (keys, kept, answers) = (Arc::clone(&registry), repeats, Arc::clone(&parts.answers));
    let (enclosures, endpoints) = (Arc::clone(&parts.enclosures), Arc::clone(&parts.endpoints));
    every(forget, stopping, tasks, move || {
        let (keys, kept) = (Arc::clone(&keys), Arc::clone(&kept));
        let (answers, people, echoes) = (Arc::clone(&answers), Arc::clone(&people), Arc::clone(&echoes));
        let (enclosures, endpoints) = (Arc::clone(&enclosures), Arc::clone(&endpoints));
        async move {
            let before = now().plus_ms(-desk::REMEMBERED_MS);
            if let Err(error) = keys.forget_requests(before).await {
                tracing::debug!(%error, "old idempotency keys were not forgotten this time");
            }
            if let Err(error) = kept.forget_kept(before).await {
                tracing::debug!(%error, "what old requests were answered was not forgotten this time");
            }
            if let Err(error) = answers.forget_answers(now().plus_ms(-answers::KEPT_MS)).await {
                tracing::debug!(%error, "old answers were not forgotten this time");
            }
            if let Err(error) = enclosures.forget_loose(before).await {
                tracing::debug!(%error, "files that no message carries were not forgotten this time");
            }
            if let Err(error) = echoes.forget_echoes(now()).await {
                tracing::debug!(%error, "words that nobody sends back any more were not forgotten this time");
            }
            if let Err(error) = endpoints.forget_deliveries(now().plus_ms(-notify::KEPT_MS)).await {
                tracing::debug!(%error, "old deliveries to endpoints were not forgotten this time");
            }
            if let Err(error) = people.forget_void(now()).await {
                tracing::debug!(%error, "void sessions were not forgotten this time");
            }
        }
    });
    let repair = Arc::new(Repair {
        intake: Arc::clone(intake),
        archive: Arc::clone(&parts.archive),
        registry: Arc::clone(&registry),
        channels: Arc::clone(&numbers.channels),
        clock: now,
    });
    for name in numbers.accounts() {
        repair.begin(&name).await?;
    }
    let accounts = Arc::clone(&numbers);
    every(due, stopping, tasks, move || {
        let (repair, accounts) = (Arc::clone(&repair), Arc::clone(&accounts));
        async move { look_through_journals(&repair, &accounts).await }
    });
    every(ask, stopping, tasks, move || {
        let (registry, numbers) = (Arc::clone(&registry), Arc::clone(&numbers));
        async move { ask_channels(&*registry, &numbers).await }
    });
    Ok(())
}

/// What is older than allowed goes.
async fn retain_no_more(retention: &Retention) {
    match retention.ring().await {
        Ok(None) => {}
        Ok(Some(rows)) => {
            let rows: i64 = rows.values().sum();
            tracing::info!(rows, days = retention.days, "what was older than allowed was removed");
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "not all that is older than allowed was removed; it will be within the hour"
            );
        }
    }
}

/// A bell that a cron expression rings.
async fn bell(scheduler: &JobScheduler, cron: &str) -> anyhow::Result<Arc<Notify>> {
    let bell = Arc::new(Notify::new());
    let rung = Arc::clone(&bell);
    let job = Job::new_async(cron, move |_, _| {
        let rung = Arc::clone(&rung);
        Box::pin(async move { rung.notify_one() })
    })?;
    scheduler.add(job).await?;
    Ok(bell)
}

fn every<F, W>(bell: Arc<Notify>, stopping: &CancellationToken, tasks: &TaskTracker, chore: F)
where
    F: Fn() -> W + Send + 'static,
    W: Future<Output = ()> + Send,
{
    let stop = stopping.clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = bell.notified() => {}
            }
            // What a chore was waiting for is asked again after the next start: none is worth a slow end.
            tokio::select! {
                () = stop.cancelled() => return,
                done = AssertUnwindSafe(chore()).catch_unwind() => if done.is_err() {
                    tracing::error!("a chore panicked; it is done again when it is due");
                },
            }
        }
    });
}

#[allow(clippy::cast_precision_loss, reason = "gauges are floating point")]
fn measure_gate(gate: &Gate, pace: Option<&Pace>) {
    gauge!("baton_generation_slots", "state" => "held").set(gate.held() as f64);
    let waiting = gate.waiting() + pace.map_or(0, Pace::waiting);
    gauge!("baton_generation_slots", "state" => "waiting").set(waiting as f64);
}

#[allow(clippy::cast_precision_loss, reason = "gauges are floating point")]
async fn measure(archive: &dyn Archive, store: &Store, redis: Option<&Server>) {
    let (size, in_use) = store.connections();
    gauge!("baton_db_pool_size").set(f64::from(size));
    gauge!("baton_db_pool_in_use").set(f64::from(in_use));
    gauge!("baton_redis_up").set(if redis.is_none_or(Server::is_up) { 1.0 } else { 0.0 });
    if let Some(redis) = redis {
        counter!("baton_redis_errors_total").absolute(redis.failures());
    }
    let depths = match archive.depths(None).await {
        Ok(depths) => depths,
        Err(error) => {
            tracing::debug!(%error, "the depths are not known this time");
            return;
        }
    };
    gauge!("baton_inbox_depth").set(depths.inbox.0 as f64);
    gauge!("baton_inbox_oldest_seconds").set(depths.inbox.1 as f64 / 1000.0);
    gauge!("baton_outbox_oldest_seconds").set(depths.outbox_oldest_ms as f64 / 1000.0);
    for (name, label, counts) in [
        ("baton_outbox_depth", "lane", &depths.outbox),
        ("baton_dead_letters", "kind", &depths.letters),
        ("baton_conversations", "mode", &depths.conversations),
        ("baton_attention", "reason", &depths.attention),
        ("baton_webhook_endpoints", "state", &depths.endpoints),
    ] {
        for (value, count) in counts {
            gauge!(name, label => value.clone()).set(*count as f64);
        }
    }
}

/// Which channels can send, and whether their follow-ups may, as the store knows it. One that was removed since the last look is neither way.
async fn measure_channels(registry: &dyn Registry, measured: &Mutex<BTreeSet<String>>) {
    let rows = match registry.channels().await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::debug!(%error, "the states of the channels are not known this time");
            return;
        }
    };
    let set = |channel: &str, is_linked: f64, is_braked: f64| {
        gauge!("baton_channel_linked", "channel" => channel.to_owned()).set(is_linked);
        gauge!("baton_proactive_braked", "channel" => channel.to_owned()).set(is_braked);
    };
    let one_if = |is: bool| if is { 1.0 } else { 0.0 };
    for row in &rows {
        set(&row.name, one_if(outbox::is_able(&row.state)), one_if(row.brake.latched.is_some()));
    }
    let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
    let now: BTreeSet<String> = rows.into_iter().map(|row| row.name).collect();
    measured.difference(&now).for_each(|gone| set(gone, f64::NAN, f64::NAN));
    *measured = now;
}

/// Channels with a ceiling of cost: whether it is reached today.
async fn count_spending(archive: &dyn Archive, settings: &Settings, numbers: &Numbers) {
    let Some(prices) = &settings.ai_prices else { return };
    let Some(today) = day_began(&settings.time_zone, now()) else { return };
    for channel in numbers.channels.names().iter().filter_map(|name| numbers.channels.get(name)) {
        if channel.policy.ai_spend_per_day.is_none() {
            continue;
        }
        match archive.usage(&channel.name, today).await {
            Ok(usage) => numbers.set_spent(&channel.name, spending::cost_of(prices, &usage)),
            Err(error) => {
                tracing::debug!(%error, channel = channel.name, "what was spent is not known this time")
            }
        }
    }
}

/// Channels that send far more follow-ups than ever are braked, here at once.
async fn count_proactive(brakes: &Brakes, numbers: &Numbers) {
    match brakes.look(now()).await {
        Ok(true) => {
            if let Err(error) = numbers.load().await {
                tracing::debug!(error = format!("{error:#}"), "channels were not loaded this time");
            }
        }
        Ok(false) => {}
        Err(error) => tracing::debug!(%error, "follow-ups were not counted this time"),
    }
}

/// Messages that never came are found where the provider wrote them down.
async fn look_through_journals(repair: &Repair, numbers: &Numbers) {
    for channel in numbers.accounts() {
        match repair.repair(&channel).await {
            Ok(0) => {}
            Ok(missed) => tracing::warn!(channel, missed, "messages had been missed, and are here now"),
            Err(trouble) => {
                let error = &trouble as &dyn std::error::Error;
                tracing::debug!(channel, error, "the journal was not looked through this time");
            }
        }
    }
}

/// Channels whose account could not send are asked how they are: the webhook that says so may have been lost.
async fn ask_channels(registry: &dyn Registry, numbers: &Numbers) {
    let rows = match registry.channels().await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::debug!(%error, "channels were not asked this time");
            return;
        }
    };
    for row in rows.iter().filter(|row| !outbox::is_able(&row.state)) {
        let Some(channel) = numbers.channels.get(&row.name) else { continue };
        match channel.provider.state().await {
            Ok(state) if state != row.state => {
                if let Err(error) = repair::keep_state(registry, &row.name, &state, now()).await {
                    tracing::debug!(%error, channel = row.name, "the channel's state was not kept");
                }
            }
            Ok(_) => {}
            Err(unanswered) => {
                tracing::debug!(channel = row.name, %unanswered, "the channel did not say how it is")
            }
        }
    }
}
