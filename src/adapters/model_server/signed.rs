//! Signed requests, as Standard Webhooks has them. In: a key, an id and a body. Out: headers by which the receiver can
//! tell that it is us, and now: as with what is posted to webhook endpoints.

use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::flow::notify::signature::Key;

/// The headers.
pub(crate) fn signed(key: &Key, id: &str, body: &str) -> HeaderMap {
    let at = Timestamp::now().as_second();
    let signature = key.sign(id, at, body.as_bytes());
    let visible = |text: &str| HeaderValue::from_str(text).expect("ids, digits and base64 can be sent");
    [("webhook-id", id), ("webhook-timestamp", &at.to_string()), ("webhook-signature", &signature)]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), visible(value)))
        .collect()
}
