//! Numbers by hour or day, and how much waits now.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::Answered;
use crate::{
    domain::{
        hours::{Days, days},
        price::Prices,
        time::Time,
    },
    flow::{
        archive::{Bucket, Depths, Usage},
        spending,
    },
    http::{answer::Answer, auth::Caller, doors::Doors, problem::Problem, read::Query, wire::At},
};

const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Most items of one answer: a month of hours.
const ITEMS_MAX: i64 = 24 * 31;

/// Over which time.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Span {
    /// A day ago if not given.
    from: Option<At>,
    /// Now if not given.
    to: Option<At>,
    /// `hour`, or `day`: days of `BATON_TIME_ZONE`, of which the first is counted whole; `hour` if not given.
    #[param(pattern = "^(hour|day)$")]
    step: Option<String>,
    /// On this channel.
    channel: Option<String>,
}

/// Numbers of a time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Stats {
    /// Oldest first.
    items: Vec<Item>,
    now: Now,
}

#[derive(Debug, Serialize, ToSchema)]
struct Item {
    from: At,
    /// With a message of the contact.
    conversations: i64,
    /// The contacts' messages by outcome.
    outcomes: Map<String, Value>,
    /// Turns by state.
    turns: Map<String, Value>,
    first_answer_ms: Percentiles,
    human_answer_ms: Percentiles,
    tokens: i64,
    /// By the prices as they are now; null without any.
    cost: Option<f64>,
    /// The share of it of which nothing was sent.
    wasted_cost: Option<f64>,
    /// Those written in that time, by how they stand now. Sent and edited, of these and the discarded, is the share that was
    /// accepted.
    drafts: Map<String, Value>,
    /// Of those edited: how many words were taken out, put in or replaced.
    draft_edit_distance: Percentiles,
    /// By state, those due in that time, as the list of follow-ups shows them: one whose message waits to leave is pending.
    follow_ups: Map<String, Value>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Percentiles {
    p50: Option<i64>,
    p90: Option<i64>,
}

/// How much waits. The oldest are those of channels that can send.
#[derive(Debug, Serialize, ToSchema)]
struct Now {
    inbox: i64,
    inbox_oldest_ms: i64,
    /// By lane.
    outbox: Map<String, Value>,
    outbox_oldest_ms: i64,
    /// Open ones by kind.
    dead_letters: Map<String, Value>,
    /// By mode; empty where there are too many to be counted in time.
    conversations: Map<String, Value>,
    /// Conversations that need a person, by reason.
    attention: Map<String, Value>,
    /// Pending ones whose time has not come: what is due waits in the outbox.
    follow_ups: i64,
}

impl From<Option<(i64, i64)>> for Percentiles {
    fn from(known: Option<(i64, i64)>) -> Self {
        Self { p50: known.map(|(p50, _)| p50), p90: known.map(|(_, p90)| p90) }
    }
}

impl Item {
    fn of(bucket: Bucket, prices: &Prices) -> Self {
        let cost = |is_counted: fn(&Usage) -> bool| {
            let counted = bucket.usage.iter().filter(|used| is_counted(used));
            (!prices.is_empty()).then(|| spending::cost_of(prices, counted))
        };
        Self {
            cost: cost(|_| true),
            wasted_cost: cost(|used| used.wasted),
            tokens: bucket.usage.iter().map(|used| used.input_tokens + used.output_tokens).sum(),
            from: At(bucket.from),
            conversations: bucket.conversations,
            outcomes: bucket.outcomes,
            turns: bucket.turns,
            first_answer_ms: bucket.first_answer_ms.into(),
            human_answer_ms: bucket.human_answer_ms.into(),
            drafts: bucket.drafts,
            draft_edit_distance: bucket.draft_edit_distance.into(),
            follow_ups: bucket.follow_ups,
        }
    }
}

impl Now {
    fn of(depths: Depths, modes: Vec<(String, i64)>) -> Self {
        let by_word =
            |counts: Vec<(String, i64)>| counts.into_iter().map(|(word, n)| (word, n.into())).collect();
        Self {
            inbox: depths.inbox.0,
            inbox_oldest_ms: depths.inbox.1,
            outbox: by_word(depths.outbox),
            outbox_oldest_ms: depths.outbox_oldest_ms,
            dead_letters: by_word(depths.letters),
            conversations: by_word(modes),
            attention: by_word(depths.attention),
            follow_ups: depths.follow_ups,
        }
    }
}

/// Numbers by hour or day, and how much waits now.
#[utoipa::path(get, path = "/api/v1/stats", tag = "Installation", params(Span),
    responses((status = 200, body = Stats)))]
pub(crate) async fn stats(doors: Data<Doors>, caller: Caller, query: Query<Span>) -> Answered {
    let span = query.0;
    let step_ms = match span.step.as_deref() {
        None | Some("hour") => HOUR_MS,
        Some("day") => DAY_MS,
        Some(_) => return Err(Problem::invalid("/step", "is neither hour nor day")),
    };
    let to: Time = span.to.map_or_else(doors.now, |at| at.0);
    let from: Time = span.from.map_or_else(|| to.plus_ms(-DAY_MS), |at| at.0);
    if from > to {
        return Err(Problem::invalid("/from", "is after `to`"));
    }
    if to.since(from) / step_ms > ITEMS_MAX {
        return Err(Problem::invalid("/from", format!("spans more than {ITEMS_MAX} steps")));
    }
    let channels = caller.within(span.channel);
    let as_asked = Days { from, to, each_ms: step_ms };
    let stretches = if step_ms == DAY_MS { days(&doors.time_zone, from, to) } else { None };
    let stretches = stretches.unwrap_or_else(|| vec![as_asked]);
    let mut buckets = Vec::new();
    for Days { from, to: end, each_ms } in stretches {
        buckets.extend(doors.statistics.buckets(from, end.min(to), each_ms, channels.as_deref()).await?);
    }
    let depths = doors.statistics.depths(channels.as_deref()).await?;
    // What waits is shown all the same.
    let modes = doors.statistics.modes(channels.as_deref()).await.unwrap_or_else(|error| {
        tracing::warn!(error = error.cause(), "the number of conversations is missing from the statistics");
        Vec::new()
    });
    Ok(Answer::ok(&Stats {
        items: buckets.into_iter().map(|bucket| Item::of(bucket, &doors.prices)).collect(),
        now: Now::of(depths, modes),
    }))
}
