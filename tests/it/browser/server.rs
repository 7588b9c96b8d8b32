//! A Baton as it is shipped: the program, in a process of its own, with the sandbox and its scripted assistant. In: what
//! contacts write on their phones. Out: what they read there, and the link with which the first person signs in.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::world::Database;

/// With which the test itself asks.
pub(super) const TOKEN: &str = "a-token-of-the-tests-1234";

/// Longest wait for what a story says must come, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions: whoever asks without end takes the time of whoever is to answer.
const PAUSE: Duration = Duration::from_millis(20);

/// The program that is measured, if one is.
pub(super) fn measured() -> Option<std::ffi::OsString> {
    std::env::var_os("TEST_MEASURES")
}

pub(super) struct Server {
    process: Child,
    database: Option<Database>,
    http: reqwest::Client,
    /// `http://127.0.0.1:port`.
    pub(super) address: String,
    /// Good once.
    pub(super) link: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    pub(super) async fn on_sqlite() -> Self {
        Self::over(Database::sqlite(), None, "scripted", &[]).await
    }

    /// People answer alone.
    pub(super) async fn without_model() -> Self {
        Self::over(Database::sqlite(), None, "none", &[]).await
    }

    /// With a language for everyone.
    pub(super) async fn speaking(language: &str) -> Self {
        Self::over(Database::sqlite(), None, "scripted", &["--language", language]).await
    }

    /// That fetches what happens at the provider.
    pub(super) async fn fetching() -> Self {
        Self::over(Database::sqlite(), None, "scripted", &["--green-api-receive", "poll"]).await
    }

    pub(super) async fn on_postgres() -> Self {
        let redis = std::env::var("TEST_REDIS_URL")
            .expect("TEST_REDIS_URL names no Redis server; `cargo xtask test` starts one and sets it");
        Self::over(Database::postgres().await, Some(redis), "scripted", &[]).await
    }

    async fn over(database: Database, redis: Option<String>, model: &str, more: &[&str]) -> Self {
        let program = measured().unwrap_or_else(|| env!("CARGO_BIN_EXE_baton").into());
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BATON_") {
                command.env_remove(name);
            }
        }
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--sandbox", "--ai-provider", model, "--log", "warn"])
            // Quick, but with time enough to come between two parts of a reply.
            .args(["--burst-quiet-ms", "300", "--typing-ms-per-char", "20", "--typing-jitter-ms", "0"])
            .args(["--typing-max-ms", "3000"])
            .args(["--send-interval-ms", "0", "--green-api-timeout-ms", "2000"])
            .args(more)
            .env("BATON_DATABASE_URL", database.url())
            .env("BATON_API_TOKEN", TOKEN)
            // Where tests listen.
            .env("BATON_WEBHOOK_HOSTS", "127.0.0.1")
            .env("BATON_SECRET_KEY", "5e".repeat(32))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(redis) = redis {
            command.env("BATON_REDIS_URL", redis);
        }
        let mut process = command.spawn().expect("the program starts");
        let mut said =
            BufReader::new(process.stderr.take().expect("its words")).lines().map_while(Result::ok);
        let mut before = Vec::new();
        let link = loop {
            let Some(line) = said.next() else { panic!("it ended: {}", before.join("\n")) };
            match line.split_whitespace().find(|word| word.contains("/sign-in#")) {
                Some(link) => break link.to_owned(),
                None => before.push(line),
            }
        };
        // What it says later is shown with the test, and must not fill a pipe that nobody reads.
        std::thread::spawn(move || said.for_each(|line| eprintln!("{line}")));
        let address = link.split("/sign-in").next().expect("an address").to_owned();
        let http = baton::adapters::http_client::http_client(PATIENCE).expect("a client");
        Self { process, database: Some(database), http, address, link }
    }

    /// The end of the test.
    pub(super) async fn end(mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(database) = self.database.take() {
            database.remove().await;
        }
    }

    /// A contact writes; each text is a message of its own.
    pub(super) async fn writes(&self, chat: &str, name: &str, texts: &[&str]) {
        let bodies: Vec<Value> =
            texts.iter().map(|text| json!({ "chat_id": chat, "name": name, "text": text })).collect();
        let answer = self.asks("POST", "/webhooks/sandbox", Some(json!(bodies))).await;
        assert!(answer.is_array(), "{answer}");
    }

    /// How model and provider behave from now on.
    pub(super) async fn behaves(&self, how: Value) {
        self.asks("PATCH", "/api/v1/sandbox", Some(how)).await;
    }

    /// The conversation of a chat.
    pub(super) async fn conversation(&self, chat: &str) -> Value {
        let found = self.asks("GET", &format!("/api/v1/conversations?chat_id={chat}"), None).await;
        found["items"][0].clone()
    }

    /// The texts of our side on the contact's phone, oldest first.
    pub(super) async fn phone(&self, chat: &str) -> Vec<String> {
        let screen = self.asks("GET", &format!("/api/v1/sandbox/chats/{chat}"), None).await;
        let bubbles = screen["messages"].as_array().expect("messages").iter();
        bubbles
            .filter(|bubble| bubble["author"] != "contact")
            .map(|bubble| bubble["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    pub(super) async fn asks(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let method = method.parse().expect("a method");
        let request = self.http.request(method, format!("{}{path}", self.address)).bearer_auth(TOKEN);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("a body");
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Waits until this is so; asks again and again.
    pub(super) async fn until<T: std::fmt::Debug, F: Future<Output = T>>(
        &self,
        look: impl Fn() -> F,
        holds: impl Fn(&T) -> bool,
    ) -> T {
        let from = Instant::now();
        loop {
            let seen = look().await;
            if holds(&seen) {
                return seen;
            }
            assert!(from.elapsed() < PATIENCE, "never so: {seen:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
