//! The Redis server or cluster that instances share, with a limit on every answer and a breaker in front.
//!
//! In come questions from the key store and the broadcast; out go answers, or an error: after the limit the first
//! time, at once from then on. Meanwhile one task knocks every second until it is let in again.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{RedisError, RedisResult};
use tokio::{runtime::Handle, time};

mod link;

mod target;

pub(crate) use link::Link;
pub(crate) use target::Target;

/// The longest that anyone waits for an answer, unless told otherwise.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// Between two knocks at a server that is down, unless told otherwise.
const KNOCK_EVERY: Duration = Duration::from_secs(1);

/// A knock may take longer than an answer: nobody waits for it, and a slow handshake is not a dead server.
const KNOCK_LIMIT: Duration = Duration::from_secs(3);

/// A Redis server or cluster. Cheap to clone; clones share connection and breaker.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    target: Target,
    answer_limit: Duration,
    knock_every: Duration,
    state: Mutex<State>,
    failures: AtomicU64,
    /// Where the knocking runs. Not where the question was asked: that thread may be on its way out.
    runtime: Handle,
}

struct State {
    link: Link,
    /// Counts links, so that a late failure of an old one doesn't close the new one.
    generation: u64,
    opened: Instant,
    up: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is none. Nothing but another address will help.
    #[error("the Redis address is not valid")]
    Address(#[source] RedisError),
    /// Redis is known to be away, and was not asked.
    #[error("redis is down")]
    Down,
    /// It did not answer in time.
    #[error("redis did not answer within {limit_ms} ms")]
    Silent {
        /// The time it had.
        limit_ms: u128,
    },
    /// It answered with an error, or the connection broke.
    #[error("redis failed")]
    Failed(#[source] RedisError),
}

impl Server {
    /// Takes the address of a server (`redis://` or `rediss://`) or, comma-separated, of nodes of a cluster.
    ///
    /// Waits for nothing: connecting goes on in the background, and a server that is down comes back by itself. Only
    /// an address that can't be read is an error. To be called in a Tokio runtime that lives as long as the server.
    pub fn open(address: &str) -> Result<Self, Error> {
        Self::open_with_limit(address, ANSWER_LIMIT)
    }

    /// The same, with another limit on each answer.
    pub fn open_with_limit(address: &str, answer_limit: Duration) -> Result<Self, Error> {
        Self::open_with_limits(address, answer_limit, KNOCK_EVERY)
    }

    /// The same, with another pause between two knocks as well.
    pub fn open_with_limits(
        address: &str,
        answer_limit: Duration,
        knock_every: Duration,
    ) -> Result<Self, Error> {
        let target = Target::read(address).map_err(Error::Address)?;
        let link = target.link().map_err(Error::Address)?;
        let server = Self(Arc::new(Inner {
            target,
            answer_limit,
            knock_every,
            state: Mutex::new(State { link, generation: 0, opened: Instant::now(), up: true }),
            failures: AtomicU64::new(0),
            runtime: Handle::current(),
        }));
        // So that the first question finds an open connection, or a breaker that knows.
        let first = server.clone();
        server.0.runtime.spawn(async move {
            // A failure has already set the breaker and the log going.
            let _ = first.ping().await;
        });
        Ok(server)
    }

    /// As of the last question: asks nothing.
    pub fn is_up(&self) -> bool {
        self.state().up
    }

    /// Questions that were asked in vain since the start. Those that weren't asked because Redis was down don't count.
    pub fn failures(&self) -> u64 {
        self.0.failures.load(Ordering::Relaxed)
    }

    /// Asks whether it is there.
    pub async fn ping(&self) -> Result<(), Error> {
        self.ask(|mut link| async move { link.ping().await }).await
    }

    /// Asks a question over the link that is open; at most as long as the limit.
    pub(crate) async fn ask<T, F>(&self, question: impl FnOnce(Link) -> F + Send) -> Result<T, Error>
    where
        F: Future<Output = RedisResult<T>> + Send,
    {
        let (link, generation) = {
            let state = self.state();
            if !state.up {
                return Err(Error::Down);
            }
            (state.link.clone(), state.generation)
        };
        let limit = self.0.answer_limit;
        let error = match time::timeout(limit, question(link)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Error::Failed(error),
            Err(_) => Error::Silent { limit_ms: limit.as_millis() },
        };
        self.0.failures.fetch_add(1, Ordering::Relaxed);
        self.close(generation, &error);
        Err(error)
    }

    pub(crate) fn target(&self) -> &Target {
        &self.0.target
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Closes the door on any failure. Our questions are few and known to be well put, so an error is never about
    /// the question: no connection, no memory, read-only, loading, wrong password.
    fn close(&self, generation: u64, error: &Error) {
        let mut state = self.state();
        if !state.up || state.generation != generation {
            return;
        }
        state.up = false;
        // A connection that merely broke is back in milliseconds. A server that lets us in and then fails us again
        // (no memory left, part of a cluster gone) is left alone for a while, or everybody would wait for it again.
        let at_once = state.opened.elapsed() >= self.0.knock_every;
        drop(state);
        let reason = std::error::Error::source(error).map(ToString::to_string);
        tracing::warn!(%error, reason, "redis is down: going on without it");
        self.knock(if at_once { Duration::ZERO } else { self.0.knock_every });
    }

    /// Knocks until the server answers over a new link, then opens. Ends with the last clone of the server.
    fn knock(&self, mut pause: Duration) {
        let server = Arc::downgrade(&self.0);
        let (target, knock_every) = (self.0.target.clone(), self.0.knock_every);
        self.0.runtime.spawn(async move {
            loop {
                time::sleep(pause).await;
                pause = knock_every;
                let opened = target.open(KNOCK_LIMIT).await;
                let Some(server) = server.upgrade() else { return };
                if let Some(link) = opened {
                    return Self(server).reopen(link);
                }
            }
        });
    }

    fn reopen(&self, link: Link) {
        let mut state = self.state();
        let generation = state.generation + 1;
        *state = State { link, generation, opened: Instant::now(), up: true };
        drop(state);
        tracing::info!("redis is back");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the address: it may hold a password.
        f.debug_struct("Server").field("up", &self.is_up()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing runs beside the test, so nobody has knocked there yet.
    #[tokio::test]
    async fn a_late_failure_of_an_old_link_does_not_close_the_new_one() {
        let server = Server::open("redis://127.0.0.1:1").expect("an address");
        let reopen = || {
            let link = server.state().link.clone();
            server.reopen(link);
        };
        reopen();
        server.close(0, &Error::Down);
        assert!(server.is_up(), "that was the link before");
        server.close(1, &Error::Down);
        assert!(!server.is_up());
        reopen();
        server.close(1, &Error::Down);
        assert!(server.is_up(), "each link has a number of its own");
    }
}
