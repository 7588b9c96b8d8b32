//! What a route answers, made on the main runtime and turned into a response on the server's thread.

use std::convert::Infallible;

use actix_web::{
    HttpRequest, HttpResponse, Responder,
    body::BoxBody,
    http::{StatusCode, header},
};
use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

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
    Text(&'static str, String),
    Page(String, Option<&'static str>),
    Asset(Asset),
    Feed(mpsc::Receiver<Bytes>),
    File { media_type: &'static str, name: &'static str, pieces: mpsc::Receiver<Piece> },
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

/// A piece of a file.
#[derive(Debug)]
pub(crate) enum Piece {
    /// What comes next.
    Part(Bytes),
    /// It is whole. A sender that ends without this breaks the connection, so that nobody takes a part for the whole.
    End,
}

#[derive(Debug, thiserror::Error)]
#[error("the rest of the file cannot be had")]
struct CutOff;

impl Answer {
    const fn of(status: StatusCode, body: Body) -> Self {
        Self { status, location: None, cookie: None, body }
    }

    fn json(status: StatusCode, value: &impl Serialize) -> Self {
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

    /// With a status that the value itself tells.
    pub(crate) fn with_status(status: StatusCode, value: &impl Serialize) -> Self {
        Self::json(status, value)
    }

    /// 204.
    pub(crate) const fn empty() -> Self {
        Self::of(StatusCode::NO_CONTENT, Body::None)
    }

    /// The same with a cookie.
    pub(crate) fn with_cookie(self, cookie: String) -> Self {
        Self { cookie: Some(cookie), ..self }
    }

    /// 200 of that media type.
    pub(crate) const fn text(media_type: &'static str, text: String) -> Self {
        Self::of(StatusCode::OK, Body::Text(media_type, text))
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
            Body::Text(..) | Body::Page(..) | Body::Feed(_) | Body::File { .. } | Body::Asset(_) => {
                return None;
            }
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
                .streaming(stream::unfold(Some(pieces), |pieces| async move {
                    let mut pieces = pieces?;
                    match pieces.recv().await {
                        Some(Piece::Part(part)) => Some((Ok(part), Some(pieces))),
                        Some(Piece::End) => None,
                        None => Some((Err(CutOff), None)),
                    }
                })),
        }
    }
}

/// JSON of a wire type.
pub(super) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| {
        // Only a map with keys that are no strings fails, and no wire type has one.
        tracing::error!(%error, "a wire type cannot be written as JSON");
        b"null".to_vec()
    })
}
