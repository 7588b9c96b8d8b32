//! A contact who waits for people.

use super::{ana, speaks};
use crate::{
    domain::{
        conversation::{AttentionReason, Status},
        event::actor,
        message::{DeliveryReason, DeliveryState, Kind, Outcome, OutcomeReason},
        mode::{Mode, Reason},
        policy::{BurstPolicy, Policy},
    },
    flow::{
        conversations,
        desk::{Idempotency, NewMessage, Patch, messages, patch, resolve_send},
        inbox::{self, Claim},
        outbox::Settled,
        play::Play,
        provider::{Amendment, Arrival},
        reconcile::{self, Copy},
        reply::Answer,
    },
};

#[test]
fn whoever_waits_when_the_clock_gives_back_is_called_for_until_the_assistant_answers() {
    // Less than is too long for a person: nobody has been called yet.
    let mut play = Play::by(|policy| policy.human_hold_ms = 60_000);
    play.switches(Mode::Human);
    play.says("one more thing");
    play.wait(60_000);
    play.tends();
    assert_eq!(play.conversation.mode.reason, Reason::HoldExpired);
    assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::Unanswered));
    play.exchange("hello?", "Here it is.");
    assert_eq!(play.conversation.attention, None);

    // Nobody waits.
    let words = [NewMessage::of("Anything else?")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    play.sends();
    play.wait(120_000);
    play.tends();
    assert_eq!((play.conversation.mode.mode, play.conversation.attention), (Mode::Ai, None));
}

#[test]
fn whoever_is_put_aside_is_overdue_only_after_that() {
    let overdue_ms = 300_000;
    for contact_returns in [false, true] {
        let mut play = Play::by(|policy| policy.human_overdue_ms = overdue_ms);
        play.switches(Mode::Human);
        play.says("no hurry");
        play.wait(1_000);
        let back_at = play.now.plus_ms(86_400_000);
        let put_aside = Patch { status: Some((Status::Snoozed, Some(back_at))), ..Patch::default() };
        play.step(|docket, policy| patch::apply(docket, policy, &put_aside, &ana())).unwrap();
        assert_eq!(play.clocks.tend_at, Some(back_at));
        play.now = back_at;
        if contact_returns {
            play.says("are you back?");
        }
        play.tends();
        assert_eq!((play.conversation.status, play.conversation.attention), (Status::Open, None));
        play.wait(overdue_ms - 1);
        play.says("hello?");
        play.tends();
        assert_eq!(play.conversation.attention, None, "it does not count from the day before");
        play.wait(1);
        play.tends();
        assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::HumanOverdue));
    }
}

#[test]
fn whoever_speaks_while_a_persons_words_are_on_their_way_still_waits() {
    let mut play = Play::new();
    play.says("m1");
    let words = [NewMessage::of("One moment.")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    assert_eq!(play.conversation.waiting_since, None);
    play.wait(1_000);
    speaks(&mut play, "V1");
    let spoke_at = play.now;
    play.wait(1_000);
    assert_eq!(play.sends(), ["One moment."]);
    assert_eq!(play.conversation.waiting_since, Some(spoke_at));
    assert!(play.conversation.memo.overdue_at.is_some());

    // What a person takes back was no answer to it either.
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    assert_eq!(play.conversation.waiting_since, None);
    let said = play.messages.last().unwrap().id;
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, said, &ana())).unwrap();
    assert_eq!(play.conversation.waiting_since, Some(spoke_at));
}

#[test]
fn what_the_contact_takes_back_while_an_answer_is_on_its_way_is_not_waited_with() {
    let deletes = |play: &mut Play| {
        let chat = play.conversation.chat.clone();
        let of = play.messages.last().unwrap().provider_message_id.clone().unwrap();
        let amendment = Amendment { chat, of, text: String::new(), at: Some(play.now), by: None };
        play.step(|docket, policy| inbox::amend(docket, policy, &amendment, true));
    };
    for by_person in [false, true] {
        let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
        play.says("m1");
        if by_person {
            let words = [NewMessage::of("Yes.")];
            play.step(|docket, policy| {
                messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own())
            })
            .unwrap();
        } else {
            let begun = play.begins();
            play.writes(&begun, "Yes.");
        }
        play.wait(1_000);
        play.says("m2");
        deletes(&mut play);
        assert_eq!(play.sends(), ["Yes."], "{by_person}");
        assert_eq!(play.conversation.waiting_since, None, "{by_person}");
    }

    // What stands is waited with.
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "Yes.");
    play.says("m2");
    play.says("m3");
    deletes(&mut play);
    play.sends();
    assert!(play.conversation.waiting_since.is_some());
}

#[test]
fn words_that_say_that_somebody_comes_or_that_the_assistant_cannot_answer_end_no_wait() {
    let overdue_ms = 300_000;
    let texts = |policy: &mut Policy| {
        policy.human_overdue_ms = overdue_ms;
        policy.handover_words = vec!["agent".into()];
        policy.handover_text = Some("A colleague comes.".into());
        policy.fallback_text = Some("A moment, please.".into());
        policy.unreadable_text = Some("Please write.".into());
        policy.opt_out_words = vec!["stop".into()];
        policy.opt_out_text = Some("Good bye.".into());
    };
    type Deed = fn(&mut Play);
    let table: [(&str, bool, Deed); 5] = [
        ("A colleague comes.", true, |play| {
            play.says("Agent!");
        }),
        ("I will get a colleague.", true, |play| {
            play.says("m1");
            let begun = play.begins();
            let hand_over = Some("asked for".to_owned());
            let text = "I will get a colleague.".to_owned();
            play.commits(&begun, &Answer { text, hand_over, ..Answer::default() });
        }),
        ("A moment, please.", true, |play| {
            play.policy.ai_attempts = 1;
            play.says("m1");
            let begun = play.begins();
            play.fails(&begun);
        }),
        ("Please write.", false, |play| speaks(play, "V1")),
        ("Good bye.", false, |play| {
            play.says("stop");
        }),
    ];
    for (text, waits, deed) in table {
        let mut play = Play::by(texts);
        let since = play.now;
        deed(&mut play);
        play.wait(1_000);
        assert_eq!(play.sends(), [text]);
        assert_eq!(play.conversation.waiting_since, waits.then_some(since), "{text}");
        assert_eq!(play.conversation.contact_spoke_last(), waits, "{text}");
        // Whoever puts the call away is called again.
        play.step(|docket, policy| {
            let clear_attention = Patch { clear_attention: true, ..Patch::default() };
            patch::apply(docket, policy, &clear_attention, &ana())
        })
        .unwrap();
        let is_overdue_at = play.conversation.memo.overdue_at.is_some();
        assert_eq!(is_overdue_at, waits && play.conversation.mode.mode == Mode::Human, "{text}");

        let words = [NewMessage::of("Here I am.")];
        play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
            .unwrap();
        play.sends();
        assert_eq!(play.conversation.waiting_since, None, "{text}");
    }
}

#[test]
fn whoever_waits_behind_a_call_about_a_send_is_called_for_when_that_ends() {
    for settled in
        [Settled::Unclear("no answer".into()), Settled::Refused(DeliveryReason::Refused, "no".into())]
    {
        let mut play = Play::by(|policy| policy.human_hold_ms = 60_000);
        play.says("m1");
        let begun = play.begins();
        play.writes(&begun, "words");
        let (attempt, _) = play.claims_send();
        play.settles(attempt, &settled);
        assert!(play.conversation.attention.is_some(), "{settled:?}");
        play.switches(Mode::Human);
        play.says("m2");
        play.wait(60_000);
        play.tends();
        assert_eq!(play.conversation.mode.mode, Mode::Ai);
        let is_of_a_send =
            |reason| matches!(reason, AttentionReason::SendUnknown | AttentionReason::SendFailed);
        play.step(|docket, _| {
            docket.ids(|message| message.is(DeliveryState::Unknown)).into_iter().for_each(|id| {
                docket.edit_delivery(id).unwrap().state = DeliveryState::Sent;
            });
            conversations::clear(docket, actor::SYSTEM, is_of_a_send);
        });
        let called_for = play.conversation.attention.map(|it| it.reason);
        assert_eq!(called_for, Some(AttentionReason::Unanswered), "{settled:?}");
    }
}

#[test]
fn whoever_was_left_in_silence_waits_for_nobody_when_a_person_takes_words_back() {
    let mut play = Play::new();
    play.says("ok");
    let begun = play.begins();
    play.commits(&begun, &Answer { stay_silent: Some("a thank-you".to_owned()), ..Answer::default() });
    let words = [NewMessage::of("Anything else?")];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
    let said = play.messages.last().unwrap().id;
    play.step(|docket, policy| resolve_send::withdraw(docket, policy, said, &ana())).unwrap();
    assert_eq!(play.conversation.waiting_since, None);
}

#[test]
fn a_copy_that_comes_late_is_no_answer_to_what_was_spoken_since() {
    let mut play = Play::new();
    let typed_at = play.now;
    play.wait(1_000);
    let arrival =
        Arrival { is_unreadable: true, kind: Kind::Voice, at: Some(play.now), ..play.arrival("V1", "") };
    play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    let spoke_at = play.now;
    play.wait(1_000);
    let copy = Arrival { at: Some(typed_at), ..play.arrival("P1", "Good morning") };
    play.step(|docket, policy| reconcile::take_copy(docket, policy, &copy, Copy::Phone));
    assert_eq!(play.conversation.waiting_since, Some(spoke_at));
}

#[test]
fn without_a_model_what_is_written_is_left_to_people_and_says_why() {
    let fate = |play: &Play, id| {
        let inbound = play.message(id).inbound.unwrap();
        (inbound.outcome, inbound.reason)
    };
    let mut play = Play::by(|policy| policy.has_model = false);
    play.switches(Mode::Human);
    let id = play.says("Are you open?");
    assert_eq!(fate(&play, id), (Outcome::LeftToHuman, Some(OutcomeReason::NoModel)));

    // It was answered by the assistant until the model was taken away.
    let mut play = Play::by(|policy| policy.fallback_text = Some("A moment, please.".into()));
    play.exchange("m1", "a1");
    play.policy.has_model = false;
    let id = play.says("Are you open?");
    play.now = play.clocks.turn_at.unwrap();
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(fate(&play, id), (Outcome::HandedOver, Some(OutcomeReason::NoModel)));
    assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::Unanswered));
    assert_eq!((play.sends(), play.letters.len(), play.turns.len()), (vec![], 0, 1), "nobody fails at it");
    play.policy.has_model = true;
    play.exchange("Hello?", "We are.");
    assert_eq!(play.conversation.attention, None);
}

#[test]
fn who_is_told_once_an_hour_that_nobody_can_listen_waits_for_nothing_the_second_time() {
    let mut play = Play::by(|policy| policy.unreadable_text = Some("Please write.".into()));
    speaks(&mut play, "V1");
    assert_eq!(play.sends(), ["Please write."]);
    assert_eq!(play.conversation.waiting_since, None);
    play.wait(1_000);
    speaks(&mut play, "V2");
    assert_eq!((play.sends(), play.conversation.waiting_since), (vec![], None));
    assert!(play.schedules("Still there?", 60_000));
}
