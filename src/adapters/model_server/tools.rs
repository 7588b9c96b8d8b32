//! What the assistant may do besides writing. In: the tools of the business's own. Out: each tool, Baton's first, to be put
//! as its server wants it.

use serde_json::{Value, json};

use crate::domain::tool;

/// One tool.
pub(crate) struct Tool<'a> {
    pub(crate) name: &'a str,
    /// For the model: what it does, and when.
    pub(crate) description: &'a str,
    /// Its arguments, as a JSON schema.
    pub(crate) arguments: Value,
}

/// All of them.
pub(crate) fn tools(own: &[tool::Tool]) -> impl Iterator<Item = Tool<'_>> {
    let of_the_business = own.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        arguments: tool.parameters.clone().into(),
    });
    built_in().into_iter().chain(of_the_business)
}

fn built_in() -> [Tool<'static>; 3] {
    let words = |what: &str| json!({ "type": "string", "description": what });
    [
        Tool {
            name: "hand_over",
            description: "Hand the conversation to a human colleague: when the contact asks for a person, is upset, or \
                needs something that you cannot do or do not know. Words written beside the call are sent to the \
                contact as your last message. You do not answer after that.",
            arguments: object(
                &json!({ "reason": words("Why, for the colleague. One short sentence.") }),
                &["reason"],
            ),
        },
        Tool {
            name: "schedule_follow_up",
            description: "Write to the contact later, if they have not written by then. Replaces a follow-up scheduled \
                before.",
            arguments: object(
                &json!({
                    "delay_hours": {
                        "type": "number",
                        "exclusiveMinimum": 0,
                        "description": "In how many hours. Fractions are allowed.",
                    },
                    "text": words("The message to send. Left out, you will be asked to write it when it is due."),
                }),
                &["delay_hours"],
            ),
        },
        Tool {
            name: "stay_silent",
            description: "Answer nothing this time: when the contact only thanks, says goodbye, or clearly expects no \
                answer.",
            arguments: object(
                &json!({ "reason": words("Why no answer is needed. One short sentence.") }),
                &["reason"],
            ),
        },
    ]
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_baton_has_is_nobody_elses() {
        assert_eq!(tools(&[]).map(|tool| tool.name).collect::<Vec<_>>(), tool::BUILT_IN);
    }
}
