//! Values that may hold a secret, and how each is read from text. None of them shows it.

use std::{fmt, str::FromStr};

use super::values::http_url;

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
        // Most travel in a header.
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err("must be one word of ASCII letters, digits and signs".to_owned());
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

/// Least characters of a passphrase: anyone who has the file may guess as long as they like.
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

/// Reads the address of a service that may want a password, such as a model or a collector of traces.
pub(super) fn service(text: &str) -> Result<Location, String> {
    http_url(text).map(Location)
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
}
