//! Any server that speaks as OpenAI's chat completions do: OpenAI, Ollama, vLLM, Groq, OpenRouter and many more.
//! In: a request of the flow. Out: one POST, streamed, and the answer it gave or how it failed.

mod request;

mod chunk;

mod assembly;

mod transcriptions;

mod descriptions;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use reqwest::{
    Client,
    header::{AUTHORIZATION, HeaderMap},
};

use self::chunk::Chunk;
use super::model_server::{self, Assembly, Flow, Server, Wire, key_header};
pub use super::model_server::{Invalid, Settings};
use crate::flow::generator::{Failure, Generator, Progress, Request, Written};
pub use descriptions::Descriptions;
pub use transcriptions::Transcriptions;

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct OpenAi {
    server: Server,
}

impl OpenAi {
    /// A model at that address. The client should neither follow redirects nor repeat requests.
    pub fn new(settings: &Settings, client: Client) -> Result<Self, Invalid> {
        Ok(Self { server: server(settings, client)? })
    }
}

fn server(settings: &Settings, client: Client) -> Result<Server, Invalid> {
    Server::new(settings, client, &["chat", "completions"], &["models"], headers(settings)?)
}

fn headers(settings: &Settings) -> Result<HeaderMap, Invalid> {
    let key = key_header("Bearer ", settings.api_key.as_deref())?;
    Ok(key.into_iter().map(|key| (AUTHORIZATION, key)).collect())
}

#[async_trait]
impl Generator for OpenAi {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        self.server.reply::<Chunks>(request, HeaderMap::new(), request::body(request), progress).await
    }

    async fn check(&self) -> Result<String, Failure> {
        self.server.check().await
    }
}

/// Chunks of chat completions, and a marker of their own at the end.
struct Chunks;

impl Wire for Chunks {
    fn take(assembly: &mut Assembly, data: &str) -> Result<Flow, Failure> {
        if data == "[DONE]" {
            assembly.end();
            return Ok(Flow::Ends);
        }
        assembly::take(assembly, Chunk::read(data)?)?;
        Ok(Flow::Goes)
    }

    fn take_whole(assembly: &mut Assembly, body: &str) -> Result<(), Failure> {
        assembly::take(assembly, Chunk::read(body)?)
    }
}

/// On bytes alone, without a server: for the fuzzer in `fuzz/`.
#[doc(hidden)]
pub async fn read_stream<S, E>(bytes: S, idle: Duration, progress: &dyn Progress) -> Result<Written, Failure>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    model_server::read::<Chunks, _, _>(bytes, idle, progress).await
}

/// The same of an answer in one piece.
#[doc(hidden)]
pub async fn read_whole<S, E>(bytes: S, idle: Duration) -> Result<Written, Failure>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
{
    model_server::read_whole::<Chunks, _, _>(bytes, idle).await
}
