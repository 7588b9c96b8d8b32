//! Somebody outside who is told of events, and checks signatures by the specification and not by our code.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// What was posted.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) timestamp: String,
    pub(super) signature: String,
    pub(super) raw: Vec<u8>,
    pub(super) body: Value,
}

impl Post {
    fn of(request: &Request) -> Self {
        let header = |name: &str| request.headers[name].to_str().expect("text").to_owned();
        Self {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            raw: request.body.clone(),
            body: serde_json::from_slice(&request.body).expect("JSON"),
        }
    }

    pub(super) fn kind(&self) -> &str {
        self.body["type"].as_str().expect("a type")
    }

    pub(super) fn data(&self, name: &str) -> &Value {
        &self.body["data"][name]
    }

    /// The text of its message.
    pub(super) fn text(&self) -> &str {
        self.data("message")["text"].as_str().unwrap_or_default()
    }

    pub(super) fn signatures(&self) -> Vec<&str> {
        self.signature.split(' ').collect()
    }
}

/// `v1,` and the signature with that secret: HMAC with SHA-256, as RFC 2104 writes it.
pub(super) fn signed(secret: &str, post: &Post) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("it says what it is")).expect("base64");
    let padded = |with: u8| -> Vec<u8> { (0..64).map(|n| key.get(n).copied().unwrap_or(0) ^ with).collect() };
    let signed = [format!("{}.{}.", post.id, post.timestamp).as_bytes(), &post.raw].concat();
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(signed).finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    format!("v1,{}", STANDARD.encode(outer))
}

type Rule = Box<dyn Fn(&Post) -> ResponseTemplate + Send>;

#[derive(Clone)]
struct Desk {
    posts: Arc<Mutex<Vec<Post>>>,
    rule: Arc<Mutex<Rule>>,
}

impl Respond for Desk {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let post = Post::of(request);
        let answer = self.rule.lock().expect("no rule panics")(&post);
        self.posts.lock().expect("nobody panics here").push(post);
        answer
    }
}

pub(super) struct Receiver {
    server: MockServer,
    desk: Desk,
}

impl Receiver {
    /// One that takes everything.
    pub(super) async fn start() -> Self {
        let server = MockServer::start().await;
        let desk = Desk {
            posts: Arc::default(),
            rule: Arc::new(Mutex::new(Box::new(|_| ResponseTemplate::new(200)))),
        };
        Mock::given(any()).respond_with(desk.clone()).mount(&server).await;
        Self { server, desk }
    }

    pub(super) fn url(&self) -> String {
        format!("{}/hook?key=s3cret", self.server.uri())
    }

    /// From now on it answers with these.
    pub(super) fn answers(&self, status: impl Fn(&Post) -> u16 + Send + 'static) {
        self.rules(move |post| ResponseTemplate::new(status(post)));
    }

    /// It is busy for so many seconds.
    pub(super) fn asks_for_patience(&self, seconds: i64) {
        self.rules(move |_| {
            ResponseTemplate::new(429).insert_header("retry-after", seconds.to_string().as_str())
        });
    }

    /// It takes what is posted, and says nothing for longer than anybody waits.
    pub(super) fn never_answers(&self) {
        self.rules(|_| ResponseTemplate::new(200).set_delay(Duration::from_secs(600)));
    }

    fn rules(&self, rule: impl Fn(&Post) -> ResponseTemplate + Send + 'static) {
        *self.desk.rule.lock().expect("no rule panics") = Box::new(rule);
    }

    pub(super) fn posts(&self) -> Vec<Post> {
        self.desk.posts.lock().expect("nobody panics here").clone()
    }
}

/// Something on this machine that nobody outside is to reach.
pub(super) struct Canary {
    pub(super) port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = connections.clone();
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, connections }
    }

    /// How many there were.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
