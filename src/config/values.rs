//! The kinds of values that settings take, and how each is read from text.
//!
//! In: what a flag, a variable or the file says. Out: a value, or one line on what is allowed. Secrets never show.

use std::{fmt, str::FromStr};

use super::settings::YEAR;
use crate::domain::words::words;

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

/// Text that no log, message or page may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself: only for the wire or a comparison.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl FromStr for Secret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("must be one word, without white space".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

/// Several secrets, comma-separated: while one is being replaced, the old and the new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets(Vec<Secret>);

impl Secrets {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Secret> {
        self.0.iter()
    }
}

impl FromStr for Secrets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let secrets = text.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if secrets.len() > 2 {
            return Err("at most two, comma-separated".to_owned());
        }
        Ok(Self(secrets))
    }
}

/// Keys for what is encrypted at rest: the first encrypts, all decrypt.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKeys(Vec<[u8; 32]>);

impl SecretKeys {
    /// The keys, the one that encrypts first.
    pub fn expose(&self) -> &[[u8; 32]] {
        &self.0
    }
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKeys({} of them)", self.0.len())
    }
}

impl FromStr for SecretKeys {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            "must be 64 hexadecimal digits (openssl rand -hex 32), or two such, comma-separated".to_owned()
        };
        let keys = text.split(',').map(|digits| {
            let mut key = [0; 32];
            hex::decode_to_slice(digits.trim(), &mut key).map(|()| key)
        });
        let keys = keys.collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
        if keys.len() > 2 { Err(wrong()) } else { Ok(Self(keys)) }
    }
}

/// Least characters of a passphrase: whoever has the file may guess as long as they like.
const PASSPHRASE_MIN: usize = 12;

/// Words that lock the keys in a backup.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(String);

impl Passphrase {
    /// The words themselves: only to make a key of them.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

impl FromStr for Passphrase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.chars().count() {
            _ if text.chars().any(char::is_control) => Err("must be one line".to_owned()),
            ..PASSPHRASE_MIN => Err(format!("must have at least {PASSPHRASE_MIN} characters")),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

/// Where a server is, perhaps with a password inside, which is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Location(String);

impl Location {
    /// The whole, for connecting.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, url) in self.0.split(',').enumerate() {
            let comma = if n == 0 { "" } else { "," };
            // What follows a `?` may hold a password too, and nobody needs it to know which server is meant.
            let url = url.split_once('?').map_or(url, |(before, _)| before);
            match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
                Some((scheme, (_, server))) => write!(f, "{comma}{scheme}://…@{server}")?,
                None => write!(f, "{comma}{url}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
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
                Err(format!("{word:?} is no origin such as https://crm.example, without a path"))
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

/// Reads a database's address.
pub(super) fn database(text: &str) -> Result<Location, String> {
    let known = ["sqlite:", "postgres://", "postgresql://"];
    if known.iter().any(|scheme| text.starts_with(scheme)) {
        Ok(Location(text.to_owned()))
    } else {
        Err("must begin with sqlite:// or postgres://".to_owned())
    }
}

/// Reads the addresses of a Redis.
pub(super) fn redis(text: &str) -> Result<Location, String> {
    let urls: Vec<&str> = text.split(',').map(str::trim).collect();
    if urls.iter().all(|url| url.starts_with("redis://") || url.starts_with("rediss://")) {
        Ok(Location(urls.join(",")))
    } else {
        Err("must begin with redis:// or rediss://; comma-separated for a cluster".to_owned())
    }
}

/// Reads the bearer token of the environment.
pub(super) fn api_token(text: &str) -> Result<Secret, String> {
    let token: Secret = text.parse()?;
    if token.expose().chars().count() < 20 {
        return Err("must have at least 20 characters (openssl rand -hex 24 makes one)".to_owned());
    }
    Ok(token)
}

/// Reads an address for HTTP; a slash at its end is dropped.
pub(super) fn http_url(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is no address: must begin with http:// or https://")),
    }
}

/// Reads the address of a collector of traces.
pub(super) fn collector(text: &str) -> Result<Location, String> {
    http_url(text).map(Location)
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
    fn a_secret_shows_in_no_form() {
        let secret: Secret = "0012345".parse().expect("a word");
        assert_eq!(secret.expose(), "0012345");
        let keys: SecretKeys = "ab".repeat(32).parse().expect("64 digits");
        let shown = format!("{secret:?} {keys:?}");
        assert!(!shown.contains("12345") && !shown.contains("171") && !shown.contains("ab"), "{shown}");
    }

    #[test]
    fn an_address_shows_without_its_password() {
        for (whole, shown) in [
            ("postgres://me:s3cret@db:5432/baton?sslpassword=s3cret", "postgres://…@db:5432/baton"),
            ("postgres://me:s3@cret@db/baton", "postgres://…@db/baton"),
            ("sqlite://baton.db", "sqlite://baton.db"),
        ] {
            assert_eq!(database(whole).expect("an address").to_string(), shown);
        }
        let cluster = redis("redis://:s3cret@a:1, rediss://b:2").expect("addresses");
        assert_eq!(format!("{cluster:?}"), "Location(redis://…@a:1,rediss://b:2)");
    }

    #[test]
    fn keys_are_one_or_two_of_64_digits() {
        let key = "0f".repeat(32);
        for (text, is_right) in [
            (key.clone(), true),
            (format!("{key}, {key}"), true),
            (format!("{key},{key},{key}"), false),
            (key[2..].to_owned(), false),
            ("zz".repeat(32), false),
        ] {
            assert_eq!(text.parse::<SecretKeys>().is_ok(), is_right, "{text}");
        }
    }

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
