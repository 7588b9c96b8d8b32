//! Tells all instances at once, soon and perhaps never: a mode was switched, somebody types.
//!
//! In come payloads by channel; out they go to everybody who listens, with a mark wherever something may have been
//! missed. A message that is lost must only delay: whoever needs to know also looks.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::StreamExt;
use redis::{RedisResult, aio::PubSub, cmd};
use tokio::{sync::mpsc, time};

use crate::redis_server::{self, Server, Target};

/// What a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Listening, for the first time or again. What was said before this may have been missed: look.
    Connected,
    /// Somebody said this.
    Message(String),
    /// Deaf, until `Connected` comes.
    Lost,
}

/// Why nobody was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The way to the others is shut. They will find out by looking.
    #[error("the broadcast is unavailable")]
    Unavailable(#[source] redis_server::Error),
}

/// A way to tell everybody.
#[async_trait]
pub trait Broadcast: Send + Sync {
    /// Tells all who listen on the channel, ourselves included. Nobody may be listening.
    async fn publish(&self, channel: &str, payload: &str) -> Result<(), Error>;

    /// Listens from now on, until the receiver is dropped. Whoever reads too slowly misses messages, and is told so
    /// by another `Connected`.
    fn subscribe(&self, channel: &str) -> mpsc::Receiver<Heard>;
}

/// What a listener may leave unread.
const UNREAD_MAX: usize = 1024;

/// By Redis, to all instances.
#[derive(Debug, Clone)]
pub struct Redis {
    server: Server,
    prefix: String,
}

/// Between two attempts to listen, and the time that each may take.
const LISTEN_EVERY: Duration = Duration::from_millis(250);
const LISTEN_LIMIT: Duration = Duration::from_secs(3);

impl Redis {
    /// Channels of this server that begin with the prefix.
    pub fn new(server: Server, prefix: impl Into<String>) -> Self {
        Self { server, prefix: prefix.into() }
    }

    fn full(&self, channel: &str) -> String {
        format!("{}{channel}", self.prefix)
    }
}

#[async_trait]
impl Broadcast for Redis {
    async fn publish(&self, channel: &str, payload: &str) -> Result<(), Error> {
        let mut publish = cmd("PUBLISH");
        publish.arg(self.full(channel)).arg(payload);
        self.server
            .ask(|mut link| async move { publish.query_async(&mut link).await })
            .await
            .map_err(Error::Unavailable)
    }

    fn subscribe(&self, channel: &str) -> mpsc::Receiver<Heard> {
        let (tell, told) = mpsc::channel(UNREAD_MAX);
        self.server.runtime().spawn(listen(self.server.target().clone(), self.full(channel), tell));
        told
    }
}

/// Listens over a connection of its own, and again over a new one whenever that breaks.
async fn listen(target: Target, channel: String, tell: mpsc::Sender<Heard>) {
    let mut attempt = 0;
    while !tell.is_closed() {
        match time::timeout(LISTEN_LIMIT, listener(&target, attempt, &channel)).await {
            Ok(Ok(listener)) => {
                if pass_on(listener, &tell).await.is_err() {
                    // Nobody reads any more.
                    return;
                }
            }
            Ok(Err(error)) => tracing::debug!(%error, "cannot listen to redis yet"),
            Err(_) => tracing::debug!("redis does not let us listen yet"),
        }
        attempt += 1;
        tokio::select! {
            () = tell.closed() => {}
            () = time::sleep(LISTEN_EVERY) => {}
        }
    }
}

async fn listener(target: &Target, attempt: usize, channel: &str) -> RedisResult<PubSub> {
    let mut listener = target.node(attempt).get_async_pubsub().await?;
    listener.subscribe(channel).await?;
    Ok(listener)
}

/// Passes on what is heard, until the connection breaks or nobody reads any more.
async fn pass_on(listener: PubSub, tell: &mpsc::Sender<Heard>) -> Result<(), mpsc::error::SendError<Heard>> {
    tell.send(Heard::Connected).await?;
    let mut messages = listener.into_on_message();
    loop {
        let message = tokio::select! {
            () = tell.closed() => return Ok(()),
            message = messages.next() => message,
        };
        let Some(message) = message else { break };
        // A slow reader holds up only this connection. Redis ends it when too much piles up there.
        match message.get_payload() {
            Ok(payload) => tell.send(Heard::Message(payload)).await?,
            Err(error) => {
                tracing::warn!(%error, "a message on our channel is not text: somebody else writes there")
            }
        }
    }
    tell.send(Heard::Lost).await
}

/// In this process only, for one instance alone.
#[derive(Default)]
pub struct Memory {
    listeners: Mutex<HashMap<String, Vec<mpsc::Sender<Heard>>>>,
}

impl Memory {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Broadcast for Memory {
    async fn publish(&self, channel: &str, payload: &str) -> Result<(), Error> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = listeners.get_mut(channel) {
            there.retain(|listener| say(listener, payload));
            if there.is_empty() {
                listeners.remove(channel);
            }
        }
        Ok(())
    }

    fn subscribe(&self, channel: &str) -> mpsc::Receiver<Heard> {
        let (tell, told) = mpsc::channel(UNREAD_MAX);
        say_if_room(&tell, Heard::Connected);
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.entry(channel.to_owned()).or_default().push(tell);
        told
    }
}

/// Says it to one listener without waiting; false if nobody listens there any more.
///
/// The last place of its queue is kept for a `Connected`: whoever reads that far has missed what came after, and looks.
fn say(listener: &mpsc::Sender<Heard>, payload: &str) -> bool {
    let heard = match listener.capacity() {
        0 => return !listener.is_closed(),
        1 => Heard::Connected,
        _ => Heard::Message(payload.to_owned()),
    };
    say_if_room(listener, heard)
}

/// False if nobody listens. There is room: only we send, one at a time.
fn say_if_room(listener: &mpsc::Sender<Heard>, heard: Heard) -> bool {
    !matches!(listener.try_send(heard), Err(mpsc::error::TrySendError::Closed(_)))
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
