//! What the business knows in tests: answers as a test wrote them down, held where it wants that, and what it was asked.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use baton::flow::generator::{
    Failure, FailureKind,
    look_ups::{LookUps, Question},
};
use serde_json::Value;

use super::Hold;

/// A question, as the business heard it: the tool, its arguments, and its number in the turn.
pub(crate) type Heard = (String, Value, usize);

#[derive(Default)]
pub(crate) struct Business {
    answers: Mutex<VecDeque<Result<String, Failure>>>,
    asked: Mutex<Vec<Heard>>,
    hold: Mutex<Option<Hold>>,
    hang_ups: AtomicUsize,
}

impl Business {
    /// It will answer this to the next question that has no answer yet.
    pub(crate) fn answers(&self, text: &str) {
        self.answers.lock().expect("not poisoned").push_back(Ok(text.to_owned()));
    }

    /// Or not.
    pub(crate) fn fails(&self, detail: &str) {
        let failure = Failure::new(FailureKind::TimedOut, detail);
        self.answers.lock().expect("not poisoned").push_back(Err(failure));
    }

    /// Every answer waits, from now on, until the test lets it go.
    pub(crate) fn holds(&self) -> Hold {
        let hold = Hold::new();
        *self.hold.lock().expect("not poisoned") = Some(hold.clone());
        hold
    }

    pub(crate) fn asked(&self) -> Vec<Heard> {
        self.asked.lock().expect("not poisoned").clone()
    }

    /// How many questions were dropped before their answer.
    pub(crate) fn hang_ups(&self) -> usize {
        self.hang_ups.load(Ordering::SeqCst)
    }
}

/// Counts a question that was dropped.
struct HangUp<'a>(Option<&'a AtomicUsize>);

impl Drop for HangUp<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl LookUps for Business {
    async fn ask(&self, question: Question<'_>) -> Result<String, Failure> {
        let mut hang_up = HangUp(Some(&self.hang_ups));
        let heard = (question.asking.tool.clone(), question.asking.arguments.clone().into(), question.number);
        self.asked.lock().expect("not poisoned").push(heard);
        let hold = self.hold.lock().expect("not poisoned").clone();
        if let Some(hold) = hold {
            hold.wait().await;
        }
        hang_up.0 = None;
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        answer.expect("the test says what the business answers")
    }
}
