//! Baton's own API, as a program beside a server asks it: with a token, and no more than that token may do.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::Method;
use serde_json::Value;

use super::{CONNECT, invitations};
use crate::{adapters::http_client::http_client, config::Settings};

/// A server that says nothing for this long is given up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The API of a server.
pub struct OwnApi {
    http: reqwest::Client,
    base: String,
    token: String,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It was done; null where there is nothing to say.
    Done(Value),
    /// It was not: the problem, in words.
    Refused(String),
}

impl OwnApi {
    /// That of the server at this address; else where the settings say that it is.
    pub fn of(settings: &Settings, server: Option<&str>) -> anyhow::Result<Self> {
        let base = server.map_or_else(|| invitations::base(settings, settings.listen), str::to_owned);
        let token = settings.api_token.as_ref().context(
            "BATON_API_TOKEN must hold your token: `baton token create NAME --role agent --agent YOU` makes one",
        )?;
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { http: http_client(CONNECT)?, base, token: token.expose().to_owned() })
    }

    /// Asks for a path below `/api/v1`.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Said {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        let request = self.http.request(method, format!("{}/api/v1{path}", self.base));
        let mut request = request.bearer_auth(&self.token).timeout(TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                return Said::Refused(format!("{} does not answer: {}", self.base, error.without_url()));
            }
        };
        let status = answer.status();
        let body: Value = match answer.bytes().await {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) => return Said::Refused(format!("the answer broke off: {}", error.without_url())),
        };
        if status.is_success() { Said::Done(body) } else { Said::Refused(problem(status.as_u16(), &body)) }
    }
}

/// A problem in one line: what, and about which fields.
fn problem(status: u16, body: &Value) -> String {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let fields = body["errors"].as_array().into_iter().flatten().map(|fault| {
        format!(
            "; {} {}",
            fault["pointer"].as_str().unwrap_or_default(),
            fault["detail"].as_str().unwrap_or_default()
        )
    });
    format!("{status} {}: {}{}", text("code"), text("detail"), fields.collect::<String>())
}
