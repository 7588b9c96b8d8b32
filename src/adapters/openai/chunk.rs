//! The wire: one chunk of a stream, or the whole answer, which has the same shape but for one name. Read leniently:
//! servers leave out, null or rename what they please.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    adapters::model_server::{error_frame, is_error, unreadable},
    flow::generator::Failure,
};

#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl Chunk {
    /// Reads one, or the error that came in its place.
    pub(super) fn read(data: &str) -> Result<Self, Failure> {
        let chunk: Self = serde_json::from_str(data).map_err(|_| unreadable())?;
        if let Some(error) = &chunk.error {
            return Err(error_frame(error));
        }
        if chunk.choices.is_none() && chunk.usage.is_none() {
            let frame: Value = serde_json::from_str(data).map_err(|_| unreadable())?;
            if is_error(&frame) {
                return Err(error_frame(&frame));
            }
        }
        Ok(chunk)
    }
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: Option<i64>,
    /// Of a stream.
    #[serde(default)]
    pub(super) delta: Option<Delta>,
    /// Of a whole answer.
    #[serde(default)]
    pub(super) message: Option<Delta>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

/// What the model adds. Thoughts are not for the contact; some servers want to see them again beside a call.
#[derive(Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default)]
    pub(super) reasoning_content: Option<Value>,
    /// Pieces of blocks of them.
    #[serde(default)]
    pub(super) reasoning_details: Option<Value>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    /// Some servers put text among parts of other kinds.
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) function: Option<FunctionDelta>,
    /// A signature of thoughts, or whatever else its server wants to see again.
    #[serde(default)]
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// A string of JSON; from some servers the object itself.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) prompt_tokens: Option<i64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<i64>,
}
