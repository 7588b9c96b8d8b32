//! Drafts of a conversation, newest first.

use uuid::Uuid;

use super::cursor;
use crate::{
    adapters::sql::{Statement, Store, cell, decode},
    domain::draft::Draft,
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "drafts";

/// A page of them.
pub(super) async fn list<S: Store>(
    store: &S,
    conversation: Uuid,
    page: &PageOf,
) -> Result<Page<Draft>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement.columns::<Draft>("d").push(" from drafts d where d.conversation_id = ").bind(conversation);
    if let Some((created_at, id)) = after {
        statement.push(" and (d.created_at, d.id) < (").bind(created_at).push(", ").bind(id).push(")");
    }
    statement.push(" order by d.created_at desc, d.id desc limit ").bind(cursor::rows_asked(page));
    let drafts: Result<Vec<Draft>, Error> = store.rows(statement).await?.iter().map(decode).collect();
    Ok(cursor::cut(drafts?, page, |draft| cursor::write(LIST, draft.created_at.0, draft.id)))
}

/// One, with its conversation.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<(Uuid, Draft)>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<Draft>("d").push(" from drafts d where d.id = ").bind(id);
    let Some(row) = store.row(statement).await? else { return Ok(None) };
    Ok(Some((cell(&row, "conversation_id")?, decode(&row)?)))
}
