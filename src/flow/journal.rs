//! Place: the story of every decision, as log lines and counters. The rows are the ledger's, written with the change.

use metrics::counter;
use serde_json::Value;

use super::generator::FailureKind;
use crate::domain::{
    event::{Event, EventType},
    lane::Lane,
    words::words,
};

words! {
    /// How a turn ended.
    TurnResult {
        /// With a reply, or on purpose without one.
        Completed = "completed",
        /// An attempt failed.
        Failed = "failed",
        /// By something newer.
        Superseded = "superseded",
        /// By a change of mode, a closing, the end of what it was about, or of its instance.
        Cancelled = "cancelled",
    }
}

words! {
    /// How an attempt at sending ended.
    SendResult {
        /// The provider has it.
        Sent = "sent",
        /// It failed, and is made again.
        Retried = "retried",
        /// It failed for good.
        Failed = "failed",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

words! {
    /// What became of a follow-up.
    FollowUpResult {
        /// It is to be.
        Scheduled = "scheduled",
        /// It left.
        Sent = "sent",
        /// It is not wanted any more.
        Cancelled = "cancelled",
        /// It was due, and did not leave.
        Withheld = "withheld",
    }
}

words! {
    /// What is done again after a failure.
    Step {
        /// A turn.
        Turn = "turn",
        /// A send.
        Send = "send",
    }
}

/// The detail of a failure that the provider reports of a message which it had accepted.
pub(super) const REPORTED: &str = "reported by the provider";

/// One line for each decision of a race, under a target of its own; and for those who look closer, one for whatever else happens.
pub fn log(event: &Event) {
    if !event.kind.is_decision() {
        log_step(event);
        return;
    }
    tracing::info!(
        target: "baton::journal",
        timestamp = %event.at,
        channel = Some(event.channel.as_str()).filter(|name| !name.is_empty()),
        conversation_id = event.conversation.map(tracing::field::display),
        event_type = event.kind.as_str(),
        action_taken = event.action.as_deref().unwrap_or("noted"),
        // Inside, so that nothing is written where no line is.
        details = %of_log(event),
        "{}",
        if event.kind == EventType::AgentTookOver { "Agent took manual control" } else { "decided" }
    );
}

/// What was stored, owed, sent, begun and ended. Without details: some hold what a customer wrote.
fn log_step(event: &Event) {
    tracing::debug!(
        channel = Some(event.channel.as_str()).filter(|name| !name.is_empty()),
        conversation_id = event.conversation.map(tracing::field::display),
        message_id = event.message.map(tracing::field::display),
        turn_id = event.turn.map(tracing::field::display),
        event_type = event.kind.as_str(),
        action_taken = event.action.as_deref().unwrap_or("noted"),
        "happened"
    );
}

/// The details, without the words in which somebody else refused something: they may repeat what a customer wrote, and logs are
/// kept where nobody erases. The event itself has them.
fn of_log(event: &Event) -> String {
    let mut details = event.details.clone();
    if let Some(Value::String(detail)) = details.get_mut("detail") {
        detail.truncate(without_words(detail).len());
    }
    serde_json::to_string(&details).unwrap_or_default()
}

/// Why somebody else refused something, without their words for it.
pub(super) fn without_words(detail: &str) -> &str {
    match detail.split_once(':') {
        Some((status, _)) if status.starts_with("status ") => status,
        _ => detail,
    }
}

/// Why generations are stopped above all. Others come with their first.
const STOPPED_BY: [&str; 5] =
    [NEWER_MESSAGE, MODE_CHANGED, "contact_replied", "answer_now", "instance_stopped"];
const NEWER_MESSAGE: &str = "newer_message";
const MODE_CHANGED: &str = "mode_changed";

/// What is counted here begins at 0.
pub fn count_from_zero() {
    for word in TurnResult::ALL {
        ended(*word, 0);
    }
    for word in SendResult::ALL {
        attempted(*word, 0);
    }
    for word in FollowUpResult::ALL {
        followed_up(*word, 0);
    }
    for word in Step::ALL {
        again(*word, 0);
    }
    for reason in STOPPED_BY {
        generation_stopped(reason.to_owned(), 0);
    }
    for kind in FailureKind::ALL {
        generation_failed(kind.to_string(), 0);
    }
    for lane in Lane::ALL {
        counter!("baton_turns_started_total", "lane" => lane.as_str()).increment(0);
    }
    counter!("baton_discarded_replies_total").increment(0);
    counter!("baton_duplicates_total").increment(0);
    counter!("baton_lock_lost_total").increment(0);
}

fn ended(result: TurnResult, times: u64) {
    counter!("baton_turns_total", "result" => result.as_str()).increment(times);
}

fn stopped(result: TurnResult, reason: String) {
    ended(result, 1);
    generation_stopped(reason, 1);
}

fn generation_stopped(reason: String, times: u64) {
    counter!("baton_generations_cancelled_total", "reason" => reason).increment(times);
}

fn generation_failed(kind: String, times: u64) {
    counter!("baton_generation_failures_total", "kind" => kind).increment(times);
}

fn attempted(result: SendResult, times: u64) {
    counter!("baton_sends_total", "result" => result.as_str()).increment(times);
}

fn followed_up(result: FollowUpResult, times: u64) {
    counter!("baton_follow_ups_total", "result" => result.as_str()).increment(times);
}

fn again(step: Step, times: u64) {
    counter!("baton_retries_total", "step" => step.as_str()).increment(times);
}

/// Counts what the metrics of the contract count.
pub fn count(event: &Event) {
    let detail = |name: &str| event.details.get(name).and_then(Value::as_str).unwrap_or("none").to_owned();
    match event.kind {
        EventType::TurnStarted => {
            counter!("baton_turns_started_total", "lane" => detail("lane")).increment(1)
        }
        EventType::TurnCompleted => ended(TurnResult::Completed, 1),
        EventType::TurnFailed => {
            ended(TurnResult::Failed, 1);
            generation_failed(detail("kind"), 1);
            if event.action.as_deref() == Some("retried") {
                again(Step::Turn, 1);
            }
        }
        EventType::ToolCalled => {
            counter!("baton_tool_calls_total", "tool" => detail("tool"), "result" => "told").increment(1)
        }
        // A reply that was withdrawn before it left ended its turn, and was counted, when it was written.
        EventType::TurnSuperseded if event.details.contains_key("discarded") => {}
        // As the turn itself ends: only a newer message takes its place, and needs no other reason.
        EventType::TurnSuperseded if !event.details.contains_key("reason") => {
            stopped(TurnResult::Superseded, NEWER_MESSAGE.to_owned());
        }
        EventType::TurnSuperseded => stopped(TurnResult::Cancelled, detail("reason")),
        EventType::ModeChangeDuringGeneration => {
            stopped(TurnResult::Cancelled, MODE_CHANGED.to_owned());
        }
        EventType::ModeChangeBeforeSend => counter!("baton_discarded_replies_total").increment(1),
        EventType::DuplicateWebhook => counter!("baton_duplicates_total").increment(1),
        // Written at the phone, or by another system: Baton has sent nothing.
        EventType::MessageSent if event.details.contains_key("origin") => {}
        EventType::MessageSent => attempted(SendResult::Sent, 1),
        EventType::MessageFailed if event.action.as_deref() == Some("retried") => {
            attempted(SendResult::Retried, 1);
            again(Step::Send, 1);
        }
        // Its attempt was accepted, and was counted then.
        EventType::MessageFailed if detail("detail") == REPORTED => {}
        EventType::MessageFailed => attempted(SendResult::Failed, 1),
        EventType::SendUncertain => attempted(SendResult::Unknown, 1),
        EventType::FollowUpSent => followed_up(FollowUpResult::Sent, 1),
        EventType::FollowUpCancelled => followed_up(FollowUpResult::Cancelled, 1),
        EventType::FollowUpWithheld => followed_up(FollowUpResult::Withheld, 1),
        EventType::FollowUpScheduled => followed_up(FollowUpResult::Scheduled, 1),
        EventType::LockLost => counter!("baton_lock_lost_total").increment(1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use crate::{
        domain::{docket::Entry, message::DeliveryState, time::Time},
        flow::{play::Play, reconcile},
        telemetry::paper,
    };

    #[test]
    fn a_counter_counts_what_it_names_and_nothing_else() {
        let superseded = || Entry::of(EventType::TurnSuperseded);
        let sent = || Entry::of(EventType::MessageSent);
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            for entry in [
                superseded().with("generation_ms", 5),
                superseded().with("generation_ms", 5).with("reason", "instance_stopped"),
                superseded().with("discarded", 2),
                sent().with("part", 1),
                sent().with("origin", "phone"),
                sent().with("origin", "other_system"),
            ] {
                count(&entry.outside("shop", Time(1)));
            }
        });
        let text = recorder.handle().render();
        let mut counted: Vec<&str> = text.lines().filter(|line| line.starts_with("baton_")).collect();
        counted.sort_unstable();
        let wanted = [
            r#"baton_generations_cancelled_total{reason="instance_stopped"} 1"#,
            r#"baton_generations_cancelled_total{reason="newer_message"} 1"#,
            r#"baton_sends_total{result="sent"} 1"#,
            r#"baton_turns_total{result="cancelled"} 1"#,
            r#"baton_turns_total{result="superseded"} 1"#,
        ];
        assert_eq!(counted, wanted);
    }

    #[test]
    fn an_attempt_that_was_accepted_is_not_counted_again_when_it_is_reported_as_failed() {
        let mut play = Play::new();
        play.exchange("Hello", "Hi");
        let sent =
            play.messages.iter().find_map(|it| it.delivery.as_ref().and(it.provider_message_id.clone()));
        let sent = sent.expect("it was sent");
        play.step(|docket, policy| {
            reconcile::take_status(docket, policy, &sent, DeliveryState::Failed, None)
        });
        assert_eq!(play.happened(EventType::MessageFailed), 1);
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || play.events.iter().for_each(count));
        let text = recorder.handle().render();
        let sends: Vec<&str> = text.lines().filter(|line| line.starts_with("baton_sends_total")).collect();
        assert_eq!(sends, [r#"baton_sends_total{result="sent"} 1"#]);
    }

    #[test]
    fn what_merely_happens_is_told_to_who_looks_closer_and_without_a_word_of_anybodys() {
        let (conversation, message) = (uuid::Uuid::now_v7(), uuid::Uuid::now_v7());
        let mut stored =
            Entry::of(EventType::MessageReceived).with("text", "S3CRET").outside("shop", Time(1));
        (stored.conversation, stored.message) = (Some(conversation), Some(message));
        let took_over = Entry::of(EventType::AgentTookOver).outside("shop", Time(1));
        for (levels, wanted) in [("debug", 2), ("info,baton::flow=debug", 2), ("info", 1)] {
            let (paper, _writing) = paper::at(levels);
            log(&stored);
            log(&took_over);
            let lines = paper.lines();
            assert_eq!(lines.len(), wanted, "{lines:?}");
            assert!(lines.last().is_some_and(|line| line.contains("Agent took manual control")), "{lines:?}");
            if let [line, _] = lines.as_slice() {
                assert!(line.contains("DEBUG") && line.contains(r#"channel="shop""#), "{line}");
                assert!(
                    line.contains(&conversation.to_string()) && line.contains(&message.to_string()),
                    "{line}"
                );
                assert!(
                    line.contains(r#"event_type="message_received""#) && !line.contains("S3CRET"),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn the_words_of_a_refusal_stay_out_of_the_log() {
        for (detail, logged) in [
            ("status 400: \"message\" with value \"Your test, Mei\" is not allowed", "status 400"),
            ("status 500", "status 500"),
            ("no answer: connection refused", "no answer: connection refused"),
        ] {
            let failed = Entry::of(EventType::MessageFailed).with("detail", detail).with("attempt", 2);
            let told: Value = serde_json::from_str(&of_log(&failed.outside("shop", Time(1)))).expect("JSON");
            assert_eq!(told, serde_json::json!({ "detail": logged, "attempt": 2 }));
        }
    }
}
