//! One person under two ids.

use super::ana;
use crate::{
    domain::chat::ChatId,
    flow::{
        desk::{Idempotency, Words, words},
        inbox, merge,
        play::Play,
        provider::Arrival,
        reconcile::Copy,
    },
};

#[test]
fn the_other_id_of_a_person_is_asked_for_once_where_a_person_writes_or_a_hidden_one_begins() {
    type Deed = fn(&mut Play);
    let deeds: [(&str, Deed); 3] = [
        ("on the phone", |play| {
            let id = format!("P{}", play.messages.len());
            play.copy(&id, "Let me look.", Copy::Phone);
        }),
        ("from the dashboard", |play| {
            let words = [Words::of("Let me look.")];
            let once = Idempotency::of_its_own();
            play.step(|docket, policy| words::say(docket, policy, &words, &ana(), &once)).unwrap();
        }),
        ("a note, where nobody has written", |play| {
            play.step(|docket, _| words::keep_note(docket, "Call her.", &ana()));
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
