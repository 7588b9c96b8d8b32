//! The assistant suggests, and people say.

use uuid::Uuid;

use super::ana;
use crate::{
    domain::{
        chat::ChatId,
        conversation::Status,
        docket::Docket,
        draft::DraftState as D,
        event::EventType,
        message::{DeliveryState as S, Kind, Outcome, OutcomeReason},
        mode::{Mode, Reason},
        policy::{BurstPolicy, Policy},
        turn::{Purpose, TurnState},
    },
    flow::{
        conversations,
        desk::{Approval, Idempotency, NewMessage, Refusal, drafts, messages, resolve_send},
        generator::{Failure, FailureKind},
        inbox::{self, Admitted, Begun, Claim},
        outbox::Settled,
        play::Play,
        reconcile::Copy,
        reply::{self, Answer, Cost, Discarded, TurnEnd},
    },
};

/// Mei has asked, and there is a draft of the answer.
fn drafted() -> Play {
    let mut play = Play::with_drafts();
    play.says("Are you open?");
    suggests(&mut play, "Yes, until nine.");
    play
}

/// The draft that is to be written is.
fn suggests(play: &mut Play, text: &str) -> Begun {
    let begun = play.begins();
    assert_eq!((begun.turn.purpose, begun.turn.messages.len()), (Purpose::Draft, 0));
    assert_eq!(play.writes(&begun, text), TurnEnd::Drafted);
    begun
}

fn draft_of(play: &Play) -> Uuid {
    play.drafts.last().unwrap().id
}

fn asks(play: &mut Play) -> Result<Uuid, Refusal> {
    play.step(|docket, policy| drafts::ask(docket, policy, &ana(), &Idempotency::of_its_own()))
}

fn sends(play: &mut Play, id: Uuid, wanted: &Approval) -> Result<Vec<String>, Refusal> {
    let sent = play
        .step(|docket, policy| drafts::send(docket, policy, id, wanted, &ana(), &Idempotency::of_its_own()));
    sent.map(|(said, _)| said.messages.into_iter().map(|message| message.text).collect())
}

fn says_in_person(play: &mut Play, text: &str) {
    let words = [NewMessage::of(text.to_owned())];
    play.step(|docket, policy| messages::say(docket, policy, &words, &ana(), &Idempotency::of_its_own()))
        .unwrap();
}

fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Conflict { code, .. } => code,
        other => panic!("no conflict: {other}"),
    }
}

/// Whether any turn may begin, now or later.
fn is_at_rest(play: &Play) -> bool {
    play.clocks.turn_at.is_none()
}

#[test]
fn a_burst_in_human_is_drafted_and_answered_by_nobody() {
    let mut play = Play::with_drafts();
    let first = play.says("Hello");
    play.wait(500);
    let second = play.says("Are you open?");
    assert_eq!(play.clocks.turn_at, Some(play.now.plus_ms(1_000)), "quiet for a second");
    let begun = suggests(&mut play, "  Yes, until nine.\n");
    let draft = play.drafts[0].clone();
    assert_eq!((draft.text.as_str(), draft.state, draft.based_on_seq), ("Yes, until nine.", D::Fresh, 2));
    assert_eq!((draft.turn, &draft.decision), (begun.turn.id, &None));
    for id in [first, second] {
        let inbound = play.message(id).inbound.unwrap();
        assert_eq!((inbound.outcome, inbound.reason), (Outcome::LeftToHuman, Some(OutcomeReason::ModeHuman)));
    }
    assert!(play.sends().is_empty() && play.messages.len() == 2 && is_at_rest(&play));
    assert!(play.conversation.waiting_since.is_some(), "the contact waits for a person");
    let created = play.events.iter().find(|event| event.kind == EventType::DraftCreated).unwrap();
    assert_eq!(
        (created.turn, &created.details["draft_id"]),
        (Some(draft.turn), &draft.id.to_string().into())
    );
    assert!(!format!("{:?}", created.details).contains("nine"), "what it says is nobody's business");
}

#[test]
fn without_suggestions_nothing_is_written_in_human() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("Are you open?");
    assert!(is_at_rest(&play) && matches!(play.claim(), Claim::Nothing));
}

#[test]
fn a_draft_retires_with_whatever_is_said_after_it() {
    type Act = fn(&mut Play);
    let table: [(&str, &str, Act); 6] = [
        ("the contact writes", "contact_wrote", |play| {
            play.says("Hello?");
        }),
        ("the contact edits", "contact_wrote", |play| amends(play, false)),
        ("the contact deletes", "contact_wrote", |play| amends(play, true)),
        ("a person writes", "our_side_wrote", |play| says_in_person(play, "We are.")),
        ("a person writes on the phone", "our_side_wrote", |play| {
            play.copy("P1", "We are.", Copy::Phone);
        }),
        ("another system writes", "our_side_wrote", |play| {
            play.copy("S1", "We are.", Copy::Api);
        }),
    ];
    for (what, reason, act) in table {
        let mut play = drafted();
        act(&mut play);
        assert_eq!(play.drafts[0].state, D::Stale, "{what}");
        let retired = play.events.iter().find(|event| event.kind == EventType::DraftRetired).unwrap();
        assert_eq!(
            (&retired.details["reason"], &retired.details["state"]),
            (&reason.into(), &"stale".into())
        );
        assert!(play.conversation.memo.draft.is_none(), "{what}");
    }
}

fn amends(play: &mut Play, is_deletion: bool) {
    let of = play.messages[0].provider_message_id.clone().unwrap();
    let chat = play.conversation.chat.clone();
    let amendment =
        crate::flow::provider::Amendment { chat, of, text: "Are you closed?".into(), at: None, by: None };
    play.step(|docket, policy| inbox::amend(docket, policy, &amendment, is_deletion));
}

#[test]
fn what_says_nothing_new_leaves_a_draft_as_it_is() {
    type Act = fn(&mut Play);
    let table: [(&str, Act); 5] = [
        ("a reaction", |play| arrives(play, Kind::Reaction, Some(OutcomeReason::Reaction))),
        ("a sticker", |play| arrives(play, Kind::Sticker, Some(OutcomeReason::Sticker))),
        ("a note", |play| {
            play.step(|docket, _| messages::keep_note(docket, "Hm.", &ana()));
        }),
        ("the button again", |play| {
            play.switches(Mode::Human);
        }),
        ("back to AI", |play| {
            play.switches(Mode::Ai);
        }),
    ];
    for (what, act) in table {
        let mut play = drafted();
        act(&mut play);
        assert_eq!(play.drafts[0].state, D::Fresh, "{what}");
        assert!(is_at_rest(&play), "{what}");
    }
}

fn arrives(play: &mut Play, kind: Kind, inert: Option<OutcomeReason>) {
    let mut arrival = play.arrival(&format!("X{}", play.messages.len()), "👍");
    (arrival.kind, arrival.inert) = (kind, inert);
    play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
}

#[test]
fn a_newer_message_starts_the_draft_again_with_everything() {
    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let begun = play.begins();
    play.says("On Sunday?");
    assert_eq!(play.turns[0].state, TurnState::Superseded);
    assert_eq!(play.writes(&begun, "Yes."), TurnEnd::Discarded(Discarded::FenceMoved));
    let again = suggests(&mut play, "Not on Sundays.");
    assert_eq!(again.draft, begun.draft, "it is the same draft that is to be written");
    assert_eq!(play.suggested(), [("Not on Sundays.", D::Fresh)]);
    assert_eq!(play.drafts[0].based_on_seq, 2);
}

#[test]
fn a_steady_writer_is_drafted_all_the_same_and_what_has_not_read_the_newest_is_stale() {
    let mut play = Play::with_drafts();
    for _ in 0..3 {
        play.says("more");
        play.begins();
    }
    play.says("more");
    let last = play.begins();
    assert!(last.turn.is_final);
    for _ in 0..3 {
        play.wait(100);
        play.says("and more");
    }
    assert_eq!(play.writes(&last, "One moment."), TurnEnd::Drafted);
    assert_eq!(play.suggested(), [("One moment.", D::Stale)]);
    let next = suggests(&mut play, "I have read it all.");
    assert_eq!((next.turn.attempt, next.draft != last.draft), (1, true));
    assert_eq!(play.suggested(), [("One moment.", D::Stale), ("I have read it all.", D::Fresh)]);
    assert_eq!(play.drafts[1].based_on_seq, 7);
    assert!(is_at_rest(&play));
}

#[test]
fn messages_that_are_collected_have_one_draft_and_those_that_come_meanwhile_another() {
    let mut play = Play::with_drafts();
    play.policy.burst = BurstPolicy::Collect;
    play.says("Are you open?");
    let begun = play.begins();
    play.says("On Sunday?");
    assert_eq!(play.writes(&begun, "Yes."), TurnEnd::Drafted);
    suggests(&mut play, "Not on Sundays.");
    assert_eq!(play.suggested(), [("Yes.", D::Stale), ("Not on Sundays.", D::Fresh)]);
}

#[test]
fn who_does_not_want_a_draft_any_more_stops_it() {
    type Act = fn(&mut Play);
    let table: [(&str, Act); 6] = [
        ("a person writes", |play| says_in_person(play, "We are.")),
        ("a person writes on the phone", |play| {
            play.copy("P1", "We are.", Copy::Phone);
        }),
        ("the assistant answers", |play| {
            play.switches(Mode::Ai);
        }),
        ("the hold is over", |play| {
            play.conversation.mode.until = Some(play.now);
            play.tends();
        }),
        ("it is closed", |play| {
            play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"))
        }),
        ("suggestions are off", |play| sets_drafting(play, false)),
    ];
    for (what, act) in table {
        for has_begun in [true, false] {
            let mut play = Play::with_drafts();
            play.says("Are you open?");
            let begun = has_begun.then(|| play.begins());
            act(&mut play);
            if let Some(begun) = begun {
                assert_eq!(play.turns[0].state, TurnState::Cancelled, "{what}");
                assert!(matches!(play.writes(&begun, "Yes."), TurnEnd::Discarded(_)), "{what}");
            }
            assert!(play.drafts.is_empty() && is_at_rest(&play), "{what}, {has_begun}");
            assert_eq!(play.conversation.memo.draft_wish, None, "{what}");
        }
    }
}

fn sets_drafting(play: &mut Play, drafting: bool) {
    let patch = crate::flow::desk::Patch { drafting: Some(drafting), ..Default::default() };
    play.step(|docket, policy| crate::flow::desk::patch::apply(docket, policy, &patch, &ana())).unwrap();
}

#[test]
fn the_same_mode_again_stops_no_draft() {
    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let begun = play.begins();
    let switched = play.switches(Mode::Human);
    assert_eq!((switched.changed, switched.generation_ms), (false, None));
    assert_eq!(play.writes(&begun, "Yes."), TurnEnd::Drafted);
}

#[test]
fn what_the_contact_waits_with_is_drafted_when_suggestions_begin() {
    let by_takeover = |play: &mut Play| {
        play.switches(Mode::Human);
    };
    let by_switching_on = |play: &mut Play| {
        play.conversation.drafting = false;
        play.switches(Mode::Human);
        assert!(is_at_rest(play));
        sets_drafting(play, true);
    };
    let ways: [&dyn Fn(&mut Play); 2] = [&by_takeover, &by_switching_on];
    for way in ways {
        let mut play = Play::new();
        play.conversation.drafting = true;
        play.says("Are you open?");
        let begun = play.begins();
        way(&mut play);
        assert_eq!(play.writes(&begun, "Yes."), TurnEnd::Discarded(Discarded::HumanAnswers));
        suggests(&mut play, "Yes, until nine.");
        assert_eq!(play.suggested(), [("Yes, until nine.", D::Fresh)]);
        assert!(play.sends().is_empty());
    }
    // Whom nobody keeps waiting gets none.
    let mut play = Play::new();
    play.conversation.drafting = true;
    play.exchange("Are you open?", "Yes.");
    play.switches(Mode::Human);
    assert!(is_at_rest(&play));
}

#[test]
fn in_ai_a_draft_is_written_for_who_asks_and_no_reply_waits_for_it() {
    let mut play = Play::new();
    play.exchange("Are you open?", "Yes.");
    let id = asks(&mut play).unwrap();
    assert_eq!(asks(&mut play).unwrap(), id, "it is to be written already");
    let begun = play.begins();
    assert_eq!((begun.draft, begun.lane.as_str()), (Some(id), "present"));
    // The contact writes: the reply comes first, and has read it.
    play.says("On Sunday?");
    assert_eq!(play.turns.last().unwrap().state, TurnState::Superseded);
    let reply = play.begins();
    assert_eq!((reply.turn.purpose, reply.burst.len()), (Purpose::Reply, 1));
    assert!(matches!(play.writes(&begun, "Hm."), TurnEnd::Discarded(_)));
    play.writes(&reply, "Not on Sundays.");
    assert_eq!(play.sends(), ["Not on Sundays."]);
    suggests(&mut play, "Shall I book a table?");
    assert_eq!(draft_of(&play), id);
    assert!(play.sends().is_empty() && is_at_rest(&play));
    assert_eq!(play.conversation.mode.mode, Mode::Ai);
}

#[test]
fn a_takeover_keeps_what_was_asked_for_and_says_nothing_of_it() {
    let mut play = Play::new();
    play.exchange("Are you open?", "Yes.");
    let id = asks(&mut play).unwrap();
    let begun = play.begins();
    let switched = play.switches(Mode::Human);
    assert_eq!(switched.generation_ms, None, "no answer was being generated");
    assert_eq!(play.writes(&begun, "Hm."), TurnEnd::Discarded(Discarded::VersionMoved));
    suggests(&mut play, "Shall I book a table?");
    assert_eq!(draft_of(&play), id);
}

#[test]
fn a_draft_is_asked_for_where_nobody_would_be_suggested_one() {
    let mut play = Play::new();
    play.switches(Mode::Human);
    play.says("Are you open?");
    asks(&mut play).unwrap();
    suggests(&mut play, "Yes.");
    play.step(|docket, policy| conversations::close(docket, policy, "agent:ana"));
    assert_eq!(play.conversation.status, Status::Closed);
    asks(&mut play).unwrap();
    suggests(&mut play, "Goodbye.");
    assert_eq!(play.suggested(), [("Yes.", D::Stale), ("Goodbye.", D::Fresh)], "one takes the other's place");
    assert_eq!(play.conversation.status, Status::Closed);
    play.policy.has_model = false;
    assert_eq!(code(&asks(&mut play).unwrap_err()), "no_model");
}

#[test]
fn a_draft_sent_is_that_persons_message_and_takes_over() {
    let mut play = Play::new();
    play.exchange("Are you open?", "Yes.");
    asks(&mut play).unwrap();
    suggests(&mut play, "Shall I book a table?");
    let id = draft_of(&play);
    assert_eq!(sends(&mut play, id, &Approval::default()).unwrap(), ["Shall I book a table?"]);
    let mode = &play.conversation.mode;
    assert_eq!((mode.mode, mode.reason, mode.actor.as_str()), (Mode::Human, Reason::DraftSent, "agent:ana"));
    let message = play.messages.last().unwrap().clone();
    assert_eq!((message.author.as_str(), message.turn), ("agent", None));
    assert_eq!(play.sends(), ["Shall I book a table?"]);
    let draft = &play.drafts[0];
    let decision = draft.decision.clone().unwrap();
    assert_eq!((draft.state, decision.by.as_str(), decision.at), (D::Sent, "agent:ana", play.now));
    let sent = decision.sent.unwrap();
    assert_eq!((sent.message, sent.edit_distance), (message.id, 0));
    assert_eq!(play.happened(EventType::DraftRetired), 1, "its end is told once");
    assert_eq!(
        code(&sends(&mut play, id, &Approval { force: true, text: None }).unwrap_err()),
        "already_sent"
    );
}

#[test]
fn a_draft_that_a_person_changed_says_how_far() {
    let mut play = drafted();
    let text = Some("Yes, but only until eight.".to_owned());
    let id = draft_of(&play);
    sends(&mut play, id, &Approval { text, force: false }).unwrap();
    let decision = play.drafts[0].decision.clone().unwrap();
    assert_eq!((play.drafts[0].state, play.drafts[0].text.as_str()), (D::Edited, "Yes, until nine."));
    assert_eq!(decision.sent.unwrap().edit_distance, 3, "`but` and `only` put in, `nine` replaced");
    assert_eq!(play.sends(), ["Yes, but only until eight."]);
    assert_eq!(play.conversation.mode.reason, Reason::AgentButton, "a person answered already");
}

#[test]
fn a_stale_draft_is_sent_only_by_force_and_what_was_put_away_too() {
    for is_put_away in [true, false] {
        let mut play = drafted();
        let id = draft_of(&play);
        if is_put_away {
            play.step(|docket, _| drafts::discard(docket, id, &ana())).unwrap();
            assert_eq!(play.suggested(), [("Yes, until nine.", D::Discarded)]);
            let again = play.step(|docket, _| drafts::discard(docket, id, &ana()));
            assert!(matches!(again, Err(Refusal::NotFound)));
        } else {
            says_in_person(&mut play, "We are.");
        }
        let before = play.messages.len();
        assert_eq!(code(&sends(&mut play, id, &Approval::default()).unwrap_err()), "stale");
        assert_eq!(play.messages.len(), before);
        sends(&mut play, id, &Approval { text: None, force: true }).unwrap();
        assert_eq!(play.suggested(), [("Yes, until nine.", D::Sent)]);
        let discarded = play.step(|docket, _| drafts::discard(docket, id, &ana()));
        assert_eq!(code(&discarded.unwrap_err()), "already_sent");
        assert!(matches!(sends(&mut play, Uuid::now_v7(), &Approval::default()), Err(Refusal::NotFound)));
    }
}

#[test]
fn no_more_drafts_than_answers_are_begun_in_an_hour_unless_somebody_writes_or_asks() {
    let mut play = Play::with_drafts();
    play.policy.reply_cap = 2;
    for _ in 0..2 {
        play.says("beep");
        suggests(&mut play, "boop");
    }
    play.says("beep");
    play.wait(1_000);
    assert!(matches!(play.claim(), Claim::Nothing) && is_at_rest(&play));
    asks(&mut play).unwrap();
    suggests(&mut play, "boop");
    says_in_person(&mut play, "Who are you?");
    play.says("beep");
    suggests(&mut play, "boop");
    play.says("beep");
    suggests(&mut play, "boop");
    play.says("beep");
    play.wait(3_600_000);
    suggests(&mut play, "an hour later");
}

#[test]
fn what_starts_no_turn_is_not_drafted_either() {
    type Act = fn(&mut Play);
    let table: [(&str, Act); 4] = [
        ("a sticker", |play| arrives(play, Kind::Sticker, Some(OutcomeReason::Sticker))),
        ("an opt-out", |play| {
            play.says("stop");
        }),
        ("what cannot be read", |play| {
            let mut arrival = play.arrival("U1", "");
            arrival.is_unreadable = true;
            play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
        }),
        ("a group", |play| {
            play.conversation.chat = crate::domain::chat::ChatId::parse("1203630@g.us").unwrap();
            play.says("Are you open?");
        }),
    ];
    for (what, act) in table {
        let mut play = Play::with_drafts();
        act(&mut play);
        assert!(is_at_rest(&play), "{what}");
    }
    let mut play = drafted();
    play.says("stop");
    assert_eq!(play.drafts[0].state, D::Stale, "the contact wrote, whatever it was");
}

#[test]
fn a_flood_is_drafted_once_a_minute() {
    let mut play = Play::with_drafts();
    (play.policy.flood_per_minute, play.policy.reply_cap) = (5, 0);
    let mut drafts = 0;
    for _ in 0..120 {
        play.says("spam");
        if let Claim::Begun(begun) = play.claim() {
            play.writes(&begun, "Please stop.");
            drafts += 1;
        }
        play.wait(1_000);
    }
    assert!(drafts <= 4, "{drafts} in two minutes");
    assert!(play.happened(EventType::Flood) >= 1);
}

#[test]
fn a_model_that_fails_is_tried_again_and_then_left_without_calling_anybody() {
    let mut play = Play::with_drafts();
    play.policy.fallback_text = Some("We will be with you.".to_owned());
    play.says("Are you open?");
    for attempt in 1..=3 {
        let begun = play.begins();
        assert_eq!((begun.turn.purpose, begun.turn.attempt), (Purpose::Draft, attempt));
        let wanted = if attempt < 3 { TurnEnd::WillRetry } else { TurnEnd::GivenUp };
        assert_eq!(play.fails(&begun), wanted);
    }
    assert!(is_at_rest(&play) && play.letters.is_empty() && play.sends().is_empty());
    assert_eq!(play.conversation.attention, None);
    assert_eq!(play.happened(EventType::TurnFailed), 3);
    let failed = play.events.iter().filter(|event| event.kind == EventType::TurnFailed);
    assert!(
        failed.into_iter().all(|event| event.details["purpose"] == "draft"),
        "nobody is left alone by it"
    );
    play.says("Hello?");
    suggests(&mut play, "Yes.");

    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let begun = play.begins();
    let quota = Failure::new(FailureKind::Quota, "");
    let fails = |docket: &mut Docket, policy: &Policy| {
        reply::fail(docket, policy, &begun, &quota, Cost::default(), 0.5)
    };
    assert_eq!(play.step(fails), TurnEnd::GivenUp);
}

#[test]
fn a_draft_whose_writer_is_gone_or_stops_is_written_by_another() {
    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let lost = play.begins();
    let again = suggests(&mut play, "Yes.");
    assert_ne!(again.turn.id, lost.turn.id);
    assert!(matches!(play.writes(&lost, "Too late."), TurnEnd::Discarded(_)));
    assert_eq!(play.suggested(), [("Yes.", D::Fresh)]);

    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let given_back = play.begins();
    play.step(|docket, policy| reply::abandon(docket, policy, &given_back, Cost::default()));
    let event = play.events.iter().rfind(|event| event.turn == Some(given_back.turn.id)).expect("it is told");
    assert_eq!((event.kind, event.action.as_deref()), (EventType::TurnSuperseded, Some("instance_stopped")));
    assert!(play.clocks.turn_at.is_some_and(|at| at <= play.now), "at once");
    suggests(&mut play, "Yes.");
}

#[test]
fn a_commit_whose_answer_was_lost_leaves_one_draft() {
    let mut play = Play::with_drafts();
    play.says("Are you open?");
    let begun = play.begins();
    for _ in 0..2 {
        assert_eq!(play.writes(&begun, "Yes."), TurnEnd::Drafted);
    }
    assert_eq!(play.suggested(), [("Yes.", D::Fresh)]);
}

#[test]
fn what_a_model_wants_done_besides_a_draft_is_not_done() {
    let mut play = Play::with_drafts();
    play.conversation.mode.mode = Mode::Ai;
    asks(&mut play).unwrap();
    let begun = play.begins();
    let wish = crate::flow::agenda::NewFollowUp { delay_ms: Some(1_000), ..Default::default() };
    let answer = Answer {
        text: "A colleague comes.".to_owned(),
        hand_over: Some("asked".to_owned()),
        stay_silent: Some("no".to_owned()),
        follow_up: Some(wish),
        ..Answer::default()
    };
    assert_eq!(play.commits(&begun, &answer), TurnEnd::Drafted);
    assert_eq!((play.conversation.mode.mode, play.pending_follow_ups()), (Mode::Ai, 0));
    assert!(play.messages.is_empty());
    assert_eq!(play.suggested(), [("A colleague comes.", D::Fresh)]);
}

#[test]
fn a_message_that_a_person_sends_again_is_news_to_a_draft() {
    let mut play = Play::with_drafts();
    says_in_person(&mut play, "Hello.");
    let (attempt, _) = play.claims_send();
    let refused = Settled::Refused(crate::domain::message::DeliveryReason::NoAccount, "no account".into());
    play.settles(attempt, &refused);
    let failed = play.messages[0].id;
    play.says("Are you open?");
    suggests(&mut play, "Yes.");
    play.step(|docket, policy| resolve_send::retry(docket, policy, failed, &ana())).unwrap();
    assert_eq!(play.suggested(), [("Yes.", D::Stale)]);
    assert_eq!(play.in_state(S::Queued), ["Hello."]);
}

#[test]
fn a_message_that_came_before_is_no_news() {
    let mut play = drafted();
    let arrival = play.arrival("IN1", "Are you open?");
    let admitted = play.step(|docket, policy| inbox::admit(docket, policy, &arrival));
    assert!(matches!(admitted, Admitted::Duplicate(_)));
    assert_eq!(play.drafts[0].state, D::Fresh);
}

#[test]
fn a_draft_is_neither_written_nor_sent_where_nobody_can_be_written_to() {
    let mut play = drafted();
    let id = draft_of(&play);
    play.conversation.chat = ChatId::parse("status@broadcast").unwrap();
    assert!(matches!(sends(&mut play, id, &Approval::default()), Err(Refusal::Invalid { .. })));
    assert!(matches!(asks(&mut play), Err(Refusal::Invalid { .. })));
    assert!(play.sends().is_empty());
}
