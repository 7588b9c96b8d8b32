//! Errors as the API answers them: RFC 9457 problem documents, one code each.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse, Responder, ResponseError,
    body::BoxBody,
    http::{
        StatusCode,
        header::{self, HeaderName},
    },
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{
    domain::payload::Payload,
    flow::{
        back_office::{people::password, sign_in},
        desk::Refusal,
        instance::channels::NotSetUp,
        ledger,
        media::files::Unfetched,
        mode_switch,
    },
};

/// Seconds after which a client should try again.
const RETRY_AFTER_SECONDS: i64 = 2;
/// A store that is down is logged again after this.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// A refusal of a request. Boxed: it travels in the `Err` of nearly everything here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {}", .0.code, .0.detail)]
pub struct Problem(Box<Fields>);

#[derive(Debug, Clone, PartialEq)]
struct Fields {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
    errors: Vec<Fault>,
    current: Option<Payload>,
    header: Option<(HeaderName, String)>,
    retry_after: Option<i64>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Fault {
    /// Where, as a JSON pointer into the body; for a query parameter `/` and its name.
    pub pointer: String,
    /// What.
    pub detail: String,
}

/// A problem as it is sent.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(super) struct Document<'a> {
    /// `/problems/` and the code.
    r#type: String,
    /// For people, the same for each code.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// For people, about this request.
    detail: &'a str,
    /// What programs go by.
    code: &'a str,
    /// Fields that are wrong.
    #[serde(skip_serializing_if = "<[Fault]>::is_empty")]
    errors: &'a [Fault],
    /// With a conflict: the resource as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    current: Option<&'a RawValue>,
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Fields {
            status,
            code,
            title,
            detail,
            errors: Vec::new(),
            current: None,
            header: None,
            retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(RETRY_AFTER_SECONDS),
        }))
    }

    /// 400, for one field.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let mut problem =
            Self::new(StatusCode::BAD_REQUEST, "invalid", "The request is not valid", detail.clone());
        problem.0.errors.push(Fault { pointer: pointer.into(), detail });
        problem
    }

    /// 400, for the whole.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::invalid("", detail)
    }

    /// 401: nothing was shown that is known.
    pub fn unauthorized() -> Self {
        Self::unknown("sign in, or show a valid token: `Authorization: Bearer TOKEN`")
    }

    /// 401.
    pub fn unknown(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Not signed in", detail)
    }

    /// 403.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
    }

    /// 404.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found", "there is nothing here")
    }

    /// 405, naming what is allowed.
    pub fn method_not_allowed(allow: String) -> Self {
        let detail = format!("this path takes {allow}");
        let mut problem =
            Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Wrong method", detail);
        problem.0.header = Some((header::ALLOW, allow));
        problem
    }

    /// 409. `code` is one of those of the contract.
    pub fn conflict(code: &'static str, detail: impl Into<String>, current: Option<Payload>) -> Self {
        let mut problem = Self::new(StatusCode::CONFLICT, code, "Conflict with the current state", detail);
        problem.0.current = current;
        problem
    }

    /// 410.
    pub fn gone(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", "No longer there", detail)
    }

    /// 413.
    pub fn too_large(max_bytes: usize) -> Self {
        Self::larger(format!("a body may have {} KiB", max_bytes / 1024))
    }

    /// 413, of something else than the request.
    pub fn larger(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "Too large", detail)
    }

    /// 416, naming the size of the whole if it is known.
    fn no_such_part(size: Option<u64>) -> Self {
        let title = "There is no such part";
        let detail = "the range starts past the end of the file";
        let mut problem =
            Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", title, detail);
        problem.0.header = size.map(|size| (header::CONTENT_RANGE, format!("bytes */{size}")));
        problem
    }

    /// 415.
    pub fn unsupported_media_type() -> Self {
        Self::unsendable("a body must be `application/json`")
    }

    /// 415, of a file.
    pub fn unsendable(detail: impl Into<String>) -> Self {
        let title = "Wrong kind of body";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", title, detail)
    }

    /// 422.
    pub fn idempotency_key_reused() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "The key was used for another request",
            "this Idempotency-Key was used with another body",
        )
    }

    /// 429: not before that time.
    pub fn rate_limited(detail: impl Into<String>, wait_ms: i64) -> Self {
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too often", detail);
        problem.0.retry_after = Some(wait_ms.div_euclid(1_000) + 1);
        problem
    }

    /// 500: a fault of ours. What it was is in the log.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", "see the server log")
    }

    /// 503: try again soon.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not now", detail)
    }

    /// The same with the resource as it is.
    pub fn with_current(mut self, current: Option<Payload>) -> Self {
        self.0.current = current;
        self
    }

    /// The same about a part of the body.
    pub fn under(mut self, pointer: &str) -> Self {
        for fault in &mut self.0.errors {
            fault.pointer.insert_str(0, pointer);
        }
        self
    }

    /// What is wrong with fields.
    pub fn faults(&self) -> &[Fault] {
        &self.0.errors
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The code.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// As a response.
    pub fn respond(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.0.status);
        if self.0.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if let Some(seconds) = self.0.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        if let Some((name, value)) = &self.0.header {
            response.insert_header((name.clone(), value.as_str()));
        }
        response.content_type("application/problem+json").body(super::answer::to_json(&self.as_sent()))
    }

    /// As a document, for an answer that holds several.
    pub fn document(&self) -> Value {
        // A document has no keys that are no strings.
        serde_json::to_value(self.as_sent()).unwrap_or_default()
    }

    fn as_sent(&self) -> Document<'_> {
        Document {
            r#type: format!("/problems/{}", self.0.code),
            title: self.0.title,
            status: self.0.status.as_u16(),
            detail: &self.0.detail,
            code: self.0.code,
            errors: &self.0.errors,
            current: self.0.current.as_ref().map(Payload::raw),
        }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        self.respond()
    }
}

impl Responder for Problem {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        self.respond()
    }
}

/// Everybody keeps asking while the store is down: one line says it, and one each minute that it still is.
fn tell_unavailable(error: &dyn std::error::Error) {
    static TOLD: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *told {
        Some((at, untold)) if at.elapsed() < TELL_EVERY => *untold += 1,
        told => {
            let before = told.map_or(0, |(_, untold)| untold);
            *told = Some((Instant::now(), 0));
            tracing::warn!(%error, before, "the store is unavailable for a request; more in the next minute are counted");
        }
    }
}

impl From<ledger::Error> for Problem {
    fn from(error: ledger::Error) -> Self {
        match error {
            ledger::Error::Gone | ledger::Error::Removed(_) => Self::not_found(),
            ledger::Error::NotACursor => Self::invalid("/cursor", error.to_string()),
            ledger::Error::Unavailable(source) => {
                tell_unavailable(&*source);
                Self::unavailable("the database is unavailable")
            }
            ledger::Error::Refused(source) => {
                tracing::error!(error = %source, "the store refused a request");
                Self::internal()
            }
        }
    }
}

impl From<NotSetUp> for Problem {
    fn from(why: NotSetUp) -> Self {
        Self::unavailable(why.to_string())
    }
}

/// Conflicts are given their `current` by the route, which knows what its path names.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::not_found(),
            Refusal::Invalid { pointer, detail } => Self::invalid(pointer, detail),
            Refusal::Conflict { code, detail } => Self::conflict(code, detail, None),
            Refusal::Overtaken(why) => Self::conflict("not_retryable", why, None),
            refusal @ Refusal::Unsendable => Self::unsendable(refusal.to_string()),
            Refusal::KeyReused => Self::idempotency_key_reused(),
            Refusal::NotSetUp(why) => why.into(),
            Refusal::Store(error) => error.into(),
        }
    }
}

impl From<mode_switch::Refusal> for Problem {
    fn from(refusal: mode_switch::Refusal) -> Self {
        use mode_switch::Refusal as R;
        match refusal {
            R::VersionConflict => Self::conflict("version_conflict", "the mode version has changed", None),
            R::NoModel => Self::conflict("no_model", "there is no model that could answer", None),
            R::Invalid(detail) => Self::malformed(detail),
            R::NotSetUp(why) => why.into(),
            R::Store(error) => error.into(),
        }
    }
}

impl From<Unfetched> for Problem {
    fn from(unfetched: Unfetched) -> Self {
        match unfetched {
            Unfetched::HostNotAllowed => {
                let detail = "nothing may be fetched from where the file is (BATON_MEDIA_HOSTS)";
                Self::conflict("host_not_allowed", detail, None)
            }
            Unfetched::Gone => Self::gone("the provider no longer has the file"),
            Unfetched::TooLarge => Self::larger("the file is larger than what is fetched"),
            Unfetched::NoSuchPart(size) => Self::no_such_part(size),
            Unfetched::Busy => Self::unavailable("too many files are being fetched"),
            Unfetched::Failed(what) => Self::unavailable(format!("the file cannot be fetched now: {what}")),
        }
    }
}

impl From<sign_in::Refusal> for Problem {
    fn from(refusal: sign_in::Refusal) -> Self {
        use sign_in::Refusal as R;
        match refusal {
            R::Unknown => Self::unknown("wrong or expired credentials"),
            R::TooOften { wait_ms } => Self::rate_limited("too many attempts; wait a moment", wait_ms),
            R::Password(password::Error::Busy) => Self::unavailable("too many others sign in"),
            R::Password(password::Error::Machine) | R::Random(_) => {
                tracing::error!(error = %refusal, "nobody can sign in");
                Self::internal()
            }
            R::Store(error) => error.into(),
        }
    }
}
