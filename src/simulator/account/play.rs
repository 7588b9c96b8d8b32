//! What somebody plays: a contact writes, a person of the business writes on the linked phone.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Account, content,
    fields::is_chat,
    journal::{By, Message},
    sending::fresh_id,
};

/// What is written: text, a file, or any `messageData` as it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) chat_id: String,
    /// The contact's name.
    name: Option<String>,
    /// Who of a group.
    sender: Option<String>,
    text: Option<String>,
    file_name: Option<String>,
    #[serde(default)]
    url_file: String,
    #[serde(default)]
    caption: String,
    message_data: Option<Value>,
    /// One that was there before: it is told once more.
    id_message: Option<String>,
}

impl Written {
    fn data(&self) -> Result<Value, String> {
        match (&self.text, &self.file_name, &self.message_data) {
            (Some(text), None, None) => Ok(content::typed(text)),
            (None, Some(name), None) => Ok(content::file(name, &self.url_file, &self.caption)),
            (None, None, Some(data)) if data["typeMessage"].is_string() => Ok(data.clone()),
            (None, None, Some(_)) => Err("messageData needs a typeMessage".to_owned()),
            _ => Err("one of text, fileName and messageData is needed".to_owned()),
        }
    }
}

impl Account {
    /// A contact writes. Returns the id of the message.
    pub(crate) fn contact_writes(&mut self, written: &Written, now: i64) -> Result<String, String> {
        let mut message = self.message_of(written, By::Contact, now)?;
        if let Some(name) = &written.name {
            self.names.insert(written.chat_id.clone(), name.clone());
        }
        message.name = self.name_of(&written.chat_id);
        self.names.entry(written.chat_id.clone()).or_default();
        if let Some(sender) = &written.sender {
            message.sender.clone_from(sender);
        }
        message.is_read = self.settings.is_on("markIncomingMessagesReaded");
        Ok(self.is_written(message, now))
    }

    /// A person of the business writes on the linked phone. Returns the id of the message.
    pub(crate) fn phone_writes(&mut self, written: &Written, now: i64) -> Result<String, String> {
        let message = self.message_of(written, By::Phone, now)?;
        let id = self.is_written(message, now);
        self.follow(&id, now);
        Ok(id)
    }

    fn message_of(&self, written: &Written, by: By, now: i64) -> Result<Message, String> {
        if !is_chat(&written.chat_id) {
            return Err("chatId is none, e.g. 6580000001@c.us".to_owned());
        }
        let id = written.id_message.clone().unwrap_or_else(|| match by {
            By::Contact => fresh_id("", 32),
            By::Phone => fresh_id("3A", 18),
            By::Api => fresh_id("BAE5", 12),
        });
        Ok(Message::new(&id, &written.chat_id, now, by, written.data()?))
    }

    fn is_written(&mut self, message: Message, now: i64) -> String {
        let id = message.id.clone();
        self.tell_message(&message, now);
        if !self.amends(&message) && self.message(&message.chat, &id).is_none() {
            self.write_down(message);
        }
        id
    }

    /// Whether it only changes another message, which is then done.
    fn amends(&mut self, event: &Message) -> bool {
        let of = |part: &str| event.data[part]["stanzaId"].as_str().unwrap_or_default().to_owned();
        match event.data["typeMessage"].as_str() {
            Some("editedMessage") => {
                let text = event.data["editedMessageData"]["textMessage"].as_str().unwrap_or_default();
                if let Some(message) = self.message_mut(&event.chat, &of("editedMessageData")) {
                    message.is_edited = true;
                    content::reword(&mut message.data, text);
                }
                true
            }
            Some("deletedMessage") => {
                if let Some(message) = self.message_mut(&event.chat, &of("deletedMessageData")) {
                    message.is_deleted = true;
                }
                true
            }
            _ => false,
        }
    }
}
