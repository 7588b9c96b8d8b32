//! `baton mode`: who answers in a conversation, and switching it, from a shell.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::print::{self, Format};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{chat::ChatId, conversation::Conversation, event::actor, mode, time::Time},
    flow::{
        ledger::Key,
        mode_switch::{Receipt, Request},
    },
};

/// Look at or switch who answers in a conversation
#[derive(Debug, clap::Subcommand)]
pub(super) enum Mode {
    /// Who answers, since when, and why
    Get {
        #[command(flatten)]
        chat: Chat,
        #[command(flatten)]
        format: Format,
    },
    /// Switch; waits until nothing of the assistant can leave any more
    Set {
        #[command(flatten)]
        chat: Chat,
        /// AI or HUMAN
        #[arg(value_name = "MODE", ignore_case = true, value_parser = to_mode)]
        to: mode::Mode,
        #[command(flatten)]
        wish: Wish,
        #[command(flatten)]
        format: Format,
    },
}

/// Which conversation.
#[derive(Debug, clap::Args)]
pub(super) struct Chat {
    /// The chat, such as 6580000001@c.us; of a bare number a person's
    #[arg(value_name = "CHAT", value_parser = to_chat)]
    pub(super) chat: ChatId,
    /// On which channel
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) channel: String,
}

/// How to switch.
#[derive(Debug, clap::Args)]
pub(super) struct Wish {
    /// With HUMAN: back to AI then, such as 2026-01-05T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = super::to_time)]
    until: Option<Time>,
    /// With AI: answer at once what is open
    #[arg(long)]
    answer_now: bool,
    /// A word to the assistant for its next answer, kept as a note
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Only if the mode's version is this
    #[arg(long, value_name = "N")]
    expected_version: Option<i64>,
}

impl Mode {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let opened = app::open(settings).await?;
        match self {
            Self::Get { chat, format } => get(&opened, &chat, format).await,
            Self::Set { chat, to, wish, format } => set(&opened, chat, to, wish, format).await,
        }
    }
}

async fn get(opened: &Opened, chat: &Chat, format: Format) -> anyhow::Result<()> {
    let Some(overview) = opened.archive.conversation_of(&chat.channel, &chat.chat).await? else {
        bail!("there is no conversation {} on channel {}", chat.chat, chat.channel);
    };
    let conversation = overview.conversation;
    if format.json {
        print::json(&as_json(&conversation))?;
    } else {
        print::text(&in_words(&conversation))?;
    }
    Ok(())
}

async fn set(opened: &Opened, chat: Chat, to: mode::Mode, wish: Wish, format: Format) -> anyhow::Result<()> {
    let channel = opened
        .channels
        .get(&chat.channel)
        .with_context(|| format!("there is no channel {}", chat.channel))?;
    let opening = Some(channel.opening(&chat.chat));
    let key = Key::Chat { channel: chat.channel, chat: chat.chat, opening };
    let request = Request {
        id: uuid::Uuid::now_v7().to_string(),
        actor: actor::SHELL.to_owned(),
        expected_version: wish.expected_version,
        until: wish.until.map(Some),
        answer_now: wish.answer_now,
        note: wish.note,
        ..Request::default()
    };
    let receipt = opened.switch.switch(key, to, request).await.context("the mode was not switched")?;
    if format.json {
        print::json(&receipt_as_json(&receipt))?;
    } else {
        print::text(&receipt_in_words(&receipt))?;
    }
    if !receipt.settled {
        bail!(
            "not settled: {} may still reach the contact",
            print::count(receipt.in_flight.len(), "message")
        );
    }
    Ok(())
}

fn in_words(conversation: &Conversation) -> String {
    let mode = &conversation.mode;
    let until = mode.until.map(|until| format!(" until {until}")).unwrap_or_default();
    format!(
        "{}{until}  version {}, since {}, {} by {}",
        mode.mode, mode.version, mode.changed_at, mode.reason, mode.actor
    )
}

fn receipt_in_words(receipt: &Receipt) -> String {
    let mut told = vec![in_words(&receipt.conversation)];
    if !receipt.changed {
        told.push("the mode was the same before".to_owned());
    }
    if receipt.generation_cancelled {
        told.push("a generation was stopped".to_owned());
    }
    if receipt.parts_discarded > 0 {
        told.push(format!("{} withdrawn", print::count(receipt.parts_discarded, "message")));
    }
    if receipt.follow_up_cancelled {
        told.push("the follow-up was called off".to_owned());
    }
    if !receipt.at_provider.is_empty() {
        told.push(format!(
            "{} at the provider, beyond recall",
            print::count(receipt.at_provider.len(), "message")
        ));
    }
    if receipt.answering {
        told.push("the assistant answers now".to_owned());
    }
    told.join("\n")
}

fn as_json(conversation: &Conversation) -> Value {
    let mode = &conversation.mode;
    json!({
        "conversation_id": conversation.id.to_string(),
        "channel": conversation.channel,
        "chat_id": conversation.chat.as_str(),
        "mode": mode.mode.as_str(),
        "mode_version": mode.version,
        "mode_reason": mode.reason.as_str(),
        "mode_actor": mode.actor,
        "mode_changed_at": mode.changed_at.to_string(),
        "mode_until": mode.until.map(|until| until.to_string()),
    })
}

fn receipt_as_json(receipt: &Receipt) -> Value {
    let ids = |ids: &[uuid::Uuid]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "conversation_id": receipt.conversation.id.to_string(),
        "mode": receipt.conversation.mode.mode.as_str(),
        "mode_version": receipt.conversation.mode.version,
        "mode_until": receipt.conversation.mode.until.map(|until| until.to_string()),
        "changed": receipt.changed,
        "generation_cancelled": receipt.generation_cancelled,
        "generation_ms": receipt.generation_ms,
        "parts_already_sent": receipt.parts_already_sent,
        "parts_discarded": receipt.parts_discarded,
        "follow_up_cancelled": receipt.follow_up_cancelled,
        "settled": receipt.settled,
        "in_flight": ids(&receipt.in_flight),
        "at_provider": ids(&receipt.at_provider),
        "answering": receipt.answering,
    })
}

fn to_mode(text: &str) -> Result<mode::Mode, String> {
    text.to_ascii_uppercase().parse().map_err(|_| "must be AI or HUMAN".to_owned())
}

fn to_chat(text: &str) -> Result<ChatId, String> {
    let digits = text.trim_start_matches('+');
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let whole = if is_number { format!("{digits}@c.us") } else { text.to_owned() };
    ChatId::parse(&whole).ok_or_else(|| "must be a chat such as 6580000001@c.us".to_owned())
}
