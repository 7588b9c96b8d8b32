//! Metrics for Prometheus: every name, what it counts, and how it is rendered.
//!
//! In: what code counts with the macros of `metrics`. Out: text for `GET /metrics`.

use std::time::{SystemTime, UNIX_EPOCH};

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use crate::{
    domain::{lane::Lane, mode::Mode},
    flow::{journal, notify, turn},
    http,
};

use Kind::{Counter, Gauge, Quick, Slow};
use Unit::{Count, Seconds};

/// What a metric is: it rises, it goes up and down, or it is spread over buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    /// Things that take milliseconds.
    Quick,
    /// Things that take as long as a model or a person.
    Slow,
}

/// Every metric. Code names them as they are, in the macros of `metrics`; a test compares.
#[rustfmt::skip]
const ALL: &[(&str, Kind, Unit, &str)] = &[
    ("baton_webhooks_total", Counter, Count, "Webhooks by how they were answered (result)."),
    ("baton_webhook_seconds", Quick, Seconds, "From a webhook's arrival to its answer."),
    ("baton_duplicates_total", Counter, Count, "Webhooks that had been seen before."),
    ("baton_missed_messages_total", Counter, Count, "Messages that came by no webhook and were found in the provider's journal, by channel."),
    ("baton_inbox_depth", Gauge, Count, "Messages of contacts that wait for a turn."),
    ("baton_inbox_oldest_seconds", Gauge, Seconds, "Age of the oldest of them on a channel that can send."),
    ("baton_turns_total", Counter, Count, "Turns by how they ended (result): answers, follow-ups and drafts."),
    ("baton_turns_started_total", Counter, Count, "Turns begun, by lane."),
    ("baton_turn_wait_seconds", Slow, Seconds, "From a ripe burst to the beginning of its turn."),
    ("baton_generation_seconds", Slow, Seconds, "Time that the model took."),
    ("baton_tool_calls_total", Counter, Count, "Calls of tools of the business's own, by what became of them (tool, result)."),
    ("baton_look_up_seconds", Slow, Seconds, "Time that the business took to answer what the assistant asked it, by tool."),
    ("baton_generations_in_flight", Gauge, Count, "Generations running on this instance."),
    ("baton_generations_cancelled_total", Counter, Count, "Generations stopped, by reason."),
    ("baton_generation_failures_total", Counter, Count, "Failed attempts of the model, by kind."),
    ("baton_generation_slots", Gauge, Count, "Places for generations on this instance, by state."),
    ("baton_generation_queue_seconds", Slow, Seconds, "Wait for such a place, by lane."),
    ("baton_overhead_seconds", Quick, Seconds, "From webhook to provider, less the model's time and chosen delays."),
    ("baton_outbox_depth", Gauge, Count, "Messages owed, by lane."),
    ("baton_outbox_oldest_seconds", Gauge, Seconds, "Age of the oldest message owed on a channel that can send."),
    ("baton_sends_total", Counter, Count, "Attempts at sending, by how they ended (result). An unknown one counts again when its end is found."),
    ("baton_send_seconds", Quick, Seconds, "Time that the provider took to answer a send."),
    ("baton_discarded_replies_total", Counter, Count, "Messages of the assistant that a change of mode discarded: each part of a reply."),
    ("baton_retries_total", Counter, Count, "Attempts after a failure, by step."),
    ("baton_follow_ups_total", Counter, Count, "Follow-ups by how they ended (result)."),
    ("baton_lock_acquire_total", Counter, Count, "Attempts to lock a conversation, by result."),
    ("baton_lock_hold_seconds", Slow, Seconds, "How long conversations were held."),
    ("baton_lock_lost_total", Counter, Count, "Leases that were gone when their holder came back."),
    ("baton_webhook_deliveries_total", Counter, Count, "Deliveries of events to webhook endpoints, by what became of each attempt (result)."),
    ("baton_webhook_endpoints", Gauge, Count, "Webhook endpoints, by how they are doing (state)."),
    ("baton_dead_letters", Gauge, Count, "Open dead letters, by kind."),
    ("baton_conversations", Gauge, Count, "Conversations, by mode."),
    ("baton_attention", Gauge, Count, "Conversations that need a person, by reason."),
    ("baton_attention_oldest_seconds", Gauge, Seconds, "How long the first of them has needed one."),
    ("baton_proactive_braked", Gauge, Count, "1 while a channel's follow-ups wait for a person to look, by channel."),
    ("baton_channel_linked", Gauge, Count, "1 while the channel's account can send, by channel."),
    ("baton_breaker_state", Gauge, Count, "1 while it is open; by what is behind it (of), and for channels by channel."),
    ("baton_redis_up", Gauge, Count, "1 if Redis answers, or none is needed."),
    ("baton_redis_errors_total", Counter, Count, "Commands to Redis that failed."),
    ("baton_db_pool_in_use", Gauge, Count, "Connections to the database in use, without those of the writers."),
    ("baton_db_pool_size", Gauge, Count, "Connections to the database that there may be, without those of the writers."),
    ("baton_feed_clients", Gauge, Count, "Clients of the live feed."),
    ("baton_feed_held_back_seconds", Gauge, Seconds, "Age of the oldest event that an older transaction keeps from those who follow."),
    ("baton_spans_dropped_total", Counter, Count, "Spans of traces that did not reach the collector."),
    ("baton_build_info", Gauge, Count, "Always 1; the version is its label."),
];

const QUICK_SECONDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// 15 and 20 are where the alerts on a slow model begin: between two bounds a quantile is only guessed.
const SLOW_SECONDS: &[f64] =
    &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0];

/// What renders the metrics of this process.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
    started_at: f64,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

/// Why metrics cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A bucket is not allowed.
    #[error("the metrics cannot be set up")]
    Build(#[from] BuildError),
    /// Something else counts already.
    #[error("the metrics of this process have begun before")]
    Begun,
}

/// Begins to count. Once in a process.
pub fn start() -> Result<Metrics, Error> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| Error::Begun)?;
    describe();
    begin();
    let started_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    Ok(Metrics { handle, started_at })
}

fn recorder() -> Result<PrometheusRecorder, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for (name, kind, ..) in ALL {
        let buckets = match kind {
            Quick => QUICK_SECONDS,
            Slow => SLOW_SECONDS,
            Counter | Gauge => continue,
        };
        builder = builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)?;
    }
    Ok(builder.build_recorder())
}

fn describe() {
    for (name, kind, unit, help) in ALL {
        match kind {
            Counter => describe_counter!(*name, *unit, *help),
            Gauge => describe_gauge!(*name, *unit, *help),
            Quick | Slow => describe_histogram!(*name, *unit, *help),
        }
    }
    gauge!("baton_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

/// What can be named beforehand is there from the first look on. By how much a counter rose that appears with its first event
/// nobody can tell, and a burst is just that; nor is one that is not there silent.
fn begin() {
    http::count_from_zero();
    journal::count_from_zero();
    notify::count_from_zero();
    turn::count_locks_from_zero();
    counter!("baton_redis_errors_total").increment(0);
    gauge!("baton_generations_in_flight").increment(0);
    for mode in Mode::ALL {
        // Nobody has counted them yet.
        gauge!("baton_conversations", "mode" => mode.as_str()).set(f64::NAN);
    }
    for lane in Lane::ALL {
        let _ = histogram!("baton_generation_queue_seconds", "lane" => lane.as_str());
    }
    for (name, ..) in ALL.iter().filter(|(_, kind, ..)| matches!(kind, Quick | Slow)) {
        if !["baton_generation_queue_seconds", "baton_look_up_seconds"].contains(name) {
            let _ = histogram!(*name);
        }
    }
}

impl Metrics {
    /// Everything counted so far, and how the process does, as Prometheus reads it.
    pub fn render(&self) -> String {
        self.handle.run_upkeep();
        let mut text = self.handle.render();
        process(&mut text, self.started_at);
        text
    }
}

/// How the process does, under the names that every exporter uses. What the system does not tell is left out.
fn process(text: &mut String, started_at: f64) {
    use std::fmt::Write as _;

    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let files_max = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of_status = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let kib = |value: Option<f64>| value.map(|kib| kib * 1024.0);
    let files = std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    #[allow(clippy::cast_precision_loss, reason = "counts and times far below 2^52")]
    let values = [
        ("process_cpu_seconds_total", "counter", Some(cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9)),
        ("process_resident_memory_bytes", "gauge", kib(of_status("VmRSS"))),
        ("process_virtual_memory_bytes", "gauge", kib(of_status("VmSize"))),
        ("process_threads", "gauge", of_status("Threads")),
        ("process_open_fds", "gauge", files.map(|count| count as f64)),
        ("process_max_fds", "gauge", files_max.map(|count| count as f64)),
        ("process_start_time_seconds", "gauge", Some(started_at)),
    ];
    for (name, kind, value) in values {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# TYPE {name} {kind}\n{name} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use metrics::{counter, histogram};

    use super::*;

    #[test]
    fn every_name_is_there_once_and_named_by_its_kind() {
        let names: BTreeSet<_> = ALL.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), ALL.len());
        for (name, kind, ..) in ALL {
            assert_eq!(*kind == Counter, name.ends_with("_total"), "{name}");
            assert!(!matches!(kind, Quick | Slow) || name.ends_with("_seconds"), "{name}");
        }
    }

    /// A name that is not in the table would be counted without help and in the wrong buckets; one that nobody counts
    /// promises what is not there.
    #[test]
    fn code_counts_what_is_in_the_table_and_nothing_else() {
        let mut counted = std::collections::HashMap::<&str, usize>::new();
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder") {
                let entry = entry.expect("an entry").path();
                if entry.is_dir() {
                    folders.push(entry);
                    continue;
                }
                let text = std::fs::read_to_string(&entry).expect("text");
                for (name, ..) in ALL {
                    *counted.entry(name).or_default() += text.matches(&format!("\"{name}\"")).count();
                }
                for call in ["counter!(\"baton_", "gauge!(\"baton_", "histogram!(\"baton_"] {
                    for (at, _) in text.match_indices(call) {
                        let name = text[at..].split('"').nth(1).unwrap_or_default();
                        assert!(counted.contains_key(name), "{name} in {}", entry.display());
                    }
                }
            }
        }
        // Once is the table itself.
        let idle: Vec<_> = counted.iter().filter(|(_, times)| **times < 2).collect();
        assert!(idle.is_empty(), "nobody counts these: {idle:?}");
    }

    /// What stands behind a name in an alert, as `{result=~"a|b"}`: a label, and each word that is looked for.
    fn looked_for(rest: &str) -> Option<(&str, Vec<&str>)> {
        let (label, words) = rest.strip_prefix('{')?.split_once('}')?.0.split_once('=')?;
        Some((label, words.trim_start_matches('~').trim_matches('"').split('|').collect()))
    }

    #[test]
    fn what_alerts_count_begins_at_zero() {
        let recorder = recorder().expect("buckets");
        metrics::with_local_recorder(&recorder, begin);
        let text = recorder.handle().render();
        let is_at_zero = |name: &str| text.lines().any(|line| line.starts_with(name) && line.ends_with(" 0"));
        let alerts = include_str!("../deploy/observe/alerts.yml");
        let mut count = 0;
        // That of a channel begins when its journal is first looked at.
        let counters =
            ALL.iter().filter(|(name, kind, ..)| *kind == Counter && *name != "baton_missed_messages_total");
        for (name, ..) in counters {
            for (at, _) in alerts.match_indices(name) {
                count += 1;
                match looked_for(&alerts[at + name.len()..]) {
                    Some((label, words)) => {
                        for word in words {
                            let series = format!("{name}{{{label}=\"{word}\"}} ");
                            assert!(is_at_zero(&series), "{series}0\nnot in\n{text}");
                        }
                    }
                    None => assert!(is_at_zero(name), "{name}\nnot in\n{text}"),
                }
            }
        }
        assert!(count > 20, "the counters of the alerts were found: {count}");
    }

    #[test]
    fn what_can_be_named_beforehand_is_there_from_the_first_look() {
        let recorder = recorder().expect("buckets");
        metrics::with_local_recorder(&recorder, begin);
        let text = recorder.handle().render();
        // By a channel or a tool; and what is counted only where traces are sent.
        let later = [
            "baton_missed_messages_total",
            "baton_tool_calls_total",
            "baton_look_up_seconds",
            "baton_spans_dropped_total",
        ];
        for (name, kind, ..) in ALL {
            let is_there = text.lines().any(|line| line.starts_with(&format!("# TYPE {name} ")));
            assert!(is_there || *kind == Gauge || later.contains(name), "{name}\nnot in\n{text}");
        }
        for line in [
            "baton_feed_clients 0",
            "baton_generations_in_flight 0",
            "baton_redis_errors_total 0",
            r#"baton_conversations{mode="AI"} NaN"#,
            r#"baton_webhook_deliveries_total{result="dead_lettered"} 0"#,
            r#"baton_generation_failures_total{kind="timed_out"} 0"#,
            r#"baton_generations_cancelled_total{reason="mode_changed"} 0"#,
        ] {
            assert!(text.lines().any(|had| had == line), "{line}\nnot in\n{text}");
        }
    }

    #[test]
    fn what_is_counted_is_rendered_with_its_buckets_and_its_help() {
        let recorder = recorder().expect("buckets");
        let metrics = Metrics { handle: recorder.handle(), started_at: 1.0 };
        metrics::with_local_recorder(&recorder, || {
            describe();
            counter!("baton_webhooks_total", "result" => "accepted").increment(1);
            histogram!("baton_webhook_seconds").record(0.003);
        });
        let text = metrics.render();
        for line in [
            "# HELP baton_webhooks_total Webhooks by how they were answered (result).",
            "baton_webhooks_total{result=\"accepted\"} 1",
            "baton_webhook_seconds_bucket{le=\"0.0025\"} 0",
            "baton_webhook_seconds_bucket{le=\"0.005\"} 1",
            concat!("baton_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "process_start_time_seconds 1",
        ] {
            assert!(text.lines().any(|had| had == line), "{line}\nnot in\n{text}");
        }
        assert!(text.contains("process_cpu_seconds_total "));
    }
}
