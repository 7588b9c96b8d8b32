//! What the business is told to do: once, as the reply that speaks of it begins to leave, and never of one that does not.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    domain::{event::EventType as E, message::DeliveryState as S, mode::Mode, tool::Errand},
    flow::{
        agenda::NewFollowUp,
        generator::tools::Asking,
        inbox::{self, Begun},
        outbox::{self, Claim, Settled},
        play::Play,
        provider::Amendment,
        reply::{Answer, TurnEnd},
    },
};

fn asking(table: &str) -> Asking {
    let arguments = json!({ "table": table }).as_object().cloned().unwrap();
    Asking { tool: "book".to_owned(), arguments }
}

/// It says this, and has a table booked.
fn books(text: &str, table: &str) -> Answer {
    Answer { text: text.to_owned(), errands: vec![asking(table)], ..Answer::default() }
}

/// A reply is owed that speaks of a table.
fn owed(play: &mut Play) -> Begun {
    play.says("A table, please");
    let begun = play.begins();
    assert_eq!(play.commits(&begun, &books("It is booked.", "7")), TurnEnd::Owed);
    begun
}

/// What the business was told: by which turn, and of which table.
fn told(play: &Play) -> Vec<(Uuid, Value)> {
    let events = play.events.iter().filter(|event| event.kind == E::ToolCalled);
    events.map(|event| (event.turn.unwrap(), event.details["arguments"]["table"].clone())).collect()
}

#[test]
fn the_business_is_told_as_the_reply_begins_to_leave_and_once() {
    let mut play = Play::by(|policy| (policy.split_chars, policy.split_parts) = (10, 4));
    play.says("A table, please");
    let begun = play.begins();
    play.commits(&begun, &books("It is booked.\n\nUntil tomorrow.", "7"));
    assert_eq!(told(&play), []);
    let kept = Errand { turn: begun.turn.id, tool: "book".into(), arguments: asking("7").arguments };
    assert_eq!(play.conversation.memo.errands, [kept]);
    assert_eq!(play.sends().len(), 2);
    assert_eq!(told(&play), [(begun.turn.id, json!("7"))]);
    let event = play.events.iter().find(|event| event.kind == E::ToolCalled).unwrap();
    assert_eq!((event.actor.as_str(), &event.details["tool"]), ("assistant", &json!("book")));
    assert_eq!(play.conversation.memo.errands, []);
    // Its commit again, after an answer that was lost.
    play.commits(&begun, &books("It is booked.", "7"));
    play.sends();
    assert_eq!(told(&play).len(), 1);
}

#[test]
fn what_may_leave_at_once_is_told_in_the_transaction_of_its_commit() {
    let mut play = Play::new();
    play.says("A table, please");
    let begun = play.begins();
    play.step(|docket, policy| {
        crate::flow::reply::commit(docket, policy, &begun, &books("It is booked.", "7"), 0.5);
        assert!(outbox::claim_at_once(docket, policy, Uuid::now_v7()).is_some());
    });
    assert_eq!(told(&play), [(begun.turn.id, json!("7"))]);
}

#[test]
fn of_a_reply_that_a_newer_message_withdraws_nothing_is_told() {
    let mut play = Play::new();
    owed(&mut play);
    play.says("For four");
    assert_eq!((play.in_state(S::Cancelled), told(&play)), (vec!["It is booked."], vec![]));
    let again = play.begins();
    play.commits(&again, &books("For four, then.", "8"));
    assert_eq!(play.sends(), ["For four, then."]);
    assert_eq!(told(&play), [(again.turn.id, json!("8"))]);
}

#[test]
fn of_a_reply_that_a_takeover_stops_nothing_is_told() {
    for before_its_commit in [true, false] {
        let mut play = Play::new();
        play.says("A table, please");
        let begun = play.begins();
        if before_its_commit {
            play.switches(Mode::Human);
        }
        let committed = play.commits(&begun, &books("It is booked.", "7"));
        assert_eq!(matches!(committed, TurnEnd::Discarded(_)), before_its_commit);
        play.switches(Mode::Human);
        play.switches(Mode::Ai);
        assert_eq!((play.sends(), told(&play)), (vec![], vec![]));
        assert_eq!(play.conversation.memo.errands, []);
    }
}

/// The business has booked: a second reply would have it book once more.
#[test]
fn a_reply_whose_errands_are_told_is_not_written_anew_for_a_newer_message() {
    for settled in [Settled::Again(None, "refused".into()), Settled::Untried] {
        let mut play = Play::new();
        let begun = owed(&mut play);
        let (attempt, claim) = play.claims_send();
        assert!(matches!(claim, Claim::Claimed(_)));
        play.says("For four");
        play.settles(attempt, &settled);
        assert_eq!((play.in_state(S::Queued), play.happened(E::TurnSuperseded)), (vec!["It is booked."], 0));
        assert_eq!(play.sends(), ["It is booked."]);
        let other = play.begins();
        assert_eq!(other.burst.len(), 1, "the newer message is answered by itself");
        play.commits(&other, &books("For four, then.", "8"));
        play.sends();
        assert_eq!(told(&play), [(begun.turn.id, json!("7")), (other.turn.id, json!("8"))]);
    }
}

#[test]
fn who_says_nothing_or_hands_over_has_errands_too() {
    let stays_silent = Answer { stay_silent: Some("thanks".into()), ..books("", "7") };
    let hands_over = Answer { hand_over: Some("asked".into()), ..books("", "7") };
    for answer in [stays_silent, hands_over] {
        let mut play = Play::new();
        play.says("A table, please");
        let begun = play.begins();
        assert_eq!(play.commits(&begun, &answer), TurnEnd::Silent);
        assert_eq!(told(&play), [(begun.turn.id, json!("7"))], "there are no words to wait for");
    }
    let mut play = Play::new();
    play.says("A table, please");
    let begun = play.begins();
    play.commits(&begun, &Answer { hand_over: Some("asked".into()), ..books("A colleague comes.", "7") });
    assert_eq!(told(&play), []);
    play.sends();
    assert_eq!(told(&play), [(begun.turn.id, json!("7"))]);
}

#[test]
fn what_was_asked_on_the_way_is_told_by_its_name() {
    let mut play = Play::new();
    play.says("Where is my order?");
    let begun = play.begins();
    let looked_up = vec!["order_status".to_owned()];
    play.commits(&begun, &Answer { text: "On its way.".into(), looked_up, ..Answer::default() });
    let completed = play.events.iter().find(|event| event.kind == E::TurnCompleted).unwrap();
    assert_eq!(completed.details["looked_up"], json!(["order_status"]));
}

#[test]
fn that_an_answer_ends_at_the_servers_limit_is_told() {
    for is_cut in [true, false] {
        let mut play = Play::new();
        play.says("When are you open?");
        let begun = play.begins();
        play.commits(&begun, &Answer { text: "From Monday to Fri".into(), is_cut, ..Answer::default() });
        assert_eq!(play.sends(), ["From Monday to Fri"]);
        let completed = play.events.iter().find(|event| event.kind == E::TurnCompleted).unwrap();
        assert_eq!(completed.details.get("cut"), is_cut.then_some(&json!("length")));
    }
}

#[test]
fn what_a_reply_has_scheduled_goes_with_it() {
    let mut play = Play::by(|policy| policy.typing_ms_per_char = 100);
    play.policy.typing_max_ms = 10_000;
    play.says("Remind me tomorrow");
    let begun = play.begins();
    let new = NewFollowUp {
        delay_ms: Some(60_000),
        text: Some("You asked me to.".into()),
        ..NewFollowUp::default()
    };
    let answer = Answer { text: "I will.".into(), follow_up: Some(new), ..Answer::default() };
    assert_eq!(play.commits(&begun, &answer), TurnEnd::Owed);
    assert_eq!(play.pending_follow_ups(), 1);
    let chat = play.conversation.chat.clone();
    let edit = Amendment { chat, of: "IN1".into(), text: "Forget it, thanks".into(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &edit, false));
    assert_eq!((play.in_state(S::Cancelled), play.pending_follow_ups()), (vec!["I will."], 0));
}
