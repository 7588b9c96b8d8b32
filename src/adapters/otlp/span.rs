//! One span in the making: ids that follow from what it is about, times by the store's clock, and attributes in the
//! words of OpenTelemetry where it has some.

use std::time::{Duration, SystemTime};

use opentelemetry::{
    InstrumentationScope, KeyValue, Value,
    trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Glimpse;
use crate::domain::time::Time;

/// The root of each trace.
const ROOT: &str = "message";

/// A span in the making.
pub(super) struct Span(SpanData);

impl Span {
    /// The root of a message's trace.
    pub(super) fn root(of: &Glimpse, message: Uuid, from: Time, to: Time) -> Self {
        let mut root = Self::under(of, message, ROOT, &[message], from, to).kind(SpanKind::Consumer);
        root.0.parent_span_id = SpanId::INVALID;
        root.with("messaging.message.id", message.to_string())
    }

    /// A span below the root of that message's trace. What it is about tells it from the others of its name.
    pub(super) fn under(
        of: &Glimpse,
        message: Uuid,
        name: &'static str,
        about: &[Uuid],
        from: Time,
        to: Time,
    ) -> Self {
        // Two clocks may have told these; nothing ends before it has begun.
        let to = to.max(from);
        let span = Self(SpanData {
            span_context: context(message, id(name, about)),
            parent_span_id: id(ROOT, &[message]),
            // The instance that took the webhook may be another, and nobody was told.
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: moment(from),
            end_time: moment(to),
            attributes: Vec::with_capacity(12),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("baton").build(),
        });
        span.with("messaging.system", "whatsapp")
            .with("messaging.destination.name", of.channel.clone())
            .with("messaging.message.conversation_id", of.conversation.to_string())
    }

    pub(super) fn kind(mut self, kind: SpanKind) -> Self {
        self.0.span_kind = kind;
        self
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.attributes.push(KeyValue::new(name, value));
        self
    }

    pub(super) fn maybe(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// It failed, for a reason in our own words.
    pub(super) fn failed(mut self, reason: &str) -> Self {
        self.0.status = Status::error(reason.to_owned());
        self.with("error.type", reason.to_owned())
    }

    /// It concerns that message's trace too.
    pub(super) fn linked(mut self, message: Uuid) -> Self {
        self.0.links.links.push(Link::with_context(context(message, id(ROOT, &[message]))));
        self
    }

    /// It lasts longer than the store's clock can tell.
    pub(super) fn lasting(mut self, took: Duration) -> Self {
        self.0.end_time = self.0.start_time + took;
        self
    }

    pub(super) fn done(self) -> SpanData {
        self.0
    }
}

fn context(message: Uuid, span: SpanId) -> SpanContext {
    let trace = TraceId::from_bytes(message.into_bytes());
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
}

/// The same for everybody who tells of the same.
fn id(name: &str, about: &[Uuid]) -> SpanId {
    let mut hash = Sha256::new().chain_update(name);
    for part in about {
        hash.update(part);
    }
    let hash = hash.finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[..8]);
    SpanId::from_bytes(bytes)
}

fn moment(at: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}
