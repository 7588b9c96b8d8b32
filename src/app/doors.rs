//! What is behind the routes.

use std::sync::Arc;

use execution::redis_server::Server;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{health::Health, now, parts::Parts, sandbox_control::SandboxControl};
use crate::{
    adapters::{receivers::Outward, sandbox::Sandbox, scripted::Scripted},
    config::{Language, Source},
    domain::time::duration,
    flow::{
        back_office::{people::People, sign_in::SignIn, vault},
        desk::Desk,
        forgetting::erase::Eraser,
        intake::Intake,
        mode_switch::ModeSwitch,
        notify::{AT_ONCE_IN_ALL, Notifier},
    },
    http::{
        auth::Auth,
        count_cache::CountCache,
        doors::Doors,
        feed::Feed,
        names::Directory,
        ports::{self, Setting},
        site::Site,
        webhook_body::WebhookBodies,
    },
    metrics::Metrics,
};

/// What the doors are made of.
pub(super) struct Behind<'a> {
    pub(super) parts: &'a Parts,
    pub(super) intake: Arc<Intake>,
    pub(super) switch: Arc<ModeSwitch>,
    pub(super) desk: Arc<Desk>,
    pub(super) eraser: Arc<Eraser>,
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) scripted: Arc<Scripted>,
    pub(super) redis: Option<Server>,
    pub(super) metrics: Metrics,
    pub(super) stopping: CancellationToken,
}

/// The doors, open.
pub(super) fn open(behind: Behind<'_>) -> anyhow::Result<Doors> {
    let parts = behind.parts;
    let settings = &parts.settings;
    let fetching = Arc::clone(&parts.fetching);
    let sandbox = behind.sandbox.map(|sandbox| {
        Arc::new(SandboxControl {
            sandbox,
            scripted: behind.scripted,
            intake: Arc::clone(&behind.intake),
            channels: Arc::clone(&parts.channel_loader.channels),
        }) as Arc<dyn ports::SandboxDoor>
    });
    let metrics = behind.metrics;
    let people: Arc<dyn People> = parts.store.places();
    let directory = Arc::new(Directory::new(Arc::clone(&people), Arc::clone(&fetching)));
    Ok(Doors {
        archive: Arc::clone(&parts.archive),
        statistics: parts.store.places(),
        registry: Arc::clone(&parts.registry),
        tokens: parts.store.places(),
        people: Arc::clone(&people),
        labels_and_replies: parts.store.places(),
        endpoints: Arc::clone(&parts.endpoints),
        notifier: Arc::new(notifier(parts, &directory)?),
        idempotency_keys: parts.store.places(),
        audit: parts.store.places(),
        ledger: Arc::clone(&parts.ledger),
        intake: behind.intake,
        mode_switch: behind.switch,
        desk: behind.desk,
        eraser: behind.eraser,
        channels: Arc::clone(&parts.channel_loader) as Arc<dyn ports::Channels>,
        vault: Arc::clone(&parts.vault) as Arc<dyn vault::Vault>,
        sandbox,
        health: Arc::new(Health::of(parts.store.clone(), behind.redis)),
        auth: Auth::new(
            settings.api_token.as_ref().map(|token| token.expose()),
            parts.store.places(),
            Arc::clone(&people),
            now,
        ),
        directory,
        count_cache: CountCache::default(),
        sign_in: SignIn::new(people, now),
        site: Site::new(settings.public_url.as_deref(), settings.trusted_proxies.clone().unwrap_or_default()),
        language: settings.language.map(Language::as_str),
        fetching,
        feed: Feed::open(
            parts.store.places(),
            Arc::clone(&parts.endpoints),
            Arc::clone(&parts.dispatch.feed),
            behind.stopping.clone(),
            &tokio::runtime::Handle::current(),
        ),
        onlookers: Arc::clone(&parts.dispatch.onlookers),
        cors_origins: settings.cors_origins.clone().map(|origins| origins.0).unwrap_or_default(),
        prices: settings.ai_prices.clone().unwrap_or_default(),
        time_zone: settings.time_zone.clone(),
        settings: settings.describe().into_iter().map(as_setting).collect(),
        settle_ms: settings.settle_ms,
        render_metrics: Box::new(move || metrics.render()),
        now,
        main: tokio::runtime::Handle::current(),
        stopping: behind.stopping,
    })
}

/// What notifies those who asked for it.
fn notifier(parts: &Parts, directory: &Arc<Directory>) -> anyhow::Result<Notifier> {
    Ok(Notifier {
        owner: Uuid::now_v7().simple().to_string(),
        endpoints: Arc::clone(&parts.endpoints),
        receivers: Arc::new(Outward::new(parts.settings.webhook_hosts.clone())?),
        bodies: Arc::new(WebhookBodies {
            archive: Arc::clone(&parts.archive),
            directory: Arc::clone(directory),
        }),
        vault: Arc::clone(&parts.vault) as Arc<dyn vault::Vault>,
        slots: Arc::new(Semaphore::new(AT_ONCE_IN_ALL)),
        lease: duration(parts.settings.lock_ttl_ms),
        clock: now,
    })
}

fn as_setting(described: crate::config::Described) -> Setting {
    Setting {
        name: described.name,
        value: described.value,
        is_set: described.is_set,
        source: match described.source {
            Source::Flag => "flag",
            Source::Environment => "environment",
            Source::File => "file",
            Source::Default => "default",
        },
        channel_key: described.channel_key.map(str::to_owned),
    }
}
