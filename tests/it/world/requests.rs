//! What is asked of a Baton over HTTP, by the gateway and by people, and what it answers.

use reqwest::{
    Method,
    multipart::{Form, Part},
};
use serde_json::Value;

use super::{API_TOKEN, CHANNEL, WEBHOOK_TOKEN, World, green_api};

/// What a request was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// JSON, or null if it is none.
    pub(crate) body: Value,
}

/// A file that a person sends.
pub(crate) struct File<'a> {
    pub(crate) name: &'a str,
    pub(crate) mime_type: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) caption: Option<&'a str>,
}

/// A picture, as far as anybody looks.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and a floor plan";

impl World {
    /// Green API posts this.
    pub(crate) async fn webhook(&self, body: &Value) -> &'static str {
        let reply = self.knock(CHANNEL, Some(WEBHOOK_TOKEN), body.to_string()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let known = ["accepted", "duplicate", "ignored", "dead_letter"];
        known.into_iter().find(|word| reply.body["status"] == **word).expect("a known verdict")
    }

    /// Green API reports the state of the phone of the business.
    pub(crate) async fn state(&self, word: &str) -> &'static str {
        self.webhook(&green_api::state(self.now().0 / 1_000, word)).await
    }

    /// Somebody posts this to the door of a channel.
    pub(crate) async fn knock(
        &self,
        channel: &str,
        token: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> Reply {
        let request = self.http.post(self.url(&format!("/webhooks/green-api/{channel}"))).body(body);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        answered(request).await
    }

    /// A person asks.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        answered(self.request(method, path, body)).await
    }

    /// A person sends a file.
    pub(crate) async fn send_file(&self, path: &str, key: &str, file: &File<'_>) -> Reply {
        let part = Part::bytes(file.bytes.to_vec()).file_name(file.name.to_owned());
        let mut form = Form::new().part("file", part.mime_str(file.mime_type).expect("a type"));
        if let Some(caption) = file.caption {
            form = form.text("caption", caption.to_owned());
        }
        answered(self.request("POST", path, None).header("Idempotency-Key", key).multipart(form)).await
    }

    /// A person reads.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let reply = self.ask("GET", path, None).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.body
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: Option<Value>) -> reqwest::RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let request = self.http.request(method, self.url(path)).bearer_auth(API_TOKEN);
        match body {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.process().address)
    }

    /// Sends a request as it is.
    pub(crate) async fn execute(&self, request: reqwest::Request) -> Reply {
        reply_of(self.http.execute(request).await.expect("an answer")).await
    }

    /// Sends a request as it is. Returns the status, and the cookie that is to come back.
    pub(crate) async fn cookie(&self, request: reqwest::Request) -> (u16, Option<String>) {
        let response = self.http.execute(request).await.expect("an answer");
        let set = response.headers().get("set-cookie").map(|value| value.to_str().expect("text"));
        let cookie = set.and_then(|set| set.split(';').next()).map(str::to_owned);
        (response.status().as_u16(), cookie)
    }
}

/// Sends it.
pub(crate) async fn answered(request: reqwest::RequestBuilder) -> Reply {
    reply_of(request.send().await.expect("an answer")).await
}

async fn reply_of(response: reqwest::Response) -> Reply {
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    Reply { status, body: serde_json::from_str(&text).unwrap_or_default() }
}
