//! Steps about a conversation that was merged run where it goes on, whatever anybody still knows; those about its messages
//! run where these are.

use std::sync::Arc;

use uuid::Uuid;

use super::{Shared, by_key, chat, opened, over_both_stores, push, sweep};
use crate::{
    domain::docket::Docket,
    flow::ledger::{Error, Key, Ledger, Need, Work, change},
};

over_both_stores!(
    by_its_chat_and_by_its_id_it_is_the_one_that_stays,
    what_another_instance_knows_of_its_chat_is_not_gone_by,
    a_chat_that_still_leads_to_it_leads_on,
    a_step_about_one_of_its_messages_runs_there,
    where_the_one_that_stays_is_gone_there_is_none,
);

/// The conversations of chats 1 and 2, the second merged into the first.
async fn merged(store: &Shared, ledger: &dyn Ledger) -> (Uuid, Uuid) {
    for number in [1, 2] {
        let text = format!("of {number}");
        change(ledger, opened(number), by_key(text.clone()), push(text)).await.expect("stored");
    }
    let (stays, goes) = (store.conversation(1).await, store.conversation(2).await);
    let receive = move |docket: &mut Docket| docket.conversation.memo.merged.push(goes);
    change(ledger, Key::Id(stays), Need::default(), receive).await.expect("received");
    let leave = move |docket: &mut Docket| docket.conversation.memo.merged_into = Some(stays);
    change(ledger, Key::Id(goes), Need::default(), leave).await.expect("merged");
    (stays, goes)
}

fn id(docket: &mut Docket) -> Uuid {
    docket.conversation.id
}

async fn by_its_chat_and_by_its_id_it_is_the_one_that_stays(store: Shared) {
    let (stays, goes) = merged(&store, &*store.ledger).await;
    for key in [opened(1), opened(2), Key::Id(stays), Key::Id(goes)] {
        assert_eq!(store.change(key.clone(), Need::default(), id).await.expect("found"), stays, "{key:?}");
    }
    assert_eq!(store.change(Key::Id(goes), Need::itself(), id).await.expect("found"), goes);
    assert_eq!(store.number("select count(*) from conversations").await, 2);
    assert_eq!(store.texts("select distinct conversation_id from chats").await, [stays.to_string()]);
    store.clock.advance_ms(60_000);
    for work in [Work::Turn, Work::Send, Work::FollowUp, Work::Tend] {
        let due = sweep(&*store.ledger, work, 10).await.expect("asked");
        assert!(due.iter().all(|due| due.conversation != goes), "{work:?}");
    }
}

async fn what_another_instance_knows_of_its_chat_is_not_gone_by(store: Shared) {
    let other = store.another(Arc::clone(&store.heard) as _);
    for text in ["one", "two"] {
        change(&*other, opened(2), by_key(text), push(text)).await.expect("stored");
    }
    let (stays, goes) = merged(&store, &*store.ledger).await;
    // It looks at what it takes for that conversation, in between.
    assert_eq!(change(&*other, Key::Id(goes), Need::itself(), id).await.expect("found"), goes);
    for text in ["three", "four"] {
        change(&*other, opened(2), by_key(text), push(text)).await.expect("stored");
        let there =
            format!("select count(*) from messages where conversation_id = '{stays}' and text = '{text}'");
        assert_eq!(store.number(&there).await, 1, "{text}");
    }
}

async fn a_chat_that_still_leads_to_it_leads_on(store: Shared) {
    let (stays, goes) = merged(&store, &*store.ledger).await;
    let late = format!(
        "insert into chats (channel, chat_id, conversation_id) values ('main', '{}', '{goes}')",
        chat(3)
    );
    store.execute(&late).await.expect("another id of the same chat, at the same moment");
    for _ in 0..2 {
        assert_eq!(store.change(opened(3), Need::default(), id).await.expect("found"), stays);
    }
}

async fn a_step_about_one_of_its_messages_runs_there(store: Shared) {
    let (stays, goes) = merged(&store, &*store.ledger).await;
    for (key, wanted) in [("of 1", stays), ("of 2", goes), ("of nobody", stays)] {
        for chat in [1, 2] {
            assert_eq!(store.change(opened(chat), by_key(key), id).await.expect("found"), wanted, "{key}");
        }
    }
}

async fn where_the_one_that_stays_is_gone_there_is_none(store: Shared) {
    let other = store.another(Arc::clone(&store.heard) as _);
    change(&*other, opened(2), by_key("first"), push("first")).await.expect("stored");
    let (stays, goes) = merged(&store, &*store.ledger).await;
    store.execute(&format!("delete from conversations where id = '{stays}'")).await.expect("removed");
    let gone = store.change(Key::Id(goes), Need::default(), id).await;
    assert!(matches!(gone, Err(Error::Gone)), "{gone:?}");
    // Also for whoever still takes the chat for that of the merged one.
    for ledger in [&*other, &*store.ledger] {
        let begun = change(ledger, opened(2), Need::default(), id).await.expect("another begins");
        assert!(begun != goes && begun != stays);
    }
}
