//! What a docket hands to its store, and when somebody must look again.

use serde_json::json;

use super::*;
use crate::domain::{
    chat::ChatId,
    conversation::{LEASED_AT_MOST_MS, Lease, Opening},
    draft::{DraftState, DraftWish},
    lane::Lane,
    message::{Author, Delivery, Gate, Kind, Origin},
    mode::{Mode, Reason},
    turn::{LetterKind, LetterState, Purpose, TurnState},
};

const NOW: Time = Time(5_000);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// A message of our side, of that reply, due at that time.
fn owed(n: u128, state: DeliveryState, reply: u128, due_at: i64) -> Message {
    let delivery = Delivery {
        state,
        reason: None,
        attempts: 0,
        part: 1,
        parts: 1,
        reply: id(reply),
        version: 1,
        gate: Gate::Assistant,
        lane: Lane::Human,
        due_at: Time(due_at),
        typing_ms: 0,
        idempotency_key: String::new(),
        attempt: None,
        unclear: 0,
        queued_at: Time(0),
        sent_at: None,
        left_at: None,
        delivered_at: None,
        read_at: None,
    };
    Message {
        id: id(n),
        seq: i64::try_from(n).expect("a small number"),
        delivery: Some(delivery),
        ..Message::of(Author::Assistant, Origin::Turn, Kind::Text, "Yes.".to_owned())
    }
}

fn loaded(messages: Vec<Message>) -> Loaded {
    let chat = ChatId::parse("6580000001@c.us").expect("a chat id");
    let opening =
        Opening { mode: Mode::Ai, reason: Reason::Rollout, actor: "system".to_owned(), drafting: false };
    let conversation = Conversation::begin("default", chat, &opening, Time(0));
    Loaded {
        conversation: Conversation { seq: 9, ..conversation },
        is_new: false,
        messages,
        complete_after: 9,
        follow_up: None,
        turns: Vec::new(),
        letters: Vec::new(),
        drafts: Vec::new(),
        parked: Vec::new(),
        channel: None,
        labels: Vec::new(),
        remembered: None,
    }
}

fn docket(messages: Vec<Message>) -> Docket {
    Docket::open(loaded(messages), NOW)
}

fn follow_up(n: u128) -> FollowUp {
    FollowUp {
        id: id(n),
        due_at: Time(9_000),
        text: None,
        instructions: None,
        created_by: "system".to_owned(),
        created_at: Time(0),
        state: FollowUpState::Pending,
        reason: None,
        attempts: 0,
        message: None,
    }
}

fn letter(n: u128, reason: &str) -> DeadLetter {
    DeadLetter {
        id: id(n),
        kind: LetterKind::Send,
        channel: "default".to_owned(),
        conversation: None,
        subject: None,
        state: LetterState::Open,
        reason: reason.to_owned(),
        attempts: 1,
        first_at: Time(0),
        last_at: Time(0),
        payload: json!({}).into(),
    }
}

fn turn(n: u128) -> Turn {
    Turn {
        id: id(n),
        state: TurnState::Generating,
        purpose: Purpose::Reply,
        mode_version: 1,
        fence: 1,
        last_seq: 1,
        is_final: false,
        messages: Vec::new(),
        attempt: 1,
        started_at: Time(0),
        first_token_at: None,
        ended_at: None,
        model: String::new(),
        input_tokens: 0,
        output_tokens: 0,
        wasted: false,
        reason: None,
    }
}

fn draft(n: u128, state: DraftState) -> Draft {
    Draft {
        id: id(n),
        text: "Yes.".to_owned(),
        state,
        based_on_seq: 9,
        turn: id(5),
        decision: None,
        created_at: Time(0),
    }
}

fn parked(n: u128) -> Parked {
    Parked { id: id(n), provider_message_id: "B1".to_owned(), report: Report::Deletion, at: Time(0) }
}

#[test]
fn a_docket_that_nobody_touched_has_nothing_to_save() {
    let docket = docket(vec![owed(1, DeliveryState::Queued, 7, 0)]);
    assert!(!docket.is_changed());
    let changes = docket.close();
    assert!(!changes.is_changed && changes.messages.is_empty() && changes.new_messages.is_empty());
    assert_eq!(changes.conversation.updated_at, Time(0));
}

#[test]
fn whatever_a_rule_touches_is_saved() {
    type Change = fn(&mut Docket);
    let table: [(&str, Change); 13] = [
        ("the facts", |docket| docket.conversation.fence += 1),
        ("a message", |docket| assert!(docket.edit(id(1)).is_some())),
        ("a new message", |docket| assert_eq!(docket.push(owed(2, DeliveryState::Queued, 7, 0)), id(2))),
        ("a turn", |docket| assert!(docket.edit_turn(id(5)).is_some())),
        ("a new turn", |docket| docket.begin_turn(turn(6))),
        ("a letter", |docket| docket.keep_letter(letter(3, "refused"))),
        ("a follow-up", |docket| docket.keep_follow_up(follow_up(4))),
        ("a draft", |docket| docket.keep_draft(draft(8, DraftState::Stale))),
        ("a report", |docket| docket.park("B1", Report::Deletion)),
        ("a report taken out", |docket| assert_eq!(docket.unpark(|_| true), [parked(7)])),
        ("an event", |docket| docket.record(Entry::of(EventType::Flood))),
        ("a key", |docket| {
            let key = String::new();
            let (body_hash, answer) = (key.clone(), json!(null));
            docket.remember(Remembered { key, body_hash, message: id(1), answer, at: NOW });
        }),
        ("the channel", |docket| {
            docket.channel =
                Some(ChannelStanding { state: String::new(), next_send_at: NOW, in_flight: 0, sends: 0 });
        }),
    ];
    for (what, change) in table {
        let messages = vec![owed(1, DeliveryState::Queued, 7, 0)];
        let loaded = Loaded { turns: vec![turn(5)], parked: vec![parked(7)], ..loaded(messages) };
        let mut docket = Docket::open(loaded, NOW);
        change(&mut docket);
        assert!(docket.is_changed(), "{what}");
        assert_eq!(docket.close().conversation.updated_at, NOW, "{what}");
    }
    let begun = Docket::open(Loaded { is_new: true, ..loaded(Vec::new()) }, NOW);
    assert_eq!(begun.events().len(), 1);
    assert!(begun.close().is_changed, "a conversation that begins");
}

#[test]
fn a_message_is_saved_once_as_new_or_as_changed_and_else_left_alone() {
    let mut docket = docket(vec![owed(1, DeliveryState::Queued, 7, 0), owed(2, DeliveryState::Queued, 7, 0)]);
    docket.push(owed(3, DeliveryState::Queued, 7, 0));
    for touched in [2, 3] {
        docket.edit(id(touched)).expect("it is there").text = "No.".to_owned();
    }
    assert!(docket.edit(id(4)).is_none() && docket.message(id(4)).is_none());
    assert_eq!(docket.message(id(3)).map(|message| message.text.as_str()), Some("No."));
    assert_eq!(docket.ids(|message| message.text == "Yes."), [id(1)]);
    assert_eq!(docket.messages().len(), 3);
    let changes = docket.close();
    let saved = |messages: &[Message]| messages.iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!((saved(&changes.new_messages), saved(&changes.messages)), (vec![id(3)], vec![id(2)]));
    assert_eq!(changes.new_messages[0].text, "No.");
    assert_eq!((changes.new_messages[0].seq, changes.new_messages[0].at), (10, NOW), "the next number, now");
    assert_eq!((changes.conversation.seq, changes.conversation.last_message_at), (10, Some(NOW)));
}

#[test]
fn a_turn_is_saved_if_it_began_or_changed() {
    let mut docket = Docket::open(Loaded { turns: vec![turn(1), turn(2)], ..loaded(Vec::new()) }, NOW);
    docket.begin_turn(turn(3));
    docket.edit_turn(id(2)).expect("it is there").wasted = true;
    assert!(docket.edit_turn(id(4)).is_none() && docket.turn(id(4)).is_none());
    assert_eq!(docket.turn(id(3)), Some(&turn(3)));
    docket.edit_turn(id(3)).expect("it is there").wasted = true;
    let changes = docket.close();
    let saved = |turns: &[Turn]| turns.iter().map(|turn| (turn.id, turn.wasted)).collect::<Vec<_>>();
    assert_eq!(saved(&changes.turns), [(id(2), true)]);
    assert_eq!(saved(&changes.new_turns), [(id(3), true)], "once, as new");
}

#[test]
fn how_far_things_have_come_is_told_of_what_was_changed_and_of_what_its_turns_are_about() {
    let messages = vec![
        owed(1, DeliveryState::Sending, 7, 0),
        owed(2, DeliveryState::Queued, 7, 0),
        owed(3, DeliveryState::Queued, 8, 0),
        owed(4, DeliveryState::Sending, 9, 0),
    ];
    let mut docket = Docket::open(Loaded { turns: vec![turn(1)], ..loaded(messages) }, NOW);
    for (message, state) in [(1, DeliveryState::Unknown), (1, DeliveryState::Sent), (4, DeliveryState::Sent)]
    {
        let delivery = docket.edit(id(message)).and_then(|message| message.delivery.as_mut());
        delivery.expect("it is there").state = state;
    }
    for state in [TurnState::Failed, TurnState::Cancelled] {
        docket.edit_turn(id(1)).expect("it is there").state = state;
    }
    docket.begin_turn(Turn { messages: vec![id(3)], ..turn(2) });
    docket.push(owed(5, DeliveryState::Queued, 10, 0));
    let changes = docket.close();
    let told = changes
        .messages_progress
        .iter()
        .map(|it| (it.id, it.before.and_then(|it| it.state), it.is_reply_owed));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (id(1), Some(DeliveryState::Sending), true),
            (id(3), Some(DeliveryState::Queued), true),
            (id(4), Some(DeliveryState::Sending), false),
            (id(5), None, true),
        ]
    );
    let told = changes.turns_progress.iter().map(|ran| (ran.turn.id, ran.before, ran.turn.state));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(id(1), Some(TurnState::Generating), TurnState::Cancelled), (id(2), None, TurnState::Generating),]
    );
}

#[test]
fn events_are_numbered_and_name_the_version_of_the_mode() {
    let mut docket = docket(Vec::new());
    docket.record(Entry::of(EventType::Flood).by("shell").message(id(1)).turn(id(2)).with("n", 3));
    docket.record(Entry::of(EventType::NoteAdded).action("kept"));
    let [first, second] = docket.events() else { panic!("two events") };
    assert_eq!((first.conv_seq, second.conv_seq), (Some(1), Some(2)));
    assert_eq!((first.message, first.turn, first.mode_version), (Some(id(1)), Some(id(2)), Some(1)));
    assert_eq!((first.actor.as_str(), &first.details["n"]), ("shell", &json!(3)));
    assert_eq!((second.actor.as_str(), second.action.as_deref()), ("system", Some("kept")));
}

#[test]
fn one_follow_up_is_pending_and_one_that_ends_leaves() {
    let mut docket = docket(Vec::new());
    assert_eq!(docket.change_follow_up(|_| panic!("there is none")), None);
    docket.keep_follow_up(follow_up(1));
    docket.change_follow_up(|follow_up| follow_up.attempts = 2).expect("it is pending");
    assert_eq!(docket.follow_up().map(|follow_up| follow_up.attempts), Some(2));
    docket.change_follow_up(|follow_up| follow_up.state = FollowUpState::Cancelled);
    assert_eq!(docket.follow_up(), None);
    docket.keep_follow_up(follow_up(2));
    let saved: Vec<_> = docket.close().follow_ups.iter().map(|it| (it.id, it.state)).collect();
    assert_eq!(
        saved,
        [(id(1), FollowUpState::Cancelled), (id(2), FollowUpState::Pending)],
        "what ends goes first"
    );
}

#[test]
fn a_letter_of_the_same_id_is_written_over() {
    let open = Loaded { letters: vec![letter(1, "quota"), letter(2, "quota")], ..loaded(Vec::new()) };
    let mut docket = Docket::open(open, NOW);
    docket.keep_letter(letter(2, "refused"));
    let reasons: Vec<_> = docket.letters().iter().map(|letter| letter.reason.as_str()).collect();
    assert_eq!(reasons, ["quota", "refused"]);
    assert_eq!(docket.close().letters, [letter(2, "refused")]);
}

#[test]
fn the_fresh_draft_is_known_to_the_conversation_and_the_one_asked_for_to_the_step() {
    let open = Loaded {
        drafts: vec![draft(1, DraftState::Fresh), draft(2, DraftState::Discarded)],
        ..loaded(Vec::new())
    };
    let mut docket = Docket::open(open, NOW);
    assert_eq!(docket.fresh_draft(), Some(&draft(1, DraftState::Fresh)));
    assert_eq!(docket.draft(id(2)).map(|draft| draft.state), Some(DraftState::Discarded));
    docket.keep_draft(draft(1, DraftState::Stale));
    assert_eq!((docket.fresh_draft(), docket.conversation.memo.draft), (None, None));
    docket.keep_draft(draft(3, DraftState::Fresh));
    assert_eq!(docket.conversation.memo.draft, Some(id(3)));
    let changes = docket.close();
    assert_eq!(changes.drafts, [draft(1, DraftState::Stale), draft(3, DraftState::Fresh)]);
    assert_eq!(changes.open.drafts, [draft(3, DraftState::Fresh)], "what a store would load");
}

#[test]
fn a_report_taken_out_is_forgotten_and_never_kept_again() {
    let mut docket = docket(Vec::new());
    for message in ["A", "B", "A"] {
        docket.park(message, Report::Deletion);
    }
    let taken = docket.unpark(|parked| parked.provider_message_id == "A");
    assert_eq!(taken.len(), 2);
    let messages = |parked: &[Parked]| -> Vec<String> {
        parked.iter().map(|parked| parked.provider_message_id.clone()).collect()
    };
    assert_eq!(messages(docket.parked()), ["B"]);
    let changes = docket.close();
    assert_eq!(messages(&changes.parked), ["B"]);
    assert_eq!(changes.unparked, [taken[0].id, taken[1].id]);
}

#[test]
fn the_head_may_leave_unless_another_is_on_its_way_or_an_earlier_part_is_unclear() {
    use DeliveryState::{Queued, Sending, Sent, Unknown};
    #[rustfmt::skip]
    let table = [
        // the message before, of which reply   may leave
        (Sent,      7,                          true),
        (Sending,   7,                          false),
        (Sending,   8,                          false),
        (Unknown,   7,                          false),
        (Unknown,   8,                          true),
    ];
    for (before, reply, may_leave) in table {
        let messages = vec![owed(1, before, reply, 0), owed(2, Queued, 7, 300), owed(3, Queued, 7, 200)];
        let clocks = docket(messages).clocks();
        assert_eq!(clocks.send_at, may_leave.then_some(Time(300)), "{before}, {reply}: in order");
        assert_eq!(clocks.send_rank, if may_leave { 300 } else { 0 });
    }
}

#[test]
fn our_side_types_while_a_part_waits_out_the_time_that_a_person_would_take() {
    use DeliveryState::{Queued, Sending, Sent};
    let part = |state, typing_ms, attempts| {
        let mut message = owed(2, state, 7, 5_000);
        let delivery = message.delivery.as_mut().expect("it is ours");
        (delivery.part, delivery.typing_ms, delivery.attempts) = (2, typing_ms, attempts);
        message
    };
    #[rustfmt::skip]
    let table = [
        // the part before, this part, typing, attempts, at     types
        (Sent,    Queued,  701, 0, 4_999, true),
        (Sent,    Queued,  701, 0, 5_000, false),
        (Sent,    Queued,  700, 0, 4_999, false),
        (Sent,    Queued,  701, 1, 4_999, false),
        (Sending, Queued,  701, 0, 4_999, false),
        (Sent,    Sending, 701, 0, 4_999, false),
    ];
    for (before, state, typing_ms, attempts, at, types) in table {
        let messages = [owed(1, before, 7, 0), part(state, typing_ms, attempts)];
        let expected = types.then_some(Typing { part: 2, until: Time(5_000) });
        assert_eq!(
            Typing::of(&messages, Time(at)),
            expected,
            "{before}, {state}, {typing_ms}, {attempts}, {at}"
        );
    }
}

#[test]
fn a_message_is_open_business_while_it_is_owed_or_an_attempt_at_it_is_unclear() {
    let mut message = owed(1, DeliveryState::Queued, 7, 0);
    assert!(message.is_open() && message.is_machine_made() && message.is(DeliveryState::Queued));
    message.delivery.as_mut().expect("ours").state = DeliveryState::Dead;
    assert!(!message.is_open() && !message.is(DeliveryState::Queued));
    message.delivery.as_mut().expect("ours").unclear = 1;
    assert!(message.is_open());
    message.delivery.as_mut().expect("ours").gate = Gate::Person;
    assert!(!message.is_machine_made());
}

#[test]
fn somebody_looks_again_at_whatever_comes_first() {
    let mut docket = docket(vec![owed(1, DeliveryState::Sending, 7, 0)]);
    assert_eq!(docket.clocks(), Clocks::default());

    let attempt = crate::domain::message::Attempt { id: id(8), at: Time(0), lease_until: Time(400) };
    docket.edit(id(1)).expect("it is there").delivery.as_mut().expect("ours").attempt = Some(attempt);
    docket.conversation.mode.until = Some(Time(500));
    docket.conversation.snoozed_until = Some(Time(600));
    docket.conversation.memo.overdue_at = Some(700);
    assert_eq!(docket.clocks().tend_at, Some(Time(400)), "the lease of a send");
    docket.edit(id(1)).expect("it is there").delivery.as_mut().expect("ours").state = DeliveryState::Sent;
    assert_eq!(docket.clocks().tend_at, Some(Time(500)), "the way back to AI");
    docket.conversation.mode.until = None;
    assert_eq!(docket.clocks().tend_at, Some(Time(600)), "the end of a snooze");
    docket.conversation.snoozed_until = None;
    assert_eq!(docket.clocks().tend_at, Some(Time(700)), "an overdue answer");

    let (id_of_draft, ripe_at, first_at) = (id(8), 50, 50);
    let wish =
        DraftWish { id: id_of_draft, by: None, ripe_at, first_at, restarts: 0, failures: 0, retry_at: None };
    docket.conversation.memo.draft_wish = Some(wish);
    assert_eq!(docket.clocks().turn_at, Some(Time(50)), "a draft that is to be written");
    docket.conversation.memo.ripe_at = Some(100);
    assert_eq!(docket.clocks().turn_at, Some(Time(100)), "the burst, before any draft");
    docket.conversation.lease = Some(Lease { owner: "one".to_owned(), turn: id(9), until: Time(900) });
    assert_eq!(docket.clocks().turn_at, Some(Time(900)), "the lease of a turn");
    docket.conversation.lease.as_mut().expect("it is held").until = docket.now.plus_ms(LEASED_AT_MOST_MS + 1);
    assert_eq!(docket.clocks().turn_at, Some(docket.now), "one from before the clock was set back");
    docket.keep_follow_up(follow_up(4));
    assert_eq!(docket.clocks().follow_up_at, Some(Time(9_000)));
}

#[test]
fn what_was_said_lately_is_known_unless_there_may_be_more() {
    let said = |n: u128| owed(n, DeliveryState::Sent, n, 0);
    let withdrawn = |n: u128| owed(n, DeliveryState::Cancelled, n, 0);
    let known = |complete_after| {
        let messages = vec![said(1), said(5), withdrawn(6), said(7), said(8)];
        Docket::open(Loaded { complete_after, ..loaded(messages) }, NOW)
    };
    #[rustfmt::skip]
    let table = [
        // All after   Wanted   Read
        (          4,       2,  Some(vec![7, 8])),
        (          4,       3,  Some(vec![5, 7, 8])),
        (          4,       4,  None),
        (          9,       1,  None),
        (          0,       9,  Some(vec![1, 5, 7, 8])),
        (          9,       0,  Some(vec![])),
    ];
    for (complete_after, limit, read) in table {
        let words = known(complete_after).words(limit);
        let words = words.map(|words| words.iter().map(|message| message.seq).collect::<Vec<_>>());
        assert_eq!(words, read, "{limit} of all after {complete_after}");
    }
}

#[test]
fn what_stays_open_is_what_a_store_would_load() {
    let lease = |n| Lease { owner: "one".to_owned(), turn: id(n), until: NOW };
    let mut open = loaded(vec![owed(1, DeliveryState::Queued, 7, 0), owed(2, DeliveryState::Sent, 7, 0)]);
    (open.conversation.seq, open.complete_after) = (60, 60);
    open.conversation.lease = Some(lease(5));
    open.turns = vec![turn(4), turn(5)];
    open.parked = vec![parked(7), parked(8)];
    open.letters = vec![letter(1, "refused"), letter(2, "refused")];
    let mut docket = Docket::open(open, NOW);
    docket.push(owed(3, DeliveryState::Sent, 7, 0));
    docket.keep_letter(DeadLetter { state: LetterState::Discarded, ..letter(1, "refused") });
    docket.unpark(|parked| parked.id == id(7));
    let changes = docket.close();
    let open = changes.open;
    assert_eq!(open.conversation, changes.conversation);
    assert_eq!(open.messages.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 61], "open, or said lately");
    assert_eq!((open.complete_after, open.is_new), (60, false));
    assert_eq!(
        open.turns.iter().map(|it| it.id).collect::<Vec<_>>(),
        [id(5)],
        "the one that holds the lease"
    );
    assert_eq!(open.letters.iter().map(|it| it.id).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(open.parked, [parked(8)]);
}
