//! Messages: windows, one by its id, keys, and what the model reads.

use uuid::Uuid;

use super::{all_pages, at, first};
use crate::{
    adapters::test_stores::{NOW, TestStore, answered, begun, event, from_contact, from_us, on_both_stores},
    domain::{
        conversation::Conversation,
        event::{Event, EventType},
        message::{
            Attempt, Author, DeliveryState, Kind, Media, Message, Outcome, OutcomeReason, Quoted, Sender,
        },
    },
    flow::{
        archive::{Archive, MessageFilter, UnknownSends, Window},
        ledger::Error,
    },
};

on_both_stores!(
    windows_show_the_newest_first,
    a_message_is_read_back_whole_with_its_place,
    beside_messages_stand_what_they_quote_and_what_was_reacted,
    a_key_is_known_by_every_id_of_the_chat,
    the_model_reads_only_what_was_said,
    no_window_is_unbounded,
    messages_of_all_conversations_come_by_time,
    messages_of_all_conversations_are_narrowed,
    only_sends_of_unknown_fate_are_looked_for_the_latest_first,
    sends_of_unknown_fate_are_read_page_by_page_though_all_were_tried_at_once,
);

async fn messages_of_all_conversations_come_by_time<S: TestStore>(store: &S) {
    let (mei, tom) = two_talks(store).await;
    let found = all_pages(async |page| store.exchanged(&MessageFilter::default(), &page).await).await;
    let mut sorted = found.clone();
    sorted.sort_by_key(|it| (it.placed.message.at, it.placed.message.id));
    assert_eq!(found, sorted, "in one order, whatever conversation they are of");
    assert_eq!(found.len(), 9, "none is left out between two pages, and none is there twice");
    let of = |id| found.iter().filter(|it| it.placed.conversation == id).collect::<Vec<_>>();
    assert_eq!((of(mei.id).len(), of(tom.id).len()), (6, 3));
    let first = of(mei.id)[0];
    assert_eq!(first.contact_name.as_deref(), Some("Mei"));
    assert_eq!((first.placed.channel.as_str(), &first.placed.chat), ("shop", &mei.chat));
}

async fn messages_of_all_conversations_are_narrowed<S: TestStore>(store: &S) {
    let (mei, tom) = two_talks(store).await;
    let all = MessageFilter::default;
    for (filter, wanted) in [
        (all(), 9),
        (MessageFilter { channels: Some(vec!["other".to_owned()]), ..all() }, 3),
        (MessageFilter { channels: Some(Vec::new()), ..all() }, 0),
        (MessageFilter { conversation: Some(mei.id), ..all() }, 6),
        (MessageFilter { conversation: Some(tom.id), channels: Some(vec!["shop".to_owned()]), ..all() }, 0),
        (MessageFilter { since: Some(NOW.plus_ms(1)), ..all() }, 6),
        (MessageFilter { until: Some(NOW.plus_ms(1)), ..all() }, 3),
        (MessageFilter { since: Some(NOW.plus_ms(1)), until: Some(NOW.plus_ms(2)), ..all() }, 3),
    ] {
        let page = store.exchanged(&filter, &first(100)).await.expect("a page");
        assert_eq!(page.items.len(), wanted, "{filter:?}");
    }
    assert!(matches!(store.exchanged(&all(), &at("nonsense")).await, Err(Error::NotACursor)));
}

/// Six messages with Mei and three with Tom, at three moments.
async fn two_talks<S: TestStore>(store: &S) -> (Conversation, Conversation) {
    let mei = Conversation { contact_name: Some("Mei".to_owned()), ..begun("shop", "6580000001@c.us") };
    let tom = begun("other", "6580000002@c.us");
    store.keep_conversation(&mei).await;
    store.keep_conversation(&tom).await;
    let said = |count: i64| (0..count).map(|n| from_contact(n + 1, "Hello", NOW.plus_ms(n % 3))).collect();
    store.keep_messages(&mei, said(6)).await;
    store.keep_messages(&tom, said(3)).await;
    (mei, tom)
}

async fn talk<S: TestStore>(store: &S, messages: i64) -> Conversation {
    let conversation = begun("shop", "6580000001@c.us");
    store.keep_conversation(&conversation).await;
    let said = (1..=messages).map(|seq| from_contact(seq, "Hello", NOW.plus_ms(seq)));
    store.keep_messages(&conversation, said.collect()).await;
    conversation
}

async fn windows_show_the_newest_first<S: TestStore>(store: &S) {
    let mei = talk(store, 9).await;
    for (window, limit, wanted) in [
        (Window::Newest, 3, vec![9, 8, 7]),
        (Window::Newest, 0, vec![]),
        (Window::Before(4), 2, vec![3, 2]),
        (Window::Before(1), 2, vec![]),
        (Window::Before(i64::MIN), 2, vec![]),
        (Window::After(4), 2, vec![6, 5]),
        (Window::After(9), 2, vec![]),
        (Window::Around(5), 4, vec![7, 6, 5, 4]),
        (Window::Around(5), 3, vec![6, 5, 4]),
        (Window::Around(9), 4, vec![9, 8]),
        (Window::Around(1), 4, vec![3, 2, 1]),
    ] {
        let found = store.messages(mei.id, window, limit).await.expect("reads");
        let found: Vec<i64> = found.iter().map(|message| message.seq).collect();
        assert_eq!(found, wanted, "{window:?} {limit}");
    }
    assert!(store.messages(Uuid::now_v7(), Window::Newest, 9).await.expect("reads").is_empty());
}

async fn a_message_is_read_back_whole_with_its_place<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let reason = Some(OutcomeReason::Sticker);
    let arrived = Message {
        kind: Kind::Sticker,
        sender: Some(Sender { id: "6580000009@c.us".to_owned(), name: "Ann".to_owned() }),
        quoted: Some(Quoted { provider_message_id: "3EB0".to_owned(), text: "…".to_owned() }),
        media: Some(Media { url: "https://example.test/a".to_owned(), ..Media::default() }),
        provider_message_id: Some("3EB1".to_owned()),
        provider_at: Some(NOW.plus_ms(-5)),
        ..answered(from_contact(1, "[sticker]", NOW), Outcome::Ignored, reason)
    };
    let owed = from_us(2, Author::Agent, "Hello", NOW, DeliveryState::Unknown);
    store.keep_messages(&mei, vec![arrived.clone(), owed.clone()]).await;
    for message in [arrived, owed] {
        let placed = store.message(message.id).await.expect("reads").expect("is there");
        assert_eq!((placed.conversation, placed.channel.as_str(), &placed.chat), (mei.id, "shop", &mei.chat));
        assert_eq!(placed.message, message);
    }
    assert_eq!(store.message(Uuid::now_v7()).await.expect("reads"), None);
}

async fn beside_messages_stand_what_they_quote_and_what_was_reacted<S: TestStore>(store: &S) {
    let (mei, tom) = (begun("shop", "6580000001@c.us"), begun("shop", "6580000002@c.us"));
    let said = |seq: i64, id: &str, quoted: Option<&str>, kind| {
        let quoted = quoted.map(|id| Quoted { provider_message_id: id.to_owned(), text: String::new() });
        let provider_message_id = Some(id.to_owned());
        Message { provider_message_id, quoted, kind, ..from_contact(seq, "words", NOW) }
    };
    for of in [&mei, &tom] {
        store.keep_conversation(of).await;
        let all = vec![
            said(1, "A", None, Kind::Text),
            said(2, "B", None, Kind::Text),
            said(3, "C", Some("A"), Kind::Text),
            said(4, "D", Some("C"), Kind::Reaction),
            said(1_003, "E", Some("C"), Kind::Reaction),
            said(1_004, "F", Some("C"), Kind::Reaction),
        ];
        store.keep_messages(of, all).await;
    }
    let shown = store.messages(mei.id, Window::Before(4), 1).await.expect("reads");
    let found = store.beside(&[shown[0].id]).await.expect("reads");
    assert!(found.iter().all(|(of, _)| *of == mei.id), "{found:?}");
    assert_eq!(found.iter().map(|(_, it)| it.seq).collect::<Vec<_>>(), [1_003, 4, 1]);
    assert!(store.beside(&[]).await.expect("reads").is_empty());
}

async fn a_key_is_known_by_every_id_of_the_chat<S: TestStore>(store: &S) {
    let mei = talk(store, 1).await;
    store.keep_chat("shop", "100000000000001@lid", mei.id).await;
    // Two that were merged: what was said in the later one stays with it.
    let (mut stays, goes) = (begun("shop", "6580000003@c.us"), begun("shop", "300000000000003@lid"));
    stays.memo.merged = vec![goes.id];
    for conversation in [&stays, &goes] {
        store.keep_conversation(conversation).await;
    }
    store.keep_messages(&goes, vec![from_contact(1, "Hello", NOW)]).await;
    let chat = |id| crate::domain::chat::ChatId::parse(id).expect("an id");
    for (channel, id, key, wanted) in [
        ("shop", "6580000001@c.us", "key-1", true),
        ("shop", "100000000000001@lid", "key-1", true),
        ("shop", "6580000001@c.us", "key-2", false),
        ("other", "6580000001@c.us", "key-1", false),
        ("shop", "6580000002@c.us", "key-1", false),
        ("shop", "6580000003@c.us", "key-1", true),
        ("shop", "6580000003@c.us", "key-2", false),
    ] {
        assert_eq!(
            store.has_message(channel, &chat(id), key).await.expect("reads"),
            wanted,
            "{channel} {id} {key}"
        );
    }
}

async fn the_model_reads_only_what_was_said<S: TestStore>(store: &S) {
    use DeliveryState as D;
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let contact = |seq, text| from_contact(seq, text, NOW);
    let ours = |seq, author, text, state| from_us(seq, author, text, NOW, state);
    let of_kind = |kind, message: Message| Message { kind, ..message };
    let all = vec![
        contact(1, "too old to matter"),
        contact(2, "asked"),
        ours(3, Author::Assistant, "answered", D::Read),
        of_kind(Kind::Reaction, contact(4, "👍")),
        of_kind(Kind::Call, contact(5, "[call]")),
        of_kind(Kind::PollVote, contact(6, "[vote]")),
        of_kind(Kind::Note, ours(7, Author::Agent, "a note", D::Read)),
        of_kind(Kind::Image, contact(8, "[image] a picture")),
        Message { deleted_at: Some(NOW), ..contact(9, "deleted") },
        contact(10, "  "),
        ours(11, Author::Assistant, "withdrawn", D::Cancelled),
        ours(12, Author::Agent, "given up", D::Dead),
        ours(13, Author::Agent, "refused", D::Failed),
        ours(14, Author::Assistant, "perhaps said", D::Unknown),
        ours(15, Author::System, "being said", D::Sending),
        ours(16, Author::Assistant, "not said yet", D::Queued),
        ours(17, Author::Agent, "about to be said", D::Queued),
        contact(18, "asked again"),
        contact(19, "after the turn began"),
    ];
    store.keep_messages(&mei, all.clone()).await;
    let history = store.history(mei.id, 18, 8).await.expect("reads");
    let words = all.iter().filter(|message| message.is_words() && (2..=18).contains(&message.seq));
    assert!(words.eq(&history), "a docket and the archive mean the same by words");
    let read: Vec<&str> = history.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(
        read,
        [
            "asked",
            "answered",
            "[image] a picture",
            "perhaps said",
            "being said",
            "not said yet",
            "about to be said",
            "asked again"
        ]
    );
}

async fn no_window_is_unbounded<S: TestStore>(store: &S) {
    let mei = talk(store, 1_010).await;
    for window in [Window::Newest, Window::After(0), Window::Around(505)] {
        assert_eq!(
            store.messages(mei.id, window, usize::MAX).await.expect("reads").len(),
            1_000,
            "{window:?}"
        );
    }
    assert_eq!(store.history(mei.id, i64::MAX, usize::MAX).await.expect("reads").len(), 1_000);
}

async fn only_sends_of_unknown_fate_are_looked_for_the_latest_first<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let tried = |seq: i64, state| {
        let mut message = from_us(seq, Author::Assistant, "Hello", NOW, state);
        if let Some(delivery) = &mut message.delivery {
            let at = NOW.plus_ms(seq);
            delivery.attempt = Some(Attempt { id: Uuid::now_v7(), at, lease_until: at });
        }
        message
    };
    let (first, second) = (tried(1, DeliveryState::Unknown), tried(3, DeliveryState::Unknown));
    let others = [tried(2, DeliveryState::Sent), tried(4, DeliveryState::Queued)];
    store.keep_messages(&mei, [vec![first.clone(), second.clone()], others.to_vec()].concat()).await;
    let found = store.unknown_sends(NOW, None, 10).await.expect("reads");
    assert!(found.iter().all(|placed| placed.conversation == mei.id && placed.chat == mei.chat));
    let found: Vec<Message> = found.into_iter().map(|placed| placed.message).collect();
    assert_eq!(found, [second.clone(), first.clone()]);
    let later = store.unknown_sends(NOW.plus_ms(2), None, 10).await.expect("reads");
    assert_eq!(later.into_iter().map(|placed| placed.message).collect::<Vec<_>>(), [second]);
    assert_eq!(store.unknown_sends(NOW, None, 1).await.expect("reads").len(), 1);
    let before_all = store.abandoned_sends(NOW.plus_ms(1), 10).await.expect("reads");
    assert_eq!(before_all, []);
    let abandoned = async || store.abandoned_sends(NOW.plus_ms(2), 10).await.expect("reads");
    let told: Vec<Message> = abandoned().await.into_iter().map(|placed| placed.message).collect();
    assert_eq!(told, std::slice::from_ref(&first));
    let note = |ms, action: &'static str, of| Event {
        action: Some(action.into()),
        message: Some(of),
        ..event(Some(&mei), Some(1), EventType::SendReconciled, NOW.plus_ms(ms))
    };
    let others = vec![note(0, "gave_up", first.id), note(1, "resent", first.id), note(1, "gave_up", mei.id)];
    store.keep_events(others).await;
    assert_eq!(abandoned().await.len(), 1, "of an earlier attempt, another action, another message");
    store.keep_events(vec![note(1, "gave_up", first.id)]).await;
    assert_eq!(abandoned().await, []);
}

async fn sends_of_unknown_fate_are_read_page_by_page_though_all_were_tried_at_once<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    let all: Vec<Message> =
        (1..=5).map(|seq| from_us(seq, Author::Assistant, "Hello", NOW, DeliveryState::Unknown)).collect();
    store.keep_messages(&mei, all.clone()).await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.unknown_sends(NOW, after, 2).await.expect("reads");
        let Some(last) = page.last() else { break };
        after = Some((NOW, last.message.id));
        seen.extend(page.into_iter().map(|placed| placed.message.id));
    }
    let mut wanted: Vec<Uuid> = all.iter().map(|message| message.id).collect();
    wanted.sort_by(|one, other| other.cmp(one));
    assert_eq!(seen, wanted);
}
