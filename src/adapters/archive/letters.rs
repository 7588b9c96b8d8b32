//! Dead letters, newest first.

use uuid::Uuid;

use super::{cursor, filter::Conditions};
use crate::{
    adapters::sql::{Statement, Store, cell, decode},
    domain::turn::{DeadLetter, LetterState},
    flow::{
        archive::{LetterFilter, Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "dead-letters";

/// Bytes of payloads after which a page ends: the body of a webhook may have two million, and a page two hundred letters.
pub(in crate::adapters) const PAYLOADS_MAX: i64 = 4 << 20;

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
    statement.columns::<DeadLetter>("l").push(", p.places from dead_letters l join (");
    // How large they are says the row itself: no payload is read that isn't shown.
    statement.push("select w.id, w.bytes, sum(w.bytes) over (order by w.last_at desc, w.id) as upto, ");
    statement.push("count(*) over () as places from (");
    places::<S>(&mut statement, wanted, after, page);
    statement.push(") w) p on p.id = l.id where p.upto - p.bytes < ").bind(PAYLOADS_MAX);
    statement.push(" order by l.last_at desc, l.id");
    let rows = store.rows(statement).await?;
    let places: i64 = rows.first().map(|row| cell(row, "places")).transpose()?.unwrap_or_default();
    let mut items = rows.iter().map(decode).collect::<Result<Vec<DeadLetter>, Error>>()?;
    items.truncate(cursor::rows(page));
    let has_more = i64::try_from(items.len()).is_ok_and(|shown| shown < places);
    let last = items.last().filter(|_| has_more);
    let next = last.map(|letter| cursor::write(LIST, letter.last_at.0, letter.id));
    Ok(Page { items, next })
}

/// Where those of the page are, and how large they are, with the one behind them.
fn places<S: Store>(
    statement: &mut Statement,
    wanted: &LetterFilter,
    after: Option<(i64, Uuid)>,
    page: &PageOf,
) {
    statement.push("select l.id, l.last_at, octet_length(l.payload) as bytes from dead_letters l");
    let mut conditions = Conditions::default();
    let state = wanted.state.unwrap_or(LetterState::Open);
    conditions.next(statement).push("l.state = ").bind(state.as_str());
    conditions.next(statement).push(IS_OF_SOMEBODY);
    conditions.given(statement, "l.kind = ", wanted.kind.map(|kind| kind.as_str()));
    conditions.channels(statement, S::ENGINE, "l.channel", wanted.channels.as_deref());
    conditions.given(statement, "l.conversation_id = ", wanted.conversation);
    if let Some((last_at, id)) = after {
        // The first half alone lets the index begin where the page before ended.
        conditions.next(statement).push("l.last_at <= ").bind(last_at);
        conditions.next(statement).push("(l.last_at < ").bind(last_at);
        statement.push(" or l.id > ").bind(id).push(")");
    }
    statement.push(" order by l.last_at desc, l.id limit ").bind(cursor::rows_asked(page));
}

/// One of them, in whatever state.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<DeadLetter>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<DeadLetter>("l").push(" from dead_letters l where l.id = ").bind(id);
    statement.push(" and ").push(IS_OF_SOMEBODY);
    store.row(statement).await?.as_ref().map(decode).transpose()
}
