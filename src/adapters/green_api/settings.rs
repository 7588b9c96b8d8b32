//! The settings of an account that Baton depends on. In: the answer of `getSettings`, and what it should be set to. Out: what
//! `baton check` looks at, and what `baton connect` changes.

use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq as _;

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

/// What gives blue ticks without being asked, which Baton then cannot hold back.
const MARKS_READ: [&str; 2] = ["markIncomingMessagesReaded", "markIncomingMessagesReadedOnReply"];

/// What an account is set to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where webhooks go; empty: nowhere.
    pub webhook_url: String,
    /// Whether they carry a token. The token itself is not kept.
    pub has_webhook_token: bool,
    /// Whether it is the one that is expected.
    pub has_our_token: bool,
    /// Least time between two sends of the account.
    pub send_delay_ms: Option<i64>,
    /// Those of [`SWITCHES`] that are not on.
    pub switches_off: Vec<&'static str>,
    /// Those that make the account give blue ticks by itself, and are on.
    pub marks_read: Vec<&'static str>,
}

/// Where an account should post, and with what.
#[derive(Clone)]
pub struct Door {
    /// The address; empty: nowhere, its notifications are fetched.
    pub url: String,
    /// The token.
    pub token: String,
}

/// A setting that should be another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name at the gateway.
    pub setting: &'static str,
    /// What it is.
    pub is: String,
    /// What it should be; of a token not the token.
    pub should_be: String,
    /// What it is good for.
    pub why: String,
}

impl Settings {
    pub(super) fn of(answer: &Value, expected_token: Option<&str>) -> Self {
        let answer = Part::of(answer);
        let token = answer.text("webhookUrlToken").trim();
        let is_expected = |expected: &str| {
            let given = token.strip_prefix("Bearer ").or(token.strip_prefix("Basic ")).unwrap_or(token);
            bool::from(given.as_bytes().ct_eq(expected.as_bytes()))
        };
        let is_on = |name: &str| answer.flag(name).unwrap_or_else(|| answer.text(name) == "yes");
        Self {
            webhook_url: answer.text("webhookUrl").trim().to_owned(),
            has_webhook_token: !token.is_empty(),
            has_our_token: expected_token.is_some_and(is_expected),
            send_delay_ms: answer.integer("delaySendMessagesMilliseconds"),
            switches_off: SWITCHES.iter().map(|(name, _)| *name).filter(|name| !is_on(name)).collect(),
            marks_read: MARKS_READ.into_iter().filter(|name| is_on(name)).collect(),
        }
    }

    /// What has to change so that Baton hears everything, by that door.
    pub fn differences(&self, door: &Door) -> Vec<Difference> {
        let differs = |setting, is: &str, should_be: &str, why: &str| Difference {
            setting,
            is: if is.is_empty() { "not set".to_owned() } else { is.to_owned() },
            should_be: if should_be.is_empty() { "not set".to_owned() } else { should_be.to_owned() },
            why: why.to_owned(),
        };
        let mut all = Vec::new();
        if self.webhook_url != door.url {
            let why = if door.url.is_empty() {
                "notifications are fetched, which an address prevents"
            } else {
                "Baton's door"
            };
            all.push(differs("webhookUrl", &self.webhook_url, &door.url, why));
        }
        if !door.url.is_empty() && !self.has_our_token {
            let is = if self.has_webhook_token { "another" } else { "" };
            all.push(differs("webhookUrlToken", is, "Baton's", "without it the door stays shut"));
        }
        for (name, why) in SWITCHES.iter().filter(|(name, _)| self.switches_off.contains(name)) {
            all.push(differs(name, "no", "yes", &format!("tells {why}")));
        }
        for name in &self.marks_read {
            all.push(differs(name, "yes", "no", "blue ticks are Baton's to give (BATON_READ_RECEIPTS)"));
        }
        all
    }
}

/// The differences as the gateway takes them.
pub(super) fn changes(differences: &[Difference], door: &Door) -> Map<String, Value> {
    let value = |difference: &Difference| match difference.setting {
        "webhookUrl" => json!(door.url),
        "webhookUrlToken" => json!(door.token),
        _ => json!(difference.should_be),
    };
    differences.iter().map(|it| (it.setting.to_owned(), value(it))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_account_has_every_switch_off() {
        let settings = Settings::of(&json!({"webhookUrl": "", "incomingWebhook": "no"}), None);
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
        let settings = Settings::of(&answer, Some("s3cret"));
        assert_eq!(settings.switches_off, ["stateWebhook"]);
        assert_eq!(settings.send_delay_ms, Some(500));
        assert!(settings.has_webhook_token && settings.has_our_token);
        assert_eq!(settings.marks_read, ["markIncomingMessagesReaded"]);
        assert!(!format!("{settings:?}").contains("s3cret"));
        answer["webhookUrlToken"] = json!("Bearer another");
        assert!(!Settings::of(&answer, Some("s3cret")).has_our_token);
    }

    #[test]
    fn only_what_differs_is_changed_and_the_token_is_not_told() {
        let door = Door { url: "https://baton.example/w".to_owned(), token: "s3cret".to_owned() };
        let mut answer = json!({"webhookUrl": "https://baton.example/w", "webhookUrlToken": "old"});
        for (name, _) in SWITCHES {
            answer[name] = json!("yes");
        }
        answer["stateWebhook"] = json!("no");
        let differences = Settings::of(&answer, Some("s3cret")).differences(&door);
        let names: Vec<_> = differences.iter().map(|it| it.setting).collect();
        assert_eq!(names, ["webhookUrlToken", "stateWebhook"]);
        assert!(!format!("{differences:?}").contains("s3cret"), "{differences:?}");
        let expected = json!({"webhookUrlToken": "s3cret", "stateWebhook": "yes"});
        assert_eq!(Value::from(changes(&differences, &door)), expected);

        for (name, value) in expected.as_object().expect("an object") {
            answer[name] = value.clone();
        }
        assert_eq!(Settings::of(&answer, Some("s3cret")).differences(&door), []);
        let nowhere = Door { url: String::new(), token: String::new() };
        let cleared = Settings::of(&answer, None).differences(&nowhere);
        assert_eq!(Value::from(changes(&cleared, &nowhere)), json!({"webhookUrl": ""}));
    }
}
