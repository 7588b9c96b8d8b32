//! Follow-ups: the one pending of a conversation, and the list of all.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{Answered, key, seen, told};
use crate::{
    flow::{
        agenda::{self, DELAY_MAX_MS},
        archive::FollowUpFilter,
        desk::TEXT_MAX,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Json, Query},
        wire::{At, FollowUp, FollowUpStateWord, Id, List},
    },
};

/// The pending follow-up. From its time on it is a message of the conversation, named by `message_id`, and stays pending until
/// that leaves.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/follow-up", tag = "Follow-ups", params(("id" = Id, Path,)),
    responses((status = 200, body = FollowUp)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let overview = seen(&doors, &caller, id.0).await?;
    let follow_up = overview.follow_up.ok_or_else(Problem::not_found)?;
    Ok(Answer::ok(&FollowUp::of(id.0, follow_up)))
}

/// A follow-up: exactly one of the times, at most one of the words.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFollowUp)]
pub(crate) struct NewFollowUp {
    /// Within a year; and not past, unless for less than a follow-up may be late.
    due_at: Option<At>,
    delay_ms: Option<i64>,
    #[schema(min_length = 1, max_length = 20_000)]
    text: Option<String>,
    /// What the assistant should write.
    #[schema(min_length = 1, max_length = 20_000)]
    instructions: Option<String>,
}

impl NewFollowUp {
    fn checked(self) -> Result<agenda::NewFollowUp, Problem> {
        if self.due_at.is_some() == self.delay_ms.is_some() {
            return Err(Problem::malformed("exactly one of due_at and delay_ms"));
        }
        if self.delay_ms.is_some_and(|ms| !(0..=DELAY_MAX_MS).contains(&ms)) {
            return Err(Problem::invalid("/delay_ms", format!("must be 0 to {DELAY_MAX_MS}")));
        }
        if self.text.is_some() && self.instructions.is_some() {
            return Err(Problem::malformed("at most one of text and instructions"));
        }
        Ok(agenda::NewFollowUp {
            due_at: self.due_at.map(|at| at.0),
            delay_ms: self.delay_ms,
            text: self.text.map(|text| read::text("/text", text, TEXT_MAX)).transpose()?,
            instructions: self
                .instructions
                .map(|text| read::text("/instructions", text, TEXT_MAX))
                .transpose()?,
        })
    }
}

/// Schedules the follow-up: 201 if there was none, else 200 and the one before is gone, also one that waits to leave. While that
/// is leaving or of unknown fate and the contact has not replied: 409 `follow_up_not_allowed`.
#[utoipa::path(put, path = "/api/v1/conversations/{id}/follow-up", tag = "Follow-ups", params(("id" = Id, Path,)),
    request_body = NewFollowUp,
    responses((status = 200, body = FollowUp), (status = 201, body = FollowUp)))]
pub(crate) async fn schedule(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<NewFollowUp>,
) -> Answered {
    let new = body.value.checked()?;
    let key = key(&doors, &caller, id.0).await?;
    match doors.desk.schedule(key.clone(), new, &caller.who()).await {
        Ok((conversation, follow_up, true)) => {
            let location = format!("/api/v1/conversations/{conversation}/follow-up");
            Ok(Answer::created(location, &FollowUp::of(conversation, follow_up)))
        }
        Ok((conversation, follow_up, false)) => Ok(Answer::ok(&FollowUp::of(conversation, follow_up))),
        Err(refusal) => Err(told(&doors, &key, refusal).await),
    }
}

/// Calls the pending follow-up off, also one that waits to leave. While it is leaving or of unknown fate: 409 `already_sent`.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}/follow-up", tag = "Follow-ups",
    params(("id" = Id, Path,)), responses((status = 204)))]
pub(crate) async fn call_off(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let key = key(&doors, &caller, id.0).await?;
    match doors.desk.call_off(key.clone(), &caller.who()).await {
        Ok(()) => Ok(Answer::empty()),
        Err(refusal) => Err(told(&doors, &key, refusal).await),
    }
}

/// Which follow-ups.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// In this state; `pending` if not given.
    state: Option<FollowUpStateWord>,
    /// On this channel.
    channel: Option<String>,
    conversation_id: Option<Id>,
    due_before: Option<At>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Follow-ups by due time: pending ones from the next on, those of another state from the last one back. One whose message
/// waits to leave is pending, with its `message_id`.
#[utoipa::path(get, path = "/api/v1/follow-ups", tag = "Follow-ups", params(ListQuery),
    responses((status = 200, body = List<FollowUp>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    let which = query.0;
    let page = read::page(which.limit, which.cursor)?;
    let filter = FollowUpFilter {
        state: which.state.map(|word| word.0),
        channels: caller.within(which.channel),
        conversation: which.conversation_id.map(|id| id.0),
        due_before: which.due_before.map(|at| at.0),
    };
    let page = doors.archive.follow_ups(&filter, &page).await?;
    Ok(Answer::ok(&List::of(page, |(conversation, follow_up)| FollowUp::of(conversation, follow_up))))
}
