//! What is posted: the conversation as turns of two sides, and the tools. In: a request of the flow. Out: the JSON body.
//!
//! The API knows a user and an assistant who take turns, the user first and last. A chat is not like that: a contact writes
//! three messages in a row, the business writes first, a follow-up answers silence.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    adapters::model_server::{self, COLLEAGUE_MARK, SINCE, said, tools},
    domain::tool::Tool,
    flow::generator::{Line, Offer, Request, ToolCall},
};

/// The API requires a limit. What may be sent as one reply, four messages of 4096 characters, is some 8000 tokens in
/// languages that need many; every model that is served writes as much. A longer answer is cut there, and is one all the same.
const MAX_TOKENS: u32 = 8_192;

/// In the contact's place, where the business wrote first or what came before is left out.
const BEFORE: &str = "[What came before is not shown.]";

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Offered<'a>>>,
    /// Said only where none is to be called any more: blocks of calls are refused where no tool is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
struct Offered<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: String },
    ToolUse { id: &'a str, name: &'a str, input: Map<String, Value> },
    ToolResult { tool_use_id: &'a str, content: &'a str },
}

/// The body of the POST.
pub(super) fn body(request: &Request) -> String {
    let body = Body {
        model: &request.model,
        max_tokens: MAX_TOKENS,
        system: system(request),
        messages: messages(&request.lines),
        stream: true,
        tools: request.tools.shown().map(offered),
        tool_choice: matches!(request.tools, Offer::Over(_)).then(|| json!({ "type": "none" })),
    };
    // Strings, lists and structs with string keys: none of it can fail to be JSON.
    serde_json::to_string(&body).expect("the body is plain data")
}

/// The prompt and what our side wants, each a block of its own.
fn system(request: &Request) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    model_server::system(request).for_each(|text| write(&mut blocks, text));
    blocks
}

/// Neighbours of one side become one message, each line a block of its own.
fn messages(lines: &[Line]) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for (role, blocks) in lines.iter().map(spoken).filter(|(_, blocks)| !blocks.is_empty()) {
        if messages.is_empty() && role == Role::Assistant {
            messages.push(user(BEFORE));
        }
        if messages.last().is_none_or(|last| last.role != role) {
            messages.push(Message { role, content: Vec::new() });
        }
        let content = &mut messages.last_mut().expect("one was pushed").content;
        for block in blocks {
            match block {
                Block::Text { text } => write(content, &text),
                other => content.push(other),
            }
        }
    }
    if messages.last().is_none_or(|last| last.role == Role::Assistant) {
        messages.push(user(SINCE));
    }
    messages
}

fn user(text: &str) -> Message<'static> {
    Message { role: Role::User, content: vec![Block::Text { text: text.to_owned() }] }
}

/// What a line says, and whose side it is. Blank ones say nothing.
fn spoken(line: &Line) -> (Role, Vec<Block<'_>>) {
    let mut blocks = Vec::new();
    let role = match line {
        Line::Contact(text) => {
            write(&mut blocks, text);
            Role::User
        }
        // With the prompt: see `system`.
        Line::Instruction(_) => Role::User,
        Line::Assistant(text) => {
            write(&mut blocks, text);
            Role::Assistant
        }
        Line::Colleague(text) => {
            if said(text) {
                write(&mut blocks, &format!("{COLLEAGUE_MARK} {text}"));
            }
            Role::Assistant
        }
        // Calls come last in their message, and their results first in the next one.
        Line::Calls(text, calls) => {
            write(&mut blocks, text);
            blocks.extend(calls.iter().map(called));
            Role::Assistant
        }
        // A result answers a call by its id: it stays, whatever it says.
        Line::Result { call, text } => {
            let content = if said(text) { text } else { "done" };
            blocks.push(Block::ToolResult { tool_use_id: call, content });
            Role::User
        }
    };
    (role, blocks)
}

/// Adds a text, if there is anything in it. Nobody promises what stands between two blocks where they are read as one.
fn write(blocks: &mut Vec<Block<'_>>, text: &str) {
    if said(text) {
        let between = if blocks.is_empty() { "" } else { "\n\n" };
        blocks.push(Block::Text { text: format!("{between}{text}") });
    }
}

fn called(call: &ToolCall) -> Block<'_> {
    // Only an object is taken: arguments that are none are shown as if there were none.
    let input = serde_json::from_str(&call.arguments).unwrap_or_default();
    Block::ToolUse { id: &call.id, name: &call.name, input }
}

fn offered(own: &[Tool]) -> Vec<Offered<'_>> {
    tools::tools(own)
        .map(|Tool { name, description, parameters, .. }| Offered {
            name,
            description,
            input_schema: parameters,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{adapters::model_server::fake::order_status, flow::generator::About};

    fn asked(system: &str, lines: Vec<Line>, tools: Offer) -> Request {
        let (model, channel) = ("small-1".into(), "default".into());
        let about = About::default();
        Request { model, system: Arc::from(system), lines, tools, channel, about, asked_before: 0 }
    }

    fn posted(lines: Vec<Line>) -> Value {
        serde_json::from_str(&body(&asked("Be kind.", lines, Offer::Nothing))).expect("JSON")
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    fn from(role: &str, content: &[Value]) -> Value {
        json!({ "role": role, "content": content })
    }

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "hand_over".into(),
            arguments: arguments.into(),
            ..ToolCall::default()
        }
    }

    fn called(id: &str, input: &Value) -> Value {
        json!({ "type": "tool_use", "id": id, "name": "hand_over", "input": input })
    }

    fn gave(id: &str, content: &str) -> Value {
        json!({ "type": "tool_result", "tool_use_id": id, "content": content })
    }

    #[test]
    fn a_chat_becomes_turns() {
        let posted = posted(vec![
            Line::Contact("Are you open?".into()),
            Line::Contact("Today?".into()),
            Line::Assistant("Yes.".into()),
            Line::Colleague("Until six.".into()),
            Line::Instruction("A colleague says: be brief.".into()),
            Line::Contact("I want a person.".into()),
            Line::Calls("A moment.".into(), vec![call("c1", r#"{"reason":"asked"}"#), call("c2", "")]),
            Line::Result { call: "c1".into(), text: "nobody is there".into() },
            Line::Result { call: "c2".into(), text: "done".into() },
        ]);
        let expected = json!({
            "model": "small-1",
            "max_tokens": 8192,
            "stream": true,
            "system": [text("Be kind."), text("\n\nA colleague says: be brief.")],
            "messages": [
                from("user", &[text("Are you open?"), text("\n\nToday?")]),
                from("assistant", &[text("Yes."), text("\n\n[Written by a human colleague] Until six.")]),
                from("user", &[text("I want a person.")]),
                from("assistant", &[
                    text("A moment."),
                    called("c1", &json!({ "reason": "asked" })),
                    called("c2", &json!({})),
                ]),
                from("user", &[gave("c1", "nobody is there"), gave("c2", "done")]),
            ],
        });
        assert_eq!(posted, expected);
    }

    #[test]
    fn the_contact_has_the_first_word_and_the_last() {
        let follow_up = posted(vec![
            Line::Assistant("Your order is ready.".into()),
            Line::Instruction("Write one short follow-up message.".into()),
        ]);
        let expected = [
            from("user", &[text(BEFORE)]),
            from("assistant", &[text("Your order is ready.")]),
            from("user", &[text(SINCE)]),
        ];
        assert_eq!(follow_up["messages"], json!(expected));
        let nothing_was_said = posted(vec![Line::Instruction("Greet them.".into())]);
        assert_eq!(nothing_was_said["messages"], json!([from("user", &[text(SINCE)])]));
        assert_eq!(nothing_was_said["system"][1], text("\n\nGreet them."));
    }

    #[test]
    fn an_instruction_parts_nobodys_words() {
        let posted = posted(vec![
            Line::Contact("Blue ones".into()),
            Line::Instruction("Suggest.".into()),
            Line::Contact("or green".into()),
        ]);
        assert_eq!(posted["messages"], json!([from("user", &[text("Blue ones"), text("\n\nor green")])]));
    }

    #[test]
    fn no_block_is_empty() {
        let posted = posted(vec![
            Line::Contact(" \n".into()),
            Line::Assistant(String::new()),
            Line::Colleague("\t".into()),
            Line::Instruction(String::new()),
            Line::Calls(String::new(), Vec::new()),
            Line::Contact("Hello".into()),
            Line::Calls(String::new(), vec![call("c1", r#"{"reason":"#), call("c2", "[1]")]),
            Line::Result { call: "c1".into(), text: String::new() },
            Line::Result { call: "c2".into(), text: " ".into() },
        ]);
        let expected = [
            from("user", &[text("Hello")]),
            from("assistant", &[called("c1", &json!({})), called("c2", &json!({}))]),
            from("user", &[gave("c1", "done"), gave("c2", "done")]),
        ];
        assert_eq!(posted["messages"], json!(expected));
        assert_eq!(posted["system"], json!([text("Be kind.")]));
    }

    #[test]
    fn tools_are_offered_when_wanted() {
        let posted = posted_with(Offer::Tools(Arc::from([order_status()])));
        let tools = posted["tools"].as_array().expect("a list");
        let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["hand_over", "schedule_follow_up", "stay_silent", "order_status"]);
        assert!(tools.iter().all(|tool| tool["input_schema"]["type"] == "object"), "{tools:?}");
        assert_eq!(tools[3]["input_schema"]["required"], json!(["order"]));
        assert!(posted.get("system").is_none(), "no prompt is none, not an empty one");
        assert_eq!(posted.get("tool_choice"), None);
    }

    #[test]
    fn tools_that_were_called_often_enough_are_shown_and_not_to_be_called() {
        let posted = posted_with(Offer::Over(Arc::from([order_status()])));
        let shown = posted["tools"].as_array().map(Vec::len);
        assert_eq!((shown, &posted["tool_choice"]), (Some(4), &json!({ "type": "none" })));
    }

    fn posted_with(tools: Offer) -> Value {
        let body = body(&asked(" ", vec![Line::Contact("Hello".into())], tools));
        serde_json::from_str(&body).expect("JSON")
    }
}
