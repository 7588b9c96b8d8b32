//! What an assistant hears, and what the API is asked.

use std::sync::Mutex;

use super::*;

/// Says what it is told to, and remembers what it was asked.
struct Told {
    says: Said,
    asked: Mutex<Vec<String>>,
}

impl Api for Told {
    async fn ask(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Said {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let keyed = if key.is_some() { " once" } else { "" };
        self.asked.lock().expect("no panic").push(format!("{method} {path} {body}{keyed}"));
        self.says.clone()
    }
}

fn told(says: Said) -> Told {
    Told { says, asked: Mutex::default() }
}

async fn asks(api: &Told, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    answer(api, message.to_string().as_bytes()).await.expect("an answer")
}

const MEI: &str = "0199f0c2-0000-7000-8000-000000000001";

#[tokio::test]
async fn an_assistant_is_told_what_there_is_in_a_version_it_knows() {
    let api = told(Said::Done(Value::Null));
    for (wanted, given) in [("2024-11-05", "2024-11-05"), ("1999-01-01", VERSIONS[0])] {
        let hello = asks(&api, "initialize", json!({ "protocolVersion": wanted })).await;
        assert_eq!(hello["result"]["protocolVersion"], given);
        assert_eq!((&hello["id"], &hello["result"]["serverInfo"]["name"]), (&json!(7), &json!("baton")));
    }
    let listed = asks(&api, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().cloned().expect("a list");
    for tool in &tools {
        assert!(tool["description"].as_str().is_some_and(|about| about.len() > 20), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    let hint = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("it is there");
        (tool["annotations"]["readOnlyHint"].clone(), tool["annotations"]["destructiveHint"].clone())
    };
    assert_eq!(hint("read_messages"), (json!(true), json!(false)));
    assert_eq!(hint("send_message"), (json!(false), json!(true)));
    assert_eq!(hint("update_conversation"), (json!(false), json!(true)), "closing stops an answer");
    assert_eq!(hint("add_note"), (json!(false), json!(false)));
    assert_eq!(answer(&api, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await, None);
    assert!(api.asked.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_call_is_one_request_and_its_answer_is_read_by_the_assistant() {
    let api = told(Said::Done(json!({ "items": [] })));
    let list = json!({ "name": "list_conversations", "arguments": { "group": "needs_you", "q": "a&b =" } });
    let said = asks(&api, "tools/call", list).await;
    assert_eq!(said["result"]["structuredContent"], json!({ "items": [] }));
    let say = json!({ "name": "send_message", "arguments": { "conversation_id": MEI, "text": "Hello" } });
    asks(&api, "tools/call", say).await;
    asks(&api, "tools/call", json!({ "name": "count_conversations" })).await;
    let asked = api.asked.lock().expect("no panic").clone();
    assert_eq!(
        asked,
        [
            "GET /conversations?group=needs_you&limit=20&q=a%26b+%3D ".to_owned(),
            format!("POST /conversations/{MEI}/messages {{\"text\":\"Hello\"}} once"),
            "GET /conversations/counts ".to_owned(),
        ]
    );

    let api = told(Said::Refused("409 version_conflict: the mode is another".to_owned()));
    let switch = json!({ "name": "switch_mode", "arguments": { "conversation_id": MEI, "mode": "HUMAN" } });
    let said = asks(&api, "tools/call", switch).await;
    assert_eq!((&said["result"]["isError"], said.get("error")), (&json!(true), None));
    assert!(said["result"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("409")));
    let asked = api.asked.lock().expect("no panic").clone();
    let switch = format!("PUT /conversations/{MEI}/mode {{\"mode\":\"HUMAN\"}}");
    assert_eq!(asked, [switch], "not asked again: it could undo what a person has set since");
}

#[tokio::test]
async fn several_messages_in_an_array_are_each_answered() {
    let api = told(Said::Done(json!({ "ai": 3 })));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "count_conversations" } });
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let several = json!([call, told, { "jsonrpc": "2.0", "id": 2, "method": "ping" }]);
    let answers = answer(&api, several.to_string().as_bytes()).await.expect("an answer");
    assert_eq!((answers[0]["id"].clone(), answers[1]["id"].clone()), (json!(1), json!(2)));
    assert_eq!(answers[0]["result"]["structuredContent"], json!({ "ai": 3 }));
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    assert_eq!(answer(&api, json!([told]).to_string().as_bytes()).await, None);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_asks_nobody() {
    let api = told(Said::Done(Value::Null));
    for (params, says) in [
        (json!({ "name": "open_the_safe" }), "no tool"),
        (json!({ "name": "read_conversation" }), "needs conversation_id"),
        (
            json!({ "name": "read_conversation", "arguments": { "conversation_id": "../../tokens" } }),
            "is no id",
        ),
        (json!({ "name": "count_conversations", "arguments": { "path": "/tokens" } }), "takes no"),
        (
            json!({ "name": "update_conversation", "arguments": { "conversation_id": MEI, "assignee": null } }),
            "takes no null: give assignee",
        ),
        (
            json!({ "name": "update_conversation", "arguments": { "conversation_id": MEI } }),
            "needs something to change",
        ),
    ] {
        let said = asks(&api, "tools/call", params).await;
        assert_eq!(said["error"]["code"], -32602);
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains(says)), "{said}");
    }
    assert_eq!(asks(&api, "resources/list", json!({})).await["error"]["code"], -32601);
    assert_eq!(answer(&api, b"{nonsense").await.expect("an answer")["error"]["code"], -32700);
    assert_eq!(answer(&api, b"[]").await.expect("an answer")["error"]["code"], -32600);
    assert_eq!(answer(&api, b"\n").await, None);
    assert!(api.asked.lock().expect("no panic").is_empty());
}
