//! What both stores promise.

use std::time::Duration;

use execution::key_store::{Entry, KeyStore, Put};

use crate::rig::{Rig, over_both_stores};

over_both_stores![
    a_key_takes_one_value_until_that_is_deleted,
    a_key_is_free_again_when_its_time_is_over,
    only_who_names_the_value_replaces_it,
    only_who_names_the_value_deletes_it,
    a_replaced_value_has_the_new_time,
    an_entry_says_how_much_time_is_left,
    a_list_holds_what_begins_so_and_nothing_else,
    a_list_ends_at_its_limit,
    a_long_list_is_whole,
    values_are_kept_to_the_letter,
    a_store_that_answers_is_up,
];

const SECOND: Duration = Duration::from_secs(1);

async fn put(store: &dyn KeyStore, key: &str, value: &str) -> Put {
    store.put_if_absent(key, value, 10 * SECOND).await.expect("the store is there")
}

async fn value(store: &dyn KeyStore, key: &str) -> Option<String> {
    store.get(key).await.expect("the store is there").map(|entry| entry.value)
}

fn keys(list: &[(String, Entry)]) -> Vec<&str> {
    list.iter().map(|(key, _)| key.as_str()).collect()
}

async fn a_key_takes_one_value_until_that_is_deleted(rig: Rig) {
    let store = &*rig.store;
    assert_eq!(value(store, "k").await, None);
    assert_eq!(put(store, "k", "one").await, Put::Written);
    assert_eq!(put(store, "k", "two").await, Put::Taken("one".to_owned()));
    assert_eq!(value(store, "k").await.as_deref(), Some("one"));
    assert!(store.delete_if_equal("k", "one").await.expect("the store is there"));
    assert_eq!(put(store, "k", "two").await, Put::Written);
}

async fn a_key_is_free_again_when_its_time_is_over(rig: Rig) {
    let store = &*rig.store;
    assert_eq!(put(store, "k", "one").await, Put::Written);
    rig.pass(11 * SECOND).await;
    assert_eq!(value(store, "k").await, None);
    assert!(!store.replace_if_equal("k", "one", "two", SECOND).await.expect("the store is there"));
    assert!(!store.delete_if_equal("k", "one").await.expect("the store is there"));
    assert_eq!(put(store, "k", "two").await, Put::Written);
}

async fn only_who_names_the_value_replaces_it(rig: Rig) {
    let store = &*rig.store;
    assert!(!store.replace_if_equal("k", "one", "two", SECOND).await.expect("the store is there"));
    put(store, "k", "one").await;
    assert!(!store.replace_if_equal("k", "other", "two", SECOND).await.expect("the store is there"));
    assert_eq!(value(store, "k").await.as_deref(), Some("one"));
    assert!(store.replace_if_equal("k", "one", "two", 10 * SECOND).await.expect("the store is there"));
    assert_eq!(value(store, "k").await.as_deref(), Some("two"));
}

async fn only_who_names_the_value_deletes_it(rig: Rig) {
    let store = &*rig.store;
    put(store, "k", "one").await;
    assert!(!store.delete_if_equal("k", "other").await.expect("the store is there"));
    assert_eq!(value(store, "k").await.as_deref(), Some("one"));
    assert!(store.delete_if_equal("k", "one").await.expect("the store is there"));
    assert!(!store.delete_if_equal("k", "one").await.expect("the store is there"));
}

async fn a_replaced_value_has_the_new_time(rig: Rig) {
    let store = &*rig.store;
    put(store, "k", "one").await;
    assert!(store.replace_if_equal("k", "one", "two", 60 * SECOND).await.expect("the store is there"));
    rig.pass(30 * SECOND).await;
    assert_eq!(value(store, "k").await.as_deref(), Some("two"));
    rig.pass(31 * SECOND).await;
    assert_eq!(value(store, "k").await, None);
}

async fn an_entry_says_how_much_time_is_left(rig: Rig) {
    put(&*rig.store, "k", "one").await;
    rig.pass(4 * SECOND).await;
    let entry = rig.store.get("k").await.expect("the store is there").expect("six seconds are left");
    assert!(entry.remaining <= 6 * SECOND, "{entry:?}");
    assert!(entry.remaining > Duration::ZERO, "{entry:?}");
}

async fn a_list_holds_what_begins_so_and_nothing_else(rig: Rig) {
    let store = &*rig.store;
    for key in ["b:2", "a:2", "a:1", "a", "A:3", "aa:1", "x[1]*:1", "x1:1"] {
        put(store, key, key).await;
    }
    store.put_if_absent("a:0", "short", SECOND).await.expect("the store is there");
    rig.pass(2 * SECOND).await;
    let list = store.list("a:", 100).await.expect("the store is there");
    assert_eq!(keys(&list), ["a:1", "a:2"]);
    assert_eq!(list[0].1.value, "a:1");
    let list = store.list("x[1]*", 100).await.expect("the store is there");
    assert_eq!(keys(&list), ["x[1]*:1"], "a prefix is no pattern");
    assert_eq!(store.list("none", 100).await.expect("the store is there"), []);
}

async fn a_list_ends_at_its_limit(rig: Rig) {
    for key in ["k3", "k1", "k2"] {
        put(&*rig.store, key, "x").await;
    }
    let list = rig.store.list("k", 2).await.expect("the store is there");
    assert_eq!(keys(&list), ["k1", "k2"]);
}

async fn a_long_list_is_whole(rig: Rig) {
    // More than one step of a walk.
    let all: Vec<_> = (1000..3500).map(|number| format!("k{number}")).collect();
    for key in &all {
        put(&*rig.store, key, "x").await;
    }
    let list = rig.store.list("k", 10_000).await.expect("the store is there");
    assert_eq!(keys(&list), all);
}

async fn values_are_kept_to_the_letter(rig: Rig) {
    let odd = "a b\n\0\"'] {🙂} ünï";
    put(&*rig.store, odd, odd).await;
    assert_eq!(value(&*rig.store, odd).await.as_deref(), Some(odd));
    assert!(rig.store.delete_if_equal(odd, odd).await.expect("the store is there"));
}

async fn a_store_that_answers_is_up(rig: Rig) {
    assert!(rig.store.is_up().await);
}
