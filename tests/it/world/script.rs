//! The model of tests: answers as a test wrote them down, waits where the test wants to hold it, and remembers what
//! it was asked.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use baton::flow::generator::{Failure, FailureKind, Generator, Line, Progress, Request, ToolCall, Written};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

/// Answers by steps: each request takes the first step that fits it.
#[derive(Debug, Default)]
pub(crate) struct Script {
    steps: Mutex<VecDeque<Step>>,
    requests: watch::Sender<Vec<Request>>,
    hang_ups: watch::Sender<usize>,
}

/// One answer: what is said, to which request, and when.
#[derive(Clone)]
pub(crate) struct Step {
    fits: Arc<dyn Fn(&Request) -> bool + Send + Sync>,
    outcome: Result<Written, Failure>,
    hold: Option<Hold>,
    stays: bool,
}

/// Where a test holds an answer back: written, but without its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hold(Arc<Gates>);

#[derive(Debug)]
struct Gates {
    reached: Semaphore,
    released: Semaphore,
}

impl Default for Gates {
    fn default() -> Self {
        Self { reached: Semaphore::new(0), released: Semaphore::new(0) }
    }
}

impl Script {
    /// Answers with these, in order.
    pub(crate) fn answers(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Mutex::new(steps.into_iter().collect()), ..Self::default() }
    }

    /// One more, after all others.
    pub(crate) fn add(&self, step: Step) {
        self.steps().push_back(step);
    }

    /// What it was asked, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.borrow().clone()
    }

    /// Waits until it was asked so often.
    pub(crate) async fn asked(&self, times: usize) {
        until(&self.requests, |requests| requests.len() >= times).await;
    }

    /// Waits until so many replies were dropped before their end.
    pub(crate) async fn hung_up(&self, times: usize) {
        until(&self.hang_ups, |count| *count >= times).await;
    }

    /// How many replies were dropped before their end.
    pub(crate) fn hang_ups(&self) -> usize {
        *self.hang_ups.borrow()
    }

    /// Steps that were not asked for; those that stay are not counted.
    pub(crate) fn steps_left(&self) -> usize {
        self.steps().iter().filter(|step| !step.stays).count()
    }

    fn steps(&self) -> MutexGuard<'_, VecDeque<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, request: &Request) -> Option<Step> {
        let mut steps = self.steps();
        let at = steps.iter().position(|step| (step.fits)(request))?;
        if steps[at].stays { steps.get(at).cloned() } else { steps.remove(at) }
    }
}

impl Step {
    /// Says this.
    pub(crate) fn says(text: &str) -> Self {
        Self::ends(Ok(Written { text: text.to_owned(), ..Written::default() }))
    }

    /// Calls a tool, with nothing beside it.
    pub(crate) fn calls(name: &str, arguments: &Value) -> Self {
        Self::says("").and_calls(name, arguments)
    }

    /// Fails.
    pub(crate) fn fails(kind: FailureKind) -> Self {
        Self::ends(Err(Failure::new(kind, "as the test wants")))
    }

    /// Is asked too often, and says when to come again.
    pub(crate) fn rate_limited(retry_after_ms: i64) -> Self {
        let failure = Failure::new(FailureKind::RateLimited, "as the test wants");
        Self::ends(Err(Failure { retry_after_ms: Some(retry_after_ms), ..failure }))
    }

    /// Ends so.
    pub(crate) fn ends(outcome: Result<Written, Failure>) -> Self {
        Self { fits: Arc::new(|_| true), outcome, hold: None, stays: false }
    }

    /// And calls a tool.
    #[must_use]
    pub(crate) fn and_calls(mut self, name: &str, arguments: &Value) -> Self {
        if let Ok(written) = &mut self.outcome {
            let id = format!("call_{}", written.calls.len());
            let (name, arguments) = (name.to_owned(), arguments.to_string());
            written.calls.push(ToolCall { id, name, arguments, ..ToolCall::default() });
        }
        self
    }

    /// And counts these tokens.
    #[must_use]
    pub(crate) fn and_counts(mut self, input_tokens: i64, output_tokens: i64) -> Self {
        self.outcome = match self.outcome {
            Ok(written) => Ok(Written { input_tokens, output_tokens, ..written }),
            Err(failure) => Err(failure.counting(input_tokens, output_tokens)),
        };
        self
    }

    /// But only to such a request.
    #[must_use]
    pub(crate) fn when(mut self, fits: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.fits = Arc::new(fits);
        self
    }

    /// But only if the contact's newest words hold this.
    #[must_use]
    pub(crate) fn to(self, words: &'static str) -> Self {
        self.when(move |request| {
            let newest = request.lines.iter().rev().find_map(|line| match line {
                Line::Contact(text) => Some(text),
                _ => None,
            });
            newest.is_some_and(|text| text.contains(words))
        })
    }

    /// But not before the test lets go.
    #[must_use]
    pub(crate) fn held(mut self, hold: &Hold) -> Self {
        self.hold = Some(hold.clone());
        self
    }

    /// And again to every later request that fits.
    #[must_use]
    pub(crate) fn always(mut self) -> Self {
        self.stays = true;
        self
    }
}

impl Hold {
    /// Holds one answer; for each further one it must be released again.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Waits until an answer waits here.
    pub(crate) async fn reached(&self) {
        pass(&self.0.reached).await;
    }

    /// Lets one answer go, now or when it comes.
    pub(crate) fn release(&self) {
        self.0.released.add_permits(1);
    }

    /// Waits here as an answer does.
    pub(crate) async fn wait(&self) {
        self.0.reached.add_permits(1);
        pass(&self.0.released).await;
    }
}

async fn until<T>(value: &watch::Sender<T>, holds: impl FnMut(&T) -> bool) {
    let mut changes = value.subscribe();
    // The sender is borrowed here, so it outlives the wait.
    changes.wait_for(holds).await.expect("the sender lives");
}

async fn pass(gate: &Semaphore) {
    // Nobody ever closes it.
    gate.acquire().await.expect("the gate is open for all").forget();
}

/// Counts a reply that was dropped before its end.
struct HangUp<'a> {
    count: &'a watch::Sender<usize>,
    is_done: bool,
}

impl Drop for HangUp<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.count.send_modify(|count| *count += 1);
        }
    }
}

#[async_trait]
impl Generator for Script {
    async fn reply(&self, request: &Request, progress: &dyn Progress) -> Result<Written, Failure> {
        let mut hang_up = HangUp { count: &self.hang_ups, is_done: false };
        let step = self.take(request);
        self.requests.send_modify(|requests| requests.push(request.clone()));
        let Some(step) = step else {
            hang_up.is_done = true;
            return Err(Failure::new(FailureKind::Refused, "the script has no step for this"));
        };
        if let Ok(written) = &step.outcome
            && !written.text.is_empty()
        {
            progress.wrote(&written.text);
        }
        if let Some(hold) = &step.hold {
            hold.wait().await;
        }
        hang_up.is_done = true;
        step.outcome
    }

    async fn check(&self) -> Result<String, Failure> {
        Ok("answers as written".to_owned())
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("outcome", &self.outcome)
            .field("hold", &self.hold)
            .field("stays", &self.stays)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use baton::flow::generator::{About, Offer};
    use serde_json::json;

    use super::*;

    struct Unheard;

    impl Progress for Unheard {
        fn wrote(&self, _so_far: &str) {}
    }

    fn from(text: &str) -> Request {
        Request {
            model: "scripted".into(),
            system: Arc::from(""),
            lines: vec![Line::Contact(text.into())],
            tools: Offer::Tools(Arc::default()),
            channel: "default".into(),
            about: About::default(),
            asked_before: 0,
        }
    }

    #[tokio::test]
    async fn each_request_takes_the_first_step_that_fits() {
        let script = Script::answers([
            Step::says("Nine to six.").to("open"),
            Step::fails(FailureKind::Cut),
            Step::says("A moment.").and_calls("hand_over", &json!({ "reason": "asked" })).and_counts(7, 2),
            Step::says("Always this.").always(),
        ]);
        let mut said = Vec::new();
        for text in ["Hello?", "Are you open?", "A person, please", "And?", "And?"] {
            said.push(
                script
                    .reply(&from(text), &Unheard)
                    .await
                    .map(|written| written.text)
                    .map_err(|failure| failure.kind),
            );
        }
        let expected = [
            Err(FailureKind::Cut),
            Ok("Nine to six.".to_owned()),
            Ok("A moment.".to_owned()),
            Ok("Always this.".to_owned()),
            Ok("Always this.".to_owned()),
        ];
        assert_eq!(said, expected);
        assert_eq!((script.requests().len(), script.steps_left(), script.hang_ups()), (5, 0, 0));
    }

    #[tokio::test]
    async fn a_request_without_a_step_fails_for_good() {
        let script = Script::answers([Step::says("Nine to six.").to("open")]);
        let failure = script.reply(&from("Hello?"), &Unheard).await.expect_err("a failure");
        assert!(!failure.kind.is_worth_another_try());
        assert_eq!(script.steps_left(), 1);
    }

    #[tokio::test]
    async fn an_answer_that_is_held_ends_when_the_test_lets_go() {
        let hold = Hold::new();
        let script = Arc::new(Script::answers([Step::says("Yes.").held(&hold)]));
        let asking = Arc::clone(&script);
        let reply = tokio::spawn(async move { asking.reply(&from("Hello?"), &Unheard).await });
        script.asked(1).await;
        hold.reached().await;
        assert!(!reply.is_finished());
        hold.release();
        assert_eq!(reply.await.expect("no panic").expect("an answer").text, "Yes.");
        assert_eq!(script.hang_ups(), 0);
    }

    #[tokio::test]
    async fn a_reply_that_is_dropped_is_counted() {
        let hold = Hold::new();
        let script = Arc::new(Script::answers([Step::says("Yes.").held(&hold)]));
        let asking = Arc::clone(&script);
        let reply = tokio::spawn(async move { asking.reply(&from("Hello?"), &Unheard).await });
        hold.reached().await;
        reply.abort();
        script.hung_up(1).await;
        assert_eq!(script.hang_ups(), 1);
    }
}
