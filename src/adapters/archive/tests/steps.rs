//! What a step writes through the ledger is what the archive reads.

use crate::{
    adapters::test_stores::{NOW, TestStore, from_contact, on_both_stores, scheduled},
    domain::{
        chat::ChatId,
        conversation::Opening,
        docket::Entry,
        event::{EventType, actor},
        mode::{Mode, Reason},
        turn::FollowUpState,
    },
    flow::{
        archive::{Archive, EventFilter, Window},
        back_office::registry::{Channel, Registry as _},
        ledger::{Key, Need, change},
    },
};

on_both_stores!(what_a_step_writes_is_read_back);

async fn what_a_step_writes_is_read_back<S: TestStore>(store: &S) {
    let ledger = TestStore::ledger(store);
    store.add_channel(&Channel::new("shop", "sandbox", NOW)).await.expect("written");
    let chat = ChatId::parse("6580000001@c.us").expect("an id");
    let opening =
        Opening { mode: Mode::Ai, reason: Reason::Rollout, actor: actor::SYSTEM.to_owned(), drafting: false };
    let key = Key::Chat { channel: "shop".to_owned(), chat: chat.clone(), opening: Some(opening) };
    let (message, follow_up) = (from_contact(0, "Hello", NOW), scheduled(NOW, FollowUpState::Pending));
    let wanted = (message.clone(), follow_up.clone());
    let (conversation, message) = change(ledger.as_ref(), key, Need::default(), move |docket| {
        docket.conversation.contact_name = Some("Mei".to_owned());
        let id = docket.push(message.clone());
        docket.keep_follow_up(follow_up.clone());
        docket.record(Entry::of(EventType::MessageReceived).action("stored").message(id).by(actor::CONTACT));
        (docket.conversation.clone(), docket.message(id).cloned())
    })
    .await
    .expect("the step is committed");

    let shown = store.conversation_of("shop", &chat).await.expect("reads").expect("is there");
    assert_eq!(shown.conversation, conversation);
    assert_eq!((shown.last_message, shown.inbox), (message.clone(), 1));
    assert_eq!(shown.follow_up.map(|follow_up| follow_up.id), Some(wanted.1.id));
    let messages = store.messages(conversation.id, Window::Newest, 5).await.expect("reads");
    assert_eq!(messages, Vec::from_iter(message));
    assert!(store.has_message("shop", &chat, wanted.0.key.as_deref().expect("a key")).await.expect("reads"));
    let filter = EventFilter { conversation: Some(conversation.id), ..Default::default() };
    let events = store.events(&filter, &super::first(5)).await.expect("a page").items;
    let kinds: Vec<EventType> = events.iter().map(|recorded| recorded.event.kind).collect();
    assert_eq!(kinds, [EventType::ConversationCreated, EventType::MessageReceived]);
}
