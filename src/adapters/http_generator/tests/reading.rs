//! On bytes alone: what an answer is, however it is cut, and what it is not.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream as streams;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{done, error, event, says, whole};
use crate::{
    adapters::{
        http_generator::Events,
        model_server::{
            self,
            fake::{Heard, LONG, SECRET, kind},
        },
    },
    flow::generator::{Failure, FailureKind, Written},
};

/// Reads bytes in these pieces, without a server.
fn read_pieces(pieces: Vec<Bytes>) -> Result<Written, Failure> {
    let bytes = streams::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(model_server::read::<Events, _, _>(bytes, LONG, &Heard::default()))
}

fn read(events: &[String]) -> Result<Written, Failure> {
    read_pieces(vec![Bytes::from(events.concat())])
}

fn calls(calls: &Value) -> Result<Vec<(String, String, String)>, Failure> {
    let written = read(&[event(&json!({ "calls": calls })), done()])?;
    Ok(written.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect())
}

fn call_of(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Case K38.
#[test]
fn an_empty_answer_counts_as_none() {
    for nothing in [vec![done()], vec![says(""), says(" \n"), done()]] {
        assert_eq!(kind(read(&nothing)), FailureKind::Empty, "{nothing:?}");
    }
    assert_eq!(kind(read(&[])), FailureKind::Cut);
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let failure = read(&[event(&json!({ "done": true, "usage": usage }))]).expect_err("a failure");
    assert_eq!((failure.kind, failure.input_tokens, failure.output_tokens), (FailureKind::Empty, 10, 1));
}

#[test]
fn only_done_is_an_end() {
    let undone = event(&json!({ "text": "Yes.", "done": false, "usage": { "output_tokens": 4 } }));
    assert_eq!(kind(read(&[undone])), FailureKind::Cut);
    let at_once = event(&json!({ "text": "Yes.", "done": true }));
    assert_eq!(read(&[at_once, says("No."), event(&error("timeout"))]).expect("an answer").text, "Yes.");
    let with_null =
        event(&json!({ "text": null, "calls": null, "usage": null, "error": null, "done": true }));
    assert_eq!(read(&[says("Yes."), with_null]).expect("an answer").text, "Yes.");
    let of_tomorrow = event(&json!({ "mood": "good" }));
    assert_eq!(read(&[says("Yes."), of_tomorrow, done()]).expect("an answer").text, "Yes.");
}

#[test]
fn calls_come_with_any_event_and_their_arguments_as_json_or_as_text() {
    let given = json!([
        { "id": "a", "name": "hand_over", "arguments": { "reason": "asked" } },
        { "name": "stay_silent", "arguments": "{\"reason\": \"thanks\"}" },
        { "name": "stay_silent" },
    ]);
    let expected = [
        call_of("a", "hand_over", "{\"reason\":\"asked\"}"),
        call_of("call_1", "stay_silent", "{\"reason\": \"thanks\"}"),
        call_of("call_2", "stay_silent", ""),
    ];
    assert_eq!(calls(&given).expect("calls"), expected);

    let one = event(&json!({ "text": "A moment.", "calls": [{ "name": "hand_over" }] }));
    let two = event(&json!({ "done": true, "calls": [{ "name": "stay_silent" }] }));
    let written = read(&[one, two]).expect("an answer");
    assert_eq!((written.text.as_str(), written.calls.len()), ("A moment.", 2));

    let many = Value::from(vec![json!({ "name": "hand_over" }); 100]);
    for nonsense in [json!([{ "arguments": {} }]), many, json!([5]), json!({ "name": "hand_over" })] {
        assert_eq!(kind(calls(&nonsense).map(|_| Written::default())), FailureKind::Malformed, "{nonsense}");
    }
}

#[test]
fn the_last_count_holds() {
    let counted = |usage: Value| {
        let first = event(&json!({ "text": "Yes.", "usage": { "input_tokens": 10, "output_tokens": 1 } }));
        let written = read(&[first, event(&json!({ "done": true, "usage": usage }))]).expect("an answer");
        (written.input_tokens, written.output_tokens)
    };
    assert_eq!(counted(json!({ "output_tokens": 30 })), (10, 30));
    assert_eq!(counted(json!(null)), (10, 1));
    assert_eq!(counted(json!({ "input_tokens": -9, "output_tokens": null })), (0, 1));
    let absurd = json!({ "input_tokens": i64::MAX, "output_tokens": i64::MAX });
    assert_eq!(counted(absurd), (1_000_000_000, 1_000_000_000));
}

#[test]
fn an_error_in_the_stream_is_told_apart_by_its_code() {
    let table = [
        (json!("rate_limited"), FailureKind::RateLimited),
        (json!("overloaded"), FailureKind::Server),
        (json!("insufficient_quota"), FailureKind::Quota),
        (json!("content_filter"), FailureKind::Filtered),
        (json!(403), FailureKind::Refused),
        (json!("a word of its own"), FailureKind::Server),
    ];
    for (code, expected) in table {
        let told = json!({ "error": { "code": code, "message": format!("no, {SECRET}") } });
        for told in [event(&told), format!("event: error\n{}", event(&told))] {
            let failure = read(&[says("We open"), told]).expect_err("a failure");
            assert_eq!(failure.kind, expected, "{code}");
            assert!(!failure.to_string().contains(SECRET));
        }
    }
    let words = event(&json!({ "error": format!("no, {SECRET}") }));
    let failure = read(&[says("We open"), words]).expect_err("a failure");
    assert_eq!(failure.kind, FailureKind::Server);
    assert!(!failure.to_string().contains(SECRET));
}

#[test]
fn what_is_no_event_is_malformed() {
    for nonsense in
        ["data: We open at nine.\n\n", "data: {\"text\":\n\n", "data: [1]\n\n", "data: \"Yes.\"\n\n"]
    {
        assert_eq!(kind(read(&[nonsense.into(), done()])), FailureKind::Malformed, "{nonsense}");
    }
    let endless = vec![Bytes::from(vec![b'x'; 1 << 20]); 8];
    assert_eq!(kind(read_pieces(endless)), FailureKind::Malformed);
    let never_done: Vec<String> = vec![says(&"x".repeat(1 << 20)); 8];
    assert_eq!(kind(read(&never_done)), FailureKind::Malformed);
}

#[test]
fn a_stream_may_be_cut_at_any_byte() {
    let words = "Grüße 👩‍👩‍👧‍👦 – bis neun.";
    let end = event(&json!({ "done": true, "calls": [{ "name": "stay_silent", "arguments": {} }] }));
    let plain = [says(words), end];
    let expected = read(&plain).expect("an answer");
    assert_eq!((expected.text.as_str(), expected.calls.len()), (words, 1));
    let bytes = Bytes::from(plain.concat());
    let single = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
    assert_eq!(read_pieces(single).as_ref(), Ok(&expected), "byte by byte");
    for at in 0..=bytes.len() {
        let halves = vec![bytes.slice(..at), bytes.slice(at..)];
        assert_eq!(read_pieces(halves).as_ref(), Ok(&expected), "in two at {at}");
    }
}

#[test]
fn what_the_guide_shows_as_answers_are_some() {
    let guide = include_str!("../../../../docs/guides/models.md");
    let (_, guide) = guide.split_once("\nAnswer with any 2xx").expect("the guide says how");
    let block = |kind: &str| {
        let (_, rest) = guide.split_once(&format!("```{kind}\n")).expect("an example");
        rest.split_once("```").expect("it ends").0.to_owned()
    };
    let streamed = read(&[block("text") + "\n"]).expect("an answer");
    let (text, input_tokens, output_tokens) = ("We open at nine.".into(), 310, 6);
    assert_eq!(streamed, Written { text, input_tokens, output_tokens, ..Written::default() });
    let whole: Value = serde_json::from_str(&block("json")).expect("JSON");
    let whole = read(&[event(&whole), event(&json!({ "done": true }))]).expect("an answer");
    assert_eq!((whole.text.as_str(), whole.calls.len(), whole.input_tokens), ("A colleague comes.", 1, 310));
}

/// Every whole event is one, and what is cut before its end is none.
#[test]
fn an_answer_cut_before_its_end_is_a_failure() {
    let whole = whole();
    let end = whole.find("data: {\"done\"").expect("it ends");
    for at in (0..end).filter(|at| whole.is_char_boundary(*at)) {
        assert_eq!(kind(read(&[whole[..at].to_owned()])), FailureKind::Cut, "cut at {at}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..16)) {
        let _either = read_pieces(pieces.into_iter().map(Bytes::from).collect());
    }

    #[test]
    fn no_order_of_events_without_an_end_is_an_answer(picks in prop::collection::vec(0..6_usize, 0..12)) {
        let events = [
            says("ü"), says(""), event(&error("timeout")), event(&json!({ "done": false })),
            event(&json!({ "calls": [{ "name": "hand_over" }] })), ": a comment\n\n".into(),
        ];
        let picked: Vec<String> = picks.iter().map(|pick| events[*pick].clone()).collect();
        prop_assert!(read(&picked).is_err());
    }
}
