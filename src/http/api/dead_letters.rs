//! Dead letters: what the machine gave up, for people to decide.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{Answered, shown};
use crate::{
    domain::turn,
    flow::{archive::LetterFilter, desk::Refusal},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Optional, Query},
        wire::{DeadLetter, Id, LetterKindWord, LetterStateWord, List},
    },
};

/// Which dead letters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    kind: Option<LetterKindWord>,
    /// On this channel.
    channel: Option<String>,
    conversation_id: Option<Id>,
    /// In this state; `open` if not given.
    state: Option<LetterStateWord>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Dead letters, newest first. A page ends after 4 MiB of payloads, also before its `limit`.
#[utoipa::path(get, path = "/api/v1/dead-letters", tag = "Dead letters", params(ListQuery),
    responses((status = 200, body = List<DeadLetter>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    let which = query.0;
    let page = read::page(which.limit, which.cursor)?;
    let filter = LetterFilter {
        kind: which.kind.map(|word| word.0),
        channels: caller.within(which.channel),
        conversation: which.conversation_id.map(|id| id.0),
        state: which.state.map(|word| word.0),
    };
    let page = doors.archive.letters(&filter, &page).await?;
    Ok(Answer::ok(&List::of(page, DeadLetter::from)))
}

/// How to try again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Again {
    /// Also if it is no longer wanted. An answer of the AI (`turn`) then gives the conversation back to it, if a person has taken
    /// over.
    #[serde(default)]
    force: bool,
}

/// Retries one.
#[utoipa::path(post, path = "/api/v1/dead-letters/{id}/retry", tag = "Dead letters", params(("id" = Id, Path,)),
    request_body = Option<Again>, responses((status = 202, body = DeadLetter)))]
pub(crate) async fn retry(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Optional<Again>,
) -> Answered {
    decided_by(&doors, &caller, id.0).await?;
    match doors.desk.replay(id.0, body.value.force, &caller.who()).await {
        Ok(letter) => Ok(Answer::accepted(&DeadLetter::from(letter))),
        Err(refusal @ (Refusal::Conflict { .. } | Refusal::Overtaken(_))) => {
            let found = doors.archive.letter(id.0).await.ok().flatten();
            let current = found.map(|letter| shown(&DeadLetter::from(letter)));
            Err(Problem::from(refusal).with_current(current))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// Discards one.
#[utoipa::path(delete, path = "/api/v1/dead-letters/{id}", tag = "Dead letters", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn discard(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    decided_by(&doors, &caller, id.0).await?;
    doors.desk.discard(id.0, &caller.who()).await?;
    Ok(Answer::empty())
}

/// Whether they may decide about it: on a channel that they see, and for an endpoint that receives no more than they see.
async fn decided_by(doors: &Doors, caller: &Caller, id: Uuid) -> Result<(), Problem> {
    let found = doors.archive.letter(id).await?;
    let letter = found.filter(|letter| caller.sees(&letter.channel)).ok_or_else(Problem::not_found)?;
    if letter.kind == turn::LetterKind::Delivery
        && let Some(delivery) = doors.endpoints.delivery(id).await?
        && let Some(standing) = doors.endpoints.endpoint(delivery.endpoint).await?
        && !caller.sees_all_of(standing.endpoint.channels.as_deref())
    {
        return Err(Problem::forbidden("this endpoint receives events of channels that you do not see"));
    }
    Ok(())
}
