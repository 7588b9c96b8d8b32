//! Puts chunks together. In: chunks, in order. Out: an answer that has grown by them, or why there is none.

use serde_json::{Map, Value};

use super::chunk::{CallDelta, Chunk, Content, Delta, Usage};
use crate::{
    adapters::model_server::{Assembly, Call, said},
    flow::generator::{Failure, FailureKind},
};

/// Adds one chunk.
pub(super) fn take(assembly: &mut Assembly, chunk: Chunk) -> Result<(), Failure> {
    if let Some(usage) = chunk.usage {
        count(assembly, &usage);
    }
    // We ask for one choice; whatever a server sends beside it is not ours. Some have no number for the only one.
    let ours = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index.unwrap_or(0) <= 0);
    let Some(choice) = ours else { return Ok(()) };
    match (choice.delta, choice.message) {
        (Some(delta), _) => {
            assembly.comes_in_pieces |= brings_something(&delta);
            add(assembly, delta)?;
        }
        (None, Some(message)) => add_whole(assembly, message)?,
        (None, None) => {}
    }
    match choice.finish_reason.as_deref() {
        // One server writes the word.
        None | Some("" | "null") => {}
        Some("error") => assembly.fail(FailureKind::Server, "the model ended with an error"),
        Some("content_filter") => assembly.filter(),
        // The server stops, or has no room left: what came is half a sentence.
        Some("abort" | "cancelled" | "insufficient_system_resource") => {
            assembly.fail(FailureKind::Cut, "the server broke the answer off");
        }
        Some(reason) => {
            assembly.is_cut = matches!(reason, "length" | "max_tokens" | "model_length");
            assembly.end();
        }
    }
    Ok(())
}

fn count(assembly: &mut Assembly, usage: &Usage) {
    // Some servers count along with every chunk: the last count is the sum.
    assembly.count(usage.prompt_tokens, usage.completion_tokens);
}

fn brings_something(delta: &Delta) -> bool {
    let has_words = match &delta.content {
        None => false,
        Some(Content::Text(text)) => !text.is_empty(),
        Some(Content::Parts(parts)) => !parts.is_empty(),
    };
    has_words || delta.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty())
}

/// Adds a whole message. Some servers end a stream with one that says all of it once more; but where nothing except thoughts has
/// come in pieces, it is the answer.
fn add_whole(assembly: &mut Assembly, message: Delta) -> Result<(), Failure> {
    if assembly.comes_in_pieces {
        if !assembly.calls.is_empty() || said(assembly.so_far()) {
            return Ok(());
        }
        assembly.text.clear();
    }
    add(assembly, message)
}

fn add(assembly: &mut Assembly, delta: Delta) -> Result<(), Failure> {
    if let Some(thoughts) = delta.reasoning_content.as_ref().and_then(Value::as_str) {
        assembly.thoughts.push_str(thoughts);
    }
    if let Some(Value::Array(pieces)) = delta.reasoning_details {
        for piece in pieces {
            assembly.details_bytes += add_detail(&mut assembly.details, piece);
        }
    }
    match delta.content {
        None => {}
        Some(Content::Text(text)) => assembly.write(&text),
        Some(Content::Parts(parts)) => {
            let texts =
                parts.into_iter().filter(|part| part.kind.as_deref().is_none_or(|kind| kind == "text"));
            assembly.text.extend(texts.filter_map(|part| part.text));
        }
    }
    delta.tool_calls.into_iter().flatten().try_for_each(|call| add_call(assembly, call))
}

/// Adds a piece to its block, or as one of its own. Blocks come one after another, or a few beside each other; their words
/// come in pieces, all else with any of them. How many bytes are kept of it.
fn add_detail(blocks: &mut Vec<Map<String, Value>>, piece: Value) -> usize {
    let size = |value: &Value| value.to_string().len();
    let Value::Object(piece) = piece else { return 0 };
    let Some(block) = blocks.iter_mut().rev().take(8).find(|block| goes_on(block, &piece)) else {
        let bytes = piece.values().map(size).sum();
        blocks.push(piece);
        return bytes;
    };
    let mut bytes = 0;
    for (name, value) in piece {
        match (block.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(begun)), Value::String(more))
                if matches!(name.as_str(), "text" | "summary" | "data") =>
            {
                begun.push_str(&more);
                bytes += more.len();
            }
            // Most pieces repeat these.
            (Some(known), value) if *known == value => {}
            (_, value) => {
                bytes += size(&value);
                block.insert(name, value);
            }
        }
    }
    bytes
}

/// Without an index each block comes whole; and two of one index may be told apart by their ids.
fn goes_on(block: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let field = |of: &Map<String, Value>, name| of.get(name).filter(|value| !value.is_null()).cloned();
    let is_same = |name| field(block, name) == field(piece, name);
    let has_another_id = field(block, "id").zip(field(piece, "id")).is_some_and(|(one, other)| one != other);
    field(piece, "index").is_some() && is_same("index") && is_same("type") && !has_another_id
}

fn add_call(assembly: &mut Assembly, delta: CallDelta) -> Result<(), Failure> {
    let id = delta.id.unwrap_or_default();
    let (name, arguments) = match delta.function {
        Some(function) => (function.name.unwrap_or_default(), function.arguments),
        None => (String::new(), None),
    };
    let at = match position(&assembly.calls, delta.index, &id, &name) {
        Some(at) => at,
        None => {
            assembly.begin_call(Call { index: delta.index, id, ..Call::default() })?;
            assembly.calls.len() - 1
        }
    };
    let call = &mut assembly.calls[at];
    // Some servers repeat the name with every piece.
    if call.name.is_empty() {
        call.name = name;
    }
    call.extra = delta.extra_content.or(call.extra.take());
    match arguments {
        None | Some(Value::Null) => {}
        Some(Value::String(piece)) => call.arguments.push_str(&piece),
        Some(whole) => call.arguments.push_str(&whole.to_string()),
    }
    Ok(())
}

/// Which call a piece belongs to; None: a new one. By index; but some servers give each call index 0, and are told
/// apart by a new id beside a name (an id alone proves nothing: others make a new one for every piece). Without an
/// index, a name begins a call and the rest belongs to the last.
fn position(calls: &[Call], index: Option<i64>, id: &str, name: &str) -> Option<usize> {
    match index {
        Some(index) => {
            let at = calls.iter().rposition(|call| call.index == Some(index))?;
            let is_another = !id.is_empty() && !name.is_empty() && calls[at].id != id;
            (!is_another).then_some(at)
        }
        None if name.is_empty() => calls.len().checked_sub(1),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assembled(chunks: &[Value]) -> Assembly {
        let mut assembly = Assembly::default();
        for chunk in chunks {
            take(&mut assembly, serde_json::from_value(chunk.clone()).expect("a chunk")).expect("no failure");
        }
        assembly
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    }

    fn call(piece: Value) -> Value {
        delta(json!({ "tool_calls": [piece] }))
    }

    fn stop() -> Value {
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] })
    }

    fn calls(chunks: &[Value]) -> Vec<(String, String, String)> {
        let chunks = [chunks, &[stop()]].concat();
        let written = assembled(&chunks).finish().expect("an answer");
        written.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn call_of(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn calls_are_put_together_by_index() {
        let pieces = [
            call(json!({ "index": 0, "id": "a", "function": { "name": "hand_over", "arguments": "" } })),
            call(json!({ "index": 1, "id": "b", "function": { "name": "stay_silent", "arguments": "{" } })),
            call(json!({ "index": 0, "function": { "arguments": "{\"reason\":" } })),
            call(json!({ "index": 1, "id": "", "function": { "name": "", "arguments": "}" } })),
            call(json!({ "index": 0, "id": null, "function": { "arguments": "\"asked\"}" } })),
        ];
        let expected =
            [call_of("a", "hand_over", "{\"reason\":\"asked\"}"), call_of("b", "stay_silent", "{}")];
        assert_eq!(calls(&pieces), expected);
    }

    #[test]
    fn calls_of_careless_servers_are_put_together_too() {
        let all_at_zero = [
            call(json!({ "index": 0, "id": "a", "function": { "name": "one", "arguments": "{}" } })),
            call(json!({ "index": 0, "id": "b", "function": { "name": "two", "arguments": { "x": 1 } } })),
        ];
        assert_eq!(calls(&all_at_zero), [call_of("a", "one", "{}"), call_of("b", "two", "{\"x\":1}")]);
        let an_id_for_each_piece = [
            call(json!({ "index": 0, "id": "a", "function": { "name": "one", "arguments": "{" } })),
            call(json!({ "index": 0, "id": "b", "function": { "arguments": "}" } })),
        ];
        assert_eq!(calls(&an_id_for_each_piece), [call_of("a", "one", "{}")]);
        let without_index_or_id = [
            call(json!({ "function": { "name": "one", "arguments": "{" } })),
            call(json!({ "function": { "arguments": "}" } })),
            call(json!({ "function": { "name": "two" } })),
        ];
        assert_eq!(
            calls(&without_index_or_id),
            [call_of("call_0", "one", "{}"), call_of("call_1", "two", "")]
        );
    }

    #[test]
    fn a_call_without_a_name_or_too_many_of_them_are_malformed() {
        let nameless = [call(json!({ "index": 0, "id": "a" })), stop()];
        let failure = assembled(&nameless).finish().expect_err("a failure");
        assert_eq!(failure.kind, FailureKind::Malformed);

        let mut assembly = Assembly::default();
        let failure = (0..100)
            .find_map(|index| {
                let piece = call(json!({ "index": index, "function": { "name": "hand_over" } }));
                take(&mut assembly, serde_json::from_value(piece).expect("a chunk")).err()
            })
            .expect("a failure");
        assert_eq!(failure.kind, FailureKind::Malformed);
    }

    #[test]
    fn blocks_of_thoughts_are_put_together_and_kept_with_the_first_call() {
        let detail = |piece: Value| delta(json!({ "reasoning_details": [piece] }));
        let pieces = [
            detail(
                json!({ "type": "reasoning.text", "index": 0, "text": "They ", "format": "f", "signature": null }),
            ),
            detail(json!({ "type": "reasoning.text", "index": 0, "text": "ask.", "id": "r1" })),
            detail(json!({ "type": "reasoning.text", "index": 0, "signature": "c2ln", "text": null })),
            detail(json!({ "type": "reasoning.encrypted", "index": 0, "data": "c2Vh", "id": "a" })),
            detail(json!({ "type": "reasoning.encrypted", "index": 0, "data": "bGVk" })),
            detail(json!({ "type": "reasoning.encrypted", "index": 0, "data": "another", "id": "b" })),
            detail(json!({ "type": "reasoning.summary", "summary": "whole" })),
            detail(json!({ "type": "reasoning.summary", "summary": "whole" })),
            detail(json!("no block")),
            delta(json!({ "reasoning_details": null })),
            delta(json!({ "reasoning_details": "none" })),
            call(json!({ "index": 0, "id": "a", "function": { "name": "hand_over" } })),
            call(json!({ "index": 1, "id": "b", "function": { "name": "stay_silent" } })),
            stop(),
        ];
        let written = assembled(&pieces).finish().expect("an answer");
        let expected = json!([
            { "type": "reasoning.text", "index": 0, "text": "They ask.", "format": "f", "id": "r1", "signature": "c2ln" },
            { "type": "reasoning.encrypted", "index": 0, "data": "c2VhbGVk", "id": "a" },
            { "type": "reasoning.encrypted", "index": 0, "data": "another", "id": "b" },
            { "type": "reasoning.summary", "summary": "whole" },
            { "type": "reasoning.summary", "summary": "whole" },
        ]);
        assert_eq!(json!(written.calls[0].beside.details), expected);
        assert!(written.calls[1].beside.details.is_empty(), "once is enough");
    }

    #[test]
    fn text_comes_as_a_string_or_in_parts() {
        let chunks = [
            delta(json!({ "role": "assistant", "content": null, "reasoning_content": "They greet." })),
            delta(
                json!({ "content": [{ "type": "thinking", "text": "no" }, { "type": "text", "text": "Good " }] }),
            ),
            delta(json!({ "content": "day" })),
            json!({ "choices": [{ "index": 1, "delta": { "content": "another choice" } }] }),
            json!({ "choices": null, "usage": { "prompt_tokens": 12, "completion_tokens": 3 } }),
            json!({ "choices": [{ "delta": null, "finish_reason": "length" }], "usage": null }),
        ];
        let written = assembled(&chunks).finish().expect("an answer");
        assert_eq!((written.text.as_str(), written.input_tokens, written.output_tokens), ("Good day", 12, 3));
        assert!(written.is_cut, "at the server's limit of length");
    }

    fn last(message: Value) -> Value {
        json!({
            "object": "chat.completion",
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 12, "completion_tokens": 3 },
        })
    }

    #[test]
    fn a_whole_message_at_the_end_of_a_stream_says_nothing_twice() {
        let text = "We open at nine.";
        let whole = last(json!({ "role": "assistant", "content": text }));
        let streamed = ["We open ", "at nine."].map(|piece| delta(json!({ "content": piece })));
        let streamed_and = |rest: Vec<Value>| [streamed.to_vec(), rest].concat();
        for chunks in [
            streamed_and(vec![whole.clone()]),
            streamed_and(vec![stop(), whole.clone()]),
            vec![whole.clone()],
            vec![delta(json!({ "content": "" })), whole],
            vec![
                delta(json!({ "content": "<think>They greet." })),
                last(json!({ "content": format!("<think>They greet.</think>{text}") })),
            ],
            vec![delta(json!({ "content": "<think>They greet." })), last(json!({ "content": text }))],
        ] {
            let written = assembled(&chunks).finish().expect("an answer");
            assert_eq!((written.text.as_str(), written.output_tokens), (text, 3), "{chunks:?}");
        }

        let piece =
            json!({ "index": 0, "id": "a", "function": { "name": "stay_silent", "arguments": "{}" } });
        let chunks = [call(piece.clone()), stop(), last(json!({ "content": "", "tool_calls": [piece] }))];
        assert_eq!(calls(&chunks), [call_of("a", "stay_silent", "{}")]);
    }

    #[test]
    fn the_only_choice_may_be_without_a_number() {
        let end = json!({ "choices": [{ "index": -1, "delta": { "content": "Good day" }, "finish_reason": "stop" }] });
        assert_eq!(assembled(&[end]).finish().expect("an answer").text, "Good day");
    }

    #[test]
    fn a_server_that_calls_its_pieces_messages_is_read_too() {
        let piece = |text: &str| json!({ "choices": [{ "message": { "content": text } }] });
        let written = assembled(&[piece("We open "), piece("at nine."), stop()]).finish();
        assert_eq!(written.expect("an answer").text, "We open at nine.");
    }

    #[test]
    fn an_end_says_what_came_before_it() {
        let ended = |reason: &str| {
            let end = json!({ "choices": [{ "delta": { "content": "Good day" }, "finish_reason": reason }] });
            let count = json!({ "choices": [], "usage": { "prompt_tokens": 12, "completion_tokens": 3 } });
            assembled(&[end, count]).finish()
        };
        for (reason, is_cut) in
            [("stop", false), ("length", true), ("max_tokens", true), ("model_length", true)]
        {
            assert_eq!(ended(reason).map(|written| written.is_cut), Ok(is_cut), "{reason}");
        }
        assert_eq!(ended("null").expect_err("no end").kind, FailureKind::Cut);
        for (reason, kind) in [
            ("abort", FailureKind::Cut),
            ("cancelled", FailureKind::Cut),
            ("insufficient_system_resource", FailureKind::Cut),
            ("content_filter", FailureKind::Filtered),
            ("error", FailureKind::Server),
        ] {
            let failure = ended(reason).expect_err("a failure");
            let counts = (failure.kind, failure.input_tokens, failure.output_tokens);
            assert_eq!(counts, (kind, 12, 3), "{reason}");
        }
    }
}
