//! Bodies that cannot be read, as they are kept: what somebody may still want to see, and what is read again.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::payload::Payload;

/// The body as it came: JSON if it is some, else text, else base64.
pub(super) fn payload_of(body: &[u8]) -> Payload {
    let value = match std::str::from_utf8(body) {
        Ok(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.replace('\0', "\u{fffd}")))
        }
        Err(_) => json!({
            "encoding": "base64",
            "data": base64::engine::general_purpose::STANDARD.encode(body),
        }),
    };
    value.into()
}

/// How bytes are kept that are no text.
#[derive(Deserialize)]
struct Encoded {
    encoding: String,
    data: String,
}

/// The body of what [`payload_of`] kept.
pub(in crate::flow) fn body_of(kept: &Payload) -> Vec<u8> {
    let text = kept.get();
    let bytes = if text.starts_with('"') {
        kept.read().map(String::into_bytes)
    } else if text.starts_with('{') {
        let encoded = kept.read().filter(|it: &Encoded| it.encoding == "base64");
        encoded.and_then(|it| base64::engine::general_purpose::STANDARD.decode(it.data).ok())
    } else {
        None
    };
    bytes.unwrap_or_else(|| text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_body_is_given_back_as_it_came() {
        for body in [
            br#"{"typeWebhook":"incomingMessageReceived","idMessage":"A"}"#.as_slice(),
            br#"{"text":"\ud800"}"#,
            b"not json at all",
            b"",
            b"\xff\xfe\x00 bytes",
            br#"{"encoding":"base64"}"#,
            br#"{"data":"%","encoding":"base64"}"#,
        ] {
            let given_back = body_of(&payload_of(body));
            let as_json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            let is_same =
                given_back == body || as_json(body).is_some_and(|it| as_json(&given_back) == Some(it));
            assert!(is_same, "{}", String::from_utf8_lossy(&given_back));
        }
    }
}
