//! What became of a send: echoes, statuses, and those that nobody answered.

use super::{ana, begun_reply, loses, speaks};
use crate::{
    domain::{
        conversation::AttentionReason,
        event::EventType,
        message::{DeliveryReason, DeliveryState as S, Outcome},
        mode::{Mode, Reason},
        policy::BurstPolicy,
        turn::LetterState,
    },
    flow::{
        conversations,
        desk::{Idempotency, NewMessage, Patch, Refusal, letters, messages, patch, resolve_send},
        inbox,
        outbox::{self, Settled},
        play::Play,
        provider::Arrival,
        reconcile::{self, Copy, Matched},
        reply::Answer,
    },
};

#[test]
fn a_send_nobody_settled_is_unknown_and_its_echo_settles_it() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    play.wait(60_000);
    play.tends();
    assert_eq!(play.in_state(S::Unknown), ["words"]);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendUnknown);
    assert!(matches!(play.copy("X1", "words", Copy::Api), Matched::Ours(_)));
    assert_eq!(play.in_state(S::Sent), ["words"]);
    assert!(play.conversation.attention.is_none());
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    play.settles(attempt, &Settled::Unclear("late".into()));
    assert_eq!(play.in_state(S::Sent), ["words"], "a late word on that attempt changes nothing");
}

#[test]
fn an_echo_before_the_answer_is_our_own_however_often_it_comes() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let (attempt, _) = play.claims_send();
    for _ in 0..3 {
        assert_eq!(play.copy("X1", "OK", Copy::Api), Matched::Parked);
    }
    play.settles(attempt, &Settled::Sent("X1".into()));
    assert_eq!(play.in_state(S::Sent), ["OK"]);
    assert_eq!(play.messages.len(), 2);
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
}

#[test]
fn the_id_in_the_answer_wins_over_equal_words() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Queue);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let (first, _) = play.claims_send();
    play.settles(first, &Settled::Unclear("timed out".into()));
    play.says("m2");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let (second, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)), "later turns do not wait for an unknown one");
    assert_eq!(play.copy("X2", "OK", Copy::Api), Matched::Parked);
    play.settles(second, &Settled::Sent("X2".into()));
    assert_eq!(play.in_state(S::Unknown).len(), 1, "the first is still unknown");
    assert_eq!(play.in_state(S::Sent).len(), 1);
}

#[test]
fn an_echo_of_nobody_is_another_system_and_takes_over() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(matches!(play.copy("Z9", "from a campaign", Copy::Api), Matched::Foreign(_)));
    assert_eq!(play.conversation.mode.reason, Reason::OtherSystem);
    assert!(matches!(play.copy("Z9", "from a campaign", Copy::Api), Matched::Ours(_)), "twice is once");
    assert_eq!(play.messages.iter().filter(|message| message.text == "from a campaign").count(), 1);
}

#[test]
fn a_message_sent_again_by_a_person_knows_both_of_its_echoes() {
    for is_refused in [false, true] {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "OK");
        let (attempt, _) = play.claims_send();
        play.settles(attempt, &Settled::Unclear("timed out".into()));
        let sent_at = play.now;
        play.wait(60_000);
        let message = play.messages.last().unwrap().id;
        let ana = ana();
        play.step(|docket, policy| resolve_send::retry(docket, policy, message, &ana)).unwrap();
        let (attempt, _) = play.claims_send();
        if is_refused {
            play.settles(attempt, &Settled::Refused(DeliveryReason::Refused, "no".into()));
        } else {
            play.settles(attempt, &Settled::Sent("X2".into()));
            assert!(matches!(play.copy("X2", "OK", Copy::Api), Matched::Ours(_)));
        }
        let mut late = play.arrival("X1", "OK");
        late.at = Some(sent_at);
        for _ in 0..2 {
            let matched = play.step(|docket, policy| reconcile::take_copy(docket, policy, &late, Copy::Api));
            assert_eq!(matched, Matched::Ours(message));
        }
        assert_eq!(play.in_state(S::Sent), ["OK"]);
        assert_eq!(play.conversation.mode.mode, Mode::Ai);
        assert!(play.letters.iter().all(|letter| letter.state != LetterState::Open));
    }
}

#[test]
fn whoever_waits_is_overdue_also_after_another_call_has_ended() {
    let reports = |play: &mut Play, state| {
        play.step(|docket, policy| reconcile::take_status(docket, policy, "OUT1", state, None));
    };
    let looks = |play: &mut Play| {
        let patch = Patch { clear_attention: true, ..Patch::default() };
        play.step(|docket, policy| patch::apply(docket, policy, &patch, &ana())).unwrap();
    };
    // A message of a person is given up, and the contact asks on; then that arrives after all, or the person has looked.
    for is_looked_at in [false, true] {
        let mut play = Play::new();
        let words = [NewMessage::of("One moment.")];
        play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
            .unwrap();
        let (attempt, _) = play.claims_send();
        play.settles(attempt, &Settled::Sent("OUT1".into()));
        reports(&mut play, S::Failed);
        assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendFailed);
        play.wait(1_000);
        play.says("Hello?");
        let overdue_at = play.now.plus_ms(play.policy.human_overdue_ms);
        assert_eq!(play.conversation.memo.overdue_at, None, "somebody is called already");
        if is_looked_at {
            looks(&mut play);
        } else {
            reports(&mut play, S::Delivered);
        }
        assert_eq!(
            (play.conversation.attention, play.conversation.memo.overdue_at),
            (None, Some(overdue_at.0))
        );
        play.now = overdue_at;
        play.tends();
        assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::HumanOverdue);
        looks(&mut play);
        play.wait(1_000);
        play.tends();
        assert_eq!(play.conversation.attention, None, "nobody is called twice for the same");
    }
}

#[test]
fn a_letter_that_was_replayed_is_put_away_no_more() {
    let mut play = Play::new();
    let question = play.says("m1");
    for _ in 0..3 {
        let begun = play.begins();
        play.fails(&begun);
    }
    let letter = play.letters[0].id;
    play.step(|docket, policy| letters::replay(docket, policy, letter, false, &ana())).unwrap();
    let late = play.step(|docket, _| letters::discard(docket, letter, &ana()));
    assert!(matches!(late, Err(Refusal::NotFound)), "{late:?}");
    assert_eq!(play.letters[0].state, LetterState::Replayed);
    assert_eq!(play.happened(EventType::DeadLetterDiscarded), 0);
    for _ in 0..3 {
        let begun = play.begins();
        play.fails(&begun);
    }
    let letter = play.letters[1].id;
    play.step(|docket, _| letters::discard(docket, letter, &ana())).unwrap();
    assert_eq!(play.letters[1].state, LetterState::Discarded);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Dead);
}

#[test]
fn a_status_before_the_answer_counts_when_the_answer_comes() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    let status = |docket: &mut _, policy: &_| reconcile::take_status(docket, policy, "X1", S::Failed, None);
    assert_eq!(play.step(status), Matched::Parked);
    play.settles(attempt, &Settled::Sent("X1".into()));
    assert_eq!(play.in_state(S::Failed), ["a1"]);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendFailed);
}

#[test]
fn a_call_for_a_person_outlives_a_send_of_unknown_fate() {
    let mut play = Play::by(|policy| policy.handover_text = Some("A colleague comes.".into()));
    play.says("m1");
    let begun = play.begins();
    play.commits(&begun, &Answer { hand_over: Some("asked".into()), ..Answer::default() });
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendUnknown);
    play.copy("X1", "A colleague comes.", Copy::Api);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::AssistantAsked);
}

#[test]
fn attempts_that_nobody_answered_have_an_echo_each_and_none_is_a_strangers() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let id = loses(&mut play);
    for _ in 0..2 {
        play.step(|docket, policy| resolve_send::retry(docket, policy, id, &ana())).unwrap();
        assert_eq!(loses(&mut play), id);
    }
    // As often as the provider likes, and in any order.
    for echo in ["X1", "X1", "X2", "X1", "X3", "X2", "X1"] {
        assert_eq!(play.copy(echo, "OK", Copy::Api), Matched::Ours(id), "{echo}");
        assert!(play.message(id).is(S::Sent));
    }
    assert!(!play.message(id).is_open());
    assert!(matches!(play.copy("X4", "OK", Copy::Api), Matched::Foreign(_)), "three attempts, three echoes");
}

#[test]
fn a_message_sent_again_after_a_failure_is_known_by_its_first_id_too() {
    let mut play = Play::new();
    play.exchange("m1", "OK");
    let id = begun_reply(&play);
    let first = play.message(id).provider_message_id.clone().unwrap();
    let reports = |play: &mut Play, state| {
        play.step(|docket, policy| reconcile::take_status(docket, policy, &first, state, None))
    };
    reports(&mut play, S::Failed);
    play.step(|docket, policy| resolve_send::retry(docket, policy, id, &ana())).unwrap();
    play.sends();
    assert_ne!(play.message(id).provider_message_id.as_ref(), Some(&first));
    assert_eq!(play.copy(&first, "OK", Copy::Api), Matched::Ours(id));
    assert_eq!(reports(&mut play, S::Failed), Matched::Ours(id));
    assert!(play.message(id).is(S::Sent), "the second attempt has not failed");
}

#[test]
fn an_attempt_held_for_lost_that_is_answered_late_is_accounted_for() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let (attempt, _) = play.claims_send();
    play.wait(60_000);
    play.tends();
    let id = begun_reply(&play);
    assert_eq!(play.message(id).delivery.as_ref().unwrap().unclear, 1);
    // The holder wakes and only knows that it knows nothing: that is no second attempt.
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    assert_eq!(play.message(id).delivery.as_ref().unwrap().unclear, 1);
    play.settles(attempt, &Settled::Sent("X1".into()));
    assert!(play.message(id).is(S::Sent) && !play.message(id).is_open());
}

#[test]
fn an_echo_is_not_waited_for_longer_than_the_provider_keeps_it() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let id = loses(&mut play);
    play.step(|docket, policy| resolve_send::confirm(docket, policy, id, &ana())).unwrap();
    play.wait(86_400_000);
    play.tends();
    assert!(play.message(id).is_open(), "the phone may have been away for a day");
    assert!(play.clocks.tend_at.is_some(), "somebody looks when it is time");
    play.now = play.clocks.tend_at.unwrap();
    play.tends();
    assert!(!play.message(id).is_open());
    assert!(matches!(play.copy("X9", "OK", Copy::Api), Matched::Foreign(_)), "somebody else says it now");
}

#[test]
fn a_failure_reported_of_an_earlier_attempt_says_nothing_of_the_one_under_way() {
    let mut play = Play::new();
    play.exchange("m1", "OK");
    let id = begun_reply(&play);
    let known = play.message(id).provider_message_id.clone().unwrap();
    let report = |play: &mut Play| {
        play.step(|docket, policy| reconcile::take_status(docket, policy, &known, S::Failed, None))
    };
    report(&mut play);
    assert!(play.message(id).is(S::Failed));
    play.step(|docket, policy| resolve_send::retry(docket, policy, id, &ana())).unwrap();
    let (attempt, _) = play.claims_send();
    report(&mut play);
    assert!(play.message(id).is(S::Sending));
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    report(&mut play);
    assert!(play.message(id).is(S::Unknown));
    assert_eq!(play.copy("X2", "OK", Copy::Api), Matched::Ours(id));
}

#[test]
fn what_a_person_is_called_for_beside_a_send_of_unknown_fate_is_not_forgotten() {
    let called = |play: &Play| play.conversation.attention.map(|attention| attention.reason);
    for then in ["its echo comes", "a person looks", "a person confirms it", "a person sends it again"] {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        let id = loses(&mut play);
        speaks(&mut play, "V1");
        assert_eq!(called(&play), Some(AttentionReason::SendUnknown), "that comes first");
        match then {
            "a person looks" => {
                play.step(|docket, _| conversations::clear(docket, "agent:ana", |_| true));
                assert_eq!(called(&play), Some(AttentionReason::SendUnknown), "it ends only by its settling");
            }
            "a person confirms it" => {
                play.step(|docket, policy| resolve_send::confirm(docket, policy, id, &ana())).unwrap();
                assert_eq!(called(&play), Some(AttentionReason::Unreadable), "nobody has listened");
            }
            "a person sends it again" => {
                play.step(|docket, policy| resolve_send::retry(docket, policy, id, &ana())).unwrap();
                assert_eq!(called(&play), Some(AttentionReason::Unreadable), "nobody has listened");
            }
            _ => {}
        }
        assert_eq!(play.copy("X1", "a1", Copy::Api), Matched::Ours(id));
        let wanted = if then == "a person looks" { None } else { Some(AttentionReason::Unreadable) };
        assert_eq!(called(&play), wanted, "{then}");
    }
}

#[test]
fn what_a_person_is_called_for_outlives_a_call_that_an_answer_ends() {
    for (first, second) in [
        (AttentionReason::AiFailure, AttentionReason::Unreadable),
        (AttentionReason::SpendLimit, AttentionReason::ContactAsked),
    ] {
        for a_person_looks in [false, true] {
            let mut play = Play::new();
            play.step(|docket, _| {
                for reason in [first, AttentionReason::Stale, second, AttentionReason::SendFailed] {
                    conversations::raise(docket, reason);
                }
            });
            assert_eq!(play.conversation.attention.map(|it| it.reason), Some(first));
            if a_person_looks {
                play.step(|docket, _| conversations::clear(docket, "agent:ana", |_| true));
            }
            play.exchange("m1", "a1");
            let wanted = (!a_person_looks).then_some(second);
            assert_eq!(play.conversation.attention.map(|it| it.reason), wanted);
        }
    }
}

#[test]
fn of_what_somebody_may_have_answered_already_the_machine_says_nothing() {
    for text in ["[voice note]", "stop", "human"] {
        let mut play = Play::by(|policy| {
            policy.handover_words = vec!["human".into()];
            policy.handover_text = Some("A colleague will be with you soon.".into());
            policy.opt_out_text = Some("You hear no more.".into());
            policy.unreadable_text = Some("Please write.".into());
        });
        let arrival = Arrival { is_unreadable: text.starts_with('['), ..play.arrival("IN1", text) };
        play.step(|docket, policy| inbox::admit_for_people(docket, policy, &arrival));
        assert_eq!(play.sends(), [""; 0], "{text}");
        assert_eq!(play.conversation.opted_out, text == "stop");
        assert_eq!(play.conversation.attention.is_some(), text != "stop", "{text}: people see it");
    }
}

#[test]
fn a_letter_about_a_send_is_told_to_be_tried_again_once_by_whichever_way() {
    for by_its_letter in [false, true] {
        let mut play = Play::by(|policy| policy.send_attempts = 1);
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        for time in 1..3 {
            let (attempt, _) = play.claims_send();
            play.settles(attempt, &Settled::Again(None, "status 500".into()));
            let letter = play.letters.last().unwrap().clone();
            let message = letter.subject.unwrap();
            play.step(|docket, policy| match by_its_letter {
                true => letters::replay(docket, policy, letter.id, false, &ana()).map(|_| ()),
                false => resolve_send::retry(docket, policy, message, &ana()),
            })
            .unwrap();
            assert_eq!(play.happened(EventType::DeadLetterReplayed), time, "by its letter: {by_its_letter}");
            assert!(play.letters.iter().all(|letter| letter.state == LetterState::Replayed));
        }
    }
}

#[test]
fn a_letter_about_a_turn_stays_where_there_is_no_model() {
    for force in [false, true] {
        let mut play = Play::by(|policy| policy.ai_attempts = 1);
        play.says("m1");
        let begun = play.begins();
        play.fails(&begun);
        play.policy.has_model = false;
        let letter = play.letters[0].id;
        let refused = play.step(|docket, policy| letters::replay(docket, policy, letter, force, &ana()));
        assert!(matches!(refused, Err(Refusal::Conflict { code: "no_model", .. })), "{refused:?}");
        assert_eq!(play.letters[0].state, LetterState::Open);
    }
}

#[test]
fn a_send_that_is_settled_late_was_sent_when_it_was_tried() {
    let lost = || {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "OK");
        let (attempt, _) = play.claims_send();
        let tried_at = play.now;
        play.settles(attempt, &Settled::Unclear("timed out".into()));
        play.wait(60_000);
        (play, attempt, tried_at)
    };
    let sent_at =
        |play: &Play| play.message(begun_reply(play)).delivery.as_ref().and_then(|delivery| delivery.sent_at);
    // The provider stamps whole seconds, by a clock of its own.
    for (stamped_ms, wanted_ms) in [(Some(2_000), 2_000), (Some(-900), 0), (Some(90_000), 60_000), (None, 0)]
    {
        let (mut play, _, tried_at) = lost();
        let echo = Arrival { at: stamped_ms.map(|ms| tried_at.plus_ms(ms)), ..play.arrival("X1", "OK") };
        play.step(|docket, policy| reconcile::take_copy(docket, policy, &echo, Copy::Api));
        assert_eq!(sent_at(&play), Some(tried_at.plus_ms(wanted_ms)), "{stamped_ms:?}");
    }
    let (mut play, _, tried_at) = lost();
    let id = begun_reply(&play);
    play.step(|docket, policy| resolve_send::confirm(docket, policy, id, &ana())).unwrap();
    assert_eq!(sent_at(&play), Some(tried_at), "a person has confirmed it");
    let (mut play, attempt, tried_at) = lost();
    play.settles(attempt, &Settled::Sent("X1".into()));
    assert_eq!(sent_at(&play), Some(tried_at), "its answer came after its lease");
    // What a person sends again is sent then.
    let (mut play, _, _) = lost();
    let id = begun_reply(&play);
    play.step(|docket, policy| resolve_send::retry(docket, policy, id, &ana())).unwrap();
    play.sends();
    assert_eq!(sent_at(&play), Some(play.now));
    // It arrived after all, and was sent before that.
    let mut play = Play::new();
    play.exchange("m1", "OK");
    let (sent, id) = (play.now, play.message(begun_reply(&play)).provider_message_id.clone().unwrap());
    for state in [S::Failed, S::Delivered] {
        play.wait(60_000);
        play.step(|docket, policy| reconcile::take_status(docket, policy, &id, state, None));
    }
    assert_eq!(sent_at(&play), Some(sent));
}
