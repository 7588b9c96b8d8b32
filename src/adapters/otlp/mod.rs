//! Traces by OTLP: one message of a contact is one trace, from its webhook to its delivery, across instances.
//!
//! In: every commit of this instance. Out: spans, to a collector. The id of a trace is that of the message, and the id of
//! a span follows from what it is about, so that nothing is stored and instances exchange nothing. A commit
//! never waits for any of it: what finds a queue full, or a collector that does not answer, is dropped and counted.

mod story;

mod known;

mod span;

mod exporter;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use metrics::counter;
use opentelemetry_sdk::trace::SpanData;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use exporter::NoExporter;
use exporter::{Exporter, Warnings};
use known::Known;

use crate::{
    domain::{
        docket::{MessageProgress, TurnProgress},
        event::Event,
        time::Time,
    },
    flow::{
        archive::Archive,
        ledger::{Committed, Observer},
    },
};

/// Commits that wait to be told. Telling is quick; it is only slow while the store must be asked and does not answer.
const COMMITS_MAX: usize = 4_096;
/// Spans that wait for the collector.
const SPANS_MAX: usize = 8_192;

/// Where spans go, and who sends them.
#[derive(Debug, Clone)]
pub struct Collector {
    /// Its base address; `/v1/traces` is added unless it ends so.
    pub endpoint: String,
    /// The name of this instance.
    pub instance: String,
    /// Who provides the model, as OpenTelemetry names it.
    pub provider: &'static str,
}

/// What of a commit is told in traces.
struct Glimpse {
    at: Time,
    /// From when it was asked for until it was committed.
    took: Duration,
    channel: String,
    conversation: Uuid,
    fence: i64,
    messages: Vec<MessageProgress>,
    turns: Vec<TurnProgress>,
}

impl Glimpse {
    /// None of one that tells nothing, and none of a person who is being erased.
    fn of(commit: &Committed) -> Option<Self> {
        let is_silent = commit.messages.is_empty() && commit.turns.is_empty();
        (!is_silent && !commit.is_erased).then(|| Self {
            at: commit.at,
            took: commit.asked_at.elapsed(),
            channel: commit.channel.clone(),
            conversation: commit.standing.conversation,
            fence: commit.standing.fence,
            messages: commit.messages.clone(),
            turns: commit.turns.clone(),
        })
    }

    /// About as many spans as would have been told of it.
    fn len(&self) -> usize {
        self.messages.len() + self.turns.len()
    }
}

/// The traces of this instance, as they are made and sent.
pub struct Traces {
    commits: mpsc::Sender<Glimpse>,
    ending: CancellationToken,
    telling: JoinHandle<()>,
    sending: JoinHandle<()>,
}

impl Traces {
    /// Begins to send, on the runtime of the caller. What this instance has not seen itself is read in the archive.
    pub fn start(collector: &Collector, archive: Arc<dyn Archive>) -> Result<Self, NoExporter> {
        let exporter = Exporter::to(collector)?;
        let (commits, to_tell) = mpsc::channel(COMMITS_MAX);
        let (spans, to_send) = mpsc::channel(SPANS_MAX);
        let ending = CancellationToken::new();
        let known = Known::new(archive);
        let telling = tokio::spawn(tell(known, collector.provider, to_tell, spans, ending.clone()));
        let sending = tokio::spawn(exporter.run(to_send));
        Ok(Self { commits, ending, telling, sending })
    }

    /// An observer that tells traces of what it hears, after that one has heard it.
    pub fn after(&self, first: Arc<dyn Observer>) -> Arc<dyn Observer> {
        Arc::new(Watched { first, commits: self.commits.clone() })
    }

    /// Sends what has been told so far, and ends. Commits after that are told to nobody.
    pub async fn end(self) {
        self.ending.cancel();
        for task in [self.telling, self.sending] {
            if let Err(error) = task.await {
                tracing::error!(%error, "traces ended before their time");
            }
        }
    }
}

/// Hears of commits, after somebody else.
struct Watched {
    first: Arc<dyn Observer>,
    commits: mpsc::Sender<Glimpse>,
}

impl Observer for Watched {
    fn kept(&self, events: &[Event]) {
        self.first.kept(events);
    }

    fn committed(&self, commits: &[Committed]) {
        self.first.committed(commits);
        for glimpse in commits.iter().filter_map(Glimpse::of) {
            if let Err(TrySendError::Full(glimpse) | TrySendError::Closed(glimpse)) =
                self.commits.try_send(glimpse)
            {
                dropped(glimpse.len());
            }
        }
    }
}

/// Spans that no collector will see.
fn dropped(spans: usize) {
    counter!("baton_spans_dropped_total").increment(spans as u64);
}

/// Makes spans of commits, in their order, until it is told to end and all that waits is told.
async fn tell(
    mut known: Known,
    provider: &'static str,
    mut commits: mpsc::Receiver<Glimpse>,
    spans: mpsc::Sender<SpanData>,
    ending: CancellationToken,
) {
    let mut warnings = Warnings::default();
    loop {
        let glimpse = tokio::select! {
            biased;
            glimpse = commits.recv() => glimpse,
            () = ending.cancelled() => return,
        };
        let Some(glimpse) = glimpse else { return };
        let full = story::tell(&mut known, provider, &glimpse)
            .await
            .into_iter()
            .filter_map(|span| spans.try_send(span).err())
            .count();
        if full > 0 {
            dropped(full);
            warnings.warn("the collector is too slow for all traces", &"spans were dropped");
        }
    }
}
