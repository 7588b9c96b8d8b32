//! The settings of an account that Baton depends on. In: the answer of `getSettings`. Out: what `baton check` looks at.

use serde_json::Value;

use super::part::Part;

/// The switches without which Baton misses something, and what it would miss.
pub const SWITCHES: [(&str, &str); 8] = [
    ("incomingWebhook", "what customers write"),
    ("outgoingMessageWebhook", "that a person took over on the phone"),
    ("outgoingAPIMessageWebhook", "whether an unclear send went after all"),
    ("outgoingWebhook", "how far a message got"),
    ("stateWebhook", "that the phone is no longer linked"),
    ("editedMessageWebhook", "that a customer edited a message"),
    ("deletedMessageWebhook", "that a customer deleted a message"),
    ("pollMessageWebhook", "polls"),
];

/// What an account is set to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where webhooks go; empty: nowhere.
    pub webhook_url: String,
    /// Whether they carry a token. The token itself is not kept.
    pub has_webhook_token: bool,
    /// Least time between two sends of the account.
    pub send_delay_ms: Option<i64>,
    /// Those of [`SWITCHES`] that are not on.
    pub switches_off: Vec<&'static str>,
    /// The account gives blue ticks by itself, which Baton then cannot hold back.
    pub marks_read_itself: bool,
}

impl Settings {
    pub(super) fn of(answer: &Value) -> Self {
        let answer = Part::of(answer);
        let is_on = |name: &str| answer.flag(name).unwrap_or_else(|| answer.text(name) == "yes");
        Self {
            webhook_url: answer.text("webhookUrl").trim().to_owned(),
            has_webhook_token: !answer.text("webhookUrlToken").trim().is_empty(),
            send_delay_ms: answer.integer("delaySendMessagesMilliseconds"),
            switches_off: SWITCHES.iter().map(|(name, _)| *name).filter(|name| !is_on(name)).collect(),
            marks_read_itself: ["markIncomingMessagesReaded", "markIncomingMessagesReadedOnReply"]
                .iter()
                .any(|name| is_on(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_account_has_every_switch_off() {
        let settings = Settings::of(&json!({"webhookUrl": "", "incomingWebhook": "no"}));
        assert_eq!(settings.switches_off.len(), SWITCHES.len());
        assert!(!settings.has_webhook_token);
    }

    #[test]
    fn what_is_on_is_not_listed_and_the_token_is_not_kept() {
        let mut answer = json!({"webhookUrl": "https://baton.example/w", "webhookUrlToken": "s3cret",
            "delaySendMessagesMilliseconds": 500, "markIncomingMessagesReaded": "yes"});
        for (name, _) in SWITCHES {
            answer[name] = json!("yes");
        }
        answer["stateWebhook"] = json!("no");
        let settings = Settings::of(&answer);
        assert_eq!(settings.switches_off, ["stateWebhook"]);
        assert_eq!(settings.send_delay_ms, Some(500));
        assert!(settings.has_webhook_token && settings.marks_read_itself);
        assert!(!format!("{settings:?}").contains("s3cret"));
    }
}
