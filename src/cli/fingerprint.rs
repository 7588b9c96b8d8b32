//! `baton fingerprint`: what makes a webhook body once only, and whether it was seen.

use std::{io::Read as _, path::PathBuf};

use anyhow::Context as _;
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
        let seen = look(&app::open(settings).await?, &self.channel, &body).await?;
        if self.format.json {
            print::json(&json!({ "fingerprint": fingerprint, "seen": seen.as_bool() }))?;
        } else {
            print::text(&format!("{fingerprint}  {}", seen.as_str()))?;
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

/// Whether a body was taken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// The database has its message.
    Yes,
    /// It has not.
    No,
    /// It holds none: reports are not kept one by one.
    NoMessage,
    /// It cannot be read, and so would be kept as a dead letter.
    Unreadable,
    /// Nothing comes to such a channel.
    NoChannel,
}

impl Seen {
    const fn as_bool(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::NoMessage | Self::Unreadable | Self::NoChannel => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "seen",
            Self::No => "not seen",
            Self::NoMessage => "no message",
            Self::Unreadable => "unreadable",
            Self::NoChannel => "no such channel",
        }
    }
}

async fn look(opened: &Opened, channel: &str, body: &[u8]) -> anyhow::Result<Seen> {
    let Some(gateway) = opened.channels.get(channel) else { return Ok(Seen::NoChannel) };
    let arrival = match gateway.provider.read(body) {
        Ok(
            Incoming::Message(arrival)
            | Incoming::Phone(arrival)
            | Incoming::Echo(arrival)
            | Incoming::OwnSign(arrival, _),
        ) => arrival,
        Ok(_) => return Ok(Seen::NoMessage),
        Err(_) => return Ok(Seen::Unreadable),
    };
    let key = inbox::key_of(&arrival);
    let has = opened.archive.has_message(channel, &arrival.chat, &key).await?;
    Ok(if has { Seen::Yes } else { Seen::No })
}
