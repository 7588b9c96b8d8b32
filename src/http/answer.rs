//! What a route answers, made on the main runtime and turned into a response on the server's thread.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, Responder,
    body::{BoxBody, SizedStream},
    http::{StatusCode, header},
};
use bytes::Bytes;
use futures_util::{Stream, stream};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::flow::media::files::Piece;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    location: Option<String>,
    cookie: Option<String>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    None,
    Json(Vec<u8>),
    Text(&'static str, Bytes),
    Page(String, Option<&'static str>),
    Asset(Asset),
    Feed(mpsc::Receiver<Bytes>),
    File { media_type: &'static str, name: &'static str, pieces: mpsc::Receiver<Piece> },
    Attached(Box<Attached>),
}

/// A file of the dashboard.
#[derive(Debug, Clone)]
pub(crate) struct Asset {
    /// Of what kind.
    pub(crate) media_type: &'static str,
    /// It never changes at this address.
    pub(crate) is_immutable: bool,
    /// What the bytes are packed in.
    pub(crate) encoding: Option<&'static str>,
    /// Its bytes.
    pub(crate) bytes: Bytes,
}

/// A file that somebody sent.
#[derive(Debug)]
pub(crate) struct Attached {
    /// As what it is shown; None: it is only saved.
    pub(crate) shown_as: Option<&'static str>,
    /// Its name, as its sender gave it.
    pub(crate) name: String,
    /// Size of the whole, if it is known.
    pub(crate) size: Option<u64>,
    /// First and last byte, if this is a part.
    pub(crate) part: Option<(u64, u64)>,
    /// How many bytes come, if it is known.
    pub(crate) length: Option<u64>,
    /// The bytes; None: only the head is wanted.
    pub(crate) pieces: Option<mpsc::Receiver<Piece>>,
}

/// A sender that ends without saying so breaks the connection: nobody shall take a part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("the rest of the file is unavailable")]
struct CutOff;

/// How long a browser may show a file again without asking: while somebody reads that conversation.
const ATTACHED_KEPT: &str = "private, max-age=600";

impl Answer {
    const fn of(status: StatusCode, body: Body) -> Self {
        Self { status, location: None, cookie: None, body }
    }

    /// With a status of its own.
    pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Self {
        Self::of(status, Body::Json(to_json(value)))
    }

    /// 200.
    pub(crate) fn ok(value: &impl Serialize) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// 201, and where it is.
    pub(crate) fn created(location: String, value: &impl Serialize) -> Self {
        Self { location: Some(location), ..Self::json(StatusCode::CREATED, value) }
    }

    /// 202: owed now.
    pub(crate) fn accepted(value: &impl Serialize) -> Self {
        Self::json(StatusCode::ACCEPTED, value)
    }

    /// 204.
    pub(crate) const fn empty() -> Self {
        Self::of(StatusCode::NO_CONTENT, Body::None)
    }

    /// The same with a cookie.
    pub(crate) fn with_cookie(self, cookie: String) -> Self {
        Self { cookie: Some(cookie), ..self }
    }

    /// The same with 404: it is shown in the place of what is not there.
    pub(crate) fn missing(self) -> Self {
        Self { status: StatusCode::NOT_FOUND, ..self }
    }

    /// 200 of that media type.
    pub(crate) fn text(media_type: &'static str, text: impl Into<Bytes>) -> Self {
        Self::of(StatusCode::OK, Body::Text(media_type, text.into()))
    }

    /// 200: a page, under a content security policy of its own or that of all pages.
    pub(crate) const fn page(html: String, policy: Option<&'static str>) -> Self {
        Self::of(StatusCode::OK, Body::Page(html, policy))
    }

    /// 200: a file of the dashboard.
    pub(crate) const fn asset(asset: Asset) -> Self {
        Self::of(StatusCode::OK, Body::Asset(asset))
    }

    /// A stream of events, until the sender ends.
    pub(crate) const fn feed(frames: mpsc::Receiver<Bytes>) -> Self {
        Self::of(StatusCode::OK, Body::Feed(frames))
    }

    /// 200, or 206 for a part: a file that somebody sent.
    pub(crate) fn attached(file: Attached) -> Self {
        let status = if file.part.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        Self::of(status, Body::Attached(Box::new(file)))
    }

    /// 200: a file to keep under that name, piece by piece.
    pub(crate) const fn file(
        media_type: &'static str,
        name: &'static str,
        pieces: mpsc::Receiver<Piece>,
    ) -> Self {
        Self::of(StatusCode::OK, Body::File { media_type, name, pieces })
    }
}

/// An answer as it is kept for a repeat of its request.
#[derive(Serialize, Deserialize)]
struct Kept {
    status: u16,
    location: Option<String>,
    json: Option<String>,
}

impl Answer {
    /// As it is kept; None for what is no JSON, or what signs somebody in.
    pub(super) fn to_kept(&self) -> Option<Vec<u8>> {
        if self.cookie.is_some() {
            return None;
        }
        let json = match &self.body {
            Body::None => None,
            Body::Json(json) => Some(String::from_utf8(json.clone()).ok()?),
            Body::Text(..)
            | Body::Page(..)
            | Body::Feed(_)
            | Body::File { .. }
            | Body::Asset(_)
            | Body::Attached(_) => return None,
        };
        Some(to_json(&Kept { status: self.status.as_u16(), location: self.location.clone(), json }))
    }

    /// As it was kept.
    pub(super) fn from_kept(plain: &[u8]) -> Option<Self> {
        let kept: Kept = serde_json::from_slice(plain).ok()?;
        let body = kept.json.map_or(Body::None, |json| Body::Json(json.into_bytes()));
        let status = StatusCode::from_u16(kept.status).ok()?;
        Some(Self { status, location: kept.location, cookie: None, body })
    }
}

impl Responder for Answer {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(location) = self.location {
            response.insert_header((header::LOCATION, location));
        }
        if let Some(cookie) = self.cookie {
            response.insert_header((header::SET_COOKIE, cookie));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, 2));
        }
        match self.body {
            Body::None => response.finish(),
            Body::Json(json) => response.content_type("application/json").body(json),
            Body::Text(media_type, text) => response.content_type(media_type).body(text),
            Body::Page(html, policy) => {
                response.content_type("text/html; charset=utf-8");
                if let Some(policy) = policy {
                    response.insert_header((header::CONTENT_SECURITY_POLICY, policy));
                }
                response.body(html)
            }
            Body::Asset(asset) => {
                let caching =
                    if asset.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
                response
                    .content_type(asset.media_type)
                    .insert_header((header::CACHE_CONTROL, caching))
                    .insert_header((header::VARY, "accept-encoding"));
                if let Some(encoding) = asset.encoding {
                    response.insert_header((header::CONTENT_ENCODING, encoding));
                }
                response.body(asset.bytes)
            }
            Body::Feed(frames) => response
                .content_type("text/event-stream")
                // Asks nginx not to hold events back.
                .insert_header(("X-Accel-Buffering", "no"))
                .streaming(stream::unfold(frames, |mut frames| async move {
                    frames.recv().await.map(|frame| (Ok::<_, Infallible>(frame), frames))
                })),
            Body::File { media_type, name, pieces } => response
                .content_type(media_type)
                .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")))
                .streaming(whole(pieces)),
            Body::Attached(file) => attach(*file, response),
        }
    }
}

/// Pieces up to their end.
fn whole(pieces: mpsc::Receiver<Piece>) -> impl Stream<Item = Result<Bytes, CutOff>> {
    stream::unfold(Some(pieces), |pieces| async move {
        let mut pieces = pieces?;
        match pieces.recv().await {
            Some(Piece::Part(part)) => Some((Ok(part), Some(pieces))),
            Some(Piece::End) => None,
            None => Some((Err(CutOff), None)),
        }
    })
}

/// What is not shown is saved, under a type that says nothing of it.
fn attach(file: Attached, mut response: HttpResponseBuilder) -> HttpResponse {
    let disposition = if file.shown_as.is_some() { "inline" } else { "attachment" };
    response
        .content_type(file.shown_as.unwrap_or("application/octet-stream"))
        .insert_header((header::CONTENT_DISPOSITION, format!("{disposition}; {}", named(&file.name))))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        .insert_header((header::CACHE_CONTROL, ATTACHED_KEPT));
    if let Some((first, last)) = file.part {
        let size = file.size.map_or("*".to_owned(), |size| size.to_string());
        response.insert_header((header::CONTENT_RANGE, format!("bytes {first}-{last}/{size}")));
    }
    match (file.pieces, file.length) {
        (Some(pieces), Some(length)) => response.body(SizedStream::new(length, whole(pieces))),
        (Some(pieces), None) => response.streaming(whole(pieces)),
        (None, length) => {
            if let Some(length) = length {
                response.no_chunking(length);
            }
            response.streaming(stream::empty::<Result<Bytes, CutOff>>())
        }
    }
}

/// A name that a sender gave, as a header carries it: in letters that every client reads, and whole (RFC 6266).
fn named(name: &str) -> String {
    // Marks that turn the direction of writing can make an ending look like another.
    let is_told =
        |c: &char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let name: String = name.rsplit(['/', '\\']).next().unwrap_or_default().chars().filter(is_told).collect();
    let name = if name.trim().is_empty() { "file" } else { name.trim() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');
    let whole = utf8_percent_encode(name, ESCAPED);
    format!("filename=\"{plain}\"; filename*=UTF-8''{whole}")
}

/// JSON of a wire type.
pub(super) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| {
        // Only a map with keys that are no strings fails, and no wire type has one.
        tracing::error!(%error, "a wire type cannot be written as JSON");
        b"null".to_vec()
    })
}
