//! Follow-ups, by due time.

use uuid::Uuid;

use super::{
    cursor,
    filter::{Conditions, IS_THERE},
};
use crate::{
    adapters::sql::{Statement, Store, cell, decode},
    domain::turn::{FollowUp, FollowUpState},
    flow::{
        archive::{FollowUpFilter, Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "follow-ups";

/// A page of them, each with its conversation.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &FollowUpFilter,
    page: &PageOf,
) -> Result<Page<(Uuid, FollowUp)>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement
        .columns::<FollowUp>("f")
        .push(" from follow_ups f join conversations c on c.id = f.conversation_id");
    let mut conditions = Conditions::default();
    let state = wanted.state.unwrap_or(FollowUpState::Pending);
    conditions.next(&mut statement).push("f.state = ").bind(state.as_str());
    conditions.next(&mut statement).push(IS_THERE);
    conditions.channels(&mut statement, S::ENGINE, "c.channel", wanted.channels.as_deref());
    if let Some(conversation) = wanted.conversation {
        conditions.next(&mut statement).push("f.conversation_id = ").bind(conversation);
    }
    if let Some(before) = wanted.due_before {
        conditions.next(&mut statement).push("f.due_at < ").bind(before);
    }
    if let Some((due_at, id)) = after {
        conditions.next(&mut statement).push("(f.due_at, f.id) > (").bind(due_at);
        statement.push(", ").bind(id).push(")");
    }
    statement.push(" order by f.due_at, f.id limit ").bind(cursor::rows_asked(page));
    let rows = store.rows(statement).await?;
    let found: Result<Vec<(Uuid, FollowUp)>, Error> =
        rows.iter().map(|row| Ok((cell(row, "conversation_id")?, decode(row)?))).collect();
    Ok(cursor::cut(found?, page, |(_, follow_up)| cursor::write(LIST, follow_up.due_at.0, follow_up.id)))
}
