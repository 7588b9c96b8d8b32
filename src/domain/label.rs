//! Labels: words that people put on conversations, to find them again.

use uuid::Uuid;

use super::time::Time;

/// Most labels of one conversation.
pub const LABELS_MAX: usize = 50;

/// A label. Conversations carry it by its id, so that its name can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Ours.
    pub id: Uuid,
    /// For people; no two differ in their case alone.
    pub name: String,
    /// `#rrggbb`.
    pub colour: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// When it was made.
    pub created_at: Time,
}

/// How the labels of a conversation change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labelling {
    /// To these.
    Whole(Vec<Label>),
    /// By these.
    Change {
        /// Put on.
        add: Vec<Label>,
        /// Taken off.
        remove: Vec<Label>,
    },
}

impl Labelling {
    /// What a conversation with these labels carries then, each label once.
    pub fn of(&self, labels: &[Label]) -> Vec<Label> {
        let (kept, added) = match self {
            Self::Whole(whole) => (Vec::new(), whole),
            Self::Change { add, remove } => (beyond(labels, remove), add),
        };
        added.iter().fold(kept, |mut labels, label| {
            if !labels.iter().any(|other| other.id == label.id) {
                labels.push(label.clone());
            }
            labels
        })
    }
}

/// Those that the others are not among.
pub fn beyond(labels: &[Label], others: &[Label]) -> Vec<Label> {
    let is_beyond = |label: &&Label| !others.iter().any(|other| other.id == label.id);
    labels.iter().filter(is_beyond).cloned().collect()
}

/// A name without its case: what may be there once.
pub fn fold(name: &str) -> String {
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str) -> Label {
        let id = Uuid::from_bytes(std::array::from_fn(|at| name.as_bytes().get(at).copied().unwrap_or(0)));
        Label { id, name: name.to_owned(), colour: None, description: None, created_at: Time(0) }
    }

    #[test]
    fn a_conversation_carries_each_label_once() {
        let labels = |names: &str| names.chars().map(|name| label(&name.to_string())).collect::<Vec<_>>();
        let change = |add, remove| Labelling::Change { add: labels(add), remove: labels(remove) };
        for (before, labelling, after) in [
            ("", Labelling::Whole(labels("aba")), "ab"),
            ("ab", Labelling::Whole(labels("c")), "c"),
            ("ab", Labelling::Whole(labels("")), ""),
            ("ab", change("bc", ""), "abc"),
            ("ab", change("", "ac"), "b"),
            ("ab", change("c", "a"), "bc"),
        ] {
            assert_eq!(labelling.of(&labels(before)), labels(after), "{before:?} {labelling:?}");
        }
    }

    #[test]
    fn a_name_is_the_same_in_either_case() {
        assert_eq!(fold(" VIP "), fold("vip"));
        assert_eq!(fold("ÄRGER"), fold("ärger"));
        assert_ne!(fold("vip"), fold("vips"));
    }
}
