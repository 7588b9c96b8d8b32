//! What the account has to tell, oldest first, until somebody has taken it: by a webhook that was answered 200, or by fetching
//! and deleting it. Never both ways at once.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    Account,
    answer::{Answer, Call},
    faults::{Fault, Kind},
    journal::{By, Message},
};

/// Notifications are thrown away at most so often.
const CLEAR_EVERY_MS: i64 = 60_000;

/// Shortest and longest wait for one, in seconds.
const WAIT_S: std::ops::RangeInclusive<u64> = 5..=60;

#[derive(Debug)]
struct Notice {
    receipt: i64,
    body: Value,
    at: i64,
}

#[derive(Debug)]
pub(super) struct Notices {
    waiting: VecDeque<Notice>,
    next_receipt: i64,
    cleared_at: i64,
}

/// A webhook to be posted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delivery {
    pub(crate) url: String,
    pub(crate) authorization: Option<String>,
    pub(crate) receipt: i64,
    pub(crate) body: Value,
}

impl Notices {
    pub(super) const fn new(now: i64) -> Self {
        Self { waiting: VecDeque::new(), next_receipt: 1, cleared_at: now - CLEAR_EVERY_MS }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn forget_until(&mut self, moment: i64) {
        self.waiting.retain(|notice| notice.at > moment);
    }

    fn number(&mut self, body: Value, at: i64) -> Notice {
        let receipt = self.next_receipt;
        self.next_receipt += 1;
        Notice { receipt, body, at }
    }
}

impl Account {
    /// Tells something, if the switch for it is on.
    pub(super) fn tell(&mut self, switch: &str, body: Value, now: i64) {
        if self.settings.is_on(switch) {
            self.tell_always(body, now);
        }
    }

    pub(super) fn tell_always(&mut self, mut body: Value, now: i64) {
        body["instanceData"] =
            json!({ "idInstance": self.options.instance, "wid": self.wid(), "typeInstance": "whatsapp" });
        body["timestamp"] = json!(now / 1_000);
        self.tell_as_it_is(body, now);
    }

    pub(crate) fn tell_as_it_is(&mut self, body: Value, now: i64) {
        let notice = self.notices.number(body, now);
        self.notices.waiting.push_back(notice);
    }

    /// Tells of a message, under the switch of its kind or else of its writer.
    pub(super) fn tell_message(&mut self, message: &Message, now: i64) {
        let (kind, switch) = match message.by {
            By::Contact => ("incomingMessageReceived", "incomingWebhook"),
            By::Phone => ("outgoingMessageReceived", "outgoingMessageWebhook"),
            By::Api => ("outgoingAPIMessageReceived", "outgoingAPIMessageWebhook"),
        };
        let switch = match message.data["typeMessage"].as_str() {
            Some("editedMessage") => "editedMessageWebhook",
            Some("deletedMessage") => "deletedMessageWebhook",
            Some("pollMessage" | "pollUpdateMessage") => "pollMessageWebhook",
            _ => switch,
        };
        let sender = if message.by == By::Contact { message.sender.clone() } else { self.wid() };
        let body = json!({
            "typeWebhook": kind,
            "idMessage": message.id,
            "senderData": {
                "chatId": message.chat,
                "chatName": self.name_of(&message.chat),
                "sender": sender,
                "senderName": message.name,
                "senderContactName": if message.by == By::Contact { &message.name } else { "" },
            },
            "messageData": message.data,
        });
        self.tell(switch, body, now);
    }

    /// The oldest. A fault lets the next one go before it.
    fn head(&mut self) -> Option<&Notice> {
        if self.notices.waiting.len() > 1 && self.take_fault(|fault| fault.fault == Kind::Swap).is_some() {
            self.notices.waiting.swap(0, 1);
        }
        self.notices.waiting.front()
    }

    /// What is to be posted now.
    pub(crate) fn delivery(&mut self) -> Option<Delivery> {
        let url = self.settings.text("webhookUrl").to_owned();
        let authorization = authorization(self.settings.text("webhookUrlToken"));
        let head = self.head().filter(|_| !url.is_empty())?;
        Some(Delivery { url, authorization, receipt: head.receipt, body: head.body.clone() })
    }

    pub(crate) const fn retry_ms(&self) -> i64 {
        self.options.pace.retry_ms
    }

    /// That one was taken. False: it is not there. A fault lets it come a second time.
    pub(crate) fn settle(&mut self, receipt: i64, now: i64) -> bool {
        let waiting = &mut self.notices.waiting;
        let Some(at) = waiting.iter().position(|notice| notice.receipt == receipt) else { return false };
        let Some(taken) = waiting.remove(at) else { return false };
        if self.take_fault(|fault| fault.fault == Kind::Twice).is_some() {
            let again = self.notices.number(taken.body, now);
            self.notices.waiting.push_front(again);
        }
        true
    }

    /// The next one as it is fetched, or null.
    pub(crate) fn fetched(&mut self) -> Value {
        self.head().map_or(Value::Null, |head| json!({ "receiptId": head.receipt, "body": head.body }))
    }

    pub(super) fn receive(&mut self, call: &Call) -> Answer {
        if !self.settings.text("webhookUrl").is_empty() {
            return Answer::refused(
                call,
                "Message cannot be received because custom webhook url is set. Go to cabinet, clear webhook url",
            );
        }
        let wait = call.query.get("receiveTimeout").map_or(Ok(*WAIT_S.start()), |wait| wait.parse());
        match wait {
            Ok(wait) if WAIT_S.contains(&wait) => Answer::Later(wait),
            _ => Answer::invalid(call, "'receiveTimeout' must be from 5 to 60"),
        }
    }

    pub(super) fn acknowledge(&mut self, call: &Call) -> Answer {
        let Some(Ok(receipt)) = call.receipt.as_ref().map(|receipt| receipt.parse()) else {
            return Answer::refused(call, "Parameter receiptId must be a Number");
        };
        let is_there = self.settle(receipt, call.now);
        let reason = if is_there { "" } else { "Notification not found" };
        Answer::ok(json!({ "result": is_there, "reason": reason }))
    }

    pub(super) fn webhooks_count(&mut self, _: &Call) -> Answer {
        Answer::ok(json!({ "count": self.notices.len() }))
    }

    pub(super) fn clear_webhooks_queue(&mut self, call: &Call) -> Answer {
        let left_ms = self.notices.cleared_at + CLEAR_EVERY_MS - call.now;
        if left_ms > 0 {
            let reason = "the queue was cleared less than a minute ago";
            return Answer::ok(json!({ "isCleared": false, "reason": reason, "leftTime": left_ms / 1_000 }));
        }
        self.notices.waiting.clear();
        self.notices.cleared_at = call.now;
        Answer::ok(json!({ "isCleared": true, "reason": null, "leftTime": 0 }))
    }
}

/// How a token is shown; one that says how is shown as it is.
fn authorization(token: &str) -> Option<String> {
    match token {
        "" => None,
        token if token.starts_with("Bearer ") || token.starts_with("Basic ") => Some(token.to_owned()),
        token => Some(format!("Bearer {token}")),
    }
}

/// Of the faults, those of what is told.
impl Fault {
    pub(super) const fn is_of_notice(&self) -> bool {
        matches!(self.fault, Kind::Twice | Kind::Swap)
    }
}
