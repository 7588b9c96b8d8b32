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

mod gateways;

pub(crate) mod qr;

pub(crate) mod labels;

pub(crate) mod canned_replies;

pub(crate) mod tokens;

pub(crate) mod webhook_endpoints;

pub(crate) mod stats;

pub(crate) mod settings;

pub(crate) mod sandbox;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use uuid::Uuid;

use super::{answer::to_json, auth::Caller, doors::Doors, problem::Problem, wire};
use crate::{
    domain::{chat::ChatId, payload::Payload},
    flow::{
        archive::{Overview, Page, PageOf, Placed},
        instance::channels::NotSetUp,
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
    if !caller.sees(&channel) {
        return Err(Problem::not_found());
    }
    if !doors.channels.knows(&channel).await {
        channels::seen(doors, caller, &channel).await?;
        return Err(NotSetUp.into());
    }
    let chat: ChatId = super::read::chat("/chat_id", chat)?;
    Ok(Key::Chat { channel, chat, opening: None })
}

/// A refusal, with the conversation as it is where that is what it is about. Where that cannot be read, the caller is told to
/// ask again: nobody can act on a conflict that does not show with what.
async fn told(doors: &Doors, key: &Key, refusal: impl Into<Problem>) -> Problem {
    let problem = refusal.into();
    if problem.status() != actix_web::http::StatusCode::CONFLICT {
        return problem;
    }
    match as_it_is(doors, key).await {
        Ok(found) => {
            let names = doors.directory.names().await;
            problem.with_current(found.map(|overview| shown(&wire::Conversation::of(overview, &names))))
        }
        Err(error) => error.into(),
    }
}

/// The conversation of a key, or the one in which it continues: that is where the step ran.
async fn as_it_is(doors: &Doors, key: &Key) -> Result<Option<Overview>, Error> {
    let mut found = match key {
        Key::Id(id) => doors.archive.conversation(*id).await?,
        Key::Chat { channel, chat, .. } => doors.archive.conversation_of(channel, chat).await?,
    };
    while let Some(stays) = found.as_ref().and_then(|overview| overview.conversation.memo.merged_into) {
        found = doors.archive.conversation(stays).await?;
    }
    Ok(found)
}

/// A page of a list that is small enough to be kept whole. The cursor is the place of the last one shown, by which the list is
/// put in order here, whatever order a database knows: the next page begins behind it, also where that one is gone by then, or is
/// called otherwise.
fn page_of<T, P>(all: Vec<T>, page: &PageOf, place: impl Fn(&T) -> P) -> Result<Page<T>, Problem>
where
    P: Ord + Serialize + DeserializeOwned,
{
    let not_ours = || Problem::invalid("/cursor", "not a cursor of this list");
    let read = |cursor: &String| {
        let json = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        serde_json::from_slice::<P>(&json).ok()
    };
    let after = page.cursor.as_ref().map(|cursor| read(cursor).ok_or_else(not_ours)).transpose()?;
    let is_behind = |item: &T| after.as_ref().is_none_or(|after| place(item) > *after);
    let mut items: Vec<T> = all.into_iter().filter(is_behind).collect();
    items.sort_by_cached_key(&place);
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let next = items.last().filter(|_| has_more).map(|last| URL_SAFE_NO_PAD.encode(to_json(&place(last))));
    Ok(Page { items, next })
}

fn shown(value: &impl Serialize) -> Payload {
    // As for `to_json`: no wire type has keys that are no strings.
    Payload::of(value).unwrap_or_else(|_| Value::Null.into())
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_a_fault_of_ours_and_no_wrong_cursor() {
        let code = |error| Problem::from(error).code();
        assert_eq!(code(Error::NotACursor), "invalid");
        assert_eq!(code(Error::Refused("no number".into())), "internal");
        assert_eq!(code(Error::Unavailable("away".into())), "unavailable");
    }

    #[test]
    fn a_page_begins_behind_the_one_before_whatever_was_removed_meanwhile() {
        let asked = |cursor| PageOf { limit: 2, cursor };
        let by_name = |name: &&str| (*name).to_owned();
        let first = page_of(vec!["a", "b", "c", "d"], &asked(None), by_name).expect("a page");
        assert_eq!(first.items, ["a", "b"]);
        let next = page_of(vec!["c", "d"], &asked(first.next.clone()), by_name).expect("a page");
        assert_eq!((next.items, next.next), (vec!["c", "d"], None));
        let renamed = page_of(vec!["a", "c", "d", "e", "z"], &asked(first.next), by_name).expect("a page");
        assert_eq!((renamed.items, renamed.next.is_some()), (vec!["c", "d"], true));
        let newest = |at: &i64| (Reverse(*at), at.to_string());
        let first = page_of(vec![9, 8, 7], &asked(None), newest).expect("a page");
        assert_eq!(page_of(vec![10, 9, 7], &asked(first.next), newest).expect("a page").items, [7]);
        // A database may sort words by a language.
        let first = page_of(vec!["ana", "Ben", "Zoe"], &asked(None), by_name).expect("a page");
        let next = page_of(vec!["ana", "Ben", "Zoe"], &asked(first.next), by_name).expect("a page");
        assert_eq!((first.items, next.items), (vec!["Ben", "Zoe"], vec!["ana"]));
        for cursor in ["b", "", "%", "W10"] {
            let refused = page_of(vec!["a"], &asked(Some(cursor.to_owned())), by_name);
            assert!(refused.is_err(), "{cursor}");
        }
    }
}
