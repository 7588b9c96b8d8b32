//! What was given up is tried again, and nothing is answered twice by that.

use uuid::Uuid;

use super::{ana, begun_reply};
use crate::{
    domain::{
        chat::ChatId,
        message::{DeliveryReason, DeliveryState as S},
        policy::BurstPolicy,
        turn::{LetterKind, LetterState},
    },
    flow::{
        desk::{Refusal, letters, resolve_send},
        inbox,
        outbox::Settled,
        play::Play,
    },
};

/// Each burst policy, and whether the newer answer is owed already or still being written.
fn ways() -> impl Iterator<Item = (BurstPolicy, bool)> {
    let policies = [BurstPolicy::Interrupt, BurstPolicy::Collect, BurstPolicy::Queue];
    policies.into_iter().flat_map(|burst| [(burst, false), (burst, true)])
}

/// The model has given up on the first message; the letter about it.
fn given_up(burst: BurstPolicy) -> (Play, Uuid) {
    let mut play = Play::by(|policy| (policy.burst, policy.ai_attempts) = (burst, 1));
    play.says("m1");
    let begun = play.begins();
    play.fails(&begun);
    let letter = play.letters[0].id;
    (play, letter)
}

/// The gateway has refused the answer to the first message; the letter about it, and the message.
fn refused(burst: BurstPolicy) -> (Play, Uuid, Uuid) {
    let mut play = Play::by(|policy| policy.burst = burst);
    play.says("m1");
    let begun = play.begins();
    play.writes(&begun, "to m1");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Refused(DeliveryReason::Refused, "status 400".into()));
    let letter = play.letters[0].clone();
    assert_eq!(letter.kind, LetterKind::Send);
    (play, letter.id, letter.subject.unwrap())
}

fn replays(play: &mut Play, letter: Uuid, force: bool) -> Result<(), Refusal> {
    play.step(|docket, policy| letters::replay(docket, policy, letter, force, &ana())).map(drop)
}

/// Without force; the letter stays.
fn is_overtaken(play: &mut Play, letter: Uuid) -> bool {
    let refused = replays(play, letter, false);
    let is_open = play.letters.iter().any(|it| it.id == letter && it.state == LetterState::Open);
    matches!(refused, Err(Refusal::Overtaken(_))) && is_open
}

/// By a newer answer, to the contact's next message or wanted by a person: while it is written or owed, whichever comes first.
fn is_overtaken_by_the_answer(play: &mut Play, letter: Uuid, is_owed: bool, by_a_person: bool, told: &str) {
    if by_a_person {
        assert!(play.step(|docket, _| inbox::answer_now(docket)));
    } else {
        play.says("m2");
    }
    let begun = play.begins();
    if is_owed {
        play.writes(&begun, "the answer");
    }
    assert!(is_overtaken(play, letter), "{told}");
    if !is_owed {
        play.writes(&begun, "the answer");
    }
    assert_eq!(play.sends(), ["the answer"], "{told}");
}

#[test]
fn a_letter_is_overtaken_by_a_newer_answer_that_is_written_or_owed() {
    for (burst, is_owed) in ways() {
        for by_a_person in [false, true] {
            let told = format!("{burst:?}, owed: {is_owed}, asked for by a person: {by_a_person}");
            let (mut play, letter) = given_up(burst);
            is_overtaken_by_the_answer(&mut play, letter, is_owed, by_a_person, &told);
            assert!(is_overtaken(&mut play, letter), "{told}, and it has left");
        }
    }
}

#[test]
fn by_force_a_letter_and_what_came_since_have_one_answer() {
    for (burst, is_owed) in ways() {
        let (mut play, letter) = given_up(burst);
        play.says("m2");
        let begun = play.begins();
        if is_owed {
            play.writes(&begun, "to m2");
        }
        replays(&mut play, letter, true).unwrap();
        if !is_owed {
            play.writes(&begun, "to m2");
        }
        let again = play.begins();
        let burst_read: Vec<_> = again.burst.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(burst_read, ["m1", "m2"], "{burst:?}, {is_owed}");
        play.writes(&again, "to both");
        assert_eq!(play.sends(), ["to both"], "{burst:?}, {is_owed}");
    }
}

#[test]
fn a_letter_is_tried_again_while_an_older_message_is_answered() {
    for is_owed in [false, true] {
        let mut play = Play::by(|policy| (policy.burst, policy.ai_attempts) = (BurstPolicy::Queue, 1));
        for question in ["m1", "m2"] {
            play.says(question);
            let begun = play.begins();
            play.fails(&begun);
        }
        let [first, second] = [0, 1].map(|at: usize| play.letters[at].id);
        replays(&mut play, first, false).unwrap();
        let begun = play.begins();
        if is_owed {
            play.writes(&begun, "to m1");
        }
        replays(&mut play, second, false).unwrap();
        if !is_owed {
            play.writes(&begun, "to m1");
        }
        let begun = play.begins();
        play.writes(&begun, "to m2");
        assert_eq!(play.sends(), ["to m1", "to m2"], "{is_owed}");
    }
}

#[test]
fn a_letter_about_a_send_is_overtaken_by_a_newer_answer_that_is_written_or_owed() {
    for (burst, is_owed) in ways() {
        for by_a_person in [false, true] {
            let told = format!("{burst:?}, owed: {is_owed}, asked for by a person: {by_a_person}");
            let (mut play, letter, _) = refused(burst);
            is_overtaken_by_the_answer(&mut play, letter, is_owed, by_a_person, &told);
        }
    }
}

#[test]
fn by_force_the_answer_that_was_not_sent_leaves_alone() {
    for (burst, is_owed) in ways() {
        let (mut play, letter, message) = refused(burst);
        assert!(play.step(|docket, _| inbox::answer_now(docket)));
        let begun = play.begins();
        if is_owed {
            play.writes(&begun, "once more to m1");
        }
        replays(&mut play, letter, true).unwrap();
        if !is_owed {
            play.writes(&begun, "once more to m1");
        }
        assert_eq!(play.sends(), ["to m1"], "{burst:?}, {is_owed}");
        assert!(play.message(message).is(S::Sent));
        assert_eq!((play.clocks.turn_at, play.conversation.waiting_since), (None, None));
    }
}

#[test]
fn by_force_the_answer_that_was_not_sent_goes_before_one_to_what_came_since() {
    for (burst, is_owed) in ways() {
        let (mut play, letter, _) = refused(burst);
        play.says("m2");
        let begun = play.begins();
        if is_owed {
            play.writes(&begun, "has not read it");
        }
        replays(&mut play, letter, true).unwrap();
        if !is_owed {
            play.writes(&begun, "has not read it");
        }
        assert_eq!(play.sends(), ["to m1"], "{burst:?}, {is_owed}");
        let again = play.begins();
        let burst_read: Vec<_> = again.burst.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(burst_read, ["m2"], "{burst:?}, {is_owed}");
        play.writes(&again, "has read it");
        assert_eq!(play.sends(), ["has read it"]);
    }
}

#[test]
fn an_answer_that_a_person_sends_again_overtakes_an_older_letter() {
    let (mut play, letter) = given_up(BurstPolicy::Collect);
    play.says("m2");
    let begun = play.begins();
    play.writes(&begun, "to m2");
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Refused(DeliveryReason::Refused, "status 400".into()));
    let reply = begun_reply(&play);
    play.step(|docket, policy| resolve_send::retry(docket, policy, reply, &ana())).unwrap();
    assert!(is_overtaken(&mut play, letter), "it waits to leave");
    assert_eq!(play.sends(), ["to m2"]);
}

#[test]
fn a_newer_message_withdraws_a_reply_also_once_a_later_letter_is_tried_again() {
    let (mut play, first) = given_up(BurstPolicy::Interrupt);
    play.says("m2");
    let begun = play.begins();
    play.fails(&begun);
    let second = play.letters[1].id;
    replays(&mut play, first, false).unwrap();
    let begun = play.begins();
    (play.policy.typing_ms_per_char, play.policy.typing_max_ms) = (1_000, 5_000);
    play.writes(&begun, "to m1");
    replays(&mut play, second, false).unwrap();
    play.says("m3");
    assert_eq!(play.in_state(S::Cancelled), ["to m1"], "it has not read the third");
    let reply = begun_reply(&play);
    assert_eq!(play.message(reply).delivery.as_ref().unwrap().reason, Some(DeliveryReason::Superseded));
    let burst: Vec<_> = play.begins().burst.into_iter().map(|message| message.text).collect();
    assert_eq!(burst, ["m1", "m2", "m3"]);
}

#[test]
fn what_failed_to_reach_a_story_is_not_tried_again() {
    let (mut play, letter, message) = refused(BurstPolicy::Interrupt);
    play.conversation.chat = ChatId::parse("status@broadcast").unwrap();
    for force in [false, true] {
        assert!(matches!(replays(&mut play, letter, force), Err(Refusal::Invalid { .. })), "{force}");
    }
    let retried = play.step(|docket, policy| resolve_send::retry(docket, policy, message, &ana()));
    assert!(matches!(retried, Err(Refusal::Invalid { .. })));
    assert!(play.sends().is_empty());
}
