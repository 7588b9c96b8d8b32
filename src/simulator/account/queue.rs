//! One queue for all chats: one message after the other leaves, with the time between them that the settings want, as long as
//! the phone is linked. What is left there for a day is gone.

use serde_json::{Map, Value, json};

use super::{
    Account, KEPT_MS,
    answer::{Answer, Call},
    content,
    faults::{self, Fault},
    journal::{By, Message},
};

/// What waits.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Of the messages that it will be; of typing none.
    ids: Vec<String>,
    method: String,
    body: Map<String, Value>,
    /// Where its file lies.
    url: String,
    at: i64,
    typing_ms: i64,
    fate: Fate,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives, with everything that is told of it.
    Arrives,
    /// Nothing more is ever heard of it.
    IsSwallowed,
    /// It arrives, and is not told as sent by the API.
    HasNoEcho,
    /// There is nobody at that number.
    HasNoAccount,
    /// It fails.
    Fails,
    /// It is said to have failed, and arrives.
    FailsAndArrives,
}

/// What is still to be told of a message.
#[derive(Debug)]
pub(super) struct Step {
    at: i64,
    id: String,
    status: &'static str,
}

impl Entry {
    pub(super) fn new(call: &Call, ids: Vec<String>) -> Self {
        Self {
            ids,
            method: call.method.clone(),
            body: call.body.clone(),
            url: String::new(),
            at: call.now,
            typing_ms: call.integer("typingTime").unwrap_or_default(),
            fate: Fate::Arrives,
        }
    }

    pub(super) fn typing(self, typing_ms: i64) -> Self {
        Self { typing_ms, ..self }
    }

    pub(super) fn with(self, url: String, fate: Fate) -> Self {
        Self { url, fate, ..self }
    }

    fn chat(&self) -> &str {
        self.body.get("chatId").and_then(Value::as_str).unwrap_or_default()
    }

    const fn is_typing(&self) -> bool {
        self.ids.is_empty()
    }
}

impl Fate {
    pub(super) const fn of(fault: faults::Kind) -> Self {
        match fault {
            faults::Kind::Swallow => Self::IsSwallowed,
            faults::Kind::NoEcho => Self::HasNoEcho,
            faults::Kind::NoAccount => Self::HasNoAccount,
            faults::Kind::Fail => Self::Fails,
            faults::Kind::FailThenSend => Self::FailsAndArrives,
            faults::Kind::Status
            | faults::Kind::Hang
            | faults::Kind::Drop
            | faults::Kind::Slow
            | faults::Kind::Twice
            | faults::Kind::Swap => Self::Arrives,
        }
    }
}

impl Account {
    /// Everything that is due happens. Returns whether anything did, and when the next thing is due.
    pub(crate) fn tick(&mut self, now: i64) -> (bool, Option<i64>) {
        self.queue.retain(|entry| entry.at + KEPT_MS > now);
        self.notices.forget_until(now - KEPT_MS);
        let mut has_changed = false;
        while let Some((due, what)) = self.next().filter(|(due, _)| *due <= now) {
            has_changed = true;
            match what {
                Due::Restart => self.end_restart(due),
                Due::Step(at) => {
                    let step = self.steps.remove(at);
                    self.report(&step.id, step.status, now);
                }
                Due::Entry => {
                    if let Some(entry) = self.queue.pop_front() {
                        self.leave(&entry, now);
                    }
                }
            }
        }
        (has_changed, self.next().map(|(due, _)| due))
    }

    fn next(&self) -> Option<(i64, Due)> {
        let restart = self.restart.as_ref().map(|restart| (restart.ends_at, Due::Restart));
        let step = self.steps.iter().enumerate().min_by_key(|(_, step)| step.at);
        let step = step.map(|(at, step)| (step.at, Due::Step(at)));
        let entry =
            self.queue.front().filter(|_| self.can_send()).map(|entry| (self.leaves_at(entry), Due::Entry));
        [restart, step, entry].into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    /// The time between two sends is counted from the one before. Typing is shown before a message.
    fn leaves_at(&self, entry: &Entry) -> i64 {
        let free_at = self.last_sent_at.saturating_add(self.settings.send_delay_ms()).max(entry.at);
        if entry.is_typing() { free_at } else { free_at + entry.typing_ms }
    }

    fn leave(&mut self, entry: &Entry, now: i64) {
        self.last_sent_at = now;
        if entry.is_typing() {
            self.last_sent_at = now + entry.typing_ms;
            self.typing_until.insert(entry.chat().to_owned(), self.last_sent_at);
            return;
        }
        self.typing_until.remove(entry.chat());
        if self.settings.is_on("markIncomingMessagesReadedOnReply") {
            self.mark_read(entry.chat(), "");
        }
        for (at, id) in entry.ids.iter().enumerate() {
            if let Some(data) = self.data_of(entry, at) {
                let message = Message::new(id, entry.chat(), now, By::Api, data);
                self.arrive(message, entry.fate, now);
            }
        }
    }

    /// What one of its messages holds; None: there is nothing to forward.
    fn data_of(&self, entry: &Entry, at: usize) -> Option<Value> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if entry.method != "forwardMessages" {
            let quoted = entry.body.get("quotedMessageId").map(text).unwrap_or_default();
            let quoted = self.message(entry.chat(), &quoted);
            return Some(content::sent(&entry.method, &entry.body, &entry.url, quoted));
        }
        let from = entry.body.get("chatIdFrom").map(text)?;
        let id = entry.body.get("messages").and_then(|ids| ids.get(at)).map(text)?;
        self.message(&from, &id).map(|message| content::forwarded(&message.data))
    }

    fn arrive(&mut self, message: Message, fate: Fate, now: i64) {
        let (id, echo) = (message.id.clone(), message.clone());
        if fate == Fate::IsSwallowed {
            return;
        }
        self.write_down(message);
        match fate {
            Fate::HasNoAccount => return self.report(&id, "noAccount", now),
            Fate::Fails => return self.report(&id, "failed", now),
            Fate::FailsAndArrives => self.report(&id, "failed", now),
            Fate::Arrives | Fate::HasNoEcho | Fate::IsSwallowed => {}
        }
        if fate != Fate::HasNoEcho {
            self.tell_message(&echo, now);
        }
        self.follow(&id, now);
    }

    /// A message of ours is on its way: sent, delivered, read.
    pub(super) fn follow(&mut self, id: &str, now: i64) {
        self.report(id, "sent", now);
        let tick = self.options.pace.tick_ms;
        for (at, status) in [(now + tick, "delivered"), (now + tick * 2, "read")] {
            self.steps.push(Step { at, id: id.to_owned(), status });
        }
    }

    /// A message has got so far, which is told.
    fn report(&mut self, id: &str, status: &'static str, now: i64) {
        let Some(message) = self.messages.iter_mut().rev().find(|message| message.id == id) else { return };
        status.clone_into(&mut message.status);
        let told = json!({
            "typeWebhook": "outgoingMessageStatus",
            "chatId": message.chat,
            "idMessage": id,
            "status": status,
            "sendByApi": message.by == By::Api,
        });
        // Of these it is told also while nobody asked.
        if matches!(status, "noAccount" | "failed") {
            self.tell_always(told, now);
        } else {
            self.tell("outgoingWebhook", told, now);
        }
    }

    pub(super) fn shown_queue(&self) -> Vec<Value> {
        let shown = |entry: &Entry| match entry.method.as_str() {
            "forwardMessages" => {
                json!({ "messagesIDs": entry.ids, "type": "ForwardMessages", "body": entry.body })
            }
            method => json!({ "messageID": entry.ids[0], "type": method, "body": entry.body }),
        };
        self.queue.iter().filter(|entry| !entry.is_typing()).map(shown).collect()
    }

    pub(super) fn show_messages_queue(&mut self, _: &Call) -> Answer {
        Answer::ok(Value::from(self.shown_queue()))
    }

    pub(super) fn messages_count(&mut self, _: &Call) -> Answer {
        Answer::ok(json!({ "count": self.shown_queue().len() }))
    }

    /// All chats at once: there is no other way to take anything back.
    pub(super) fn clear_messages_queue(&mut self, _: &Call) -> Answer {
        self.queue.clear();
        Answer::ok(json!({ "isCleared": true }))
    }

    /// What a fault does to the next message.
    pub(super) fn fault_of_message(&mut self) -> Option<faults::Kind> {
        self.take_fault(Fault::is_of_message).map(|fault| fault.fault)
    }
}

/// What happens next.
enum Due {
    Restart,
    Step(usize),
    Entry,
}
