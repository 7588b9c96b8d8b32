//! The wiring: WIP placeholder, replaced where the parts come together.

use std::sync::Arc;

use crate::{
    config::Settings,
    flow::{
        archive::Archive, channels::Channels, desk::Desk, ledger::Ledger, mode_switch::ModeSwitch,
        registry::Registry,
    },
};

/// What a command beside the server works with.
pub struct Opened {
    /// Where conversations are changed.
    pub ledger: Arc<dyn Ledger>,
    /// Where they are read.
    pub archive: Arc<dyn Archive>,
    /// Channels and tokens.
    pub registry: Arc<dyn Registry>,
    /// The lock in Redis, if there is one.
    pub lock: Option<execution::redis_lock::Lock>,
    /// The rules and gateways.
    pub channels: Arc<Channels>,
    /// Who answers.
    pub switch: Arc<ModeSwitch>,
    /// What a person does.
    pub desk: Desk,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Right,
    /// Allowed, but somebody should know.
    Odd,
    /// Something will not work.
    Wrong,
}

/// One thing that `check` looked at.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What.
    pub subject: &'static str,
    /// Whether it is as it should be.
    pub standing: Standing,
    /// How it is.
    pub detail: String,
    /// How to mend it.
    pub remedy: Option<String>,
}

/// Opens the stores.
pub async fn open(_settings: &Settings) -> anyhow::Result<Opened> {
    anyhow::bail!("not wired")
}

/// The server.
pub async fn serve(_settings: Settings, _migrate: bool) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// The play.
pub async fn demo(_settings: Settings) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// Migrates.
pub async fn migrate(_settings: &Settings) -> anyhow::Result<()> {
    anyhow::bail!("not wired")
}

/// Looks at everything.
pub async fn check(_settings: &Settings) -> Vec<Finding> {
    Vec::new()
}

/// The fingerprint of a webhook body.
pub fn fingerprint(_channel: &str, _body: &[u8]) -> Option<String> {
    None
}

/// The API's description.
pub fn openapi() -> anyhow::Result<String> {
    anyhow::bail!("not wired")
}
