//! The chore `api`: sends a Baton what its own description of the API allows, and what it forbids, and holds each answer
//! against what the description says of it. Schemathesis makes the requests up; the same ones each time.
//!
//! In: the program, on a database of its own. Out: 0 if nothing was found.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use rustix::process::Signal;

use crate::{
    binary::Binary,
    cargo::root,
    deploy::{Tools, judged},
    packages::{self, Need},
    servers::{Folder, Recipe, Server, ask, dying_with_us, start_somewhere},
};

pub(crate) const HELP: &str = "\
  api     sends a Baton what `/openapi.json` allows, and what it forbids, and looks at each answer: its status, its headers, its
          fields. Part of `cargo xtask test`. Needs Python (`--install` installs it); what follows goes to Schemathesis
";

/// With which everything is asked: an admin's.
const TOKEN: &str = "a-token-of-the-tests-1234";

const HOW: &[&str] = &[
    "--seed=1",
    "--max-examples=20",
    "--continue-on-failure",
    "--request-timeout=20",
    // One that never ends, by design.
    "--exclude-path-regex=/live$",
    // What goes with what a schema cannot say: such a request is refused, though each of its fields is right.
    "--exclude-checks=positive_data_acceptance",
    "--suppress-health-check=all",
    "--warnings=off",
    "--no-color",
];

/// Its own list of how a wrong request may be refused lacks one that is too long to be read.
const REFUSED: &str = "[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, \"5xx\"]
";

/// Runs as the command line says.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    packages::find_or_install(&[Need::Python], arguments.iter().any(|argument| argument == "--install"))?;
    let tools = Tools::ready(&root())?;
    let folder = Folder::make("api")?;
    std::fs::write(folder.path().join("schemathesis.toml"), REFUSED)?;
    let baton = start(&Binary::Tests.find()?, folder.path())?;
    let description = format!("http://127.0.0.1:{}/openapi.json", baton.port());
    let mut schemathesis = tools.packaged("schemathesis", &["run", &description]);
    schemathesis.args(["--header", &format!("Authorization: Bearer {TOKEN}")]).args(HOW);
    schemathesis.args(arguments.iter().filter(|argument| *argument != "--install"));
    let faults = judged(schemathesis.current_dir(folder.path()))?;
    if faults.is_empty() {
        println!("ok    the API is as its description says");
        return Ok(ExitCode::SUCCESS);
    }
    println!("WRONG the API is not as its description says:\n{}", faults.join("\n"));
    Ok(ExitCode::FAILURE)
}

/// A Baton with the sandbox and its scripted assistant, as the demo has it.
fn start(program: &Path, folder: &Path) -> Result<Server> {
    let (program, within) = (program.to_owned(), folder.to_owned());
    let command = move |port: u16| {
        let mut command = dying_with_us(&program, "TERM");
        command.args(["serve", "--sandbox", "--ai-provider", "scripted", "--log", "warn"]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]).current_dir(&within).env_clear();
        command.env("BATON_DATABASE_URL", format!("sqlite://{}/api.db", within.display()));
        command.env("BATON_API_TOKEN", TOKEN).env("BATON_SECRET_KEY", "5a".repeat(32));
        command
    };
    let log = folder.join("baton.log");
    let answers = is_ready;
    start_somewhere(Recipe { name: "Baton", goodbye: Signal::TERM, log, answers, command: Box::new(command) })
}

fn is_ready(port: u16) -> bool {
    let mut answer = [0; 12];
    ask(port, b"GET /readyz HTTP/1.0\r\n\r\n", &mut answer).is_ok() && answer.ends_with(b" 200")
}
