//! Traces, if the settings say where to: made by a second observer of every commit, and ended after everybody else.

use std::sync::Arc;
#[cfg(feature = "otlp")]
use std::time::Duration;

use tokio::time::Instant;

use super::stores::Store;
#[cfg(feature = "otlp")]
use crate::adapters::otlp;
use crate::{config::Settings, flow::ledger::Observer};

/// Whatever the collector does, the store still closes in its time.
#[cfg(feature = "otlp")]
const BEFORE_THE_END: Duration = Duration::from_millis(200);

/// What sends traces, or nobody.
pub(super) struct Traces {
    #[cfg(feature = "otlp")]
    sent: Option<otlp::Traces>,
}

#[cfg(feature = "otlp")]
impl Traces {
    /// Begins to send them, in the name of this instance.
    pub(super) fn start(settings: &Settings, instance: &str, store: &Store) -> anyhow::Result<Self> {
        let Some(endpoint) = &settings.otlp_endpoint else { return Ok(Self { sent: None }) };
        let collector = otlp::Collector {
            endpoint: endpoint.expose().to_owned(),
            instance: instance.to_owned(),
            provider: settings.provider().as_str(),
        };
        Ok(Self { sent: Some(otlp::Traces::start(&collector, store.places())?) })
    }

    /// What observes every commit: that one, and the traces.
    pub(super) fn after(&self, first: Arc<dyn Observer>) -> Arc<dyn Observer> {
        match &self.sent {
            Some(traces) => traces.after(first),
            None => first,
        }
    }

    /// Sends what there is, as far as there is time.
    pub(super) async fn end(self, ends_at: Instant) {
        let Some(traces) = self.sent else { return };
        if tokio::time::timeout_at(ends_at - BEFORE_THE_END, traces.end()).await.is_err() {
            tracing::warn!("some traces could not be sent within the grace period");
        }
    }
}

/// The settings name no collector: a program without traces refuses one.
#[cfg(not(feature = "otlp"))]
impl Traces {
    #[allow(clippy::unnecessary_wraps, reason = "as with traces")]
    pub(super) fn start(_: &Settings, _: &str, _: &Store) -> anyhow::Result<Self> {
        Ok(Self {})
    }

    #[allow(clippy::unused_self, reason = "as with traces")]
    pub(super) fn after(&self, first: Arc<dyn Observer>) -> Arc<dyn Observer> {
        first
    }

    #[allow(clippy::unused_async, clippy::unused_self, reason = "as with traces")]
    pub(super) async fn end(self, _: Instant) {}
}
