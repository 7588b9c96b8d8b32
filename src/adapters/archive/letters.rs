//! Dead letters, newest first.

use uuid::Uuid;

use super::{cursor, filter::Conditions};
use crate::{
    adapters::sql::{Statement, Store, decode},
    domain::turn::{DeadLetter, LetterState},
    flow::{
        archive::{LetterFilter, Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "dead-letters";

/// Its conversation, if it has one, is not being erased.
const IS_OF_SOMEBODY: &str =
    "not exists (select 1 from erasures x where x.conversation_id = l.conversation_id)";

/// A page of them.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &LetterFilter,
    page: &PageOf,
) -> Result<Page<DeadLetter>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement.columns::<DeadLetter>("l").push(" from dead_letters l");
    let mut conditions = Conditions::default();
    let state = wanted.state.unwrap_or(LetterState::Open);
    conditions.next(&mut statement).push("l.state = ").bind(state.as_str());
    conditions.next(&mut statement).push(IS_OF_SOMEBODY);
    if let Some(kind) = wanted.kind {
        conditions.next(&mut statement).push("l.kind = ").bind(kind.as_str());
    }
    conditions.channels(&mut statement, S::ENGINE, "l.channel", wanted.channels.as_deref());
    if let Some(conversation) = wanted.conversation {
        conditions.next(&mut statement).push("l.conversation_id = ").bind(conversation);
    }
    if let Some((last_at, id)) = after {
        // The first half alone lets the index begin where the page before ended.
        conditions.next(&mut statement).push("l.last_at <= ").bind(last_at);
        conditions.next(&mut statement).push("(l.last_at < ").bind(last_at);
        statement.push(" or l.id > ").bind(id).push(")");
    }
    statement.push(" order by l.last_at desc, l.id limit ").bind(cursor::rows_asked(page));
    let letters: Result<Vec<DeadLetter>, Error> = store.rows(statement).await?.iter().map(decode).collect();
    Ok(cursor::cut(letters?, page, |letter| cursor::write(LIST, letter.last_at.0, letter.id)))
}

/// One of them, in whatever state.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<DeadLetter>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<DeadLetter>("l").push(" from dead_letters l where l.id = ").bind(id);
    statement.push(" and ").push(IS_OF_SOMEBODY);
    store.row(statement).await?.as_ref().map(decode).transpose()
}
