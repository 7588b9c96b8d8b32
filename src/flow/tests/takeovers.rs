//! A person takes over, and gives back.

use uuid::Uuid;

use super::{ana, begun_reply};
use crate::{
    domain::{
        conversation::{AttentionReason, Status},
        event::{EventType, actor},
        message::{DeliveryState as S, Kind, Outcome, OutcomeReason},
        mode::{Mode, Reason},
        policy::BurstPolicy,
        turn::TurnState,
    },
    flow::{
        conversations,
        desk::{Idempotency, NewMessage, messages, resolve_send},
        inbox::Claim,
        mode_switch::{self, Request},
        outbox::{self, Settled},
        play::Play,
        provider::Arrival,
        reconcile::{self, Copy, Matched},
        reply::{Answer, Discarded, TurnEnd},
    },
};

/// The model hands over with these words.
fn hand_over(words: &str) -> Answer {
    Answer { text: words.to_owned(), hand_over: Some("asked for".to_owned()), ..Answer::default() }
}

#[test]
fn a_takeover_beats_a_running_generation() {
    let mut play = Play::new();
    let question = play.says("Show me condos");
    let begun = play.begins();
    play.wait(1_800);
    let switched = play.switches(Mode::Human);
    assert_eq!(switched.generation_ms, Some(1_800));
    assert_eq!(play.writes(&begun, "Here they are"), TurnEnd::Discarded(Discarded::HumanAnswers));
    assert!(play.sends().is_empty());
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert_eq!(play.turns[0].state, TurnState::Cancelled);
    assert_eq!(play.happened(EventType::ModeChangeDuringGeneration), 1);
}

#[test]
fn back_to_ai_does_not_revive_what_was_written_before() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.switches(Mode::Human);
    play.switches(Mode::Ai);
    assert_eq!(play.writes(&begun, "too late"), TurnEnd::Discarded(Discarded::VersionMoved));
    assert!(play.sends().is_empty());
}

#[test]
fn a_takeover_between_parts_stops_the_rest_and_says_so() {
    let mut play = Play::by(|policy| policy.split_chars = 20);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "The first part is this.\n\nThe second part is this.\n\nThe third part is this.");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Sent("X1".into()));
    let switched = play.switches(Mode::Human);
    assert_eq!((switched.parts_already_sent, switched.parts_discarded), (1, 2));
    assert!(play.sends().is_empty());
}

#[test]
fn parts_that_have_left_count_also_while_the_last_is_on_its_way() {
    for (on_their_way, then) in [(3, Settled::Sent("X3".into())), (3, Settled::Unclear("no answer".into()))] {
        let mut play = Play::by(|policy| policy.split_chars = 20);
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "The first part is this.\n\nThe second part is this.\n\nThe third part is this.");
        for part in 1..on_their_way {
            play.wait(60_000);
            let (attempt, _) = play.claims_send();
            play.settles(attempt, &Settled::Sent(format!("X{part}")));
        }
        play.wait(60_000);
        let (attempt, _) = play.claims_send();
        let switched = play.switches(Mode::Human);
        assert_eq!((switched.parts_already_sent, switched.parts_discarded), (2, 0));
        play.settles(attempt, &then);
        let again = play.switches(Mode::Human);
        assert_eq!(again.parts_already_sent, 0, "nothing is owed any more");
    }
}

#[test]
fn a_send_that_failed_during_the_switch_does_not_come_back() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    play.switches(Mode::Human);
    play.settles(attempt, &Settled::Again(None, "refused".into()));
    assert!(play.sends().is_empty());
    assert_eq!(play.in_state(S::Cancelled), ["words"]);
}

#[test]
fn a_reply_that_failed_during_the_switch_leaves_its_question_to_the_person() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    play.switches(Mode::Human);
    play.settles(attempt, &Settled::Untried);
    assert!(play.sends().is_empty());
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert!(play.conversation.contact_spoke_last(), "the contact waits for the person");
}

#[test]
fn a_reply_that_failed_after_a_switch_there_and_back_calls_a_person() {
    for is_unclear in [false, true] {
        for settled in [Settled::Untried, Settled::Again(None, "refused".into())] {
            let mut play = Play::new();
            let question = play.says("m1");
            let begun = play.begins();
            play.writes(&begun, "words");
            let (attempt, _) = play.claims_send();
            play.switches(Mode::Human);
            play.switches(Mode::Ai);
            if is_unclear {
                play.settles(attempt, &Settled::Unclear("no answer".into()));
            }
            play.settles(attempt, &settled);
            assert!(play.sends().is_empty(), "{is_unclear}");
            assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman, "{is_unclear}");
            let called_for = play.conversation.attention.map(|attention| attention.reason);
            assert_eq!(called_for, Some(AttentionReason::Unanswered), "{is_unclear}: nobody has it in hand");
        }
    }
}

#[test]
fn what_was_on_its_way_when_it_was_closed_does_not_leave_after_the_opening() {
    type Opens = fn(&mut Play);
    let table: [(&str, Opens, usize); 2] = [
        (
            "by a person",
            |play| {
                play.step(|docket, _| conversations::set_status(docket, Status::Open, None, "agent:ana"));
            },
            0,
        ),
        (
            "by the contact",
            |play| {
                play.says("m2");
            },
            1,
        ),
    ];
    for (name, opens, waiting) in table {
        for is_unclear in [false, true] {
            let mut play = Play::by(|policy| policy.burst = BurstPolicy::Queue);
            let question = play.says("m1");
            let begun = play.begins();
            play.writes(&begun, "a1");
            let (attempt, _) = play.claims_send();
            play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
            if is_unclear {
                play.settles(attempt, &Settled::Unclear("no answer".into()));
            }
            opens(&mut play);
            play.settles(attempt, &Settled::Again(None, "connection refused".into()));
            assert!(play.sends().is_empty(), "{name}");
            let inbound = play.message(question).inbound.unwrap();
            assert_eq!((inbound.outcome, inbound.reason), (Outcome::Ignored, Some(OutcomeReason::Closed)));
            let waits = play.messages.iter().filter(|message| message.waits()).count();
            assert_eq!(waits, waiting, "{name}: what was written since is answered");
        }
    }
}

#[test]
fn the_words_of_a_hand_over_leave_and_nothing_after_them() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = vec![1_000]);
    play.says("I want a person");
    let begun = play.begins();
    let answer = hand_over("I will get a colleague.");
    play.commits(&begun, &answer);
    assert_eq!(play.conversation.mode.mode, Mode::Human);
    assert_eq!(play.sends(), ["I will get a colleague."]);
    assert_eq!(play.pending_follow_ups(), 0);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::AssistantAsked);
}

#[test]
fn a_person_who_acts_again_in_human_stops_the_farewell_too() {
    let mut play = Play::by(|policy| policy.handover_text = Some("A colleague comes.".into()));
    play.says("I want a person");
    let begun = play.begins();
    play.commits(&begun, &hand_over(""));
    let switched = play.switches(Mode::Human);
    assert!(!switched.changed);
    assert_eq!(switched.parts_discarded, 1);
    assert!(play.sends().is_empty());
}

#[test]
fn handover_words_call_a_person_at_once() {
    let mut play = Play::by(|policy| {
        policy.handover_words = vec!["agent".into()];
        policy.handover_text = Some("A colleague comes.".into());
    });
    play.says("Agent!");
    assert_eq!(play.conversation.mode.reason, Reason::ContactAsked);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::ContactAsked);
    assert_eq!(play.sends(), ["A colleague comes."]);
    assert_eq!(play.claim(), Claim::Nothing);
}

#[test]
fn a_person_at_the_phone_takes_over_at_once() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.copy("P1", "Let me look", Copy::Phone);
    assert_eq!(
        (play.conversation.mode.mode, play.conversation.mode.reason),
        (Mode::Human, Reason::AgentPhone)
    );
    assert_eq!(play.writes(&begun, "words"), TurnEnd::Discarded(Discarded::HumanAnswers));
    assert!(play.sends().is_empty());
}

#[test]
fn closing_ends_everything_and_a_new_message_opens_again() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    play.schedules("Still there?", 5_000);
    play.says("m2");
    let begun = play.begins();
    play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
    assert_eq!(play.pending_follow_ups(), 0);
    assert!(matches!(play.writes(&begun, "words"), TurnEnd::Discarded(_)));
    play.says("m3");
    assert_eq!(play.conversation.status, Status::Open);
    assert!(matches!(play.writes(&begun, "words"), TurnEnd::Discarded(_)), "reopening revives nothing");
    let begun = play.begins();
    assert_eq!(begun.burst.len(), 1);
}

#[test]
fn the_hold_returns_to_ai_and_answers_only_what_is_new() {
    let mut play = Play::by(|policy| policy.human_hold_ms = 10_000);
    play.switches(Mode::Human);
    let old = play.says("while a person was there");
    play.wait(10_000);
    play.tends();
    assert_eq!((play.conversation.mode.mode, play.conversation.mode.reason), (Mode::Ai, Reason::HoldExpired));
    assert_eq!(play.message(old).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert_eq!(play.claim(), Claim::Nothing);
    play.says("new");
    assert_eq!(play.begins().burst.len(), 1);
}

#[test]
fn the_hold_shortens_no_hour_that_somebody_chose() {
    let mut play = Play::by(|policy| policy.human_hold_ms = 10_000);
    play.switches(Mode::Human);
    let chosen = play.now.plus_ms(60_000);
    play.conversation.mode.until = Some(chosen);
    let words = [NewMessage::of("Let me look.")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    assert_eq!(play.conversation.mode.until, Some(chosen));
    play.wait(55_000);
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    assert_eq!(play.conversation.mode.until, Some(play.now.plus_ms(10_000)));
}

#[test]
fn a_takeover_with_a_send_in_flight_says_when_it_is_settled() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    play.switches(Mode::Human);
    assert_eq!(play.happened(EventType::TakeoverSettled), 0);
    play.settles(attempt, &Settled::Sent("X1".into()));
    assert_eq!(play.happened(EventType::TakeoverSettled), 1);
}

#[test]
fn what_was_being_sent_at_a_takeover_counts_as_what_becomes_of_it() {
    for (settled, have_left, came_back) in
        [(Settled::Sent("X1".into()), 1, 0), (Settled::Again(None, "status 429".into()), 0, 1)]
    {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "words");
        let (attempt, _) = play.claims_send();
        let under_way: Vec<Uuid> =
            play.messages.iter().filter(|message| message.is(S::Sending)).map(|message| message.id).collect();
        play.switches(Mode::Human);
        let version = play.conversation.mode.version;
        let before = play.step(|docket, _| mode_switch::look_at_ours(docket, version, &under_way, &[]));
        assert_eq!((before.settled, before.have_left, before.came_back), (false, 0, 0));
        assert_eq!(before.in_flight, under_way);
        play.settles(attempt, &settled);
        let after = play.step(|docket, _| mode_switch::look_at_ours(docket, version, &under_way, &[]));
        assert_eq!((after.settled, after.have_left, after.came_back), (true, have_left, came_back));
        assert_eq!(after.at_provider.len(), have_left);
    }
}

#[test]
fn nobody_is_called_for_a_contact_who_only_said_stop() {
    let mut play = Play::new();
    play.says("stop");
    assert!(play.conversation.waiting_since.is_none());
    play.says("hello");
    let asked_at = play.conversation.waiting_since;
    assert!(asked_at.is_some());
    play.wait(1_000);
    play.says("stop");
    assert_eq!(play.conversation.waiting_since, asked_at, "the question still waits");
}

#[test]
fn a_send_under_way_during_a_takeover_leaves_its_question_to_people_if_it_fails() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.switches(Mode::Human);
    play.settles(attempt, &Settled::Again(None, "connection refused".into()));
    assert!(play.sends().is_empty());
    let inbound = play.message(question).inbound.unwrap();
    assert_eq!((inbound.outcome, inbound.reason), (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman)));
}

#[test]
fn a_reply_that_an_agent_withdraws_leaves_its_question_to_people() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let reply = play.messages.last().unwrap().id;
    let ana = ana();
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, reply, &ana)).unwrap();
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert!(play.conversation.waiting_since.is_some());
}

#[test]
fn words_that_an_agent_takes_back_were_not_said() {
    let mut play = Play::new();
    play.says("m1");
    let ana = ana();
    let words = [NewMessage::of("wait")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana, &Idempotency::of_its_own()))
        .unwrap();
    assert!(play.conversation.waiting_since.is_none());
    let said = play.messages.last().unwrap().id;
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, said, &ana)).unwrap();
    assert!(play.conversation.contact_spoke_last() && play.conversation.waiting_since.is_some());
}

#[test]
fn a_clock_that_was_stopped_is_started_by_no_message_of_that_person() {
    let mut play = Play::by(|policy| policy.human_hold_ms = 60_000);
    let sets = |play: &mut Play, to, until| {
        let request = Request { until, ..Request::by(ana()) };
        play.step(|docket, policy| mode_switch::apply(docket, policy, to, &request)).unwrap();
        play.conversation.mode.until
    };
    let writes = |play: &mut Play| {
        let words = [NewMessage::of("Let me look.")];
        play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
            .unwrap();
        play.sends();
        play.conversation.mode.until
    };
    assert!(sets(&mut play, Mode::Human, None).is_some());
    assert_eq!(sets(&mut play, Mode::Human, Some(None)), None);
    assert_eq!((writes(&mut play), sets(&mut play, Mode::Human, None)), (None, None));
    play.copy("P1", "From the phone", Copy::Phone);
    assert_eq!(play.conversation.mode.until, None);

    // Until it is set again, or the conversation comes back to people.
    let soon = play.now.plus_ms(1_000);
    assert_eq!(sets(&mut play, Mode::Human, Some(Some(soon))), Some(soon));
    assert_eq!(writes(&mut play), Some(play.now.plus_ms(60_000)));
    sets(&mut play, Mode::Human, Some(None));
    sets(&mut play, Mode::Ai, None);
    assert_eq!(writes(&mut play), Some(play.now.plus_ms(60_000)));
}

#[test]
fn asking_twice_for_a_person_does_not_withdraw_the_words_that_one_comes() {
    let mut play = Play::by(|policy| {
        policy.handover_words = vec!["agent".into()];
        policy.handover_text = Some("A colleague comes.".into());
    });
    play.says("agent");
    play.says("agent");
    assert_eq!(play.sends(), ["A colleague comes."]);
}

#[test]
fn a_send_that_fails_after_the_closing_is_not_brought_back_by_a_new_message() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
    play.settles(attempt, &Settled::Again(None, "connection refused".into()));
    play.says("m2");
    assert!(play.sends().is_empty());
    assert_eq!(play.begins().burst.len(), 1);
}

#[test]
fn a_farewell_that_comes_back_after_a_person_has_acted_does_not_leave() {
    let said = Reason::ALL.iter().copied().map(Some);
    for reason in said.chain([None]) {
        let mut play = Play::new();
        let question = play.says("m1");
        let begun = play.begins();
        let answer = hand_over("A colleague comes.");
        play.commits(&begun, &answer);
        let (attempt, claim) = play.claims_send();
        assert!(matches!(claim, outbox::Claim::Claimed(_)));
        let request = Request { reason, ..Request::by(ana()) };
        let switch = |docket: &mut _, policy: &_| mode_switch::apply(docket, policy, Mode::Human, &request);
        assert!(!play.step(switch).unwrap().changed, "it is HUMAN already");
        play.settles(attempt, &Settled::Again(None, "refused the connection".into()));
        play.wait(60_000);
        assert!(play.sends().is_empty(), "the person was told that nothing more leaves: {reason:?}");
        assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman, "{reason:?}");
    }
}

#[test]
fn words_taken_back_leave_the_contact_waiting_if_what_was_before_them_fails_too() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    let words = [NewMessage::of("wait")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    let said = play.messages.last().unwrap().id;
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, said, &ana())).unwrap();
    play.settles(attempt, &Settled::Again(None, "refused the connection".into()));
    assert!(play.conversation.waiting_since.is_some() && play.conversation.contact_spoke_last());
}

#[test]
fn the_way_back_waits_for_a_persons_message_that_is_on_its_way() {
    for hold_ms in [90_000, 5_000] {
        let mut play = Play::by(|policy| policy.human_hold_ms = hold_ms);
        let again_ms = hold_ms.max(60_000);
        play.says("m1");
        let words = [NewMessage::of("One moment.")];
        play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
            .unwrap();
        play.wait(hold_ms);
        play.tends();
        assert_eq!(play.conversation.mode.mode, Mode::Human, "it is still owed");
        assert_eq!(
            play.conversation.mode.until,
            Some(play.now.plus_ms(again_ms)),
            "nothing is written before"
        );
        assert_eq!(play.happened(EventType::ModeUntilChanged), 1);
        play.wait(again_ms);
        let (attempt, _) = play.claims_send();
        play.tends();
        assert_eq!(play.conversation.mode.mode, Mode::Human, "it is being sent");
        play.settles(attempt, &Settled::Sent("X1".into()));
        play.wait(again_ms);
        play.tends();
        assert_eq!(play.conversation.mode.mode, Mode::Ai);
    }
}

#[test]
fn a_receipt_names_what_the_provider_has_and_has_not_sent_yet() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    let reply = begun_reply(&play);
    let takes_over = |play: &mut Play| {
        let request = Request::by(ana());
        play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Human, &request)).unwrap()
    };
    assert_eq!(takes_over(&mut play).at_provider, [reply], "it may still arrive");
    let known = play.message(reply).provider_message_id.clone().unwrap();
    play.copy(&known, "a1", Copy::Api);
    assert!(takes_over(&mut play).at_provider.is_empty(), "its echo tells that it has left");
}

#[test]
fn words_that_are_refused_take_nothing_over() {
    let mut play = Play::new();
    play.says("m1");
    play.begins();
    let words = [NewMessage { quoted: Some(uuid::Uuid::now_v7()), ..NewMessage::of("That one.") }];
    let said =
        play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()));
    assert!(said.is_err(), "it quotes what nobody said");
    assert_eq!((play.conversation.mode.mode, play.turns[0].state), (Mode::Ai, TurnState::Generating));
}

#[test]
fn the_words_of_a_lost_answer_typed_on_the_phone_are_its_end_and_take_over() {
    /// How it comes to light that the answer is lost.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Lost {
        Before,
        Since,
        WithItsInstance,
    }
    for copy in [Copy::Phone, Copy::Api] {
        for lost in [Lost::Before, Lost::Since, Lost::WithItsInstance] {
            let mut play = Play::new();
            play.says("m1");
            let begun = play.begins();
            play.writes(&begun, "a1");
            let (attempt, _) = play.claims_send();
            let unclear = Settled::Unclear("timed out".into());
            if lost == Lost::Before {
                play.settles(attempt, &unclear);
            }
            let is_parked = matches!(play.copy("P1", "a1", copy), Matched::Parked);
            assert_eq!(is_parked, lost != Lost::Before, "{copy:?} {lost:?}");
            match lost {
                Lost::Before => {}
                Lost::Since => play.settles(attempt, &unclear),
                Lost::WithItsInstance => {
                    play.wait(60_000);
                    play.tends();
                }
            }
            assert_eq!(play.in_state(S::Sent), ["a1"], "{copy:?} {lost:?}: it is not sent again");
            let mode = if copy == Copy::Phone { Mode::Human } else { Mode::Ai };
            assert_eq!(play.conversation.mode.mode, mode, "{copy:?} {lost:?}");
        }
    }
}

#[test]
fn what_was_typed_once_more_answers_nothing_that_the_contact_has_written_since() {
    for is_known_first in [true, false] {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "a1");
        let (attempt, _) = play.claims_send();
        let unclear = Settled::Unclear("timed out".into());
        if is_known_first {
            play.settles(attempt, &unclear);
        }
        let typed = play.arrival("P1", "a1");
        play.wait(5_000);
        let since = play.now;
        play.says("m2");
        play.step(|docket, policy| reconcile::take_copy(docket, policy, &typed, Copy::Phone));
        if !is_known_first {
            play.settles(attempt, &unclear);
        }
        assert_eq!(play.conversation.mode.mode, Mode::Human);
        assert_eq!(play.conversation.waiting_since, Some(since), "known first: {is_known_first}");
    }
}

#[test]
fn a_switch_that_is_run_again_does_not_undo_who_has_switched_since() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    let request = Request { id: "r".to_owned(), ..Request::by(ana()) };
    let switch = |play: &mut Play| {
        play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Ai, &request)).unwrap()
    };
    assert!(switch(&mut play).changed);
    play.copy("P1", "Let me look", Copy::Phone);
    let version = play.conversation.mode.version;
    let receipt = switch(&mut play);
    assert_eq!((receipt.changed, receipt.conversation.mode.mode), (false, Mode::Human));
    assert_eq!(play.conversation.mode.version, version);
}

#[test]
fn whoever_gives_a_conversation_back_has_answered_the_call_for_a_person() {
    use AttentionReason::{AssistantAsked, ContactAsked, HumanOverdue, ReplyCap, SendFailed};
    for (reason, is_answered) in [
        (ContactAsked, true),
        (AssistantAsked, true),
        (HumanOverdue, true),
        (ReplyCap, false),
        (SendFailed, false),
    ] {
        for (by, actor) in Reason::ALL.iter().flat_map(|by| [(by, "agent:ana"), (by, actor::SYSTEM)]) {
            let mut play = Play::new();
            play.exchange("m1", "a1");
            play.switches(Mode::Human);
            play.step(|docket, policy| {
                conversations::raise(docket, reason);
                conversations::switch(docket, policy, Mode::Ai, conversations::By::of(*by, actor));
            });
            let is_called = play.conversation.attention.is_some();
            assert_eq!(!is_called, is_answered && actor != actor::SYSTEM, "{reason} {by} {actor}");
        }
    }
}

/// The shop calls the contact.
fn calls(play: &mut Play, id: &str, is_answered: bool) -> Matched {
    let call = Arrival { kind: Kind::Call, ..play.arrival(id, "[call]") };
    play.step(|docket, policy| reconcile::take_sign(docket, policy, &call, is_answered))
}

#[test]
fn a_contact_who_answers_a_call_waits_for_no_person_any_more() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("Anybody there?");
    play.wait(play.policy.human_overdue_ms);
    play.tends();
    let called_for = |play: &Play| play.conversation.attention.map(|attention| attention.reason);
    let version = play.conversation.mode.version;
    assert!(matches!(calls(&mut play, "C1", false), Matched::Foreign(_)));
    assert_eq!(called_for(&play), Some(AttentionReason::HumanOverdue), "nobody has answered it");
    assert!(play.conversation.waiting_since.is_some());

    let during = play.arrival("C2", "[call]").at;
    play.wait(1_000);
    assert!(matches!(calls(&mut play, "C2", true), Matched::Foreign(_)));
    assert_eq!((called_for(&play), play.conversation.waiting_since), (None, None));
    assert!(matches!(calls(&mut play, "C2", true), Matched::Ours(_)), "it is known");
    assert_eq!(play.conversation.mode.version, version);

    play.wait(1_000);
    play.says("And one more thing");
    let late = Arrival { kind: Kind::Call, at: during, ..play.arrival("C3", "[call]") };
    play.step(|docket, policy| reconcile::take_sign(docket, policy, &late, true));
    assert!(play.conversation.waiting_since.is_some(), "it was written after the call");
}

#[test]
fn a_call_takes_nothing_over_and_an_answer_that_is_being_written_leaves() {
    for is_answered in [false, true] {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        calls(&mut play, "C1", is_answered);
        assert!(play.conversation.waiting_since.is_some(), "for the answer of the assistant");
        play.writes(&begun, "to m1");
        assert_eq!(play.sends(), ["to m1"]);
        assert_eq!(play.conversation.mode.mode, Mode::Ai);
    }
}

#[test]
fn a_call_that_nobody_takes_is_no_answer_to_what_waits() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("m1");
    calls(&mut play, "C1", false);
    play.step(|docket, policy| {
        let words = [NewMessage::of("On my way")];
        messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()).unwrap();
    });
    assert_eq!(play.conversation.waiting_since, None);
    let words = play.messages.last().unwrap().id;
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, words, &ana())).unwrap();
    assert!(play.conversation.waiting_since.is_some(), "nothing was said to them");
}
