//! Rules: which webhook endpoints receive events, and what becomes of each delivery.
//!
//! In: an endpoint, an event; an attempt, and how long it has been tried. Out: whether it receives the event, and what is next.

use serde_json::Value;
use uuid::Uuid;

use super::{
    event::{Event, EventType},
    retry,
    time::Time,
    words::words,
};

words! {
    /// Whether an endpoint receives events.
    State {
        /// It is.
        Active = "active",
        /// Not now: a person has said so. What happens meanwhile is delivered later.
        Paused = "paused",
        /// Not any more: it is dead. A person may put it right.
        Disabled = "disabled",
    }
}

words! {
    /// How an endpoint is doing.
    Health {
        /// It accepts what it is sent.
        Active = "active",
        /// It is active, and every attempt of late has failed.
        Failing = "failing",
        /// A person has said so.
        Paused = "paused",
        /// It is dead.
        Disabled = "disabled",
    }
}

words! {
    /// Why an endpoint was switched off.
    DisabledReason {
        /// It answered 410.
        Gone = "gone",
        /// Everything has failed for a day.
        Failing = "failing",
    }
}

words! {
    /// Where a delivery stands.
    DeliveryState {
        /// It waits for its turn, or for the next attempt.
        Pending = "pending",
        /// It was received.
        Delivered = "delivered",
        /// It was given up, and is a dead letter; or it was a test.
        Failed = "failed",
        /// There is nothing to deliver any more: its event was removed, or the endpoint no longer wants it.
        Dropped = "dropped",
    }
}

words! {
    /// Why an attempt failed.
    Trouble {
        /// Its address is one that may not be reached.
        NotAllowed = "not_allowed",
        /// No connection.
        Unreachable = "unreachable",
        /// No answer in time.
        Timeout = "timeout",
        /// It sent us elsewhere, and we do not go.
        Redirected = "redirected",
        /// It wants nothing any more.
        Gone = "gone",
        /// It answered that it has failed, or that we have.
        Refused = "refused",
        /// There is more to tell than we send.
        TooLarge = "too_large",
        /// The event to deliver cannot be read.
        Unreadable = "unreadable",
    }
}

impl Trouble {
    /// Whether it says something of the endpoint, and not of what we have to tell.
    pub const fn is_of_the_endpoint(self) -> bool {
        !matches!(self, Self::TooLarge | Self::Unreadable)
    }
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Ours.
    pub id: Uuid,
    /// Where it is.
    pub url: String,
    /// Which types of events it receives; None: all.
    pub events: Option<Vec<EventType>>,
    /// Of which channels; None: of all, and of what is of none.
    pub channels: Option<Vec<String>>,
    /// For people.
    pub description: Option<String>,
    /// Whether it receives events.
    pub state: State,
    /// Why it was switched off.
    pub disabled_reason: Option<DisabledReason>,
    /// Since when every attempt has failed.
    pub failing_since: Option<Time>,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// The detail that names the endpoint an event is about.
pub const ENDPOINT: &str = "endpoint_id";

/// What is done about an endpoint when one of its deliveries is given up.
pub const DEAD_LETTERED: &str = "dead_lettered";

impl Endpoint {
    /// Whether it receives an event. Not one about itself, nor about deliveries that were given up: a failure must not cause
    /// further failures. Nor what an agent keeps for themselves.
    pub fn wants(&self, event: &Event) -> bool {
        let is_own = event.details.get(ENDPOINT).and_then(Value::as_str) == Some(&self.id.to_string());
        let is_given_up = event.action.as_deref() == Some(DEAD_LETTERED);
        !(event.kind.is_about_endpoints() && (is_own || is_given_up))
            && event.is_for(None, None)
            && self.covers(event.kind, &event.channel)
    }

    /// Whether it asked for events of that type on that channel.
    pub fn covers(&self, kind: EventType, channel: &str) -> bool {
        self.channels.as_ref().is_none_or(|channels| channels.iter().any(|name| name == channel))
            && self.events.as_ref().is_none_or(|events| events.contains(&kind))
    }
}

/// Within it deliveries go in order: a conversation, or a channel for what is outside of any.
pub fn lane(event: &Event) -> String {
    match event.conversation {
        Some(conversation) => conversation.to_string(),
        None => format!("channel:{}", event.channel),
    }
}

/// First and longest wait after a failure.
const RETRY_MS: i64 = 5_000;
const RETRY_MAX_MS: i64 = 7_200_000;

/// What was not received within this is given up; an endpoint that received nothing at all for this long is switched off.
pub const PATIENCE_MS: i64 = 86_400_000;

/// How an attempt went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    /// What it was answered.
    pub status: Option<u16>,
    /// Why it failed; None: it was received.
    pub trouble: Option<Trouble>,
    /// The beginning of the answer.
    pub answer: Option<String>,
    /// How long the endpoint wants to be left alone.
    pub retry_after_ms: Option<i64>,
    /// How long it took.
    pub took_ms: i64,
}

/// What becomes of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was received.
    Delivered,
    /// It is tried again after this long.
    Again(i64),
    /// It is a dead letter.
    GivenUp,
    /// There is nothing to tell any more.
    Dropped,
}

/// What becomes of a delivery after an attempt, and whether its endpoint is switched off. `first_at` is its first attempt,
/// `attempts` how many there were with this one.
pub fn judge(
    endpoint: &Endpoint,
    attempt: &Attempt,
    first_at: Option<Time>,
    attempts: i32,
    now: Time,
    jitter: f64,
) -> (Fate, Option<DisabledReason>) {
    let Some(trouble) = attempt.trouble else { return (Fate::Delivered, None) };
    let is_over = |since: Option<Time>| since.is_some_and(|since| now.since(since) >= PATIENCE_MS);
    // Nothing is asked for longer than we would wait by ourselves: a day has an end.
    let asked = attempt.retry_after_ms.map(|ms| ms.clamp(0, RETRY_MAX_MS));
    let wait = retry::wait_ms(RETRY_MS, attempts, RETRY_MAX_MS, jitter, asked);
    match trouble {
        // What it did not receive waits until a person has put it right.
        Trouble::Gone => (Fate::Again(wait), Some(DisabledReason::Gone)),
        Trouble::Unreadable => (Fate::Dropped, None),
        Trouble::TooLarge => (Fate::GivenUp, None),
        Trouble::NotAllowed
        | Trouble::Unreachable
        | Trouble::Timeout
        | Trouble::Redirected
        | Trouble::Refused => {
            let fate = if is_over(first_at) { Fate::GivenUp } else { Fate::Again(wait) };
            let disabled = is_over(endpoint.failing_since).then_some(DisabledReason::Failing);
            (fate, disabled)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{
        docket::Entry,
        event::{EventType as E, OWNER},
    };

    const DAY: i64 = PATIENCE_MS;

    fn endpoint() -> Endpoint {
        Endpoint {
            id: Uuid::from_u128(1),
            url: "https://example.com/hook".to_owned(),
            events: None,
            channels: None,
            description: None,
            state: State::Active,
            disabled_reason: None,
            failing_since: None,
            created_at: Time(0),
            updated_at: Time(0),
        }
    }

    #[test]
    fn an_endpoint_is_told_what_it_asked_for_and_never_of_itself() {
        let all = endpoint();
        let shop = Endpoint { channels: Some(vec!["shop".to_owned()]), ..endpoint() };
        let sent = Endpoint { events: Some(vec![E::MessageSent]), ..endpoint() };
        let of = |entry: Entry, channel: &str| entry.outside(channel, Time(0));
        let about = |kind, id: u128| Entry::of(kind).with(ENDPOINT, Uuid::from_u128(id).to_string());
        #[rustfmt::skip]
        let table = [
            // event                                                                     all    shop   sent
            (of(Entry::of(E::MessageSent), "shop"),                                     [true,  true,  true]),
            (of(Entry::of(E::MessageSent), "other"),                                    [true,  false, true]),
            (of(Entry::of(E::MessageReceived), "shop"),                                 [true,  true,  false]),
            (of(Entry::of(E::LabelUpdated), ""),                                        [true,  false, false]),
            (of(Entry::of(E::CannedReplyUpdated).with(OWNER, json!("an agent")), ""),   [false, false, false]),
            (of(about(E::EndpointUpdated, 1), ""),                                      [false, false, false]),
            (of(about(E::EndpointUpdated, 2), ""),                                      [true,  false, false]),
            (of(about(E::EndpointDisabled, 2), ""),                                     [true,  false, false]),
            (of(about(E::EndpointUpdated, 2).action(DEAD_LETTERED), ""),                [false, false, false]),
        ];
        for (event, told) in table {
            assert_eq!([&all, &shop, &sent].map(|it| it.wants(&event)), told, "{event:?}");
        }
    }

    #[test]
    fn what_fails_is_tried_for_a_day_and_who_fails_at_everything_is_switched_off() {
        use DisabledReason::{Failing, Gone};
        use Fate::{Again, Delivered, Dropped, GivenUp};
        let failed = |trouble| Attempt { trouble: Some(trouble), ..Attempt::default() };
        #[rustfmt::skip]
        let table = [
            // trouble                    attempts  first    failing since  now          fate              switched off
            (None,                        1,        None,    None,          0,           Delivered,        None),
            (None,                        9,        Some(0), Some(0),       3 * DAY,     Delivered,        None),
            (Some(Trouble::Refused),      1,        None,    None,          0,           Again(5_000),     None),
            (Some(Trouble::Refused),      2,        Some(0), Some(0),       5_000,       Again(10_000),    None),
            (Some(Trouble::Timeout),      30,       Some(0), Some(0),       DAY - 1,     Again(7_200_000), None),
            (Some(Trouble::Timeout),      30,       Some(0), Some(1),       DAY,         GivenUp,          None),
            (Some(Trouble::Unreachable),  30,       Some(1), Some(0),       DAY,         Again(7_200_000), Some(Failing)),
            (Some(Trouble::NotAllowed),   30,       Some(0), Some(0),       DAY,         GivenUp,          Some(Failing)),
            (Some(Trouble::Gone),         1,        None,    None,          0,           Again(5_000),     Some(Gone)),
            (Some(Trouble::TooLarge),     1,        None,    None,          0,           GivenUp,          None),
            (Some(Trouble::Unreadable),   1,        None,    None,          0,           Dropped,          None),
        ];
        for (trouble, attempts, first, failing, now, fate, off) in table {
            let endpoint = Endpoint { failing_since: failing.map(Time), ..endpoint() };
            let attempt = trouble.map_or_else(Attempt::default, failed);
            let judged = judge(&endpoint, &attempt, first.map(Time), attempts, Time(now), 1.0);
            assert_eq!(judged, (fate, off), "{trouble:?} {attempts} {first:?} {failing:?} {now}");
        }
    }

    #[test]
    fn an_endpoint_is_left_alone_as_long_as_it_asks_within_reason() {
        let asked =
            |ms| Attempt { trouble: Some(Trouble::Refused), retry_after_ms: Some(ms), ..Attempt::default() };
        for (ms, waited) in [(60_000, 60_000), (1, 5_000), (-5, 5_000), (i64::MAX, 7_200_000)] {
            let (fate, _) = judge(&endpoint(), &asked(ms), None, 1, Time(0), 1.0);
            assert_eq!(fate, Fate::Again(waited), "{ms}");
        }
    }
}
