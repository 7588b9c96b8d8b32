//! One real `baton serve`, with its own ways to everything outside.
//!
//! In: where things are. Out: a process that is started, frozen, killed, and watched over as a supervisor would.

use std::{
    fs,
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use super::{courier::WEBHOOK_TOKEN, model::SPLIT_CHARS, plan::Link, proxy::Proxy};
use crate::{
    fakes::{lock, wire::Client},
    servers::{dying_with_us, free_port, last_words, url_of_postgres, url_of_redis},
};

/// With which everything is asked.
pub(super) const API_TOKEN: &str = "chaos-api-token-0123456789";
/// Longest that a send takes.
const GATEWAY_TIMEOUT_MS: u64 = 2_000;
/// An instance that is not ready by then will not be.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// An instance that was asked to end and has not by then is stuck: its grace is four seconds.
const END_LIMIT: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Where an instance finds things.
pub(super) struct Places {
    pub(super) binary: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) postgres: u16,
    pub(super) redis: u16,
    pub(super) gateway: u16,
    pub(super) model: u16,
}

/// One instance.
pub(super) struct Instance {
    pub(super) name: &'static str,
    pub(super) client: Client,
    ways: [(Link, Proxy); 3],
    port: u16,
    model: u16,
    binary: PathBuf,
    folder: PathBuf,
    child: Mutex<Option<Child>>,
    /// It is meant to run.
    is_wanted: AtomicBool,
    /// It has been ready since it was started.
    was_ready: AtomicBool,
}

impl Instance {
    /// One that has not been started.
    pub(super) async fn new(name: &'static str, places: &Places) -> Result<Self> {
        let port = free_port()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let ways = [
            (Link::Postgres, Proxy::open(places.postgres).await?),
            (Link::Redis, Proxy::open(places.redis).await?),
            (Link::Gateway, Proxy::open(places.gateway).await?),
        ];
        Ok(Self {
            name,
            client: Client::new(address),
            ways,
            port,
            model: places.model,
            binary: places.binary.clone(),
            folder: places.folder.clone(),
            child: Mutex::new(None),
            is_wanted: AtomicBool::new(false),
            was_ready: AtomicBool::new(false),
        })
    }

    /// Its way to something.
    pub(super) fn way(&self, link: Link) -> &Proxy {
        let found = self.ways.iter().find(|(to, _)| *to == link);
        &found.unwrap_or(&self.ways[0]).1
    }

    /// What a load balancer thinks: one that stands still has not been found out yet.
    pub(super) fn seems_alive(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && self.was_ready.load(Ordering::Relaxed)
    }

    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// Starts it. To be called on a thread that stays: where Linux can, the process ends with the thread.
    pub(super) fn start(&self) -> Result<()> {
        let output = fs::File::options().create(true).append(true).open(self.log())?;
        let mut command = dying_with_us(&self.binary, "KILL");
        command.arg("serve").env_clear().envs(self.settings()).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        self.was_ready.store(false, Ordering::Relaxed);
        *lock(&self.child) = Some(command.spawn().context("cannot run baton")?);
        self.is_wanted.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Short waits and leases, so that minutes hold what otherwise takes hours; no limits of courtesy.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let gateway = format!("http://127.0.0.1:{}/{}", self.way(Link::Gateway).port(), self.name);
        let text = str::to_owned;
        vec![
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("BATON_LISTEN", format!("127.0.0.1:{}", self.port)),
            ("BATON_API_TOKEN", text(API_TOKEN)),
            ("BATON_SECRET_KEY", "5a".repeat(32)),
            ("BATON_DATABASE_URL", url_of_postgres(self.way(Link::Postgres).port()) + "?sslmode=disable"),
            ("BATON_REDIS_URL", url_of_redis(self.way(Link::Redis).port())),
            ("BATON_GREEN_API_URL", gateway),
            ("BATON_GREEN_API_TIMEOUT_MS", GATEWAY_TIMEOUT_MS.to_string()),
            ("BATON_AI_PROVIDER", text("openai")),
            ("BATON_AI_BASE_URL", format!("http://127.0.0.1:{}/v1", self.model)),
            ("BATON_AI_API_KEY", text("chaos")),
            ("BATON_AI_MODEL", text("fake")),
            ("BATON_AI_IDLE_MS", text("5000")),
            ("BATON_AI_TOTAL_MS", text("15000")),
            ("BATON_AI_ATTEMPTS", text("10")),
            ("BATON_RETRY_BASE_MS", text("100")),
            ("BATON_BREAKER_FAILURES", text("20")),
            ("BATON_BREAKER_OPEN_MS", text("1000")),
            ("BATON_BURST_QUIET_MS", text("150")),
            ("BATON_BURST_MAX_MS", text("2000")),
            ("BATON_TYPING_MS_PER_CHAR", text("0")),
            ("BATON_TYPING_JITTER_MS", text("0")),
            ("BATON_TYPING_MAX_MS", text("0")),
            ("BATON_SPLIT_CHARS", SPLIT_CHARS.to_string()),
            ("BATON_SEND_INTERVAL_MS", text("0")),
            // So many of each channel one fault can leave without a clear answer; with fewer, those hold up all others.
            ("BATON_SEND_IN_FLIGHT", text("8")),
            ("BATON_SEND_ATTEMPTS", text("100")),
            ("BATON_LOCK_TTL_MS", text("3000")),
            ("BATON_SWEEP_MS", text("500")),
            ("BATON_REPLY_CAP", text("0")),
            ("BATON_FLOOD_PER_MINUTE", text("0")),
            ("BATON_HUMAN_OVERDUE_MS", text("0")),
            ("BATON_GRACE_MS", text("4000")),
            ("BATON_LOG", text("warn")),
            ("BATON_LOG_FORMAT", text("json")),
        ]
    }

    /// Waits until it can work.
    pub(super) async fn is_ready(&self) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < READY_LIMIT {
            if self.was_ready.load(Ordering::Relaxed) {
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
        bail!("instance {} is not ready after {} s", self.name, READY_LIMIT.as_secs())
    }

    /// Watches over it, as a supervisor would: one that ends at its start, without its database, is started again.
    /// Returns what it said if it ends by itself after it had been ready.
    pub(super) async fn supervise(&self) -> String {
        loop {
            sleep(LOOK_EVERY).await;
            if !self.is_wanted.load(Ordering::Relaxed) {
                continue;
            }
            if self.has_ended() && self.is_wanted.load(Ordering::Relaxed) {
                if self.was_ready.load(Ordering::Relaxed) {
                    return format!("instance {} ended by itself:\n{}", self.name, last_words(&self.log()));
                }
                sleep(LOOK_EVERY).await;
                if let Err(error) = self.start() {
                    return format!("instance {} cannot be started again: {error:#}", self.name);
                }
            } else if !self.was_ready.load(Ordering::Relaxed) {
                let answer = self.client.ask("GET", "/readyz", &[], "", Duration::from_secs(1)).await;
                if answer.is_ok_and(|answer| answer.status == 200) {
                    self.was_ready.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether webhooks of a channel are taken here. Channels are made once, on one instance; the others hear of it.
    pub(super) async fn knows(&self, channel: &str) -> bool {
        let token = format!("Bearer {WEBHOOK_TOKEN}");
        let path = format!("/webhooks/green-api/{channel}");
        // Of an account that is none of ours: known, and left alone.
        let body = r#"{"typeWebhook":"stateInstanceChanged","instanceData":{"idInstance":1}}"#;
        let headers = [("Authorization", token.as_str())];
        let answer = self.client.ask("POST", &path, &headers, body, Duration::from_secs(1)).await;
        answer.is_ok_and(|answer| answer.status == 200)
    }

    fn has_ended(&self) -> bool {
        lock(&self.child).as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// Sends it a signal, if it runs.
    pub(super) fn signal(&self, signal: Signal) {
        let mut child = lock(&self.child);
        if let Some(child) = child.as_mut()
            && matches!(child.try_wait(), Ok(None))
        {
            // It fails only for a process that has just ended.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Kills it.
    pub(super) fn kill(&self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        if let Some(mut child) = lock(&self.child).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to end, and waits for it.
    pub(super) async fn end(&self) -> Result<()> {
        self.is_wanted.store(false, Ordering::Relaxed);
        self.signal(Signal::TERM);
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > END_LIMIT {
                self.kill();
                bail!("instance {} did not end within {} s", self.name, END_LIMIT.as_secs());
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.kill();
    }
}
