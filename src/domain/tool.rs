//! Tools of the business's own: what the model may ask of it besides writing. In: the settings. Out: what is offered, and
//! what was asked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The tools that Baton itself has: no other bears one of these names.
pub const BUILT_IN: [&str; 3] = ["hand_over", "schedule_follow_up", "stay_silent"];

/// What the model may ask of the business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// By which it is called.
    pub name: String,
    /// For the model: what it does, and when.
    pub description: String,
    /// Its arguments, as the JSON schema of an object.
    pub parameters: Map<String, Value>,
    /// Where it is asked while the model waits. None: an errand, which is sent to the business as the reply leaves.
    pub look_up: Option<LookUp>,
}

/// Where a look-up is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct LookUp {
    /// Its whole address.
    pub url: String,
    /// Without a whole answer in this time the model continues without it.
    pub timeout_ms: u64,
}

/// An address may hold a secret.
impl std::fmt::Debug for LookUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookUp").field("timeout_ms", &self.timeout_ms).finish_non_exhaustive()
    }
}

impl Tool {
    /// Arguments without which it means nothing.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }
}

/// The assistant wants the business to do something. The business is notified once the reply of that turn begins to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// The turn that asked.
    pub turn: Uuid,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}
