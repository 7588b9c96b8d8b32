//! JSON bodies, bounded in size and time.

use std::{future::Future, pin::Pin, time::Duration};

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header, web};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{named::Named, pointer};
use crate::http::{auth::gate::require_still_known, problem::Problem};

/// Longest body of an authenticated caller.
pub(crate) const BODY_MAX_BYTES: usize = 2 * 1024 * 1024;

/// A body that takes longer than this to arrive is not waited for.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Longest body of a stranger: an address, a password or a link, however they are escaped.
pub(crate) const STRANGERS_MAX_BYTES: usize = 8 * 1024;

/// Reads the body, bounded in size and time.
pub(crate) async fn body(
    request: &HttpRequest,
    payload: web::Payload,
    max_bytes: usize,
) -> Result<Bytes, Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > max_bytes as u64)
    {
        return Err(Problem::too_large(max_bytes));
    }
    match tokio::time::timeout(BODY_WITHIN, payload.to_bytes_limited(max_bytes)).await {
        Ok(Ok(Ok(bytes))) => Ok(bytes),
        Ok(Ok(Err(_))) => Err(Problem::malformed("the body was cut off")),
        Ok(Err(_)) => Err(Problem::too_large(max_bytes)),
        Err(_) => Err(Problem::malformed("the body did not arrive in time")),
    }
}

/// The same of a caller, if they are still who they were when it began to arrive.
async fn body_of_caller(
    request: &HttpRequest,
    payload: web::Payload,
    max_bytes: usize,
) -> Result<Bytes, Problem> {
    let since = Instant::now();
    let bytes = body(request, payload, max_bytes).await?;
    require_still_known(request, since).await?;
    Ok(bytes)
}

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// A JSON body of at most this many bytes.
#[derive(Debug)]
pub(crate) struct Json<T, const MAX_BYTES: usize = BODY_MAX_BYTES> {
    /// What it says.
    pub(crate) value: T,
    raw: Bytes,
}

impl<T, const MAX_BYTES: usize> Json<T, MAX_BYTES> {
    /// Hex SHA-256 of the body as it came.
    pub(crate) fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.raw))
    }
}

impl<T: DeserializeOwned + 'static, const MAX_BYTES: usize> FromRequest for Json<T, MAX_BYTES> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = web::Payload::from_request(&request, payload).into_inner();
        Box::pin(async move {
            must_be_json(&request)?;
            let payload = payload.map_err(|_| Problem::malformed("the body cannot be read"))?;
            let raw = body_of_caller(&request, payload, MAX_BYTES).await?;
            Ok(Self { value: from_json(&raw)?, raw })
        })
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct Optional<T> {
    /// What it says.
    pub(crate) value: T,
    raw: Bytes,
}

impl<T> Optional<T> {
    /// Hex SHA-256 of the body as it came.
    pub(crate) fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.raw))
    }
}

impl<T: DeserializeOwned + Default + 'static> FromRequest for Optional<T> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = web::Payload::from_request(&request, payload).into_inner();
        Box::pin(async move {
            let payload = payload.map_err(|_| Problem::malformed("the body cannot be read"))?;
            let raw = body_of_caller(&request, payload, BODY_MAX_BYTES).await?;
            if raw.is_empty() || raw.trim_ascii() == b"null" {
                return Ok(Self { value: T::default(), raw });
            }
            must_be_json(&request)?;
            Ok(Self { value: from_json(&raw)?, raw })
        })
    }
}

fn must_be_json(request: &HttpRequest) -> Result<(), Problem> {
    let given = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let is_json = given(header::CONTENT_TYPE)
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Err(Problem::unsupported_media_type());
    }
    // Nothing is unpacked here: it would be told as JSON that is none.
    match given(header::CONTENT_ENCODING) {
        None | Some("identity") => Ok(()),
        Some(_) => Err(Problem::unsendable("a body must come without `Content-Encoding`")),
    }
}

fn from_json<T: DeserializeOwned>(raw: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let value = serde_path_to_error::deserialize(Named(&mut json))
        .map_err(|error| Problem::invalid(pointer(error.path()), error.inner().to_string()))?;
    json.end().map_err(|error| Problem::invalid("", error.to_string()))?;
    Ok(value)
}

/// A part of a body at that pointer.
pub(crate) fn from_value<T: DeserializeOwned>(at: &str, value: &serde_json::Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Named(value)).map_err(|error| {
        Problem::invalid(format!("{at}{}", pointer(error.path())), error.inner().to_string())
    })
}

/// Tells null from nothing given.
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_body_is_told_by_pointer() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "it is read, not used")]
        struct Item {
            limit: Option<i64>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "it is read, not used")]
        struct Body {
            list: Vec<Item>,
        }
        for (body, wanted) in [
            (r#"{"list":[{"limit":1},{"limit":"x"}]}"#, "/list/1/limit"),
            (r#"{"list":[{"nmae":1}]}"#, "/list/0/nmae"),
            (r#"{"list":[],"a/b~c":1}"#, "/a~1b~0c"),
            (r#"{"list":[[1]]}"#, "/list/0"),
            (r#"[[]]"#, ""),
            (r#"{"list":[]"#, ""),
            (r#"{"list":[]} x"#, ""),
        ] {
            let problem = from_json::<Body>(body.as_bytes()).expect_err(body);
            assert_eq!(problem.faults()[0].pointer, wanted, "{body}: {problem}");
        }
    }
}
