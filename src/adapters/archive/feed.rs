//! The feed: every event once, in an order in which nothing is ever inserted behind a reader.
//!
//! Ids are handed out before their transactions commit, so their order is not the order in which events appear. On
//! PostgreSQL the feed goes by (transaction, id) and ends below the oldest transaction still running: whatever appears
//! later has a later place. SQLite has one writer, whose ids are the order of its commits.
//!
//! It is an order to resume by. A transaction that waited for a conversation is older than the ones it waited for, so within
//! a conversation the order of what happened is that of `conv_seq`, and of ids, which are given out under its row's lock.

use std::{collections::HashSet, fmt, str::FromStr};

use async_trait::async_trait;
use serde_json::json;

use crate::{
    adapters::sql::{Engine, Statement, Store, cell, decode, only_row},
    domain::event::Event,
    flow::{
        archive::{EventFeed, HeldBack, Recorded, Tail},
        ledger::Error,
    },
};

/// Most events given at once.
const EVENTS_MAX: usize = 1_000;

/// The place of an event in the feed, before all of those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::adapters) struct Place {
    /// Its transaction; 0 on SQLite.
    pub(in crate::adapters) xact: i64,
    /// Its id; 0 for the place before the first event.
    pub(in crate::adapters) id: i64,
}

/// What the store knows of its feed as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::adapters) struct Journal {
    /// Of which store the places are: those of another store, or of one restored since, mean nothing here.
    generation: String,
    /// The last place from which an event was removed.
    forgotten: Place,
    /// No event from this place on was ever given out.
    next: Place,
}

impl Journal {
    /// That of the store.
    pub(in crate::adapters) async fn read<S: Store>(store: &S) -> Result<Self, Error> {
        let mut statement = Statement::new("select i.generation, i.forgotten_xact, i.forgotten_id, ");
        statement.push(next_place(S::ENGINE)).push(" from installation i");
        let row = only_row(store.row(statement).await?)?;
        let forgotten = Place { xact: cell(&row, "forgotten_xact")?, id: cell(&row, "forgotten_id")? };
        let next = Place { xact: cell(&row, "next_xact")?, id: cell(&row, "next_id")? };
        Ok(Self { generation: cell(&row, "generation")?, forgotten, next })
    }

    /// The id of an event: opaque to everyone else.
    pub(in crate::adapters) fn name(&self, engine: Engine, place: Place) -> String {
        match engine {
            Engine::Postgres => format!("{}.{place}", self.generation),
            Engine::Sqlite => format!("{}.{}", self.generation, place.id),
        }
    }

    /// Whether a reader who is at that place of that generation has missed nothing: neither what was removed, nor what a
    /// failover, or an older file put back, has lost. After one of these, numbers begin again below the places of those who had
    /// read further, and what happens now would be behind them.
    fn reaches(&self, generation: &str, place: Place) -> bool {
        let is_known = place < self.next || place == self.forgotten;
        self.generation == generation && place >= self.forgotten && is_known
    }
}

/// The generation and the place that an id names; None if it is not an id.
fn parse(engine: Engine, id: &str) -> Option<(&str, Place)> {
    let (generation, numbers) = id.split_once('.')?;
    let place = match engine {
        Engine::Postgres => numbers.parse().ok()?,
        Engine::Sqlite => Place { xact: 0, id: number(numbers)? },
    };
    Some((generation, place))
}

/// `{transaction}.{id}`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.xact, self.id)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (xact, id) = text.split_once('.').ok_or(())?;
        Ok(Self { xact: number(xact).ok_or(())?, id: number(id).ok_or(())? })
    }
}

/// Digits alone: `+5` and `05` would be other names of the same place.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| *number >= 0 && number.to_string() == text)
}

/// "Is not of a conversation that is being erased": the events of one go page after page, and are shown to nobody meanwhile.
pub(in crate::adapters) const STAYS: &str =
    "not exists (select 1 from erasures x where x.conversation_id = e.conversation_id)";

/// What to select for the place of an event.
pub(in crate::adapters) const fn place_columns(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "e.xact, e.id",
        Engine::Sqlite => "0 as xact, e.id",
    }
}

/// The order of the feed.
pub(super) const fn order(engine: Engine, descending: bool) -> &'static str {
    match (engine, descending) {
        (Engine::Postgres, false) => "e.xact, e.id",
        (Engine::Postgres, true) => "e.xact desc, e.id desc",
        (Engine::Sqlite, false) => "e.id",
        (Engine::Sqlite, true) => "e.id desc",
    }
}

/// "Is beyond that place", in the order given.
pub(super) fn beyond(statement: &mut Statement, engine: Engine, place: Place, descending: bool) {
    let sign = if descending { " < " } else { " > " };
    match engine {
        Engine::Postgres => {
            statement.push("(e.xact, e.id)").push(sign).push("(").bind(place.xact);
            statement.push(", ").bind(place.id).push(")");
        }
        Engine::Sqlite => {
            statement.push("e.id").push(sign).bind(place.id);
        }
    }
}

/// "No other event will ever appear before it".
const fn is_settled(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "e.xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (select i.xact_offset from installation i)"
        }
        Engine::Sqlite => "true",
    }
}

/// The first place of which nobody can have read, as `next_xact` and `next_id`.
const fn next_place(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint + i.xact_offset as next_xact, 0::bigint as next_id"
        }
        Engine::Sqlite => {
            "0 as next_xact, \
             (select coalesce(max(q.seq), 0) + 1 from sqlite_sequence q where q.name = 'events') as next_id"
        }
    }
}

/// The event of a row that has its place too.
pub(in crate::adapters) fn recorded<S: Store>(
    journal: &Journal,
    row: &S::Row,
) -> Result<(Place, Recorded), Error> {
    let place = Place { xact: cell(row, "xact")?, id: cell(row, "id")? };
    let event: Event = decode(row)?;
    Ok((place, Recorded { id: journal.name(S::ENGINE, place), event }))
}

/// The place at which a new reader begins now.
pub(in crate::adapters) async fn newest_place<S: Store>(store: &S) -> Result<Place, Error> {
    let mut statement = Statement::new("select ");
    statement.push(place_columns(S::ENGINE)).push(" from events e where ").push(is_settled(S::ENGINE));
    statement.push(" order by ").push(order(S::ENGINE, true)).push(" limit 1");
    let place = match store.row(statement).await? {
        Some(row) => Place { xact: cell(&row, "xact")?, id: cell(&row, "id")? },
        None => Place::default(),
    };
    let journal = Journal::read(store).await?;
    // With all of them removed, the newest is the one removed last.
    Ok(place.max(journal.forgotten))
}

/// Events after that place, whatever was removed between them or is about to be.
pub(in crate::adapters) async fn after<S: Store>(
    store: &S,
    place: Place,
    limit: usize,
) -> Result<Vec<(Place, Event)>, Error> {
    placed::<S>(&store.rows(next(S::ENGINE, place, limit)).await?)
}

fn placed<S: Store>(rows: &[S::Row]) -> Result<Vec<(Place, Event)>, Error> {
    let placed = |row| Ok((Place { xact: cell(row, "xact")?, id: cell(row, "id")? }, decode(row)?));
    rows.iter().map(placed).collect()
}

/// What the feed has beyond that place, or does not give yet, although it comes before one of these in their conversation: a
/// transaction that waited for the conversation is older than the ones it waited for. They are there: an event gets its number
/// under the lock of its conversation, which is held until the commit, so all with lower numbers had been committed before.
pub(in crate::adapters) async fn overtaken<S: Store>(
    store: &S,
    place: Place,
    read: &[(Place, Event)],
) -> Result<Vec<(Place, Event)>, Error> {
    // With one writer, ids, numbers and commits have one order.
    if S::ENGINE == Engine::Sqlite {
        return Ok(Vec::new());
    }
    let numbered = |event: &Event| Some((event.conversation?.to_string(), event.conv_seq?));
    let known: HashSet<_> = read.iter().filter_map(|(_, event)| numbered(event)).collect();
    let before = known.iter().map(|(conversation, number)| (conversation.clone(), number - 1));
    let asked: Vec<_> = before.filter(|it| !known.contains(it)).collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    // From number to number, so that of a long conversation no more is read than there is to find.
    let mut statement = Statement::new(
        "with recursive before as (select e.* from jsonb_array_elements($1::jsonb) k join events e \
         on e.conversation_id = k ->> 0 and e.conv_seq = (k ->> 1)::bigint where ",
    )
    .with(json!(asked).to_string());
    beyond(&mut statement, S::ENGINE, place, false);
    statement.push(
        " union select e.* from before b join events e \
         on e.conversation_id = b.conversation_id and e.conv_seq = b.conv_seq - 1 where ",
    );
    beyond(&mut statement, S::ENGINE, place, false);
    statement.push(") select ").columns::<Event>("e").push(", ").push(place_columns(S::ENGINE));
    statement.push(" from before e where ").push(STAYS).push(" order by e.id");
    placed::<S>(&store.rows(statement).await?)
}

/// The events at those places that are still there.
pub(in crate::adapters) async fn at<S: Store>(
    store: &S,
    journal: &Journal,
    places: &[Place],
) -> Result<Vec<(Place, Recorded)>, Error> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = Statement::new("select ");
    statement.columns::<Event>("e").push(", ").push(place_columns(S::ENGINE)).push(" from events e where ");
    for (number, place) in places.iter().enumerate() {
        statement.push(if number == 0 { "" } else { " or " });
        match S::ENGINE {
            Engine::Postgres => {
                statement.push("(e.xact = ").bind(place.xact).push(" and e.id = ").bind(place.id).push(")");
            }
            Engine::Sqlite => {
                statement.push("e.id = ").bind(place.id);
            }
        }
    }
    store.rows(statement).await?.iter().map(|row| recorded::<S>(journal, row)).collect()
}

/// Reads on from a place.
fn next(engine: Engine, place: Place, limit: usize) -> Statement {
    let mut statement = Statement::new("select ");
    statement.columns::<Event>("e").push(", ").push(place_columns(engine)).push(" from events e where ");
    statement.push(is_settled(engine)).push(" and ").push(STAYS).push(" and ");
    beyond(&mut statement, engine, place, false);
    statement.push(" order by ").push(order(engine, false)).push(" limit ").bind(limit.min(EVENTS_MAX));
    statement
}

#[async_trait]
impl<S: Store> EventFeed for S {
    async fn tail(&self, after: Option<&str>, limit: usize) -> Result<Tail, Error> {
        let Some(after) = after else { return Ok(Tail::Events(Vec::new())) };
        let Some((generation, place)) = parse(S::ENGINE, after) else {
            return self.newest_event().await.map(Tail::Resync);
        };
        let rows = self.rows(next(S::ENGINE, place, limit)).await?;
        // Read last: what is removed while we read is then seen to be missing.
        let journal = Journal::read(self).await?;
        if !journal.reaches(generation, place) {
            return self.newest_event().await.map(Tail::Resync);
        }
        let events: Result<Vec<Recorded>, Error> =
            rows.iter().map(|row| recorded::<S>(&journal, row).map(|(_, event)| event)).collect();
        events.map(Tail::Events)
    }

    async fn newest_event(&self) -> Result<String, Error> {
        let place = newest_place(self).await?;
        Ok(Journal::read(self).await?.name(S::ENGINE, place))
    }

    // What is committed and may not be given yet, and whose fault it is. A transaction of any database of the server counts,
    // also one that was prepared and forgotten. SQLite has one writer, so there is nothing.
    async fn held_back(&self) -> Result<Option<HeldBack>, Error> {
        if S::ENGINE == Engine::Sqlite {
            return Ok(None);
        }
        let mut statement = Statement::new("select ");
        statement.now(self).push(" - min(e.at) as ms from events e where not (").push(is_settled(S::ENGINE));
        statement.push(") having min(e.at) is not null");
        let Some(row) = self.row(statement).await? else { return Ok(None) };
        let by = Statement::new(
            "select held.by from ( \
             select 'pid ' || a.pid || coalesce(' (' || a.datname || ', ' || nullif(a.application_name, '') || ')', '') as by, \
                 age(a.backend_xid) as age from pg_stat_activity a where a.backend_xid is not null \
             union all \
             select 'prepared transaction ' || p.gid, age(p.transaction) from pg_prepared_xacts p \
             ) held order by held.age desc limit 1",
        );
        let by = self.row(by).await?.map(|row| cell::<String, _>(&row, "by")).transpose()?;
        Ok(Some(HeldBack { ms: cell(&row, "ms")?, by: by.unwrap_or_default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_and_anything_else_is_none() {
        let journal = Journal {
            generation: "ab12".to_owned(),
            forgotten: Place::default(),
            next: Place { xact: 741, id: 0 },
        };
        let place = Place { xact: 740, id: 9 };
        for engine in [Engine::Postgres, Engine::Sqlite] {
            let id = journal.name(engine, place);
            let kept = Place { xact: if engine == Engine::Postgres { 740 } else { 0 }, id: 9 };
            assert_eq!(parse(engine, &id), Some(("ab12", kept)));
            for odd in ["", "ab12", "ab12.", "ab12.x", "ab12.-1", "ab12.+1.2", "ab12.01", "ab12.1.2.3"] {
                assert_eq!(parse(engine, odd), None, "{engine:?} {odd:?}");
            }
        }
    }

    #[test]
    fn a_reader_goes_on_unless_something_after_its_place_was_removed_or_its_place_is_yet_to_come() {
        let place = |xact, id| Place { xact, id };
        let mut journal =
            Journal { generation: "ab12".to_owned(), forgotten: place(740, 9), next: place(742, 0) };
        for (generation, at, wanted) in [
            ("ab12", place(740, 8), false),
            ("ab12", place(739, 10), false),
            ("ab12", place(740, 9), true),
            ("ab12", place(741, 1), true),
            ("cd34", place(741, 1), false),
            ("ab12", place(742, 1), false),
        ] {
            assert_eq!(journal.reaches(generation, at), wanted, "{generation} {at}");
        }
        // In a database that was moved, until the numbers go on above.
        journal.next = place(700, 0);
        assert!(journal.reaches("ab12", journal.forgotten), "everybody begins there");
        assert!(!journal.reaches("ab12", place(740, 10)));
    }
}
