//! The examples in the description of the API: the routes take what is shown as a request, and what is shown as an answer
//! is what its type writes.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{World, fakes};
use crate::{
    domain::time::Time,
    http::{openapi::document, ports::Secret},
};

const CHAT: &str = "6580000001@c.us";

/// One operation that has an example.
struct Shown<'a> {
    method: String,
    path: &'a str,
    body: Option<&'a Value>,
    status: &'a str,
    schema: &'a Value,
    answer: &'a Value,
}

fn shown() -> Vec<Shown<'static>> {
    let mut found = Vec::new();
    for (path, operations) in document()["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let body = operation.pointer("/requestBody/content/application~1json/example");
            let responses = operation["responses"].as_object().expect("responses");
            let answers = responses.iter().filter_map(|(status, response)| {
                let content = response.pointer("/content/application~1json")?;
                Some((status, content, content.get("example")?))
            });
            found.extend(answers.map(|(status, content, answer)| Shown {
                method: method.to_uppercase(),
                path,
                body,
                status,
                schema: &content["schema"],
                answer,
            }));
            assert!(body.is_none() || found.last().is_some_and(|it| it.path == path), "{method} {path}");
        }
    }
    found
}

/// All in which a value is not what a schema says. Answers leave nothing out, so that an example does not either.
fn faults(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document().pointer(name.trim_start_matches('#')).expect("a schema");
        return faults(schema, value, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let mut wrong: Vec<_> = choices.iter().map(|choice| faults(choice, value, at)).collect();
        wrong.sort_by_key(Vec::len);
        return wrong.swap_remove(0);
    }
    let Some(fields) = fields_of(schema) else { return plain_faults(schema, value, at) };
    let Some(given) = value.as_object() else { return vec![format!("{at}: {value} is no object")] };
    let unknown = given.keys().filter(|name| !fields.contains_key(*name));
    let mut wrong: Vec<String> = unknown.map(|name| format!("{at}/{name}: there is no such field")).collect();
    for (name, schema) in &fields {
        match given.get(name) {
            Some(value) => wrong.extend(faults(schema, value, &format!("{at}/{name}"))),
            // A search alone tells it.
            None if name == "match" => {}
            None => wrong.push(format!("{at}/{name}: it is left out")),
        }
    }
    wrong
}

/// Those of all its parts.
fn fields_of(schema: &Value) -> Option<Map<String, Value>> {
    let parts = schema["allOf"].as_array().into_iter().flatten().map(|part| match part["$ref"].as_str() {
        Some(name) => document().pointer(name.trim_start_matches('#')).expect("a schema"),
        None => part,
    });
    let fields = parts.chain([schema]).filter_map(|part| part["properties"].as_object());
    fields.cloned().reduce(|mut all, more| {
        all.extend(more);
        all
    })
}

fn plain_faults(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let text = value.as_str().unwrap_or_default();
    let is_right = match value {
        Value::Null => kinds.contains(&"null"),
        Value::Bool(_) => kinds.contains(&"boolean"),
        Value::Number(number) => kinds.contains(&if number.is_f64() { "number" } else { "integer" }),
        Value::Array(_) => kinds.contains(&"array"),
        Value::Object(_) => kinds.contains(&"object"),
        Value::String(_) => {
            kinds.contains(&"string")
                && match schema["format"].as_str() {
                    Some("uuid") => Uuid::try_parse(text).is_ok(),
                    Some("date-time") => Time::parse(text).is_some_and(|at| at.to_string() == text),
                    _ => schema["enum"].as_array().is_none_or(|words| words.contains(value)),
                }
        }
    };
    if !is_right {
        return vec![format!("{at}: {value} is not {schema}")];
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    items.flat_map(|(nth, item)| faults(&schema["items"], item, &format!("{at}/{nth}"))).collect()
}

#[test]
fn an_example_of_an_answer_is_what_its_type_writes() {
    let shown = shown();
    assert!(shown.len() >= 14, "{}", shown.len());
    for Shown { method, path, schema, answer, .. } in shown {
        assert_eq!(faults(schema, answer, ""), Vec::<String>::new(), "{method} {path}");
    }
}

#[tokio::test]
async fn an_example_of_a_request_is_taken_by_its_route() {
    let asked: Vec<_> = shown().into_iter().filter(|it| it.body.is_some()).collect();
    assert!(asked.len() >= 9, "{}", asked.len());
    for Shown { method, path, body, status, schema, .. } in asked {
        let world = World::new();
        world.house.webhook_tokens.lock().unwrap().push(("default".to_owned(), Secret("x".to_owned())));
        let id = world.shelf.put(fakes::overview(fakes::conversation("default", CHAT)));
        let label = json!({ "name": "regular", "colour": "#1c6b3a" });
        assert_eq!(world.ask("POST", "/api/v1/labels", Some(label)).await.status, 201);
        if let Some(agent) = body.and_then(|body| body["assignee"].as_str()) {
            world.crew.joins(Uuid::try_parse(agent).expect("an id"), "Ana");
        }
        let path = path.replace("{id}", &id.to_string()).replace("{channel}", "default");
        let path = path.replace("{chat_id}", CHAT);
        let reply = world.ask(&method, &path, body.cloned()).await;
        assert_eq!(reply.status.to_string(), status, "{method} {path}: {}", reply.body);
        // What is really answered is judged as the examples are.
        assert_eq!(faults(schema, &reply.json(), ""), Vec::<String>::new(), "{method} {path}");
    }
}

#[test]
fn an_example_that_says_something_else_is_found_out() {
    let all = shown();
    let switch = all.iter().find(|it| it.path == "/api/v1/conversations/{id}/mode").expect("one of a switch");
    let with = |field: &str, value: Option<Value>| {
        let mut answer = switch.answer.clone();
        let fields = answer.as_object_mut().expect("an object");
        match value {
            Some(value) => fields.insert(field.to_owned(), value),
            None => fields.remove(field),
        };
        faults(switch.schema, &answer, "")
    };
    for (field, value) in [
        ("mode", Some(json!("BOTH"))),
        ("mode_version", Some(json!("2"))),
        ("mode_until", Some(json!("tomorrow"))),
        ("conversation_id", Some(json!("1"))),
        ("in_flight", Some(json!([1]))),
        ("assignee", Some(json!({ "id": Uuid::nil() }))),
        ("generation_ms", None),
        ("settled_at", Some(json!(null))),
    ] {
        assert_eq!(with(field, value).len(), 1, "{field}");
    }
}
