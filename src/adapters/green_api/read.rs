//! Reads what Green API posts. In: the body of a webhook, as it came. Out: what it says in our words; or why it cannot be
//! read, in words that hold nothing of its text.

use serde_json::Value;

use super::{
    content::{Content, content, words},
    fingerprint::{fingerprint, message_id},
    part::{Part, strip_nul},
    wording::{self, NAME_MAX, cut},
};
use crate::{
    domain::{
        chat::{ChatId, ChatKind},
        message::{DeliveryReason, DeliveryState, Kind, OutcomeReason, Sender},
        time::Time,
    },
    flow::{
        provider::{Amendment, Arrival, Incoming, Status, Unreadable},
        reconcile::Copy,
    },
};

/// The last second that four digits of a year can write: what lies beyond is no time.
const SECONDS_MAX: i64 = 253_402_300_799;

/// Reads a body of that channel, whose account is that instance.
pub(super) fn read(channel: &str, instance: &str, body: &[u8]) -> Result<Incoming, Unreadable> {
    // A lone surrogate is an error here, too: no text can hold it.
    let mut value =
        serde_json::from_slice(body).map_err(|error| Unreadable { reason: format!("not JSON: {error}") })?;
    read_value(channel, instance, &mut value)
}

/// Reads a body that is JSON already.
pub(super) fn read_value(channel: &str, instance: &str, value: &mut Value) -> Result<Incoming, Unreadable> {
    strip_nul(value);
    let body = Part::of(value);
    let theirs = body.part("instanceData").integer("idInstance");
    if theirs.is_some_and(|theirs| theirs.to_string() != instance) {
        return Ok(Incoming::OtherInstance);
    }
    Webhook { channel, body, sender: body.part("senderData"), message: body.part("messageData") }.read()
}

/// Whether what is typed on the phone is no message, but changes one.
fn is_update(kind: &str) -> bool {
    matches!(kind, "reactionMessage" | "editedMessage" | "deletedMessage" | "pollUpdateMessage")
}

/// How far a message got, by the gateway's word for it, and why it failed.
pub(super) fn progress(word: &str) -> (Option<DeliveryState>, Option<DeliveryReason>) {
    match word {
        "sent" => (Some(DeliveryState::Sent), None),
        "delivered" => (Some(DeliveryState::Delivered), None),
        "read" => (Some(DeliveryState::Read), None),
        "noAccount" => (Some(DeliveryState::Failed), Some(DeliveryReason::NoAccount)),
        "failed" | "fail" | "notInGroup" | "yellowCard" => {
            (Some(DeliveryState::Failed), Some(DeliveryReason::Refused))
        }
        // `pending`, words of sibling products, none at all: nothing that we could act on.
        _ => (None, None),
    }
}

struct Webhook<'a> {
    channel: &'a str,
    body: Part<'a>,
    sender: Part<'a>,
    message: Part<'a>,
}

impl Webhook<'_> {
    fn read(&self) -> Result<Incoming, Unreadable> {
        match self.body.text("typeWebhook") {
            "incomingMessageReceived" if self.is_by_ourselves() => self.phone(),
            "incomingMessageReceived" => self.contact(),
            "outgoingMessageReceived" => self.phone(),
            "outgoingAPIMessageReceived" => self.echo(),
            "outgoingMessageStatus" => self.status(),
            "incomingCall" => Ok(Incoming::Message(self.call()?)),
            "outgoingCall" => {
                let call = Arrival { inert: None, ..self.call()? };
                Ok(Incoming::OwnSign(call, self.is_picked_up()))
            }
            "stateInstanceChanged" => match self.body.text("stateInstance").trim() {
                "" => Err(self.lacks("the state")),
                state => Ok(Incoming::State(cut(state, NAME_MAX).to_owned())),
            },
            "quotaExceeded" => Ok(self.quota()),
            "" => Err(Unreadable { reason: "no typeWebhook".to_owned() }),
            other => Ok(Incoming::Ignored(cut(other, 64).to_owned())),
        }
    }

    /// The contact wrote, or changed what they wrote.
    fn contact(&self) -> Result<Incoming, Unreadable> {
        let chat = self.chat()?;
        if !self.message.is_there() {
            return Err(self.lacks("messageData"));
        }
        let is_story = matches!(chat.kind(), ChatKind::Broadcast | ChatKind::Newsletter);
        let kind = self.message.text("typeMessage");
        match kind {
            "editedMessage" | "deletedMessage" if is_story => Ok(Incoming::Ignored(kind.to_owned())),
            // What could be read once stays, rather than words that say that these cannot.
            "editedMessage" if self.is_edit_unreadable() => Ok(Incoming::Ignored(kind.to_owned())),
            "editedMessage" => Ok(Incoming::Edit(self.amendment(chat, "editedMessageData")?)),
            "deletedMessage" => Ok(Incoming::Deletion(self.amendment(chat, "deletedMessageData")?)),
            _ => {
                let content = content(self.message, self.sender.text("sender"));
                if content.is_hollow {
                    return Err(self.lacks("the content of its message"));
                }
                let arrival = Arrival {
                    alias: self.alias(&chat),
                    contact_name: self.contact_name(&chat),
                    sender: (chat.kind() != ChatKind::Person).then(|| self.writer()).flatten(),
                    ..self.arrival(chat, content)
                };
                Ok(Incoming::Message(if is_story { as_story(arrival) } else { arrival }))
            }
        }
    }

    /// A person of the business wrote on the phone; who reacts, edits or deletes there takes nothing over. What is missing
    /// harms nothing here: to stop the assistant once too often is the safe side.
    fn phone(&self) -> Result<Incoming, Unreadable> {
        let chat = self.chat()?;
        if matches!(chat.kind(), ChatKind::Broadcast | ChatKind::Newsletter) {
            return Ok(Incoming::Ignored(self.body.text("typeWebhook").to_owned()));
        }
        if self.message.text("typeMessage") == "reactionMessage" {
            return Ok(Incoming::OwnSign(self.ours(chat), false));
        }
        Ok(self.update(&chat, Copy::Phone).unwrap_or_else(|| Incoming::Phone(self.ours(chat))))
    }

    /// What changes a message of our side, instead of being one.
    fn update(&self, chat: &ChatId, copy: Copy) -> Option<Incoming> {
        let kind = self.message.text("typeMessage");
        let amendment = |data| self.amendment(chat.clone(), data).ok();
        let update = match kind {
            "editedMessage" if !self.is_edit_unreadable() => {
                amendment("editedMessageData").map(|edit| Incoming::OwnEdit(edit, copy))
            }
            "deletedMessage" => amendment("deletedMessageData").map(|gone| Incoming::OwnDeletion(gone, copy)),
            _ => None,
        };
        update.or_else(|| is_update(kind).then(|| Incoming::Ignored(kind.to_owned())))
    }

    /// Whether the gateway does not show the new words. Of a file they may be none.
    fn is_edit_unreadable(&self) -> bool {
        let fields = self.message.part("editedMessageData").fields();
        let is_shown =
            ["textMessage", "caption"].iter().any(|name| fields.get(*name).is_some_and(Value::is_string));
        !is_shown || wording::is_mark(words(self.message))
    }

    /// A message left through the API: one of ours, or another program's.
    fn echo(&self) -> Result<Incoming, Unreadable> {
        let chat = self.chat()?;
        if matches!(chat.kind(), ChatKind::Broadcast | ChatKind::Newsletter) {
            return Ok(Incoming::Ignored(self.body.text("typeWebhook").to_owned()));
        }
        if let Some(update) = self.update(&chat, Copy::Api) {
            return Ok(update);
        }
        let arrival = self.ours(chat);
        // Matched by what was posted, which knows no descriptions.
        let words = words(self.message);
        Ok(Incoming::Echo(if words.is_empty() {
            arrival
        } else {
            Arrival { text: words.to_owned(), ..arrival }
        }))
    }

    /// A message of our own side. Plain text is kept as it was written, so that it can be compared with what was sent.
    fn ours(&self, chat: ChatId) -> Arrival {
        let mut content = content(self.message, self.sender.text("sender"));
        if content.kind == Kind::Text && !content.is_unreadable {
            content.text = match words(self.message) {
                "" => content.text,
                words => words.to_owned(),
            };
        }
        if wording::is_blank(&content.text) {
            content.text = wording::bracketed("unsupported message", &[]);
        }
        let contact_name = wording::name(self.sender.text("chatName"));
        Arrival {
            contact_name,
            sender: self.writer(),
            inert: None,
            is_unreadable: false,
            ..self.arrival(chat, content)
        }
    }

    fn arrival(&self, chat: ChatId, content: Content) -> Arrival {
        Arrival {
            chat,
            alias: None,
            id: self.id(),
            fingerprint: fingerprint(self.channel, self.body),
            at: self.at(),
            contact_name: None,
            sender: None,
            kind: content.kind,
            text: content.text,
            quoted: content.quoted,
            media: content.media,
            inert: content.inert,
            is_unreadable: content.is_unreadable,
        }
    }

    fn amendment(&self, chat: ChatId, data: &str) -> Result<Amendment, Unreadable> {
        let of = self.message.part(data).text("stanzaId").trim();
        if of.is_empty() || of.len() > NAME_MAX {
            return Err(self.lacks("the id of the message it changes"));
        }
        let text = if data == "editedMessageData" { words(self.message) } else { "" };
        let text = if wording::is_blank(text) { "" } else { text };
        let sender = ChatId::parse(self.sender.text("sender"));
        let by = sender.filter(|by| chat.kind() == ChatKind::Group && by.kind() == ChatKind::Person);
        Ok(Amendment { chat, of: of.to_owned(), text: text.to_owned(), at: self.at(), by })
    }

    fn status(&self) -> Result<Incoming, Unreadable> {
        let id = self.id().ok_or_else(|| self.lacks("idMessage"))?;
        let word = self.body.text("status");
        let (state, reason) = progress(word);
        // Not the provider's description of it, which may name people: this is noted where no conversation is found.
        let detail = cut(word, NAME_MAX).to_owned();
        let chat = ChatId::parse(self.body.text("chatId"));
        Ok(Incoming::Status(Status { chat, id, state, reason, detail }))
    }

    /// A call is shown like a message; each step of it is one of its own, though they share an id. The chat is that of the
    /// contact, whichever side calls.
    fn call(&self) -> Result<Arrival, Unreadable> {
        let chat =
            ChatId::parse(self.body.first_text(&["from", "chatId"])).ok_or_else(|| self.lacks("a caller"))?;
        let status = cut(self.body.text("status"), 64);
        let noun = if self.body.flag("isVideo") == Some(true) { "video call" } else { "call" };
        let text = match status {
            "missed" => format!("[missed {noun}]"),
            "declined" => format!("[{noun} declined]"),
            "pickUp" => format!("[{noun} answered]"),
            "hangUp" | "hungUp" => format!("[{noun} ended]"),
            _ => format!("[{noun}]"),
        };
        let content = Content { inert: Some(OutcomeReason::Call), ..Content::new(Kind::Call, text) };
        let arrival = self.arrival(chat, content);
        let id = arrival.id.map(|id| format!("{id}:{status}"));
        Ok(Arrival { id, ..arrival })
    }

    /// Whether somebody whom the business called has answered: as it ends, only the list of those called says so.
    fn is_picked_up(&self) -> bool {
        let is_answer = |status: &str| status == "pickUp";
        is_answer(self.body.text("status"))
            || self.body.list("participants").any(|called| is_answer(called.text("status")))
    }

    fn quota(&self) -> Incoming {
        // Not the description, which lists people: this hangs on no conversation, and would outlive them.
        let words = match self.body.part("quotaData").text("status") {
            "" => "the quota is used up",
            words => words,
        };
        Incoming::Quota(cut(words, wording::QUOTE_MAX).to_owned())
    }

    fn chat(&self) -> Result<ChatId, Unreadable> {
        ChatId::parse(self.sender.text("chatId")).ok_or_else(|| self.lacks("a chat id"))
    }

    /// The provider's id, unless it is too long to be one.
    fn id(&self) -> Option<String> {
        let id = message_id(self.body);
        (!id.is_empty() && id.len() <= NAME_MAX).then(|| id.to_owned())
    }

    fn at(&self) -> Option<Time> {
        let seconds = self.body.integer("timestamp")?;
        (1..=SECONDS_MAX).contains(&seconds).then(|| Time::from_seconds(seconds))
    }

    /// Seen in groups: what the own phone wrote comes as if a contact had written it.
    fn is_by_ourselves(&self) -> bool {
        let own = ChatId::parse(self.body.part("instanceData").text("wid"));
        own.is_some() && own == ChatId::parse(self.sender.text("sender"))
    }

    /// The other id of the same person: the chat under one of WhatsApp's two kinds of id, its writer under the other.
    fn alias(&self, chat: &ChatId) -> Option<ChatId> {
        let writer = ChatId::parse(self.sender.text("sender"));
        writer.filter(|writer| chat.may_be_same_person_as(writer))
    }

    fn contact_name(&self, chat: &ChatId) -> Option<String> {
        let names: &[&str] = match chat.kind() {
            ChatKind::Person => &["senderContactName", "senderName", "chatName"],
            ChatKind::Group | ChatKind::Newsletter | ChatKind::Broadcast => &["chatName"],
        };
        wording::name(self.sender.first_text(names))
    }

    fn writer(&self) -> Option<Sender> {
        let id = ChatId::parse(self.sender.text("sender"))?;
        let name =
            wording::name(self.sender.first_text(&["senderContactName", "senderName"])).unwrap_or_default();
        Some(Sender { id: id.to_string(), name })
    }

    fn lacks(&self, what: &str) -> Unreadable {
        Unreadable { reason: format!("{} without {what}", self.body.text("typeWebhook")) }
    }
}

/// A story or channel post is shown and nothing more: it was not said to us, so nobody is called for it either.
fn as_story(arrival: Arrival) -> Arrival {
    Arrival { inert: Some(OutcomeReason::Story), is_unreadable: false, ..arrival }
}
