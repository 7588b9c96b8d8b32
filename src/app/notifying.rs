//! Webhook endpoints: one loop for each that is active, on whichever instance holds its lease.
//!
//! In: the endpoints as they are, and nudges of commits. Out: rounds of [`Courier`]. Where there is no endpoint, this is one
//! look a second, and nothing for any event.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::shutdown::Shutdown;
use crate::{
    domain::{retry, time::duration},
    flow::{
        instance::dispatch::Dispatch,
        ledger::Error,
        notify::{Courier, Notifier, Round},
    },
};

/// Endpoints that came are seen within this; so is what is due, and what other instances wrote.
const LOOK: Duration = Duration::from_secs(1);
/// Whether another instance still serves an endpoint is asked this often.
const ELSEWHERE: Duration = Duration::from_secs(5);
/// Least time between two rounds that began or read nothing: under load events are read by the dozen.
const PAUSE: Duration = Duration::from_millis(20);
/// First and longest wait after trouble.
const RETRY_MS: i64 = 1_000;
const RETRY_MAX_MS: i64 = 30_000;

/// Starts telling.
pub(super) fn start(notifier: &Arc<Notifier>, dispatch: &Arc<Dispatch>, shutdown: &Shutdown) {
    let all = All {
        notifier: Arc::clone(notifier),
        dispatch: Arc::clone(dispatch),
        stop: shutdown.stopping.clone(),
        tasks: shutdown.tasks.clone(),
    };
    shutdown.tasks.spawn(all.look_after());
}

#[derive(Clone)]
struct All {
    notifier: Arc<Notifier>,
    dispatch: Arc<Dispatch>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl All {
    /// Sees to it that each active endpoint has its loop.
    async fn look_after(self) {
        let mut loops: HashMap<Uuid, JoinHandle<()>> = HashMap::new();
        let mut is_failing = false;
        while !self.stop.is_cancelled() {
            loops.retain(|_, task| !task.is_finished());
            match self.notifier.endpoints.active().await {
                Ok(active) => {
                    is_failing = false;
                    for id in active {
                        let all = self.clone();
                        loops.entry(id).or_insert_with(|| self.tasks.spawn(all.serve(id)));
                    }
                }
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(error = error.cause(), "the webhook endpoints could not be loaded");
                    }
                    is_failing = true;
                }
            }
            self.stop.run_until_cancelled(sleep(LOOK)).await;
        }
    }

    /// Serves one until it is to receive nothing any more, or the instance stops.
    async fn serve(self, id: Uuid) {
        let mut courier = Courier::new(Arc::clone(&self.notifier), id);
        let mut failures = 0;
        while !self.stop.is_cancelled() {
            let nudged = self.dispatch.events.subscribe();
            let outcome = match courier.round().await {
                Ok(Round::NotOurs) => {
                    // What is in hand is settled, whoever serves it now.
                    self.stop.run_until_cancelled(sleep(ELSEWHERE)).await;
                    if !self.is_active(id).await {
                        break;
                    }
                    continue;
                }
                Ok(Round::Worked(0)) => self.rest(&mut courier, nudged).await,
                Ok(Round::Worked(_)) => continue,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) if courier.is_busy() => {}
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::warn!(endpoint = %id, error = error.cause(), "a webhook endpoint could not be served");
                    }
                    let ms = retry::wait_ms(RETRY_MS, failures, RETRY_MAX_MS, fastrand::f64(), None);
                    self.stop.run_until_cancelled(sleep(duration(ms))).await;
                }
            }
        }
        if let Err(error) = courier.leave().await {
            tracing::debug!(endpoint = %id, %error, "others wait until the lease of the endpoint has run out");
        }
    }

    /// Until something in hand has ended, something was committed here, or a second is over. A delivery that could not be made
    /// or kept is made again: the error is logged.
    async fn rest(
        &self,
        courier: &mut Courier,
        mut nudged: tokio::sync::watch::Receiver<()>,
    ) -> Result<(), Error> {
        sleep(PAUSE).await;
        let is_busy = courier.is_busy();
        tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            _ = nudged.changed() => Ok(()),
            () = sleep(LOOK) => Ok(()),
            ended = courier.ended(), if is_busy => ended,
        }
    }

    async fn is_active(&self, id: Uuid) -> bool {
        // A store that is down says nothing against it.
        self.notifier.endpoints.active().await.map_or(true, |active| active.contains(&id))
    }
}
