//! What can be said of each setting by its key. Everything follows from the table in `settings`.

use std::{any::TypeId, sync::LazyLock};

use clap::{
    Arg, Args as _, Command,
    error::{ContextKind, ContextValue},
};

use super::{
    secrets::{Location, Passphrase, Secret, SecretKeys, Secrets},
    settings::{HEADINGS, Settings},
    sources::variable,
};

/// The flags of all settings, in the order of the table, with their variables in the help.
pub fn arguments() -> Vec<Arg> {
    let table = Settings::augment_args(Command::new("settings"));
    let mut heading = "";
    let argument = |argument: &Arg| {
        let key = argument.get_id().as_str();
        if let Some((_, next)) = HEADINGS.iter().find(|(first, _)| *first == key) {
            heading = next;
        }
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let or_file = if is_a_secret(argument) { ", or its _FILE" } else { "" };
        argument.clone().help(format!("{help} [env: {}{or_file}]", variable(key))).help_heading(heading)
    };
    table.get_arguments().map(argument).collect()
}

static TABLE: LazyLock<Command> = LazyLock::new(|| Settings::augment_args(Command::new("settings")));

/// Types of which nothing is shown. That a setting is a secret follows from its type: none can be forgotten in a list.
const SECRETS: &[TypeId] = &[
    TypeId::of::<Secret>(),
    TypeId::of::<Secrets>(),
    TypeId::of::<SecretKeys>(),
    TypeId::of::<Passphrase>(),
    TypeId::of::<Location>(),
];

fn is_a_secret(argument: &Arg) -> bool {
    let id = argument.get_value_parser().type_id();
    SECRETS.iter().any(|of| id == *of)
}

fn find(key: &str) -> Option<&'static Arg> {
    TABLE.get_arguments().find(|argument| argument.get_id() == key)
}

/// Every key, in the order of the table.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    TABLE.get_arguments().map(|argument| argument.get_id().as_str())
}

/// Whether there is such a setting.
pub(super) fn known(key: &str) -> bool {
    find(key).is_some()
}

/// The setting that was perhaps meant, as for a misspelt flag.
pub(super) fn like(key: &str) -> Option<String> {
    let flag = format!("--{}", key.replace('_', "-"));
    let refused = TABLE.clone().no_binary_name(true).try_get_matches_from([flag]).err()?;
    match refused.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => Some(flag.trim_start_matches('-').replace('-', "_")),
        _ => None,
    }
}

/// What holds if nobody says anything.
pub(super) fn default(key: &str) -> Option<String> {
    let values = find(key)?.get_default_values();
    values.first()?.to_str().map(str::to_owned)
}

/// Whether it may be kept in a file of its own, and is never shown whole.
pub(super) fn is_secret(key: &str) -> bool {
    find(key).is_some_and(is_a_secret)
}
