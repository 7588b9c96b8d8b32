//! The model without a model: answers by keyword for the demo and the sandbox, with faults on demand. In: a request of the
//! flow. Out: an answer or a failure, word by word.

mod demo;

mod faults;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::{Instant, sleep, sleep_until};

pub use self::faults::Faults;
use crate::domain::faults::ModelFault;
use crate::flow::generator::{Failure, FailureKind, Generator, Progress, Request, Written};

/// What a rate limit asks for.
const RATE_LIMIT_MS: i64 = 2_000;

/// Longest delay that is played.
const DELAY_MAX: Duration = Duration::from_secs(600);

/// Onlookers are notified at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The model of the demo and the sandbox. Answers to what a shop is asked, and misbehaves as it is told.
#[derive(Debug)]
pub struct Scripted {
    faults: Mutex<Faults>,
    idle: Duration,
}

impl Scripted {
    /// With these faults to begin with. A model that hangs is given up after `idle`, as one on the network would be.
    pub fn new(faults: Faults, idle: Duration) -> Self {
        Self { faults: Mutex::new(faults), idle }
    }

    /// How it behaves.
    pub fn faults(&self) -> Faults {
        *self.lock()
    }

    /// From the next reply on.
    pub fn set_faults(&self, faults: Faults) {
        *self.lock() = faults;
    }

    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Generator for Scripted {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        let Faults { delay_ms, fault } = self.faults();
        let delay = Duration::from_millis(delay_ms).min(DELAY_MAX);
        let written = demo::answer(request);
        let fails = |kind| Err(Failure::new(kind, "as told"));
        match fault {
            ModelFault::None => {
                write(&written.text, delay, progress).await;
                Ok(written)
            }
            ModelFault::Cut => {
                write(first_half(&written.text), delay / 2, progress).await;
                fails(FailureKind::Cut)
            }
            ModelFault::Error => {
                sleep(delay).await;
                fails(FailureKind::Server)
            }
            ModelFault::Empty => {
                sleep(delay).await;
                fails(FailureKind::Empty)
            }
            ModelFault::RateLimited => Err(Failure {
                retry_after_ms: Some(RATE_LIMIT_MS),
                ..Failure::new(FailureKind::RateLimited, "as told")
            }),
            ModelFault::Hang => {
                sleep(self.idle).await;
                fails(FailureKind::TimedOut)
            }
        }
    }

    async fn check(&self) -> Result<String, Failure> {
        Ok("answers by itself, without a model".to_owned())
    }
}

/// Writes word by word, so that the whole takes that long.
async fn write(text: &str, takes: Duration, progress: &dyn Progress) {
    let started = Instant::now();
    let words = u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX);
    let mut end = 0;
    let mut tell_at = started;
    for (word, written) in (1..).zip(text.split_inclusive(char::is_whitespace)) {
        reach(started + (takes / words.max(1) * word).min(takes)).await;
        end += written.len();
        if Instant::now() >= tell_at {
            progress.wrote(text[..end].trim_end());
            tell_at = Instant::now() + PROGRESS_EVERY;
        }
    }
    reach(started + takes).await;
}

/// The timer's grain would cost a millisecond a word even where there is nothing to wait for.
async fn reach(at: Instant) {
    if at > Instant::now() {
        sleep_until(at).await;
    }
}

fn first_half(text: &str) -> &str {
    let half = text.len() / 2;
    text[..text.floor_char_boundary(half)].rsplit_once(' ').map_or("", |(words, _)| words)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;
    use crate::domain::faults::ModelFault;
    use crate::flow::generator::{About, Line, Offer};

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Progress for Heard {
        fn wrote(&self, so_far: &str) {
            self.0.lock().expect("not poisoned").push(so_far.to_owned());
        }
    }

    fn request() -> Request {
        Request {
            model: "scripted".into(),
            system: Arc::from(""),
            lines: vec![Line::Contact("What does delivery cost?".into())],
            tools: Offer::Tools(Arc::default()),
            channel: "sandbox".into(),
            about: About::default(),
            asked_before: 0,
        }
    }

    async fn reply(scripted: &Scripted, heard: &Heard) -> Result<Written, Failure> {
        scripted.reply(&request(), heard).await
    }

    #[tokio::test(start_paused = true)]
    async fn words_come_one_after_another_and_take_their_time() {
        let scripted =
            Scripted::new(Faults { delay_ms: 250, fault: ModelFault::None }, Duration::from_secs(20));
        let (heard, started) = (Heard::default(), Instant::now());
        let written = reply(&scripted, &heard).await.expect("an answer");
        assert!(started.elapsed() >= Duration::from_millis(250));
        let heard = heard.0.into_inner().expect("not poisoned");
        assert!((2..=4).contains(&heard.len()), "{heard:?}");
        assert!(heard.is_sorted_by_key(String::len));
        assert!(heard.iter().all(|so_far| written.text.starts_with(so_far)));
    }

    #[tokio::test]
    async fn faults_come_as_told_and_go_when_told() {
        let scripted = Scripted::new(Faults::default(), Duration::from_millis(20));
        let table = [
            (ModelFault::Error, FailureKind::Server),
            (ModelFault::Cut, FailureKind::Cut),
            (ModelFault::Empty, FailureKind::Empty),
            (ModelFault::RateLimited, FailureKind::RateLimited),
            (ModelFault::Hang, FailureKind::TimedOut),
        ];
        for (fault, kind) in table {
            scripted.set_faults(Faults { fault, ..scripted.faults() });
            let failure = reply(&scripted, &Heard::default()).await.expect_err("a failure");
            assert_eq!(failure.kind, kind, "{fault}");
        }
        scripted.set_faults(Faults::default());
        assert!(reply(&scripted, &Heard::default()).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_cut_off_had_begun() {
        let scripted = Scripted::new(Faults { delay_ms: 0, fault: ModelFault::Cut }, Duration::from_secs(20));
        let heard = Heard::default();
        let failure = reply(&scripted, &heard).now_or_never().expect("without a delay it is done at once");
        assert_eq!(failure.expect_err("a failure").kind, FailureKind::Cut);
        assert_eq!(heard.0.lock().expect("not poisoned").len(), 1);
    }

    #[test]
    fn half_a_text_ends_between_words() {
        assert_eq!(first_half("Good morning, everyone"), "Good");
        assert_eq!(first_half("ééééééé"), "");
        assert_eq!(first_half(""), "");
    }
}
