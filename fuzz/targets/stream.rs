//! Any bytes as the answer of a model, streamed or whole. None may panic; how the network cuts them changes nothing; what
//! has no end is no answer; and what never ends is read only so far.

#![no_main]

use std::{
    convert::Infallible,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton::{
    adapters::openai::{read_stream, read_whole},
    flow::generator::{Failure, Progress, Written},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

/// Largest answer that is kept.
const ANSWER_MAX_BYTES: usize = 4 << 20;

/// Longest stream that is read.
const STREAM_MAX_BYTES: usize = 32 << 20;

const CALLS_MAX: usize = 32;

/// A number may be written longer than it came: `1e15`.
const GROWTH_MAX: usize = 8;

/// Never reached: all bytes are there at once.
const IDLE: Duration = Duration::from_secs(60);

const ENDS: [&[u8]; 2] = [b"[DONE]", b"finish_reason"];

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
}

fuzz_target!(|bytes: &[u8]| {
    // The first bytes say how long the pieces are, in turn; the rest is the answer.
    let Some((steps, body)) = bytes.split_first_chunk::<4>() else { return };
    let body = Bytes::copy_from_slice(body);
    let cut = pieces(&body, steps);
    let single = pieces(&body, &[0]);

    let (outcome, heard) = read(vec![body.clone()]);
    for pieces in [&cut, &single] {
        let (again, _) = read(pieces.clone());
        assert_eq!(again, outcome, "in {} pieces", pieces.len());
    }
    check(&outcome, &body);
    check_heard(&heard, &outcome);
    check_that_it_needs_an_end(&body, &outcome);

    let whole = at_once(vec![body.clone()]);
    assert_eq!(at_once(cut), whole, "as one body, in pieces");
    check(&whole, &body);
    if let Ok(written) = &whole {
        check_as_one_event(&body, written);
        let last = body
            .iter()
            .rposition(|byte| !byte.is_ascii_whitespace())
            .expect("an answer is not made of nothing");
        assert!(at_once(vec![body.slice(..last)]).is_err(), "its last brace is its end");
    }
    // Megabytes each time: not often.
    if steps[0] == u8::MAX && steps[1] > 0xf0 {
        check_without_end(&body);
    }
});

fn pieces(body: &Bytes, steps: &[u8]) -> Vec<Bytes> {
    let mut rest = body.clone();
    let mut pieces = Vec::new();
    for step in steps.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        pieces.push(rest.split_to(rest.len().min(1 + usize::from(*step))));
    }
    pieces
}

fn read(pieces: Vec<Bytes>) -> (Result<Written, Failure>, Vec<String>) {
    let heard = Heard::default();
    let bytes = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let outcome = RUNTIME.with(|runtime| runtime.block_on(read_stream(bytes, IDLE, &heard)));
    (outcome, heard.0.into_inner().expect("nobody panicked"))
}

fn at_once(pieces: Vec<Bytes>) -> Result<Written, Failure> {
    let bytes = stream::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    RUNTIME.with(|runtime| runtime.block_on(read_whole(bytes, IDLE)))
}

fn check(outcome: &Result<Written, Failure>, body: &[u8]) {
    match outcome {
        Ok(written) => {
            assert!(
                !written.text.is_empty() || !written.calls.is_empty(),
                "an answer says or does something"
            );
            assert_eq!(written.text, written.text.trim());
            assert!(written.input_tokens >= 0 && written.output_tokens >= 0);
            assert!(written.calls.len() <= CALLS_MAX, "{} calls", written.calls.len());
            assert!(written.calls.iter().all(|call| !call.id.is_empty() && !call.name.is_empty()));
            let length =
                written.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
            assert!(written.text.len() + length <= GROWTH_MAX * body.len(), "more came out than went in");
        }
        Err(failure) => {
            assert!((1..=80).contains(&failure.detail.len()), "a few words of our own: {failure}");
            assert_eq!(failure.retry_after_ms, None, "only a header says when");
        }
    }
}

/// Whoever watches sees the words grow, into those of the answer.
fn check_heard(heard: &[String], outcome: &Result<Written, Failure>) {
    for pair in heard.windows(2) {
        assert!(pair[1].len() > pair[0].len() && pair[1].starts_with(&pair[0]), "{pair:?}");
    }
    if let (Some(last), Ok(written)) = (heard.last(), outcome) {
        assert!(written.text.starts_with(last.trim()), "{last:?} became {:?}", written.text);
    }
}

/// What was cut before its first end is a failure, whatever it had said by then.
fn check_that_it_needs_an_end(body: &Bytes, outcome: &Result<Written, Failure>) {
    if body.windows(2).any(|pair| pair == b"\\u") {
        return; // An end may be spelled in escapes.
    }
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte));
    if matches!(first, Some(b'{' | b'[')) {
        return; // It is no stream: its last brace is its end.
    }
    let first = ENDS.iter().filter_map(|end| body.windows(end.len()).position(|bytes| bytes == *end)).min();
    match first {
        Some(at) => assert!(read(vec![body.slice(..at)]).0.is_err(), "cut before its end"),
        None => assert!(outcome.is_err(), "without an end"),
    }
}

/// An answer says the same as one JSON body and as the only event of a stream.
fn check_as_one_event(body: &Bytes, written: &Written) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    if !text.contains(['\n', '\r']) {
        let event = Bytes::from(format!("data: {text}\n\ndata: [DONE]\n\n"));
        assert_eq!(read(vec![event]).0.as_ref(), Ok(written), "as an event");
    }
}

/// The same bytes for ever: they are given up, or end by what they say.
fn check_without_end(body: &Bytes) {
    let piece = Bytes::from(body.repeat((1 << 16) / body.len().max(1) + 1));
    let largest = piece.len();
    if largest == 0 {
        return;
    }
    let taken = AtomicUsize::new(0);
    let bytes = stream::repeat(piece).map(|piece| {
        taken.fetch_add(piece.len(), Ordering::Relaxed);
        Ok::<_, Infallible>(piece)
    });
    let heard = Heard::default();
    let outcome = RUNTIME.with(|runtime| runtime.block_on(read_stream(bytes, IDLE, &heard)));
    let taken = taken.into_inner();
    assert!(taken <= STREAM_MAX_BYTES + largest, "{taken} bytes were read");
    if let Ok(written) = outcome {
        assert!(written.text.len() <= ANSWER_MAX_BYTES);
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn wrote(&self, so_far: &str) {
        self.0.lock().expect("nobody panicked").push(so_far.to_owned());
    }
}
