//! Webhook endpoints, and what was delivered to them. Secrets are shown once, when they are made.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    At, DisabledReasonWord, EndpointStateWord, EventWord, Id, WebhookDeliveryStateWord, WebhookTroubleWord,
    basic::Word,
};
use crate::flow::notify::endpoints::{self, Summary};

/// What stands for all types of events.
pub(crate) const ALL_EVENTS: &str = "*";

/// A webhook endpoint.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookEndpoint)]
pub(crate) struct Endpoint {
    id: Id,
    url: String,
    /// Types of events; `["*"]`: all.
    events: Vec<String>,
    /// Which channels' events it receives; null: those of all, and those of none.
    channels: Option<Vec<String>>,
    description: Option<String>,
    state: EndpointStateWord,
    /// Why it was switched off: `gone` (it answered 410), `failing` (nothing was received for a day).
    disabled_reason: Option<DisabledReasonWord>,
    /// Since when every attempt has failed; null: the last one was received, or there was none.
    failing_since: Option<At>,
    /// Deliveries that wait. While many do, the rest is in the journal and not counted.
    waiting: i64,
    /// The delivery that was tried last.
    last_delivery: Option<WebhookDelivery>,
    created_at: At,
    updated_at: At,
}

impl From<Summary> for Endpoint {
    fn from(standing: Summary) -> Self {
        let it = standing.endpoint;
        let events = match it.events {
            Some(events) => events.iter().map(ToString::to_string).collect(),
            None => vec![ALL_EVENTS.to_owned()],
        };
        Self {
            id: Id(it.id),
            url: it.url,
            events,
            channels: it.channels,
            description: it.description,
            state: Word(it.state),
            disabled_reason: it.disabled_reason.map(Word),
            failing_since: it.failing_since.map(At),
            waiting: standing.waiting,
            last_delivery: standing.last.map(WebhookDelivery::from),
            created_at: At(it.created_at),
            updated_at: At(it.updated_at),
        }
    }
}

/// The same, with its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewWebhookEndpoint)]
pub(crate) struct NewEndpoint {
    #[serde(flatten)]
    pub(crate) kept: Endpoint,
    /// `whsec_` and base64: with it deliveries are signed. Shown this once.
    pub(crate) secret: String,
}

/// One event at one endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookDelivery {
    id: Id,
    endpoint_id: Id,
    /// The event, which is `webhook-id` too; null: a test.
    event_id: Option<String>,
    r#type: EventWord,
    channel: Option<String>,
    conversation_id: Option<Id>,
    state: WebhookDeliveryStateWord,
    /// Since it was written down, or was last asked for again.
    attempts: i32,
    created_at: At,
    last_attempt_at: Option<At>,
    /// When it is tried next, if nothing of its conversation is before it.
    next_attempt_at: Option<At>,
    /// What it was answered last; null: there was no answer.
    status: Option<u16>,
    /// Why the last attempt failed.
    reason: Option<WebhookTroubleWord>,
    /// The beginning of the last answer.
    answer: Option<String>,
    /// How long the last attempt took, in milliseconds.
    took_ms: Option<i64>,
}

impl From<endpoints::Delivery> for WebhookDelivery {
    fn from(delivery: endpoints::Delivery) -> Self {
        let waits = delivery.state == crate::domain::endpoint::DeliveryState::Pending;
        Self {
            id: Id(delivery.id),
            endpoint_id: Id(delivery.endpoint),
            event_id: delivery.event,
            r#type: Word(delivery.kind),
            channel: (!delivery.channel.is_empty()).then_some(delivery.channel),
            conversation_id: delivery.conversation.map(Id),
            state: Word(delivery.state),
            attempts: delivery.attempts,
            created_at: At(delivery.at),
            last_attempt_at: delivery.last_at.map(At),
            next_attempt_at: waits.then_some(At(delivery.next_at)),
            status: delivery.status,
            reason: delivery.reason.map(Word),
            answer: delivery.answer,
            took_ms: delivery.last_ms,
        }
    }
}
