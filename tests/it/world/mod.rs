//! The world of one test: a Baton over a database of its own, the WhatsApp and the assistant that the test plays, and a
//! clock that only the test moves. In: what contacts and people do. Out: what they see.

mod business;

mod database;

mod ears;

mod eyes;

mod gateway;

mod script;

pub(crate) mod green_api;

mod fuse;

mod fused;

mod outside;

mod parts;

mod requests;

mod doors;

mod process;

mod steps;

mod chat;

mod transcript;

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use baton::{
    domain::{policy::Policy, time::Time},
    flow::clock::{Clock, ManualClock},
};
use execution::key_store::{KeyStore, Memory};
use tokio::task::JoinHandle;

pub(crate) use self::{
    business::Business,
    chat::Chat,
    database::Database,
    ears::{Ears, MARK},
    eyes::{Eyes, PNG_MARK},
    fuse::{End, Fuse, Point, Weakness},
    gateway::{Answer, Evidence, Gateway, Post},
    process::Process,
    requests::{File, PNG, Reply, answered},
    script::{Hold, Script, Step},
};
use self::{database::Store, outside::Outside};

/// When every test begins: 2026-01-05 08:00 UTC.
pub(crate) const BEGINNING: Time = Time(1_767_600_000_000);

/// The channel of every test.
pub(crate) const CHANNEL: &str = "default";

/// With which people come.
pub(crate) const API_TOKEN: &str = "environment-token-1234";

/// With which Green API comes.
pub(crate) const WEBHOOK_TOKEN: &str = "webhook-token-1234";

/// Runs each test, written once for any store, on both.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let world = $crate::world::World::on_sqlite().await;
                super::$name(&world).await;
                world.end().await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let world = $crate::world::World::on_postgres().await;
                super::$name(&world).await;
                world.end().await;
            })+
        }
    };
}

pub(crate) use on_both_stores;

thread_local! {
    static MACHINE_CLOCK: Cell<Time> = const { Cell::new(BEGINNING) };
}

/// The clock of the machine that the world of this thread runs on, where a step asks that and not the store's.
fn machine_clock() -> Time {
    MACHINE_CLOCK.get()
}

/// What is done in the transaction that makes it due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    /// Nothing: each step is the test's.
    Apart,
    /// What may leave is claimed with the reply.
    Sends,
    /// That, and turns begin with their messages, on tasks of their own.
    Begins,
}

pub(crate) struct World {
    /// What leaves, and what becomes of it.
    pub(crate) gateway: Arc<Gateway>,
    /// What the assistant says.
    pub(crate) assistant: Arc<Script>,
    /// Who listens to voice notes.
    ears: Arc<Ears>,
    /// Who looks at pictures.
    eyes: Arc<Eyes>,
    /// What the business knows.
    pub(crate) business: Arc<Business>,
    clock: Arc<ManualClock>,
    database: Database,
    /// What instances share beside the database.
    keys: Option<Arc<Memory>>,
    collector: Mutex<Option<String>>,
    weakness: Option<Weakness>,
    haste: Haste,
    policy: Mutex<Policy>,
    started: AtomicUsize,
    process: Mutex<Arc<Process>>,
    draining: Mutex<Option<JoinHandle<()>>>,
    http: reqwest::Client,
}

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        Self::over(Database::sqlite(), None, None, Haste::Apart).await
    }

    pub(crate) async fn on_postgres() -> Self {
        Self::over(Database::postgres().await, None, None, Haste::Apart).await
    }

    pub(crate) async fn over(
        database: Database,
        keys: Option<Arc<Memory>>,
        weakness: Option<Weakness>,
        haste: Haste,
    ) -> Self {
        MACHINE_CLOCK.set(BEGINNING);
        let clock = Arc::new(ManualClock::at(BEGINNING));
        let (gateway, assistant) = (Arc::new(Gateway::new(clock.clone())), Arc::new(Script::default()));
        let (ears, eyes, business) =
            (Arc::new(Ears::default()), Arc::new(Eyes::default()), Arc::new(Business::default()));
        let policy = quick_policy();
        let outside = Outside {
            provider: gateway.clone(),
            generator: assistant.clone(),
            transcriber: ears.clone(),
            describer: eyes.clone(),
            look_ups: business.clone(),
            keys: keys.clone().map(|keys| -> Arc<dyn KeyStore> { keys }),
            collector: None,
        };
        let store = database.open(clock.clone()).await;
        let process = Process::start("1", store, outside, Fuse::new(weakness), policy.clone(), haste).await;
        Self {
            gateway,
            assistant,
            ears,
            eyes,
            business,
            clock,
            database,
            keys,
            collector: Mutex::default(),
            weakness,
            haste,
            policy: Mutex::new(policy),
            started: AtomicUsize::new(1),
            process: Mutex::new(Arc::new(process)),
            draining: Mutex::default(),
            http: baton::adapters::http_client::http_client(std::time::Duration::from_secs(5))
                .expect("a client"),
        }
    }

    /// Another process over the same database. Nobody asks it anything yet.
    pub(crate) async fn start_another(&self, store: Store) -> Arc<Process> {
        let name = (self.started.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        let policy = lock(&self.policy).clone();
        let outside = Outside {
            provider: self.gateway.clone(),
            generator: self.assistant.clone(),
            transcriber: self.ears.clone(),
            describer: self.eyes.clone(),
            look_ups: self.business.clone(),
            keys: self.keys.clone().map(|keys| -> Arc<dyn KeyStore> { keys }),
            collector: lock(&self.collector).clone(),
        };
        Arc::new(Process::start(&name, store, outside, Fuse::new(self.weakness), policy, self.haste).await)
    }

    /// Everything outside is new, and what was told so far is over: another story over the same database.
    pub(crate) async fn begin_anew(&mut self) {
        self.gateway = Arc::new(Gateway::new(self.clock.clone()));
        self.assistant = Arc::new(Script::default());
        self.keys = self.keys.as_ref().map(|_| Arc::new(Memory::new()));
        *lock(&self.policy) = quick_policy();
        let before = self.process();
        before.stop().await;
        self.turn_to(self.start_another(before.store.clone()).await);
    }

    pub(crate) const fn weakness(&self) -> Option<Weakness> {
        self.weakness
    }

    /// Taken for untried: what was being sent when a process died.
    pub(crate) async fn queue_again(&self) {
        self.database.queue_again().await;
    }

    /// Every column of the database that holds these words anywhere.
    pub(crate) async fn finds(&self, words: &str) -> Vec<String> {
        self.database.finds(words).await
    }

    /// Whether these words stand in a file of the database that is ours to keep.
    pub(crate) fn is_in_file(&self, words: &str) -> bool {
        self.database.is_in_file(words)
    }

    /// Another process over the database of this one, as another instance is.
    pub(crate) async fn another_beside(&self) -> Arc<Process> {
        self.start_another(self.process().store.clone()).await
    }

    /// Traces go there, from a process that starts now, and from those after it.
    pub(crate) async fn is_traced_to(&self, collector: &str) {
        *lock(&self.collector) = Some(collector.to_owned());
        let traced = self.another_beside().await;
        self.turn_to(traced).stop().await;
    }

    /// From now on everybody asks that process. Returns the one before.
    pub(crate) fn turn_to(&self, process: Arc<Process>) -> Arc<Process> {
        std::mem::replace(&mut *lock(&self.process), process)
    }

    /// Changes the rules of the channel.
    pub(crate) fn rules(&self, change: impl FnOnce(&mut Policy)) {
        let mut policy = lock(&self.policy);
        change(&mut policy);
        self.process().set(policy.clone());
    }

    /// A contact, and the people who answer them.
    pub(crate) fn chat<'a>(&'a self, id: &'a str) -> Chat<'a> {
        Chat { world: self, id }
    }

    /// The assistant will say this.
    pub(crate) fn assistant_says(&self, text: &str) {
        self.assistant.add(Step::says(text));
    }

    /// The assistant will say this to such words, and to no others.
    pub(crate) fn assistant_answers(&self, words: &'static str, text: &str) {
        self.assistant.add(Step::says(text).to(words));
    }

    /// Voice notes are listened to until the test lets it.
    pub(crate) fn listening_holds(&self) -> Hold {
        self.ears.hold()
    }

    /// Pictures are looked at until the test lets it.
    pub(crate) fn looking_holds(&self) -> Hold {
        self.eyes.hold()
    }

    /// How many pictures were looked at.
    pub(crate) fn looks(&self) -> usize {
        self.eyes.looks()
    }

    /// The assistant will say this, as soon as the test lets it.
    pub(crate) fn assistant_holds(&self, text: &str) -> Hold {
        let hold = Hold::new();
        self.assistant.add(Step::says(text).held(&hold));
        hold
    }

    /// Time passes, and what it brings about happens.
    pub(crate) async fn after(&self, ms: i64) {
        self.pass(ms);
        self.drain().await;
    }

    /// Time passes, and nothing happens yet.
    pub(crate) fn pass(&self, ms: i64) {
        self.clock.advance_ms(ms);
        MACHINE_CLOCK.set(self.now());
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now().unwrap_or(BEGINNING)
    }

    /// Everything that is due happens, to its end.
    pub(crate) async fn drain(&self) {
        let process = self.process();
        let before = lock(&self.draining).take();
        if let Some(before) = before {
            process.nudge();
            before.await.expect("no step fails");
        }
        process.drain().await;
    }

    /// Everything that is due happens, until something waits there for the test to let it go.
    pub(crate) async fn drain_until(&self, hold: &Hold) {
        let process = self.process();
        let before = lock(&self.draining).take();
        let mut draining = match before {
            Some(before) => {
                process.nudge();
                before
            }
            None => tokio::spawn(process.drain()),
        };
        tokio::select! {
            biased;
            () = hold.reached() => {}
            ended = &mut draining => panic!("nothing came to wait here: {ended:?}"),
        }
        *lock(&self.draining) = Some(draining);
    }

    /// The process dies, whatever it was doing, and another starts over the same database.
    pub(crate) async fn crash(&self) {
        let draining = lock(&self.draining).take();
        if let Some(draining) = draining {
            // What was held neither answers nor ends: its step is dropped where it waits.
            draining.abort();
            assert!(draining.await.is_err_and(|error| error.is_cancelled()), "it was held");
        }
        self.process().stop().await;
        self.process().store.close().await;
        let store = self.database.open(self.clock.clone()).await;
        self.turn_to(self.start_another(store).await);
    }

    /// The end of the test: nothing is left over.
    pub(crate) async fn end(self) {
        assert_eq!(
            self.assistant.steps_left(),
            0,
            "the assistant was not asked for everything it had to say"
        );
        self.drain().await;
        self.process().stop().await;
        self.process().store.close().await;
        self.database.remove().await;
    }

    pub(crate) fn process(&self) -> Arc<Process> {
        lock(&self.process).clone()
    }
}

/// Those of the contract, without waiting where a test is not about that.
fn quick_policy() -> Policy {
    Policy {
        typing_ms_per_char: 0,
        typing_jitter_ms: 0,
        send_interval_ms: 0,
        prompt: Arc::from("You help."),
        ..Policy::default()
    }
}

/// A test that fails elsewhere shall not fail here too.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
