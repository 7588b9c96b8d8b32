//! Which Baton is judged, and where it is.

use std::{path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;

/// Which one. Built as something is that has been built before, wherever that can be: a build takes minutes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binary {
    /// As `cargo build` makes it.
    Plain,
    /// As `cargo build --release` makes it.
    Optimised,
    /// As the tests make it, whose dependencies have features of their own.
    Tests,
    /// One that is there.
    At(PathBuf),
}

impl Binary {
    /// Builds it, and says where it is.
    pub(crate) fn find(&self) -> Result<PathBuf> {
        match self {
            Self::Plain => build(&["build", "--bin", "baton"]),
            Self::Optimised => build(&["build", "--bin", "baton", "--release"]),
            Self::Tests => build(&["test", "--workspace", "--no-run"]),
            Self::At(path) => path.canonicalize().with_context(|| format!("cannot find {}", path.display())),
        }
    }
}

fn build(words: &[&str]) -> Result<PathBuf> {
    let mut command = cargo(words);
    command.args(["--message-format", "json-render-diagnostics"]);
    let built = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !built.status.success() {
        bail!("baton cannot be built");
    }
    let said = String::from_utf8_lossy(&built.stdout);
    let artifacts = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_ours = |it: &Value| {
        it["target"]["name"] == "baton" && it["target"]["kind"][0] == "bin" && it["profile"]["test"] == false
    };
    let found =
        artifacts.filter(is_ours).filter_map(|it| it["executable"].as_str().map(PathBuf::from)).next_back();
    found.context("cargo does not say where baton is")
}

/// Builds an example for speed.
pub(crate) fn example(name: &str) -> Result<()> {
    let built =
        cargo(&["build", "--quiet", "--release", "--example", name]).status().context("cannot run cargo")?;
    if !built.success() {
        bail!("the example {name} cannot be built");
    }
    Ok(())
}
