//! Where an account lives at Green API, and how to ask it. The token is part of every address, so addresses stay in
//! here, and whatever is said of a failure is said without them.

use std::{error::Error, fmt, time::Duration};

use reqwest::{Method, Response, Url};
use serde_json::Value;

use super::wording::cut;

/// Longest answer read, in bytes; the rest of a longer one is left. The longest known is that of the settings.
const ANSWER_MAX: usize = 64 * 1024;

/// The same where webhook bodies with their thumbnails come, or the journal of a day.
const FETCHED_MAX: usize = 64 * 1024 * 1024;

/// Longest list read, in bytes. Of a longer one nothing is believed: what is missing might be what is looked for.
const LIST_MAX: usize = 4 * 1024 * 1024;

/// Longest description of a failure, in characters.
const DETAIL_MAX: usize = 200;

/// The address of the gateway is none.
#[derive(Debug, thiserror::Error)]
#[error("the address of Green API must begin with http:// or https:// and name a host")]
pub struct BadAddress;

/// One account, with the client to reach it.
pub(super) struct Endpoint {
    http: reqwest::Client,
    base: Url,
    /// Where files are uploaded.
    media: Url,
    instance: String,
    token: String,
}

impl Endpoint {
    pub(super) fn new(
        http: reqwest::Client,
        api_url: &str,
        instance: &str,
        token: &str,
    ) -> Result<Self, BadAddress> {
        let base = Url::parse(api_url.trim()).map_err(|_| BadAddress)?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(BadAddress);
        }
        let media = media_of(&base);
        Ok(Self { http, base, media, instance: instance.to_owned(), token: token.to_owned() })
    }

    pub(super) fn instance(&self) -> &str {
        &self.instance
    }

    /// A request to that method of the account.
    pub(super) fn request(&self, verb: Method, method: &str, timeout: Duration) -> reqwest::RequestBuilder {
        self.http.request(verb, self.url(method)).timeout(timeout)
    }

    /// A request to a method that takes a file.
    pub(super) fn upload(&self, method: &str, timeout: Duration) -> reqwest::RequestBuilder {
        self.http.post(self.url_at(&self.media, method)).timeout(timeout)
    }

    fn url(&self, method: &str) -> Url {
        self.url_at(&self.base, method)
    }

    fn url_at(&self, base: &Url, method: &str) -> Url {
        let mut url = base.clone();
        // Never fails: an address with a host has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([&format!("waInstance{}", self.instance), method, &self.token]);
        }
        url
    }

    /// Fetches what may be long, by a number in the query.
    pub(super) async fn fetch(
        &self,
        method: &str,
        (name, value): (&str, i64),
        timeout: Duration,
    ) -> Result<Answer, String> {
        let mut url = self.url(method);
        url.query_pairs_mut().append_pair(name, &value.to_string());
        let request = self.http.get(url).timeout(timeout);
        let response = request.send().await.map_err(|error| self.describe(error))?;
        self.answer_up_to(response, FETCHED_MAX).await
    }

    /// Deletes what that method names by a number.
    pub(super) async fn delete(&self, method: &str, id: i64, timeout: Duration) -> Result<Answer, String> {
        let mut url = self.url(method);
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(&id.to_string());
        }
        let request = self.http.delete(url).timeout(timeout);
        let response = request.send().await.map_err(|error| self.describe(error))?;
        self.answer(response).await
    }

    /// A question or wish without any effect that must not be repeated. Ok whatever the status.
    pub(super) async fn ask(
        &self,
        verb: Method,
        method: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Answer, String> {
        let request = self.request(verb, method, timeout);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.map_err(|error| self.describe(error))?;
        self.answer(response).await
    }

    /// Asks for a list, of the last so many minutes where it can be cut so. Ok whatever the status.
    pub(super) async fn list(
        &self,
        method: &str,
        minutes: Option<i64>,
        timeout: Duration,
    ) -> Result<Answer, String> {
        let mut address = self.url(method);
        if let Some(minutes) = minutes {
            address.query_pairs_mut().append_pair("minutes", &minutes.to_string());
        }
        let response =
            self.http.get(address).timeout(timeout).send().await.map_err(|error| self.describe(error))?;
        self.answer_up_to(response, LIST_MAX).await
    }

    /// The status and as much of the body as is of use.
    pub(super) async fn answer(&self, response: Response) -> Result<Answer, String> {
        self.answer_up_to(response, ANSWER_MAX).await
    }

    async fn answer_up_to(&self, mut response: Response, max: usize) -> Result<Answer, String> {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.describe(error))? {
            body.extend_from_slice(&chunk);
            if body.len() > max {
                break;
            }
        }
        Ok(Answer { status, body })
    }

    /// What went wrong, without the address.
    pub(super) fn describe(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        let what = if error.is_builder() {
            "the request cannot be built"
        } else if error.is_connect() && error.is_timeout() {
            "timed out while connecting"
        } else if error.is_timeout() {
            "timed out"
        } else if error.is_connect() {
            "no connection"
        } else {
            "the connection broke"
        };
        let mut cause: &dyn Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        if error.is_timeout() { what.to_owned() } else { self.redact(&format!("{what}: {cause}")) }
    }

    /// The words, shortened, without the token: the gateway's own error bodies repeat it. And without what cannot be shown: some
    /// bodies are no text at all.
    pub(super) fn redact(&self, words: &str) -> String {
        let mut words: String = words.chars().filter_map(shown).collect();
        let escaped: String = url_escaped(&self.token);
        for secret in [self.token.as_str(), escaped.as_str()] {
            if !secret.is_empty() {
                words = words.replace(secret, "***");
            }
        }
        cut(words.trim(), DETAIL_MAX).to_owned()
    }
}

/// The gateway takes files at a host of their own, `media.green-api.com` for `api.green-api.com` and `7103.media.greenapi.com`
/// for `7103.api.greenapi.com`; a gateway in front of it has one for both.
fn media_of(base: &Url) -> Url {
    let mut media = base.clone();
    let labels: Vec<&str> = base.host_str().unwrap_or_default().split('.').collect();
    if let [.., "green-api" | "greenapi", "com"] = labels.as_slice() {
        let labels = labels.iter().map(|label| if *label == "api" { "media" } else { label });
        // Never fails: a name stays a name.
        if media.set_host(Some(&labels.collect::<Vec<_>>().join("."))).is_err() {
            return base.clone();
        }
    }
    media
}

/// None for what cannot be shown. A line is as long as it wants to be.
fn shown(it: char) -> Option<char> {
    match it {
        it if it.is_whitespace() => Some(' '),
        it if it.is_control() || it == char::REPLACEMENT_CHARACTER => None,
        it => Some(it),
    }
}

/// The token as it stands in a path.
fn url_escaped(token: &str) -> String {
    let mut url = Url::parse("http://a/").ok();
    if let Some(mut path) = url.as_mut().and_then(|url| url.path_segments_mut().ok()) {
        path.pop_if_empty().push(token);
    }
    url.map(|url| url.path().trim_start_matches('/').to_owned()).unwrap_or_default()
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.base.host_str().unwrap_or_default();
        f.debug_struct("Endpoint")
            .field("host", &host)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// What the gateway answered.
pub(super) struct Answer {
    pub(super) status: u16,
    body: Vec<u8>,
}

impl Answer {
    /// The answer of which only the status came.
    pub(super) const fn empty(status: u16) -> Self {
        Self { status, body: Vec::new() }
    }

    #[cfg(test)]
    pub(super) fn new(status: u16, body: &str) -> Self {
        Self { status, body: body.as_bytes().to_vec() }
    }

    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The body as it came.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// What an error body says: its `message`, or all of it if it is not JSON.
    pub(super) fn words(&self) -> String {
        match self.json() {
            Some(json) => json.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            None => String::from_utf8_lossy(&self.body).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::http_client::http_client;

    #[test]
    fn what_cannot_be_shown_is_not_quoted_and_hides_no_token() {
        let client = http_client(Duration::from_secs(1)).expect("a client");
        let endpoint = Endpoint::new(client, "http://127.0.0.1:1", "7105", "s3cret").expect("an address");
        let body =
            String::from_utf8_lossy(b"\x1f\x8b\x08\0 Bad\r\ngateway \xff\x7f at s3\0cret\0").into_owned();
        assert_eq!(endpoint.redact(&body), "Bad  gateway  at ***");
    }

    #[test]
    fn files_go_to_the_gateways_own_host_for_them_and_to_no_other() {
        for (base, media) in [
            ("https://api.green-api.com", "https://media.green-api.com/"),
            ("https://7103.api.greenapi.com", "https://7103.media.greenapi.com/"),
            ("https://api.example.com/gateway", "https://api.example.com/gateway"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000/"),
        ] {
            assert_eq!(media_of(&Url::parse(base).expect("an address")).as_str(), media);
        }
    }
}
