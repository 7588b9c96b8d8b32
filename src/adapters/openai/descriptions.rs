//! Words of pictures. In: one picture. Out: what is to be seen in it, by one POST that is not streamed.

use async_trait::async_trait;
use reqwest::Client;
use serde_json::json;

use super::{Chunks, server};
use crate::{
    adapters::model_server::{Invalid, Server, Settings},
    flow::generator::{
        Failure,
        describer::{Describer, Picture},
    },
};

/// A model behind an OpenAI-compatible server that can see.
#[derive(Debug)]
pub struct Descriptions {
    server: Server,
    model: String,
    question: String,
}

impl Descriptions {
    /// A model of that name at that address, asked that with each picture. The client should neither follow redirects nor
    /// repeat requests.
    pub fn new(settings: &Settings, client: Client, model: &str, question: String) -> Result<Self, Invalid> {
        Ok(Self { server: server(settings, client)?, model: model.to_owned(), question })
    }
}

#[async_trait]
impl Describer for Descriptions {
    async fn describe(&self, picture: Picture) -> Result<String, Failure> {
        let url = format!("data:{};base64,{}", picture.mime_type, picture.base64());
        let content = json!([
            { "type": "text", "text": self.question },
            { "type": "image_url", "image_url": { "url": url } },
        ]);
        let body = json!({ "model": self.model, "messages": [{ "role": "user", "content": content }] });
        self.server.describe::<Chunks>(&body).await
    }
}
