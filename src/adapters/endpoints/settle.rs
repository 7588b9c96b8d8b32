//! What becomes of a delivery, as statements of one transaction.

use serde_json::json;

use crate::{
    adapters::{
        purge::without_failures,
        sql::{Bound, Part, Statement, Store},
    },
    domain::{
        endpoint::{DEAD_LETTERED, DeliveryState, DisabledReason, ENDPOINT, Fate},
        event::{CHANNELS, EventType, actor},
    },
    flow::notify::endpoints::{Delivery, Due, Ended},
};

/// All of them. The first finds out whether the delivery still waits.
pub(super) fn statements<S: Store>(store: &S, due: &Due, ended: &Ended) -> Vec<Part> {
    let delivery = &due.delivery;
    let mut parts = vec![Part::Must(outcome(store, delivery, ended))];
    match ended.attempt.trouble {
        // Nobody was asked anything.
        _ if ended.fate == Fate::Dropped => parts.push(Part::May(without_failures())),
        None => {
            let well = Statement::new(
                "update endpoints set failing_since = null where id = $1 and failing_since is not null",
            );
            parts.push(Part::May(well.with(delivery.endpoint)));
        }
        Some(trouble) if trouble.is_of_the_endpoint() => {
            let mut ill = Statement::new("update endpoints set failing_since = ");
            ill.now(store).push(" where id = ").bind(delivery.endpoint).push(" and failing_since is null");
            parts.push(Part::May(ill));
        }
        Some(_) => {}
    }
    if ended.fate == Fate::GivenUp {
        parts.extend(given_up(store, delivery, ended));
        parts.push(Part::May(next_in_lane(due)));
    }
    if let Some(reason) = ended.disabled {
        parts.extend(disabling(store, delivery, reason));
    }
    parts
}

fn outcome<S: Store>(store: &S, delivery: &Delivery, ended: &Ended) -> Statement {
    let (state, wait_ms) = match ended.fate {
        Fate::Delivered => (DeliveryState::Delivered, 0),
        Fate::Again(ms) => (DeliveryState::Pending, ms),
        Fate::GivenUp => (DeliveryState::Failed, 0),
        Fate::Dropped => (DeliveryState::Dropped, 0),
    };
    let attempt = &ended.attempt;
    let mut statement = Statement::new("update deliveries set state = ");
    statement.bind(state.as_str()).push(", attempts = attempts + ");
    statement.bind(i64::from(ended.fate != Fate::Dropped));
    statement.push(", first_at = coalesce(first_at, ").now(store).push("), last_at = ").now(store);
    statement.push(", next_at = ").now(store).push(" + ").bind(wait_ms);
    statement.push(", last_ms = ").bind(attempt.took_ms);
    statement.push(", status = ").bind(Bound::Number(attempt.status.map(i64::from)));
    statement.push(", reason = ").bind(attempt.trouble.map(|trouble| trouble.to_string()));
    statement.push(", answer = ").bind(attempt.answer.clone());
    statement.push(" where id = ").bind(delivery.id).push(" and state = 'pending'");
    statement
}

/// What stood behind it has waited as long as it stood there, or a lane would give up one a day and grow for ever.
fn next_in_lane(due: &Due) -> Statement {
    let since = due.delivery.first_at;
    let mut statement = Statement::new("update deliveries set first_at = case when at > ");
    statement.bind(since).push(" then at else ").bind(since).push(" end where first_at is null and id = ");
    statement.push("(select h.id from deliveries h where h.state = 'pending' and h.endpoint_id = ");
    statement.bind(due.delivery.endpoint).push(" and h.lane = ").bind(due.lane.as_str());
    statement.push(" order by h.event_id limit 1)");
    statement
}

/// A dead letter under the delivery's own id: given up once more, it is the same one, open again.
fn given_up<S: Store>(store: &S, delivery: &Delivery, ended: &Ended) -> [Part; 2] {
    let trouble = ended.attempt.trouble.map(|trouble| trouble.as_str()).unwrap_or_default();
    let payload = json!({
        ENDPOINT: delivery.endpoint.to_string(),
        "event_id": delivery.event,
        "type": delivery.kind.as_str(),
        "status": ended.attempt.status,
    });
    let mut letter = Statement::new(
        "insert into dead_letters (id, kind, channel, conversation_id, subject, state, reason, attempts, first_at, last_at, \
         payload) select d.id, 'delivery', d.channel, (select c.id from conversations c where c.id = d.conversation_id), \
         d.id, 'open', ",
    );
    letter.bind(trouble).push(", d.attempts, coalesce(d.first_at, d.at), ").now(store).push(", ");
    letter.bind(payload.to_string()).push(" from deliveries d where d.id = ").bind(delivery.id).push(
        " on conflict (id) do update set state = excluded.state, reason = excluded.reason, \
         attempts = excluded.attempts, last_at = excluded.last_at, payload = excluded.payload",
    );
    let mut details =
        json!({ ENDPOINT: delivery.endpoint.to_string(), "dead_letter_id": delivery.id.to_string() });
    if !delivery.channel.is_empty() {
        // Whoever sees its letter, whether they see the endpoint or not.
        details[CHANNELS] = json!([delivery.channel]);
    }
    let mut event = event(store);
    event.bind(actor::SYSTEM).push(", ").bind(EventType::EndpointUpdated.as_str()).push(", ");
    event.bind(DEAD_LETTERED).push(", ").bind(details.to_string());
    [Part::Must(letter), Part::Must(event)]
}

/// Of several that find it at once, one switches it off: the others wait for its row, and find it done.
fn disabling<S: Store>(store: &S, delivery: &Delivery, reason: DisabledReason) -> [Part; 3] {
    let lock = Statement::new("update endpoints set state = state where id = $1").with(delivery.endpoint);
    let details = json!({ ENDPOINT: delivery.endpoint.to_string(), "reason": reason.as_str() });
    let mut event = event(store);
    event.bind(actor::SYSTEM).push(", ").bind(EventType::EndpointDisabled.as_str()).push(", ");
    // For those who see it: its channels stand in its row, as JSON.
    let details = details.to_string();
    event.bind("disabled").push(", case when p.channels is null then ").bind(details.as_str());
    event.push(" else ").bind(format!("{{\"{CHANNELS}\":")).push(" || p.channels || ");
    event.bind(details.replacen('{', ",", 1)).push(" end");
    event.push(" from endpoints p where p.id = ").bind(delivery.endpoint).push(" and p.state = 'active'");
    let mut off = Statement::new("update endpoints set state = 'disabled', disabled_reason = ");
    off.bind(reason.as_str()).push(", updated_at = ").now(store);
    off.push(" where id = ").bind(delivery.endpoint).push(" and state = 'active'");
    [Part::May(lock), Part::May(event), Part::May(off)]
}

/// An event of no channel: whoever it is for sees it by its type.
fn event<S: Store>(store: &S) -> Statement {
    let mut statement =
        Statement::new("insert into events (at, channel, actor, kind, action, details) select ");
    statement.now(store).push(", '', ");
    statement
}
