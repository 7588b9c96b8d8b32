//! Events: a conversation's timeline, the list of all, and the live feed.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Answered, seen};
use crate::{
    domain::event::EventType,
    flow::archive::{EventFilter, Page, PageOf},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Query, Several, StreamHeaders},
        stream,
        view::View,
        wire::{At, Event, Id, List},
    },
};

/// Which events of a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfConversation {
    /// Of these types, with commas between them.
    #[serde(rename = "type")]
    #[param(value_type = Option<String>)]
    kinds: Option<Several<EventType>>,
    message_id: Option<Id>,
    turn_id: Option<Id>,
    since: Option<At>,
    /// Before this time.
    until: Option<At>,
    /// `asc` or `desc`; `asc` if not given.
    #[param(pattern = "^(asc|desc)$")]
    order: Option<String>,
    /// What to show with each event, as it is now: `conversation`, `message`.
    include: Option<String>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The events of a conversation, oldest first.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/timeline", tag = "Events",
    params(("id" = Id, Path,), OfConversation), responses((status = 200, body = List<Event>)))]
pub(crate) async fn timeline(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<OfConversation>,
) -> Answered {
    let which = query.0;
    let page = read::page(which.limit, which.cursor)?;
    seen(&doors, &caller, id.0).await?;
    let filter = EventFilter {
        conversation: Some(id.0),
        channels: None,
        channel: None,
        viewer: caller.agent,
        kinds: which.kinds.map(|kinds| kinds.0).unwrap_or_default(),
        message: which.message_id.map(|id| id.0),
        turn: which.turn_id.map(|id| id.0),
        since: which.since.map(|at| at.0),
        until: which.until.map(|at| at.0),
        descending: is_descending(which.order.as_deref())?,
    };
    shown(&doors, View::new(filter, which.include.as_deref())?, &page).await
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    conversation_id: Option<Id>,
    /// On this channel.
    channel: Option<String>,
    /// Of these types, with commas between them. Without `since` and `until`, a list looks for them for three seconds
    /// (enough for a million events and more): a page may then be short, or empty, and still have a `next_cursor`, from
    /// which it continues.
    #[serde(rename = "type")]
    #[param(value_type = Option<String>)]
    kinds: Option<Several<EventType>>,
    since: Option<At>,
    /// Before this time.
    until: Option<At>,
    /// `asc` or `desc`; `asc` if not given. A live feed moves forward, so it is always `asc`.
    #[param(pattern = "^(asc|desc)$")]
    order: Option<String>,
    /// What to show with each event, as it is now: `conversation`, `message`.
    include: Option<String>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// For a live feed alone, where the header cannot be set: where to resume.
    last_event_id: Option<String>,
}

/// All events, oldest first; with `Accept: text/event-stream`, a live feed of those to come.
///
/// The live feed opens with `event: hello` and the newest id: load lists after it, and nothing is missed. It resumes
/// after `Last-Event-ID`. `event: resync` says that the gap can no longer be filled: load everything again. An `id` alone,
/// without `event` and `data`, is a place to resume from, past many events that are not shown.
///
/// A list shows what is committed at that moment, and what was begun before may be committed after it: only the feed gives each
/// event in its place. It resumes from ids that it gave itself. A client that needs all of them opens it first, then reads the
/// list, and passes over those that come twice.
#[utoipa::path(get, path = "/api/v1/events", tag = "Events",
    params(ListQuery, ("Last-Event-ID" = Option<String>, Header, description = "where a live feed resumes")),
    responses((status = 200, content((List<Event> = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn list(
    doors: Data<Doors>,
    caller: Caller,
    query: Query<ListQuery>,
    headers: StreamHeaders,
) -> Answered {
    let which = query.0;
    let page = read::page(which.limit, which.cursor)?;
    let filter = EventFilter {
        conversation: which.conversation_id.map(|id| id.0),
        channels: caller.within(None),
        channel: which.channel,
        viewer: caller.agent,
        kinds: which.kinds.map(|kinds| kinds.0).unwrap_or_default(),
        message: None,
        turn: None,
        since: which.since.map(|at| at.0),
        until: which.until.map(|at| at.0),
        descending: is_descending(which.order.as_deref())?,
    };
    let view = View::new(filter, which.include.as_deref())?;
    if !headers.stream {
        // Unread, it would begin the list again with the first event ever.
        if which.last_event_id.is_some() {
            return Err(Problem::invalid(
                "/last_event_id",
                "goes with a live feed only; a list takes cursor",
            ));
        }
        return shown(&doors, view, &page).await;
    }
    if view.filter.descending {
        return Err(Problem::invalid("/order", "a live feed is always asc"));
    }
    if headers.is_head {
        return Ok(Answer::text("text/event-stream", String::new()));
    }
    let after = headers.last_event_id.or(which.last_event_id);
    Ok(Answer::feed(stream::open(doors.into_inner(), caller, view, after).await?))
}

async fn shown(doors: &Doors, view: View, page: &PageOf) -> Answered {
    let Page { items, next } = doors.archive.events(&view.filter, page).await?;
    let items = if view.includes() {
        view.events(&*doors.archive, &doors.directory, &items.iter().collect::<Vec<_>>()).await?
    } else {
        items.iter().map(Event::from).collect()
    };
    Ok(Answer::ok(&List { items, next_cursor: next }))
}

fn is_descending(order: Option<&str>) -> Result<bool, Problem> {
    match order {
        None | Some("asc") => Ok(false),
        Some("desc") => Ok(true),
        Some(_) => Err(Problem::invalid("/order", "is neither asc nor desc")),
    }
}
