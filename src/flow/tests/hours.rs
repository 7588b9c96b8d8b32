//! Hours in which the assistant answers, and hours in which people are there.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ana;
use crate::{
    domain::{
        conversation::{AttentionReason, Status},
        event::EventType,
        hours::Hours,
        message::{DeliveryState as S, Kind, Outcome, OutcomeReason},
        mode::{Mode, Reason},
        policy::BurstPolicy,
        time::Time,
    },
    flow::{
        conversations,
        desk::{Idempotency, NewMessage},
        inbox::{self, Claim},
        mode_switch::{self, Request},
        play::Play,
        provider::{Amendment, Arrival},
        reply::{Answer, TurnEnd},
    },
};

fn at(text: &str) -> Time {
    Time::parse(text).unwrap()
}

fn office_hours() -> Option<Arc<Hours>> {
    Some(Arc::new(Hours::parse("Mon-Fri 09:00-18:00", "Asia/Singapore").unwrap()))
}

/// A Friday evening, when the assistant has gone home.
fn friday_evening() -> Play {
    let mut play = Play::by(|policy| {
        policy.ai_hours = office_hours();
        policy.stale_ms = 6 * 3_600_000;
    });
    play.now = at("2026-01-09T20:00:00+08:00");
    play
}

fn fate(play: &Play, id: uuid::Uuid) -> (Outcome, Option<OutcomeReason>) {
    let inbound = play.message(id).inbound.unwrap();
    (inbound.outcome, inbound.reason)
}

#[test]
fn outside_its_hours_people_answer_and_the_assistant_comes_back_by_itself() {
    let mut play = friday_evening();
    let asked = play.says("Are you open?");
    assert_eq!(fate(&play, asked), (Outcome::LeftToHuman, Some(OutcomeReason::Hours)));
    let opens_at = at("2026-01-12T09:00:00+08:00");
    let mode = &play.conversation.mode;
    assert_eq!((mode.mode, mode.reason, mode.until), (Mode::Human, Reason::Hours, Some(opens_at)));
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(play.clocks.tend_at.map(|at| at <= opens_at), Some(true));
    play.wait(60_000);
    let again = play.says("Hello?");
    assert_eq!(fate(&play, again), (Outcome::LeftToHuman, Some(OutcomeReason::Hours)));

    play.now = opens_at;
    play.tends();
    assert_eq!((play.conversation.mode.mode, play.conversation.mode.version), (Mode::Ai, 3));
    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|message| message.id).collect::<Vec<_>>(), [asked, again]);
    play.writes(&begun, "Good morning. Until six.");
    assert_eq!(play.sends(), ["Good morning. Until six."]);
    let later = play.says("Thanks");
    assert_eq!(fate(&play, later).0, Outcome::Pending);
}

#[test]
fn who_was_answered_meanwhile_is_not_answered_again_and_stays_with_that_person() {
    let mut play = friday_evening();
    play.says("Are you open?");
    let words = [NewMessage::of("On Monday. Ana.")];
    play.step(|docket, policy| {
        crate::flow::desk::messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own())
    })
    .unwrap();
    play.sends();
    assert_eq!(play.conversation.mode.until, None, "Ana has it until she gives it back");
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    assert_eq!(play.conversation.mode.mode, Mode::Human);
    let thanks = play.says("Thanks");
    assert_eq!(fate(&play, thanks), (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman)));
}

#[test]
fn what_is_being_answered_when_the_hours_end_is_answered_unless_the_contact_writes_more() {
    for writes_more in [false, true] {
        let mut play = friday_evening();
        play.now = at("2026-01-09T17:59:58+08:00");
        let first = play.says("Are you open?");
        let begun = play.begins();
        play.now = at("2026-01-09T18:00:01+08:00");
        if writes_more {
            play.says("Tomorrow?");
            assert!(matches!(play.writes(&begun, "Until six."), TurnEnd::Discarded(_)));
            assert_eq!(fate(&play, first), (Outcome::LeftToHuman, Some(OutcomeReason::Hours)));
        } else {
            assert_eq!(play.writes(&begun, "Until six."), TurnEnd::Owed);
            assert_eq!(play.sends(), ["Until six."]);
        }
    }
}

#[test]
fn who_asks_for_a_person_outside_its_hours_is_not_given_back_to_the_assistant() {
    let mut play = friday_evening();
    play.policy.handover_words = vec!["human".to_owned()];
    play.policy.handover_text = Some("A colleague will be with you at once.".to_owned());
    play.says("human");
    let mode = &play.conversation.mode;
    assert_eq!((mode.mode, mode.reason, mode.until), (Mode::Human, Reason::ContactAsked, None));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::ContactAsked);
    play.says("human");
    assert_eq!(play.sends(), ["A colleague will be with you at once."], "once");
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    assert_eq!((play.conversation.mode.mode, play.claim()), (Mode::Human, Claim::Nothing));

    let mut play = friday_evening();
    play.policy.handover_words = vec!["human".to_owned()];
    play.policy.handover_text = Some("A colleague will be with you at once.".to_owned());
    play.policy.handover_hours = office_hours();
    play.says("Are you open?");
    assert_eq!(clocks_told(&play), [Value::Null; 0], "it is told with the mode");
    play.says("human");
    assert_eq!(play.conversation.mode.until, None);
    assert_eq!(clocks_told(&play), [Value::Null], "the clock is stopped");
    assert_eq!(play.sends(), [""; 0], "nobody is there, and nobody is promised");
}

/// What was told of the clock back to the assistant.
fn clocks_told(play: &Play) -> Vec<Value> {
    let told = play.events.iter().filter(|event| event.kind == EventType::ModeUntilChanged);
    told.map(|event| event.details["until"].clone()).collect()
}

#[test]
fn a_clock_that_a_person_moves_without_saying_so_is_told_of() {
    let mut play = friday_evening();
    play.says("Are you open?");
    assert!(!play.switches(Mode::Human).changed);
    assert_eq!((play.conversation.mode.until, clocks_told(&play)), (None, vec![Value::Null]));
    assert!(!play.switches(Mode::Human).changed);
    assert_eq!(clocks_told(&play).len(), 1, "nothing has moved");

    let mut play = Play::by(|policy| policy.human_hold_ms = 60_000);
    play.switches(Mode::Human);
    assert_eq!(clocks_told(&play), [Value::Null; 0], "it is told with the mode");
    play.wait(1_000);
    assert!(!play.switches(Mode::Human).changed);
    let until = play.conversation.mode.until.expect("it is held");
    assert_eq!((until, clocks_told(&play)), (play.now.plus_ms(60_000), vec![json!(until.to_string())]));
}

#[test]
fn what_a_person_holds_until_the_hours_begin_is_not_given_back_as_the_machines() {
    let mut play = friday_evening();
    let until = at("2026-01-12T09:00:00+08:00");
    let request = Request { reason: Some(Reason::Hours), until: Some(Some(until)), ..Request::by(ana()) };
    play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Human, &request)).unwrap();
    let asked = play.says("Are you open?");
    let left = (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman));
    assert_eq!(fate(&play, asked), left);
    play.now = until;
    play.tends();
    assert_eq!(play.conversation.mode.mode, Mode::Ai, "by its clock");
    assert_eq!((play.claim(), fate(&play, asked)), (Claim::Nothing, left), "nobody has asked for an answer");
}

#[test]
fn an_hour_that_is_chosen_again_is_no_news_also_where_the_usual_is_another() {
    let mut play = Play::by(|policy| policy.human_hold_ms = 600_000);
    let until = play.now.plus_ms(60_000);
    let request = Request { until: Some(Some(until)), ..Request::by(ana()) };
    for _ in 0..2 {
        play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Human, &request)).unwrap();
        assert_eq!(
            (play.conversation.mode.until, clocks_told(&play)),
            (Some(until), vec![json!(until.to_string())])
        );
    }
}

#[test]
fn when_the_hours_are_over_again_the_next_ones_are_told_of() {
    let mut play = friday_evening();
    play.says("Are you open?");
    play.now = at("2026-01-12T20:00:00+08:00");
    play.tends();
    let opens_at = at("2026-01-13T09:00:00+08:00");
    assert_eq!(play.conversation.mode.until, Some(opens_at));
    assert_eq!(clocks_told(&play), [json!(opens_at.to_string())]);
}

#[test]
fn what_was_closed_or_put_aside_meanwhile_stays_so_when_the_hours_begin() {
    for status in [Status::Closed, Status::Snoozed] {
        let mut play = friday_evening();
        let asked = play.says("Buy my pills");
        play.step(|docket, policy| match status {
            Status::Closed => conversations::close(docket, policy, "agent:ana"),
            Status::Open | Status::Snoozed => {
                conversations::set_status(
                    docket,
                    status,
                    Some(docket.now.plus_ms(30 * 86_400_000)),
                    "agent:ana",
                );
            }
        });
        play.now = at("2026-01-12T09:00:00+08:00");
        play.tends();
        let conversation = &play.conversation;
        assert_eq!((conversation.status, conversation.mode.mode), (status, Mode::Ai));
        assert_eq!(play.claim(), Claim::Nothing);
        assert_eq!(fate(&play, asked).0, Outcome::LeftToHuman);
    }
}

#[test]
fn what_nobody_can_read_is_not_forgotten_when_the_hours_begin() {
    for (notice, writes_too) in
        [(None, true), (None, false), (Some("Please write."), true), (Some("Please write."), false)]
    {
        let mut play = friday_evening();
        play.policy.unreadable_text = notice.map(str::to_owned);
        let voice = Arrival { is_unreadable: true, kind: Kind::Voice, ..play.arrival("V1", "") };
        play.step(|docket, policy| inbox::admit(docket, policy, &voice));
        let spoken = play.messages[0].id;
        if writes_too {
            play.says("Are you open?");
        }
        assert_eq!(fate(&play, spoken), (Outcome::LeftToHuman, Some(OutcomeReason::Hours)));
        play.now = at("2026-01-12T09:00:00+08:00");
        play.tends();
        let outcome = if notice.is_some() { Outcome::Ignored } else { Outcome::HandedOver };
        assert_eq!(fate(&play, spoken), (outcome, Some(OutcomeReason::Undecryptable)));
        let mut said = play.sends();
        if writes_too {
            let begun = play.begins();
            play.writes(&begun, "Until six.");
            said.extend(play.sends());
        }
        let wanted = notice.into_iter().chain(writes_too.then_some("Until six."));
        assert_eq!(said, wanted.collect::<Vec<_>>());
        let called_for = play.conversation.attention.map(|attention| attention.reason);
        assert_eq!(called_for, notice.is_none().then_some(AttentionReason::Unreadable));
    }
}

#[test]
fn whoever_was_put_aside_when_the_hours_began_is_called_for_when_that_ends() {
    let mut play = friday_evening();
    play.policy.human_overdue_ms = 0;
    play.says("Are you open?");
    let back_at = at("2026-01-12T10:00:00+08:00");
    play.step(|docket, _| conversations::set_status(docket, Status::Snoozed, Some(back_at), "agent:ana"));
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    assert_eq!(
        (play.conversation.mode.mode, play.conversation.attention),
        (Mode::Ai, None),
        "it is put aside"
    );
    play.now = back_at;
    play.tends();
    assert_eq!(play.conversation.status, Status::Open);
    assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::Unanswered));
}

#[test]
fn a_wish_that_is_taken_back_outside_the_hours_of_the_assistant_is_left_to_people() {
    let mut play = friday_evening();
    play.now = at("2026-01-09T17:58:00+08:00");
    let asked = play.says("Stop");
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    play.now = at("2026-01-09T18:05:00+08:00");
    let chat = play.conversation.chat.clone();
    let edit = Amendment { chat, of: "IN1".into(), text: "Stop by at 7?".into(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &edit, false));
    assert_eq!(fate(&play, asked), (Outcome::LeftToHuman, Some(OutcomeReason::Hours)));
    assert_eq!(play.conversation.mode.until, Some(at("2026-01-12T09:00:00+08:00")));
}

#[test]
fn hours_that_have_passed_unseen_are_waited_for_again() {
    let mut play = friday_evening();
    play.says("Are you open?");
    play.now = at("2026-01-12T20:00:00+08:00");
    play.tends();
    let mode = &play.conversation.mode;
    assert_eq!((mode.mode, mode.until), (Mode::Human, Some(at("2026-01-13T09:00:00+08:00"))));
    play.now = at("2026-01-13T09:00:00+08:00");
    play.tends();
    assert_eq!(play.begins().burst.len(), 1);
}

#[test]
fn what_the_morning_answers_is_as_old_as_the_morning_whatever_comes_between() {
    // The model is busy at first.
    let mut play = friday_evening();
    play.says("Are you open?");
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    let begun = play.begins();
    play.fails(&begun);
    play.wait(120_000);
    assert_eq!(play.begins().burst.len(), 1, "tried again");

    // One message after the other.
    let mut play = friday_evening();
    play.policy.burst = BurstPolicy::Queue;
    play.says("Are you open?");
    play.says("And on Sundays?");
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    let begun = play.begins();
    assert_eq!(begun.burst.len(), 2, "one turn over everything");
    play.writes(&begun, "Until six.");
    assert_eq!(play.sends(), ["Until six."]);
    assert_eq!(play.conversation.attention, None);
}

#[test]
fn nobody_is_called_any_more_for_what_the_assistant_has_answered_in_the_morning() {
    let mut play = friday_evening();
    play.says("Are you open?");
    play.wait(play.policy.human_overdue_ms);
    play.tends();
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::HumanOverdue);
    play.now = at("2026-01-12T09:00:00+08:00");
    play.tends();
    let begun = play.begins();
    play.writes(&begun, "Until six.");
    assert_eq!(play.sends(), ["Until six."]);
    assert_eq!(play.conversation.attention, None);
}

#[test]
fn whoever_is_left_until_the_hours_begin_is_answered_then_whatever_becomes_of_the_hours() {
    let begins_earlier = Some(Arc::new(Hours::parse("Mon-Fri 08:00-18:00", "Asia/Singapore").unwrap()));
    for hours in [office_hours(), begins_earlier, None] {
        let mut play = friday_evening();
        let asked = play.says("Are you open?");
        play.policy.ai_hours = hours;
        play.now = at("2026-01-12T09:00:00+08:00");
        play.tends();
        assert_eq!(play.conversation.mode.mode, Mode::Ai);
        assert_eq!(play.begins().burst.iter().map(|it| it.id).collect::<Vec<_>>(), [asked]);
    }
}

#[test]
fn an_hour_that_a_person_has_chosen_is_not_that_at_which_the_hours_begin() {
    let mut play = friday_evening();
    play.says("Are you open?");
    let until = at("2026-01-10T12:00:00+08:00");
    play.step(|docket, _| docket.conversation.mode.until = Some(until));
    play.now = until;
    play.tends();
    assert_eq!((play.conversation.mode.mode, play.claim()), (Mode::Ai, Claim::Nothing));
}

/// The assistant is always there; people have gone home.
fn without_people() -> Play {
    let mut play = friday_evening();
    (play.policy.ai_hours, play.policy.handover_hours) = (None, office_hours());
    play.policy.handover_words = vec!["human".to_owned()];
    play.policy.handover_text = Some("A colleague will be with you at once.".to_owned());
    play
}

#[test]
fn who_asks_for_a_person_when_nobody_is_there_is_answered_and_seen_later() {
    let mut play = without_people();
    play.says("human");
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    let attention = play.conversation.attention.unwrap();
    assert_eq!(attention.reason, AttentionReason::ContactAsked);
    let begun = play.begins();
    play.writes(&begun, "They are back on Monday.");
    assert_eq!(play.sends(), ["They are back on Monday."], "nobody is promised");
    assert!(play.conversation.attention.is_some(), "and it still stands in front of people");
    play.now = at("2026-01-12T10:00:00+08:00");
    play.says("human");
    assert_eq!(play.conversation.mode.mode, Mode::Human);
    assert_eq!(play.sends(), ["A colleague will be with you at once."]);
}

#[test]
fn a_hand_over_when_nobody_is_there_is_noted_and_the_assistant_goes_on() {
    let mut play = without_people();
    play.says("This is too complicated");
    let begun = play.begins();
    let hand_over = Some("a legal matter".to_owned());
    let answer = Answer { text: "A colleague sees it on Monday.".to_owned(), hand_over, ..Answer::default() };
    assert_eq!(play.commits(&begun, &answer), TurnEnd::Owed);
    assert_eq!(play.sends(), ["A colleague sees it on Monday."]);
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::AssistantAsked);
    let noted = play.events.iter().find(|event| event.action.as_deref() == Some("hand_over_noted")).unwrap();
    assert_eq!(
        (noted.kind, &noted.details["reason"]),
        (EventType::ConversationUpdated, &"a legal matter".into())
    );
    assert_eq!(play.in_state(S::Queued), Vec::<&str>::new());

    let mut play = without_people();
    play.says("This is too complicated");
    let begun = play.begins();
    let wordless = Answer { hand_over: Some("a legal matter".to_owned()), ..Answer::default() };
    play.commits(&begun, &wordless);
    assert_eq!(play.conversation.mode.mode, Mode::Human, "nothing is said, so a person must");
    assert_eq!(play.sends(), [""; 0], "nobody is promised");
}

#[test]
fn who_is_handed_over_when_nobody_is_there_hears_it_though_nothing_else_is_said() {
    let mut play = without_people();
    play.says("I want to talk to your manager");
    let begun = play.begins();
    let answer = Answer {
        text: "They are back on Monday.".to_owned(),
        hand_over: Some("a complaint".to_owned()),
        stay_silent: Some("it was handed over".to_owned()),
        ..Answer::default()
    };
    assert_eq!(play.commits(&begun, &answer), TurnEnd::Owed);
    assert_eq!(play.sends(), ["They are back on Monday."]);
}

#[test]
fn a_bot_that_writes_at_night_is_promised_nobody() {
    let mut play = without_people();
    play.policy.reply_cap = 1;
    play.exchange("beep", "boop");
    play.says("beep");
    play.wait(10_000);
    assert_eq!((play.claim(), play.conversation.mode.reason), (Claim::Nothing, Reason::ReplyCap));
    assert_eq!(play.sends(), [""; 0]);
}

#[test]
fn a_channel_that_has_spent_its_day_calls_people_and_answers_again_the_next() {
    let mut play = Play::by(|policy| policy.is_spent = true);
    let asked = play.says("How much is it?");
    play.wait(10_000);
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(fate(&play, asked), (Outcome::HandedOver, Some(OutcomeReason::SpendLimit)));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::SpendLimit);
    assert_eq!((play.conversation.mode.mode, play.clocks.turn_at), (Mode::Ai, None));
    play.policy.is_spent = false;
    play.says("Hello?");
    let begun = play.begins();
    play.writes(&begun, "Twelve.");
    assert_eq!((play.sends(), play.conversation.attention), (vec!["Twelve.".to_owned()], None));
}
