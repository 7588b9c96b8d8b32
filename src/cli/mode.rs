//! `baton mode`: who answers in a conversation, and switching it, from a shell.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{
    dead_letters::shell,
    print::{self, Format},
};
use crate::{
    app::{self, Opened},
    config::Settings,
    domain::{
        chat::ChatId,
        conversation::Conversation,
        event::actor,
        mode::{self, ModeState, Reason},
        time::Time,
    },
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
        args: SwitchArgs,
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
pub(super) struct SwitchArgs {
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
            Self::Set { chat, to, args, format } => set(&opened, chat, to, args, format).await,
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

async fn set(
    opened: &Opened,
    chat: Chat,
    to: mode::Mode,
    args: SwitchArgs,
    format: Format,
) -> anyhow::Result<()> {
    let channel = opened
        .channels
        .get(&chat.channel)
        .with_context(|| no_channel(&chat.channel, opened.channels.names()))?;
    let found = opened.archive.conversation_of(&chat.channel, &chat.chat).await?;
    let is_unheard = found.is_none_or(|overview| overview.conversation.seq == 0);
    let opening = Some(channel.opening(&chat.chat));
    let key = Key::Chat { channel: chat.channel, chat: chat.chat, opening };
    let receipt =
        opened.switch.switch(key, to, asked_for(args)).await.context("the mode was not switched")?;
    if format.json {
        print::json(&receipt_as_json(&receipt))?;
    } else {
        print::text(&receipt_in_words(&receipt, is_unheard))?;
    }
    if !receipt.settled {
        bail!(
            "not settled: {} may still reach the contact",
            print::count(receipt.in_flight.len(), "message")
        );
    }
    Ok(())
}

fn asked_for(args: SwitchArgs) -> Request {
    Request {
        id: uuid::Uuid::now_v7().to_string(),
        expected_version: args.expected_version,
        until: args.until.map(Some),
        answer_now: args.answer_now,
        note: args.note,
        ..Request::by(shell())
    }
}

fn in_words(conversation: &Conversation) -> String {
    let mode = &conversation.mode;
    let until = mode.until.map(|until| format!(" until {until}")).unwrap_or_default();
    format!(
        "{}{until}  version {}, since {}, {}{}",
        mode.mode,
        mode.version,
        mode.changed_at,
        why(mode),
        by(&mode.actor)
    )
}

/// Why the mode is what it is, to who reads no code.
fn why(mode: &ModeState) -> &'static str {
    use mode::Mode::{Ai, Human};
    match (mode.reason, mode.mode) {
        (Reason::AgentButton | Reason::Api, Ai | Human) => "switched",
        (Reason::AgentMessage, Ai | Human) => "taken over with a message",
        (Reason::AgentPhone, Ai | Human) => "a person wrote on the phone",
        (Reason::OtherSystem, Ai | Human) => "another program wrote to the contact",
        (Reason::ContactAsked, Ai | Human) => "the contact asked for a person",
        (Reason::AssistantAsked, Ai | Human) => "the assistant handed over",
        (Reason::ReplyCap, Ai | Human) => "too many answers in an hour without a person",
        (Reason::HoldExpired, Ai | Human) => "the time for people was up",
        (Reason::Released, Ai | Human) => "given back",
        (Reason::Rollout, Ai) => "began with the AI",
        (Reason::Rollout, Human) => "began with people",
        (Reason::OptedOut, Ai | Human) => "the contact wants no messages of the machine",
        (Reason::Hours, Ai | Human) => "by the assistant's hours",
        (Reason::DraftSent, Ai | Human) => "a suggestion was sent",
    }
}

/// Who that was, where the reason does not say it.
fn by(who: &str) -> String {
    match who {
        actor::CONTACT | actor::ASSISTANT | actor::PHONE | actor::OTHER_SYSTEM | actor::SYSTEM => {
            String::new()
        }
        actor::SHELL => " from a shell".to_owned(),
        actor::ENVIRONMENT => " by BATON_API_TOKEN".to_owned(),
        who => format!(" by {who}"),
    }
}

fn receipt_in_words(receipt: &Receipt, is_unheard: bool) -> String {
    let mut told = vec![in_words(&receipt.conversation)];
    if is_unheard {
        told.push(format!(
            "this conversation is new: nobody has written from {} yet; if that is mistyped, nothing has changed for whom you meant",
            receipt.conversation.chat
        ));
    }
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

/// There is no channel of that name; which there are.
pub(super) fn no_channel(name: &str, mut known: Vec<String>) -> String {
    known.sort_unstable();
    match known.as_slice() {
        [] => format!("there is no channel {name}, nor any other yet"),
        known => format!("there is no channel {name}: there is {}", known.join(", ")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::message::{Kind, Origin},
        flow::{mode_switch, play::Play},
    };

    #[test]
    fn why_a_mode_is_what_it_is_is_said_in_words() {
        for (mode, reason, who, said) in [
            (mode::Mode::Ai, Reason::Rollout, actor::SYSTEM, "began with the AI"),
            (mode::Mode::Human, Reason::Rollout, actor::SYSTEM, "began with people"),
            (mode::Mode::Human, Reason::AgentButton, actor::SHELL, "switched from a shell"),
            (mode::Mode::Human, Reason::AgentPhone, actor::PHONE, "a person wrote on the phone"),
            (mode::Mode::Ai, Reason::Released, "agent:7", "given back by agent:7"),
        ] {
            let state = ModeState::initial(mode, reason, who, Time(0));
            assert_eq!(format!("{}{}", why(&state), by(&state.actor)), said);
        }
    }

    #[test]
    fn a_note_from_the_shell_does_not_count_as_from_the_dashboard() {
        let mut play = Play::new();
        let note = Some("give her 10 %".to_owned());
        let args = SwitchArgs { until: None, answer_now: false, note, expected_version: None };
        let request = asked_for(args);
        play.step(|docket, policy| mode_switch::apply(docket, policy, mode::Mode::Ai, &request))
            .expect("it can be done");
        let note = play.messages.iter().find(|message| message.kind == Kind::Note).expect("it is kept");
        assert_eq!((note.origin, request.who.actor.as_str()), (Origin::Api, actor::SHELL));
    }
}
