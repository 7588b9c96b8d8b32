//! A piece of a webhook, read without trust. In: JSON of any shape. Out: what is there and of the type expected;
//! whatever is missing, null or of another type counts as absent, so that no oddity can make a body unreadable.

use serde_json::{Map, Value};

/// An object in a body, or the place where it should have been.
#[derive(Clone, Copy)]
pub(super) struct Part<'a>(&'a Value);

static NOTHING: Value = Value::Null;

impl<'a> Part<'a> {
    pub(super) const fn of(value: &'a Value) -> Self {
        Self(value)
    }

    /// The object of that name inside.
    pub(super) fn part(self, name: &str) -> Self {
        Self(self.0.get(name).unwrap_or(&NOTHING))
    }

    pub(super) fn is_there(self) -> bool {
        self.0.is_object()
    }

    /// The text of that name; empty if there is none.
    pub(super) fn text(self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The first of these texts that says something.
    pub(super) fn first_text(self, names: &[&str]) -> &'a str {
        names.iter().map(|name| self.text(name)).find(|text| !text.trim().is_empty()).unwrap_or_default()
    }

    /// The whole number of that name, also if it is written as text.
    pub(super) fn integer(self, name: &str) -> Option<i64> {
        let value = self.0.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// The number of that name.
    pub(super) fn number(self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// Everything in it; nothing if it is no object.
    pub(super) fn fields(self) -> Map<String, Value> {
        self.0.as_object().cloned().unwrap_or_default()
    }

    /// What the list of that name holds.
    pub(super) fn list(self, name: &str) -> impl Iterator<Item = Part<'a>> + use<'a> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().map(Part)
    }

    /// The text that this is, as an item of a list may be; empty if it is none.
    pub(super) fn as_text(self) -> &'a str {
        self.0.as_str().unwrap_or_default()
    }
}

/// Takes U+0000 out of every text: PostgreSQL cannot store it. Everything else is the writer's own and stays.
pub(super) fn strip_nul(value: &mut Value) {
    match value {
        Value::String(text) => text.retain(|c| c != '\0'),
        Value::Array(items) => items.iter_mut().for_each(strip_nul),
        Value::Object(fields) => fields.values_mut().for_each(strip_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_null_or_of_another_type_counts_as_absent() {
        let value =
            json!({"a": {"text": 5, "null": null, "number": "7103000001", "flag": "yes"}, "b": ["x"]});
        let part = Part::of(&value).part("a");
        assert!(part.is_there());
        assert_eq!((part.text("text"), part.text("null"), part.text("missing")), ("", "", ""));
        assert_eq!(part.integer("number"), Some(7_103_000_001));
        assert_eq!((part.integer("text"), part.integer("null"), part.integer("flag")), (Some(5), None, None));
        assert_eq!(part.flag("flag"), None);
        assert!(!Part::of(&value).part("b").is_there());
        assert_eq!(Part::of(&value).part("b").part("c").text("d"), "");
        assert!(Part::of(&value).list("b").next().is_some_and(|item| item.as_text() == "x"));
        assert_eq!(Part::of(&value).list("a").count(), 0);
    }

    #[test]
    fn nul_goes_and_everything_else_stays() {
        let mut value = json!({"a": ["x\0y", {"b": "\0"}], "c": "\u{202e}\u{200b}"});
        strip_nul(&mut value);
        assert_eq!(value, json!({"a": ["xy", {"b": ""}], "c": "\u{202e}\u{200b}"}));
    }
}
