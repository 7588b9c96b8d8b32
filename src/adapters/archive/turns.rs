//! Runs of the assistant.

use uuid::Uuid;

use super::{cursor, filter::IS_THERE};
use crate::{
    adapters::sql::{Statement, Store, cell, decode},
    domain::turn::Turn,
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "turns";

/// Those of one conversation, newest first.
pub(super) async fn list<S: Store>(
    store: &S,
    conversation: Uuid,
    page: &PageOf,
) -> Result<Page<Turn>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement.columns::<Turn>("t").push(" from turns t where t.conversation_id = ").bind(conversation);
    if let Some((started_at, id)) = after {
        statement.push(" and (t.started_at, t.id) < (").bind(started_at).push(", ").bind(id).push(")");
    }
    statement.push(" order by t.started_at desc, t.id desc limit ").bind(cursor::rows_asked(page));
    let turns: Result<Vec<Turn>, Error> = store.rows(statement).await?.iter().map(decode).collect();
    Ok(cursor::cut(turns?, page, |turn| cursor::write(LIST, turn.started_at.0, turn.id)))
}

/// One, with its conversation and channel.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<Turn>("t").push(", c.channel from turns t");
    statement.push(" join conversations c on c.id = t.conversation_id where t.id = ").bind(id);
    statement.push(" and ").push(IS_THERE);
    let Some(row) = store.row(statement).await? else { return Ok(None) };
    Ok(Some((cell(&row, "conversation_id")?, cell(&row, "channel")?, decode(&row)?)))
}
