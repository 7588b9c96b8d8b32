//! Signatures of what is posted to others, as Standard Webhooks has them (version 1).
//!
//! In: secrets, id, time and body. Out: a header that anyone who knows a secret can check.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;

/// Before every secret, so that it is known for one where it should not be.
const PREFIX: &str = "whsec_";

/// Random bytes in a secret of ours.
const BYTES: usize = 32;

/// One that others made has as many as Standard Webhooks asks for: what signs with less, anybody may find.
const BYTES_MIN: usize = 24;

/// A new secret, as it is shown once.
pub fn fresh_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// What bodies are signed with.
#[derive(Debug)]
pub struct Key(hmac::Key);

impl Key {
    /// Reads a secret; None if it is not one, or too short to be one.
    pub fn read(secret: &str) -> Option<Self> {
        let bytes = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
        (bytes.len() >= BYTES_MIN).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The header.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let signed = [format!("{id}.{timestamp}.").as_bytes(), body].concat();
        format!("v1,{}", STANDARD.encode(hmac::sign(&self.0, &signed)))
    }
}

/// The header for these secrets: one signature each, with spaces between them. None if a secret is not one of ours.
pub(super) fn sign(secrets: &[Vec<u8>], id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    let keys = secrets.iter().map(|secret| Key::read(std::str::from_utf8(secret).ok()?));
    let signatures: Option<Vec<String>> = keys.map(|key| Some(key?.sign(id, timestamp, body))).collect();
    signatures.map(|all| all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_vec();
        let body = br#"{"test": 2432232314}"#;
        let one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let sign = |secrets: &[Vec<u8>]| sign(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(sign(std::slice::from_ref(&secret)).as_deref(), Some(one));
        let both = sign(&[fresh_secret().expect("random").into_bytes(), secret]).expect("signed");
        assert!(both.starts_with("v1,") && both.ends_with(&format!(" {one}")), "{both}");
        assert_eq!(sign(&[b"whsec_?".to_vec()]), None);
        assert_eq!(sign(&[b"another".to_vec()]), None);
        assert_eq!(sign(&[b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLS8=".to_vec()]), None, "23 bytes");
    }

    #[test]
    fn a_secret_is_long_and_another_each_time() {
        let (one, other) = (fresh_secret().expect("random"), fresh_secret().expect("random"));
        assert_ne!(one, other);
        let bytes = STANDARD.decode(one.strip_prefix(PREFIX).expect("it says what it is")).expect("base64");
        assert_eq!(bytes.len(), BYTES);
    }
}
