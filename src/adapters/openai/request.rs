//! What is posted: the conversation as messages, and the tools. In: a request of the flow. Out: the JSON body.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    adapters::model_server::{COLLEAGUE_MARK, SINCE, said, system, tools},
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
    tools: Option<Vec<Offered<'a>>>,
    /// Said only where none is to be called any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct Offered<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<String>,
        /// Only where the server has sent it: others refuse what they don't know.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        /// The same.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        reasoning_details: &'a [Map<String, Value>],
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
    let body = Body {
        model: &request.model,
        messages: messages(request),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        tools: request.tools.shown().map(functions),
        tool_choice: matches!(request.tools, Offer::Over(_)).then_some("none"),
    };
    // Strings, lists and structs with string keys: none of it can fail to be JSON.
    serde_json::to_string(&body).expect("the body is plain data")
}

fn messages(request: &Request) -> Vec<Message<'_>> {
    let content = system(request).collect::<Vec<_>>().join("\n\n");
    let mut messages: Vec<_> = said(&content).then_some(Message::System { content }).into_iter().collect();
    messages.extend(request.lines.iter().filter_map(message));
    // Some servers refuse to answer anybody but the contact.
    if matches!(messages.last(), None | Some(Message::System { .. } | Message::Assistant { .. })) {
        messages.push(Message::User { content: SINCE });
    }
    messages
}

/// None for a blank line, and for what stands in the system message.
fn message(line: &Line) -> Option<Message<'_>> {
    let message = match line {
        Line::Contact(text) if said(text) => Message::User { content: text },
        Line::Assistant(text) if said(text) => words(text.clone()),
        Line::Colleague(text) if said(text) => words(format!("{COLLEAGUE_MARK} {text}")),
        Line::Contact(_) | Line::Instruction(_) | Line::Assistant(_) | Line::Colleague(_) => return None,
        Line::Calls(text, calls) if said(text) || !calls.is_empty() => Message::Assistant {
            content: said(text).then(|| text.clone()),
            reasoning_content: calls.iter().map(|call| call.beside.thoughts.as_str()).find(|it| said(it)),
            reasoning_details: calls.first().map_or(&[], |call| &call.beside.details),
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
    Message::Assistant {
        content: Some(text),
        reasoning_content: None,
        reasoning_details: &[],
        tool_calls: Vec::new(),
    }
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

fn functions(own: &[Tool]) -> Vec<Offered<'_>> {
    tools::tools(own)
        .map(|Tool { name, description, parameters, .. }| Described { name, description, parameters })
        .map(|function| Offered { kind: "function", function })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{adapters::model_server::fake::order_status, flow::generator::About};

    fn asked(lines: Vec<Line>) -> Request {
        Request {
            model: "small-1".into(),
            system: Arc::from("Be kind."),
            lines,
            tools: Offer::Nothing,
            channel: "default".into(),
            about: About::default(),
            asked_before: 0,
        }
    }

    fn posted(lines: Vec<Line>) -> Value {
        serde_json::from_str(&body(&asked(lines))).expect("JSON")
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
            Line::Instruction("No tools.".into()),
        ]);
        let expected = json!({
            "model": "small-1",
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": [
                { "role": "system", "content": "Be kind.\n\nA colleague says: be brief.\n\nNo tools." },
                { "role": "user", "content": "Are you open?" },
                { "role": "user", "content": "Today?" },
                { "role": "assistant", "content": "Yes." },
                { "role": "assistant", "content": "[Written by a human colleague] Until six." },
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

    #[test]
    fn the_contact_has_the_last_word() {
        let user = |text: &str| json!({ "role": "user", "content": text });
        let follow_up = posted(vec![
            Line::Contact("Hello".into()),
            Line::Assistant("Good day.".into()),
            Line::Instruction("Write one short follow-up message.".into()),
        ]);
        let expected = json!([
            { "role": "system", "content": "Be kind.\n\nWrite one short follow-up message." },
            user("Hello"),
            { "role": "assistant", "content": "Good day." },
            user(SINCE),
        ]);
        assert_eq!(follow_up["messages"], expected);
        let draft = posted(vec![
            Line::Colleague("Until six.".into()),
            Line::Instruction("Suggest.".into()),
            Line::Contact("Thanks".into()),
        ]);
        assert_eq!(draft["messages"][2], user("Thanks"));
        assert_eq!(posted(Vec::new())["messages"][1], user(SINCE));
    }

    #[test]
    fn where_nothing_is_asked_by_our_side_there_is_no_system_message() {
        let bare = |lines| {
            let request = Request { system: Arc::from(" \n"), ..asked(lines) };
            serde_json::from_str::<Value>(&body(&request)).expect("JSON")["messages"].clone()
        };
        let user = json!({ "role": "user", "content": "Hello" });
        assert_eq!(bare(vec![Line::Contact("Hello".into())]), json!([user]));
        let told = bare(vec![Line::Contact("Hello".into()), Line::Instruction("Be brief.".into())]);
        assert_eq!(told, json!([{ "role": "system", "content": "Be brief." }, user]));
    }

    fn offered(tools: Offer) -> Value {
        let request = Request { model: String::new(), tools, ..asked(Vec::new()) };
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
