//! Notifications that are fetched: one loop for each account, on whichever instance holds its lease.
//!
//! In: the channels as they run here. Out: rounds of [`Poller`], at once after something came, later after trouble.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::{
    channel_loader::{CHECK_ACCOUNT, ChannelLoader},
    parts::Parts,
    shutdown::Shutdown,
};
use crate::{
    config::Receive,
    domain::{retry, time::duration},
    flow::{
        intake::Intake,
        poll::{PollError, Polled, Poller},
    },
};

#[cfg(test)]
mod tests;

/// Channels that came are seen within this.
const LOOK: Duration = Duration::from_secs(1);
/// A round without anything lasts at least so long, also where the provider does not wait as asked.
const IDLE: Duration = Duration::from_secs(1);
/// Whether the other instance still fetches is asked this often.
const ELSEWHERE: Duration = Duration::from_secs(5);
/// First and longest wait after trouble.
const RETRY_MS: i64 = 1_000;
const RETRY_MAX_MS: i64 = 30_000;

/// Starts fetching, if that is how contacts are heard.
pub(super) fn start(parts: &Parts, intake: &Arc<Intake>, shutdown: &Shutdown) {
    if parts.settings.green_api_receive != Receive::Poll {
        return;
    }
    let poller = Arc::new(Poller {
        owner: Uuid::now_v7().simple().to_string(),
        intake: Arc::clone(intake),
        registry: Arc::clone(&parts.registry),
        channels: Arc::clone(&parts.channel_loader.channels),
        stop: shutdown.stopping.clone(),
    });
    shutdown.tasks.spawn(look_after(poller, Arc::clone(&parts.channel_loader), shutdown.tasks.clone()));
}

/// Sees to it that each account has its loop.
async fn look_after(poller: Arc<Poller>, channel_loader: Arc<ChannelLoader>, tasks: TaskTracker) {
    let mut loops: HashMap<String, JoinHandle<()>> = HashMap::new();
    while !poller.stop.is_cancelled() {
        loops.retain(|_, task| !task.is_finished());
        for name in channel_loader.accounts() {
            let poller = Arc::clone(&poller);
            loops.entry(name.clone()).or_insert_with(|| tasks.spawn(fetch(poller, name)));
        }
        poller.stop.run_until_cancelled(sleep(LOOK)).await;
    }
}

/// Fetches for one channel until it is gone or the instance stops.
async fn fetch(poller: Arc<Poller>, channel: String) {
    let mut failures = 0;
    while !poller.stop.is_cancelled() {
        let began = Instant::now();
        let pause = match poller.poll(&channel).await {
            Ok(Polled::Gone | Polled::Stopped) => break,
            Ok(polled) => {
                if failures > 0 {
                    tracing::info!(channel, "notifications are fetched again");
                }
                failures = 0;
                match polled {
                    Polled::Idle => IDLE.saturating_sub(began.elapsed()),
                    Polled::Elsewhere => ELSEWHERE,
                    Polled::Took(_) | Polled::Gone | Polled::Stopped => Duration::ZERO,
                }
            }
            Err(trouble) => {
                failures += 1;
                let remedy = match &trouble {
                    PollError::Provider(_) => CHECK_ACCOUNT,
                    PollError::Store(_) => "see what the database says: it is tried again until it is stored",
                };
                let error = &trouble as &dyn std::error::Error;
                // Once an outage: what does not end by itself is said where somebody may read it, not every half minute.
                if failures == 1 {
                    tracing::warn!(
                        channel,
                        error,
                        remedy,
                        "notifications cannot be fetched or stored, so messages from contacts do not arrive"
                    );
                } else {
                    tracing::debug!(
                        channel,
                        error,
                        failures,
                        "notifications still cannot be fetched or stored"
                    );
                }
                let ms = retry::wait_ms(RETRY_MS, failures, RETRY_MAX_MS, fastrand::f64(), None);
                duration(ms)
            }
        };
        poller.stop.run_until_cancelled(sleep(pause)).await;
    }
    if let Err(error) = poller.leave(&channel).await {
        tracing::debug!(channel, %error, "others wait until the lease of the channel has run out");
    }
}
