//! Step: delivers events to the webhook endpoints that asked for them.
//!
//! In: endpoints, and the feed of events from the place of each. Out: POSTs, at least once, in order within a
//! conversation; what is not received within a day is a dead letter, and an endpoint that receives nothing for a day is switched
//! off.

pub mod endpoints;

pub mod receivers;

pub mod signature;

pub use signature::fresh_secret;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use metrics::counter;
use tokio::{
    sync::Semaphore,
    task::{Id, JoinSet},
    time::Instant,
};
use uuid::Uuid;

use super::{
    archive::Recorded,
    back_office::vault::Vault,
    ledger::Error,
    notify::{
        endpoints::{Delivery, Due, Ended, Endpoints, Served},
        receivers::{Parcel, Receivers},
    },
};
use crate::domain::{
    docket::Entry,
    endpoint::{Attempt, DeliveryState, ENDPOINT, Endpoint, Fate, Trouble, judge},
    event::EventType,
    time::Time,
};

/// Deliveries of one endpoint at once.
const AT_ONCE: usize = 8;
/// Deliveries of one instance at once.
pub const AT_ONCE_IN_ALL: usize = 64;
/// Events of one reading.
const READ_MAX: usize = 200;
/// No more deliveries are recorded while this many are ready: the journal keeps the rest.
const READY_MAX: i64 = 1_000;
/// Nor while this many wait, most of them behind what was refused: the table has an end.
const WAITING_MAX: i64 = 10_000;
/// Largest body. More than the longest messages make, and what a receiver may be expected to take.
const BODY_MAX: usize = 1 << 20;
/// How often the answer of a receiver is offered to a store that is unavailable, and how long between.
const SETTLE_TRIES: usize = 10;
const SETTLE_AGAIN: Duration = Duration::from_secs(1);
/// How long deliveries that have ended are shown.
pub const KEPT_MS: i64 = 3 * 86_400_000;

/// Deliveries are counted from 0 on, whatever becomes of them.
pub fn count_from_zero() {
    [Fate::Delivered, Fate::Again(0), Fate::GivenUp, Fate::Dropped]
        .into_iter()
        .for_each(|fate| count(fate, 0));
}

fn count(fate: Fate, times: u64) {
    let result = match fate {
        Fate::Delivered => "delivered",
        Fate::Again(_) => "retried",
        Fate::GivenUp => "dead_lettered",
        Fate::Dropped => "dropped",
    };
    counter!("baton_webhook_deliveries_total", "result" => result).increment(times);
}

/// Puts events into words.
#[async_trait]
pub trait Bodies: Send + Sync {
    /// The event as it is posted, with its conversation and message as they are now.
    async fn body(&self, event: &Recorded) -> Result<Bytes, Error>;
}

/// What deliveries are made with.
pub struct Notifier {
    /// This instance.
    pub owner: String,
    /// Who receives what.
    pub endpoints: Arc<dyn Endpoints>,
    /// How they are reached.
    pub receivers: Arc<dyn Receivers>,
    /// How events are written.
    pub bodies: Arc<dyn Bodies>,
    /// Opens secrets.
    pub vault: Arc<dyn Vault>,
    /// Deliveries at once, over all endpoints.
    pub slots: Arc<Semaphore>,
    /// How long an endpoint stays with an instance that says nothing.
    pub lease: Duration,
    /// The moment by this machine's clock: for receivers, who compare it with theirs.
    pub clock: fn() -> Time,
}

impl Notifier {
    /// One attempt, whatever it comes to.
    async fn attempt(
        &self,
        endpoint: &Endpoint,
        sealed: &[Vec<u8>],
        event: &Recorded,
    ) -> Result<Attempt, Error> {
        let failed = |trouble| Attempt { trouble: Some(trouble), ..Attempt::default() };
        let body = match self.bodies.body(event).await {
            Ok(body) if body.len() > BODY_MAX => return Ok(failed(Trouble::TooLarge)),
            Ok(body) => body,
            Err(Error::Refused(error)) => {
                tracing::error!(
                    error,
                    event = event.id,
                    "an event cannot be read, and no endpoint receives it"
                );
                return Ok(failed(Trouble::Unreadable));
            }
            Err(error) => return Err(error),
        };
        let timestamp = (self.clock)().0 / 1_000;
        let opened: Option<Vec<Vec<u8>>> = sealed.iter().map(|secret| self.vault.open(secret)).collect();
        let signature = opened.and_then(|secrets| signature::sign(&secrets, &event.id, timestamp, &body));
        let signature = signature.ok_or_else(|| {
            Error::Unavailable("the secret of an endpoint cannot be opened: was its key taken away?".into())
        })?;
        let parcel = Parcel { url: endpoint.url.clone(), id: event.id.clone(), timestamp, signature, body };
        Ok(self.receivers.post(parcel).await)
    }

    /// Posts a test event to an endpoint, once, whatever its state. None if there is no such endpoint.
    pub async fn test(&self, id: Uuid) -> Result<Option<Delivery>, Error> {
        let Some(standing) = self.endpoints.endpoint(id).await? else { return Ok(None) };
        let (now, delivery) = ((self.clock)(), Uuid::now_v7());
        let event = Entry::of(EventType::EndpointTested).with(ENDPOINT, id.to_string()).outside("", now);
        let event = Recorded { id: format!("test_{}", delivery.simple()), event };
        let sealed = self.endpoints.secrets(id).await?;
        let attempt = self.attempt(&standing.endpoint, &sealed, &event).await?;
        let is_received = attempt.trouble.is_none();
        let test = Delivery {
            id: delivery,
            endpoint: id,
            event: None,
            kind: EventType::EndpointTested,
            channel: String::new(),
            conversation: None,
            state: if is_received { DeliveryState::Delivered } else { DeliveryState::Failed },
            attempts: 1,
            at: now,
            first_at: Some(now),
            next_at: now,
            last_at: Some(now),
            last_ms: Some(attempt.took_ms),
            status: attempt.status,
            reason: attempt.trouble,
            answer: attempt.answer,
        };
        self.endpoints.keep_test(&test).await?;
        Ok(Some(test))
    }

    /// Tells it once, and keeps what became of it.
    async fn tell(&self, served: &Served, due: &Due) -> Result<(), Error> {
        // It was wanted when it was recorded. What it receives may have been narrowed since, and its address changed.
        if due.event.as_ref().is_some_and(|event| !served.endpoint.wants(&event.event)) {
            let dropped = Ended { attempt: Attempt::default(), fate: Fate::Dropped, disabled: None };
            self.settle(due, &dropped).await?;
            count(Fate::Dropped, 1);
            return Ok(());
        }
        let attempt = match &due.event {
            None => Attempt { trouble: Some(Trouble::Unreadable), ..Attempt::default() },
            Some(event) => self.attempt(&served.endpoint, &served.sealed, event).await?,
        };
        let waits = &due.delivery;
        let (fate, disabled) = judge(
            &served.endpoint,
            &attempt,
            waits.first_at,
            waits.attempts + 1,
            served.now,
            fastrand::f64(),
        );
        let ended = Ended { attempt, fate, disabled };
        self.settle(due, &ended).await?;
        count(fate, 1);
        if let Some(reason) = disabled {
            let (endpoint, reason) = (served.endpoint.id, reason.as_str());
            tracing::warn!(%endpoint, reason, "a webhook endpoint was switched off");
        }
        Ok(())
    }

    /// Only this instance knows what was answered: a store that is unavailable for a moment does not make it answer twice.
    async fn settle(&self, due: &Due, ended: &Ended) -> Result<(), Error> {
        let mut tries = 1;
        loop {
            match self.endpoints.settle(due, ended).await {
                Err(Error::Unavailable(_)) if tries < SETTLE_TRIES => {
                    tries += 1;
                    tokio::time::sleep(SETTLE_AGAIN).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// How a round went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Another instance serves it, or it is to receive nothing.
    NotOurs,
    /// How much was begun or read.
    Worked(usize),
}

/// Serves one endpoint, round by round.
pub struct Courier {
    notifier: Arc<Notifier>,
    endpoint: Uuid,
    /// When the lease was last taken or renewed.
    held_at: Option<Instant>,
    running: JoinSet<Result<(), Error>>,
    lanes: HashMap<Id, String>,
}

impl Courier {
    /// For that endpoint. Nothing happens yet.
    pub fn new(notifier: Arc<Notifier>, endpoint: Uuid) -> Self {
        Self { notifier, endpoint, held_at: None, running: JoinSet::new(), lanes: HashMap::new() }
    }

    /// Reads on, and begins what is due. What was begun before continues meanwhile.
    pub async fn round(&mut self) -> Result<Round, Error> {
        if !self.hold().await? {
            return Ok(Round::NotOurs);
        }
        let (endpoints, owner) = (Arc::clone(&self.notifier.endpoints), &self.notifier.owner);
        let Some(served) = endpoints.served(self.endpoint, owner).await? else {
            self.held_at = None;
            return Ok(Round::NotOurs);
        };
        let has_enough = served.ready >= READY_MAX || served.waiting >= WAITING_MAX;
        let read = if has_enough { 0 } else { endpoints.gather(&served, READ_MAX).await? };
        let free = AT_ONCE.saturating_sub(self.running.len());
        if free == 0 {
            return Ok(Round::Worked(0));
        }
        // Heads of lanes that are in hand here come again: they are not settled yet.
        let due = endpoints.due(self.endpoint, AT_ONCE + self.running.len()).await?;
        let in_hand: HashSet<String> = self.lanes.values().cloned().collect();
        let (served, mut begun) = (Arc::new(served), 0);
        for due in due.into_iter().filter(|due| !in_hand.contains(&due.lane)).take(free) {
            // Without a slot it looks again when one of ours is free, or in a second.
            let Ok(slot) = Arc::clone(&self.notifier.slots).try_acquire_owned() else { break };
            let (notifier, served, lane) =
                (Arc::clone(&self.notifier), Arc::clone(&served), due.lane.clone());
            let task = self.running.spawn(async move {
                let outcome = notifier.tell(&served, &due).await;
                drop(slot);
                outcome
            });
            self.lanes.insert(task.id(), lane);
            begun += 1;
        }
        Ok(Round::Worked(begun + read))
    }

    /// Whether anything is in hand.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Waits until something in hand has ended; at once if there is nothing.
    pub async fn ended(&mut self) -> Result<(), Error> {
        match self.running.join_next_with_id().await {
            None => Ok(()),
            Some(Ok((task, outcome))) => {
                self.lanes.remove(&task);
                outcome
            }
            Some(Err(error)) => {
                self.lanes.remove(&error.id());
                Err(Error::Unavailable(error.into()))
            }
        }
    }

    /// Ends what is in hand, and lets others serve it.
    pub async fn leave(mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while self.is_busy() {
            outcome = outcome.and(self.ended().await);
        }
        self.notifier.endpoints.let_go(self.endpoint, &self.notifier.owner).await?;
        outcome
    }

    /// A lease that is renewed at a third of its time.
    async fn hold(&mut self) -> Result<bool, Error> {
        let lease = self.notifier.lease;
        if self.held_at.is_some_and(|at| at.elapsed() < lease / 3) {
            return Ok(true);
        }
        let (asked_at, ttl_ms) = (Instant::now(), i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
        let is_held = self.notifier.endpoints.hold(self.endpoint, &self.notifier.owner, ttl_ms).await?;
        self.held_at = is_held.then_some(asked_at);
        Ok(is_held)
    }
}
