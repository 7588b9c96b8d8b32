//! Headers that a route looks at.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::Method};

use crate::{
    flow::desk::Idempotency,
    http::{auth::Caller, problem::Problem},
};

/// The `Idempotency-Key` of a request, and the path it was sent to.
#[derive(Debug)]
pub(crate) struct Once {
    path: String,
    key: Option<String>,
}

impl Once {
    /// A key belongs to its caller and path.
    pub(crate) fn of(self, caller: &Caller, body_hash: String) -> Option<Idempotency> {
        let key = format!("{} {} {}", caller.actor, self.path, self.key?);
        Some(Idempotency { key, body_hash })
    }
}

impl FromRequest for Once {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let wrong = || Problem::malformed("an Idempotency-Key has 1 to 255 characters");
        let key = match request.headers().get("idempotency-key") {
            None => Ok(None),
            Some(value) => match value.to_str().map(str::trim) {
                Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(key.to_owned())),
                _ => Err(wrong()),
            },
        };
        ready(key.map(|key| Self { path: request.path().to_owned(), key }))
    }
}

/// Whether a live feed is asked for, and from where on.
#[derive(Debug)]
pub(crate) struct Wish {
    /// `Accept: text/event-stream`.
    pub(crate) stream: bool,
    /// `Last-Event-ID`.
    pub(crate) last_event_id: Option<String>,
    /// Only the head of the answer is wanted.
    pub(crate) is_head: bool,
}

impl FromRequest for Wish {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        ready(Ok(Self {
            stream: header("accept").is_some_and(|kinds| kinds.contains("text/event-stream")),
            last_event_id: header("last-event-id").map(str::to_owned).filter(|id| !id.is_empty()),
            is_head: request.method() == Method::HEAD,
        }))
    }
}

/// Whether the answer may be compressed with gzip.
#[derive(Debug)]
pub(crate) struct Gzip(pub(crate) bool);

impl FromRequest for Gzip {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let accepted = request.headers().get("accept-encoding").and_then(|value| value.to_str().ok());
        ready(Ok(Self(accepted.unwrap_or_default().split(',').any(is_gzip))))
    }
}

/// `gzip`, also as `gzip;q=0.8`; not `gzip;q=0`, which refuses it.
fn is_gzip(offer: &str) -> bool {
    let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
    let weight = weight.trim().strip_prefix("q=").map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
    name.trim().eq_ignore_ascii_case("gzip") && weight > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_where_it_is_accepted() {
        let accepts = |offers: &str| offers.split(',').any(is_gzip);
        for offers in ["gzip", "br, GZIP", "deflate, gzip;q=0.5"] {
            assert!(accepts(offers), "{offers}");
        }
        for offers in ["", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"] {
            assert!(!accepts(offers), "{offers}");
        }
    }
}
