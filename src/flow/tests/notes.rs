//! A word to the assistant, for one answer.

use super::ana;
use crate::{
    domain::{
        message::{DeliveryReason, DeliveryState as S},
        mode::Mode,
        policy::BurstPolicy,
    },
    flow::{
        agenda::{self, NewFollowUp},
        inbox,
        mode_switch::{self, Request},
        outbox::{self, Settled},
        play::Play,
        provider::Amendment,
    },
};

/// A conversation whose assistant takes its time to type, and a note that was left for it.
fn noted() -> Play {
    let mut play = Play::by(|policy| (policy.typing_ms_per_char, policy.typing_max_ms) = (100, 8_000));
    let request = Request { note: Some("give her 10 %".into()), ..Request::by(ana()) };
    play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Ai, &request)).unwrap();
    play
}

#[test]
fn a_note_that_is_left_while_a_turn_runs_is_for_the_next() {
    let mut play = Play::new();
    play.says("m1");
    let begun = play.begins();
    let request = Request { note: Some("give her 10 %".into()), ..Request::by(ana()) };
    play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Ai, &request)).unwrap();
    play.writes(&begun, "a1");
    play.sends();
    play.says("m2");
    let begun = play.begins();
    assert_eq!(begun.note.as_deref(), Some("give her 10 %"));
    play.writes(&begun, "a2");
    assert_eq!(play.conversation.memo.note, None, "once");
}

#[test]
fn a_note_is_read_again_by_the_answer_in_place_of_one_that_never_left() {
    for ends in ["a newer text", "an edit", "a send that fails", "a takeover"] {
        let mut play = noted();
        play.says("How much is the blue bowl?");
        let begun = play.begins();
        play.writes(&begun, "Nine dollars.");
        assert_eq!(play.in_state(S::Queued), ["Nine dollars."]);
        match ends {
            "a newer text" => {
                play.says("And the red one?");
            }
            "an edit" => {
                let chat = play.conversation.chat.clone();
                let edit =
                    Amendment { chat, of: "IN1".into(), text: "And the red one?".into(), at: None, by: None };
                play.step(|docket, policy| inbox::amend(docket, policy, &edit, false));
            }
            "a send that fails" => {
                play.wait(8_000);
                let (attempt, claim) = play.claims_send();
                assert!(matches!(claim, outbox::Claim::Claimed(_)));
                play.says("And the red one?");
                play.settles(attempt, &Settled::Again(None, "status 429".into()));
            }
            _ => {
                play.switches(Mode::Human);
                play.switches(Mode::Ai);
                play.says("And the red one?");
            }
        }
        let begun = play.begins();
        assert_eq!(begun.note.as_deref(), Some("give her 10 %"), "{ends}");
        play.writes(&begun, "Eighteen dollars.");
        assert_eq!(play.sends(), ["Eighteen dollars."], "{ends}");
        play.says("Thanks");
        assert_eq!(play.begins().note, None, "{ends}: once");
    }
}

#[test]
fn a_note_is_read_by_a_follow_up_or_by_an_answer_and_not_by_both() {
    for leaves in [true, false] {
        let mut play = Play::new();
        play.exchange("m1", "a1");
        let request = Request { note: Some("give her 10 %".into()), ..Request::by(ana()) };
        play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Ai, &request)).unwrap();
        let new = NewFollowUp {
            delay_ms: Some(1_000),
            instructions: Some("Ask.".into()),
            ..NewFollowUp::default()
        };
        play.step(|docket, policy| agenda::schedule(docket, policy, &new, "agent:ana"));
        play.wait(1_000);
        let agenda::Fired::Begun(begun) = play.fires() else { panic!("the assistant writes it") };
        assert_eq!(begun.note.as_deref(), Some("give her 10 %"));
        play.writes(&begun, "With 10 % off?");
        if leaves {
            play.sends();
        }
        play.says("Yes");
        let note = play.begins().note;
        assert_eq!(note.is_none(), leaves, "{note:?}");
    }
}

#[test]
fn a_note_that_was_read_is_not_read_again_while_its_answer_is_typed_nor_where_a_newer_one_is() {
    let mut play = noted();
    play.policy.burst = BurstPolicy::Queue;
    play.says("How much is the blue bowl?");
    let begun = play.begins();
    play.writes(&begun, "Nine dollars.");
    play.says("And the red one?");
    assert_eq!(play.begins().note, None, "it is for one answer");

    let mut play = noted();
    play.says("How much is the blue bowl?");
    let begun = play.begins();
    play.writes(&begun, "Nine dollars.");
    let request = Request { note: Some("no discount".into()), ..Request::by(ana()) };
    play.step(|docket, policy| mode_switch::apply(docket, policy, Mode::Ai, &request)).unwrap();
    play.says("And the red one?");
    assert_eq!(play.begins().note.as_deref(), Some("no discount"));
}

#[test]
fn a_note_is_read_again_after_an_answer_that_was_given_up_and_not_beside_one_that_may_have_left() {
    let mut play = noted();
    play.says("How much is the blue bowl?");
    let begun = play.begins();
    play.writes(&begun, "Nine dollars.");
    play.wait(8_000);
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Refused(DeliveryReason::Refused, "status 400".into()));
    play.says("Hello?");
    assert_eq!(play.begins().note.as_deref(), Some("give her 10 %"));

    let mut play = noted();
    play.policy.split_chars = 20;
    play.says("How much is the blue bowl?");
    let begun = play.begins();
    play.writes(&begun, "Nine dollars a piece.\n\nTen for two of them.");
    play.wait(8_000);
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Unclear("timed out".into()));
    play.says("Hello?");
    let begun = play.begins();
    assert_eq!(begun.note, None);
    play.writes(&begun, "Yes?");
    assert_eq!(play.in_state(S::Cancelled).len(), 1);
    play.sends();
    play.says("And the red one?");
    assert_eq!(play.begins().note, None);
}
