//! Who I am, and what I may change about it.

use actix_web::web::Data;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answered, agents};
use crate::{
    flow::back_office::{
        audit::Deed,
        people::{self, Outcome},
        sign_in::Refusal,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{Json, given},
        wire::{Me, Raw},
    },
};

/// Most bytes of preferences.
const PREFERENCES_MAX: usize = 16 * 1_024;

/// Who asks. A token that acts as no agent has a name and a role, and nothing else.
#[utoipa::path(get, path = "/api/v1/me", tag = "People", responses((status = 200, body = Me)))]
pub(crate) async fn who(doors: Data<Doors>, caller: Caller) -> Answered {
    shown(&doors, caller).await
}

pub(super) async fn shown(doors: &Doors, caller: Caller) -> Answered {
    let (agent, kept) = match caller.agent {
        Some(id) => (doors.people.agent(id).await?, doors.people.preferences(id).await?),
        None => (None, None),
    };
    let preferences = Raw::kept(kept.unwrap_or_else(|| "{}".to_owned())).ok_or_else(|| {
        tracing::error!(actor = caller.actor, "the preferences of an agent are not JSON");
        Problem::internal()
    })?;
    Ok(Answer::ok(&Me::of(caller, agent, preferences)))
}

/// What is to be changed; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MeChange)]
pub(crate) struct MeChange {
    name: Option<String>,
    /// With which you sign in. Needs `current_password`, unless you came by a link within the hour.
    email: Option<String>,
    /// Another password; your other sessions end. Needs `current_password`, unless you came by a link within the hour.
    password: Option<String>,
    /// The current password. Not needed while there is none.
    current_password: Option<String>,
    /// An object of at most 16 KiB, kept and given back as it is.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    preferences: Option<Option<Raw>>,
}

/// Changes what is yours. A token that acts as no agent has nothing of its own: 403. How an agent signs in is changed only in
/// a session of theirs.
#[utoipa::path(patch, path = "/api/v1/me", tag = "People", request_body = MeChange,
    responses((status = 200, body = Me)))]
pub(crate) async fn change(doors: Data<Doors>, caller: Caller, body: Json<MeChange>) -> Answered {
    let wanted = body.value;
    let id = caller.agent.ok_or_else(|| Problem::forbidden("this token acts as no agent"))?;
    let agent = doors.people.agent(id).await?.ok_or_else(Problem::unauthorized)?;
    let change = people::Change {
        name: agents::name(wanted.name)?,
        email: agents::email(wanted.email)?,
        preferences: preferences(wanted.preferences)?,
        spared: caller.session().map(str::to_owned),
        ..people::Change::default()
    };
    agents::check_password(wanted.password.as_deref())?;
    let is_about_signing_in = change.email.is_some() || wanted.password.is_some();
    if is_about_signing_in {
        let Some(session) = caller.session() else {
            return Err(Problem::forbidden("a token does not change how its agent signs in"));
        };
        confirm(&doors, &agent, wanted.current_password, session).await?;
    }
    let change = people::Change { password: agents::hashed(&doors, wanted.password).await?, ..change };
    let is_for_others = change.name.is_some() || change.email.is_some() || change.password.is_some();
    let action = if is_for_others { "changed" } else { "preferences" };
    match doors.people.change_agent(id, &change, (doors.now)()).await? {
        Outcome::Changed => {
            if is_for_others {
                let deed = doors.deed(&caller, Deed::ProfileChanged).to(id);
                doors.note(deed.with("password", change.password.is_some())).await;
            }
            doors.person_changed(&agent, agent.channels.as_deref(), action, &caller.actor).await;
        }
        Outcome::Gone => return Err(Problem::unauthorized()),
        Outcome::Taken => {
            return Err(Problem::conflict("name_taken", "this address is another agent's", None));
        }
        Outcome::LastAdmin => return Err(agents::last_admin(None)),
    }
    shown(&doors, caller).await
}

/// Reported like any other field: the caller is known, but this is not their password.
async fn confirm(
    doors: &Doors,
    agent: &people::Agent,
    password: Option<String>,
    session: &str,
) -> Result<(), Problem> {
    match doors.sign_in.confirm(agent, password, session).await {
        Ok(()) => Ok(()),
        Err(Refusal::Unknown) => Err(Problem::invalid("/current_password", "must be the current password")),
        Err(refusal) => Err(refusal.into()),
    }
}

fn preferences(wanted: Option<Option<Raw>>) -> Result<Option<String>, Problem> {
    let Some(wanted) = wanted else { return Ok(None) };
    let object = wanted.as_ref().and_then(Raw::object);
    match object {
        None => Err(Problem::invalid("/preferences", "must be an object")),
        Some(text) if text.len() > PREFERENCES_MAX => {
            Err(Problem::invalid("/preferences", format!("must have at most {PREFERENCES_MAX} bytes")))
        }
        Some(text) => Ok(Some(text.to_owned())),
    }
}
