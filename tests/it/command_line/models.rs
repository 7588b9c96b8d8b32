//! The program with each kind of model, from `baton check` to what a contact reads.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_string_contains, method, path_regex},
};

use super::{Server, baton, folder, said, serve};

/// What a service of one's own knows us by.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A server with the sandbox and that model, as its settings have it.
pub(super) struct Stand {
    folder: TempDir,
    _server: Server,
    base: String,
    token: String,
    http: reqwest::Client,
}

impl Stand {
    pub(super) fn new(model: &str) -> Self {
        let folder = folder();
        let quick = "sandbox = \"on\"\nburst_quiet_ms = 0\ntyping_ms_per_char = 0\ntyping_jitter_ms = 0\n";
        std::fs::write(folder.path().join("baton.toml"), format!("{quick}{model}")).expect("written");
        let (server, link) = serve(folder.path());
        let base = link.split_once("/sign-in#").expect("a link").0.to_owned();
        let (token, _) = said(&baton(folder.path(), &["token", "create", "tests", "--role", "admin"], &[]));
        let http = baton::adapters::http_client::http_client(Duration::from_secs(5)).expect("a client");
        Self { folder, _server: server, base, token, http }
    }

    /// An admin wants that.
    pub(super) async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let method = method.parse().expect("a method");
        let asked =
            self.http.request(method, format!("{}/api/v1/{path}", self.base)).bearer_auth(&self.token);
        asked.json(&body).send().await.expect("an answer").json().await.expect("JSON")
    }

    /// What `baton check` says, with other variables.
    fn checked(&self, variables: &[(&str, &str)]) -> String {
        said(&baton(self.folder.path(), &["check"], variables)).0
    }

    /// The contact writes, and all of that happens.
    pub(super) async fn says(&self, id: &str, text: &str, until: &[&str]) {
        let feed = self.http.get(format!("{}/api/v1/events", self.base)).bearer_auth(&self.token);
        let mut feed = feed.header("accept", "text/event-stream").send().await.expect("a feed");
        let body = json!({ "chat_id": "6580000001@c.us", "name": "Mei", "text": text, "id": id });
        let written = self.http.post(format!("{}/webhooks/sandbox", self.base)).bearer_auth(&self.token);
        assert_eq!(written.json(&body).send().await.expect("an answer").status(), 200);
        let happened = async {
            let mut seen = String::new();
            while !until.iter().all(|event| seen.contains(event)) {
                let chunk = feed.chunk().await.expect("the feed goes on").expect("it has not ended");
                seen.push_str(&String::from_utf8_lossy(&chunk));
            }
        };
        tokio::time::timeout(Duration::from_secs(30), happened).await.expect("it is answered");
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let asked = self.http.get(format!("{}/api/v1/{path}", self.base)).bearer_auth(&self.token);
        asked.send().await.expect("an answer").json().await.expect("JSON")
    }

    /// The words of the chat, on both sides.
    pub(super) async fn chat(&self) -> Vec<String> {
        let chat = self.get("sandbox/chats/6580000001@c.us").await;
        let messages = chat["messages"].as_array().expect("a list");
        messages.iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The only conversation.
    async fn conversation(&self) -> Value {
        self.get("conversations").await["items"][0].clone()
    }
}

#[tokio::test]
async fn a_model_of_anthropics_is_checked_and_answers_with_what_its_tools_gave_it() {
    let model = MockServer::start().await;
    let listed = json!({ "data": [{ "type": "model", "id": "small-1" }], "has_more": false });
    let events = |events: &[Value]| {
        let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
        ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
    };
    let block = |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
    let ends = |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
    let over = json!({ "type": "message_stop" });
    let calls = block(
        json!({ "type": "tool_use", "id": "toolu_1", "name": "schedule_follow_up", "input": { "delay_hours": 2 } }),
    );
    let says = block(json!({ "type": "text", "text": "We open at nine." }));
    let get = Mock::given(method("GET")).and(path_regex("^/v1/models$"));
    get.respond_with(ResponseTemplate::new(200).set_body_json(listed)).mount(&model).await;
    let post = || Mock::given(method("POST")).and(path_regex("^/v1/messages$"));
    let told = post().and(body_string_contains("scheduled, if the contact stays silent"));
    told.respond_with(events(&[says, ends("end_turn"), over.clone()])).with_priority(1).mount(&model).await;
    post().respond_with(events(&[calls, ends("tool_use"), over])).mount(&model).await;

    let stand = Stand::new(&format!(
        "ai_provider = \"anthropic\"\nai_base_url = \"{}\"\nai_api_key = \"k\"\nai_model = \"small-1\"\n",
        model.uri()
    ));
    assert!(stand.checked(&[]).contains("answers, with one model"), "{}", stand.checked(&[]));
    stand.says("M1", "When?", &["message_sent"]).await;
    assert_eq!(stand.chat().await, ["When?", "We open at nine."]);
    let asked = model.received_requests().await.expect("remembered");
    let asked: Value = serde_json::from_slice(&asked.last().expect("the second round").body).expect("JSON");
    assert_eq!((&asked["model"], asked["messages"].as_array().map(Vec::len)), (&json!("small-1"), Some(3)));
    let conversation = stand.conversation().await;
    assert_eq!(conversation["follow_up"]["created_by"], "assistant", "{conversation}");
}

/// The example of the guide, as it is given away, until the end of the test; and where it is.
fn example() -> (Server, String) {
    let mut service = Command::new("python3");
    service.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/answer.py")).arg("0");
    service.env("SECRET", SECRET).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut service: Child = service.spawn().expect("this test needs python3: apt-get install python3");
    let mut line = String::new();
    let mut told = BufReader::new(service.stdout.take().expect("piped"));
    told.read_line(&mut line).expect("text");
    let address = line.trim().strip_prefix("listening on ").expect("where it is").to_owned();
    (Server(service), address)
}

#[tokio::test]
async fn a_service_of_ones_own_is_checked_and_answers_and_hands_over() {
    let (_service, address) = example();
    let stand = Stand::new(&format!(
        "ai_provider = \"http\"\nai_base_url = \"{address}\"\nai_api_key = \"{SECRET}\"\n"
    ));
    let right = stand.checked(&[]);
    let right =
        right.lines().find(|line| line.split_whitespace().nth(1) == Some("AI")).expect("a line on it");
    assert!(right.ends_with(" answers"), "{right}");
    let another = stand.checked(&[("BATON_AI_API_KEY", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")]);
    assert!(another.contains("status 401"), "{another}");

    stand.says("M1", "When do you open?", &["message_sent"]).await;
    assert_eq!(stand.chat().await, ["When do you open?", "Mei wrote: When do you open?"]);
    stand.says("M2", "I want a person", &["message_sent", "mode_changed"]).await;
    assert_eq!(stand.chat().await[3], "A colleague will be with you.");
    let conversation = stand.conversation().await;
    assert_eq!(conversation["mode"], "HUMAN", "{conversation}");
}

#[tokio::test]
async fn a_takeover_hangs_up_on_the_service_that_writes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let stand = Stand::new(&format!(
        "ai_provider = \"http\"\nai_base_url = \"http://{address}/answer\"\nai_api_key = \"{SECRET}\"\n"
    ));
    stand.says("M1", "When do you open?", &[]).await;
    let (mut socket, _) = listener.accept().await.expect("it is asked");
    let mut asked = Vec::new();
    while !String::from_utf8_lossy(&asked).contains("When do you open?") {
        assert!(socket.read_buf(&mut asked).await.expect("a request") > 0, "it does not end before");
    }
    let begun = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"text\":\"We open \"}\n\n";
    socket.write_all(begun.as_bytes()).await.expect("it is read");

    let mode = format!("{}/api/v1/channels/sandbox/chats/6580000001@c.us/mode", stand.base);
    let taken = stand.http.put(mode).bearer_auth(&stand.token).json(&json!({ "mode": "HUMAN" }));
    let receipt: Value = taken.send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!(receipt["generation_cancelled"], true, "{receipt}");
    let hung_up = async { while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {} };
    tokio::time::timeout(Duration::from_secs(10), hung_up).await.expect("the connection is closed");
    assert_eq!(stand.chat().await, ["When do you open?"]);
}
