//! The code that links a phone. In: the answer of `qr`. Out: a picture, or that none is needed, or why there is none.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{endpoint::Endpoint, part::Part};
use crate::flow::provider::LinkCode;

/// With what every PNG begins.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn code(endpoint: &Endpoint, answer: &Value) -> LinkCode {
    let answer = Part::of(answer);
    let unavailable = |detail: &str| LinkCode::Unavailable { detail: endpoint.redact(detail) };
    match answer.text("type") {
        "qrCode" => match picture(answer.text("message")) {
            Some(png) => LinkCode::Shown(png),
            None => unavailable("what came is no picture"),
        },
        "alreadyLogged" => LinkCode::Linked,
        // `error`, and whatever else there may be some day.
        other if answer.text("message").is_empty() => unavailable(other),
        _ => unavailable(answer.text("message")),
    }
}

/// It is shown to people as a picture, so it must be one.
fn picture(text: &str) -> Option<Vec<u8>> {
    let text = text.split_once("base64,").map_or(text, |(_, picture)| picture);
    STANDARD.decode(text.trim()).ok().filter(|bytes| bytes.starts_with(PNG))
}
