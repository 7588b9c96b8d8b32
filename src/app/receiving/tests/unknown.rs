//! Sends of unknown fate, more of them than are read at once.

use super::*;
use crate::{
    adapters::test_stores::{begun, from_us},
    domain::{
        event::EventType,
        message::{Attempt, Author, DeliveryState},
    },
    flow::{archive::EventFilter, reconcile::Reconciler},
};

on_both_stores!(
    the_oldest_of_many_is_looked_for_too,
    what_is_no_longer_looked_for_is_noted_once_and_takes_no_others_place,
);

/// The second page is read by the second look.
const MANY: i64 = 501;

/// A send whose fate is unknown, tried so long ago.
fn lost(seq: i64, text: &str, ms_ago: i64) -> Message {
    let tried_at = NOW.plus_ms(-ms_ago);
    let mut message = from_us(seq, Author::Assistant, text, tried_at, DeliveryState::Unknown);
    if let Some(delivery) = &mut message.delivery {
        delivery.unclear = 1;
        delivery.attempt = Some(Attempt { id: uuid::Uuid::now_v7(), at: tried_at, lease_until: tried_at });
    }
    message
}

fn reconciler<S: TestStore + Clone + 'static>(shop: &Shop<S>) -> Reconciler {
    Reconciler::new(
        Arc::clone(&shop.intake.ledger),
        Arc::new(shop.store.clone()),
        Arc::new(shop.store.clone()),
        Arc::clone(&shop.intake.registry),
        Arc::clone(&shop.intake.channels),
    )
}

/// One that has left, as the journal shows, and was tried before all the others, which are in no list.
async fn with_one_that_left<S: TestStore + Clone + 'static>(
    shop: &Shop<S>,
    others: Vec<Message>,
) -> uuid::Uuid {
    let crowd = begun("other", "6580000002@c.us");
    shop.store.keep_conversation(&crowd).await;
    shop.store.keep_messages(&crowd, others).await;
    let mira = begun("shop", mira().as_str());
    shop.store.keep_conversation(&mira).await;
    let message = lost(1, "Two condos.", HOUR);
    shop.store.keep_messages(&mira, vec![message.clone()]).await;
    *shop.gateway.left.lock().expect("whole") = vec![Trace {
        id: Some("BAE5A".to_owned()),
        chat: mira.chat.clone(),
        text: message.text.clone(),
        at: Some(NOW.plus_ms(-HOUR)),
        state: Some(DeliveryState::Sent),
        reason: None,
    }];
    message.id
}

async fn state_of<S: TestStore>(store: &S, message: uuid::Uuid) -> Option<DeliveryState> {
    let found = store.message(message).await.expect("reads").expect("it is there");
    found.message.delivery.map(|delivery| delivery.state)
}

async fn the_oldest_of_many_is_looked_for_too<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let others = (1..MANY).map(|seq| lost(seq, "Hello", HOUR / 2)).collect();
    let left = with_one_that_left(&shop, others).await;
    let reconciler = reconciler(&shop);
    for _ in 0..2 {
        reconciler.look().await.expect("works");
    }
    assert_eq!(state_of(store, left).await, Some(DeliveryState::Sent));
}

async fn what_is_no_longer_looked_for_is_noted_once_and_takes_no_others_place<
    S: TestStore + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let left = with_one_that_left(&shop, Vec::new()).await;
    let old = begun("shop", "6580000003@c.us");
    store.keep_conversation(&old).await;
    store.keep_messages(&old, (1..=3).map(|seq| lost(seq, "Hello", 25 * HOUR)).collect()).await;
    for _ in 0..2 {
        let reconciler = reconciler(&shop);
        for _ in 0..3 {
            reconciler.look().await.expect("works");
        }
    }
    assert_eq!(state_of(store, left).await, Some(DeliveryState::Sent));
    let filter = EventFilter { kinds: vec![EventType::SendReconciled], ..EventFilter::default() };
    let page = PageOf { limit: 50, cursor: None };
    let told = store.events(&filter, &page).await.expect("reads").items;
    let of = |action: &str| told.iter().filter(|it| it.event.action.as_deref() == Some(action)).count();
    assert_eq!((of("gave_up"), of("confirmed_sent"), told.len()), (3, 1, 4), "once, by all instances");
}
