//! Webhook endpoints and the deliveries owed to them, for both databases.
//!
//! In: what the API keeps, and the feed of events. Out: deliveries in their order, and what became of each.

mod read;

mod settle;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use serde_json::json;
use uuid::Uuid;

use super::{
    archive::{
        cursor,
        feed::{self, Journal, Place},
    },
    failure, purge,
    rows::Columns as _,
    sql::{Bound, Engine, Part, Statement, Store, cell, is_within, serialize_writes},
};
use crate::{
    domain::{
        conversation::LEASED_AT_MOST_MS,
        endpoint::{Endpoint, State, lane},
        event::Event,
        time::Time,
    },
    flow::{
        archive::{Page, PageOf},
        ledger::Error,
        notify::endpoints::{Change, Delivery, Due, ENDPOINTS_MAX, Ended, Endpoints, Served, Summary},
    },
};

const LIST: &str = "deliveries";

const ROWS_MAX: i64 = 1_000;

#[async_trait]
impl<S: Store> Endpoints for S {
    async fn endpoints(&self) -> Result<Vec<Summary>, Error> {
        standings(self, None).await
    }

    async fn endpoint(&self, id: Uuid) -> Result<Option<Summary>, Error> {
        Ok(standings(self, Some(id)).await?.into_iter().next())
    }

    async fn add_endpoint(&self, endpoint: &Endpoint, sealed: Vec<u8>) -> Result<bool, Error> {
        let place = feed::newest_place(self).await?;
        // Of several at once, each counts the one before.
        let adding = Statement::new(
            "insert into endpoints (id, url, events, channels, description, state, cursor_xact, cursor_id, created_at, \
             updated_at) select $1, $2, $3, $4, $5, $6, $7, $8, $9, $9 where (select count(*) from endpoints) < $10",
        )
        .with(endpoint.id)
        .with(endpoint.url.as_str())
        .with(endpoint.events.as_ref())
        .with(endpoint.channels.as_ref())
        .with(endpoint.description.clone())
        .with(endpoint.state.as_str())
        .with(place.xact)
        .with(place.id)
        .with(endpoint.created_at)
        .with(ENDPOINTS_MAX);
        let secret = secret(endpoint.id, sealed);
        self.write_together(vec![serialize_writes(), Part::Must(adding), Part::Must(secret)]).await
    }

    async fn change_endpoint(&self, id: Uuid, change: &Change, now: Time) -> Result<bool, Error> {
        let mut parts = Vec::new();
        if change.state == Some(State::Active) {
            let mut anew = Statement::new("update deliveries set first_at = null, attempts = 0, next_at = ");
            anew.now(self).push(" where state = 'pending' and endpoint_id = ").bind(id);
            anew.push(" and exists (select 1 from endpoints p where p.state <> 'active' and p.id = ")
                .bind(id);
            anew.push(")");
            parts.push(Part::May(anew));
        }
        parts.push(Part::Must(overwriting(S::ENGINE, id, change, now)));
        self.write_together(parts).await
    }

    async fn change_secret(
        &self,
        id: Uuid,
        sealed: Vec<u8>,
        until: Time,
        within: Option<&[String]>,
    ) -> Result<bool, Error> {
        // Held until the end: whoever shows it more channels comes before this, or after.
        let mut held = Statement::new("update endpoints set url = url where id = ");
        held.bind(id);
        only_within(&mut held, S::ENGINE, within);
        // Each that was replaced signs until its own day is over, also where another has followed meanwhile.
        let mut older = Statement::new("delete from endpoint_secrets where endpoint_id = ");
        older.bind(id).push(" and until <= ").now(self);
        let before =
            Statement::new("update endpoint_secrets set until = $2 where endpoint_id = $1 and until is null");
        let parts = vec![
            Part::Must(held),
            Part::May(older),
            Part::Must(before.with(id).with(until)),
            Part::Must(secret(id, sealed)),
        ];
        self.write_together(parts).await
    }

    async fn secrets(&self, id: Uuid) -> Result<Vec<Vec<u8>>, Error> {
        let mut statement = Statement::new("select s.sealed from endpoint_secrets s where s.endpoint_id = ");
        statement.bind(id).push(" and (s.until is null or s.until > ").now(self);
        statement.push(") order by s.until is not null limit ").bind(ROWS_MAX);
        let mut secrets = Vec::new();
        for row in self.rows(statement).await? {
            secrets.extend(row.bytes("sealed").map_err(failure)?);
        }
        Ok(secrets)
    }

    async fn remove_endpoint(&self, id: Uuid, within: Option<&[String]>) -> Result<bool, Error> {
        let mut statement = Statement::new("delete from endpoints where id = ");
        statement.bind(id);
        only_within(&mut statement, S::ENGINE, within);
        Ok(self.write(statement).await? > 0)
    }

    async fn deliveries(
        &self,
        endpoint: Uuid,
        channels: Option<&[String]>,
        page: &PageOf,
    ) -> Result<Page<Delivery>, Error> {
        let after = cursor::read::<Uuid>(LIST, page)?;
        let mut statement = Statement::new("select ");
        statement.push(read::DELIVERY).push(" from deliveries d where d.endpoint_id = ").bind(endpoint);
        if let Some(channels) = channels {
            statement.push(" and (d.event_id is null or d.channel").one_of(S::ENGINE, channels.to_vec());
            statement.push(")");
        }
        if let Some((at, id)) = after {
            statement.push(" and (d.at, d.id) < (").bind(at).push(", ").bind(id).push(")");
        }
        statement.push(" order by d.at desc, d.id desc limit ").bind(cursor::rows_asked(page));
        let rows = self.rows(statement).await?;
        let journal = Journal::read(self).await?;
        let all: Result<Vec<Delivery>, Error> =
            rows.iter().map(|row| read::delivery(S::ENGINE, &journal, row)).collect();
        Ok(cursor::cut(all?, page, |it| cursor::write(LIST, it.at.0, it.id)))
    }

    async fn delivery(&self, id: Uuid) -> Result<Option<Delivery>, Error> {
        let mut statement = Statement::new("select ");
        statement.push(read::DELIVERY).push(" from deliveries d where d.id = ").bind(id);
        let Some(row) = self.row(statement).await? else { return Ok(None) };
        read::delivery(S::ENGINE, &Journal::read(self).await?, &row).map(Some)
    }

    async fn keep_test(&self, test: &Delivery) -> Result<(), Error> {
        let statement = Statement::new(
            "insert into deliveries (id, endpoint_id, kind, channel, lane, state, attempts, at, first_at, next_at, last_at, \
             last_ms, status, reason, answer) \
             select $1, p.id, $3, '', '', $4, 1, $5, $5, $5, $5, $6, $7, $8, $9 from endpoints p where p.id = $2",
        )
        .with(test.id)
        .with(test.endpoint)
        .with(test.kind.as_str())
        .with(test.state.as_str())
        .with(test.at)
        .with(Bound::Number(test.last_ms))
        .with(Bound::Number(test.status.map(i64::from)))
        .with(test.reason.map(|reason| reason.to_string()))
        .with(test.answer.clone());
        self.write(statement).await.map(drop)
    }

    async fn tell_again(&self, id: Uuid) -> Result<bool, Error> {
        let mut statement = Statement::new(
            "update deliveries set state = 'pending', first_at = null, attempts = 0, next_at = ",
        );
        statement.now(self).push(" where id = ").bind(id);
        statement.push(" and exists (select 1 from events e where ").push(feed::STAYS).push(" and ");
        statement.push(match S::ENGINE {
            Engine::Postgres => "e.xact = deliveries.event_xact and e.id = deliveries.event_id)",
            Engine::Sqlite => "e.id = deliveries.event_id)",
        });
        Ok(self.write(statement).await? > 0)
    }

    async fn active(&self) -> Result<Vec<Uuid>, Error> {
        let mut statement = Statement::new("select p.id from endpoints p where p.state = 'active' limit ");
        statement.bind(ROWS_MAX);
        self.rows(statement).await?.iter().map(|row| cell(row, "id")).collect()
    }

    async fn hold(&self, id: Uuid, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        let mut statement = Statement::new("update endpoints set owner = ");
        statement.bind(owner).push(", owned_until = ").now(self).push(" + ").bind(ttl_ms);
        statement.push(" where id = ").bind(id).push(" and state = 'active' and (owner = ").bind(owner);
        statement.push(" or owned_until <= ").now(self);
        // Held for longer than anybody does, it was before the clock was set back.
        statement.push(" or owned_until > ").now(self).push(" + ").bind(LEASED_AT_MOST_MS).push(")");
        Ok(self.write(statement).await? > 0)
    }

    async fn let_go(&self, id: Uuid, owner: &str) -> Result<(), Error> {
        let statement = Statement::new("update endpoints set owned_until = 0 where id = $1 and owner = $2");
        self.write(statement.with(id).with(owner)).await.map(drop)
    }

    async fn served(&self, id: Uuid, owner: &str) -> Result<Option<Served>, Error> {
        let mut statement = Statement::new("select ");
        statement.push(read::ENDPOINT).push(", p.cursor_xact, p.cursor_id, ");
        statement.push(WAITING).push(", ").push(READY).now(self).push(") as ready, ");
        statement.now(self).push(" as now from endpoints p where p.id = ");
        statement.bind(id).push(" and p.state = 'active' and p.owner = ").bind(owner);
        let Some(row) = self.row(statement).await? else { return Ok(None) };
        let (xact, at): (Option<i64>, Option<i64>) = (cell(&row, "cursor_xact")?, cell(&row, "cursor_id")?);
        Ok(Some(Served {
            endpoint: read::endpoint(&row)?,
            sealed: self.secrets(id).await?,
            place: xact.zip(at),
            waiting: cell(&row, "waiting")?,
            ready: cell(&row, "ready")?,
            now: cell(&row, "now")?,
        }))
    }

    async fn gather(&self, served: &Served, limit: usize) -> Result<usize, Error> {
        let Some((xact, id)) = served.place else {
            let from = feed::newest_place(self).await?;
            let beginning = Statement::new(
                "update endpoints set cursor_xact = $2, cursor_id = $3 where id = $1 and cursor_id is null",
            );
            let beginning = beginning.with(served.endpoint.id).with(from.xact).with(from.id);
            return self.write(beginning).await.map(|_| 0);
        };
        let read = feed::after(self, Place { xact, id }, limit).await?;
        let Some((last, _)) = read.last() else { return Ok(0) };
        let moving = Statement::new(
            "update endpoints set cursor_xact = $4, cursor_id = $5 \
             where id = $1 and cursor_xact = $2 and cursor_id = $3",
        );
        let moving = moving.with(served.endpoint.id).with(xact).with(id).with(last.xact).with(last.id);
        // When these are there, so is all that happened before them in their conversations. What was written down ahead of the
        // feed is found there already when the feed comes to it.
        let overtaken = feed::overtaken(self, *last, &read).await?;
        let wanted: Vec<_> =
            overtaken.iter().chain(&read).filter(|(_, event)| served.endpoint.wants(event)).collect();
        let mut parts = vec![Part::Must(moving)];
        if !wanted.is_empty() {
            let rows: Vec<_> = wanted.into_iter().map(|(place, event)| row(*place, event)).collect();
            let writing = Statement::new(written(S::ENGINE));
            let writing = writing.with(json!(rows).to_string()).with(served.endpoint.id).with(served.now);
            parts.push(Part::May(writing));
        }
        Ok(if self.write_together(parts).await? { read.len() } else { 0 })
    }

    async fn due(&self, endpoint: Uuid, limit: usize) -> Result<Vec<Due>, Error> {
        // Lane by lane: what waits behind a failure may be much, and of it no row is read.
        let mut statement = Statement::new("select ");
        statement.push(read::DELIVERY).push(
            " from (select distinct w.endpoint_id, w.lane from deliveries w where w.state = 'pending' and w.endpoint_id = ",
        );
        statement.bind(endpoint).push(
            ") l join deliveries d on d.id = (select h.id from deliveries h where h.endpoint_id = l.endpoint_id \
             and h.lane = l.lane and h.state = 'pending' order by h.event_id limit 1) where d.next_at <= ",
        );
        statement.now(self);
        // Those of a conversation that is being erased go with it, told or not.
        statement
            .push(" and not exists (select 1 from erasures x where x.conversation_id = d.conversation_id)");
        statement.push(" order by d.event_xact, d.event_id limit ");
        statement.bind(i64::try_from(limit).unwrap_or(ROWS_MAX));
        let rows = self.rows(statement).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let journal = Journal::read(self).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let delivery = read::delivery(S::ENGINE, &journal, &row)?;
            found.push((read::place(&row)?, cell::<String, _>(&row, "lane")?, delivery));
        }
        let places: Vec<Place> = found.iter().filter_map(|(place, ..)| *place).collect();
        let events = feed::at(self, &journal, &places).await?;
        let due = found.into_iter().map(|(place, lane, delivery)| {
            let event = events.iter().find(|(at, _)| Some(*at) == place).map(|(_, event)| event.clone());
            Due { delivery, event, lane }
        });
        Ok(due.collect())
    }

    async fn settle(&self, due: &Due, ended: &Ended) -> Result<(), Error> {
        self.write_together(settle::statements(self, due, ended)).await.map(drop)
    }

    async fn forget_deliveries(&self, before: Time) -> Result<u64, Error> {
        let is_old = "r.state <> 'pending' and r.last_at < $1 \
            and not exists (select 1 from dead_letters l where l.id = r.id and l.state = 'open')";
        purge::remove(self, "deliveries", is_old, before).await
    }
}

/// How many deliveries wait.
const WAITING: &str =
    "(select count(*) from deliveries w where w.endpoint_id = p.id and w.state = 'pending') as waiting";

/// How many of them are in a lane whose first is due; the moment and a bracket follow.
const READY: &str = "(select cast(coalesce(sum(l.waiting), 0) as bigint) from (select w.lane, count(*) as waiting \
    from deliveries w where w.endpoint_id = p.id and w.state = 'pending' \
    and not exists (select 1 from erasures x where x.conversation_id = w.conversation_id) group by w.lane) l \
    where (select h.next_at from deliveries h where h.endpoint_id = p.id and h.lane = l.lane and h.state = 'pending' \
    order by h.event_id limit 1) <= ";

async fn standings<S: Store>(store: &S, id: Option<Uuid>) -> Result<Vec<Summary>, Error> {
    let mut statement = Statement::new("select ");
    statement.push(read::ENDPOINT).push(", ").push(WAITING).push(" from endpoints p");
    statement.given(" where p.id = ", id);
    statement.push(" order by p.created_at, p.id limit ").bind(ROWS_MAX);
    let rows = store.rows(statement).await?;
    let mut lasts = last(store, id).await?;
    let mut standings = Vec::with_capacity(rows.len());
    for row in &rows {
        let endpoint = read::endpoint(row)?;
        let at = lasts.iter().position(|last| last.endpoint == endpoint.id);
        let last = at.map(|at| lasts.swap_remove(at));
        standings.push(Summary { endpoint, waiting: cell(row, "waiting")?, last });
    }
    Ok(standings)
}

/// The delivery of each endpoint that was tried last.
async fn last<S: Store>(store: &S, id: Option<Uuid>) -> Result<Vec<Delivery>, Error> {
    let mut statement = Statement::new("select ");
    statement.push(read::DELIVERY).push(
        " from endpoints p join deliveries d on d.id = (select l.id from deliveries l \
         where l.endpoint_id = p.id and l.last_at is not null order by l.last_at desc limit 1)",
    );
    statement.given(" where p.id = ", id);
    statement.push(" limit ").bind(ROWS_MAX);
    let rows = store.rows(statement).await?;
    let journal = Journal::read(store).await?;
    rows.iter().map(|row| read::delivery(S::ENGINE, &journal, row)).collect()
}

/// Only what is given is written.
fn overwriting(engine: Engine, id: Uuid, change: &Change, now: Time) -> Statement {
    let mut statement = Statement::new("update endpoints set updated_at = ");
    statement.bind(now);
    statement.given(", url = ", change.url.as_deref());
    if let Some(events) = &change.events {
        statement.push(", events = ").bind(events.as_ref());
    }
    if let Some(channels) = &change.channels {
        statement.push(", channels = ").bind(channels.as_ref());
    }
    if let Some(description) = &change.description {
        statement.push(", description = ").bind(description.clone());
    }
    if let Some(state) = change.state {
        statement.push(", disabled_reason = null, state = ").bind(state.as_str());
        if state == State::Active {
            statement.push(", failing_since = case when state = 'active' then failing_since end");
        }
    }
    statement.push(" where id = ").bind(id);
    only_within(&mut statement, engine, change.within.as_deref());
    statement
}

fn only_within(statement: &mut Statement, engine: Engine, channels: Option<&[String]>) {
    if let Some(channels) = channels {
        is_within(statement.push(" and "), engine, "endpoints.channels", channels);
    }
}

/// A secret that is good for ever.
fn secret(endpoint: Uuid, sealed: Vec<u8>) -> Statement {
    Statement::new("insert into endpoint_secrets (id, endpoint_id, sealed) values ($1, $2, $3)")
        .with(Uuid::now_v7())
        .with(endpoint)
        .with(Some(sealed))
}

fn row(place: Place, event: &Event) -> serde_json::Value {
    json!({
        "id": Uuid::now_v7().to_string(), "event_xact": place.xact, "event_id": place.id,
        "kind": event.kind.as_str(), "channel": event.channel,
        "conversation_id": event.conversation.map(|id| id.to_string()), "lane": lane(event),
    })
}

/// Several deliveries at once. What is there already, the index refuses.
const fn written(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "insert into deliveries (id, endpoint_id, event_xact, event_id, kind, channel, conversation_id, lane, state, \
             attempts, at, next_at) \
             select r.id, $2, r.event_xact, r.event_id, r.kind, r.channel, r.conversation_id, r.lane, 'pending', 0, $3, $3 \
             from jsonb_to_recordset($1::jsonb) as r (id text, event_xact bigint, event_id bigint, kind text, \
             channel text, conversation_id text, lane text) on conflict do nothing"
        }
        Engine::Sqlite => {
            "insert into deliveries (id, endpoint_id, event_xact, event_id, kind, channel, conversation_id, lane, state, \
             attempts, at, next_at) \
             select value ->> 'id', $2, value ->> 'event_xact', value ->> 'event_id', value ->> 'kind', \
             value ->> 'channel', value ->> 'conversation_id', value ->> 'lane', 'pending', 0, $3, $3 \
             from json_each($1) where true on conflict do nothing"
        }
    }
}
