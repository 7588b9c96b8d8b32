//! What everything is measured on: servers of its own, durable as in earnest, and the programs to be measured.
//!
//! In: the options. Out: a database for each load, and processes to measure.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use rustix::process::{Pid, Signal};

use super::options::{Options, Store};
use crate::{
    programs::Programs,
    servers::{Care, Folder, Postgres, Recipe, Redis, Server, ask, dying_with_us, start_somewhere},
    stop::Stop,
};

/// With which Baton's API is asked.
pub(super) const API_TOKEN: &str = "bench-api-token-0123456789";
/// What Baton expects of webhooks.
pub(super) const WEBHOOK_TOKEN: &str = "bench-webhook-token-0123456789";

/// Everything that was set up. Dropped in this order: the servers first, then the folder under them.
pub(super) struct Stand {
    pub(super) postgres: Option<Postgres>,
    pub(super) redis: Option<Redis>,
    pub(super) folder: Folder,
    pub(super) programs: Programs,
    pub(super) options: Options,
    pub(super) stop: Stop,
    baton: PathBuf,
    /// A handler with nothing behind it, if there is one beside the baton.
    bare: Option<PathBuf>,
    databases: Cell<usize>,
    sessions: Cell<usize>,
}

/// A database of its own.
pub(super) struct Database {
    pub(super) url: String,
    /// Its name in PostgreSQL.
    pub(super) name: String,
}

impl Stand {
    /// Starts the servers.
    pub(super) fn set_up(
        programs: &Programs,
        options: &Options,
        baton: PathBuf,
        stop: &Stop,
    ) -> Result<Self> {
        let folder = Folder::make("bench")?;
        let is_postgres = options.store == Store::Postgres;
        let postgres =
            is_postgres.then(|| Postgres::start(programs, folder.path(), Care::Measured)).transpose()?;
        let redis = is_postgres.then(|| Redis::start(programs, folder.path())).transpose()?;
        let bare = baton.parent().map(|folder| folder.join("examples/bare")).filter(|file| file.is_file());
        let stand = Self {
            postgres,
            redis,
            folder,
            programs: programs.clone(),
            options: options.clone(),
            stop: stop.clone(),
            baton,
            bare,
            databases: Cell::new(0),
            sessions: Cell::new(0),
        };
        if is_postgres && programs.count_statements() {
            stand.sql("postgres", "create extension pg_stat_statements")?;
        }
        Ok(stand)
    }

    /// An empty one.
    pub(super) fn database(&self) -> Result<Database> {
        let number = self.databases.replace(self.databases.get() + 1);
        let name = format!("bench_{number}");
        let Some(postgres) = &self.postgres else {
            let file = self.folder.path().join(format!("{name}.db"));
            return Ok(Database { url: format!("sqlite://{}", file.display()), name });
        };
        self.sql("postgres", &format!("create database {name}"))?;
        let url = postgres.url();
        let server = url.strip_suffix("postgres").unwrap_or(&url);
        Ok(Database { url: format!("{server}{name}?sslmode=disable"), name })
    }

    /// A number that no session on this stand had before.
    pub(super) fn next_session(&self) -> usize {
        self.sessions.replace(self.sessions.get() + 1)
    }

    /// Those of the servers whose processor time counts.
    pub(super) fn servers(&self) -> Vec<(&'static str, Pid)> {
        let postgres = self.postgres.iter().map(|it| ("postgres", it.server.pid()));
        postgres.chain(self.redis.iter().map(|it| ("redis", it.server.pid()))).collect()
    }

    /// A Baton that serves.
    pub(super) fn start_baton(&self, database: &Database, fakes: u16) -> Result<Server> {
        let settings = self.settings(database, fakes);
        let (baton, folder) = (self.baton.clone(), self.folder.path().to_path_buf());
        self.start("baton", is_ready, move |port| {
            let mut command = dying_with_us(&baton, "KILL");
            command.arg("serve").env_clear().current_dir(&folder);
            command.envs(settings.iter().map(|(name, value)| (*name, value)));
            command.env("BATON_LISTEN", format!("127.0.0.1:{port}"));
            command
        })
    }

    /// Its three ways without Baton: what comes from a contact goes to the model, what the model says to the gateway.
    pub(super) fn start_pass_through(&self, fakes: u16) -> Result<Server> {
        let ourselves = std::env::current_exe()?;
        self.start("pass-through", is_alive, move |port| {
            let mut command = dying_with_us(&ourselves, "KILL");
            command.args(["bench", "pass-through", &port.to_string(), &fakes.to_string()]);
            command
        })
    }

    /// A web server that answers a webhook and does nothing else. None if it was not built.
    pub(super) fn start_bare(&self) -> Result<Option<Server>> {
        let Some(bare) = self.bare.clone() else { return Ok(None) };
        let started = self.start("bare handler", is_alive, move |port| {
            let mut command = dying_with_us(&bare, "KILL");
            command.arg(port.to_string());
            command
        });
        started.map(Some)
    }

    /// Whether there is one.
    pub(super) const fn has_bare(&self) -> bool {
        self.bare.is_some()
    }

    fn start(
        &self,
        name: &'static str,
        answers: fn(u16) -> bool,
        command: impl Fn(u16) -> Command + Send + Sync + 'static,
    ) -> Result<Server> {
        let log = self.folder.path().join(format!("{name}.log"));
        start_somewhere(Recipe { name, goodbye: Signal::TERM, log, answers, command: Box::new(command) })
    }

    /// No waits and no limits of courtesy: what is left is what the machine must do.
    fn settings(&self, database: &Database, fakes: u16) -> Vec<(&'static str, String)> {
        let text = str::to_owned;
        let mut settings = vec![
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("BATON_API_TOKEN", text(API_TOKEN)),
            ("BATON_SECRET_KEY", "5a".repeat(32)),
            ("BATON_DATABASE_URL", database.url.clone()),
            ("BATON_GREEN_API_URL", format!("http://127.0.0.1:{fakes}")),
            ("BATON_GREEN_API_INSTANCE", super::fakes::ACCOUNT.to_string()),
            ("BATON_GREEN_API_TOKEN", text("bench-gateway-token")),
            ("BATON_GREEN_API_WEBHOOK_TOKEN", text(WEBHOOK_TOKEN)),
            ("BATON_AI_BASE_URL", format!("http://127.0.0.1:{fakes}/v1")),
            ("BATON_AI_API_KEY", text("bench")),
            ("BATON_AI_MODEL", text("fake")),
            ("BATON_BURST", text("queue")),
            ("BATON_TYPING_MS_PER_CHAR", text("0")),
            ("BATON_TYPING_JITTER_MS", text("0")),
            ("BATON_TYPING_MAX_MS", text("0")),
            ("BATON_SPLIT_CHARS", text("0")),
            ("BATON_SEND_INTERVAL_MS", text("0")),
            ("BATON_SEND_IN_FLIGHT", text("20000")),
            ("BATON_AI_CONCURRENCY", text("20000")),
            ("BATON_REPLY_CAP", text("1000000")),
            ("BATON_LOG", text("warn")),
        ];
        settings.extend(self.redis.as_ref().map(|redis| ("BATON_REDIS_URL", redis.url())));
        settings
    }
}

/// The end of what a process of ours said.
pub(super) fn last_words(folder: &Path, name: &str) -> String {
    crate::servers::last_words(&folder.join(format!("{name}.log")))
}

fn is_ready(port: u16) -> bool {
    let mut answer = [0; 12];
    let question = b"GET /readyz HTTP/1.1\r\nHost: baton\r\nConnection: close\r\n\r\n";
    ask(port, question, &mut answer).is_ok() && answer == *b"HTTP/1.1 200"
}

fn is_alive(port: u16) -> bool {
    let mut answer = [0; 4];
    let question = b"GET / HTTP/1.1\r\nHost: baton\r\nConnection: close\r\n\r\n";
    ask(port, question, &mut answer).is_ok() && answer == *b"HTTP"
}
