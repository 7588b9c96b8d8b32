//! Chat completions, as a model hears and streams them.

use serde_json::{Value, json};

use super::names::Marker;

/// Ends a stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// One piece of a streamed answer.
pub(crate) fn chunk(content: &str, reason: Option<&str>) -> String {
    let chunk = json!({ "id": "x", "object": "chat.completion.chunk", "created": 0, "model": "fake",
        "choices": [{ "index": 0, "delta": { "content": content }, "finish_reason": reason }] });
    format!("data: {chunk}\n\n")
}

/// What is to be answered: everything that the contact wrote since our side last spoke.
pub(crate) fn asked(body: &Value) -> Vec<Marker> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
    let texts = messages[since..].iter().filter(|message| message["role"] == "user");
    texts.flat_map(|message| Marker::all_in(message["content"].as_str().unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_all_since_our_side_spoke() {
        let body = json!({ "messages": [
            { "role": "user", "content": "c1n1 hello" }, { "role": "assistant", "content": "a0.1/1 answers c1n1" },
            { "role": "user", "content": "c1n2 and" }, { "role": "system", "content": "a note" },
            { "role": "user", "content": "c1n3 so" },
        ] });
        let marker = |number| Marker { contact: 1, number };
        assert_eq!(asked(&body), [marker(2), marker(3)]);
        assert_eq!(asked(&json!({})), []);
    }
}
