//! Follow-ups whose time has come and whose words have not left: people still see them as pending.

use crate::{
    domain::{
        event::{EventType, actor},
        message::{Author, DeliveryState as S, Gate},
        mode::Mode,
    },
    flow::{
        agenda::{self, NewFollowUp},
        desk::{Refusal, follow_ups},
        outbox::{self, Owed, Settled},
        play::Play,
    },
};

/// One that a person has scheduled is a message, and waits to leave.
fn one_waits(play: &mut Play) {
    play.exchange("m1", "a1");
    assert!(play.schedules("Still there?", 1_000));
    play.wait(1_000);
    play.fires();
    assert_eq!(play.in_state(S::Queued), ["Still there?"]);
}

fn calls_off(play: &mut Play) -> Result<(), Refusal> {
    play.step(|docket, policy| follow_ups::call_off(docket, Some(policy), "agent:ana"))
}

fn schedules(play: &mut Play, text: &str, by: &str) -> Option<bool> {
    let new = NewFollowUp { delay_ms: Some(1_000), text: Some(text.to_owned()), ..NewFollowUp::default() };
    let scheduled = play.step(|docket, policy| agenda::schedule(docket, policy, &new, by));
    scheduled.map(|(_, is_first)| is_first)
}

#[test]
fn one_that_waits_to_leave_is_called_off() {
    let mut play = Play::new();
    one_waits(&mut play);
    calls_off(&mut play).unwrap();
    assert_eq!(play.in_state(S::Cancelled), ["Still there?"]);
    assert_eq!(play.happened(EventType::FollowUpWithheld), 1);
    assert!(matches!(calls_off(&mut play), Err(Refusal::NotFound)));
    assert!(play.sends().is_empty());
}

#[test]
fn one_that_failed_to_leave_once_is_called_off_with_the_next_of_its_sequence() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = vec![10_000, 20_000]);
    play.policy.follow_up_text = Some("Still there?".into());
    play.exchange("m1", "a1");
    let spoke = play.conversation.our_seq;
    play.wait(10_000);
    play.fires();
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Again(None, "status 429".into()));
    assert_eq!((play.in_state(S::Queued), play.pending_follow_ups()), (vec!["Still there?"], 1));
    calls_off(&mut play).unwrap();
    assert_eq!((play.in_state(S::Queued).len(), play.pending_follow_ups()), (0, 0));
    assert_eq!(play.conversation.our_seq, spoke, "it was not said");
}

#[test]
fn another_takes_the_place_of_one_that_waits_to_leave() {
    for by in ["agent:ana", actor::ASSISTANT] {
        let mut play = Play::new();
        one_waits(&mut play);
        assert_eq!(schedules(&mut play, "Or tomorrow?", by), Some(false), "{by}: it is not the first");
        assert_eq!(play.pending_follow_ups(), 1);
        play.wait(1_000);
        play.fires();
        assert_eq!(play.sends(), ["Or tomorrow?"], "{by}: they are asked once");
    }
}

#[test]
fn none_is_scheduled_behind_one_that_may_be_leaving_until_the_contact_replies() {
    let mut play = Play::new();
    one_waits(&mut play);
    let (attempt, _) = play.claims_send();
    for state in [S::Sending, S::Unknown] {
        assert_eq!(play.in_state(state), ["Still there?"]);
        assert!(!play.schedules("Hm?", 1_000), "{state}");
        assert_eq!(schedules(&mut play, "Hm?", actor::ASSISTANT), None, "{state}");
        let refused = calls_off(&mut play).unwrap_err();
        assert!(matches!(refused, Refusal::Conflict { code: "already_sent", .. }), "{state}: {refused}");
        play.settles(attempt, &Settled::Unclear("no answer".into()));
    }
    play.exchange("m2", "a2");
    assert!(play.schedules("Anything else?", 1_000), "of that silence nothing is left");
    calls_off(&mut play).unwrap();
    assert_eq!(play.pending_follow_ups(), 0);
}

#[test]
fn none_comes_by_itself_behind_one_of_unknown_fate() {
    let mut play = Play::by(|policy| policy.follow_up_after_ms = vec![10_000]);
    one_waits(&mut play);
    let (attempt, _) = play.claims_send();
    play.settles(attempt, &Settled::Unclear("no answer".into()));
    let owed = Owed { author: Author::Assistant, ..Owed::machine(Gate::Assistant, None) };
    play.step(|docket, _| outbox::owe(docket, &["By the way".to_owned()], &owed, actor::ASSISTANT));
    assert_eq!(play.sends(), ["By the way"]);
    assert_eq!(play.pending_follow_ups(), 0);
}

#[test]
fn a_takeover_calls_off_one_that_waits_to_leave() {
    let mut play = Play::new();
    one_waits(&mut play);
    let switched = play.switches(Mode::Human);
    assert_eq!((switched.follow_up_cancelled, switched.parts_discarded), (true, 0));
    assert_eq!(play.in_state(S::Cancelled), ["Still there?"]);
}
