//! Steps over a real store and a scripted provider, wired as for a command.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use execution::{
    deduplicate_webhook::{Claim, Deduplicator},
    key_store::Memory,
};

use super::now;
use crate::{
    adapters::{
        sql::{Statement, Store as _},
        sqlite::Sqlite,
    },
    domain::{
        chat::ChatId,
        conversation::AttentionReason,
        event::EventType,
        message::{Kind, Origin},
        policy::Policy,
        turn::{DeadLetter, LetterState},
    },
    flow::{
        archive::{Archive, EventFilter, LetterFilter, Overview, PageOf, Window},
        back_office::registry::{self, Registry as _},
        clock::StoreClock,
        desk::{Desk, Refusal, Who},
        forgetting::tombstones::{KEY_BYTES, Tombstones},
        instance::{
            channels::{Channel, Channels},
            dispatch::Dispatch,
        },
        intake::{Intake, Verdict},
        mode_switch::ModeSwitch,
        provider::{Arrival, Incoming, Notification, Outgoing, Provider, Sent, Unanswered, Unreadable},
    },
};

/// A provider whose bodies are plain text, which this program cannot read until it has learnt to.
#[derive(Default)]
struct Plain {
    is_learnt: AtomicBool,
}

#[async_trait]
impl Provider for Plain {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        if !self.is_learnt.load(Ordering::SeqCst) {
            return Err(Unreadable { reason: "not JSON".to_owned() });
        }
        let chat = ChatId::parse("6580000001@c.us").expect("a chat id");
        let text = String::from_utf8_lossy(body).into_owned();
        let mut arrival = Arrival::plain(&chat, &format!("id of {text}"), text, now());
        arrival.kind = Kind::Text;
        Ok(Incoming::Message(arrival))
    }

    async fn send(&self, _: &Outgoing) -> Sent {
        unreachable!("nothing is sent here")
    }

    async fn state(&self) -> Result<String, Unanswered> {
        Ok("authorized".to_owned())
    }

    async fn receive(&self, _: Duration) -> Result<Option<Notification>, Unanswered> {
        Ok(None)
    }
}

struct World {
    provider: Arc<Plain>,
    store: Arc<Sqlite>,
    intake: Arc<Intake>,
    desk: Desk,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("baton.db").display());
        let store = Sqlite::connect(&url, Arc::new(StoreClock)).await.expect("the file can be opened");
        store.migrate().await.expect("it takes the migrations");
        let row = registry::Channel::new("default", "sandbox", now());
        assert!(store.add_channel(&row).await.expect("written"));
        let dispatch = Arc::new(Dispatch::default());
        let ledger = store.ledger(dispatch.clone());
        let (provider, channels) = (Arc::new(Plain::default()), Arc::new(Channels::default()));
        let store = Arc::new(store);
        let intake = Arc::new(Intake {
            ledger: ledger.clone(),
            registry: store.clone(),
            channels: channels.clone(),
            deduplicator: None,
            tombstones: Tombstones::new(&[1; KEY_BYTES]),
            immediate_turn: None,
            clock: now,
        });
        let switch = ModeSwitch {
            ledger: ledger.clone(),
            channels: channels.clone(),
            dispatch: dispatch.clone(),
            settle_ms: 0,
        };
        let desk = Desk {
            ledger,
            archive: store.clone(),
            enclosures: store.clone(),
            endpoints: store.clone(),
            channels,
            intake: intake.clone(),
            switch: Arc::new(switch),
        };
        let world = Self { provider, store, intake, desk, _folder: folder };
        world.set(Policy::default());
        world
    }

    /// From now on the channel has these rules.
    fn set(&self, policy: Policy) {
        self.desk.channels.put(Channel {
            name: "default".to_owned(),
            policy: Arc::new(policy),
            provider: self.provider.clone(),
        });
    }

    /// The letters in that state.
    async fn letters(&self, state: LetterState) -> Vec<DeadLetter> {
        let filter = LetterFilter { state: Some(state), ..Default::default() };
        self.store.letters(&filter, &first()).await.expect("a page").items
    }

    async fn conversation(&self) -> Option<Overview> {
        let chat = ChatId::parse("6580000001@c.us").expect("a chat id");
        self.store.conversation_of("default", &chat).await.expect("reads")
    }

    /// What the contact is known to have said.
    async fn said(&self) -> Vec<String> {
        let Some(found) = self.conversation().await else { return Vec::new() };
        let messages = self.store.messages(found.conversation.id, Window::Newest, 9).await.expect("reads");
        messages.into_iter().map(|message| message.text).collect()
    }
}

fn first() -> PageOf {
    PageOf { limit: 9, cursor: None }
}

fn ana() -> Who {
    Who { actor: "agent:ana".to_owned(), agent: None, origin: Origin::Api }
}

fn is_not_retryable(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Conflict { code: "not_retryable", .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_could_not_be_read_is_read_again_and_has_its_effect_once() {
    let world = World::new().await;
    // The second one is kept as base64.
    for body in [b"Hello".as_slice(), b"\xffcaf\xc3\xa9"] {
        assert_eq!(world.intake.take("default", body).await.expect("kept"), Verdict::DeadLetter);
    }
    let letters = world.letters(LetterState::Open).await;
    assert_eq!(letters.len(), 2);
    for letter in &letters {
        let refusal =
            world.desk.replay(letter.id, true, &ana()).await.expect_err("it is as unreadable as before");
        assert!(is_not_retryable(&refusal), "{refusal}");
    }
    assert_eq!(world.letters(LetterState::Open).await.len(), 2, "they are still there to be looked at");
    assert!(world.said().await.is_empty());

    world.provider.is_learnt.store(true, Ordering::SeqCst);
    for letter in &letters {
        let replayed = world.desk.replay(letter.id, false, &ana()).await.expect("readable now");
        assert_eq!((replayed.id, replayed.state), (letter.id, LetterState::Replayed));
    }
    let mut said = world.said().await;
    said.sort();
    assert_eq!(said, ["Hello", "\u{fffd}café"]);
    assert!(world.letters(LetterState::Open).await.is_empty());
    assert_eq!(world.letters(LetterState::Replayed).await.len(), 2);
    let filter = EventFilter { kinds: vec![EventType::DeadLetterReplayed], ..Default::default() };
    let told = world.store.events(&filter, &first()).await.expect("a page").items;
    assert!(told.len() == 2 && told.iter().all(|it| it.event.actor == "agent:ana"));

    let again = world.desk.replay(letters[0].id, true, &ana()).await.expect_err("once is enough");
    assert!(is_not_retryable(&again), "{again}");
    assert_eq!(world.said().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_of_what_the_provider_has_delivered_again_changes_nothing_more() {
    let world = World::new().await;
    world.intake.take("default", b"Hello").await.expect("kept");
    world.provider.is_learnt.store(true, Ordering::SeqCst);
    let verdict = world.intake.take("default", b"Hello").await.expect("stored");
    assert!(matches!(verdict, Verdict::Accepted(Some(_))));
    let letter = world.letters(LetterState::Open).await.remove(0);
    assert_eq!(world.desk.replay(letter.id, false, &ana()).await.expect("read").state, LetterState::Replayed);
    assert_eq!(world.said().await, ["Hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_without_a_conversation_is_kept_from_when_it_was_discarded_on() {
    let world = World::new().await;
    world.intake.take("default", b"Hello").await.expect("kept");
    let earlier = Statement::new("update dead_letters set last_at = last_at - 5");
    world.store.write(earlier).await.expect("written");
    let letter = world.letters(LetterState::Open).await.remove(0);
    world.desk.discard(letter.id, &ana()).await.expect("it was open");
    let discarded = world.letters(LetterState::Discarded).await.remove(0);
    assert!(discarded.id == letter.id && discarded.last_at > letter.last_at, "{discarded:?}");
    let filter = EventFilter { kinds: vec![EventType::DeadLetterDiscarded], ..Default::default() };
    let told = world.store.events(&filter, &first()).await.expect("a page").items;
    assert!(told.len() == 1 && told[0].event.actor == "agent:ana");
    let again = world.desk.discard(letter.id, &ana()).await.expect_err("once is enough");
    assert!(matches!(again, Refusal::NotFound), "{again}");
}

/// A quick memory that knows a webhook, as taken or as stored, of which the database has nothing: an instance died between.
async fn remembers(fingerprint: &str, is_confirmed: bool) -> Deduplicator {
    const LONG: Duration = Duration::from_secs(60);
    let memory = Deduplicator::new(Arc::new(Memory::new()), LONG, LONG);
    let Ok(Claim::First(token)) = memory.claim(fingerprint).await else { panic!("it is new") };
    if is_confirmed {
        memory.confirm(token).await.expect("it was ours");
    }
    memory
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_quick_memory_knows_and_the_database_does_not_is_stored_once() {
    let world = World::new().await;
    world.provider.is_learnt.store(true, Ordering::SeqCst);
    for (body, is_confirmed) in [("Hello", false), ("Anyone?", true)] {
        let Ok(Incoming::Message(arrival)) = world.provider.read(body.as_bytes()) else { panic!("a text") };
        let intake = Intake {
            ledger: world.intake.ledger.clone(),
            registry: world.intake.registry.clone(),
            channels: world.intake.channels.clone(),
            deduplicator: Some(Arc::new(remembers(&arrival.fingerprint, is_confirmed).await)),
            tombstones: Tombstones::new(&[1; KEY_BYTES]),
            immediate_turn: None,
            clock: now,
        };
        let verdict = intake.take("default", body.as_bytes()).await.expect("stored");
        assert!(matches!(verdict, Verdict::Accepted(Some(_))), "{body}: {verdict:?}");
        let verdict = intake.take("default", body.as_bytes()).await.expect("known");
        assert!(matches!(verdict, Verdict::Duplicate(_)), "{body}: {verdict:?}");
    }
    assert_eq!(world.said().await, ["Anyone?", "Hello"], "newest first");
}

/// Writes so many messages at once. Returns how long the median of the last fifty steps took.
async fn flood(world: &World, messages: usize) -> Duration {
    world.provider.is_learnt.store(true, Ordering::SeqCst);
    let mut took = Vec::new();
    for n in 0..messages {
        let began = Instant::now();
        world.intake.take("default", format!("text {n}").as_bytes()).await.expect("stored");
        took.push(began.elapsed());
    }
    let last = &mut took[messages - 50..];
    last.sort();
    last[25]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_stored_whole_and_weighs_on_no_step() {
    let world = World::new().await;
    let took = flood(&world, 300).await;
    let overview = world.conversation().await.expect("it has begun");
    assert_eq!((overview.conversation.seq, overview.conversation.unread, overview.inbox), (300, 300, 100));
    assert_eq!(overview.conversation.attention.map(|it| it.reason), Some(AttentionReason::Unanswered));

    let unlimited = World::new().await;
    unlimited.set(Policy { flood_per_minute: 0, ..Policy::default() });
    let took_without = flood(&unlimited, 300).await;
    assert_eq!(unlimited.conversation().await.expect("it has begun").inbox, 300);
    println!("a step in a flood: {took:?}; without a limit, among 300 waiting: {took_without:?}");
}
