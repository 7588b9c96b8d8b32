//! One client of the live feed: what it may see of the events goes out to it as `text/event-stream`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval},
};

use super::{
    answer::to_json,
    auth::Caller,
    doors::Doors,
    feed::{Frame, write_frame},
    problem::Problem,
    view::View,
};
use crate::flow::{archive::Tail, ledger::Error};

/// A comment keeps proxies from closing a silent stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A token revoked on another instance ends its streams within this and what `auth` remembers.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// A client that takes nothing for this long is let go; it comes back with its last id.
const PATIENCE: Duration = Duration::from_secs(30);

/// Frames on their way to one client.
const FRAMES_MAX: usize = 64;

/// Events of one reading of the archive.
const READ_MAX: usize = 200;

/// Most clients of one instance.
const CLIENTS_MAX: usize = 1_000;

/// Opens a stream after that id, or after the newest.
pub(crate) async fn open(
    doors: Arc<Doors>,
    caller: Caller,
    view: View,
    after: Option<String>,
) -> Result<mpsc::Receiver<Bytes>, Problem> {
    if doors.feed.clients() >= CLIENTS_MAX {
        return Err(Problem::unavailable("too many live feeds"));
    }
    let newest = doors.archive.newest_event().await?;
    let (out, frames) = mpsc::channel(FRAMES_MAX);
    let client = Client { at: after.unwrap_or_else(|| newest.clone()), doors, caller, view, out };
    let main = client.doors.main.clone();
    main.spawn(client.run(newest));
    Ok(frames)
}

/// The client is gone, or must go.
struct Ended;

struct Client {
    doors: Arc<Doors>,
    caller: Caller,
    view: View,
    /// The last event looked at.
    at: String,
    out: mpsc::Sender<Bytes>,
}

impl Client {
    async fn run(mut self, newest: String) {
        let counted = Counted::new();
        // Either way it is over; a client that still wants more comes back with its last id.
        let _: Result<(), Ended> = self.serve(newest).await;
        drop(counted);
    }

    async fn serve(&mut self, newest: String) -> Result<(), Ended> {
        let doors = Arc::clone(&self.doors);
        // Before following: the reader may find a stall at the very nudge that this gives.
        let mut stalls = doors.feed.stalls();
        let mut changes = doors.feed.follow();
        let mut revocations = doors.auth.changes();
        let (mut heartbeat, mut ask_again) = (ticks(HEARTBEAT), ticks(ASK_AGAIN));
        // The frame's id is where the stream goes on from: a client that is cut off before it has caught up resumes there.
        self.send(write_frame(&self.at, "hello", &named(&newest))).await?;
        loop {
            changes.mark_unchanged();
            self.catch_up().await?;
            tokio::select! {
                biased;
                () = doors.stopping.cancelled() => return Err(Ended),
                () = self.out.closed() => return Err(Ended),
                _ = changes.changed() => {}
                _ = stalls.changed() => self.load_what_there_is().await?,
                _ = heartbeat.tick() => self.send(Bytes::from_static(b": still here\n\n")).await?,
                _ = revocations.changed() => self.ask_again().await?,
                _ = ask_again.tick() => self.ask_again().await?,
            }
        }
    }

    async fn ask_again(&self) -> Result<(), Ended> {
        if self.doors.auth.still_knows(&self.caller).await { Ok(()) } else { Err(Ended) }
    }

    /// Sends everything up to now.
    async fn catch_up(&mut self) -> Result<(), Ended> {
        loop {
            let frames = match self.doors.feed.after(&self.at) {
                Some(frames) => frames,
                None => match self.doors.archive.tail(Some(&self.at), READ_MAX).await {
                    Ok(Tail::Events(events)) => {
                        events.into_iter().map(|event| Arc::new(Frame::of(event))).collect()
                    }
                    Ok(Tail::Resync(id)) => return self.resync(id).await,
                    // An id that was not made here.
                    Err(Error::Refused(_)) => match self.doors.archive.newest_event().await {
                        Ok(id) => return self.resync(id).await,
                        Err(_) => return Ok(()),
                    },
                    // The reader of the feed has said so; it tells when there is more.
                    Err(Error::Unavailable(_) | Error::Gone) => return Ok(()),
                },
            };
            if frames.is_empty() {
                return Ok(());
            }
            for frame in frames {
                self.show(&frame).await?;
                self.at.clone_from(&frame.recorded.id);
            }
        }
    }

    async fn show(&self, frame: &Frame) -> Result<(), Ended> {
        if !self.view.shows(&frame.recorded) {
            return Ok(());
        }
        if !self.view.includes() {
            return self.send(frame.bytes.clone()).await;
        }
        let shown = self.view.event(self.doors.archive.as_ref(), &frame.recorded).await.map_err(|_| Ended)?;
        self.send(write_frame(&frame.recorded.id, frame.recorded.event.kind.as_str(), &to_json(&shown))).await
    }

    /// Events that the feed may not give yet are in the lists already. They come here too, once it may.
    async fn load_what_there_is(&mut self) -> Result<(), Ended> {
        match self.doors.archive.newest_event().await {
            Ok(id) => self.resync(id).await,
            // The reader of the feed has said so, and tells again.
            Err(_) => Ok(()),
        }
    }

    /// The gap cannot be filled: load everything again.
    async fn resync(&mut self, id: String) -> Result<(), Ended> {
        self.send(write_frame(&id, "resync", &named(&id))).await?;
        self.at = id;
        Ok(())
    }

    async fn send(&self, frame: Bytes) -> Result<(), Ended> {
        tokio::select! {
            biased;
            () = self.doors.stopping.cancelled() => Err(Ended),
            sent = self.out.send_timeout(frame, PATIENCE) => sent.map_err(|_| Ended),
        }
    }
}

fn named(id: &str) -> Vec<u8> {
    to_json(&serde_json::json!({ "id": id }))
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick of an interval is at once.
    ticks.reset();
    ticks
}

/// Counts a client while it is there.
struct Counted(metrics::Gauge);

impl Counted {
    fn new() -> Self {
        let clients = metrics::gauge!("baton_feed_clients");
        clients.increment(1);
        Self(clients)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
