//! The wire: one event of a stream, or the whole answer. In: its fields, each of which may be missing. Out: an answer that
//! has grown by them, or why there is none.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    adapters::model_server::{Assembly, Call, Flow, error_frame},
    flow::generator::Failure,
};

#[derive(Deserialize)]
pub(super) struct Event {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    calls: Option<Vec<Called>>,
    #[serde(default)]
    usage: Option<Usage>,
    /// Nothing follows.
    #[serde(default)]
    done: Option<bool>,
    /// In place of an answer.
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<i64>,
    #[serde(default)]
    output_tokens: Option<i64>,
}

/// Adds it.
pub(super) fn take(assembly: &mut Assembly, event: Event) -> Result<Flow, Failure> {
    if let Some(error) = event.error {
        return Err(error_frame(&error));
    }
    if let Some(text) = event.text {
        assembly.write(&text);
    }
    for called in event.calls.into_iter().flatten() {
        let (id, arguments) = (called.id.unwrap_or_default(), arguments(called.arguments));
        assembly.begin_call(Call { id, name: called.name, arguments, ..Call::default() })?;
    }
    if let Some(usage) = event.usage {
        assembly.count(usage.input_tokens, usage.output_tokens);
    }
    if event.done == Some(true) {
        assembly.end();
        return Ok(Flow::Ends);
    }
    Ok(Flow::Goes)
}

/// As JSON; or as text that should be some, which is how most models write them.
fn arguments(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
