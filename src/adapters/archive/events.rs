//! Lists of events: the timeline of a conversation, or all of them in the order of the feed.

use uuid::Uuid;

use super::{
    cursor,
    feed::{self, Journal, Place},
    filter::Conditions,
};
use crate::{
    adapters::sql::{Statement, Store, cell},
    domain::event::{CHANNELS, Event, EventType, OWNER},
    flow::{
        archive::{EventFilter, Page, PageOf, Recorded},
        ledger::Error,
    },
};

const TIMELINE: &str = "timeline";

const ALL: &str = "events";

/// An event of a conversation without a number of its own (that it was erased) comes last.
const NUMBER: &str = "coalesce(e.conv_seq, 9223372036854775807)";

/// An event that was read, and where the page goes on if it is its last: key and place.
struct Found {
    number: i64,
    place: Place,
    recorded: Recorded,
}

/// A page of events.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &EventFilter,
    page: &PageOf,
) -> Result<Page<Recorded>, Error> {
    let list = if wanted.conversation.is_some() { TIMELINE } else { ALL };
    let after = cursor::read::<Place>(list, page)?;
    let journal = Journal::read(store).await?;
    let mut statement = Statement::new("select ");
    statement.columns::<Event>("e").push(", ").push(feed::place_columns(S::ENGINE));
    statement.push(", ").push(NUMBER).push(" as number from events e");
    let mut conditions = narrowed::<S>(&mut statement, wanted);
    match (wanted.conversation, after) {
        (_, None) => {}
        (Some(_), Some((number, place))) => {
            let sign = if wanted.descending { " < " } else { " > " };
            conditions.next(&mut statement).push("(").push(NUMBER).push(sign).bind(number);
            statement.push(" or (").push(NUMBER).push(" = ").bind(number).push(" and ");
            feed::beyond(&mut statement, S::ENGINE, place, wanted.descending);
            statement.push("))");
        }
        (None, Some((_, place))) => {
            feed::beyond(conditions.next(&mut statement), S::ENGINE, place, wanted.descending);
        }
    }
    statement.push(" order by ");
    if wanted.conversation.is_some() {
        statement.push(NUMBER).push(if wanted.descending { " desc, " } else { ", " });
    }
    statement.push(feed::order(S::ENGINE, wanted.descending)).push(" limit ").bind(cursor::rows_asked(page));
    let found: Result<Vec<Found>, Error> =
        store.rows(statement).await?.iter().map(|row| read::<S>(&journal, row)).collect();
    let page = cursor::cut(found?, page, |found| cursor::write(list, found.number, found.place));
    Ok(Page { items: page.items.into_iter().map(|found| found.recorded).collect(), next: page.next })
}

fn read<S: Store>(journal: &Journal, row: &S::Row) -> Result<Found, Error> {
    let (place, recorded) = feed::recorded::<S>(journal, row)?;
    Ok(Found { number: cell(row, "number")?, place, recorded })
}

fn narrowed<S: Store>(statement: &mut Statement, wanted: &EventFilter) -> Conditions {
    let mut conditions = Conditions::default();
    // Those of a conversation that is being erased go one page after the other.
    conditions
        .next(statement)
        .push("not exists (select 1 from erasures x where x.conversation_id = e.conversation_id)");
    let about: [(&str, Option<Uuid>); 3] = [
        ("e.conversation_id = ", wanted.conversation),
        ("e.message_id = ", wanted.message),
        ("e.turn_id = ", wanted.turn),
    ];
    for (column, id) in about {
        if let Some(id) = id {
            conditions.next(statement).push(column).bind(id);
        }
    }
    if let Some(channels) = &wanted.channels {
        let shared = EventType::ALL.iter().filter(|kind| kind.concerns_every_channel());
        let shared = shared.map(|kind| kind.as_str().to_owned()).collect();
        conditions.next(statement).push("(e.channel").one_of(S::ENGINE, channels.clone());
        statement.push(" or e.kind").one_of(S::ENGINE, shared).push(")");
    }
    if let Some(channel) = &wanted.channel {
        conditions.next(statement).push("e.channel = ").bind(channel.as_str());
    }
    if wanted.conversation.is_none() && might_be_for_some(&wanted.kinds) {
        only_for_the_viewer(conditions.next(statement), wanted);
    }
    if !wanted.kinds.is_empty() {
        let kinds = wanted.kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        conditions.next(statement).push("e.kind").one_of(S::ENGINE, kinds);
    }
    if let Some(since) = wanted.since {
        conditions.next(statement).push("e.at >= ").bind(since);
    }
    if let Some(until) = wanted.until {
        conditions.next(statement).push("e.at < ").bind(until);
    }
    conditions
}

/// Whether a list of these types (none: of all) may hold what is not for everybody who sees its channel.
fn might_be_for_some(kinds: &[EventType]) -> bool {
    kinds.is_empty() || kinds.contains(&EventType::CannedReplyUpdated)
}

/// The rule of [`Event::is_for`], for what concerns every channel. Details are text as this program writes it, the same in
/// both stores, and neither an id nor the name of a channel holds anything that a pattern could take for more.
fn only_for_the_viewer(statement: &mut Statement, wanted: &EventFilter) {
    let names = |detail: &str| format!("%\"{detail}\":%");
    statement.push("(e.kind <> ").bind(EventType::CannedReplyUpdated.as_str());
    statement.push(" or (e.details not like ").bind(names(OWNER));
    if let Some(channels) = &wanted.channels {
        statement.push(" and (e.details not like ").bind(names(CHANNELS));
        for channel in channels {
            statement.push(" or e.details like ").bind(format!("%\"{channel}\"%"));
        }
        statement.push(")");
    }
    statement.push(")");
    if let Some(viewer) = wanted.viewer {
        statement.push(" or e.details like ").bind(format!("%\"{OWNER}\":\"{viewer}\"%"));
    }
    statement.push(")");
}
