//! The other instances: what Redis is between them, and what they tell each other. Nothing here decides anything.

use std::{sync::Arc, time::Duration};

use execution::{
    broadcast::{self, Broadcast, Heard},
    deduplicate_webhook::Deduplicator,
    key_store::{self, KeyStore},
    redis_lock::Lock,
    redis_server::Server,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{channel_loader::ChannelLoader, parts::Parts, prefix, redis, shutdown::Shutdown};
use crate::{
    config::Settings,
    domain::{mode::Mode, time::duration},
    flow::{
        back_office::registry::Registry,
        instance::{dispatch::Dispatch, onlookers},
        ledger::Standing,
    },
};

/// A webhook's claim in the quick memory lasts this long if nobody confirms it.
const CLAIM: Duration = Duration::from_secs(10);
/// Where instances tell each other of withdrawn permits.
const STANDINGS: &str = "standings";
/// And of channels that were changed.
const CHANNELS: &str = "channels";

/// What Redis is to an instance, if there is one.
pub(super) struct Coordination {
    pub(super) server: Option<Server>,
    pub(super) lock: Option<Lock>,
    pub(super) deduplicator: Option<Arc<Deduplicator>>,
    pub(super) others: Option<Arc<dyn Broadcast>>,
}

impl Coordination {
    pub(super) async fn of(settings: &Settings, registry: &dyn Registry) -> anyhow::Result<Self> {
        let Some(server) = redis(settings)? else {
            return Ok(Self { server: None, lock: None, deduplicator: None, others: None });
        };
        let prefix = prefix(settings, registry).await?;
        let keys: Arc<dyn KeyStore> = Arc::new(key_store::Redis::new(server.clone(), &prefix));
        let lease = duration(settings.lock_ttl_ms);
        let confirmed = duration(settings.dedup_ttl_ms);
        Ok(Self {
            lock: Some(Lock::new(Arc::clone(&keys), lease)),
            deduplicator: Some(Arc::new(Deduplicator::new(keys, CLAIM, confirmed))),
            others: Some(Arc::new(broadcast::Redis::new(server.clone(), &prefix))),
            server: Some(server),
        })
    }
}

/// Tells other instances of withdrawn permits and of what is seen of conversations, and hears of theirs.
pub(super) fn listen(
    parts: &Parts,
    others: Option<Arc<dyn Broadcast>>,
    told: mpsc::Receiver<Standing>,
    shutdown: &Shutdown,
) {
    let Some(others) = others else { return };
    let (dispatch, stop) = (&parts.dispatch, &shutdown.stopping);
    shutdown.tasks.spawn(hear(Arc::clone(&others), Arc::clone(dispatch), stop.clone()));
    let onlookers = Arc::clone(&dispatch.onlookers);
    shutdown.tasks.spawn(onlookers::share(onlookers, Arc::clone(&others), stop.clone()));
    shutdown.tasks.spawn(share_channels(
        Arc::clone(&parts.channel_loader),
        Arc::clone(&others),
        stop.clone(),
    ));
    shutdown.tasks.spawn(tell(others, told, stop.clone()));
}

/// Has the others load what was changed through this instance, and loads what was through theirs: a setting acts on the next
/// message, wherever that comes. What is missed meanwhile is loaded within a second.
pub(super) async fn share_channels(
    loader: Arc<ChannelLoader>,
    others: Arc<dyn Broadcast>,
    stop: CancellationToken,
) {
    let mut heard = others.subscribe(CHANNELS);
    loop {
        let said = tokio::select! {
            () = stop.cancelled() => return,
            () = loader.changed.notified() => None,
            said = heard.recv() => match said {
                Some(said) => Some(said),
                None => return,
            },
        };
        match said {
            None => {
                if let Err(error) = others.publish(CHANNELS, "changed").await {
                    tracing::debug!(%error, "other instances were not told");
                }
            }
            Some(Heard::Message(_)) => {
                if let Err(error) = loader.load().await {
                    tracing::debug!(error = format!("{error:#}"), "changed channels were not loaded yet");
                }
            }
            Some(Heard::Connected | Heard::Lost) => {}
        }
    }
}

/// Hears of permits that others have withdrawn.
async fn hear(others: Arc<dyn Broadcast>, dispatch: Arc<Dispatch>, stop: CancellationToken) {
    let mut heard = others.subscribe(STANDINGS);
    while let Some(Some(said)) = stop.run_until_cancelled(heard.recv()).await {
        match said {
            Heard::Message(text) => {
                if let Some(standing) = standing_of(&text) {
                    dispatch.running.judge(&standing);
                }
            }
            // What was missed meanwhile is found by the look of every second.
            Heard::Connected | Heard::Lost => {}
        }
    }
}

/// Tells others of permits that were withdrawn here.
async fn tell(others: Arc<dyn Broadcast>, mut told: mpsc::Receiver<Standing>, stop: CancellationToken) {
    while let Some(Some(standing)) = stop.run_until_cancelled(told.recv()).await {
        if let Err(error) = others.publish(STANDINGS, &text_of(&standing)).await {
            tracing::debug!(%error, "other instances were not told");
        }
    }
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
        turn: None,
        contact_seq: 0,
    })
}
