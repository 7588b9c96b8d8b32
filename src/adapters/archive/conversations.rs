//! Conversations: one, a page of them, how many, and who holds a lease.

use uuid::Uuid;

use super::{
    cursor,
    filter::{self, Conditions, IS_THERE},
    overview::overviews,
    read_limit::ReadLimit,
    search,
};
use crate::{
    adapters::sql::{Statement, Store, cell},
    domain::{
        chat::ChatId,
        conversation::{Conversation, Lease},
    },
    flow::{
        archive::{ConversationFilter, Counts, Overview, Page, PageOf, Sort},
        ledger::Error,
    },
};

/// Leases shown at once; an instance holds a few dozen.
const LEASES_MAX: i64 = 1_000;

/// Of all counts.
static TURNS: ReadLimit = ReadLimit::new();

/// The key of a sort: never null, so that a page can continue after it. Each has an index.
pub(super) const fn key(sort: Sort) -> &'static str {
    match sort {
        // A conversation without messages stands where it began.
        Sort::LastMessage => "coalesce(c.last_message_at, c.created_at)",
        Sort::WaitingSince => "c.waiting_since",
        Sort::Updated => "c.updated_at",
    }
}

pub(super) const fn name(sort: Sort) -> &'static str {
    match sort {
        Sort::LastMessage => "conversations-newest",
        Sort::WaitingSince => "conversations-waiting",
        Sort::Updated => "conversations-updated",
    }
}

/// What comes after the key in an order.
pub(super) const fn order(sort: Sort) -> &'static str {
    match sort {
        Sort::LastMessage | Sort::Updated => " desc, c.id",
        Sort::WaitingSince => ", c.id",
    }
}

/// "Comes after that place, in that order."
pub(super) fn after(
    statement: &mut Statement,
    conditions: &mut Conditions,
    sort: Sort,
    (at, id): (i64, Uuid),
) {
    let (not_before, beyond) = match sort {
        Sort::LastMessage | Sort::Updated => (" <= ", " < "),
        Sort::WaitingSince => (" >= ", " > "),
    };
    // The first half alone lets an index begin where the page before ended.
    conditions.next(statement).push(key(sort)).push(not_before).bind(at);
    conditions.next(statement).push("(").push(key(sort)).push(beyond).bind(at);
    statement.push(" or c.id > ").bind(id).push(")");
}

/// One conversation.
pub(super) async fn one<S: Store>(store: &S, id: Uuid) -> Result<Option<Overview>, Error> {
    let mut statement = select(store, Sort::default());
    statement.push(" where c.id = ").bind(id).push(" and ").push(IS_THERE);
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
    statement.push(" and ").push(IS_THERE);
    Ok(overviews(store, statement).await?.into_iter().map(|(_, overview)| overview).collect())
}

/// A page of them.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &ConversationFilter,
    page: &PageOf,
) -> Result<Page<Overview>, Error> {
    if let Some(words) = &wanted.words {
        return search::list(store, words, wanted, page, search::PATIENCE).await;
    }
    let place = cursor::read::<Uuid>(name(wanted.sort), page)?;
    let mut statement = select(store, wanted.sort);
    let mut conditions = filter::conversations(&mut statement, S::ENGINE, wanted);
    if let Some(place) = place {
        after(&mut statement, &mut conditions, wanted.sort, place);
    }
    statement.push(" order by ").push(key(wanted.sort)).push(order(wanted.sort));
    statement.push(" limit ").bind(cursor::rows_asked(page));
    let found = overviews(store, statement).await?;
    let page = cursor::cut(found, page, |(at, overview)| {
        cursor::write(name(wanted.sort), at, overview.conversation.id)
    });
    Ok(Page { items: page.items.into_iter().map(|(_, overview)| overview).collect(), next: page.next })
}

/// How many there are, by group. By who holds them, so that the same count serves every agent.
pub(super) async fn counts<S: Store>(store: &S, wanted: &ConversationFilter) -> Result<Counts, Error> {
    let wanted = ConversationFilter { group: None, ..wanted.clone() };
    if let Some(words) = &wanted.words {
        return search::counts(store, words, &wanted, search::PATIENCE).await;
    }
    let mut statement = Statement::new(
        "select g.holder, count(*) as all_of_them, count(*) filter (where g.needs_you) as needs_you, \
         count(*) filter (where g.ai) as ai, count(*) filter (where g.is_unread) as unread from (select c.id",
    );
    filter::groups(&mut statement);
    statement.push(" from conversations c");
    filter::conversations(&mut statement, S::ENGINE, &wanted);
    statement.push(") g group by g.holder");
    let _turn = TURNS.turn().await?;
    let mut counts = Counts::default();
    for row in store.rows(statement).await? {
        let all = cell(&row, "all_of_them")?;
        if let Some(holder) = cell(&row, "holder")? {
            counts.held.insert(holder, all);
        }
        counts.all += all;
        counts.needs_you += cell::<i64, _>(&row, "needs_you")?;
        counts.ai += cell::<i64, _>(&row, "ai")?;
        counts.unread += cell::<i64, _>(&row, "unread")?;
    }
    Ok(counts)
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
