//! Anthropic's Messages API, and any server that speaks the same. In: a request of the flow. Out: one POST, streamed, and the
//! answer it gave or how it failed.

mod request;

mod event;

mod assembly;

mod descriptions;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reqwest::{
    Client,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use self::event::{Event, Message};
use super::model_server::{Assembly, Flow, Server, Wire, key_header, unreadable};
pub use super::model_server::{Invalid, Settings};
use crate::flow::generator::{Failure, Generator, Progress, Request, Written};
pub use descriptions::Descriptions;

/// The shape of requests and answers that this adapter knows.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// A model behind the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    server: Server,
}

impl Anthropic {
    /// A model at that address. The client should neither follow redirects nor repeat requests.
    pub fn new(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Ok(Self { server: server(settings, client)? })
    }
}

fn server(settings: &Settings, client: Client) -> Result<Server, Invalid> {
    let key = key_header("", settings.api_key.as_deref())?;
    let mut headers: HeaderMap = key.into_iter().map(|key| (KEY_HEADER, key)).collect();
    headers.insert(VERSION_HEADER, VERSION);
    let settings = Settings { base_url: without_version(&settings.base_url), ..settings.clone() };
    Server::new(&settings, client, &["v1", "messages"], &["v1", "models"], headers)
}

/// Other protocols' addresses end in `/v1`, this one's does not: either is meant.
fn without_version(base_url: &str) -> String {
    let base = base_url.trim().trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base).to_owned()
}

#[async_trait]
impl Generator for Anthropic {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        self.server.reply::<Events>(request, HeaderMap::new(), request::body(request), progress).await
    }

    async fn check(&self) -> Result<String, Failure> {
        self.server.check().await
    }
}

/// Events of the Messages API. Each names its type in its data too, which is what is read.
struct Events;

impl Wire for Events {
    fn take(assembly: &mut Assembly, data: &str) -> Result<Flow, Failure> {
        let event: Event = serde_json::from_str(data).map_err(|_| unreadable())?;
        assembly::take(assembly, event)
    }

    fn take_whole(assembly: &mut Assembly, body: &str) -> Result<(), Failure> {
        let message: Message = serde_json::from_str(body).map_err(|_| unreadable())?;
        assembly::take_whole(assembly, message)
    }
}
