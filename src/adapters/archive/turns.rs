//! Runs of the assistant.

use uuid::Uuid;

use super::{cursor, filter::IS_THERE};
use crate::{
    adapters::{
        rows::Columns,
        sql::{Statement, Store, cell, decode},
    },
    domain::turn::Turn,
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
    },
};

const LIST: &str = "turns";

/// Of the parts `w` of a reply, taken together: none has left, and none will.
macro_rules! none_left {
    () => {
        "having min(case when w.state in ('cancelled', 'failed', 'dead') and w.sent_at is null then 1 else 0 end) = 1"
    };
}

pub(super) use none_left;

/// Whether its words were for nothing, as those of a run that was stopped: they have the moment of its end, and are found by
/// that.
const UNSENT: &str = concat!(
    ", exists (select 1 from messages w where w.at = t.ended_at and w.turn_id = t.id and w.state is not null \
     group by w.turn_id ",
    none_left!(),
    ") as unsent"
);

/// Those of one conversation, newest first.
pub(super) async fn list<S: Store>(
    store: &S,
    conversation: Uuid,
    page: &PageOf,
) -> Result<Page<Turn>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let mut statement = Statement::new("select ");
    statement.columns::<Turn>("t").push(UNSENT);
    statement.push(" from turns t where t.conversation_id = ").bind(conversation);
    if let Some((started_at, id)) = after {
        statement.push(" and (t.started_at, t.id) < (").bind(started_at).push(", ").bind(id).push(")");
    }
    statement.push(" order by t.started_at desc, t.id desc limit ").bind(cursor::rows_asked(page));
    let turns: Result<Vec<Turn>, Error> = store.rows(statement).await?.iter().map(read).collect();
    Ok(cursor::cut(turns?, page, |turn| cursor::write(LIST, turn.started_at.0, turn.id)))
}

/// One, with its conversation and channel.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<(Uuid, String, Turn)>, Error> {
    let mut statement = Statement::new("select ");
    statement.columns::<Turn>("t").push(UNSENT).push(", c.channel from turns t");
    statement.push(" join conversations c on c.id = t.conversation_id where t.id = ").bind(id);
    statement.push(" and ").push(IS_THERE);
    let Some(row) = store.row(statement).await? else { return Ok(None) };
    Ok(Some((cell(&row, "conversation_id")?, cell(&row, "channel")?, read(&row)?)))
}

fn read<R: Columns>(row: &R) -> Result<Turn, Error> {
    let turn: Turn = decode(row)?;
    Ok(Turn { wasted: turn.wasted || cell(row, "unsent")?, ..turn })
}
