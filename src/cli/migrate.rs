//! `baton migrate`: brings the database up to date, and stops.

use super::print;
use crate::{app, config::Settings};

/// Bring the database up to date, and stop
#[derive(Debug, clap::Args)]
pub(super) struct Migrate {}

impl Migrate {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        app::migrate(settings).await?;
        print::text(&format!("{} is up to date", settings.database_url))?;
        Ok(())
    }
}
