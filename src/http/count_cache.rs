//! How many conversations there are, counted once for all who ask the same.
//!
//! Every open inbox asks within a second of whatever happens, and no index answers it. In: filters. Out: counts that began
//! after they were asked for, so that a client that has changed something sees it in them.

use std::{
    sync::{Arc, Mutex as Lock, PoisonError},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use crate::flow::{
    archive::{ConversationFilter, Counts},
    ledger::Error,
};

/// From the beginning of one to that of the next, in multiples of what the first took: a request meanwhile waits for the next.
const APART: u32 = 10;

/// Nobody waits longer than this for the next to begin.
const APART_MAX: Duration = Duration::from_secs(10);

/// Counts of this process.
#[derive(Default)]
pub struct CountCache {
    /// By what they are of; few are asked for at a time.
    filters: Lock<Vec<(ConversationFilter, Arc<Latest>)>>,
}

/// The latest of one filter, held by the one who counts.
type Latest = Mutex<Option<Count>>;

struct Count {
    began: Instant,
    took: Duration,
    /// None: it failed.
    counts: Option<Counts>,
}

impl Count {
    /// When the next may begin.
    fn next_at(&self) -> Instant {
        self.began + (self.took * APART).min(APART_MAX)
    }
}

impl CountCache {
    /// Those of that filter: of a count that begins from now on, which `count` makes or somebody else who waits for it, too.
    pub(super) async fn of(
        &self,
        filter: &ConversationFilter,
        count: impl AsyncFnOnce(&ConversationFilter) -> Result<Counts, Error>,
    ) -> Result<Counts, Error> {
        let asked = Instant::now();
        let latest = self.latest(filter);
        let mut latest = latest.lock().await;
        if let Some(known) = &*latest {
            if known.began >= asked {
                let failed = || Error::Unavailable("conversations could not be counted a moment ago".into());
                return known.counts.clone().ok_or_else(failed);
            }
            tokio::time::sleep_until(known.next_at()).await;
        }
        let began = Instant::now();
        let counts = count(filter).await;
        *latest = Some(Count { began, took: began.elapsed(), counts: counts.as_ref().ok().cloned() });
        counts
    }

    /// Where they are kept. Forgets those that hold back nobody any more.
    fn latest(&self, filter: &ConversationFilter) -> Arc<Latest> {
        let mut filters = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        filters.retain(|(_, latest)| {
            Arc::strong_count(latest) > 1
                || latest.try_lock().is_ok_and(|it| it.as_ref().is_some_and(|it| it.next_at() > now))
        });
        if let Some((_, latest)) = filters.iter().find(|(known, _)| known == filter) {
            return Arc::clone(latest);
        }
        let latest = Arc::new(Latest::default());
        filters.push((filter.clone(), Arc::clone(&latest)));
        latest
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures_util::future::join_all;

    use super::*;

    /// Counts how often it is counted.
    #[derive(Default)]
    struct Table {
        count_cache: CountCache,
        times: AtomicI64,
    }

    impl Table {
        async fn ask(&self, filter: ConversationFilter, ms: u64) -> i64 {
            let count = async |_: &ConversationFilter| {
                let all = self.times.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(Counts { all, ..Counts::default() })
            };
            self.count_cache.of(&filter, count).await.expect("counted").all
        }
    }

    fn all() -> ConversationFilter {
        ConversationFilter::default()
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_for_the_same_at_once_is_told_of_one_count() {
        let table = Table::default();
        let (shop, began) =
            (ConversationFilter { channels: Some(vec!["shop".to_owned()]), ..all() }, Instant::now());
        assert_eq!(join_all((0..12).map(|_| table.ask(all(), 40))).await, [1; 12]);
        assert_eq!(table.ask(shop, 40).await, 2, "others see others");
        assert_eq!(began.elapsed(), Duration::from_millis(80));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_told_of_a_count_that_began_before_they_asked() {
        let table = Table::default();
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            table.ask(all(), 40).await
        };
        assert_eq!(tokio::join!(table.ask(all(), 40), late), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_longer_is_counted_less_often() {
        for (ms, apart_ms) in [(1, 10), (40, 400), (450, 4_500), (3_000, 10_000)] {
            let (table, began) = (Table::default(), Instant::now());
            table.ask(all(), ms).await;
            // As twelve inboxes do, none of them at the same moment.
            let asked = (0..12).map(|_| table.ask(all(), ms));
            assert_eq!(join_all(asked).await, [2; 12]);
            assert_eq!(began.elapsed(), Duration::from_millis(apart_ms + ms), "{ms}");
            tokio::time::sleep(APART_MAX).await;
            let asked = Instant::now();
            assert_eq!(table.ask(all(), 0).await, 3);
            assert_eq!(asked.elapsed(), Duration::ZERO, "after a while nobody waits");
            assert_eq!(table.count_cache.filters.lock().expect("whole").len(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_count_that_fails_does_not_try_it_again() {
        let (counted, times, filter) = (CountCache::default(), AtomicI64::new(0), all());
        let fail = async |_: &ConversationFilter| {
            times.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(5)).await;
            Err(Error::Unavailable("away".into()))
        };
        let told = join_all((0..12).map(|_| counted.of(&filter, &fail))).await;
        assert!(told.iter().all(|it| matches!(it, Err(Error::Unavailable(_)))));
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_half_way_keeps_nobody_waiting() {
        let table = Table::default();
        let away = tokio::time::timeout(Duration::from_millis(5), table.ask(all(), 40));
        let (away, told) = tokio::join!(away, table.ask(all(), 40));
        assert!(away.is_err());
        assert_eq!(told, 2);
    }
}
