//! Who has changed what of the installation, let whom in, or taken data out of it.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::Answered;
use crate::{
    flow::{
        archive::Page,
        back_office::audit::{AuditFilter, Audited},
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Query},
        wire::{At, DeedWord, Id, List, Word},
    },
};

/// Which actions, and which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Of this actor, such as `agent:{id}`.
    actor: Option<String>,
    /// Of this kind.
    action: Option<DeedWord>,
    /// At this time or later.
    since: Option<At>,
    /// Before this time.
    until: Option<At>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A recorded action.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    id: Id,
    at: At,
    actor: String,
    action: DeedWord,
    /// To what: an id or a name.
    subject: Option<String>,
    details: Map<String, Value>,
}

impl From<Audited> for AuditEntry {
    fn from(deed: Audited) -> Self {
        Self {
            id: Id(deed.id),
            at: At(deed.at),
            actor: deed.actor,
            action: Word(deed.deed),
            subject: deed.subject,
            details: deed.details,
        }
    }
}

/// Sign-ins, and what was done to agents, tokens, channels and data, newest first. For who may see all channels.
///
/// Of sign-ins that were refused at most ten are written down in a minute, the next with how many were `left_out`; they are
/// kept for 90 days, all else for good.
#[utoipa::path(get, path = "/api/v1/audit", tag = "Installation", params(ListQuery),
    responses((status = 200, body = List<AuditEntry>)))]
pub(crate) async fn list(doors: Data<Doors>, caller: Caller, query: Query<ListQuery>) -> Answered {
    if caller.channels.is_some() {
        return Err(Problem::forbidden("the audit is about all channels"));
    }
    let which = query.0;
    let limit = read::limit_of(which.limit)?;
    let before = match which.cursor {
        Some(cursor) => Some(
            cursor.parse::<Uuid>().map_err(|_| Problem::invalid("/cursor", "not a cursor of this list"))?,
        ),
        None => None,
    };
    let filter = AuditFilter {
        actor: which.actor,
        deed: which.action.map(|word| word.0),
        since: which.since.map(|at| at.0),
        until: which.until.map(|at| at.0),
        before,
    };
    let mut items = doors.audit.audited(&filter, limit + 1).await?;
    let goes_on = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| goes_on).map(|last| last.id.to_string());
    Ok(Answer::ok(&List::of(Page { items, next }, AuditEntry::from)))
}
