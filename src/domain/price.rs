//! Rule: what a model costs.
//!
//! In: prices as people write them, tokens. Out: money, in the unit of the prices.
//!
//! ```text
//! prices = price { "," price }       gpt-4o-mini=0.15/0.60, claude-sonnet-4=3/15
//! price  = [ model "=" ] read "/" written      for a million tokens; without a model: of every other one
//! ```

use std::str::FromStr;

const MILLION: f64 = 1_000_000.0;

/// What one model costs, for a million tokens.
#[derive(Debug, Clone, PartialEq)]
struct Price {
    /// None: every model that has no price of its own.
    model: Option<String>,
    input: f64,
    output: f64,
}

/// What models cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(Vec<Price>);

impl Prices {
    /// Nobody has said what anything costs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What this many tokens cost; None: there is no price.
    pub fn cost(&self, model: &str, input_tokens: i64, output_tokens: i64) -> Option<f64> {
        let own = self.0.iter().find(|price| price.model.as_deref() == Some(model));
        let price = own.or_else(|| self.0.iter().find(|price| price.model.is_none()))?;
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53: a day of a whole country")]
        let tokens = |count: i64| count.max(0) as f64;
        Some((tokens(input_tokens) * price.input + tokens(output_tokens) * price.output) / MILLION)
    }
}

impl FromStr for Prices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut prices: Vec<Price> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || format!("{part:?} is no price such as 0.15/0.60 or gpt-4o-mini=0.15/0.60");
            let (model, price) = match part.rsplit_once('=') {
                Some((model, price)) => (Some(model.trim()).filter(|model| !model.is_empty()), price),
                None => (None, part),
            };
            if model.is_none() && part.contains('=') {
                return Err(wrong());
            }
            let (input, output) = price.split_once('/').ok_or_else(wrong)?;
            let money = |text: &str| {
                text.trim().parse::<f64>().ok().filter(|money| money.is_finite() && *money >= 0.0)
            };
            let (Some(input), Some(output)) = (money(input), money(output)) else { return Err(wrong()) };
            let model = model.map(str::to_owned);
            if prices.iter().any(|price| price.model == model) {
                return Err(format!("{part:?} is the second price of the same"));
            }
            prices.push(Price { model, input, output });
        }
        if prices.is_empty() { Err("names no price such as 0.15/0.60".to_owned()) } else { Ok(Self(prices)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_costs_its_own_price_or_that_of_every_other() {
        let prices: Prices = "gpt-4o-mini = 0.15/0.60, 3/15".parse().expect("prices");
        assert_eq!(prices.cost("gpt-4o-mini", 1_000_000, 500_000), Some(0.45));
        assert_eq!(prices.cost("another", 1_000, 1_000), Some(0.018));
        let one: Prices = "a=1/2".parse().expect("prices");
        assert_eq!((one.cost("b", 1, 1), one.cost("a", -5, 0)), (None, Some(0.0)));
        assert_eq!(one.cost("a", 10_000_000_000, 0), Some(10_000.0), "of a day of millions of messages");
    }

    #[test]
    fn what_is_no_price_is_said() {
        for text in ["", "cheap", "1", "1/", "a=1", "=1/2", "-1/2", "inf/1", "a=1/2,a=2/3", "1/2,3/4"] {
            assert!(text.parse::<Prices>().is_err(), "{text}");
        }
    }
}
