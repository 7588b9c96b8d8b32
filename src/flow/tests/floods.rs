//! More messages than anybody reads.

use crate::{
    domain::{
        conversation::AttentionReason,
        event::EventType,
        message::{Outcome, OutcomeReason},
        mode::Mode,
        policy::BurstPolicy,
    },
    flow::{inbox::Claim, play::Play, reply::TurnEnd},
};

#[test]
fn a_flood_is_answered_together_and_at_most_once_a_minute_until_it_is_quiet() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let mut begun_at = Vec::new();
    for n in 0..360 {
        play.wait(500);
        play.says(&format!("text {n}"));
        if let Claim::Begun(begun) = play.claim() {
            begun_at.push(begun.at);
            play.writes(&begun, "answer");
            play.sends();
        }
    }
    let is_apart = |pair: &[crate::domain::time::Time]| pair[1].since(pair[0]) >= 60_000;
    let apart = begun_at.windows(2).filter(|pair| is_apart(pair)).count();
    assert!(begun_at.len() <= 5 && apart >= 2, "turns at {begun_at:?}");
    assert_eq!(play.happened(EventType::Flood), 1, "told once");

    play.wait(120_000);
    let last = play.begins();
    play.writes(&last, "That was a lot.");
    play.sends();
    assert!(play.messages.iter().all(|message| !message.waits()), "nothing is left waiting");
    play.wait(60_000);
    play.says("one more");
    let at = play.now;
    assert_eq!(play.begins().at, at.plus_ms(1_000), "it is quiet: as ever");
}

#[test]
fn in_a_flood_only_as_many_wait_as_a_turn_reads_and_the_rest_is_left_to_people() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let ids: Vec<_> = (0..400)
        .map(|n| {
            play.wait(10);
            play.says(&format!("text {n}"))
        })
        .collect();
    let waiting = play.messages.iter().filter(|message| message.waits()).count();
    assert_eq!(waiting, 100);
    let first = play.message(ids[0]).inbound.unwrap();
    assert_eq!((first.outcome, first.reason), (Outcome::HandedOver, Some(OutcomeReason::Flood)));
    assert_eq!(play.conversation.attention.unwrap().reason, AttentionReason::Unanswered);
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
    assert_eq!(play.conversation.unread, 400, "all of them are there to be read");

    let begun = play.begins();
    assert_eq!(begun.burst.iter().map(|message| message.id).collect::<Vec<_>>(), ids[300..]);
    play.says("and this");
    assert_eq!(play.writes(&begun, "Slowly, please."), TurnEnd::Owed, "a flood restarts nothing");
    assert_eq!(play.sends(), ["Slowly, please."]);
    assert!(ids[300..].iter().all(|id| play.message(*id).inbound.unwrap().outcome == Outcome::Answered));
    assert_eq!(play.conversation.attention, None, "the newest are answered, with the others in sight");
}

#[test]
fn what_a_running_turn_has_read_is_not_taken_from_it_by_a_flood() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 20);
    let first = play.says("Hello");
    let begun = play.begins();
    play.wait(60_000 - 1_000);
    play.policy.burst = BurstPolicy::Collect;
    (0..300).for_each(|n| {
        play.says(&format!("text {n}"));
    });
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::Pending);
    assert_eq!(play.messages.iter().filter(|message| message.waits()).count(), 101);
    assert_eq!(play.writes(&begun, "Hi!"), TurnEnd::Owed);
    assert_eq!(play.sends(), ["Hi!"]);
    assert_eq!(play.message(first).inbound.unwrap().outcome, Outcome::Answered);
}

#[test]
fn without_a_limit_there_is_no_flood() {
    let mut play = Play::by(|policy| policy.flood_per_minute = 0);
    (0..300).for_each(|n| {
        play.says(&format!("text {n}"));
    });
    assert_eq!(play.happened(EventType::Flood), 0);
    assert_eq!(
        play.messages.iter().filter(|message| message.waits()).count(),
        300,
        "each waits for its turn"
    );
}
