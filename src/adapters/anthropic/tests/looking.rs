//! Pictures, as they are put.

use reqwest::Client;
use serde_json::{Value, json};

use crate::adapters::{
    anthropic::{Descriptions, Invalid, Settings},
    model_server::{
        fake::SECRET,
        looking::{Shows, looking},
    },
};

looking!(Descriptions);

impl Shows for Descriptions {
    fn made(settings: &Settings, client: Client, model: &str, question: String) -> Result<Self, Invalid> {
        Self::new(settings, client, model, question)
    }

    fn asks() -> (&'static str, Vec<(&'static str, String)>) {
        ("messages", vec![("x-api-key", SECRET.to_owned()), ("anthropic-version", "2023-06-01".to_owned())])
    }

    fn posted() -> Value {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORyBhbmQgYSBib3ds" });
        let content =
            json!([{ "type": "image", "source": source }, { "type": "text", "text": "What is it?" }]);
        let messages = json!([{ "role": "user", "content": content }]);
        json!({ "model": "small-eyes", "max_tokens": 2048, "messages": messages })
    }

    fn says(words: &str) -> Value {
        ended(words, "end_turn")
    }

    fn filtered() -> Value {
        ended("A", "refusal")
    }
}

fn ended(words: &str, reason: &str) -> Value {
    json!({ "type": "message", "content": [{ "type": "text", "text": words }], "stop_reason": reason })
}
