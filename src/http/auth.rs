//! Who is who: a bearer token or the cookie of a session comes in, a caller goes out, with what they may do and see.

mod caller;

pub(super) mod gate;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::{sync::watch, time::Instant};

pub use caller::{Access, Caller};

use self::caller::Credential;
use super::problem::Problem;
use crate::{
    domain::time::Time,
    flow::back_office::{
        people::{People, Session, hash_of},
        registry::{Role, Tokens},
        sign_in::{IDLE_MS, RENEWED_MS},
    },
};

/// A change of a token, a session or an agent is noticed within this time.
pub(super) const REMEMBERED: Duration = Duration::from_secs(3);

/// A token that opens metrics alone still does so for this long while the store does not say whether it is good,
pub(super) const COUNTING: Duration = Duration::from_secs(3_600);
/// and is asked for this long.
const COUNTING_WAITS: Duration = Duration::from_millis(500);

/// Tokens and sessions remembered, right and wrong ones; a flood of wrong ones empties the memory.
const REMEMBERED_MAX: usize = 1_024;

/// What somebody shows.
pub enum Shown {
    /// A bearer token.
    Token(String),
    /// The cookie of the dashboard.
    Cookie(String),
}

/// Somebody who is known, until then.
#[derive(Debug, Clone)]
struct Known {
    caller: Caller,
    until: Option<Time>,
}

impl Known {
    /// Whether metrics are all that they may see.
    fn counts_alone(&self) -> bool {
        self.caller.role == Role::Metrics
    }
}

/// Knows tokens and sessions.
pub struct Auth {
    environment: Option<[u8; 32]>,
    tokens: Arc<dyn Tokens>,
    people: Arc<dyn People>,
    now: fn() -> Time,
    remembered: Mutex<HashMap<Credential, (Instant, Option<Known>)>>,
    changes: watch::Sender<()>,
}

impl Auth {
    /// With the token of the environment, if there is one.
    pub fn new(
        environment: Option<&str>,
        tokens: Arc<dyn Tokens>,
        people: Arc<dyn People>,
        now: fn() -> Time,
    ) -> Self {
        let environment = environment.filter(|token| !token.is_empty()).map(digest);
        let (remembered, changes) = (Mutex::default(), watch::Sender::new(()));
        Self { environment, tokens, people, now, remembered, changes }
    }

    /// The caller who shows that.
    pub async fn caller(&self, shown: Shown) -> Result<Caller, Problem> {
        let credential = match shown {
            Shown::Token(token) => {
                let digest = digest(&token);
                if self.environment.is_some_and(|right| bool::from(right.ct_eq(&digest))) {
                    return Ok(Caller::environment());
                }
                Credential::Token(hex::encode(digest))
            }
            Shown::Cookie(token) => Credential::Session(hash_of(&token)),
        };
        self.known(&credential).await?.ok_or_else(Problem::unauthorized)
    }

    /// Whether they would be let in again just as they were. A store that is down is no reason to turn anyone out.
    pub async fn still_knows(&self, caller: &Caller) -> bool {
        match self.known(&caller.credential).await {
            Ok(known) => known.is_some_and(|known| known == *caller),
            Err(_) => true,
        }
    }

    /// A token, a session or an agent is another here.
    pub fn forget(&self) {
        self.memory().clear();
        self.changes.send_replace(());
    }

    /// Tells when one is: who stays connected asks again then, and now and then for what other instances did.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The valid caller of that credential.
    async fn known(&self, credential: &Credential) -> Result<Option<Caller>, Problem> {
        let remembered = self.memory().get(credential).cloned();
        let known = match remembered {
            Some((at, known)) if at.elapsed() < REMEMBERED => known,
            Some((at, Some(known))) if known.counts_alone() && at.elapsed() < COUNTING => {
                // Numbers are wanted above all while the store is away, and nothing else is shown to whoever has this token.
                let found = tokio::time::timeout(COUNTING_WAITS, self.find(credential)).await;
                found.ok().and_then(Result::ok).unwrap_or(Some(known))
            }
            _ => self.find(credential).await?,
        };
        let now = (self.now)();
        Ok(known.filter(|known| known.until.is_none_or(|until| until > now)).map(|known| known.caller))
    }

    /// Looks it up, and remembers what was found.
    async fn find(&self, credential: &Credential) -> Result<Option<Known>, Problem> {
        // From before the look: whatever changes during it is found by the next.
        let at = Instant::now();
        let known = self.look_up(credential).await?;
        let mut memory = self.memory();
        if memory.len() >= REMEMBERED_MAX {
            memory.retain(|_, (_, known)| known.as_ref().is_some_and(Known::counts_alone));
        }
        memory.insert(credential.clone(), (at, known.clone()));
        Ok(known)
    }

    /// Found by its hash: how long a wrong one takes says nothing about a right one.
    async fn look_up(&self, credential: &Credential) -> Result<Option<Known>, Problem> {
        match credential {
            Credential::Environment => Ok(Some(Known { caller: Caller::environment(), until: None })),
            Credential::Token(hash) => {
                let Some(token) = self.tokens.token(hash).await? else { return Ok(None) };
                let (agent, until) = (token.agent, token.expires_at);
                let caller = Caller::of_token(token, hash.clone());
                let Some(agent) = agent else { return Ok(Some(Known { caller, until })) };
                let agent = self.people.agent(agent).await?.filter(|agent| !agent.is_disabled);
                Ok(agent.map(|agent| Known { caller: caller.acting_as(agent), until }))
            }
            Credential::Session(hash) => {
                let found = self.people.session(hash).await?;
                let Some((session, agent)) = found.filter(|(_, agent)| !agent.is_disabled) else {
                    return Ok(None);
                };
                let until = Some(self.renewed(&session).await);
                Ok(Some(Known { caller: Caller::of_session(agent, hash.clone()), until }))
            }
        }
    }

    /// A session that is in use is extended. Until when it is good now.
    async fn renewed(&self, session: &Session) -> Time {
        let now = (self.now)();
        if session.expires_at <= now || now.since(session.used_at) < RENEWED_MS {
            return session.expires_at;
        }
        let until = now.plus_ms(IDLE_MS);
        match self.people.renew_session(&session.hash, now, until).await {
            Ok(()) => until,
            Err(error) => {
                tracing::debug!(%error, "a session was not renewed; the next look does it");
                session.expires_at
            }
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, HashMap<Credential, (Instant, Option<Known>)>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
