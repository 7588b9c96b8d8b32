//! Headers that a route looks at.

use std::{
    borrow::Cow,
    future::{Ready, ready},
    net::IpAddr,
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::{
        Method,
        header::{Accept, Header as _},
    },
    web::Data,
};
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use crate::{
    flow::{desk::Idempotency, media::files::Range},
    http::{auth::Caller, doors::Doors, problem::Problem},
};

/// The `Idempotency-Key` of a request, and the path it was sent to.
#[derive(Debug)]
pub(crate) struct IdempotencyKey {
    path: String,
    key: Option<String>,
}

impl IdempotencyKey {
    /// A key belongs to its caller and path: of those who act as one agent, to the one token.
    pub(crate) fn of(self, caller: &Caller, body_hash: String) -> Option<Idempotency> {
        let key = format!("{} {} {}", caller.key_holder(), self.path, self.key?);
        Some(Idempotency { key, body_hash })
    }
}

impl FromRequest for IdempotencyKey {
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
        // `@` and `%40` are one path, and a client may write either.
        let path = percent_decode_str(request.path()).decode_utf8_lossy();
        ready(key.map(|key| Self { path: with_ids_as_we_write_them(&path), key }))
    }
}

/// An id opens the same path however it is written.
fn with_ids_as_we_write_them(path: &str) -> String {
    let pieces = path.split('/').map(|piece| match Uuid::try_parse(piece) {
        Ok(id) => Cow::from(id.to_string()),
        Err(_) => Cow::from(piece),
    });
    pieces.collect::<Vec<_>>().join("/")
}

/// Whether a live feed is asked for, and from where on.
#[derive(Debug)]
pub(crate) struct StreamHeaders {
    /// `Accept` prefers `text/event-stream` to anything else.
    pub(crate) stream: bool,
    /// `Last-Event-ID`.
    pub(crate) last_event_id: Option<String>,
    /// Only the head of the answer is wanted.
    pub(crate) is_head: bool,
}

impl FromRequest for StreamHeaders {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        ready(Ok(Self {
            stream: prefers(request, "text/event-stream"),
            last_event_id: header("last-event-id").map(str::to_owned).filter(|id| !id.is_empty()),
            is_head: request.method() == Method::HEAD,
        }))
    }
}

/// Whether this is what the client would have best.
pub(crate) fn prefers(request: &HttpRequest, kind: &str) -> bool {
    Accept::parse(request).is_ok_and(|accept| accept.preference().essence_str() == kind)
}

/// How much of a file is wanted.
#[derive(Debug)]
pub(crate) struct RangeHeaders {
    /// This part of it; None: the whole.
    pub(crate) range: Option<Range>,
    /// Only the head of the answer.
    pub(crate) is_head: bool,
}

impl FromRequest for RangeHeaders {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let is_head = request.method() == Method::HEAD;
        // We name no version of a file, so a part of one that is named is not one of ours.
        let is_of_a_version = request.headers().contains_key("if-range");
        let range = request.headers().get("range").filter(|_| !is_head && !is_of_a_version);
        let range = range.and_then(|range| range.to_str().ok()).and_then(Range::parse);
        ready(Ok(Self { range, is_head }))
    }
}

/// The network address that a request came from, as its attempts are counted.
#[derive(Debug)]
pub(crate) struct Address(pub(crate) Option<String>);

impl FromRequest for Address {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let doors = request.app_data::<Data<Doors>>();
        let connected = request.peer_addr().map(|address| address.ip());
        let origin = connected.map(|ip| doors.map_or(ip, |doors| doors.site.origin(ip, request.headers())));
        ready(Ok(Self(origin.map(counted))))
    }
}

/// Whether the session that begins by a request is for TLS alone.
#[derive(Debug)]
pub(crate) struct ForTls(pub(crate) bool);

impl FromRequest for ForTls {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let doors = request.app_data::<Data<Doors>>();
        ready(Ok(Self(doors.is_some_and(|doors| doors.site.is_secure(request.headers())))))
    }
}

/// A client with one address of IPv6 has as many as it likes of its network.
fn counted(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// The address before every path, for links.
#[derive(Debug)]
pub(crate) struct Base(pub(crate) String);

impl FromRequest for Base {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let doors = request.app_data::<Data<Doors>>();
        let base = doors.map(|doors| Self(doors.site.base(request.headers())));
        ready(base.ok_or_else(Problem::internal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_counted_together() {
        for (address, wanted) in [
            ("10.0.0.5", "10.0.0.5"),
            ("::ffff:10.0.0.5", "10.0.0.5"),
            ("2001:db8:0:1::5", "2001:db8:0:1::/64"),
            ("2001:db8:0:1:ffff::9", "2001:db8:0:1::/64"),
        ] {
            assert_eq!(counted(address.parse().expect("an address")), wanted);
        }
    }
}
