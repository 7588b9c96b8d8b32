//! Contacts who fall silent.

use std::sync::Arc;

use uuid::Uuid;

use super::{ana, speaks};
use crate::{
    domain::{
        brake::{Brake, Latched},
        conversation::AttentionReason,
        event::{Event, EventType},
        hours::Hours,
        message::{DeliveryReason, DeliveryState as S, Kind, Outcome, OutcomeReason},
        mode::Mode,
        policy::BurstPolicy,
    },
    flow::{
        agenda::{self, NewFollowUp},
        desk::resolve_send,
        generator::FailureKind,
        inbox::{self, Claim},
        outbox::{self, Settled},
        play::Play,
        provider::Amendment,
        reply::{Answer, Discarded, TurnEnd},
    },
};

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
fn a_follow_up_behind_words_that_have_not_left_makes_room_for_others() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.step(|docket, policy| outbox::say_as_system(docket, policy, "We are back."));
    play.wait(1_000);
    let due_at = play.now;
    let mut looks = 0;
    while play.now.since(due_at) < 3_600_000 {
        let agenda::Fired::NotYet(at) = play.fires() else { panic!("behind those words") };
        assert_eq!(play.clocks.follow_up_at, Some(at), "a sweep has room for so many");
        assert!((1_000..=60_000).contains(&at.since(play.now)));
        play.wait(at.since(play.now));
        looks += 1;
    }
    assert!(looks < 80, "{looks} looks in an hour");
}

#[test]
fn one_automatic_follow_up_a_silence() {
    let mut play = Play::by(|policy| {
        policy.follow_up_after_ms = vec![10_000];
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
fn a_reply_that_certainly_failed_takes_its_follow_up_along() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = vec![10_000]);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "words");
    let (attempt, _) = play.claims_send();
    assert_eq!(play.pending_follow_ups(), 1, "nobody sees a reply without its follow-up");
    play.settles(attempt, &Settled::Refused(DeliveryReason::NoAccount, "no WhatsApp".into()));
    assert_eq!(play.pending_follow_ups(), 0);
}

#[test]
fn a_follow_up_called_off_while_it_is_written_is_never_sent() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    let new = NewFollowUp {
        delay_ms: Some(1_000),
        instructions: Some("Ask kindly.".into()),
        ..NewFollowUp::default()
    };
    for call_off in ["by an agent", "by a reaction", "by another one"] {
        assert!(play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana")).is_some());
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
        assert!(matches!(play.writes(&begun, "Still there?"), TurnEnd::Discarded(_)), "{call_off}");
        assert!(play.sends().is_empty(), "{call_off}");
    }
    assert_eq!(play.pending_follow_ups(), 1, "the one in its place");
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

#[test]
fn nobody_is_chased_who_has_spoken_since_even_if_they_took_it_back() {
    let mut play = Play::by(|policy| {
        policy.burst = BurstPolicy::Collect;
        policy.follow_up_after_ms = vec![60_000];
        policy.follow_up_text = Some("Still there?".into());
    });
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "to m1");
    let second = play.says("m2");
    let of = play.message(second).provider_message_id.clone().unwrap();
    let amendment =
        Amendment { chat: play.conversation.chat.clone(), of, text: String::new(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, true));
    assert_eq!(play.sends(), ["to m1"]);
    assert_eq!(play.pending_follow_ups(), 0);
}

/// The first of two is being sent.
fn first_of_two() -> (Play, Uuid) {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = vec![10_000, 20_000]);
    play.policy.follow_up_text = Some("Still there?\n---\nHello?".into());
    play.exchange("m1", "a1");
    play.wait(10_000);
    play.fires();
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, outbox::Claim::Claimed(_)));
    assert_eq!(
        play.clocks.follow_up_at,
        Some(play.now.plus_ms(20_000)),
        "the other is there from the claim on"
    );
    (play, attempt)
}

#[test]
fn a_sequence_ends_with_a_follow_up_that_does_not_leave() {
    let (mut play, attempt) = first_of_two();
    play.policy.send_attempts = 1;
    play.settles(attempt, &Settled::Again(None, "status 500".into()));
    assert_eq!((play.in_state(S::Dead), play.pending_follow_ups()), (vec!["Still there?"], 0));
}

#[test]
fn a_sequence_ends_with_a_follow_up_that_becomes_too_late() {
    let (mut play, attempt) = first_of_two();
    play.settles(attempt, &Settled::Again(None, "status 500".into()));
    assert_eq!(play.pending_follow_ups(), 1);
    play.wait(play.policy.follow_up_late_ms + 1);
    assert_eq!(play.sends(), [""; 0]);
    assert_eq!((play.in_state(S::Cancelled), play.pending_follow_ups()), (vec!["Still there?"], 0));
}

#[test]
fn what_a_person_confirms_counts_in_its_sequence() {
    let (mut play, attempt) = first_of_two();
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    assert_eq!(play.pending_follow_ups(), 1);
    let id = play.messages.iter().find(|message| message.is(S::Unknown)).unwrap().id;
    play.step(|docket, policy| resolve_send::confirm(docket, policy, id, &ana())).unwrap();
    play.wait(20_000);
    play.fires();
    assert_eq!((play.sends(), play.pending_follow_ups()), (vec!["Hello?".to_owned()], 0));
    assert_eq!(play.happened(EventType::FollowUpSent), 2);
}

#[test]
fn what_the_assistant_would_write_is_not_due_while_the_day_is_spent() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    play.policy.is_spent = true;
    let new = NewFollowUp { delay_ms: Some(1_000), ..NewFollowUp::default() };
    play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana")).unwrap();
    play.wait(1_000);
    for _ in 0..3 {
        let agenda::Fired::NotYet(at) = play.fires() else { panic!("it is not due") };
        assert!(at > play.now);
        assert_eq!(play.clocks.follow_up_at, Some(at), "no sweep finds it before");
        play.now = at;
    }
    assert_eq!(play.happened(EventType::FollowUpDue), 0);
    play.policy.is_spent = false;
    assert!(matches!(play.fires(), agenda::Fired::Begun(_)));
    assert_eq!(play.happened(EventType::FollowUpDue), 1);
}

#[test]
fn a_follow_up_written_under_a_lease_that_was_freed_does_not_leave_though_nobody_began_in_its_place() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    let new = NewFollowUp { delay_ms: Some(1_000), ..NewFollowUp::default() };
    play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana")).unwrap();
    play.wait(1_000);
    let agenda::Fired::Begun(lost) = play.fires() else { panic!("it begins") };
    play.wait(play.policy.lock_ttl_ms);
    play.policy.is_spent = true;
    assert!(matches!(play.fires(), agenda::Fired::NotYet(_)));
    play.step(|docket, _| agenda::cancel(docket, "called_off", "agent:ana"));
    assert_eq!(play.writes(&lost, "Still there?"), TurnEnd::Discarded(Discarded::FenceMoved));
    assert!(play.sends().is_empty());
}

fn latched(play: &Play) -> Brake {
    Brake { latched: Some(Latched { at: play.now, sends: 60, best: 1 }), released_at: None }
}

const DAY_MS: i64 = 86_400_000;

/// Quiet hours around the moment at which a play begins.
fn night() -> Option<Arc<Hours>> {
    Some(Arc::new(Hours::parse("23:00-08:00 UTC", "UTC").unwrap()))
}

#[test]
fn what_the_brake_holds_waits_for_days_and_leaves_once_it_is_released() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.policy.brake = latched(&play);
    play.wait(2 * DAY_MS);
    assert_eq!(play.fires(), agenda::Fired::Braked);
    assert_eq!(play.pending_follow_ups(), 1, "it is not late: it could not leave");
    play.policy.brake = Brake { latched: None, released_at: Some(play.now) };
    play.fires();
    assert_eq!(play.sends(), ["Still there?"]);
}

#[test]
fn a_follow_up_that_is_owed_already_keeps_its_place_under_the_brake() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.fires();
    play.policy.brake = latched(&play);
    play.wait(2 * DAY_MS);
    assert_eq!(play.claims_send().1, outbox::Claim::Braked);
    // Released at night, it waits for the morning as well.
    let released = Brake { latched: None, released_at: Some(play.now) };
    (play.policy.brake, play.policy.quiet_hours) = (released, night());
    assert!(matches!(play.claims_send().1, outbox::Claim::NotYet(at) if at > play.now));
    assert_eq!(play.in_state(S::Queued), ["Still there?"]);
    assert_eq!(play.sends(), ["Still there?"]);
}

#[test]
fn a_follow_up_that_meets_the_night_on_its_way_leaves_in_the_morning() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.fires();
    play.policy.quiet_hours = night();
    let outbox::Claim::NotYet(morning) = play.claims_send().1 else { panic!("it is night") };
    assert!(morning > play.now);
    assert_eq!(play.clocks.send_at, Some(morning), "no sweep finds it before");
    assert_eq!(play.sends(), ["Still there?"], "and it is not late then");
    assert_eq!(play.now, morning);
}

#[test]
fn the_brake_holds_no_answer_and_nothing_behind_what_it_holds() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.fires();
    play.policy.brake = latched(&play);
    play.exchange("m2", "a2");
    assert_eq!(play.in_state(S::Cancelled), ["Still there?"], "whoever writes is not chased any more");
    assert_eq!(play.in_state(S::Sent), ["a1", "a2"]);
}

#[test]
fn a_follow_up_that_was_due_after_the_release_may_be_late_as_ever() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    play.policy.brake = Brake { latched: None, released_at: Some(play.now) };
    assert!(play.schedules("Still there?", 1_000));
    play.wait(2 * DAY_MS);
    assert_eq!((play.fires(), play.pending_follow_ups()), (agenda::Fired::Nothing, 0));
}

#[test]
fn who_was_left_in_silence_on_purpose_is_followed_up() {
    for by in ["the assistant", "a person"] {
        let mut play = Play::new();
        play.says("Write me later, bye");
        let begun = play.begins();
        let new =
            NewFollowUp { delay_ms: Some(60_000), text: Some("Here I am.".into()), ..NewFollowUp::default() };
        let is_its_own = by == "the assistant";
        let follow_up = is_its_own.then(|| new.clone());
        let silent = Answer { stay_silent: Some("bye".into()), follow_up, ..Answer::default() };
        assert_eq!(play.commits(&begun, &silent), TurnEnd::Silent);
        if !is_its_own {
            play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana")).unwrap();
        }
        play.wait(60_000);
        assert_eq!(play.fires(), agenda::Fired::Owed, "{by}");
        assert_eq!(play.sends(), ["Here I am."], "{by}");
    }
}

#[test]
fn who_waits_for_a_person_is_not_followed_up() {
    type Deed = fn(&mut Play);
    let fails: Deed = |play| {
        play.says("m1");
        let begun = play.begins();
        play.fails(&begun);
    };
    let goes_nowhere: Deed = |play| {
        play.says("m1");
        play.now = play.clocks.turn_at.unwrap().plus_ms(play.policy.stale_ms);
        assert_eq!(play.claim(), Claim::Nothing);
    };
    let table: [(&str, Deed, Deed); 6] = [
        ("the model failed", |_| {}, fails),
        ("they were told so", |play| play.policy.fallback_text = Some("One moment.".into()), fails),
        ("it came too late", |_| {}, goes_nowhere),
        ("the day is spent", |play| (play.policy.is_spent, play.policy.stale_ms) = (true, 0), goes_nowhere),
        (
            "the model is gone",
            |play| (play.policy.has_model, play.policy.stale_ms) = (false, 0),
            goes_nowhere,
        ),
        ("nobody can listen", |_| {}, |play| speaks(play, "V1")),
    ];
    for (name, rules, deed) in table {
        let mut play = Play::by(|policy| policy.ai_attempts = 1);
        rules(&mut play);
        deed(&mut play);
        play.sends();
        assert!(!play.schedules("Still there?", 60_000), "{name}");
        // Nor where a turn has planned it that had not seen that.
        let new =
            NewFollowUp { delay_ms: Some(60_000), text: Some("Hello?".into()), ..NewFollowUp::default() };
        play.step(|docket, policy| agenda::schedule(docket, policy, &new, "assistant")).unwrap();
        play.wait(60_000);
        assert_eq!((play.fires(), play.sends()), (agenda::Fired::Nothing, vec![]), "{name}");
        assert_eq!(play.happened(EventType::FollowUpWithheld), 1, "{name}");
    }
}

#[test]
fn a_follow_up_may_be_planned_while_an_answer_is_on_its_way() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    assert!(!play.schedules("Still there?", 60_000), "it waits for its answer");
    play.writes(&begun, "to m1");
    assert!(play.schedules("Still there?", 60_000));
    assert_eq!(play.sends(), ["to m1"]);
    play.wait(60_000);
    play.fires();
    assert_eq!(play.sends(), ["Still there?"]);
}

#[test]
fn nobody_is_chased_whose_voice_note_waits_for_a_person() {
    for came_while in ["the answer waits", "the answer is written"] {
        let mut play = Play::by(|policy| {
            policy.follow_up_after_ms = vec![60_000];
            policy.follow_up_text = Some("Still there?".into());
        });
        play.says("m1");
        let begun = play.begins();
        play.wait(1_000);
        let is_written = came_while == "the answer waits";
        if is_written {
            play.writes(&begun, "to m1");
            play.wait(1_000);
        }
        speaks(&mut play, "V1");
        let spoke_at = play.now;
        play.wait(1_000);
        if !is_written {
            play.writes(&begun, "to m1");
        }
        assert_eq!(play.sends(), ["to m1"]);
        assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::Unreadable));
        if is_written {
            assert_eq!((play.pending_follow_ups(), play.conversation.waiting_since), (0, Some(spoke_at)));
        }
        assert!(!play.schedules("Hello?", 60_000), "{came_while}");
        play.wait(60_000);
        assert_eq!((play.fires(), play.sends()), (agenda::Fired::Nothing, vec![]), "{came_while}");
    }
}

/// What the contact wrote first has other words now, or is deleted.
fn amends(play: &mut Play, text: &str) {
    let chat = play.conversation.chat.clone();
    let amendment = Amendment { chat, of: "IN1".into(), text: text.into(), at: Some(play.now), by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, text.is_empty()));
}

#[test]
fn nobody_is_chased_who_edits_or_deletes_what_was_answered() {
    for words in ["m0", ""] {
        let answered = || {
            let mut play = Play::new();
            play.exchange("m1", "a1");
            assert!(play.schedules("Still there?", 1_000));
            play
        };
        let mut play = answered();
        amends(&mut play, words);
        assert_eq!(play.pending_follow_ups(), 0, "{words}");

        let mut play = answered();
        play.wait(1_000);
        play.fires();
        amends(&mut play, words);
        assert_eq!(play.in_state(S::Cancelled), ["Still there?"], "{words}");

        let mut play = answered();
        play.wait(1_000);
        play.fires();
        let (attempt, _) = play.claims_send();
        amends(&mut play, words);
        play.settles(attempt, &Settled::Again(None, "status 429".into()));
        assert_eq!((play.sends(), play.in_state(S::Cancelled)), (vec![], vec!["Still there?"]), "{words}");
    }
}

#[test]
fn nobody_is_chased_who_edits_while_the_rest_of_the_answer_is_typed() {
    let mut play = Play::by(|policy| {
        policy.follow_up_after_ms = vec![60_000];
        (policy.split_chars, policy.split_parts, policy.typing_ms_per_char) = (10, 2, 100);
        policy.typing_max_ms = 5_000;
    });
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "The first.\n\nAnd the second.");
    play.now = play.clocks.send_at.unwrap();
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Sent("OUT1".into()));
    amends(&mut play, "m0");
    assert_eq!((play.sends().len(), play.pending_follow_ups()), (1, 0));
}

#[test]
fn an_answered_message_that_is_edited_to_a_wish_is_one() {
    let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
    play.exchange("stpo", "Stpo?");
    assert!(play.schedules("Still there?", 60_000));
    amends(&mut play, "stop");
    assert_eq!((play.conversation.opted_out, play.pending_follow_ups()), (true, 0));
    let told = |play: &Play, what: &str| {
        let is_told = |event: &&Event| event.action.as_deref() == Some(what) && event.actor == "contact";
        play.events.iter().filter(is_told).count()
    };
    assert_eq!((told(&play, "opted_out"), told(&play, "opted_in")), (1, 0));
    assert_eq!(play.sends(), ["You hear no more."]);
    assert_eq!(play.messages[0].inbound.unwrap().outcome, Outcome::Answered);
    assert_eq!(play.claim(), Claim::Nothing);
    amends(&mut play, "Stop by at 5?");
    assert!(!play.conversation.opted_out);
    assert_eq!((told(&play, "opted_out"), told(&play, "opted_in")), (1, 1));
}

/// One that the assistant is to write is due now.
fn to_be_written() -> Play {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    let new = NewFollowUp { delay_ms: Some(60_000), ..NewFollowUp::default() };
    play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana")).unwrap();
    play.wait(60_000);
    play
}

#[test]
fn a_follow_up_waits_for_a_model_that_is_not_asked_until_it_is_too_late() {
    let mut play = to_be_written();
    let due_at = play.now;
    let mut tries = 0;
    loop {
        play.now = play.now.max(play.clocks.follow_up_at.unwrap());
        let agenda::Fired::Begun(begun) = play.fires() else { break };
        tries += 1;
        assert_eq!(play.fails_with(&begun, FailureKind::Unasked, Some(25_000)), TurnEnd::WillRetry);
        assert!(play.clocks.follow_up_at > Some(play.now), "not at once");
    }
    assert!(tries > play.policy.ai_attempts && tries < 200, "{tries}");
    let late_ms = play.now.since(due_at) - play.policy.follow_up_late_ms;
    assert!((0..61_000).contains(&late_ms), "{late_ms}");
    let withheld = play.follow_ups.last().unwrap();
    assert_eq!((withheld.reason.as_deref(), withheld.due_at), (Some("late"), due_at));

    let mut play = to_be_written();
    for _ in 0..5 {
        play.now = play.now.max(play.clocks.follow_up_at.unwrap());
        let agenda::Fired::Begun(begun) = play.fires() else { panic!("it still waits") };
        play.fails_with(&begun, FailureKind::Unasked, None);
    }
    play.now = play.clocks.follow_up_at.unwrap();
    let agenda::Fired::Begun(begun) = play.fires() else { panic!("it still waits") };
    play.writes(&begun, "Still there?");
    assert_eq!(play.sends(), ["Still there?"]);
    assert!(play.schedules("Hello?", 1_000));
    assert_eq!(play.clocks.follow_up_at, Some(play.now.plus_ms(1_000)), "the next has nothing to wait for");
}

#[test]
fn a_model_that_fails_at_a_follow_up_has_its_attempts() {
    let mut play = to_be_written();
    for _ in 0..play.policy.ai_attempts {
        play.now = play.now.max(play.clocks.follow_up_at.unwrap());
        let agenda::Fired::Begun(begun) = play.fires() else { panic!("it still waits") };
        play.fails(&begun);
    }
    assert_eq!(play.pending_follow_ups(), 0);
    assert_eq!(play.follow_ups.last().unwrap().reason.as_deref(), Some("ai_failure"));
}

#[test]
fn a_follow_up_in_several_parts_is_one() {
    let mut play = Play::by(|policy| {
        policy.follow_up_after_ms = vec![10_000, 10_000, 10_000];
        policy.follow_up_text = Some("One word and some more\n---\nTwo\n---\nThree".into());
        policy.message_max_chars = 16;
    });
    play.exchange("m1", "a1");
    for (text, sent) in [("One word and some more", 1), ("Two", 2), ("Three", 3)] {
        play.wait(10_000);
        play.fires();
        assert_eq!(play.sends().join(" "), text);
        assert_eq!(play.happened(EventType::FollowUpSent), sent, "{text}");
    }
}

#[test]
fn a_follow_up_that_new_quiet_hours_move_is_told_of() {
    let mut play = Play::new();
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.policy.quiet_hours = Some(Arc::new(Hours::parse("00:00-08:00", "UTC").unwrap()));
    let agenda::Fired::NotYet(at) = play.fires() else { panic!("it is quiet") };
    let told = play.events.iter().rfind(|it| it.kind == EventType::FollowUpScheduled).unwrap();
    assert_eq!(told.action, Some("moved".into()));
    assert_eq!(told.details["due_at"], at.to_string());
}
