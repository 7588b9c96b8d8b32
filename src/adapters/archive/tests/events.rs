//! Lists of events.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{super::events::look_for, all_pages, first};
use crate::{
    adapters::test_stores::{NOW, TestStore, begun, event, on_both_stores},
    domain::{
        docket::Entry,
        event::{AGENT, CHANNELS, Event, EventType, OWNER},
    },
    flow::archive::{Archive, EventFilter},
};

on_both_stores!(
    a_timeline_goes_by_the_numbers_of_its_conversation,
    all_events_come_in_the_order_of_the_feed,
    events_are_narrowed,
    what_is_for_some_is_listed_for_nobody_else,
    rare_events_are_looked_for_as_far_as_there_is_time,
);

async fn a_timeline_goes_by_the_numbers_of_its_conversation<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    let numbered = |number| event(Some(&mei), Some(number), EventType::MessageReceived, NOW.plus_ms(number));
    // The feed may hold them in another order: a transaction that began early can change a conversation late.
    store.keep_events(vec![numbered(2), numbered(1), numbered(4)]).await;
    store.keep_events(vec![event(None, None, EventType::BreakerOpened, NOW)]).await;
    store.keep_events(vec![event(Some(&mei), None, EventType::ConversationErased, NOW), numbered(3)]).await;
    for descending in [false, true] {
        let filter = EventFilter { conversation: Some(mei.id), descending, ..Default::default() };
        let found = all_pages(async |page| store.events(&filter, &page).await).await;
        let mut found: Vec<Option<i64>> = found.iter().map(|recorded| recorded.event.conv_seq).collect();
        if descending {
            found.reverse();
        }
        assert_eq!(found, [Some(1), Some(2), Some(3), Some(4), None]);
    }
}

async fn all_events_come_in_the_order_of_the_feed<S: TestStore>(store: &S) {
    let mut kept: Vec<Event> = Vec::new();
    for n in 0..5 {
        let mut event = event(None, None, EventType::WebhookIgnored, NOW.plus_ms(5 - n));
        event.details.insert("n".to_owned(), n.into());
        event.message = Some(Uuid::now_v7());
        event.mode_version = Some(n);
        store.keep_events(vec![event.clone()]).await;
        kept.push(event);
    }
    for descending in [false, true] {
        let filter = EventFilter { descending, ..Default::default() };
        let found = all_pages(async |page| store.events(&filter, &page).await).await;
        let mut found: Vec<Event> = found.into_iter().map(|recorded| recorded.event).collect();
        if descending {
            found.reverse();
        }
        assert_eq!(found, kept);
    }
}

async fn events_are_narrowed<S: TestStore>(store: &S) {
    let mei = begun("shop", "6580000001@c.us");
    let tom = begun("other", "6580000002@c.us");
    let (message, turn) = (Uuid::now_v7(), Uuid::now_v7());
    let received =
        Event { message: Some(message), ..event(Some(&mei), Some(1), EventType::MessageReceived, NOW) };
    let began =
        Event { turn: Some(turn), ..event(Some(&mei), Some(2), EventType::TurnStarted, NOW.plus_ms(1)) };
    let elsewhere = event(Some(&tom), Some(1), EventType::MessageReceived, NOW.plus_ms(2));
    let nowhere =
        Event { channel: String::new(), ..event(None, None, EventType::BreakerOpened, NOW.plus_ms(3)) };
    let shared =
        Event { channel: String::new(), ..event(None, None, EventType::LabelUpdated, NOW.plus_ms(4)) };
    store.keep_events(vec![received, began, elsewhere, nowhere, shared]).await;
    let all = EventFilter::default;
    for (filter, wanted) in [
        (all(), vec![0, 1, 2, 3, 4]),
        (EventFilter { conversation: Some(mei.id), ..all() }, vec![0, 1]),
        (
            EventFilter { channels: Some(vec!["shop".to_owned(), "other".to_owned()]), ..all() },
            vec![0, 1, 2, 4],
        ),
        (EventFilter { channels: Some(vec![]), ..all() }, vec![4]),
        (EventFilter { kinds: vec![EventType::TurnStarted, EventType::BreakerOpened], ..all() }, vec![1, 3]),
        (EventFilter { message: Some(message), ..all() }, vec![0]),
        (EventFilter { turn: Some(turn), ..all() }, vec![1]),
        (EventFilter { since: Some(NOW.plus_ms(1)), until: Some(NOW.plus_ms(3)), ..all() }, vec![1, 2]),
    ] {
        let page = store.events(&filter, &first(10)).await.expect("a page");
        let found: Vec<i64> = page.items.iter().map(|recorded| recorded.event.at.since(NOW)).collect();
        assert_eq!(found, wanted, "{filter:?}");
    }
}

/// The same rule passes events by and lists them.
async fn what_is_for_some_is_listed_for_nobody_else<S: TestStore>(store: &S) {
    let (ana, ben) = (Uuid::now_v7(), Uuid::now_v7());
    let of = |kind, channel: &str| Entry::of(kind).outside(channel, NOW);
    let reply = |detail: &str, value: Value| {
        let entry = Entry::of(EventType::CannedReplyUpdated).with("canned_reply_id", ana.to_string());
        entry.with(detail, value).outside("", NOW)
    };
    let about = |kind, channels: &[&str]| {
        let entry = Entry::of(kind).with("token_id", ben.to_string());
        entry.with(CHANNELS, json!(channels)).outside("", NOW)
    };
    let kept = vec![
        of(EventType::ChannelUpdated, "shop"),
        of(EventType::AgentUpdated, ""),
        of(EventType::CannedReplyUpdated, ""),
        about(EventType::AgentUpdated, &["other", "shop"]),
        about(EventType::AgentUpdated, &["shop-2"]),
        about(EventType::AgentUpdated, &[]),
        Entry::of(EventType::AgentUpdated)
            .with(AGENT, ana.to_string())
            .with(CHANNELS, json!(["shop-2"]))
            .outside("", NOW),
        of(EventType::TokenUpdated, ""),
        about(EventType::TokenUpdated, &["shop"]),
        about(EventType::TokenUpdated, &["other", "shop"]),
        about(EventType::EndpointUpdated, &[]),
        about(EventType::EndpointUpdated, &["other"]),
        about(EventType::EndpointDisabled, &["shop", "shop-2"]),
        reply(OWNER, json!(ana)),
        reply(OWNER, json!(ben)),
        reply(CHANNELS, json!(["other", "shop"])),
        reply(CHANNELS, json!(["other", "shop-2"])),
        Entry::of(EventType::TurnStarted).with(OWNER, "an instance").outside("shop", NOW),
    ];
    store.keep_events(kept.clone()).await;
    for viewer in [None, Some(ana), Some(ben)] {
        for seen in [None, Some(&[][..]), Some(&["shop"]), Some(&["other"]), Some(&["other", "shop"])] {
            let channels = seen.map(|seen| seen.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            let filter = EventFilter { viewer, channels: channels.clone(), ..Default::default() };
            let listed = store.events(&filter, &first(100)).await.expect("a page").items;
            let listed: Vec<Event> = listed.into_iter().map(|recorded| recorded.event).collect();
            let passed: Vec<Event> =
                kept.iter().filter(|event| event.is_for(viewer, channels.as_deref())).cloned().collect();
            assert_eq!(listed, passed, "{filter:?}");
        }
    }
}

/// The next page goes on where the time was over, and in the end all are found.
async fn rare_events_are_looked_for_as_far_as_there_is_time<S: TestStore>(store: &S) {
    let is_rare = |n| [0, 1, 12, 19].contains(&n);
    let kind = |n| if is_rare(n) { EventType::BreakerOpened } else { EventType::WebhookIgnored };
    for n in 0..20 {
        store.keep_events(vec![event(None, None, kind(n), NOW.plus_ms(n))]).await;
    }
    for (descending, mut wanted) in [(false, vec![0, 1, 12, 19]), (true, vec![19, 12, 1, 0])] {
        let filter = EventFilter { kinds: vec![EventType::BreakerOpened], descending, ..Default::default() };
        let mut sizes = Vec::new();
        let (mut found, mut page) = (Vec::new(), first(10));
        loop {
            let listed = look_for(store, &filter, &page, 4, Duration::ZERO).await.expect("a page");
            sizes.push(listed.items.len());
            found.extend(listed.items.into_iter().map(|it| it.event.at.since(NOW)));
            let Some(next) = listed.next else { break };
            page.cursor = Some(next);
        }
        assert_eq!(found, wanted);
        assert_eq!(sizes.len(), 6, "twenty, four at a time, and then no more: {sizes:?}");
        assert!(sizes.contains(&0));
        let listed = look_for(store, &filter, &first(3), 4, Duration::from_secs(60)).await.expect("a page");
        wanted.truncate(3);
        assert_eq!(listed.items.iter().map(|it| it.event.at.since(NOW)).collect::<Vec<_>>(), wanted);
        let all = all_pages(async |page| look_for(store, &filter, &page, 4, Duration::from_secs(60)).await);
        assert_eq!(all.await.len(), 4);
    }
}
