//! What a client sends goes into the queue. 200 says that it is queued, and no more.

use std::fmt::Display;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Account,
    answer::{Answer, Call},
    queue::{Entry, Fate},
};

/// Typing is shown for so long, if nothing else is said.
const TYPING_MS: i64 = 1_000;

impl Account {
    pub(super) fn send(&mut self, call: &Call) -> Answer {
        match self.enqueue(call, 1, call.text("urlFile").to_owned()) {
            Ok(ids) => Answer::ok(json!({ "idMessage": ids[0] })),
            Err(refusal) => refusal,
        }
    }

    pub(super) fn send_upload(&mut self, call: &Call) -> Answer {
        let Some((name, bytes)) = &call.file else { return Answer::invalid(call, "'file' is required") };
        let mut call = call.clone();
        if call.text("fileName").is_empty() {
            call.body.insert("fileName".to_owned(), json!(name));
        }
        let url = self.link_to(call.text("fileName"), bytes.clone(), &call.base);
        match self.enqueue(&call, 1, url.clone()) {
            Ok(ids) => Answer::ok(json!({ "idMessage": ids[0], "urlFile": url })),
            Err(refusal) => refusal,
        }
    }

    /// Only keeps the file.
    pub(super) fn upload(&mut self, call: &Call) -> Answer {
        let Some((name, bytes)) = &call.file else { return Answer::invalid(call, "the file is required") };
        Answer::ok(json!({ "urlFile": self.link_to(name, bytes.clone(), &call.base) }))
    }

    /// Ids that it does not know are not refused: nothing arrives for them.
    pub(super) fn forward(&mut self, call: &Call) -> Answer {
        let count = call.body.get("messages").and_then(Value::as_array).map_or(0, Vec::len);
        match self.enqueue(call, count, String::new()) {
            Ok(ids) => Answer::ok(json!({ "messages": ids })),
            Err(refusal) => refusal,
        }
    }

    /// It takes its turn in the queue, and holds up what is behind it.
    pub(super) fn show_typing(&mut self, call: &Call) -> Answer {
        let typing_ms = call.integer("typingTime").unwrap_or(TYPING_MS);
        self.queue.push_back(Entry::new(call, Vec::new()).typing(typing_ms));
        Answer::Empty(200)
    }

    fn enqueue(&mut self, call: &Call, count: usize, url: String) -> Result<Vec<String>, Answer> {
        let chat = call.text("chatId");
        self.ask_quota(chat, call)?;
        self.written_to.insert(chat.to_owned());
        let ids: Vec<String> = (0..count).map(|_| fresh_id("BAE5", 12)).collect();
        let fate = self.fault_of_message().map_or(Fate::Arrives, Fate::of);
        self.queue.push_back(Entry::new(call, ids.clone()).with(url, fate));
        Ok(ids)
    }

    /// The free plan knows so many chats, and says so with a status of its own.
    fn ask_quota(&mut self, chat: &str, call: &Call) -> Result<(), Answer> {
        let Some(most) = self.options.pace.chats_max else { return Ok(()) };
        if self.written_to.contains(chat) || self.written_to.len() < most {
            return Ok(());
        }
        let allowed = self.written_to.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        // The notification spells it in another way than the answer does.
        let told = spent(
            most,
            "CORRESPONDENTS_QUOTA_EXCEEDED",
            &format!("Monthly correspondent limit used up. Allowed chats: {allowed}"),
        );
        self.tell_always(json!({ "typeWebhook": "quotaExceeded", "quotaData": told }), call.now);
        Err(Answer::Json(466, over_quota(most)))
    }

    fn link_to(&mut self, name: &str, bytes: Bytes, base: &str) -> String {
        let id = self.keep(bytes);
        format!("{base}/simulator/files/{id}/{}", escaped(name))
    }
}

/// What is answered with 466.
pub(super) fn over_quota(most: usize) -> Value {
    let status = "CORRESPONDENTS_QUOTE_EXCEEDED";
    json!({
        "invokeStatus": {
            "method": "sendmessage", "used": most, "total": 0, "status": "QUOTE_ALLOWED", "description": "",
        },
        "correspondentsStatus": spent(most, status, "Monthly correspondent limit reached"),
    })
}

fn spent(most: usize, status: &str, description: &str) -> Value {
    let method = "correspondents";
    json!({ "method": method, "used": most, "total": most, "status": status, "description": description })
}

/// An id of the shape that messages of that origin have.
pub(super) fn fresh_id(origin: &str, digits: usize) -> String {
    let rest: String = (0..digits).map(|_| format!("{:X}", fastrand::u8(..16))).collect();
    format!("{origin}{rest}")
}

/// A name as part of an address.
fn escaped(name: &str) -> impl Display {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');
    utf8_percent_encode(name, ESCAPED)
}
