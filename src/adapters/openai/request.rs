//! What is posted: the conversation as messages, and the tools. In: a request of the flow. Out: the JSON body.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    adapters::model_server::{COLLEAGUE_MARK, said, tools},
    domain::tool::Tool,
    flow::generator::{Line, Offer, Request, ToolCall},
};

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    /// Said only where none is to be called any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<String>,
        /// Only where the server has sent it: others refuse what they don't know.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The body of the POST.
pub(super) fn body(request: &Request) -> String {
    let system = said(&request.system).then_some(Message::System { content: &request.system });
    let lines = request.lines.iter().filter_map(message);
    let body = Body {
        model: &request.model,
        messages: system.into_iter().chain(lines).collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: request.tools.shown().map(functions),
        tool_choice: matches!(request.tools, Offer::Over(_)).then_some("none"),
    };
    // Strings, lists and structs with string keys: none of it can fail to be JSON.
    serde_json::to_string(&body).expect("the body is plain data")
}

/// None for a blank line.
fn message(line: &Line) -> Option<Message<'_>> {
    let message = match line {
        Line::Contact(text) if said(text) => Message::User { content: text },
        Line::Instruction(text) if said(text) => Message::System { content: text },
        Line::Assistant(text) if said(text) => words(text.clone()),
        Line::Colleague(text) if said(text) => words(format!("{COLLEAGUE_MARK} {text}")),
        Line::Contact(_) | Line::Instruction(_) | Line::Assistant(_) | Line::Colleague(_) => return None,
        Line::Calls(text, calls) if said(text) || !calls.is_empty() => Message::Assistant {
            content: said(text).then(|| text.clone()),
            reasoning_content: calls.iter().map(|call| call.beside.thoughts.as_str()).find(|it| said(it)),
            tool_calls: calls.iter().map(call).collect(),
        },
        Line::Calls(..) => return None,
        // A result answers a call by its id: it stays, whatever it says.
        Line::Result { call, text } => {
            Message::Tool { tool_call_id: call, content: if said(text) { text } else { "done" } }
        }
    };
    Some(message)
}

const fn words<'a>(text: String) -> Message<'a> {
    Message::Assistant { content: Some(text), reasoning_content: None, tool_calls: Vec::new() }
}

fn call(call: &ToolCall) -> Call<'_> {
    // Some servers parse the arguments that they are shown, and refuse the request if that fails.
    let arguments = match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
        Ok(_) => &call.arguments,
        Err(_) => "{}",
    };
    Call {
        id: &call.id,
        kind: "function",
        function: Function { name: &call.name, arguments },
        extra_content: call.beside.extra.as_ref(),
    }
}

fn functions(own: &[Tool]) -> Value {
    let function = |tool: tools::Tool<'_>| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": tool.arguments },
        })
    };
    tools::tools(own).map(function).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{adapters::model_server::fake::order_status, flow::generator::About};

    fn posted(lines: Vec<Line>) -> Value {
        let request = Request {
            model: "small-1".into(),
            system: Arc::from("Be kind."),
            lines,
            tools: Offer::Nothing,
            channel: "default".into(),
            about: About::default(),
        };
        serde_json::from_str(&body(&request)).expect("JSON")
    }

    fn called(arguments: &str) -> ToolCall {
        ToolCall {
            id: "c1".into(),
            name: "hand_over".into(),
            arguments: arguments.into(),
            ..ToolCall::default()
        }
    }

    #[test]
    fn every_line_has_its_message() {
        let call = called(r#"{"reason":"asked"}"#);
        let posted = posted(vec![
            Line::Contact("Are you open?".into()),
            Line::Contact("Today?".into()),
            Line::Assistant("Yes.".into()),
            Line::Colleague("Until six.".into()),
            Line::Instruction("A colleague says: be brief.".into()),
            Line::Calls(" ".into(), vec![call]),
            Line::Result { call: "c1".into(), text: "done".into() },
        ]);
        let expected = json!({
            "model": "small-1",
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": [
                { "role": "system", "content": "Be kind." },
                { "role": "user", "content": "Are you open?" },
                { "role": "user", "content": "Today?" },
                { "role": "assistant", "content": "Yes." },
                { "role": "assistant", "content": "[Written by a human colleague] Until six." },
                { "role": "system", "content": "A colleague says: be brief." },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function",
                      "function": { "name": "hand_over", "arguments": "{\"reason\":\"asked\"}" } },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "done" },
            ],
        });
        assert_eq!(posted, expected);
    }

    #[test]
    fn no_message_is_empty() {
        let broken = called(r#"{"reason":"#);
        let posted = posted(vec![
            Line::Contact(" \n".into()),
            Line::Assistant(String::new()),
            Line::Colleague("\t".into()),
            Line::Instruction(String::new()),
            Line::Calls(String::new(), Vec::new()),
            Line::Calls("A moment.".into(), vec![broken]),
            Line::Result { call: "c1".into(), text: String::new() },
        ]);
        let expected = json!([
            { "role": "system", "content": "Be kind." },
            { "role": "assistant", "content": "A moment.", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "hand_over", "arguments": "{}" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "done" },
        ]);
        assert_eq!(posted["messages"], expected);
    }

    fn offered(tools: Offer) -> Value {
        let request = Request {
            model: String::new(),
            system: Arc::from("Be kind."),
            lines: Vec::new(),
            tools,
            channel: "default".into(),
            about: About::default(),
        };
        serde_json::from_str(&body(&request)).expect("JSON")
    }

    fn names(posted: &Value) -> Vec<&Value> {
        posted["tools"].as_array().expect("a list").iter().map(|tool| &tool["function"]["name"]).collect()
    }

    #[test]
    fn tools_are_offered_when_wanted() {
        let posted = offered(Offer::Tools(Arc::default()));
        assert_eq!(names(&posted), ["hand_over", "schedule_follow_up", "stay_silent"]);
        assert_eq!(posted.get("tool_choice"), None);
        assert!(posted.get("model").is_none(), "a server with one model needs no name");
    }

    #[test]
    fn tools_of_the_business_are_offered_behind_batons() {
        let posted = offered(Offer::Tools(Arc::from([order_status()])));
        assert_eq!(names(&posted), ["hand_over", "schedule_follow_up", "stay_silent", "order_status"]);
        let expected = json!({ "type": "function", "function": {
            "name": "order_status",
            "description": "Where an order is.",
            "parameters": { "type": "object", "properties": { "order": { "type": "string" } }, "required": ["order"] },
        } });
        assert_eq!(posted["tools"][3], expected);
    }

    #[test]
    fn tools_that_were_called_often_enough_are_shown_and_not_to_be_called() {
        let posted = offered(Offer::Over(Arc::from([order_status()])));
        assert_eq!((names(&posted).len(), &posted["tool_choice"]), (4, &json!("none")));
    }
}
