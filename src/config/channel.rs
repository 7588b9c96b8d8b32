//! The rules of a channel: what the settings say, with what the channel overrides.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::{
    Settings, Source, Words, Wrong,
    sources::{Given, Said},
    values,
};
use crate::domain::{brake::Brake, hours::Hours, policy::Policy};

/// Settings that a channel may override: their keys are the names of their fields in [`Policy`].
macro_rules! overridable {
    ($($key:ident)+) => {
        /// The keys by which a channel may override a setting.
        pub const CHANNEL_KEYS: &[&str] = &[$(stringify!($key)),+];

        /// Takes one rule over from another policy.
        fn take(policy: &mut Policy, key: &str, from: &Policy) {
            match key {
                $(stringify!($key) => policy.$key.clone_from(&from.$key),)+
                _ => {}
            }
        }
    };
}

overridable! {
    send_interval_ms send_in_flight send_attempts
    burst burst_quiet_ms burst_max_ms burst_max_messages
    typing_ms_per_char typing_jitter_ms typing_max_ms
    split_chars split_parts
    follow_up_after_ms follow_up_text follow_up_late_ms quiet_hours
    ai_hours handover_hours ai_spend_per_day
    human_hold_ms human_overdue_ms
    reply_cap stale_ms groups rollout_percent read_receipts cached_answers
    fallback_text handover_text unreadable_text opt_out_text
    handover_words opt_out_words
    ai_model
}

/// Why no ceiling can be 0: it would be reached at once.
pub(super) const NO_CEILING: &str =
    "cannot be 0, or the assistant would never answer: leave it out for no ceiling";

impl Settings {
    /// The rules of a channel that overrides nothing.
    pub fn policy(&self) -> Result<Policy, Wrong> {
        let words = |words: Option<&Words>| words.map(|words| words.0.clone()).unwrap_or_default();
        Ok(Policy {
            has_model: self.provider() != super::AiProvider::None,
            burst: self.burst,
            burst_quiet_ms: self.burst_quiet_ms,
            burst_max_ms: self.burst_max_ms,
            burst_max_messages: self.burst_max_messages,
            flood_per_minute: self.flood_per_minute,
            typing_ms_per_char: self.typing_ms_per_char,
            typing_jitter_ms: self.typing_jitter_ms,
            typing_max_ms: self.typing_max_ms,
            split_chars: self.split_chars,
            split_parts: self.split_parts,
            message_max_chars: self.message_max_chars,
            send_interval_ms: self.send_interval_ms,
            breaker_open_ms: self.breaker_open_ms,
            send_in_flight: self.send_in_flight,
            send_attempts: self.send_attempts,
            unknown_send: self.unknown_send,
            provider_timeout_ms: self.green_api_timeout_ms,
            ai_attempts: self.ai_attempts,
            retry_base_ms: self.retry_base_ms,
            ai_history: self.ai_history,
            reply_cap: self.reply_cap,
            lock_ttl_ms: self.lock_ttl_ms,
            human_hold_ms: self.human_hold_ms,
            human_overdue_ms: self.human_overdue_ms,
            follow_up_after_ms: self.follow_up_after_ms.0.clone(),
            follow_up_text: self.follow_up_text.clone(),
            follow_up_late_ms: self.follow_up_late_ms,
            repeat_ms: self.repeat_ms,
            quiet_hours: self.hours("BATON_QUIET_HOURS", self.quiet_hours.as_deref())?,
            ai_spend_per_day: self.ai_spend_per_day,
            is_spent: false,
            brake: Brake::default(),
            ai_hours: self.hours("BATON_AI_HOURS", self.ai_hours.as_deref())?,
            handover_hours: self.hours("BATON_HANDOVER_HOURS", self.handover_hours.as_deref())?,
            stale_ms: self.stale_ms,
            fallback_text: self.fallback_text.clone(),
            handover_text: self.handover_text.clone(),
            handover_words: words(self.handover_words.as_ref()),
            opt_out_words: words(Some(&self.opt_out_words)),
            opt_out_text: self.opt_out_text.clone(),
            unreadable_text: self.unreadable_text.clone(),
            transcribes: self.transcribing_model().is_some(),
            describes: self.describing_model().is_some(),
            groups: self.groups,
            read_receipts: self.read_receipts,
            cached_answers: self.cached_answers,
            rollout_percent: self.rollout_percent,
            drafting: false,
            ai_model: self.ai_model.clone().unwrap_or_default(),
            tools: self.tools()?,
            prompt: self.prompt()?,
            zone: TimeZone::get(&self.time_zone).map_err(|error| Wrong::new("BATON_TIME_ZONE", error))?,
        })
    }

    /// The rules of a channel: the policy, with what the channel's own settings say. A null says nothing.
    pub fn overlay(&self, policy: &Policy, settings: &Map<String, Value>) -> Result<Policy, Wrong> {
        let mut policy = policy.clone();
        let said = |text| Said { text, source: Source::Default };
        let mut given = Given::new();
        for (key, value) in settings.iter().filter(|(_, value)| !value.is_null()) {
            match key.as_str() {
                "prompt" => policy.prompt = text_of(key, value)?.into(),
                "drafting" => policy.drafting = switch_of(key, value)?,
                key if CHANNEL_KEYS.contains(&key) => {
                    let text = scalar(value).ok_or_else(|| {
                        Wrong::new(key, "must be text, a number, or a list of texts or numbers")
                    })?;
                    given.insert(key.to_owned(), said(text));
                }
                key => return Err(Wrong::new(key, "is not a setting that a channel may override")),
            }
        }
        let keys: Vec<String> = given.keys().cloned().collect();
        // Hours without a zone are meant in the zone of the whole.
        given.insert("time_zone".to_owned(), said(self.time_zone.clone()));
        let own = Self::from_given(given).and_then(|own| own.policy()).map_err(in_the_channels_words)?;
        for key in &keys {
            take(&mut policy, key, &own);
        }
        Ok(policy)
    }

    /// Whether a channel may begin to override settings so. What one overrides already is loaded whatever this says.
    pub fn check_channel(&self, settings: &Map<String, Value>) -> Result<(), Wrong> {
        let policy = self.overlay(&self.policy()?, settings)?;
        let says = |key: &str| settings.get(key).is_some_and(|value| !value.is_null());
        match &self.ai_prices {
            _ if policy.ai_spend_per_day == Some(0.0) && says("ai_spend_per_day") => {
                Err(Wrong::new("ai_spend_per_day", NO_CEILING))
            }
            None if says("ai_spend_per_day") => Err(Wrong::new(
                "ai_spend_per_day",
                "needs BATON_AI_PRICES: without prices nothing is counted",
            )),
            Some(prices)
                if policy.ai_spend_per_day.is_some()
                    && says("ai_model")
                    && prices.cost(&policy.ai_model, 0, 0).is_none() =>
            {
                Err(Wrong::new(
                    "ai_model",
                    "has no price in BATON_AI_PRICES: what it writes would not count against ai_spend_per_day",
                ))
            }
            _ => Ok(()),
        }
    }

    fn hours(&self, name: &str, text: Option<&str>) -> Result<Option<Arc<Hours>>, Wrong> {
        let read = |text| Hours::parse(text, &self.time_zone).map_err(|error| Wrong::new(name, error));
        Ok(text.map(read).transpose()?.map(Arc::new))
    }
}

/// A channel knows its settings by their keys, not by variables.
fn in_the_channels_words(wrong: Wrong) -> Wrong {
    let key = wrong.setting.trim_start_matches("BATON_").to_ascii_lowercase();
    Wrong { setting: key, ..wrong }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(on.to_string()),
        Value::Array(items) if items.iter().all(|item| item.is_string() || item.is_number()) => {
            Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text_of(key: &str, value: &Value) -> Result<String, Wrong> {
    let text = value.as_str().filter(|text| !text.trim().is_empty() && text.len() <= super::PROMPT_MAX_BYTES);
    text.map(str::to_owned).ok_or_else(|| Wrong::new(key, "must be text of at most 256 KiB, not empty"))
}

fn switch_of(key: &str, value: &Value) -> Result<bool, Wrong> {
    match value {
        Value::Bool(on) => Ok(*on),
        Value::String(text) => values::switch(text).map_err(|problem| Wrong::new(key, problem)),
        _ => Err(Wrong::new(key, "must be true or false")),
    }
}
