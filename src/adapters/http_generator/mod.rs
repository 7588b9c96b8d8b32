//! A service of one's own, in any language, which answers in the model's place. In: a request of the flow. Out: one POST,
//! signed, and the answer it gave, streamed or whole, or how it failed.

mod request;

mod event;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reqwest::{Client, header::HeaderMap};
use uuid::Uuid;

use self::event::Event;
use super::model_server::{Assembly, Flow, Server, Wire, signed, unreadable};
pub use super::model_server::{Invalid, Settings};
use crate::flow::{
    generator::{Failure, Generator, Progress, Request, Written},
    notify::signature::Key,
};

/// A service that answers.
#[derive(Debug)]
pub struct HttpGenerator {
    server: Server,
    key: Key,
}

impl HttpGenerator {
    /// A service at that address, which knows us by the key. The client should neither follow redirects nor repeat
    /// requests.
    pub fn new(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        let secret = settings.api_key.as_deref().unwrap_or_default();
        let key = Key::read(secret.trim()).ok_or(Invalid::SigningKey)?;
        let server = Server::new(settings, client, &[], &[], HeaderMap::new())?;
        Ok(Self { server, key })
    }
}

#[async_trait]
impl Generator for HttpGenerator {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        let body = request::body(request);
        let headers = signed(&self.key, &request::id(request), &body);
        self.server.reply::<Events>(request, headers, body, progress).await
    }

    fn knows_who_asks(&self, _: &str) -> bool {
        true
    }

    /// Asks what is no question, so that nothing is written, and signs that too: a service that knows another key says so.
    async fn check(&self) -> Result<String, Failure> {
        let body = request::check();
        let headers = signed(&self.key, &Uuid::now_v7().to_string(), &body);
        self.server.takes(headers, body).await.map(|()| "answers".to_owned())
    }
}

/// Pieces of an answer, or all of it: the same fields.
struct Events;

impl Wire for Events {
    fn take(assembly: &mut Assembly, data: &str) -> Result<Flow, Failure> {
        let event: Event = serde_json::from_str(data).map_err(|_| unreadable())?;
        event::take(assembly, event)
    }

    fn take_whole(assembly: &mut Assembly, body: &str) -> Result<(), Failure> {
        let event: Event = serde_json::from_str(body).map_err(|_| unreadable())?;
        event::take(assembly, event).map(drop)
    }
}
