//! Fetching and repairing over both stores, against a provider that keeps its queue like the real one: what is not
//! acknowledged comes again.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    adapters::{
        sql::Statement,
        trial::{NOW, Trial, on_both_stores},
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
        channels::{self, Channels},
        intake::{Intake, Verdict},
        ledger::{Due, Erased, Error, Held, Key, Ledger, Need, Standing, Work},
        poll::{Polled, Poller, Trouble},
        provider::{
            Arrival, CREDENTIALS_REFUSED, Incoming, LookUp, Notification, Outgoing, Provider, Sent, Trace,
            Unanswered, Unreadable,
        },
        registry::{self, Registry},
        repair::{self, Repair},
        restored,
        tombstones::{KEY_BYTES, Tombstones},
    },
};

on_both_stores!(
    what_is_fetched_has_one_effect_however_often_it_comes,
    what_cannot_be_read_is_kept_and_holds_nothing_up,
    what_was_not_stored_is_not_acknowledged,
    of_two_who_fetch_one_does_and_the_other_follows_when_it_leaves,
    told_to_stop_nothing_is_taken_in_hand,
    credentials_that_are_refused_are_the_state_of_their_channel,
    what_was_missed_is_found_once,
    what_was_answered_on_the_phone_unheard_stays_with_whoever_answered_it,
    who_wrote_on_the_phone_unheard_takes_over_though_no_message_was_missed,
    what_may_have_come_after_an_answer_on_the_phone_waits_for_another,
    an_answer_on_the_phone_is_known_whichever_id_of_the_chat_it_is_shown_under,
    what_came_before_a_restore_goes_to_a_person,
    what_the_store_refuses_does_not_hold_up_what_was_missed_beside_it,
    while_the_phone_is_not_linked_nothing_counts_as_looked_through,
    a_phone_linked_again_makes_the_journal_due,
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
    Unanswered { detail: "status 502".to_owned(), is_refusal: false }
}

/// A provider with a queue, a journal and a phone. Bodies are ids of messages just written.
#[derive(Default)]
struct Gateway {
    queue: Mutex<Vec<&'static str>>,
    acknowledged: Mutex<usize>,
    loses_acknowledgement: AtomicBool,
    journal: Mutex<Vec<Arrival>>,
    typed: Mutex<Vec<Arrival>>,
    other_ids: Mutex<Vec<(ChatId, ChatId)>>,
    is_unlinked: AtomicBool,
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

    async fn show_typing(&self, _: &ChatId, _: i64) {}

    async fn mark_read(&self, _: &ChatId, _: Option<&str>) {}

    async fn state(&self) -> Result<String, Unanswered> {
        let is_unlinked = self.is_unlinked.load(Ordering::SeqCst);
        Ok(if is_unlinked { "notAuthorized" } else { "authorized" }.to_owned())
    }

    async fn receive(&self, _: std::time::Duration) -> Result<Option<Notification>, Unanswered> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Unanswered { is_refusal: true, ..unanswered() });
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

    async fn look_up(&self, _: LookUp) -> Result<Vec<Trace>, Unanswered> {
        Ok(Vec::new())
    }

    async fn other_id(&self, chat: &ChatId) -> Result<Option<ChatId>, Unanswered> {
        let other_ids = self.other_ids.lock().expect("whole");
        Ok(other_ids.iter().find(|(number, _)| number == chat).map(|(_, hidden)| hidden.clone()))
    }

    async fn queue_length(&self) -> Result<i64, Unanswered> {
        Ok(0)
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

    async fn now(&self) -> Result<Time, Error> {
        Err(Error::Unavailable("away".into()))
    }

    fn forget(&self, _: uuid::Uuid) {}
}

/// A store that refuses one message for its data.
struct Refusing(Arc<dyn Ledger>);

#[async_trait]
impl Ledger for Refusing {
    async fn run(&self, key: Key, need: Need, step: Erased) -> Result<(), Error> {
        match need.keys.iter().any(|key| key == "refused") {
            true => Err(Error::Refused("its data".into())),
            false => self.0.run(key, need, step).await,
        }
    }

    async fn due(&self, work: Work, channels: &[String], limit: usize) -> Result<Vec<Due>, Error> {
        self.0.due(work, channels, limit).await
    }

    async fn standings(&self, held: &[Held], extend_ms: Option<i64>) -> Result<Vec<Standing>, Error> {
        self.0.standings(held, extend_ms).await
    }

    async fn keep(&self, events: Vec<Event>, letters: Vec<DeadLetter>) -> Result<(), Error> {
        self.0.keep(events, letters).await
    }

    async fn now(&self) -> Result<Time, Error> {
        self.0.now().await
    }

    fn forget(&self, conversation: uuid::Uuid) {
        self.0.forget(conversation);
    }
}

/// A shop with one channel, its number at that gateway, made twelve hours ago.
struct Shop<S> {
    store: S,
    gateway: Arc<Gateway>,
    intake: Arc<Intake>,
}

impl<S: Trial + Clone + 'static> Shop<S> {
    async fn open(store: &S) -> Self {
        let row = registry::Channel {
            name: "shop".to_owned(),
            title: None,
            provider: "green_api".to_owned(),
            instance: None,
            api_url: None,
            sealed: None,
            settings: serde_json::Map::new(),
            state: String::new(),
            brake: Default::default(),
            managed_by_environment: false,
            created_at: NOW.plus_ms(-12 * HOUR),
            updated_at: NOW,
        };
        store.add_channel(&row).await.expect("writes");
        let gateway = Arc::new(Gateway::default());
        let channels = Arc::new(Channels::default());
        let policy = Arc::new(Policy { has_model: true, rollout_percent: 100, ..Policy::default() });
        channels.put(channels::Channel { name: "shop".to_owned(), policy, provider: gateway.clone() });
        let registry = Arc::new(store.clone());
        let ledger = Trial::ledger(store);
        let intake = Arc::new(Intake {
            ledger,
            registry,
            channels,
            deduplicator: None,
            tombstones: tombstones(),
            start: None,
            clock: || NOW,
        });
        Self { store: store.clone(), gateway, intake }
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
            clock: || NOW,
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

async fn what_is_fetched_has_one_effect_however_often_it_comes<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let poller = shop.poller("a");
    shop.queue(&["A1", "A2"]);
    // The crash between the commit and the word to the provider.
    shop.gateway.loses_acknowledgement.store(true, Ordering::SeqCst);
    let lost = poller.poll("shop").await;
    assert!(matches!(lost, Err(Trouble::Provider(_))), "{lost:?}");
    assert_eq!((shop.texts().await.len(), shop.queued()), (1, 2));
    let again = poller.poll("shop").await.expect("works");
    assert!(matches!(again, Polled::Took(Verdict::Duplicate(_))), "{again:?}");
    let next = poller.poll("shop").await.expect("works");
    assert!(matches!(next, Polled::Took(Verdict::Accepted(_))), "{next:?}");
    assert_eq!(poller.poll("shop").await.expect("works"), Polled::Idle);
    assert_eq!(shop.texts().await, ["text A1", "text A2"]);
    assert_eq!(poller.poll("no-such").await.expect("works"), Polled::Gone);
}

async fn what_cannot_be_read_is_kept_and_holds_nothing_up<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let poller = shop.poller("a");
    shop.queue(&["garbled", "A1"]);
    assert_eq!(poller.poll("shop").await.expect("works"), Polled::Took(Verdict::DeadLetter));
    poller.poll("shop").await.expect("works");
    assert_eq!((shop.texts().await, shop.queued()), (vec!["text A1".to_owned()], 0));
    let page = PageOf { limit: 10, cursor: None };
    let letters = store.letters(&LetterFilter::default(), &page).await.expect("reads").items;
    assert_eq!(letters.iter().map(|letter| letter.kind).collect::<Vec<_>>(), [LetterKind::Webhook]);
}

async fn what_was_not_stored_is_not_acknowledged<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["A1"]);
    let intake = Intake {
        ledger: Arc::new(Away),
        registry: Arc::clone(&shop.intake.registry),
        channels: Arc::clone(&shop.intake.channels),
        tombstones: tombstones(),
        deduplicator: None,
        start: None,
        clock: || NOW,
    };
    let poller = Poller { intake: Arc::new(intake), ..shop.poller("a") };
    let result = poller.poll("shop").await;
    assert!(matches!(result, Err(Trouble::Store(_))), "{result:?}");
    assert_eq!(shop.queued(), 1);
    shop.poller("a").poll("shop").await.expect("works");
    assert_eq!((shop.texts().await.len(), shop.queued()), (1, 0));
}

async fn of_two_who_fetch_one_does_and_the_other_follows_when_it_leaves<S: Trial + Clone + 'static>(
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

async fn told_to_stop_nothing_is_taken_in_hand<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["A1"]);
    let poller = shop.poller("a");
    poller.stop.cancel();
    assert_eq!(poller.poll("shop").await.expect("works"), Polled::Stopped);
    assert_eq!((shop.texts().await.len(), shop.queued()), (0, 1));
}

async fn credentials_that_are_refused_are_the_state_of_their_channel<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.gateway.refuses.store(true, Ordering::SeqCst);
    assert!(matches!(shop.poller("a").poll("shop").await, Err(Trouble::Provider(_))));
    let row = store.channels().await.expect("reads").remove(0);
    assert_eq!(row.state, CREDENTIALS_REFUSED);
}

async fn what_was_missed_is_found_once<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    shop.queue(&["known"]);
    shop.poller("a").poll("shop").await.expect("works");
    *shop.gateway.journal.lock().expect("whole") = vec![
        said("before us", 13 * HOUR),
        said("missed", HOUR),
        said("known", HOUR / 2),
        said("on its way", 10_000),
    ];
    let repair = shop.repair();
    assert_eq!(repair.repair("shop").await.expect("works"), 1);
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "not due");
    store.wind_repair("shop", NOW).await.expect("writes");
    assert_eq!(repair.repair("shop").await.expect("works"), 0, "nothing is missing any more");
    let fates: Vec<_> = shop
        .messages()
        .await
        .into_iter()
        .map(|message| (message.text, message.inbound.expect("a contact's").outcome))
        .collect();
    let wanted = [("text known", Outcome::Pending), ("text missed", Outcome::Pending)];
    assert_eq!(fates, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
}

async fn what_was_answered_on_the_phone_unheard_stays_with_whoever_answered_it<S: Trial + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let other = ChatId::parse("6580000002@c.us").expect("a chat id");
    let unanswered = Arrival { chat: other.clone(), ..said("unanswered", 2 * HOUR) };
    *shop.gateway.journal.lock().expect("whole") =
        vec![said("removed", 2 * HOUR), said("answered", 2 * HOUR), unanswered, said("since then", HOUR / 3)];
    let removed = shop.intake.tombstones.of("shop", &mira(), "removed").hash;
    let removed =
        Statement::new("insert into tombstones (hash, kind) values ($1, 'erased')").with(removed.as_str());
    store.write(removed).await.expect("written");
    *shop.gateway.typed.lock().expect("whole") = vec![
        typed(&mira(), "P1", HOUR),
        typed(&other, "P2", 3 * HOUR),
        typed(&mira(), "P3", HOUR / 2),
        typed(&mira(), "on its way", 10_000),
    ];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 7);
    let told: Vec<_> =
        shop.messages().await.into_iter().map(|it| (it.text, it.inbound.map(|it| it.outcome))).collect();
    let wanted = [
        ("text answered", Some(Outcome::HandedOver)),
        ("by hand P1", None),
        ("by hand P3", None),
        ("by hand on its way", None),
        ("text since then", Some(Outcome::LeftToHuman)),
    ];
    assert_eq!(told, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
    let taken = shop.conversation(&mira()).await;
    assert_eq!((taken.mode.mode, taken.mode.reason), (Mode::Human, Reason::AgentPhone));
    assert_eq!(
        (taken.attention, taken.waiting_since.is_some()),
        (None, true),
        "for what came since then alone"
    );
    let begun_by_hand = shop.conversation(&other).await;
    assert_eq!(begun_by_hand.mode.mode, Mode::Human);
    assert!(begun_by_hand.waiting_since.is_some(), "what was typed before answers nothing");
}

async fn who_wrote_on_the_phone_unheard_takes_over_though_no_message_was_missed<
    S: Trial + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    shop.queue(&["heard"]);
    shop.poller("a").poll("shop").await.expect("works");
    *shop.gateway.typed.lock().expect("whole") = vec![
        typed(&mira(), "before us", 13 * HOUR),
        typed(&mira(), "P1", HOUR),
        typed(&mira(), "P2", 10_000),
    ];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 1);
    assert_eq!(shop.texts().await, ["text heard", "by hand P1"], "the other is on its way");
    let taken = shop.conversation(&mira()).await;
    assert_eq!((taken.mode.mode, taken.mode.reason), (Mode::Human, Reason::AgentPhone));
    // It never came.
    let later = Repair { clock: || NOW.plus_ms(HOUR), ..shop.repair() };
    assert_eq!(later.repair("shop").await.expect("works"), 1);
    assert_eq!(shop.texts().await, ["text heard", "by hand P1", "by hand P2"]);
    store.wind_repair("shop", NOW).await.expect("writes");
    assert_eq!(later.repair("shop").await.expect("works"), 0, "nothing is missing any more");
}

async fn what_may_have_come_after_an_answer_on_the_phone_waits_for_another<S: Trial + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    // Heard, and the last of it waits.
    let channel = shop.intake.channels.get("shop").expect("it is there");
    for incoming in [
        Incoming::Message(said("A1", 3 * HOUR)),
        Incoming::Phone(typed(&mira(), "P1", 3 * HOUR)),
        Incoming::Message(said("A2", HOUR)),
    ] {
        shop.intake.take_incoming(&channel, incoming).await.expect("works");
    }
    // Typed before it, and unheard; to others it was typed at once and read much later, which is what the provider shows.
    let mut all = vec![typed(&mira(), "P2", 2 * HOUR)];
    let others = [("6580000002@c.us", HOUR), ("6580000003@c.us", 10_000)];
    let others = others.map(|(chat, read_ms_ago)| (ChatId::parse(chat).expect("a chat id"), read_ms_ago));
    for (chat, read_ms_ago) in &others {
        let missed = |id: &str, ms_ago| Arrival { chat: chat.clone(), ..said(id, ms_ago) };
        let missed = [missed("B1", 2 * HOUR), missed("B2", 3 * HOUR / 2)];
        shop.gateway.journal.lock().expect("whole").extend(missed);
        all.push(typed(chat, "P3", *read_ms_ago));
    }
    *shop.gateway.typed.lock().expect("whole") = all;
    shop.repair().repair("shop").await.expect("works");
    assert_eq!(shop.texts().await.pop().as_deref(), Some("by hand P2"));
    for (chat, _) in [(mira(), 0)].iter().chain(&others) {
        let taken = shop.conversation(chat).await;
        assert_eq!((taken.mode.mode, taken.waiting_since.is_some()), (Mode::Human, true), "{chat}");
    }
}

async fn an_answer_on_the_phone_is_known_whichever_id_of_the_chat_it_is_shown_under<
    S: Trial + Clone + 'static,
>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let channel = shop.intake.channels.get("shop").expect("it is there");
    let ids = |n| [format!("658000000{n}@c.us"), format!("10000000000000{n}@lid")];
    let ids = |n: i64| ids(n).map(|id| ChatId::parse(&id).expect("a chat id"));
    let before = |chat: &ChatId, alias| {
        Incoming::Message(Arrival { chat: chat.clone(), alias, ..said("before", 3 * HOUR) })
    };
    let cases = [(1, "neither is known"), (2, "one has a conversation"), (3, "they share one")];
    for (n, case) in cases {
        let [number, hidden] = ids(n);
        match case {
            "one has a conversation" => {
                shop.intake.take_incoming(&channel, before(&number, None)).await.expect("works");
            }
            "they share one" => {
                let shows_both = before(&number, Some(hidden.clone()));
                shop.intake.take_incoming(&channel, shows_both).await.expect("works");
            }
            _ => {}
        }
        if case != "they share one" {
            shop.gateway.other_ids.lock().expect("whole").push((number.clone(), hidden.clone()));
        }
        let missed = Arrival { chat: hidden, ..said("missed", 2 * HOUR) };
        shop.gateway.journal.lock().expect("whole").push(missed);
        shop.gateway.typed.lock().expect("whole").push(typed(&number, "P1", HOUR));
    }
    shop.repair().repair("shop").await.expect("works");
    for (n, case) in cases {
        let [number, hidden] = ids(n);
        let found = store.conversation_of("shop", &hidden).await.expect("reads").expect("it has begun");
        assert_eq!(found.conversation.mode.mode, Mode::Human, "{case}");
        assert_eq!(found.conversation.id, shop.conversation(&number).await.id, "{case}");
        let messages = store.messages(found.conversation.id, Window::Newest, 9).await.expect("reads");
        let missed = messages.iter().find(|it| it.text == "text missed").expect("it was found");
        assert_eq!(missed.inbound.expect("a contact's").outcome, Outcome::HandedOver, "{case}");
    }
}

async fn what_came_before_a_restore_goes_to_a_person<S: Trial + Clone + 'static>(store: &S) {
    let shop = Shop::open(store).await;
    let generation = restored::generation_at(NOW.plus_ms(-HOUR));
    let renewed = Statement::new("update installation set generation = $1").with(generation);
    store.write(renewed).await.expect("written");
    *shop.gateway.journal.lock().expect("whole") = vec![said("elsewhere", 2 * HOUR), said("here", HOUR / 2)];
    assert_eq!(shop.repair().repair("shop").await.expect("works"), 2);
    let fates: Vec<_> = shop
        .messages()
        .await
        .into_iter()
        .map(|message| (message.text, message.inbound.expect("a contact's").outcome))
        .collect();
    let wanted = [("text elsewhere", Outcome::HandedOver), ("text here", Outcome::Pending)];
    assert_eq!(fates, wanted.map(|(text, outcome)| (text.to_owned(), outcome)));
}

async fn what_the_store_refuses_does_not_hold_up_what_was_missed_beside_it<S: Trial + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    let intake = Intake {
        ledger: Arc::new(Refusing(Trial::ledger(store))),
        registry: Arc::clone(&shop.intake.registry),
        channels: Arc::clone(&shop.intake.channels),
        tombstones: tombstones(),
        deduplicator: None,
        start: None,
        clock: || NOW,
    };
    *shop.gateway.journal.lock().expect("whole") = vec![said("refused", 2 * HOUR), said("missed", HOUR)];
    *shop.gateway.typed.lock().expect("whole") =
        vec![typed(&mira(), "refused", HOUR / 2), typed(&mira(), "P1", HOUR / 2)];
    let repair = Repair { intake: Arc::new(intake), ..shop.repair() };
    assert_eq!(repair.repair("shop").await.expect("works"), 2);
    assert_eq!(shop.texts().await, ["text missed", "by hand P1"]);
}

async fn while_the_phone_is_not_linked_nothing_counts_as_looked_through<S: Trial + Clone + 'static>(
    store: &S,
) {
    let shop = Shop::open(store).await;
    shop.gateway.is_unlinked.store(true, Ordering::SeqCst);
    let repair = shop.repair();
    let result = repair.repair("shop").await;
    assert!(matches!(result, Err(repair::Trouble::NotLinked)), "{result:?}");
    let channels = store.channels().await.expect("reads");
    let state = channels.iter().find(|row| row.name == "shop").map(|row| row.state.as_str());
    assert_eq!(state, Some("notAuthorized"), "nor is that kept from anybody");
    shop.gateway.is_unlinked.store(false, Ordering::SeqCst);
    *shop.gateway.journal.lock().expect("whole") = vec![said("missed", 5 * HOUR)];
    store.wind_repair("shop", NOW).await.expect("writes");
    assert_eq!(repair.repair("shop").await.expect("works"), 1);
}

async fn a_phone_linked_again_makes_the_journal_due<S: Trial + Clone + 'static>(store: &S) {
    let _shop = Shop::open(store).await;
    let due_in =
        async |ms| store.claim_repair("shop", NOW.plus_ms(ms), HOUR).await.expect("writes").is_some();
    assert!(due_in(0).await, "at first");
    assert!(!due_in(HOUR - 1).await, "then every hour");
    let keep = async |state| repair::keep_state(store, "shop", state, NOW).await.expect("writes");
    keep("notAuthorized").await;
    assert!(!due_in(HOUR - 1).await);
    keep("authorized").await;
    assert!(!due_in(60_000).await, "the webhooks that the provider kept come first");
    assert!(due_in(180_000).await);
}

/// Under some key.
fn tombstones() -> Tombstones {
    Tombstones::new(&[1; KEY_BYTES])
}
