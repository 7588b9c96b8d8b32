//! What a request may hold, and what the gateway says is wrong with it.

use serde_json::{Map, Value};

/// A field of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    is_required: bool,
}

/// What it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A chat.
    Chat,
    /// Text of so many characters at most.
    Text(usize),
    /// A whole number, from and to.
    Integer(i64, i64),
    /// Any number.
    Number,
    /// true or false.
    Flag,
    /// "yes" or "no".
    YesNo,
    /// An object with these.
    Object(&'static [Field]),
    /// So many entries, from and to; objects with these, or anything, if there are none.
    List(usize, usize, &'static [Field]),
}

pub(super) const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: true }
}

pub(super) const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, is_required: false }
}

/// What is wrong with a body, in the gateway's words; None: nothing. Fields that it does not know are passed over.
pub(super) fn complaint(fields: &[Field], body: &Map<String, Value>) -> Option<String> {
    complaint_within("", fields, body)
}

fn complaint_within(place: &str, fields: &[Field], body: &Map<String, Value>) -> Option<String> {
    fields.iter().find_map(|field| {
        let name = format!("{place}{}", field.name);
        match body.get(field.name) {
            None | Some(Value::Null) => field.is_required.then(|| format!("'{name}' is required")),
            Some(Value::String(text)) if text.is_empty() && field.is_required => {
                Some(format!("'{name}' is not allowed to be empty"))
            }
            Some(value) => {
                let wrong = field.kind.complaint(value).map(|wrong| format!("'{name}' {wrong}"));
                wrong.or_else(|| field.kind.complaint_inside(&name, value))
            }
        }
    })
}

impl Kind {
    fn complaint(self, value: &Value) -> Option<String> {
        let must_be = |it: &str| Some(format!("must be {it}"));
        match self {
            Self::Chat => match value.as_str() {
                Some(chat) if is_chat(chat) => None,
                _ => {
                    must_be("one of the next formats: 'phone_number@c.us', 'chat_id@lid' or 'group_id@g.us'")
                }
            },
            Self::Text(max) => match value.as_str() {
                None => must_be("a string"),
                Some(text) if text.chars().count() > max => {
                    Some(format!("length must be less than or equal to {max} characters long"))
                }
                Some(_) => None,
            },
            Self::Integer(from, to) => match value.as_i64() {
                Some(number) if (from..=to).contains(&number) => None,
                Some(_) => must_be(&format!("from {from} to {to}")),
                None => must_be("an integer"),
            },
            Self::Number if value.is_number() => None,
            Self::Number => must_be("a number"),
            Self::Flag if value.is_boolean() => None,
            Self::Flag => must_be("a boolean"),
            Self::YesNo if matches!(value.as_str(), Some("yes" | "no")) => None,
            Self::YesNo => must_be("one of [yes, no]"),
            Self::Object(_) if value.is_object() => None,
            Self::Object(_) => must_be("of type object"),
            Self::List(from, to, _) => match value.as_array() {
                Some(list) if (from..=to).contains(&list.len()) => None,
                Some(_) => Some(format!("must contain from {from} to {to} items")),
                None => must_be("an array"),
            },
        }
    }

    /// Of what has parts: what is wrong with one of them.
    fn complaint_inside(self, name: &str, value: &Value) -> Option<String> {
        match self {
            Self::Object(fields) => complaint_within(&format!("{name}."), fields, value.as_object()?),
            Self::List(_, _, []) => None,
            Self::List(_, _, fields) => value.as_array()?.iter().enumerate().find_map(|(at, entry)| {
                let place = format!("{name}[{at}]");
                match entry.as_object() {
                    Some(entry) => complaint_within(&format!("{place}."), fields, entry),
                    None => Some(format!("'{place}' must be of type object")),
                }
            }),
            Self::Chat | Self::Text(_) | Self::Integer(..) | Self::Number | Self::Flag | Self::YesNo => None,
        }
    }
}

/// Whether something can be written there: a person by number or hidden id, or a group.
pub(crate) fn is_chat(text: &str) -> bool {
    let Some((id, host)) = text.split_once('@') else { return false };
    let is_id = !id.is_empty() && id.chars().all(|c| c.is_ascii_digit() || c == '-');
    is_id && matches!(host, "c.us" | "lid" | "g.us")
}
