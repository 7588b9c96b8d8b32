//! Baton's own API, as another program asks it: with a token, and no more than that token may do.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::{CONNECT, invitations};
use crate::{adapters::http_client::http_client, config::Settings};

/// A server that says nothing for this long is given up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// At the start the server is waited for this long: an assistant waits meanwhile.
const LOOK: Duration = Duration::from_secs(5);

/// For so long what goes under a key is asked again, where it is not known what became of it; first after this, then after twice
/// as long each time.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(250);

/// The API of a server.
pub struct OwnApi {
    http: reqwest::Client,
    patience: Duration,
    base: String,
    token: String,
}

/// No answer, or one that says to come again.
struct Unanswered {
    problem: String,
    may_be_done: bool,
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
        let is_web = reqwest::Url::parse(&base).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        ensure!(is_web, "--server {base}: must be an address such as https://baton.example.com");
        Ok(Self { http: http_client(CONNECT)?, patience: PATIENCE, base, token: token.expose().to_owned() })
    }

    /// Whether the server answers and takes the token, asked before anybody relies on it. An error: it does not take it. Words: it
    /// does not answer now, and may later.
    pub async fn look(&self) -> anyhow::Result<Option<String>> {
        match tokio::time::timeout(LOOK, self.try_once("GET", "/channels", None, None)).await {
            Ok(Ok(Said::Done(_))) => Ok(None),
            Ok(Ok(Said::Refused(problem))) => bail!(
                "{} refuses: {problem}; check the address (--server), and that BATON_API_TOKEN is a token of that server with the \
                 role read, agent or admin",
                self.base
            ),
            Ok(Err(unanswered)) => Ok(Some(unanswered.problem)),
            Err(_) => Ok(Some(format!("{} does not answer within {} s", self.base, LOOK.as_secs()))),
        }
    }

    /// Asks for a path below `/api/v1`; under a key again, until there is an answer: it is the same request, and done once.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Said {
        let until = Instant::now() + self.patience;
        let (mut wait, mut may_be_done) = (AGAIN, false);
        loop {
            let unanswered = match self.try_once(method, path, body, key).await {
                Ok(said) => return said,
                Err(unanswered) => unanswered,
            };
            may_be_done |= unanswered.may_be_done;
            if key.is_none() || Instant::now() + wait > until {
                let in_doubt = method != "GET" && may_be_done;
                let doubt = if in_doubt {
                    "; it may have been done all the same: look before you try again"
                } else {
                    ""
                };
                return Said::Refused(format!("{}{doubt}", unanswered.problem));
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    async fn try_once(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Said, Unanswered> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        let request = self.http.request(method, format!("{}/api/v1{path}", self.base));
        let mut request = request.bearer_auth(&self.token).timeout(TIMEOUT);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = request.send().await.map_err(|error| Unanswered {
            may_be_done: !error.is_connect(),
            problem: format!("{} does not answer: {}", self.base, error.without_url()),
        })?;
        let status = answer.status();
        let bytes = answer.bytes().await.map_err(|error| Unanswered {
            may_be_done: true,
            problem: format!("the answer broke off: {}", error.without_url()),
        })?;
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if status.is_success() {
            return Ok(Said::Done(body));
        }
        let problem = problem(status.as_u16(), &body);
        match status {
            StatusCode::TOO_MANY_REQUESTS => Err(Unanswered { problem, may_be_done: false }),
            // Of a proxy too, which knows no more than we do.
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                Err(Unanswered { problem, may_be_done: true })
            }
            _ => Ok(Said::Refused(problem)),
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// Reads a request to its end, and gives this answer; empty: none, and the connection is lost. Returns its key.
    async fn answers(server: &TcpListener, answer: &str) -> String {
        let (mut client, _) = server.accept().await.expect("a client");
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            assert!(client.read_buf(&mut asked).await.expect("a request") > 0);
        }
        client.write_all(answer.as_bytes()).await.expect("it reads");
        let asked = String::from_utf8(asked).expect("text");
        let key = asked.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
        key.expect("a key").to_owned()
    }

    async fn own_api(patience: Duration) -> (TcpListener, OwnApi) {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", server.local_addr().expect("bound"));
        let http = http_client(CONNECT).expect("a client");
        (server, OwnApi { http, patience, base, token: "a token".to_owned() })
    }

    const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const DONE: &str = "HTTP/1.1 202 Done\r\ncontent-length: 8\r\nconnection: close\r\n\r\n{\"id\":1}";
    const NO: &str = "HTTP/1.1 409 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

    #[test]
    fn what_is_no_address_is_refused_at_once() {
        let settings =
            Settings::default().adjusted(&[], &[("api_token", "a-token-of-20-letters")]).expect("right");
        for (server, is_one) in [("foo", false), ("ftp://foo", false), ("https://baton.example.com/", true)] {
            assert_eq!(OwnApi::of(&settings, Some(server)).is_ok(), is_one, "{server}");
        }
    }

    /// What the look at the start finds, where that is answered.
    async fn looked(answer: &str) -> anyhow::Result<Option<String>> {
        let (server, api) = own_api(PATIENCE).await;
        let answers = async {
            let (mut client, _) = server.accept().await.expect("a client");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                assert!(client.read_buf(&mut asked).await.expect("a request") > 0);
            }
            client.write_all(answer.as_bytes()).await.expect("it reads");
        };
        tokio::join!(api.look(), answers).0
    }

    #[tokio::test]
    async fn a_token_that_is_refused_is_an_error_at_the_start_and_a_server_that_is_away_is_told() {
        assert_eq!(looked(DONE).await.expect("taken"), None);
        let wrong = "HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let refused = looked(wrong).await.expect_err("refused").to_string();
        assert!(refused.contains("401") && refused.contains("BATON_API_TOKEN"), "{refused}");
        assert!(looked(BUSY).await.expect("it may answer later").is_some());
        let (server, api) = own_api(PATIENCE).await;
        drop(server);
        let away = api.look().await.expect("it may come").expect("told");
        assert!(away.contains("does not answer"), "{away}");
    }

    #[tokio::test]
    async fn what_got_no_answer_is_asked_again_under_the_same_key() {
        let (server, api) = own_api(PATIENCE).await;
        let keys = async {
            [answers(&server, "").await, answers(&server, BUSY).await, answers(&server, DONE).await]
        };
        let body = json!({ "text": "Hello" });
        let (said, keys) = tokio::join!(api.ask("POST", "/messages", Some(&body), Some("k1")), keys);
        assert_eq!((said, keys), (Said::Done(json!({ "id": 1 })), ["k1"; 3].map(str::to_owned)));
    }

    #[tokio::test]
    async fn what_stays_unknown_is_told_as_unknown_and_what_was_refused_as_refused() {
        let (server, api) = own_api(Duration::ZERO).await;
        let body = json!({ "text": "Hello" });
        for (answer, is_unknown) in [("", true), (BUSY, true), (NO, false)] {
            let (said, _) =
                tokio::join!(api.ask("POST", "/messages", Some(&body), Some("k1")), answers(&server, answer));
            let Said::Refused(problem) = said else { panic!("{said:?}") };
            assert_eq!(problem.ends_with("look before you try again"), is_unknown, "{problem}");
        }
        drop(server);
        let Said::Refused(problem) = api.ask("POST", "/messages", Some(&body), Some("k1")).await else {
            panic!("nobody is there")
        };
        assert!(problem.contains("does not answer") && !problem.contains("done"), "{problem}");
    }
}
