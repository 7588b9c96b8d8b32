//! Words of pictures. In: one picture. Out: what is to be seen in it, by one POST that is not streamed.

use async_trait::async_trait;
use reqwest::Client;
use serde_json::json;

use super::{Events, server};
use crate::{
    adapters::model_server::{Invalid, Server, Settings},
    flow::generator::{
        Failure,
        describer::{Describer, Picture},
    },
};

/// A page of text, and what is around it. A longer answer is cut there, and is one all the same.
const MAX_TOKENS: u32 = 2_048;

/// A model behind the Messages API that can see.
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
        let source = json!({ "type": "base64", "media_type": picture.mime_type, "data": picture.base64() });
        let content = json!([
            { "type": "image", "source": source },
            { "type": "text", "text": self.question },
        ]);
        let body = json!({
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "messages": [{ "role": "user", "content": content }],
        });
        self.server.describe::<Events>(&body).await
    }
}
