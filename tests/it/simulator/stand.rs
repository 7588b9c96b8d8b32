//! A simulator as a test stands it up: as quick as it can be, with what the test lets contacts and the phone do. Waits are
//! for what the account shows, never for a time.

use std::{net::TcpListener, time::Duration};

use baton::{
    adapters::http_client::http_client,
    simulator::{Account, Options, Pace, Simulator},
};
use serde_json::{Value, json};

pub(super) const INSTANCE: u64 = 7_103_000_001;
pub(super) const TOKEN: &str = "t0ken";

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Everything at once, and as often as one likes.
pub(super) const QUICK: Pace = Pace {
    send_delay_ms: 0,
    tick_ms: 0,
    restart_ms: 0,
    retry_ms: 1,
    journal_lag_ms: 0,
    is_limited: false,
    chats_max: None,
};

pub(super) struct Stand {
    simulator: Simulator,
    http: reqwest::Client,
    /// `http://127.0.0.1:port`.
    pub(super) url: String,
}

impl Stand {
    /// A new account: it posts nowhere, and every switch is off.
    pub(super) fn new(pace: Pace) -> Self {
        Self::posting_to(String::new(), pace)
    }

    /// An account that posts everything there.
    pub(super) fn posting_to(webhook_url: String, pace: Pace) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let http = http_client(Duration::from_secs(5)).expect("a client");
        let webhook_token = "webhook-token-1234".to_owned();
        let options =
            Options { instance: INSTANCE, token: TOKEN.to_owned(), webhook_url, webhook_token, pace };
        let simulator = Simulator::start(listener, options, http.clone()).expect("it starts");
        let url = format!("http://{}", simulator.address());
        Self { simulator, http, url }
    }

    /// A client calls a method. Returns the status, and JSON or null.
    pub(super) async fn call(&self, verb: &str, method: &str, body: Option<&Value>) -> (u16, Value) {
        self.ask(verb, &format!("/waInstance{INSTANCE}/{method}/{TOKEN}"), body).await
    }

    /// The same, at any path.
    pub(super) async fn ask(&self, verb: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let verb = verb.parse().expect("a verb");
        let request = self.http.request(verb, format!("{}{path}", self.url));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&answer.text().await.expect("a body")).unwrap_or_default())
    }

    /// Somebody plays. Returns what is said to it.
    pub(super) async fn plays(&self, what: &str, body: Value) -> Value {
        let (status, said) = self.ask("POST", &format!("/simulator/{what}"), Some(&body)).await;
        assert_eq!(status, 200, "{what}: {said}");
        said
    }

    /// A contact writes. Returns the id of the message.
    pub(super) async fn contact_writes(&self, chat: &str, text: &str) -> String {
        let said = self.plays("contact", json!({ "chatId": chat, "name": "Mei", "text": text })).await;
        said["idMessage"].as_str().expect("an id").to_owned()
    }

    /// Waits until it is so.
    pub(super) async fn until<T>(&self, what: &str, look: impl Fn(&Account) -> Option<T>) -> T {
        match tokio::time::timeout(PATIENCE, self.simulator.until(look)).await {
            Ok(found) => found,
            Err(_) => panic!("{what}: never so: {}", self.ask("GET", "/simulator", None).await.1),
        }
    }

    /// Waits until so many messages of the API were read in that chat, and everything was told. Returns their texts.
    pub(super) async fn answered(&self, chat: &str, count: usize) -> Vec<String> {
        self.until("an answer", |account| {
            let overview = account.overview();
            let is_quiet = overview["notifications"] == 0 && overview["queue"] == json!([]);
            let sent: Vec<Value> =
                account.written(Some(chat)).into_iter().filter(|message| message["from"] == "api").collect();
            let are_read = sent.iter().all(|message| message["statusMessage"] == "read");
            let text = |message: &Value| message["text"].as_str().unwrap_or_default().to_owned();
            (is_quiet && are_read && sent.len() >= count).then(|| sent.iter().map(text).collect())
        })
        .await
    }

    /// Waits until everything was told.
    pub(super) async fn told_everything(&self) {
        self.until("everything told", |account| (account.overview()["notifications"] == 0).then_some(()))
            .await;
    }

    pub(super) async fn end(self) {
        self.simulator.stop().await;
    }
}
