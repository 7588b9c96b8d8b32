//! Agents: the people of the business. Admins add and change them; nobody is removed, for what they wrote stays theirs.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, page_of, shown, tokens};
use crate::{
    domain::payload::Payload,
    flow::back_office::{
        audit::Deed,
        people::{self, Outcome},
        registry::Role,
        sign_in::fresh_link,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{Base, IdempotencyKey, Json, Nothing, Optional, Query, WhichPage, given},
        site::sign_in_link,
        wire::{Agent, AgentRoleWord, ChangedAgent, Id, List, NewAgent, ShownAgent},
    },
};

/// Agents by name. Who may not change them sees their id and name.
#[utoipa::path(get, path = "/api/v1/agents", tag = "People", params(WhichPage),
    responses((status = 200, body = List<ShownAgent>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let mut all = doors.people.agents().await?;
    all.retain(|agent| is_shown(&caller, agent));
    let page = page_of(all, &page, |agent| (agent.name.clone(), agent.id))?;
    Ok(Answer::ok(&List::of(page, |agent| ShownAgent::by(caller.role, agent))))
}

/// One agent.
#[utoipa::path(get, path = "/api/v1/agents/{id}", tag = "People", params(("id" = Id, Path,)),
    responses((status = 200, body = ShownAgent)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let agent = seen(&doors, &caller, id.0).await?;
    Ok(Answer::ok(&ShownAgent::by(caller.role, agent)))
}

/// An agent to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentRequest)]
pub(crate) struct AgentRequest {
    name: String,
    /// With which they sign in; belongs to one agent, in whatever case.
    email: String,
    role: AgentRoleWord,
    /// 8 to 200 characters. Left out: the answer has a link with which they sign in and choose one.
    password: Option<String>,
    /// On which channels; null or left out: on all that you may see.
    channels: Option<Vec<String>>,
}

impl AgentRequest {
    /// What a repeat is known by. Not the password: the hash is kept in plain sight, and people's passwords can be guessed.
    fn hash(&self) -> String {
        let role = self.role.0.as_str();
        let told = json!([self.name, self.email, role, self.password.is_some(), self.channels]);
        people::hash_of(&told.to_string())
    }
}

/// Adds an agent. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/agents", tag = "People", request_body = AgentRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = NewAgent)))]
pub(crate) async fn add(
    doors: Data<Doors>,
    caller: Caller,
    base: Base,
    once: IdempotencyKey,
    body: Json<AgentRequest>,
) -> Answered {
    let request = once.of(&caller, body.value.hash());
    idempotent::once(&doors, request, added(&doors, &caller, base, body.value)).await
}

async fn added(doors: &Doors, caller: &Caller, base: Base, wanted: AgentRequest) -> Answered {
    let now = (doors.now)();
    check_password(wanted.password.as_deref())?;
    let agent = people::Agent {
        id: Uuid::now_v7(),
        name: people::checked_name(&wanted.name).map_err(|wrong| Problem::invalid("/name", wrong))?,
        email: people::checked_email(&wanted.email).map_err(|wrong| Problem::invalid("/email", wrong))?,
        role: wanted.role.0,
        channels: tokens::channels(doors, caller, wanted.channels).await?,
        is_disabled: false,
        created_at: now,
        updated_at: now,
    };
    let password = hashed(doors, wanted.password).await?;
    let (link, secret) = match password {
        Some(_) => (None, None),
        None => {
            let (link, secret) = fresh_link(agent.id, now).map_err(|error| tokens::no_random(&error))?;
            (Some(link), Some(secret))
        }
    };
    if !doors.people.add_agent(&agent, password.as_deref(), link.as_ref()).await? {
        return Err(taken(doors, caller, &agent.email).await);
    }
    doors.note(doors.deed(caller, Deed::AgentAdded).to(agent.id).with("role", agent.role.as_str())).await;
    doors.person_changed(&agent, agent.channels.as_deref(), "added", &caller.actor).await;
    let location = format!("/api/v1/agents/{}", agent.id);
    let link = secret.map(|secret| sign_in_link(&base.0, &secret));
    Ok(Answer::created(location, &NewAgent { kept: agent.into(), link }))
}

/// What is to be changed; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentChange)]
pub(crate) struct AgentChange {
    /// Not let in any more: sessions, links and open feeds end within seconds, and what they hold of what is not closed is
    /// assigned to nobody.
    disabled: Option<bool>,
    /// As an admin they sign in again: sessions and links of the agent they were end.
    role: Option<AgentRoleWord>,
    name: Option<String>,
    email: Option<String>,
    /// Another password; their sessions end.
    password: Option<String>,
    /// On which channels; null: on all that you may see. What they hold elsewhere and is not closed is assigned to nobody. To
    /// see more than before they sign in again.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    channels: Option<Option<Vec<String>>>,
}

impl AgentChange {
    /// What it would change, by name.
    fn named(&self) -> Vec<&'static str> {
        let given = [
            ("disabled", self.disabled.is_some()),
            ("role", self.role.is_some()),
            ("name", self.name.is_some()),
            ("email", self.email.is_some()),
            ("password", self.password.is_some()),
            ("channels", self.channels.is_some()),
        ];
        given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect()
    }
}

/// Changes an agent. An admin for all channels always stays: else 409 `last_admin`.
#[utoipa::path(patch, path = "/api/v1/agents/{id}", tag = "People", params(("id" = Id, Path,)),
    request_body = AgentChange, responses((status = 200, body = ChangedAgent)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<AgentChange>,
) -> Answered {
    let wanted = body.value;
    let deed = doors.deed(&caller, Deed::AgentChanged).to(id.0).with("changed", wanted.named());
    let before = seen(&doors, &caller, id.0).await?;
    check_password(wanted.password.as_deref())?;
    let channels = match wanted.channels {
        Some(channels) => Some(tokens::channels(&doors, &caller, channels).await?),
        None => None,
    };
    let change = people::Change {
        name: name(wanted.name)?,
        email: email(wanted.email)?,
        role: wanted.role.map(|word| word.0),
        channels,
        is_disabled: wanted.disabled,
        spared: caller.session().filter(|_| caller.agent == Some(id.0)).map(str::to_owned),
        password: hashed(&doors, wanted.password).await?,
        preferences: None,
        within: caller.channels.clone(),
    };
    match doors.people.change_agent(id.0, &change, (doors.now)()).await? {
        Outcome::Changed => {
            doors.note(deed).await;
            let channels = change.channels.clone().unwrap_or_else(|| before.channels.clone());
            let after = people::Agent { channels, ..before.clone() };
            doors.person_changed(&after, before.channels.as_deref(), "changed", &caller.actor).await;
        }
        Outcome::Gone => return Err(Problem::not_found()),
        Outcome::Taken => return Err(taken(&doors, &caller, &change.email.unwrap_or_default()).await),
        Outcome::LastAdmin => return Err(last_admin(Some(shown(&Agent::from(before))))),
    }
    let after = doors.people.agent(id.0).await?.ok_or_else(Problem::not_found)?;
    // Also where nothing has changed by this: a caller that was cut off in the middle of it asks again.
    let still_seen = match &after.channels {
        _ if after.is_disabled && wanted.disabled == Some(true) => Some(&[][..]),
        Some(channels) if change.channels.is_some() => Some(channels.as_slice()),
        Some(_) | None => None,
    };
    let conversations_freed = match still_seen {
        Some(channels) => Some(doors.desk.free(id.0, channels, &caller.who()).await?),
        None => None,
    };
    Ok(Answer::ok(&ChangedAgent { kept: after.into(), conversations_freed }))
}

/// Makes a link with which an agent signs in: good once, for a day, and shown this once. Links made before stay good. 409
/// `disabled` while they are not let in. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/agents/{id}/link", tag = "People",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = NewAgent)))]
pub(crate) async fn link(
    doors: Data<Doors>,
    caller: Caller,
    base: Base,
    once: IdempotencyKey,
    id: Path<Id>,
    _: Optional<Nothing>,
) -> Answered {
    // Before an answer that was kept, which shows a link: they may have lost the sight of that agent since.
    let agent = seen(&doors, &caller, id.0).await?;
    let request = once.of(&caller, String::new());
    idempotent::once(&doors, request, linked(&doors, &caller, base, agent)).await
}

async fn linked(doors: &Doors, caller: &Caller, base: Base, agent: people::Agent) -> Answered {
    if agent.is_disabled {
        return Err(disabled(agent));
    }
    let (link, secret) = fresh_link(agent.id, (doors.now)()).map_err(|error| tokens::no_random(&error))?;
    if !doors.people.add_link(&link, caller.channels.as_deref()).await? {
        // They were disabled since, or see what the caller does not.
        return Err(disabled(seen(doors, caller, agent.id).await?));
    }
    doors.note(doors.deed(caller, Deed::LinkMade).to(agent.id)).await;
    let location = format!("/api/v1/agents/{}", agent.id);
    let link = Some(sign_in_link(&base.0, &secret));
    Ok(Answer::created(location, &NewAgent { kept: agent.into(), link }))
}

fn disabled(agent: people::Agent) -> Problem {
    let current = Some(shown(&Agent::from(agent)));
    Problem::conflict("disabled", "a link would not let them in", current)
}

/// Colleagues are known by name: those with whom a channel is shared. Who may change agents sees those who see no more than
/// they do.
fn is_shown(caller: &Caller, agent: &people::Agent) -> bool {
    match caller.role {
        Role::Admin => caller.sees_all_of(agent.channels.as_deref()),
        Role::Agent | Role::Read | Role::Metrics => {
            caller.agent == Some(agent.id) || caller.sees_some_of(agent.channels.as_deref())
        }
    }
}

async fn seen(doors: &Doors, caller: &Caller, id: Uuid) -> Result<people::Agent, Problem> {
    let found = doors.people.agent(id).await?;
    found.filter(|agent| is_shown(caller, agent)).ok_or_else(Problem::not_found)
}

/// The address is another agent's, who is shown to callers who may see them.
async fn taken(doors: &Doors, caller: &Caller, email: &str) -> Problem {
    let holder = match doors.people.agent_of(email).await {
        Ok(holder) => holder.map(|(agent, _)| agent).filter(|agent| is_shown(caller, agent)),
        Err(error) => return error.into(),
    };
    let current = holder.map(|agent| shown(&Agent::from(agent)));
    Problem::conflict("name_taken", "there is an agent with this address", current)
}

pub(super) fn last_admin(current: Option<Payload>) -> Problem {
    let detail = "nobody would be left who may do everything: make another agent admin of all channels first";
    Problem::conflict("last_admin", detail, current)
}

pub(super) fn name(name: Option<String>) -> Result<Option<String>, Problem> {
    let checked = name.map(|name| people::checked_name(&name)).transpose();
    checked.map_err(|wrong| Problem::invalid("/name", wrong))
}

pub(super) fn email(email: Option<String>) -> Result<Option<String>, Problem> {
    let checked = email.map(|email| people::checked_email(&email)).transpose();
    checked.map_err(|wrong| Problem::invalid("/email", wrong))
}

pub(super) fn check_password(password: Option<&str>) -> Result<(), Problem> {
    password.map_or(Ok(()), people::check_password).map_err(|wrong| Problem::invalid("/password", wrong))
}

/// Last of all, when nothing else is wrong: it is the dear part.
pub(super) async fn hashed(doors: &Doors, password: Option<String>) -> Result<Option<String>, Problem> {
    match password {
        Some(password) => Ok(Some(doors.sign_in.hash(password).await?)),
        None => Ok(None),
    }
}
