//! Replies kept at hand, and what they leave open: `{{contact.name}}`, `{{agent.name|"a colleague"}}`.
//!
//! In: a text, as an agent keeps it. Out: whether it can be filled in. The client that shows it fills it in, since
//! it knows whom it is for.

use uuid::Uuid;

use super::time::Time;

/// A reply kept at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannedReply {
    /// Ours.
    pub id: Uuid,
    /// By which it is called; taken once among those that are shared, and once among those of an agent.
    pub shortcut: String,
    /// What it says, with variables.
    pub text: String,
    /// On which channels; None: on all.
    pub channels: Option<Vec<String>>,
    /// Whose it is; None: it is shared.
    pub owner: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
}

/// What a reply may leave open.
const VARIABLES: [&str; 5] =
    ["contact.name", "contact.first_name", "contact.phone", "agent.name", "channel.title"];

/// What is wrong with a text, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfillable {
    /// There is no such variable.
    #[error("{{{{{0}}}}} is not one of {known}", known = VARIABLES.join(", "))]
    Unknown(String),
    /// It begins, and does not end as one.
    #[error("a variable is like {{{{contact.name}}}} or {{{{contact.name|\"otherwise\"}}}}")]
    Malformed,
}

/// Looks through the variables of a text.
pub fn check(text: &str) -> Result<(), Unfillable> {
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once("{{") {
        rest = variable(begun)?;
    }
    Ok(())
}

/// What comes after the variable that begins here.
fn variable(begun: &str) -> Result<&str, Unfillable> {
    let end = begun.find(['|', '}']).ok_or(Unfillable::Malformed)?;
    let (name, rest) = begun.split_at(end);
    let rest = match rest.strip_prefix('|') {
        Some(otherwise) => {
            let quoted = otherwise.trim_start().strip_prefix('"').ok_or(Unfillable::Malformed)?;
            quoted.split_once('"').ok_or(Unfillable::Malformed)?.1.trim_start()
        }
        None => rest,
    };
    let rest = rest.strip_prefix("}}").ok_or(Unfillable::Malformed)?;
    let name = name.trim();
    if VARIABLES.contains(&name) { Ok(rest) } else { Err(Unfillable::Unknown(name.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_can_be_left_open() {
        let unknown = |name: &str| Err(Unfillable::Unknown(name.to_owned()));
        for (text, wanted) in [
            ("We open at nine.", Ok(())),
            ("{\"a\": {\"b\": 1}}", Ok(())),
            ("Hi {{contact.first_name}}, {{agent.name}} here.", Ok(())),
            ("Hi {{ contact.name | \"there\" }}!", Ok(())),
            ("{{contact.name|\"\"}}{{contact.phone|\"}} or | so\"}}", Ok(())),
            ("{{channel.title}}", Ok(())),
            ("Hi {{contact.nmae}}", unknown("contact.nmae")),
            ("Hi {{contact.name}} {{Contact.Name}}", unknown("Contact.Name")),
            ("{{}}", unknown("")),
            ("{{contact.name", Err(Unfillable::Malformed)),
            ("{{contact.name}", Err(Unfillable::Malformed)),
            ("{{contact.name|there}}", Err(Unfillable::Malformed)),
            ("{{contact.name|\"there}}", Err(Unfillable::Malformed)),
            ("{{contact.name|\"there\" or so}}", Err(Unfillable::Malformed)),
        ] {
            assert_eq!(check(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_in_words() {
        let told = check("{{contact.nmae}}").expect_err("it is unknown").to_string();
        assert!(told.starts_with("{{contact.nmae}} is not one of contact.name, "), "{told}");
        let told = check("{{contact.name").expect_err("it does not end").to_string();
        assert_eq!(told, "a variable is like {{contact.name}} or {{contact.name|\"otherwise\"}}");
    }
}
