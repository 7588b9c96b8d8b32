//! What servers of models have in common, whatever they speak: an address, a key, limits of time, streamed answers, ways
//! to fail. In: the body of a request. Out: one POST, and the answer it gave or how it failed.

mod assembly;

mod thoughts;

mod calls_in_words;

mod call_ids;

mod end_marks;

mod stream;

mod halves;

mod failure;

mod signed;

pub(crate) mod tools;

#[cfg(test)]
pub(crate) mod fake;

#[cfg(test)]
pub(crate) mod suite;

#[cfg(test)]
pub(crate) mod looking;

use std::{fmt, time::Duration};

use futures_util::FutureExt as _;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue},
    multipart::Form,
};
use serde::Deserialize;
use tokio::time::timeout;

use self::failure::{cannot_connect, refused};
pub(crate) use self::{
    assembly::{Assembly, Call},
    failure::{error_frame, failed, is_error},
    signed::signed,
    stream::{read, read_whole, unreadable},
};
use crate::{
    domain::message::is_blank,
    flow::generator::{Failure, FailureKind, Line, Progress, Request, Written},
};

/// Largest list of models that is read.
const MODELS_MAX_BYTES: usize = 1 << 20;

/// Largest answer to a form that is read.
const FORM_ANSWER_MAX_BYTES: usize = 1 << 20;

/// Before the words of a person of the business, which models know only as the assistant's.
pub(crate) const COLLEAGUE_MARK: &str = "[Written by a human colleague]";

/// In the contact's place, where they have written nothing since: an answer cannot follow on an answer.
pub(crate) const SINCE: &str = "[The contact has written nothing since. Write what is asked of you now.]";

/// Where the model is, and how long it may take.
#[derive(Clone)]
pub struct Settings {
    /// Without what its protocol puts behind it: `https://api.openai.com/v1`, `https://api.anthropic.com`. Whole, where it
    /// puts nothing there.
    pub base_url: String,
    /// Sent with each request, if there is one, or signs it.
    pub api_key: Option<String>,
    /// No byte for this long: failed.
    pub idle: Duration,
    /// Not done in this time: failed.
    pub total: Duration,
}

/// The settings name nothing that can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The address.
    #[error("the base URL of the model is not an http or https address")]
    BaseUrl,
    /// The key.
    #[error("the key of the model holds characters that cannot be sent")]
    ApiKey,
    /// The key, where requests are signed with it.
    #[error("the key to sign with is not whsec_ and the base64 of at least 24 bytes")]
    SigningKey,
}

/// Whether there is more to read.
pub(crate) enum Flow {
    Goes,
    Ends,
}

/// How a server puts its answers.
pub(crate) trait Wire {
    /// Adds one event of a stream.
    fn take(assembly: &mut Assembly, data: &str) -> Result<Flow, Failure>;

    /// Adds an answer that came as one body.
    fn take_whole(assembly: &mut Assembly, body: &str) -> Result<(), Failure>;
}

/// A server of models.
pub(crate) struct Server {
    client: Client,
    answers: Url,
    models: Url,
    headers: HeaderMap,
    idle: Duration,
    total: Duration,
}

impl Server {
    /// At that address: answers are asked for at one path below it, models listed at the other. The client should neither
    /// follow redirects nor repeat requests.
    pub(crate) fn new(
        settings: &Settings,
        client: Client,
        answers: &[&str],
        models: &[&str],
        headers: HeaderMap,
    ) -> Result<Self, Invalid> {
        Ok(Self {
            client,
            answers: address(&settings.base_url, answers)?,
            models: address(&settings.base_url, models)?,
            headers,
            idle: settings.idle,
            total: settings.total,
        })
    }

    /// One answer to that request, which is put so, with headers of its own.
    pub(crate) async fn reply<W: Wire>(
        &self,
        request: &Request,
        headers: HeaderMap,
        body: String,
        progress: &dyn Progress,
    ) -> Result<Written, Failure> {
        let mut written = self.in_time(self.generate::<W>(self.post(headers, body), progress)).await?;
        if calls_in_words::has_call(&written.text, &request.tools) {
            let failure = failed(FailureKind::Malformed, "a tool was called in words");
            return Err(failure.counting(written.input_tokens, written.output_tokens));
        }
        call_ids::set_apart(&mut written.calls, &request.lines);
        Ok(written)
    }

    /// Whether it takes that. What it says of it is left unread.
    pub(crate) async fn takes(&self, headers: HeaderMap, body: String) -> Result<(), Failure> {
        self.in_time(self.send(self.post(headers, body))).await.map(drop)
    }

    /// What it answers to that, whole, if that is not longer.
    pub(crate) async fn answer(
        &self,
        headers: HeaderMap,
        body: String,
        max_bytes: usize,
    ) -> Result<Vec<u8>, Failure> {
        let answer = async {
            let post = self.client.post(self.answers.clone()).headers(headers);
            let response = self.send(post.header(CONTENT_TYPE, "application/json").body(body)).await?;
            stream::collect(response.bytes_stream(), self.idle, max_bytes).await
        };
        self.in_time(answer).await
    }

    /// One answer, in one piece. It may be silent for as long as the whole may take.
    async fn reply_whole<W: Wire>(&self, body: String) -> Result<Written, Failure> {
        let told = async {
            let post =
                self.client.post(self.answers.clone()).header(CONTENT_TYPE, "application/json").body(body);
            let response = self.judge(self.with_headers(post).send().await).await?;
            read_whole::<W, _, _>(response.bytes_stream(), self.total).await
        };
        self.in_time(told).await
    }

    /// What it tells of a picture.
    pub(crate) async fn describe<W: Wire>(&self, body: &serde_json::Value) -> Result<String, Failure> {
        let text = self.reply_whole::<W>(body.to_string()).await?.text;
        if said(&text) { Ok(text) } else { Err(failed(FailureKind::Empty, "the picture was not described")) }
    }

    /// What it answers to a form, whole. It may be silent for as long as the whole may take.
    pub(crate) async fn tell(&self, form: Form) -> Result<Vec<u8>, Failure> {
        let told = async {
            let post = self.client.post(self.answers.clone()).multipart(form);
            let response = self.judge(self.with_headers(post).send().await).await?;
            stream::collect(response.bytes_stream(), self.idle, FORM_ANSWER_MAX_BYTES).await
        };
        self.in_time(told).await
    }

    /// Whether it answers.
    pub(crate) async fn check(&self) -> Result<String, Failure> {
        self.in_time(self.list_models()).await
    }

    fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> impl Future<Output = Result<T, Failure>> {
        let total = self.total;
        timeout(total, work).map(move |done| done.unwrap_or_else(|_| Err(failure::too_slow(total))))
    }

    fn post(&self, headers: HeaderMap, body: String) -> RequestBuilder {
        let post = self.client.post(self.answers.clone()).headers(headers);
        post.header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body)
    }

    async fn generate<W: Wire>(
        &self,
        post: RequestBuilder,
        progress: &dyn Progress,
    ) -> Result<Written, Failure> {
        // In a box that is gone once the answer begins: this waits for as long as the model writes, thousands of times.
        let response = Box::pin(self.send(post)).await?;
        read::<W, _, _>(response.bytes_stream(), self.idle, progress).await
    }

    /// Sends, and waits for a good status.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let sent = self.exchange(request).await?;
        self.judge(sent).await
    }

    /// Sends, and waits for any status.
    async fn exchange(&self, request: RequestBuilder) -> Result<reqwest::Result<Response>, Failure> {
        let sent = timeout(self.idle, self.with_headers(request).send()).await;
        sent.map_err(|_| failure::idle(self.idle))
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        request.headers(self.headers.clone())
    }

    async fn judge(&self, sent: reqwest::Result<Response>) -> Result<Response, Failure> {
        let response = sent.map_err(|error| cannot_connect(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response, self.idle).await) }
    }

    async fn list_models(&self) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Models {
            data: Vec<serde::de::IgnoredAny>,
        }
        let listed = self.exchange(self.client.get(self.models.clone())).await?;
        if listed.as_ref().is_ok_and(|response| is_nowhere(response.status())) {
            return self.look_where_it_answers().await;
        }
        let response = self.judge(listed).await?;
        let body = stream::collect(response.bytes_stream(), self.idle, MODELS_MAX_BYTES).await?;
        match serde_json::from_slice::<Models>(&body) {
            Ok(models) if models.data.len() == 1 => Ok("answers, with one model".to_owned()),
            Ok(models) => Ok(format!("answers, with {} models", models.data.len())),
            Err(_) => Err(failed(FailureKind::Malformed, "the list of models cannot be read")),
        }
    }

    /// Whether answers are asked for there, of a server that lists no models. Asked what is no question, so that nothing is written,
    /// it finds fault with that; where the address or the key is wrong, it says so.
    async fn look_where_it_answers(&self) -> Result<String, Failure> {
        let asked = self.exchange(self.post(HeaderMap::new(), "{}".to_owned())).await;
        match asked {
            Ok(Ok(response)) if is_nowhere(response.status()) || is_closed(response.status()) => {
                Err(refused(response, self.idle).await)
            }
            // It has answered, though not to that.
            Ok(Ok(_) | Err(_)) | Err(_) => Ok("answers, and lists no models".to_owned()),
        }
    }
}

/// Nothing is at that address.
fn is_nowhere(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
}

/// Not for us.
fn is_closed(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn address(base: &str, path: &[&str]) -> Result<Url, Invalid> {
    let mut url = Url::parse(base.trim()).map_err(|_| Invalid::BaseUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Invalid::BaseUrl);
    }
    // An address that is whole stays as it was written.
    if path.is_empty() {
        return Ok(url);
    }
    url.path_segments_mut().map_err(|()| Invalid::BaseUrl)?.pop_if_empty().extend(path);
    Ok(url)
}

/// What is sent of a key, behind that word; None if it is blank. Keys read from files end in a line break.
pub(crate) fn key_header(word: &str, key: Option<&str>) -> Result<Option<HeaderValue>, Invalid> {
    let Some(key) = key.map(str::trim).filter(|key| !key.is_empty()) else { return Ok(None) };
    let mut value = HeaderValue::try_from(format!("{word}{key}")).map_err(|_| Invalid::ApiKey)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The prompt, and behind it what our side wants of this turn: nothing that a contact writes can pass for either. Many servers
/// take a system message at the beginning only, so none stands where it belongs.
pub(crate) fn system(request: &Request) -> impl Iterator<Item = &str> {
    let wishes = request.lines.iter().filter_map(|line| match line {
        Line::Instruction(text) => Some(text.as_str()),
        Line::Contact(_)
        | Line::Assistant(_)
        | Line::Colleague(_)
        | Line::Calls(..)
        | Line::Result { .. } => None,
    });
    std::iter::once(&*request.system).chain(wishes).filter(|text| said(text))
}

/// Whether there is anything in a text: servers refuse a message without content, and every request after it.
pub(crate) fn said(text: &str) -> bool {
    !is_blank(text)
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("host", &Url::parse(&self.base_url).ok().as_ref().and_then(Url::host_str))
            .field("has_api_key", &self.api_key.is_some())
            .field("idle", &self.idle)
            .field("total", &self.total)
            .finish()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("host", &self.answers.host_str())
            .field("has_api_key", &self.headers.values().any(HeaderValue::is_sensitive))
            .field("idle", &self.idle)
            .field("total", &self.total)
            .finish()
    }
}
