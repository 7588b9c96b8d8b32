//! Place: webhook endpoints, and the deliveries that each is owed.
//!
//! The events themselves are in the journal. An endpoint has a place in its feed, and moves on in the transaction that records
//! deliveries for what it passed: so none is forgotten, and none is recorded twice.

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    domain::{
        endpoint::{Attempt, DeliveryState, DisabledReason, Endpoint, Fate, State, Trouble},
        event::EventType,
        time::Time,
    },
    flow::{
        archive::{Page, PageOf, Recorded},
        ledger::Error,
    },
};

/// Most endpoints. Each reads the journal for itself.
pub const ENDPOINTS_MAX: usize = 50;

/// One event at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Ours.
    pub id: Uuid,
    /// The endpoint it is for.
    pub endpoint: Uuid,
    /// The event, as the feed names it; None: it is a test.
    pub event: Option<String>,
    /// Its type.
    pub kind: EventType,
    /// Its channel.
    pub channel: String,
    /// Its conversation.
    pub conversation: Option<Uuid>,
    /// The state of the delivery.
    pub state: DeliveryState,
    /// Attempts made.
    pub attempts: i32,
    /// When it was written down.
    pub at: Time,
    /// When its day began: at its first attempt; behind one that was given up, when it came to stand there.
    pub first_at: Option<Time>,
    /// When it is tried next, while it is pending.
    pub next_at: Time,
    /// The latest attempt.
    pub last_at: Option<Time>,
    /// How long that took.
    pub last_ms: Option<i64>,
    /// What it was answered.
    pub status: Option<u16>,
    /// Why it failed.
    pub reason: Option<Trouble>,
    /// The beginning of the answer.
    pub answer: Option<String>,
}

/// An endpoint, and how it is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The facts.
    pub endpoint: Endpoint,
    /// Deliveries that wait, as far as they are written down.
    pub waiting: i64,
    /// The one that was tried last.
    pub last: Option<Delivery>,
}

/// What to change; what is None stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Where it is.
    pub url: Option<String>,
    /// Types of events.
    pub events: Option<Option<Vec<EventType>>>,
    /// Channels.
    pub channels: Option<Option<Vec<String>>>,
    /// For people.
    pub description: Option<Option<String>>,
    /// Active or paused. What waits at one that was disabled has a new day, and is due at once.
    pub state: Option<State>,
    /// Only while it is for some of these channels and for no other. None: whatever it is for.
    pub within: Option<Vec<String>>,
}

/// An endpoint, as the instance that serves it sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The facts.
    pub endpoint: Endpoint,
    /// Its secrets, sealed; the newest first. All of them sign.
    pub sealed: Vec<Vec<u8>>,
    /// Its place in the feed; opaque to all but the adapter. None: it receives what happens from now on.
    pub place: Option<(i64, i64)>,
    /// Deliveries that wait.
    pub waiting: i64,
    /// Those of them that are not behind one whose next attempt is later.
    pub ready: i64,
    /// The moment by the store's clock.
    pub now: Time,
}

/// A delivery whose turn has come, first in its lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Due {
    /// The delivery.
    pub delivery: Delivery,
    /// Its event; None: it was removed meanwhile.
    pub event: Option<Recorded>,
    /// Within it deliveries go in order.
    pub lane: String,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The attempt.
    pub attempt: Attempt,
    /// What is next.
    pub fate: Fate,
    /// Whether its endpoint is switched off.
    pub disabled: Option<DisabledReason>,
}

/// The place.
#[async_trait]
pub trait Endpoints: Send + Sync {
    /// All endpoints, the oldest first.
    async fn endpoints(&self) -> Result<Vec<Summary>, Error>;

    /// One endpoint.
    async fn endpoint(&self, id: Uuid) -> Result<Option<Summary>, Error>;

    /// Adds one, which receives what happens from now on. False if there are as many as there may be.
    async fn add_endpoint(&self, endpoint: &Endpoint, sealed: Vec<u8>) -> Result<bool, Error>;

    /// Changes one. False if there is none, or none within those channels; so below.
    async fn change_endpoint(&self, id: Uuid, change: &Change, now: Time) -> Result<bool, Error>;

    /// Gives one another secret; the one before signs too until then. False if there is none.
    async fn change_secret(
        &self,
        id: Uuid,
        sealed: Vec<u8>,
        until: Time,
        within: Option<&[String]>,
    ) -> Result<bool, Error>;

    /// Its secrets that sign now, sealed.
    async fn secrets(&self, id: Uuid) -> Result<Vec<Vec<u8>>, Error>;

    /// Removes one, with all deliveries that it was owed. False if there is none.
    async fn remove_endpoint(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error>;

    /// Deliveries made and owed to an endpoint, the newest first: of all channels, or of these, with its tests.
    async fn deliveries(
        &self,
        endpoint: Uuid,
        channels: Option<&[String]>,
        page: &PageOf,
    ) -> Result<Page<Delivery>, Error>;

    /// One delivery.
    async fn delivery(&self, id: Uuid) -> Result<Option<Delivery>, Error>;

    /// Keeps a test, which has been made already.
    async fn keep_test(&self, test: &Delivery) -> Result<(), Error>;

    /// Delivers it again, in its order and with a new day. False if there is none, it is a test, or its event no longer exists.
    async fn tell_again(&self, id: Uuid) -> Result<bool, Error>;

    /// The endpoints that receive events now.
    async fn active(&self) -> Result<Vec<Uuid>, Error>;

    /// Makes the owner serve an endpoint for this long, if nobody else does and it is active. Renews what the owner has.
    async fn hold(&self, id: Uuid, owner: &str, ttl_ms: i64) -> Result<bool, Error>;

    /// Gives back what the owner holds.
    async fn let_go(&self, id: Uuid, owner: &str) -> Result<(), Error>;

    /// The endpoint, if it is active and the owner's.
    async fn served(&self, id: Uuid, owner: &str) -> Result<Option<Served>, Error>;

    /// Reads the feed on from the endpoint's place, at most `limit` events, and records what it wants of them; the place
    /// moves in the same transaction. Nothing happens if somebody else has moved it. Returns how many were read.
    async fn gather(&self, served: &Served, limit: usize) -> Result<usize, Error>;

    /// The first delivery of each lane whose turn has come, the oldest first.
    async fn due(&self, endpoint: Uuid, limit: usize) -> Result<Vec<Due>, Error>;

    /// Keeps what became of a delivery, with its dead letter, and the end of its endpoint, if that is what it comes to. Behind
    /// what is given up, the next has stood
    /// its part of the day already. Nothing happens if the delivery does not wait any more.
    async fn settle(&self, due: &Due, ended: &Ended) -> Result<(), Error>;

    /// Forgets deliveries that ended before then, but for those of open dead letters. Returns how many.
    async fn forget_deliveries(&self, before: Time) -> Result<u64, Error>;
}
