//! Greeting and away messages of the WhatsApp Business app: the phone sends them by itself, and nothing but their sameness
//! tells them from a person's words, with which somebody takes a conversation over.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::Finding;
use crate::{
    domain::{
        event::EventType,
        message::{Author, Message, Origin},
        mode::Reason,
        time::Time,
    },
    flow::{
        archive::{Archive, EventFilter, Exchanged, MessageFilter, PageOf, Recorded},
        ledger::Error,
    },
};

/// How far back is looked.
const BACK_MS: i64 = 7 * 86_400_000;
/// How many of the latest takeovers are looked at.
const TAKEOVERS_MAX: usize = 200;
/// What was said around one of them.
const AROUND_MS: i64 = 60_000;
const MESSAGES_MAX: usize = 50;
/// No person reads and answers as fast.
const AT_ONCE_MS: i64 = 5_000;
/// In fewer conversations the same words may be chance.
const OFTEN: usize = 3;

/// How often the same words took over, and since when.
struct Words {
    conversations: BTreeSet<Uuid>,
    since: Time,
}

/// Which channels' phones seem to take conversations over by themselves.
pub(super) async fn look(archive: &dyn Archive, now: Time) -> Result<Vec<Finding>, Error> {
    // Whose the words are and what they say stays here.
    let mut said: BTreeMap<(String, String), Words> = BTreeMap::new();
    for takeover in takeovers(archive, now).await? {
        let at = takeover.event.at;
        if let Some(text) = said_at_once(archive, &takeover).await? {
            let words = said.entry((takeover.event.channel, text));
            let words = words.or_insert(Words { conversations: BTreeSet::new(), since: at });
            words.conversations.extend(takeover.event.conversation);
            words.since = words.since.min(at);
        }
    }
    let often = said.into_iter().filter(|(_, words)| words.conversations.len() >= OFTEN);
    Ok(often.map(|((channel, _), words)| finding(&channel, &words)).collect())
}

fn finding(channel: &str, words: &Words) -> Finding {
    let (conversations, since) = (words.conversations.len(), words.since);
    Finding::odd(
        "phone",
        format!(
            "{channel}: the same words from the phone took {conversations} conversations over since {since}, each within \
             seconds of what the customer wrote, and the assistant is silent there"
        ),
        "if it is the greeting or away message of the WhatsApp Business app, switch it off there, and give them back",
    )
}

/// The latest takeovers on the phone.
async fn takeovers(archive: &dyn Archive, now: Time) -> Result<Vec<Recorded>, Error> {
    let filter = EventFilter {
        kinds: vec![EventType::AgentTookOver],
        since: Some(now.plus_ms(-BACK_MS)),
        descending: true,
        ..EventFilter::default()
    };
    let page = archive.events(&filter, &PageOf { limit: TAKEOVERS_MAX, cursor: None }).await?;
    let is_by_phone = |recorded: &Recorded| recorded.event.details["reason"] == Reason::AgentPhone.as_str();
    Ok(page.items.into_iter().filter(is_by_phone).collect())
}

/// The words with which it was taken over, if they came from the phone right after something of the contact's. Which of the
/// two was heard of first says nothing: the provider has stamped both.
async fn said_at_once(archive: &dyn Archive, takeover: &Recorded) -> Result<Option<String>, Error> {
    let at = takeover.event.at;
    let filter = MessageFilter {
        conversation: takeover.event.conversation,
        since: Some(at.plus_ms(-AROUND_MS)),
        until: Some(at.plus_ms(AROUND_MS)),
        ..MessageFilter::default()
    };
    let page = archive.exchanged(&filter, &PageOf { limit: MESSAGES_MAX, cursor: None }).await?;
    let messages = || page.items.iter().map(|Exchanged { placed, .. }| &placed.message);
    let is_of_phone = |message: &&Message| message.origin == Origin::Phone && message.at >= at;
    let Some(typed) = messages().find(is_of_phone) else { return Ok(None) };
    let is_right_before = |message: &Message| {
        let apart_ms = typed.provider_at.zip(message.provider_at).map(|(typed, said)| typed.since(said));
        message.author == Author::Contact && apart_ms.is_some_and(|ms| (0..=AT_ONCE_MS).contains(&ms))
    };
    Ok(messages().any(is_right_before).then(|| typed.text.trim().to_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        adapters::test_stores::{NOW, TestStore, begun, event, from_contact, on_both_stores},
        app::check::Severity,
        domain::{event::Event, message::Kind},
    };

    on_both_stores!(
        the_same_words_typed_at_once_in_several_conversations_are_told_without_what_they_say,
        people_who_answer_in_their_own_time_or_words_are_not,
        one_conversation_that_is_taken_over_again_and_again_is_one,
    );

    const GREETING: &str = "Welcome to Canary Homes!";

    /// A conversation that was taken over on the phone, so long after the contact had written.
    async fn taken_over<S: TestStore>(store: &S, number: i64, after_ms: i64, text: &str, reason: Reason) {
        let of = begun("shop", &format!("658{number:07}@c.us"));
        store.keep_conversation(&of).await;
        let (said_at, typed_at) = (NOW.plus_ms(number), NOW.plus_ms(number + after_ms));
        let mut said = from_contact(1, "Hello", said_at);
        said.provider_at = Some(said_at);
        let mut typed = Message::of(Author::Agent, Origin::Phone, Kind::Text, text.to_owned());
        (typed.seq, typed.at, typed.provider_at) = (2, typed_at, Some(typed_at));
        store.keep_messages(&of, vec![said, typed]).await;
        let mut taken = event(Some(&of), Some(1), EventType::AgentTookOver, typed_at);
        taken.details.insert("reason".to_owned(), json!(reason.as_str()));
        store.keep_events(vec![taken]).await;
    }

    async fn the_same_words_typed_at_once_in_several_conversations_are_told_without_what_they_say<
        S: TestStore,
    >(
        store: &S,
    ) {
        for number in [20, 10] {
            taken_over(store, number, 2_000, GREETING, Reason::AgentPhone).await;
        }
        assert!(look(store, NOW).await.expect("reads").is_empty(), "twice may be chance");
        taken_over(store, 30, 0, &format!("{GREETING} "), Reason::AgentPhone).await;
        let found = look(store, NOW).await.expect("reads");
        assert_eq!(found.iter().map(|it| it.standing).collect::<Vec<_>>(), [Severity::Odd]);
        let told = format!("{} {:?}", found[0].detail, found[0].remedy);
        assert!(told.contains("shop: the same words from the phone took 3 conversations over"), "{told}");
        assert!(told.contains(&NOW.plus_ms(30).to_string()), "the first of them: {told}");
        assert!(!told.contains("Canary") && !told.contains("658"), "{told}");
    }

    async fn one_conversation_that_is_taken_over_again_and_again_is_one<S: TestStore>(store: &S) {
        taken_over(store, 1, 2_000, GREETING, Reason::AgentPhone).await;
        let page = PageOf { limit: 1, cursor: None };
        let first = store.events(&EventFilter::default(), &page).await.expect("reads").items.remove(0).event;
        for seq in 2..=3 {
            store.keep_events(vec![Event { conv_seq: Some(seq), ..first.clone() }]).await;
        }
        assert_eq!(takeovers(store, NOW).await.expect("reads").len(), 3);
        assert!(look(store, NOW).await.expect("reads").is_empty());
    }

    async fn people_who_answer_in_their_own_time_or_words_are_not<S: TestStore>(store: &S) {
        for number in 1..=3 {
            taken_over(store, number, AT_ONCE_MS + 1, GREETING, Reason::AgentPhone).await;
            taken_over(store, number + 10, 1_000, &format!("Hi {number}"), Reason::AgentPhone).await;
            taken_over(store, number + 20, 1_000, GREETING, Reason::OtherSystem).await;
        }
        let found = look(store, NOW).await.expect("reads");
        assert!(found.is_empty(), "{:?}", found[0].detail);
    }
}
