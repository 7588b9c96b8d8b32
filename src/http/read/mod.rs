//! What a request holds: query, body and headers, read strictly. Unknown names and wrong values are reported by pointer.

mod json;

mod named;

mod query;

mod headers;

mod gzip;

mod form;

pub(crate) use form::{Form, JsonOrForm};
pub(crate) use gzip::Gzip;
pub(crate) use headers::{Address, Base, ForTls, IdempotencyKey, RangeHeaders, StreamHeaders, prefers};
pub(crate) use json::{BODY_MAX_BYTES, Json, Optional, STRANGERS_MAX_BYTES, body, from_value, given};
pub(crate) use query::{Query, Several};

use serde::Deserialize;
use serde_path_to_error::{Path, Segment};
use utoipa::IntoParams;

use super::problem::Problem;
use crate::{domain::chat::ChatId, flow::archive::PageOf};

/// A path as a JSON pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => {
                pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")))
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

/// What may be said where there is nothing to say: nothing, or no field at all.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhichPage {
    /// At most this many: 1 to 200, 50 if not given.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl WhichPage {
    /// The page.
    pub(crate) fn page(self) -> Result<PageOf, Problem> {
        page(self.limit, self.cursor)
    }
}

/// Which page is asked for.
pub(crate) fn page(limit: Option<i64>, cursor: Option<String>) -> Result<PageOf, Problem> {
    Ok(PageOf { limit: limit_of(limit)?, cursor })
}

/// How many rows are asked for.
pub(crate) fn limit_of(limit: Option<i64>) -> Result<usize, Problem> {
    match limit.unwrap_or(50) {
        limit @ 1..=200 => Ok(usize::try_from(limit).unwrap_or(200)),
        _ => Err(Problem::invalid("/limit", "must be 1 to 200")),
    }
}

/// A text that is not empty, not too long, and can be stored.
pub(crate) fn text(pointer: &str, text: String, max: usize) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::invalid(pointer, "must not be empty"));
    }
    if text.chars().count() > max {
        return Err(Problem::invalid(pointer, format!("must have at most {max} characters")));
    }
    if text.contains('\0') {
        return Err(Problem::invalid(pointer, "must not hold a zero character"));
    }
    Ok(text)
}

/// A chat id in a path or a body.
pub(crate) fn chat(pointer: &str, raw: &str) -> Result<ChatId, Problem> {
    ChatId::parse(raw).ok_or_else(|| Problem::invalid(pointer, "a chat id is like 6580000001@c.us"))
}
