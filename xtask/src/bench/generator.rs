//! Contacts who write. A contact's next webhook waits until the one before was answered, as Green API does it.
//!
//! In: what is to be written, and how fast. Out: webhooks; when each was sent and taken, in the book.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::{
    sync::Mutex,
    task::JoinSet,
    time::{sleep, sleep_until},
};

use super::{
    book::{Book, Written},
    fakes::chat_of,
};
use crate::fakes::{lock, names::Marker, webhooks, wire::Client};

/// Green API waits three minutes. Nothing here should take so long.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// A webhook that was not answered 200 comes again after this, so often.
const AGAIN: Duration = Duration::from_secs(1);
const TRIES: usize = 60;
/// Between the messages of a burst.
const BURST_GAP: Duration = Duration::from_millis(120);

/// Whoever writes.
pub(super) struct Generator {
    pub(super) book: Arc<Book>,
    pub(super) client: Client,
    path: String,
    authorization: String,
    /// Of each contact, who may write next.
    orders: std::sync::Mutex<HashMap<usize, Arc<Mutex<()>>>>,
    /// How many of a hundred webhooks come once more.
    pub(super) repeated_percent: u8,
    repeats: Mutex<JoinSet<()>>,
    dice: std::sync::Mutex<fastrand::Rng>,
}

impl Generator {
    pub(super) fn new(book: Arc<Book>, client: Client, path: &str, token: &str) -> Self {
        Self {
            book,
            client,
            path: path.to_owned(),
            authorization: format!("Bearer {token}"),
            orders: std::sync::Mutex::default(),
            repeated_percent: 0,
            repeats: Mutex::default(),
            dice: std::sync::Mutex::default(),
        }
    }

    /// Writes one message after those that its contact wrote before it.
    pub(super) async fn write(self: &Arc<Self>, marker: Marker) {
        let order = Arc::clone(lock(&self.orders).entry(marker.contact).or_default());
        let _in_order = order.lock().await;
        let text = format!("{marker} is what I wanted to ask");
        let body = webhooks::incoming(&chat_of(marker.contact), &format!("IN{marker}"), &text);
        let written = Written { at: Instant::now(), taken: None, is_answered: false };
        self.book.open().written.insert(marker, written);
        let is_taken = self.deliver_until_taken(&body).await;
        let now = Instant::now();
        if let Some(written) = self.book.open().written.get_mut(&marker) {
            written.taken = is_taken.then_some(now);
        }
        if is_taken && lock(&self.dice).u8(0..100) < self.repeated_percent {
            let again = Arc::clone(self);
            let pause = Duration::from_millis(lock(&self.dice).u64(0..1_000));
            self.repeats.lock().await.spawn(async move {
                sleep_until((now + pause).into()).await;
                again.deliver_until_taken(&body).await;
                again.book.open().repeated += 1;
            });
        }
    }

    /// As Green API does it, only sooner.
    async fn deliver_until_taken(&self, body: &str) -> bool {
        for _ in 0..TRIES {
            if self.deliver(body).await {
                return true;
            }
            self.book.open().refused += 1;
            sleep(AGAIN).await;
        }
        false
    }

    async fn deliver(&self, body: &str) -> bool {
        let headers = [("Authorization", self.authorization.as_str())];
        let answer = self.client.ask("POST", &self.path, &headers, body, ANSWER_LIMIT).await;
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// As fast as they are taken, with so many open at once.
    pub(super) async fn flood(self: &Arc<Self>, order: Vec<Marker>, open: usize) -> Result<()> {
        let (order, next) = (Arc::new(order), Arc::new(AtomicUsize::new(0)));
        let mut writers = JoinSet::new();
        for _ in 0..open {
            let (generator, order, next) = (Arc::clone(self), Arc::clone(&order), Arc::clone(&next));
            writers.spawn(async move {
                while let Some(marker) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    generator.write(*marker).await;
                }
            });
        }
        join_all(writers).await
    }

    /// Each turn at its time, so many in a second, however long Baton takes.
    pub(super) async fn keep_pace(self: &Arc<Self>, turns: Vec<Vec<Marker>>, rate: f64) -> Result<()> {
        let began = Instant::now();
        let mut writers = JoinSet::new();
        for (n, turn) in (0_u32..).zip(turns) {
            sleep_until((began + Duration::from_secs_f64(f64::from(n) / rate)).into()).await;
            let generator = Arc::clone(self);
            writers.spawn(async move {
                for (n, marker) in turn.into_iter().enumerate() {
                    if n > 0 {
                        sleep_until((Instant::now() + BURST_GAP).into()).await;
                    }
                    generator.write(marker).await;
                }
            });
        }
        join_all(writers).await?;
        join_all(std::mem::take(&mut *self.repeats.lock().await)).await
    }
}

async fn join_all(mut tasks: JoinSet<()>) -> Result<()> {
    while let Some(done) = tasks.join_next().await {
        done?;
    }
    Ok(())
}

/// So many messages of so many contacts: each contact's first in a fixed random order, then each one's second in the same.
pub(super) fn order(contacts: usize, messages: usize) -> Vec<Marker> {
    let mut shuffled: Vec<usize> = (0..contacts).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut shuffled);
    (0..messages).flat_map(|number| shuffled.iter().map(move |&contact| Marker { contact, number })).collect()
}

/// Turns of one message each.
pub(super) fn single(order: Vec<Marker>) -> Vec<Vec<Marker>> {
    order.into_iter().map(|marker| vec![marker]).collect()
}

/// As many turns, of which so many of a hundred are two to four messages.
pub(super) fn in_bursts(contacts: usize, turns: usize, percent: u8) -> Vec<Vec<Marker>> {
    let mut dice = fastrand::Rng::with_seed(11);
    let mut numbers = vec![0; contacts];
    let turns = order(contacts, turns).into_iter().map(|Marker { contact, .. }| {
        let length = if dice.u8(0..100) < percent { dice.usize(2..=4) } else { 1 };
        let first = numbers[contact];
        numbers[contact] += length;
        (first..first + length).map(|number| Marker { contact, number }).collect()
    });
    turns.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_write_by_turns() {
        let order = order(3, 2);
        let contacts: Vec<usize> = order.iter().map(|marker| marker.contact).collect();
        assert_eq!(contacts[..3], contacts[3..]);
        assert!(order[..3].iter().all(|marker| marker.number == 0));
        assert!(order[3..].iter().all(|marker| marker.number == 1));
    }

    #[test]
    fn bursts_leave_no_number_out() {
        let turns = in_bursts(4, 30, 30);
        assert_eq!(turns.len(), 120);
        assert!(turns.iter().any(|turn| turn.len() > 1) && turns.iter().any(|turn| turn.len() == 1));
        for contact in 0..4 {
            let numbers =
                turns.iter().flatten().filter(|marker| marker.contact == contact).map(|it| it.number);
            let numbers: Vec<usize> = numbers.collect();
            assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
        }
    }
}
