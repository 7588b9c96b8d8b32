//! What is printed at the end: the figures, and the stories of the first broken promises.
//!
//! In: the verdict, the records, the plan. Out: text.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::{
    judge::{Fault, Verdict, short},
    plan::{Kind, Planned},
    records::Records,
    told::Message,
};
use crate::fakes::names::Marker;

/// The figures, a line each.
pub(super) fn table(verdict: &Verdict, records: &Records, plan: &[Planned], length: Duration) -> String {
    let mut waits = verdict.waits.clone();
    waits.sort_unstable();
    let at = |share: usize| waits.get((waits.len() * share / 100).min(waits.len().saturating_sub(1)));
    let wait = |found: Option<&Duration>| {
        found.map_or_else(String::new, |wait| format!("{:.1} s", wait.as_secs_f64()))
    };
    let called_off: usize = verdict.called_off.values().sum();
    let rows = [
        ("faults", plan.len().to_string()),
        ("length", format!("{:.0} s", length.as_secs_f64())),
        ("messages of contacts", records.written.len().to_string()),
        ("  answered", verdict.answered.to_string()),
        ("  left to a person who had taken over", verdict.left_to_human.to_string()),
        ("  handed over to a person", verdict.handed_over.to_string()),
        ("  held for a person: the answer's fate is unknown", verdict.held.to_string()),
        ("webhooks not taken, and brought again", records.undelivered.to_string()),
        ("webhooks brought once more", records.repeated.to_string()),
        ("calls of the model", records.calls.len().to_string()),
        ("  that failed", records.calls.iter().filter(|call| call.failed).count().to_string()),
        ("posts to the gateway", records.posts.len().to_string()),
        ("  taken", verdict.delivered.to_string()),
        ("  of those without a clear answer, and found", verdict.found.to_string()),
        ("  unknown, not taken, in front of a person", verdict.unknown.to_string()),
        ("  parts that wait behind those", verdict.behind_unknown.to_string()),
        ("  refused as too many", records.refused.to_string()),
        ("parts called off", format!("{called_off} {:?}", verdict.called_off)),
        ("takeovers", records.takeovers.len().to_string()),
        (
            "  settled",
            records.takeovers.iter().filter(|takeover| takeover.settled.is_some()).count().to_string(),
        ),
        ("messages of agents", records.said.len().to_string()),
        ("wait for an answer, half / 99 of 100 / longest", {
            format!("{} / {} / {}", wait(at(50)), wait(at(99)), wait(waits.last()))
        }),
        ("sent by an instance that stood still at its last check", verdict.behind_freeze.to_string()),
        ("LOST", verdict.count(Fault::Lost).to_string()),
        ("DOUBLED", verdict.count(Fault::Doubled).to_string()),
        ("OUT OF ORDER", verdict.count(Fault::Disorder).to_string()),
        ("AFTER A SETTLED TAKEOVER", verdict.count(Fault::Late).to_string()),
        ("MISTAKEN STATES", verdict.count(Fault::Mistaken).to_string()),
    ];
    let mut text = String::new();
    for (what, figure) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{what:<56} {figure}");
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for kind in plan.iter().map(|fault| fault.kind) {
        *kinds.entry(Kind::to_string(&kind)).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, times)| format!("{kind} {times}")).collect();
    let _ = writeln!(text, "faults by kind: {}", kinds.join(", "));
    text
}

/// What happened to one contact, as those outside saw it, by time.
pub(super) fn story(contact: usize, records: &Records, began: Instant) -> Vec<String> {
    let mut lines: Vec<(Instant, String)> = Vec::new();
    for (marker, written) in &records.written {
        if marker.contact == contact {
            lines.push((written.at, format!("writes {marker}")));
            lines.extend(written.accepted.map(|at| (at, format!("{marker} is taken"))));
        }
    }
    for (number, call) in records.calls.iter().enumerate().filter(|(_, call)| call.contact == Some(contact)) {
        let names: Vec<String> = call.names.iter().map(Marker::to_string).collect();
        let end = if call.failed { ", and fails" } else { "" };
        lines.push((call.at, format!("the model writes a{number} for {}{end}", names.join(" "))));
    }
    for post in records.posts.iter().filter(|post| post.contact == contact) {
        let taken = if post.taken { "taken" } else { "not taken" };
        let answered = if post.answered { "" } else { ", no clear answer" };
        lines.push((post.at, format!("{} posts: {} [{taken}{answered}]", post.from, short(&post.text))));
    }
    for takeover in records.takeovers.iter().filter(|takeover| takeover.contact == contact) {
        lines.push((takeover.asked, "a person takes over".to_owned()));
        lines.extend(takeover.settled.map(|at| (at, "that is settled".to_owned())));
        lines.extend(takeover.released.map(|at| (at, "the person gives back".to_owned())));
        lines.extend(takeover.returned.map(|at| (at, "that is answered".to_owned())));
    }
    lines.sort();
    let seconds = |at: Instant| at.saturating_duration_since(began).as_secs_f64();
    lines.into_iter().map(|(at, line)| format!("{:9.3}  {line}", seconds(at))).collect()
}

/// A message as Baton shows it, in a line.
pub(super) fn line(message: &Message) -> String {
    let fate = format!("{}{} {}{}", message.outcome, message.state, message.outcome_reason, message.reason);
    format!("{:5}  {:9}  {fate:28}  {}", message.seq, message.author, short(&message.text))
}
