//! On bytes alone: what an answer is, however it is cut, and what it is not.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream as streams};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DONE, chunk, usage};
use crate::{
    adapters::{
        model_server::fake::{Heard, LONG, SECRET, kind},
        openai,
    },
    flow::generator::{Failure, FailureKind, Written},
};

/// Reads bytes in these pieces, without a server.
fn read_pieces(pieces: Vec<Bytes>) -> (Result<Written, Failure>, Vec<String>) {
    let heard = Heard::default();
    let bytes = streams::iter(pieces.into_iter().map(Ok::<_, Infallible>));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(openai::read_stream(bytes, LONG, &heard));
    (outcome, heard.all())
}

fn read_text(text: &str) -> Result<Written, Failure> {
    read_pieces(vec![Bytes::from(text.to_owned())]).0
}

/// Case K38.
#[test]
fn an_empty_answer_counts_as_none() {
    let ended = |choices: Value| format!("data: {}\n\n{DONE}", json!({ "choices": choices }));
    let content =
        |content: Value| ended(json!([{ "delta": { "content": content }, "finish_reason": "stop" }]));
    for nothing in [
        content(json!("")),
        content(json!(null)),
        content(json!("  \n\t ")),
        content(json!("<think>Hm.</think>\n")),
        ended(json!([])),
        DONE.to_owned(),
    ] {
        assert_eq!(kind(read_text(&nothing)), FailureKind::Empty, "{nothing}");
    }
    let filtered = [chunk("Half a sen", None), chunk("", Some("content_filter")), DONE.into()].concat();
    assert_eq!(kind(read_text(&filtered)), FailureKind::Filtered);
}

#[test]
fn an_end_marker_or_a_finish_reason_is_an_end() {
    let text = |stream: String| read_text(&stream).expect("an answer").text;
    assert_eq!(text([chunk("Yes.", None), DONE.into()].concat()), "Yes.");
    assert_eq!(text(chunk("Yes.", Some("stop"))), "Yes.");
    assert_eq!(
        text([chunk("Yes, and", Some("length")), DONE.into()].concat()),
        "Yes, and",
        "cut short, yet an end"
    );
    assert_eq!(text(chunk("Yes.", Some("stop")).trim_end().to_owned()), "Yes.", "without the blank line");
    assert_eq!(text([chunk("Yes.", None), "data: [DONE]\n".into()].concat()), "Yes.");
    let spoiled = format!("{}data: no JSON\n\n", chunk("Yes.", Some("stop")));
    assert_eq!(text(spoiled), "Yes.", "what comes behind the end");
    let after_the_marker = format!("{}{DONE}{}", chunk("Yes.", None), chunk("No.", None));
    assert_eq!(text(after_the_marker), "Yes.");
}

#[test]
fn an_emoji_that_comes_in_two_halves_is_read() {
    let words =
        |content: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n");
    let text = |stream: String| read_text(&stream).expect("an answer").text;
    let cut = [words(r"Hello \ud83d"), words(r"\ude00 there"), DONE.into()].concat();
    assert_eq!(text(cut), "Hello 😀 there");
    let never_whole = [words(r"Hello \ud83d"), words(" there"), DONE.into()].concat();
    assert_eq!(text(never_whole), "Hello  there");
}

#[test]
fn an_error_in_the_stream_is_told_apart_by_its_code() {
    let table = [
        (json!({ "code": "insufficient_quota" }), FailureKind::Quota),
        (json!({ "code": 429, "message": SECRET }), FailureKind::RateLimited),
        (json!({ "type": "invalid_request_error" }), FailureKind::Refused),
        (json!({ "type": "overloaded_error" }), FailureKind::Server),
        (json!("Something went wrong"), FailureKind::Server),
    ];
    for (error, expected) in table {
        let stream = format!("{}data: {}\n\n", chunk("We open", None), json!({ "error": error }));
        let failure = read_text(&stream).expect_err("a failure");
        assert_eq!(failure.kind, expected, "{error}");
        assert!(!failure.to_string().contains(SECRET));
    }
    let named = "event: error\ndata: {\"type\":\"overloaded_error\"}\n\n";
    assert_eq!(kind(read_text(named)), FailureKind::Server);
    let by_reason = chunk("We open", Some("error"));
    assert_eq!(kind(read_text(&by_reason)), FailureKind::Server);
}

#[test]
fn an_error_without_that_name_is_no_end_of_an_answer_either() {
    let too_long = "This model's maximum context length is 4096 tokens.";
    for (frame, expected) in [
        (
            json!({ "object": "error", "message": SECRET, "type": "BadRequestError", "code": 400 }),
            FailureKind::Refused,
        ),
        (json!({ "object": "error", "message": SECRET }), FailureKind::Server),
        (json!({ "type": "error", "message": SECRET }), FailureKind::Server),
        (json!({ "detail": SECRET }), FailureKind::Server),
        (json!({ "detail": too_long }), FailureKind::TooLong),
        (json!({ "code": 429, "msg": SECRET }), FailureKind::RateLimited),
        (json!({ "choices": null, "status": "503" }), FailureKind::Server),
    ] {
        let stream = format!("{}data: {frame}\n\n{DONE}", chunk("We open", None));
        let failure = read_text(&stream).expect_err("a failure");
        assert_eq!(failure.kind, expected, "{frame}");
        assert!(!failure.to_string().contains(SECRET));
        assert_eq!(kind(read_text(&frame.to_string())), expected, "alone: {frame}");
    }
    for noise in [json!({}), json!({ "type": "ping" }), json!({ "code": 0, "msg": "ok", "detail": null })] {
        let stream = format!("data: {noise}\n\n{}{DONE}", chunk("We open", Some("stop")));
        assert_eq!(read_text(&stream).expect("an answer").text, "We open", "{noise}");
    }
}

#[test]
fn what_is_no_chunk_is_malformed() {
    let broken_off = [chunk("Yes, an", None), "data: {\"choices\":".into()].concat();
    assert_eq!(kind(read_text(&broken_off)), FailureKind::Cut, "in the middle of a line");
    for nonsense in
        ["data: <html>\n\n", "data: {\"choices\":\n\n", "data: {\"choices\":7}\n\n", "data: [1]\n\n"]
    {
        assert_eq!(kind(read_text(nonsense)), FailureKind::Malformed, "{nonsense}");
    }
    let not_text = vec![Bytes::from_static(b"data: \xff\xfe\n\n")];
    assert_eq!(kind(read_pieces(not_text).0), FailureKind::Malformed);
    let endless = vec![Bytes::from(vec![b'x'; 1 << 20]); 8];
    assert_eq!(kind(read_pieces(endless).0), FailureKind::Malformed);
}

/// Whatever the server says of its type.
#[test]
fn an_answer_is_known_by_its_first_byte_and_what_is_no_answer_is_malformed() {
    let message = json!({ "choices": [{ "message": { "content": "We open at nine." } }] }).to_string();
    for whole in [message.clone(), format!("\r\n \n{message}\n"), format!("\u{feff}{message}")] {
        assert_eq!(read_text(&whole).expect("an answer").text, "We open at nine.");
        let bytes = Bytes::from(whole);
        let single = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
        assert_eq!(read_pieces(single).0.expect("an answer").text, "We open at nine.", "byte by byte");
    }
    for nonsense in [&message[..20], "[1]", "<html>\n\nWelcome\n\n</html>", "Internal Server Error\n\n", "OK"]
    {
        assert_eq!(kind(read_text(nonsense)), FailureKind::Malformed, "{nonsense}");
    }
    let packed = vec![Bytes::from_static(b"\x1f\x8b\x08\0\0\0\0\0\n\n\x04\xff")];
    assert_eq!(kind(read_pieces(packed).0), FailureKind::Malformed);
    for cut in ["", " \n", ": still there\n\n", "dat", "data: {\"cho"] {
        assert_eq!(kind(read_text(cut)), FailureKind::Cut, "{cut}");
    }
}

#[test]
fn thoughts_may_be_longer_than_an_answer_but_neither_is_endless() {
    let unread = |bytes: usize| {
        let delta = json!({ "delta": { "content": "", "reasoning": "x".repeat(bytes) } });
        Bytes::from(format!("data: {}\n\n", json!({ "choices": [delta] })))
    };
    let answer = Bytes::from(chunk("We open at nine.", Some("stop")));
    let pieces = [vec![unread(400); 12_000], vec![answer.clone()]].concat();
    assert_eq!(read_pieces(pieces).0.expect("an answer").text, "We open at nine.");
    let endless = [vec![unread(1 << 20); 33], vec![answer.clone()]].concat();
    assert_eq!(kind(read_pieces(endless).0), FailureKind::Malformed);

    let words = "x".repeat(1 << 20);
    for delta in [
        json!({ "content": words }),
        json!({ "reasoning_content": words }),
        json!({ "reasoning_details": [{ "type": "reasoning.text", "index": 0, "text": words }] }),
        json!({ "reasoning_details": [{ "type": "reasoning.text", "text": words }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "name": "hand_over", "arguments": words } }] }),
    ] {
        let piece = Bytes::from(format!("data: {}\n\n", json!({ "choices": [{ "delta": delta }] })));
        let kept = [vec![piece; 5], vec![answer.clone()]].concat();
        assert_eq!(kind(read_pieces(kept).0), FailureKind::Malformed);
    }
}

#[tokio::test(start_paused = true)]
async fn words_behind_a_reason_to_finish_are_waited_for() {
    let pieces = ["We open ", "at nine, ", "but not on Sundays."].map(|words| chunk(words, Some("stop")));
    let slowly = streams::iter(pieces).then(|piece| async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        Ok::<_, Infallible>(Bytes::from(piece))
    });
    let written = openai::read_stream(slowly.chain(streams::pending()), LONG, &Heard::default()).await;
    assert_eq!(written.expect("an answer").text, "We open at nine, but not on Sundays.");
}

#[test]
fn a_stream_may_be_cut_at_any_byte() {
    let text = "Grüße 👩‍👩‍👧‍👦 – bis neun.";
    let plain =
        [": hello\n\n".into(), chunk(text, None), chunk("", Some("stop")), usage(), DONE.into()].concat();
    let expected = read_text(&plain).expect("an answer");
    assert_eq!((expected.text.as_str(), expected.input_tokens), (text, 10));
    for stream in
        [plain.clone(), plain.replace('\n', "\r\n"), plain.replace('\n', "\r"), format!("\u{feff}{plain}")]
    {
        let bytes = Bytes::from(stream);
        let single = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
        assert_eq!(read_pieces(single).0.as_ref(), Ok(&expected), "byte by byte");
        for at in 0..=bytes.len() {
            let halves = vec![bytes.slice(..at), bytes.slice(at..)];
            assert_eq!(read_pieces(halves).0.as_ref(), Ok(&expected), "in two at {at}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..16)) {
        let _either = read_pieces(pieces.into_iter().map(Bytes::from).collect());
    }

    #[test]
    fn no_order_of_events_makes_the_reader_panic(picks in prop::collection::vec((0..EVENTS.len(), 0..200_usize), 0..12)) {
        let stream: String = picks.iter().map(|(event, _)| EVENTS[*event]).collect();
        let mut bytes = Bytes::from(stream.clone());
        let mut pieces: Vec<Bytes> =
            picks.iter().map(|(_, length)| bytes.split_to((*length).min(bytes.len()))).collect();
        pieces.push(bytes);
        let (outcome, _) = read_pieces(pieces);
        prop_assert_eq!(outcome, read_text(&stream), "however it is cut");
    }

    #[test]
    fn no_order_of_events_without_an_end_is_an_answer(picks in prop::collection::vec(0..ENDLESS, 0..12)) {
        let stream: String = picks.iter().map(|event| EVENTS[*event]).collect();
        prop_assert!(read_text(&stream).is_err());
    }
}

/// So many of them, from the first, are no end.
const ENDLESS: usize = 9;

const EVENTS: [&str; 11] = [
    "data: {\"choices\":[{\"delta\":{\"content\":\"ü\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"<think>\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"</think>\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":18446744073709551615,\"id\":\"x\"}]}}]}\n\n",
    "data: {\"usage\":{\"prompt_tokens\":-9,\"completion_tokens\":null}}\n\n",
    "data: {\"error\":[]}\n\n",
    "event: error\n\n",
    ":\n\ndata:\n\n",
    "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];
