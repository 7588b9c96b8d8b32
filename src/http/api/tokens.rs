//! Tokens of the API. Only their hashes are kept; a token is shown once.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Answered;
use crate::{
    flow::back_office::{audit::Deed, people, registry},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{IdempotencyKey, Json, Query, WhichPage},
        wire::{At, Id, List, NewToken, RoleWord, Token},
    },
};

/// Most channels named.
const CHANNELS_MAX: usize = 1_000;

/// Tokens, newest first.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "Installation", params(WhichPage),
    responses((status = 200, body = List<Token>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let page = doors.tokens.tokens(caller.channels.as_deref(), &page).await?;
    Ok(Answer::ok(&List::of(page, Token::from)))
}

/// One token.
#[utoipa::path(get, path = "/api/v1/tokens/{id}", tag = "Installation", params(("id" = Id, Path,)),
    responses((status = 200, body = Token)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    Ok(Answer::ok(&Token::from(seen(&doors, &caller, id.0).await?)))
}

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenRequest)]
pub(crate) struct TokenRequest {
    /// For people.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    /// `metrics` takes no channels, since metrics count all of them.
    role: RoleWord,
    /// On which channels; null or left out: on all that you may see.
    channels: Option<Vec<String>>,
    /// As which agent it acts: it may do what both may, and goes with them.
    agent_id: Option<Id>,
    /// Void after this.
    expires_at: Option<At>,
}

/// Makes a token, and shows it this once. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "Installation", request_body = TokenRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = NewToken)))]
pub(crate) async fn create(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<TokenRequest>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, created(&doors, &caller, body.value)).await
}

async fn created(doors: &Doors, caller: &Caller, wanted: TokenRequest) -> Answered {
    let now = (doors.now)();
    if wanted.expires_at.is_some_and(|at| at.0 <= now) {
        return Err(Problem::invalid("/expires_at", "must be in the future"));
    }
    let name = people::checked_name(&wanted.name).map_err(|wrong| Problem::invalid("/name", wrong))?;
    let channels = channels(doors, caller, wanted.channels).await?;
    let agent = agent(doors, caller, wanted.agent_id).await?;
    let limits = [channels.as_deref(), agent.as_ref().and_then(|agent| agent.channels.as_deref())];
    if let Some(why) = registry::opens_nothing(wanted.role.0, limits) {
        return Err(Problem::invalid("/role", why));
    }
    let kept = registry::Token {
        id: Uuid::now_v7(),
        name,
        role: wanted.role.0,
        channels,
        agent: agent.map(|agent| agent.id),
        expires_at: wanted.expires_at.map(|at| at.0),
        created_at: now,
    };
    let token = new_secret()?;
    doors.tokens.add_token(&kept, &people::hash_of(&token)).await?;
    doors.auth.forget();
    let deed = doors.deed(caller, Deed::TokenCreated).to(kept.id);
    doors.note(deed.with("name", kept.name.as_str()).with("role", kept.role.as_str())).await;
    doors.tell(registry::token_updated(&kept, "added", &caller.actor, now)).await;
    let location = format!("/api/v1/tokens/{}", kept.id);
    Ok(Answer::created(location, &NewToken { kept: kept.into(), token }))
}

/// A token acts as somebody who is let in, and whom its maker could make.
async fn agent(doors: &Doors, caller: &Caller, wanted: Option<Id>) -> Result<Option<people::Agent>, Problem> {
    let Some(id) = wanted else { return Ok(None) };
    let found = doors.people.agent(id.0).await?;
    match found.filter(|agent| caller.sees_all_of(agent.channels.as_deref())) {
        Some(agent) if agent.is_disabled => Err(Problem::invalid("/agent_id", "this agent is disabled")),
        Some(agent) => Ok(Some(agent)),
        None => Err(Problem::invalid("/agent_id", "there is no such agent")),
    }
}

/// Nobody makes a token, or an agent, that sees more than they do; nor one that is there for admins of all channels alone, as
/// whatever has no channel is.
pub(super) async fn channels(
    doors: &Doors,
    caller: &Caller,
    wanted: Option<Vec<String>>,
) -> Result<Option<Vec<String>>, Problem> {
    match (wanted, caller.channels.as_deref()) {
        // Who sees all sees this too: an agent who is to see nothing for now, say.
        (Some(none), None) if none.is_empty() => Ok(Some(none)),
        (Some(wanted), _) => named(doors, caller, wanted).await.map(Some),
        (None, Some([])) => Err(Problem::forbidden("no channel is left that you may see")),
        (None, theirs) => Ok(theirs.map(<[String]>::to_vec)),
    }
}

/// Channels that are named one by one: some, and none that the caller does not see.
pub(super) async fn named(
    doors: &Doors,
    caller: &Caller,
    wanted: Vec<String>,
) -> Result<Vec<String>, Problem> {
    if !(1..=CHANNELS_MAX).contains(&wanted.len()) {
        return Err(Problem::invalid("/channels", format!("must be 1 to {CHANNELS_MAX}, or null")));
    }
    for (at, channel) in wanted.iter().enumerate() {
        if !caller.sees(channel) || !doors.channels.knows(channel).await {
            return Err(Problem::invalid(format!("/channels/{at}"), "there is no such channel"));
        }
    }
    Ok(wanted)
}

/// Revokes a token.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "Installation", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn revoke(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let token = seen(&doors, &caller, id.0).await?;
    if !doors.tokens.revoke_token(id.0).await? {
        return Err(Problem::not_found());
    }
    doors.auth.forget();
    doors.note(doors.deed(&caller, Deed::TokenRevoked).to(id.0)).await;
    doors.tell(registry::token_updated(&token, "removed", &caller.actor, (doors.now)())).await;
    Ok(Answer::empty())
}

/// The token, if it sees no more than the caller.
async fn seen(doors: &Doors, caller: &Caller, id: Uuid) -> Result<registry::Token, Problem> {
    let found = doors.tokens.token_of(id).await?;
    found.filter(|token| caller.sees_all_of(token.channels.as_deref())).ok_or_else(Problem::not_found)
}

/// Nobody can guess it.
pub(super) fn new_secret() -> Result<String, Problem> {
    registry::Token::fresh_secret().map_err(|error| no_random(&error))
}

pub(super) fn no_random(error: &getrandom::Error) -> Problem {
    tracing::error!(%error, "the system provides no random bytes");
    Problem::internal()
}
