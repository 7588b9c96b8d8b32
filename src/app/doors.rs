//! What lies behind the routes, and the small things that they ask of the wiring alone.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use execution::redis_server::Server;
use serde_json::Value;
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    now,
    numbers::{Numbers, SANDBOX},
    parts::Parts,
    stores::Store,
};
use crate::{
    adapters::{
        receivers::Outward,
        sandbox::{self, Sandbox},
        scripted::{self, Scripted},
    },
    config::{Language, Source},
    domain::chat::ChatId,
    flow::{
        desk::Desk,
        erase::Eraser,
        intake::{Intake, Verdict},
        ledger::Error,
        mode_switch::ModeSwitch,
        notify::{AT_ONCE_IN_ALL, Notifier},
        people::People,
        provider::{Incoming, Provider as _},
        sign_in::SignIn,
        vault,
    },
    http::{
        auth::Auth,
        counted::Counted,
        doors::Doors,
        feed::Feed,
        names::Directory,
        ports::{self, Behaviour, Bubble, Readiness, Screen, Setting},
        site::Site,
        told::Told,
    },
    metrics::Metrics,
};

/// Looking at the database for `/readyz` takes at most this long.
const LOOK: Duration = Duration::from_secs(1);

/// What was seen is told for so long: strangers ask as often as they like, and the ledger's own connections are few.
const SEEN: Duration = Duration::from_secs(1);

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
        Arc::new(Played {
            sandbox,
            scripted: behind.scripted,
            intake: Arc::clone(&behind.intake),
            numbers: Arc::clone(&parts.numbers),
        }) as Arc<dyn ports::SandboxDoor>
    });
    let metrics = behind.metrics;
    let people: Arc<dyn People> = parts.store.places();
    let directory = Arc::new(Directory::new(Arc::clone(&people), Arc::clone(&fetching)));
    let notifier = Arc::new(Notifier {
        owner: Uuid::now_v7().simple().to_string(),
        endpoints: Arc::clone(&parts.endpoints),
        receivers: Arc::new(Outward::new(settings.webhook_hosts.clone())?),
        bodies: Arc::new(Told { archive: Arc::clone(&parts.archive), directory: Arc::clone(&directory) }),
        vault: Arc::clone(&parts.vault) as Arc<dyn vault::Vault>,
        slots: Arc::new(Semaphore::new(AT_ONCE_IN_ALL)),
        lease: Duration::from_millis(settings.lock_ttl_ms.unsigned_abs()),
        clock: now,
    });
    Ok(Doors {
        archive: Arc::clone(&parts.archive),
        registry: Arc::clone(&parts.registry),
        people: Arc::clone(&people),
        stationery: parts.store.places(),
        endpoints: Arc::clone(&parts.endpoints),
        notifier,
        repeats: parts.store.places(),
        audit: parts.store.places(),
        ledger: Arc::clone(&parts.ledger),
        intake: behind.intake,
        mode_switch: behind.switch,
        desk: behind.desk,
        eraser: behind.eraser,
        channels: Arc::clone(&parts.numbers) as Arc<dyn ports::Channels>,
        vault: Arc::clone(&parts.vault) as Arc<dyn vault::Vault>,
        sandbox,
        health: Arc::new(Health::of(parts.store.clone(), behind.redis)),
        auth: Auth::new(
            settings.api_token.as_ref().map(|token| token.expose()),
            Arc::clone(&parts.registry),
            Arc::clone(&people),
            now,
        ),
        directory,
        counted: Counted::default(),
        sign_in: SignIn::new(people, now),
        site: Site::new(settings.public_url.as_deref(), settings.trusted_proxies.clone().unwrap_or_default()),
        language: settings.language.map(Language::as_str),
        fetching,
        feed: Feed::open(
            Arc::clone(&parts.archive),
            Arc::clone(&parts.dispatch.feed),
            behind.stopping.clone(),
            &tokio::runtime::Handle::current(),
        ),
        onlookers: Arc::clone(&parts.dispatch.onlookers),
        cors_origins: settings.cors_origins.clone().map(|origins| origins.0).unwrap_or_default(),
        prices: settings.ai_prices.clone().unwrap_or_default(),
        time_zone: settings.time_zone.clone(),
        settings: settings.describe().into_iter().map(as_setting).collect(),
        settle_ms: i64::try_from(settings.settle_ms).unwrap_or(i64::MAX),
        render_metrics: Box::new(move || metrics.render()),
        now,
        main: tokio::runtime::Handle::current(),
        stopping: behind.stopping,
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

struct Health {
    store: Store,
    redis: Option<Server>,
    /// When the database was looked at last, and whether it was migrated. Held by whoever looks.
    seen: Mutex<Option<(Instant, Option<bool>)>>,
}

impl Health {
    fn of(store: Store, redis: Option<Server>) -> Self {
        Self { store, redis, seen: Mutex::default() }
    }

    /// Whether the database is migrated; None: it does not answer. Those who ask while somebody looks are told the same.
    async fn migrated(&self) -> Option<bool> {
        let mut seen = self.seen.lock().await;
        if let Some((_, migrated)) = seen.filter(|(at, _)| at.elapsed() < SEEN) {
            return migrated;
        }
        let store = self.store.clone();
        // On a task of its own: a call to the store is never dropped half-way.
        let looking = tokio::spawn(async move { store.is_migrated().await });
        let migrated = match tokio::time::timeout(LOOK, looking).await {
            Ok(Ok(Ok(is_migrated))) => Some(is_migrated),
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => None,
        };
        *seen = Some((Instant::now(), migrated));
        migrated
    }
}

#[async_trait]
impl ports::Health for Health {
    async fn look(&self) -> Readiness {
        let migrated = match self.store.require_writable() {
            Ok(()) => self.migrated().await,
            Err(_) => None,
        };
        Readiness { migrated, redis: self.redis.as_ref().map(Server::is_up) }
    }
}

/// The sandbox, played by hand.
struct Played {
    sandbox: Arc<Sandbox>,
    scripted: Arc<Scripted>,
    intake: Arc<Intake>,
    numbers: Arc<Numbers>,
}

impl Played {
    /// What one body says, as often as the gateway would deliver it.
    async fn take_one(&self, incoming: Incoming) -> Result<Verdict, Error> {
        let Some(channel) = self.numbers.channels.get(SANDBOX) else { return Err(Error::Gone) };
        let first = self.intake.take_incoming(&channel, incoming.clone()).await?;
        for _ in 1..self.sandbox.faults().copies() {
            self.intake.take_incoming(&channel, incoming.clone()).await?;
        }
        Ok(first)
    }

    fn read(&self, body: &Value) -> Result<Incoming, Error> {
        self.sandbox
            .read(body.to_string().as_bytes())
            .map_err(|unreadable| Error::Refused(unreadable.reason.into()))
    }
}

#[async_trait]
impl ports::SandboxDoor for Played {
    fn behaviour(&self) -> Behaviour {
        let (provider, model) = (self.sandbox.faults(), self.scripted.faults());
        Behaviour {
            model_delay_ms: i64::try_from(model.delay_ms).unwrap_or(i64::MAX),
            model_fault: model.fault,
            provider_delay_ms: i64::try_from(provider.delay_ms).unwrap_or(i64::MAX),
            provider_fault: provider.fault,
            duplicate_webhooks: provider.duplicate_webhooks,
        }
    }

    fn behave(&self, behaviour: Behaviour) {
        self.scripted.set_faults(scripted::Faults {
            delay_ms: behaviour.model_delay_ms.unsigned_abs(),
            fault: behaviour.model_fault,
        });
        self.sandbox.set_faults(sandbox::Faults {
            delay_ms: behaviour.provider_delay_ms.unsigned_abs(),
            fault: behaviour.provider_fault,
            duplicate_webhooks: behaviour.duplicate_webhooks,
        });
    }

    fn screen(&self, chat: &ChatId) -> Screen {
        let messages = self.sandbox.shown(chat).into_iter().map(|shown| Bubble {
            id: shown.id,
            from_contact: !shown.from_us,
            text: shown.text,
            at: shown.at,
            status: shown.status,
        });
        Screen { typing: self.sandbox.typing(chat), messages: messages.collect() }
    }

    async fn take(&self, bodies: Vec<Value>) -> Result<Vec<Verdict>, Error> {
        if let [body] = &bodies[..] {
            return Ok(vec![self.take_one(self.read(body)?).await?]);
        }
        let Some(channel) = self.numbers.channels.get(SANDBOX) else { return Err(Error::Gone) };
        let mut arrivals = Vec::with_capacity(bodies.len());
        for body in &bodies {
            // Contacts of the sandbox do nothing but write.
            if let Incoming::Message(arrival) = self.read(body)? {
                arrivals.push(arrival);
            }
        }
        let first = self.intake.take_together(&channel, arrivals.clone()).await?;
        for _ in 1..self.sandbox.faults().copies() {
            self.intake.take_together(&channel, arrivals.clone()).await?;
        }
        Ok(first)
    }

    async fn phone_message(&self, chat: &ChatId, text: String) -> Result<Verdict, Error> {
        let incoming = self.sandbox.phone_message(chat, &text);
        self.take_one(incoming).await
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Executor as _;

    use super::*;
    use crate::{
        adapters::trial::{self, NOW},
        domain::turn::{DeadLetter, LetterKind},
        flow::ledger::{Held, Work},
        http::ports::Health as _,
    };

    #[tokio::test]
    async fn an_instance_whose_database_is_full_is_not_ready_until_there_is_room() {
        let (sqlite, _folder) = trial::sqlite().await;
        let health = Health::of(Store::Sqlite(sqlite.clone()), None);
        let ledger = sqlite.ledger(Arc::new(crate::flow::dispatch::Dispatch::default()));
        let keep = async || {
            let payload = Value::from("a long letter. ".repeat(10_000));
            let letter = DeadLetter { payload, ..trial::letter("shop", LetterKind::Webhook, NOW) };
            ledger.keep(Vec::new(), vec![letter]).await
        };
        let is_ready = async || health.look().await.migrated == Some(true);
        assert!(keep().await.is_ok() && is_ready().await);
        // As on a full disk: what is there may be changed, and nothing added.
        sqlite.writer.execute("pragma max_page_count = 1").await.expect("as large as it is");
        assert!(keep().await.is_err() && !is_ready().await);
        sqlite.writer.execute("pragma max_page_count = 1000000").await.expect("larger");
        assert!(!is_ready().await, "nobody has tried yet");
        health.store.watch().await;
        assert!(is_ready().await && keep().await.is_ok());
    }

    #[tokio::test]
    async fn whoever_asks_for_readiness_again_and_again_has_the_database_looked_at_once_a_second() {
        let (sqlite, _folder) = trial::sqlite().await;
        let health = Health::of(Store::Sqlite(sqlite.clone()), None);
        let is_ready = async || health.look().await.migrated == Some(true);
        assert!(is_ready().await);
        sqlite.close().await;
        tokio::time::pause();
        assert!(is_ready().await, "nobody has looked since");
        tokio::time::advance(SEEN).await;
        assert!(!is_ready().await);
    }

    /// Ready, and told what is due, while every connection of those who read is in use.
    async fn works_on<D: sqlx::Database>(readers: &sqlx::Pool<D>, store: Store) {
        let mut taken = Vec::new();
        for _ in 0..readers.options().get_max_connections() {
            taken.push(readers.acquire().await.expect("a connection"));
        }
        let ledger = store.ledger(Arc::new(crate::flow::dispatch::Dispatch::default()));
        let due = ledger.due(Work::Turn, &["shop".to_owned()], 10).await.expect("looked");
        assert!(due.is_empty());
        let standings = ledger.standings(&[Held { conversation: Uuid::now_v7(), fence: 1 }], None).await;
        assert!(standings.is_ok_and(|none| none.is_empty()));
        let health = Health::of(store, None);
        assert_eq!(health.look().await.migrated, Some(true));
    }

    #[tokio::test]
    async fn whoever_reads_much_keeps_neither_readiness_nor_work_from_being_looked_at() {
        let (sqlite, _folder) = trial::sqlite().await;
        works_on(&sqlite.reader, Store::Sqlite(sqlite.clone())).await;
        let (postgres, database) = trial::postgres().await;
        works_on(&postgres.pool, Store::Postgres(postgres.clone())).await;
        database.remove(postgres).await;
    }
}
