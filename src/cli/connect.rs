//! `baton connect`: sets an account at Green API up for Baton: its webhook address, token and switches.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    time::Duration,
};

use anyhow::bail;

use super::print;
use crate::{
    app::{self, Arrived, Connection, Proof},
    config::Settings,
};

/// A person needs this long to find the phone and write.
const WAIT: Duration = Duration::from_secs(300);

/// What no setting of the account shows.
const APP: &str = "If the phone has the WhatsApp Business app, switch its greeting and away messages off there: to Baton they are a \
                   person who answers, and the AI is silent in every new conversation.";

/// Set a Green API account's webhook address, token and the switches Baton needs, where they differ
///
/// Shows what it changes and why, and asks first. The account restarts with its new settings, which takes it up to five
/// minutes; then two messages prove that everything arrives, if a server runs: one from any phone, one from the linked one.
#[derive(Debug, clap::Args)]
pub(super) struct Connect {
    /// Only this channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Do not ask, and do not wait for the messages that prove it
    #[arg(long)]
    yes: bool,
}

impl Connect {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        let mut connections = Vec::new();
        for (channel, found) in app::connections(settings, self.channel.as_deref()).await? {
            match found {
                Ok(connection) => {
                    print::text(&told(&connection))?;
                    connections.push(connection);
                }
                Err(error) => fail(&mut failed, &channel, &error),
            }
        }
        let differing: Vec<&Connection> =
            connections.iter().filter(|connection| !connection.differences.is_empty()).collect();
        if !differing.is_empty() {
            if !self.yes && !agrees()? {
                bail!("nothing was changed");
            }
            for connection in differing {
                print::text(&format!("{}: changed; the account restarts", connection.channel))?;
                // What cannot be said any more stops nothing.
                let tell = |standing: &str| drop(print::text(&format!("{}: {standing}", connection.channel)));
                match connection.connect(tell).await {
                    Ok(()) => print::text(&format!("{}: connected", connection.channel))?,
                    Err(error) => fail(&mut failed, &connection.channel, &error),
                }
            }
        }
        if !self.yes && io::stdin().is_terminal() {
            let is_connected = |connection: &&Connection| !failed.contains(&connection.channel);
            for connection in connections.iter().filter(is_connected) {
                prove(settings, &connection.channel).await?;
            }
        }
        if !failed.is_empty() {
            bail!("not connected: {}", failed.join(", "));
        }
        print::text(APP)?;
        Ok(())
    }
}

/// Says why a channel is not connected. The others are, all the same.
fn fail(failed: &mut Vec<String>, channel: &str, error: &anyhow::Error) {
    print::wrong(&format!("channel {channel}: {}", app::with_causes(error)));
    failed.push(channel.to_owned());
}

fn told(connection: &Connection) -> String {
    let head = format!("{}: the account is {}", connection.channel, connection.state);
    if connection.differences.is_empty() {
        return format!("{head}, and set as Baton needs it");
    }
    let rows: Vec<_> = connection
        .differences
        .iter()
        .map(|it| [it.setting.to_owned(), it.is.clone(), it.should_be.clone(), it.why.clone()])
        .collect();
    format!("{head}\n{}", print::table(["SETTING", "IS", "WILL BE", "WHY"], &rows))
}

fn agrees() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("not a terminal, so nobody can confirm: add --yes");
    }
    print!("Change this? The account restarts. [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Two messages, there and back.
async fn prove(settings: &Settings, channel: &str) -> anyhow::Result<()> {
    let proof = Proof::begin(settings, channel).await?;
    let steps = [
        (Arrived::Message, "send *hi* to the number from any other phone", "what customers write arrives"),
        (
            Arrived::PhoneAnswer,
            "answer it once from the linked phone itself",
            "an answer on the phone takes over",
        ),
    ];
    print::text(&format!(
        "\n{channel}: now the proof, while `baton serve` runs. Ctrl+C skips it; nothing is lost."
    ))?;
    for (what, wish, proven) in steps {
        print::text(&format!("  {wish} …"))?;
        if !proof.wait_for(what, WAIT).await? {
            bail!(
                "nothing came within {} minutes. Does `baton serve` run, and is {} reached from outside? `baton check` looks",
                WAIT.as_secs() / 60,
                settings.public_url.as_deref().unwrap_or("its address")
            );
        }
        print::text(&format!("  proven: {proven}"))?;
    }
    Ok(())
}
