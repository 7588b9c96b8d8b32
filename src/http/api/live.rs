//! A conversation while it is watched: words as they are written, who else is there.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answered, seen};
use crate::{
    domain::event::actor,
    flow::instance::onlookers::Person,
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        live,
        read::{Json, StreamHeaders},
        wire::{Id, PresenceWord},
    },
};

/// What is seen of a conversation and not kept, live.
///
/// `presence` `{"agents":[{"id","name","state"}]}` comes first, then at each change · `generation` `{"turn_id","text"}`: all that
/// the assistant has written so far, at most ten times a second; empty as soon as it begins · `generation_ended`
/// `{"turn_id","result"}` · `typing` `{"part","until"}`: the delay before a part leaves; sent again with the moment at which it ended, if
/// that is earlier. Nothing can be resumed: a stream begins with the state as it is.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/live", tag = "Conversations", params(("id" = Id, Path,)),
    responses((status = 200, content((String = "text/event-stream")))))]
pub(crate) async fn watch(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    headers: StreamHeaders,
) -> Answered {
    if headers.is_head {
        seen(&doors, &caller, id.0).await?;
        return Ok(Answer::text("text/event-stream", String::new()));
    }
    let watch = live::watch(&doors, id.0)?;
    let found = seen(&doors, &caller, id.0).await?;
    Ok(Answer::feed(live::open(doors.into_inner(), caller, watch, &found).await?))
}

/// What the caller does in a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PresenceChange)]
pub(crate) struct PresenceChange {
    state: PresenceWord,
}

/// Says what the caller does there: shown to those who watch, and forgotten after 30 seconds unless it is said again.
#[utoipa::path(put, path = "/api/v1/conversations/{id}/presence", tag = "Conversations", params(("id" = Id, Path,)),
    request_body = PresenceChange, responses((status = 204)))]
pub(crate) async fn present(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<PresenceChange>,
) -> Answered {
    seen(&doors, &caller, id.0).await?;
    doors.onlookers.is_here(id.0, person(&doors, &caller).await, body.value.state.0);
    Ok(Answer::empty())
}

/// As other people see them: the agent, or whatever acts where there is none.
async fn person(doors: &Doors, caller: &Caller) -> Person {
    match caller.agent {
        Some(agent) => Person { id: agent.to_string(), name: doors.directory.names().await.of(agent) },
        None if caller.actor == actor::ENVIRONMENT => {
            Person { id: caller.actor.clone(), name: "API".to_owned() }
        }
        None => Person { id: caller.actor.clone(), name: caller.token.clone().unwrap_or_default() },
    }
}
