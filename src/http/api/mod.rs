//! The API: one file a noun. A route reads the request, asks a place or a step, shows the answer.

pub(crate) mod session;

pub(crate) mod me;

pub(crate) mod agents;

pub(crate) mod audit;

pub(crate) mod conversations;

pub(crate) mod batch;

pub(crate) mod modes;

pub(crate) mod messages;

pub(crate) mod media;

pub(crate) mod follow_ups;

pub(crate) mod drafts;

pub(crate) mod turns;

pub(crate) mod live;

pub(crate) mod events;

pub(crate) mod dead_letters;

pub(crate) mod export;

pub(crate) mod channels;

pub(crate) mod qr;

pub(crate) mod labels;

pub(crate) mod canned_replies;

pub(crate) mod tokens;

pub(crate) mod webhook_endpoints;

pub(crate) mod stats;

pub(crate) mod settings;

pub(crate) mod sandbox;

use serde_json::Value;
use uuid::Uuid;

use super::{auth::Caller, doors::Doors, problem::Problem, wire};
use crate::{
    domain::chat::ChatId,
    flow::{
        archive::{Overview, Page, Placed},
        ledger::{Error, Key},
    },
};

/// What a handler gives.
type Answered = Result<super::answer::Answer, Problem>;

/// The conversation, if it is there for the caller.
async fn seen(doors: &Doors, caller: &Caller, id: Uuid) -> Result<Overview, Problem> {
    let found = doors.archive.conversation(id).await?;
    found.filter(|overview| caller.sees(&overview.conversation.channel)).ok_or_else(Problem::not_found)
}

/// The message, if it is there for the caller.
async fn seen_message(doors: &Doors, caller: &Caller, id: Uuid) -> Result<Placed, Problem> {
    let found = doors.archive.message(id).await?;
    found.filter(|placed| caller.sees(&placed.channel)).ok_or_else(Problem::not_found)
}

/// The key of a conversation. The step finds out whether it is there; only who may not see everything must look first.
async fn key(doors: &Doors, caller: &Caller, id: Uuid) -> Result<Key, Problem> {
    if caller.channels.is_some() {
        seen(doors, caller, id).await?;
    }
    Ok(Key::Id(id))
}

/// The key of a chat, also before its first message. The step begins the conversation by the channel's policy.
async fn chat_key(doors: &Doors, caller: &Caller, channel: String, chat: &str) -> Result<Key, Problem> {
    if !caller.sees(&channel) || !doors.channels.knows(&channel).await {
        return Err(Problem::not_found());
    }
    let chat: ChatId = super::read::chat("/chat_id", chat)?;
    Ok(Key::Chat { channel, chat, opening: None })
}

/// A refusal, told with the conversation as it is where that is what it is about. Where that cannot be read, whoever asks is
/// told to ask again: a conflict that does not show with what, nobody can act on.
async fn told(doors: &Doors, key: &Key, refusal: impl Into<Problem>) -> Problem {
    let problem = refusal.into();
    if problem.status() != actix_web::http::StatusCode::CONFLICT {
        return problem;
    }
    let found = match key {
        Key::Id(id) => doors.archive.conversation(*id).await,
        Key::Chat { channel, chat, .. } => doors.archive.conversation_of(channel, chat).await,
    };
    match found {
        Ok(found) => {
            let names = doors.directory.names().await;
            problem.with_current(found.map(|overview| shown(&wire::Conversation::of(overview, &names))))
        }
        Err(error) => error.into(),
    }
}

/// A list whose cursor may be none of ours.
fn listed<T>(page: Result<Page<T>, Error>) -> Result<Page<T>, Problem> {
    page.map_err(|error| match error {
        Error::Refused(_) => Problem::invalid("/cursor", "not a cursor of this list"),
        other => other.into(),
    })
}

/// A page of a list that is small enough to be kept whole; the cursor is the name of the last one shown.
fn page_of<T>(
    all: Vec<T>,
    limit: usize,
    cursor: Option<&str>,
    name: impl Fn(&T) -> String,
) -> Result<Page<T>, Problem> {
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let at = all.iter().position(|item| name(item) == cursor);
            at.ok_or_else(|| Problem::invalid("/cursor", "not a cursor of this list"))? + 1
        }
    };
    let has_more = all.len() > from + limit;
    let items: Vec<T> = all.into_iter().skip(from).take(limit).collect();
    let next = items.last().filter(|_| has_more).map(name);
    Ok(Page { items, next })
}

fn shown(value: &impl serde::Serialize) -> Value {
    // As for `to_json`: no wire type has keys that are no strings.
    serde_json::to_value(value).unwrap_or_default()
}
