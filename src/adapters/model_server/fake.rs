//! For tests of adapters: a question, and a server that does with its socket what an honest one never would: stalls,
//! breaks off, resets, and notices when the client has gone.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{
    adapters::http_client::http_client,
    domain::tool::Tool,
    flow::generator::{About, Failure, FailureKind, Line, Offer, Progress, Request, Written},
};

pub(crate) const LONG: Duration = Duration::from_secs(20);
pub(crate) const SHORT: Duration = Duration::from_millis(60);

/// What a server might repeat of ours in its errors.
pub(crate) const SECRET: &str = "sk-very-secret";

/// Remembers the words as they came.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}

impl Progress for Heard {
    fn wrote(&self, so_far: &str) {
        self.0.lock().expect("not poisoned").push(so_far.to_owned());
    }
}

pub(crate) fn client() -> reqwest::Client {
    http_client(Duration::from_secs(5)).expect("a client")
}

pub(crate) fn question() -> Request {
    Request {
        model: "small-1".into(),
        system: Arc::from("Be kind."),
        lines: vec![Line::Contact("Are you open?".into())],
        tools: Offer::Tools(Arc::default()),
        channel: "default".into(),
        about: About::default(),
        asked_before: 0,
    }
}

/// A tool of a business.
pub(crate) fn order_status() -> Tool {
    let parameters = json!({
        "type": "object", "properties": { "order": { "type": "string" } }, "required": ["order"],
    });
    Tool {
        name: "order_status".into(),
        description: "Where an order is.".into(),
        parameters: serde_json::from_value(parameters).expect("an object"),
        look_up: None,
    }
}

pub(crate) fn kind(outcome: Result<Written, Failure>) -> FailureKind {
    outcome.expect_err("a failure").kind
}

/// One thing done after the request was read.
pub(crate) enum Act {
    /// Writes these bytes.
    Write(String),
    /// Closes in order.
    Close,
    /// Closes with a reset.
    Reset,
    /// Tells the test that everything before it is done.
    Tell(oneshot::Sender<()>),
    /// Waits until the client has gone, and then ends.
    AwaitHangUp,
}

/// Serves one connection by that script; the task ends with it.
pub(crate) async fn serve(script: Vec<Act>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        read_request(&mut socket).await;
        for act in script {
            match act {
                Act::Write(text) => socket.write_all(text.as_bytes()).await.expect("the client reads"),
                Act::Close => return,
                Act::Reset => {
                    socket.set_zero_linger().expect("a socket");
                    return;
                }
                Act::Tell(test) => test.send(()).expect("the test listens"),
                Act::AwaitHangUp => while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
            }
        }
    });
    (address, served)
}

/// The head of a streamed answer.
pub(crate) fn head() -> Act {
    Act::Write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".into(),
    )
}

/// One piece of a streamed answer.
pub(crate) fn piece(event: &str) -> Act {
    Act::Write(format!("{:x}\r\n{event}\r\n", event.len()))
}

/// The orderly end of a streamed answer.
pub(crate) fn last() -> Act {
    Act::Write("0\r\n\r\n".into())
}

async fn read_request(socket: &mut TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = socket.read(&mut buffer).await.expect("a request");
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            return;
        }
    }
}
