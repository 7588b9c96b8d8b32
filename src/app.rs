//! The wiring: which adapters stand behind which places, for the server and for the other commands.
//!
//! In: settings. Out: a server that runs until it is stopped, or the places that a command works with.

mod stores;

mod vault;

mod key_file;

mod store_backup;

mod backup;

mod output;

mod restore;

mod secret_key;

mod traces;

mod channel_loader;

mod generators;

mod instance;

mod signals;

mod shutdown;

mod parts;

mod coordination;

mod doors;

mod health;

mod sandbox_control;

mod chores;

mod cron;

mod spending;

mod receiving;

mod notifying;

mod invitations;

mod demo;

mod browser;

mod simulator;

mod own_api;

mod error_text;

mod check;

mod connect;

mod liveness;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use execution::{key_store, redis_lock::Lock, redis_server};

pub use backup::{Destination, backup};
pub use check::{Finding, Severity, check};
pub use connect::{Arrived, Connection, Proof, connections};
pub use demo::demo;
pub use error_text::with_causes;
pub use instance::serve;
pub use invitations::{base, invite};
pub use liveness::is_alive;
pub use own_api::{OwnApi, Said};
pub use restore::{Examined, LetIn, RestoreOptions, Restored, examine};
pub use secret_key::{Rotated, rotate};
pub use simulator::simulator;

pub use crate::adapters::backup::{Saved, Seals};

use self::{
    parts::{Ground, Parts},
    stores::Store,
};
use crate::{
    adapters::{self, sandbox::Sandbox},
    config::Settings,
    domain::time::{Time, duration},
    flow::{
        archive::Archive,
        back_office::{
            audit::Audit,
            people::People,
            registry::{Registry, Tokens},
        },
        desk::Desk,
        forgetting::{erase::Eraser, retention::Retention},
        instance::{channels::Channels, dispatch::Dispatch},
        ledger::Ledger,
        mode_switch::ModeSwitch,
    },
};

/// A connection to a provider or a model is up within this, or the attempt failed.
const CONNECT: Duration = Duration::from_millis(900);

/// What a command beside the server works with.
pub struct Opened {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where they are read.
    pub archive: Arc<dyn Archive>,
    /// Channels.
    pub registry: Arc<dyn Registry>,
    /// Tokens of the API.
    pub tokens: Arc<dyn Tokens>,
    /// Agents.
    pub people: Arc<dyn People>,
    /// Who has done what to the installation.
    pub audit: Arc<dyn Audit>,
    /// The lock in Redis, if there is one.
    pub lock: Option<Lock>,
    /// The rules and gateways.
    pub channels: Arc<Channels>,
    /// Who answers.
    pub switch: Arc<ModeSwitch>,
    /// What a person does.
    pub desk: Arc<Desk>,
    /// Removes people.
    pub eraser: Arc<Eraser>,
    /// Removes what is older than allowed.
    pub retention: Retention,
}

/// Opens the places of a database that is up to date.
pub async fn open(settings: &Settings) -> anyhow::Result<Opened> {
    let settings = Arc::new(settings.clone());
    let store = Store::connect_existing(&settings).await?;
    store.require_whole().await?;
    store.require_migrated().await?;
    store.require_key(&settings).await?;
    let dispatch = Arc::new(Dispatch::default());
    let parts = Parts::over(Ground {
        vault: Arc::new(store.vault(&settings).await?),
        sandbox: settings.sandbox.then(|| Arc::new(Sandbox::new(now).0)),
        observer: dispatch.clone(),
        dispatch,
        store,
        settings,
    })
    .await?;
    parts.channel_loader.load().await?;
    let lock = match redis(&parts.settings)? {
        Some(server) => Some(lock(&parts.settings, server, &*parts.registry).await?),
        None => None,
    };
    let switch = parts.switch();
    Ok(Opened {
        tokens: parts.store.places(),
        people: parts.store.places(),
        audit: parts.store.places(),
        lock,
        channels: Arc::clone(&parts.channel_loader.channels),
        desk: parts.desk(&switch, &parts.intake(None, None)),
        switch,
        eraser: parts.eraser(),
        retention: parts.retention(),
        ledger: parts.ledger,
        archive: parts.archive,
        registry: parts.registry,
    })
}

/// The Redis of the settings. It need not be there yet.
fn redis(settings: &Settings) -> anyhow::Result<Option<redis_server::Server>> {
    let Some(url) = &settings.redis_url else { return Ok(None) };
    Ok(Some(redis_server::Server::open(url.expose())?))
}

async fn lock(
    settings: &Settings,
    server: redis_server::Server,
    registry: &dyn Registry,
) -> anyhow::Result<Lock> {
    let keys = key_store::Redis::new(server, &prefix(settings, registry).await?);
    Ok(Lock::new(Arc::new(keys), duration(settings.lock_ttl_ms)))
}

/// What stands before every key in Redis: the installation's own, so that two of them may share one.
async fn prefix(settings: &Settings, registry: &dyn Registry) -> anyhow::Result<String> {
    match &settings.redis_prefix {
        Some(prefix) => Ok(prefix.clone()),
        None => Ok(format!("baton:{}:", registry.installation().await?)),
    }
}

/// Brings the database up to date and stops.
pub async fn migrate(settings: &Settings) -> anyhow::Result<()> {
    let store = Store::connect(settings).await?;
    let _alone = store.lock()?;
    store.require_whole().await?;
    store.migrate().await?;
    store.close().await;
    Ok(())
}

/// The fingerprint of a webhook body.
pub fn fingerprint(channel: &str, body: &[u8]) -> Option<String> {
    adapters::green_api::fingerprint_of(channel, body)
}

/// The moment by this machine's clock.
fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
