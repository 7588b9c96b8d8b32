//! Contacts, and what is done to chats and messages that are there already.

use serde_json::{Value, json};

use super::{
    Account,
    answer::{Answer, Call},
    content,
    journal::{By, Message},
    sending::fresh_id,
};

/// Digits of a number. The gateway's own words say 11 or 12, but there are countries with ten.
const DIGITS: std::ops::RangeInclusive<usize> = 10..=15;

impl Account {
    /// It works only for who is told what comes in.
    pub(super) fn read_chat(&mut self, call: &Call) -> Answer {
        if !self.settings.is_on("incomingWebhook") {
            return Answer::ok(json!({ "setRead": false }));
        }
        self.mark_read(call.text("chatId"), call.text("idMessage"));
        Answer::ok(json!({ "setRead": true }))
    }

    /// The contact's messages get their blue ticks: that one, or all.
    pub(super) fn mark_read(&mut self, chat: &str, id: &str) {
        let is_meant = |message: &&mut Message| {
            message.chat == chat && message.by == By::Contact && (id.is_empty() || message.id == id)
        };
        for message in self.messages.iter_mut().filter(is_meant) {
            message.is_read = true;
        }
    }

    pub(super) fn check_whatsapp(&mut self, call: &Call) -> Answer {
        let chat = call.text("chatId");
        if !chat.is_empty() {
            return Answer::ok(json!({ "existsWhatsapp": true, "chatId": chat }));
        }
        match call.integer("phoneNumber").map(|number| number.to_string()) {
            Some(number) if DIGITS.contains(&number.len()) => {
                Answer::ok(json!({ "existsWhatsapp": true, "chatId": format!("{number}@c.us") }))
            }
            Some(_) => Answer::refused(call, "bad phone number, valid 11 or 12 digits"),
            None => Answer::invalid(call, "'phoneNumber' is required"),
        }
    }

    pub(super) fn contact_info(&mut self, call: &Call) -> Answer {
        let chat = call.text("chatId");
        let name = self.name_of(chat);
        Answer::ok(json!({
            "chatId": chat, "name": name, "contactName": name, "avatar": "", "email": "", "category": "",
            "description": "", "products": [], "lastSeen": null, "isArchive": self.archived.contains(chat),
            "isDisappearing": false, "isMute": false, "messageExpiration": 0, "muteExpiration": null,
            "isBusiness": false,
        }))
    }

    /// Nobody here has a picture.
    pub(super) fn avatar(&mut self, _: &Call) -> Answer {
        Answer::ok(json!({ "urlAvatar": "", "available": false }))
    }

    pub(super) fn contacts(&mut self, _: &Call) -> Answer {
        let contact = |(chat, name): (&String, &String)| {
            let kind = if chat.ends_with("@g.us") { "group" } else { "user" };
            json!({ "id": chat, "name": name, "contactName": name, "type": kind })
        };
        Answer::ok(self.names.iter().map(contact).collect())
    }

    pub(super) fn name_of(&self, chat: &str) -> String {
        self.names.get(chat).cloned().unwrap_or_default()
    }

    /// Only what was sent through the API. The id is that of the edit.
    pub(super) fn edit_message(&mut self, call: &Call) -> Answer {
        let text = call.text("message");
        let data = json!({
            "typeMessage": "editedMessage",
            "editedMessageData": { "textMessage": text, "stanzaId": call.text("idMessage") },
        });
        self.amend_own(call, data, |message| {
            message.is_edited = true;
            content::reword(&mut message.data, text);
        })
        .map_or_else(|refusal| refusal, |id| Answer::ok(json!({ "idMessage": id })))
    }

    pub(super) fn delete_message(&mut self, call: &Call) -> Answer {
        let data = json!({ "typeMessage": "deletedMessage", "deletedMessageData": { "stanzaId": call.text("idMessage") } });
        match self.amend_own(call, data, |message| message.is_deleted = true) {
            Ok(_) => Answer::Empty(200),
            Err(refusal) => refusal,
        }
    }

    fn amend_own(
        &mut self,
        call: &Call,
        data: Value,
        amend: impl FnOnce(&mut Message),
    ) -> Result<String, Answer> {
        let (chat, id) = (call.text("chatId"), call.text("idMessage"));
        match self.message_mut(chat, id).filter(|message| message.by == By::Api) {
            Some(message) => amend(message),
            None => return Err(Answer::refused(call, &format!("Message not found by id {id}"))),
        }
        let event = Message::new(&fresh_id("BAE5", 12), chat, call.now, By::Api, data);
        self.tell_message(&event, call.now);
        Ok(event.id)
    }

    pub(super) fn archive_chat(&mut self, call: &Call) -> Answer {
        self.archived.insert(call.text("chatId").to_owned());
        Answer::Empty(200)
    }

    pub(super) fn unarchive_chat(&mut self, call: &Call) -> Answer {
        self.archived.remove(call.text("chatId"));
        Answer::Empty(200)
    }

    pub(super) fn download_file(&mut self, call: &Call) -> Answer {
        let (chat, id) = (call.text("chatId"), call.text("idMessage"));
        let link = self
            .message(chat, id)
            .and_then(|message| message.data["fileMessageData"]["downloadUrl"].as_str());
        match link {
            Some(link) => Answer::ok(json!({ "downloadUrl": link })),
            None => {
                let words =
                    format!("File message encrypted url not found by chatId {chat} and idMessage {id}");
                Answer::refused(call, &words)
            }
        }
    }
}
