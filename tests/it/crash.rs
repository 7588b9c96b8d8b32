//! A crash between any two lines that touch the outside costs time, and nothing else.
//!
//! Each story is told once for every touch: a step in the store, a POST, a request to the model, a key in Redis, an
//! answer to a request. After that touch, of which it does not hear any more, the process ends. On SQLite it is dead, and
//! another one starts; on PostgreSQL it sleeps, another one takes its work over, and when all of that is done it wakes and
//! goes on. Whoever is outside does what such people do, time runs on, and when nothing more can come, the promises are
//! asked. No point is named by hand: touches are counted, and each number has its turn.

mod life;

mod promises;

mod stories;

mod two_ids;

use std::{sync::Arc, time::Instant};

use execution::key_store::Memory;
use life::Life;
use promises::Promise;

use crate::world::{Database, End, Haste, Point, Weakness, World};

/// Tells each story on both stores, once for every failure point.
macro_rules! at_every_point {
    ($($name:ident),+ $(,)?) => {
        at_every_point!(mod sqlite, Sqlite, false, stories, $($name),+);
        at_every_point!(mod postgres, Postgres, false, stories, $($name),+);
    };
    (mod $module:ident, $store:ident, $is_at_once:literal, $stories:ident, $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[tokio::test]
            async fn $name() {
                let way = super::Way { store: super::Store::$store, is_at_once: $is_at_once };
                let story = (super::$stories::begins, super::$stories::$name);
                super::holds(stringify!($name), way, &story).await;
            })+
        }
    };
}

/// The same where what may leave at once is claimed in the transaction in which it becomes owed.
macro_rules! at_every_point_at_once {
    ($($name:ident),+ $(,)?) => {
        at_every_point!(mod sqlite_at_once, Sqlite, true, stories, $($name),+);
        at_every_point!(mod postgres_at_once, Postgres, true, stories, $($name),+);
    };
}

/// The same for a person with two conversations, until it is known that they are one.
macro_rules! at_every_point_of_two_ids {
    ($($name:ident),+ $(,)?) => {
        at_every_point!(mod sqlite_two_ids, Sqlite, false, two_ids, $($name),+);
        at_every_point!(mod postgres_two_ids, Postgres, false, two_ids, $($name),+);
    };
}

at_every_point!(
    a_burst_is_answered_in_parts_and_followed_up,
    a_takeover_stops_a_generation,
    a_takeover_stops_a_reply_half_sent,
    a_send_is_refused_and_tried_again,
    an_answer_is_lost_and_the_message_found,
    a_model_fails_for_good_and_a_person_asks_again,
    what_waits_is_edited_and_deleted,
    what_is_fetched_and_what_was_missed_is_answered,
    a_draft_is_written_and_a_person_sends_it,
    a_file_is_sent_and_the_answer_is_lost,
    a_person_is_erased_and_writes_again,
);

at_every_point_at_once!(
    a_burst_is_answered_in_parts_and_followed_up,
    a_takeover_stops_a_reply_half_sent,
    a_send_is_refused_and_tried_again,
    an_answer_is_lost_and_the_message_found,
);

at_every_point_of_two_ids!(
    two_conversations_that_meet_become_one,
    what_waits_when_they_meet_is_answered_under_its_own_id,
    two_that_the_provider_names_as_one_are_not_chased_twice,
    a_takeover_of_the_earlier_is_one_of_both,
    a_takeover_of_the_later_is_one_of_both,
    whom_a_person_answers_is_answered_by_nobody_else,
    who_is_given_back_stays_with_the_assistant,
);

// To look for somebody in each column takes longest of all: on one store, as `a_person_is_erased_and_writes_again` is on both.
at_every_point!(
    mod sqlite_erasures,
    Sqlite,
    false,
    two_ids,
    who_has_become_one_is_erased_under_both_ids,
    who_is_erased_by_the_earlier_of_two_is_erased_under_both_ids,
    who_is_erased_by_the_later_of_two_is_erased_under_both_ids,
);

/// Over what a story is told.
#[derive(Debug, Clone, Copy)]
struct Way {
    store: Store,
    is_at_once: bool,
}

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    /// One process after another.
    Sqlite,
    /// Beside Redis; another process goes on while the first is dead or asleep.
    Postgres,
}

impl Way {
    /// An empty one, in a world where nothing has happened yet.
    async fn world(self, weakness: Option<Weakness>) -> World {
        let (database, keys) = match self.store {
            Store::Sqlite => (Database::sqlite_in_memory(), None),
            Store::Postgres => (Database::postgres().await, Some(Arc::new(Memory::new()))),
        };
        let haste = if self.is_at_once { Haste::Sends } else { Haste::Apart };
        World::over(database, keys, weakness, haste).await
    }

    /// How a process ends on it.
    const fn end(self) -> End {
        match self.store {
            Store::Sqlite => End::Dies,
            // As long as it sleeps, it is as good as dead: the promises are asked then, and again when it has woken.
            Store::Postgres => End::Sleeps,
        }
    }
}

/// What is told.
trait Story {
    /// What has happened before any process may end.
    async fn begins(&self, life: &mut Life);

    /// The rest.
    async fn goes_on(&self, life: &mut Life) -> Promise;
}

impl<B: AsyncFn(&mut Life), R: AsyncFn(&mut Life) -> Promise> Story for (B, R) {
    async fn begins(&self, life: &mut Life) {
        (self.0)(life).await;
    }

    async fn goes_on(&self, life: &mut Life) -> Promise {
        (self.1)(life).await
    }
}

/// A promise that a story broke.
struct Broken {
    /// Where the process ended.
    at: String,
    promise: String,
    /// The story as it was told.
    told: String,
}

/// Fails with the point at which a promise breaks.
async fn holds(name: &str, way: Way, story: &impl Story) {
    let began = Instant::now();
    match at_every_point(way, None, story).await {
        Ok(touches) => println!("{name}, {way:?}: {touches} touches in {:?}", began.elapsed()),
        Err(Broken { at, promise, told }) => panic!("{promise}\n{name}, {way:?}, {at}\n{told}"),
    }
}

/// Tells a story until its process ends nowhere in it any more. Returns how many touches there are.
async fn at_every_point(way: Way, weakness: Option<Weakness>, story: &impl Story) -> Result<usize, Broken> {
    let (mut world, whole) = tell(way.world(weakness).await, 0, None, story).await?;
    for touches in 0..=whole.len() {
        let point = Point { touches, end: way.end() };
        let told;
        (world, told) = tell(world, touches + 1, Some(point), story).await?;
        // Or some touch would have had another's turn.
        assert!(told.starts_with(&whole[..touches]), "the story was told otherwise: {told:?}");
    }
    world.end().await;
    Ok(whole.len())
}

/// One life. Returns what its first process touched.
async fn tell(
    world: World,
    number: usize,
    point: Option<Point>,
    story: &impl Story,
) -> Result<(World, Vec<String>), Broken> {
    let mut life = Life::begin(world, number, point).await;
    story.begins(&mut life).await;
    life.is_in_danger();
    let kept = story.goes_on(&mut life).await;
    let touches = life.touches.take().unwrap_or_default();
    if let Err(promise) = kept {
        let at = match point {
            None => "without a crash".to_owned(),
            Some(Point { end, .. }) => {
                format!("{end:?} after {} touches, of which the last is {:?}", touches.len(), touches.last())
            }
        };
        return Err(Broken { at, promise, told: life.told().await });
    }
    Ok((life.end().await, touches))
}

/// What is wrong on purpose must be found out, and at such a point.
async fn is_found_out(weakness: Weakness, promise: &str, point: &str) {
    let story = (stories::begins, stories::a_burst_is_answered_in_parts_and_followed_up);
    let way = Way { store: Store::Sqlite, is_at_once: false };
    match at_every_point(way, Some(weakness), &story).await {
        Ok(touches) => panic!("{weakness:?} went unnoticed at {touches} touches"),
        Err(broken) => {
            assert!(broken.promise.starts_with(promise), "{}", broken.promise);
            assert!(broken.at.contains(point), "{}", broken.at);
        }
    }
}

#[tokio::test]
async fn a_client_that_posts_twice_is_found_out() {
    is_found_out(Weakness::PostsTwice, "P6", "without a crash").await;
}

#[tokio::test]
async fn an_acknowledged_webhook_without_its_effect_is_found_out() {
    is_found_out(Weakness::StoresElsewhere, "P1", "without a crash").await;
}

/// No story without a crash would ever show it.
#[tokio::test]
async fn a_start_that_sends_again_what_was_being_sent_is_found_out() {
    is_found_out(Weakness::SendsAgain, "P6", "Provider::send").await;
}
