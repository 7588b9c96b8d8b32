//! Drafts: what the assistant suggests, and what a person makes of it.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, key, messages::beside, seen, shown, told};
use crate::{
    flow::desk::{Approval, Refusal, TEXT_MAX},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, IdempotencyKey, Optional, Query, WhichPage},
        wire::{Draft, DraftAsked, DraftSent, Id, List},
    },
};

/// Drafts of a conversation, newest first: at most one of them is fresh.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/drafts", tag = "Drafts",
    params(("id" = Id, Path,), WhichPage), responses((status = 200, body = List<Draft>)))]
pub(crate) async fn list(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<WhichPage>,
) -> Answered {
    let page = query.0.page()?;
    seen(&doors, &caller, id.0).await?;
    let page = doors.archive.drafts(id.0, &page).await?;
    Ok(Answer::ok(&List::of(page, |draft| Draft::of(id.0, draft))))
}

/// Nothing: a draft is asked for by its conversation alone.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDraft)]
pub(crate) struct NewDraft {}

/// Asks for one now, in either mode. The event `draft_created` tells of it under the id given here; none comes if somebody
/// writes before, or the model fails.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/drafts", tag = "Drafts",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = Option<NewDraft>, responses((status = 202, body = DraftAsked)))]
pub(crate) async fn ask(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    once: IdempotencyKey,
    _: Optional<NewDraft>,
) -> Answered {
    // Whatever the body is, it says nothing.
    let once = once.of(&caller, String::new());
    let key = key(&doors, &caller, id.0).await?;
    match doors.desk.ask_for_draft(key.clone(), &caller.who(), once).await {
        Ok((conversation, draft)) => Ok(Answer::accepted(&DraftAsked::new(conversation, draft))),
        Err(refusal) => Err(told(&doors, &key, refusal).await),
    }
}

/// How it is to be sent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DraftApproval)]
pub(crate) struct Sending {
    /// What to say in its place; left out: it is sent as it was written.
    #[schema(min_length = 1, max_length = 20_000)]
    text: Option<String>,
    /// Also if it is stale or was discarded.
    #[serde(default)]
    force: bool,
}

/// Sends a draft as the caller's message; takes over. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/drafts/{draft_id}/send", tag = "Drafts",
    params(("id" = Id, Path,), ("draft_id" = Id, Path,),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = Option<Sending>, responses((status = 202, body = DraftSent)))]
pub(crate) async fn send(
    doors: Data<Doors>,
    caller: Caller,
    path: Path<(Id, Id)>,
    once: IdempotencyKey,
    body: Optional<Sending>,
) -> Answered {
    let (id, draft) = (path.0.0, path.1.0);
    let once = once.of(&caller, body.hash());
    let text = body.value.text.map(|text| read::text("/text", text, TEXT_MAX)).transpose()?;
    let approval = Approval { text, force: body.value.force };
    let key = key(&doors, &caller, id).await?;
    let said = match doors.desk.send_draft(key, draft, approval, &caller.who(), once).await {
        Ok(said) => said,
        Err(refusal) => return Err(refused(&doors, draft, refusal).await),
    };
    // Not of the conversation that was named: that one may go on in another, where the draft is.
    let (_, draft) = doors.archive.draft(draft).await?.ok_or_else(Problem::not_found)?;
    let names = doors.directory.names().await;
    let beside = beside(&doors, &said.messages).await;
    Ok(Answer::accepted(&DraftSent::of(said, draft, &names, &beside).ok_or_else(Problem::internal)?))
}

/// Puts a draft away.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}/drafts/{draft_id}", tag = "Drafts",
    params(("id" = Id, Path,), ("draft_id" = Id, Path,)), responses((status = 204)))]
pub(crate) async fn discard(doors: Data<Doors>, caller: Caller, path: Path<(Id, Id)>) -> Answered {
    let (id, draft) = (path.0.0, path.1.0);
    let key = key(&doors, &caller, id).await?;
    match doors.desk.discard_draft(key, draft, &caller.who()).await {
        Ok(()) => Ok(Answer::empty()),
        Err(refusal) => Err(refused(&doors, draft, refusal).await),
    }
}

/// A conflict is answered with the draft as it is: the step has found it in the conversation.
async fn refused(doors: &Doors, id: Uuid, refusal: Refusal) -> Problem {
    let is_conflict = matches!(refusal, Refusal::Conflict { .. });
    let problem = Problem::from(refusal);
    if !is_conflict {
        return problem;
    }
    match doors.archive.draft(id).await {
        Ok(found) => {
            problem.with_current(found.map(|(conversation, draft)| shown(&Draft::of(conversation, draft))))
        }
        Err(error) => error.into(),
    }
}
