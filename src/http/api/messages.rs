//! Messages: reading them, sending one as a person, and deciding about those that did not go as they should.

use actix_web::web::{Data, Path};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{Answered, chat_key, key, seen, seen_message, shown as json, told};
use crate::{
    domain::{enclosure::CAPTION_MAX, message},
    flow::{
        archive::Window,
        desk::{BATCH_MAX, NewMessage, Refusal, TEXT_MAX},
        ledger::Key,
    },
    http::{
        answer::Answer,
        auth::Caller,
        doors::Doors,
        problem::Problem,
        read::{self, Form, IdempotencyKey, Json, JsonOrForm, Nothing, Optional, Query},
        wire::{Beside, Id, Message, Messages, Said, SaidAll},
    },
};

/// Which messages: at most one of the four places.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessagesQuery {
    /// Before this sequence number.
    before: Option<i64>,
    /// After it, those that come next. Where it gives as many as `limit`, the next page is `after` the highest `seq` of this one;
    /// with fewer it is the last. `next_cursor` is null.
    after: Option<i64>,
    /// Half of them before it and half after.
    around: Option<i64>,
    /// `next_cursor` of the page before: the same as `before`.
    cursor: Option<String>,
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
}

impl MessagesQuery {
    fn window(&self) -> Result<Window, Problem> {
        match (self.before, self.after, self.around, self.cursor.as_deref()) {
            (None, None, None, None) => Ok(Window::Newest),
            (Some(seq), None, None, None) => Ok(Window::Before(seq)),
            (None, Some(seq), None, None) => Ok(Window::After(seq)),
            (None, None, Some(seq), None) => Ok(Window::Around(seq)),
            (None, None, None, Some(cursor)) => match cursor.parse() {
                Ok(seq) => Ok(Window::Before(seq)),
                Err(_) => Err(Problem::invalid("/cursor", "not a cursor of this list")),
            },
            _ => Err(Problem::malformed("at most one of before, after, around and cursor")),
        }
    }
}

/// Messages of a conversation, newest first.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/messages", tag = "Messages",
    params(("id" = Id, Path,), MessagesQuery), responses((status = 200, body = Messages)))]
pub(crate) async fn list(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    query: Query<MessagesQuery>,
) -> Answered {
    let (window, limit) = (query.0.window()?, read::limit_of(query.0.limit)?);
    seen(&doors, &caller, id.0).await?;
    let names = doors.directory.names().await;
    let found = doors.archive.messages(id.0, window, limit).await?;
    let ids: Vec<Uuid> = found.iter().map(|message| message.id).collect();
    let beside = Beside::of(doors.archive.beside(&ids).await?);
    let items: Vec<Message> =
        found.into_iter().map(|message| Message::of(id.0, message, &names, &beside)).collect();
    let goes_on = match window {
        Window::Newest | Window::Before(_) => items.len() == limit,
        Window::After(_) => false,
        // Fewer may stand after the number than there was room for: what stands before it is what can go on.
        Window::Around(seq) => items.iter().filter(|it| it.seq() <= seq).count() == limit - limit / 2,
    };
    let first = items.last().map(Message::seq).filter(|seq| goes_on && *seq > 1);
    Ok(Answer::ok(&Messages { items, next_cursor: first.map(|seq| seq.to_string()) }))
}

/// One message.
#[utoipa::path(get, path = "/api/v1/messages/{id}", tag = "Messages", params(("id" = Id, Path,)),
    responses((status = 200, body = Message)))]
pub(crate) async fn one(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    let placed = seen_message(&doors, &caller, id.0).await?;
    Ok(Answer::ok(&in_words(&doors, placed.conversation, placed.message).await))
}

/// A text to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saying {
    #[schema(min_length = 1, max_length = 20_000)]
    text: String,
    /// The message it answers.
    quoted_message_id: Option<Id>,
}

impl Saying {
    fn words(self, at: &str) -> Result<NewMessage, Problem> {
        let text = read::text(&format!("{at}/text"), self.text, TEXT_MAX)?;
        let quoted = self.quoted_message_id.map(|id| id.0);
        Ok(NewMessage { quoted, at: at.to_owned(), ..NewMessage::of(text) })
    }
}

/// A file to send.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it describes what `read::Form` reads")]
pub(crate) struct FileToSend {
    /// At most 16 MiB. Its name needs an ending, unless its first bytes tell what it is.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// What stands under it: at most 1024 characters.
    caption: Option<String>,
    /// The message it answers.
    quoted_message_id: Option<Id>,
}

/// Sends a person's message, or a file; takes over. A repeat with the same `Idempotency-Key` answers as the first did.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/messages", tag = "Messages",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body(content((Saying = "application/json"), (FileToSend = "multipart/form-data"))),
    responses((status = 202, body = Said)))]
pub(crate) async fn say(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    once: IdempotencyKey,
    body: JsonOrForm<Saying>,
) -> Answered {
    let key = key(&doors, &caller, id.0).await?;
    said(&doors, &caller, key, once, body).await
}

/// The same by chat, also before its first message: a conversation that a person starts begins in HUMAN.
#[utoipa::path(post, path = "/api/v1/channels/{channel}/chats/{chat_id}/messages", tag = "Messages",
    params(("channel" = String, Path,), ("chat_id" = String, Path,),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body(content((Saying = "application/json"), (FileToSend = "multipart/form-data"))),
    responses((status = 202, body = Said)))]
pub(crate) async fn say_to_chat(
    doors: Data<Doors>,
    caller: Caller,
    path: Path<(String, String)>,
    once: IdempotencyKey,
    body: JsonOrForm<Saying>,
) -> Answered {
    let (channel, chat) = path.into_inner();
    let key = chat_key(&doors, &caller, channel, &chat).await?;
    said(&doors, &caller, key, once, body).await
}

async fn said(
    doors: &Doors,
    caller: &Caller,
    key: Key,
    once: IdempotencyKey,
    body: JsonOrForm<Saying>,
) -> Answered {
    let (once, words) = match body {
        JsonOrForm::Json(body) => (once.of(caller, body.hash()), body.value.words("")?),
        JsonOrForm::Form(form) => (once.of(caller, form.hash()), enclosed(doors, form).await?),
    };
    let words = vec![words];
    match doors.desk.say(key.clone(), words, &caller.who(), once).await {
        Ok(said) => {
            let names = doors.directory.names().await;
            let beside = beside(doors, &said.messages).await;
            Ok(Answer::accepted(&Said::first_of(said, &names, &beside).ok_or_else(Problem::internal)?))
        }
        Err(refusal) => Err(told(doors, &key, refusal).await),
    }
}

/// The file is kept before anything is said.
async fn enclosed(doors: &Doors, form: Form) -> Result<NewMessage, Problem> {
    if form.caption.chars().count() > CAPTION_MAX {
        return Err(Problem::invalid("/caption", format!("must have at most {CAPTION_MAX} characters")));
    }
    let enclosure = doors.desk.enclose(&form.name, &form.called, form.bytes).await?;
    Ok(NewMessage { quoted: form.quoted, enclosure: Some(enclosure), ..NewMessage::of(form.caption) })
}

/// Texts to send, in this order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SayingAll {
    /// 1 to 20.
    messages: Vec<Saying>,
}

/// Sends several, all or none, in order, with one takeover.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/messages/batch", tag = "Messages",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = SayingAll, responses((status = 202, body = SaidAll)))]
pub(crate) async fn say_all(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    once: IdempotencyKey,
    body: Json<SayingAll>,
) -> Answered {
    let once = once.of(&caller, body.hash());
    let messages = body.value.messages;
    if !(1..=BATCH_MAX).contains(&messages.len()) {
        return Err(Problem::invalid("/messages", format!("must be 1 to {BATCH_MAX}")));
    }
    let words = messages.into_iter().enumerate();
    let words =
        words.map(|(at, saying)| saying.words(&format!("/messages/{at}"))).collect::<Result<_, _>>()?;
    let key = key(&doors, &caller, id.0).await?;
    match doors.desk.say(key.clone(), words, &caller.who(), once).await {
        Ok(said) => {
            let names = doors.directory.names().await;
            let beside = beside(&doors, &said.messages).await;
            Ok(Answer::accepted(&SaidAll::of(said, &names, &beside)))
        }
        Err(refusal) => Err(told(&doors, &key, refusal).await),
    }
}

/// A private note.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    #[schema(min_length = 1, max_length = 20_000)]
    text: String,
}

/// Keeps a private note: never sent, never read by the model.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/notes", tag = "Messages",
    params(("id" = Id, Path,), ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 characters")),
    request_body = Note, responses((status = 201, body = Message)))]
pub(crate) async fn note(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    once: IdempotencyKey,
    body: Json<Note>,
) -> Answered {
    let once = once.of(&caller, body.hash());
    let text = read::text("/text", body.value.text, TEXT_MAX)?;
    let key = key(&doors, &caller, id.0).await?;
    let (conversation, note) = doors.desk.note(key, text, &caller.who(), once).await?;
    let location = format!("/api/v1/messages/{}", note.id);
    Ok(Answer::created(location, &in_words(&doors, conversation, note).await))
}

/// Sends a failed, dead or unknown message again: it then counts as the caller's own.
#[utoipa::path(post, path = "/api/v1/messages/{id}/retry", tag = "Messages", params(("id" = Id, Path,)),
    responses((status = 202, body = Message)))]
pub(crate) async fn retry(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    _: Optional<Nothing>,
) -> Answered {
    let conversation = seen_message(&doors, &caller, id.0).await?.conversation;
    let message = decided(&doors, id.0, doors.desk.retry(id.0, &caller.who()).await).await?;
    Ok(Answer::accepted(&in_words(&doors, conversation, message).await))
}

/// Treats an unknown message as sent.
#[utoipa::path(post, path = "/api/v1/messages/{id}/confirm", tag = "Messages", params(("id" = Id, Path,)),
    responses((status = 200, body = Message)))]
pub(crate) async fn confirm(
    doors: Data<Doors>,
    caller: Caller,
    id: Path<Id>,
    _: Optional<Nothing>,
) -> Answered {
    let conversation = seen_message(&doors, &caller, id.0).await?.conversation;
    let message = decided(&doors, id.0, doors.desk.confirm(id.0, &caller.who()).await).await?;
    Ok(Answer::ok(&in_words(&doors, conversation, message).await))
}

/// Withdraws a message that is still queued.
#[utoipa::path(delete, path = "/api/v1/messages/{id}", tag = "Messages", params(("id" = Id, Path,)),
    responses((status = 204)))]
pub(crate) async fn withdraw(doors: Data<Doors>, caller: Caller, id: Path<Id>) -> Answered {
    seen_message(&doors, &caller, id.0).await?;
    decided(&doors, id.0, doors.desk.withdraw(id.0, &caller.who()).await).await?;
    Ok(Answer::empty())
}

/// A conflict is answered with the message as it is.
async fn decided(
    doors: &Doors,
    id: Uuid,
    outcome: Result<message::Message, Refusal>,
) -> Result<message::Message, Problem> {
    let refusal = match outcome {
        Err(refusal @ Refusal::Conflict { .. }) => refusal,
        other => return Ok(other?),
    };
    let found = doors.archive.message(id).await.ok().flatten();
    let current = match found {
        Some(placed) => Some(json(&in_words(doors, placed.conversation, placed.message).await)),
        None => None,
    };
    Err(Problem::from(refusal).with_current(current))
}

/// A message with the names that agents have now.
async fn in_words(doors: &Doors, conversation: Uuid, message: message::Message) -> Message {
    let names = doors.directory.names().await;
    let beside = beside(doors, std::slice::from_ref(&message)).await;
    Message::of(conversation, message, &names, &beside)
}

/// What is shown with messages after something was done to them: that is answered in any case, if need be with less detail.
pub(super) async fn beside(doors: &Doors, messages: &[message::Message]) -> Beside {
    let ids: Vec<Uuid> = messages.iter().map(|message| message.id).collect();
    match doors.archive.beside(&ids).await {
        Ok(found) => Beside::of(found),
        Err(error) => {
            tracing::debug!(%error, "a message is shown without what belongs to it");
            Beside::default()
        }
    }
}
