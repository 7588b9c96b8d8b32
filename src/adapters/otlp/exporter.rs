//! The way to the collector: batches, one after another. One that is not taken is dropped, counted, and warned of now and then.

use std::{fmt::Display, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanExporter as _},
};
use prost::Message as _;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{Collector, dropped};
use crate::adapters::http_client;

/// Spans of one request.
const BATCH_MAX: usize = 512;
/// A batch that is not full leaves after this.
const BATCH: Duration = Duration::from_secs(5);
/// A connection is up within this, and a request answered within the next.
const CONNECT: Duration = Duration::from_secs(2);
const REQUEST: Duration = Duration::from_secs(10);
/// At least this long between two warnings of the same.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The exporter cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NoExporter {
    /// The client.
    #[error("the client for traces cannot be set up")]
    Client(#[from] http_client::NoClient),
    /// What the settings or the standard variables of OpenTelemetry say.
    #[error("traces cannot be sent this way")]
    Settings(#[from] ExporterBuildError),
}

/// Where spans leave.
pub(super) struct Exporter {
    exporter: SpanExporter,
    warnings: Warnings,
}

impl Exporter {
    /// Headers are those of the standard variable `OTEL_EXPORTER_OTLP_HEADERS`.
    pub(super) fn to(collector: &Collector) -> Result<Self, NoExporter> {
        let client = http_client::builder(CONNECT).map_err(http_client::NoClient::from)?;
        let client = client.timeout(REQUEST).build().map_err(http_client::NoClient::from)?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client(client))
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address(&collector.endpoint))
            .with_timeout(REQUEST)
            .build()?;
        // What OTEL_RESOURCE_ATTRIBUTES names is there too, as `deployment.environment.name`.
        let resource = Resource::builder().with_attributes([
            KeyValue::new("service.name", "baton"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", collector.instance.clone()),
        ]);
        exporter.set_resource(&resource.build());
        Ok(Self { exporter, warnings: Warnings::default() })
    }

    /// Sends until nobody has any more to send.
    pub(super) async fn run(mut self, mut spans: mpsc::Receiver<SpanData>) {
        while let Some(first) = spans.recv().await {
            let mut batch = vec![first];
            let gather = async {
                let mut taken = 1;
                while taken > 0 && batch.len() < BATCH_MAX {
                    let room = BATCH_MAX - batch.len();
                    taken = spans.recv_many(&mut batch, room).await;
                }
            };
            // Either it is full, or nobody has any more, or it has waited for long enough.
            let _ = timeout(BATCH, gather).await;
            let count = batch.len();
            if let Err(error) = self.exporter.export(batch).await {
                dropped(count);
                self.warnings.warn("the collector of traces does not take them", &error);
            }
        }
    }
}

/// The way of the requests. A collector may take one and yet say that it has not kept all of its spans.
#[derive(Debug)]
struct Client(reqwest::Client);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.0.send_bytes(request).await?;
        if response.status().is_success()
            && let Ok(answer) = ExportTraceServiceResponse::decode(response.body().clone())
            && let Some(partly) = answer.partial_success
        {
            dropped(usize::try_from(partly.rejected_spans).unwrap_or(0));
        }
        Ok(response)
    }
}

/// As OpenTelemetry has it: the path is added to a base, unless it is there.
fn address(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with("/v1/traces") { endpoint.to_owned() } else { format!("{endpoint}/v1/traces") }
}

/// A warning that is logged once, and again only after a while.
#[derive(Default)]
pub(super) struct Warnings(Option<Instant>);

impl Warnings {
    pub(super) fn warn(&mut self, what: &'static str, error: &(impl Display + ?Sized)) {
        if self.is_due() {
            tracing::warn!(%error, "{what}; counted in baton_spans_dropped_total");
        }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= WARN_EVERY);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_to_a_base_and_not_to_itself() {
        for (endpoint, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://otlp.example/otlp", "https://otlp.example/otlp/v1/traces"),
            ("https://otlp.example/v1/traces/", "https://otlp.example/v1/traces"),
        ] {
            assert_eq!(address(endpoint), whole);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_is_away_is_warned_of_now_and_then() {
        let mut warnings = Warnings::default();
        let mut told = 0;
        for _ in 0..120 {
            told += usize::from(warnings.is_due());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, 2, "in two minutes");
    }
}
