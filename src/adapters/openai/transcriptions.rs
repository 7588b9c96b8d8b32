//! Words of voice notes. In: the bytes of one. Out: what is said in it, by one POST of a form.

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::{
    Client,
    multipart::{Form, Part},
};
use serde::Deserialize;

use super::headers;
use crate::{
    adapters::model_server::{Invalid, Server, Settings, failed, said, unreadable},
    flow::generator::{Failure, FailureKind, transcriber::Transcriber},
};

/// Servers go by the ending of its name; what the gateway calls a voice note is always this.
const FILE_NAME: &str = "voice.ogg";
const MIME_TYPE: &str = "audio/ogg";

/// A model behind an OpenAI-compatible server that listens.
#[derive(Debug)]
pub struct Transcriptions {
    server: Server,
    model: String,
}

impl Transcriptions {
    /// A model of that name at that address. The client should neither follow redirects nor repeat requests.
    pub fn new(settings: &Settings, client: Client, model: &str) -> Result<Self, Invalid> {
        let headers = headers(settings)?;
        let server = Server::new(settings, client, &["audio", "transcriptions"], &["models"], headers)?;
        Ok(Self { server, model: model.to_owned() })
    }
}

#[async_trait]
impl Transcriber for Transcriptions {
    async fn transcribe(&self, sound: Bytes) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Transcript {
            text: String,
        }
        let length = sound.len() as u64;
        let file = Part::stream_with_length(sound, length).file_name(FILE_NAME);
        let file = file.mime_str(MIME_TYPE).expect("a constant that is a type");
        let form =
            Form::new().text("model", self.model.clone()).text("response_format", "json").part("file", file);
        let body = self.server.tell(form).await?;
        let transcript: Transcript = serde_json::from_slice(&body).map_err(|_| unreadable())?;
        if said(&transcript.text) {
            Ok(transcript.text)
        } else {
            Err(failed(FailureKind::Empty, "nothing was said"))
        }
    }
}
