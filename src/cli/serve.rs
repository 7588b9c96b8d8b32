//! `baton serve`: the server, until it is stopped.

use crate::{app, config::Settings};

/// The server: webhooks, API, workers, scheduler
///
/// Migrates its database at the start. With nothing set it keeps its data in ./baton.db and has no channel and no AI:
/// set BATON_GREEN_API_INSTANCE and what belongs to it to connect a number, or add channels by the API.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// Refuse to start if the database is not up to date, instead of migrating it
    #[arg(long)]
    no_migrate: bool,
}

impl Serve {
    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        for warning in settings.warnings() {
            tracing::warn!("{warning}");
        }
        app::serve(settings, !self.no_migrate).await
    }
}
