//! Reads what is posted to the sandbox's own door: `{"chat_id","name"?,"text","id"?,"kind"?}`. Out: an arrival as the
//! real gateway's would be, and the words as the contact typed them.

use execution::deduplicate_webhook::fingerprint;
use serde::Deserialize;

use crate::{
    domain::{
        chat::{ChatId, ChatKind},
        message::{Kind, OutcomeReason},
        time::Time,
    },
    flow::provider::{Arrival, SANDBOX, Unreadable},
};

/// Longest text, name and id taken, in characters.
const TEXT_MAX: usize = 65_536;
const NAME_MAX: usize = 256;

#[derive(Deserialize)]
struct Posted {
    chat_id: String,
    name: Option<String>,
    text: String,
    id: Option<String>,
    kind: Option<String>,
}

/// Reads one message. Without an id it is a new one each time: the same words typed twice were said twice.
pub(super) fn read(
    body: &[u8],
    now: Time,
    fresh_id: impl FnOnce() -> String,
) -> Result<(Arrival, String), Unreadable> {
    let posted: Posted = serde_json::from_slice(body).map_err(|error| unreadable(&reason(&error)))?;
    let chat =
        ChatId::parse(&posted.chat_id).ok_or_else(|| unreadable("chat_id is none, e.g. 6580000001@c.us"))?;
    let kind = match posted.kind.as_deref() {
        None | Some("") => Kind::Text,
        Some(kind) => {
            kind.parse().ok().filter(|kind| *kind != Kind::Note).ok_or_else(|| unreadable("unknown kind"))?
        }
    };
    let words = clean(&posted.text, TEXT_MAX);
    let id =
        posted.id.map(|id| clean(id.trim(), NAME_MAX)).filter(|id| !id.is_empty()).unwrap_or_else(fresh_id);
    let name = posted.name.map(|name| clean(name.trim(), NAME_MAX)).filter(|name| !name.is_empty());
    let inert = inert(&chat, kind, &words);
    let arrival = Arrival {
        fingerprint: fingerprint(&[SANDBOX, chat.as_str(), &id]),
        contact_name: name,
        kind,
        inert,
        is_unreadable: inert.is_none()
            && matches!(kind, Kind::Voice | Kind::Audio)
            && words.trim().is_empty(),
        ..Arrival::plain(&chat, &id, described(kind, &words), now)
    };
    Ok((arrival, words))
}

/// What starts no turn by itself.
fn inert(chat: &ChatId, kind: Kind, words: &str) -> Option<OutcomeReason> {
    match kind {
        _ if matches!(chat.kind(), ChatKind::Broadcast | ChatKind::Newsletter) => Some(OutcomeReason::Story),
        Kind::Reaction => Some(OutcomeReason::Reaction),
        Kind::Sticker => Some(OutcomeReason::Sticker),
        Kind::PollVote => Some(OutcomeReason::PollVote),
        Kind::Call => Some(OutcomeReason::Call),
        Kind::Text if words.trim().is_empty() => Some(OutcomeReason::Empty),
        _ => None,
    }
}

/// The text for the model: anything but plain text says what it is.
fn described(kind: Kind, words: &str) -> String {
    let what = match kind {
        Kind::Text => return words.to_owned(),
        Kind::Voice => "voice message",
        other => other.as_str(),
    };
    format!("[{what}] {}", words.trim()).trim_end().to_owned()
}

fn clean(text: &str, max: usize) -> String {
    text.chars().filter(|c| *c != '\0').take(max).collect()
}

/// The reason without the words of the body, which a type error would repeat.
fn reason(error: &serde_json::Error) -> String {
    let place = format!("line {} column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => format!("chat_id and text must be texts, at {place}"),
        _ => format!("not JSON at {place}"),
    }
}

fn unreadable(reason: &str) -> Unreadable {
    Unreadable { reason: reason.to_owned() }
}
