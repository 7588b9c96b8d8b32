//! Conversations: lists, counts, one, and what people change of them.

use actix_web::web::{Data, Path};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{Answered, key, labels, seen, told};
use crate::{
    domain::{conversation::Status, label::fold},
    flow::{
        archive::{self, ConversationFilter, Group, Overview, Sort},
        back_office::{audit::Deed, people::Agent},
        desk::Patch,
        ledger::Error,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Json, Optional, Query, given},
        wire::{At, Conversation, Id, List, ModeWord, StatusWord},
    },
};

/// The group of what the caller holds.
const MINE: &str = "mine";

/// Longest name of a contact.
const NAME_MAX: usize = 256;

/// Which conversations.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// On this channel.
    channel: Option<String>,
    /// Of this chat, by any of its ids.
    chat_id: Option<String>,
    mode: Option<ModeWord>,
    status: Option<StatusWord>,
    /// Held by `me`, `none`, or the agent with this id.
    assignee: Option<String>,
    /// With the label of this name.
    label: Option<String>,
    /// A person is needed.
    attention: Option<bool>,
    /// `needs_you`, `mine`, `ai` or `all`.
    #[param(pattern = "^(needs_you|mine|ai|all)$")]
    group: Option<String>,
    /// With messages that no agent has read.
    unread: Option<bool>,
    /// In which something has changed since then. On PostgreSQL a change may be seen some seconds after a later one: those who
    /// keep copies ask from half a minute before the newest `updated_at` that they know, and compare, or follow the feed.
    /// The name of a label or of an agent changes in all that bear it without changing them: they read `/labels` and
    /// `/agents` again.
    updated_since: Option<At>,
    /// Words, in whatever case, in the contact's name, the digits of the phone, or one of the conversation's newest 1,000
    /// messages: each item then has `match`, the newest message that holds them, or null if none does. A search looks for
    /// three seconds (enough for ten thousand conversations and more); a page may then be short, or empty, and still have a
    /// `next_cursor`, from which it continues. Counts are then lower bounds.
    q: Option<String>,
    /// `-last_message_at`, `waiting_since` (those who wait for our side, longest first; nobody else) or `-updated_at`.
    #[param(pattern = "^(-last_message_at|waiting_since|-updated_at)$")]
    sort: Option<String>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl ListQuery {
    /// As the archive takes it; None if nothing can match.
    async fn filter(self, doors: &Doors, caller: &Caller) -> Result<Option<ConversationFilter>, Problem> {
        let assignee = match self.assignee.as_deref() {
            None => None,
            Some("none") => Some(None),
            Some("me") => match caller.agent {
                Some(agent) => Some(Some(agent)),
                None => return Ok(None),
            },
            Some(id) => Some(Some(agent(id)?)),
        };
        let group = match self.group.as_deref() {
            None | Some("all") => None,
            Some("needs_you") => Some(Group::NeedsYou),
            Some("ai") => Some(Group::Ai),
            Some(MINE) => match caller.agent {
                Some(agent) => Some(Group::Mine(agent)),
                None => return Ok(None),
            },
            Some(_) => return Err(Problem::invalid("/group", "is not one of needs_you, mine, ai, all")),
        };
        let sort = match self.sort.as_deref() {
            None | Some("-last_message_at") => Sort::LastMessage,
            Some("waiting_since") => Sort::WaitingSince,
            Some("-updated_at") => Sort::Updated,
            Some(_) => {
                let detail = "is not one of -last_message_at, waiting_since, -updated_at";
                return Err(Problem::invalid("/sort", detail));
            }
        };
        let known = if self.label.is_some() { doors.labels_and_replies.labels().await? } else { Vec::new() };
        let label = match self.label {
            None => None,
            Some(name) => match known.iter().find(|label| fold(&label.name) == fold(&name)) {
                Some(label) => Some(label.id),
                None => return Ok(None),
            },
        };
        Ok(Some(ConversationFilter {
            channels: caller.within(self.channel),
            chat: self.chat_id.map(|raw| read::chat("/chat_id", &raw)).transpose()?,
            mode: self.mode.map(|word| word.0),
            status: self.status.map(|word| word.0),
            assignee,
            label,
            attention: self.attention,
            group,
            unread: self.unread,
            updated_since: self.updated_since.map(|at| at.0),
            words: self.q.filter(|words| !words.trim().is_empty()),
            sort,
        }))
    }
}

fn agent(id: &str) -> Result<Uuid, Problem> {
    Uuid::try_parse(id).map_err(|_| Problem::invalid("/assignee", "not an id of an agent"))
}

/// A list of conversations.
#[utoipa::path(get, path = "/api/v1/conversations", tag = "Conversations", params(ListQuery),
    responses((status = 200, body = List<Conversation>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    let mut which = query.0;
    let page = read::page(which.limit.take(), which.cursor.take())?;
    let Some(filter) = which.filter(&doors, &caller).await? else {
        return Ok(Answer::ok(&List::<Conversation> { items: Vec::new(), next_cursor: None }));
    };
    let page = doors.archive.conversations(&filter, &page).await?;
    let names = doors.directory.names().await;
    let is_search = filter.words.is_some();
    Ok(Answer::ok(&List::of(page, |mut overview| {
        let said = overview.said.take();
        let shown = Conversation::of(overview, &names);
        if is_search { shown.found(said) } else { shown }
    })))
}

/// How many conversations there are in each group.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Counts {
    needs_you: i64,
    mine: i64,
    ai: i64,
    all: i64,
    unread: i64,
}

/// How many of these conversations there are, by group: each is counted, whichever `group` names.
///
/// They are counted once for all who ask the same, and the less often the longer it takes: a request meanwhile waits for the
/// next count, ten seconds at most before it begins.
#[utoipa::path(get, path = "/api/v1/conversations/counts", tag = "Conversations", params(ListQuery),
    responses((status = 200, body = Counts)))]
pub(crate) async fn counts(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    let mut which = query.0;
    // Counts have no pages; a limit that no page may have is told all the same.
    read::limit_of(which.limit)?;
    // Whoever has no group of their own has the others all the same.
    which.group.take_if(|group| group == MINE);
    let Some(filter) = which.filter(&doors, &caller).await? else {
        return Ok(Answer::ok(&Counts::default()));
    };
    let filter = ConversationFilter { group: None, ..filter };
    let counting = doors.count_cache.of(&filter, async |filter| doors.archive.counts(filter).await);
    let counted = tokio::select! {
        biased;
        // Nobody who waits for the next count holds up the end.
        () = doors.stopping.cancelled() => return Err(Error::Unavailable("the server stops".into()).into()),
        counted = counting => counted?,
    };
    let archive::Counts { needs_you, held, ai, all, unread } = counted;
    let mine = caller.agent.and_then(|agent| held.get(&agent).copied()).unwrap_or_default();
    Ok(Answer::ok(&Counts { needs_you, mine, ai, all, unread }))
}

/// One conversation.
#[utoipa::path(get, path = "/api/v1/conversations/{id}", tag = "Conversations", params(("id" = Id, Path,)),
    responses((status = 200, body = Conversation)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    shown(&doors, seen(&doors, &caller, id.0).await?).await
}

/// With the names that agents have now.
async fn shown(doors: &Doors, overview: Overview) -> Answered {
    let names = doors.directory.names().await;
    Ok(Answer::ok(&Conversation::of(overview, &names)))
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ConversationChange)]
pub(crate) struct ConversationChange {
    status: Option<StatusWord>,
    /// With `snoozed`: until when.
    snoozed_until: Option<At>,
    /// An agent's id, `me`, or null for nobody.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    assignee: Option<Option<String>>,
    /// Only if this agent, or nobody, holds it now.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    expected_assignee: Option<Option<String>>,
    /// The names of all its labels.
    labels: Option<Vec<String>>,
    /// Labels to put on, in place of naming all.
    add_labels: Option<Vec<String>>,
    /// Labels to take off.
    remove_labels: Option<Vec<String>>,
    /// In HUMAN, the assistant suggests.
    drafting: Option<bool>,
    /// Null: the call for a person is answered.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    attention: Option<Option<serde_json::Value>>,
    /// False: the contact wants follow-ups again. Only their own words opt out.
    opted_out: Option<bool>,
    contact: Option<ContactChange>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ContactChange {
    name: String,
}

impl ConversationChange {
    pub(super) async fn patch(self, doors: &Doors, caller: &Caller) -> Result<Patch, Problem> {
        let status = match (self.status.map(|word| word.0), self.snoozed_until) {
            (Some(Status::Snoozed), Some(until)) => Some((Status::Snoozed, Some(until.0))),
            (Some(Status::Snoozed), None) => {
                return Err(Problem::invalid("/snoozed_until", "is needed with snoozed"));
            }
            (_, Some(_)) => {
                return Err(Problem::invalid("/snoozed_until", "goes with the status snoozed only"));
            }
            (status, None) => status.map(|status| (status, None)),
        };
        let person = |pointer: &str, name: Option<Option<String>>| match name {
            None => Ok(None),
            Some(None) => Ok(Some(None)),
            Some(Some(name)) if name == "me" => match caller.agent {
                Some(agent) => Ok(Some(Some(agent))),
                None => Err(Problem::invalid(pointer, "this token acts as no agent")),
            },
            Some(Some(id)) => match Uuid::try_parse(&id) {
                Ok(id) => Ok(Some(Some(id))),
                Err(_) => Err(Problem::invalid(pointer, "not an id of an agent")),
            },
        };
        if matches!(self.attention, Some(Some(_))) {
            return Err(Problem::invalid("/attention", "can only be set to null"));
        }
        if self.opted_out == Some(true) {
            return Err(Problem::invalid("/opted_out", "can only be set to false"));
        }
        let names = labels::Names { whole: self.labels, add: self.add_labels, remove: self.remove_labels };
        Ok(Patch {
            status,
            assignee: person("/assignee", self.assignee)?,
            expected_assignee: person("/expected_assignee", self.expected_assignee)?,
            labelling: names.labelling(doors).await?,
            drafting: self.drafting,
            clear_attention: self.attention.is_some(),
            lets_follow_up: self.opted_out.is_some(),
            contact_name: self
                .contact
                .map(|contact| read::text("/contact/name", contact.name, NAME_MAX))
                .transpose()?,
        })
    }
}

/// Changes one.
#[utoipa::path(patch, path = "/api/v1/conversations/{id}", tag = "Conversations", params(("id" = Id, Path,)),
    request_body = ConversationChange, responses((status = 200, body = Conversation)))]
pub(crate) async fn change(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    body: Json<ConversationChange>,
) -> Answered {
    let patch = body.value.patch(&doors, &caller).await?;
    let key = key(&doors, &caller, id.0).await?;
    if let Some(agent) = holder(&doors, &patch).await? {
        check_sees(&agent, &seen(&doors, &caller, id.0).await?.conversation.channel)?;
    }
    let id = match doors.desk.patch(key.clone(), patch, &caller.who()).await {
        Ok(id) => id,
        Err(refusal) => return Err(told(&doors, &key, refusal).await),
    };
    shown(&doors, seen(&doors, &caller, id).await?).await
}

/// A conversation is held by somebody who can open it: who that is to be, if it is given to anybody.
pub(super) async fn holder(doors: &Doors, patch: &Patch) -> Result<Option<Agent>, Problem> {
    let Some(Some(id)) = patch.assignee else { return Ok(None) };
    match doors.people.agent(id).await? {
        None => Err(Problem::invalid("/assignee", "there is no such agent")),
        Some(agent) if agent.is_disabled => Err(Problem::invalid("/assignee", "this agent is disabled")),
        Some(agent) => Ok(Some(agent)),
    }
}

/// They must see where it is.
pub(super) fn check_sees(agent: &Agent, channel: &str) -> Result<(), Problem> {
    if agent.sees(channel) {
        return Ok(());
    }
    Err(Problem::invalid("/assignee", "this agent does not see this channel"))
}

/// How far it was read.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpTo {
    /// The newest message read; if left out, the newest there is. One that is older than what was read already changes nothing.
    seq: Option<i64>,
}

/// Marks one read, for all agents.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/read", tag = "Conversations", params(("id" = Id, Path,)),
    request_body = Option<UpTo>, responses((status = 200, body = Conversation)))]
pub(crate) async fn read(doors: Data<Doors>, caller: Caller, id: Path<Id>, body: Optional<UpTo>) -> Answered {
    if body.value.seq.is_some_and(|seq| seq < 0) {
        return Err(Problem::invalid("/seq", "must not be negative"));
    }
    let key = key(&doors, &caller, id.0).await?;
    doors.desk.read(key, body.value.seq, &caller.who()).await?;
    shown(&doors, seen(&doors, &caller, id.0).await?).await
}

/// Marks one unread again.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}/read", tag = "Conversations", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn unread(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let key = key(&doors, &caller, id.0).await?;
    doors.desk.unread(key, &caller.who()).await?;
    Ok(Answer::empty())
}

/// The chat, so that nobody erases another one.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Confirmation {
    /// The conversation's `chat_id`, or one of its `aliases`.
    confirm: Option<String>,
}

/// Erases the person: messages, events, drafts, turns, notes, dead letters, all that is kept of them, for good. What stays
/// is a keyed hash of each message's id, by which its late webhook is known and ignored. A new message of theirs begins
/// another conversation.
#[utoipa::path(delete, path = "/api/v1/conversations/{id}", tag = "Conversations",
    params(("id" = Id, Path,), Confirmation), responses((status = 204)))]
pub(crate) async fn erase(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<Confirmation>,
) -> Answered {
    let overview = seen(&doors, &caller, id.0).await?;
    let chat = &overview.conversation.chat;
    let is_right = |confirmed: &str| {
        chat.as_str() == confirmed || overview.aliases.iter().any(|alias| alias.as_str() == confirmed)
    };
    if !query.0.confirm.as_deref().is_some_and(is_right) {
        let detail = format!("erases this person for good, if it is their chat: confirm={chat}");
        return Err(Problem::invalid("/confirm", detail));
    }
    let closed = doors.eraser.close(id.0, &caller.who().actor).await?;
    // It is done from here on: rows that are left go by themselves.
    let deed = doors.deed(&caller, Deed::Erased).to(id.0);
    doors.note(deed.with("channel", overview.conversation.channel.as_str())).await;
    doors.eraser.remove(&closed).await?;
    Ok(Answer::empty())
}
