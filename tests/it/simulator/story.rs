//! Baton as it is shipped, at the simulator through its own adapter: connected, answering, taken over from the phone, and
//! with an answer lost.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Stand,
    stand::{INSTANCE, QUICK, TOKEN},
};

const MEI: &str = "6580000001@c.us";
const API_TOKEN: &str = "a-token-of-the-tests-1234";

/// Longest wait for what a story says must come, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// `baton`, set to the account that is simulated.
fn baton(folder: &Path, stand: &Stand, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BATON_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(folder)
        .args(words)
        .env("BATON_API_TOKEN", API_TOKEN)
        .env("BATON_GREEN_API_URL", &stand.url)
        .env("BATON_GREEN_API_INSTANCE", INSTANCE.to_string())
        .env("BATON_GREEN_API_TOKEN", TOKEN)
        .env("BATON_AI_PROVIDER", "scripted");
    command
}

/// A server beside the simulator, until the end of the test.
struct Server {
    process: Child,
    url: String,
    http: reqwest::Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(folder: &Path, stand: &Stand) -> Self {
        let mut serve = baton(folder, stand, &["serve", "--listen", "127.0.0.1:0", "--log", "warn"]);
        serve.args(["--burst-quiet-ms", "0", "--typing-ms-per-char", "0", "--typing-jitter-ms", "0"]).args([
            "--send-interval-ms",
            "0",
            "--split-chars",
            "0",
        ]);
        let mut process =
            serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut said =
            BufReader::new(process.stderr.take().expect("its words")).lines().map_while(Result::ok);
        let link = said.find(|line| line.contains("/sign-in#")).expect("a link").trim().to_owned();
        // What it says later is shown with the test, and must not fill a pipe that nobody reads.
        std::thread::spawn(move || said.for_each(|line| eprintln!("{line}")));
        let url = link.split("/sign-in").next().expect("an address").to_owned();
        let http = baton::adapters::http_client::http_client(PATIENCE);
        Self { process, url, http: http.expect("a client") }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}/api/v1{path}", self.url)).bearer_auth(API_TOKEN);
        request.send().await.expect("an answer").json().await.expect("JSON")
    }

    async fn conversation(&self) -> Value {
        self.get(&format!("/conversations?chat_id={MEI}")).await["items"][0].clone()
    }

    /// The same, once the last of them is an answer that was read.
    async fn answered(&self) -> Vec<(String, String)> {
        let from = Instant::now();
        loop {
            let messages = self.messages().await;
            if messages.last().is_some_and(|(author, state)| author == "assistant" && state == "read") {
                return messages;
            }
            assert!(from.elapsed() < PATIENCE, "never so: {messages:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Its messages, oldest first: who wrote each, and how far it got.
    async fn messages(&self) -> Vec<(String, String)> {
        let id = self.conversation().await["id"].as_str().expect("a conversation").to_owned();
        let page = self.get(&format!("/conversations/{id}/messages")).await;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut all: Vec<_> = page["items"].as_array().expect("messages").clone();
        all.sort_by_key(|message| message["seq"].as_i64());
        all.iter().map(|message| (word(&message["author"]), word(&message["delivery"]["state"]))).collect()
    }
}

/// Sets the account up as a person would.
async fn connects(folder: &Path, stand: &Stand, server: &Server) -> Output {
    let mut connect = baton(folder, stand, &["connect", "--yes", "--public-url", &server.url]);
    tokio::task::spawn_blocking(move || connect.output().expect("it runs")).await.expect("it ends")
}

#[tokio::test]
async fn baton_is_connected_answers_gives_way_to_the_phone_and_sends_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let stand = Stand::new(QUICK);
    let server = Server::start(folder.path(), &stand);
    let connected = connects(folder.path(), &stand, &server).await;
    let said = String::from_utf8_lossy(&connected.stdout).into_owned();
    assert!(said.contains("outgoingMessageWebhook") && said.contains("default: connected"), "{connected:?}");

    // A contact writes, with a webhook that comes twice; the answer is told as sent, delivered and read.
    stand.plays("faults", json!({ "fault": "twice" })).await;
    stand.contact_writes(MEI, "Do you deliver?").await;
    stand.answered(MEI, 1).await;
    let messages = server.answered().await;
    assert_eq!(messages.len(), 2, "{messages:?}");

    // The gateway takes the next answer, and the connection breaks before it says so.
    stand.plays("faults", json!({ "fault": "drop", "taken": true })).await;
    stand.contact_writes(MEI, "And on Sundays?").await;
    stand.answered(MEI, 2).await;
    let messages = server.answered().await;
    assert_eq!(messages.len(), 4, "{messages:?}");

    // Somebody answers on the phone: from then on the assistant says nothing.
    stand.plays("phone", json!({ "chatId": MEI, "text": "I will see to it" })).await;
    stand.told_everything().await;
    assert_eq!(server.conversation().await["mode"], "HUMAN");
    stand.contact_writes(MEI, "Thank you").await;
    stand.told_everything().await;
    let written = stand.ask("GET", &format!("/simulator/messages?chatId={MEI}"), None).await.1;
    let from: Vec<_> = written.as_array().expect("messages").iter().map(|it| it["from"].clone()).collect();
    assert_eq!(from, ["contact", "api", "contact", "api", "phone", "contact"]);
    stand.end().await;
}
