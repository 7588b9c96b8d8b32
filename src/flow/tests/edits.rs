//! What is edited or deleted after it was written.

use crate::{
    domain::{
        chat::ChatId,
        conversation::{AttentionReason, Status},
        event::EventType,
        message::{DeliveryState, Outcome, OutcomeReason, Sender},
        mode::{Mode, Reason},
        policy::{BurstPolicy, Groups},
    },
    flow::{
        conversations,
        inbox::{self, Claim},
        ledger::Need,
        outbox::Settled,
        play::Play,
        provider::{Amendment, Arrival},
        reconcile::{self, Copy, Matched},
        reply::{Answer, TurnEnd},
    },
};

/// In a group, one of the two has other words for a message.
fn has_other_words(play: &mut Play, of: &str, text: &str, by: &str) {
    let chat = play.conversation.chat.clone();
    let by = ChatId::parse(by);
    let amendment = Amendment { chat, of: of.into(), text: text.into(), at: Some(play.now), by };
    let need = Need { keys: vec![of.to_owned()], ..Need::default() };
    play.step_with(&need, |docket, policy| inbox::amend(docket, policy, &amendment, false));
}

#[test]
fn in_a_group_only_the_writer_edits_what_they_wrote() {
    let (ana, ana_hidden, ben) = ("6580000001@c.us", "100000000000001@lid", "6580000002@c.us");
    for (by, is_edited) in [(ana, true), (ana_hidden, true), (ben, false)] {
        for comes_first in [false, true] {
            let mut play = Play::by(|policy| policy.groups = Groups::Answer);
            play.conversation.chat = ChatId::parse("120363000000000001@g.us").expect("a group");
            if comes_first {
                has_other_words(&mut play, "IN1", "100 cakes", by);
            }
            let sender = Some(Sender { id: ana.to_owned(), name: "Ana".to_owned() });
            let arrival = Arrival { sender, ..play.arrival("IN1", "1 cake") };
            play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
            if !comes_first {
                has_other_words(&mut play, "IN1", "100 cakes", by);
            }
            let text = if is_edited { "100 cakes" } else { "1 cake" };
            assert_eq!(play.messages[0].text, text, "by {by}, first: {comes_first}");
            assert_eq!(play.messages[0].edited_at.is_some(), is_edited, "by {by}, first: {comes_first}");
        }
    }
}

fn edits(play: &mut Play, of: &str, text: &str) -> Option<inbox::AmendedElsewhere> {
    let chat = play.conversation.chat.clone();
    let amendment = Amendment { chat, of: of.into(), text: text.into(), at: Some(play.now), by: None };
    let need = Need { keys: vec![of.to_owned()], ..Need::default() };
    play.step_with(&need, |docket, policy| inbox::amend(docket, policy, &amendment, false))
}

#[test]
fn an_edit_and_a_deletion_that_come_before_their_originals_are_kept_for_them() {
    let mut play = Play::new();
    for (of, text, is_deletion) in [("IN1", "In Orchard", false), ("IN2", "", true)] {
        let chat = play.conversation.chat.clone();
        let amendment = Amendment { chat, of: of.into(), text: text.into(), at: None, by: None };
        play.step(|docket, policy| inbox::amend(docket, policy, &amendment, is_deletion));
    }
    let edited = play.says("In Orcard");
    let deleted = play.says("never mind");
    let begun = play.begins();
    assert_eq!(
        begun.burst.iter().map(|it| (it.id, it.text.as_str())).collect::<Vec<_>>(),
        [(edited, "In Orchard")]
    );
    assert_eq!(play.message(deleted).inbound.unwrap().reason, Some(OutcomeReason::Deleted));
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
            by: None,
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

/// The next turn reads these words, and its answer is the last.
fn is_answered_in(play: &mut Play, text: &str) {
    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), [text]);
    play.writes(&begun, "to the new words");
    assert_eq!(play.sends(), ["to the new words"]);
    assert_eq!(play.message(begun.burst[0].id).inbound.unwrap().outcome, Outcome::Answered);
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(play.conversation.waiting_since, None);
}

#[test]
fn new_words_for_which_no_turn_starts_again_are_answered_by_the_next() {
    for burst in [BurstPolicy::Collect, BurstPolicy::Queue] {
        for edited_while in ["it is answered", "the answer waits"] {
            let mut play = Play::by(|policy| policy.burst = burst);
            let id = play.says("one bowl");
            let begun = play.begins();
            if edited_while == "the answer waits" {
                play.writes(&begun, "to one bowl");
            }
            edits(&mut play, "IN1", "two bowls");
            play.writes(&begun, "to one bowl");
            assert_eq!(play.sends(), ["to one bowl"], "{burst}, {edited_while}: as for a newer message");
            assert_eq!(
                play.message(id).inbound.unwrap().outcome,
                Outcome::Pending,
                "{burst}, {edited_while}"
            );
            assert!(play.conversation.waiting_since.is_some(), "{burst}, {edited_while}");
            is_answered_in(&mut play, "two bowls");
        }
    }
}

#[test]
fn who_edits_again_and_again_has_an_answer_and_the_last_words_have_one() {
    for edited_while in ["it is answered", "the answer waits"] {
        let mut play = Play::new();
        play.says("v0");
        for version in 1..=3 {
            play.begins();
            edits(&mut play, "IN1", &format!("v{version}"));
        }
        let begun = play.begins();
        assert!(begun.turn.is_final);
        if edited_while == "the answer waits" {
            play.writes(&begun, "to v3");
        }
        edits(&mut play, "IN1", "v4");
        edits(&mut play, "IN1", "v5");
        play.writes(&begun, "to v3");
        assert_eq!(play.sends(), ["to v3"], "{edited_while}");
        let edited_at = play.now;
        assert!(play.clocks.turn_at > Some(edited_at), "{edited_while}: more edits may come");
        is_answered_in(&mut play, "v5");
    }
}

#[test]
fn what_is_said_of_old_words_alone_leaves_the_new_ones_waiting() {
    for (stays_silent, outcome) in [(true, Outcome::Pending), (false, Outcome::LeftToHuman)] {
        let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
        let id = play.says("thanks");
        let begun = play.begins();
        edits(&mut play, "IN1", "thanks, and two bowls");
        let answer = Answer {
            stay_silent: stays_silent.then(|| "nothing to say".to_owned()),
            hand_over: (!stays_silent).then(|| "asked for".to_owned()),
            text: if stays_silent { String::new() } else { "A colleague comes.".to_owned() },
            ..Answer::default()
        };
        play.commits(&begun, &answer);
        assert_eq!(play.message(id).inbound.unwrap().outcome, outcome, "silent: {stays_silent}");
        assert!(play.conversation.waiting_since.is_some(), "silent: {stays_silent}");
        if stays_silent {
            is_answered_in(&mut play, "thanks, and two bowls");
        }
    }
}

#[test]
fn new_words_wait_where_the_answer_to_the_old_ones_comes_back() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("one bowl");
    let begun = play.begins();
    play.writes(&begun, "to one bowl");
    let (attempt, _) = play.claims_send();
    edits(&mut play, "IN1", "two bowls");
    play.settles(attempt, &Settled::Again(None, "refused the connection".to_owned()));
    assert_eq!(play.in_state(DeliveryState::Queued), ["to one bowl"]);
    assert_eq!(play.sends(), ["to one bowl"]);
    is_answered_in(&mut play, "two bowls");
}

/// What waits for originals that do not come is taken for what it says.
fn waits_for_originals(play: &mut Play) {
    let at = play.clocks.tend_at.expect("it is looked at again");
    play.now = play.now.max(at);
    let ids = play.step(|docket, _| inbox::edits_of_unseen(docket));
    let need = Need { keys: ids.clone(), ..Need::itself() };
    play.step_with(&need, |docket, policy| inbox::admit_edited(docket, policy, &ids));
}

#[test]
fn an_edit_of_a_message_that_never_comes_is_a_message() {
    let mut play = Play::new();
    edits(&mut play, "IN1", "two bowls");
    play.wait(1_000);
    edits(&mut play, "IN1", "three bowls");
    let edited_at = play.now;
    waits_for_originals(&mut play);
    let [message] = &play.messages[..] else { panic!("one message: {:?}", play.messages) };
    assert_eq!((message.text.as_str(), message.edited_at), ("three bowls", Some(edited_at)));
    assert_eq!(play.conversation.unread, 1);
    // Its original and its next edit find it.
    let original = play.arrival("IN1", "one bowl");
    play.step(|docket, policy| inbox::admit(docket, policy, &original));
    play.wait(1_000);
    edits(&mut play, "IN1", "four bowls");
    assert_eq!(play.messages.len(), 1);
    assert!(play.parked.is_empty() && play.clocks.tend_at.is_none());
    is_answered_in(&mut play, "four bowls");
}

#[test]
fn what_is_no_message_of_the_contacts_does_not_become_one() {
    // Deleted meanwhile.
    let mut play = Play::new();
    edits(&mut play, "IN1", "two bowls");
    let chat = play.conversation.chat.clone();
    let deletion = Amendment { chat, of: "IN1".into(), text: String::new(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &deletion, true));
    waits_for_originals(&mut play);
    assert!(play.messages.is_empty() && play.clocks.tend_at.is_none());

    // Ours.
    let mut play = Play::new();
    play.exchange("m1", "It costs 50.");
    let ours = play.messages[1].provider_message_id.clone().unwrap();
    edits(&mut play, &ours, "It costs 5.");
    assert!(play.parked.is_empty() && play.messages[1].text == "It costs 50.");

    // Said to others in a group, whose original has come.
    let mut play = Play::new();
    play.conversation.chat = ChatId::parse("120363000000000001@g.us").expect("a group");
    has_other_words(&mut play, "IN1", "100 cakes", "6580000001@c.us");
    let sender = Some(Sender { id: "6580000001@c.us".to_owned(), name: "Ana".to_owned() });
    let arrival = Arrival { sender, ..play.arrival("IN1", "1 cake") };
    play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    waits_for_originals(&mut play);
    assert_eq!(play.messages.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["100 cakes"]);
}

#[test]
fn what_is_edited_or_deleted_unseen_is_a_sign_of_life_once() {
    for is_deletion in [false, true] {
        let mut play = Play::new();
        play.exchange("m1", "Hello!");
        assert!(play.schedules("Still there?", 5_000));
        let text = if is_deletion { String::new() } else { "two bowls".to_owned() };
        let chat = play.conversation.chat.clone();
        let amendment = Amendment { chat, of: "BEFORE".into(), text, at: Some(play.now), by: None };
        let amends = |play: &mut Play| {
            play.step(|docket, policy| inbox::amend(docket, policy, &amendment, is_deletion));
            play.pending_follow_ups()
        };
        assert_eq!(amends(&mut play), 0, "a deletion: {is_deletion}");
        assert!(play.schedules("Still there?", 5_000));
        assert_eq!(amends(&mut play), 1, "it is reported again; a deletion: {is_deletion}");
        assert_eq!(play.parked.iter().filter(|it| it.provider_message_id == "BEFORE").count(), 1);
    }
}

#[test]
fn conversations_do_not_merge_while_an_edit_waits_for_its_original() {
    let mut play = Play::new();
    edits(&mut play, "IN1", "two bowls");
    assert!(!play.step(|docket, _| docket.is_at_rest()));
}

#[test]
fn what_was_a_wish_and_is_edited_to_a_question_is_answered() {
    let mut play = Play::new();
    let id = play.says("Stop");
    assert!(play.conversation.opted_out);
    edits(&mut play, "IN1", "Stop by tomorrow at 5, are you open?");
    assert!(!play.conversation.opted_out);
    assert!(play.conversation.waiting_since.is_some());
    assert_eq!(play.begins().burst.iter().map(|it| it.id).collect::<Vec<_>>(), [id]);

    // Also where words of ours have confirmed it; and the wish of another message stays.
    for (second, opted_out) in [("Are you open?", false), ("stop", true)] {
        let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
        play.says("Stop");
        play.sends();
        play.says(second);
        let of = play.messages[if opted_out { 2 } else { 0 }].provider_message_id.clone().unwrap();
        edits(&mut play, &of, "Stop by tomorrow at 5?");
        assert_eq!(play.conversation.opted_out, opted_out, "{second}");
        assert!(play.begins().burst.iter().any(|it| it.text == "Stop by tomorrow at 5?"), "{second}");
    }
}

#[test]
fn a_wish_is_taken_back_also_where_people_answer_and_before_it_has_come() {
    let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
    play.switches(Mode::Human);
    let id = play.says("Stop");
    assert!(play.conversation.opted_out);
    edits(&mut play, "IN1", "Stop by at 5?");
    assert!(!play.conversation.opted_out);
    assert_eq!(play.message(id).inbound.unwrap().outcome, Outcome::LeftToHuman);

    let mut play = Play::by(|policy| policy.opt_out_text = Some("You hear no more.".into()));
    edits(&mut play, "IN1", "Stop by at 5?");
    play.says("Stop");
    assert_eq!((play.sends(), play.conversation.opted_out), (vec![], false));
    assert_eq!(play.begins().burst[0].text, "Stop by at 5?");
    let mut play = Play::new();
    edits(&mut play, "IN1", "stop");
    play.says("stpo");
    assert!(play.conversation.opted_out);
    assert_eq!(play.claim(), Claim::Nothing);
}

#[test]
fn what_is_edited_in_a_conversation_that_goes_on_elsewhere_changes_nothing_but_the_message() {
    for (written, edited) in [("Stop", "Stop by at 5?"), ("Hm", "human")] {
        let mut play = Play::by(|policy| policy.handover_words = vec!["human".into()]);
        let id = play.says(written);
        let stays = uuid::Uuid::now_v7();
        play.step(|docket, policy| {
            conversations::close(docket, policy, "system");
            docket.conversation.memo.merged_into = Some(stays);
        });
        let before = play.message(id).inbound;
        let amended = edits(&mut play, "IN1", edited).expect("it goes on elsewhere");
        assert_eq!(amended.stays, stays);
        let mut other = Play::new();
        other.step(|docket, policy| inbox::learn_of_amendment(docket, policy, &amended));
        let called_for = other.conversation.attention.map(|attention| attention.reason);
        assert_eq!(called_for, Some(AttentionReason::Unanswered), "a person sees it there");
        assert_eq!(play.message(id).text, edited);
        let conversation = &play.conversation;
        assert_eq!((play.message(id).inbound, conversation.status), (before, Status::Closed));
        assert_eq!((conversation.mode.mode, conversation.attention), (Mode::Ai, None));
    }
}

#[test]
fn what_is_edited_to_a_wish_is_one() {
    let mut play = Play::by(|policy| policy.handover_words = vec!["human".into()]);
    play.says("humna");
    let begun = play.begins();
    edits(&mut play, "IN1", "human");
    assert_eq!(
        (play.conversation.mode.mode, play.conversation.mode.reason),
        (Mode::Human, Reason::ContactAsked)
    );
    assert!(matches!(play.writes(&begun, "Humna?"), TurnEnd::Discarded(_)));

    let mut play = Play::new();
    let id = play.says("stpo");
    let begun = play.begins();
    edits(&mut play, "IN1", "stop");
    assert!(play.conversation.opted_out);
    let inbound = play.message(id).inbound.unwrap();
    assert_eq!((inbound.outcome, inbound.reason), (Outcome::Ignored, Some(OutcomeReason::OptedOut)));
    assert!(matches!(play.writes(&begun, "Stpo?"), TurnEnd::Discarded(_)));
    assert_eq!(play.claim(), Claim::Nothing);
    assert_eq!(play.conversation.waiting_since, None);
}

#[test]
fn what_waits_is_edited_to_a_wish_also_where_an_answer_to_others_came_after_it() {
    for by in [Mode::Ai, Mode::Human] {
        for (written, wish) in [("humna", "human"), ("stpo", "stop")] {
            let mut play = Play::by(|policy| {
                policy.burst = BurstPolicy::Queue;
                policy.handover_words = vec!["human".into()];
            });
            play.says("m1");
            let begun = play.begins();
            play.wait(1_000);
            play.says(written);
            play.writes(&begun, "to m1");
            play.sends();
            if by == Mode::Human {
                play.switches(by);
            }
            edits(&mut play, "IN2", wish);
            assert_eq!(play.conversation.opted_out, wish == "stop", "{wish} {by:?}");
            let is_called = play.conversation.attention.is_some();
            assert_eq!(is_called, wish == "human", "{wish} {by:?}");
            assert_eq!(play.claim(), Claim::Nothing, "{wish} {by:?}");
        }
    }
}

#[test]
fn an_edit_without_words_leaves_a_text_as_it_was() {
    let mut play = Play::new();
    play.says("Do you deliver?");
    edits(&mut play, "IN1", "");
    assert_eq!(play.begins().burst[0].text, "Do you deliver?");
}

#[test]
fn who_deletes_what_they_waited_with_waits_no_more_for_a_person() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("m1");
    play.says("m2");
    let delete = |play: &mut Play, of: &str| {
        let chat = play.conversation.chat.clone();
        let amendment = Amendment { chat, of: of.into(), text: String::new(), at: None, by: None };
        play.step_with(&Need { newest: 9, ..Need::default() }, |docket, policy| {
            inbox::amend(docket, policy, &amendment, true);
        });
    };
    delete(&mut play, "IN2");
    assert!(play.conversation.waiting_since.is_some(), "for the other");
    delete(&mut play, "IN1");
    assert_eq!((play.conversation.waiting_since, play.conversation.memo.overdue_at), (None, None));
}

#[test]
fn who_deletes_what_was_answered_still_waits_with_what_came_while_that_was_written() {
    let mut play = Play::by(|policy| policy.burst = BurstPolicy::Collect);
    play.says("m1");
    let begun = play.begins();
    play.wait(1_000);
    play.says("m2");
    play.writes(&begun, "to m1");
    play.sends();
    play.switches(Mode::Human);
    let delete = |play: &mut Play, of: &str| {
        let chat = play.conversation.chat.clone();
        let amendment = Amendment { chat, of: of.into(), text: String::new(), at: None, by: None };
        play.step_with(&Need { newest: 9, ..Need::default() }, |docket, policy| {
            inbox::amend(docket, policy, &amendment, true);
        });
    };
    delete(&mut play, "IN1");
    assert!(play.conversation.waiting_since.is_some() && play.conversation.memo.overdue_at.is_some());
    delete(&mut play, "IN2");
    assert_eq!((play.conversation.waiting_since, play.conversation.memo.overdue_at), (None, None));
}

#[test]
fn what_our_side_edits_or_deletes_there_is_changed_here_and_takes_nothing_over() {
    let mut play = Play::new();
    play.exchange("m1", "It costs 50.");
    let ours = play.messages[1].provider_message_id.clone().unwrap();
    let change = |play: &mut Play, text: &str, is_deletion| {
        let chat = play.conversation.chat.clone();
        let amendment = Amendment { chat, of: ours.clone(), text: text.into(), at: Some(play.now), by: None };
        play.step(|docket, _| reconcile::take_amendment(docket, &amendment, is_deletion, Copy::Phone))
    };
    for (text, is_deletion) in [("It costs 500.", false), ("", true), ("", true)] {
        assert!(matches!(change(&mut play, text, is_deletion), Matched::Ours(_)));
    }
    assert_eq!(play.messages[1].text, "It costs 500.");
    assert!(play.messages[1].deleted_at.is_some());
    assert_eq!((play.happened(EventType::MessageEdited), play.happened(EventType::MessageDeleted)), (1, 1));
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    let chat = play.conversation.chat.clone();
    let of_contact = Amendment { chat, of: "IN1".into(), text: "m0".into(), at: None, by: None };
    let matched = play.step(|docket, _| reconcile::take_amendment(docket, &of_contact, false, Copy::Phone));
    assert_eq!(matched, Matched::Nothing, "what the contact wrote is theirs");
}

#[test]
fn what_is_edited_in_a_conversation_that_goes_on_elsewhere_is_a_sign_of_life_there() {
    for (edited, opted_out) in [("Show me houses", false), ("stop", true), ("", false)] {
        let (mut goes, mut stays) = (Play::new(), Play::new());
        goes.exchange("Show me condos", "Two condos.");
        goes.step(|docket, _| docket.conversation.memo.merged_into = Some(uuid::Uuid::now_v7()));
        stays.exchange("Hi", "Hello!");
        assert!(stays.schedules("Still there?", 5_000));
        for play in [&mut goes, &mut stays] {
            play.wait(1_000);
        }
        let chat = goes.conversation.chat.clone();
        let amendment =
            Amendment { chat, of: "IN1".into(), text: edited.into(), at: Some(goes.now), by: None };
        let need = Need { keys: vec!["IN1".to_owned()], ..Need::default() };
        for again in [false, true] {
            let amended = goes.step_with(&need, |docket, policy| {
                inbox::amend(docket, policy, &amendment, edited.is_empty()).expect("it goes on elsewhere")
            });
            stays.step(|docket, policy| inbox::learn_of_amendment(docket, policy, &amended));
            let pending = stays.pending_follow_ups();
            assert_eq!(pending, usize::from(again && !opted_out), "{edited:?}, again: {again}");
            assert_eq!(stays.conversation.opted_out, opted_out, "{edited:?}");
            assert_eq!(stays.conversation.attention, None, "it was answered");
            stays.wait(1_000);
            assert_eq!(stays.schedules("Still there?", 5_000), !opted_out);
            goes.wait(1_000);
        }
    }
}
