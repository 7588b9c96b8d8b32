//! The chore `chaos`: a whole Baton of three instances under load, whose parts are killed, frozen, cut off and restarted
//! at moments drawn from a seed. The fakes' records and the API are the judge.
//!
//! In: a seed, how many faults and messages, over how long. Out: each fault as it happens, the figures, and the stories of
//! promises that were broken.

mod api;

mod courier;

mod gateway;

mod instance;

mod judge;

mod load;

mod model;

mod options;

mod plan;

mod proxy;

mod records;

mod report;

mod run;

mod strike;

mod told;

use std::process::ExitCode;

use anyhow::Result;

use crate::{programs::Programs, stop::Stop};
use options::Options;

pub(crate) use options::HELP;

/// Runs as the command line says.
pub(crate) fn run(arguments: Vec<String>) -> Result<ExitCode> {
    let Some(options) = Options::read(arguments)? else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let stop = Stop::listen()?;
    let programs = Programs::find_or_install(false)?;
    let is_well = run::run(&programs, &options, &stop)?;
    Ok(match (is_well, stop.is_asked_for()) {
        (true, _) => ExitCode::SUCCESS,
        (false, true) => ExitCode::from(130),
        (false, false) => ExitCode::FAILURE,
    })
}

/// The run that is part of the tests.
pub(crate) fn run_short(programs: &Programs, stop: &Stop) -> Result<bool> {
    run::run(programs, &Options::short(), stop)
}
