//! The chore `deploy`: what lies in `deploy/`, and the files of containers at the root, held against what others say about
//! such files (schemas, Prometheus itself) and against what they speak of (metrics, settings, pages, each other).
//!
//! In: the files. Out: a line on each thing that was looked at, and what is wrong. No engine of containers, no cluster and
//! no network is needed, but once for two packages of Python.

mod tools;

mod schemas;

mod compose;

mod image;

mod kubernetes;

mod observe;

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    cargo::root,
    packages::{self, Need},
};
pub(crate) use tools::{Tools, judged};

pub(crate) const HELP: &str = "\
  deploy  checks the files of containers, of Kubernetes, of systemd, and of monitoring: against their schemas, and against the
          program. Part of `cargo xtask test`. Needs Python and promtool (`--install` installs them); kubectl,
          systemd-analyze and caddy are asked too where they are
";

/// What was found wrong, each in a line.
pub(crate) type Faults = Vec<String>;

/// One thing that is looked at, and how.
type Look = (&'static str, fn(&Tools) -> Result<Faults>);

const LOOKS: &[Look] = &[
    ("the image", image::look),
    ("the compose file, by its schema", schemas::compose),
    ("the compose file, by our rules", compose::look),
    ("the manifests, by their schemas", schemas::manifests),
    ("the manifests, by our rules", kubernetes::look),
    ("the manifests, as kubectl renders them", schemas::rendered),
    ("the alerts, by promtool", observe::by_promtool),
    ("the alerts, their tests and their pages", observe::look),
    ("the dashboard", observe::dashboard),
    ("the unit, by systemd", schemas::unit),
    ("the proxy, by caddy", schemas::proxy),
];

/// Runs as the command line says.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    fetch(arguments.iter().any(|argument| argument == "--install"))?;
    let tools = Tools::ready(&root())?;
    let mut is_well = true;
    for (what, look) in LOOKS {
        let faults = look(&tools)?;
        println!("{} {what}", if faults.is_empty() { "ok   " } else { "WRONG" });
        is_well &= faults.is_empty();
        for fault in faults {
            println!("      {fault}");
        }
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Has at hand what is needed. What is there already is not asked for again.
pub(crate) fn fetch(is_asked_for: bool) -> Result<()> {
    packages::find_or_install(&[Need::Python, Need::Prometheus], is_asked_for)?;
    Tools::ready(&root()).map(drop)
}
