//! What instances tell each other of conversations that somebody watches. Best effort: what is lost is found by a look into the
//! store, or sent again with the next renewal.
//!
//! In: what is watched here, and news of what is watched elsewhere. Out: the same, over the broadcast. Every instance learns who
//! watches what; news go only to those who watch.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use execution::broadcast::{Broadcast, Heard};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Generation, News, Onlookers, Person, Present};
use crate::domain::{docket::Typing, time::Time};

/// Where everybody says what is watched on their instance.
const WATCHED: &str = "watched";

/// How often that is said again, and for how long it holds.
pub(super) const RENEW: Duration = Duration::from_secs(5);
pub(super) const HOLDS: Duration = Duration::from_secs(15);

/// Conversations named in one message.
const NAMED_MAX: usize = 500;

/// Notifies other instances, and learns of theirs, until it is stopped.
pub async fn share(onlookers: Arc<Onlookers>, others: Arc<dyn Broadcast>, stop: CancellationToken) {
    onlookers.is_shared.store(true, Ordering::Relaxed);
    let name = Uuid::now_v7().simple().to_string();
    tokio::select! {
        () = stop.cancelled() => {}
        () = listen(&onlookers, &*others, &name) => {}
        () = tell(&onlookers, &*others, &name) => {}
    }
}

/// Where news for that instance go.
fn news_for(instance: &str) -> String {
    format!("seen:{instance}")
}

async fn listen(onlookers: &Onlookers, others: &dyn Broadcast, name: &str) {
    let (mut watched, mut seen) = (others.subscribe(WATCHED), others.subscribe(&news_for(name)));
    loop {
        tokio::select! {
            said = watched.recv() => match said {
                Some(Heard::Message(text)) => match serde_json::from_str::<Wanted>(&text) {
                    Ok(wanted) if wanted.by != name => onlookers.is_wanted(&wanted.by, &wanted.conversations),
                    Ok(_) => {}
                    Err(error) => tracing::debug!(%error, "what another instance watches is not understood"),
                },
                // They say it again.
                Some(Heard::Connected | Heard::Lost) => {}
                None => return,
            },
            said = seen.recv() => match said {
                Some(Heard::Message(text)) => match serde_json::from_str::<Told>(&text) {
                    Ok(told) => onlookers.hear(told.conversation, &told.news(Instant::now())),
                    Err(error) => tracing::debug!(%error, "what another instance tells is not understood"),
                },
                // What was sent meanwhile is sent again to those who ask.
                Some(Heard::Connected) => onlookers.want_again(),
                Some(Heard::Lost) => {}
                None => return,
            },
        }
    }
}

async fn tell(onlookers: &Onlookers, others: &dyn Broadcast, name: &str) {
    let mut renew = interval(RENEW);
    renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = onlookers.bell.notified() => {}
            _ = renew.tick() => onlookers.want_again(),
        }
        let (wanted, owed) = onlookers.owed();
        for conversations in wanted.chunks(NAMED_MAX) {
            let wanted = Wanted { by: name.to_owned(), conversations: conversations.to_vec() };
            publish(others, WATCHED, &wanted).await;
        }
        for Owed { conversation, instances, news } in owed {
            let told = Told::of(conversation, news, Instant::now());
            for instance in instances {
                publish(others, &news_for(&instance), &told).await;
            }
        }
    }
}

async fn publish(others: &dyn Broadcast, channel: &str, message: &impl Serialize) {
    // Neither has keys that are no strings.
    let text = serde_json::to_string(message).expect("it can be written as JSON");
    if let Err(error) = others.publish(channel, &text).await {
        tracing::debug!(%error, "other instances were not notified of what is seen");
    }
}

/// News of a conversation, and the instances that want them.
pub(super) struct Owed {
    pub(super) conversation: Uuid,
    pub(super) instances: Vec<String>,
    pub(super) news: News,
}

impl Onlookers {
    /// What is watched here and others have not heard of; what they are to hear.
    pub(super) fn owed(&self) -> (Vec<Uuid>, Vec<Owed>) {
        let mut inner = self.lock();
        let wanted = inner.wanted.drain().collect();
        let owed: Vec<(Uuid, News)> = inner.owed.drain().collect();
        let now = Instant::now();
        let told = owed.into_iter().filter_map(|(conversation, news)| {
            let watched = inner.watched.get(&conversation)?;
            let instances = watched.others.iter().filter(|(_, until)| **until > now);
            let instances = instances.map(|(instance, _)| instance.clone()).collect();
            Some(Owed { conversation, instances, news })
        });
        (wanted, told.collect())
    }

    /// All that is watched here is said again, and what nobody needs is forgotten.
    pub(super) fn want_again(&self) {
        let mut inner = self.lock();
        self.tidy(&mut inner);
        let inner = &mut *inner;
        let seen = inner.watched.iter().filter(|(_, watched)| watched.scene.receiver_count() > 0);
        inner.wanted.extend(seen.map(|(conversation, _)| *conversation));
        self.bell.notify_one();
    }

    /// Somebody watches these on another instance: it hears what is known here, and from now on what is new.
    pub(super) fn is_wanted(&self, by: &str, conversations: &[Uuid]) {
        let (mut inner, now) = (self.lock(), Instant::now());
        for &conversation in conversations {
            if self.watched(&mut inner, conversation).is_none() {
                return;
            }
            let inner = &mut *inner;
            let watched = inner.watched.entry(conversation).or_default();
            watched.others.insert(by.to_owned(), now + HOLDS);
            let generation = inner.live_texts.get(&conversation).map(|live_text| live_text.begin_telling());
            let present = watched.scene.borrow().present.clone();
            if generation.is_some() || !present.is_empty() {
                let news = News { generation, present, ..News::default() };
                inner.owed.entry(conversation).or_default().add(news);
            }
        }
        self.bell.notify_one();
    }
}

/// What is watched on an instance.
#[derive(Serialize, Deserialize)]
struct Wanted {
    by: String,
    conversations: Vec<Uuid>,
}

/// News, as instances exchange them. Clocks differ: they say how long a person is remembered, not until when.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    conversation: Uuid,
    ended: Vec<(Uuid, String)>,
    generation: Option<(Uuid, String)>,
    is_typing_told: bool,
    typing: Option<(i32, i64)>,
    present: Vec<ToldPresent>,
}

#[derive(Serialize, Deserialize)]
struct ToldPresent {
    id: String,
    name: String,
    presence: String,
    left_ms: u64,
}

impl Told {
    fn of(conversation: Uuid, news: News, now: Instant) -> Self {
        let present = news.present.into_iter().map(|present| ToldPresent {
            id: present.person.id,
            name: present.person.name,
            presence: present.presence.to_string(),
            left_ms: u64::try_from((present.until.saturating_duration_since(now)).as_millis())
                .unwrap_or(u64::MAX),
        });
        Self {
            conversation,
            ended: news.ended.iter().map(|(turn, state)| (*turn, state.to_string())).collect(),
            generation: news.generation.map(|it| (it.turn, it.text.to_string())),
            is_typing_told: news.typing.is_some(),
            typing: news.typing.flatten().map(|typing| (typing.part, typing.until.0)),
            present: present.collect(),
        }
    }

    /// A word that only a newer instance knows is left out.
    fn news(self, now: Instant) -> News {
        let ended = self.ended.iter().filter_map(|(turn, state)| Some((*turn, state.parse().ok()?)));
        let present = self.present.into_iter().filter_map(|present| {
            Some(Present {
                person: Person { id: present.id, name: present.name },
                presence: present.presence.parse().ok()?,
                until: now + Duration::from_millis(present.left_ms).min(super::FORGOTTEN),
            })
        });
        let typing = self.typing.map(|(part, until)| Typing { part, until: Time(until) });
        News {
            ended: ended.collect(),
            generation: self.generation.map(|(turn, text)| Generation { turn, text: text.into() }),
            typing: self.is_typing_told.then_some(typing),
            present: present.collect(),
        }
    }
}
