//! `baton fingerprint`: what makes a webhook body once only, and whether it was seen.

use std::{io::Read as _, path::PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use super::print::{self, Format};
use crate::{
    app::{self, Opened},
    config::Settings,
    flow::{inbox, provider::Incoming},
};

/// The fingerprint of a webhook body, and whether it was seen
#[derive(Debug, clap::Args)]
pub(super) struct Fingerprint {
    /// A file with the body; `-` reads it from standard input
    file: PathBuf,
    /// The channel it came to
    #[arg(long, value_name = "NAME", default_value = "default")]
    channel: String,
    #[command(flatten)]
    format: Format,
}

/// No webhook is taken that is longer.
const BODY_MAX_BYTES: u64 = 2 * 1024 * 1024;

impl Fingerprint {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let body = self.body()?;
        let fingerprint = app::fingerprint(&self.channel, &body).context("the body is not JSON")?;
        let seen = seen(&app::open(settings).await?, &self.channel, &body).await?;
        if self.format.json {
            print::json(&json!({ "fingerprint": fingerprint, "seen": seen }))?;
        } else {
            let seen = match seen {
                Some(true) => "seen",
                Some(false) => "not seen",
                None => "no message",
            };
            print::text(&format!("{fingerprint}  {seen}"))?;
        }
        Ok(())
    }

    fn body(&self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        let read = if self.file.as_os_str() == "-" {
            std::io::stdin().take(BODY_MAX_BYTES).read_to_end(&mut body)
        } else {
            std::fs::File::open(&self.file).and_then(|file| file.take(BODY_MAX_BYTES).read_to_end(&mut body))
        };
        read.with_context(|| format!("cannot read {}", self.file.display()))?;
        Ok(body)
    }
}

/// Whether the database has the message that a body holds. None if it holds none: reports are not kept one by one.
async fn seen(opened: &Opened, channel: &str, body: &[u8]) -> anyhow::Result<Option<bool>> {
    let gateway = opened.channels.get(channel).with_context(|| format!("there is no channel {channel}"))?;
    match gateway.provider.read(body) {
        Ok(Incoming::Message(arrival) | Incoming::Phone(arrival) | Incoming::Echo(arrival)) => {
            let key = inbox::key_of(&arrival);
            Ok(Some(opened.archive.has_message(channel, &arrival.chat, &key).await?))
        }
        Ok(_) => Ok(None),
        Err(unreadable) => bail!("the body cannot be read: {}", unreadable.reason),
    }
}
