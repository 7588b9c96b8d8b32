//! Calls that a model has written among its words, where its server does not know how to read them. In: an answer, and what
//! was offered. Out: whether it is one for a contact. What such a call wants is never guessed.

use serde_json::Value;

use crate::{
    domain::tool::{self, Tool},
    flow::generator::Offer,
};

/// How models write a call, in small letters. Nobody writes so to a customer.
const MARKS: [&str; 4] = ["<function=", "<|python_tag|>", "<|channel|>", "to=functions."];

/// What such a tag is called, whatever else stands in it: `<minimax:tool_call>`, `[TOOL_CALLS]`, `<｜tool▁calls▁begin｜>`.
const TAGS: [&str; 4] = ["tool_call", "toolcall", "tool▁call", "function_call"];

/// Where JSON says which tool is called.
const NAME_FIELDS: [&str; 4] = [r#""name""#, r#""function""#, r#""tool""#, r#""tool_name""#];

/// Where it says with what.
const ARGUMENT_FIELDS: [&str; 4] = [r#""arguments""#, r#""parameters""#, r#""args""#, r#""input""#];

/// Whether there is one of those marks or tags in it.
pub(super) fn has_mark(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    let mut openings = words.match_indices(['<', '‹', '[']);
    MARKS.iter().any(|mark| words.contains(mark))
        || openings.any(|(at, opening)| begins_a_call(&words[at + opening.len()..]))
}

fn begins_a_call(tag: &str) -> bool {
    let end = tag.find(|it: char| it.is_whitespace() || "<>‹›[]".contains(it)).unwrap_or(tag.len());
    let (name, behind) = tag.split_at(end);
    TAGS.iter().any(|it| name.contains(it))
        || name.ends_with("invoke") && behind.trim_start().starts_with("name=")
}

/// Whether a tool that was offered is called in it: in JSON that is nothing else, or that says with what; or as functions are.
pub(super) fn has_call(text: &str, offer: &Offer) -> bool {
    let own = offer.shown().unwrap_or_default();
    is_nothing_else(text, own)
        || names(own).any(|name| is_called_with(text, name) || is_called_like_a_function(text, name))
}

fn names(own: &[Tool]) -> impl Iterator<Item = &str> {
    tool::BUILT_IN.into_iter().chain(own.iter().map(|tool| tool.name.as_str()))
}

/// Whether an answer is nothing but calls, written as JSON. An object that says anything else is an answer.
fn is_nothing_else(text: &str, own: &[Tool]) -> bool {
    const FIELDS: [&str; 5] = ["id", "type", "name", "parameters", "arguments"];
    let is_call = |value: &Value| {
        let name = value.get("name").and_then(Value::as_str);
        let fields = value.as_object().into_iter().flatten();
        name.is_some_and(|name| names(own).any(|it| it == name))
            && fields.map(|(field, _)| field.as_str()).all(|it| FIELDS.contains(&it))
    };
    match serde_json::from_str(unfenced(text)) {
        Ok(Value::Array(values)) => !values.is_empty() && values.iter().all(is_call),
        Ok(value) => is_call(&value),
        Err(_) => false,
    }
}

/// Without a fence, and what it says of its language.
fn unfenced(text: &str) -> &str {
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    fenced.map_or(text, |inner| inner.trim_start_matches(|it: char| it.is_ascii_alphabetic()))
}

/// Whether JSON names it beside arguments, wherever in the text, and whether or not the JSON can be read.
fn is_called_with(text: &str, name: &str) -> bool {
    let is_named = |(at, _): (usize, &str)| {
        let field = text[..at].trim_end().strip_suffix(':').map(str::trim_end);
        field.is_some_and(|field| NAME_FIELDS.iter().any(|it| field.ends_with(it)))
    };
    ARGUMENT_FIELDS.iter().any(|it| text.contains(it))
        && text.match_indices(&format!("\"{name}\"")).any(is_named)
}

/// `hand_over(reason="…")`. A tool of the business's own may bear the name of a common thing, and "price(s)" is no call.
fn is_called_like_a_function(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let is_begun_before =
            text[..at].ends_with(|it: char| it.is_alphanumeric() || matches!(it, '_' | '-'));
        let inside = text[at + name.len()..].strip_prefix('(');
        inside.is_some_and(|inside| !is_begun_before && (name.contains('_') || are_arguments(inside)))
    })
}

fn are_arguments(inside: &str) -> bool {
    let inside = inside.trim_start();
    let behind_a_name = inside.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || it == '_');
    inside.starts_with([')', '{', '"', '\''])
        || behind_a_name.len() < inside.len() && behind_a_name.trim_start().starts_with('=')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::adapters::model_server::fake::order_status;

    fn offer() -> Offer {
        Offer::Tools(Arc::from([order_status(), Tool { name: "price".into(), ..order_status() }]))
    }

    #[test]
    fn a_call_in_tags_is_known_by_their_names_whatever_is_put_before_them() {
        for called in [
            "<minimax:tool_call>\n<invoke name=\"hand_over\">\n</invoke>\n</minimax:tool_call>",
            "[TOOL_CALL]\n{tool => \"hand_over\", args => {\n --reason \"x\"\n}}\n[/TOOL_CALL]",
            "<tool_calls>[{\"name\": \"hand_over\"}]</tool_calls>",
            "<TOOLCALL>[{\"name\": \"hand_over\"}]</TOOLCALL>",
            "<function_calls>\n</function_calls>",
            "<｜DSML｜function_calls>\n",
            "‹｜DSML｜function_calls>\n",
            "<｜DSML｜invoke name=\"hand_over\">",
            "<Invoke  name=\"hand_over\">",
            "<seed:tool_call><function=hand_over>",
            "Let me get a colleague.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"hand_over\">",
            "<FUNCTION=hand_over>",
        ] {
            assert!(has_mark(called), "{called}");
        }
        for words in [
            "We can invoke name=value pairs.",
            "<b>Call</b> us, [or write](https://example.com/call).",
            "a tool_call is none of yours",
            "1 < 2 > 0 [so]",
            "",
        ] {
            assert!(!has_mark(words), "{words}");
        }
    }

    #[test]
    fn a_call_written_as_json_is_known_from_json_for_a_customer() {
        let offer = offer();
        for called in [
            r#"{"name": "hand_over", "parameters": {"reason": "asked"}}"#,
            r#"{"type": "function", "name": "order_status", "arguments": "{}"}"#,
            r#"[{"name": "stay_silent"}, {"name": "order_status", "parameters": {"order": "7"}}]"#,
            "```json\n{\"name\": \"hand_over\", \"parameters\": {}}\n```",
            "```\n{\"name\": \"hand_over\"}```",
            "```JSON\n{\"name\": \"hand_over\"}\n```",
            "I will get a colleague.\n\n{\"name\": \"hand_over\", \"parameters\": {\"reason\": \"asked\"}}",
            "```json\n{\"name\": \"hand_over\", \"parameters\": {\"reason\":\"x\"}}\n```\nA colleague comes.",
            r#"{"name": "stay_silent", "parameters": {}}; {"name": "hand_over", "parameters": {"reason": "x"}}"#,
            r#"{"type":"function","function":{"name":"hand_over","parameters":{"reason":"x"}}}"#,
            r#"{"tool_calls":[{"name":"hand_over","arguments":{"reason":"x"}}]}"#,
            r#"{"function": "hand_over", "parameters": {"reason": "x"}}"#,
            r#"One moment. {"name" : "price", "arguments": {"of": "a bowl"#,
        ] {
            assert!(has_call(called, &offer), "{called}");
        }
        for answer in [
            r#"{"name": "Ana", "parameters": {}}"#,
            r#"{"name": "order_status", "price": 3}"#,
            r#"[{"name": "hand_over"}, {"name": "Ana"}]"#,
            r#"{"name": "Ana", "parameters": {"price": "hand_over"}}"#,
            "[]",
            "3",
            "We open at nine.",
            r#"Write {"name": "hand_over"} so."#,
        ] {
            assert!(!has_call(answer, &offer), "{answer}");
        }
        for own in [r#"{"name": "order_status"}"#, r#"Yes. {"name": "order_status", "arguments": {}}"#] {
            assert!(!has_call(own, &Offer::Nothing), "nobody has told it of that one");
        }
    }

    #[test]
    fn a_call_written_as_code_is_known_from_a_word_before_a_bracket() {
        let offer = offer();
        for called in [
            r#"[hand_over(reason="The contact asks for a person")]"#,
            "```tool_code\nhand_over(reason=\"asked\")\n```",
            "print(default_api.hand_over(asked))",
            "stay_silent()",
            r#"price(of = "a bowl")"#,
            r#"price({"of": "a bowl"})"#,
            "price('a bowl')",
        ] {
            assert!(has_call(called, &offer), "{called}");
        }
        for answer in [
            "We hand over (reason: none) at nine.",
            "A hand_over (of keys) takes place at nine.",
            "The price(s) and the price(per night) differ.",
            "The underprice() of it.",
        ] {
            assert!(!has_call(answer, &offer), "{answer}");
        }
        assert!(!has_call("order_status(order=7)", &Offer::Nothing), "nobody has told it of that one");
    }
}
