//! What lies behind the routes of the tests, and who answers there for all that `src/app` would.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use baton::{
    adapters::receivers::Outward,
    flow::{
        back_office::{registry::Registry, sign_in::SignIn, vault::Vault},
        desk::Desk,
        forgetting::erase::Eraser,
        instance::channels::Channels,
        intake::Intake,
        notify::Notifier,
        provider::LinkCode,
    },
    http::{
        auth::Auth,
        count_cache::CountCache,
        doors::Doors,
        feed::Feed,
        names::Directory,
        ports::{self, Readiness, Secret},
        site::Site,
        webhook_body::WebhookBodies,
    },
};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, sync::Semaphore};

use super::{
    API_TOKEN, BEGINNING, WEBHOOK_TOKEN, machine_clock,
    parts::{Parts, SETTLE_MS},
    process::load_brake,
};

/// How long a webhook endpoint stays with a process that says nothing.
const ENDPOINT_LEASE: Duration = Duration::from_secs(30);

/// The doors, open.
pub(super) fn open(parts: &Parts, intake: &Arc<Intake>, eraser: &Arc<Eraser>) -> Doors {
    let Parts { store, ledger, archive, registry, channels, dispatch, house, stopping, .. } = parts;
    let directory = Arc::new(Directory::new(store.places(), parts.fetching.clone()));
    let mode_switch = parts.switch();
    Doors {
        intake: intake.clone(),
        desk: Arc::new(Desk {
            ledger: ledger.clone(),
            archive: archive.clone(),
            enclosures: parts.enclosures.clone(),
            endpoints: store.places(),
            channels: channels.clone(),
            intake: intake.clone(),
            switch: mode_switch.clone(),
        }),
        mode_switch,
        eraser: eraser.clone(),
        channels: house.clone(),
        vault: house.clone(),
        labels_and_replies: store.places(),
        idempotency_keys: store.places(),
        audit: store.places(),
        endpoints: store.places(),
        notifier: Arc::new(notifier(parts, &directory)),
        sandbox: None,
        health: house.clone(),
        auth: Auth::new(Some(API_TOKEN), store.places(), store.places(), || BEGINNING),
        directory,
        count_cache: CountCache::default(),
        language: None,
        fetching: parts.fetching.clone(),
        sign_in: SignIn::new(store.places(), || BEGINNING),
        site: Site::new(None, Default::default()),
        people: store.places(),
        feed: Feed::open(
            store.places(),
            store.places(),
            dispatch.feed.clone(),
            stopping.clone(),
            &Handle::current(),
        ),
        onlookers: dispatch.onlookers.clone(),
        cors_origins: vec!["https://crm.example".to_owned()],
        prices: "1/2".parse().expect("prices"),
        time_zone: "Asia/Singapore".to_owned(),
        settings: Vec::new(),
        settle_ms: SETTLE_MS,
        render_metrics: Box::new(String::new),
        now: machine_clock,
        main: Handle::current(),
        stopping: stopping.clone(),
        archive: archive.clone(),
        statistics: store.places(),
        registry: registry.clone(),
        tokens: store.places(),
        ledger: ledger.clone(),
    }
}

fn notifier(parts: &Parts, directory: &Arc<Directory>) -> Notifier {
    Notifier {
        owner: parts.name.clone(),
        endpoints: parts.store.places(),
        // Only this machine, by its address: it is where tests listen.
        receivers: Arc::new(Outward::new("127.0.0.1".parse().expect("a list")).expect("a client")),
        bodies: Arc::new(WebhookBodies { archive: parts.archive.clone(), directory: directory.clone() }),
        vault: parts.house.clone(),
        slots: Arc::new(Semaphore::new(64)),
        lease: ENDPOINT_LEASE,
        clock: machine_clock,
    }
}

/// The one channel, as the doors ask for it.
pub(super) struct House {
    pub(super) channels: Arc<Channels>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) main: Handle,
}

#[async_trait]
impl ports::Channels for House {
    async fn knows(&self, channel: &str) -> bool {
        // A connection that a thread of the server opens ends with it, under whoever uses it then.
        assert_eq!(Handle::current().id(), self.main.id(), "the store is asked on a thread of the server");
        let rows = self.registry.channels().await.expect("the channels");
        rows.iter().any(|row| row.name == channel)
    }

    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>> {
        self.channels.get(channel).map(|_| vec![Secret(WEBHOOK_TOKEN.to_owned())])
    }

    fn has_doors(&self) -> bool {
        true
    }

    fn check(&self, _: &Map<String, Value>) -> Result<(), (String, String)> {
        Ok(())
    }

    fn place(&self, url: &str) -> Option<(String, u16)> {
        let url = reqwest::Url::parse(url.trim()).ok()?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
    }

    async fn changed(&self) {
        load_brake(&*self.registry, &self.channels).await;
    }

    async fn link_code(&self, channel: &str) -> LinkCode {
        let found = self.channels.get(channel).expect("the one channel");
        found.provider.link_code().await.expect("an answer")
    }
}

impl Vault for House {
    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        Some(plain.to_vec())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }
}

#[async_trait]
impl ports::Health for House {
    async fn look(&self) -> Readiness {
        Readiness { migrated: Some(true), redis: None }
    }
}
