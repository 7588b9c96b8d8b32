//! The three ways of a message and nothing else: from the contact here, to the model, to the gateway. Keeps nothing on
//! disk and asks no second time, so that no server that does can be faster.
//!
//! In: webhooks, and the port of the fakes. Out: 200 at once; what the model says, once and in order.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::fakes::ACCOUNT;
use crate::fakes::{
    lock,
    wire::{Client, Reply, Request, serve},
};

const SEND_LIMIT: Duration = Duration::from_secs(10);

struct PassThrough {
    fakes: Client,
    seen: Mutex<HashSet<String>>,
    /// What waits in each chat where something is being answered.
    waiting: Mutex<HashMap<String, VecDeque<String>>>,
}

/// Serves until it is ended.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let port =
        |at: usize| arguments.get(at).context("a port is missing")?.parse::<u16>().context("not a port");
    let (own, fakes) = (port(0)?, SocketAddr::from(([127, 0, 0, 1], port(1)?)));
    let here = Arc::new(PassThrough {
        fakes: Client::new(fakes),
        seen: Mutex::default(),
        waiting: Mutex::default(),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", own)).await?;
        serve(listener, move |request| Arc::clone(&here).take(request)).await;
        Ok(())
    })
}

impl PassThrough {
    async fn take(self: Arc<Self>, request: Request) -> Reply {
        let body = request.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, chat) = (text(&body["idMessage"]), text(&body["senderData"]["chatId"]));
        if !id.is_empty() && lock(&self.seen).insert(id) {
            self.enqueue(chat, text(&body["messageData"]["textMessageData"]["textMessage"]));
        }
        Reply::Answer(200, r#"{"status":"accepted"}"#.to_owned())
    }

    fn enqueue(self: &Arc<Self>, chat: String, text: String) {
        let mut waiting = lock(&self.waiting);
        if let Some(queue) = waiting.get_mut(&chat) {
            queue.push_back(text);
            return;
        }
        waiting.insert(chat.clone(), VecDeque::new());
        drop(waiting);
        let here = Arc::clone(self);
        tokio::spawn(async move {
            let mut next = Some(text);
            while let Some(text) = next {
                // What fails here is seen to be lost.
                let _ = here.answer(&chat, &text).await;
                next = here.next(&chat);
            }
        });
    }

    fn next(&self, chat: &str) -> Option<String> {
        let mut waiting = lock(&self.waiting);
        let next = waiting.get_mut(chat)?.pop_front();
        if next.is_none() {
            waiting.remove(chat);
        }
        next
    }

    async fn answer(&self, chat: &str, text: &str) -> io::Result<()> {
        let question =
            json!({ "model": "fake", "stream": true, "messages": [{ "role": "user", "content": text }] });
        let mut stream =
            self.fakes.ask_for_stream("POST", "/v1/chat/completions", &[], &question.to_string()).await?;
        let mut answer = String::new();
        while let Some(data) = stream.data().await? {
            if data == "[DONE]" {
                break;
            }
            let chunk: Value = serde_json::from_str(&data)?;
            answer.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
        stream.finish().await?;
        self.fakes.keep(stream);
        let body = json!({ "chatId": chat, "message": answer }).to_string();
        let path = format!("/waInstance{ACCOUNT}/sendMessage/token");
        self.fakes.ask("POST", &path, &[], &body, SEND_LIMIT).await.map(|_| ())
    }
}
