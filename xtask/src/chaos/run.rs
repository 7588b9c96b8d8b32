//! One run from beginning to end: set up, load and faults, quiet, judgement.
//!
//! In: the options. Out: everything printed; whether every promise was kept.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::sleep};

use super::{
    api::Api,
    courier::Courier,
    gateway::{CHANNELS, Gateway, channel_name},
    instance::{Instance, Places},
    judge::{Case, Verdict},
    load::Load,
    model::Model,
    options::Options,
    plan::{INSTANCES, Planned, deal, name},
    records::{Book, Records},
    report,
    strike::Stage,
    told::{self, Conversation},
};
use crate::{
    fakes::wire::serve,
    programs::Programs,
    servers::{Care, Folder, Postgres, Redis},
    stop::Stop,
};

/// Fewest and most contacts.
const CONTACTS: (usize, usize) = (30, 400);
const MESSAGES_A_CONTACT: usize = 12;
/// By then everything that goes on by itself has found its end.
const QUIET_LIMIT: Duration = Duration::from_secs(120);
/// Baton looks into a journal two minutes after a send whose answer was lost.
const JOURNAL_LIMIT: Duration = Duration::from_secs(200);
/// A run at least so long may wait for that at its end.
const LONG: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Broken promises that are told in full.
const STORIES: usize = 3;
const VIOLATIONS_SHOWN: usize = 40;

/// Everything that was set up.
struct Run {
    stage: Arc<Stage>,
    load: Load,
    dice: fastrand::Rng,
}

/// Runs, prints, and says whether every promise was kept. What was started is stopped, whatever happens.
pub(super) fn run(programs: &Programs, options: &Options, stop: &Stop) -> Result<bool> {
    println!(
        "chaos: seed {}, {} faults and {} messages over {} s",
        options.seed,
        options.faults,
        options.messages,
        options.length.as_secs()
    );
    let binary = options.binary.find()?;
    let mut folder = Folder::make("chaos")?;
    let postgres = Postgres::start(programs, folder.path(), Care::Durable)?;
    let redis = Redis::start(programs, folder.path())?;
    // Its workers live as long as it does: processes that they start end with them, where Linux can.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let places = Places {
        binary,
        folder: folder.path().to_path_buf(),
        postgres: postgres.server.port(),
        redis: redis.server.port(),
        gateway: 0,
        model: 0,
    };
    let mut run = runtime.block_on(set_up(options, places, postgres, redis))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = run.play(options) => outcome,
            () = asked_to(stop) => {
                println!("chaos: stopped");
                Ok(false)
            }
        }
    });
    for instance in run.stage.instances.iter() {
        instance.kill();
    }
    drop(runtime);
    drop(run);
    if !matches!(outcome, Ok(true)) && !stop.is_asked_for() {
        folder.keep();
        println!(
            "chaos: the logs are in {}; the same faults again: --seed {}",
            folder.path().display(),
            options.seed
        );
    }
    outcome
}

async fn asked_to(stop: &Stop) {
    while !stop.is_asked_for() {
        sleep(Duration::from_millis(100)).await;
    }
}

async fn set_up(options: &Options, places: Places, postgres: Postgres, redis: Redis) -> Result<Run> {
    let mut dice = fastrand::Rng::with_seed(options.seed);
    let contacts = (options.messages / MESSAGES_A_CONTACT).clamp(CONTACTS.0, CONTACTS.1);
    let book = Arc::new(Book::default());
    let (courier, rounds) = Courier::new(Arc::clone(&book), contacts);
    let gateway =
        Arc::new(Gateway::new(Arc::clone(&book), Arc::clone(&courier), dice.u64(..), options.length >= LONG));
    let model = Arc::new(Model::new(Arc::clone(&book), dice.u64(..)));
    let (gateway_at, gateway_port) = listen().await?;
    let (model_at, model_port) = listen().await?;
    let (to_gateway, to_model) = (Arc::clone(&gateway), Arc::clone(&model));
    tokio::spawn(serve(gateway_at, move |request| Arc::clone(&to_gateway).answer(request)));
    tokio::spawn(serve(model_at, move |request| Arc::clone(&to_model).answer(request)));
    let places = Places { gateway: gateway_port, model: model_port, ..places };
    let mut instances = Vec::new();
    for number in 0..INSTANCES {
        instances.push(Instance::new(name(number), &places).await?);
    }
    let instances = Arc::new(instances);
    courier.begin(&instances, rounds, &mut dice);
    let stage = Stage {
        book: Arc::clone(&book),
        instances: Arc::clone(&instances),
        postgres: Mutex::new(postgres),
        redis: Mutex::new(redis),
        gateway: Arc::clone(&gateway),
        model,
    };
    let load = Load { book, courier, gateway, api: Api { instances }, contacts };
    Ok(Run { stage: Arc::new(stage), load, dice })
}

async fn listen() -> Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

impl Run {
    async fn play(&mut self, options: &Options) -> Result<bool> {
        let mut watch = JoinSet::new();
        for number in 0..INSTANCES {
            let instances = Arc::clone(&self.stage.instances);
            watch.spawn(async move { instances[number].supervise().await });
        }
        let ended = async {
            match watch.join_next().await {
                Some(Ok(said)) => anyhow::anyhow!(said),
                _ => anyhow::anyhow!("nobody watches over the instances"),
            }
        };
        tokio::select! {
            outcome = self.perform(options) => outcome,
            error = ended => Err(error),
        }
    }

    async fn perform(&mut self, options: &Options) -> Result<bool> {
        self.open_shop().await?;
        let began = Instant::now();
        let plan = deal(options.seed, options.faults, options.length);
        let mut tasks: JoinSet<Result<()>> = JoinSet::new();
        let (load, dice) = (self.load.clone(), self.dice.fork());
        let (messages, length) = (options.messages, options.length);
        let (progress, watch) = watch::channel(0.0);
        tasks.spawn(async move {
            load.write(messages, length, dice, progress).await;
            Ok(())
        });
        let (load, dice) = (self.load.clone(), self.dice.fork());
        tasks.spawn(load.take_over(messages, dice, watch.clone()));
        for fault in plan.clone() {
            let (stage, watch) = (Arc::clone(&self.stage), watch.clone());
            let share = fault.at.as_secs_f64() / length.as_secs_f64();
            tasks.spawn(async move { strike(&stage, fault, share, watch, began).await });
        }
        let mut troubles = 0;
        while let Some(done) = tasks.join_next().await {
            if let Err(error) = done? {
                troubles += 1;
                println!("{:9.3}  TROUBLE: {error:#}", began.elapsed().as_secs_f64());
            }
        }
        self.stage.heal();
        let length = began.elapsed();
        println!("{:9.3}  all is healed; waiting until all is quiet", length.as_secs_f64());
        let told = self.told_when_quiet().await?;
        let records = std::mem::take(&mut *self.stage.book.open());
        let verdict = judge(&records, &told);
        println!("\n{}", report::table(&verdict, &records, &plan, length));
        self.tell(&verdict, &records, &told, began).await;
        Ok(verdict.violations.is_empty() && troubles == 0)
    }

    /// Starts every instance and makes the channels; returns when all know all.
    async fn open_shop(&mut self) -> Result<()> {
        let instances = &self.stage.instances;
        for instance in instances.iter() {
            instance.start()?;
            // One after another: the first one makes the tables.
            instance.is_ready().await?;
        }
        self.load.api.make_channels(&mut self.dice).await?;
        let began = Instant::now();
        for instance in instances.iter() {
            for channel in 0..CHANNELS {
                while !instance.knows(&channel_name(channel)).await {
                    if began.elapsed() > QUIET_LIMIT {
                        bail!("instance {} does not hear of the channels", instance.name);
                    }
                    sleep(LOOK_EVERY).await;
                }
            }
        }
        Ok(())
    }

    /// What Baton says of every contact, once nothing waits any more or nothing has moved for too long.
    async fn told_when_quiet(&mut self) -> Result<Vec<(usize, Option<Conversation>)>> {
        let began = Instant::now();
        while began.elapsed() < QUIET_LIMIT && !(self.load.courier.waiting() == 0 && self.is_quiet().await?) {
            sleep(LOOK_EVERY).await;
        }
        let mut all = Vec::new();
        for contact in self.contacts() {
            all.push((contact, told::conversation(&self.load.api, contact, &mut self.dice).await?));
        }
        // What went although its answer was lost may still be found, by an echo or in a list.
        while began.elapsed() < JOURNAL_LIMIT {
            let open: Vec<usize> =
                (0..all.len()).filter(|at| self.may_change(all[*at].0, all[*at].1.as_ref())).collect();
            if open.is_empty() {
                break;
            }
            sleep(LOOK_EVERY).await;
            for at in open {
                all[at].1 = told::conversation(&self.load.api, all[at].0, &mut self.dice).await?;
            }
        }
        Ok(all)
    }

    fn contacts(&self) -> Vec<usize> {
        let records = self.stage.book.open();
        let mut contacts: Vec<usize> = records.written.keys().map(|marker| marker.contact).collect();
        contacts.dedup();
        contacts
    }

    /// Whether Baton has still to find out about something that the gateway took.
    fn may_change(&self, contact: usize, told: Option<&Conversation>) -> bool {
        let records = self.stage.book.open();
        let taken = |text: &str| {
            records.posts.iter().any(|post| post.contact == contact && post.taken && post.text == text)
        };
        let messages = told.map(|told| told.messages.as_slice()).unwrap_or_default();
        messages.iter().any(|message| {
            (message.state == "unknown" && taken(&message.text))
                || !(message.has_ended() || told.is_some_and(|told| told.is_held(message)))
        })
    }

    async fn is_quiet(&mut self) -> Result<bool> {
        let mut cursor = String::new();
        loop {
            let path = format!("/api/v1/conversations?limit=200{cursor}");
            let page = self.load.api.get(&path, &mut self.dice).await?;
            let items = page["items"].as_array().context("no list")?;
            let is_idle = |it: &Value| {
                // What waits behind a send of unknown fate waits for a person.
                let is_held = it["attention"]["reason"] == "send_unknown";
                it["queue"]["inbox"] == 0 && (it["queue"]["outbox"] == 0 || is_held)
            };
            if !items.iter().all(is_idle) {
                return Ok(false);
            }
            let Some(next) = page["next_cursor"].as_str() else { return Ok(true) };
            cursor = format!("&cursor={next}");
        }
    }

    async fn tell(
        &mut self,
        verdict: &Verdict,
        records: &Records,
        told: &[(usize, Option<Conversation>)],
        began: Instant,
    ) {
        for violation in verdict.violations.iter().take(VIOLATIONS_SHOWN) {
            println!("{:?}, contact {}: {}", violation.fault, violation.contact, violation.what);
        }
        let mut contacts: Vec<usize> = verdict.violations.iter().map(|violation| violation.contact).collect();
        contacts.dedup();
        for contact in contacts.into_iter().take(STORIES) {
            println!("\nThe story of contact {contact}, in seconds since the load began:");
            for line in report::story(contact, records, began) {
                println!("{line}");
            }
            let conversation = told.iter().find(|(of, _)| *of == contact).and_then(|(_, told)| told.as_ref());
            let Some(conversation) = conversation else { continue };
            println!("What Baton shows of it: attention {:?}", conversation.attention);
            for message in &conversation.messages {
                println!("{}", report::line(message));
            }
            println!("Its events:");
            match told::events(&self.load.api, &conversation.id, &mut self.dice).await {
                Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
                Err(error) => println!("{error:#}"),
            }
        }
    }
}

/// A fault strikes at its moment, but not before its share of the messages is written: on a slow machine the load takes
/// longer than planned, and no part of it shall have its peace.
async fn strike(
    stage: &Stage,
    fault: Planned,
    share: f64,
    mut progress: watch::Receiver<f64>,
    began: Instant,
) -> Result<()> {
    sleep(fault.at.saturating_sub(began.elapsed())).await;
    // All is written when nobody tells any more.
    let _ = progress.wait_for(|written| *written >= share).await;
    println!("{:9.3}  {fault}", began.elapsed().as_secs_f64());
    stage.strike(&fault).await.with_context(|| format!("after {fault}"))
}

fn judge(records: &Records, told: &[(usize, Option<Conversation>)]) -> Verdict {
    let mut verdict = Verdict::default();
    let case = Case::new(records);
    for (contact, told) in told {
        case.judge(*contact, told.as_ref(), &mut verdict);
    }
    verdict
}
