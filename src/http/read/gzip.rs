//! Whether an answer may travel packed.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};

use crate::http::problem::Problem;

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
