//! What an account is set to. A change restarts it, and holds when that is over.

use serde_json::{Map, Value, json};

use super::{
    Account, Options,
    answer::{Answer, Call},
    fields::{Field, Kind, may},
};

/// What can be set.
pub(super) const FIELDS: &[Field] = &[
    may("webhookUrl", Kind::Text(2_000)),
    may("webhookUrlToken", Kind::Text(2_000)),
    may("delaySendMessagesMilliseconds", Kind::Integer(500, 600_000)),
    may("markIncomingMessagesReaded", Kind::YesNo),
    may("markIncomingMessagesReadedOnReply", Kind::YesNo),
    may("outgoingWebhook", Kind::YesNo),
    may("outgoingMessageWebhook", Kind::YesNo),
    may("outgoingAPIMessageWebhook", Kind::YesNo),
    may("stateWebhook", Kind::YesNo),
    may("incomingWebhook", Kind::YesNo),
    may("deviceWebhook", Kind::YesNo),
    may("statusInstanceWebhook", Kind::YesNo),
    may("pollMessageWebhook", Kind::YesNo),
    may("incomingCallWebhook", Kind::YesNo),
    may("outgoingCallWebhook", Kind::YesNo),
    may("incomingBlockWebhook", Kind::YesNo),
    may("editedMessageWebhook", Kind::YesNo),
    may("deletedMessageWebhook", Kind::YesNo),
    may("keepOnlineStatus", Kind::YesNo),
    may("enableMessagesHistory", Kind::YesNo),
    may("linkPreview", Kind::Flag),
    may("autoTyping", Kind::Integer(0, 4)),
    may("enableLidMode", Kind::Flag),
];

#[derive(Debug)]
pub(super) struct Settings(Map<String, Value>);

impl Settings {
    /// Those of a new account: every switch is off. With an address for webhooks, they are on.
    pub(super) fn new(options: &Options) -> Self {
        let is_told = !options.webhook_url.is_empty();
        let value = |field: &Field| match (field.name, field.kind) {
            ("webhookUrl", _) => json!(options.webhook_url),
            ("webhookUrlToken", _) => json!(options.webhook_token),
            ("delaySendMessagesMilliseconds", _) => json!(options.pace.send_delay_ms),
            (name, Kind::YesNo) => json!(if is_told && name.ends_with("Webhook") { "yes" } else { "no" }),
            (name, Kind::Flag) => json!(name == "linkPreview"),
            _ => json!(0),
        };
        Self(FIELDS.iter().map(|field| (field.name.to_owned(), value(field))).collect())
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_str) == Some("yes")
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn send_delay_ms(&self) -> i64 {
        self.0.get("delaySendMessagesMilliseconds").and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn set(&mut self, changes: Map<String, Value>) {
        self.0.extend(changes);
    }

    /// As they are told, with the old ones that mean nothing any more.
    pub(super) fn shown(&self, wid: &str) -> Value {
        let mut shown = self.0.clone();
        shown.insert("wid".to_owned(), json!(wid));
        for (name, value) in [("sharedSession", "no"), ("countryInstance", ""), ("typeAccount", "")] {
            shown.insert(name.to_owned(), json!(value));
        }
        Value::Object(shown)
    }
}

impl Account {
    pub(super) fn get_settings(&mut self, _: &Call) -> Answer {
        Answer::ok(self.settings.shown(&self.wid()))
    }

    pub(super) fn set_settings(&mut self, call: &Call) -> Answer {
        let is_known = |name: &str| FIELDS.iter().any(|field| field.name == name);
        let changes: Map<String, Value> = call
            .body
            .iter()
            .filter(|(name, value)| is_known(name) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if changes.is_empty() {
            return Answer::invalid(call, "at least one setting is required");
        }
        self.restart_with(changes, call.now);
        Answer::ok(json!({ "saveSettings": true }))
    }
}
