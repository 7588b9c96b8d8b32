//! `baton retention run`: what is older than allowed is removed now. Also while the server is running.

use anyhow::bail;
use serde_json::json;

use super::print::{self, Format};
use crate::{app, config::Settings};

/// Remove what is older than allowed
#[derive(Debug, clap::Subcommand)]
pub(super) enum Retention {
    /// Remove what is older than BATON_RETENTION_DAYS now, as the server does every hour
    Run {
        /// Only count what would be removed
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        format: Format,
    },
}

impl Retention {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Run { dry_run, format } = self;
        if settings.retention_days == 0 {
            bail!("everything is kept: set BATON_RETENTION_DAYS, or add --retention-days");
        }
        let opened = app::open(settings).await?;
        let rows = if dry_run { opened.retention.count().await? } else { opened.retention.run().await? };
        if format.json {
            let what = if dry_run { "would_remove" } else { "removed" };
            print::json(&json!({ "days": settings.retention_days, what: rows }))?;
        } else {
            print::text(&print::counts(&rows))?;
        }
        Ok(())
    }
}
