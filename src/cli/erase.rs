//! `baton erase`: a person is removed from a channel, for good. Also while the server is running.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::bail;
use serde_json::json;
use uuid::Uuid;

use super::{
    mode::Chat,
    password::read_line,
    print::{self, Format},
};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{chat::ChatId, event::actor},
    flow::{
        archive::Overview,
        back_office::audit::{Audited, Deed},
        forgetting::erasures::Rows,
        ledger::Error,
    },
};

/// Remove a person from a channel, for good: messages, events, drafts, notes, dead letters, all that is kept of them
#[derive(Debug, clap::Args)]
pub(super) struct Erase {
    #[command(flatten)]
    chat: Chat,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    format: Format,
}

impl Erase {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        let found = opened.archive.conversation_of(&self.chat.channel, &self.chat.chat).await?;
        if !self.yes {
            self.ask(found.as_ref()).await?;
        }
        let removed = match &found {
            Some(overview) => self.person(&opened, overview.conversation.id).await?,
            None => self.traces(&opened).await?,
        };
        let elsewhere = self.elsewhere(&opened).await?;
        if found.is_none() && removed.is_empty() {
            let told = also(&self.chat.chat, &elsewhere);
            bail!("there is nothing of {} on channel {}{told}", self.chat.chat, self.chat.channel);
        }
        if self.format.json {
            print::json(&json!({ "rows": removed, "also_on": elsewhere }))?;
        } else {
            let told = also(&self.chat.chat, &elsewhere);
            print::text(&format!(
                "erased on channel {}{told}\n{}",
                self.chat.channel,
                print::counts(&removed)
            ))?;
        }
        Ok(())
    }

    /// Recorded before the rows go: a server continues where this is cut off.
    async fn person(&self, opened: &Opened, conversation: Uuid) -> anyhow::Result<Rows> {
        let closed = match opened.eraser.close(conversation, actor::SHELL).await {
            Err(Error::Gone) => bail!("somebody else has erased {} meanwhile", self.chat.chat),
            closed => closed?,
        };
        let noted = self.note(opened, Some(conversation)).await;
        let removed = opened.eraser.remove(&closed).await?;
        noted.map(|()| removed)
    }

    async fn traces(&self, opened: &Opened) -> anyhow::Result<Rows> {
        let removed = opened.eraser.erase_traces(&self.chat.channel, &self.chat.chat).await?;
        if !removed.is_empty() {
            self.note(opened, None).await?;
        }
        Ok(removed)
    }

    async fn note(&self, opened: &Opened, conversation: Option<Uuid>) -> anyhow::Result<()> {
        let deed = Audited::new(opened.ledger.now().await?, actor::SHELL, Deed::Erased);
        let deed = match conversation {
            Some(conversation) => deed.to(conversation),
            None => deed,
        };
        Ok(opened.audit.note(&deed.with("channel", self.chat.channel.as_str())).await?)
    }

    /// The other channels on which the person has a conversation: each is a business's own, and is erased by itself.
    async fn elsewhere(&self, opened: &Opened) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for channel in opened.registry.channels().await? {
            if channel.name != self.chat.channel
                && opened.archive.conversation_of(&channel.name, &self.chat.chat).await?.is_some()
            {
                found.push(channel.name);
            }
        }
        Ok(found)
    }

    async fn ask(&self, found: Option<&Overview>) -> anyhow::Result<()> {
        if !io::stdin().is_terminal() {
            bail!("not a terminal, so nobody can confirm: add --yes");
        }
        let Chat { chat, channel } = &self.chat;
        let what = match found {
            Some(overview) => match &overview.conversation.contact_name {
                Some(name) => format!("{name} ({chat} on channel {channel})"),
                None => format!("{chat} on channel {channel}"),
            },
            None => format!("{chat}, who has no conversation on channel {channel},"),
        };
        let mut out = io::stderr();
        writeln!(out, "This removes all that is kept of {what}, for good.")?;
        write!(out, "Type {chat} to continue: ")?;
        out.flush()?;
        if read_line().await?.trim() != chat.as_str() {
            bail!("nothing was removed");
        }
        Ok(())
    }
}

/// Where the person is, too, and how they are removed there.
fn also(chat: &ChatId, elsewhere: &[String]) -> String {
    elsewhere.iter().map(|channel| format!("; also there: baton erase {chat} --channel {channel}")).collect()
}
