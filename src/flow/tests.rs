//! Tests of the rules, by what people would see. Interleavings are those of a real store: one step after the other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::{
    agenda::{self, Wish},
    conversations,
    desk::{Who, Words, fate, words},
    inbox::{self, Admitted, Claim},
    outbox::{self, Settled},
    play::Play,
    provider::Amendment,
    reconcile::{self, Copy, Matched},
    reply::{Committed, Draft},
};
use crate::domain::{
    conversation::{AttentionReason, Status},
    event::EventType,
    message::{DeliveryReason, DeliveryState as S, Kind, Origin, Outcome, OutcomeReason},
    mode::{Mode, Reason},
    policy::BurstPolicy,
    turn::{LetterState, TurnState},
};

fn ana() -> Who {
    Who { actor: "agent:ana".into(), agent: None, origin: Origin::Dashboard }
}

#[test]
fn three_texts_in_a_row_get_one_answer() {
    let mut play = Play::new();
    let ids = ["Hi", "do you deliver", "on Sundays?"].map(|text| {
        play.wait(500);
        play.says(text)
    });
    assert!(matches!(play.claim(), Claim::NotYet(at) if at == play.now.plus_ms(1_000)));
    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|message| message.id).collect::<Vec<_>>(), ids);
    play.writes(&begun, "Yes.");
    assert_eq!(play.message(ids[0]).inbound.unwrap().outcome, Outcome::Pending, "nothing has left yet");
    assert_eq!(play.sends(), ["Yes."]);
    assert!(ids.iter().all(|id| play.message(*id).inbound.unwrap().outcome == Outcome::Answered));
    assert_eq!(play.claim(), Claim::Nothing);
}

#[test]
fn with_queue_each_message_gets_its_own_answer_in_order() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Queue);
    play.says("one");
    play.says("two");
    let first = play.begins();
    assert_eq!(first.burst.len(), 1);
    play.writes(&first, "to one");
    let second = play.begins();
    assert_eq!(second.burst[0].text, "two");
    play.writes(&second, "to two");
    assert_eq!(play.sends(), ["to one", "to two"]);
}

#[test]
fn a_newer_message_restarts_the_answer() {
    let mut play = Play::new();
    play.says("m1");
    let first = play.begins();
    play.says("m2");
    assert_eq!(play.writes(&first, "to m1"), Committed::Discarded("fence_moved"));
    let second = play.begins();
    assert_eq!(second.burst.len(), 2);
    play.writes(&second, "to both");
    assert_eq!(play.sends(), ["to both"]);
    assert_eq!(play.turns[0].state, TurnState::Superseded);
    assert!(play.happened(EventType::TurnSuperseded) == 1);
    assert_eq!(play.happened(EventType::ModeChangeBeforeSend), 0, "no mode has changed");
}

#[test]
fn a_newer_message_withdraws_a_reply_that_has_not_begun_to_leave() {
    let mut play = Play::new();
    let first = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "to m1");
    play.says("m2");
    assert_eq!(play.in_state(S::Cancelled), ["to m1"]);
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::Pending);
    let second = play.begins();
    assert_eq!(second.burst.len(), 2);
    play.writes(&second, "to both");
    assert_eq!(play.sends(), ["to both"]);
}

#[test]
fn later_parts_are_not_withdrawn_by_a_newer_message() {
    let mut play = Play::by(|policy| {
        policy.split_chars = 20;
        policy.typing_ms_per_char = 10;
        policy.typing_max_ms = 5_000;
    });
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "This is the first one.\n\nThis is the second one.");
    play.wait(5_000);
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)));
    play.settles(attempt, &Settled::Sent("X1".into()));
    play.says("m2");
    assert_eq!(play.in_state(S::Queued).len(), 1);
    let second = play.begins();
    assert_eq!(second.burst.len(), 1, "m1 is answered");
}

#[test]
fn a_steady_writer_is_answered_in_the_end() {
    let mut play = Play::new();
    let mut answered = 0;
    let mut running = None;
    for second in 0..60 {
        play.says(&format!("text {second}"));
        play.wait(1_000);
        if let Some((begun, done_at)) = running.take() {
            if play.now.0 >= done_at {
                if play.writes(&begun, "answer") == Committed::Owed {
                    answered += play.sends().len();
                }
            } else {
                running = Some((begun, done_at));
            }
        }
        if running.is_none()
            && let Claim::Begun(begun) = play.claim()
        {
            running = Some((*begun, play.now.0 + 3_000));
        }
    }
    assert!(answered >= 2, "{answered} answers in a minute");
}

#[test]
fn a_takeover_beats_a_running_generation() {
    let mut play = Play::new();
    let question = play.says("Show me condos");
    let begun = play.begins();
    play.wait(1_800);
    let switched = play.switches(Mode::Human);
    assert_eq!(switched.generation_ms, Some(1_800));
    assert_eq!(play.writes(&begun, "Here they are"), Committed::Discarded("human_answers"));
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
    assert_eq!(play.writes(&begun, "too late"), Committed::Discarded("version_moved"));
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
fn the_words_of_a_hand_over_leave_and_nothing_after_them() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = 1_000);
    play.says("I want a person");
    let begun = play.begins();
    let draft = Draft {
        text: "I will get a colleague.".into(),
        hand_over: Some("wants a person".into()),
        ..Draft::default()
    };
    play.commits(&begun, &draft);
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
    play.commits(&begun, &Draft { hand_over: Some("asked".into()), ..Draft::default() });
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
fn a_reply_of_the_contact_cancels_the_follow_up_also_when_it_is_queued() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.fires();
    assert_eq!(play.in_state(S::Queued), ["Still there?"]);
    play.says("yes");
    assert_eq!(play.in_state(S::Queued), Vec::<&str>::new());
    assert_eq!(play.pending_follow_ups(), 0);
    let begun = play.begins();
    play.writes(&begun, "good");
    assert_eq!(play.sends(), ["good"]);
}

#[test]
fn one_automatic_follow_up_a_silence() {
    let mut play = Play::by(|policy| {
        policy.follow_up_after_ms = 10_000;
        policy.follow_up_text = Some("Still there?".into());
    });
    for round in 0..3 {
        play.exchange(&format!("m{round}"), &format!("a{round}"));
        assert_eq!(play.pending_follow_ups(), 1, "after exchange {round}");
    }
    assert_eq!(play.clocks.follow_up_at, Some(play.now.plus_ms(10_000)));
    play.wait(10_000);
    play.fires();
    assert_eq!(play.sends(), ["Still there?"]);
    assert_eq!(play.pending_follow_ups(), 0, "no second one in the same silence");
}

#[test]
fn scheduling_twice_leaves_one_pending() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("first", 5_000));
    assert!(play.schedules("second", 9_000));
    assert_eq!(play.pending_follow_ups(), 1);
    play.switches(Mode::Human);
    assert_eq!(play.pending_follow_ups(), 0);
    assert!(!play.schedules("third", 1_000), "not in HUMAN");
}

#[test]
fn three_failures_go_to_a_person_and_the_next_text_is_answered() {
    let mut play = Play::by(|policy| policy.fallback_text = Some("Sorry.".into()));
    let question = play.says("m1");
    for _ in 0..2 {
        let begun = play.begins();
        assert_eq!(play.fails(&begun), Committed::WillRetry);
    }
    let begun = play.begins();
    assert_eq!(begun.turn.attempt, 3);
    assert_eq!(play.fails(&begun), Committed::GivenUp);
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::HandedOver);
    assert_eq!(play.letters.len(), 1);
    assert_eq!(play.letters[0].attempts, 3);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::AiFailure);
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    assert_eq!(play.sends(), ["Sorry."]);
    play.exchange("m2", "a2");
    assert!(play.conversation.attention.is_none(), "the next turn that succeeds clears it");
}

#[test]
fn a_lease_that_ran_out_is_taken_over_and_costs_no_attempt() {
    let mut play = Play::new();
    play.says("m1");
    let lost = play.begins();
    play.wait(play.policy.lock_ttl_ms);
    let begun = play.begins();
    assert_eq!(begun.turn.attempt, 1);
    assert_eq!(play.happened(EventType::LeaseTakenOver), 1);
    assert_eq!(play.writes(&lost, "from the dead"), Committed::Discarded("fence_moved"));
    play.writes(&begun, "from the living");
    assert_eq!(play.sends(), ["from the living"]);
}

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
fn a_person_at_the_phone_takes_over_at_once() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.copy("P1", "Let me look", Copy::Phone);
    assert_eq!(
        (play.conversation.mode.mode, play.conversation.mode.reason),
        (Mode::Human, Reason::AgentPhone)
    );
    assert_eq!(play.writes(&begun, "words"), Committed::Discarded("human_answers"));
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
    assert!(matches!(play.writes(&begun, "words"), Committed::Discarded(_)));
    play.says("m3");
    assert_eq!(play.conversation.status, Status::Open);
    assert!(matches!(play.writes(&begun, "words"), Committed::Discarded(_)), "reopening revives nothing");
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
    let words = [Words { text: "Let me look.".into(), quoted: None }];
    play.step(|docket, policy| words::say(docket, policy, &words, &ana(), None)).unwrap();
    assert_eq!(play.conversation.mode.until, Some(chosen));
    play.wait(55_000);
    play.step(|docket, policy| words::say(docket, policy, &words, &ana(), None)).unwrap();
    assert_eq!(play.conversation.mode.until, Some(play.now.plus_ms(10_000)));
}

#[test]
fn the_same_message_again_has_no_second_effect() {
    let mut play = Play::new();
    let arrival = play.arrival("M1", "hello");
    let first = play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    let again = play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    let Admitted::Stored(id) = first else { panic!("{first:?}") };
    assert_eq!(again, Admitted::Duplicate(id));
    assert_eq!(play.begins().burst.len(), 1);
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
fn the_cap_hands_a_bot_over() {
    let mut play = Play::by(|policy| policy.reply_cap = 3);
    for n in 0..3 {
        play.exchange(&format!("beep {n}"), &format!("boop {n}"));
    }
    let message = play.says("beep 3");
    play.wait(10_000);
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(play.conversation.mode.reason, Reason::ReplyCap);
    assert_eq!(play.message(message).inbound.unwrap().outcome, Outcome::HandedOver);
}

#[test]
fn stale_messages_go_to_a_person() {
    let mut play = Play::new();
    let message = play.says("hello?");
    play.wait(play.policy.stale_ms + 1);
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(play.message(message).inbound.unwrap().outcome, Outcome::HandedOver);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::Stale);
}

#[test]
fn answer_now_takes_what_was_left_to_people() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("one");
    play.says("two");
    play.switches(Mode::Ai);
    assert!(play.step(|docket, _| inbox::answer_now(docket)));
    let begun = play.begins();
    assert_eq!(begun.burst.len(), 2);
    play.writes(&begun, "both");
    assert_eq!(play.sends(), ["both"]);
    assert!(!play.step(|docket, _| inbox::answer_now(docket)), "nothing is left");
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
fn a_reply_that_certainly_failed_takes_its_follow_up_along() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = 10_000);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    assert_eq!(play.pending_follow_ups(), 1, "nobody sees a reply without its follow-up");
    play.settles(attempt, &Settled::Refused(DeliveryReason::NoAccount, "no WhatsApp".into()));
    assert_eq!(play.pending_follow_ups(), 0);
}

#[test]
fn a_flood_is_answered_together_and_at_most_once_a_minute_until_it_is_quiet() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let mut begun_at = Vec::new();
    for n in 0..360 {
        play.wait(500);
        play.says(&format!("text {n}"));
        if let Claim::Begun(begun) = play.claim() {
            begun_at.push(begun.at);
            play.writes(&begun, "answer");
            play.sends();
        }
    }
    let is_apart = |pair: &[crate::domain::time::Time]| pair[1].since(pair[0]) >= 60_000;
    let apart = begun_at.windows(2).filter(|pair| is_apart(pair)).count();
    assert!(begun_at.len() <= 5 && apart >= 2, "turns at {begun_at:?}");
    assert_eq!(play.happened(EventType::Flood), 1, "told once");

    play.wait(120_000);
    let last = play.begins();
    play.writes(&last, "That was a lot.");
    play.sends();
    assert!(play.messages.iter().all(|message| !message.waits()), "nothing is left waiting");
    play.wait(60_000);
    play.says("one more");
    let at = play.now;
    assert_eq!(play.begins().at, at.plus_ms(1_000), "it is quiet: as ever");
}

#[test]
fn in_a_flood_only_as_many_wait_as_a_turn_reads_and_the_rest_is_left_to_people() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let ids: Vec<_> = (0..400)
        .map(|n| {
            play.wait(10);
            play.says(&format!("text {n}"))
        })
        .collect();
    let waiting = play.messages.iter().filter(|message| message.waits()).count();
    assert_eq!(waiting, 100);
    let first = play.message(ids[0]).inbound.unwrap();
    assert_eq!((first.outcome, first.reason), (Outcome::HandedOver, Some(OutcomeReason::Flood)));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::Unanswered);
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    assert_eq!(play.conversation.unread, 400, "all of them are there to be read");

    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|message| message.id).collect::<Vec<_>>(), ids[300..]);
    play.says("and this");
    assert_eq!(play.writes(&begun, "Slowly, please."), Committed::Owed, "a flood restarts nothing");
    assert_eq!(play.sends(), ["Slowly, please."]);
    assert!(ids[300..].iter().all(|id| play.message(*id).inbound.unwrap().outcome == Outcome::Answered));
    assert_eq!(play.conversation.attention, None, "the newest are answered, with the others in sight");
}

#[test]
fn what_a_running_turn_has_read_is_not_taken_from_it_by_a_flood() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let first = play.says("Hello");
    let begun = play.begins();
    play.wait(60_000 - 1_000);
    play.policy.burst = BurstPolicy::Collect;
    (0..300).for_each(|n| {
        play.says(&format!("text {n}"));
    });
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::Pending);
    assert_eq!(play.messages.iter().filter(|message| message.waits()).count(), 101);
    assert_eq!(play.writes(&begun, "Hi!"), Committed::Owed);
    assert_eq!(play.sends(), ["Hi!"]);
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::Answered);
}

#[test]
fn without_a_limit_there_is_no_flood() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 0);
    (0..300).for_each(|n| {
        play.says(&format!("text {n}"));
    });
    assert_eq!(play.happened(EventType::Flood), 0);
    assert_eq!(
        play.messages.iter().filter(|message| message.waits()).count(),
        300,
        "each waits for its turn"
    );
}

#[test]
fn a_follow_up_called_off_while_it_is_written_is_never_sent() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    let wish = Wish { delay_ms: Some(1_000), instructions: Some("Ask kindly.".into()), ..Wish::default() };
    for call_off in ["by an agent", "by a reaction", "by another one"] {
        assert!(play.step(|docket, policy| agenda::schedule(docket, policy, &wish, "agent:ana")).is_some());
        play.wait(1_000);
        let agenda::Fired::Begun(begun) = play.fires() else { panic!("the assistant writes it") };
        match call_off {
            "by an agent" => {
                play.step(|docket, _| agenda::cancel(docket, "called_off", "agent:ana"));
            }
            "by a reaction" => {
                let mut arrival = play.arrival("R1", "a thumb");
                (arrival.kind, arrival.inert) = (Kind::Reaction, Some(OutcomeReason::Reaction));
                play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
            }
            _ => assert!(play.schedules("later", 60_000)),
        }
        assert!(matches!(play.writes(&begun, "Still there?"), Committed::Discarded(_)), "{call_off}");
        assert!(play.sends().is_empty(), "{call_off}");
    }
    assert_eq!(play.pending_follow_ups(), 1, "the one in its place");
}

#[test]
fn what_the_settings_say_is_not_withdrawn_by_a_newer_text() {
    let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
    play.says("stop");
    play.says("one more thing");
    assert_eq!(play.sends(), ["You hear no more."]);
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
fn the_last_answer_allowed_is_not_withdrawn_while_it_is_typed() {
    let mut play = Play::by(|policy| {
        policy.typing_ms_per_char = 1_000;
        policy.typing_max_ms = 6_000;
    });
    play.says("m0");
    let begun = loop {
        let begun = play.begins();
        if begun.turn.is_final {
            break begun;
        }
        play.says("more");
    };
    play.writes(&begun, "the answer");
    play.says("and more");
    play.wait(1_000);
    play.says("and more");
    assert_eq!(play.in_state(S::Queued), ["the answer"]);
    assert_eq!(play.sends(), ["the answer"]);
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
fn a_newer_message_while_a_send_fails_restarts_both() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.says("m2");
    let blind = play.begins();
    play.settles(attempt, &Settled::Again(None, "connection refused".into()));
    assert!(matches!(play.writes(&blind, "to m2 alone"), Committed::Discarded(_)));
    assert_eq!(play.begins().burst.len(), 2);
}

#[test]
fn a_reply_that_an_agent_withdraws_leaves_its_question_to_people() {
    let mut play = Play::new();
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let reply = play.messages.last().unwrap().id;
    let ana = ana();
    play.step(|docket, policy| fate::withdraw(docket, policy, reply, &ana)).unwrap();
    assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::LeftToHuman);
    assert!(play.conversation.waiting_since.is_some());
}

#[test]
fn words_that_an_agent_takes_back_were_not_said() {
    let mut play = Play::new();
    play.says("m1");
    let ana = ana();
    let words = [Words { text: "wait".into(), quoted: None }];
    play.step(|docket, policy| words::say(docket, policy, &words, &ana, None)).unwrap();
    assert!(play.conversation.waiting_since.is_none());
    let said = play.messages.last().unwrap().id;
    play.step(|docket, policy| fate::withdraw(docket, policy, said, &ana)).unwrap();
    assert!(play.conversation.contact_spoke_last() && play.conversation.waiting_since.is_some());
}

#[test]
fn a_part_of_unknown_fate_does_not_hold_a_later_answer() {
    let mut play = Play::by(|policy| policy.split_chars = 20);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "The first part is this.\n\nThe second part is this.");
    let (attempt, _) = play.claims_send();
    play.says("m2");
    let begun = play.begins();
    play.writes(&begun, "a2");
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    assert_eq!(play.sends(), ["a2"]);
    assert_eq!(play.in_state(S::Cancelled), ["The second part is this."]);
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
    assert!(play.conversation.attention.is_some());
}

#[test]
fn answer_now_takes_what_the_model_gave_up_on_also_when_closed() {
    let mut play = Play::by(|policy| policy.ai_attempts = 1);
    play.says("m1");
    let begun = play.begins();
    assert_eq!(play.fails(&begun), Committed::GivenUp);
    play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
    assert!(play.step(|docket, _| inbox::answer_now(docket)));
    assert_eq!(play.begins().burst.len(), 1);
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
        play.step(|docket, policy| fate::retry(docket, policy, message, &ana)).unwrap();
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
fn a_deleted_question_is_not_answered_also_when_another_waits() {
    for deleted_while in ["it is answered", "the answer waits"] {
        let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
        play.says("m1");
        let begun = play.begins();
        if deleted_while == "the answer waits" {
            play.writes(&begun, "to m1");
        }
        play.says("m2");
        let of = Amendment {
            chat: play.conversation.chat.clone(),
            of: "IN1".into(),
            text: String::new(),
            at: None,
        };
        play.step(|docket, policy| inbox::amend(docket, policy, &of, true));
        play.writes(&begun, "to m1");
        assert!(play.sends().is_empty(), "{deleted_while}");
        let begun = play.begins();
        assert_eq!(begun.burst.len(), 1);
        play.writes(&begun, "to m2");
        assert_eq!(play.sends(), ["to m2"]);
    }
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
fn a_call_for_a_person_outlives_a_send_of_unknown_fate() {
    let mut play = Play::by(|policy| policy.handover_text = Some("A colleague comes.".into()));
    play.says("m1");
    let begun = play.begins();
    play.commits(&begun, &Draft { hand_over: Some("asked".into()), ..Draft::default() });
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SendUnknown);
    play.copy("X1", "A colleague comes.", Copy::Api);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::AssistantAsked);
}

#[test]
fn silence_about_one_message_does_not_hide_that_another_waits() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("m1");
    let begun = play.begins();
    play.says("m2");
    play.commits(&begun, &Draft { stay_silent: Some("thanks".into()), ..Draft::default() });
    play.switches(Mode::Human);
    assert!(play.conversation.waiting_since.is_some());
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

/// The head is claimed, and nobody ever learns what became of it.
fn loses(play: &mut Play) -> uuid::Uuid {
    let (attempt, claim) = play.claims_send();
    let outbox::Claim::Claimed(message) = claim else { panic!("nothing was claimed: {claim:?}") };
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    message.id
}

#[test]
fn attempts_that_nobody_answered_have_an_echo_each_and_none_is_a_strangers() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let id = loses(&mut play);
    for _ in 0..2 {
        play.step(|docket, policy| fate::retry(docket, policy, id, &ana())).unwrap();
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
    play.step(|docket, policy| fate::retry(docket, policy, id, &ana())).unwrap();
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

fn begun_reply(play: &Play) -> uuid::Uuid {
    play.messages.iter().find(|message| message.delivery.is_some()).unwrap().id
}

#[test]
fn an_echo_is_not_waited_for_longer_than_the_provider_keeps_it() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "OK");
    let id = loses(&mut play);
    play.step(|docket, policy| fate::confirm(docket, policy, id, &ana())).unwrap();
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
    play.step(|docket, policy| fate::retry(docket, policy, id, &ana())).unwrap();
    let (attempt, _) = play.claims_send();
    report(&mut play);
    assert!(play.message(id).is(S::Sending));
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    report(&mut play);
    assert!(play.message(id).is(S::Unknown));
    assert_eq!(play.copy("X2", "OK", Copy::Api), Matched::Ours(id));
}

#[test]
fn a_reply_whose_first_part_was_withdrawn_has_answered_nothing_until_another_part_leaves() {
    let mut play = Play::by(|policy| policy.split_chars = 20);
    let question = play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "This is the first one.\n\nThis is the second one.");
    let first = begun_reply(&play);
    play.step(|docket, policy| fate::withdraw(docket, policy, first, &ana())).unwrap();
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
fn answer_now_takes_what_came_while_the_last_answer_was_written() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("m1");
    let begun = play.begins();
    let late = play.says("m2");
    play.writes(&begun, "to m1");
    assert_eq!(play.sends(), ["to m1"]);
    play.switches(Mode::Human);
    assert_eq!(play.message(late).inbound.unwrap().outcome, Outcome::LeftToHuman);
    play.switches(Mode::Ai);
    assert!(play.step(|docket, _| inbox::answer_now(docket)));
    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|message| message.id).collect::<Vec<_>>(), [late]);
    play.writes(&begun, "to m2");
    assert_eq!(play.sends(), ["to m2"]);
    assert!(!play.step(|docket, _| inbox::answer_now(docket)), "nothing since our side last spoke");
}

#[test]
fn a_follow_up_that_comes_back_after_a_reaction_does_not_leave() {
    let mut play = Play::new();
    play.exchange("m1", "to m1");
    assert!(play.schedules("Still there?", 60_000));
    play.wait(60_000);
    play.fires();
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)));
    let mut reaction = play.arrival("IN9", "👍");
    (reaction.kind, reaction.inert) = (Kind::Reaction, Some(OutcomeReason::Reaction));
    play.step(|docket, policy| inbox::admit(docket, policy, &reaction));
    play.settles(attempt, &Settled::Again(None, "status 429".into()));
    play.wait(3_000);
    assert!(play.sends().is_empty());
    assert_eq!(play.in_state(S::Cancelled), ["Still there?"]);
}
