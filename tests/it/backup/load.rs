//! The server is killed under load. What the backup promises: every message that was answered 200 before the backup was
//! begun is in it, and every conversation in it is as it was at one moment. What the database itself promises: everything that
//! was answered 200 is there when the server starts again.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Program, Server, into_the_other_store, path_of};
use crate::program::TOKEN;

into_the_other_store!(a_server_is_killed_under_load_and_nothing_is_lost_that_was_answered_before_the_backup);

/// Contacts who write at the same time, each one message after the other.
const CONTACTS: usize = 12;

/// Messages that are answered before the backup begins, and that are once it is done.
const BEFORE: usize = 240;
const AFTER: usize = 120;

/// Texts that were answered 200, in the order of their answers.
type Answered = Arc<Mutex<Vec<String>>>;

fn chat(contact: usize) -> String {
    format!("65800001{contact:02}@c.us")
}

/// Everybody writes, until the server is gone or it is enough.
fn write_on(server: &Server, answered: &Answered, is_over: &Arc<AtomicBool>) -> JoinSet<()> {
    let mut writing = JoinSet::new();
    for contact in 0..CONTACTS {
        let (http, url) = (server.http.clone(), format!("{}/webhooks/sandbox", server.address));
        let (answered, is_over) = (Arc::clone(answered), Arc::clone(is_over));
        writing.spawn(async move {
            for number in 0.. {
                let text = format!("{contact} says {number}");
                let body =
                    json!({ "chat_id": chat(contact), "text": text, "id": format!("ID-{contact}-{number}") });
                let answer = http.post(&url).bearer_auth(TOKEN).json(&body).send().await;
                // No answer, or another one: nothing was promised.
                if answer.is_ok_and(|answer| answer.status() == 200) {
                    answered.lock().expect("whole").push(text);
                }
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
    }
    writing
}

async fn until(answered: &Answered, count: usize) -> Vec<String> {
    loop {
        let so_far = answered.lock().expect("whole").clone();
        if so_far.len() >= count {
            return so_far;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Every text of every contact. Each conversation's messages are numbered without a hole, up to its own number.
async fn kept(server: &Server) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let list = server.asks("GET", "/api/v1/conversations?limit=200", None).await;
    for conversation in list["items"].as_array().expect("a list") {
        let id = conversation["id"].as_str().expect("an id");
        let (mut before, mut expected) = (String::new(), None);
        loop {
            let path = format!("/api/v1/conversations/{id}/messages?limit=200{before}");
            let page = server.asks("GET", &path, None).await;
            for message in page["items"].as_array().expect("a list") {
                let seq = message["seq"].as_i64().expect("a number");
                assert!(expected.is_none_or(|expected| expected == seq), "a hole before {seq} of {id}");
                expected = Some(seq - 1);
                if message["author"] == "contact" {
                    texts.insert(message["text"].as_str().expect("text").to_owned());
                }
            }
            match page["next_cursor"].as_str() {
                Some(cursor) => before = format!("&before={cursor}"),
                None => break,
            }
        }
        assert_eq!(expected, Some(0), "{id} begins with its first message");
        let newest: Value = server.asks("GET", &format!("/api/v1/conversations/{id}"), None).await;
        assert_eq!(
            newest["unread"].as_i64(),
            Some(i64::try_from(count_of(&texts, newest["chat_id"].as_str())).expect("few"))
        );
    }
    texts
}

/// How many of these texts are of that chat.
fn count_of(texts: &BTreeSet<String>, wanted: Option<&str>) -> usize {
    let contact = (0..CONTACTS).find(|contact| Some(chat(*contact).as_str()) == wanted).expect("one of ours");
    let prefix = format!("{contact} says ");
    texts.iter().filter(|text| text.starts_with(&prefix)).count()
}

fn missing<'a>(all: &'a [String], kept: &BTreeSet<String>) -> Vec<&'a String> {
    all.iter().filter(|text| !kept.contains(*text)).collect()
}

async fn a_server_is_killed_under_load_and_nothing_is_lost_that_was_answered_before_the_backup(
    from: Program,
    to: Program,
) {
    // The assistant answers meanwhile.
    let server = from.serves(&[]);
    let (answered, is_over) = (Answered::default(), Arc::default());
    let mut writing = write_on(&server, &answered, &is_over);

    let before = until(&answered, BEFORE).await;
    let file = from.file("baton.backup");
    let mut command = from.command(&["backup", path_of(&file)]);
    let made = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
    let made = made.expect("it runs");
    assert!(made.status.success(), "{made:?}");
    let done = answered.lock().expect("whole").len();
    until(&answered, done + AFTER).await;

    drop(server);
    is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = writing.join_next().await {
        ended.expect("nobody fails");
    }
    let all = answered.lock().expect("whole").clone();
    assert!(all.len() >= done + AFTER && done >= before.len());

    to.does(&["restore", path_of(&file)]);
    let restored = to.serves(&[]);
    let texts = kept(&restored).await;
    assert_eq!(missing(&before, &texts), Vec::<&String>::new(), "answered before the backup was begun");
    drop(restored);

    let again = from.serves(&[]);
    assert_eq!(missing(&all, &kept(&again).await), Vec::<&String>::new(), "answered at all");
    drop(again);
    from.end().await;
    to.end().await;
}
