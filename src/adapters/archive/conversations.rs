//! Conversations: one, a page of them, how many, and who holds a lease.

use uuid::Uuid;

use super::{cursor, filter, overview::overviews};
use crate::{
    adapters::sql::{Statement, Store, cell},
    domain::{
        chat::ChatId,
        conversation::{Conversation, Lease},
    },
    flow::{
        archive::{ConversationFilter, Overview, Page, PageOf, Sort},
        ledger::Error,
    },
};

/// Leases shown at once; an instance holds a few dozen.
const LEASES_MAX: i64 = 1_000;

/// The key of a sort: never null, so that a page can go on after it. Each has an index.
const fn key(sort: Sort) -> &'static str {
    match sort {
        // A conversation without messages stands where it began.
        Sort::LastMessage => "coalesce(c.last_message_at, c.created_at)",
        Sort::WaitingSince => "c.waiting_since",
        Sort::Updated => "c.updated_at",
    }
}

const fn name(sort: Sort) -> &'static str {
    match sort {
        Sort::LastMessage => "conversations-newest",
        Sort::WaitingSince => "conversations-waiting",
        Sort::Updated => "conversations-updated",
    }
}

/// One conversation.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<Overview>, Error> {
    let mut statement = select(store, Sort::default());
    statement.push(" where c.id = ").bind(id);
    Ok(overviews(store, statement).await?.pop().map(|(_, overview)| overview))
}

/// One conversation by any id of its chat.
pub(super) async fn of_chat<S: Store>(
    store: &S,
    channel: &str,
    chat: &ChatId,
) -> Result<Option<Overview>, Error> {
    let mut statement = select(store, Sort::default());
    statement.push(" where c.id = (select h.conversation_id from chats h where h.channel = ").bind(channel);
    statement.push(" and h.chat_id = ").bind(chat.as_str()).push(")");
    Ok(overviews(store, statement).await?.pop().map(|(_, overview)| overview))
}

/// Those of these ids.
pub(super) async fn of_ids<S: Store>(store: &S, ids: &[Uuid]) -> Result<Vec<Overview>, Error> {
    let mut statement = select(store, Sort::default());
    statement.push(" where c.id").one_of(S::ENGINE, ids.iter().map(Uuid::to_string).collect());
    Ok(overviews(store, statement).await?.into_iter().map(|(_, overview)| overview).collect())
}

/// A page of them.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &ConversationFilter,
    page: &PageOf,
) -> Result<Page<Overview>, Error> {
    let after = cursor::read::<Uuid>(name(wanted.sort), page)?;
    let mut statement = select(store, wanted.sort);
    let mut conditions = filter::conversations(&mut statement, S::ENGINE, wanted);
    let (beyond, order) = match wanted.sort {
        Sort::LastMessage | Sort::Updated => (" < ", " desc, c.id limit "),
        Sort::WaitingSince => (" > ", ", c.id limit "),
    };
    if let Some((at, id)) = after {
        // The first half alone lets an index begin where the page before ended.
        conditions
            .next(&mut statement)
            .push(key(wanted.sort))
            .push(if beyond == " < " { " <= " } else { " >= " })
            .bind(at);
        conditions.next(&mut statement).push("(").push(key(wanted.sort)).push(beyond).bind(at);
        statement.push(" or c.id > ").bind(id).push(")");
    }
    statement.push(" order by ").push(key(wanted.sort)).push(order).bind(cursor::rows_asked(page));
    let found = overviews(store, statement).await?;
    let page = cursor::cut(found, page, |(at, overview)| {
        cursor::write(name(wanted.sort), at, overview.conversation.id)
    });
    Ok(Page { items: page.items.into_iter().map(|(_, overview)| overview).collect(), next: page.next })
}

/// How many there are.
pub(super) async fn count<S: Store>(store: &S, wanted: &ConversationFilter) -> Result<i64, Error> {
    let mut statement = Statement::new("select count(*) as found from conversations c");
    filter::conversations(&mut statement, S::ENGINE, wanted);
    let row = store.row(statement).await?;
    row.map_or(Ok(0), |row| cell(&row, "found"))
}

/// Leases held at this moment.
pub(super) async fn leases<S: Store>(store: &S) -> Result<Vec<(Uuid, Lease)>, Error> {
    let mut statement = Statement::new(
        "select c.id, c.lease_owner, c.lease_turn, c.lease_until from conversations c where c.lease_until > ",
    );
    statement.now(store).push(" order by c.lease_until, c.id limit ").bind(LEASES_MAX);
    let held = store.rows(statement).await?;
    held.iter()
        .map(|row| {
            let lease = Lease {
                owner: cell(row, "lease_owner")?,
                turn: cell(row, "lease_turn")?,
                until: cell(row, "lease_until")?,
            };
            Ok((cell(row, "id")?, lease))
        })
        .collect()
}

fn select<S: Store>(store: &S, sort: Sort) -> Statement {
    let mut statement = Statement::new("select ");
    statement.columns::<Conversation>("c").push(", ").push(key(sort)).push(" as sort_key, ");
    statement.now(store).push(" as read_at from conversations c");
    statement
}
