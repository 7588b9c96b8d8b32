//! Follow-ups, by due time: what is to come with the next one first, what was with the last.

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

/// The message that carries it, where that has not left: then nothing has been sent.
macro_rules! not_left {
    () => {
        "left join messages m on m.id = f.message_id and m.state not in ('sent', 'delivered', 'read')"
    };
}

pub(super) const NOT_LEFT: &str = not_left!();

/// What makes a follow-up `f` whose time has come pending all the same: its message `m` waits to leave, or may be leaving. The
/// rules ask the same of the first part of it.
macro_rules! owed {
    () => {
        "m.open and m.state in ('queued', 'sending', 'unknown') \
         and f.conversation_id = m.conversation_id and f.message_id = m.id"
    };
}

pub(super) use owed;

/// Rows that are listed in one state: what they are read from, and the first condition.
type Rows = (&'static str, &'static str);

const ALONE: &str = ", cast(null as text) as withdrawn from follow_ups f";
const WITH_ITS_MESSAGE: &str = concat!(", m.reason as withdrawn from follow_ups f ", not_left!());

/// Those whose message is on its way, by what is open: few rows, whatever was ever sent. `cross` keeps SQLite to that order.
const OWED: &str = ", cast(null as text) as withdrawn from messages m cross join follow_ups f";

/// Each read in the order of its index: of all in one condition, no index knows the order.
fn rows_in(state: FollowUpState) -> &'static [Rows] {
    match state {
        FollowUpState::Pending => &[(ALONE, "f.state = 'pending'"), (OWED, owed!())],
        FollowUpState::Sent => &[(WITH_ITS_MESSAGE, "f.state = 'sent' and m.id is null")],
        FollowUpState::Cancelled => &[(ALONE, "f.state = 'cancelled'")],
        FollowUpState::Withheld => &[
            (ALONE, "f.state = 'withheld'"),
            (WITH_ITS_MESSAGE, "f.state = 'sent' and m.state in ('cancelled', 'failed', 'dead')"),
        ],
    }
}

/// A page of them, each with its conversation. One whose message waits to leave is still pending, and one whose message was
/// withdrawn or given up was withheld.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &FollowUpFilter,
    page: &PageOf,
) -> Result<Page<(Uuid, FollowUp)>, Error> {
    let after = cursor::read::<Uuid>(LIST, page)?;
    let state = wanted.state.unwrap_or(FollowUpState::Pending);
    let (direction, rows_asked) = (direction(state), cursor::rows_asked(page));
    let mut statement = Statement::new("");
    for (number, rows) in rows_in(state).iter().enumerate() {
        statement.push(if number == 0 { "select * from (" } else { " union all select * from (" });
        select::<S>(&mut statement, *rows, wanted);
        if let Some((due_at, id)) = after {
            statement.push(direction.beyond).bind(due_at);
            statement.push(", ").bind(id).push(")");
        }
        statement.push(direction.of_some).bind(rows_asked).push(") as those");
    }
    statement.push(direction.of_all).bind(rows_asked);
    let rows = store.rows(statement).await?;
    let found: Result<Vec<(Uuid, FollowUp)>, Error> = rows
        .iter()
        .map(|row| {
            let mut follow_up: FollowUp = decode(row)?;
            let withdrawn = cell::<Option<String>, _>(row, "withdrawn")?;
            (follow_up.state, follow_up.reason) = (state, follow_up.reason.or(withdrawn));
            Ok((cell(row, "conversation_id")?, follow_up))
        })
        .collect();
    Ok(cursor::cut(found?, page, |(_, follow_up)| cursor::write(LIST, follow_up.due_at.0, follow_up.id)))
}

/// Some of these rows, as far as they are wanted.
fn select<S: Store>(statement: &mut Statement, (from, is_so): Rows, wanted: &FollowUpFilter) {
    statement.push("select ").columns::<FollowUp>("f").push(from);
    statement.push(" join conversations c on c.id = f.conversation_id");
    let mut conditions = Conditions::default();
    conditions.next(statement).push(is_so);
    conditions.next(statement).push(IS_THERE);
    conditions.channels(statement, S::ENGINE, "c.channel", wanted.channels.as_deref());
    conditions.given(statement, "f.conversation_id = ", wanted.conversation);
    conditions.given(statement, "f.due_at < ", wanted.due_before);
}

/// Which way a list goes, in words of its statement.
struct Direction {
    beyond: &'static str,
    of_some: &'static str,
    of_all: &'static str,
}

/// What is to come has the next one first, what was the last one.
fn direction(state: FollowUpState) -> Direction {
    match state {
        FollowUpState::Pending => Direction {
            beyond: " and (f.due_at, f.id) > (",
            of_some: " order by f.due_at, f.id limit ",
            of_all: " order by due_at, id limit ",
        },
        FollowUpState::Sent | FollowUpState::Cancelled | FollowUpState::Withheld => Direction {
            beyond: " and (f.due_at, f.id) < (",
            of_some: " order by f.due_at desc, f.id desc limit ",
            of_all: " order by due_at desc, id desc limit ",
        },
    }
}
