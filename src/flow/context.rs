//! Place: what the model reads. The conversation so far, a colleague's note, then the messages of this turn, each its own.

use std::sync::Arc;

use super::{
    archive::Archive,
    channels::Channel,
    generator::{About, Line, Offer, Request},
    inbox::Begun,
    ledger::Error,
};
use crate::domain::{
    message::{Author, Kind, Message},
    turn::Purpose,
};

/// What is asked of it where a person answers.
const SUGGEST: &str = "A colleague answers this contact now. Suggest what they could write next: only the words of that message.";

/// What the model is asked: what was said before, then the messages of this turn, each its own.
pub(super) async fn request(
    archive: &dyn Archive,
    channel: &Channel,
    begun: &mut Begun,
) -> Result<Request, Error> {
    let limit = channel.policy.ai_history + begun.burst.len();
    let history = match begun.said.take() {
        Some(said) => said,
        None => archive.history(begun.conversation, begun.history_to, limit).await?,
    };
    let of_this_turn = |message: &Message| begun.burst.iter().any(|other| other.id == message.id);
    let mut lines: Vec<Line> = history
        .iter()
        .filter(|message| !of_this_turn(message) && !message.waits())
        .filter_map(line_of)
        .collect();
    lines.drain(..lines.len().saturating_sub(channel.policy.ai_history));
    if let Some(note) = &begun.note {
        lines.push(Line::Instruction(format!("A colleague left this note for you: {note}")));
    }
    lines.extend(begun.burst.iter().filter_map(line_of));
    if begun.turn.purpose == Purpose::Draft {
        // As a note, before what it is for.
        let heard = lines.iter().rposition(|line| !matches!(line, Line::Contact(_))).map_or(0, |at| at + 1);
        lines.insert(heard, Line::Instruction(SUGGEST.to_owned()));
    }
    if begun.turn.purpose == Purpose::FollowUp {
        let wish = begun.instructions.as_deref().unwrap_or("Ask kindly whether help is still wanted.");
        lines.push(Line::Instruction(format!(
            "The contact has been silent since your last message. Write one short follow-up message. {wish}"
        )));
    }
    Ok(Request {
        model: channel.policy.ai_model.clone(),
        system: Arc::clone(&channel.policy.prompt),
        lines,
        tools: offer(channel, begun.turn.purpose),
        channel: channel.name.clone(),
        about: About {
            conversation: begun.conversation,
            chat: begun.chat.to_string(),
            contact_name: begun.contact_name.clone(),
            turn: begun.turn.id,
            purpose: begun.turn.purpose,
        },
    })
}

/// Follow-ups and drafts are words alone.
fn offer(channel: &Channel, purpose: Purpose) -> Offer {
    match purpose {
        Purpose::Reply => Offer::Tools(Arc::clone(&channel.policy.tools)),
        Purpose::FollowUp | Purpose::Draft => Offer::Nothing,
    }
}

/// A message as the model reads it; notes and empty ones are none.
fn line_of(message: &Message) -> Option<Line> {
    if message.kind == Kind::Note || message.deleted_at.is_some() || message.text.trim().is_empty() {
        return None;
    }
    let text = match &message.quoted {
        Some(quoted) if !quoted.text.trim().is_empty() => {
            format!(
                "{} (in reply to: \"{}\")",
                message.text,
                quoted.text.chars().take(300).collect::<String>()
            )
        }
        _ => message.text.clone(),
    };
    Some(match message.author {
        Author::Contact => Line::Contact(text),
        Author::Assistant | Author::System => Line::Assistant(text),
        Author::Agent => Line::Colleague(text),
    })
}
