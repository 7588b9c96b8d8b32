//! Place: who watches a conversation, and what they see of it that is not kept: words as they are written, the delay before
//! a part leaves, who else is there.
//!
//! In: turns as they write, commits, people, other instances. Out: the scene of each conversation that is watched, which is
//! only ever the newest; what other instances watch, for them. Nothing is decided by any of it.

mod scene;

mod live_text;

mod peers;

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use uuid::Uuid;

use self::live_text::LiveText;
pub use self::{
    live_text::Writing,
    peers::share,
    scene::{Generation, News, Person, Presence, Present, Scene},
};
use crate::flow::ledger::Committed;

/// A person is forgotten this long after their last word.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// Conversations of which something is remembered. More are not watched, and who comes to them is not seen.
const WATCHED_MAX: usize = 20_000;

/// How often these are looked through for those that nobody needs.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// The place. Nobody watches yet.
#[derive(Default)]
pub struct Onlookers {
    inner: Mutex<Inner>,
    /// How many there are: commits look no further while there are none.
    watched_count: AtomicUsize,
    watching: AtomicUsize,
    /// Whether there are other instances to tell: [`share`] does.
    is_shared: AtomicBool,
    /// There is something to tell them.
    bell: Notify,
}

#[derive(Default)]
struct Inner {
    watched: HashMap<Uuid, Watched>,
    live_texts: HashMap<Uuid, Arc<LiveText>>,
    /// What other instances are to hear, at most one of each conversation.
    owed: HashMap<Uuid, News>,
    /// Conversations somebody has begun to watch here, of which others have not heard yet.
    wanted: HashSet<Uuid>,
    tidied_at: Option<Instant>,
}

/// A conversation of which something is remembered.
#[derive(Default)]
struct Watched {
    scene: watch::Sender<Scene>,
    /// Other instances on which somebody watches, each until it must have said so again.
    others: HashMap<String, Instant>,
}

impl Watched {
    /// Whether somebody would see what is new.
    fn is_watched(&self, now: Instant) -> bool {
        self.scene.receiver_count() > 0 || self.others.values().any(|until| *until > now)
    }

    /// Takes news in, of here or of elsewhere.
    fn take(&self, news: &News) {
        self.scene.send_if_modified(|scene| scene.take(news, Instant::now()));
    }
}

/// Somebody who watches, until it is dropped.
pub struct Watch {
    onlookers: Arc<Onlookers>,
    conversation: Uuid,
    scene: watch::Receiver<Scene>,
}

impl Watch {
    /// The scene as it is. What is new from here on is a change.
    pub fn scene(&mut self) -> Scene {
        self.scene.borrow_and_update().clone()
    }

    /// Waits until it is another.
    pub async fn changed(&mut self) {
        if self.scene.changed().await.is_err() {
            // The scene outlives whoever watches it.
            std::future::pending::<()>().await;
        }
    }

    /// What was found in the store of what was missed; nobody else is told.
    pub fn found(&self, news: &News) {
        self.onlookers.hear(self.conversation, news);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.onlookers.watching.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Onlookers {
    /// How many watch here.
    pub fn watching(&self) -> usize {
        self.watching.load(Ordering::Relaxed)
    }

    /// Somebody watches from now on. None if there are too many conversations already.
    pub fn watch(self: &Arc<Self>, conversation: Uuid) -> Option<Watch> {
        let mut inner = self.lock();
        let watched = self.watched(&mut inner, conversation)?;
        let scene = watched.scene.subscribe();
        self.watching.fetch_add(1, Ordering::Relaxed);
        if let Some(live_text) = inner.live_texts.get(&conversation) {
            let news = News { generation: Some(live_text.begin_telling()), ..News::default() };
            inner.watched.entry(conversation).or_default().take(&news);
        }
        if self.is_shared.load(Ordering::Relaxed) {
            inner.wanted.insert(conversation);
            self.bell.notify_one();
        }
        Some(Watch { onlookers: Arc::clone(self), conversation, scene })
    }

    /// A turn begins to write.
    pub fn writes(&self, conversation: Uuid, turn: Uuid) -> Writing<'_> {
        let live_text = Arc::new(LiveText::new(turn));
        let mut inner = self.lock();
        if inner.watched.get(&conversation).is_some_and(|watched| watched.is_watched(Instant::now())) {
            live_text.begin_telling();
        }
        inner.live_texts.insert(conversation, Arc::clone(&live_text));
        Writing { onlookers: self, conversation, live_text }
    }

    fn tell_words(&self, conversation: Uuid, live_text: &LiveText, generation: Generation) {
        let mut inner = self.lock();
        if inner.watched.get(&conversation).is_some_and(|watched| watched.is_watched(Instant::now())) {
            self.tell(&mut inner, conversation, News { generation: Some(generation), ..News::default() });
        } else {
            live_text.end_telling();
        }
    }

    fn put_away(&self, conversation: Uuid, live_text: &Arc<LiveText>) {
        let mut inner = self.lock();
        // A newer turn of the same conversation may have taken the place.
        if inner.live_texts.get(&conversation).is_some_and(|other| Arc::ptr_eq(other, live_text)) {
            inner.live_texts.remove(&conversation);
        }
    }

    /// A step was committed here.
    pub fn committed(&self, commit: &Committed) {
        if self.watched_count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let conversation = commit.standing.conversation;
        let mut inner = self.lock();
        if inner.watched.contains_key(&conversation) {
            self.tell(&mut inner, conversation, News::of(commit));
        }
    }

    /// A person says what they do in a conversation.
    pub fn is_here(&self, conversation: Uuid, person: Person, presence: Presence) {
        let present = Present { person, presence, until: Instant::now() + FORGOTTEN };
        let mut inner = self.lock();
        if self.watched(&mut inner, conversation).is_some() {
            self.tell(&mut inner, conversation, News { present: vec![present], ..News::default() });
        }
    }

    /// Tells whoever watches, here and elsewhere.
    fn tell(&self, inner: &mut Inner, conversation: Uuid, news: News) {
        let Some(watched) = inner.watched.get(&conversation) else { return };
        watched.take(&news);
        if !watched.others.is_empty() {
            inner.owed.entry(conversation).or_default().add(news);
            self.bell.notify_one();
        }
    }

    /// Takes in what is known elsewhere already.
    fn hear(&self, conversation: Uuid, news: &News) {
        if let Some(watched) = self.lock().watched.get(&conversation) {
            watched.take(news);
        }
    }

    /// What is remembered of a conversation, begun if there are not too many.
    fn watched<'a>(&self, inner: &'a mut Inner, conversation: Uuid) -> Option<&'a Watched> {
        self.tidy(inner);
        if inner.watched.len() >= WATCHED_MAX && !inner.watched.contains_key(&conversation) {
            return None;
        }
        inner.watched.entry(conversation).or_default();
        self.watched_count.store(inner.watched.len(), Ordering::SeqCst);
        inner.watched.get(&conversation)
    }

    /// Now and then, forgets what nobody needs.
    fn tidy(&self, inner: &mut Inner) {
        let now = Instant::now();
        if inner.tidied_at.is_some_and(|at| now < at + TIDY_EVERY) {
            return;
        }
        inner.tidied_at = Some(now);
        inner.watched.retain(|_, watched| {
            watched.others.retain(|_, until| *until > now);
            watched.is_watched(now)
                || watched.scene.borrow().present.iter().any(|present| present.until > now)
        });
        self.watched_count.store(inner.watched.len(), Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
