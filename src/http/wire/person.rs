//! The people of the business, and who is signed in. Passwords go in, never out.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema},
};

use super::{
    AgentRoleWord, At, Id, RoleWord,
    basic::{Seen, Word},
};
use crate::{flow::back_office::people, http::auth::Caller};

/// JSON that is kept and given back as it came.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Raw(Box<RawValue>);

impl Raw {
    /// What was kept; None if it is no JSON.
    pub(crate) fn kept(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }

    /// Its text, if it is an object.
    pub(crate) fn object(&self) -> Option<&str> {
        Some(self.0.get()).filter(|text| text.starts_with('{'))
    }
}

impl PartialSchema for Raw {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().into()
    }
}

impl ToSchema for Raw {
    fn name() -> std::borrow::Cow<'static, str> {
        "Preferences".into()
    }
}

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// The agent's; null for a token that acts as none.
    id: Option<Id>,
    /// The agent's, else the token's.
    name: String,
    email: Option<String>,
    /// What they may do, as they ask now: a token that acts as an agent may do what both may.
    role: RoleWord,
    /// On which channels; null: on all.
    channels: Option<Vec<String>>,
    /// As events name them.
    actor: String,
    /// What their dashboard keeps here.
    preferences: Raw,
}

impl Me {
    /// The caller, with their agent if they are one.
    pub(crate) fn of(caller: Caller, agent: Option<people::Agent>, preferences: Raw) -> Self {
        let (name, email) = match agent {
            Some(agent) => (agent.name, Some(agent.email)),
            None => (caller.token.unwrap_or_default(), None),
        };
        Self {
            id: caller.agent.map(Id),
            name,
            email,
            role: Word(caller.role),
            channels: caller.channels,
            actor: caller.actor,
            preferences,
        }
    }
}

/// A person of the business.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agent {
    id: Id,
    name: String,
    email: String,
    role: AgentRoleWord,
    /// On which channels; null: on all.
    channels: Option<Vec<String>>,
    /// They are not let in.
    disabled: bool,
    created_at: At,
    updated_at: At,
}

impl From<people::Agent> for Agent {
    fn from(agent: people::Agent) -> Self {
        Self {
            id: Id(agent.id),
            name: agent.name,
            email: agent.email,
            role: Word(agent.role),
            channels: agent.channels,
            disabled: agent.is_disabled,
            created_at: At(agent.created_at),
            updated_at: At(agent.updated_at),
        }
    }
}

/// An agent as those see them who only answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentGlance {
    id: Id,
    name: String,
}

impl From<people::Agent> for AgentGlance {
    fn from(agent: people::Agent) -> Self {
        Self { id: Id(agent.id), name: agent.name }
    }
}

/// An agent, as the caller may see them.
pub(crate) type ShownAgent = Seen<Agent, AgentGlance>;

/// An agent just changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangedAgent {
    /// What is kept of them.
    #[serde(flatten)]
    pub(crate) kept: Agent,
    /// If they were disabled, or limited to channels: the number of open conversations of which they are no longer the assignee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversations_freed: Option<usize>,
}

/// An agent, with the link that was made for them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewAgent {
    /// What is kept of them.
    #[serde(flatten)]
    pub(crate) kept: Agent,
    /// With this they sign in, once and within a day. Shown now and never again; not there if they were given a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
}
