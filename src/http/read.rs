//! What a request holds: query, body and headers, read strictly. Unknown names and wrong values are told by pointer.

use std::{
    collections::BTreeMap,
    fmt::Display,
    future::{Future, Ready, ready},
    pin::Pin,
    time::Duration,
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::{Method, header},
    web,
};
use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IntoDeserializer, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};
use serde_path_to_error::{Path, Segment};
use sha2::{Digest, Sha256};

use super::{auth::Caller, problem::Problem};
use crate::{
    domain::chat::ChatId,
    flow::{archive::PageOf, desk::Idempotency},
};

/// Longest body.
pub(crate) const BODY_MAX_BYTES: usize = 2 * 1024 * 1024;

/// A body that takes longer than this to arrive is not waited for.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Reads the body, bounded in size and time.
pub(crate) async fn body(request: &HttpRequest, payload: web::Payload) -> Result<Bytes, Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced
        .and_then(|length| length.parse::<u64>().ok())
        .is_some_and(|length| length > BODY_MAX_BYTES as u64)
    {
        return Err(Problem::too_large());
    }
    match tokio::time::timeout(BODY_WITHIN, payload.to_bytes_limited(BODY_MAX_BYTES)).await {
        Ok(Ok(Ok(bytes))) => Ok(bytes),
        Ok(Ok(Err(_))) => Err(Problem::malformed("the body broke off")),
        Ok(Err(_)) => Err(Problem::too_large()),
        Err(_) => Err(Problem::malformed("the body did not arrive in time")),
    }
}

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Json<T> {
    /// What it says.
    pub(crate) value: T,
    raw: Bytes,
}

impl<T> Json<T> {
    /// Hex SHA-256 of the body as it came.
    pub(crate) fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.raw))
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = web::Payload::from_request(&request, payload).into_inner();
        Box::pin(async move {
            if !is_json(&request) {
                return Err(Problem::unsupported_media_type());
            }
            let payload = payload.map_err(|_| Problem::malformed("the body cannot be read"))?;
            let raw = body(&request, payload).await?;
            Ok(Self { value: from_json(&raw)?, raw })
        })
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default + 'static> FromRequest for Optional<T> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = web::Payload::from_request(&request, payload).into_inner();
        Box::pin(async move {
            let payload = payload.map_err(|_| Problem::malformed("the body cannot be read"))?;
            let raw = body(&request, payload).await?;
            if raw.is_empty() {
                return Ok(Self(T::default()));
            }
            if !is_json(&request) {
                return Err(Problem::unsupported_media_type());
            }
            from_json(&raw).map(Self)
        })
    }
}

fn is_json(request: &HttpRequest) -> bool {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn from_json<T: DeserializeOwned>(raw: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(raw);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| Problem::invalid(pointer(error.path()), error.inner().to_string()))?;
    json.end().map_err(|error| Problem::invalid("", error.to_string()))?;
    Ok(value)
}

/// A part of a body at that pointer.
pub(crate) fn from_value<T: DeserializeOwned>(at: &str, value: &serde_json::Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        Problem::invalid(format!("{at}{}", pointer(error.path())), error.inner().to_string())
    })
}

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

/// The query.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(from_query(request.query_string()).map(Self))
    }
}

/// A name given twice counts as a list: `type=a&type=b` is `type=a,b`.
fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = web::Query::<Vec<(String, String)>>::from_query(query)
        .map_err(|_| Problem::malformed("the query cannot be read"))?;
    let mut given = BTreeMap::<String, String>::new();
    for (name, value) in pairs.into_inner() {
        if value.contains('\0') {
            return Err(Problem::invalid(format!("/{name}"), "holds a zero character"));
        }
        given
            .entry(name)
            .and_modify(|all| {
                all.push(',');
                all.push_str(&value);
            })
            .or_insert(value);
    }
    let fields = given.into_iter().map(|(name, value)| (name, Part(value)));
    serde_path_to_error::deserialize(MapDeserializer::<_, serde::de::value::Error>::new(fields))
        .map_err(|error| Problem::invalid(pointer(error.path()), error.inner().to_string()))
}

/// One value of a query: a string, read as whatever is asked for.
struct Part(String);

macro_rules! read_by_parsing {
    ($($method:ident $visit:ident $expected:literal)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let read = self.0.parse().map_err(|_| serde::de::Error::custom($expected))?;
            visitor.$visit(read)
        }
    )+};
}

impl<'de> Deserializer<'de> for Part {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    read_by_parsing! {
        deserialize_bool visit_bool "neither true nor false"
        deserialize_i64 visit_i64 "not a whole number"
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de> for Part {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Several words with commas between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

impl<'de, T: std::str::FromStr<Err: Display>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words = text.split(',').map(|word| word.trim().parse().map_err(serde::de::Error::custom));
        words.collect::<Result<_, _>>().map(Self)
    }
}

/// Tells null from nothing given.
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        attention: Option<bool>,
        limit: Option<i64>,
        name: Option<String>,
        #[serde(rename = "type")]
        kinds: Option<Several<crate::domain::mode::Mode>>,
    }

    #[test]
    fn a_query_is_read_as_its_fields_say() {
        use crate::domain::mode::Mode;
        let form: Form =
            from_query("attention=true&limit=7&type=AI&type=HUMAN&name=a%2Cb%20c").expect("readable");
        let kinds = Some(Several(vec![Mode::Ai, Mode::Human]));
        assert_eq!(
            form,
            Form { attention: Some(true), limit: Some(7), name: Some("a,b c".to_owned()), kinds }
        );
    }

    #[test]
    fn what_is_wrong_with_a_query_is_told_by_name() {
        for (query, name) in [
            ("attention=yes", "/attention"),
            ("limit=many", "/limit"),
            ("type=ai", "/type"),
            ("nmae=x", "/nmae"),
            ("name=%00", "/name"),
        ] {
            let problem = from_query::<Form>(query).expect_err(query);
            let said = serde_json::to_value(problem.faults()).expect("json");
            assert_eq!(said[0]["pointer"], name, "{query}: {said}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_told_by_pointer() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Body {
            list: Vec<Form>,
        }
        for (body, wanted) in [
            (r#"{"list":[{"limit":1},{"limit":"x"}]}"#, "/list/1/limit"),
            (r#"{"list":[{"nmae":1}]}"#, "/list/0/nmae"),
            (r#"{"list":[],"a/b~c":1}"#, "/a~1b~0c"),
            (r#"{"list":[]"#, ""),
            (r#"{"list":[]} x"#, ""),
        ] {
            let problem = from_json::<Body>(body.as_bytes()).expect_err(body);
            assert_eq!(problem.faults()[0].pointer, wanted, "{body}: {problem}");
        }
    }
}
