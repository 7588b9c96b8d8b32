//! Endpoints and deliveries as rows.

use crate::{
    adapters::{
        archive::feed::{Journal, Place},
        rows::Columns,
        sql::{Engine, cell, texts},
    },
    domain::endpoint::Endpoint,
    flow::{ledger::Error, notify::endpoints::Delivery},
};

/// What to select of an endpoint.
pub(super) const ENDPOINT: &str = "p.id, p.url, p.events, p.channels, p.description, p.state, p.disabled_reason, \
    p.failing_since, p.created_at, p.updated_at";

/// What to select of a delivery.
pub(super) const DELIVERY: &str = "d.id, d.endpoint_id, d.event_xact, d.event_id, d.kind, d.channel, d.conversation_id, \
    d.lane, d.state, d.attempts, d.at, d.first_at, d.next_at, d.last_at, d.last_ms, d.status, d.reason, d.answer";

/// An endpoint.
pub(super) fn endpoint<R: Columns>(row: &R) -> Result<Endpoint, Error> {
    // One that a newer version knows is not told of by this one.
    let events = texts(row, "events")?.map(|all| all.iter().filter_map(|word| word.parse().ok()).collect());
    Ok(Endpoint {
        id: cell(row, "id")?,
        url: cell(row, "url")?,
        events,
        channels: texts(row, "channels")?,
        description: cell(row, "description")?,
        state: cell(row, "state")?,
        disabled_reason: cell(row, "disabled_reason")?,
        failing_since: cell(row, "failing_since")?,
        created_at: cell(row, "created_at")?,
        updated_at: cell(row, "updated_at")?,
    })
}

/// Where the event of a delivery is; None: it is a test.
pub(super) fn place<R: Columns>(row: &R) -> Result<Option<Place>, Error> {
    let id: Option<i64> = cell(row, "event_id")?;
    let xact: Option<i64> = cell(row, "event_xact")?;
    Ok(xact.zip(id).map(|(xact, id)| Place { xact, id }))
}

/// A delivery.
pub(super) fn delivery<R: Columns>(engine: Engine, journal: &Journal, row: &R) -> Result<Delivery, Error> {
    let status: Option<i64> = cell(row, "status")?;
    Ok(Delivery {
        id: cell(row, "id")?,
        endpoint: cell(row, "endpoint_id")?,
        event: place(row)?.map(|place| journal.name(engine, place)),
        kind: cell(row, "kind")?,
        channel: cell(row, "channel")?,
        conversation: cell(row, "conversation_id")?,
        state: cell(row, "state")?,
        attempts: cell(row, "attempts")?,
        at: cell(row, "at")?,
        first_at: cell(row, "first_at")?,
        next_at: cell(row, "next_at")?,
        last_at: cell(row, "last_at")?,
        last_ms: cell(row, "last_ms")?,
        status: status.and_then(|status| u16::try_from(status).ok()),
        reason: cell(row, "reason")?,
        answer: cell(row, "answer")?,
    })
}
