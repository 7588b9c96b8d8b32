//! One run from beginning to end: set up, each load beside the limits of its moment, the table.
//!
//! In: the options. Out: everything printed and written down; whether all that must be zero is.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use super::{
    machine,
    options::Options,
    report::{Report, Section},
    stand::Stand,
};
use crate::{
    binary::{Binary, example},
    programs::Programs,
    stop::Stop,
};

/// Runs, prints, and says whether all is well. What was started is stopped, whatever happens.
pub(super) fn run(options: &Options, stop: &Stop) -> Result<bool> {
    let programs = Programs::find_or_install(false)?;
    let baton = baton(options)?;
    raise_limit_of_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let stand = Stand::set_up(&programs, options, baton, stop)?;
    for missing in machine::what_is_missing(&stand) {
        println!("{missing}");
    }
    let mut report = Report::new(options, commit());
    for load in &options.loads {
        eprintln!("{}…", load.name());
        let limits = runtime.block_on(machine::measure(&stand))?;
        let mut findings =
            runtime.block_on(load.run(&stand)).with_context(|| format!("in the load {}", load.name()))?;
        findings.figures.extend(limits);
        report.sections.push(Section { name: load.name(), findings });
    }
    print!("{}", report.table());
    if let Some(file) = &options.out {
        std::fs::write(file, report.json().to_string() + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(report.is_well())
}

fn baton(options: &Options) -> Result<PathBuf> {
    if let Some(binary) = &options.binary {
        return Binary::At(binary.clone()).find();
    }
    example("bare")?;
    Binary::Optimised.find()
}

/// Each call of the model is a connection. Where more is not allowed, the loads show it.
fn raise_limit_of_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
}

fn commit() -> String {
    let said = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    let said = said.ok().filter(|said| said.status.success());
    said.map_or_else(|| "unknown".to_owned(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
