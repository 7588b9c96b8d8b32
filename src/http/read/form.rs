//! A file with words, as a form, bounded in size and time; the same words may come without one, as JSON.

use std::{future::Future, pin::Pin, time::Duration};

use actix_multipart::{Field, Multipart};
use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header};
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::{
    sync::{AcquireError, Semaphore},
    time::Instant,
};
use uuid::Uuid;

use super::Json;
use crate::{
    domain::enclosure::{CAPTION_MAX, SIZE_MAX},
    http::{
        auth::{Caller, gate::require_still_known},
        problem::Problem,
        shares::Shares,
    },
};

/// A form that takes longer than this to arrive is not waited for: a phone on a slow line needs its time.
const FORM_WITHIN: Duration = Duration::from_secs(120);

/// How long a form waits for others to have arrived: behind slow lines, somebody is told to come again.
const SLOT_WITHIN: Duration = Duration::from_secs(10);

/// Longest value of a field that is no file, in bytes.
const VALUE_MAX: usize = CAPTION_MAX * 4;

/// What a form has beside its file, at most, in bytes.
const BESIDE_MAX: usize = 64 * 1024;

/// Forms read at once: each is held in memory, whole.
const AT_ONCE: usize = 4;

/// Of these, what one caller may hold: whose forms arrive slowly waits for themselves.
const OF_ONE_CALLER: usize = 2;

static SHARES: Shares = Shares::new(OF_ONE_CALLER);

static SLOTS: Semaphore = Semaphore::const_new(AT_ONCE);

/// What is said, with a file or without.
#[derive(Debug)]
pub(crate) enum JsonOrForm<T> {
    /// Without.
    Json(Json<T>),
    /// With.
    Form(Form),
}

/// A file to send, and what goes with it.
#[derive(Debug)]
pub(crate) struct Form {
    /// The name of the file.
    pub(crate) name: String,
    /// Its type, as the sender says.
    pub(crate) called: String,
    /// It.
    pub(crate) bytes: Bytes,
    /// What stands under it.
    pub(crate) caption: String,
    /// The message it answers.
    pub(crate) quoted: Option<Uuid>,
}

impl Form {
    /// Hex SHA-256 of what it says: the border between its parts is another each time.
    pub(crate) fn hash(&self) -> String {
        let quoted = self.quoted.map(|id| id.to_string()).unwrap_or_default();
        let mut hash = Sha256::new();
        for said in [&self.name, &self.called, &self.caption, &quoted] {
            hash.update(said);
            hash.update([0]);
        }
        hash.update(&self.bytes);
        hex::encode(hash.finalize())
    }
}

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

impl<T: DeserializeOwned + 'static> FromRequest for JsonOrForm<T> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        if !is_form(request) {
            let json = Json::from_request(request, payload);
            return Box::pin(async move { json.await.map(Self::Json) });
        }
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let is_too_large = announced
            .and_then(|length| length.parse::<usize>().ok())
            .is_some_and(|length| length > SIZE_MAX + BESIDE_MAX);
        let (request, since) = (request.clone(), Instant::now());
        let caller = Caller::from_request(&request, payload);
        let form = Multipart::new(request.headers(), payload.take());
        Box::pin(async move {
            if is_too_large {
                return Err(too_large());
            }
            let share = SHARES.of(caller.await?.key_holder());
            let slots = async { Ok((share.acquire_owned().await?, SLOTS.acquire().await?)) };
            let slots = tokio::time::timeout(SLOT_WITHIN, slots).await;
            let slots = slots.map_err(|_| Problem::unavailable("too many files arrive at once"))?;
            let _slots = slots.map_err(|_: AcquireError| Problem::internal())?;
            let form = tokio::time::timeout(FORM_WITHIN, read(form)).await;
            let form = form.map_err(|_| Problem::malformed("the body did not arrive in time"))??;
            require_still_known(&request, since).await?;
            Ok(Self::Form(form))
        })
    }
}

fn is_form(request: &HttpRequest) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data"))
}

async fn read(mut form: Multipart) -> Result<Form, Problem> {
    let (mut file, mut caption, mut quoted) = (None, None, None);
    while let Some(mut field) = form.try_next().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        let is_twice = match name.as_str() {
            "file" => {
                let disposition = field.content_disposition();
                let name = disposition.and_then(|it| it.get_filename()).unwrap_or_default().to_owned();
                let called = field.content_type().map(ToString::to_string).unwrap_or_default();
                let bytes = all_of(&mut field, SIZE_MAX).await?.ok_or_else(too_large)?;
                file.replace((name, called, bytes)).is_some()
            }
            "caption" => caption.replace(text("/caption", &mut field).await?).is_some(),
            "quoted_message_id" => {
                let id = text("/quoted_message_id", &mut field).await?;
                let id = id.parse().map_err(|_| Problem::invalid("/quoted_message_id", "not an id"))?;
                quoted.replace(id).is_some()
            }
            _ => {
                return Err(Problem::invalid(
                    format!("/{name}"),
                    "unknown field, expected `file`, `caption` or `quoted_message_id`",
                ));
            }
        };
        if is_twice {
            return Err(Problem::invalid(format!("/{name}"), "given twice"));
        }
    }
    let (name, called, bytes) = file.ok_or_else(|| Problem::invalid("/file", "missing"))?;
    Ok(Form { name, called, bytes, caption: caption.unwrap_or_default(), quoted })
}

/// The whole field, unless it is longer than that.
async fn all_of(field: &mut Field, max: usize) -> Result<Option<Bytes>, Problem> {
    let mut all = BytesMut::new();
    while let Some(piece) = field.try_next().await.map_err(broken)? {
        if all.len() + piece.len() > max {
            return Ok(None);
        }
        all.extend_from_slice(&piece);
    }
    Ok(Some(all.freeze()))
}

async fn text(pointer: &str, field: &mut Field) -> Result<String, Problem> {
    let bytes = all_of(field, VALUE_MAX).await?;
    let bytes = bytes
        .ok_or_else(|| Problem::invalid(pointer, format!("must have at most {CAPTION_MAX} characters")))?;
    let text = String::from_utf8(bytes.into()).map_err(|_| Problem::invalid(pointer, "must be UTF-8"))?;
    if text.contains('\0') {
        return Err(Problem::invalid(pointer, "must not hold a zero character"));
    }
    Ok(text)
}

fn too_large() -> Problem {
    Problem::larger(format!("a file may have {} MiB", SIZE_MAX / 1024 / 1024))
}

fn broken(error: actix_multipart::MultipartError) -> Problem {
    Problem::malformed(format!("the form cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use actix_web::{HttpMessage as _, body::to_bytes, http::StatusCode, test::TestRequest};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn behind_slow_forms_somebody_is_soon_told_to_come_again() {
        let all = u32::try_from(AT_ONCE).expect("a few");
        let _held = SLOTS.acquire_many(all).await.expect("slots");
        let began = tokio::time::Instant::now();
        let sent = TestRequest::post().insert_header(("Content-Type", "multipart/form-data; boundary=x"));
        let (request, mut payload) = sent.to_http_parts();
        request.extensions_mut().insert(Caller::environment());
        let refused = JsonOrForm::<()>::from_request(&request, &mut payload).await.expect_err("no slot");
        assert_eq!(began.elapsed(), SLOT_WITHIN);
        let response = refused.respond();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
        let body = to_bytes(response.into_body()).await.expect("a problem");
        assert!(String::from_utf8_lossy(&body).contains("\"unavailable\""), "{body:?}");
    }
}
