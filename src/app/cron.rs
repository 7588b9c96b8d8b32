//! When chores run: by cron expressions; and where these leave one waiting for too long, by a clock that nobody sets.
//!
//! In: chores, each with its schedule. Out: each chore on a task of its own, at most once at a time, until the instance stops.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use anyhow::Context as _;
use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio_cron_scheduler::{Job, JobScheduler};
use tokio_util::sync::CancellationToken;

use super::shutdown::Shutdown;

/// When a chore is done.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    cron: &'static str,
    every: Duration,
}

impl Schedule {
    /// That cron expression, which is due this often.
    pub(super) const fn new(cron: &'static str, every: Duration) -> Self {
        Self { cron, every }
    }

    /// After this long without a run, a chore is done all the same: the scheduler goes by the clock on the wall, and where that
    /// is set back, nothing is due until it has come as far as before.
    const fn fallback_after(self) -> Duration {
        self.every.saturating_mul(2)
    }
}

/// Runs chores by their schedules.
pub(super) struct Scheduler {
    scheduler: JobScheduler,
    shutdown: Shutdown,
}

impl Scheduler {
    /// None yet.
    pub(super) async fn new(shutdown: &Shutdown) -> anyhow::Result<Self> {
        let scheduler = JobScheduler::new().await.context("the scheduler does not start")?;
        Ok(Self { scheduler, shutdown: shutdown.clone() })
    }

    /// From now on that chore is done by that schedule. What falls due while the chore still runs is done once, after it.
    pub(super) async fn add<C, F, W>(
        &self,
        schedule: Schedule,
        chores: &Arc<C>,
        chore: F,
    ) -> anyhow::Result<()>
    where
        C: Send + Sync + 'static,
        F: Fn(Arc<C>) -> W + Send + 'static,
        W: Future<Output = ()> + Send,
    {
        let rung = Arc::new(Notify::new());
        let ringing = Arc::clone(&rung);
        let job = Job::new_async(schedule.cron, move |_, _| {
            let ringing = Arc::clone(&ringing);
            Box::pin(async move { ringing.notify_one() })
        })?;
        self.scheduler.add(job).await?;
        let (chores, stop) = (Arc::clone(chores), self.shutdown.stopping.clone());
        self.shutdown.tasks.spawn(async move {
            run_chore(&rung, schedule.fallback_after(), &stop, move || chore(Arc::clone(&chores))).await;
        });
        Ok(())
    }

    /// It goes until the instance stops.
    pub(super) async fn run(mut self) -> anyhow::Result<()> {
        self.scheduler.start().await.context("the scheduler does not start")?;
        self.shutdown.tasks.clone().spawn(async move {
            self.shutdown.stopping.cancelled().await;
            if let Err(error) = self.scheduler.shutdown().await {
                tracing::debug!(%error, "the scheduler did not stop cleanly");
            }
        });
        Ok(())
    }
}

/// Does the chore whenever it is due, and where it is not for long.
async fn run_chore<W: Future<Output = ()>>(
    rung: &Notify,
    fallback_after: Duration,
    stop: &CancellationToken,
    chore: impl Fn() -> W,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = rung.notified() => {}
            () = tokio::time::sleep(fallback_after) => {}
        }
        // What a chore was waiting for is asked again after the next start: none is worth a slow end.
        tokio::select! {
            () = stop.cancelled() => return,
            done = AssertUnwindSafe(chore()).catch_unwind() => if done.is_err() {
                tracing::error!("a chore panicked; it is done again when it is due");
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const EVERY_SECOND: Schedule = Schedule::new("* * * * * *", Duration::from_secs(1));

    /// A chore that counts how often it is done, and what calls it.
    fn counting() -> (Arc<Notify>, CancellationToken, Arc<AtomicU32>) {
        let (rung, stop, done) =
            (Arc::new(Notify::new()), CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let (bell, stopping, count) = (Arc::clone(&rung), stop.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let chore = || async {
                count.fetch_add(1, Ordering::SeqCst);
            };
            run_chore(&bell, EVERY_SECOND.fallback_after(), &stopping, chore).await;
        });
        (rung, stop, done)
    }

    /// So long, moment by moment.
    async fn pass(seconds: u32) {
        for _ in 0..seconds * 10 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_clock_that_was_set_back_calls_no_chore_they_are_done_all_the_same() {
        let (rung, stop, done) = counting();
        for _ in 0..10 {
            rung.notify_one();
            pass(1).await;
        }
        assert_eq!(done.load(Ordering::SeqCst), 10, "whenever it is due, and no more");
        pass(3_600).await;
        assert_eq!(done.load(Ordering::SeqCst), 10 + 1_800, "the schedule was silent for an hour");
        stop.cancel();
        pass(10).await;
        assert_eq!(done.load(Ordering::SeqCst), 10 + 1_800, "the instance stops");
    }

    #[tokio::test]
    async fn a_chore_that_hangs_keeps_no_other_from_being_done() {
        let shutdown = Shutdown::default();
        let scheduler = Scheduler::new(&shutdown).await.expect("a scheduler");
        let done = Arc::new(Notify::new());
        scheduler.add(EVERY_SECOND, &done, |_| std::future::pending()).await.expect("a schedule");
        scheduler
            .add(EVERY_SECOND, &done, |done| async move { done.notify_one() })
            .await
            .expect("a schedule");
        scheduler.run().await.expect("it runs");
        for _ in 0..2 {
            tokio::time::timeout(Duration::from_secs(10), done.notified()).await.expect("it is done");
        }
        shutdown.stopping.cancel();
        shutdown.tasks.close();
        shutdown.tasks.wait().await;
    }
}
