//! What the assistant may do besides writing. In: the tools of the business's own. Out: each tool, Baton's first, to be put
//! as its server wants it.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::domain::tool::Tool;

/// Those that Baton itself has: the same in every request.
static BUILT_IN: LazyLock<[Tool; 3]> = LazyLock::new(built_in);

/// All of them.
pub(crate) fn tools(own: &[Tool]) -> impl Iterator<Item = &Tool> {
    BUILT_IN.iter().chain(own)
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
    use super::*;
    use crate::domain::tool::BUILT_IN as BUILT_IN_NAMES;

    #[test]
    fn a_name_that_baton_has_is_nobody_elses() {
        assert_eq!(tools(&[]).map(|tool| tool.name.as_str()).collect::<Vec<_>>(), BUILT_IN_NAMES);
    }
}
