//! Canned replies: shared ones, which an admin writes, and those that an agent keeps for themselves.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Answered, shown, tokens};
use crate::{
    domain::{
        canned_reply::{self, check},
        docket::Entry,
        event::{EventType, OWNER},
    },
    flow::{
        back_office::{
            labels_and_replies::{AddOutcome, ChangeOutcome, REPLIES_MAX, ReplyChange, ReplyFilter},
            registry::Role,
        },
        desk::TEXT_MAX,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{self, IdempotencyKey, Json, Query, WhichPage, given},
        wire::{CannedReply, Id, List},
    },
};

/// Longest shortcut.
const SHORTCUT_MAX: usize = 40;

/// Canned replies by shortcut: the shared ones of the channels you may see, and your own.
#[utoipa::path(get, path = "/api/v1/canned-replies", tag = "Canned replies", params(WhichPage),
    responses((status = 200, body = List<CannedReply>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<WhichPage>) -> Answered {
    let page = query.0.page()?;
    let filter = ReplyFilter { owner: caller.agent, channels: caller.channels.clone() };
    let page = doors.labels_and_replies.canned_replies(&filter, &page).await?;
    Ok(Answer::ok(&List::of(page, |reply| within(&caller, reply))))
}

/// One canned reply.
#[utoipa::path(get, path = "/api/v1/canned-replies/{id}", tag = "Canned replies", params(("id" = Id, Path,)),
    responses((status = 200, body = CannedReply)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    Ok(Answer::ok(&within(&caller, of_id(&doors, &caller, id.0).await?)))
}

/// A canned reply to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCannedReply)]
pub(crate) struct NewCannedReply {
    /// 1 to 40 characters without white space; taken once among the shared ones, and once among those of an agent.
    #[schema(min_length = 1, max_length = 40)]
    shortcut: String,
    /// With the variables `{{contact.name}}`, `{{contact.first_name}}`, `{{contact.phone}}`, `{{agent.name}}` and
    /// `{{channel.title}}`, each with `|"otherwise"` if wanted.
    #[schema(min_length = 1, max_length = 20_000)]
    text: String,
    /// On which channels; null or left out: on all that you may see.
    channels: Option<Vec<String>>,
    /// Null: shared, which only an admin may. `me` or your own id: yours. Left out: shared if you are an admin, else yours.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    owner: Option<Option<String>>,
}

/// Keeps a canned reply: at most 500 of an agent's own, and 500 shared ones; one more is 409 `too_many`. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/canned-replies", tag = "Canned replies", request_body = NewCannedReply,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    responses((status = 201, body = CannedReply)))]
pub(crate) async fn add(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<NewCannedReply>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, added(&doors, &caller, body.value)).await
}

async fn added(doors: &Doors, caller: &Caller, wanted: NewCannedReply) -> Answered {
    let owner = owner(caller, wanted.owner)?;
    let reply = canned_reply::CannedReply {
        id: Uuid::now_v7(),
        shortcut: shortcut(wanted.shortcut)?,
        text: text(wanted.text)?,
        channels: channels(doors, caller, wanted.channels).await?,
        owner,
        created_at: (doors.now)(),
    };
    match doors.labels_and_replies.add_canned_reply(&reply).await? {
        AddOutcome::Kept => {}
        AddOutcome::Taken => return Err(taken(doors, caller, &reply).await),
        AddOutcome::TooMany => {
            let whose = if reply.owner.is_some() { "replies of yours" } else { "shared replies" };
            let detail = format!("there are {REPLIES_MAX} {whose}, and no more than that");
            return Err(Problem::conflict("too_many", detail, None));
        }
    }
    noted(doors, caller, "added", &reply, reply.channels.as_deref()).await;
    let location = format!("/api/v1/canned-replies/{}", reply.id);
    Ok(Answer::created(location, &CannedReply::from(reply)))
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CannedReplyChange)]
pub(crate) struct CannedReplyChange {
    #[schema(min_length = 1, max_length = 40)]
    shortcut: Option<String>,
    #[schema(min_length = 1, max_length = 20_000)]
    text: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    channels: Option<Option<Vec<String>>>,
}

/// Changes a canned reply.
#[utoipa::path(patch, path = "/api/v1/canned-replies/{id}", tag = "Canned replies", params(("id" = Id, Path,)),
    request_body = CannedReplyChange, responses((status = 200, body = CannedReply)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<CannedReplyChange>,
) -> Answered {
    let mut reply = own(&doors, &caller, id.0).await?;
    let before = reply.channels.clone();
    let wanted = body.value;
    let change = ReplyChange {
        shortcut: wanted.shortcut.map(shortcut).transpose()?,
        text: wanted.text.map(text).transpose()?,
        channels: match wanted.channels {
            Some(other) => Some(channels(&doors, &caller, other).await?),
            None => None,
        },
        within: within_which(&caller, &reply),
    };
    change.clone().apply(&mut reply);
    match doors.labels_and_replies.change_canned_reply(id.0, &change).await? {
        ChangeOutcome::Kept => {}
        ChangeOutcome::Taken => return Err(taken(&doors, &caller, &reply).await),
        ChangeOutcome::Gone => return Err(Problem::not_found()),
    }
    // With what somebody else has changed of it meanwhile, if that can be read: it is changed in any case.
    let now = doors.labels_and_replies.canned_reply(id.0).await.ok().flatten();
    let reply = now.unwrap_or(reply);
    noted(&doors, &caller, "changed", &reply, before.as_deref()).await;
    Ok(Answer::ok(&CannedReply::from(reply)))
}

/// Removes a canned reply.
#[utoipa::path(delete, path = "/api/v1/canned-replies/{id}", tag = "Canned replies", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn remove(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let reply = own(&doors, &caller, id.0).await?;
    let within = within_which(&caller, &reply);
    if !doors.labels_and_replies.remove_canned_reply(reply.id, within.as_deref()).await? {
        return Err(Problem::not_found());
    }
    noted(&doors, &caller, "removed", &reply, reply.channels.as_deref()).await;
    Ok(Answer::empty())
}

/// The one of that id, if it is there for the caller: [`ReplyFilter`] finds the same.
async fn of_id(doors: &Doors, caller: &Caller, id: Uuid) -> Result<canned_reply::CannedReply, Problem> {
    let is_seen = |reply: &canned_reply::CannedReply| match reply.owner {
        Some(_) => reply.owner == caller.agent,
        // One that has no channel left is there for those who see them all.
        None => {
            let of_theirs = |channels: &Vec<String>| channels.iter().any(|name| caller.sees(name));
            caller.channels.is_none() || reply.channels.as_ref().is_none_or(of_theirs)
        }
    };
    let found = doors.labels_and_replies.canned_reply(id).await?;
    found.filter(is_seen).ok_or_else(Problem::not_found)
}

/// One that the caller may change: their own, or a shared one of channels that an admin sees all of.
async fn own(doors: &Doors, caller: &Caller, id: Uuid) -> Result<canned_reply::CannedReply, Problem> {
    let reply = of_id(doors, caller, id).await?;
    if reply.owner.is_some() {
        return Ok(reply);
    }
    only_an_admin(caller)?;
    let is_theirs = match (&caller.channels, &reply.channels) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(_), Some(channels)) => channels.iter().all(|name| caller.sees(name)),
    };
    if is_theirs {
        Ok(reply)
    } else {
        Err(Problem::forbidden("this reply is also for channels that you do not see"))
    }
}

/// Of which channels a reply must still be when it is changed or removed: somebody may show it to more meanwhile.
fn within_which(caller: &Caller, reply: &canned_reply::CannedReply) -> Option<Vec<String>> {
    if reply.owner.is_some() { None } else { caller.channels.clone() }
}

fn only_an_admin(caller: &Caller) -> Result<(), Problem> {
    match caller.role {
        Role::Admin => Ok(()),
        Role::Agent | Role::Read | Role::Metrics => {
            Err(Problem::forbidden("shared replies are written by an admin"))
        }
    }
}

/// As the caller sees it: of its channels, those that they see.
fn within(caller: &Caller, mut reply: canned_reply::CannedReply) -> CannedReply {
    if let Some(channels) = &mut reply.channels {
        channels.retain(|name| caller.sees(name));
    }
    reply.into()
}

fn owner(caller: &Caller, wanted: Option<Option<String>>) -> Result<Option<Uuid>, Problem> {
    let wants_own = match &wanted {
        None => caller.role != Role::Admin,
        Some(owner) => owner.is_some(),
    };
    if !wants_own {
        return only_an_admin(caller).map(|()| None);
    }
    let Some(agent) = caller.agent else {
        return Err(Problem::forbidden("this token acts as no agent, who could have replies of their own"));
    };
    let is_them = |owner: &str| owner == "me" || Uuid::try_parse(owner) == Ok(agent);
    match wanted.flatten() {
        Some(owner) if !is_them(&owner) => Err(Problem::invalid("/owner", "must be null, me or your own id")),
        _ => Ok(Some(agent)),
    }
}

/// Nobody keeps replies for channels that they do not see.
async fn channels(
    doors: &Doors,
    caller: &Caller,
    wanted: Option<Vec<String>>,
) -> Result<Option<Vec<String>>, Problem> {
    match wanted {
        Some(wanted) => tokens::named(doors, caller, wanted).await.map(Some),
        None if caller.channels.as_deref() == Some(&[]) => Err(Problem::forbidden("you are for no channel")),
        None => Ok(caller.channels.clone()),
    }
}

fn shortcut(shortcut: String) -> Result<String, Problem> {
    let shortcut = read::text("/shortcut", shortcut, SHORTCUT_MAX)?;
    if shortcut.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/') {
        return Err(Problem::invalid("/shortcut", "must hold neither white space nor a slash"));
    }
    Ok(shortcut)
}

fn text(text: String) -> Result<String, Problem> {
    let text = read::text("/text", text, TEXT_MAX)?;
    check(&text).map_err(|wrong| Problem::invalid("/text", wrong.to_string()))?;
    Ok(text)
}

async fn taken(doors: &Doors, caller: &Caller, reply: &canned_reply::CannedReply) -> Problem {
    let found = doors.labels_and_replies.canned_reply_called(reply.owner, &reply.shortcut).await;
    let other = match found {
        Ok(other) => other,
        Err(error) => return error.into(),
    };
    // One of channels that they do not see is there all the same, but not shown.
    let is_shown = |other: &canned_reply::CannedReply| {
        other.channels.as_ref().is_none_or(|channels| channels.iter().any(|name| caller.sees(name)))
    };
    let current = other.filter(is_shown);
    let current = current.map(|other| shown(&within(caller, other)));
    Problem::conflict("name_taken", "there is a reply with that shortcut", current)
}

/// Tells whom it concerns: its owner, or those who see a channel that it is or was for.
async fn noted(
    doors: &Doors,
    caller: &Caller,
    action: &'static str,
    reply: &canned_reply::CannedReply,
    was_for: Option<&[String]>,
) {
    let mut event = Entry::of(EventType::CannedReplyUpdated).action(action).by(&caller.actor);
    event = event.with("canned_reply_id", reply.id.to_string());
    if let Some(owner) = reply.owner {
        event = event.with(OWNER, owner.to_string());
    }
    event = event.for_channels(reply.channels.as_deref(), was_for);
    doors.tell(event.outside("", (doors.now)())).await;
}
