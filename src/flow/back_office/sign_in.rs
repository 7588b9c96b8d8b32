//! Step: a person comes in, with a password or by a link.
//!
//! In: what they show, and where they come from. Out: the token of a session that has begun, or why none has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::people::{
    Agent, FIRST_EMAIL, Link, People, Role, Session, folded, fresh_secret, hash_of,
    password::{self, Passwords},
    refusals::Refusals,
    throttle::Throttle,
};
use crate::{domain::time::Time, flow::ledger};

/// A session that nobody uses for this long is over.
pub const IDLE_MS: i64 = 30 * 86_400_000;
/// A session in use is renewed at most this often: not each request writes.
pub const RENEWED_MS: i64 = 3_600_000;
/// A link is good for this long, and once.
pub const LINK_MS: i64 = 86_400_000;
/// How long an agent who came by a link may set a password without the old one.
const FRESH_MS: i64 = 3_600_000;

/// Why nobody was let in.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Not them: a wrong password, an unknown address, an agent who is disabled, a link that was used or is too old.
    #[error("not known")]
    Unknown,
    /// Tried too often.
    #[error("tried too often")]
    TooOften {
        /// How long until the next attempt counts.
        wait_ms: i64,
    },
    /// Passwords cannot be looked at now.
    #[error(transparent)]
    Password(#[from] password::Error),
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] getrandom::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] ledger::Error),
}

/// The step.
pub struct SignIn {
    people: Arc<dyn People>,
    passwords: Passwords,
    throttle: Mutex<Throttle>,
    refusals: Mutex<Refusals>,
    clock: fn() -> Time,
}

/// Somebody is in.
#[derive(Debug)]
pub struct SignedIn {
    /// The agent who signed in.
    pub agent: Uuid,
    /// The token of the session.
    pub secret: String,
}

impl SignIn {
    /// Over that place.
    pub fn new(people: Arc<dyn People>, clock: fn() -> Time) -> Self {
        Self {
            people,
            passwords: Passwords::default(),
            throttle: Mutex::default(),
            refusals: Mutex::default(),
            clock,
        }
    }

    /// Begins a session of the agent with this password. It takes as long to find out that there is no such agent.
    pub async fn by_password(
        &self,
        email: &str,
        password: String,
        from: Option<&str>,
    ) -> Result<SignedIn, Refusal> {
        let email = folded(email);
        self.admit(&email, from)?;
        let found = self.people.agent_of(&email).await?.filter(|(agent, _)| !agent.is_disabled);
        let kept = found.as_ref().and_then(|(_, kept)| kept.clone());
        let is_right = self.passwords.is_right(password, kept.clone()).await?;
        let (Some((agent, _)), Some(kept), true) = (found, kept, is_right) else {
            return Err(Refusal::Unknown);
        };
        let secret = fresh_secret()?;
        let now = (self.clock)();
        let session = Session {
            hash: hash_of(&secret),
            agent: agent.id,
            created_at: now,
            used_at: now,
            expires_at: now.plus_ms(IDLE_MS),
        };
        if !self.people.begin_session(&session, &kept).await? {
            return Err(Refusal::Unknown);
        }
        self.throttle().forgive(&email, from);
        Ok(SignedIn { agent: agent.id, secret })
    }

    /// Begins a session by a link, which is then used up.
    pub async fn by_link(&self, link: &str, from: Option<&str>) -> Result<SignedIn, Refusal> {
        let now = (self.clock)();
        self.throttle().admit_link(from, now).map_err(too_often)?;
        let secret = fresh_secret()?;
        let (link, session) = (hash_of(link), hash_of(&secret));
        let begun = self.people.begin_session_by_link(&link, &session, now, now.plus_ms(IDLE_MS)).await?;
        let agent = begun.ok_or(Refusal::Unknown)?;
        Ok(SignedIn { agent, secret })
    }

    /// Whether an agent who is signed in has this password, before they may set another. An agent who has none yet has
    /// nothing to show, and neither has one who has just come by a link: those are for passwords that are lost.
    pub async fn confirm(
        &self,
        agent: &Agent,
        password: Option<String>,
        session: &str,
    ) -> Result<(), Refusal> {
        let email = folded(&agent.email);
        let Some((_, Some(kept))) = self.people.agent_of(&email).await? else { return Ok(()) };
        let Some(password) = password else {
            let since = (self.clock)().plus_ms(-FRESH_MS);
            let is_fresh = self.people.came_by_link(session, since).await?;
            return if is_fresh { Ok(()) } else { Err(Refusal::Unknown) };
        };
        self.admit(&email, None)?;
        if !self.passwords.is_right(password, Some(kept)).await? {
            return Err(Refusal::Unknown);
        }
        self.throttle().forgive(&email, None);
        Ok(())
    }

    /// What is kept of a new password.
    pub async fn hash(&self, password: String) -> Result<String, Refusal> {
        Ok(self.passwords.hash(password).await?)
    }

    /// Somebody was refused. It is to be written down, with how many before them were left out; None: it is left out, too.
    pub fn refused(&self) -> Option<u64> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).count((self.clock)())
    }

    fn admit(&self, email: &str, from: Option<&str>) -> Result<(), Refusal> {
        self.throttle().admit(email, from, (self.clock)()).map_err(too_often)
    }

    fn throttle(&self) -> MutexGuard<'_, Throttle> {
        self.throttle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_often(wait_ms: i64) -> Refusal {
    Refusal::TooOften { wait_ms }
}

/// A link for an agent, and the secret that it holds: shown once.
pub fn fresh_link(agent: Uuid, now: Time) -> Result<(Link, String), getrandom::Error> {
    let secret = fresh_secret()?;
    let link = Link { hash: hash_of(&secret), agent, created_at: now, expires_at: now.plus_ms(LINK_MS) };
    Ok((link, secret))
}

/// Where there is no agent at all, there is one now: the secret of the link with which they come in. Of instances that
/// start together one makes them.
pub async fn begin(people: &dyn People, now: Time) -> Result<Option<String>, Refusal> {
    let admin = Agent {
        id: Uuid::now_v7(),
        name: "Admin".to_owned(),
        email: FIRST_EMAIL.to_owned(),
        role: Role::Admin,
        channels: None,
        is_disabled: false,
        created_at: now,
        updated_at: now,
    };
    let (link, secret) = fresh_link(admin.id, now)?;
    let is_first = people.add_first_agent(&admin, &link).await?;
    Ok(is_first.then_some(secret))
}
