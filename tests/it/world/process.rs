//! One Baton in this process: real stores, steps and routes over the gateway and the assistant of the test. Its steps
//! are run by the test and not by loops, so that everything that happens does so in an order that the test chose.

use std::{
    collections::HashSet,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::dev::ServerHandle;
use baton::{
    adapters::otlp::{Collector, Traces},
    domain::{docket::Docket, policy::Policy},
    flow::{
        agenda::brake::Brakes,
        back_office::registry::{self, Registry},
        forgetting::{
            erase::Eraser, erasures::Rows, expiry::Expiry, retention::Retention, tombstones::Tombstones,
        },
        instance::{
            channels::{Channel, Channels},
            dispatch::Dispatch,
            onlookers::Onlookers,
        },
        intake::Intake,
        ledger::{self, Key, Ledger, Need, Observer, Work},
        notify::{Courier, Notifier, Round},
        outbox,
        poll::{Polled, Poller},
        provider::Provider,
        reconcile::Reconciler,
        repair::Repair,
        sender::{self, Claimed},
        turn,
    },
    http,
};
use tokio::task::JoinSet;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    BEGINNING, CHANNEL, Haste, database::Store, doors, fuse::Fuse, machine_clock, outside::Outside,
    parts::Parts, steps::Steps,
};

pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    /// When it ends.
    pub(crate) fuse: Arc<Fuse>,
    channels: Arc<Channels>,
    provider: Arc<dyn Provider>,
    steps: Steps,
    chores: Chores,
    notifier: Arc<Notifier>,
    pub(crate) store: Store,
    pub(crate) onlookers: Arc<Onlookers>,
    traces: Mutex<Option<Traces>>,
    server: ServerHandle,
    stopping: CancellationToken,
    /// Turns that began with their messages.
    tasks: TaskTracker,
}

impl Process {
    pub(crate) async fn start(
        name: &str,
        store: Store,
        outside: Outside,
        fuse: Fuse,
        policy: Policy,
        haste: Haste,
    ) -> Self {
        store.recover().await;
        let fuse = Arc::new(fuse);
        let outside = outside.behind(&fuse);
        let dispatch = Arc::new(Dispatch::default());
        // Nothing leaves in the transaction in which it becomes owed: each step is the test's.
        dispatch.set_crowded(CHANNEL, haste == Haste::Apart);
        let traces = outside.collector.clone().map(|endpoint| traced(endpoint, name, &store));
        let observer: Arc<dyn Observer> = match &traces {
            Some(traces) => traces.after(dispatch.clone()),
            None => dispatch.clone(),
        };
        let parts = Parts::over(name, store, &fuse, dispatch, observer);
        // After a restart it is there already.
        parts.registry.add_channel(&row()).await.expect("the channel is kept");
        let sender = parts.sender();
        let turns = parts.turns(&outside, &sender);
        let (eraser, tasks) = (parts.eraser(), TaskTracker::new());
        let intake = parts.intake(outside.keys, parts.immediate_turn(&turns, &tasks, haste));
        let doors = doors::open(&parts, &intake, &eraser);
        let notifier = doors.notifier.clone();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let running = http::serve(Arc::new(doors), listener, Duration::from_secs(1)).expect("a server");
        let server = running.handle();
        tokio::spawn(running);
        let process = Self {
            address,
            fuse,
            channels: parts.channels.clone(),
            provider: outside.provider,
            steps: parts.steps(turns, sender),
            chores: Chores::of(&parts, intake, eraser),
            notifier,
            onlookers: parts.dispatch.onlookers.clone(),
            traces: Mutex::new(traces),
            server,
            stopping: parts.stopping,
            store: parts.store,
            tasks,
        };
        process.set(policy);
        process
    }

    /// Who erases.
    pub(crate) fn eraser(&self) -> &Eraser {
        &self.chores.eraser
    }

    /// From now on the channel has these rules.
    pub(crate) fn set(&self, policy: Policy) {
        self.channels.put(Channel {
            name: CHANNEL.to_owned(),
            policy: Arc::new(policy),
            provider: self.provider.clone(),
        });
    }

    /// Looks again for something due: time has passed.
    pub(crate) fn nudge(&self) {
        self.steps.nudge.notify_one();
    }

    /// Runs steps until nothing is due and none is running.
    pub(crate) async fn drain(self: Arc<Self>) {
        let mut running = JoinSet::new();
        let (mut in_hand, mut in_vain) = (HashSet::new(), HashSet::new());
        let mut changes = self.steps.dispatch.changes();
        loop {
            for step in self.steps.due().await {
                if !in_vain.contains(&step) && in_hand.insert(step) {
                    let process = self.clone();
                    running.spawn(async move { (step, process.steps.run(step).await) });
                }
            }
            if running.is_empty() {
                return;
            }
            tokio::select! {
                Some(ended) = running.join_next() => {
                    let (step, has_worked) = ended.expect("no step panics");
                    in_hand.remove(&step);
                    // What could do nothing is left alone until something else has happened.
                    if has_worked { in_vain.clear() } else { in_vain.insert(step); }
                }
                _ = changes.recv() => {}
                () = self.steps.nudge.notified() => in_vain.clear(),
            }
        }
    }

    /// Runs steps one after another until nothing is due: what it touches is then the same each time.
    pub(crate) async fn work(self: Arc<Self>) {
        let mut in_vain = HashSet::new();
        while let Some(step) = self.steps.next(&in_vain).await {
            self.fuse.begins(&format!("{:?}", step.0));
            if self.steps.run(step).await {
                in_vain.clear();
            } else {
                in_vain.insert(step);
            }
        }
    }

    /// The ripe burst of that conversation is answered.
    pub(crate) async fn answer(&self, conversation: Uuid) -> turn::Outcome {
        self.steps.answer(conversation).await.expect("the store answers")
    }

    /// What is owed in that conversation is sent, if it may leave.
    pub(crate) async fn send(&self, conversation: Uuid) -> Result<sender::Outcome, ledger::Error> {
        self.steps.sender.send(conversation).await
    }

    /// The same, claimed now and begun when its moment has passed.
    pub(crate) async fn send_too_late(&self, conversation: Uuid) -> Result<(), ledger::Error> {
        let (sender, attempt) = (&self.steps.sender, Uuid::now_v7());
        let channel = self.channels.get(CHANNEL).expect("the channel of the tests");
        let policy = channel.policy.clone();
        let step = move |docket: &mut Docket| {
            (docket.conversation.chat.clone(), outbox::claim_due(docket, &policy, attempt))
        };
        let need = Need { channel: true, ..Need::default() };
        let (chat, claim) = ledger::change(&*sender.ledger, Key::Id(conversation), need, step).await?;
        let outbox::Claim::Claimed(message) = claim else { panic!("it is due: {claim:?}") };
        let covered = Vec::new();
        let begin_by = Duration::ZERO;
        sender.deliver(Claimed { conversation, channel, chat, attempt, message, covered, begin_by }).await
    }

    /// How many files wait for the next attempt.
    pub(crate) fn late_files(&self) -> usize {
        super::lock(&self.steps.sender.late_files).len()
    }

    /// In how many conversations a sweep finds such work.
    pub(crate) async fn found(&self, work: Work) -> usize {
        self.steps.found(work).await.len()
    }

    /// Counts what nobody asked for, and hears of brakes that others have latched. True if one was latched here.
    pub(crate) async fn brake(&self, times: i64) -> bool {
        let brakes = Brakes {
            registry: self.chores.repair.registry.clone(),
            statistics: self.store.places(),
            ledger: self.chores.ledger.clone(),
            zone: "Asia/Singapore".to_owned(),
            times,
            best: Mutex::default(),
        };
        let is_latched = brakes.look(machine_clock()).await.expect("the store answers");
        load_brake(&*brakes.registry, &self.channels).await;
        is_latched
    }

    /// Looks at the provider for sends of unknown fate.
    pub(crate) async fn look(&self) {
        self.chores.reconciler.look().await.expect("the store answers");
    }

    /// Goes on with erasures that were left half-way, and forgets whom others have erased.
    pub(crate) async fn sweep(&self) -> usize {
        self.chores.eraser.hear(machine_clock()).await.expect("the store answers");
        self.chores.eraser.take_up().await.expect("the store answers")
    }

    /// What is older than so many days is removed.
    pub(crate) async fn retain(&self, days: i64) -> Rows {
        self.retention(days).run().await.expect("the store answers")
    }

    /// What would be.
    pub(crate) async fn would_retain(&self, days: i64) -> Rows {
        self.retention(days).count().await.expect("the store answers")
    }

    fn retention(&self, days: i64) -> Retention {
        Retention {
            ledger: self.chores.ledger.clone(),
            expiry: self.chores.expiry.clone(),
            tombstones: self.chores.tombstones.clone(),
            days,
        }
    }

    /// Fetches one notification.
    pub(crate) async fn poll(&self) -> Polled {
        self.chores.poller.poll(CHANNEL).await.expect("store and provider answer")
    }

    /// What each start of an instance does about the journal of contacts' messages.
    pub(crate) async fn begin_repair(&self) {
        self.chores.repair.begin(CHANNEL).await.expect("the store answers");
    }

    /// Looks through that journal, if it is due.
    pub(crate) async fn repair(&self) -> usize {
        self.chores.repair.repair(CHANNEL).await.expect("store and provider answer")
    }

    /// Whoever asked to be told is told what there is to tell, and what is due again.
    pub(crate) async fn tell(&self) {
        for id in self.notifier.endpoints.active().await.expect("the store answers") {
            let mut courier = Courier::new(self.notifier.clone(), id);
            loop {
                match courier.round().await.expect("the store answers") {
                    Round::Worked(1..) => {}
                    // What is in hand goes on, also where it is not ours any more.
                    _ if courier.is_busy() => courier.ended().await.expect("it is kept"),
                    _ => break,
                }
            }
        }
    }

    /// Waits until every turn that began with its message has ended.
    pub(crate) async fn rest(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Sends the traces of what has happened here so far. Nothing is told any more after that.
    pub(crate) async fn sends_traces(&self) {
        let traces = self.traces.lock().expect("nobody panics here").take();
        traces.expect("it is traced, and has not sent them yet").end().await;
    }

    /// Ends, without a word to anybody.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.server.stop(false).await;
    }
}

/// What instances do from time to time; a test says when.
struct Chores {
    ledger: Arc<dyn Ledger>,
    expiry: Arc<dyn Expiry>,
    tombstones: Tombstones,
    eraser: Arc<Eraser>,
    reconciler: Reconciler,
    poller: Poller,
    repair: Repair,
}

impl Chores {
    fn of(parts: &Parts, intake: Arc<Intake>, eraser: Arc<Eraser>) -> Self {
        let Parts { ledger, archive, registry, channels, .. } = parts;
        Self {
            ledger: ledger.clone(),
            expiry: parts.store.places(),
            tombstones: parts.tombstones.clone(),
            eraser,
            reconciler: Reconciler::new(
                ledger.clone(),
                archive.clone(),
                parts.store.places(),
                registry.clone(),
                channels.clone(),
            ),
            poller: Poller {
                owner: parts.name.clone(),
                intake: intake.clone(),
                registry: registry.clone(),
                channels: channels.clone(),
                stop: parts.stopping.clone(),
            },
            repair: Repair {
                intake,
                archive: archive.clone(),
                registry: registry.clone(),
                channels: channels.clone(),
            },
        }
    }
}

/// What the row says of the brake holds from now on.
pub(super) async fn load_brake(registry: &dyn Registry, channels: &Channels) {
    let row = registry.channels().await.expect("the store answers").remove(0);
    let channel = channels.get(&row.name).expect("the one channel");
    let policy = Policy { brake: row.brake, ..Policy::clone(&channel.policy) };
    channels.put(Channel { policy: Arc::new(policy), ..Channel::clone(&channel) });
}

fn traced(endpoint: String, instance: &str, store: &Store) -> Traces {
    let collector = Collector { endpoint, instance: instance.to_owned(), provider: "scripted" };
    Traces::start(&collector, store.places()).expect("a client")
}

fn row() -> registry::Channel {
    registry::Channel {
        instance: Some(super::gateway::INSTANCE.to_string()),
        ..registry::Channel::new(CHANNEL, "green_api", BEGINNING)
    }
}
