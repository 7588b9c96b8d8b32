//! Searches: what is found, what is shown of it, and how a search goes on that was not done in its time.

use std::{collections::HashMap, time::Duration};

use uuid::Uuid;

use super::{super::search, first};
use crate::{
    adapters::test_stores::{NOW, TestStore, begun, from_contact, from_us, on_both_stores},
    domain::{
        conversation::Conversation,
        message::{Author, DeliveryState, Message},
        mode::Mode,
    },
    flow::archive::{Archive, ConversationFilter, Counts, Group, Overview, PageOf, Sort},
};

on_both_stores!(
    words_are_found_in_names_phones_and_messages,
    letters_are_found_in_either_case_whatever_the_script,
    every_sign_stands_for_itself,
    what_was_said_last_is_shown,
    a_search_is_narrowed_and_counted_as_a_list_is,
    a_search_that_takes_too_long_goes_on_on_the_next_page,
    of_a_long_conversation_the_newest_messages_are_looked_through,
);

fn looking_for(words: &str) -> ConversationFilter {
    ConversationFilter { words: Some(words.to_owned()), ..Default::default() }
}

async fn found<S: TestStore>(store: &S, words: &str) -> Vec<Overview> {
    store.conversations(&looking_for(words), &first(10)).await.expect("a page").items
}

fn ids(found: &[Overview]) -> Vec<Uuid> {
    found.iter().map(|overview| overview.conversation.id).collect()
}

async fn words_are_found_in_names_phones_and_messages<S: TestStore>(store: &S) {
    let mut mei = begun("shop", "6580000001@c.us");
    mei.contact_name = Some("Mei Ling".to_owned());
    let tom = begun("shop", "100000000000001@lid");
    for conversation in [&mei, &tom] {
        store.keep_conversation(conversation).await;
    }
    store.keep_chat("shop", "447700900001@c.us", tom.id).await;
    let deleted = Message { deleted_at: Some(NOW), ..from_contact(2, "a secret", NOW) };
    store.keep_messages(&tom, vec![from_contact(1, r"Is it 50% off? C:\new_price", NOW), deleted]).await;
    for (words, wanted) in [
        ("mei", vec![mei.id]),
        ("LING", vec![mei.id]),
        (" i l ", vec![mei.id]),
        ("+65 8000 0001", vec![mei.id]),
        ("7700 900", vec![tom.id]),
        // An id that hides the number is none.
        ("100000000000001", vec![]),
        ("50% OFF", vec![tom.id]),
        (r"\new_", vec![tom.id]),
        ("5_%", vec![]),
        ("M__ Ling", vec![]),
        ("M.. Ling", vec![]),
        ("secret", vec![]),
        ("'; drop table chats; --", vec![]),
    ] {
        assert_eq!(ids(&found(store, words).await), wanted, "{words:?}");
    }
}

async fn letters_are_found_in_either_case_whatever_the_script<S: TestStore>(store: &S) {
    let mut anna = begun("shop", "6580000001@c.us");
    anna.contact_name = Some("Анна Öztürk".to_owned());
    store.keep_conversation(&anna).await;
    store.keep_messages(&anna, vec![from_contact(1, "ΟΔΟΣ 7, Große Küche, 两房公寓", NOW)]).await;
    for words in
        ["анна", "АННА", "öZTÜRK", "οδος", "ΟΔΟΣ", "GROßE", "groẞe", "KÜCHE", "küche, 两房", "公寓", "odos"]
    {
        let wanted = if words == "odos" { vec![] } else { vec![anna.id] };
        assert_eq!(ids(&found(store, words).await), wanted, "{words}");
    }
}

async fn every_sign_stands_for_itself<S: TestStore>(store: &S) {
    let signs: String = (' '..='~').filter(|c| !c.is_ascii_alphanumeric()).collect();
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_messages(&mei, vec![from_contact(1, &format!("x{signs}xä{signs}ä"), NOW)]).await;
    for before in ["x", "ä"] {
        assert_eq!(found(store, &format!("{before}{signs}{before}")).await.len(), 1);
        for sign in signs.chars() {
            assert_eq!(
                found(store, &format!("{before}{sign}")).await.len(),
                usize::from(sign == ' '),
                "{sign}"
            );
            assert_eq!(found(store, &format!("{sign}y")).await.len(), 0, "{sign}");
        }
    }
}

async fn what_was_said_last_is_shown<S: TestStore>(store: &S) {
    let mut mei = begun("shop", "6580000001@c.us");
    mei.contact_name = Some("Mei".to_owned());
    store.keep_conversation(&mei).await;
    let reply = from_us(2, Author::Assistant, "We have Condos.", NOW, DeliveryState::Sent);
    let messages = vec![from_contact(1, "A condo?", NOW), reply.clone(), from_contact(3, "Thanks", NOW)];
    store.keep_messages(&mei, messages).await;
    let said = found(store, "condo").await.remove(0).said.expect("it was said");
    assert_eq!((said.message, said.seq, said.snippet.as_str()), (reply.id, 2, "We have Condos."));
    let by_name = found(store, "mei").await.remove(0);
    assert_eq!((by_name.conversation.id, by_name.said), (mei.id, None));
    assert_eq!(by_name.last_message.map(|message| message.seq), Some(3), "the rest is shown as ever");
    let unasked = store.conversations(&ConversationFilter::default(), &first(1)).await.expect("a page");
    assert_eq!(unasked.items[0].said, None);
}

async fn a_search_is_narrowed_and_counted_as_a_list_is<S: TestStore>(store: &S) {
    let agent = Uuid::now_v7();
    let mut held = begun("shop", "6580000001@c.us");
    held.mode.mode = Mode::Human;
    (held.waiting_since, held.assignee, held.unread) = (Some(NOW), Some(agent), 1);
    let (plain, silent) = (begun("other", "6580000002@c.us"), begun("shop", "6580000003@c.us"));
    for conversation in [&held, &plain, &silent] {
        store.keep_conversation(conversation).await;
    }
    for conversation in [&held, &plain] {
        store.keep_messages(conversation, vec![from_contact(1, "A condo?", NOW)]).await;
    }
    let counts = async |filter: &ConversationFilter| store.counts(filter).await.expect("counts");
    let all = looking_for("condo");
    assert_eq!(
        counts(&all).await,
        Counts { needs_you: 1, held: HashMap::from([(agent, 1)]), ai: 1, all: 2, unread: 1 }
    );
    let other = ConversationFilter { channels: Some(vec!["other".to_owned()]), ..all.clone() };
    assert_eq!(counts(&other).await, Counts { ai: 1, all: 1, ..Counts::default() });
    let mine = ConversationFilter { group: Some(Group::Mine(agent)), ..all };
    let page = store.conversations(&mine, &first(10)).await.expect("a page");
    assert_eq!((ids(&page.items), page.next), (vec![held.id], None));
}

/// So many conversations, every tenth of which holds the word.
async fn many<S: TestStore>(store: &S, count: i64) -> Vec<Conversation> {
    let mut kept = Vec::new();
    for n in 0..count {
        let mut conversation = begun("shop", &format!("65800{n:05}@c.us"));
        conversation.last_message_at = Some(NOW.plus_ms(n / 3));
        conversation.waiting_since = Some(NOW.plus_ms(n / 3));
        store.keep_conversation(&conversation).await;
        let text = if n % 10 == 0 { "A condo?" } else { "Hello" };
        store.keep_messages(&conversation, vec![from_contact(1, text, NOW)]).await;
        kept.push(conversation);
    }
    kept
}

async fn a_search_that_takes_too_long_goes_on_on_the_next_page<S: TestStore>(store: &S) {
    let kept = many(store, 300).await;
    for sort in [Sort::LastMessage, Sort::WaitingSince] {
        for limit in [4, 100] {
            let filter = ConversationFilter { sort, ..looking_for("condo") };
            let (mut seen, mut page, mut pages) = (Vec::new(), first(limit), 0);
            loop {
                let got = search::list(store, "condo", &filter, &page, Duration::ZERO).await.expect("a page");
                assert!(got.items.len() <= limit);
                seen.extend(ids(&got.items));
                pages += 1;
                match got.next {
                    Some(cursor) => page = PageOf { limit, cursor: Some(cursor) },
                    None => break,
                }
            }
            assert!(pages > 3, "each looked through a few");
            let mut wanted: Vec<&Conversation> = kept.iter().step_by(10).collect();
            wanted.sort_by_key(|conversation| {
                let key = conversation.waiting_since.map_or(0, |since| since.0);
                (if sort == Sort::LastMessage { -key } else { key }, conversation.id)
            });
            let wanted: Vec<Uuid> = wanted.iter().map(|conversation| conversation.id).collect();
            assert_eq!(seen, wanted, "{sort:?} {limit}");
        }
    }
    let whole = store.conversations(&looking_for("condo"), &first(100)).await.expect("a page");
    assert_eq!((whole.items.len(), whole.next), (30, None));
    let counts = async |patience| {
        search::counts(store, "condo", &looking_for("condo"), patience).await.expect("counts").all
    };
    assert_eq!(counts(Duration::from_secs(60)).await, 30);
    assert!((1..30).contains(&counts(Duration::ZERO).await), "at least so many");
}

async fn of_a_long_conversation_the_newest_messages_are_looked_through<S: TestStore>(store: &S) {
    let mut mei = begun("shop", "6580000001@c.us");
    mei.seq = 1_001;
    store.keep_conversation(&mei).await;
    let text = |seq| if seq <= 2 { format!("condo {seq}") } else { "hello".to_owned() };
    let messages = (1..=1_001).map(|seq| from_contact(seq, &text(seq), NOW)).collect();
    store.keep_messages(&mei, messages).await;
    assert_eq!(found(store, "condo 2").await.len(), 1);
    assert_eq!(found(store, "condo 1").await.len(), 0);
}
