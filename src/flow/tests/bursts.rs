//! Several messages in a row, and what a turn makes of them.

use uuid::Uuid;

use crate::{
    domain::{
        conversation::AttentionReason,
        event::EventType,
        message::{DeliveryState as S, Outcome},
        mode::{Mode, Reason},
        policy::BurstPolicy,
        turn::TurnState,
    },
    flow::{
        generator::{Failure, FailureKind},
        inbox::{self, Admitted, Claim, Claimant},
        outbox::{self, Claim as SendClaim, Settled},
        play::Play,
        provider::{Amendment, Arrival},
        reply::{self, Answer, Discarded, TurnEnd},
    },
};

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
    assert_eq!(play.writes(&first, "to m1"), TurnEnd::Discarded(Discarded::FenceMoved));
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
                if play.writes(&begun, "answer") == TurnEnd::Owed {
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
fn three_failures_go_to_a_person_and_the_next_text_is_answered() {
    let mut play = Play::by(|policy| policy.fallback_text = Some("Sorry.".into()));
    let question = play.says("m1");
    for _ in 0..2 {
        let begun = play.begins();
        assert_eq!(play.fails(&begun), TurnEnd::WillRetry);
    }
    let begun = play.begins();
    assert_eq!(begun.turn.attempt, 3);
    assert_eq!(play.fails(&begun), TurnEnd::GivenUp);
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
    assert_eq!(play.writes(&lost, "from the dead"), TurnEnd::Discarded(Discarded::FenceMoved));
    play.writes(&begun, "from the living");
    assert_eq!(play.sends(), ["from the living"]);
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
    play.switches(Mode::Ai);
    play.exchange("I am no bot", "Sorry.");
    assert_eq!(play.conversation.mode.mode, Mode::Ai, "a person has given it back");
}

#[test]
fn an_answer_that_never_left_does_not_count_for_the_cap() {
    let mut play = Play::by(|policy| policy.reply_cap = 3);
    for n in 0..3 {
        play.says(&format!("m{n}"));
        let begun = play.begins();
        play.writes(&begun, "too soon");
        play.exchange("and", &format!("a{n}"));
    }
    assert_eq!(play.in_state(S::Cancelled).len(), 3);
    assert_eq!(play.in_state(S::Sent), ["a0", "a1", "a2"]);
    play.says("m3");
    play.wait(10_000);
    assert_eq!(play.claim(), Claim::Nothing, "three have left");
    assert_eq!(play.conversation.mode.reason, Reason::ReplyCap);
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
fn a_message_is_as_old_as_its_words_however_late_it_comes() {
    let mut play = Play::new();
    let old =
        Arrival { at: Some(play.now.plus_ms(-play.policy.stale_ms - 1)), ..play.arrival("OLD", "hello?") };
    play.step(|docket, policy| inbox::admit(docket, policy, &old));
    let ahead = Arrival { at: Some(play.now.plus_ms(60_000)), ..play.arrival("NEW", "anybody?") };
    play.step(|docket, policy| inbox::admit(docket, policy, &ahead));
    let begun = play.begins();
    assert_eq!(begun.turn.messages.len(), 1, "the gateway's clock may go ahead");
    let outcome = |play: &Play, at: usize| play.messages[at].inbound.unwrap().outcome;
    assert_eq!((outcome(&play, 0), outcome(&play, 1)), (Outcome::HandedOver, Outcome::Pending));
}

#[test]
fn what_the_settings_say_is_not_withdrawn_by_a_newer_text() {
    let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
    play.says("stop");
    play.says("one more thing");
    assert_eq!(play.sends(), ["You hear no more."]);
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
fn a_newer_message_while_a_send_fails_restarts_both() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "a1");
    let (attempt, _) = play.claims_send();
    play.says("m2");
    let blind = play.begins();
    play.settles(attempt, &Settled::Again(None, "connection refused".into()));
    assert!(matches!(play.writes(&blind, "to m2 alone"), TurnEnd::Discarded(_)));
    assert_eq!(play.begins().burst.len(), 2);
}

/// Two replies that no newer message restarts, of which the first is at the provider.
fn two_final_replies() -> (Play, Uuid, Uuid) {
    let mut play = Play::new();
    let most_ms = 2 * play.policy.burst_max_ms;
    let mut first = None;
    for (question, answer) in [("m1", "a1"), ("m2", "a2")] {
        first.get_or_insert(play.says(question));
        play.wait(most_ms);
        let begun = play.begins();
        assert!(begun.turn.is_final);
        play.writes(&begun, answer);
    }
    let (attempt, claim) = play.claims_send();
    assert!(matches!(claim, SendClaim::Claimed(message) if message.text == "a1"));
    (play, attempt, first.expect("it was asked"))
}

#[test]
fn no_reply_overtakes_one_that_comes_back() {
    for (before, after, sent, burst) in [
        (None, None, &["a1", "a2"][..], &[][..]),
        (None, Some("m3"), &["a1", "a2"], &["m3"]),
        (Some("m3"), None, &[], &["m1", "m2", "m3"]),
    ] {
        let (mut play, attempt, _) = two_final_replies();
        before.map(|text| play.says(text));
        play.settles(attempt, &Settled::Again(None, "status 429".into()));
        after.map(|text| play.says(text));
        assert_eq!(play.sends(), sent, "{before:?} {after:?}");
        if !burst.is_empty() {
            let begun = play.begins();
            assert_eq!(begun.burst.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), burst);
        }
    }
}

#[test]
fn a_reply_to_words_that_were_changed_starts_again_with_those_behind_it() {
    let (mut play, attempt, question) = two_final_replies();
    let id = play.message(question).provider_message_id.clone().expect("the contact's");
    let chat = play.conversation.chat.clone();
    let amendment = Amendment { chat, of: id, text: "m1, changed".to_owned(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, false));
    play.settles(attempt, &Settled::Again(None, "status 429".into()));
    assert_eq!(play.sends(), [""; 0]);
    let begun = play.begins();
    let texts: Vec<&str> = begun.burst.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["m1, changed", "m2"]);
}

#[test]
fn a_model_that_is_not_asked_costs_no_attempts_and_nobody_waits_for_it_for_long() {
    let mut play = Play::new();
    play.says("m1");
    let (mut waited, mut tries) = (0, 0);
    loop {
        let begun = play.begins();
        tries += 1;
        match play.fails_with(&begun, FailureKind::Unasked, Some(25_000)) {
            TurnEnd::WillRetry => {
                assert_eq!(play.conversation.attention.is_some(), waited >= 60_000, "{waited}")
            }
            outcome => break assert_eq!(outcome, TurnEnd::GivenUp),
        }
        play.wait(60_000);
        waited += 60_000;
    }
    assert!(tries > play.policy.ai_attempts && (600_000..660_000).contains(&waited), "{tries} {waited}");
    let rest = |waited_ms| {
        let failure = Failure { retry_after_ms: Some(500), ..Failure::new(FailureKind::Unasked, "") };
        failure.rest_ms(waited_ms)
    };
    assert_eq!(
        [0, 20_000, 590_000].map(rest),
        [Some(2_000), Some(10_000), Some(60_000)],
        "less and less often"
    );
    assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::AiFailure));
}

#[test]
fn who_is_shown_to_people_while_the_model_is_left_alone_is_answered_all_the_same() {
    for (kind, retry_after_ms, waited_ms) in
        [(FailureKind::Unasked, 25_000, 61_000), (FailureKind::RateLimited, 90_000, 0)]
    {
        let mut play = Play::new();
        let question = play.says("m1");
        let begun = play.begins();
        play.wait(waited_ms);
        assert_eq!(play.fails_with(&begun, kind, Some(retry_after_ms)), TurnEnd::WillRetry);
        assert_eq!(play.conversation.attention.map(|it| it.reason), Some(AttentionReason::AiFailure));
        assert_eq!(play.message(question).inbound.unwrap().outcome, Outcome::Pending);
        play.wait(120_000);
        let begun = play.begins();
        play.writes(&begun, "to m1");
        assert_eq!(play.sends(), ["to m1"]);
        assert_eq!(play.conversation.attention, None);
    }
}

#[test]
fn a_server_that_wants_to_be_asked_in_hours_is_not_waited_for() {
    for (retry_after_ms, outcome) in [(600_000, TurnEnd::WillRetry), (43_200_000, TurnEnd::GivenUp)] {
        let mut play = Play::new();
        play.says("m1");
        let begun = play.begins();
        assert_eq!(play.fails_with(&begun, FailureKind::RateLimited, Some(retry_after_ms)), outcome);
    }
}

#[test]
fn silence_about_one_message_does_not_hide_that_another_waits() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("m1");
    let begun = play.begins();
    play.says("m2");
    play.commits(&begun, &Answer { stay_silent: Some("thanks".into()), ..Answer::default() });
    play.switches(Mode::Human);
    assert!(play.conversation.waiting_since.is_some());
}

#[test]
fn who_stays_silent_says_nothing_and_the_reason_is_told() {
    for words in ["", "The customer only says thanks, so no reply is needed."] {
        let mut play = Play::new();
        play.says("Thanks!");
        let begun = play.begins();
        let answer =
            Answer { text: words.into(), stay_silent: Some("only thanks".into()), ..Answer::default() };
        assert_eq!(play.commits(&begun, &answer), TurnEnd::Silent, "{words}");
        assert_eq!(play.sends(), [""; 0], "{words}");
        let completed = play.events.iter().find(|event| event.kind == EventType::TurnCompleted).unwrap();
        assert_eq!(completed.details["stayed_silent"], "only thanks");
    }
}

#[test]
fn a_message_without_an_id_is_known_again_by_its_fingerprint_and_that_is_said() {
    let mut play = Play::new();
    let mut arrival = play.arrival("IN1", "Hi");
    arrival.id = None;
    for _ in 0..2 {
        play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    }
    let again = play.events.iter().find(|event| event.kind == EventType::DuplicateWebhook).unwrap();
    assert_eq!(again.details["by"], "fingerprint");
    assert_eq!(play.messages.len(), 1);
}

#[test]
fn a_message_that_is_ripe_as_it_comes_begins_its_turn_with_its_admission() {
    let comes = |play: &mut Play, id: &str, claimant: &Claimant| {
        let arrival = play.arrival(id, "Do you deliver?");
        play.step(|docket, policy| {
            let admitted = inbox::admit(docket, policy, &arrival);
            (admitted, inbox::claim_at_once(docket, policy, claimant))
        })
    };
    let claimant = || Claimant { owner: "A".to_owned(), turn: Uuid::now_v7(), found_locked: false };

    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Queue);
    let mine = claimant();
    let (admitted, begun) = comes(&mut play, "IN1", &mine);
    let begun = begun.expect("nothing is waited for");
    assert_eq!(begun.burst.iter().map(|it| Admitted::Stored(it.id)).collect::<Vec<_>>(), [admitted]);
    assert_eq!(begun.said.as_ref().map(Vec::len), Some(1), "a new conversation is known whole");
    play.wait(20_000);
    let (_, again) = comes(&mut play, "IN1", &mine);
    assert_eq!(
        again.map(|it| it.turn.id),
        Some(begun.turn.id),
        "a commit whose answer was lost finds its turn"
    );
    let until = play.conversation.lease.as_ref().map(|lease| lease.until);
    assert_eq!(until, Some(play.now.plus_ms(play.policy.lock_ttl_ms)), "it has all of its time from now");
    let (_, second) = comes(&mut play, "IN2", &claimant());
    assert_eq!(second, None, "the first is being answered");

    let mut play = Play::new();
    let (_, begun) = comes(&mut play, "IN1", &claimant());
    assert_eq!(begun, None, "more may follow");
    assert!(play.turns.is_empty() && play.clocks.turn_at > Some(play.now));

    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Queue);
    play.switches(Mode::Human);
    let (_, begun) = comes(&mut play, "IN1", &claimant());
    assert_eq!(begun, None, "a person answers");
}

#[test]
fn a_turn_whose_beginning_a_failover_has_lost_leaves_nothing() {
    for mut play in [Play::new(), Play::with_drafts()] {
        play.says("m1");
        let before = play.clone();
        let lost = play.begins();
        play = before;
        let begun = play.begins();
        assert_eq!(begun.turn.fence, lost.turn.fence, "nothing else tells them apart");
        let refused = TurnEnd::Discarded(Discarded::FenceMoved);
        assert_eq!(play.writes(&lost, "a1"), refused, "another has the lease");
        assert_ne!(play.writes(&begun, "a2"), refused);
        assert_eq!(play.writes(&lost, "a1"), refused, "nobody has it any more");
        let suggested = play.suggested().into_iter().map(|(text, _)| text.to_owned()).collect::<Vec<_>>();
        assert_eq!([play.sends(), suggested].concat(), ["a2"]);
    }
}

#[test]
fn what_nobody_can_read_ends_its_turn_however_often_that_is_said() {
    let mut play = Play::new();
    let voice = play.says("[voice]");
    let begun = play.begins();
    for _ in 0..2 {
        assert!(play.step(|docket, policy| reply::leave_unread(docket, policy, &begun, &[voice])));
        assert_eq!(play.turns[0].state, TurnState::Cancelled);
    }
}
