//! Rules: what a person says, and notes to themselves; the same request twice says it once.
//!
//! In: words, and the key a request may be repeated under. Out: messages owed, a note, or what was made before.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    BATCH_MAX, Idempotency, NewMessage, Posted, REMEMBERED_MS, Refusal, TEXT_MAX, Who, invalid,
    refuse_unaddressed,
};
use crate::{
    domain::{
        docket::{Docket, Entry, Remembered},
        enclosure::{CAPTION_MAX, Enclosure},
        event::EventType,
        lane::Lane,
        message::{Author, Gate, Kind, Message, Quoted},
        mode::{Mode, Reason},
        pacing,
        policy::Policy,
    },
    flow::{
        conversations::{self, By},
        merge, mode_switch,
        outbox::{self, Owed},
        reconcile,
    },
};

impl Posted {
    /// Nothing was said now: it was before.
    pub(super) const fn nothing_new(conversation: Uuid) -> Self {
        Self { conversation, messages: Vec::new(), takeover: None }
    }

    pub(super) fn ids(&self) -> Vec<Uuid> {
        self.messages.iter().map(|message| message.id).collect()
    }
}

pub(super) fn check(words: &[NewMessage]) -> Result<(), Refusal> {
    if words.is_empty() || words.len() > BATCH_MAX {
        return Err(invalid("/messages", format!("1 to {BATCH_MAX} messages")));
    }
    for words in words {
        let length = words.text.chars().count();
        match &words.enclosure {
            Some(_) if length > CAPTION_MAX => {
                return Err(invalid(
                    format!("{}/caption", words.at),
                    format!("at most {CAPTION_MAX} characters"),
                ));
            }
            None if words.text.trim().is_empty() || length > TEXT_MAX => {
                return Err(invalid(format!("{}/text", words.at), format!("1 to {TEXT_MAX} characters")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A person writes: takeover, then their words in order. A repeat under the same key makes nothing, and takes over nothing.
pub(in crate::flow) fn say(
    docket: &mut Docket,
    policy: &Policy,
    words: &[NewMessage],
    who: &Who,
    idempotency: &Idempotency,
) -> Result<(Posted, Option<Vec<Uuid>>), Refusal> {
    if let Some(ids) = made_before(docket, idempotency)? {
        return Ok((Posted::nothing_new(docket.conversation.id), Some(ids)));
    }
    // Before anything changes: a refusal leaves everything as it was.
    refuse_unaddressed(&docket.conversation.chat)?;
    let resolved = words.iter().map(|words| {
        let quoted = quote(docket, words)?;
        Ok(ResolvedMessage { text: words.text.clone(), quoted, enclosure: words.enclosure.clone() })
    });
    let resolved = resolved.collect::<Result<Vec<_>, Refusal>>()?;
    let said = speak(docket, policy, resolved, who, Reason::AgentMessage);
    remember(docket, idempotency, &said.ids());
    Ok((said, None))
}

/// What is said, with what it answers found.
pub(super) struct ResolvedMessage {
    /// The words, or what stands under the file.
    pub(super) text: String,
    /// What they answer.
    pub(super) quoted: Option<Quoted>,
    /// The file.
    pub(super) enclosure: Option<Enclosure>,
}

/// The takeover, for that reason where the mode changes, and the words in order.
pub(super) fn speak(
    docket: &mut Docket,
    policy: &Policy,
    resolved: Vec<ResolvedMessage>,
    who: &Who,
    reason: Reason,
) -> Posted {
    let was_ai = docket.conversation.mode.mode == Mode::Ai;
    let by = By { agent: who.agent, ..By::of(reason, &who.actor) };
    let switched = conversations::cause(docket, policy, by).unwrap_or_default();
    let mut ids = Vec::new();
    for ResolvedMessage { text, quoted, enclosure } in resolved {
        let parts = match enclosure {
            // What stands under a file is never cut.
            Some(_) => vec![text],
            None => pacing::split(&text, 0, 1, policy.message_max_chars),
        };
        let owed = Owed {
            author: Author::Agent,
            origin: who.origin,
            gate: Gate::Person,
            lane: Lane::Human,
            agent: who.agent,
            turn: None,
            quoted,
            enclosure,
            typing_ms: Vec::new(),
        };
        ids.extend(outbox::owe(docket, &parts, &owed, &who.actor));
    }
    reconcile::a_person_wrote(docket, policy, &who.actor);
    let has_stopped = switched.changed || switched.parts_discarded > 0 || switched.generation_ms.is_some();
    let takeover = (was_ai || has_stopped).then(|| mode_switch::receipt(docket, &switched, false));
    let messages = ids.iter().filter_map(|id| docket.message(*id).cloned()).collect();
    Posted { conversation: docket.conversation.id, messages, takeover }
}

/// What an earlier request under the same key made; refused if that was another request.
pub(super) fn made_before(docket: &Docket, idempotency: &Idempotency) -> Result<Option<Vec<Uuid>>, Refusal> {
    let Some(before) = &docket.remembered else { return Ok(None) };
    if docket.now.since(before.at) >= REMEMBERED_MS {
        return Ok(None);
    }
    if before.body_hash != idempotency.body_hash {
        return Err(Refusal::KeyReused);
    }
    Ok(Some(ids_of(&before.answer)))
}

pub(super) fn remember(docket: &mut Docket, idempotency: &Idempotency, ids: &[Uuid]) {
    if let Some(first) = ids.first() {
        docket.remember(Remembered {
            key: idempotency.key.clone(),
            body_hash: idempotency.body_hash.clone(),
            message: *first,
            answer: json!(ids.iter().map(Uuid::to_string).collect::<Vec<_>>()),
            at: docket.now,
        });
    }
}

pub(super) fn ids_of(answer: &Value) -> Vec<Uuid> {
    answer.as_array().into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok()).collect()
}

fn quote(docket: &Docket, words: &NewMessage) -> Result<Option<Quoted>, Refusal> {
    let Some(id) = words.quoted else { return Ok(None) };
    let unknown = || {
        let pointer = format!("{}/quoted_message_id", words.at);
        invalid(pointer, "no message of this conversation that the provider knows".to_owned())
    };
    let message = docket.message(id).ok_or_else(unknown)?;
    let provider_message_id = message.provider_message_id.clone().ok_or_else(unknown)?;
    Ok(Some(Quoted { provider_message_id, text: message.text.chars().take(300).collect() }))
}

/// Puts a private note into the conversation.
pub(in crate::flow) fn keep_note(docket: &mut Docket, text: &str, who: &Who) -> Uuid {
    if docket.is_new() {
        merge::ask_once(docket);
    }
    let last_message_at = docket.conversation.last_message_at;
    let id = docket.push(Message {
        agent: who.agent,
        ..Message::of(Author::Agent, who.origin, Kind::Note, text.to_owned())
    });
    // A note is not a message to or from the contact.
    docket.conversation.last_message_at = last_message_at;
    docket.record(Entry::of(EventType::NoteAdded).by(&who.actor).message(id));
    id
}
