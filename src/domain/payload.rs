//! JSON that is kept as text: whoever only shows it passes it on as it is. As a tree it would need more than ten times the
//! memory, and what came from outside may have any size and shape.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

/// Such JSON.
#[derive(Debug, Clone)]
pub struct Payload(Box<RawValue>);

impl Payload {
    /// Of its text, which is checked.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// Its text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// What it says, if it is of that shape.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.get()).ok()
    }

    /// For an answer.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The same, by itself.
    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }

    /// Of what is written as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        // A tree is never anything but JSON.
        Self::of(&value).unwrap_or_else(|_| Self(RawValue::NULL.to_owned()))
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
