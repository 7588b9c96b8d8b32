//! Who asks: what they may do, and what is there for them.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload};
use uuid::Uuid;

use crate::{
    domain::{event::actor, message::Origin},
    flow::{
        back_office::{
            people::{self, Agent},
            registry::{Role, Token},
        },
        desk::Who,
    },
    http::problem::Problem,
};

/// What a route is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone: health, the description, signing in, and the provider's door, which has its own credentials.
    Open,
    /// Anyone who may read conversations.
    Reads,
    /// Anyone who may answer them.
    Acts,
    /// Anyone who may change the installation.
    Admin,
    /// Anyone who sees all channels.
    Metrics,
}

impl Access {
    /// What it takes, as everybody may read at `/docs` too.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Open => "this is open to everybody",
            Self::Reads => "this takes the role read, agent or admin",
            Self::Acts => "this takes the role agent or admin",
            Self::Admin => "this takes the role admin",
            Self::Metrics => "metrics count all channels: this takes a token that is limited to none",
        }
    }
}

/// With what somebody shows who they are: the hash of it, where it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Credential {
    /// The token of the environment.
    Environment,
    /// A token of the API.
    Token(String),
    /// The cookie of the dashboard.
    Session(String),
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
    /// What the token is called; None for a session.
    pub token: Option<String>,
    /// Which one it is; None for a session, and for the one of the environment.
    pub(super) token_id: Option<Uuid>,
    pub(super) credential: Credential,
}

impl Caller {
    /// Whether they may use a route of that kind.
    pub const fn may(&self, access: Access) -> bool {
        match (access, self.role) {
            // The metrics count all channels, whoever reads them.
            (Access::Metrics, _) => self.channels.is_none(),
            (Access::Open, _) | (_, Role::Admin) => true,
            (Access::Reads, Role::Agent | Role::Read) | (Access::Acts, Role::Agent) => true,
            (Access::Acts, Role::Read) | (Access::Admin, Role::Agent | Role::Read) => false,
            (Access::Reads | Access::Acts | Access::Admin, Role::Metrics) => false,
        }
    }

    /// Whether what is on that channel is there for them.
    pub fn sees(&self, channel: &str) -> bool {
        self.channels.as_ref().is_none_or(|seen| seen.iter().any(|name| name == channel))
    }

    /// Whether somebody with those channels sees no more than they do. Who has none left was another's: an admin of all
    /// channels sees to them.
    pub fn sees_all_of(&self, channels: Option<&[String]>) -> bool {
        match (&self.channels, channels) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(theirs)) => !theirs.is_empty() && theirs.iter().all(|channel| self.sees(channel)),
        }
    }

    /// Whether somebody with those channels sees something of what they see.
    pub fn sees_some_of(&self, channels: Option<&[String]>) -> bool {
        match (&self.channels, channels) {
            (None, _) => true,
            (Some(seen), None) => !seen.is_empty(),
            (Some(_), Some(theirs)) => theirs.iter().any(|channel| self.sees(channel)),
        }
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
        let origin = if self.session().is_some() { Origin::Dashboard } else { Origin::Api };
        Who { actor: self.actor.clone(), agent: self.agent, origin }
    }

    /// Whose an idempotency key is. Two tokens of one agent are two programs: each counts for itself, and may see what the
    /// other may not.
    pub fn key_holder(&self) -> String {
        self.token_id.map_or_else(|| self.actor.clone(), actor_of)
    }

    /// The hash of their session, if they are signed in.
    pub fn session(&self) -> Option<&str> {
        match &self.credential {
            Credential::Session(hash) => Some(hash),
            Credential::Environment | Credential::Token(_) => None,
        }
    }

    pub(in crate::http) fn environment() -> Self {
        Self {
            actor: actor::ENVIRONMENT.to_owned(),
            agent: None,
            role: Role::Admin,
            channels: None,
            token: Some(actor::ENVIRONMENT.to_owned()),
            token_id: None,
            credential: Credential::Environment,
        }
    }

    pub(super) fn of_token(token: Token, hash: String) -> Self {
        Self {
            actor: actor_of(token.id),
            agent: None,
            role: token.role,
            channels: token.channels,
            token: Some(token.name),
            token_id: Some(token.id),
            credential: Credential::Token(hash),
        }
    }

    pub(super) fn of_session(agent: Agent, hash: String) -> Self {
        let role = match agent.role {
            people::Role::Admin => Role::Admin,
            people::Role::Agent => Role::Agent,
        };
        Self {
            actor: format!("agent:{}", agent.id),
            agent: Some(agent.id),
            role,
            channels: agent.channels,
            token: None,
            token_id: None,
            credential: Credential::Session(hash),
        }
    }

    /// A token that acts as an agent may do what both may.
    pub(super) fn acting_as(self, agent: Agent) -> Self {
        let role = match (self.role, agent.role) {
            (Role::Admin, people::Role::Agent) => Role::Agent,
            (role, _) => role,
        };
        let channels = match (self.channels, agent.channels) {
            (None, channels) | (channels, None) => channels,
            (Some(mine), Some(theirs)) => {
                Some(mine.into_iter().filter(|channel| theirs.contains(channel)).collect())
            }
        };
        Self { actor: format!("agent:{}", agent.id), agent: Some(agent.id), role, channels, ..self }
    }
}

/// As events name a token that acts as nobody else.
fn actor_of(token: Uuid) -> String {
    format!("token:{token}")
}

/// A route behind the gate is given its caller by it.
impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get::<Self>().cloned().ok_or_else(Problem::unauthorized))
    }
}
