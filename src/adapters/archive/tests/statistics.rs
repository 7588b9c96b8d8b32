//! Numbers by hour, and how much waits now.

use serde_json::{Map, Value, json};

use super::super::statistics::TURNS;
use crate::{
    adapters::{
        sql::Statement,
        test_stores::{
            self, NOW, TestStore, answered, begun, from_contact, from_us, letter, on_both_stores, scheduled,
            suggested, turn,
        },
    },
    domain::{
        conversation::{Attention, AttentionReason, Conversation},
        draft::DraftState,
        lane::Lane,
        message::{Author, Delivery, DeliveryState, Gate, Inbound, Kind, Message, Outcome, OutcomeReason},
        mode::Mode,
        time::Time,
        turn::{DeadLetter, FollowUp, FollowUpState, LetterKind, LetterState, Purpose, Turn, TurnState},
    },
    flow::{
        archive::{Archive, Bucket, PageOf, Statistics},
        back_office::registry::{self, Registry},
        ledger::Error,
        outbox,
        spending::Used,
    },
};

on_both_stores!(
    what_happened_counts_in_its_hour,
    numbers_are_those_of_the_channels_asked_for,
    a_wait_ends_with_the_first_answer_that_left,
    percentiles_are_those_of_the_nearest_rank,
    steps_that_are_none_or_too_many_are_refused,
    what_waits_is_counted_by_kind,
    what_waits_on_a_channel_that_cannot_send_has_no_age,
    what_waits_is_known_though_conversations_cannot_be_counted,
    drafts_count_when_they_were_written_as_they_stand_now,
    what_a_conversation_used_is_told_by_model,
    what_channels_used_since_then_is_told_by_model,
    a_reply_of_which_nothing_left_was_written_for_nothing,
    a_wait_goes_on_from_one_week_into_the_next,
);

const HOUR: i64 = 3_600_000;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

async fn begin<S: TestStore>(store: &S, channel: &str, chat: &str) -> Conversation {
    let conversation = begun(channel, chat);
    store.keep_conversation(&conversation).await;
    conversation
}

async fn what_happened_counts_in_its_hour<S: TestStore>(store: &S) {
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let tom = begin(store, "shop", "6580000002@c.us").await;
    let said = |seq, hours: i64, outcome| {
        answered(from_contact(seq, "Hello", NOW.plus_ms(hours * HOUR)), outcome, None::<OutcomeReason>)
    };
    let messages = vec![
        said(1, 0, Outcome::Answered),
        said(2, 0, Outcome::Answered),
        said(3, 1, Outcome::LeftToHuman),
        said(4, 2, Outcome::Answered),
    ];
    store.keep_messages(&mei, messages).await;
    store.keep_messages(&tom, vec![said(1, 0, Outcome::Ignored), said(2, -1, Outcome::Answered)]).await;
    let failed = Turn { state: TurnState::Failed, ..turn(NOW.plus_ms(1)) };
    let next_hour = turn(NOW.plus_ms(HOUR - 1));
    store.keep_turns(&mei, vec![turn(NOW), turn(NOW), failed, next_hour]).await;
    let carried = |seq, state| from_us(seq, Author::Assistant, "Still there?", NOW, state);
    let messages = [
        carried(5, DeliveryState::Queued),
        carried(6, DeliveryState::Unknown),
        carried(7, DeliveryState::Delivered),
        carried(8, DeliveryState::Dead),
    ];
    let by_message = messages.iter().map(|message| FollowUp {
        message: Some(message.id),
        ..scheduled(NOW.plus_ms(HOUR), FollowUpState::Sent)
    });
    let mut follow_ups: Vec<FollowUp> = by_message.collect();
    store.keep_messages(&mei, messages.to_vec()).await;
    follow_ups.extend([
        scheduled(NOW.plus_ms(HOUR), FollowUpState::Sent),
        scheduled(NOW.plus_ms(2 * HOUR - 1), FollowUpState::Withheld),
        scheduled(NOW.plus_ms(2 * HOUR), FollowUpState::Pending),
    ]);
    store.keep_follow_ups(&mei, follow_ups).await;

    let buckets = store.buckets(NOW, NOW.plus_ms(2 * HOUR), HOUR, None).await.expect("counts");
    let [first, second] = buckets.as_slice() else { panic!("two hours, not {}", buckets.len()) };
    assert_eq!((first.from, second.from), (NOW, NOW.plus_ms(HOUR)));
    assert_eq!((first.conversations, second.conversations), (2, 1));
    assert_eq!(first.outcomes, map(json!({ "answered": 2, "ignored": 1 })));
    assert_eq!(second.outcomes, map(json!({ "left_to_human": 1 })));
    assert_eq!(first.turns, map(json!({ "completed": 2, "failed": 1 })));
    assert_eq!(second.turns, map(json!({ "completed": 1 })), "a turn counts when it ended");
    assert_eq!((tokens(first), tokens(second)), (360, 120));
    assert_eq!(first.follow_ups, Map::new());
    assert_eq!(second.follow_ups, map(json!({ "sent": 2, "pending": 2, "withheld": 2 })));
}

fn tokens(bucket: &Bucket) -> i64 {
    bucket.usage.iter().map(|used| used.input_tokens + used.output_tokens).sum()
}

async fn numbers_are_those_of_the_channels_asked_for<S: TestStore>(store: &S) {
    for (channel, chat) in [("shop", "6580000001@c.us"), ("other", "6580000002@c.us")] {
        let conversation = begin(store, channel, chat).await;
        let sent = from_us(2, Author::Assistant, "Hi", NOW.plus_ms(7), DeliveryState::Sent);
        store.keep_messages(&conversation, vec![from_contact(1, "Hello", NOW), sent]).await;
        store.keep_turns(&conversation, vec![turn(NOW)]).await;
        store.keep_follow_ups(&conversation, vec![scheduled(NOW, FollowUpState::Pending)]).await;
        store.keep_letters(vec![letter(channel, LetterKind::Webhook, NOW)]).await;
    }
    let shop = ["shop".to_owned()];
    for (channels, wanted) in [(None, 2), (Some(shop.as_slice()), 1), (Some([].as_slice()), 0)] {
        let buckets = store.buckets(NOW, NOW.plus_ms(HOUR), HOUR, channels).await.expect("counts");
        let one = &buckets[0];
        assert_eq!((one.conversations, tokens(one)), (wanted, wanted * 120), "{channels:?}");
        assert_eq!(one.turns.get("completed").and_then(Value::as_i64).unwrap_or(0), wanted);
        assert_eq!(one.follow_ups.get("pending").and_then(Value::as_i64).unwrap_or(0), wanted);
        assert_eq!(one.first_answer_ms, (wanted > 0).then_some((7, 7)));
        let depths = store.depths(channels).await.expect("counts");
        assert_eq!((depths.inbox.0, depths.follow_ups), (wanted, wanted));
        assert_eq!(depths.letters.iter().map(|(_, count)| count).sum::<i64>(), wanted);
        let modes = store.modes(channels).await.expect("counts");
        assert_eq!(modes, [("AI".to_owned(), wanted), ("HUMAN".to_owned(), 0)]);
    }
}

/// What was said in one conversation, and how long its first answers took: of anyone, and of people.
async fn answers<S: TestStore>(
    store: &S,
    messages: Vec<Message>,
) -> (Option<(i64, i64)>, Option<(i64, i64)>) {
    let channel = uuid::Uuid::now_v7().to_string();
    let conversation = begin(store, &channel, "6580000001@c.us").await;
    store.keep_messages(&conversation, messages).await;
    let channels = [conversation.channel.clone()];
    let buckets = store.buckets(NOW, NOW.plus_ms(HOUR), HOUR, Some(&channels)).await.expect("counts");
    (buckets[0].first_answer_ms, buckets[0].human_answer_ms)
}

async fn a_wait_ends_with_the_first_answer_that_left<S: TestStore>(store: &S) {
    let contact = |seq, ms| from_contact(seq, "Hello", NOW.plus_ms(ms));
    let ours = |seq, author, ms, state| from_us(seq, author, "Hi", NOW.plus_ms(ms), state);
    let assistant = |seq, ms, state| ours(seq, Author::Assistant, ms, state);
    let inert = |message: Message| {
        let inbound = message.inbound.map(|inbound| Inbound { starts_turn: false, ..inbound });
        Message { inbound, ..message }
    };
    let unanswerable = |message: Message, reason| answered(message, Outcome::Ignored, Some(reason));
    let farewell = |message: Message| {
        let delivery = message.delivery.map(|delivery| Delivery { gate: Gate::Farewell, ..delivery });
        Message { delivery, ..message }
    };
    let phone =
        |seq, ms| Message { author: Author::Agent, inbound: None, delivery: None, ..contact(seq, ms) };
    let note = |seq, ms| Message { kind: Kind::Note, ..phone(seq, ms) };
    let sign = |seq, ms| Message { kind: Kind::Call, ..phone(seq, ms) };
    let late = |seq, ms, sent: i64| {
        let message = assistant(seq, ms, DeliveryState::Sent);
        let delivery = message.delivery.clone();
        let delivery = delivery.map(|delivery| Delivery { sent_at: Some(NOW.plus_ms(sent)), ..delivery });
        Message { delivery, ..message }
    };
    let one = |ms| Some((ms, ms));
    use DeliveryState as D;
    for (name, messages, wanted) in [
        ("nobody answers", vec![contact(1, 0)], (None, None)),
        ("the assistant does", vec![contact(1, 0), assistant(2, 50, D::Read)], (one(50), None)),
        ("it counts when it left", vec![contact(1, 0), late(2, 50, 80)], (one(80), None)),
        ("a person does", vec![contact(1, 0), ours(2, Author::Agent, 60, D::Sent)], (one(60), one(60))),
        ("on the phone", vec![contact(1, 0), phone(2, 70)], (one(70), one(70))),
        (
            "a call or a reaction is no words",
            vec![contact(1, 0), sign(2, 10), phone(3, 70)],
            (one(70), one(70)),
        ),
        (
            "a burst waits since its first",
            vec![contact(1, 0), contact(2, 40), assistant(3, 50, D::Sent)],
            (one(50), None),
        ),
        (
            "a sticker begins no wait",
            vec![inert(contact(1, 0)), contact(2, 40), assistant(3, 50, D::Sent)],
            (one(10), None),
        ),
        (
            "what nobody is to answer begins no wait, and stands before none",
            vec![
                unanswerable(contact(1, 0), OutcomeReason::StayedSilent),
                unanswerable(contact(2, 5), OutcomeReason::OptedOut),
                contact(3, 40),
                unanswerable(contact(4, 45), OutcomeReason::Deleted),
                assistant(5, 50, D::Sent),
            ],
            (one(10), None),
        ),
        (
            "what the settings say is no answer",
            vec![contact(1, 0), ours(2, Author::System, 5, D::Sent), assistant(3, 50, D::Sent)],
            (one(50), None),
        ),
        (
            "nor does it end the wait of whoever writes again",
            vec![contact(1, 0), ours(2, Author::System, 5, D::Sent), contact(3, 20), phone(4, 60)],
            (one(60), one(60)),
        ),
        (
            "last words that hand over leave the contact waiting for the person",
            vec![contact(1, 0), farewell(assistant(2, 5, D::Sent)), phone(3, 70)],
            (one(70), one(70)),
        ),
        (
            "what never left is no answer",
            vec![contact(1, 0), assistant(2, 5, D::Cancelled), assistant(3, 50, D::Sent)],
            (one(50), None),
        ),
        (
            "a note is none either",
            vec![contact(1, 0), note(2, 5), assistant(3, 50, D::Sent)],
            (one(50), None),
        ),
        ("what left before is none", vec![assistant(1, 0, D::Sent), contact(2, 10)], (None, None)),
        (
            "a wait from before the hour",
            vec![contact(1, -10), contact(2, 5), assistant(3, 50, D::Sent)],
            (None, None),
        ),
        (
            "an answer after the hour",
            vec![contact(1, HOUR - 1), assistant(2, HOUR + 9, D::Sent)],
            (one(10), None),
        ),
        (
            "the next wait begins after the answer",
            vec![contact(1, 0), assistant(2, 50, D::Sent), contact(3, 100), phone(4, 300)],
            (Some((50, 200)), one(200)),
        ),
    ] {
        assert_eq!(answers(store, messages).await, wanted, "{name}");
    }
}

async fn percentiles_are_those_of_the_nearest_rank<S: TestStore>(store: &S) {
    for (count, wanted) in [(1, (10, 10)), (2, (10, 20)), (10, (50, 90)), (11, (60, 100))] {
        let mut messages = Vec::new();
        for n in 1..=count {
            let at = NOW.plus_ms(n * 1_000);
            messages.push(from_contact(2 * n, "Hello", at));
            messages.push(from_us(
                2 * n + 1,
                Author::Assistant,
                "Hi",
                at.plus_ms(n * 10),
                DeliveryState::Sent,
            ));
        }
        assert_eq!(answers(store, messages).await.0, Some(wanted), "{count}");
    }
}

async fn steps_that_are_none_or_too_many_are_refused<S: TestStore>(store: &S) {
    for (to, step) in [(NOW.plus_ms(10), 0), (NOW.plus_ms(10_001), 1), (Time(i64::MAX), HOUR)] {
        assert!(matches!(store.buckets(NOW, to, step, None).await, Err(Error::Refused(_))), "{to:?} {step}");
    }
    assert_eq!(store.buckets(NOW, NOW.plus_ms(-1), HOUR, None).await.expect("nothing to count"), []);
}

async fn what_waits_is_counted_by_kind<S: TestStore>(store: &S) {
    let nothing = store.depths(None).await.expect("counts");
    let zeros = |counts: &[(String, i64)]| counts.iter().all(|(_, count)| *count == 0);
    assert!(zeros(&nothing.outbox) && zeros(&nothing.letters) && zeros(&nothing.attention));
    assert_eq!((nothing.outbox.len(), nothing.inbox, nothing.outbox_oldest_ms), (4, (0, 0), 0));

    let mei = begin(store, "shop", "6580000001@c.us").await;
    let mut tom = begun("shop", "6580000002@c.us");
    tom.mode.mode = Mode::Human;
    tom.attention = Some(Attention { reason: AttentionReason::Stale, since: NOW.plus_ms(-400) });
    store.keep_conversation(&tom).await;
    let owed = |seq, author, ms, state| from_us(seq, author, "Hi", NOW.plus_ms(ms), state);
    let mut until_morning = owed(8, Author::Assistant, -700, DeliveryState::Queued);
    let delivery = until_morning.delivery.as_mut().expect("it is owed");
    (delivery.lane, delivery.due_at) = (Lane::Proactive, NOW.plus_ms(500));
    let messages = vec![
        from_contact(1, "Hello", NOW.plus_ms(-500)),
        from_contact(2, "Hello?", NOW.plus_ms(-100)),
        owed(3, Author::Assistant, -300, DeliveryState::Sending),
        owed(4, Author::Assistant, -200, DeliveryState::Queued),
        owed(5, Author::Agent, -250, DeliveryState::Queued),
        owed(6, Author::Agent, -900, DeliveryState::Sent),
        owed(7, Author::Agent, -900, DeliveryState::Unknown),
        until_morning,
    ];
    store.keep_messages(&mei, messages).await;
    store
        .keep_follow_ups(
            &mei,
            vec![scheduled(NOW, FollowUpState::Pending), scheduled(NOW, FollowUpState::Sent)],
        )
        .await;
    let put_away = DeadLetter { state: LetterState::Discarded, ..letter("shop", LetterKind::Send, NOW) };
    store.keep_letters(vec![letter("shop", LetterKind::Turn, NOW), put_away]).await;

    let depths = store.depths(None).await.expect("counts");
    let of = |counts: &[(String, i64)], word: &str| {
        counts.iter().find(|(known, _)| known == word).map(|(_, n)| *n)
    };
    assert_eq!(depths.inbox, (2, 500));
    assert_eq!((of(&depths.outbox, "reply"), of(&depths.outbox, "human")), (Some(2), Some(1)));
    assert_eq!((of(&depths.outbox, "proactive"), depths.outbox_oldest_ms), (Some(1), 300));
    assert_eq!((of(&depths.letters, "turn"), of(&depths.letters, "send")), (Some(1), Some(0)));
    let modes = store.modes(None).await.expect("counts");
    assert_eq!(modes, [("AI".to_owned(), 1), ("HUMAN".to_owned(), 1)]);
    assert_eq!((of(&depths.attention, "stale"), of(&depths.attention, "unreadable")), (Some(1), Some(0)));
    assert_eq!(depths.attention_oldest_ms, 400);
    assert_eq!(depths.follow_ups, 1);
}

async fn what_waits_on_a_channel_that_cannot_send_has_no_age<S: TestStore>(store: &S) {
    for (channel, chat, ms_ago) in [("off", "6580000001@c.us", 900), ("on", "6580000002@c.us", 40)] {
        let row = registry::Channel::new(channel, "sandbox", NOW);
        assert!(store.add_channel(&row).await.expect("written"));
        let conversation = begin(store, channel, chat).await;
        let at = NOW.plus_ms(-ms_ago);
        let owed = from_us(2, Author::Assistant, "Hi", at, DeliveryState::Queued);
        store.keep_messages(&conversation, vec![from_contact(1, "Hello", at), owed]).await;
    }
    // As the step that sends sees it.
    for state in ["", "notAuthorized", "authorized", "blocked", "starting", "credentials_refused"] {
        if !state.is_empty() {
            store.set_channel_state("off", state, NOW).await.expect("written");
        }
        let depths = store.depths(None).await.expect("counts");
        let oldest = if outbox::is_able(state) { 900 } else { 40 };
        assert_eq!((depths.inbox, depths.outbox_oldest_ms), ((2, oldest), oldest), "{state:?}");
        let owed: i64 = depths.outbox.iter().map(|(_, count)| count).sum();
        assert_eq!(owed, 2, "it is still owed");
    }
}

/// As where there are millions, and the database ends the statement.
async fn what_waits_is_known_though_conversations_cannot_be_counted<S: TestStore>(store: &S) {
    let mei = begin(store, "shop", "6580000001@c.us").await;
    store.keep_messages(&mei, vec![from_contact(1, "Hello", NOW.plus_ms(-5))]).await;
    store
        .write(Statement::new("alter table conversations rename column erased_at to gone"))
        .await
        .expect("renamed");
    assert!(store.modes(None).await.is_err());
    assert_eq!(store.depths(None).await.expect("counts").inbox, (1, 5));
}

async fn drafts_count_when_they_were_written_as_they_stand_now<S: TestStore>(store: &S) {
    use DraftState::{Discarded, Edited, Fresh, Sent, Stale};
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let tom = begin(store, "other", "6580000002@c.us").await;
    let of_mei = [
        (0, Sent, 0),
        (0, Sent, 0),
        (0, Edited, 9),
        (0, Edited, 2),
        (0, Edited, 4),
        (0, Discarded, 0),
        (HOUR - 1, Stale, 0),
        (HOUR, Fresh, 0),
        (2 * HOUR, Sent, 0),
    ];
    let drafts = |all: &[(i64, DraftState, i64)]| {
        all.iter().map(|(ms, state, apart)| suggested(NOW.plus_ms(*ms), *state, *apart)).collect()
    };
    store.keep_drafts(&mei, drafts(&of_mei)).await;
    store.keep_drafts(&tom, drafts(&[(0, Edited, 100)])).await;
    let count = async |channels: Option<&[String]>| {
        let buckets = store.buckets(NOW, NOW.plus_ms(2 * HOUR), HOUR, channels).await.expect("counts");
        buckets.into_iter().map(|it| (it.drafts, it.draft_edit_distance)).collect::<Vec<_>>()
    };
    let first = map(json!({ "stale": 1, "sent": 2, "edited": 3, "discarded": 1 }));
    let of_those_changed = Some((4, 9));
    let wanted = [(first, of_those_changed), (map(json!({ "fresh": 1 })), None)];
    assert_eq!(count(Some(&["shop".to_owned()])).await, wanted);
    assert_eq!(count(None).await[0].1, Some((4, 100)));
    assert_eq!(count(Some(&[])).await[0], (Map::new(), None));
}

async fn what_channels_used_since_then_is_told_by_model<S: TestStore>(store: &S) {
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let other = begin(store, "other", "6580000002@c.us").await;
    let named = |model: &str, wasted: bool, at| Turn { model: model.to_owned(), wasted, ..turn(at) };
    let turns = vec![
        named("small", false, NOW),
        named("small", false, NOW.plus_ms(1)),
        named("small", true, NOW),
        named("large", false, NOW),
        named("large", false, NOW.plus_ms(-HOUR)),
    ];
    store.keep_turns(&mei, turns).await;
    store.keep_turns(&other, vec![named("large", false, NOW)]).await;
    let third = begin(store, "third", "6580000003@c.us").await;
    store.keep_turns(&third, vec![named("large", false, NOW)]).await;
    let asked = ["idle", "other", "shop"].map(str::to_owned);
    let used = store.usage(&asked, NOW).await.expect("counts");
    let told: Vec<_> = used
        .iter()
        .map(|(channel, used)| (channel.as_str(), used.model.as_str(), used.wasted, used.input_tokens))
        .collect();
    let one = turn(NOW).input_tokens;
    let wanted = [
        ("other", "large", false, one),
        ("shop", "large", false, one),
        ("shop", "small", false, 2 * one),
        ("shop", "small", true, one),
    ];
    assert_eq!(told, wanted, "of nobody else");
}

async fn what_a_conversation_used_is_told_by_model<S: TestStore>(store: &S) {
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let tom = begin(store, "shop", "6580000002@c.us").await;
    let named = |model: &str, wasted: bool, at| Turn { model: model.to_owned(), wasted, ..turn(at) };
    assert_eq!(store.used(mei.id).await.expect("counts"), []);
    let turns = vec![
        named("small", false, NOW),
        named("small", false, NOW.plus_ms(-30 * 24 * HOUR)),
        named("small", true, NOW),
        named("large", false, NOW),
    ];
    store.keep_turns(&mei, turns).await;
    store.keep_turns(&tom, vec![named("large", false, NOW)]).await;
    let used = store.used(mei.id).await.expect("counts");
    let told: Vec<_> =
        used.iter().map(|it| (it.model.as_str(), it.wasted, it.input_tokens, it.output_tokens)).collect();
    let Turn { input_tokens: read, output_tokens: wrote, .. } = turn(NOW);
    let wanted =
        [("large", false, read, wrote), ("small", false, 2 * read, 2 * wrote), ("small", true, read, wrote)];
    assert_eq!(told, wanted);
}

async fn a_reply_of_which_nothing_left_was_written_for_nothing<S: TestStore>(store: &S) {
    use DeliveryState::{Cancelled, Dead, Failed, Queued, Sent, Unknown};
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let mut seq = 0;
    for (states, purpose, wasted) in [
        (vec![Cancelled, Cancelled], Purpose::Reply, true),
        (vec![Sent, Cancelled], Purpose::Reply, false),
        (vec![Failed, Cancelled], Purpose::Reply, true),
        (vec![Dead], Purpose::Reply, true),
        (vec![Unknown, Cancelled], Purpose::Reply, false),
        (vec![Queued], Purpose::Reply, false),
        (vec![], Purpose::Reply, false),
        (vec![Cancelled], Purpose::FollowUp, true),
        (vec![], Purpose::Draft, false),
    ] {
        let model = format!("{states:?} {purpose}");
        let turn = Turn { model: model.clone(), purpose, ..turn(NOW) };
        let mut parts = Vec::new();
        for state in states {
            seq += 1;
            let part = from_us(seq, Author::Assistant, "Hi", turn.ended_at.expect("it has"), state);
            parts.push(Message { turn: Some(turn.id), ..part });
        }
        store.keep_messages(&mei, parts).await;
        let id = turn.id;
        store.keep_turns(&mei, vec![turn]).await;
        let all = PageOf { limit: 50, cursor: None };
        let turns = store.turns(mei.id, &all).await.expect("a page").items;
        assert_eq!(turns.iter().find(|it| it.id == id).map(|it| it.wasted), Some(wasted), "{model}");
        let one = store.turn(id).await.expect("reads").map(|(_, _, it)| it.wasted);
        assert_eq!(one, Some(wasted), "{model}");
        let buckets = store.buckets(NOW, NOW.plus_ms(HOUR), HOUR, None).await.expect("counts");
        let used = buckets[0].usage.iter().find(|used| used.model == model);
        assert_eq!(used.map(|used| used.wasted), Some(wasted), "{model}");
    }
    // It was accepted, and reported as failed later.
    let turn = turn(NOW.plus_ms(HOUR));
    let ended_at = turn.ended_at.expect("it has");
    let mut accepted = from_us(seq + 1, Author::Assistant, "Hi", ended_at, Failed);
    accepted.delivery.as_mut().expect("it is ours").sent_at = Some(ended_at);
    store.keep_messages(&mei, vec![Message { turn: Some(turn.id), ..accepted }]).await;
    let id = turn.id;
    store.keep_turns(&mei, vec![turn]).await;
    let one = store.turn(id).await.expect("reads").map(|(_, _, it)| it.wasted);
    let later = store.buckets(NOW.plus_ms(HOUR), NOW.plus_ms(2 * HOUR), HOUR, None).await.expect("counts");
    assert_eq!((one, later[0].usage[0].wasted), (Some(false), false), "it has left");
}

/// Weeks are counted one after the other.
async fn a_wait_goes_on_from_one_week_into_the_next<S: TestStore>(store: &S) {
    const DAY: i64 = 24 * HOUR;
    let mei = begin(store, "shop", "6580000001@c.us").await;
    let ours = |seq, ms| from_us(seq, Author::Agent, "Hi", NOW.plus_ms(ms), DeliveryState::Sent);
    let contact = |seq, ms| from_contact(seq, "Hello", NOW.plus_ms(ms));
    let messages = vec![
        contact(1, 7 * DAY - 20),
        contact(2, 7 * DAY + 5),
        ours(3, 7 * DAY + 10),
        ours(4, 14 * DAY - 10),
        contact(5, 14 * DAY + 2),
        ours(6, 14 * DAY + 9),
    ];
    store.keep_messages(&mei, messages).await;
    let buckets = store.buckets(NOW, NOW.plus_ms(20 * DAY), DAY, None).await.expect("counts");
    assert_eq!(buckets.len(), 20);
    let answered: Vec<_> =
        buckets.iter().enumerate().filter_map(|(day, it)| Some((day, it.human_answer_ms?))).collect();
    assert_eq!(answered, [(6, (30, 30)), (14, (7, 7))]);
}

// On one store: the turns are those of the whole process.
#[tokio::test]
async fn no_more_than_two_are_counted_at_once() {
    let (store, _folder) = test_stores::sqlite().await;
    let count = || store.buckets(NOW, NOW.plus_ms(HOUR), HOUR, None);
    let _first = TURNS.turn().await.expect("a turn");
    let second = TURNS.turn().await.expect("another");
    let soon = std::time::Duration::from_millis(200);
    assert!(tokio::time::timeout(soon, count()).await.is_err(), "it waits");
    drop(second);
    count().await.expect("its turn");
}
