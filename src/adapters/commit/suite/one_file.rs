//! What only SQLite can suffer: a disk that is full, a file with an owner, commands beside the server.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{
    by_key, from_us, opened, push,
    store::{Database, Heard, on_sqlite, soon},
    sweep,
};
use crate::{
    adapters::sqlite::Sqlite,
    domain::{
        conversation::Lease,
        docket::Docket,
        message::{Attempt, DeliveryState},
    },
    flow::{
        clock::StoreClock,
        ledger::{Need, Work, change},
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_was_full_is_written_to_again() {
    on_sqlite(|store| async move {
        store.push(1, "a").await.expect("stored");
        let Database::Sqlite { store: sqlite, .. } = &store.database else { unreachable!("this is SQLite") };
        let mut transaction = sqlite.writer.begin_with("begin immediate").await.expect("begun");
        // As SQLite does by itself at some errors of the disk.
        sqlx::query("rollback").execute(&mut *transaction).await.expect("rolled back");
        drop(transaction.rollback().await);
        store.push(1, "b").await.expect("there is room again");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_sqlite_ends_every_lease_of_the_life_before() {
    on_sqlite(|store| async move {
        let sends = |docket: &mut Docket| {
            let until = docket.now.plus_ms(60_000);
            let turn = uuid::Uuid::now_v7();
            let mut message = from_us("in flight");
            if let Some(delivery) = message.delivery.as_mut() {
                delivery.state = DeliveryState::Sending;
                delivery.attempt = Some(Attempt { id: turn, at: docket.now, lease_until: until });
            }
            docket.push(message);
            (turn, until)
        };
        let busy = move |docket: &mut Docket| {
            let (turn, until) = sends(docket);
            docket.conversation.lease = Some(Lease { owner: "a".to_owned(), turn, until });
        };
        store.change(opened(1), Need::default(), busy).await.expect("stored");
        store.push(2, "idle").await.expect("stored");
        store.change(opened(3), Need::default(), sends).await.expect("stored");
        store.clock.advance_ms(1_000);
        assert_eq!(sweep(&*store.ledger, Work::Turn, 10).await.expect("a list"), []);
        let Database::Sqlite { store: sqlite, .. } = &store.database else { unreachable!("this is SQLite") };
        sqlite.recover().await.expect("recovered");
        assert_eq!(sweep(&*store.ledger, Work::Turn, 10).await.expect("a list").len(), 1);
        assert_eq!(sweep(&*store.ledger, Work::Tend, 10).await.expect("a list").len(), 2);
        for chat in [1, 3] {
            let docket = store.change(opened(chat), Need::default(), super::look).await.expect("a look");
            assert!(docket.conversation.live_lease(docket.now).is_none());
            let attempt = docket.messages()[0].delivery.as_ref().and_then(|delivery| delivery.attempt);
            assert_eq!(attempt.map(|attempt| attempt.lease_until), Some(docket.now));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_beside_the_server_of_sqlite_waits_its_turn() {
    on_sqlite(|store| async move {
        let Database::Sqlite { store: sqlite, .. } = &store.database else { unreachable!("this is SQLite") };
        let url = format!("sqlite:{}", sqlite.path().display());
        let command = Sqlite::connect(&url, Arc::new(StoreClock)).await.expect("opened");
        command.migrate().await.expect("nothing to do");
        let beside = command.ledger(Arc::new(Heard::default()));
        let step = |number: usize| {
            let text = format!("m{number}");
            let ledger: &dyn crate::flow::ledger::Ledger =
                if number.is_multiple_of(2) { &*store.ledger } else { &*beside };
            change(ledger, opened(number % 5), by_key(text.clone()), push(text))
        };
        // In waves: a caller is told after a while that nothing has come of it, however many were before it.
        for wave in (0..100).step_by(20) {
            for seq in soon(join_all((wave..wave + 20).map(step))).await {
                seq.expect("stored");
            }
        }
        assert_eq!(store.number("select count(*) from messages").await, 100);
    })
    .await;
}

#[tokio::test]
async fn a_database_in_memory_is_refused() {
    assert!(Sqlite::connect("sqlite::memory:", Arc::new(StoreClock)).await.is_err());
}
