//! The command line: which command, with which settings.
//!
//! In: arguments, environment, a settings file. Out: a command that runs; exit code 0 done, 1 failed, 2 wrong usage.

mod print;

mod serve;

mod demo;

mod migrate;

mod check;

mod connect;

mod mode;

mod lock;

mod fingerprint;

mod dead_letters;

mod erase;

mod retention;

mod agent;

mod password;

mod token;

mod backup;

mod restore;

mod secret_key;

mod mcp;

mod openapi;

mod simulator;

use std::{io, path::PathBuf, process::ExitCode, thread::available_parallelism, time::Duration};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{
    app,
    config::{self, Settings, Source, Wrong},
    domain::time::Time,
    telemetry,
};

/// Stands between a business's WhatsApp number and its AI, and never lets the two talk over a person.
#[derive(Debug, Parser)]
#[command(name = "baton", version, help_template = ROOT_HELP, disable_help_subcommand = true)]
pub struct Cli {
    /// Settings file [env: BATON_CONFIG] [default: ./baton.toml, if it is there]
    #[arg(long, value_name = "FILE", global = true, help_heading = "Settings")]
    config: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

/// How long what is still on its way when a command is done may take.
const LAST_MOMENT: Duration = Duration::from_secs(1);

const ROOT_HELP: &str = "\
{about}

{usage-heading} {usage}

Commands:
{subcommands}

Every command takes the same settings, as flags, variables or keys of baton.toml: `baton serve --help` lists them.
`baton --version` prints the version.
";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Migrate(migrate::Migrate),
    Check(check::Check),
    Connect(connect::Connect),
    #[command(subcommand)]
    Mode(mode::Mode),
    #[command(subcommand)]
    Lock(lock::Lock),
    Fingerprint(fingerprint::Fingerprint),
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    Erase(erase::Erase),
    #[command(subcommand)]
    Retention(retention::Retention),
    #[command(subcommand)]
    Agent(agent::Agent),
    #[command(subcommand)]
    Token(token::Token),
    Backup(backup::Backup),
    Restore(restore::Restore),
    #[command(subcommand)]
    SecretKey(secret_key::SecretKey),
    Mcp(mcp::Mcp),
    Openapi(openapi::Openapi),
    Simulator(simulator::Simulator),
}

/// What `-h` shows; `--help` shows every setting.
const MOST_USED: &[&str] = &[
    "listen",
    "api_token",
    "database_url",
    "redis_url",
    "green_api_instance",
    "green_api_token",
    "green_api_webhook_token",
    "ai_base_url",
    "ai_api_key",
    "ai_model",
    "log",
];

impl Cli {
    /// The command line with a flag for each setting, the same for every command.
    pub fn command_with_settings() -> clap::Command {
        let settings = config::arguments().into_iter().map(|argument| {
            let is_most_used = MOST_USED.contains(&argument.get_id().as_str());
            argument.global(true).hide_short_help(!is_most_used)
        });
        Self::command().args(settings)
    }
}

impl Command {
    async fn run(self, settings: Settings) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(command) => command.run(settings).await?,
            Self::Demo(command) => command.run(settings).await?,
            Self::Migrate(command) => command.run(&settings).await?,
            Self::Check(command) => return command.run(&settings).await,
            Self::Connect(command) => command.run(&settings).await?,
            Self::Mode(command) => command.run(&settings).await?,
            Self::Lock(command) => command.run(&settings).await?,
            Self::Fingerprint(command) => command.run(&settings).await?,
            Self::DeadLetters(command) => command.run(&settings).await?,
            Self::Erase(command) => command.run(&settings).await?,
            Self::Retention(command) => command.run(&settings).await?,
            Self::Agent(command) => command.run(&settings).await?,
            Self::Token(command) => command.run(&settings).await?,
            Self::Backup(command) => command.run(&settings).await?,
            Self::Restore(command) => command.run(&settings).await?,
            Self::SecretKey(command) => command.run(&settings).await?,
            Self::Mcp(command) => command.run(&settings).await?,
            Self::Openapi(command) => command.run()?,
            Self::Simulator(command) => command.run(&settings).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What `main` does.
pub fn main() -> ExitCode {
    let (command, settings) = match read(std::env::args_os()) {
        Ok(read) => read,
        Err(Refused::Usage(error)) => error.exit(),
        Err(Refused::Setting(wrong)) => {
            eprintln!("baton: {wrong}");
            return ExitCode::from(2);
        }
    };
    match start(command, settings) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print::wrong(&format!("baton: {}", app::with_causes(&error)));
            match error.downcast_ref::<Wrong>() {
                Some(_) => ExitCode::from(2),
                None => ExitCode::FAILURE,
            }
        }
    }
}

/// Why nothing is begun.
#[derive(Debug)]
enum Refused {
    /// The command line; or help was asked for.
    Usage(clap::Error),
    /// A setting.
    Setting(Wrong),
}

fn read(line: impl IntoIterator<Item = std::ffi::OsString>) -> Result<(Command, Settings), Refused> {
    let usage = |error| match config::wrong_flag(&error) {
        Some(wrong) => Refused::Setting(wrong),
        None => Refused::Usage(error),
    };
    let matches = Cli::command_with_settings().try_get_matches_from(line).map_err(usage)?;
    let cli = Cli::from_arg_matches(&matches).map_err(usage)?;
    let settings = Settings::load(&matches, std::env::vars_os()).map_err(Refused::Setting)?;
    Ok((cli.command, settings))
}

fn start(command: Command, settings: Settings) -> anyhow::Result<ExitCode> {
    // Between the lines of an answer, or of the demo's play, only what went wrong belongs, unless more was asked for.
    let is_asked_for = settings.source("log") != Source::Default;
    let is_told = matches!(command, Command::Serve(_)) || is_asked_for;
    let levels = if is_told { settings.log.as_str() } else { "warn" };
    telemetry::start(levels, settings.log_format)?;
    if let (false, Some(unknown)) =
        (matches!(command, Command::Serve(_) | Command::Check(_)), settings.unknown())
    {
        tracing::warn!("{unknown}");
    }
    // The only fault is that one is installed already, and then it is this one: nothing else installs any.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Requests come in on threads of their own, one for each core: with as many again for the flow, work is handed from thread
    // to thread, which costs more than it gains.
    let threads = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let outcome = runtime.block_on(command.run(settings));
    // Whatever has not ended by now had the time for it: nothing keeps the program from ending.
    runtime.shutdown_timeout(LAST_MOMENT);
    outcome
}

/// A moment, as arguments name it.
fn to_time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| "must be a time such as 2026-12-31T18:00:00Z".to_owned())
}

/// An id, as arguments name it; that command shows them.
fn id_of(shown_by: &'static str) -> impl Fn(&str) -> Result<uuid::Uuid, String> + Clone {
    move |text| uuid::Uuid::try_parse(text).map_err(|_| format!("must be an id, as `{shown_by}` shows it"))
}

/// The reader of our answer has read enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests;
