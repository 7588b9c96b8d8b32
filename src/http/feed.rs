//! The newest events of the installation, read once for all who follow them. One reader comes to the archive, at
//! every nudge and at least every second; what it reads goes into a ring, and all followers are woken.
//!
//! A client looks for its own place in the ring by event id. One that is not in it, because it is new, or slow, or a
//! little ahead of the reader, reads the archive instead. So nobody can miss an event or get one twice at the
//! seam, and a slow client costs no memory.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use metrics::gauge;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{answer::to_json, wire::Event};
use crate::{
    domain::{event::EventType, time::duration},
    flow::{
        archive::{EventFeed, HeldBack, Recorded, Tail},
        ledger::Error,
        notify::endpoints::Endpoints,
    },
};

/// What a lost nudge delays.
const TICK: Duration = Duration::from_secs(1);

/// Least time between two readings: under load, events are read by the dozen and not one by one.
const PAUSE: Duration = Duration::from_millis(20);

/// How often it is asked whether the feed is held back.
const LOOK: Duration = Duration::from_secs(1);

/// A transaction that holds the feed back for this long is not an ordinary one: clients that follow load what there is, and
/// again after as long.
const HELD_BACK: Duration = Duration::from_secs(5);

/// Events of one reading.
const READ_MAX: usize = 500;

/// Events kept for those who follow.
const RING_MAX: usize = 2_000;

/// The live feed of this instance.
pub struct Feed {
    /// Where a client that is not in the ring reads.
    pub events: Arc<dyn EventFeed>,
    ring: Mutex<Ring>,
    changes: watch::Sender<()>,
    stalls: watch::Sender<()>,
    nudge: Arc<Notify>,
}

/// An event as it is sent to everyone.
pub struct Frame {
    /// The event.
    pub recorded: Recorded,
    /// Its lines in the stream.
    pub bytes: Bytes,
}

impl Frame {
    /// Written down once.
    pub fn of(recorded: Recorded) -> Self {
        let bytes =
            write_frame(Some(&recorded.id), recorded.event.kind.as_str(), &to_json(&Event::from(&recorded)));
        Self { recorded, bytes }
    }
}

/// An event of a stream: its id, if the stream can resume from there, its name, its data.
pub fn write_frame(id: Option<&str>, name: &str, json: &[u8]) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let mut frame = format!("{id}event: {name}\ndata: ").into_bytes();
    // JSON has no line breaks outside of its strings, and none inside.
    frame.extend_from_slice(json);
    frame.extend_from_slice(b"\n\n");
    frame.into()
}

#[derive(Default)]
struct Ring {
    /// The id before the first one kept; None while nobody follows and nothing is read.
    before: Option<String>,
    frames: VecDeque<Arc<Frame>>,
}

impl Ring {
    fn newest(&self) -> Option<&str> {
        self.frames.back().map(|frame| frame.recorded.id.as_str()).or(self.before.as_deref())
    }

    fn begin(&mut self, before: Option<String>) {
        self.before = before;
        self.frames.clear();
    }

    fn push(&mut self, recorded: Recorded) {
        // The store has none of theirs any more. Whoever stands at one that is gone asks it, and loads everything again.
        if recorded.event.kind == EventType::ConversationErased {
            let erased = recorded.event.conversation;
            self.frames.retain(|frame| frame.recorded.event.conversation != erased);
        }
        if self.frames.len() == RING_MAX {
            self.before = self.frames.pop_front().map(|frame| frame.recorded.id.clone());
        }
        self.frames.push_back(Arc::new(Frame::of(recorded)));
    }
}

impl Feed {
    /// Opens the feed: from now on one task on that runtime reads, at each of these nudges, until told to stop. Endpoints are
    /// told by the same rule, and held back by the same transaction.
    pub fn open(
        events: Arc<dyn EventFeed>,
        endpoints: Arc<dyn Endpoints>,
        nudge: Arc<Notify>,
        stopping: CancellationToken,
        main: &Handle,
    ) -> Arc<Self> {
        let (changes, stalls) = (watch::Sender::new(()), watch::Sender::new(()));
        let feed = Arc::new(Self { events, ring: Mutex::default(), changes, stalls, nudge });
        let reader = Arc::clone(&feed);
        main.spawn(async move { reader.run(endpoints, stopping).await });
        feed
    }

    /// Tells when to look again.
    pub fn follow(&self) -> watch::Receiver<()> {
        let changes = self.changes.subscribe();
        self.nudge.notify_one();
        changes
    }

    /// Tells that events wait which the feed may not give: load everything again, for they come much later.
    pub fn stalls(&self) -> watch::Receiver<()> {
        self.stalls.subscribe()
    }

    /// How many follow.
    pub fn clients(&self) -> usize {
        self.changes.receiver_count()
    }

    /// Events after that one; None if the ring does not know it.
    pub fn after(&self, id: &str) -> Option<Vec<Arc<Frame>>> {
        let ring = self.ring();
        if ring.before.as_deref() == Some(id) {
            return Some(ring.frames.iter().cloned().collect());
        }
        let at = ring.frames.iter().rposition(|frame| frame.recorded.id == id)?;
        Some(ring.frames.range(at + 1..).cloned().collect())
    }

    /// Reads until it is stopped. Rests while nobody follows.
    async fn run(&self, endpoints: Arc<dyn Endpoints>, stopping: CancellationToken) {
        let mut is_failing = false;
        let mut stall = Stall::default();
        while !stopping.is_cancelled() {
            let nudged = self.nudge.notified();
            tokio::pin!(nudged);
            // Registered before looking, or a nudge between the two is lost.
            nudged.as_mut().enable();
            if self.clients() == 0 {
                self.ring().begin(None);
                if stall.is_to_be_looked_for() {
                    self.look_for_endpoints(&mut stall, endpoints.as_ref()).await;
                }
            } else {
                match self.read().await {
                    Ok(READ_MAX) => continue,
                    Ok(read) => {
                        is_failing = false;
                        if read == 0 && stall.is_to_be_looked_for() {
                            self.look_for(&mut stall).await;
                        }
                    }
                    Err(error) => {
                        if !is_failing {
                            tracing::warn!(error = error.cause(), "the live feed cannot read");
                        }
                        is_failing = true;
                    }
                }
            }
            let rested = Instant::now() + PAUSE;
            tokio::select! {
                () = nudged => {}
                () = sleep(TICK) => {}
                () = stopping.cancelled() => return,
            }
            sleep_until(rested).await;
        }
    }

    async fn read(&self) -> Result<usize, Error> {
        let newest = self.ring().newest().map(str::to_owned);
        let from = match newest {
            Some(id) => id,
            None => {
                let id = self.events.newest_event().await?;
                self.ring().begin(Some(id.clone()));
                self.changes.send_replace(());
                id
            }
        };
        let read = match self.events.tail(Some(&from), READ_MAX).await? {
            Tail::Events(events) => {
                let read = events.len();
                let mut ring = self.ring();
                events.into_iter().for_each(|recorded| ring.push(recorded));
                read
            }
            // Who follows finds the same when it reads the archive for itself.
            Tail::Resync(id) => {
                self.ring().begin(Some(id));
                1
            }
        };
        if read > 0 {
            self.changes.send_replace(());
        }
        Ok(read)
    }

    /// The same where no client follows: endpoints wait too, if there are any.
    async fn look_for_endpoints(&self, stall: &mut Stall, endpoints: &dyn Endpoints) {
        match endpoints.active().await {
            Ok(active) if active.is_empty() => {
                // Nobody is kept waiting.
                stall.told_at = None;
                gauge!("baton_feed_held_back_seconds").set(0.0);
            }
            Ok(_) => self.look_for(stall).await,
            Err(error) => tracing::debug!(%error, "whether endpoints are held back is not known this time"),
        }
    }

    /// Whether the feed is held back: said once in the log, and to those who follow for as long as it lasts.
    async fn look_for(&self, stall: &mut Stall) {
        let held = match self.events.held_back().await {
            Ok(held) => held.unwrap_or(HeldBack { ms: 0, by: String::new() }),
            Err(error) => {
                tracing::debug!(%error, "whether the live feed is held back is not known this time");
                return;
            }
        };
        let waited = duration(held.ms);
        gauge!("baton_feed_held_back_seconds").set(waited.as_secs_f64());
        if waited < HELD_BACK {
            stall.told_at = None;
            return;
        }
        if stall.told_at.is_none() {
            let HeldBack { ms, by } = held;
            tracing::warn!(ms, by, "the live feed is held back by a transaction that does not end");
        }
        if stall.told_at.is_none_or(|at| at.elapsed() >= HELD_BACK) {
            stall.told_at = Some(Instant::now());
            self.stalls.send_replace(());
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a feed that is held back.
#[derive(Default)]
struct Stall {
    looked_at: Option<Instant>,
    told_at: Option<Instant>,
}

impl Stall {
    /// Not at every reading: under load many find nothing new.
    fn is_to_be_looked_for(&mut self) -> bool {
        let is_time = self.looked_at.is_none_or(|at| at.elapsed() >= LOOK);
        if is_time {
            self.looked_at = Some(Instant::now());
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::{docket::Entry, time::Time};

    #[test]
    fn nothing_is_told_any_more_of_whoever_is_erased() {
        let [mei, tom] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let mut ring = Ring::default();
        for (id, conversation, kind) in [
            ("e1", mei, EventType::ToolCalled),
            ("e2", tom, EventType::ToolCalled),
            ("e3", mei, EventType::ConversationErased),
        ] {
            let mut event = Entry::of(kind).outside("shop", Time(0));
            event.conversation = Some(conversation);
            ring.push(Recorded { id: id.to_owned(), event });
        }
        let kept: Vec<&str> = ring.frames.iter().map(|frame| frame.recorded.id.as_str()).collect();
        assert_eq!(kept, ["e2", "e3"]);
    }
}
