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

/// The message that carried it, where that was withdrawn before it left, or given up: then nothing was sent.
pub(super) const WITHDRAWN: &str =
    "left join messages m on m.id = f.message_id and m.state in ('cancelled', 'failed', 'dead')";

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
        .push(", m.reason as withdrawn from follow_ups f join conversations c on c.id = f.conversation_id ")
        .push(WITHDRAWN);
    let mut conditions = Conditions::default();
    let state = wanted.state.unwrap_or(FollowUpState::Pending);
    conditions.next(&mut statement).push(match state {
        FollowUpState::Pending => "f.state = 'pending'",
        FollowUpState::Sent => "f.state = 'sent' and m.id is null",
        FollowUpState::Cancelled => "f.state = 'cancelled'",
        FollowUpState::Withheld => "(f.state = 'withheld' or f.state = 'sent' and m.id is not null)",
    });
    conditions.next(&mut statement).push(IS_THERE);
    conditions.channels(&mut statement, S::ENGINE, "c.channel", wanted.channels.as_deref());
    conditions.given(&mut statement, "f.conversation_id = ", wanted.conversation);
    conditions.given(&mut statement, "f.due_at < ", wanted.due_before);
    let (beyond, order) = match state {
        FollowUpState::Pending => ("(f.due_at, f.id) > (", " order by f.due_at, f.id limit "),
        FollowUpState::Sent | FollowUpState::Cancelled | FollowUpState::Withheld => {
            ("(f.due_at, f.id) < (", " order by f.due_at desc, f.id desc limit ")
        }
    };
    if let Some((due_at, id)) = after {
        conditions.next(&mut statement).push(beyond).bind(due_at);
        statement.push(", ").bind(id).push(")");
    }
    statement.push(order).bind(cursor::rows_asked(page));
    let rows = store.rows(statement).await?;
    let found: Result<Vec<(Uuid, FollowUp)>, Error> = rows
        .iter()
        .map(|row| {
            let mut follow_up: FollowUp = decode(row)?;
            if state == FollowUpState::Withheld {
                let withdrawn = cell::<Option<String>, _>(row, "withdrawn")?;
                (follow_up.state, follow_up.reason) = (state, follow_up.reason.or(withdrawn));
            }
            Ok((cell(row, "conversation_id")?, follow_up))
        })
        .collect();
    Ok(cursor::cut(found?, page, |(_, follow_up)| cursor::write(LIST, follow_up.due_at.0, follow_up.id)))
}
