//! An answer as it grows. In: chunks, in order. Out: the words so far, and at the end the whole, or why there is none.

use super::{
    chunk::{CallDelta, Chunk, Content, Delta, Usage},
    failure::{error_frame, failed},
};
use crate::flow::generator::{Failure, FailureKind, ToolCall, Written};

/// Tools called in one answer. More is a model gone astray.
const CALLS_MAX: usize = 32;

const THINK_OPEN: &str = "<think>";
const THINK_CLOSE: &str = "</think>";

#[derive(Default)]
pub(super) struct Assembly {
    text: String,
    calls: Vec<Call>,
    input_tokens: i64,
    output_tokens: i64,
    finish: Option<Finish>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// By itself, at its length limit, or to call tools: whatever the server names, it is an end.
    Ended,
    Filtered,
}

struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Assembly {
    /// Adds one chunk.
    pub(super) fn take(&mut self, chunk: Chunk) -> Result<(), Failure> {
        if let Some(error) = chunk.error {
            return Err(error_frame(&error));
        }
        if let Some(usage) = chunk.usage {
            self.count(&usage);
        }
        // We ask for one choice; whatever a server sends beside it is not ours.
        let ours =
            chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        let Some(choice) = ours else { return Ok(()) };
        if let Some(delta) = choice.delta.or(choice.message) {
            self.add(delta)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => return Err(failed(FailureKind::Server, "the model ended with an error")),
            Some("content_filter") => self.finish = Some(Finish::Filtered),
            Some(_) => self.finish = Some(self.finish.unwrap_or(Finish::Ended)),
        }
        Ok(())
    }

    /// The end marker came.
    pub(super) fn end(&mut self) {
        self.finish.get_or_insert(Finish::Ended);
    }

    /// There was an end marker or a finish reason.
    pub(super) const fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// The words so far, as the contact would read them.
    pub(super) fn so_far(&self) -> &str {
        if THINK_OPEN.starts_with(self.text.trim()) { "" } else { without_thoughts(&self.text) }
    }

    /// The answer, if there is one.
    pub(super) fn finish(self) -> Result<Written, Failure> {
        match self.finish {
            None => return Err(failed(FailureKind::Cut, "the stream ended without an end marker")),
            Some(Finish::Filtered) => {
                return Err(failed(FailureKind::Filtered, "ended by the content filter"));
            }
            Some(Finish::Ended) => {}
        }
        let text = without_thoughts(&self.text).trim().to_owned();
        if text.is_empty() && self.calls.is_empty() {
            return Err(failed(FailureKind::Empty, "nothing was written"));
        }
        let calls = self.calls.into_iter().enumerate().map(named).collect::<Result<_, _>>()?;
        Ok(Written { text, calls, input_tokens: self.input_tokens, output_tokens: self.output_tokens })
    }

    fn count(&mut self, usage: &Usage) {
        // Some servers count along with every chunk: the last count is the sum.
        self.input_tokens = usage.prompt_tokens.unwrap_or(self.input_tokens).max(0);
        self.output_tokens = usage.completion_tokens.unwrap_or(self.output_tokens).max(0);
    }

    fn add(&mut self, delta: Delta) -> Result<(), Failure> {
        match delta.content {
            None => {}
            Some(Content::Text(text)) => self.text.push_str(&text),
            Some(Content::Parts(parts)) => {
                let texts =
                    parts.into_iter().filter(|part| part.kind.as_deref().is_none_or(|kind| kind == "text"));
                self.text.extend(texts.filter_map(|part| part.text));
            }
        }
        delta.tool_calls.into_iter().flatten().try_for_each(|call| self.add_call(call))
    }

    fn add_call(&mut self, delta: CallDelta) -> Result<(), Failure> {
        let id = delta.id.unwrap_or_default();
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        let at = match self.position(delta.index, &id, &name) {
            Some(at) => at,
            None if self.calls.len() == CALLS_MAX => {
                return Err(failed(
                    FailureKind::Malformed,
                    format!("more than {CALLS_MAX} tools called at once"),
                ));
            }
            None => {
                self.calls.push(Call {
                    index: delta.index,
                    id,
                    name: String::new(),
                    arguments: String::new(),
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        // Some servers repeat the name with every piece.
        if call.name.is_empty() {
            call.name = name;
        }
        match arguments {
            None | Some(serde_json::Value::Null) => {}
            Some(serde_json::Value::String(piece)) => call.arguments.push_str(&piece),
            Some(whole) => call.arguments.push_str(&whole.to_string()),
        }
        Ok(())
    }

    /// Which call a piece belongs to; None: a new one. By index; but some servers give each call index 0, and are told
    /// apart by a new id beside a name (an id alone proves nothing: others make a new one for every piece). Without an
    /// index, a name begins a call and the rest belongs to the last.
    fn position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        match index {
            Some(index) => {
                let at = self.calls.iter().rposition(|call| call.index == Some(index))?;
                let is_another = !id.is_empty() && !name.is_empty() && self.calls[at].id != id;
                (!is_another).then_some(at)
            }
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }
}

fn named((at, call): (usize, Call)) -> Result<ToolCall, Failure> {
    if call.name.is_empty() {
        return Err(failed(FailureKind::Malformed, "a tool was called without its name"));
    }
    let id = if call.id.is_empty() { format!("call_{at}") } else { call.id };
    Ok(ToolCall { id, name: call.name, arguments: call.arguments })
}

/// Without the block of thoughts that some servers leave at the beginning. Anywhere else the tag is text.
fn without_thoughts(text: &str) -> &str {
    match text.trim_start().strip_prefix(THINK_OPEN) {
        Some(thoughts) => thoughts.split_once(THINK_CLOSE).map_or("", |(_, words)| words.trim_start()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn assembled(chunks: &[Value]) -> Assembly {
        let mut assembly = Assembly::default();
        for chunk in chunks {
            assembly.take(serde_json::from_value(chunk.clone()).expect("a chunk")).expect("no failure");
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
                assembly.take(serde_json::from_value(piece).expect("a chunk")).err()
            })
            .expect("a failure");
        assert_eq!(failure.kind, FailureKind::Malformed);
    }

    #[test]
    fn thoughts_at_the_beginning_are_left_out_as_they_come() {
        let mut assembly = Assembly::default();
        let mut shown = Vec::new();
        for piece in
            ["\n<th", "ink>They ask ", "for hours.</thi", "nk>\n\nWe open", " at <think>nine</think>."]
        {
            assembly
                .take(serde_json::from_value(delta(json!({ "content": piece }))).expect("a chunk"))
                .expect("fine");
            shown.push(assembly.so_far().to_owned());
        }
        assert_eq!(shown, ["", "", "", "We open", "We open at <think>nine</think>."]);
        assembly.end();
        assert_eq!(assembly.finish().expect("an answer").text, "We open at <think>nine</think>.");
    }

    #[test]
    fn thoughts_alone_are_nothing_and_a_tag_begun_is_text() {
        let only_thoughts = [delta(json!({ "content": "<think>Hmm, hmm, hmm" })), stop()];
        assert_eq!(assembled(&only_thoughts).finish().expect_err("a failure").kind, FailureKind::Empty);
        let begun = [delta(json!({ "content": "<th" })), stop()];
        assert_eq!(assembled(&begun).finish().expect("an answer").text, "<th");
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
    }
}
