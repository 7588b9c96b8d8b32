//! The program as it is shipped, over a database of a test: a server that can be killed, and commands beside it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::world::Database;

/// With which the test asks.
pub(crate) const TOKEN: &str = "a-token-of-the-tests-1234";

/// Longest wait for what a story says must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions: whoever asks without end takes the time of whoever is to answer.
const PAUSE: Duration = Duration::from_millis(20);

/// A database, and the folder from which the program is called.
pub(crate) struct Program {
    database: Database,
    folder: TempDir,
    /// Settings beside the common ones.
    pub(crate) variables: Vec<(String, String)>,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) error: String,
    pub(crate) code: Option<i32>,
}

impl Program {
    pub(crate) fn on_sqlite() -> Self {
        Self::over(Database::sqlite())
    }

    pub(crate) async fn on_postgres() -> Self {
        let mut program = Self::over(Database::postgres().await);
        program.set("BATON_SECRET_KEY", &"5e".repeat(32));
        program
    }

    fn over(database: Database) -> Self {
        Self { database, folder: tempfile::tempdir().expect("a folder"), variables: Vec::new() }
    }

    /// From now on this holds.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// The database, as a setting says it.
    pub(crate) fn url(&self) -> String {
        self.database.url()
    }

    /// A file in the folder of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BATON_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.folder.path()).args(words).stdin(Stdio::null());
        command.env("BATON_DATABASE_URL", self.url()).env("BATON_API_TOKEN", TOKEN);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn says(&self, words: &[&str]) -> Said {
        let Output { status, stdout, stderr } = self.command(words).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { out: text(stdout), error: text(stderr), code: status.code() }
    }

    /// The same for one that must not fail.
    pub(crate) fn does(&self, words: &[&str]) -> String {
        let said = self.says(words);
        assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
        said.out
    }

    /// Makes a backup into that file, and says so.
    pub(crate) fn backs_up(&self, name: &str, flags: &[&str]) -> PathBuf {
        let path = self.file(name);
        self.does(&[&["backup", path_of(&path)], flags].concat());
        path
    }

    /// Starts the server, with the sandbox.
    pub(crate) fn serves(&self, flags: &[&str]) -> Server {
        self.serves_without_sandbox(&[&["--sandbox"], flags].concat())
    }

    /// Starts the server.
    pub(crate) fn serves_without_sandbox(&self, flags: &[&str]) -> Server {
        let common = ["serve", "--listen", "127.0.0.1:0", "--log", "info", "--log-format", "json"];
        let mut command = self.command(&[&common[..], flags].concat());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(process.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let mut before = Vec::new();
        let address = loop {
            let Some(line) = lines.next() else { panic!("it ended: {}", before.join("\n")) };
            let told: Value = serde_json::from_str(&line).unwrap_or_default();
            before.push(line);
            if let Some(address) = told["address"].as_str() {
                break address.to_owned();
            }
        };
        let log = Arc::new(Mutex::new(before));
        let later = Arc::clone(&log);
        let kept = move |line| later.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        // What it says later must not fill a pipe that nobody reads.
        std::thread::spawn(move || lines.for_each(kept));
        let http = baton::adapters::http_client::http_client(PATIENCE).expect("a client");
        Server { process, http, address: format!("http://{address}"), log }
    }

    /// The end of the test.
    pub(crate) async fn end(self) {
        self.database.remove().await;
    }
}

/// A path as an argument.
pub(crate) fn path_of(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A server that runs, until it is killed.
pub(crate) struct Server {
    process: Child,
    pub(crate) http: reqwest::Client,
    pub(crate) address: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL: it is told nothing, and ends nothing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// What a request is answered, whatever that is.
    pub(crate) async fn answer(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let method = method.parse().expect("a method");
        let request = self.http.request(method, format!("{}{path}", self.address)).bearer_auth(TOKEN);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, serde_json::from_str(&answer.text().await.expect("a body")).unwrap_or_default())
    }

    /// What it has logged, a line each.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has logged so many lines of that kind.
    pub(crate) async fn logs(&self, times: usize, is_one: impl Fn(&str) -> bool) -> Vec<String> {
        let from = Instant::now();
        loop {
            let found: Vec<String> = self.log().into_iter().filter(|line| is_one(line)).collect();
            if found.len() >= times {
                return found;
            }
            assert!(from.elapsed() < PATIENCE, "never logged: {:#?}", self.log());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends as it does when its supervisor asks it to. Returns when it has.
    pub(crate) fn is_told_to_end(&mut self) {
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it runs");
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }

    /// The same for one that must not be refused.
    pub(crate) async fn asks(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.answer(method, path, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// Asks again and again until this is so.
    pub(crate) async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let from = Instant::now();
        loop {
            let seen = self.asks("GET", path, None).await;
            if holds(&seen) {
                return seen;
            }
            assert!(from.elapsed() < PATIENCE, "never so: {seen}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A contact writes.
    pub(crate) async fn hears(&self, chat: &str, text: &str) {
        let body = serde_json::json!({ "chat_id": chat, "text": text });
        self.asks("POST", "/webhooks/sandbox", Some(&body)).await;
    }

    /// The conversation of a chat.
    pub(crate) async fn conversation(&self, chat: &str) -> Value {
        let found = self.asks("GET", &format!("/api/v1/conversations?chat_id={chat}"), None).await;
        found["items"][0].clone()
    }

    /// Its messages, oldest first.
    pub(crate) async fn messages(&self, chat: &str) -> Vec<Value> {
        let id = self.conversation(chat).await["id"].as_str().expect("a conversation").to_owned();
        let path = format!("/api/v1/conversations/{id}/messages?limit=200");
        let page = self.asks("GET", &path, None).await;
        page["items"].as_array().expect("a list").iter().rev().cloned().collect()
    }

    /// What our side has sent to the contact's phone.
    pub(crate) async fn phone(&self, chat: &str) -> Vec<String> {
        let screen = self.asks("GET", &format!("/api/v1/sandbox/chats/{chat}"), None).await;
        let bubbles = screen["messages"].as_array().expect("messages").iter();
        let ours = bubbles.filter(|bubble| bubble["author"] != "contact");
        ours.map(|bubble| bubble["text"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
