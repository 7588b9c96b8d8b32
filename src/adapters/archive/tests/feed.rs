//! The feed: nothing missing, nothing twice, and an honest word when something cannot be filled in.

use std::time::{Duration, Instant};

use crate::{
    adapters::{
        postgres::Postgres,
        sql::{Statement, Store as _},
        test_stores::{self, NOW, TestStore, event, on_both_stores},
    },
    domain::event::EventType,
    flow::archive::{Archive, EventFeed, EventFilter, Recorded, Tail},
};

on_both_stores!(
    a_reader_who_began_before_the_first_event_gets_all,
    a_reader_without_an_id_gets_what_comes_from_now_on,
    an_id_that_means_nothing_here_asks_for_everything_again,
    a_reader_older_than_the_oldest_event_asks_for_everything_again,
    many_writers_and_one_reader_agree,
    of_whoever_is_being_erased_the_feed_tells_nothing,
);

/// An event that has not come by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

async fn keep<S: TestStore>(store: &S, n: i64) {
    store.keep_events(vec![event(None, None, EventType::WebhookIgnored, NOW.plus_ms(n))]).await;
}

/// Which of the test's events they are.
fn numbers(events: &[Recorded]) -> Vec<i64> {
    events.iter().map(|recorded| recorded.event.at.since(NOW)).collect()
}

/// Follows the feed until it has so many events. On PostgreSQL an event appears once every transaction of the server
/// that is older has ended, those of tests running beside this one too: it is asked until it does.
async fn follow<S: TestStore>(store: &S, after: &str, wanted: usize, limit: usize) -> Vec<Recorded> {
    let mut found: Vec<Recorded> = Vec::new();
    let begun = Instant::now();
    while found.len() < wanted {
        assert!(begun.elapsed() < PATIENCE, "only {} of {wanted} events came", found.len());
        let after = found.last().map_or(after, |recorded| recorded.id.as_str());
        match store.tail(Some(after), limit).await.expect("the feed answers") {
            Tail::Events(events) => found.extend(events),
            Tail::Resync(newest) => panic!("nothing is missing after {after}, yet {newest} is given"),
        }
    }
    found
}

async fn a_reader_who_began_before_the_first_event_gets_all<S: TestStore>(store: &S) {
    let start = store.newest_event().await.expect("an id, even of nothing");
    assert_eq!(store.tail(Some(&start), 10).await.expect("reads"), Tail::Events(Vec::new()));
    for n in 0..5 {
        keep(store, n).await;
    }
    let found = follow(store, &start, 5, 2).await;
    assert_eq!(numbers(&found), [0, 1, 2, 3, 4]);
    assert_eq!(store.newest_event().await.expect("an id"), found[4].id);
    assert_eq!(store.tail(Some(&found[4].id), 10).await.expect("reads"), Tail::Events(Vec::new()));
    let listed = store.events(&EventFilter::default(), &super::first(10)).await.expect("a page").items;
    assert_eq!(listed, found, "lists name events as the feed does");
}

async fn a_reader_without_an_id_gets_what_comes_from_now_on<S: TestStore>(store: &S) {
    keep(store, 0).await;
    assert_eq!(store.tail(None, 10).await.expect("reads"), Tail::Events(Vec::new()));
}

async fn an_id_that_means_nothing_here_asks_for_everything_again<S: TestStore>(store: &S) {
    let start = store.newest_event().await.expect("an id");
    keep(store, 0).await;
    let newest = follow(store, &start, 1, 10).await[0].id.clone();
    let of_another_store = format!("00000000{}", &newest[8..]);
    for id in ["", "nonsense", "1.2.3.4.5", "'; drop table events", of_another_store.as_str()] {
        let tail = store.tail(Some(id), 10).await.expect("reads");
        assert_eq!(tail, Tail::Resync(newest.clone()), "{id:?}");
    }
}

async fn a_reader_older_than_the_oldest_event_asks_for_everything_again<S: TestStore>(store: &S) {
    let start = store.newest_event().await.expect("an id");
    for n in 0..4 {
        keep(store, n).await;
    }
    let found = follow(store, &start, 4, 10).await;
    let forget = |before: i64| Statement::new("delete from events where at < $1").with(NOW.plus_ms(before));
    store.write(forget(2)).await.expect("old events can go");
    let newest = Tail::Resync(found[3].id.clone());
    assert_eq!(store.tail(Some(&start), 10).await.expect("reads"), newest, "from before the first event");
    assert_eq!(store.tail(Some(&found[0].id), 10).await.expect("reads"), newest);
    assert_eq!(numbers(&follow(store, &found[2].id, 1, 10).await), [3], "what is kept can be gone on from");
    store.write(forget(9)).await.expect("all events can go");
    assert_eq!(store.tail(Some(&found[2].id), 10).await.expect("reads"), newest);
    assert_eq!(store.tail(Some(&found[3].id), 10).await.expect("reads"), Tail::Events(Vec::new()), "had all");
    assert_eq!(store.newest_event().await.expect("an id"), found[3].id);
}

async fn many_writers_and_one_reader_agree<S: TestStore>(store: &S) {
    const WRITERS: i64 = 8;
    const EACH: i64 = 25;
    let start = store.newest_event().await.expect("an id");
    let write = async |writer: i64| {
        for n in 0..EACH {
            keep(store, writer * EACH + n).await;
        }
    };
    let writers = futures_util::future::join_all((0..WRITERS).map(write));
    let total = usize::try_from(WRITERS * EACH).expect("a few hundred");
    let (_, found) = tokio::join!(writers, follow(store, &start, total, 3));
    let listed = store.events(&EventFilter::default(), &super::first(200)).await.expect("a page").items;
    assert_eq!(found, listed, "each event once, in the order in which they stand for good");
}

async fn of_whoever_is_being_erased_the_feed_tells_nothing<S: TestStore>(store: &S) {
    let start = store.newest_event().await.expect("an id");
    let mei = test_stores::begun("shop", "6580000001@c.us");
    store.keep_conversation(&mei).await;
    store.keep_events(vec![event(Some(&mei), None, EventType::MessageSent, NOW)]).await;
    follow(store, &start, 1, 10).await;
    let closing = "insert into erasures (conversation_id, actor, worked_at) values ($1, 'shell', 1)";
    store.write(Statement::new(closing).with(mei.id)).await.expect("written");
    assert_eq!(store.tail(Some(&start), 10).await.expect("reads"), Tail::Events(Vec::new()));
    keep(store, 7).await;
    let found = follow(store, &start, 1, 10).await;
    assert_eq!(numbers(&found), [7], "what is of others comes as ever");
}

/// A transaction that no limit of ours ends, however long the machine does other things.
async fn begun(store: &Postgres) -> sqlx::PgTransaction<'static> {
    let mut transaction = store.pool.begin().await.expect("a transaction");
    let unlimited = sqlx::query("set local idle_in_transaction_session_timeout = 0");
    unlimited.execute(&mut *transaction).await.expect("set");
    transaction
}

/// Two transactions at once, as [`TestStore`] cannot hold them: one statement each, committed by hand.
async fn insert(transaction: &mut sqlx::PgTransaction<'_>, n: i64) {
    sqlx::query(
        "insert into events (at, channel, actor, kind, details) values ($1, '', 'system', 'flood', '{}')",
    )
    .bind(NOW.plus_ms(n).0)
    .execute(&mut **transaction)
    .await
    .expect("an event");
}

#[tokio::test]
async fn an_event_committed_late_is_never_passed_by() {
    let (store, database) = test_stores::postgres().await;
    let start = store.newest_event().await.expect("an id");
    let mut early = begun(&store).await;
    let mut late = begun(&store).await;
    insert(&mut early, 1).await;
    insert(&mut late, 2).await;
    late.commit().await.expect("commits first");
    assert_eq!(
        store.tail(Some(&start), 10).await.expect("reads"),
        Tail::Events(Vec::new()),
        "the one committed first waits for the one that began before it"
    );
    assert_eq!(store.newest_event().await.expect("an id"), start, "who begins now begins before both");
    early.commit().await.expect("commits");
    assert_eq!(numbers(&follow(&store, &start, 2, 10).await), [1, 2]);
    database.remove(store).await;
}

#[tokio::test]
async fn ids_given_out_in_another_order_than_transactions_lose_nothing() {
    let (store, database) = test_stores::postgres().await;
    let start = store.newest_event().await.expect("an id");
    let mut early = begun(&store).await;
    sqlx::query("select pg_current_xact_id()").execute(&mut *early).await.expect("it is numbered first");
    let mut late = begun(&store).await;
    insert(&mut late, 2).await;
    late.commit().await.expect("commits");
    assert_eq!(store.tail(Some(&start), 10).await.expect("reads"), Tail::Events(Vec::new()));
    insert(&mut early, 1).await;
    early.commit().await.expect("commits");
    let found = follow(&store, &start, 2, 1).await;
    assert_eq!(numbers(&found), [1, 2], "in the order of the transactions, though the ids say otherwise");
    database.remove(store).await;
}

#[tokio::test]
async fn a_transaction_that_does_not_end_holds_the_feed_back_and_is_named() {
    let (store, database) = test_stores::postgres().await;
    let start = store.newest_event().await.expect("an id");
    let mut holder = begun(&store).await;
    let (pid, _): (i32, String) = sqlx::query_as("select pg_backend_pid(), pg_current_xact_id()::text")
        .fetch_one(&mut *holder)
        .await
        .expect("it writes, so it has a number");
    assert_eq!(store.held_back().await.expect("reads"), None, "nothing waits yet");
    store.keep_events(vec![event(None, None, EventType::WebhookIgnored, NOW.plus_ms(-7_000))]).await;
    assert_eq!(store.tail(Some(&start), 10).await.expect("reads"), Tail::Events(Vec::new()));
    let begun = Instant::now();
    // Transactions of other tests may be older still, for a moment.
    loop {
        let held = store.held_back().await.expect("reads").expect("an event waits");
        assert_eq!(held.ms, 7_000);
        if held.by.starts_with(&format!("pid {pid} (")) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{held:?}");
    }
    holder.rollback().await.expect("it ends");
    assert_eq!(numbers(&follow(&store, &start, 1, 10).await), [-7_000]);
    assert_eq!(store.held_back().await.expect("reads"), None);
    database.remove(store).await;
}

/// The id that the event would have if this many more transactions had been counted.
fn further(id: &str, transactions: i64) -> String {
    let place: Vec<&str> = id.split('.').collect();
    let [generation, xact, number] = place[..] else { panic!("an id of PostgreSQL, not {id}") };
    format!("{generation}.{}.{number}", xact.parse::<i64>().expect("a number") + transactions)
}

#[tokio::test]
async fn a_database_that_was_moved_to_another_server_goes_on_above_what_was_there() {
    let (store, database) = test_stores::postgres().await;
    let start = store.newest_event().await.expect("an id");
    keep(&store, 1).await;
    let told = follow(&store, &start, 1, 1).await.remove(0).id;
    assert!(!store.raise_xact_offset().await.expect("looks"), "it is where it always was");
    // What a server that had counted much further leaves in a dump; so far has the reader come.
    let far = 5_000_000_000_i64;
    let moving = Statement::new("update events set xact = xact + $1").with(far);
    store.write(moving).await.expect("moved");
    let told = further(&told, far);
    keep(&store, 2).await;

    assert!(store.raise_xact_offset().await.expect("looks"));
    assert!(!store.raise_xact_offset().await.expect("looks"), "once is enough");
    keep(&store, 3).await;
    assert_eq!(numbers(&follow(&store, &told, 2, 1).await), [2, 3], "also what came before it was found");
    database.remove(store).await;
}

#[tokio::test]
async fn a_reader_who_has_read_what_a_failover_has_lost_asks_for_everything_again() {
    let (store, database) = test_stores::postgres().await;
    let start = store.newest_event().await.expect("an id");
    keep(&store, 1).await;
    let told = follow(&store, &start, 1, 1).await.remove(0).id;
    assert_eq!(
        store.tail(Some(&told), 10).await.expect("reads"),
        Tail::Events(Vec::new()),
        "nothing is lost"
    );
    // What the server that is gone had counted when it told its last event.
    let ahead = further(&told, 5_000_000_000);
    assert_eq!(store.tail(Some(&ahead), 10).await.expect("reads"), Tail::Resync(told.clone()));
    keep(&store, 2).await;
    assert_eq!(numbers(&follow(&store, &told, 1, 10).await), [2], "it goes on from there");
    database.remove(store).await;
}

#[tokio::test]
async fn a_reader_who_has_read_more_than_an_older_file_holds_asks_for_everything_again() {
    let (store, _folder) = test_stores::sqlite().await;
    let start = store.newest_event().await.expect("an id");
    assert_eq!(
        store.tail(Some(&start), 10).await.expect("reads"),
        Tail::Events(Vec::new()),
        "nothing is there yet"
    );
    keep(&store, 1).await;
    let told = follow(&store, &start, 1, 1).await.remove(0).id;
    assert_eq!(
        store.tail(Some(&told), 10).await.expect("reads"),
        Tail::Events(Vec::new()),
        "nothing is lost"
    );
    let (generation, id) = told.split_once('.').expect("an id");
    let ahead = format!("{generation}.{}", id.parse::<i64>().expect("a number") + 1);
    assert_eq!(store.tail(Some(&ahead), 10).await.expect("reads"), Tail::Resync(told));
}
