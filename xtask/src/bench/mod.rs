//! The chore `bench`: one real Baton under loads, on servers that are durable as in earnest, and beside each load what
//! the machine can do without it. Two such runs can be compared.
//!
//! In: which loads, and where to write. Out: a table and JSON; failure if anything was lost, doubled or out of order.

mod options;

mod run;

mod stand;

mod postgres;

mod machine;

mod loads;

mod session;

mod generator;

mod fakes;

mod pass_through;

mod book;

mod judge;

mod figures;

mod report;

mod compare;

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{cargo::cargo, stop::Stop};
use options::Asked;

pub(crate) use options::HELP;

/// Runs as the command line says.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some((name, ports)) = arguments.split_first()
        && name == "pass-through"
    {
        return pass_through::run(ports).map(|()| ExitCode::SUCCESS);
    }
    let options = match Asked::read(arguments)? {
        Asked::Help => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Asked::Compare(first, second) => {
            print!("{}", compare::compare(&first, &second)?);
            return Ok(ExitCode::SUCCESS);
        }
        Asked::Run(options) => options,
    };
    let stop = Stop::listen()?;
    if cfg!(debug_assertions) {
        return run_optimised(arguments);
    }
    let is_well = run::run(&options, &stop)?;
    Ok(match (is_well, stop.is_asked_for()) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::from(130),
        (false, false) => ExitCode::FAILURE,
    })
}

/// Fakes that are slow would be what is measured.
fn run_optimised(arguments: &[String]) -> Result<ExitCode> {
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "xtask", "--", "bench"]);
    // Files are named from where we are, and cargo is called from elsewhere.
    command.args(arguments).current_dir(std::env::current_dir()?);
    let status = command.status().context("cannot run cargo")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
