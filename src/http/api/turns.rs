//! Turns: runs of the assistant.

use actix_web::web::{Data, Path};

use super::{Answered, seen};
use crate::http::{
    answer::Answer,
    auth::Caller,
    doors::Doors,
    problem::Problem,
    read::{Query, WhichPage},
    wire::{Id, Turn, Turns},
};

/// Turns of a conversation, newest first, and what all of them have used.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/turns", tag = "Turns",
    params(("id" = Id, Path,), WhichPage), responses((status = 200, body = Turns)))]
pub(crate) async fn list(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<WhichPage>,
) -> Answered {
    let page = query.0.page()?;
    seen(&doors, &caller, id.0).await?;
    let page = doors.archive.turns(id.0, &page).await?;
    let used = doors.statistics.used(id.0).await?;
    Ok(Answer::ok(&Turns::of(id.0, page, &used, &doors.prices)))
}

/// One turn.
#[utoipa::path(get, path = "/api/v1/turns/{id}", tag = "Turns", params(("id" = Id, Path,)),
    responses((status = 200, body = Turn)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let found = doors.archive.turn(id.0).await?;
    let found = found.filter(|(_, channel, _)| caller.sees(channel));
    let (conversation, _, turn) = found.ok_or_else(Problem::not_found)?;
    Ok(Answer::ok(&Turn::of(conversation, turn, &doors.prices)))
}
