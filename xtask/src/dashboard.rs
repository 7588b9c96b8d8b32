//! What can be asked of the dashboard's files without a browser: their types, their rules, and whether the vendored file
//! is what the pinned packages make.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::cargo::root;

fn folder() -> PathBuf {
    root().join("dashboard")
}

fn npm(words: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(words).current_dir(folder());
    command
}

/// Fetches the packages that the lock names, unless they are there: the type checker, the bundler, and axe, which the
/// browser's tests use.
pub(crate) fn fetch() -> Result<()> {
    let wanted = folder().join("package-lock.json");
    // npm leaves a copy of what it has installed.
    let here = folder().join("node_modules/.package-lock.json");
    let age = |file: &PathBuf| fs::metadata(file).and_then(|data| data.modified()).ok();
    if age(&here) >= age(&wanted) {
        return Ok(());
    }
    let status = npm(&["ci", "--no-audit", "--no-fund"]).status().context("cannot run npm")?;
    if !status.success() {
        bail!("`npm ci` failed in {}", folder().display());
    }
    Ok(())
}

/// What is run, one after another.
pub(crate) fn checks() -> Result<Vec<(&'static str, Command)>> {
    Ok(vec![
        ("the dashboard's types", npm(&["run", "--silent", "types"])),
        ("the dashboard's vendored file", npm(&["run", "--silent", "vendor:check"])),
        ("the dashboard's rules", rules()?),
    ])
}

/// Each file is named: which folders Node looks through, it has changed its mind about.
fn rules() -> Result<Command> {
    let folder = folder().join("tests");
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.js"));
    files.sort();
    let mut command = Command::new("node");
    command.arg("--test").args(files).current_dir(root());
    Ok(command)
}
