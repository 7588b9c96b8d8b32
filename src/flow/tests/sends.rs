//! What leaves, in which order, and what follows when it does not.

use uuid::Uuid;

use super::{ana, begun_reply};
use crate::{
    domain::{
        conversation::AttentionReason,
        docket::Docket,
        message::{DeliveryReason, DeliveryState as S, Outcome},
        mode::Mode,
        policy::{BurstPolicy, Policy},
    },
    flow::{
        desk::{Idempotency, NewMessage, messages, resolve_send},
        inbox,
        ledger::Need,
        outbox::{self, Settled},
        play::Play,
        provider::Amendment,
        reconcile::Copy,
        reply::{self, Answer},
        turn::need_of,
    },
};

#[test]
fn a_channel_waits_for_its_pace_and_not_for_a_clock_that_was_set_back() {
    for (ahead_ms, waits) in
        [(0, false), (500, true), (30_000, true), (600_000, false), (8 * 3_600_000, false)]
    {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        play.channel.next_send_at = play.now.plus_ms(ahead_ms);
        let (_, claim) = play.claims_send();
        assert_eq!(matches!(claim, outbox::Claim::ChannelBusy(_)), waits, "{ahead_ms}: {claim:?}");
    }
}

#[test]
fn whom_nobody_answers_any_more_waits_for_no_clock_that_was_set_back() {
    for (back_ms, is_over) in [(1_000, false), (3 * 3_600_000, true)] {
        // A turn, and then a send, of a process that is dead.
        let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
        play.says("m1");
        play.begins();
        play.wait(-back_ms);
        play.says("m2");
        assert_eq!(play.clocks.turn_at == Some(play.now), is_over, "{back_ms}");
        assert_eq!(matches!(play.claim(), inbox::Claim::Held(_)), !is_over, "{back_ms}");

        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        play.claims_send();
        play.wait(-back_ms);
        play.says("m2");
        assert_eq!(play.clocks.tend_at == Some(play.now), is_over, "{back_ms}");
        play.tends();
        assert_eq!(play.in_state(S::Unknown).len(), usize::from(is_over), "{back_ms}");
    }
}

/// A reply is leaving; the contact changes what it answers, or takes it back; then it certainly has not left.
fn amended_on_the_way(burst: BurstPolicy, is_deletion: bool) -> Play {
    let mut play = Play::by(|policy| policy.burst = burst);
    play.says("Two for tonite");
    let begun = play.begins();
    play.writes(&begun, "A table for two.");
    let (attempt, _) = play.claims_send();
    play.wait(1_000);
    let chat = play.conversation.chat.clone();
    let amendment = Amendment { chat, of: "IN1".into(), text: "Four for tonight".into(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, is_deletion));
    play.settles(attempt, &Settled::Again(None, "status 500".into()));
    play
}

#[test]
fn a_reply_whose_question_was_edited_on_its_way_is_written_anew_if_it_has_not_left() {
    let mut play = amended_on_the_way(BurstPolicy::Interrupt, false);
    assert_eq!(play.in_state(S::Cancelled), ["A table for two."]);
    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["Four for tonight"]);
    play.writes(&begun, "A table for four.");
    assert_eq!(play.sends(), ["A table for four."]);
    let mut play = amended_on_the_way(BurstPolicy::Collect, false);
    play.wait(60_000);
    assert_eq!(play.sends(), ["A table for two."], "where nothing interrupts, neither does this");
}

#[test]
fn a_reply_is_written_anew_also_where_the_edit_is_older_than_it_and_came_late() {
    let mut play = Play::new();
    play.says("Two for tonite");
    play.wait(5_000);
    let begun = play.begins();
    play.writes(&begun, "A table for two.");
    let (attempt, _) = play.claims_send();
    let (chat, at) = (play.conversation.chat.clone(), Some(play.now.plus_ms(-4_000)));
    let amendment = Amendment { chat, of: "IN1".into(), text: "Four for tonight".into(), at, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, false));
    play.settles(attempt, &Settled::Again(None, "status 500".into()));
    assert_eq!(play.in_state(S::Cancelled), ["A table for two."]);
    assert_eq!(play.begins().burst[0].text, "Four for tonight");
}

#[test]
fn a_reply_whose_question_was_deleted_on_its_way_does_not_leave_later() {
    for burst in [BurstPolicy::Interrupt, BurstPolicy::Collect] {
        let mut play = amended_on_the_way(burst, true);
        play.wait(60_000);
        assert!(play.sends().is_empty());
        assert_eq!((play.clocks.turn_at, play.conversation.waiting_since), (None, None));
    }
}

#[test]
fn a_reply_that_has_certainly_not_left_has_answered_nothing() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Answered);
    assert!(!play.conversation.contact_spoke_last());
    play.settles(attempt, &Settled::Again(None, "refused".into()));
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Pending);
    assert!(play.conversation.contact_spoke_last() && play.conversation.waiting_since.is_some());
    play.says("m2");
    assert_eq!(play.in_state(S::Cancelled), ["words"]);
    let begun = play.begins();
    assert_eq!(begun.burst.len(), 2, "both are answered together");
    play.writes(&begun, "to both");
    assert_eq!(play.sends(), ["to both"]);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Answered);
    assert!(play.conversation.waiting_since.is_none());
}

#[test]
fn the_second_part_waits_until_the_first_has_found_its_end() {
    let mut play = Play::by(|policy| {
        policy.split_chars = 20;
        policy.send_in_flight = 2;
    });
    play.says("hello");
    let begun = play.begins();
    play.writes(&begun, "first words\n\nsecond words");
    play.wait(1_000);
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)), "{claim:?}");
    play.wait(1_000);
    let (_, claim) = play.claims_send();
    assert_eq!(claim, outbox::Claim::Nothing, "the first is at the provider");
    play.settles(attempt, &Settled::Sent("OUT1".into()));
    assert_eq!(play.sends(), ["second words"]);
}

#[test]
fn a_refused_part_ends_its_reply_in_front_of_a_person() {
    let mut play = Play::by(|policy| policy.split_chars = 20);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "The first part is this.\n\nThe second part is this.");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Refused(DeliveryReason::NoAccount, "no WhatsApp".into()));
    assert_eq!(play.in_state(S::Failed).len(), 1);
    assert_eq!(play.in_state(S::Cancelled).len(), 1);
    assert_eq!(play.letters.len(), 1);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendFailed);
}

#[test]
fn a_channel_in_trouble_holds_its_messages() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    play.channel.state = "notAuthorized".into();
    assert_eq!(play.claims_send().1, outbox::Claim::ChannelDown);
    play.switches(Mode::Human);
    play.channel.state = "authorized".into();
    assert!(play.sends().is_empty(), "a takeover stopped it while it waited");
}

#[test]
fn a_send_that_certainly_failed_has_answered_nobody() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Again(None, "connection refused".into()));
    play.says("m2");
    assert_eq!(play.in_state(S::Cancelled), ["a1"], "it has not read the newest message");
    let begun = play.begins();
    assert_eq!(begun.burst.len(), 2);
    play.writes(&begun, "to both");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Untried);
    play.switches(Mode::Human);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert!(
        play.conversation.waiting_since.is_some() && play.clocks.tend_at.is_some(),
        "a person is called in time"
    );
}

#[test]
fn a_part_of_unknown_fate_does_not_hold_a_later_answer() {
    for is_known_first in [false, true] {
        let mut play = Play::by(|policy| policy.split_chars = 20);
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "The first part is this.\n\nThe second part is this.");
        let (attempt, _) = play.claims_send();
        let unclear = Settled::Unclear("timed out".into());
        if is_known_first {
            play.settles(attempt, &unclear);
        }
        play.says("m2");
        let begun = play.begins();
        play.writes(&begun, "a2");
        if !is_known_first {
            play.settles(attempt, &unclear);
        }
        assert_eq!(play.sends(), ["a2"]);
        assert_eq!(play.in_state(S::Cancelled), ["The second part is this."]);
    }
}

#[test]
fn nobody_is_called_any_longer_for_an_attempt_that_turns_out_not_to_have_left() {
    let called = |play: &Play| play.conversation.attention.map(|attention| attention.reason);
    let lost_before_a_takeover = || {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        let (attempt, _) = play.claims_send();
        play.switches(Mode::Human);
        play.wait(60_000);
        play.tends();
        assert_eq!(called(&play), Some(AttentionReason::SendUnknown));
        (play, attempt)
    };
    let (mut play, attempt) = lost_before_a_takeover();
    play.settles(attempt, &Settled::Untried);
    assert_eq!(play.in_state(S::Cancelled), ["a1"]);
    assert_eq!(called(&play), None);
    let (mut play, attempt) = lost_before_a_takeover();
    play.settles(attempt, &Settled::Refused(DeliveryReason::NoAccount, "no account".into()));
    assert_eq!(play.in_state(S::Failed), ["a1"]);
    assert_eq!(called(&play), Some(AttentionReason::SendFailed));
}

#[test]
fn what_waits_again_after_an_unknown_fate_has_no_unknown_fate() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.wait(60_000);
    play.tends();
    play.settles(attempt, &Settled::Untried);
    assert_eq!(play.in_state(S::Queued), ["a1"]);
    assert_eq!(play.message(begun_reply(&play)).delivery.as_ref().unwrap().reason, None);
    assert_eq!(play.conversation.attention, None);
    assert_eq!(play.sends(), ["a1"]);
}

#[test]
fn an_attempt_held_for_lost_that_never_began_does_not_overtake_later_words() {
    let mut play = Play::new();
    let first = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.wait(60_000);
    play.tends();
    play.exchange("m2", "a2");
    play.settles(attempt, &Settled::Untried);
    assert!(play.sends().is_empty(), "a1 would come after a2");
    assert_eq!(play.in_state(S::Cancelled), ["a1"]);
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::HandedOver);
    let called = play.conversation.attention.map(|attention| attention.reason);
    assert_eq!(called, Some(AttentionReason::Unanswered), "nothing is unknown, but a question has no answer");
}

#[test]
fn what_waits_behind_an_unknown_part_holds_back_nothing_that_is_said_later() {
    let long = "This is the first one.\n\nThis is the second one.";
    let says = |play: &mut Play, text: &str| {
        let words = [NewMessage::of(text)];
        let step = |docket: &mut Docket, policy: &Policy| {
            messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()).map(drop)
        };
        play.step(step).unwrap();
    };
    type Deed = fn(&mut Play, &dyn Fn(&mut Play, &str));
    let table: [(&str, &[&str], Deed); 4] = [
        ("a person writes", &["Hello?"], |play, says| says(play, "Hello?")),
        ("a person writes on the phone", &[], |play, _| {
            play.copy("P1", "Hello?", Copy::Phone);
        }),
        ("Baton's own words", &["Hello?"], |play, _| {
            play.step(|docket, policy| outbox::say_as_system(docket, policy, "Hello?"));
        }),
        ("the model answers what came since", &["Hello?"], |play, _| {
            play.switches(Mode::Ai);
            play.says("m2");
            let begun = play.begins();
            play.writes(&begun, "Hello?");
        }),
    ];
    for (name, sent, deed) in table {
        let mut play = Play::by(|policy| policy.message_max_chars = 30);
        if name == "Baton's own words" {
            play.policy.split_chars = 20;
            play.says("m1");
            let begun = play.begins();
            play.writes(&begun, long);
        } else {
            says(&mut play, long);
        }
        let (attempt, _) = play.claims_send();
        play.settles(attempt, &Settled::Unclear("timed out".into()));
        assert!(play.sends().is_empty(), "{name}: the second part waits");
        deed(&mut play, &says);
        assert_eq!(play.in_state(S::Cancelled), ["This is the second one."], "{name}");
        assert_eq!(play.sends(), sent, "{name}");
    }
}

#[test]
fn a_reply_whose_first_part_was_withdrawn_has_answered_nothing_until_another_part_leaves() {
    let mut play = Play::by(|policy| policy.split_chars = 20);
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "This is the first one.\n\nThis is the second one.");
    let first = begun_reply(&play);
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, first, &ana())).unwrap();
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)));
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Answered);
    play.settles(attempt, &Settled::Untried);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Pending);
    play.switches(Mode::Human);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert!(play.conversation.waiting_since.is_some());
}

#[test]
fn a_claim_that_came_to_nothing_costs_no_attempt() {
    let mut play = Play::by(|policy| policy.send_attempts = 2);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    for _ in 0..5 {
        let (attempt, claim) = play.claims_send();
        assert!(matches!(claim, outbox::Claim::Claimed(_)));
        play.settles(attempt, &Settled::Untried);
    }
    assert_eq!(play.message(begun_reply(&play)).delivery.as_ref().unwrap().attempts, 0);
    assert_eq!(play.sends(), ["a1"]);
}

#[test]
fn what_may_leave_the_moment_it_is_owed_is_claimed_with_it() {
    for typing_ms in [0, 2_000] {
        let mut play =
            Play::by(|policy| (policy.typing_ms_per_char, policy.typing_max_ms) = (typing_ms, typing_ms));
        let question = play.says("Do you deliver?");
        let begun = play.begins();
        let answer = Answer { text: "Yes.".to_owned(), ..Answer::default() };
        let attempt = Uuid::now_v7();
        let claim = |play: &mut Play| {
            play.step_with(&need_of(&begun), |docket, policy| {
                reply::commit(docket, policy, &begun, &answer, 0.5);
                outbox::claim_at_once(docket, policy, attempt)
            })
        };
        let claimed = claim(&mut play);
        if typing_ms > 0 {
            assert_eq!(claimed, None, "someone would be typing now");
            assert_eq!(play.in_state(S::Queued), ["Yes."]);
            continue;
        }
        let (message, covered) = claimed.expect("it may leave");
        assert_eq!((message.text.as_str(), covered), ("Yes.", vec![question]));
        assert_eq!(play.in_state(S::Sending), ["Yes."]);
        assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Answered);
        let again = claim(&mut play).expect("a commit whose answer was lost finds its claim");
        assert_eq!((again.0.id, play.in_state(S::Sending).len()), (message.id, 1));
        let need = Need { messages: again.1, ..Need::default() };
        play.step_with(&need, |docket, policy| {
            outbox::settle(docket, policy, attempt, &Settled::Untried, 0.5);
        });
        assert_eq!(play.in_state(S::Queued), ["Yes."]);
        assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Pending);
    }
}

#[test]
fn a_claim_that_is_heard_of_after_its_lease_is_given_back_and_claims_nothing_else() {
    let mut play = Play::new();
    let question = play.says("Do you deliver?");
    let begun = play.begins();
    let (answer, attempt) = (Answer { text: "Yes.".to_owned(), ..Answer::default() }, Uuid::now_v7());
    let claim = |play: &mut Play| {
        play.step_with(&need_of(&begun), |docket, policy| {
            reply::commit(docket, policy, &begun, &answer, 0.5);
            outbox::claim_at_once(docket, policy, attempt)
        })
    };
    assert!(claim(&mut play).is_some());
    play.wait(60_000);
    play.tends();
    assert_eq!(play.in_state(S::Unknown), ["Yes."]);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendUnknown);
    assert_eq!(claim(&mut play), None, "nothing was posted under it, nor will be");
    assert_eq!(play.in_state(S::Queued), ["Yes."]);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Pending);
    assert_eq!(play.conversation.attention, None, "nobody need look for it");
    assert_eq!(play.message(begun_reply(&play)).delivery.as_ref().unwrap().attempts, 0);
    assert_eq!(play.sends(), ["Yes."]);
}

#[test]
fn under_an_attempt_that_has_found_its_end_nothing_else_is_claimed() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.wait(60_000);
    play.tends();
    play.says("m2");
    let begun = play.begins();
    play.writes(&begun, "a2");
    let again = play.step(|docket, policy| outbox::claim_due(docket, policy, attempt));
    assert_eq!(again, outbox::Claim::Nothing);
    assert!(play.in_state(S::Sending).is_empty(), "its end would be taken for that of the first");
    assert!(play.in_state(S::Unknown).is_empty(), "nothing was posted under it");
}
