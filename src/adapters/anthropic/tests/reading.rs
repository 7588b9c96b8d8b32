//! On bytes alone: what an answer is, however it is cut, and what it is not.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream as streams;
use proptest::prelude::*;
use serde_json::json;

use super::{begins, block, call, closes, delta, error, event, over, ping, says, stops, text, whole};
use crate::{
    adapters::{
        anthropic::Events,
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

fn calls(events: &[String]) -> Vec<(String, String, String)> {
    let events = [events, &[stops("tool_use"), over()]].concat();
    let written = read(&events).expect("an answer");
    written.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn call_of(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.into(), name.into(), arguments.into())
}

/// Case K38.
#[test]
fn an_empty_answer_counts_as_none() {
    for nothing in [
        vec![begins(), stops("end_turn"), over()],
        vec![begins(), says(&["", " \n"]), stops("end_turn"), over()],
        vec![over()],
    ] {
        assert_eq!(kind(read(&nothing)), FailureKind::Empty, "{nothing:?}");
    }
    assert_eq!(kind(read(&[])), FailureKind::Cut);
}

#[test]
fn a_refusal_is_no_answer_whatever_was_written_before_it() {
    let refused = [begins(), says(&["Half a sen"]), stops("refusal"), over()];
    let failure = read(&refused).expect_err("a failure");
    assert_eq!((failure.kind, failure.input_tokens, failure.output_tokens), (FailureKind::Filtered, 10, 4));
    let broken_off = read(&[begins(), says(&["Half a sen"]), event(&error("overloaded_error"))]);
    let failure = broken_off.expect_err("a failure");
    assert_eq!((failure.kind, failure.input_tokens, failure.output_tokens), (FailureKind::Server, 10, 1));
}

#[test]
fn an_end_marker_or_a_stop_reason_is_an_end() {
    let read_text = |events: &[String]| read(events).expect("an answer").text;
    assert_eq!(read_text(&[begins(), says(&["Yes."]), over()]), "Yes.");
    assert_eq!(read_text(&[begins(), says(&["Yes."]), stops("end_turn")]), "Yes.");
    for cut_short in ["max_tokens", "model_context_window_exceeded", "a reason of tomorrow"] {
        assert_eq!(read_text(&[begins(), says(&["Yes, and"]), stops(cut_short), over()]), "Yes, and");
    }
    let spoiled = [says(&["Yes."]), stops("end_turn"), "data: no JSON\n\n".into()];
    assert_eq!(read_text(&spoiled), "Yes.", "what comes behind the end");
    let after_the_marker = [says(&["Yes."]), over(), says(&["No."])];
    assert_eq!(read_text(&after_the_marker), "Yes.");
}

#[test]
fn calls_are_put_together_from_their_pieces() {
    let two = [
        begins(),
        says(&["One moment."]),
        call(1, "toolu_1", "hand_over", &["", "{\"reason\":", " \"asked\"}"]),
        call(2, "toolu_2", "stay_silent", &[]),
    ];
    let expected =
        [call_of("toolu_1", "hand_over", "{\"reason\": \"asked\"}"), call_of("toolu_2", "stay_silent", "")];
    assert_eq!(calls(&two), expected);

    let begin = |index, id: &str| {
        block(index, &json!({ "type": "tool_use", "id": id, "name": "hand_over", "input": {} }))
    };
    let add = |index, json: &str| delta(index, &json!({ "type": "input_json_delta", "partial_json": json }));
    let mixed = [begin(0, "a"), begin(1, "b"), add(0, "{"), add(1, "{\"x\":1"), add(0, "}"), add(1, "}")];
    assert_eq!(calls(&mixed), [call_of("a", "hand_over", "{}"), call_of("b", "hand_over", "{\"x\":1}")]);

    let at_once =
        json!({ "type": "tool_use", "id": "a", "name": "hand_over", "input": { "reason": "asked" } });
    assert_eq!(calls(&[block(0, &at_once)]), [call_of("a", "hand_over", "{\"reason\":\"asked\"}")]);
}

#[test]
fn a_call_without_a_name_or_too_many_of_them_are_malformed() {
    let nameless = [call(0, "toolu_1", "", &[]), stops("tool_use"), over()];
    assert_eq!(kind(read(&nameless)), FailureKind::Malformed);
    let many: Vec<String> = (0..100).map(|index| call(index, "a", "hand_over", &[])).collect();
    assert_eq!(kind(read(&many)), FailureKind::Malformed);
}

#[test]
fn thoughts_and_what_is_new_are_left_unread() {
    let stream = [
        begins(),
        event(&json!({ "type": "an_event_of_tomorrow", "index": "first" })),
        block(0, &json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, &json!({ "type": "thinking_delta", "thinking": "They ask for hours." })),
        delta(0, &json!({ "type": "signature_delta", "signature": "EqQB" })),
        closes(0),
        block(1, &json!({ "type": "redacted_thinking", "data": "x" })),
        block(2, &json!({ "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {} })),
        delta(2, &json!({ "type": "input_json_delta", "partial_json": "{}" })),
        ping(),
        block(3, &json!({ "type": "text", "text": "At " })),
        delta(3, &json!({ "type": "text_delta", "text": "nine." })),
        delta(3, &json!({ "type": "citations_delta", "citation": {} })),
        stops("end_turn"),
        over(),
    ];
    let written = read(&stream).expect("an answer");
    assert_eq!((written.text.as_str(), written.calls.len()), ("At nine.", 0));
}

#[test]
fn words_that_another_block_parts_are_paragraphs_and_others_are_not() {
    let words = |index, words: &str| {
        [
            block(index, &json!({ "type": "text", "text": "" })),
            delta(index, &json!({ "type": "text_delta", "text": words })),
        ]
        .concat()
    };
    let thinks = |index| block(index, &json!({ "type": "thinking", "thinking": "", "signature": "" }));
    let read_text = |events: &[String]| read(&[events, &[over()]].concat()).expect("an answer").text;
    let one = call(1, "toolu_1", "stay_silent", &[]);
    for parted in [
        [words(0, "Let me look."), one.clone(), words(2, "We open at nine.")],
        [words(0, "Let me look."), thinks(1), words(2, "We open at nine.")],
        [words(0, "Let me look.\n\n"), one.clone(), words(2, "We open at nine.")],
        [words(0, "Let me look."), one, words(2, "\n\nWe open at nine.")],
    ] {
        assert_eq!(read_text(&parted), "Let me look.\n\nWe open at nine.");
    }
    assert_eq!(
        read_text(&[words(0, "We open at nine"), words(1, ", says the door.")]),
        "We open at nine, says the door."
    );
    assert_eq!(read_text(&[thinks(0), words(1, "We open.")]), "We open.");
}

#[test]
fn the_last_count_holds() {
    let counted = |usage| {
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage });
        let written = read(&[begins(), says(&["Yes."]), event(&end), over()]).expect("an answer");
        (written.input_tokens, written.output_tokens)
    };
    assert_eq!(counted(json!({ "output_tokens": 30 })), (10, 30));
    assert_eq!(
        counted(json!({ "input_tokens": 12, "cache_read_input_tokens": 8, "output_tokens": 30 })),
        (20, 30)
    );
    assert_eq!(counted(json!(null)), (10, 1));
    assert_eq!(counted(json!({ "input_tokens": -9, "output_tokens": null })), (0, 1));
    let absurd = json!({ "input_tokens": i64::MAX, "cache_read_input_tokens": 8, "output_tokens": i64::MAX });
    assert_eq!(counted(absurd), (1_000_000_000, 1_000_000_000));
}

#[test]
fn an_error_in_the_stream_is_told_apart_by_its_type() {
    let table = [
        ("overloaded_error", FailureKind::Server),
        ("api_error", FailureKind::Server),
        ("rate_limit_error", FailureKind::RateLimited),
        ("authentication_error", FailureKind::Refused),
        ("invalid_request_error", FailureKind::Refused),
        ("billing_error", FailureKind::Quota),
        ("an_error_of_tomorrow", FailureKind::Server),
    ];
    for (word, expected) in table {
        let named = event(&error(word));
        let nameless = format!("data: {}\n\n", error(word));
        for told in [named, nameless] {
            let failure = read(&[begins(), text("We open"), told]).expect_err("a failure");
            assert_eq!(failure.kind, expected, "{word}");
            assert!(!failure.to_string().contains(SECRET));
        }
    }
}

#[test]
fn what_is_no_event_is_malformed() {
    for nonsense in [
        "data: <html>\n\n",
        "data: {\"type\":\n\n",
        "data: [1]\n\n",
        "data: {\"choices\":[]}\n\n",
        "data: {\"type\":\"content_block_delta\"}\n\n",
    ] {
        assert_eq!(kind(read(&[nonsense.into()])), FailureKind::Malformed, "{nonsense}");
    }
    let endless = vec![Bytes::from(vec![b'x'; 1 << 20]); 8];
    assert_eq!(kind(read_pieces(endless)), FailureKind::Malformed);
}

#[test]
fn a_stream_may_be_cut_at_any_byte() {
    let words = "Grüße 👩‍👩‍👧‍👦 – bis neun.";
    let plain =
        [begins(), says(&[words]), call(1, "a", "stay_silent", &["{", "}"]), stops("tool_use"), over()];
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

/// Every whole event is one, and what is cut before its end is none.
#[test]
fn an_answer_cut_before_its_end_is_a_failure() {
    let whole = whole();
    let end = whole.find("event: message_delta").expect("it ends");
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
    fn no_order_of_events_without_an_end_is_an_answer(picks in prop::collection::vec(0..10_usize, 0..12)) {
        let events = [
            begins(), ping(), text("ü"), says(&["Yes."]), closes(7), event(&error("api_error")), stops(""),
            call(3, "", "hand_over", &["{}"]), block(3, &json!({ "type": "tool_use" })), "event: error\n\n".into(),
        ];
        let picked: Vec<String> = picks.iter().map(|pick| events[*pick].clone()).collect();
        prop_assert!(read(&picked).is_err());
    }
}
