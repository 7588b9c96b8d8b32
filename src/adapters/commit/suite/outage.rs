//! What only PostgreSQL can suffer: a server that goes away, two that start together, a row that somebody holds.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
};

use futures_util::{future::join_all, poll};
use sqlx::Connection as _;
use tokio::sync::{mpsc, oneshot};

use super::super::{ANSWER, Op, writer, writer_context::WriterContext};
use super::{
    NOW, by_key,
    line::Line,
    opened, push,
    store::{
        Database, Heard, at_a_console, by_its_own_clock, create, create_bare, on_postgres, on_sqlite, remove,
        server, soon,
    },
    sweep,
};
use crate::{
    adapters::postgres::Postgres,
    domain::docket::Docket,
    flow::{
        clock::ManualClock,
        ledger::{Committed, Erased, Error, Key, Need, Observer, Work, change},
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_lose_nothing_and_double_nothing() {
    on_postgres(|store| async move {
        let Database::Postgres { name, .. } = &store.database else { unreachable!("this is PostgreSQL") };
        let other = server();
        let kill = format!(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = '{name}' and pid <> pg_backend_pid()"
        );
        let pushes = join_all((0..400_usize).map(|number| {
            let store = Arc::clone(&store);
            async move { store.push(number % 7, format!("m{number}")).await }
        }));
        let kills = async {
            let mut connection = sqlx::PgConnection::connect_with(&other).await.expect("the server answers");
            for _ in 0..10 {
                sqlx::query(sqlx::AssertSqlSafe(kill.clone()))
                    .execute(&mut connection)
                    .await
                    .expect("killed");
                tokio::task::yield_now().await;
            }
        };
        let (stored, ()) = soon(async { tokio::join!(pushes, kills) }).await;
        let stored = stored.into_iter().filter(Result::is_ok).count();
        for number in 0..400_usize {
            store.push(number % 7, format!("m{number}")).await.expect("the database is back");
        }
        assert_eq!(store.number("select count(*) from messages").await, 400, "{stored} were stored at once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_all_connections_and_is_there_costs_nobody_an_answer() {
    on_postgres(|store| async move {
        let Database::Postgres { name, .. } = &store.database else { unreachable!("this is PostgreSQL") };
        let mut other = sqlx::PgConnection::connect_with(&server()).await.expect("the server answers");
        let mut count = async |what: &str| {
            let sql = format!("select count({what}) from pg_stat_activity where datname = '{name}'");
            sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql))
                .fetch_one(&mut other)
                .await
                .expect("a number")
        };
        for round in 0..5 {
            // The writers, and all that callers have, were at work a moment ago.
            store.push(round, format!("before {round}")).await.expect("stored");
            let reads = join_all((0..8).map(|_| sweep(&*store.ledger, Work::Turn, 10)));
            assert!(soon(reads).await.iter().all(Result::is_ok));
            // Only those that rest: whoever is at work may be told that it failed.
            count("pg_terminate_backend(pid)").await;
            while count("pid").await > 0 {
                tokio::task::yield_now().await;
            }
            let pushed = soon(store.push(round, format!("after {round}"))).await;
            assert!(pushed.is_ok(), "round {round}: {pushed:?}");
        }
        assert_eq!(store.number("select count(*) from messages").await, 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_answered_in_time_and_found_again() {
    let name = create().await;
    let line = Line::open();
    let options = server().host("127.0.0.1").port(line.port).database(&name);
    let store = Postgres::open(options, 8, Arc::new(ManualClock::at(NOW))).await.expect("connected");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let pushed = |text: &'static str| change(&*ledger, opened(1), by_key(text), push(text));
    pushed("before").await.expect("stored");

    let kept = line.cut().await;
    let during = soon(join_all((0..300).map(|_| pushed("during")))).await;
    let reads = soon(sweep(&*ledger, Work::Turn, 10)).await;
    assert!(matches!(reads, Err(Error::Unavailable(_))), "{reads:?}");
    assert!(during.iter().all(|outcome| matches!(outcome, Err(Error::Unavailable(_)))), "all of them");

    let line = Line::again(kept);
    assert_eq!(pushed("after").await.expect("it comes back by itself"), 2);
    assert_eq!(pushed("before").await.expect("found"), 1);
    drop(ledger);
    store.close().await;
    line.cut().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_whose_commit_was_not_heard_of_is_not_run_again() {
    let name = create().await;
    let line = Line::open();
    let options = server().host("127.0.0.1").port(line.port).database(&name);
    let store = Postgres::open(options, 8, Arc::new(ManualClock::at(NOW))).await.expect("connected");
    let heard = Arc::new(Heard::default());
    let ledger = store.ledger(heard.clone());
    let counted = || {
        change(&*ledger, opened(1), Need::default(), |docket: &mut Docket| {
            docket.conversation.unread += 1;
            docket.conversation.unread
        })
    };
    for number in 1..=3 {
        assert_eq!(counted().await.expect("stored"), number);
    }
    line.loses_an_answer();
    assert_eq!(soon(counted()).await.expect("it was committed"), 4);
    assert_eq!(soon(counted()).await.expect("stored"), 5, "not twice");
    assert_eq!(heard.all().len(), 5, "and it was told");
    drop(ledger);
    soon(store.close()).await;
    line.cut().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_that_fall_silent_are_left_and_what_was_given_up_is_not_done_later() {
    let name = create().await;
    let line = Line::open();
    let options = server().host("127.0.0.1").port(line.port).database(&name);
    let store = Postgres::open(options, 8, Arc::new(ManualClock::at(NOW))).await.expect("connected");
    let ledger = store.ledger(Arc::new(Heard::default()));
    let pushed = |text: &'static str| change(&*ledger, opened(1), by_key(text), push(text));
    // Both ways of the writer have a connection, and callers have theirs.
    for text in ["one", "two", "three"] {
        pushed(text).await.expect("stored");
    }
    join_all((0..8).map(|_| sweep(&*ledger, Work::Turn, 10))).await;

    line.falls_silent();
    let reads = join_all((0..8).map(|_| sweep(&*ledger, Work::Turn, 10)));
    let (during, reads) = soon(async { tokio::join!(pushed("during"), reads) }).await;
    assert!(matches!(during, Err(Error::Unavailable(_))), "{during:?}");
    assert!(reads.iter().all(|read| matches!(read, Err(Error::Unavailable(_)))), "{reads:?}");
    // Longer than the writer waits for a batch.
    assert_eq!(soon(pushed("after")).await.expect("over a new line"), 4, "what was given up is not there");
    let reads = join_all((0..8).map(|_| sweep(&*ledger, Work::Turn, 10)));
    assert!(soon(reads).await.iter().all(Result::is_ok), "over new lines");
    assert_eq!(pushed("during").await.expect("stored"), 5, "nor has it come since");
    drop(ledger);
    soon(store.close()).await;
    line.cut().await;
    remove(&name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_looks_whether_a_silent_server_is_up_to_date_keeps_no_work_for_long() {
    let name = create().await;
    let line = Line::open();
    let options = server().host("127.0.0.1").port(line.port).database(&name);
    // The ledger has one connection, as for any number below eight.
    let store = Postgres::open(options, 4, Arc::new(ManualClock::at(NOW))).await.expect("connected");
    let ledger = store.ledger(Arc::new(Heard::default()));
    assert!(store.is_migrated().await.expect("it answers"));
    let given_back = async {
        while store.ledger.num_idle() == 0 {
            tokio::task::yield_now().await;
        }
    };
    soon(given_back).await;

    line.falls_silent();
    let looked = soon(store.is_migrated()).await;
    assert!(looked.is_err(), "{looked:?}");
    // A new connection may take its time.
    let pushed = async {
        loop {
            match change(&*ledger, opened(1), by_key("one"), push("one")).await {
                Err(Error::Unavailable(_)) => {}
                outcome => return outcome,
            }
        }
    };
    assert_eq!(soon(pushed).await.expect("over a new line"), 1);
    drop(ledger);
    soon(store.close()).await;
    line.cut().await;
    remove(&name).await;
}

#[tokio::test]
async fn a_step_whose_caller_was_told_that_it_failed_is_not_run() {
    on_sqlite(|store| async move {
        let Database::Sqlite { store: sqlite, .. } = &store.database else { unreachable!("this is SQLite") };
        let context = WriterContext {
            dialect: sqlite.clone(),
            cache: Arc::default(),
            clock: Arc::default(),
            observer: Arc::clone(&store.heard) as _,
        };
        let (queue, steps) = mpsc::channel(4);
        tokio::spawn(writer::run(context, steps));
        let now = tokio::time::Instant::now();
        for (asked_at, stored) in [(now - ANSWER, 0), (now, 1)] {
            let (answer, outcome) = oneshot::channel();
            let step = Arc::new(|docket: &mut Docket| {
                push("a")(docket);
            });
            let need = by_key("a");
            let op = Op { key: opened(1), need, step, asked_at, answer, is_found_anew: false };
            queue.send(op).await.expect("the writer takes steps");
            assert_eq!(outcome.await.is_ok(), stored == 1, "nobody waits for the first");
            assert_eq!(store.number("select count(*) from conversations").await, stored);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_finds_no_server_is_told_why() {
    let line = Line::open();
    let options = server().host("127.0.0.1").port(line.port);
    let _kept = line.cut().await;
    let clock = Arc::new(ManualClock::at(NOW));
    let error = Postgres::open(options, 8, clock).await.expect_err("nobody listens");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_that_start_together_on_an_empty_database_both_succeed() {
    for _ in 0..10 {
        let name = create_bare().await;
        let (one, two) = tokio::join!(by_its_own_clock(&name), by_its_own_clock(&name));
        let (first, second) = tokio::join!(one.migrate(), two.migrate());
        first.expect("migrated");
        second.expect("migrated");
        one.close().await;
        two.close().await;
        remove(&name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_has_the_clock_and_reads_it_after_the_lock() {
    let name = create().await;
    let store = by_its_own_clock(&name).await;
    let ledger = store.ledger(Arc::new(Heard::default()));
    let before = ledger.now().await.expect("a clock");
    change(&*ledger, opened(1), Need::default(), push("a")).await.expect("stored");

    // Somebody holds the row; the step waits, and its moment is that of its lock.
    let mut holder = at_a_console(&store).await;
    sqlx::query("select id from conversations for update").execute(&mut *holder).await.expect("locked");
    // One that has waited for long is given up, and comes again.
    let waiting = async {
        loop {
            let step = change(&*ledger, opened(1), Need::default(), |docket: &mut Docket| docket.now);
            match step.await {
                Err(Error::Unavailable(_)) => {}
                outcome => return outcome,
            }
        }
    };
    let freed = async {
        let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while sqlx::query_scalar::<_, i64>(waits).fetch_one(&store.pool).await.expect("counted") == 0 {
            tokio::task::yield_now().await;
        }
        sqlx::query("select pg_sleep(0.02)").execute(&mut *holder).await.expect("a moment passes");
        let free = ledger.now().await.expect("a clock");
        holder.rollback().await.expect("freed");
        free
    };
    let (locked, freed) = soon(async { tokio::join!(waiting, freed) }).await;
    let locked = locked.expect("locked in the end");
    assert!(before < freed && freed <= locked, "{before:?} {freed:?} {locked:?}");
    drop(ledger);
    store.close().await;
    remove(&name).await;
}

/// How many commits each notice was of.
#[derive(Default)]
struct Told(Mutex<Vec<usize>>);

impl Told {
    fn all(&self) -> Vec<usize> {
        self.0.lock().expect("no panic while it is held").clone()
    }
}

impl Observer for Told {
    fn committed(&self, commits: &[Committed]) {
        self.0.lock().expect("no panic while it is held").push(commits.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_somebody_holds_for_too_long_harms_no_other() {
    on_postgres(|store| async move {
        let Database::Postgres { store: postgres, .. } = &store.database else {
            unreachable!("this is PostgreSQL")
        };
        let ids = join_all((0..20).map(|chat| store.conversation(chat))).await;
        let mut holder = at_a_console(postgres).await;
        let lock =
            sqlx::query("select id from conversations where id = $1 for update").bind(ids[0].to_string());
        lock.execute(&mut *holder).await.expect("locked");
        let told = Arc::new(Told::default());
        let context = WriterContext {
            dialect: postgres.clone(),
            cache: Arc::default(),
            clock: Arc::default(),
            observer: Arc::clone(&told) as _,
        };
        // All of them are there when the writer begins; one conversation has two steps, under two names.
        let (queue, steps) = mpsc::channel(32);
        let keys = (0..20).map(opened).chain([Key::Id(ids[1])]);
        let mut outcomes = Vec::new();
        for (number, key) in keys.enumerate() {
            let (answer, outcome) = oneshot::channel();
            let text = format!("m{number}");
            let (need, step) = (by_key(text.clone()), push(text));
            let step: Erased = Arc::new(move |docket: &mut Docket| {
                step(docket);
            });
            // Nobody gives up meanwhile, however slow the machine is.
            let asked_at = tokio::time::Instant::now() + ANSWER * 100;
            let op = Op { key, need, step, asked_at, answer, is_found_anew: false };
            queue.send(op).await.expect("there is room");
            outcomes.push(outcome);
        }
        tokio::spawn(writer::run(context, steps));
        let outcomes: Vec<_> =
            soon(join_all(outcomes)).await.into_iter().map(|outcome| outcome.expect("answered")).collect();
        assert!(matches!(outcomes[0], Err(Error::Unavailable(_))), "{:?}", outcomes[0]);
        assert!(outcomes[1..].iter().all(Result::is_ok), "{outcomes:?}");
        assert_eq!(told.all(), [19], "the others are stored together, and have not waited for each other");
        let order = "select count(*) from messages where (text, seq) in (('m1', 1), ('m20', 2))";
        assert_eq!(store.number(order).await, 2, "in the order in which they came");
        holder.rollback().await.expect("freed");
        store.push(0, "a").await.expect("stored now");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_begin_that_is_dropped_half_way_does_not_spoil_its_connection() {
    on_postgres(|store| async move {
        let Database::Postgres { store: postgres, .. } = &store.database else {
            unreachable!("this is PostgreSQL")
        };
        store.conversation(1).await;
        for round in 0..20 {
            let mut connection = postgres.pool.acquire().await.expect("a connection");
            {
                let mut begin = pin!(connection.begin());
                // Sent, and most times not answered yet: here the caller goes away.
                drop(poll!(&mut begin));
            }
            drop(connection);
            // By itself, without a transaction whose end would save it by chance.
            let text =
                format!("insert into requests select 'r{round}', id, 'h', id, '{{}}', 1 from conversations");
            store.execute(&text).await.expect("stored");
        }
        let looking = by_its_own_clock(match &store.database {
            Database::Postgres { name, .. } => name,
            Database::Sqlite { .. } => unreachable!("this is PostgreSQL"),
        })
        .await;
        let count = sqlx::query_scalar("select count(*) from requests").fetch_one(&looking.pool);
        let seen: i64 = count.await.expect("counted");
        assert_eq!(seen, 20, "whatever was acknowledged is there for others to see");
    })
    .await;
}
