//! Lists of events: the timeline of a conversation, or all of them in the order of the feed.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{
    cursor,
    feed::{self, Journal, Place},
    filter::Conditions,
    read_limit::ReadLimit,
    search::PATIENCE,
};
use crate::{
    adapters::sql::{Engine, Statement, Store, cell},
    domain::event::{AGENT, CHANNELS, Event, EventType, OWNER},
    flow::{
        archive::{EventFilter, Page, PageOf, Recorded},
        ledger::Error,
    },
};

const TIMELINE: &str = "timeline";

const ALL: &str = "events";

/// An event of a conversation without a number of its own (that it was erased) comes last.
const NUMBER: &str = "coalesce(e.conv_seq, 9223372036854775807)";

/// An event that was read, and where the page continues if it is its last: key and place.
struct Found {
    number: i64,
    place: Place,
    recorded: Recorded,
}

/// Of all who look for them.
static TURNS: ReadLimit = ReadLimit::new();

/// Events of some types are looked for in stretches of this many of all types.
const STRETCH: i64 = 100_000;

/// A page of events.
pub(super) async fn list<S: Store>(
    store: &S,
    wanted: &EventFilter,
    page: &PageOf,
) -> Result<Page<Recorded>, Error> {
    let list = if wanted.conversation.is_some() { TIMELINE } else { ALL };
    let after = cursor::read::<Place>(list, page)?;
    if is_looked_for(wanted) {
        return look_for(store, wanted, page, STRETCH, PATIENCE).await;
    }
    let found = between(store, wanted, page, after, None).await?;
    Ok(shown(list, found, page))
}

fn shown(list: &str, found: Vec<Found>, page: &PageOf) -> Page<Recorded> {
    let page = cursor::cut(found, page, |found| cursor::write(list, found.number, found.place));
    Page { items: page.items.into_iter().map(|found| found.recorded).collect(), next: page.next }
}

/// Whether nothing but their type tells these events: no index has it, as each costs every message that is written, and the
/// next of a rare type may be millions away.
fn is_looked_for(wanted: &EventFilter) -> bool {
    let is_near = wanted.conversation.is_some() || wanted.since.is_some() || wanted.until.is_some();
    !is_near && !wanted.kinds.is_empty()
}

/// Goes through the feed as far as it gets in that time. Where it has not found enough by then, the next page continues from
/// there.
pub(super) async fn look_for<S: Store>(
    store: &S,
    wanted: &EventFilter,
    page: &PageOf,
    stretch: i64,
    patience: Duration,
) -> Result<Page<Recorded>, Error> {
    let (_turn, until) = (TURNS.turn().await?, Instant::now() + patience);
    let mut after = cursor::read::<Place>(ALL, page)?.map(|(_, place)| place);
    let mut found = Vec::new();
    loop {
        let end = end_of(store, after, stretch, wanted.descending).await?;
        found.extend(between(store, wanted, page, after.map(|place| (0, place)), end).await?);
        after = end;
        if end.is_none() || found.len() >= cursor::rows(page) || Instant::now() >= until {
            break;
        }
    }
    let next = after.map(|place| cursor::write(ALL, 0, place));
    let page = shown(ALL, found, page);
    Ok(Page { next: page.next.or(next), ..page })
}

/// The last place of the stretch after that one; None: there are no more than that.
async fn end_of<S: Store>(
    store: &S,
    after: Option<Place>,
    stretch: i64,
    descending: bool,
) -> Result<Option<Place>, Error> {
    let mut statement = Statement::new("select ");
    statement.push(feed::place_columns(S::ENGINE)).push(" from events e");
    if let Some(place) = after {
        feed::beyond(statement.push(" where "), S::ENGINE, place, descending);
    }
    statement.push(" order by ").push(feed::order(S::ENGINE, descending));
    statement.push(" limit 1 offset ").bind(stretch - 1);
    let end = store.row(statement).await?;
    end.map(|row| Ok(Place { xact: cell(&row, "xact")?, id: cell(&row, "id")? })).transpose()
}

/// As many as a page has, and one more: after that place, and as far as the other.
async fn between<S: Store>(
    store: &S,
    wanted: &EventFilter,
    page: &PageOf,
    after: Option<(i64, Place)>,
    end: Option<Place>,
) -> Result<Vec<Found>, Error> {
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
    if let Some(end) = end {
        let after = after.map(|(_, place)| place);
        as_far_as(conditions.next(&mut statement), S::ENGINE, end, after, wanted.descending);
    }
    statement.push(" order by ");
    if wanted.conversation.is_some() {
        statement.push(NUMBER).push(if wanted.descending { " desc, " } else { ", " });
    }
    statement.push(feed::order(S::ENGINE, wanted.descending)).push(" limit ").bind(cursor::rows_asked(page));
    store.rows(statement).await?.iter().map(|row| read::<S>(&journal, row)).collect()
}

/// "Is not beyond that place", so that an index ends there.
fn as_far_as(statement: &mut Statement, engine: Engine, end: Place, after: Option<Place>, descending: bool) {
    let (not_before, not_after) = if descending { (" <= ", " >= ") } else { (" >= ", " <= ") };
    match engine {
        Engine::Postgres => {
            statement.push("(e.xact, e.id)").push(not_after).push("(").bind(end.xact);
            statement.push(", ").bind(end.id).push(") and e.xact").push(not_after).bind(end.xact);
            // Of a range of pairs the planner believes that it holds much of the table, and reads all of it; of one of
            // numbers it knows.
            if let Some(after) = after {
                statement.push(" and e.xact").push(not_before).bind(after.xact);
            }
        }
        Engine::Sqlite => {
            statement.push("e.id").push(not_after).bind(end.id);
        }
    }
}

fn read<S: Store>(journal: &Journal, row: &S::Row) -> Result<Found, Error> {
    let (place, recorded) = feed::recorded::<S>(journal, row)?;
    Ok(Found { number: cell(row, "number")?, place, recorded })
}

fn narrowed<S: Store>(statement: &mut Statement, wanted: &EventFilter) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.next(statement).push(feed::STAYS);
    conditions.given(statement, "e.conversation_id = ", wanted.conversation);
    conditions.given(statement, "e.message_id = ", wanted.message);
    conditions.given(statement, "e.turn_id = ", wanted.turn);
    if let Some(channels) = &wanted.channels {
        let shared = EventType::ALL.iter().filter(|kind| kind.concerns_every_channel());
        let shared = shared.map(|kind| kind.as_str().to_owned()).collect();
        conditions.next(statement).push("(e.channel").one_of(S::ENGINE, channels.clone());
        statement.push(" or e.kind").one_of(S::ENGINE, shared).push(")");
    }
    conditions.given(statement, "e.channel = ", wanted.channel.as_deref());
    if wanted.conversation.is_none() && might_be_for_some(&wanted.kinds) {
        only_for_the_viewer(conditions.next(statement), wanted);
        if let Some(channels) = &wanted.channels {
            only_within(conditions.next(statement), channels, wanted.viewer);
        }
    }
    if !wanted.kinds.is_empty() {
        let kinds = wanted.kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        conditions.next(statement).push("e.kind").one_of(S::ENGINE, kinds);
    }
    conditions.given(statement, "e.at >= ", wanted.since);
    conditions.given(statement, "e.at < ", wanted.until);
    conditions
}

/// Whether a list of these types (none: of all) may hold what is not for everybody who sees its channel.
fn might_be_for_some(kinds: &[EventType]) -> bool {
    kinds.is_empty() || kinds.iter().any(|kind| kind.concerns_every_channel())
}

/// The rule of [`Event::is_for`], for canned replies. Details are text as this program writes it, the same in
/// both stores, and neither an id nor the name of a channel holds anything that a pattern could take for more.
fn only_for_the_viewer(statement: &mut Statement, wanted: &EventFilter) {
    statement.push("(e.kind <> ").bind(EventType::CannedReplyUpdated.as_str());
    statement.push(" or (e.details not like ").bind(names(OWNER));
    if let Some(channels) = &wanted.channels {
        statement.push(" and ");
        names_none_or_some(statement, channels, None);
    }
    statement.push(")");
    if let Some(viewer) = wanted.viewer {
        statement.push(" or e.details like ").bind(format!("%\"{OWNER}\":\"{viewer}\"%"));
    }
    statement.push(")");
}

/// The same for agents, tokens and endpoints, where not all channels are seen.
fn only_within(statement: &mut Statement, channels: &[String], viewer: Option<Uuid>) {
    statement.push("(e.kind <> ").bind(EventType::AgentUpdated.as_str()).push(" or ");
    names_none_or_some(statement, channels, viewer);
    statement.push(")");
    for kind in EventType::ALL.iter().filter(|kind| kind.concerns_all_its_channels()) {
        statement.push(" and (e.kind <> ").bind(kind.as_str()).push(" or ");
        names_no_other(statement, channels);
        statement.push(")");
    }
}

/// "Is for all channels, for one of these, or about that agent".
fn names_none_or_some(statement: &mut Statement, channels: &[String], agent: Option<Uuid>) {
    statement.push("(e.details not like ").bind(names(CHANNELS));
    for channel in channels {
        statement.push(" or e.details like ").bind(format!("%\"{channel}\"%"));
    }
    if let Some(agent) = agent {
        statement.push(" or e.details like ").bind(format!("%\"{AGENT}\":\"{agent}\"%"));
    }
    statement.push(")");
}

/// "Is for some of these channels, and for no other": without them, nothing is left of the list.
fn names_no_other(statement: &mut Statement, channels: &[String]) {
    let nothing = format!("%\"{CHANNELS}\":[]%");
    statement.push("(e.details not like ").bind(nothing.as_str()).push(" and ");
    for _ in channels {
        statement.push("replace(");
    }
    statement.push("replace(e.details, ',', '')");
    for channel in channels {
        statement.push(", ").bind(format!("\"{channel}\"")).push(", '')");
    }
    statement.push(" like ").bind(nothing).push(")");
}

fn names(detail: &str) -> String {
    format!("%\"{detail}\":%")
}
