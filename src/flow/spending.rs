//! Rules: a ceiling of cost. What is spent is counted outside the flow, every few seconds; a channel whose ceiling is reached
//! begins no generation until the next day.
//!
//! In: a channel's policy, which says whether its ceiling is reached. Out: messages in front of a person.

use async_trait::async_trait;

use crate::domain::{
    conversation::AttentionReason, docket::Docket, message::OutcomeReason, price::Prices, time::Time,
};

use super::{archive::Usage, conversations, inbox, ledger::Error};

/// What the turns of erased people had used is known this long: longer than any day.
pub const ERASED_KEPT_MS: i64 = 2 * 24 * 60 * 60 * 1_000;

/// Place: what was used of models, over all instances.
#[async_trait]
pub trait Used: Send + Sync {
    /// Tokens of these channels in turns that have ended since then, each with its channel, by model; also in those of people who were
    /// erased, if `since` is a whole quarter of an hour, as the beginning of a day is in every time zone.
    async fn usage(&self, channels: &[String], since: Time) -> Result<Vec<(String, Usage)>, Error>;

    /// Forgets what the turns of erased people had used before then. Returns how many rows.
    async fn forget_usage(&self, before: Time) -> Result<u64, Error>;
}

/// Everything that waits goes to a person: nobody answers it by itself today.
pub fn leave_to_people(docket: &mut Docket) {
    inbox::hand_over_waiting(docket, OutcomeReason::SpendLimit);
    conversations::raise(docket, AttentionReason::SpendLimit);
}

/// What that cost, as far as there are prices for it.
pub fn cost_of<'u>(prices: &Prices, usage: impl IntoIterator<Item = &'u Usage>) -> f64 {
    let costs =
        usage.into_iter().filter_map(|used| prices.cost(&used.model, used.input_tokens, used.output_tokens));
    // A sum of nothing is -0.0, which would be shown as it is.
    costs.fold(0.0, |sum, cost| sum + cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_was_used_the_cost_is_zero_and_not_less() {
        let prices: Prices = "gpt=1/2".parse().expect("prices");
        assert_eq!(serde_json::json!(cost_of(&prices, &[])).to_string(), "0.0");
    }
}
