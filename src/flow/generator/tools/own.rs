//! Calls of the business's own tools. In: a call as the model wrote it. Out: what it asks, or what is wrong with it, in
//! words for the model.

use serde_json::{Map, Value};

use crate::{domain::tool::Tool, flow::generator::ToolCall};

/// Longest arguments, as JSON: they are kept with the conversation, and sent.
const ARGUMENTS_MAX_BYTES: usize = 8_192;

/// Errands of one turn. More is a model gone astray.
pub(super) const ERRANDS_MAX: usize = 8;

/// Look-ups of one answer of the model.
pub(super) const LOOK_UPS_MAX: usize = 8;

/// What is asked of the business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// By which tool.
    pub tool: String,
    /// With which arguments.
    pub arguments: Map<String, Value>,
}

/// Reads a call: an object with everything that its tool requires.
pub(super) fn read(tool: &Tool, call: &ToolCall) -> Result<Asking, String> {
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    if text.len() > ARGUMENTS_MAX_BYTES {
        return Err(format!("the arguments have more than {ARGUMENTS_MAX_BYTES} bytes"));
    }
    let Ok(Value::Object(arguments)) = serde_json::from_str(text).map(storable) else {
        return Err("the arguments are not a JSON object".to_owned());
    };
    match tool.required().find(|name| !arguments.contains_key(*name)) {
        Some(name) => Err(format!("the arguments lack {name:?}")),
        None => Ok(Asking { tool: tool.name.clone(), arguments }),
    }
}

/// Without what PostgreSQL cannot keep, wherever it stands.
fn storable(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(super::storable(&text)),
        Value::Array(items) => items.into_iter().map(storable).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (super::storable(&name), storable(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: &str) -> Result<Value, String> {
        let parameters = json!({ "type": "object", "required": ["order", "day"] });
        let tool = Tool {
            name: "move_order".into(),
            description: "Moves an order.".into(),
            parameters: serde_json::from_value(parameters).expect("an object"),
            look_up: None,
        };
        let (id, name) = ("c1".into(), "move_order".into());
        let call = ToolCall { id, name, arguments: arguments.into(), ..ToolCall::default() };
        super::read(&tool, &call).map(|asking| asking.arguments.into())
    }

    #[test]
    fn arguments_are_an_object_with_what_is_required() {
        let right = read(r#"{"order":"7","day":null,"more":[1]}"#);
        assert_eq!(right, Ok(json!({ "order": "7", "day": null, "more": [1] })));
        let long = format!(r#"{{"order":"7","day":"{}"}}"#, "x".repeat(ARGUMENTS_MAX_BYTES));
        for (arguments, problem) in [
            ("", "the arguments lack \"order\""),
            (r#"{"order":"7"}"#, "the arguments lack \"day\""),
            (r#"["7"]"#, "the arguments are not a JSON object"),
            (r#"{"order":"#, "the arguments are not a JSON object"),
            (&long, "the arguments have more than 8192 bytes"),
        ] {
            assert_eq!(read(arguments), Err(problem.to_owned()), "{arguments:.40}");
        }
    }

    #[test]
    fn what_no_store_can_keep_is_left_out_wherever_it_stands() {
        let had = read(r#"{"order":"7\u0000","day":[{"a\u0000":"\\u0000"}]}"#);
        assert_eq!(had, Ok(json!({ "order": "7", "day": [{ "a": "\\u0000" }] })));
    }
}
