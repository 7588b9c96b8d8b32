//! Rules: an agent who loses access to a conversation, or is disabled, no longer holds it.
//!
//! In: the agent, and what they still see. Out: what they held of the rest and is not closed, held by nobody, each conversation
//! in a step of its own.

use futures_util::{StreamExt as _, stream};
use uuid::Uuid;

use super::{Desk, Refusal, Who, patch};
use crate::{
    domain::{conversation::Status, docket::Docket},
    flow::{
        archive::{ConversationFilter, PageOf},
        ledger::{self, Key, Need, change},
    },
};

/// Conversations read at once, and freed before the next are read.
const PAGE: usize = 100;
/// Conversations freed at the same time: those who write with contacts do not wait for it.
const AT_ONCE: usize = 8;

impl Desk {
    /// Frees what an agent holds of what is not closed, except on these channels. Returns how many conversations that were.
    /// Cut off in the middle, it can be done again, and frees the rest.
    pub async fn free(&self, agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal> {
        let mut all = 0;
        // One in which somebody writes meanwhile moves to the front of the list, behind the reader.
        loop {
            match self.free_once(agent, except, who).await? {
                0 => return Ok(all),
                freed => all += freed,
            }
        }
    }

    async fn free_once(&self, agent: Uuid, except: &[String], who: &Who) -> Result<usize, Refusal> {
        let mut freed = 0;
        for status in [Status::Open, Status::Snoozed] {
            let filter = ConversationFilter {
                status: Some(status),
                assignee: Some(Some(agent)),
                ..ConversationFilter::default()
            };
            let mut cursor = None;
            loop {
                let page = self.archive.conversations(&filter, &PageOf { limit: PAGE, cursor }).await?;
                let all = page.items.iter().map(|it| &it.conversation);
                let ids = all.filter(|it| !except.contains(&it.channel)).map(|it| it.id).collect();
                freed += self.free_these(ids, agent, who).await?;
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(freed)
    }

    /// Whether or not their channel runs here.
    async fn free_these(&self, ids: Vec<Uuid>, agent: Uuid, who: &Who) -> Result<usize, Refusal> {
        let changes = ids.into_iter().map(|id| {
            let by = who.actor.clone();
            let step = move |docket: &mut Docket| {
                let is_theirs = docket.conversation.assignee == Some(agent);
                if is_theirs {
                    patch::assign(docket, None, &by);
                }
                is_theirs
            };
            change(&*self.ledger, Key::Id(id), Need::default(), step)
        });
        let outcomes: Vec<_> = stream::iter(changes).buffer_unordered(AT_ONCE).collect().await;
        let mut freed = 0;
        for outcome in outcomes {
            match outcome {
                Ok(is_theirs) => freed += usize::from(is_theirs),
                Err(ledger::Error::Gone) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(freed)
    }
}
