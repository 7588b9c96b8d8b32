//! A person whom the provider knows under two ids.

use crate::{
    adapters::test_stores::{NOW, TestStore, begun, from_contact, from_us, on_both_stores},
    domain::{
        chat::ChatId,
        conversation::Conversation,
        message::{Author, DeliveryState, Message},
    },
    flow::{
        archive::Archive,
        back_office::registry::{Linked, Registry},
    },
};

on_both_stores!(
    two_ids_of_one_person_share_a_conversation,
    what_was_sent_is_found_by_its_id_from_another_chat,
    what_was_sent_is_found_by_its_id_alone_if_in_one_chat_alone,
);

async fn two_ids_of_one_person_share_a_conversation<S: TestStore>(store: &S) {
    let chat = |id: &str| ChatId::parse(id).expect("a chat id");
    let (phone, hidden, other) =
        (chat("6580000001@c.us"), chat("100000000000001@lid"), chat("200000000000002@lid"));
    let link =
        async |one: &ChatId, two: &ChatId| store.link_chats("default", one, two).await.expect("linked");
    assert_eq!(link(&phone, &hidden).await, Linked::Not, "there is nothing to share yet");
    let mei = begun("default", phone.as_str());
    let late = Conversation { created_at: mei.created_at.plus_ms(1), ..begun("default", other.as_str()) };
    store.keep_conversation(&mei).await;
    for (one, two) in [(&hidden, &phone), (&hidden, &phone), (&phone, &hidden)] {
        assert_eq!(link(one, two).await, Linked::Together);
    }
    let mut known = store.ids_of("default", &hidden).await.expect("reads");
    known.sort();
    assert_eq!(known, [hidden.clone(), phone.clone()]);
    assert_eq!(store.ids_of("default", &other).await.expect("reads"), []);
    store.keep_conversation(&late).await;
    for (one, two) in [(&phone, &other), (&other, &hidden)] {
        assert_eq!(link(one, two).await, Linked::Apart { earlier: mei.id, later: late.id });
    }
    for (id, wanted) in [(&phone, mei.id), (&hidden, mei.id), (&other, late.id)] {
        let found = store.conversation_of("default", id).await.expect("reads").expect("there");
        assert_eq!(found.conversation.id, wanted, "{id}");
    }
}

async fn what_was_sent_is_found_by_its_id_from_another_chat<S: TestStore>(store: &S) {
    let chat = |id: &str| ChatId::parse(id).expect("a chat id");
    let (phone, hidden, alias) =
        (chat("6580000001@c.us"), chat("100000000000001@lid"), chat("200000000000002@lid"));
    let mei = begun("default", phone.as_str());
    store.keep_conversation(&mei).await;
    store.keep_chat("default", alias.as_str(), mei.id).await;
    let called = |message: Message, id: &str| Message { provider_message_id: Some(id.to_owned()), ..message };
    let theirs = called(from_contact(1, "Hi", NOW), "THEIRS");
    let ours = called(from_us(2, Author::Assistant, "Hello!", NOW, DeliveryState::Sent), "OURS");
    store.keep_messages(&mei, vec![theirs, ours]).await;
    for (channel, id, from, wanted) in [
        ("default", "OURS", &hidden, Some(&phone)),
        ("default", "OURS", &phone, None),
        ("default", "OURS", &alias, None),
        ("default", "THEIRS", &hidden, None),
        ("default", "NOBODYS", &hidden, None),
        ("shop", "OURS", &hidden, None),
    ] {
        let found = store.sent_to(channel, id, from).await.expect("reads");
        assert_eq!(found.as_ref(), wanted, "{id} of {channel}, from {from}");
    }
}

async fn what_was_sent_is_found_by_its_id_alone_if_in_one_chat_alone<S: TestStore>(store: &S) {
    let called = |message: Message, id: &str| Message { provider_message_id: Some(id.to_owned()), ..message };
    for chat in ["6580000001@c.us", "6580000002@c.us"] {
        let with = begun("default", chat);
        store.keep_conversation(&with).await;
        let sent = |seq| from_us(seq, Author::Assistant, "Hello!", NOW, DeliveryState::Sent);
        let theirs = called(from_contact(1, "Hi", NOW), "THEIRS");
        let messages = vec![theirs, called(sent(2), "BOTH"), called(sent(3), &format!("TO {chat}"))];
        store.keep_messages(&with, messages).await;
    }
    for (channel, id, wanted) in [
        ("default", "TO 6580000002@c.us", Some("6580000002@c.us")),
        ("shop", "TO 6580000002@c.us", None),
        ("default", "BOTH", None),
        ("default", "THEIRS", None),
        ("default", "NOBODYS", None),
    ] {
        let found = store.chat_of(channel, id).await.expect("reads");
        assert_eq!(found.as_ref().map(ChatId::as_str), wanted, "{id} of {channel}");
    }
}
