//! One person under two ids.

use super::ana;
use crate::{
    domain::{
        chat::ChatId,
        message::{DeliveryReason, DeliveryState},
        mode::Mode,
    },
    flow::{
        agenda::heard_elsewhere,
        desk::{Idempotency, NewMessage, messages},
        inbox, merge,
        mode_switch::{self, Request},
        outbox::Settled,
        play::Play,
        provider::Arrival,
        reconcile::Copy,
    },
};

#[test]
fn the_other_id_of_a_person_is_asked_for_once_where_a_person_acts_or_a_hidden_one_begins() {
    type Deed = fn(&mut Play);
    let deeds: [(&str, Deed); 4] = [
        ("on the phone", |play| {
            let id = format!("P{}", play.messages.len());
            play.copy(&id, "Let me look.", Copy::Phone);
        }),
        ("from the dashboard", |play| {
            let words = [NewMessage::of("Let me look.")];
            let once = Idempotency::of_its_own();
            play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &once)).unwrap();
        }),
        ("by taking over", |play| {
            let request = Request::by(ana());
            let take_over =
                |docket: &mut _, policy: &_| mode_switch::apply(docket, policy, Mode::Human, &request);
            play.step(take_over).unwrap();
        }),
        ("a note, where nobody has written", |play| {
            play.step(|docket, _| messages::keep_note(docket, "Call her.", &ana()));
        }),
    ];
    for (name, deed) in deeds {
        let mut play = Play::new();
        if !name.starts_with("a note") {
            play.says("m1");
            assert_eq!(play.conversation.memo.other_id_at, None, "an ordinary number");
        }
        deed(&mut play);
        assert_eq!(play.clocks.tend_at, Some(play.now), "{name}");
        play.step(|docket, _| docket.conversation.memo.other_id_at = None);
        deed(&mut play);
        assert_eq!(play.conversation.memo.other_id_at, None, "{name}: once");
    }
    for (chat, alias, is_asked) in [
        ("100000000000001@lid", None, true),
        ("100000000000001@lid", Some("6580000001@c.us"), false),
        ("120363000000000001@g.us", None, false),
    ] {
        let mut play = Play::new();
        play.conversation.chat = ChatId::parse(chat).unwrap();
        let arrival = Arrival { alias: alias.and_then(ChatId::parse), ..play.arrival("IN1", "Hi") };
        play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
        assert_eq!(play.conversation.memo.other_id_at.is_some(), is_asked, "{chat} {alias:?}");
    }
    // However long it takes to say, for a day.
    let mut play = Play::new();
    play.says("m1");
    let began = play.now;
    play.step(|docket, _| merge::ask_again(docket));
    while let Some(next) = play.conversation.memo.other_id_at {
        let wait_ms = next - play.now.0;
        assert!((30_000..=600_000).contains(&wait_ms), "{wait_ms}");
        play.wait(wait_ms);
        play.step(|docket, _| merge::ask_again(docket));
    }
    assert!((86_400_000..87_000_000).contains(&play.now.since(began)));
}

#[test]
fn whom_we_hear_elsewhere_is_chased_no_more_by_what_was_there_before() {
    for (later_ms, is_pending) in [(-1, true), (0, false), (1_000, false)] {
        let mut play = Play::new();
        play.exchange("Show me condos", "Two condos.");
        play.wait(1_000);
        assert!(play.schedules("Still there?", 5_000));
        let at = play.now.plus_ms(later_ms);
        play.wait(2_000);
        play.step(|docket, _| heard_elsewhere(docket, at));
        assert_eq!(play.pending_follow_ups() == 1, is_pending, "{later_ms}");
        assert_eq!(play.conversation.memo.follow_ups_sent, 0);
        // Told once more, it says nothing of what was scheduled since.
        if !is_pending {
            assert!(play.schedules("Still there?", 5_000));
            play.step(|docket, _| heard_elsewhere(docket, at));
            assert_eq!(play.pending_follow_ups(), 1);
        }
    }
    for is_leaving in [false, true] {
        let mut play = Play::new();
        play.exchange("Show me condos", "Two condos.");
        assert!(play.schedules("Still there?", 5_000));
        play.wait(5_000);
        play.fires();
        let attempt = is_leaving.then(|| play.claims_send().0);
        play.wait(1_000);
        let at = play.now;
        play.step(|docket, _| heard_elsewhere(docket, at));
        if let Some(attempt) = attempt {
            play.settles(attempt, &Settled::Again(None, "refused the connection".to_owned()));
        }
        assert!(play.sends().is_empty(), "{is_leaving}");
        let withdrawn = play.messages.iter().find(|message| message.text == "Still there?").unwrap();
        let delivery = withdrawn.delivery.as_ref().unwrap();
        assert_eq!(
            (delivery.state, delivery.reason),
            (DeliveryState::Cancelled, Some(DeliveryReason::Superseded)),
            "{is_leaving}"
        );
    }
}

#[test]
fn a_takeover_of_which_the_other_one_does_not_know_is_not_settled() {
    let mut play = Play::new();
    play.exchange("Show me condos", "Two condos.");
    play.conversation.memo.merged.push(uuid::Uuid::now_v7());
    let receipt = |play: &mut Play, to| {
        let request = Request::by(ana());
        play.step(|docket, policy| mode_switch::apply(docket, policy, to, &request)).unwrap()
    };
    assert!(!receipt(&mut play, Mode::Human).settled, "the assistant may still write there");
    play.conversation.memo.is_untold = false;
    assert!(receipt(&mut play, Mode::Human).settled);
    assert!(receipt(&mut play, Mode::Ai).settled, "whoever gives back waits for nobody");
}
