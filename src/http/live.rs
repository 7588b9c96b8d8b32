//! One client that watches a conversation: what is seen there and not kept goes out to it as `text/event-stream`.
//!
//! In: the scene, whenever it changes. Out: what of it this client has not been sent. A slow client gets less often, not later:
//! between two frames only the newest scene counts.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use uuid::Uuid;

use super::{
    answer::to_json,
    auth::Caller,
    doors::Doors,
    feed::write_frame,
    listener::{Ended, Listener, ticks},
    problem::Problem,
    shares::Shares,
    wire,
};
use crate::{
    domain::{docket::Typing, time::Time, turn::TurnState},
    flow::{
        archive::{Archive, Overview, Window},
        instance::onlookers::{Generation, News, Person, Presence, Scene, Watch},
        ledger::Error,
    },
};

/// Frames on their way to one client.
const FRAMES_MAX: usize = 4;

/// Most clients of one instance.
const CLIENTS_MAX: usize = 1_000;

/// Of these, what one caller may have.
static SHARES: Shares = Shares::new(CLIENTS_MAX / 4);

/// Words are shown at most this often.
const WORDS_EVERY: Duration = Duration::from_millis(100);

/// What another instance did and could not tell is found within this: the conversation is gone, the turn has ended.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A reply has at most this many parts, and hardly anything comes between them.
const PARTS_READ: usize = 50;

/// Watches from now on: what is read of the conversation after this misses nothing.
pub(crate) fn watch(doors: &Doors, conversation: Uuid) -> Result<Watch, Problem> {
    let watch = (doors.onlookers.watching() < CLIENTS_MAX).then(|| doors.onlookers.watch(conversation));
    watch.flatten().ok_or_else(|| Problem::unavailable("too many conversations are watched"))
}

/// Opens the stream of a conversation that was found so.
pub(crate) async fn open(
    doors: Arc<Doors>,
    caller: Caller,
    mut watch: Watch,
    found: &Overview,
) -> Result<mpsc::Receiver<Bytes>, Problem> {
    let share = SHARES.of(caller.key_holder()).try_acquire_owned();
    let share = share.map_err(|_| Problem::unavailable("one caller watches too many conversations"))?;
    let archive = doors.archive.as_ref();
    let mut news = missed(archive, &watch.scene(), found).await?;
    if found.queued > 0 {
        let mut messages = archive.messages(found.conversation.id, Window::Newest, PARTS_READ).await?;
        messages.reverse();
        news.typing = Some(Typing::of(&messages, found.read_at));
    }
    watch.found(&news);
    let (listener, frames) = Listener::new(Arc::clone(&doors), caller, share, FRAMES_MAX);
    let shown = Shown { ended: watch.scene().ended, ..Shown::default() };
    let client =
        Client { doors: Arc::clone(&doors), conversation: found.conversation.id, watch, shown, listener };
    doors.main.spawn(client.run());
    Ok(frames)
}

/// What the store knows of turns and this instance was not told. A turn is over when its row says so: the conversation may
/// have been read before it began.
async fn missed(archive: &dyn Archive, scene: &Scene, found: &Overview) -> Result<News, Error> {
    let mut news = News::default();
    let lease = found.conversation.lease.as_ref().filter(|lease| lease.until > found.read_at);
    let running = lease.map(|lease| lease.turn);
    let shown = scene.generation.as_ref().map(|generation| generation.turn);
    if let Some(turn) = shown.filter(|turn| running != Some(*turn)) {
        match archive.turn(turn).await? {
            Some((_, _, found)) if found.state == TurnState::Generating => return Ok(news),
            Some((_, _, found)) => news.ended.push((turn, found.state)),
            None => news.ended.push((turn, TurnState::Cancelled)),
        }
    }
    news.generation = running.map(|turn| Generation { turn, text: Arc::default() });
    Ok(news)
}

struct Client {
    doors: Arc<Doors>,
    conversation: Uuid,
    watch: Watch,
    shown: Shown,
    listener: Listener,
}

impl Client {
    async fn run(mut self) {
        // Either way it is over; a client that still wants to see comes again.
        let _: Result<(), Ended> = self.serve().await;
    }

    async fn serve(&mut self) -> Result<(), Ended> {
        let mut look = ticks(LOOK_EVERY);
        loop {
            let scene = self.watch.scene();
            for frame in self.shown.news(&scene, Instant::now(), (self.doors.now)()) {
                self.listener.send(frame).await?;
            }
            let again_at = self.shown.again_at(&scene);
            let watch = &mut self.watch;
            let news = async {
                tokio::select! {
                    biased;
                    () = watch.changed() => false,
                    () = at(again_at) => false,
                    _ = look.tick() => true,
                }
            };
            if self.listener.until(news).await? {
                self.look().await?;
            }
        }
    }

    /// Whether the conversation is still there, and what was not told of it. A store that is away is asked again.
    async fn look(&mut self) -> Result<(), Ended> {
        let scene = self.watch.scene();
        let archive = self.doors.archive.as_ref();
        let found = match archive.conversation(self.conversation).await {
            Ok(Some(found)) if self.listener.caller().sees(&found.conversation.channel) => found,
            Ok(_) => return Err(Ended),
            Err(_) => return Ok(()),
        };
        if let Ok(news) = missed(archive, &scene, &found).await {
            self.watch.found(&news);
        }
        Ok(())
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// What a client has been sent.
#[derive(Default)]
struct Shown {
    ended: Vec<(Uuid, TurnState)>,
    generation: Option<Generation>,
    typing: Option<Typing>,
    /// None: nothing yet. That nobody is there is told too.
    people: Option<Vec<(Person, Presence)>>,
    words_at: Option<Instant>,
}

impl Shown {
    /// What of the scene is new to the client, as frames.
    fn news(&mut self, scene: &Scene, now: Instant, at: Time) -> Vec<Bytes> {
        let mut frames = Vec::new();
        let people: Vec<_> = scene.people(now).map(|it| (it.person.clone(), it.presence)).collect();
        if self.people.as_ref() != Some(&people) {
            frames.push(frame("presence", &people.iter().collect::<wire::Present>()));
            self.people = Some(people);
        }
        for (turn, result) in scene.ended.iter().filter(|ended| !self.ended.contains(ended)) {
            frames.push(frame("generation_ended", &wire::GenerationEnded::of(*turn, *result)));
        }
        self.ended.clone_from(&scene.ended);
        if self.has_words(scene) && self.words_at.is_none_or(|last| now >= last + WORDS_EVERY) {
            frames
                .extend(scene.generation.as_ref().map(|it| frame("generation", &wire::Generation::from(it))));
            self.generation.clone_from(&scene.generation);
            self.words_at = Some(now);
        }
        let typing = scene.typing.filter(|typing| typing.until > at);
        if typing != self.typing {
            // Withdrawn before its time: it ends now.
            let ended = self.typing.filter(|told| typing.is_none() && told.until > at);
            let told = typing.or(ended.map(|told| Typing { until: at, ..told }));
            frames.extend(told.map(|typing| frame("typing", &wire::Typing::from(typing))));
            self.typing = typing;
        }
        frames
    }

    fn has_words(&self, scene: &Scene) -> bool {
        scene.generation.is_some() && scene.generation != self.generation
    }

    /// When there is something to tell though nothing has happened: words that were held back, people to be forgotten.
    fn again_at(&self, scene: &Scene) -> Option<Instant> {
        let words_at = self.words_at.filter(|_| self.has_words(scene)).map(|at| at + WORDS_EVERY);
        let told = self.people.iter().flatten().map(|(person, _)| person);
        let forgotten_at = told.filter_map(|person| {
            let present = scene.present.iter().find(|present| present.person == *person)?;
            Some(present.until)
        });
        forgotten_at.chain(words_at).min()
    }
}

fn frame(name: &str, data: &impl serde::Serialize) -> Bytes {
    write_frame(None, name, &to_json(data))
}
