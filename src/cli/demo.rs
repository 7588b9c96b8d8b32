//! `baton demo`: a server with a sandbox number, a scripted assistant and contacts who chat.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::token;
use crate::{
    app,
    config::{Settings, Source, Wrong},
};

/// A server with a sandbox number, a scripted assistant and a few contacts who chat
///
/// Needs nothing. Keeps its data in a temporary folder that goes with it, never in ./baton.db, and talks to no number:
/// settings of Green API, database and Redis are ignored. BATON_AI_PROVIDER may name another assistant than the scripted
/// one.
#[derive(Debug, clap::Args)]
pub(super) struct Demo {
    /// Keep the data in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Open the link that signs in, in the browser of this machine
    #[arg(long)]
    open: bool,
}

/// What is set for the real installation and must not be touched by a demonstration.
const NOT_FOR_PLAY: &[&str] = &[
    "public_url",
    "database_url",
    "redis_url",
    "secret_key",
    "green_api_url",
    "green_api_instance",
    "green_api_token",
    "green_api_webhook_token",
];

impl Demo {
    pub(super) async fn run(self, settings: Settings) -> anyhow::Result<()> {
        let is_kept = self.keep.is_some();
        let folder = self
            .keep
            .unwrap_or_else(|| std::env::temp_dir().join(format!("baton-demo-{}", uuid::Uuid::now_v7())));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let outcome = match for_play(settings, &folder) {
            Ok(settings) => app::demo(settings, self.open).await,
            Err(error) => Err(error),
        };
        if !is_kept {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        outcome
    }
}

fn for_play(settings: Settings, folder: &Path) -> anyhow::Result<Settings> {
    let database = format!("sqlite://{}", folder.join("demo.db").display());
    let is_chosen = settings.source("listen") != Source::Default;
    let listen = if is_chosen { settings.listen } else { next_free(settings.listen)? };
    let (token, _) = token::fresh()?;
    let defaults = [
        ("database_url", database.as_str()),
        ("listen", &listen.to_string()),
        ("sandbox", "on"),
        ("ai_provider", "scripted"),
        ("api_token", &token),
    ];
    settings.adjusted(NOT_FOR_PLAY, &defaults).map_err(|wrong: Wrong| wrong.into())
}

/// The address, or the same with the next port that nobody uses.
fn next_free(wanted: SocketAddr) -> anyhow::Result<SocketAddr> {
    for port in wanted.port()..=wanted.port().saturating_add(100) {
        let address = SocketAddr::new(wanted.ip(), port);
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).with_context(|| format!("cannot listen on {address}")),
        }
    }
    bail!("no port from {} on is free for a hundred ports; choose one with --listen", wanted.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_passed_over() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let wanted = taken.local_addr().expect("an address");
        let found = next_free(wanted).expect("another port");
        assert!(found.port() > wanted.port() && found.ip() == wanted.ip());
    }

    #[test]
    fn a_play_touches_nothing_real_and_leaves_the_rest_as_set() {
        let real = [
            ("database_url", "sqlite://baton.db"),
            ("redis_url", "redis://real"),
            ("green_api_instance", "7103000001"),
            ("green_api_token", "real"),
            ("public_url", "https://real.example"),
            ("burst", "queue"),
            ("listen", "127.0.0.1:0"),
        ];
        let settings = Settings::default().adjusted(&[], &real).expect("right");
        let play = for_play(settings, Path::new("/tmp/play")).expect("right");
        assert_eq!(play.database_url.to_string(), "sqlite:///tmp/play/demo.db");
        assert!(
            play.redis_url.is_none() && play.green_api_instance.is_none() && play.green_api_token.is_none()
        );
        assert_eq!(play.public_url, None, "links lead here");
        assert!(play.sandbox && play.api_token.is_some());
        assert_eq!(play.burst, crate::domain::policy::BurstPolicy::Queue);
    }
}
