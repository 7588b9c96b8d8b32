//! Any server that speaks as OpenAI's chat completions do: OpenAI, Ollama, vLLM, Groq, OpenRouter and many more.
//! In: a request of the flow. Out: one POST, streamed, and the answer it gave or how it failed.

mod request;

mod stream;

mod chunk;

mod assembly;

mod failure;

#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use reqwest::{
    Client, RequestBuilder, Response, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use serde::Deserialize;
use tokio::time::timeout;

/// On bytes alone, without a server: for the fuzzer in `fuzz/`.
#[doc(hidden)]
pub use self::stream::{read as read_stream, read_whole};

use self::failure::{cannot_connect, failed, refused};
use crate::flow::generator::{Failure, FailureKind, Generator, Progress, Request, Written};

/// Largest list of models that is read.
const MODELS_MAX_BYTES: usize = 1 << 20;

/// Where the model is, and how long it may take.
#[derive(Clone)]
pub struct Settings {
    /// Without `/chat/completions`: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Sent as a bearer token, if there is one.
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
}

/// A model behind an OpenAI-compatible server.
pub struct OpenAi {
    client: Client,
    completions: Url,
    models: Url,
    authorization: Option<HeaderValue>,
    idle: Duration,
    total: Duration,
}

impl OpenAi {
    /// A model at that address. The client should neither follow redirects nor repeat requests.
    pub fn new(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Ok(Self {
            client,
            completions: address(&settings.base_url, &["chat", "completions"])?,
            models: address(&settings.base_url, &["models"])?,
            authorization: settings.api_key.as_deref().and_then(bearer).transpose()?,
            idle: settings.idle,
            total: settings.total,
        })
    }

    async fn generate(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        let post = self
            .client
            .post(self.completions.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(request::body(request));
        let response = self.send(post).await?;
        if is_json(&response) {
            stream::read_whole(response.bytes_stream(), self.idle).await
        } else {
            stream::read(response.bytes_stream(), self.idle, progress).await
        }
    }

    /// Sends, and waits for a good status.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = match &self.authorization {
            Some(bearer) => request.header(reqwest::header::AUTHORIZATION, bearer.clone()),
            None => request,
        };
        let sent = timeout(self.idle, request.send()).await.map_err(|_| failure::idle(self.idle))?;
        let response = sent.map_err(|error| cannot_connect(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response, self.idle).await) }
    }

    async fn list_models(&self) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Models {
            data: Vec<serde::de::IgnoredAny>,
        }
        let response = self.send(self.client.get(self.models.clone())).await?;
        let body = stream::collect(response.bytes_stream(), self.idle, MODELS_MAX_BYTES).await?;
        match serde_json::from_slice::<Models>(&body) {
            Ok(models) if models.data.len() == 1 => Ok("answers, with one model".to_owned()),
            Ok(models) => Ok(format!("answers, with {} models", models.data.len())),
            Err(_) => Err(failed(FailureKind::Malformed, "the list of models cannot be read")),
        }
    }
}

#[async_trait]
impl Generator for OpenAi {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        timeout(self.total, self.generate(request, progress))
            .await
            .unwrap_or_else(|_| Err(failure::too_slow(self.total)))
    }

    async fn check(&self) -> Result<String, Failure> {
        timeout(self.total, self.list_models()).await.unwrap_or_else(|_| Err(failure::too_slow(self.total)))
    }
}

/// A server that ignores `stream` answers with one JSON body.
fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn address(base: &str, path: &[&str]) -> Result<Url, Invalid> {
    let mut url = Url::parse(base.trim()).map_err(|_| Invalid::BaseUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Invalid::BaseUrl);
    }
    url.path_segments_mut().map_err(|()| Invalid::BaseUrl)?.pop_if_empty().extend(path);
    Ok(url)
}

/// None if the key is blank. Keys read from files end in a line break.
fn bearer(key: &str) -> Option<Result<HeaderValue, Invalid>> {
    let key = key.trim();
    if key.is_empty() {
        return None;
    }
    let value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| Invalid::ApiKey);
    Some(value.map(|mut value| {
        value.set_sensitive(true);
        value
    }))
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

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("host", &self.completions.host_str())
            .field("has_api_key", &self.authorization.is_some())
            .field("idle", &self.idle)
            .field("total", &self.total)
            .finish()
    }
}
