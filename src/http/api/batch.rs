//! The same for several conversations at once: a change, or a switch. Each has an answer of its own.

use std::{collections::HashMap, time::Duration};

use actix_web::web::Data;
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    Answered,
    conversations::{ConversationChange, check_sees, holder},
    modes::Switch,
    told,
};
use crate::{
    domain::mode::Mode,
    flow::{archive::Overview, back_office::people::Agent, desk::Patch, ledger::Key, mode_switch},
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        idempotent,
        problem::Problem,
        read::{IdempotencyKey, Json},
        wire::{Conversation, Id, Receipt},
    },
};

/// Most conversations of one request.
const IDS_MAX: usize = 100;

/// How many are worked on at once: nobody else should wait for a batch.
const AT_ONCE: usize = 16;

/// What to do, with which conversations. Exactly one of `set` and `mode`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// 1 to 100, each once.
    ids: Vec<Id>,
    /// As the change of one conversation.
    set: Option<ConversationChange>,
    /// As the switch of one conversation.
    mode: Option<Switch>,
}

/// What became of each.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Results {
    /// In the order of the ids.
    items: Vec<Outcome>,
}

/// What became of one of them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchResult)]
struct Outcome {
    id: Id,
    /// As a request about this conversation alone would have been answered.
    status: u16,
    /// After a change: the conversation as it is now; of one that was merged, that in which it continues.
    conversation: Option<Conversation>,
    /// After a switch: what it did.
    receipt: Option<Receipt>,
    /// Why it was refused.
    #[schema(value_type = Option<crate::http::problem::Document<'_>>)]
    problem: Option<Value>,
}

impl Outcome {
    const fn of(id: Uuid) -> Self {
        Self { id: Id(id), status: 200, conversation: None, receipt: None, problem: None }
    }

    fn refused(id: Uuid, problem: &Problem) -> Self {
        let status = problem.status().as_u16();
        Self { status, problem: Some(problem.document()), ..Self::of(id) }
    }
}

/// Changes several conversations, or switches them, each by itself: what one is refused, others may be granted.
///
/// A switch stops the assistant everywhere before it waits for anything. It waits until all are settled, for as long as
/// a switch of one would. A repeat with the same `Idempotency-Key` answers as the first did, and does nothing.
#[utoipa::path(post, path = "/api/v1/conversations/batch", tag = "Conversations",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = Batch, responses((status = 200, body = Results)))]
pub(crate) async fn batch(
    doors: Data<Doors>,
    caller: Caller,
    once: IdempotencyKey,
    body: Json<Batch>,
) -> Answered {
    let request = once.of(&caller, body.hash());
    idempotent::once(&doors, request, done(&doors, &caller, body.value)).await
}

async fn done(doors: &Doors, caller: &Caller, batch: Batch) -> Answered {
    let ids: Vec<Uuid> = batch.ids.into_iter().map(|id| id.0).collect();
    if !(1..=IDS_MAX).contains(&ids.len()) {
        return Err(Problem::invalid("/ids", format!("must be 1 to {IDS_MAX}")));
    }
    if let Some(at) = (1..ids.len()).find(|at| ids[..*at].contains(&ids[*at])) {
        return Err(Problem::invalid(format!("/ids/{at}"), "is named twice"));
    }
    let act = match (batch.set, batch.mode) {
        (Some(set), None) => {
            let patch = set.patch(doors, caller).await.map_err(|problem| problem.under("/set"))?;
            let holder = holder(doors, &patch).await.map_err(|problem| problem.under("/set"))?;
            Act::Set(patch, holder)
        }
        (None, Some(mode)) => {
            let wanted = mode.request(caller, (doors.now)(), doors.settle_ms);
            let (to, request) = wanted.map_err(|problem| problem.under("/mode"))?;
            Act::Switch(to, request)
        }
        _ => return Err(Problem::invalid("", "exactly one of set and mode")),
    };
    let seen = seen(doors, caller, &ids).await?;
    let (there, gone): (Vec<Uuid>, Vec<Uuid>) = ids.iter().partition(|id| seen.contains_key(id));
    let mut outcomes = match act {
        Act::Set(patch, holder) => {
            let (mut can, mut cannot) = (there, Vec::new());
            if let Some(holder) = holder {
                can.retain(|id| match seen.get(id).map(|it| check_sees(&holder, &it.conversation.channel)) {
                    Some(Err(problem)) => {
                        cannot.push(Outcome::refused(*id, &problem.under("/set")));
                        false
                    }
                    Some(Ok(())) | None => true,
                });
            }
            cannot.extend(set(doors, caller, can, patch).await?);
            cannot
        }
        Act::Switch(to, request) => switch(doors, there, to, request).await,
    };
    outcomes.extend(gone.into_iter().map(|id| Outcome::refused(id, &Problem::not_found())));
    outcomes.sort_by_key(|outcome| ids.iter().position(|id| *id == outcome.id.0));
    Ok(Answer::ok(&Results { items: outcomes }))
}

enum Act {
    /// What, and to whom they are given.
    Set(Patch, Option<Agent>),
    Switch(Mode, mode_switch::Request),
}

/// Those that are there for the caller, as they are now.
async fn seen(doors: &Doors, caller: &Caller, ids: &[Uuid]) -> Result<HashMap<Uuid, Overview>, Problem> {
    let found = doors.archive.overviews(ids).await?.into_iter();
    let seen = found.filter(|overview| caller.sees(&overview.conversation.channel));
    Ok(seen.map(|overview| (overview.conversation.id, overview)).collect())
}

async fn set(doors: &Doors, caller: &Caller, ids: Vec<Uuid>, patch: Patch) -> Result<Vec<Outcome>, Problem> {
    let who = caller.who();
    let changes = ids.into_iter().map(|id| {
        let (key, patch, who) = (Key::Id(id), patch.clone(), &who);
        async move {
            match doors.desk.patch(key.clone(), patch, who).await {
                Ok(changed) => (id, Ok(changed)),
                Err(refusal) => (id, Err(told(doors, &key, refusal).await.under("/set"))),
            }
        }
    });
    let changes: Vec<(Uuid, Result<Uuid, Problem>)> = stream::iter(changes).buffered(AT_ONCE).collect().await;
    // What was asked of one that was merged was done in the one where it goes on.
    let changed: Vec<Uuid> =
        changes.iter().filter_map(|(_, changed)| changed.as_ref().ok().copied()).collect();
    let seen = seen(doors, caller, &changed).await?;
    let names = doors.directory.names().await;
    let outcome = |(id, changed): (Uuid, Result<Uuid, Problem>)| match changed.map(|it| seen.get(&it)) {
        Ok(Some(overview)) => {
            let conversation = Some(Conversation::of(overview.clone(), &names));
            Outcome { conversation, ..Outcome::of(id) }
        }
        Ok(None) => Outcome::refused(id, &Problem::not_found()),
        Err(problem) => Outcome::refused(id, &problem),
    };
    Ok(changes.into_iter().map(outcome).collect())
}

async fn switch(doors: &Doors, ids: Vec<Uuid>, to: Mode, request: mode_switch::Request) -> Vec<Outcome> {
    let settle_ms = request.settle_ms.unwrap_or(doors.settle_ms).max(0);
    // First all of them, without waiting for any: one whose send hangs does not leave the assistant talking in the next.
    let switches = ids.into_iter().map(|id| {
        let id_of_request = Uuid::now_v7().to_string();
        let request = mode_switch::Request { id: id_of_request, settle_ms: Some(0), ..request.clone() };
        async move { (id, doors.mode_switch.switch(Key::Id(id), to, request).await) }
    });
    let switched: Vec<_> = stream::iter(switches).buffered(AT_ONCE).collect().await;
    let deadline = Instant::now() + Duration::from_millis(settle_ms.unsigned_abs());
    let settling = switched.into_iter().map(|(id, switched)| async move {
        let settled = match switched {
            Ok(receipt) if !receipt.settled => {
                let limit = deadline.saturating_duration_since(Instant::now());
                doors.mode_switch.settle(receipt, limit).await
            }
            switched => switched,
        };
        (id, settled)
    });
    let settled: Vec<_> = stream::iter(settling).buffered(AT_ONCE).collect().await;
    let names = doors.directory.names().await;
    let mut outcomes = Vec::with_capacity(settled.len());
    for (id, settled) in settled {
        outcomes.push(match settled {
            Ok(receipt) => Outcome { receipt: Some(Receipt::of(receipt, &names)), ..Outcome::of(id) },
            Err(refusal) => Outcome::refused(id, &told(doors, &Key::Id(id), refusal).await),
        });
    }
    outcomes
}
