//! One client that stays connected. In: frames for it. Out: the same, within its patience; a comment now and then; the end,
//! when the server stops, the client is gone, or its token no longer opens the door.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, watch},
    time::{Interval, MissedTickBehavior, interval},
};

use super::{auth::Caller, doors::Doors};

/// A comment keeps proxies from closing a silent stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A token revoked on another instance ends its streams within this and what `auth` remembers.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// A client that takes nothing for this long is let go; it comes back by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// The client is gone, or must go.
pub(super) struct Ended;

/// A client that listens.
pub(super) struct Listener {
    doors: Arc<Doors>,
    caller: Caller,
    /// Of what one caller may have: theirs again as this one ends.
    _share: OwnedSemaphorePermit,
    out: mpsc::Sender<Bytes>,
    revocations: watch::Receiver<()>,
    heartbeat: Interval,
    ask_again: Interval,
}

impl Listener {
    /// With at most this many frames on their way to it.
    pub(super) fn new(
        doors: Arc<Doors>,
        caller: Caller,
        share: OwnedSemaphorePermit,
        frames_max: usize,
    ) -> (Self, mpsc::Receiver<Bytes>) {
        let (out, frames) = mpsc::channel(frames_max);
        let revocations = doors.auth.changes();
        let (heartbeat, ask_again) = (ticks(HEARTBEAT), ticks(ASK_AGAIN));
        (Self { doors, caller, _share: share, out, revocations, heartbeat, ask_again }, frames)
    }

    /// Who listens.
    pub(super) const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sends a frame.
    pub(super) async fn send(&self, frame: Bytes) -> Result<(), Ended> {
        tokio::select! {
            biased;
            () = self.doors.stopping.cancelled() => Err(Ended),
            sent = self.out.send_timeout(frame, PATIENCE) => sent.map_err(|_| Ended),
        }
    }

    /// Waits for news, and keeps the client meanwhile.
    pub(super) async fn until<T>(&mut self, news: impl Future<Output = T>) -> Result<T, Ended> {
        let mut news = std::pin::pin!(news);
        loop {
            tokio::select! {
                biased;
                () = self.doors.stopping.cancelled() => return Err(Ended),
                () = self.out.closed() => return Err(Ended),
                _ = self.revocations.changed() => self.ask_again().await?,
                _ = self.ask_again.tick() => self.ask_again().await?,
                _ = self.heartbeat.tick() => self.send(Bytes::from_static(b": still here\n\n")).await?,
                news = &mut news => return Ok(news),
            }
        }
    }

    /// Does what has become due while there is more news than it takes in.
    pub(super) async fn keep(&mut self) -> Result<(), Ended> {
        self.until(std::future::ready(())).await
    }

    async fn ask_again(&self) -> Result<(), Ended> {
        if self.doors.auth.still_knows(&self.caller).await { Ok(()) } else { Err(Ended) }
    }
}

/// Ticks, the first after one interval.
pub(super) fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick of an interval is at once.
    ticks.reset();
    ticks
}
