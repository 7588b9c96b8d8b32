//! A message, in either direction.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    At, AuthorWord, DeliveryReasonWord, DeliveryStateWord, Id, KindWord, LaneWord, OriginWord,
    OutcomeReasonWord, OutcomeWord, Receipt, StandingWord,
    basic::Word,
    conversation::{Person, person},
};
use crate::{
    domain::{
        message::{self, DeliveryState, Kind},
        reaction,
    },
    flow::{desk, media::files::Availability},
    http::names::Names,
};

/// A message of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    id: Id,
    conversation_id: Id,
    /// Its place in the conversation, from 1.
    seq: i64,
    author: AuthorWord,
    origin: OriginWord,
    kind: KindWord,
    /// The words; for other kinds the caption or a description.
    text: String,
    /// The agent who wrote it.
    agent: Option<Person>,
    /// Who wrote it, where that is not the chat itself.
    sender: Option<Sender>,
    quoted: Option<Quoted>,
    edited_at: Option<At>,
    deleted_at: Option<At>,
    reactions: Vec<Reaction>,
    media: Option<Media>,
    provider_message_id: Option<String>,
    /// When it was accepted here.
    at: At,
    /// When it was written, by the provider's clock.
    provider_at: Option<At>,
    /// What became of a message of the contact.
    outcome: Option<OutcomeWord>,
    outcome_reason: Option<OutcomeReasonWord>,
    /// The turn that answered it, or wrote it.
    turn_id: Option<Id>,
    /// How far a message of our side got. Null for notes, and for what was written on the phone or by another system: the provider
    /// shows only that it was sent.
    delivery: Option<Delivery>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Sender {
    id: String,
    name: String,
}

/// What it answers.
#[derive(Debug, Serialize, ToSchema)]
struct Quoted {
    /// Ours; null in a `last_message` and in exports, and where there is none.
    message_id: Option<Id>,
    author: Option<AuthorWord>,
    /// What that message says now, cut to 300 characters; where it is not known, what was quoted of it.
    text: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct Reaction {
    emoji: String,
    author: AuthorWord,
    at: At,
}

/// A file.
#[derive(Debug, Serialize, ToSchema)]
struct Media {
    mime_type: Option<String>,
    file_name: Option<String>,
    /// In bytes: of files that were sent from here. Green API does not say it of others.
    size: Option<i64>,
    /// Null as long as no provider says it: Green API does not.
    seconds: Option<i64>,
    caption: Option<String>,
    /// What is said in a voice note, or to be seen in a picture, if that was put into words.
    transcript: Option<String>,
    /// Whether it is available, as far as that is known before it is fetched.
    state: StandingWord,
    /// Where.
    url: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct Delivery {
    state: DeliveryStateWord,
    /// Claims so far.
    attempts: i32,
    reason: Option<DeliveryReasonWord>,
    /// Which part of its reply, from 1.
    part: i32,
    parts: i32,
    /// Baton's own, for its provider: not the `Idempotency-Key` of a request.
    idempotency_key: String,
    lane: LaneWord,
    queued_at: At,
    next_attempt_at: Option<At>,
    sent_at: Option<At>,
    delivered_at: Option<At>,
    read_at: Option<At>,
}

/// What is shown with messages: where those are that they quote, and what was reacted to them.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// By conversation and the provider's id.
    messages: HashMap<(Uuid, String), (Id, AuthorWord, String)>,
    /// Newest first, one of each author, by what they are to.
    reactions: HashMap<(Uuid, String), Vec<message::Message>>,
}

impl Beside {
    /// What the archive has to show with them, newest first.
    pub(crate) fn of(found: Vec<(Uuid, message::Message)>) -> Self {
        let mut beside = Self::default();
        for (conversation, message) in found {
            if let Some(id) = &message.provider_message_id {
                let known = (Id(message.id), Word(message.author), message.as_quoted());
                beside.messages.insert((conversation, id.clone()), known);
            }
            if let (Kind::Reaction, Some(quoted)) = (message.kind, &message.quoted) {
                let to = (conversation, quoted.provider_message_id.clone());
                let reactions = beside.reactions.entry(to).or_default();
                let by =
                    |it: &message::Message| (it.author, it.sender.as_ref().map(|sender| sender.id.clone()));
                if reactions.iter().all(|newer| by(newer) != by(&message)) {
                    reactions.push(message);
                }
            }
        }
        beside
    }

    fn quoted(&self, conversation: Uuid, quoted: message::Quoted) -> Quoted {
        match self.messages.get(&(conversation, quoted.provider_message_id)) {
            // The words that came with the quote may be made up, and would stand here as that author's.
            Some((id, author, text)) => {
                Quoted { message_id: Some(*id), author: Some(*author), text: text.clone() }
            }
            None => Quoted { message_id: None, author: None, text: quoted.text },
        }
    }

    /// Oldest first; what was taken back stands no more.
    fn reactions(&self, conversation: Uuid, to: &message::Message) -> Vec<Reaction> {
        let Some(id) = to.provider_message_id.clone() else { return Vec::new() };
        let all = self.reactions.get(&(conversation, id)).into_iter().flatten().rev();
        let standing = all.filter(|it| it.deleted_at.is_none()).filter_map(|it| {
            let emoji = reaction::emoji_of(&it.text)?.to_owned();
            Some(Reaction { emoji, author: Word(it.author), at: At(it.at) })
        });
        standing.collect()
    }
}

impl Message {
    /// A message of that conversation.
    pub(crate) fn of(conversation: Uuid, it: message::Message, names: &Names, beside: &Beside) -> Self {
        let reactions = beside.reactions(conversation, &it);
        let standing = names.standing(&it);
        let media = it.media.zip(standing).map(|(media, standing)| Media::of(it.id, media, standing));
        Self {
            id: Id(it.id),
            conversation_id: Id(conversation),
            seq: it.seq,
            author: Word(it.author),
            origin: Word(it.origin),
            kind: Word(it.kind),
            text: it.text,
            agent: person(it.agent, names),
            sender: it.sender.map(|sender| Sender { id: sender.id, name: sender.name }),
            quoted: it.quoted.map(|quoted| beside.quoted(conversation, quoted)),
            edited_at: it.edited_at.map(At),
            deleted_at: it.deleted_at.map(At),
            reactions,
            media,
            provider_message_id: it.provider_message_id,
            at: At(it.at),
            provider_at: it.provider_at.map(At),
            outcome: it.inbound.map(|inbound| Word(inbound.outcome)),
            outcome_reason: it.inbound.and_then(|inbound| inbound.reason).map(Word),
            turn_id: it.turn.map(Id),
            delivery: it.delivery.map(Delivery::from),
        }
    }

    /// Its place in the conversation.
    pub(crate) const fn seq(&self) -> i64 {
        self.seq
    }
}

impl Media {
    fn of(message: Uuid, media: message::Media, standing: Availability) -> Self {
        let given = |text: String| (!text.is_empty()).then_some(text);
        Self {
            mime_type: given(media.mime_type),
            file_name: given(media.file_name),
            size: media.size,
            seconds: None,
            caption: given(media.caption),
            transcript: given(media.transcript),
            state: Word(standing),
            url: format!("/api/v1/messages/{message}/media"),
        }
    }
}

impl From<message::Delivery> for Delivery {
    fn from(delivery: message::Delivery) -> Self {
        Self {
            state: Word(delivery.state),
            attempts: delivery.attempts,
            reason: delivery.reason.map(Word),
            part: delivery.part,
            parts: delivery.parts,
            idempotency_key: delivery.idempotency_key,
            lane: Word(delivery.lane),
            queued_at: At(delivery.queued_at),
            next_attempt_at: (delivery.state == DeliveryState::Queued).then_some(At(delivery.due_at)),
            sent_at: delivery.sent_at.map(At),
            delivered_at: delivery.delivered_at.map(At),
            read_at: delivery.read_at.map(At),
        }
    }
}

/// A page of messages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Messages {
    /// Newest first.
    pub(crate) items: Vec<Message>,
    /// The next `before`; null at the beginning of the conversation.
    #[schema(required)]
    pub(crate) next_cursor: Option<String>,
}

/// A message just owed, and what it did to the assistant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Said {
    #[serde(flatten)]
    message: Message,
    takeover: Option<Receipt>,
}

impl Said {
    /// A text that is too long for one message was cut: the first of its parts stands for it.
    pub(crate) fn first_of(said: desk::Posted, names: &Names, beside: &Beside) -> Option<Self> {
        let first = said.messages.into_iter().next()?;
        let takeover = said.takeover.map(|receipt| Receipt::of(receipt, names));
        Some(Self { message: Message::of(said.conversation, first, names, beside), takeover })
    }
}

/// Several of them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SaidAll {
    /// One of each text, in the order given: of one that was cut, the first part.
    items: Vec<Message>,
    takeover: Option<Receipt>,
}

impl SaidAll {
    /// What was said, with the names that agents have now.
    pub(crate) fn of(said: desk::Posted, names: &Names, beside: &Beside) -> Self {
        let begins = |it: &message::Message| it.delivery.as_ref().is_none_or(|delivery| delivery.part == 1);
        let shown = |it| Message::of(said.conversation, it, names, beside);
        Self {
            items: said.messages.into_iter().filter(begins).map(shown).collect(),
            takeover: said.takeover.map(|receipt| Receipt::of(receipt, names)),
        }
    }
}
