#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use execution::broadcast::{Broadcast, Error, Heard, Memory};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    domain::{
        chat::ChatId,
        docket::{Clocks, TurnProgress},
        mode::Mode,
        time::Time,
        turn::{Purpose, Turn, TurnState},
    },
    flow::ledger::Standing,
};

fn begun() -> Turn {
    Turn {
        id: Uuid::nil(),
        state: TurnState::Generating,
        purpose: Purpose::Reply,
        mode_version: 1,
        fence: 1,
        last_seq: 1,
        is_final: false,
        messages: Vec::new(),
        attempt: 1,
        started_at: Time(0),
        first_token_at: None,
        ended_at: None,
        model: String::new(),
        input_tokens: 0,
        output_tokens: 0,
        wasted: false,
        reason: None,
    }
}

fn committed(conversation: Uuid, turn: Uuid, state: TurnState) -> Committed {
    Committed {
        at: Time(0),
        channel: "default".to_owned(),
        chat: ChatId::parse("6580000001@c.us").unwrap(),
        standing: Standing { conversation, mode: Mode::Ai, version: 1, fence: 1, turn: None, contact_seq: 1 },
        clocks: Clocks::default(),
        asked_at: Instant::now(),
        messages: Vec::new(),
        turns: vec![TurnProgress { turn: Turn { id: turn, state, ..begun() }, before: None }],
        typing: None,
        is_erased: false,
        events: Vec::new(),
    }
}

fn ana() -> Person {
    Person { id: "ana".to_owned(), name: "Ana".to_owned() }
}

fn text(scene: &Scene) -> Option<&str> {
    scene.generation.as_ref().map(|generation| &*generation.text)
}

/// Waits until it looks so.
async fn until(watch: &mut Watch, looks: impl Fn(&Scene) -> bool) {
    let waits = async {
        while !looks(&watch.scene()) {
            watch.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waits).await.expect("it comes to look so");
}

/// A wire to all instances that can be cut: what is said then reaches nobody.
#[derive(Default)]
struct Wire {
    memory: Memory,
    is_cut: AtomicBool,
}

#[async_trait]
impl Broadcast for Wire {
    async fn publish(&self, channel: &str, payload: &str) -> Result<(), Error> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.memory.publish(channel, payload).await
    }

    fn subscribe(&self, channel: &str) -> mpsc::Receiver<Heard> {
        self.memory.subscribe(channel)
    }
}

/// An instance on that wire, until it is stopped.
fn instance(wire: &Arc<Wire>) -> (Arc<Onlookers>, CancellationToken) {
    let (onlookers, stop) = (Arc::new(Onlookers::default()), CancellationToken::new());
    tokio::spawn(share(Arc::clone(&onlookers), wire.clone() as Arc<dyn Broadcast>, stop.clone()));
    (onlookers, stop)
}

#[test]
fn who_comes_in_the_middle_sees_what_was_written_before() {
    let (onlookers, id, turn) = (Arc::new(Onlookers::default()), Uuid::now_v7(), Uuid::now_v7());
    let writing = onlookers.writes(id, turn);
    writing.wrote("Here are");
    assert!(onlookers.lock().watched.is_empty(), "nobody watches: nothing is told");
    let mut watch = onlookers.watch(id).unwrap();
    assert_eq!(text(&watch.scene()), Some("Here are"));
    writing.wrote("Here are two condos.");
    assert_eq!(text(&watch.scene()), Some("Here are two condos."));
    drop(writing);
    onlookers.committed(&committed(id, turn, TurnState::Completed));
    let scene = watch.scene();
    assert_eq!(text(&scene), None);
    assert_eq!(scene.ended, [(turn, TurnState::Completed)]);
    let before = onlookers.watching();
    drop(watch);
    assert_eq!((before, onlookers.watching()), (1, 0));
}

#[test]
fn a_turn_is_shown_from_its_beginning_and_its_end_is_told_by_whoever_commits_it() {
    let (onlookers, id, turn) = (Arc::new(Onlookers::default()), Uuid::now_v7(), Uuid::now_v7());
    let mut watch = onlookers.watch(id).unwrap();
    onlookers.committed(&committed(id, turn, TurnState::Generating));
    let writing = onlookers.writes(id, turn);
    assert_eq!(text(&watch.scene()), Some(""));
    writing.wrote("Here");
    onlookers.committed(&committed(id, turn, TurnState::Cancelled));
    writing.wrote("Here are");
    assert_eq!(watch.scene().generation, None, "its last words come too late");
    onlookers.committed(&committed(Uuid::now_v7(), Uuid::now_v7(), TurnState::Generating));
    assert_eq!(watch.scene().generation, None, "another conversation");
}

#[test]
fn a_text_without_end_is_shown_up_to_a_limit() {
    let (onlookers, id) = (Arc::new(Onlookers::default()), Uuid::now_v7());
    let mut watch = onlookers.watch(id).unwrap();
    onlookers.writes(id, Uuid::now_v7()).wrote(&"é".repeat(100_000));
    let scene = watch.scene();
    let shown = text(&scene).unwrap();
    assert!(shown.len() <= 64 << 10 && shown.chars().all(|c| c == 'é'));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_needs_any_more_is_forgotten() {
    let onlookers = Arc::new(Onlookers::default());
    let (watched, visited) = (Uuid::now_v7(), Uuid::now_v7());
    let turn = onlookers.writes(watched, Uuid::now_v7());
    let watch = onlookers.watch(watched).unwrap();
    assert!(turn.live_text.is_told());
    onlookers.is_here(visited, ana(), Presence::Writing);
    drop(watch);
    turn.wrote("Here");
    assert!(!turn.live_text.is_told(), "found at the next words");
    tokio::time::advance(FORGOTTEN - Duration::from_secs(1)).await;
    let mut watch = onlookers.watch(visited).unwrap();
    let watched = |onlookers: &Onlookers| onlookers.lock().watched.keys().copied().collect::<Vec<_>>();
    assert_eq!(watched(&onlookers), [visited]);
    assert_eq!(watch.scene().people(Instant::now()).count(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(watch.scene().people(Instant::now()).count(), 0);
    drop(watch);
    tokio::time::advance(TIDY_EVERY).await;
    onlookers.want_again();
    assert!(watched(&onlookers).is_empty() && onlookers.watched_count.load(Ordering::SeqCst) == 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_on_another_instance_sees_the_same() {
    let (wire, id, turn) = (Arc::new(Wire::default()), Uuid::now_v7(), Uuid::now_v7());
    let ((runs, _), (watches, _), (takes_over, _)) = (instance(&wire), instance(&wire), instance(&wire));
    tokio::task::yield_now().await;
    let writing = runs.writes(id, turn);
    writing.wrote("Here");
    runs.is_here(id, ana(), Presence::Viewing);
    let mut watch = watches.watch(id).unwrap();
    until(&mut watch, |scene| text(scene) == Some("Here") && scene.people(Instant::now()).count() == 1).await;
    writing.wrote("Here are two");
    until(&mut watch, |scene| text(scene) == Some("Here are two")).await;
    takes_over.committed(&committed(id, turn, TurnState::Cancelled));
    takes_over.is_here(id, ana(), Presence::Away);
    until(&mut watch, |scene| {
        scene.ended == [(turn, TurnState::Cancelled)] && scene.people(Instant::now()).count() == 0
    })
    .await;
    assert!(
        runs.watch(id).unwrap().scene().people(Instant::now()).next().is_some(),
        "it was not told: nobody watched there"
    );
    let mut there = runs.watch(id).unwrap();
    until(&mut there, |scene| scene.people(Instant::now()).count() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_wire_each_instance_shows_its_own_and_afterwards_all_of_it_again() {
    let (wire, id, turn) = (Arc::new(Wire::default()), Uuid::now_v7(), Uuid::now_v7());
    let ((runs, _), (watches, stop)) = (instance(&wire), instance(&wire));
    let writing = runs.writes(id, turn);
    let (mut here, mut there) = (runs.watch(id).unwrap(), watches.watch(id).unwrap());
    until(&mut there, |scene| text(scene) == Some("")).await;
    wire.is_cut.store(true, Ordering::SeqCst);
    writing.wrote("Here");
    assert_eq!(text(&here.scene()), Some("Here"));
    tokio::time::sleep(peers::HOLDS).await;
    assert_eq!(text(&there.scene()), Some(""), "cut off");
    drop(here);
    writing.wrote("Here are");
    assert!(!writing.live_text.is_told(), "nobody has said for long that it is watched");
    wire.is_cut.store(false, Ordering::SeqCst);
    until(&mut there, |scene| text(scene) == Some("Here are")).await;
    writing.wrote("Here are two");
    until(&mut there, |scene| text(scene) == Some("Here are two")).await;

    stop.cancel();
    tokio::time::sleep(peers::HOLDS + peers::RENEW).await;
    writing.wrote("Here are two condos");
    assert!(!writing.live_text.is_told(), "that instance is gone");
}

#[tokio::test(start_paused = true)]
async fn what_others_could_not_be_told_at_once_waits_as_one() {
    let (onlookers, id, turn) = (Arc::new(Onlookers::default()), Uuid::now_v7(), Uuid::now_v7());
    onlookers.is_wanted("another", &[id]);
    let writing = onlookers.writes(id, turn);
    for words in 0..10_000 {
        writing.wrote(&format!("{words} words"));
    }
    let (_, owed) = onlookers.owed();
    assert_eq!(owed.len(), 1, "a value, no backlog");
    assert_eq!((owed[0].conversation, &owed[0].instances[..]), (id, &["another".to_owned()][..]));
    assert_eq!(owed[0].news.generation.as_ref().map(|it| &*it.text), Some("9999 words"));
}
