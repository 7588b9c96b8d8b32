//! The fake model. It answers with the names of the messages that it answers, so that the judge can tell what each
//! answer covers.
//!
//! In: chat completions, asked for as a stream. Out: answers of one to three parts, and what goes wrong on command.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::records::{Book, Call};
use crate::fakes::{
    completions::{DONE, asked, chunk},
    lock,
    names::{Marker, Part},
    wire::{Reply, Request},
};

/// Longer than an answer of one part, shorter than two: Baton splits between paragraphs.
pub(super) const SPLIT_CHARS: usize = 200;
/// A paragraph has this many characters at least.
const PARAGRAPH: usize = 160;
const USUAL_MS: (u64, u64) = (20, 200);
const SLOW_MS: (u64, u64) = (800, 4_000);
/// One call in so many is slow without any fault, so that people and newer texts come in between.
const SLOW_ONE_IN: usize = 12;

/// The model.
pub(super) struct Model {
    book: Arc<Book>,
    dice: Mutex<fastrand::Rng>,
    fails_until: Mutex<Option<Instant>>,
    is_slow_until: Mutex<Option<Instant>>,
    hangs: AtomicUsize,
    breaks: AtomicUsize,
}

impl Model {
    /// One that is well.
    pub(super) fn new(book: Arc<Book>, seed: u64) -> Self {
        Self {
            book,
            dice: Mutex::new(fastrand::Rng::with_seed(seed)),
            fails_until: Mutex::default(),
            is_slow_until: Mutex::default(),
            hangs: AtomicUsize::new(0),
            breaks: AtomicUsize::new(0),
        }
    }

    /// Answers 500 for so long.
    pub(super) fn fail_for(&self, time: Duration) {
        *lock(&self.fails_until) = Some(Instant::now() + time);
    }

    /// Takes seconds for so long.
    pub(super) fn slow_for(&self, time: Duration) {
        *lock(&self.is_slow_until) = Some(Instant::now() + time);
    }

    /// Says nothing to the next calls.
    pub(super) fn hang(&self, times: usize) {
        self.hangs.store(times, Ordering::Relaxed);
    }

    /// Breaks off in the next answers.
    pub(super) fn break_off(&self, times: usize) {
        self.breaks.store(times, Ordering::Relaxed);
    }

    /// Answers one call.
    pub(super) async fn answer(self: Arc<Self>, request: Request) -> Reply {
        let names = asked(&request.json());
        let fails = is_before(&self.fails_until);
        let hangs = !fails && take_one(&self.hangs);
        let breaks = !fails && !hangs && take_one(&self.breaks);
        let (parts, pause) = self.draw();
        let call = self.write_down(&request, &names, parts, fails || hangs || breaks);
        if hangs {
            return Reply::Hang;
        }
        sleep(pause).await;
        if fails {
            return Reply::Answer(500, r#"{"error":{"message":"the model stumbled"}}"#.to_owned());
        }
        stream(&answer(call, parts, &names), breaks)
    }

    fn draw(&self) -> (usize, Duration) {
        let mut dice = lock(&self.dice);
        let parts = [1, 1, 1, 1, 1, 1, 2, 2, 2, 3][dice.usize(0..10)];
        let is_slow = is_before(&self.is_slow_until) || dice.usize(0..SLOW_ONE_IN) == 0;
        let (shortest, longest) = if is_slow { SLOW_MS } else { USUAL_MS };
        (parts, Duration::from_millis(dice.u64(shortest..longest)))
    }

    fn write_down(&self, request: &Request, names: &[Marker], parts: usize, failed: bool) -> usize {
        let mut records = self.book.open();
        records.calls.push(Call {
            at: request.arrived,
            contact: names.first().map(|marker| marker.contact),
            names: names.to_vec(),
            parts,
            failed,
        });
        records.calls.len() - 1
    }
}

/// Paragraphs of one length, so that it is plain where they are parted; each names itself and what it answers.
fn answer(call: usize, parts: usize, names: &[Marker]) -> Vec<String> {
    let names: String = names.iter().map(|marker| format!(" {marker}")).collect();
    let paragraphs: Vec<String> =
        (1..=parts).map(|part| format!("{} answers{names}", Part { call, part, parts })).collect();
    let longest = paragraphs.iter().map(String::len).max().unwrap_or(0).max(PARAGRAPH);
    let pad = |text: String| format!("{text} {}", "-".repeat((longest - text.len()).max(1)));
    paragraphs.into_iter().map(pad).collect()
}

fn stream(paragraphs: &[String], breaks: bool) -> Reply {
    let piece = |content: &str, reason: Option<&str>| (Duration::from_millis(5), chunk(content, reason));
    let text = paragraphs.join("\n\n");
    let (first, second) = text.split_at(text.len() / 2);
    let mut pieces = vec![piece(first, None)];
    if !breaks {
        pieces.push(piece(second, None));
        pieces.push(piece("", Some("stop")));
        pieces.push((Duration::ZERO, DONE.to_owned()));
    }
    Reply::Stream { pieces, is_whole: !breaks, watch: None }
}

/// Takes one of a number of times, if there is one left.
pub(super) fn take_one(times: &AtomicUsize) -> bool {
    times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// Whether that moment is still to come.
pub(super) fn is_before(until: &Mutex<Option<Instant>>) -> bool {
    lock(until).is_some_and(|until| Instant::now() < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paragraphs_of_an_answer_have_one_length() {
        let names: Vec<Marker> = (0..40).map(|number| Marker { contact: 7, number }).collect();
        for (parts, names) in [(1, &names[..1]), (3, &names[..]), (2, &names[..0])] {
            let paragraphs = answer(12, parts, names);
            assert_eq!(paragraphs.len(), parts);
            assert!(paragraphs.iter().all(|text| text.len() == paragraphs[0].len()));
            assert_eq!(Marker::all_in(&paragraphs[0]), names);
        }
    }
}
