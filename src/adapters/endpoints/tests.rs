//! One suite, run on both stores.

mod order;

use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::{
    adapters::test_stores::{NOW, TestStore, begun, event, on_both_stores},
    domain::{
        endpoint::{Attempt, DeliveryState, DisabledReason, Fate, Trouble},
        event::EventType,
        turn::{LetterKind, LetterState},
    },
    flow::{
        archive::{Archive, EventFilter, LetterFilter, Statistics},
        forgetting::erasures::{Erasing, Erasures, Rows},
        ledger::Error,
    },
};

on_both_stores!(
    an_endpoint_is_kept_changed_and_removed,
    an_endpoint_is_changed_only_while_it_is_for_no_more_than_was_said,
    there_are_only_so_many,
    of_however_many_at_once_there_are_only_so_many,
    an_endpoint_belongs_to_one_instance_at_a_time,
    an_event_is_written_down_once_for_each_who_wants_it,
    deliveries_of_a_lane_come_one_by_one,
    what_waits_behind_a_failure_is_not_ready,
    what_becomes_of_a_delivery_is_kept,
    what_is_given_up_is_a_dead_letter_and_may_be_told_again,
    an_endpoint_that_is_switched_off_says_so_once,
    endpoints_are_counted_by_how_they_are_doing,
    what_has_ended_is_forgotten_unless_its_letter_is_open,
    who_is_erased_leaves_nothing_behind,
    an_endpoint_without_a_place_is_told_of_what_happens_from_now_on,
    an_event_that_is_gone_is_told_nobody,
    of_what_is_told_nobody_any_more_nothing_fails,
    of_whoever_is_being_erased_nothing_is_told,
);

fn endpoint() -> Endpoint {
    Endpoint {
        id: Uuid::now_v7(),
        url: "https://example.com/hook".to_owned(),
        events: None,
        channels: None,
        description: None,
        state: State::Active,
        disabled_reason: None,
        failing_since: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn added<S: TestStore>(store: &S, endpoint: Endpoint) -> Uuid {
    let id = endpoint.id;
    assert!(store.add_endpoint(&endpoint, vec![1, 2, 3]).await.expect("written"));
    assert!(store.hold(id, "one", 30_000).await.expect("written"));
    id
}

async fn happens<S: TestStore>(store: &S, of: Option<Uuid>, kind: EventType) {
    let conversation =
        of.map(|id| crate::domain::conversation::Conversation { id, ..begun("shop", "6580000001@c.us") });
    store.keep_events(vec![event(conversation.as_ref(), None, kind, NOW)]).await;
}

async fn served<S: TestStore>(store: &S, id: Uuid) -> Served {
    store.served(id, "one").await.expect("read").expect("it is active, and ours")
}

/// Reads on until so many deliveries are known. On PostgreSQL an event appears once every older transaction of the server has
/// ended, those of tests running beside this one too.
async fn gathered<S: TestStore>(store: &S, id: Uuid, wanted: usize) -> Vec<Delivery> {
    for _ in 0..3_000 {
        let served = served(store, id).await;
        store.gather(&served, 100).await.expect("written");
        let page = PageOf { limit: 200, cursor: None };
        let mut found = store.deliveries(id, None, &page).await.expect("read").items;
        if found.len() >= wanted {
            found.reverse();
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("fewer than {wanted} deliveries came")
}

fn failed(fate: Fate, disabled: Option<DisabledReason>) -> Ended {
    let attempt = Attempt {
        status: Some(500),
        trouble: Some(Trouble::Refused),
        answer: Some("no".to_owned()),
        retry_after_ms: None,
        took_ms: 7,
    };
    Ended { attempt, fate, disabled }
}

fn delivered() -> Ended {
    let attempt = Attempt { status: Some(204), took_ms: 5, ..Attempt::default() };
    Ended { attempt, fate: Fate::Delivered, disabled: None }
}

async fn an_endpoint_is_kept_changed_and_removed<S: TestStore>(store: &S) {
    let made = Endpoint {
        events: Some(vec![EventType::MessageSent]),
        channels: Some(vec!["shop".to_owned()]),
        description: Some("the CRM".to_owned()),
        ..endpoint()
    };
    let id = added(store, made.clone()).await;
    let standing = Summary { endpoint: made.clone(), waiting: 0, last: None };
    assert_eq!(store.endpoints().await.expect("read"), std::slice::from_ref(&standing));
    assert_eq!(store.endpoint(id).await.expect("read"), Some(standing));
    let change = Change {
        url: Some("https://example.com/other".to_owned()),
        events: Some(None),
        channels: Some(None),
        description: Some(None),
        state: Some(State::Paused),
        within: None,
    };
    let later = NOW.plus_ms(5);
    assert!(store.change_endpoint(id, &change, later).await.expect("written"));
    let url = "https://example.com/other".to_owned();
    let wanted = Endpoint { id, url, state: State::Paused, updated_at: later, ..endpoint() };
    assert_eq!(store.endpoint(id).await.expect("read").expect("there").endpoint, wanted);
    assert_eq!(store.secrets(id).await.expect("read"), [vec![1, 2, 3]]);
    assert!(store.change_secret(id, vec![4], NOW.plus_ms(1), None).await.expect("written"));
    assert_eq!(store.secrets(id).await.expect("read"), [vec![4], vec![1, 2, 3]]);
    assert!(store.change_secret(id, vec![5], NOW, None).await.expect("written"));
    assert_eq!(
        store.secrets(id).await.expect("read"),
        [vec![5], vec![1, 2, 3]],
        "one that was replaced is void"
    );
    assert!(store.change_secret(id, vec![6], NOW.plus_ms(1), None).await.expect("written"));
    let mut all = store.secrets(id).await.expect("read");
    all[1..].sort();
    assert_eq!(all, [vec![6], vec![1, 2, 3], vec![5]], "each has its own day");
    let kept =
        store.rows(Statement::new("select s.sealed from endpoint_secrets s limit 9")).await.expect("read");
    assert_eq!(kept.len(), 3, "what is void is not kept either");
    assert!(store.remove_endpoint(id, None).await.expect("written"));
    assert!(!store.remove_endpoint(id, None).await.expect("written"));
    assert!(!store.change_endpoint(id, &Change::default(), NOW).await.expect("written"));
    assert!(!store.change_secret(id, vec![6], NOW, None).await.expect("written"));
    assert!(store.secrets(id).await.expect("read").is_empty());
}

async fn an_endpoint_is_changed_only_while_it_is_for_no_more_than_was_said<S: TestStore>(store: &S) {
    let on = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    for (channels, within, is_right) in [
        (on(&["shop"]), on(&["shop", "cafe"]), true),
        (on(&["shop", "bar"]), on(&["shop", "cafe"]), false),
        (on(&[]), on(&["shop"]), false),
        (None, on(&["shop"]), false),
        (None, None, true),
    ] {
        let id = added(store, Endpoint { channels: channels.clone(), ..endpoint() }).await;
        let url = Some("https://attacker.example/".to_owned());
        let change = Change { url, within: within.clone(), ..Change::default() };
        let said = format!("{channels:?} within {within:?}");
        assert_eq!(store.change_endpoint(id, &change, NOW).await.expect("written"), is_right, "{said}");
        let kept = store.endpoint(id).await.expect("read").expect("there").endpoint;
        assert_eq!(kept.url.contains("attacker"), is_right, "{said}");
        let is_changed = store.change_secret(id, vec![4], NOW.plus_ms(1), within.as_deref()).await;
        assert_eq!(is_changed.expect("written"), is_right, "{said}");
        assert_eq!(store.secrets(id).await.expect("read").contains(&vec![4]), is_right, "{said}");
        assert_eq!(store.remove_endpoint(id, within.as_deref()).await.expect("written"), is_right, "{said}");
        assert_eq!(store.endpoint(id).await.expect("read").is_none(), is_right, "{said}");
    }
}

async fn there_are_only_so_many<S: TestStore>(store: &S) {
    for _ in 0..ENDPOINTS_MAX {
        assert!(store.add_endpoint(&endpoint(), vec![1]).await.expect("written"));
    }
    assert!(!store.add_endpoint(&endpoint(), vec![1]).await.expect("written"));
    assert_eq!(store.endpoints().await.expect("read").len(), ENDPOINTS_MAX);
}

async fn of_however_many_at_once_there_are_only_so_many<S: TestStore>(store: &S) {
    let all: Vec<Endpoint> = (0..ENDPOINTS_MAX + 6).map(|_| endpoint()).collect();
    let added = all.iter().map(|one| store.add_endpoint(one, vec![1]));
    let added = futures_util::future::join_all(added).await;
    let added = added.into_iter().filter(|is_added| *is_added.as_ref().expect("written")).count();
    assert_eq!((added, store.endpoints().await.expect("read").len()), (ENDPOINTS_MAX, ENDPOINTS_MAX));
}

async fn an_endpoint_belongs_to_one_instance_at_a_time<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    assert!(store.hold(id, "one", 30_000).await.expect("written"), "renewed");
    assert!(!store.hold(id, "other", 30_000).await.expect("written"));
    assert_eq!(store.served(id, "other").await.expect("read"), None);
    store.let_go(id, "other").await.expect("written");
    assert!(!store.hold(id, "other", 30_000).await.expect("written"), "nobody gives back what is another's");
    store.let_go(id, "one").await.expect("written");
    assert!(store.hold(id, "other", 0).await.expect("written"));
    assert!(store.hold(id, "one", 30_000).await.expect("written"), "what is over is free");
    assert!(store.hold(id, "one", LEASED_AT_MOST_MS).await.expect("written"));
    assert!(!store.hold(id, "other", 30_000).await.expect("written"));
    assert!(store.hold(id, "one", 8 * 3_600_000).await.expect("written"), "before the clock was set back");
    assert!(store.hold(id, "other", 0).await.expect("written"));
    assert!(store.hold(id, "one", 30_000).await.expect("written"));
    let paused = Change { state: Some(State::Paused), ..Change::default() };
    store.change_endpoint(id, &paused, NOW).await.expect("written");
    assert!(!store.hold(id, "one", 30_000).await.expect("written"));
    assert_eq!(store.served(id, "one").await.expect("read"), None);
    assert!(store.active().await.expect("read").is_empty());
}

async fn an_event_is_written_down_once_for_each_who_wants_it<S: TestStore>(store: &S) {
    let mei = Uuid::now_v7();
    happens(store, Some(mei), EventType::MessageReceived).await;
    let all = added(store, endpoint()).await;
    let sent = added(store, Endpoint { events: Some(vec![EventType::MessageSent]), ..endpoint() }).await;
    happens(store, Some(mei), EventType::TurnStarted).await;
    happens(store, Some(mei), EventType::MessageSent).await;
    let [only] = &gathered(store, sent, 1).await[..] else { panic!("one") };
    assert_eq!(
        (only.kind, only.conversation, only.state),
        (EventType::MessageSent, Some(mei), DeliveryState::Pending)
    );
    assert_eq!((only.attempts, only.at, only.next_at, only.last_at), (0, NOW, NOW, None));
    // What happened before is told too where it had not settled when the endpoint was made.
    let kinds: Vec<EventType> = gathered(store, all, 2).await.iter().map(|it| it.kind).collect();
    assert!(kinds.ends_with(&[EventType::TurnStarted, EventType::MessageSent]), "{kinds:?}");

    // Two at once read the same, and one of them writes it down.
    happens(store, Some(mei), EventType::MessageSent).await;
    let stale = served(store, sent).await;
    assert_eq!(gathered(store, sent, 2).await.len(), 2);
    assert_eq!(store.gather(&stale, 100).await.expect("written"), 0);
    assert_eq!(gathered(store, sent, 2).await.len(), 2);
    assert_eq!(served(store, sent).await.waiting, 2);
}

async fn deliveries_of_a_lane_come_one_by_one<S: TestStore>(store: &S) {
    let (mei, bob) = (Uuid::now_v7(), Uuid::now_v7());
    let id = added(store, endpoint()).await;
    for of in [Some(mei), Some(mei), Some(bob), None] {
        happens(store, of, EventType::MessageSent).await;
    }
    gathered(store, id, 4).await;
    let due = store.due(id, 10).await.expect("read");
    let whose: Vec<Option<Uuid>> = due.iter().map(|it| it.delivery.conversation).collect();
    assert_eq!(whose, [Some(mei), Some(bob), None]);
    assert!(
        due.iter()
            .all(|it| it.event.as_ref().is_some_and(|event| Some(&event.id) == it.delivery.event.as_ref()))
    );
    assert_eq!(store.due(id, 2).await.expect("read").len(), 2);
    store.settle(&due[0], &failed(Fate::Again(1), None)).await.expect("written");
    let whose: Vec<_> =
        store.due(id, 10).await.expect("read").into_iter().map(|it| it.delivery.conversation).collect();
    assert_eq!(whose, [Some(bob), None], "what waits for its time holds back its own lane alone");
    store.settle(&due[1], &delivered()).await.expect("written");
    assert_eq!(store.due(id, 10).await.expect("read").len(), 1);
}

async fn what_waits_behind_a_failure_is_not_ready<S: TestStore>(store: &S) {
    let (mei, bob) = (Uuid::now_v7(), Uuid::now_v7());
    let id = added(store, endpoint()).await;
    for of in [mei, mei, mei, bob] {
        happens(store, Some(of), EventType::MessageSent).await;
    }
    gathered(store, id, 4).await;
    let counts = async || {
        let served = served(store, id).await;
        (served.waiting, served.ready)
    };
    assert_eq!(counts().await, (4, 4));
    let due = store.due(id, 1).await.expect("read").remove(0);
    store.settle(&due, &failed(Fate::Again(0), None)).await.expect("written");
    assert_eq!(counts().await, (4, 4));
    let due = store.due(id, 1).await.expect("read").remove(0);
    store.settle(&due, &failed(Fate::Again(60_000), None)).await.expect("written");
    assert_eq!(counts().await, (4, 1));
    store.settle(&due, &failed(Fate::GivenUp, None)).await.expect("written");
    assert_eq!(counts().await, (3, 3));
    let firsts: Vec<_> =
        store.due(id, 9).await.expect("read").into_iter().map(|it| it.delivery.first_at).collect();
    assert_eq!(firsts, [Some(NOW), None], "the next of its lane has stood there already");
}

async fn what_becomes_of_a_delivery_is_kept<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    gathered(store, id, 1).await;
    let due = store.due(id, 1).await.expect("read").remove(0);
    store.settle(&due, &failed(Fate::Again(60_000), None)).await.expect("written");
    let standing = store.endpoint(id).await.expect("read").expect("there");
    assert_eq!((standing.endpoint.failing_since, standing.waiting), (Some(NOW), 1));
    let last = standing.last.expect("it was tried");
    assert_eq!((last.attempts, last.first_at, last.next_at), (1, Some(NOW), NOW.plus_ms(60_000)));
    assert_eq!(
        (last.status, last.reason, last.answer.as_deref(), last.last_ms),
        (Some(500), Some(Trouble::Refused), Some("no"), Some(7))
    );
    assert_eq!(store.due(id, 1).await.expect("read"), []);
    store.settle(&due, &delivered()).await.expect("written");
    let standing = store.endpoint(id).await.expect("read").expect("there");
    assert_eq!((standing.endpoint.failing_since, standing.waiting), (None, 0));
    let last = standing.last.expect("it was tried");
    assert_eq!(
        (last.state, last.attempts, last.reason, last.answer),
        (DeliveryState::Delivered, 2, None, None)
    );
    store.settle(&due, &failed(Fate::GivenUp, None)).await.expect("written");
    assert_eq!(
        store.delivery(due.delivery.id).await.expect("read").expect("there").attempts,
        2,
        "it is over"
    );
}

async fn what_is_given_up_is_a_dead_letter_and_may_be_told_again<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_events(vec![event(Some(&mei), None, EventType::MessageSent, NOW)]).await;
    gathered(store, id, 1).await;
    let due = store.due(id, 1).await.expect("read").remove(0);
    for attempts in [1, 1] {
        store.settle(&due, &failed(Fate::GivenUp, None)).await.expect("written");
        let filter = LetterFilter { kind: Some(LetterKind::Delivery), ..LetterFilter::default() };
        let page = PageOf { limit: 10, cursor: None };
        let [letter] = &store.letters(&filter, &page).await.expect("read").items[..] else {
            panic!("one letter")
        };
        assert_eq!((letter.id, letter.subject), (due.delivery.id, Some(due.delivery.id)));
        assert_eq!(
            (letter.state, letter.conversation, letter.channel.as_str()),
            (LetterState::Open, Some(mei.id), "shop")
        );
        assert_eq!((letter.reason.as_str(), letter.attempts), ("refused", attempts));
        let payload = json!({
            "endpoint_id": id.to_string(), "event_id": due.delivery.event, "type": "message_sent", "status": 500,
        });
        assert_eq!(letter.payload.read(), Some(payload));
        assert!(store.tell_again(due.delivery.id).await.expect("written"));
        let again = store.delivery(due.delivery.id).await.expect("read").expect("there");
        assert_eq!((again.state, again.attempts, again.first_at), (DeliveryState::Pending, 0, None));
    }
    assert!(!store.tell_again(Uuid::now_v7()).await.expect("written"));
    let test = Delivery { id: Uuid::now_v7(), event: None, state: DeliveryState::Failed, ..due.delivery };
    store.keep_test(&test).await.expect("written");
    assert!(!store.tell_again(test.id).await.expect("written"));
    assert_eq!(events(store, EventType::EndpointUpdated).await, [2, 2, 0], "as its letter is seen");
}

/// As many as those hear of who see all channels, the shop's, and others.
async fn events<S: TestStore>(store: &S, kind: EventType) -> [usize; 3] {
    let heard = async |channels: Option<&str>| {
        let channels = channels.map(|channel| vec![channel.to_owned()]);
        let filter = EventFilter { kinds: vec![kind], channels, ..EventFilter::default() };
        store.events(&filter, &PageOf { limit: 100, cursor: None }).await.expect("read").items.len()
    };
    [heard(None).await, heard(Some("shop")).await, heard(Some("other")).await]
}

async fn endpoints_are_counted_by_how_they_are_doing<S: TestStore>(store: &S) {
    let counts = async || {
        let found = store.depths(None).await.expect("counts").endpoints;
        ["active", "failing", "paused", "disabled"]
            .map(|state| found.iter().find(|(word, _)| word == state).map(|it| it.1))
    };
    assert_eq!(counts().await, [Some(0); 4], "a gauge that is nothing says so");
    let id = added(store, endpoint()).await;
    added(store, endpoint()).await;
    store.keep_conversation(&begun("shop", "6580000001@c.us")).await;
    happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    gathered(store, id, 1).await;
    let due = store.due(id, 1).await.expect("read").remove(0);
    store.settle(&due, &failed(Fate::Again(1), None)).await.expect("written");
    assert_eq!(counts().await, [Some(1), Some(1), Some(0), Some(0)]);
    store.settle(&due, &failed(Fate::Again(1), Some(DisabledReason::Gone))).await.expect("written");
    assert_eq!(counts().await, [Some(1), Some(0), Some(0), Some(1)]);
    let shops = store.depths(Some(&["shop".to_owned()])).await.expect("counts");
    assert!(shops.endpoints.iter().all(|(_, count)| *count == 0), "they are not the channel's");
}

async fn an_endpoint_that_is_switched_off_says_so_once<S: TestStore>(store: &S) {
    let id = added(store, Endpoint { channels: Some(vec!["shop".to_owned()]), ..endpoint() }).await;
    for of in [Uuid::now_v7(), Uuid::now_v7()] {
        happens(store, Some(of), EventType::MessageSent).await;
    }
    gathered(store, id, 2).await;
    let due = store.due(id, 2).await.expect("read");
    let ended = failed(Fate::Again(60_000), Some(DisabledReason::Failing));
    let (one, other) = tokio::join!(store.settle(&due[0], &ended), store.settle(&due[1], &ended));
    assert!(one.is_ok() && other.is_ok());
    let off = store.endpoint(id).await.expect("read").expect("there").endpoint;
    assert_eq!((off.state, off.disabled_reason), (State::Disabled, Some(DisabledReason::Failing)));
    assert_eq!(events(store, EventType::EndpointDisabled).await, [1, 1, 0], "those who see it");
    let of_all = added(store, endpoint()).await;
    happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    gathered(store, of_all, 1).await;
    let due_to_all = store.due(of_all, 1).await.expect("read").remove(0);
    store.settle(&due_to_all, &ended).await.expect("written");
    assert_eq!(events(store, EventType::EndpointDisabled).await, [2, 1, 0]);
    let active = Change { state: Some(State::Active), ..Change::default() };
    assert!(store.change_endpoint(id, &active, NOW).await.expect("written"));
    let on = store.endpoint(id).await.expect("read").expect("there").endpoint;
    assert_eq!((on.state, on.disabled_reason, on.failing_since), (State::Active, None, None));
    let due = store.due(id, 2).await.expect("read");
    assert_eq!(due.len(), 2, "what waits is due at once");
    assert!(due.iter().all(|it| it.delivery.first_at.is_none() && it.delivery.attempts == 0));
}

async fn what_has_ended_is_forgotten_unless_its_letter_is_open<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    for _ in 0..3 {
        happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    }
    gathered(store, id, 3).await;
    let due = store.due(id, 3).await.expect("read");
    store.settle(&due[0], &delivered()).await.expect("written");
    store.settle(&due[1], &failed(Fate::GivenUp, None)).await.expect("written");
    assert_eq!(store.forget_deliveries(NOW).await.expect("written"), 0);
    assert_eq!(store.forget_deliveries(NOW.plus_ms(1)).await.expect("written"), 1);
    assert_eq!(store.delivery(due[0].delivery.id).await.expect("read"), None);
    assert!(store.delivery(due[1].delivery.id).await.expect("read").is_some());
}

async fn who_is_erased_leaves_nothing_behind<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_events(vec![event(Some(&mei), None, EventType::MessageSent, NOW)]).await;
    let told = gathered(store, id, 1).await;
    let statement = Statement::new("delete from conversations where id = $1").with(mei.id);
    store.write(statement).await.expect("written");
    assert_eq!(store.delivery(told[0].id).await.expect("read"), None);
}

async fn an_endpoint_without_a_place_is_told_of_what_happens_from_now_on<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    happens(store, Some(Uuid::now_v7()), EventType::MessageReceived).await;
    gathered(store, id, 1).await;
    // As a restore leaves it.
    store.write(Statement::new("delete from deliveries")).await.expect("written");
    store
        .write(Statement::new("update endpoints set cursor_xact = null, cursor_id = null"))
        .await
        .expect("written");
    assert_eq!(served(store, id).await.place, None);
    assert_eq!(store.gather(&served(store, id).await, 100).await.expect("written"), 0);
    happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    let [only] = &gathered(store, id, 1).await[..] else { panic!("one") };
    assert_eq!(only.kind, EventType::MessageSent);
}

async fn an_event_that_is_gone_is_told_nobody<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    gathered(store, id, 1).await;
    store.write(Statement::new("delete from events")).await.expect("written");
    let due = store.due(id, 1).await.expect("read").remove(0);
    assert_eq!(due.event, None);
    assert!(!store.tell_again(due.delivery.id).await.expect("written"), "nor is it told again");
    let attempt = Attempt { trouble: Some(Trouble::Unreadable), ..Attempt::default() };
    store.settle(&due, &Ended { attempt, fate: Fate::Dropped, disabled: None }).await.expect("written");
    let dropped = store.delivery(due.delivery.id).await.expect("read").expect("there");
    assert_eq!((dropped.state, dropped.attempts), (DeliveryState::Dropped, 0));
    assert_eq!(store.endpoint(id).await.expect("read").expect("there").endpoint.failing_since, None);
    let unknown = store.deliveries(id, None, &PageOf { limit: 1, cursor: Some("nonsense".to_owned()) }).await;
    assert!(matches!(unknown, Err(Error::NotACursor)));
}

async fn of_what_is_told_nobody_any_more_nothing_fails<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    let mei = begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_events(vec![event(Some(&mei), None, EventType::MessageSent, NOW)]).await;
    for _ in 0..2 {
        happens(store, Some(Uuid::now_v7()), EventType::MessageSent).await;
    }
    gathered(store, id, 3).await;
    let due = store.due(id, 3).await.expect("read");
    for due in &due {
        store.settle(due, &failed(Fate::Again(1), None)).await.expect("written");
    }
    let failing_since =
        async || store.endpoint(id).await.expect("read").expect("there").endpoint.failing_since;
    let of_mei = |due: &&Due| due.delivery.conversation == Some(mei.id);
    // Not wanted any more, and not to be read any more.
    let [narrowed, unreadable] = [None, Some(Trouble::Unreadable)].map(|trouble| Ended {
        attempt: Attempt { trouble, ..Attempt::default() },
        fate: Fate::Dropped,
        disabled: None,
    });
    for (due, ended) in due.iter().filter(|due| !of_mei(due)).zip([narrowed, unreadable]) {
        store.settle(due, &ended).await.expect("written");
        assert_eq!(failing_since().await, Some(NOW), "another one still fails");
    }
    let close = Statement::new("update conversations set erased_at = $2 where id = $1");
    store.write(close.with(mei.id).with(NOW)).await.expect("written");
    let erasing = Erasing {
        conversation: mei.id,
        channel: mei.channel.clone(),
        chats: Vec::new(),
        actor: "shell".to_owned(),
        removed: Rows::new(),
    };
    assert!(store.end(&erasing).await.expect("written"));
    assert_eq!(failing_since().await, None, "with whoever is erased, the last one has gone");
    let due = due.iter().find(|due| !of_mei(due)).expect("one");
    assert!(store.tell_again(due.delivery.id).await.expect("written"));
    store.settle(due, &failed(Fate::Again(1), None)).await.expect("written");
    let dropped = Ended { attempt: Attempt::default(), fate: Fate::Dropped, disabled: None };
    store.settle(due, &dropped).await.expect("written");
    assert_eq!(failing_since().await, None);
}

async fn of_whoever_is_being_erased_nothing_is_told<S: TestStore>(store: &S) {
    let id = added(store, endpoint()).await;
    let [mei, tom] = ["6580000001@c.us", "6580000002@c.us"].map(|chat| begun("shop", chat));
    for of in [&mei, &tom] {
        store.keep_conversation(of).await;
        store.keep_events(vec![event(Some(of), None, EventType::MessageSent, NOW)]).await;
    }
    let told = gathered(store, id, 2).await;
    // Closed, and not removed yet.
    let closing = "insert into erasures (conversation_id, actor, worked_at) values ($1, 'shell', 1)";
    store.write(Statement::new(closing).with(mei.id)).await.expect("written");
    let due = store.due(id, 9).await.expect("read");
    let whose: Vec<_> = due.iter().map(|due| due.delivery.conversation).collect();
    assert_eq!(whose, [Some(tom.id)]);
    let of_mei = told.iter().find(|it| it.conversation == Some(mei.id)).expect("it was written down");
    assert!(!store.tell_again(of_mei.id).await.expect("written"));
    // What happens meanwhile is not even written down; what happens to others is.
    for of in [&mei, &tom] {
        store.keep_events(vec![event(Some(of), None, EventType::MessageSent, NOW)]).await;
    }
    let of_tom = gathered(store, id, 3).await.iter().filter(|it| it.conversation == Some(tom.id)).count();
    assert_eq!(of_tom, 2);
}
