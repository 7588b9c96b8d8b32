//! Calls that a model has written among its words. In: an answer, and what was offered. Out: whether it is one for a contact.

use serde_json::Value;

use crate::{domain::tool, flow::generator::Offer};

/// How models write a call in words, where their server does not know how to read it. Nobody writes so to a customer.
const MARKS: [&str; 8] = [
    "<tool_call>",
    "<function=",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call",
    "<｜tool▁call",
    "<|channel|>",
    "to=functions.",
];

/// Whether there is one of those marks in it.
pub(super) fn has_mark(words: &str) -> bool {
    MARKS.iter().any(|mark| words.contains(mark))
}

/// Whether an answer is nothing but calls, written as JSON: so do models whose server does not know how to read them. An
/// object that says anything else is an answer.
pub(super) fn is_nothing_else(text: &str, offer: &Offer) -> bool {
    const FIELDS: [&str; 5] = ["id", "type", "name", "parameters", "arguments"];
    let own = offer.shown().unwrap_or_default();
    let is_tool = |name: &str| tool::BUILT_IN.contains(&name) || own.iter().any(|tool| tool.name == name);
    let is_call = |value: &Value| {
        let name = value.get("name").and_then(Value::as_str);
        let fields = value.as_object().into_iter().flatten();
        name.is_some_and(is_tool) && fields.map(|(field, _)| field.as_str()).all(|it| FIELDS.contains(&it))
    };
    match serde_json::from_str(unfenced(text)) {
        Ok(Value::Array(values)) => !values.is_empty() && values.iter().all(is_call),
        Ok(value) => is_call(&value),
        Err(_) => false,
    }
}

fn unfenced(text: &str) -> &str {
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    fenced.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::adapters::model_server::fake::order_status;

    #[test]
    fn a_call_written_as_json_is_known_from_json_for_a_customer() {
        let offer = Offer::Tools(Arc::from([order_status()]));
        for called in [
            r#"{"name": "hand_over", "parameters": {"reason": "asked"}}"#,
            r#"{"type": "function", "name": "order_status", "arguments": "{}"}"#,
            r#"[{"name": "stay_silent"}, {"name": "order_status", "parameters": {"order": "7"}}]"#,
            "```json\n{\"name\": \"hand_over\", \"parameters\": {}}\n```",
            "```\n{\"name\": \"hand_over\"}```",
        ] {
            assert!(is_nothing_else(called, &offer), "{called}");
        }
        for answer in [
            r#"{"name": "Ana", "parameters": {}}"#,
            r#"{"name": "order_status", "price": 3}"#,
            r#"[{"name": "hand_over"}, {"name": "Ana"}]"#,
            "[]",
            "3",
            "We open at nine.",
            r#"Write {"name": "hand_over"} so."#,
        ] {
            assert!(!is_nothing_else(answer, &offer), "{answer}");
        }
        let own = r#"{"name": "order_status"}"#;
        assert!(!is_nothing_else(own, &Offer::Nothing), "nobody has told it of that one");
    }
}
