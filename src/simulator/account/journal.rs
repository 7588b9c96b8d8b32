//! What was written, and the journals that show it: flat where webhooks nest, newest first, and late.

use serde_json::{Map, Value, json};

use super::{
    Account, MESSAGES_MAX,
    answer::{Answer, Call},
    content,
};

/// Journals look back so far, if nothing else is said.
const MINUTES: i64 = 1_440;

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Contact,
    /// A person of the business, on the linked phone.
    Phone,
    Api,
}

/// A message that was sent or has come.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) chat: String,
    pub(super) by: By,
    pub(super) data: Value,
    pub(super) status: String,
    /// The contact who wrote it: in a group not the chat.
    pub(super) sender: String,
    pub(super) name: String,
    pub(super) is_read: bool,
    pub(super) is_edited: bool,
    pub(super) is_deleted: bool,
    at: i64,
}

impl Message {
    pub(super) fn new(id: &str, chat: &str, at: i64, by: By, data: Value) -> Self {
        Self {
            id: id.to_owned(),
            chat: chat.to_owned(),
            by,
            data,
            status: "pending".to_owned(),
            sender: chat.to_owned(),
            name: String::new(),
            is_read: false,
            is_edited: false,
            is_deleted: false,
            at,
        }
    }

    /// The contact, or nobody: the business is not named.
    pub(super) fn writer(&self) -> &str {
        if self.by == By::Contact { &self.sender } else { "" }
    }

    /// As a journal shows it.
    fn item(&self) -> Map<String, Value> {
        let mut item = flat(&self.data);
        let mut put = |name: &str, value: Value| item.insert(name.to_owned(), value);
        put("idMessage", json!(self.id));
        put("timestamp", json!(self.at / 1_000));
        put("chatId", json!(self.chat));
        if self.by == By::Contact {
            put("type", json!("incoming"));
            put("senderId", json!(self.sender));
            put("senderName", json!(self.name));
            put("senderContactName", json!(self.name));
        } else {
            put("type", json!("outgoing"));
            put("statusMessage", json!(self.status));
            put("sendByApi", json!(self.by == By::Api));
        }
        item
    }

    /// As a chat's history shows it.
    fn in_history(&self) -> Value {
        let mut item = self.item();
        for (name, value) in [
            ("isEdited", json!(self.is_edited)),
            ("isDeleted", json!(self.is_deleted)),
            ("editedMessageId", json!("")),
            ("deletedMessageId", json!("")),
        ] {
            item.insert(name.to_owned(), value);
        }
        Value::Object(item)
    }
}

/// What webhooks nest, as journals have it.
fn flat(data: &Value) -> Map<String, Value> {
    let mut item = Map::new();
    for (name, value) in data.as_object().into_iter().flatten() {
        match name.as_str() {
            "textMessageData" => drop(item.insert("textMessage".to_owned(), value["textMessage"].clone())),
            "extendedTextMessageData" => {
                item.insert("textMessage".to_owned(), value["text"].clone());
                item.insert("extendedTextMessage".to_owned(), value.clone());
            }
            "fileMessageData" => item.extend(value.as_object().cloned().unwrap_or_default()),
            "locationMessageData" => drop(item.insert("location".to_owned(), value.clone())),
            "contactMessageData" => drop(item.insert("contact".to_owned(), value.clone())),
            "messageData" => drop(item.insert("contacts".to_owned(), value["contacts"].clone())),
            name => drop(item.insert(name.to_owned(), value.clone())),
        }
    }
    item
}

impl Account {
    pub(super) fn write_down(&mut self, message: Message) {
        if self.messages.len() == MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back(message);
    }

    pub(super) fn message(&self, chat: &str, id: &str) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.chat == chat && message.id == id)
    }

    pub(super) fn message_mut(&mut self, chat: &str, id: &str) -> Option<&mut Message> {
        self.messages.iter_mut().rev().find(|message| message.chat == chat && message.id == id)
    }

    /// Everything that was written, oldest first: in one chat, or in all.
    pub fn written(&self, chat: Option<&str>) -> Vec<Value> {
        let shown = |message: &Message| {
            let mut item = message.in_history();
            let from = match message.by {
                By::Contact => "contact",
                By::Phone => "phone",
                By::Api => "api",
            };
            item["from"] = json!(from);
            item["isRead"] = json!(message.is_read);
            item["text"] = json!(content::words(&message.data));
            item
        };
        let is_meant = |message: &&Message| chat.is_none_or(|chat| message.chat == chat);
        self.messages.iter().filter(is_meant).map(shown).collect()
    }

    /// Newest first, without what is too fresh for a journal.
    fn journalled(&self, now: i64) -> impl Iterator<Item = &Message> {
        let lag_ms = self.options.pace.journal_lag_ms;
        self.messages.iter().rev().filter(move |message| message.at.saturating_add(lag_ms) <= now)
    }

    fn last(&self, call: &Call, is_meant: impl Fn(By) -> bool) -> Answer {
        let minutes = call.query.get("minutes").map_or(Ok(MINUTES), |minutes| minutes.parse());
        let Ok(minutes) = minutes else { return Answer::invalid(call, "'minutes' must be a number") };
        let since = call.now.saturating_sub(minutes.saturating_mul(60_000));
        let found = self.journalled(call.now).filter(|message| is_meant(message.by) && message.at >= since);
        Answer::ok(found.map(|message| Value::Object(message.item())).collect())
    }

    pub(super) fn last_outgoing(&mut self, call: &Call) -> Answer {
        self.last(call, |by| by != By::Contact)
    }

    pub(super) fn last_incoming(&mut self, call: &Call) -> Answer {
        self.last(call, |by| by == By::Contact)
    }

    pub(super) fn chat_history(&mut self, call: &Call) -> Answer {
        let count = usize::try_from(call.integer("count").unwrap_or(100)).unwrap_or(100);
        let chat = call.text("chatId");
        let found = self.journalled(call.now).filter(|message| message.chat == chat).take(count);
        Answer::ok(found.map(Message::in_history).collect())
    }

    pub(super) fn get_message(&mut self, call: &Call) -> Answer {
        let (chat, id) = (call.text("chatId"), call.text("idMessage"));
        match self.journalled(call.now).find(|message| message.chat == chat && message.id == id) {
            Some(message) => Answer::ok(Value::Object(message.item())),
            None => Answer::refused(call, &format!("Message not found by id {id}")),
        }
    }
}
