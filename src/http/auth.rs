//! Who asks: a bearer token comes in, a caller goes out, with what they may do and see.

use std::{
    collections::HashMap,
    future::{Ready, ready},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use uuid::Uuid;

use super::problem::Problem;
use crate::{
    domain::{event::actor, message::Origin, time::Time},
    flow::{
        desk::Who,
        registry::{Registry, Role, Token},
    },
};

/// A change of a token is noticed within this time.
const REMEMBERED: Duration = Duration::from_secs(3);

/// Tokens remembered, right and wrong ones; a flood of wrong ones empties the memory.
const REMEMBERED_MAX: usize = 1_024;

/// What a route is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone: health, the description, and the provider's door, which has its own credentials.
    Open,
    /// Whoever may read conversations.
    Reads,
    /// Whoever may answer them.
    Acts,
    /// Whoever may change the installation.
    Admin,
    /// Whoever may read the metrics.
    Metrics,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// As events name them.
    pub actor: String,
    /// The agent, if it is one.
    pub agent: Option<Uuid>,
    /// What they may do.
    pub role: Role,
    /// On which channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// The hash of their token; None for the one of the environment.
    hash: Option<String>,
}

impl Caller {
    /// Whether they may use a route of that kind.
    pub const fn may(&self, access: Access) -> bool {
        match (access, self.role) {
            (Access::Open, _) | (_, Role::Admin) | (Access::Metrics, Role::Metrics) => true,
            (Access::Reads, Role::Agent | Role::Read) | (Access::Acts, Role::Agent) => true,
            // The metrics count all channels.
            (Access::Metrics, Role::Agent | Role::Read) => self.channels.is_none(),
            (Access::Acts, Role::Read) | (Access::Admin, Role::Agent | Role::Read) => false,
            (Access::Reads | Access::Acts | Access::Admin, Role::Metrics) => false,
        }
    }

    /// Whether what is on that channel is there for them.
    pub fn sees(&self, channel: &str) -> bool {
        self.channels.as_ref().is_none_or(|seen| seen.iter().any(|name| name == channel))
    }

    /// The channels of a list: those they may see, and the one asked for.
    pub fn within(&self, wanted: Option<String>) -> Option<Vec<String>> {
        match wanted {
            None => self.channels.clone(),
            Some(channel) => Some(if self.sees(&channel) { vec![channel] } else { Vec::new() }),
        }
    }

    /// As the flow names them.
    pub fn who(&self) -> Who {
        Who { actor: self.actor.clone(), agent: self.agent, origin: Origin::Api }
    }

    fn environment() -> Self {
        Self {
            actor: actor::ENVIRONMENT.to_owned(),
            agent: None,
            role: Role::Admin,
            channels: None,
            hash: None,
        }
    }

    fn of(token: Token, hash: String) -> Self {
        let actor = match token.agent {
            Some(agent) => format!("agent:{agent}"),
            None => format!("token:{}", token.id),
        };
        Self { actor, agent: token.agent, role: token.role, channels: token.channels, hash: Some(hash) }
    }
}

/// A route behind a token is given its caller by the gate in front of it.
impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get::<Self>().cloned().ok_or_else(Problem::unauthorized))
    }
}

/// Knows the tokens.
pub struct Auth {
    environment: Option<[u8; 32]>,
    registry: Arc<dyn Registry>,
    now: fn() -> Time,
    remembered: Mutex<HashMap<String, (Instant, Option<Token>)>>,
    changes: watch::Sender<()>,
}

impl Auth {
    /// With the token of the environment, if there is one.
    pub fn new(environment: Option<&str>, registry: Arc<dyn Registry>, now: fn() -> Time) -> Self {
        let environment = environment.filter(|token| !token.is_empty()).map(digest);
        Self { environment, registry, now, remembered: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// The caller with this `Authorization` header.
    pub async fn caller(&self, authorization: Option<&str>) -> Result<Caller, Problem> {
        let token = authorization.and_then(bearer).ok_or_else(Problem::unauthorized)?;
        let digest = digest(token);
        if self.environment.is_some_and(|right| bool::from(right.ct_eq(&digest))) {
            return Ok(Caller::environment());
        }
        let hash = hex::encode(digest);
        match self.token(&hash).await? {
            Some(token) => Ok(Caller::of(token, hash)),
            None => Err(Problem::unauthorized()),
        }
    }

    /// Whether they would be let in again just as they were. A store that is away is no reason to turn anyone out.
    pub async fn still_knows(&self, caller: &Caller) -> bool {
        let Some(hash) = &caller.hash else { return true };
        match self.token(hash).await {
            Ok(Some(token)) => Caller::of(token, hash.clone()) == *caller,
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// A token was made or revoked here.
    pub fn forget(&self) {
        self.memory().clear();
        self.changes.send_replace(());
    }

    /// Tells when one was: who stays connected asks again then, and now and then for what other instances did.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The valid token with that hash. Looked up by hash: how long a wrong one takes says nothing about a right one.
    async fn token(&self, hash: &str) -> Result<Option<Token>, Problem> {
        let remembered = self.memory().get(hash).filter(|(at, _)| at.elapsed() < REMEMBERED).cloned();
        let token = match remembered {
            Some((_, token)) => token,
            None => {
                let token = self.registry.token(hash).await?;
                let mut memory = self.memory();
                if memory.len() >= REMEMBERED_MAX {
                    memory.clear();
                }
                memory.insert(hash.to_owned(), (Instant::now(), token.clone()));
                token
            }
        };
        let now = (self.now)();
        Ok(token.filter(|token| token.expires_at.is_none_or(|until| until > now)))
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, Option<Token>)>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept of a token.
pub fn hash_token(token: &str) -> String {
    hex::encode(digest(token))
}

pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
