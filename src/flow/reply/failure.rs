//! Rules: a generation that failed: another attempt later, or a person.
//!
//! In: the turn and how it failed. Out: the burst that waits again, or a dead letter, a call and perhaps a word to the contact.

use serde_json::json;
use uuid::Uuid;

use super::{Cost, TurnEnd, discard, end_burst_as, end_turn, refusal};
use crate::{
    domain::{
        conversation::AttentionReason,
        docket::{Docket, Entry},
        event::EventType,
        message::{Outcome, OutcomeReason},
        policy::Policy,
        time::Time,
        turn::{DeadLetter, LetterKind, LetterState, Purpose, TurnState},
    },
    flow::{
        agenda, conversations, drafts,
        generator::{Failure, FailureKind},
        inbox::{self, Begun},
        outbox,
    },
};

/// Who has waited this long for a model that is left alone, or will for one that wants it, is shown to people meanwhile.
const SHOWN_AFTER_MS: i64 = 60_000;

/// At least this long between two fallback texts in one conversation.
const FALLBACK_EVERY_MS: i64 = 3_600_000;

/// The generation failed: another attempt later, or a person.
pub fn fail(
    docket: &mut Docket,
    policy: &Policy,
    begun: &Begun,
    failure: &Failure,
    cost: Cost,
    jitter: f64,
) -> TurnEnd {
    if docket.turn(begun.turn.id).is_some_and(|turn| turn.state == TurnState::Failed) {
        return TurnEnd::WillRetry;
    }
    if let Some(reason) = refusal(docket, begun) {
        discard(docket, begun, cost, reason);
        return TurnEnd::Discarded(reason);
    }
    end_turn(docket, begun, TurnState::Failed, Some(failure.kind.as_str()), cost);
    if begun.turn.purpose == Purpose::FollowUp {
        record_failure(docket, begun, failure, "retried");
        agenda::put_off(docket, policy, failure, jitter);
        return TurnEnd::WillRetry;
    }
    if begun.turn.purpose == Purpose::Draft {
        let goes_on = drafts::fail(docket, policy, begun, failure, jitter);
        record_failure(docket, begun, failure, if goes_on { "retried" } else { "handed_over" });
        return if goes_on { TurnEnd::WillRetry } else { TurnEnd::GivenUp };
    }
    let failures = failures_with(docket, failure);
    if is_tried_again(docket, policy, begun, failure) {
        let waited_ms = waited_ms(docket, begun);
        record_failure(docket, begun, failure, "retried");
        let wait_ms = policy.retry_ms(failures, jitter, failure.rest_ms(waited_ms));
        let memo = &mut docket.conversation.memo;
        memo.failures = failures;
        memo.retry_at = Some(docket.now.plus_ms(wait_ms).0);
        memo.answer_now = false;
        inbox::set_ripe_at(docket, policy);
        if wait_ms >= SHOWN_AFTER_MS || (!failure.is_attempt() && waited_ms >= SHOWN_AFTER_MS) {
            // The answer may still come, and takes this back.
            conversations::raise(docket, AttentionReason::AiFailure);
        }
        return TurnEnd::WillRetry;
    }
    record_failure(docket, begun, failure, "handed_over");
    give_up(docket, policy, begun, failure.kind, failures);
    TurnEnd::GivenUp
}

/// Whether the burst is tried again after this failure.
pub fn is_tried_again(docket: &Docket, policy: &Policy, begun: &Begun, failure: &Failure) -> bool {
    failures_with(docket, failure) < policy.ai_attempts
        && failure.is_worth_waiting_for(waited_ms(docket, begun))
}

fn failures_with(docket: &Docket, failure: &Failure) -> i32 {
    docket.conversation.memo.failures + i32::from(failure.is_attempt())
}

fn waited_ms(docket: &Docket, begun: &Begun) -> i64 {
    docket.now.since(docket.conversation.memo.burst_first_at.map_or(begun.at, Time))
}

fn record_failure(docket: &mut Docket, begun: &Begun, failure: &Failure, action: &'static str) {
    docket.record(
        Entry::of(EventType::TurnFailed)
            .action(action)
            .turn(begun.turn.id)
            .with("purpose", begun.turn.purpose.as_str())
            .with("kind", failure.kind.as_str())
            .with("detail", failure.detail.as_str())
            .with("attempt", begun.turn.attempt),
    );
}

/// The model failed for good: the messages are a person's, a dead letter keeps them, the contact may hear of it.
fn give_up(docket: &mut Docket, policy: &Policy, begun: &Begun, kind: FailureKind, attempts: i32) {
    let now = docket.now;
    let ids: Vec<String> = begun.turn.messages.iter().map(Uuid::to_string).collect();
    end_burst_as(docket, policy, begun, Outcome::HandedOver, Some(OutcomeReason::AiFailure));
    docket.keep_letter(DeadLetter {
        id: Uuid::now_v7(),
        kind: LetterKind::Turn,
        channel: docket.conversation.channel.clone(),
        conversation: Some(docket.conversation.id),
        subject: Some(begun.turn.id),
        state: LetterState::Open,
        reason: kind.as_str().to_owned(),
        attempts,
        first_at: begun.at,
        last_at: now,
        payload: json!({ "message_ids": ids }).into(),
    });
    conversations::raise(docket, AttentionReason::AiFailure);
    let Some(text) = &policy.fallback_text else { return };
    let last = docket.conversation.memo.fallback_at.map(Time);
    if last.is_none_or(|at| now.since(at) >= FALLBACK_EVERY_MS) {
        docket.conversation.memo.fallback_at = Some(now.0);
        outbox::say_as_system(docket, policy, text);
        docket.record(Entry::of(EventType::FallbackSent).turn(begun.turn.id));
    }
}
