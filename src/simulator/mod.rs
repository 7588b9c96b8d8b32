//! Green API without WhatsApp, over HTTP: what its clients are tried against when no phone is at hand. It imports nothing of
//! Baton, so what Green API does is said here a second time, and a test in which both meet can tell that they differ.
//!
//! In: calls of a client, and what somebody lets contacts and the phone do (`/simulator`). Out: answers, and webhooks.

mod account;

mod server;

mod control;

mod upload;

mod courier;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use actix_web::dev::ServerHandle;
use tokio::{sync::watch, task::JoinHandle, time::sleep};

pub use account::{Account, Options, Pace};

/// An account that answers at an address, until it is stopped.
pub struct Simulator {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: ServerHandle,
    tasks: Vec<JoinHandle<()>>,
}

impl Simulator {
    /// Answers on that listener, and posts its webhooks by that client, which shall follow nothing.
    pub fn start(listener: TcpListener, options: Options, http: reqwest::Client) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            account: Mutex::new(Account::new(options, now())),
            changes: watch::Sender::default(),
        });
        let server = server::serve(Arc::clone(&shared), listener)?;
        let handle = server.handle();
        let serving = async move {
            if let Err(error) = server.await {
                tracing::error!(error = %error, "the simulator no longer answers");
            }
        };
        let tasks = vec![
            tokio::spawn(serving),
            tokio::spawn(pass_time(Arc::clone(&shared))),
            tokio::spawn(courier::deliver(Arc::clone(&shared), http)),
        ];
        Ok(Self { address, shared, server: handle, tasks })
    }

    /// Where it answers.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the account is so, and returns what was looked for. Without end: who cannot wait sets the limit.
    pub async fn until<T>(&self, look: impl Fn(&Account) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(found) = look(&self.shared.account()) {
                return found;
            }
            // The sender is ours and lives as long as we do.
            let _ = changes.changed().await;
        }
    }

    /// Ends it. Calls that hang are cut off.
    pub async fn stop(self) {
        self.server.stop(false).await;
        for task in self.tasks {
            task.abort();
        }
    }
}

/// What its tasks share: the account, and a bell for whoever waits for it to change.
struct Shared {
    account: Mutex<Account>,
    changes: watch::Sender<()>,
}

impl Shared {
    /// Each change behind the lock is one step, so a panic elsewhere cannot have left it half done.
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the account, at this moment, and tells that it may have changed.
    fn change<T>(&self, act: impl FnOnce(&mut Account, i64) -> T) -> T {
        let done = act(&mut self.account(), now());
        self.changes.send_replace(());
        done
    }
}

/// What becomes due happens: messages leave, statuses follow, a restart ends.
async fn pass_time(shared: Arc<Shared>) {
    let mut changes = shared.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let (has_changed, next) = shared.account().tick(now());
        if has_changed {
            shared.changes.send_replace(());
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = until(next) => {}
        }
    }
}

/// Until then; forever, if nothing is to come.
async fn until(moment: Option<i64>) {
    match moment {
        Some(moment) => sleep(Duration::from_millis((moment - now()).max(0).unsigned_abs())).await,
        None => std::future::pending().await,
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
