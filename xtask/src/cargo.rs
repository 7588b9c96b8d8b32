//! Cargo, called from here as from a shell.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What cargo tells a program that it runs. Build scripts that look at these would find them changed, and half of all
/// dependencies would be built anew each time that cargo is called here and elsewhere by turns.
const OURS: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];

/// A call of cargo at the root of the project.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let is_ours = name.to_str().is_some_and(|name| OURS.iter().any(|ours| name.starts_with(ours)));
        if is_ours {
            command.env_remove(name);
        }
    }
    command.args(words).current_dir(root());
    command
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
