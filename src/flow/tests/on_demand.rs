//! A person wants an answer now, to everything since our side last spoke.

use crate::{
    domain::{message::Outcome, mode::Mode, policy::BurstPolicy},
    flow::{conversations, inbox, play::Play, reply::TurnEnd},
};

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
fn answer_now_is_one_answer_also_where_one_to_the_rest_is_written_or_owed() {
    for (policy, is_owed) in [BurstPolicy::Interrupt, BurstPolicy::Collect, BurstPolicy::Queue]
        .into_iter()
        .flat_map(|burst| [(burst, false), (burst, true)])
    {
        let mut play = Play::by(|rules| rules.burst = policy);
        play.switches(Mode::Human);
        play.says("m1");
        play.switches(Mode::Ai);
        play.says("m2");
        let begun = play.begins();
        assert_eq!(begun.burst.len(), 1);
        if is_owed {
            play.writes(&begun, "to m2");
        }
        assert!(play.step(|docket, _| inbox::answer_now(docket)), "{policy:?}");
        if !is_owed {
            play.writes(&begun, "to m2");
        }
        let again = play.begins();
        assert_eq!(again.burst.len(), 2, "{policy:?}, {is_owed}");
        play.writes(&again, "to both");
        assert_eq!(play.sends(), ["to both"], "{policy:?}, {is_owed}");
    }
}

#[test]
fn answer_now_takes_what_only_batons_own_words_have_followed() {
    let mut play = Play::by(|policy| {
        policy.ai_attempts = 1;
        policy.fallback_text = Some("A colleague comes.".into());
    });
    play.exchange("m0", "a0");
    play.says("m1");
    let begun = play.begins();
    assert_eq!(play.fails(&begun), TurnEnd::GivenUp);
    assert_eq!(play.sends(), ["A colleague comes."]);
    assert!(play.step(|docket, _| inbox::answer_now(docket)));
    let burst = play.begins().burst;
    assert_eq!(burst.iter().map(|message| message.text.as_str()).collect::<Vec<_>>(), ["m1"]);
}

#[test]
fn answer_now_takes_what_the_model_gave_up_on_also_when_closed() {
    let mut play = Play::by(|policy| policy.ai_attempts = 1);
    play.says("m1");
    let begun = play.begins();
    assert_eq!(play.fails(&begun), TurnEnd::GivenUp);
    play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
    assert!(play.step(|docket, _| inbox::answer_now(docket)));
    assert_eq!(play.begins().burst.len(), 1);
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
