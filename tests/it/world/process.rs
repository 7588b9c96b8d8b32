//! One Baton in this process: real stores, steps and routes over the gateway and the assistant of the test. Its steps
//! are run by the test and not by loops, so that everything that happens does so in an order that the test chose.

use std::{
    collections::HashSet,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::dev::ServerHandle;
use async_trait::async_trait;
use baton::{
    domain::policy::Policy,
    flow::{
        breaker::Breaker,
        channel_breaker::ChannelBreaker,
        channels::{Channel, Channels},
        desk::Desk,
        dispatch::Dispatch,
        gate::Gate,
        generator::Generator,
        intake::Intake,
        ledger::{Ledger, Work},
        mode_switch::ModeSwitch,
        model_breaker::ModelBreaker,
        provider::Provider,
        registry,
        sender::{self, Sender},
        tend::Tend,
        turn::{self, Turns},
    },
    http::{
        self,
        auth::Auth,
        doors::Doors,
        feed::Feed,
        ports::{self, Readiness, Secret},
    },
};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{API_TOKEN, BEGINNING, CHANNEL, WEBHOOK_TOKEN, database::Store};

/// Longest wait of a switch for a send in flight. Tests let sends go; this only ends a test that forgot to.
const SETTLE_MS: i64 = 10_000;

pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    channels: Arc<Channels>,
    provider: Arc<dyn Provider>,
    steps: Steps,
    store: Store,
    server: ServerHandle,
    stopping: CancellationToken,
}

impl Process {
    pub(crate) async fn start(
        store: Store,
        provider: Arc<dyn Provider>,
        generator: Arc<dyn Generator>,
        policy: Policy,
    ) -> Self {
        let (dispatch, channels) = (Arc::new(Dispatch::default()), Arc::new(Channels::default()));
        let (ledger, archive, registry) = (store.ledger(dispatch.clone()), store.archive(), store.registry());
        // After a restart it is there already.
        registry.add_channel(&row()).await.expect("the channel is kept");
        let stopping = CancellationToken::new();
        let turns = Turns {
            instance: "A".to_owned(),
            ledger: ledger.clone(),
            archive: archive.clone(),
            channels: channels.clone(),
            generator,
            gate: Gate::new(100),
            pace: None,
            breaker: ModelBreaker::new(Breaker::new(5, 30_000), ledger.clone(), || BEGINNING),
            answers: store.answers(),
            lock: None,
            dispatch: dispatch.clone(),
            tool_rounds: 4,
            stop: stopping.clone(),
            clock: || BEGINNING,
        };
        let steps = Steps {
            turns,
            sender: Sender {
                ledger: ledger.clone(),
                registry: registry.clone(),
                channels: channels.clone(),
                breaker: Arc::new(ChannelBreaker {
                    ledger: ledger.clone(),
                    registry: registry.clone(),
                    open_ms: 30_000,
                    stop: CancellationToken::new(),
                    open: Mutex::default(),
                }),
                dispatch: dispatch.clone(),
                clock: || BEGINNING,
            },
            tend: Tend { ledger: ledger.clone(), channels: channels.clone() },
            ledger: ledger.clone(),
            dispatch: dispatch.clone(),
            nudge: Notify::new(),
        };
        let mode_switch = Arc::new(ModeSwitch {
            ledger: ledger.clone(),
            channels: channels.clone(),
            dispatch: dispatch.clone(),
            settle_ms: SETTLE_MS,
        });
        let house = Arc::new(House { channels: channels.clone() });
        let intake = Arc::new(Intake {
            ledger: ledger.clone(),
            registry: registry.clone(),
            channels: channels.clone(),
            deduplicator: None,
            clock: || BEGINNING,
        });
        let doors = Doors {
            intake: intake.clone(),
            desk: Arc::new(Desk {
                ledger: ledger.clone(),
                archive: archive.clone(),
                channels: channels.clone(),
                intake,
                switch: mode_switch.clone(),
            }),
            mode_switch,
            channels: house.clone(),
            vault: house.clone(),
            sandbox: None,
            health: house,
            auth: Auth::new(Some(API_TOKEN), registry.clone(), || BEGINNING),
            feed: Feed::open(archive.clone(), dispatch.feed.clone(), stopping.clone(), &Handle::current()),
            settings: Vec::new(),
            settle_ms: SETTLE_MS,
            render_metrics: Box::new(String::new),
            now: || BEGINNING,
            main: Handle::current(),
            stopping: stopping.clone(),
            archive,
            registry,
            ledger,
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let running = http::serve(Arc::new(doors), listener, Duration::from_secs(1)).expect("a server");
        let server = running.handle();
        tokio::spawn(running);
        let process = Self { address, channels, provider, steps, store, server, stopping };
        process.set(policy);
        process
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

    /// Ends, without a word to anybody.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.server.stop(false).await;
        self.store.close().await;
    }
}

type Step = (Work, Uuid);

struct Steps {
    turns: Turns,
    sender: Sender,
    tend: Tend,
    ledger: Arc<dyn Ledger>,
    dispatch: Arc<Dispatch>,
    nudge: Notify,
}

impl Steps {
    async fn due(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for work in [Work::Turn, Work::Send, Work::FollowUp, Work::Tend] {
            let due = self.ledger.due(work, 500).await.expect("the store answers");
            steps.extend(due.into_iter().map(|due| (work, due.conversation)));
        }
        steps
    }

    /// True if there was anything to do.
    async fn run(&self, (work, conversation): Step) -> bool {
        let outcome = match work {
            Work::Turn => {
                self.turns.answer(conversation, false).await.map(|it| matches!(it, turn::Outcome::Worked(_)))
            }
            Work::FollowUp => {
                self.turns.follow_up(conversation).await.map(|it| matches!(it, turn::Outcome::Worked(_)))
            }
            Work::Send => self.sender.send(conversation).await.map(|it| it == sender::Outcome::Worked),
            Work::Tend => self.tend.tend(conversation).await,
        };
        outcome.expect("the store answers")
    }
}

fn row() -> registry::Channel {
    registry::Channel {
        name: CHANNEL.to_owned(),
        title: None,
        provider: "green_api".to_owned(),
        instance: Some(super::gateway::INSTANCE.to_string()),
        api_url: None,
        sealed: None,
        settings: Map::new(),
        state: String::new(),
        managed_by_environment: false,
        created_at: BEGINNING,
        updated_at: BEGINNING,
    }
}

/// The one channel, as the doors ask for it.
struct House {
    channels: Arc<Channels>,
}

#[async_trait]
impl ports::Channels for House {
    async fn knows(&self, channel: &str) -> bool {
        self.channels.get(channel).is_some()
    }

    fn webhook_tokens(&self, channel: &str) -> Option<Vec<Secret>> {
        self.channels.get(channel).map(|_| vec![Secret(WEBHOOK_TOKEN.to_owned())])
    }

    fn check(&self, _: &Map<String, Value>) -> Result<(), (String, String)> {
        Ok(())
    }

    async fn changed(&self) {}
}

impl ports::Vault for House {
    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        Some(plain.to_vec())
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        Some(sealed.to_vec())
    }
}

#[async_trait]
impl ports::Health for House {
    async fn look(&self) -> Readiness {
        Readiness { database: true, migrated: true, redis: None }
    }
}
