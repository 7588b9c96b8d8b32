//! Pictures, as they are put.

use reqwest::Client;
use serde_json::{Value, json};

use crate::adapters::{
    model_server::{
        fake::SECRET,
        looking::{Shows, looking},
    },
    openai::{Descriptions, Invalid, Settings},
};

looking!(Descriptions);

impl Shows for Descriptions {
    fn made(settings: &Settings, client: Client, model: &str, question: String) -> Result<Self, Invalid> {
        Self::new(settings, client, model, question)
    }

    fn asks() -> (&'static str, Vec<(&'static str, String)>) {
        ("chat/completions", vec![("authorization", format!("Bearer {SECRET}"))])
    }

    fn posted() -> Value {
        let url = "data:image/png;base64,iVBORyBhbmQgYSBib3ds";
        let content = json!([
            { "type": "text", "text": "What is it?" },
            { "type": "image_url", "image_url": { "url": url } },
        ]);
        json!({ "model": "small-eyes", "messages": [{ "role": "user", "content": content }] })
    }

    fn says(words: &str) -> Value {
        json!({ "choices": [{ "message": { "role": "assistant", "content": words }, "finish_reason": "stop" }] })
    }

    fn filtered() -> Value {
        json!({ "choices": [{ "message": { "content": "A" }, "finish_reason": "content_filter" }] })
    }
}
