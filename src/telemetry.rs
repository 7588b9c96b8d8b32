//! Logs, on stderr: lines for eyes on a terminal, JSON for programs.
//!
//! In: what code tells by `tracing`. Out: lines. Of other crates only warnings and errors are written, whatever the
//! level: their debug lines hold whole URLs and headers, and with them tokens; their news is nobody's.

#[cfg(test)]
pub(crate) mod paper;

use std::{fmt::Result as Formatted, io::IsTerminal as _};

use tracing::{Event, Level, Metadata, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer as _,
    filter::{Targets, filter_fn},
    fmt::{
        self, FmtContext, FormatEvent, FormatFields,
        format::{Format, Json, JsonFields, Writer},
    },
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::{SubscriberInitExt as _, TryInitError},
};

use crate::config::LogFormat;

/// The target of the journal: one line for each decision of a race, and each change that anyone can see.
const JOURNAL: &str = "baton::journal";

/// Where the web server tells of each request that it cannot parse, as an error: anybody on the network could fill a disk so.
const STRANGERS: &str = "actix_http::h1::dispatcher";

/// Our own crates.
const OURS: &[&str] = &["baton", "execution"];

/// Begins to write logs. Once in a process.
pub fn start(levels: &str, format: Option<LogFormat>) -> Result<(), TryInitError> {
    let is_terminal = std::io::stderr().is_terminal();
    let format = format.unwrap_or(if is_terminal { LogFormat::Pretty } else { LogFormat::Json });
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Json => lines.fmt_fields(JsonFields::new()).event_format(JsonLines::new()).boxed(),
        LogFormat::Pretty => lines.compact().with_ansi(is_terminal).boxed(),
    };
    let levels: Targets = levels.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    filtered(levels).with(lines).try_init()
}

/// Lines of JSON. Fields lie beside `timestamp`, where log collectors look for them; a line of the journal has that of its event, and
/// no other.
struct JsonLines {
    usual: Format<Json>,
    journal: Format<Json, ()>,
}

impl JsonLines {
    fn new() -> Self {
        let usual = fmt::format().json().flatten_event(true).with_current_span(false).with_span_list(false);
        Self { journal: usual.clone().without_time(), usual }
    }
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, line: Writer<'_>, event: &Event<'_>) -> Formatted {
        match event.metadata().target() {
            JOURNAL => self.journal.format_event(context, line, event),
            _ => self.usual.format_event(context, line, event),
        }
    }
}

/// What is to be written at all. Filters of the whole, not of one layer: those keep what they said last, for each thread, until
/// a line comes of it. A library that only asks, as the one for PostgreSQL does after each statement, then has the next
/// line dropped, whoever wrote it.
fn filtered(levels: Targets) -> impl tracing::Subscriber + Send + Sync + for<'a> LookupSpan<'a> {
    tracing_subscriber::registry().with(levels).with(filter_fn(may_be_written))
}

/// Whether a line may be written at any level that is asked for.
fn may_be_written(line: &Metadata<'_>) -> bool {
    let of = line.target().split("::").next().unwrap_or_default();
    (*line.level() <= Level::WARN && line.target() != STRANGERS) || OURS.contains(&of)
}

/// Reads which levels are wanted: `info`, or `info,baton::flow=debug`.
pub fn levels(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not a level (off, error, warn, info, debug, trace), nor place=level");
    // A bare word that is no level would be taken for a place, and everything else would fall silent.
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    let is_right = text.split(',').all(|part| match part.trim().split_once('=') {
        Some((place, level)) => !place.is_empty() && is_level(level),
        None => is_level(part.trim()),
    });
    match text.parse::<Targets>() {
        Ok(_) if is_right => Ok(text.to_owned()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::{paper::Paper, *};

    #[test]
    fn levels_are_words_and_anything_else_is_refused() {
        for (text, is_right) in [
            ("info", true),
            ("warn,baton::flow=debug", true),
            ("off", true),
            ("DEBUG", true),
            ("verbose", false),
            ("info,baton::flow", false),
            ("baton=loud", false),
            ("", false),
        ] {
            assert_eq!(levels(text).is_ok(), is_right, "{text:?}");
        }
    }

    #[test]
    fn other_crates_tell_only_warnings_at_every_level_asked_for() {
        let paper = Paper::default();
        let writer = paper.clone();
        let lines = fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
        let levels: Targets = "trace,hyper_util::client=trace".parse().expect("levels");
        let subscriber = filtered(levels).with(lines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "hyper_util::client::legacy", "GET /waInstance1/sendMessage/TOKEN");
            tracing::trace!(target: "batonette", "TOKEN");
            tracing::info!(target: "reqwest", "TOKEN");
            tracing::warn!(target: "sqlx", "slow");
            tracing::error!(target: STRANGERS, "TOKEN: a request that cannot be parsed");
            tracing::trace!(target: "baton::flow::sender", "ours");
        });
        let written = paper.text();
        assert!(written.contains("slow") && written.contains("ours"), "{written}");
        assert!(!written.contains("TOKEN"), "{written}");
    }

    #[test]
    fn a_line_of_json_has_one_timestamp_and_a_line_of_the_journal_that_of_its_event() {
        let paper = Paper::default();
        let writer = paper.clone();
        let lines = fmt::layer().with_writer(move || writer.clone());
        let lines = lines.fmt_fields(JsonFields::new()).event_format(JsonLines::new());
        let subscriber = filtered("info".parse().expect("levels")).with(lines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: JOURNAL, timestamp = "2026-01-05T12:00:00Z", event_type = "turn_started", "decided");
            tracing::info!(target: "baton::app", answer = 42, "ours");
        });
        let written = paper.text();
        let lines: Vec<_> = written.lines().collect();
        assert_eq!(
            lines.iter().map(|line| line.matches("\"timestamp\"").count()).collect::<Vec<_>>(),
            [1, 1]
        );
        let fields = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        let (journal, usual) = (fields(lines[0]), fields(lines[1]));
        assert_eq!(
            (&journal["timestamp"], &journal["level"]),
            (&"2026-01-05T12:00:00Z".into(), &"INFO".into())
        );
        assert_eq!(
            (&journal["event_type"], &journal["message"]),
            (&"turn_started".into(), &"decided".into())
        );
        assert_eq!((&usual["answer"], &usual["target"]), (&42.into(), &"baton::app".into()));
    }

    #[test]
    fn a_line_is_written_after_another_crate_asked_whether_it_might() {
        let paper = Paper::default();
        let writer = paper.clone();
        let lines = fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
        let subscriber = filtered("info".parse().expect("levels")).with(lines);
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..2 {
                assert!(!tracing::enabled!(target: "sqlx::query", Level::DEBUG));
                tracing::info!(target: "baton::app", "ours");
            }
        });
        let written = paper.text();
        assert_eq!(written.lines().count(), 2, "{written}");
    }
}
