//! The chore `test`.

use std::{
    process::{Command, ExitCode},
    thread::sleep,
    time::Duration,
};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    cargo::cargo,
    chaos, dashboard, deploy,
    packages::{self, Need},
    programs::Programs,
    servers::{Care, Folder, Postgres, Redis},
    stop::Stop,
};

pub(crate) fn run(mut arguments: Vec<String>) -> Result<ExitCode> {
    let asked = arguments.iter().position(|argument| argument == "--install").map(|at| arguments.remove(at));
    let stop = Stop::listen()?;
    let is_set = |name| std::env::var_os(name).is_some();
    let (has_database, has_redis) = (is_set("TEST_DATABASE_URL"), is_set("TEST_REDIS_URL"));
    packages::find_or_install(&[Need::Browser, Need::Node, Need::Python], asked.is_some())?;
    dashboard::fetch()?;
    // Someone who names tests means others than these.
    if arguments.is_empty() {
        deploy::fetch(asked.is_some())?;
    }
    let programs = match (has_database, has_redis) {
        (true, true) => None,
        _ => Some(Programs::find_or_install(asked.is_some())?),
    };

    // Dropped in the opposite order: the servers first, then the folder under them.
    let folder = Folder::make("test")?;
    let postgres = programs.as_ref().filter(|_| !has_database);
    let postgres =
        postgres.map(|programs| Postgres::start(programs, folder.path(), Care::Fast)).transpose()?;
    let redis = programs.as_ref().filter(|_| !has_redis);
    let redis = redis.map(|programs| Redis::start(programs, folder.path())).transpose()?;
    let mut variables = Vec::new();
    variables.extend(postgres.as_ref().map(|server| ("TEST_DATABASE_URL", server.url())));
    variables.extend(redis.as_ref().map(|server| ("TEST_REDIS_URL", server.url())));
    for (name, url) in &variables {
        eprintln!("{name}={url}");
    }

    let mut failed = Vec::new();
    for (what, mut command) in commands(&arguments)? {
        command.envs(variables.iter().map(|(name, url)| (*name, url.as_str())));
        if stop.is_asked_for() || !passes(&mut command, &stop)? {
            failed.push(what);
        }
    }
    // It needs servers that it may kill. Someone who names tests means others than this one.
    if let Some(programs) = programs.filter(|_| arguments.is_empty() && !has_database && !has_redis)
        && !stop.is_asked_for()
        && !chaos::run_short(&programs, &stop).unwrap_or_else(|error| {
            eprintln!("cargo xtask test: {error:#}");
            false
        })
    {
        failed.push("chaos");
    }
    if stop.is_asked_for() {
        eprintln!("cargo xtask test: stopped");
        return Ok(ExitCode::from(130));
    }
    if arguments.is_empty() && dependencies().is_none() {
        eprintln!(
            "cargo xtask test: licences and sources of dependencies were not looked at: \
             `cargo install cargo-deny --locked` installs what does"
        );
    }
    if failed.is_empty() {
        eprintln!("cargo xtask test: all passed");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("cargo xtask test: FAILED: {}; which ones, is said above", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// What is run, one after another, whatever becomes of the one before.
fn commands(arguments: &[String]) -> Result<Vec<(&'static str, Command)>> {
    let has_nextest = cargo(&["nextest", "--version"]).output().is_ok_and(|output| output.status.success());
    let words: &[&str] =
        if has_nextest { &["nextest", "run", "--workspace"] } else { &["test", "--workspace"] };
    let mut tests = cargo(words);
    if arguments.is_empty() {
        // All of them are wanted: one that fails does not hide the others.
        tests.arg("--no-fail-fast");
    }
    tests.args(arguments);
    let mut commands = vec![("tests", tests)];
    // nextest leaves out the examples in the documentation. Someone who names tests means others than those.
    if has_nextest && arguments.is_empty() {
        commands.push(("examples in the documentation", cargo(&["test", "--workspace", "--doc"])));
    }
    if arguments.is_empty() {
        commands.extend(dashboard::checks()?);
        for (what, chore) in [("the files of deployment", "deploy"), ("the API by its description", "api")] {
            let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
            command.arg(chore);
            commands.push((what, command));
        }
        commands.extend(dependencies());
    }
    Ok(commands)
}

/// Licences and sources of dependencies, as `deny.toml` allows them. Advisories are asked for elsewhere: they come by a network.
fn dependencies() -> Option<(&'static str, Command)> {
    let is_there = cargo(&["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    let words = ["deny", "--all-features", "check", "bans", "licenses", "sources"];
    is_there.then(|| ("dependencies", cargo(&words)))
}

/// Runs it to its end. Told to stop, it is told so too, once: Ctrl-C reaches it by itself, SIGTERM only us.
fn passes(command: &mut Command, stop: &Stop) -> Result<bool> {
    let mut child =
        command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if stop.is_asked_for() && !is_told {
            is_told = true;
            kill_process(Pid::from_child(&child), Signal::TERM)?;
        }
        sleep(Duration::from_millis(50));
    }
}
