//! The kinds of values that settings take, and how each is read from text.
//!
//! In: what a flag, a variable or the file says. Out: a value, or one line on what is allowed.

use std::str::FromStr;

use crate::domain::words::words;

pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const YEAR: i64 = 366 * 24 * HOUR;

words! {
    /// Which model writes the replies.
    AiProvider {
        /// Any server that speaks OpenAI's chat completions.
        OpenAi = "openai",
        /// Anthropic's Messages API, or a server that speaks it.
        Anthropic = "anthropic",
        /// A service of one's own, asked by signed requests.
        Http = "http",
        /// A fixed part, for trying and testing.
        Scripted = "scripted",
        /// No model: every conversation begins with people.
        None = "none",
    }
}

words! {
    /// How what contacts write reaches us.
    Receive {
        /// The provider posts it to us.
        Webhook = "webhook",
        /// We fetch it: no public address needed.
        Poll = "poll",
    }
}

words! {
    /// Which language people read: those of `dashboard/app/words`.
    Language {
        /// English.
        English = "en",
        /// Spanish.
        Spanish = "es",
        /// Portuguese.
        Portuguese = "pt",
        /// Russian.
        Russian = "ru",
    }
}

impl Language {
    /// What it is called, for the model.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Spanish => "Spanish",
            Self::Portuguese => "Portuguese",
            Self::Russian => "Russian",
        }
    }
}

words! {
    /// How log lines look.
    LogFormat {
        /// For eyes.
        Pretty = "pretty",
        /// For programs.
        Json = "json",
    }
}

/// Words or phrases, comma-separated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words(pub Vec<String>);

impl FromStr for Words {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned);
        Ok(Self(words.collect()))
    }
}

/// Waits one after the other, in milliseconds, comma-separated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits(pub Vec<i64>);

/// More of them would be a campaign.
const WAITS_MAX: usize = 10;

impl FromStr for Waits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "0" {
            return Ok(Self::default());
        }
        let waits: Vec<i64> = text.split(',').map(whole(1, YEAR)).collect::<Result<_, _>>()?;
        if waits.len() > WAITS_MAX {
            return Err(format!("has {} numbers; at most {WAITS_MAX}", waits.len()));
        }
        Ok(Self(waits))
    }
}

/// Origins of pages, comma-separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins(pub Vec<String>);

impl FromStr for Origins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let origin = |word: &str| {
            let (scheme, host) = word.split_once("://").unwrap_or_default();
            let is_host =
                !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b));
            if matches!(scheme, "http" | "https") && is_host {
                Ok(word.to_ascii_lowercase())
            } else {
                Err(format!("{word:?} is not an origin such as https://crm.example, without a path"))
            }
        };
        text.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(origin)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Reads an amount of money.
pub(super) fn money(text: &str) -> Result<f64, String> {
    let amount = text.trim().parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "must be an amount such as 5 or 2.50".to_owned())
}

/// Reads an address for HTTP; a slash at its end is dropped. One that is refused is not repeated: a password may be in it.
pub(super) fn http_url(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => {
            let parsed = reqwest::Url::parse(text).map(|_| text.to_owned());
            parsed.map_err(|error| format!("is not an address: {error}"))
        }
        _ => Err("is not an address: must begin with http:// or https://".to_owned()),
    }
}

/// The same, to which paths are added.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let url = http_url(text)?;
    if url.contains(['?', '#']) { Err("must end with its path".to_owned()) } else { Ok(url) }
}

/// Reads the address to listen on.
pub(super) fn socket(text: &str) -> Result<std::net::SocketAddr, String> {
    text.parse().map_err(|_| format!("{text:?} is not an IP address and port, such as 127.0.0.1:8080"))
}

/// Reads the provider's id of an instance.
pub(super) fn instance(text: &str) -> Result<String, String> {
    let is_id = (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if is_id { Ok(text.to_owned()) } else { Err(format!("{text:?} is not a number such as 7103000001")) }
}

/// Reads a time zone.
pub(super) fn time_zone(text: &str) -> Result<String, String> {
    match jiff::tz::TimeZone::get(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("{text:?} is not a time zone such as Asia/Singapore")),
    }
}

/// Reads a yes or no.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(format!("{text:?} is neither on nor off")),
    }
}

/// Longest text that is sent as it stands.
const TEXT_MAX: usize = 4_096;

/// Reads a text for contacts.
pub(super) fn text(text: &str) -> Result<String, String> {
    match text.chars().count() {
        _ if text.trim().is_empty() => Err("must not be empty".to_owned()),
        ..=TEXT_MAX => Ok(text.to_owned()),
        count => Err(format!("has {count} characters; at most {TEXT_MAX}")),
    }
}

/// Reads a whole number between two bounds.
pub(super) fn whole<T: TryFrom<i64>>(least: i64, most: i64) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse::<i64>().ok().filter(|number| (least..=most).contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("{text:?} is not a whole number from {least} to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_bounds_are_refused_with_the_bounds() {
        let percent = whole::<u8>(0, 100);
        assert_eq!(percent("100"), Ok(100));
        assert_eq!(percent("101"), Err("\"101\" is not a whole number from 0 to 100".to_owned()));
        assert!(percent("1e1").is_err() && percent("-1").is_err() && percent("").is_err());
    }

    #[test]
    fn waits_are_a_few_numbers_or_none() {
        assert_eq!("0".parse(), Ok(Waits::default()));
        assert_eq!("3600000, 86400000".parse(), Ok(Waits(vec![3_600_000, 86_400_000])));
        for wrong in ["", "1,0", "1,,2", "-1", "a day", "1,2,3,4,5,6,7,8,9,10,11"] {
            assert!(wrong.parse::<Waits>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_are_trimmed_and_empty_ones_dropped() {
        assert_eq!(
            "stop, talk to a person ,,".parse(),
            Ok(Words(vec!["stop".into(), "talk to a person".into()]))
        );
        assert_eq!("".parse(), Ok(Words::default()));
    }
}
