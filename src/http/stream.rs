//! One client of the live feed: what it may see of the events goes out to it as `text/event-stream`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{sync::mpsc, time::sleep};

use super::{
    answer::to_json,
    auth::Caller,
    doors::Doors,
    feed::{Frame, write_frame},
    listener::{Ended, Listener},
    problem::Problem,
    shares::Shares,
    view::View,
};
use crate::flow::{
    archive::{Recorded, Tail},
    instance::measure::Gauge,
    ledger::Error,
};

/// Counts them.
const CLIENTS: &str = "baton_feed_clients";

/// Frames on their way to one client.
const FRAMES_MAX: usize = 64;

/// Events of one reading of the archive.
const READ_MAX: usize = 200;

/// A client for whom the archive could not be read looks again after this long, whether or not anything happens.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Most clients of one instance.
const CLIENTS_MAX: usize = 1_000;

/// Of these, what one caller may have: pages of one agent share a feed, and so do programs that are written well.
static SHARES: Shares = Shares::new(CLIENTS_MAX / 4);

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
    let share = SHARES.of(caller.key_holder()).try_acquire_owned();
    let share = share.map_err(|_| Problem::unavailable("too many live feeds of one caller"))?;
    let newest = doors.feed.events.newest_event().await?;
    let (listener, frames) = Listener::new(Arc::clone(&doors), caller, share, FRAMES_MAX);
    let main = doors.main.clone();
    let client = Client { at: after.unwrap_or_else(|| newest.clone()), doors, listener, view };
    main.spawn(client.run(newest));
    Ok(frames)
}

struct Client {
    doors: Arc<Doors>,
    listener: Listener,
    view: View,
    /// The last event looked at.
    at: String,
}

/// What a client waits for.
enum News {
    /// There are events.
    Events,
    /// There are some that the feed may not give yet.
    Stall,
}

/// How far a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caught {
    /// It has everything up to now.
    Up,
    /// The archive could not be read.
    NotYet,
}

impl Client {
    async fn run(mut self, newest: String) {
        let counted = Gauge::new(CLIENTS);
        // Either way it is over; a client that still wants more comes back with its last id.
        let _: Result<(), Ended> = self.serve(newest).await;
        drop(counted);
    }

    async fn serve(&mut self, newest: String) -> Result<(), Ended> {
        let doors = Arc::clone(&self.doors);
        // Before following: the reader may find a stall at the very nudge that this gives.
        let mut stalls = doors.feed.stalls();
        let mut changes = doors.feed.follow();
        // The frame's id is where the stream resumes: a client that is cut off before it has caught up resumes there.
        self.send(write_frame(Some(&self.at), "hello", &named(&newest))).await?;
        loop {
            changes.mark_unchanged();
            let caught = self.catch_up().await?;
            let news = async {
                tokio::select! {
                    biased;
                    _ = changes.changed() => News::Events,
                    _ = stalls.changed() => News::Stall,
                    // What was missed may have been the last for hours.
                    () = sleep(LOOK_AGAIN), if caught == Caught::NotYet => News::Events,
                }
            };
            match self.listener.until(news).await? {
                News::Events => {}
                News::Stall => self.load_what_there_is().await?,
            }
        }
    }

    /// Sends everything up to now.
    async fn catch_up(&mut self) -> Result<Caught, Ended> {
        loop {
            let frames = match self.doors.feed.after(&self.at) {
                Some(frames) => frames,
                None => match self.doors.feed.events.tail(Some(&self.at), READ_MAX).await {
                    Ok(Tail::Events(events)) => {
                        events.into_iter().map(|event| Arc::new(Frame::of(event))).collect()
                    }
                    Ok(Tail::Resync(id)) => return self.resync(id).await.map(|()| Caught::Up),
                    // An id that was not made here, or an event behind it that cannot be read.
                    Err(Error::NotACursor | Error::Refused(_)) => {
                        match self.doors.feed.events.newest_event().await {
                            Ok(id) => return self.resync(id).await.map(|()| Caught::Up),
                            Err(_) => return Ok(Caught::NotYet),
                        }
                    }
                    // The reader of the feed has said so, if it was away for that one, too.
                    Err(Error::Unavailable(_) | Error::Gone | Error::Removed(_)) => {
                        return Ok(Caught::NotYet);
                    }
                },
            };
            let Some(last) = frames.last() else { return Ok(Caught::Up) };
            let last = last.recorded.id.clone();
            let shown: Vec<&Frame> = frames
                .iter()
                .map(|frame| &**frame)
                .filter(|frame| self.view.shows(&frame.recorded))
                .collect();
            for together in shown.chunks(FRAMES_MAX) {
                for (frame, bytes) in together.iter().zip(self.written(together).await?) {
                    self.listener.keep().await?;
                    self.send(bytes).await?;
                    self.at.clone_from(&frame.recorded.id);
                }
            }
            self.at = last;
            self.listener.keep().await?;
            if shown.is_empty() && frames.len() >= READ_MAX {
                // An id alone: where to resume, and a sign of life over many events that are not for this client.
                self.send(format!("id: {}\n\n", self.at).into()).await?;
            }
        }
    }

    /// Frames as this client gets them. What is shown beside them is looked up for all at once, and for no more than may be
    /// on their way anyhow: what waits long for a slow client would be old.
    async fn written(&self, frames: &[&Frame]) -> Result<Vec<Bytes>, Ended> {
        if !self.view.includes() {
            return Ok(frames.iter().map(|frame| frame.bytes.clone()).collect());
        }
        let recorded: Vec<&Recorded> = frames.iter().map(|frame| &frame.recorded).collect();
        let (archive, directory) = (&*self.doors.archive, &self.doors.directory);
        let events = self.view.events(archive, directory, &recorded).await.map_err(|error| {
            tracing::warn!(error = error.cause(), "a live feed ends, since what it shows cannot be read");
            Ended
        })?;
        let write = |recorded: &Recorded, event| {
            write_frame(Some(&recorded.id), recorded.event.kind.as_str(), &to_json(event))
        };
        Ok(recorded.into_iter().zip(&events).map(|(recorded, event)| write(recorded, event)).collect())
    }

    /// Events that the feed may not give yet are in the lists already. They come here too, once it may.
    async fn load_what_there_is(&mut self) -> Result<(), Ended> {
        match self.doors.feed.events.newest_event().await {
            Ok(id) => self.resync(id).await,
            // The reader of the feed has said so, and tells again.
            Err(_) => Ok(()),
        }
    }

    /// The gap cannot be filled: load everything again.
    async fn resync(&mut self, id: String) -> Result<(), Ended> {
        self.send(write_frame(Some(&id), "resync", &named(&id))).await?;
        self.at = id;
        Ok(())
    }

    async fn send(&self, frame: Bytes) -> Result<(), Ended> {
        self.listener.send(frame).await
    }
}

fn named(id: &str) -> Vec<u8> {
    to_json(&serde_json::json!({ "id": id }))
}

/// Clients are counted from 0 on.
pub(super) fn count_from_zero() {
    metrics::gauge!(CLIENTS).increment(0);
}
