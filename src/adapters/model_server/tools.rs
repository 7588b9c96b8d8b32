//! What the assistant may do besides writing. In: the tools of the business's own. Out: each tool, Baton's first, to be put
//! as its server wants it.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::{
    domain::tool::{self, Tool},
    flow::generator::Offer,
};

/// Those that Baton itself has: the same in every request.
static BUILT_IN: LazyLock<[Tool; 3]> = LazyLock::new(built_in);

/// All of them.
pub(crate) fn tools(own: &[Tool]) -> impl Iterator<Item = &Tool> {
    BUILT_IN.iter().chain(own)
}

/// Whether an answer is nothing but calls, written as JSON: so do models whose server does not know how to read them. An
/// object that says anything else is an answer.
pub(super) fn are_called_in_words(text: &str, offer: &Offer) -> bool {
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

fn built_in() -> [Tool; 3] {
    let words = |what: &str| json!({ "type": "string", "description": what });
    let tool = |name: &str, description: &str, properties: Value, required: &str| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: object(properties, required),
        look_up: None,
    };
    [
        tool(
            "hand_over",
            "Hand the conversation to a human colleague: when the contact asks for a person, is upset, or needs something \
                that you cannot do or do not know. Words written beside the call are sent to the contact as your last \
                message. You do not answer after that.",
            json!({ "reason": words("Why, for the colleague. One short sentence.") }),
            "reason",
        ),
        tool(
            "schedule_follow_up",
            "Write to the contact later, if they have not written by then. Replaces a follow-up scheduled before.",
            json!({
                "delay_hours": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": "In how many hours. Fractions are allowed.",
                },
                "text": words("The message to send. Left out, you will be asked to write it when it is due."),
            }),
            "delay_hours",
        ),
        tool(
            "stay_silent",
            "Answer nothing this time: when the contact only thanks, says goodbye, or clearly expects no answer.",
            json!({ "reason": words("Why no answer is needed. One short sentence.") }),
            "reason",
        ),
    ]
}

/// The schema of arguments, of which one is required.
fn object(properties: Value, required: &str) -> Map<String, Value> {
    let fields = [
        ("type", json!("object")),
        ("properties", properties),
        ("required", json!([required])),
        ("additionalProperties", json!(false)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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
            assert!(are_called_in_words(called, &offer), "{called}");
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
            assert!(!are_called_in_words(answer, &offer), "{answer}");
        }
        let own = r#"{"name": "order_status"}"#;
        assert!(!are_called_in_words(own, &Offer::Nothing), "nobody has told it of that one");
    }

    #[test]
    fn a_name_that_baton_has_is_nobody_elses() {
        assert_eq!(tools(&[]).map(|tool| tool.name.as_str()).collect::<Vec<_>>(), tool::BUILT_IN);
    }
}
