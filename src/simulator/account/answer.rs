//! A call as it came, and what it is answered.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// A call of a client: `/waInstance{instance}/{method}/{token}`, and perhaps a receipt behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) now: i64,
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) instance: String,
    pub(crate) method: String,
    pub(crate) token: String,
    pub(crate) receipt: Option<String>,
    pub(crate) query: HashMap<String, String>,
    /// What is wrong with the body, if it could not be read.
    pub(crate) broken: Option<String>,
    pub(crate) body: Map<String, Value>,
    /// Name and bytes of what was uploaded.
    pub(crate) file: Option<(String, Bytes)>,
    /// Where files that are kept are reached: `http://host`.
    pub(crate) base: String,
}

impl Call {
    /// A text of the body; empty, if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        self.body.get(name).and_then(Value::as_i64)
    }
}

/// What a call is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// JSON.
    Json(u16, Value),
    /// A status alone.
    Empty(u16),
    /// A page of HTML, as a server in front of the gateway makes it.
    Page(u16),
    /// The next notification, as soon as there is one, or null after so many seconds.
    Later(u64),
}

impl Answer {
    pub(super) const fn ok(value: Value) -> Self {
        Self::Json(200, value)
    }

    /// 400, worded as the gateway does: its path, the token in it, is part of it.
    pub(super) fn refused(call: &Call, message: &str) -> Self {
        let timestamp = jiff::Timestamp::from_millisecond(call.now).unwrap_or_default();
        let frame = json!({
            "statusCode": 400,
            "timestamp": format!("{timestamp:.3}"),
            "path": call.path,
            "message": message,
        });
        Self::Json(400, frame)
    }

    pub(super) fn invalid(call: &Call, detail: &str) -> Self {
        Self::refused(call, &format!("Validation failed. Details: {detail}"))
    }
}
