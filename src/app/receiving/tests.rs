//! Fetching and repairing over both stores, against a provider that keeps its queue like the real one: what is not
//! acknowledged comes again.

mod missed;

mod unknown;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::fetch;
use crate::{
    adapters::{
        sql::Statement,
        test_stores::{self, NOW, TestStore, on_both_stores},
    },
    domain::{
        chat::ChatId,
        conversation::Conversation,
        event::Event,
        message::{Message, Outcome},
        mode::{Mode, Reason},
        policy::Policy,
        time::Time,
        turn::{DeadLetter, LetterKind},
    },
    flow::{
        archive::{Archive, LetterFilter, PageOf, Window},
        back_office::registry::{self, Registry},
        forgetting::tombstones::{KEY_BYTES, Tombstones},
        instance::channels::{self, Channels},
        intake::{Intake, Verdict},
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        poll::{PollError, Polled, Poller},
        provider::{
            Amendment, Arrival, CREDENTIALS_REFUSED, Incoming, LookUp, NoAnswer, Notification, Outgoing,
            Provider, Sent, Trace, Unanswered, Unreadable,
        },
        repair::{self, Repair},
        restored,
    },
};

on_both_stores!(
    what_is_fetched_has_one_effect_however_often_it_comes,
    what_cannot_be_read_is_kept_once_and_holds_nothing_up,
    what_was_not_stored_is_not_acknowledged,
    of_two_who_fetch_one_does_and_the_other_follows_when_it_leaves,
    told_to_stop_nothing_is_taken_in_hand,
    told_to_stop_nobody_fetches_on_though_the_store_is_away,
    credentials_that_are_refused_are_the_state_of_their_channel,
    a_caption_that_is_edited_away_before_its_picture_comes_is_kept,
);

const HOUR: i64 = 3_600_000;

fn mira() -> ChatId {
    ChatId::parse("6580000001@c.us").expect("a chat id")
}

fn said(id: &str, ms_ago: i64) -> Arrival {
    Arrival::plain(&mira(), id, format!("text {id}"), NOW.plus_ms(-ms_ago))
}

fn typed(chat: &ChatId, id: &str, ms_ago: i64) -> Arrival {
    Arrival::plain(chat, id, format!("by hand {id}"), NOW.plus_ms(-ms_ago))
}

fn unanswered() -> Unanswered {
    Unanswered { detail: "status 502".to_owned(), no_answer: NoAnswer::Silence }
}

/// A provider with a queue, a journal and a phone. Bodies are ids of messages just written.
#[derive(Default)]
struct Gateway {
    queue: Mutex<Vec<&'static str>>,
    acknowledged: Mutex<usize>,
    loses_acknowledgement: AtomicBool,
    journal: Mutex<Vec<Arrival>>,
    typed: Mutex<Vec<Arrival>>,
    left: Mutex<Vec<Trace>>,
    other_ids: Mutex<Vec<(ChatId, ChatId)>>,
    is_unlinked: AtomicBool,
    hangs: AtomicBool,
    refuses: AtomicBool,
}

#[async_trait]
impl Provider for Gateway {
    fn read(&self, body: &[u8]) -> Result<Incoming, Unreadable> {
        match std::str::from_utf8(body).expect("text") {
            "garbled" => Err(Unreadable { reason: "garbled".to_owned() }),
            id => Ok(Incoming::Message(said(id, 0))),
        }
    }

    async fn send(&self, _: &Outgoing) -> Sent {
        Sent::TooLate
    }

    async fn state(&self) -> Result<String, Unanswered> {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let is_unlinked = self.is_unlinked.load(Ordering::SeqCst);
        Ok(if is_unlinked { "notAuthorized" } else { "authorized" }.to_owned())
    }

    async fn receive(&self, _: std::time::Duration) -> Result<Option<Notification>, Unanswered> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Unanswered { no_answer: NoAnswer::Refused, ..unanswered() });
        }
        let receipt = i64::try_from(*self.acknowledged.lock().expect("whole")).expect("small");
        let queue = self.queue.lock().expect("whole");
        Ok(queue.first().map(|id| Notification { receipt, body: id.as_bytes().to_vec() }))
    }

    async fn acknowledge(&self, receipt: i64) -> Result<(), Unanswered> {
        if self.loses_acknowledgement.swap(false, Ordering::SeqCst) {
            return Err(unanswered());
        }
        let mut acknowledged = self.acknowledged.lock().expect("whole");
        assert_eq!(i64::try_from(*acknowledged).expect("small"), receipt);
        *acknowledged += 1;
        self.queue.lock().expect("whole").remove(0);
        Ok(())
    }

    async fn journal(&self, minutes: i64) -> Result<Vec<Arrival>, Unanswered> {
        let from = NOW.plus_ms(-minutes * 60_000);
        let journal = self.journal.lock().expect("whole");
        Ok(journal.iter().filter(|arrival| arrival.at >= Some(from)).cloned().collect())
    }

    async fn typed(&self, _: i64) -> Result<Vec<Arrival>, Unanswered> {
        Ok(self.typed.lock().expect("whole").clone())
    }

    async fn look_up(&self, list: LookUp) -> Result<Vec<Trace>, Unanswered> {
        Ok(match list {
            LookUp::Queue => Vec::new(),
            LookUp::Journal { .. } => self.left.lock().expect("whole").clone(),
        })
    }

    async fn other_id(&self, chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        let other_ids = self.other_ids.lock().expect("whole");
        Ok(other_ids.iter().find(|(number, _)| number == chat).map(|(_, hidden)| hidden.clone()))
    }
}

/// A store that is away.
struct Away;

#[async_trait]
impl Ledger for Away {
    async fn run(&self, _: Key, _: Need, _: Erased) -> Result<(), Error> {
        Err(Error::Unavailable("away".into()))
    }

    async fn due(&self, _: Work, _: &[String], _: usize) -> Result<Vec<Due>, Error> {
        Err(Error::Unavailable("away".into()))
    }

    async fn standings(&self, _: &[Held], _: Option<i64>) -> Result<Vec<Standing>, Error> {
        Err(Error::Unavailable("away".into()))
    }

    async fn keep(&self, _: Vec<Event>, _: Vec<DeadLetter>) -> Result<(), Error> {
        Err(Error::Unavailable("away".into()))
    }

    async fn keep_once(&self, _: Event, _: DeadLetter) -> Result<bool, Error> {
        Err(Error::Unavailable("away".into()))
    }

    async fn now(&self) -> Result<Time, Error> {
        Err(Error::Unavailable("away".into()))
    }

    fn forget(&self, _: uuid::Uuid) {}
}

/// A shop with one channel, its number at that gateway, made twelve hours ago.
struct Shop<S> {
    store: S,
    gateway: Arc<Gateway>,
    intake: Arc<Intake>,
}

impl<S: TestStore + Clone + 'static> Shop<S> {
    async fn open(store: &S) -> Self {
        let row = registry::Channel {
            created_at: NOW.plus_ms(-12 * HOUR),
            ..registry::Channel::new("shop", "green_api", NOW)
        };
        store.add_channel(&row).await.expect("writes");
        let gateway = Arc::new(Gateway::default());
        let channels = Arc::new(Channels::default());
        let policy = Arc::new(Policy { has_model: true, rollout_percent: 100, ..Policy::default() });
        channels.put(channels::Channel { name: "shop".to_owned(), policy, provider: gateway.clone() });
        let registry = Arc::new(store.clone());
        let ledger = TestStore::ledger(store);
        let intake = Arc::new(Intake {
            ledger,
            registry,
            channels,
            deduplicator: None,
            tombstones: tombstones(),
            immediate_turn: None,
            clock: || NOW,
        });
        Self { store: store.clone(), gateway, intake }
    }

    fn intake_over(&self, ledger: impl Ledger + 'static) -> Intake {
        Intake {
            ledger: Arc::new(ledger),
            registry: Arc::clone(&self.intake.registry),
            channels: Arc::clone(&self.intake.channels),
            tombstones: tombstones(),
            deduplicator: None,
            immediate_turn: None,
            clock: || NOW,
        }
    }

    fn poller(&self, owner: &str) -> Poller {
        Poller {
            owner: owner.to_owned(),
            intake: Arc::clone(&self.intake),
            registry: Arc::clone(&self.intake.registry),
            channels: Arc::clone(&self.intake.channels),
            stop: CancellationToken::new(),
        }
    }

    fn repair(&self) -> Repair {
        Repair {
            intake: Arc::clone(&self.intake),
            archive: Arc::new(self.store.clone()),
            registry: Arc::clone(&self.intake.registry),
            channels: Arc::clone(&self.intake.channels),
        }
    }

    fn queue(&self, ids: &[&'static str]) {
        self.gateway.queue.lock().expect("whole").extend(ids);
    }

    fn queued(&self) -> usize {
        self.gateway.queue.lock().expect("whole").len()
    }

    /// What Mira wrote, oldest first.
    async fn messages(&self) -> Vec<Message> {
        let Some(found) = self.store.conversation_of("shop", &mira()).await.expect("reads") else {
            return Vec::new();
        };
        let mut all = self.store.messages(found.conversation.id, Window::Newest, 50).await.expect("reads");
        all.reverse();
        all
    }

    async fn conversation(&self, chat: &ChatId) -> Conversation {
        let found = self.store.conversation_of("shop", chat).await.expect("reads");
        found.expect("it has begun").conversation
    }

    async fn texts(&self) -> Vec<String> {
        self.messages().await.into_iter().map(|message| message.text).collect()
    }
}

async fn what_is_fetched_has_one_effect_however_often_it_comes<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let poller = shop.poller("a");
    shop.queue(&["A1", "A2"]);
    // The crash between the commit and the word to the provider.
    shop.gateway.loses_acknowledgement.store(true, Ordering::SeqCst);
    let lost = poller.poll("shop").await;
    assert!(matches!(lost, Err(PollError::Provider(_))), "{lost:?}");
    assert_eq!((shop.texts().await.len(), shop.queued()), (1, 2));
    let again = poller.poll("shop").await.expect("works");
    assert!(matches!(again, Polled::Took(Verdict::Duplicate(_))), "{again:?}");
    let next = poller.poll("shop").await.expect("works");
    assert!(matches!(next, Polled::Took(Verdict::Accepted(_))), "{next:?}");
    assert_eq!(poller.poll("shop").await.expect("works"), Polled::Idle);
    assert_eq!(shop.texts().await, ["text A1", "text A2"]);
    assert_eq!(poller.poll("no-such").await.expect("works"), Polled::Gone);
}

async fn what_cannot_be_read_is_kept_once_and_holds_nothing_up<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let poller = shop.poller("a");
    shop.queue(&["garbled", "garbled", "A1"]);
    shop.gateway.loses_acknowledgement.store(true, Ordering::SeqCst);
    let lost = poller.poll("shop").await;
    assert!(matches!(lost, Err(PollError::Provider(_))), "{lost:?}");
    for _ in 0..2 {
        assert_eq!(poller.poll("shop").await.expect("works"), Polled::Took(Verdict::Duplicate(None)));
    }
    poller.poll("shop").await.expect("works");
    assert_eq!((shop.texts().await, shop.queued()), (vec!["text A1".to_owned()], 0));
    let page = PageOf { limit: 10, cursor: None };
    let letters = store.letters(&LetterFilter::default(), &page).await.expect("reads").items;
    assert_eq!(letters.iter().map(|letter| letter.kind).collect::<Vec<_>>(), [LetterKind::Webhook]);
}

#[tokio::test]
async fn after_a_crash_of_the_only_server_fetching_goes_on_at_once() {
    let (store, _folder) = test_stores::sqlite().await;
    let shop = Shop::open(&store).await;
    shop.queue(&["A1"]);
    assert!(store.claim_poll("shop", "killed", 45_000).await.expect("writes"));
    let next = shop.poller("next");
    assert!(matches!(next.poll("shop").await, Ok(Polled::Elsewhere)));
    store.recover().await.expect("recovered");
    assert!(matches!(next.poll("shop").await, Ok(Polled::Took(_))));
}

async fn told_to_stop_nobody_fetches_on_though_the_store_is_away<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    store.write(Statement::new("alter table channels rename to gone")).await.expect("renamed");
    let poller = shop.poller("a");
    poller.stop.cancel();
    let fetching = fetch(Arc::new(poller), "shop".to_owned());
    tokio::time::timeout(Duration::from_secs(5), fetching).await.expect("it ends");
}

async fn what_was_not_stored_is_not_acknowledged<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["A1"]);
    let intake = shop.intake_over(Away);
    let poller = Poller { intake: Arc::new(intake), ..shop.poller("a") };
    let result = poller.poll("shop").await;
    assert!(matches!(result, Err(PollError::Store(_))), "{result:?}");
    assert_eq!(shop.queued(), 1);
    shop.poller("a").poll("shop").await.expect("works");
    assert_eq!((shop.texts().await.len(), shop.queued()), (1, 0));
}

async fn of_two_who_fetch_one_does_and_the_other_follows_when_it_leaves<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let (one, other) = (shop.poller("one"), shop.poller("other"));
    shop.queue(&["A1", "A2", "A3"]);
    for _ in 0..2 {
        assert!(matches!(one.poll("shop").await.expect("works"), Polled::Took(_)));
        assert_eq!(other.poll("shop").await.expect("works"), Polled::Elsewhere);
    }
    other.leave("shop").await.expect("what is not its own it cannot give back");
    assert_eq!(other.poll("shop").await.expect("works"), Polled::Elsewhere);
    one.leave("shop").await.expect("works");
    assert!(matches!(other.poll("shop").await.expect("works"), Polled::Took(_)));
    assert_eq!(shop.texts().await, ["text A1", "text A2", "text A3"]);
}

async fn told_to_stop_nothing_is_taken_in_hand<S: TestStore + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["A1"]);
    let poller = shop.poller("a");
    poller.stop.cancel();
    assert_eq!(poller.poll("shop").await.expect("works"), Polled::Stopped);
    assert_eq!((shop.texts().await.len(), shop.queued()), (0, 1));
}

async fn credentials_that_are_refused_are_the_state_of_their_channel<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    shop.gateway.refuses.store(true, Ordering::SeqCst);
    assert!(matches!(shop.poller("a").poll("shop").await, Err(PollError::Provider(_))));
    let row = store.channels().await.expect("reads").remove(0);
    assert_eq!(row.state, CREDENTIALS_REFUSED);
}

/// Under some key.
fn tombstones() -> Tombstones {
    Tombstones::new(&[1; KEY_BYTES])
}

async fn a_caption_that_is_edited_away_before_its_picture_comes_is_kept<S: TestStore + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let channel = shop.intake.channels.get("shop").expect("it is there");
    let edit = Amendment { chat: mira(), of: "A1".to_owned(), text: String::new(), at: None, by: None };
    let taken = shop.intake.take_incoming(&channel, Incoming::Edit(edit)).await.expect("works");
    assert!(matches!(taken, Verdict::Accepted(_)), "{taken:?}");
}
