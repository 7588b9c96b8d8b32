//! Place: what the provider's own lists say about sends of unknown fate, as rules over a docket.
//!
//! In: traces from its queue and journal. Out: messages that are sent under the id found, or failed as it says there,
//! or, by policy, owed again; and the note that nobody looks any longer.

use uuid::Uuid;

use super::{accept, by_provider_id, by_words, is_under_way, outbox, status::advance};
use crate::{
    domain::{
        docket::{Docket, Entry},
        event::EventType,
        message::{DeliveryReason, DeliveryState},
        policy::Policy,
        time::Time,
    },
    flow::provider::Trace,
};

/// Holds traces of this chat against its rows of unclear fate: same words, not older than the attempt, and under an id
/// that none of ours has. Each settles exactly one row, oldest first. Returns how many did.
pub(super) fn take_evidence(
    docket: &mut Docket,
    policy: &Policy,
    traces: &[Trace],
    by: &'static str,
) -> usize {
    let mut settled = 0;
    for trace in traces {
        let Some(id) = trace.id.as_deref() else { continue };
        // One that is being sent may be the very message found: its answer will tell its id.
        if by_provider_id(docket, id).is_some() || is_under_way(docket, &trace.text) {
            continue;
        }
        let Some(ours) = by_words(docket, &trace.text, trace.at) else { continue };
        // Accepted there; whether it has left as well is for its state to say.
        accept(docket, policy, ours, id, trace.at, by);
        if let Some(state) = trace.state {
            advance(docket, policy, ours, state, trace.reason);
        }
        settled += 1;
    }
    settled
}

/// The note that a send of unknown fate is known to have gone.
pub(super) fn confirmed(message: Uuid, by: &str) -> Entry {
    Entry::of(EventType::SendReconciled).action("confirmed_sent").message(message).with("by", by)
}

/// Whether this attempt still has an unknown fate: every way out asks this in the step that takes it.
fn is_open(docket: &Docket, message: Uuid, attempt: Uuid) -> bool {
    docket.delivery(message).is_some_and(|delivery| {
        delivery.state == DeliveryState::Unknown && delivery.attempt.is_some_and(|held| held.id == attempt)
    })
}

/// Owes the message again, if this attempt is still the one of unknown fate, its gate would let it leave now, and
/// nothing newer of our side has begun to leave. It stays unclear: its echo may come all the same.
pub(super) fn resend(docket: &mut Docket, policy: &Policy, message: Uuid, attempt: Uuid) -> bool {
    if !is_open(docket, message, attempt) {
        return false;
    }
    let now = docket.now;
    let Some(found) = docket.message(message) else { return false };
    let Some(delivery) = &found.delivery else { return false };
    let is_refused = outbox::refusal(&docket.conversation, policy, delivery, now, found.seq).is_some();
    if is_refused || docket.conversation.our_seq > found.seq {
        return false;
    }
    if let Some(delivery) = docket.edit_delivery(message) {
        delivery.state = DeliveryState::Queued;
        delivery.reason = None;
        delivery.due_at = now;
    }
    docket.record(Entry::of(EventType::SendReconciled).action("resent").message(message));
    true
}

/// Nobody looks for it any longer: what becomes of it is a person's to decide.
pub(super) fn give_up_search(docket: &mut Docket, message: Uuid, attempt: Uuid) {
    if is_open(docket, message, attempt) {
        docket.record(
            Entry::of(EventType::SendReconciled)
                .action("gave_up")
                .message(message)
                .with("reason", DeliveryReason::FateUnknown.as_str()),
        );
    }
}

/// Whether a trace can be of a message with these words that was tried then: asked before any step is spent on it.
pub(super) fn fits(trace: &Trace, text: &str, tried_at: Time) -> bool {
    trace.id.is_some()
        && super::same_words(&trace.text, text)
        && trace.at.is_none_or(|at| at.since(tried_at) >= -super::SKEW_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::mode::Mode,
        flow::{outbox::Settled, play::Play},
    };

    /// The model answers, and nobody knows whether the answer went.
    fn lost(play: &mut Play, question: &str, answer: &str) -> (Uuid, Uuid) {
        play.says(question);
        let begun = play.begins();
        play.writes(&begun, answer);
        let (attempt, claim) = play.claims_send();
        let crate::flow::outbox::Claim::Claimed(message) = claim else { panic!("nothing was claimed") };
        play.settles(attempt, &Settled::Unclear("timed out".into()));
        (message.id, attempt)
    }

    fn trace(play: &Play, id: &str, text: &str) -> Trace {
        Trace {
            id: Some(id.to_owned()),
            chat: play.conversation.chat.clone(),
            text: text.to_owned(),
            at: Some(play.now),
            state: Some(DeliveryState::Sent),
            reason: None,
        }
    }

    fn shows(play: &mut Play, traces: &[Trace]) -> usize {
        play.step(|docket, policy| take_evidence(docket, policy, traces, "provider_journal"))
    }

    fn action(play: &Play) -> Option<String> {
        let last = play.events.iter().rev().find(|event| event.kind == EventType::SendReconciled)?;
        last.action.as_deref().map(str::to_owned)
    }

    #[test]
    fn a_lost_send_that_the_journal_has_is_sent_under_its_id() {
        let mut play = Play::new();
        let (id, _) = lost(&mut play, "m1", "OK");
        let trace = trace(&play, "BAE5A", "OK");
        assert_eq!(shows(&mut play, std::slice::from_ref(&trace)), 1);
        let message = play.message(id);
        assert!(message.is(DeliveryState::Sent));
        assert_eq!(message.provider_message_id.as_deref(), Some("BAE5A"));
        assert!(message.delivery.as_ref().is_some_and(|delivery| delivery.left_at.is_some()));
        assert!(play.conversation.attention.is_none(), "nobody is needed any more");
        assert_eq!(shows(&mut play, &[trace]), 0, "the same entry settles nothing twice");
        assert_eq!(play.happened(EventType::SendReconciled), 1);
    }

    #[test]
    fn one_entry_settles_one_row_and_the_oldest_first() {
        let mut play = Play::new();
        let (first, _) = lost(&mut play, "m1", "OK");
        let (second, _) = lost(&mut play, "m2", "OK");
        let one = trace(&play, "BAE5A", "OK");
        assert_eq!(shows(&mut play, &[one.clone(), one]), 1);
        assert!(
            play.message(first).is(DeliveryState::Sent) && play.message(second).is(DeliveryState::Unknown)
        );
        let other = trace(&play, "BAE5B", "OK");
        assert_eq!(shows(&mut play, &[other]), 1);
        assert_eq!(play.message(second).provider_message_id.as_deref(), Some("BAE5B"));
    }

    #[test]
    fn other_words_an_older_entry_and_one_without_an_id_prove_nothing() {
        let mut play = Play::new();
        play.wait(60_000);
        let (id, _) = lost(&mut play, "m1", "OK");
        let fitting = trace(&play, "BAE5A", "OK");
        let older = Trace { at: Some(play.now.plus_ms(-10_000)), ..fitting.clone() };
        let nameless = Trace { id: None, ..fitting.clone() };
        let others = Trace { text: "Okay".to_owned(), ..fitting };
        assert_eq!(shows(&mut play, &[older, nameless, others]), 0);
        assert_eq!(shows(&mut play, &[]), 0);
        assert!(play.message(id).is(DeliveryState::Unknown));
    }

    #[test]
    fn an_entry_that_may_be_of_the_send_under_way_waits_for_its_answer() {
        let mut play = Play::new();
        let (first, _) = lost(&mut play, "m1", "OK");
        play.says("m2");
        let begun = play.begins();
        play.writes(&begun, "OK");
        let (attempt, _) = play.claims_send();
        let found = trace(&play, "BAE5B", "OK");
        assert_eq!(shows(&mut play, std::slice::from_ref(&found)), 0);
        play.settles(attempt, &Settled::Sent("BAE5B".into()));
        assert_eq!(shows(&mut play, &[found]), 0, "it is the second message's");
        assert!(play.message(first).is(DeliveryState::Unknown));
    }

    #[test]
    fn one_found_in_the_queue_is_accepted_and_has_not_left() {
        let mut play = Play::new();
        let (id, _) = lost(&mut play, "m1", "OK");
        let waiting = Trace { at: None, state: None, ..trace(&play, "BAE5A", "OK") };
        assert_eq!(shows(&mut play, &[waiting]), 1);
        assert!(play.message(id).is(DeliveryState::Sent));
        assert!(play.message(id).delivery.as_ref().is_some_and(|delivery| delivery.left_at.is_none()));
    }

    #[test]
    fn one_that_the_journal_calls_failed_is_given_up_before_a_person() {
        let mut play = Play::new();
        let (id, _) = lost(&mut play, "m1", "OK");
        let failed = Trace {
            state: Some(DeliveryState::Failed),
            reason: Some(DeliveryReason::NoAccount),
            ..trace(&play, "BAE5A", "OK")
        };
        assert_eq!(shows(&mut play, &[failed]), 1);
        assert!(play.message(id).is(DeliveryState::Failed));
        assert_eq!(play.letters.len(), 1);
    }

    #[test]
    fn a_resend_happens_once_for_an_attempt_and_leaves_again() {
        let mut play = Play::new();
        let (id, attempt) = lost(&mut play, "m1", "OK");
        assert!(!play.step(|docket, policy| resend(docket, policy, id, Uuid::now_v7())), "another attempt");
        assert!(play.step(|docket, policy| resend(docket, policy, id, attempt)));
        assert!(!play.step(|docket, policy| resend(docket, policy, id, attempt)), "it is owed already");
        assert_eq!(action(&play).as_deref(), Some("resent"));
        assert_eq!(play.sends(), ["OK"]);
    }

    #[test]
    fn nothing_is_resent_after_a_takeover_even_back_in_ai() {
        let mut play = Play::new();
        let (id, attempt) = lost(&mut play, "m1", "OK");
        play.switches(Mode::Human);
        assert!(!play.step(|docket, policy| resend(docket, policy, id, attempt)));
        play.switches(Mode::Ai);
        assert!(!play.step(|docket, policy| resend(docket, policy, id, attempt)), "the version moved");
        assert!(play.message(id).is(DeliveryState::Unknown));
    }

    #[test]
    fn nothing_is_resent_after_a_newer_answer_has_left() {
        let mut play = Play::new();
        let (id, attempt) = lost(&mut play, "m1", "one");
        play.exchange("m2", "two");
        assert!(!play.step(|docket, policy| resend(docket, policy, id, attempt)));
        assert!(play.message(id).is(DeliveryState::Unknown));
    }

    #[test]
    fn a_search_that_ends_is_noted_only_while_the_fate_is_unknown() {
        let mut play = Play::new();
        let (id, attempt) = lost(&mut play, "m1", "OK");
        play.step(|docket, _| give_up_search(docket, id, Uuid::now_v7()));
        assert_eq!(play.happened(EventType::SendReconciled), 0);
        play.step(|docket, _| give_up_search(docket, id, attempt));
        assert_eq!(action(&play).as_deref(), Some("gave_up"));
        assert!(play.message(id).is(DeliveryState::Unknown) && play.conversation.attention.is_some());
    }
}
